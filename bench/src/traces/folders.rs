//! Which folders are open, if the first call in a repository asks whether the agent may work there.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{
    place,
    read::{self, RecordedCall},
};

/// Folders that are never asked about, because they do not last.
const TEMPORARY: [&str; 5] = ["/tmp", "/var", "/private", "/dev", "/proc"];
/// Where home folders are.
const HOMES: [&str; 2] = ["/Users", "/home"];

/// The folders that are open so far, for all sessions, because the answer lasts.
pub(super) struct Folders {
    pub(super) open: Vec<String>,
    /// The tops of the repositories that sessions began in.
    tops: Vec<String>,
}

impl Folders {
    /// The sessions do not show where a repository begins. It is a folder where a session began, or else the folder
    /// itself.
    pub(super) fn of(checkouts: &[PathBuf]) -> Result<Self> {
        let mut tops = Vec::new();
        for folder in checkouts {
            read::sessions(folder, &mut |session| {
                if !tops.contains(&session.root) {
                    tops.push(session.root);
                }
            })?;
        }
        Ok(Self { open: Vec::new(), tops })
    }

    /// Whether a person is asked about the folder of this call first. The answer is yes, and the folder stays open.
    pub(super) fn asks(&mut self, made: &RecordedCall) -> bool {
        let context = place::context(&made.tool, &made.input, &made.folder, &[]);
        let text = serde_json::Value::as_str;
        let folder = context.get("cwd").and_then(text).map(Path::new);
        let of_folder =
            folder.map(|folder| self.top(folder).unwrap_or_else(|| folder.to_string_lossy().into_owned()));
        let paths = context.get("paths").and_then(serde_json::Value::as_object);
        let named = paths.into_iter().flat_map(serde_json::Map::values).filter_map(text);
        let mut tops = of_folder.into_iter().chain(named.filter_map(|path| self.top(Path::new(path))));
        let is_open = |top: &String| self.open.iter().any(|open| Path::new(top).starts_with(open));
        let Some(top) = tops.find(|top| can_be_asked(Path::new(top)) && !is_open(top)) else { return false };
        self.open.push(top);
        true
    }

    /// The repository that a file lies in, of those that are known.
    fn top(&self, file: &Path) -> Option<String> {
        let above = self.tops.iter().filter(|top| file.starts_with(top) && can_be_asked(Path::new(top)));
        above.max_by_key(|top| top.len()).cloned()
    }
}

fn can_be_asked(folder: &Path) -> bool {
    let parent_is_homes =
        folder.parent().is_some_and(|above| HOMES.iter().any(|homes| above == Path::new(homes)));
    folder.components().count() > 2
        && !parent_is_homes
        && !TEMPORARY.iter().any(|other| folder.starts_with(other))
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    fn made(folder: &str, command: &str) -> RecordedCall {
        let input = Map::from_iter([("command".to_owned(), json!(command))]);
        RecordedCall { id: "1".into(), tool: "Bash".into(), input, folder: folder.into(), at: 0 }
    }

    #[test]
    fn each_repository_is_asked_about_once_and_no_home_or_temporary_folder() {
        let mut folders = Folders { open: Vec::new(), tops: vec!["/home/a/app".into()] };
        assert!(folders.asks(&made("/home/a/app/src", "ls")));
        assert_eq!(folders.open, ["/home/a/app"]);
        assert!(!folders.asks(&made("/home/a/app", "ls")));
        assert!(folders.asks(&made("/home/a/app", "cd /home/a/other && ls")));
        assert!(!folders.asks(&made("/home/a/other/x", "ls")));
        for folder in ["/tmp/x", "/home/a", "/", "/var/folders/x"] {
            assert!(!folders.asks(&made(folder, "ls")), "{folder}");
        }
    }
}
