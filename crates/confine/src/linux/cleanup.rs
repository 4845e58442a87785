//! After the run: protected files that were not there before are removed, and replaced links are put back.
//!
//! Whatever the command left must be looked through: closed folders are opened, deep ones are removed, and an error at one place does not
//! keep the others from being looked at.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    os::fd::{AsRawFd as _, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{
        AtFlags, CWD, Mode, OFlags, ResolveFlags, chmod, fstat, openat, openat2, symlinkat, unlinkat,
    },
    io::Errno,
    process::geteuid,
};

use super::outer::note;
use crate::{
    kept,
    scan::{Found, Guard, Kind, Lists, Meets, Place, Reopened, look, open_folder, walk},
    words::{Doing as _, Problem},
};

/// So many failures are told.
const TOLD: usize = 20;

/// Compares what is protected now with what was before. No process of the run is alive any more.
pub(crate) fn clean(roots: &[(PathBuf, Place)], lists: &Lists, before: &[Found]) -> Result<(), Problem> {
    let known = before.iter().map(|found| (found.path.as_path(), found)).collect();
    let mut cleaning = Cleaning { known, links: BTreeSet::new(), failures: 0 };
    for (root, place) in roots {
        let done = open_root(root).and_then(|(folder, mode)| {
            let walked = walk(lists, &mut cleaning, folder, root, *place);
            if let Some(mode) = mode {
                let _ = chmod(root, mode);
            }
            walked
        });
        done.or_else(|problem| cleaning.failed(problem))?;
    }
    // Files are mounts while the command runs and stay; links cannot be, and are put back.
    for old in before {
        let Kind::Link(target) = &old.kind else { continue };
        if cleaning.links.contains(&old.path) {
            continue;
        }
        let put = parent(roots, &old.path).and_then(|(folder, name)| {
            symlinkat(target, &folder, name).map_err(|error| {
                Problem::Workspace(format!(
                    "{} was a protected link and cannot be put back: {error}",
                    old.path.display()
                ))
            })
        });
        match put {
            Ok(()) => note(&format!("{} is a protected link: it was put back", old.path.display())),
            Err(problem) => cleaning.failed(problem)?,
        }
    }
    match cleaning.failures {
        0 => Ok(()),
        one => Err(Problem::Left(one)),
    }
}

/// A walk that removes.
struct Cleaning<'b> {
    known: BTreeMap<&'b Path, &'b Found>,
    /// Protected links that are as they were.
    links: BTreeSet<PathBuf>,
    failures: usize,
}

/// Opens a whole workspace, and says which mode it must get back.
fn open_root(root: &Path) -> Result<(OwnedFd, Option<Mode>), Problem> {
    let unreadable = |error: Errno| Problem::Look { path: root.into(), error: error.into() };
    if let Some(folder) = open_folder(CWD, root).map_err(unreadable)? {
        return Ok((folder, None));
    }
    let above = root.parent().map(|above| openat(CWD, above, HELD, Mode::empty()));
    let (Some(above), Some(name)) = (above, root.file_name()) else { return Err(unreadable(Errno::ACCESS)) };
    let reopened = reopen(&above.map_err(unreadable)?, name).map_err(unreadable)?;
    Ok((reopened.folder, Some(reopened.mode)))
}

impl Meets for Cleaning<'_> {
    fn one(&mut self, _: &Path) -> Result<(), Problem> {
        Ok(())
    }

    fn protected(&mut self, folder: &OwnedFd, name: &OsStr, path: PathBuf, guard: Guard) -> Result<bool, Problem> {
        let found = match look(folder, name, path, guard) {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(false),
            Err(problem) => return self.failed(problem).map(|()| true),
        };
        if self.known.get(found.path.as_path()).is_some_and(|old| is_same(old, &found)) {
            if matches!(found.kind, Kind::Link(_)) {
                self.links.insert(found.path);
            }
            return Ok(true);
        }
        if guard != Guard::ReadOnly {
            return Ok(true);
        }
        match remove(folder, name) {
            Ok(()) => note(&format!("{} is protected and appeared during the run: it was removed", found.path.display())),
            Err(error) => {
                let why = format!("{} is protected, appeared during the run, and cannot be removed: {error}", found.path.display());
                self.failed(Problem::Workspace(why))?;
            }
        }
        Ok(false)
    }

    fn git(&mut self, _: &Path) {}

    /// What was covered during the run cannot have changed, whoever opened it meanwhile.
    fn is_covered(&self, path: &Path) -> bool {
        self.known.get(path).is_some_and(|old| old.guard == Guard::Hidden && old.kind == Kind::Folder)
    }

    fn closed(&mut self, at: &OwnedFd, name: &OsStr, path: &Path) -> Result<Option<Reopened>, Problem> {
        match reopen(at, name) {
            Ok(reopened) => Ok(Some(reopened)),
            Err(error) => self.failed(Problem::Look { path: path.into(), error: error.into() }).map(|()| None),
        }
    }

    /// Before the run no folder was so deep, so the command made it.
    fn too_deep(&mut self, at: &OwnedFd, name: &OsStr, path: &Path) -> Result<(), Problem> {
        match remove(at, name) {
            Ok(()) => note(&format!("{} is too deep to be looked through: it was removed", path.display())),
            Err(error) => {
                let why = format!("{} is too deep to be looked through, and cannot be removed: {error}", path.display());
                self.failed(Problem::Workspace(why))?;
            }
        }
        Ok(())
    }

    fn failed(&mut self, problem: Problem) -> Result<(), Problem> {
        if self.failures < TOLD {
            note(&problem.to_string());
        }
        self.failures += 1;
        Ok(())
    }
}

fn is_same(old: &Found, new: &Found) -> bool {
    match (&old.kind, &new.kind) {
        (Kind::Link(one), Kind::Link(other)) => one == other,
        (one, other) => one == other && (old.device, old.inode) == (new.device, new.inode),
    }
}

const HELD: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a folder although its owner has taken away the rights to. Only a folder of this user.
fn reopen(at: &OwnedFd, name: &OsStr) -> rustix::io::Result<Reopened> {
    // Of the folder itself, not of what a link in its place leads to.
    let held = openat(at, name, HELD, Mode::empty())?;
    let about = fstat(&held)?;
    if about.st_uid != geteuid().as_raw() {
        return Err(Errno::ACCESS);
    }
    let mode = Mode::from_raw_mode(about.st_mode & 0o7777);
    chmod(format!("/proc/self/fd/{}", held.as_raw_fd()), mode | Mode::RWXU)?;
    let folder = open_folder(&held, ".")?.ok_or(Errno::ACCESS)?;
    Ok(Reopened { folder, mode })
}

/// The folder of a path, opened below its root without following a link: another run may be swapping folders.
fn parent<'a>(roots: &[(PathBuf, Place)], path: &'a Path) -> Result<(OwnedFd, &'a OsStr), Problem> {
    let gone = || Problem::Workspace(format!("{} cannot be put back", path.display()));
    let (root, _) = roots.iter().find(|(root, _)| path.starts_with(root)).ok_or_else(gone)?;
    let (folder, name) = (path.parent().ok_or_else(gone)?, path.file_name().ok_or_else(gone)?);
    let relative = folder.strip_prefix(root).map_err(|_| gone())?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let top = openat(CWD, root, flags, Mode::empty()).doing("the workspace cannot be opened")?;
    if relative.as_os_str().is_empty() {
        return Ok((top, name));
    }
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let folder = openat2(&top, relative, flags, Mode::empty(), resolve)
        .doing(format_args!("{} cannot be opened", folder.display()))?;
    Ok((folder, name))
}

/// Removes a file, or a folder with all that is in it.
fn remove(folder: &OwnedFd, name: &OsStr) -> rustix::io::Result<()> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(Errno::NOENT) => return Ok(()),
        other => return other,
    }
    let inner = kept::force_open(folder, name)?;
    kept::empty(&inner)?;
    unlinkat(folder, name, AtFlags::REMOVEDIR)
}
