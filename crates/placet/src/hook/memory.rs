//! What one hook process leaves for the next: which request belongs to which call, and its permit.
//!
//! Kept in files of the user's own (`PLACET_STATE_DIR`, `$XDG_STATE_HOME/placet`, `~/.local/state/placet`). Nothing here
//! decides anything: without it every call is asked for anew, and outcomes stay unreported.

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

/// Sessions that nobody touched for this long are forgotten.
const KEPT: Duration = Duration::from_hours(7 * 24);
/// Most notes of one session that are looked at.
const NOTES: usize = 1_000;

/// What is remembered of one session of one agent.
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
    /// Equal for calls of one tool with one set of arguments.
    pub(super) same: String,
    /// Asked beside the person at the terminal: withdrawn when that person answers.
    pub(super) relay: bool,
    /// Asked by a sub-agent: the end of the main agent's turn says nothing about it.
    pub(super) subagent: bool,
}

impl Memory {
    /// Of one session.
    pub(super) fn of(agent: Agent, session: &str) -> Self {
        let hash =
            placet_ledger::hash("placet/hook/session", &[agent.as_str().as_bytes(), session.as_bytes()]);
        let name: String = hash.to_string().trim_start_matches("sha256:").chars().take(32).collect();
        Self { folder: root().map(|root| root.join("hooks").join(name)) }
    }

    /// Writes a note, or writes it anew. Whether it worked changes nothing for the call at hand.
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

    /// How many calls that look like this one have come to an end in this session.
    pub(super) fn occurrence(&self, call: &Call) -> u32 {
        let count = self.folder.as_ref().and_then(|folder| fs::read_to_string(folder.join(count(call))).ok());
        count.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }

    /// One more has.
    pub(super) fn ended(&self, call: &Call, occurrence: u32) {
        let _ = self.write(&count(call), occurrence.saturating_add(1).to_string().as_bytes());
    }

    fn write(&self, name: &str, bytes: &[u8]) -> std::io::Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        if !folder.exists() {
            if let Some(all) = folder.parent() {
                tidy(all);
            }
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        // Readable by its owner alone, and there whole or not at all.
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

fn root() -> Option<PathBuf> {
    let folder = |name: &str| {
        let value = std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        value.filter(|path| path.is_absolute())
    };
    folder("PLACET_STATE_DIR")
        .or_else(|| folder("XDG_STATE_HOME").map(|state| state.join("placet")))
        .or_else(|| folder("HOME").map(|home| home.join(".local/state/placet")))
}

/// Forgets sessions that nobody touched for long.
fn tidy(all: &Path) {
    let Ok(entries) = fs::read_dir(all) else { return };
    for entry in entries.filter_map(Result::ok).take(NOTES) {
        let age = entry.metadata().and_then(|data| data.modified()).ok().and_then(|at| at.elapsed().ok());
        if age.is_some_and(|age| age > KEPT) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
