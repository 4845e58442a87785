//! A walk through the workspace that finds what is protected in it, before the run and after it. Links are never followed.

use std::{
    ffi::{OsStr, OsString},
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, Dir, DirEntry, FileType, Mode, OFlags, fchmod, openat, statat},
    io::Errno,
};
use serde::{Deserialize, Serialize};

use crate::{
    names::{lower, split},
    protected::{GIT_CONFIG, Guard, Lists, Role},
    words::Problem,
};

/// Deepest folder.
const DEEPEST: usize = 128;
/// The files that git obeys in one of its folders. `commondir` and `gitdir` lead it to other configuration.
const GIT_FILES: [&[u8]; 4] = [b"config", b"config.worktree", b"commondir", b"gitdir"];
/// The folders that it obeys. Files in `remotes` and `branches` name the addresses of remotes.
const GIT_FOLDERS: [&[u8]; 4] = [b"hooks", b"info", b"remotes", b"branches"];
/// Folders of git's that nobody obeys and that hold many files. None of them has a configuration of its own: one that has is something
/// else under their name.
const GIT_DATA: [&[u8]; 4] = [b"objects", b"refs", b"logs", b"lfs"];

/// What is known of a folder while its content is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Place {
    Plain,
    /// In a folder that is read-only as a whole: only what must be hidden matters.
    Fixed,
    /// A folder of git's own: `.git`, or a linked worktree in it.
    Git,
    /// A folder that git would take for a bare repository. Whatever else is in it counts as in a plain one.
    Bare,
    /// The modules of a repository, or the beginning of a module's path.
    Modules,
    /// The folder of a module. A module whose path begins with its own may lie in it.
    Module,
    Worktrees,
}

impl Place {
    /// Whether git obeys what is in it.
    fn is_gits(self) -> bool {
        matches!(self, Self::Git | Self::Bare | Self::Module)
    }
}

/// What is done with what a walk meets. An error ends the walk.
pub(crate) trait Meets {
    /// A file or folder, protected or not.
    fn one(&mut self, folder: &Path) -> Result<(), Problem>;
    /// A protected one. Whether it is still there afterwards.
    fn protected(
        &mut self,
        folder: &OwnedFd,
        name: &OsStr,
        path: PathBuf,
        guard: Guard,
        role: Role,
    ) -> Result<bool, Problem>;
    /// A folder of git's own.
    fn git(&mut self, path: &Path);
    /// Whether a folder that looks like a module of git was one before.
    fn is_module(&self, path: &Path) -> bool;
    /// Whether this folder is left out, because the command cannot or could not see what is in it. It is hidden, if its name says so.
    fn is_covered(&self, at: &OwnedFd, name: &OsStr, path: &Path, hidden: bool) -> bool;
    /// A folder that cannot be opened, or in which nothing can be looked at. What it is opened as instead, and its mode to set in the end.
    fn closed(&mut self, at: &OwnedFd, name: &OsStr, path: &Path) -> Result<Option<Reopened>, Problem>;
    /// A folder that is too deep.
    fn too_deep(&mut self, at: &OwnedFd, name: &OsStr, path: &Path) -> Result<(), Problem>;
    /// Something that could not be looked at.
    fn failed(&mut self, problem: Problem) -> Result<(), Problem>;
}

/// A folder that was opened although its owner had taken away the rights to.
pub(crate) struct Reopened {
    pub(crate) folder: OwnedFd,
    /// What its mode was.
    pub(crate) mode: Mode,
}

/// Walks through one folder and what is below it.
pub(crate) fn walk(
    lists: &Lists,
    meets: &mut impl Meets,
    root: OwnedFd,
    path: &Path,
    place: Place,
) -> Result<(), Problem> {
    Walk { meets, lists, above: split(path) }.folder(&root, path, place, 0)
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a folder for looking at everything in it. Nothing if its rights do not allow that.
pub(crate) fn open_folder(
    at: impl AsFd,
    name: impl rustix::path::Arg,
) -> rustix::io::Result<Option<OwnedFd>> {
    let folder = match openat(at, name, FOLDER, Mode::empty()) {
        Err(Errno::ACCESS) => return Ok(None),
        other => other?,
    };
    // With the right to list it alone, what is in it could not be looked at.
    match statat(&folder, ".", AtFlags::empty()) {
        Err(Errno::ACCESS) => Ok(None),
        other => other.map(|_| Some(folder)),
    }
}

struct Walk<'a, M> {
    meets: &'a mut M,
    lists: &'a Lists,
    /// The parts of the folder that is looked at, in lower case.
    above: Vec<Vec<u8>>,
}

impl<M: Meets> Walk<'_, M> {
    fn folder(&mut self, fd: &OwnedFd, path: &Path, place: Place, depth: usize) -> Result<(), Problem> {
        let place = self.place(fd, path, place)?;
        if place.is_gits() {
            self.meets.git(path);
        }
        // One after the other, and not as a list: a folder can have more names than there is memory.
        let entries = match Dir::read_from(fd) {
            Ok(entries) => entries,
            Err(error) => return self.unreadable(path, error),
        };
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => return self.unreadable(path, error),
            };
            let Some((name, kind)) = named(fd, &entry) else { continue };
            self.meets.one(path)?;
            self.entry(fd, path, place, &name, kind, depth)?;
        }
        Ok(())
    }

    fn unreadable(&mut self, path: &Path, error: Errno) -> Result<(), Problem> {
        self.meets.failed(Problem::Look { path: path.into(), error: error.into() })
    }

    /// What this folder is, by what is in it.
    fn place(&mut self, fd: &OwnedFd, path: &Path, place: Place) -> Result<Place, Problem> {
        match place {
            // Git obeys the configuration of such a folder when it is called inside. What makes it one is protected itself: a folder
            // of other things that a run made one is none again afterwards, and nothing in it is taken for git's.
            Place::Plain if is_bare(fd) => {
                if self.protect(fd, path, "HEAD")? {
                    return Ok(Place::Bare);
                }
                for name in GIT_FILES.iter().filter_map(|name| std::str::from_utf8(name).ok()) {
                    self.protect(fd, path, name)?;
                }
                Ok(Place::Plain)
            }
            Place::Modules if is_file(fd, "HEAD") || is_file(fd, "config") => {
                if self.meets.is_module(path) {
                    return Ok(Place::Module);
                }
                for name in ["HEAD", "config"] {
                    self.protect(fd, path, name)?;
                }
                // Unless they are the beginning of a module's path themselves.
                for name in GIT_FOLDERS.iter().filter_map(|name| std::str::from_utf8(name).ok()) {
                    let holds = |file: &str| is_file(fd, &format!("{name}/{file}"));
                    if is_there(fd, name) && !holds("HEAD") && !holds("config") {
                        let (path, guard) = (path.join(name), Guard::ReadOnly);
                        self.meets.protected(fd, OsStr::new(name), path, guard, Role::Obeyed)?;
                    }
                }
                Ok(Place::Modules)
            }
            other => Ok(other),
        }
    }

    /// Protects a file of git's, if it is there. Whether it stays.
    fn protect(&mut self, fd: &OwnedFd, folder: &Path, name: &str) -> Result<bool, Problem> {
        if !is_file(fd, name) {
            return Ok(false);
        }
        self.meets.protected(fd, OsStr::new(name), folder.join(name), Guard::ReadOnly, Role::Obeyed)
    }

    fn entry(
        &mut self,
        fd: &OwnedFd,
        folder: &Path,
        place: Place,
        name: &OsStr,
        kind: FileType,
        depth: usize,
    ) -> Result<(), Problem> {
        let low = lower(name.as_bytes());
        let low_name = low.as_slice();
        let is_folder = kind == FileType::Directory;
        let mut guard = self.lists.guard(&mut self.above, low_name);
        // A link in front of a protected name leads to that name somewhere else.
        let leads = kind == FileType::Symlink && self.lists.read_only.leads(&mut self.above, low_name);
        let mut obeyed = false;
        let inside = match place {
            // Git does nothing without them, so whether they are hidden depends on what is in them: see the plan.
            _ if place.is_gits() && !is_folder && GIT_CONFIG.contains(&low_name) => {
                (guard, obeyed) = (None, true);
                None
            }
            Place::Git | Place::Bare | Place::Module | Place::Modules
                if !is_folder && GIT_FILES.contains(&low_name) =>
            {
                obeyed = true;
                None
            }
            _ if place.is_gits() && GIT_FOLDERS.contains(&low_name) => {
                obeyed = true;
                None
            }
            _ if place.is_gits() && matches!(low_name, b"modules" | b"worktrees") => {
                // Where a link leads, nobody looks.
                if !is_folder {
                    obeyed = true;
                }
                Some(if low_name == b"modules" { Place::Modules } else { Place::Worktrees })
            }
            Place::Git | Place::Module if is_data(fd, name, low_name) => None,
            Place::Modules | Place::Worktrees | Place::Module
                if kind == FileType::Symlink && low_name != b"head" =>
            {
                obeyed = true;
                None
            }
            Place::Modules | Place::Module => Some(Place::Modules),
            Place::Worktrees => Some(Place::Git),
            _ if low_name == b".git" && is_folder => Some(Place::Git),
            _ if low_name == b".git" => {
                obeyed = true;
                None
            }
            Place::Plain | Place::Bare if self.lists.skip.has(&mut self.above, low_name) => None,
            Place::Fixed => Some(Place::Fixed),
            Place::Plain | Place::Bare | Place::Git => Some(Place::Plain),
        };
        if obeyed || leads {
            guard = guard.max(Some(Guard::ReadOnly));
        }
        if place == Place::Fixed && guard == Some(Guard::ReadOnly) {
            guard = None;
        }
        let path = folder.join(name);
        if let Some(guard) = guard {
            let role = match guard {
                _ if obeyed || self.lists.read_only.has(&mut self.above, low_name) => Role::Obeyed,
                Guard::Hidden => Role::Secret,
                Guard::ReadOnly => Role::Leads,
            };
            if !self.meets.protected(fd, name, path.clone(), guard, role)? {
                return Ok(());
            }
        }
        let inside = if guard == Some(Guard::ReadOnly) { Some(Place::Fixed) } else { inside };
        let (true, Some(inside)) = (is_folder, inside) else { return Ok(()) };
        if self.meets.is_covered(fd, name, &path, guard == Some(Guard::Hidden)) {
            return Ok(());
        }
        self.above.push(low);
        let result = self.below(fd, name, &path, inside, depth + 1);
        self.above.pop();
        result
    }

    fn below(
        &mut self,
        at: &OwnedFd,
        name: &OsStr,
        path: &Path,
        place: Place,
        depth: usize,
    ) -> Result<(), Problem> {
        if depth > DEEPEST {
            return self.meets.too_deep(at, name, path);
        }
        match open_folder(at, name) {
            Ok(Some(folder)) => self.folder(&folder, path, place, depth),
            Ok(None) => {
                let Some(Reopened { folder, mode }) = self.meets.closed(at, name, path)? else {
                    return Ok(());
                };
                let result = self.folder(&folder, path, place, depth);
                // As the command wanted it. If that fails it is more open than before, for its owner alone.
                let _ = fchmod(&folder, mode);
                result
            }
            // Gone meanwhile, or something else by now.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(()),
            Err(error) => self.meets.failed(Problem::Look { path: path.into(), error: error.into() }),
        }
    }
}

/// Whether git would take a folder for a repository: <https://git-scm.com/docs/gitrepository-layout>. What is needed can lie in
/// the folder that `commondir` names.
fn is_bare(folder: &OwnedFd) -> bool {
    is_file(folder, "HEAD")
        && ((is_there(folder, "objects") && is_there(folder, "refs")) || is_there(folder, "commondir"))
}

fn is_there(folder: &OwnedFd, name: &str) -> bool {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

/// Whether something other than a folder has this name.
fn is_file(folder: &OwnedFd, name: &str) -> bool {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) != FileType::Directory)
}

/// Whether this is a folder of data of git's, and not something else under its name.
fn is_data(folder: &OwnedFd, name: &OsStr, low: &[u8]) -> bool {
    GIT_DATA.contains(&low)
        && statat(folder, Path::new(name).join("config"), AtFlags::SYMLINK_NOFOLLOW)
            .is_err_and(|error| error == Errno::NOENT)
}

/// The name of an entry and its kind; nothing for the folder itself and the one above.
pub(crate) fn named(folder: &OwnedFd, entry: &DirEntry) -> Option<(OsString, FileType)> {
    let name = OsStr::from_bytes(entry.file_name().to_bytes());
    if name == "." || name == ".." {
        return None;
    }
    let kind = match entry.file_type() {
        FileType::Unknown => statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
            .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
        kind => kind,
    };
    Some((name.to_owned(), kind))
}
