//! Standard input of the command. A descriptor of a file leads to the file itself: its mode can be changed through it.

use std::{io, process::ChildStdin};

use rustix::fs::{FileType, fstat};

use crate::words::{Doing as _, Problem};

/// Whether standard input must be copied through a pipe. A folder is refused: it could be entered by its descriptor.
pub(crate) fn must_be_piped() -> Result<bool, Problem> {
    let about = fstat(io::stdin()).doing("standard input cannot be looked at")?;
    match FileType::from_raw_mode(about.st_mode) {
        FileType::Directory | FileType::BlockDevice => {
            Err(Problem::Layer("standard input is a folder or a disk".into()))
        }
        kind => Ok(kind == FileType::RegularFile),
    }
}

/// Copies in the background until the file or the command ends. Nothing waits for it.
pub(crate) fn copy_to(mut pipe: ChildStdin) -> Result<(), Problem> {
    let copy = move || {
        // A command that does not read all of its input closes the pipe.
        let _ = io::copy(&mut io::stdin().lock(), &mut pipe);
    };
    std::thread::Builder::new()
        .name("input".to_owned())
        .spawn(copy)
        .map(drop)
        .doing("standard input cannot be copied")
}
