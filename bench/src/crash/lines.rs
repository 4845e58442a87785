//! The lines from the load to the oracle, and the oracle's answers.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One line. Intents are written before anything is sent, answers after they have come.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub(super) enum Line {
    /// A new data folder: everything so far was about another one.
    Life { life: u32 },
    /// A create is about to be sent. `claims` says that it asks to be claimed in the same call.
    Create { op: u64, agent: String, key: String, body: Value, claims: bool },
    /// A command on a request is about to be sent.
    Act { op: u64, id: String, verb: String, who: String, body: Value },
    /// The answer to an operation came.
    Answer { op: u64, status: u16, body: Value },
    /// A violation that does not depend on history, in words: no answer from a living server, a waiter that was
    /// turned away.
    Wrong { what: String },
    /// A permit was granted and the action is being executed now.
    Effect { id: String, permit: String, claimant: Option<String>, arguments: Value, digest: String },
    /// A waiter waits for the outcome of a request, across any number of kills.
    Waits { waiter: u64, id: String },
    /// And has learned it.
    Learned { waiter: u64, record: Value },
    /// A reader saw these ledger entries.
    Ledger { page: Value },
    /// The server was killed.
    Killed { cycle: u32 },
    /// The server is up and idle: read everything back and judge. `end` says that all waiters
    /// must have learned.
    Judge { addr: String, auditor: String, end: bool },
}

/// What the oracle found.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Verdict {
    /// Broken rules since the last verdict, in words.
    pub(super) violations: Vec<String>,
    /// How many of them are lost acknowledgements.
    pub(super) lost: usize,
    /// Requests read back.
    pub(super) requests: usize,
    /// Ledger entries read back.
    pub(super) entries: usize,
    /// Answers noted so far, over all lives.
    pub(super) answers: u64,
    /// Effects noted so far, over all lives.
    pub(super) effects: u64,
    /// Waiters that have learned, over all lives.
    pub(super) learned: u64,
    /// How often rare events happened, over all lives.
    pub(super) rare: Rare,
}

/// Rare events that a run must have seen. Otherwise it has tested less than it claims to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Rare {
    /// Waiters that parked before a kill and learned the outcome after it.
    pub(super) across: u64,
    /// Creates that happened without an answer, and were found again by their key.
    pub(super) found: u64,
    /// Permits asked for again with the same secret.
    pub(super) again: u64,
    /// Requests that expired.
    pub(super) expired: u64,
}

impl Rare {
    /// Something never happened.
    pub(super) fn missing(self) -> bool {
        [self.across, self.found, self.again, self.expired].contains(&0)
    }
}

impl std::ops::AddAssign for Rare {
    fn add_assign(&mut self, more: Self) {
        self.across += more.across;
        self.found += more.found;
        self.again += more.again;
        self.expired += more.expired;
    }
}

/// The oracle's process, as the load sees it.
#[derive(Debug)]
pub(super) struct Oracle {
    child: Child,
    input: Mutex<ChildStdin>,
    output: Mutex<BufReader<ChildStdout>>,
}

impl Oracle {
    /// Starts this program again as the oracle, with its own file.
    pub(super) fn start(file: &Path) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("oracle")
            .arg(file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("start the oracle")?;
        let input = Mutex::new(child.stdin.take().context("the oracle's stdin is piped")?);
        let output = Mutex::new(BufReader::new(child.stdout.take().context("the oracle's stdout is piped")?));
        Ok(Self { child, input, output })
    }

    /// Notes one line. It is in the pipe when this returns, whatever happens to the server.
    pub(super) fn note(&self, line: &Line) -> Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        input.write_all(text.as_bytes()).context("the oracle went away")
    }

    /// Asks for a verdict and waits for it.
    pub(super) fn judge(&self, line: &Line) -> Result<Verdict> {
        self.note(line)?;
        let mut text = String::new();
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        output.read_line(&mut text).context("read the oracle's verdict")?;
        serde_json::from_str(&text).with_context(|| format!("the oracle's verdict {text:?}"))
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
