//! Files that are deleted or moved, and other calls that name what they act on.

use super::{
    args::{Args, Name, PATH},
    text::{count, list, middle, value},
};

/// Files that are deleted or moved.
pub(super) enum Files<'a> {
    Delete { names: Vec<&'a str>, folders: bool },
    Move { verb: &'static str, from: &'a str, to: &'a str },
}

const DELETES: &[&str] = &["delete", "remove", "rm", "unlink", "erase"];
const MOVES: &[(&str, &str)] = &[("move", "move"), ("rename", "rename"), ("copy", "copy")];
const FILES: &[&str] = &["file", "files", "path", "paths"];
const FOLDERS: &[&str] = &["directory", "directories", "folder", "folders", "dir"];

impl<'a> Files<'a> {
    /// Only a verb and a noun: `undo_delete_file` deletes nothing.
    pub(super) fn read(name: &Name, args: &mut Args<'a>) -> Option<Self> {
        let things = || FILES.iter().chain(FOLDERS);
        let exactly = |verb: &str| things().any(|thing| name.one_of(&[&format!("{verb}_{thing}")]));
        if DELETES.iter().any(|verb| exactly(verb)) {
            let many = ["files", "paths", "filenames", "file_paths", "directory", "folder", "dir"];
            let keys: Vec<&str> = PATH.iter().copied().chain(many).collect();
            let names = args.texts(&keys)?;
            return (!names.is_empty()).then_some(Self::Delete { names, folders: name.has(FOLDERS) });
        }
        let (_, verb) = MOVES.iter().find(|(word, _)| exactly(word))?;
        let from = args.text(&["source", "src", "from", "source_path", "old_path"])?;
        let to =
            args.text(&["destination", "dest", "dst", "to", "target", "destination_path", "new_path"])?;
        Some(Self::Move { verb, from, to })
    }

    pub(super) fn effect(&self) -> String {
        match self {
            // A pattern can match many files, and a name with a slash at its end is a folder.
            Self::Delete { names, .. } if names.iter().any(|name| is_pattern(name)) => {
                format!("delete whatever this names: {}", self.facts())
            }
            Self::Delete { names, folders } => {
                let (one, many) = if *folders { ("folder", "folders") } else { ("file", "files") };
                format!("delete {}: {}", count(names.len(), one, many), self.facts())
            }
            Self::Move { verb, from, to } => {
                format!("{verb} {} to {}", value(&middle(from, 70), 80), value(&middle(to, 70), 80))
            }
        }
    }

    pub(super) fn facts(&self) -> String {
        match self {
            Self::Delete { names, .. } => list(names.iter().copied(), 130),
            Self::Move { from, to, .. } => list([*from, *to].into_iter(), 130),
        }
    }

    pub(super) fn deletes(&self) -> bool {
        matches!(self, Self::Delete { .. })
    }
}

/// Whether a name may mean more than one file, or another one.
fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?', '[', '{', '$', '%', '`', '~'])
        || name.ends_with(['/', '\\'])
        || name.split(['/', '\\']).any(|part| matches!(part, "." | ".."))
        || name.trim().is_empty()
}
