//! The real binary as the subject: opens each image with `ledger verify`, reads its tables, and serves some of them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use super::Options;
use super::cuts::{OpenedImage, Subject};
use super::promise::{Promise, Promises, Row, Rows, decided, learn};
use super::record::ServerRecording;
use crate::node::http::{Answer, Http};
use crate::node::life::may_follow;
use crate::node::{Node, NodeOptions, verify};

pub(super) struct Placet<'a> {
    bin: PathBuf,
    serve_every: usize,
    permits: &'a HashMap<String, String>,
    reviewer: &'a str,
}

impl<'a> Placet<'a> {
    pub(super) fn new(bin: &Path, options: &Options, recorded: &'a ServerRecording) -> Self {
        Self {
            bin: bin.to_path_buf(),
            serve_every: options.serve_every.max(1),
            permits: &recorded.permits,
            reviewer: &recorded.reviewer,
        }
    }

    /// The server starts on the image and answers. If there is a request, it is read back.
    fn serve(&self, folder: &Path, rows: Option<&Rows>) -> Result<Option<String>> {
        let mut options = NodeOptions::new(&self.bin, folder);
        options.log = folder.join("server.log");
        let node = match Node::start(&options, Duration::from_secs(30)) {
            Ok(node) => node,
            Err(error) => return Ok(Some(format!("the server does not start: {error:#}"))),
        };
        let mut http = Http::new(node.addr()?, self.reviewer);
        let last = rows.and_then(|rows| rows.iter().rfind(|(id, _)| id.starts_with("req_")));
        let wrong = if let Some((id, row)) = last {
            let answer = http.get(&format!("/v1/requests/{id}"), Duration::from_secs(10))?;
            let record = answer.json().unwrap_or_default();
            // Time passes while images are opened: a deadline may have passed, and nothing else may have changed.
            let version = record.get("version").and_then(Value::as_i64).unwrap_or(0);
            let state = record.get("state").and_then(Value::as_str).unwrap_or_default();
            let same = version >= row.version && may_follow(&row.state, state);
            (answer.status != 200 || !same)
                .then(|| format!("GET {id} answered {}: {}", answer.status, answer.text()))
        } else {
            let answer = http.get("/healthz", Duration::from_secs(10))?;
            (answer.status != 200)
                .then(|| format!("GET /healthz answered {}: {}", answer.status, answer.text()))
        };
        node.kill()?;
        Ok(wrong)
    }
}

impl Subject for Placet<'_> {
    fn learn(&self, answer: &Answer, promises: &mut Promises) {
        if answer.status >= 300 {
            return;
        }
        let Ok(body) = answer.json() else { return };
        if let (Some(id), Some(_)) = (body.get("id").and_then(Value::as_str), body.get("key")) {
            promises.insert(key(id), Promise { version: 1, state: "live".into(), ..Promise::default() });
        } else if let Some(id) =
            body.get("permit").and_then(Value::as_str).and_then(|permit| self.permits.get(permit))
        {
            promises.entry(id.clone()).or_default().claimed = true;
        } else {
            learn(promises, &body);
        }
    }

    fn open(&self, folder: &Path, fresh: bool, number: usize) -> Result<OpenedImage> {
        if fresh && let Some(wrong) = self.serve(folder, None)? {
            return Ok(OpenedImage::Corrupt(wrong));
        }
        let (good, _, words) = verify(&self.bin, folder)?;
        let database = folder.join("placet.db");
        let check = integrity(&database);
        if let Err(wrong) = check {
            return Ok(OpenedImage::Corrupt(format!("{wrong}; verify says {words}")));
        }
        if !good {
            return Ok(OpenedImage::Mismatch(format!("ledger verify: {words}")));
        }
        let rows = rows(&database).with_context(|| format!("read {}", database.display()))?;
        if !fresh
            && number.is_multiple_of(self.serve_every)
            && let Some(wrong) = self.serve(folder, Some(&rows))?
        {
            return Ok(OpenedImage::Corrupt(wrong));
        }
        Ok(OpenedImage::Rows(Arc::new(rows)))
    }
}

fn integrity(database: &Path) -> Result<(), String> {
    let read = || -> rusqlite::Result<String> {
        let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0))
    };
    match read() {
        Ok(word) if word == "ok" => Ok(()),
        Ok(word) => Err(format!("integrity_check: {word}")),
        Err(error) => Err(format!("SQLite: {error}")),
    }
}

fn rows(database: &Path) -> Result<Rows> {
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let mut rows = Rows::new();
    let mut statement = connection.prepare("SELECT id, version, state, meta FROM requests")?;
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        let meta: Value = serde_json::from_str(&row.get::<_, String>(3)?)?;
        let decision = meta.get("decision").filter(|decision| !decision.is_null());
        let read = Row {
            version: row.get(1)?,
            state: row.get(2)?,
            digest: meta.get("digest").and_then(Value::as_str).map(str::to_owned),
            decision: decision.map(|decision| decided(decision, "word")),
        };
        rows.insert(row.get(0)?, read);
    }
    let mut statement = connection.prepare("SELECT id FROM keys WHERE revoked_at IS NULL")?;
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        rows.insert(
            key(&row.get::<_, String>(0)?),
            Row { version: 1, state: "live".into(), digest: None, decision: None },
        );
    }
    Ok(rows)
}

/// Keys are promises too; they stand among the requests under this name.
fn key(id: &str) -> String {
    format!("key {id}")
}
