//! What git would do in a folder: the repository it uses, and the programs that its configuration starts.
//!
//! Only files are read. Git itself is never run, because running it in a hostile folder is the danger. Every doubt
//! becomes an entry, and an entry holds the call. Where git reads less than we do, we stay stricter: every
//! `includeIf` counts as true, `config.worktree` counts without its extension, and discovery does not stop at
//! `GIT_CEILING_DIRECTORIES` or at another file system, where git would find no repository. `safe.directory` is no
//! protection and is ignored.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use crate::output::safe;

mod config;
mod discover;
mod environment;
mod files;
mod index;
mod keys;
mod repository;
mod settings;
#[cfg(test)]
mod tests;

/// The number of entries that are sent, and the length of each.
const ENTRIES: usize = 20;
const LENGTH: usize = 200;

/// Reads a variable of the environment that the agent's commands inherit.
type Env<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// What git would do in a folder.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Git {
    /// The top of the working tree git would use, resolved, or of the repository itself if it is bare; none outside of
    /// any.
    pub(crate) repository: Option<String>,
    /// Each entry that would start a program or change what git reads, in words: `core.fsmonitor=./x (.git/config)`.
    pub(crate) runs: Vec<String>,
}

/// Finds out what git would do in `folder`, which is resolved. `env` gives variables of the environment the agent's
/// commands inherit.
pub(crate) fn look(folder: &Path, env: &dyn Fn(&str) -> Option<OsString>) -> Git {
    let home = env("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let mut report = Report { home: home.clone(), ..Report::default() };
    environment::look(env, &mut report);
    let found = discover::find(folder, env, &mut report);
    let top = repository::look(found.as_ref(), home, env, &mut report);
    let repository = match top.as_deref().map(Path::to_str) {
        Some(None) => {
            report.unreadable(top.as_deref().unwrap_or(folder), "its name is not UTF-8");
            None
        }
        Some(Some(top)) => Some(top.to_owned()),
        None => None,
    };
    Git { repository, runs: report.finish() }
}

/// Collects the entries.
#[derive(Debug, Default)]
struct Report {
    entries: Vec<String>,
    /// Entries that no longer fit.
    more: usize,
    /// Files inside these are named relative to them.
    top: Option<PathBuf>,
    home: Option<PathBuf>,
}

impl Report {
    /// A setting, with its file.
    fn setting(&mut self, key: &str, value: Option<&str>, source: &str) {
        let key = cut(&safe(key), 60);
        let value = value.map(|value| format!("={}", cut(&safe(value), 70))).unwrap_or_default();
        self.add(format!("{key}{value} ({})", cut(&safe(source), 60)));
    }

    /// A file that starts a program or changes what git reads, just by being there.
    fn file(&mut self, path: &Path, why: &str) {
        let name = cut(&safe(&self.name(path)), 120);
        self.add(format!("{name}: {}", cut(&safe(why), 70)));
    }

    /// A file that could not be read or understood.
    fn unreadable(&mut self, path: &Path, why: &str) {
        let name = cut(&safe(&self.name(path)), 90);
        self.add(format!("cannot be read: {name}: {}", cut(&safe(why), 80)));
    }

    /// A path as people write it: from the top of the repository, or from the home folder.
    fn name(&self, path: &Path) -> String {
        if let Some(inside) = self.top.as_deref().and_then(|top| path.strip_prefix(top).ok()) {
            return inside.display().to_string();
        }
        match self.home.as_deref().and_then(|home| path.strip_prefix(home).ok()) {
            Some(inside) => format!("~/{}", inside.display()),
            None => path.display().to_string(),
        }
    }

    fn add(&mut self, entry: String) {
        let entry = cut(&entry, LENGTH);
        if self.entries.contains(&entry) {
            return;
        }
        if self.entries.len() < ENTRIES - 1 {
            self.entries.push(entry);
        } else {
            self.more += 1;
        }
    }

    fn finish(mut self) -> Vec<String> {
        if self.more > 0 {
            self.entries.push(format!("and {} more", self.more));
        }
        self.entries
    }
}

/// At most `limit` characters.
fn cut(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(limit.saturating_sub(1)).collect();
    short.push('…');
    short
}
