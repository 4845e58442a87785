//! Protected links are no mounts, so a command can replace them. After the run they are put back.

use std::{
    ffi::OsStr,
    fs::File,
    io::Write as _,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::Path,
};

use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, fchmod, fstat, openat, readlinkat, statat, symlinkat},
    io::Errno,
};

use super::{
    aside::{Aside, forced, remove},
    cleanup::{FileState, HELD, reopen},
    register::RunState,
};
use crate::{
    protected::identity,
    walk::{Reopened, open_folder},
};

/// Whether something is at a path where nothing was.
pub(crate) fn is_there(run: &RunState, path: &Path) -> rustix::io::Result<bool> {
    in_folder_of(run, path, |folder, name| statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map(|_| true))
        .or_else(nowhere)
}

/// What is at a path now.
pub(crate) fn state(run: &RunState, path: &Path) -> Option<FileState> {
    in_folder_of(run, path, |folder, name| Ok(FileState::of(folder, name))).ok().flatten()
}

/// Removes something that was not there before.
pub(crate) fn take_away(run: &RunState, path: &Path, aside: Option<&Aside>) -> rustix::io::Result<()> {
    in_folder_of(run, path, |folder, name| remove(folder, name, aside).map(|_| ()))
}

/// Whether a link leads where it led. If its folder is gone, as after a checkout, it counts as unchanged: no program obeys it.
pub(crate) fn is_as_before(run: &RunState, path: &Path, target: &OsStr) -> rustix::io::Result<bool> {
    let is_same = |folder: &OwnedFd, name: &OsStr| match readlinkat(folder, name, Vec::new()) {
        Ok(now) => Ok(now.as_bytes() == target.as_bytes()),
        Err(_) => Ok(false),
    };
    in_folder_of(run, path, is_same)
        .or_else(|error| if error == Errno::NOENT { Ok(true) } else { Err(error) })
}

/// Puts a link back.
pub(crate) fn put_back(
    run: &RunState,
    path: &Path,
    target: &OsStr,
    aside: Option<&Aside>,
) -> rustix::io::Result<()> {
    in_folder_of(run, path, |folder, name| {
        remove(folder, name, aside)?;
        forced(folder, || symlinkat(target, folder, name))
    })
}

/// Puts a file with this text in the place of what is there now.
pub(crate) fn rewrite(
    run: &RunState,
    path: &Path,
    text: &str,
    mode: u32,
    aside: Option<&Aside>,
) -> rustix::io::Result<()> {
    in_folder_of(run, path, |folder, name| {
        remove(folder, name, aside)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(forced(folder, || openat(folder, name, flags, Mode::RUSR | Mode::WUSR))?);
        file.write_all(text.as_bytes()).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        fchmod(&file, Mode::from_raw_mode(mode))
    })
}

fn nowhere(error: Errno) -> rustix::io::Result<bool> {
    if error == Errno::NOENT { Ok(false) } else { Err(error) }
}

/// Does something in the folder of a path, which gets its mode back.
fn in_folder_of<T>(
    run: &RunState,
    path: &Path,
    act: impl FnOnce(&OwnedFd, &OsStr) -> rustix::io::Result<T>,
) -> rustix::io::Result<T> {
    let (root, _) = run.roots.iter().find(|(root, _)| path.starts_with(root)).ok_or(Errno::NOENT)?;
    let (above, name) = (path.parent().ok_or(Errno::NOENT)?, path.file_name().ok_or(Errno::NOENT)?);
    let relative = above.strip_prefix(root).map_err(|_| Errno::NOENT)?;
    let mut closed = Vec::new();
    let done = descend(run, root, relative, &mut closed).and_then(|folder| act(&folder, name));
    for (folder, mode) in closed {
        let _ = fchmod(folder, mode);
    }
    done
}

/// Opens a folder below a root without following a link: another run may be swapping folders. Folders that had to be opened by force
/// get their modes back later.
fn descend(
    run: &RunState,
    root: &Path,
    relative: &Path,
    closed: &mut Vec<(OwnedFd, Mode)>,
) -> rustix::io::Result<OwnedFd> {
    let mut folder = openat(CWD, root, HELD, Mode::empty())?;
    // A run around this one can have put a link to another project above the root.
    let (device, inode) = identity(&fstat(&folder)?);
    if !run.before.roots.contains(&(root.to_owned(), device, inode)) {
        return Err(Errno::NOENT);
    }
    for name in [OsStr::new(".")].into_iter().chain(relative.iter()) {
        folder = if let Some(below) = open_folder(&folder, name)? {
            below
        } else {
            let Reopened { folder: below, mode } = reopen(&folder, name)?;
            closed.push((rustix::io::fcntl_dupfd_cloexec(&below, 3)?, mode));
            below
        };
    }
    Ok(folder)
}
