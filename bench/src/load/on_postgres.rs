//! The real binary on a Postgres database, alone or with other nodes.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

use super::subject::SETTINGS;
use super::target::Target;
use crate::node::{BOOTSTRAP_TOKEN, new_key};

/// One node. Its process ends when this is dropped.
#[derive(Debug)]
pub struct PostgresNode {
    _running: RunningNode,
    target: Target,
}

#[derive(Debug)]
struct RunningNode {
    child: Child,
    // Kept open: a server that writes to a closed pipe is killed.
    stdout: BufReader<ChildStdout>,
    folder: TempDir,
}

impl PostgresNode {
    /// The first node on a database; makes the keys.
    pub fn first(bin: &Path, dir: &Path, url: &str) -> Result<Self> {
        let mut running = RunningNode::start(bin, dir, url)?;
        let addr = running.listening()?;
        let target = Target {
            addr,
            agent: new_key(addr, "agent", "bench-agent")?,
            reviewer: new_key(addr, "reviewer", "bench-reviewer")?,
            pid: running.child.id(),
        };
        Ok(Self { _running: running, target })
    }

    /// A further node, which uses the keys of the first.
    pub fn next(bin: &Path, dir: &Path, url: &str, first: &Target) -> Result<Self> {
        let mut running = RunningNode::start(bin, dir, url)?;
        let target = Target { addr: running.listening()?, pid: running.child.id(), ..first.clone() };
        Ok(Self { _running: running, target })
    }

    /// Where it is.
    pub fn target(&self) -> &Target {
        &self.target
    }
}

impl RunningNode {
    fn start(bin: &Path, dir: &Path, url: &str) -> Result<Self> {
        let folder = tempfile::tempdir_in(dir)?;
        let log = File::create(folder.path().join("log"))?;
        let mut command = Command::new(bin);
        command.args(["serve", "--listen", "127.0.0.1:0", "--database", url]);
        for setting in SETTINGS {
            command.args(["--set", setting]);
        }
        let mut child = command
            .env("PLACET_BOOTSTRAP_TOKEN", BOOTSTRAP_TOKEN)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .with_context(|| format!("cannot start {}", bin.display()))?;
        let stdout = BufReader::new(child.stdout.take().context("the server has no output")?);
        Ok(Self { child, stdout, folder })
    }

    /// Reads lines until the server names its address.
    fn listening(&mut self) -> Result<SocketAddr> {
        let mut line = String::new();
        while self.stdout.read_line(&mut line)? > 0 {
            if let Some(addr) = line.trim().strip_prefix("listening on http://") {
                return addr.parse().with_context(|| format!("the server said {line:?}"));
            }
            line.clear();
        }
        let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        bail!("the server ended before it listened: {}", log.lines().last().unwrap_or("it said nothing"))
    }
}

impl Drop for RunningNode {
    fn drop(&mut self) {
        // A process that has already ended is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
