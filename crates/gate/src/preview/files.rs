//! Files that go away or move, and other calls that name what they act on.

use super::{
    args::{Args, Name, PATH},
    text::{count, list, value},
};

/// Files that go away or move.
pub(super) enum Files<'a> {
    Delete { names: Vec<&'a str>, folders: bool },
    Move { verb: &'static str, from: &'a str, to: &'a str },
}

impl<'a> Files<'a> {
    pub(super) fn read(name: &Name, args: &mut Args<'a>) -> Option<Self> {
        let things = ["file", "files", "path", "paths", "directory", "directories", "folder", "dir"];
        if !name.has(&things) {
            return None;
        }
        if name.has(&["delete", "remove", "rm", "unlink", "erase"]) {
            let many = ["files", "paths", "filenames", "file_paths", "directory", "folder", "dir"];
            let keys: Vec<&str> = PATH.iter().copied().chain(many).collect();
            let names = args.texts(&keys)?;
            let folders = name.has(&["directory", "directories", "folder", "dir"]);
            return (!names.is_empty()).then_some(Self::Delete { names, folders });
        }
        let verb = match () {
            () if name.has(&["move"]) => "Move",
            () if name.has(&["rename"]) => "Rename",
            () if name.has(&["copy"]) => "Copy",
            () => return None,
        };
        let from = args.text(&["source", "src", "from", "source_path", "old_path"])?;
        let to =
            args.text(&["destination", "dest", "dst", "to", "target", "destination_path", "new_path"])?;
        Some(Self::Move { verb, from, to })
    }

    pub(super) fn effect(&self) -> String {
        match self {
            Self::Delete { names, folders } => {
                let (one, many) = if *folders { ("folder", "folders") } else { ("file", "files") };
                format!("Delete {}: {}", count(names.len(), one, many), list(names.iter().copied(), 140))
            }
            Self::Move { verb, from, to } => format!("{verb} {} to {}", value(from, 80), value(to, 80)),
        }
    }
}
