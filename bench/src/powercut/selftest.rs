//! Checks the simulator on a tiny writer with known faults: it must pass the honest writer and catch the others.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use rusqlite::{Connection, OptionalExtension as _};
use serde_json::json;

use super::Options;
use super::cuts::{OpenedImage, Subject};
use super::promise::{Promises, Row, learn};
use super::record::{read_trace, strace};
use super::{cuts, disk};
use crate::node::http::Answer;
use crate::node::{print, say};

/// The tiny writer: one row of state and one of audit per transaction, acknowledged over a socket.
#[derive(Debug, Args)]
pub(super) struct Tiny {
    /// The data folder.
    #[arg(long)]
    data: PathBuf,
    /// FULL, NORMAL or OFF.
    #[arg(long)]
    synchronous: String,
    /// Acknowledge before the commit.
    #[arg(long)]
    early: bool,
    /// How many transactions.
    #[arg(long)]
    count: u32,
    /// Where to send the acknowledgements.
    #[arg(long)]
    port: u16,
}

impl Tiny {
    pub(super) fn run(&self) -> Result<()> {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port))?;
        socket.set_nodelay(true)?;
        let connection = Connection::open(self.data.join("tiny.db"))?;
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        connection.pragma_update(None, "synchronous", &self.synchronous)?;
        connection.pragma_update_and_check(None, "wal_autocheckpoint", 20, |_| Ok(()))?;
        connection.execute_batch(
            "CREATE TABLE state(id INTEGER PRIMARY KEY, version INTEGER, pad BLOB); CREATE TABLE audit(seq INTEGER PRIMARY KEY, pad BLOB);
             INSERT INTO state VALUES (1, 0, x'00');",
        )?;
        let mut acknowledge = |version: u32| {
            let body = json!({"id": "tiny", "version": version, "state": "pending"}).to_string();
            socket.write_all(
                format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()).as_bytes(),
            )
        };
        for version in 1..=self.count {
            connection.execute_batch("BEGIN IMMEDIATE")?;
            connection
                .execute("UPDATE state SET version = ?1, pad = randomblob(3000) WHERE id = 1", [version])?;
            connection.execute("INSERT INTO audit VALUES (?1, randomblob(1500))", [version])?;
            if self.early {
                acknowledge(version)?;
            }
            connection.execute_batch("COMMIT")?;
            if !self.early {
                acknowledge(version)?;
            }
        }
        Ok(())
    }
}

/// The tiny writer as a subject.
struct TinySubject;

impl Subject for TinySubject {
    fn learn(&self, answer: &Answer, promises: &mut Promises) {
        if let Ok(record) = answer.json() {
            learn(promises, &record);
        }
    }

    fn open(&self, folder: &Path, _fresh: bool, _number: usize) -> Result<OpenedImage> {
        let read = || -> rusqlite::Result<(String, Option<(i64, i64)>)> {
            let connection = Connection::open(folder.join("tiny.db"))?;
            let check: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
            let tables: i64 = connection.query_row(
                "SELECT count(*) FROM sqlite_schema WHERE name IN ('state', 'audit')",
                [],
                |row| row.get(0),
            )?;
            if tables < 2 {
                return Ok((check, None));
            }
            let count = "SELECT version, (SELECT count(*) FROM audit) FROM state";
            let row = connection.query_row(count, [], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
            Ok((check, row))
        };
        Ok(match read() {
            Err(error) => OpenedImage::Corrupt(error.to_string()),
            Ok((check, _)) if check != "ok" => OpenedImage::Corrupt(check),
            Ok((_, None)) => OpenedImage::Rows(Arc::default()),
            Ok((_, Some((version, audit)))) if version != audit => {
                OpenedImage::Mismatch(format!("state {version}, audit {audit}"))
            }
            Ok((_, Some((version, _)))) => {
                let row = Row { version, state: "pending".into(), digest: None, decision: None };
                OpenedImage::Rows(Arc::new(BTreeMap::from([("tiny".to_owned(), row)])))
            }
        })
    }
}

/// Runs the four writers. True if the simulator told them apart.
pub(super) fn run(options: &Options) -> Result<bool> {
    let mut right = true;
    // The expected result of each writer: whether it loses acknowledged data, and whether it is corrupt.
    let writers = [
        ("FULL", false, false, false),
        ("NORMAL", false, true, false),
        ("OFF", false, true, true),
        ("FULL", true, true, false),
    ];
    for (synchronous, early, loses, corrupts) in writers {
        let scratch = options.scratch()?;
        let data = scratch.path().join("data");
        std::fs::create_dir(&data)?;
        let trace = scratch.path().join("trace");
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let mut command: Vec<std::ffi::OsString> = strace(&trace);
        command.push(std::env::current_exe()?.into());
        let [program, arguments @ ..] = command.as_slice() else { bail!("a command") };
        let mut tiny = Command::new(program);
        tiny.args(arguments)
            .args(["tiny", "--synchronous", synchronous, "--count", "300", "--data"])
            .arg(&data);
        tiny.args(["--port", &listener.local_addr()?.port().to_string()]);
        if early {
            tiny.arg("--early");
        }
        let mut child = tiny
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .context("start strace (is it installed?)")?;
        let (mut socket, _) = listener.accept()?;
        socket.set_read_timeout(Some(Duration::from_mins(2)))?;
        let mut received = Vec::new();
        socket.read_to_end(&mut received)?;
        if !child.wait()?.success() {
            bail!("the tiny writer failed");
        }
        let mut recording = disk::Recording::new(&data.canonicalize()?);
        let (calls, _) = read_trace(&trace, 0)?;
        recording.add(0, &calls)?;
        let name =
            format!("synchronous={synchronous}{}", if early { ", acknowledging before commit" } else { "" });
        let options =
            Options { cuts: options.cuts.min(3000), keep: false, enough: usize::MAX, ..options.clone() };
        let report = cuts::run(&TinySubject, &recording.events, &options, scratch.path())?;
        say(format!("tiny writer with {name}:"));
        report.print();
        let broken = report.corrupt + report.mismatches > 0;
        let as_expected = loses == (report.lost > 0) && corrupts == broken && report.answers == 300;
        print(format!("{name}: {}", if as_expected { "judged rightly" } else { "JUDGED WRONGLY" }));
        right &= as_expected;
    }
    if !right {
        bail!("the simulator does not tell honest and dishonest writers apart");
    }
    Ok(true)
}
