//! What one hook process leaves for the next: the request of each call, and its permit.
//!
//! Kept in the user's own files (`PLACET_STATE_DIR`, `$XDG_STATE_HOME/placet`, `~/.local/state/placet`). Nothing here
//! decides anything: without it every call is asked for again, and results are not reported.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use placet_core::RequestId;
use placet_hooks::{Agent, Call};
use serde::{Deserialize, Serialize};

/// Sessions that are idle for this long are removed.
const KEPT: Duration = Duration::from_hours(7 * 24);
/// Temporary files of a session are removed after it ran nothing for this long.
#[cfg(target_os = "linux")]
const TEMPORARY: Duration = Duration::from_hours(24);
/// Most notes of one session that are read.
const NOTES: usize = 1_000;

/// The notes of one session of one agent.
pub(super) struct Memory {
    folder: Option<PathBuf>,
}

/// One request of a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Note {
    pub(super) request: RequestId,
    /// The permit, once it is claimed.
    pub(super) permit: Option<String>,
    /// The agent's id of the call.
    pub(super) call_id: Option<String>,
    /// Equal for all calls of one tool with one set of arguments.
    pub(super) same: String,
    /// The same for the call as the agent made it, if the agent got another one. An agent that ignores the
    /// replacement reports this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) asked: Option<String>,
    /// Asked in relay mode: cancelled when the person at the terminal answers.
    pub(super) relay: bool,
    /// Asked by a sub-agent, so the end of the main agent's turn does not end it.
    pub(super) subagent: bool,
    /// The mark that the runner takes, if the agent got a run of `placet run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) mark: Option<Mark>,
}

/// A mark, and what it shows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Mark {
    pub(super) name: String,
    /// Where it is kept.
    pub(super) folder: PathBuf,
    /// The file that proves that the agent runs the command it gets.
    pub(super) proof: PathBuf,
    /// The agent, program and mode of the proof.
    pub(super) says: String,
    /// A trial before a call that may run free. Otherwise the call was allowed confined, and without the mark it ran
    /// free.
    pub(super) trial: bool,
    /// Of a confined call: what [`tried`] says of its command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) command: Option<String>,
}

impl Memory {
    /// Of one session.
    pub(super) fn of(agent: Agent, session: &str) -> Self {
        let hash =
            placet_ledger::hash("placet/hook/session", &[agent.as_str().as_bytes(), session.as_bytes()]);
        let name: String = hash.to_string().trim_start_matches("sha256:").chars().take(32).collect();
        Self { folder: root().map(|root| root.join("hooks").join(name)) }
    }

    /// The `/tmp` of this session's confined commands. None if there is no place for it: then each command has its
    /// own.
    pub(super) fn kept(&self) -> Option<PathBuf> {
        let name = self.folder.as_ref()?.file_name()?;
        let all = temporary(&root()?);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&all).ok()?;
        #[cfg(target_os = "linux")]
        {
            placet_confine::tidy_kept(&all, TEMPORARY);
            placet_confine::tidy_removed(&all.with_file_name("removed"));
        }
        // The runner accepts no path with a link in it.
        Some(fs::canonicalize(&all).ok()?.join(name))
    }

    /// The session is over: its temporary files are removed. Those still in use are removed a day later.
    pub(super) fn forget_kept(&self) {
        #[cfg(target_os = "linux")]
        if let Some(name) = self.folder.as_ref().and_then(|folder| folder.file_name())
            && let Some(root) = root()
        {
            let _ = placet_confine::remove_kept(&temporary(&root).join(name));
        }
    }

    /// Writes a note, or rewrites it. A failure does not affect the current call.
    pub(super) fn note(&self, note: &Note) {
        let Ok(text) = serde_json::to_vec(note) else { return };
        let _ = self.write(&format!("{}.json", note.request), &text);
    }

    /// All notes.
    pub(super) fn notes(&self) -> Vec<Note> {
        let Some(Ok(entries)) = self.folder.as_ref().map(fs::read_dir) else { return Vec::new() };
        let notes = entries.filter_map(Result::ok).map(|entry| entry.path());
        notes
            .filter(|path| path.extension().is_some_and(|end| end == "json"))
            .take(NOTES)
            .filter_map(|path| serde_json::from_slice(&fs::read(path).ok()?).ok())
            .collect()
    }

    /// Forgets a request.
    pub(super) fn forget(&self, request: RequestId) {
        if let Some(folder) = &self.folder {
            let _ = fs::remove_file(folder.join(format!("{request}.json")));
        }
    }

    /// The number of equal calls of this session that have ended.
    pub(super) fn occurrence(&self, call: &Call) -> u32 {
        let count = self.folder.as_ref().and_then(|folder| fs::read_to_string(folder.join(count(call))).ok());
        count.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }

    /// One more has.
    pub(super) fn ended(&self, call: &Call, occurrence: u32) {
        let _ = self.write(&count(call), occurrence.saturating_add(1).to_string().as_bytes());
    }

    /// Records that a command was run confined.
    pub(super) fn attempted(&self, command: &str, request: RequestId) {
        let _ = self.write(&format!("{command}.tried"), request.to_string().as_bytes());
    }

    /// The last request by which this command was run confined.
    pub(super) fn attempt(&self, call: &Call) -> Option<String> {
        let command = tried(call.input.get("command")?.as_str()?);
        let request = fs::read_to_string(self.folder.as_ref()?.join(format!("{command}.tried"))).ok()?;
        request.parse::<RequestId>().ok().map(|request| request.to_string())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> std::io::Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        if !folder.exists() {
            if let Some(all) = folder.parent() {
                tidy(all);
            }
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        // Readable only by its owner, and written completely or not at all.
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.persist(folder.join(name)).map_err(|error| error.error)?;
        Ok(())
    }
}

fn count(call: &Call) -> String {
    let turn = call.turn.as_deref().unwrap_or_default();
    let parts =
        [call.event.as_str().as_bytes(), turn.as_bytes(), call.same().into_bytes().as_slice()].concat();
    format!("{}.count", placet_ledger::hash("placet/hook/call", &[&parts]).to_string().replace(':', "-"))
}

/// A name for a command.
pub(super) fn tried(command: &str) -> String {
    let name = placet_ledger::hash("placet/hook/command", &[command.as_bytes()]).to_string();
    name.trim_start_matches("sha256:").to_owned()
}

/// The folder of all hooks' files.
pub(crate) fn root() -> Option<PathBuf> {
    let folder = |name: &str| {
        let value = std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        value.filter(|path| path.is_absolute())
    };
    folder("PLACET_STATE_DIR")
        .or_else(|| folder("XDG_STATE_HOME").map(|state| state.join("placet")))
        .or_else(|| folder("HOME").map(|home| home.join(".local/state/placet")))
}

/// The folder of temporary files of all sessions.
fn temporary(root: &Path) -> PathBuf {
    root.join("tmp")
}

/// Where runs of agents are on record: beside their temporary files.
#[cfg(target_os = "linux")]
pub(crate) fn records_folder() -> Option<PathBuf> {
    root().map(|root| temporary(&root))
}

/// Whether it is the folder in the home folder, whose name is always protected.
pub(super) fn is_usual() -> bool {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    home.is_some_and(|home| root().is_some_and(|root| root == home.join(".local/state/placet")))
}

/// Removes sessions, marks and proofs that were not used for long.
fn tidy(sessions: &Path) {
    let beside = ["marks", "proofs", "folders"].map(|name| sessions.with_file_name(name));
    for all in std::iter::once(sessions.to_path_buf()).chain(beside) {
        let Ok(entries) = fs::read_dir(all) else { continue };
        for entry in entries.filter_map(Result::ok).take(NOTES) {
            let data = entry.metadata();
            let age = data.as_ref().ok().and_then(|data| data.modified().ok()?.elapsed().ok());
            if age.is_some_and(|age| age > KEPT) {
                let folder = data.is_ok_and(|data| data.is_dir());
                let _ = if folder { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) };
            }
        }
    }
}
