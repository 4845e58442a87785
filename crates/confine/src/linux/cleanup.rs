//! After the run: protected files that were not there before are removed, and replaced links are put back.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, ResolveFlags, openat, openat2, symlinkat, unlinkat};

use super::outer::note;
use crate::{
    scan::{Found, Guard, Kind, Lists, Place, Scan},
    words::{Doing as _, Problem},
};

/// Compares what is protected now with what was before. No process of the run is alive any more.
pub(crate) fn clean(roots: &[(PathBuf, Place)], lists: &Lists, before: &[Found]) -> Result<(), Problem> {
    let mut scan = Scan::default();
    for (root, place) in roots {
        scan.folder(lists, root, *place)?;
    }
    let known: BTreeMap<&Path, &Found> = before.iter().map(|found| (found.path.as_path(), found)).collect();
    for found in scan.found.iter().filter(|found| found.guard == Guard::ReadOnly) {
        if known.get(found.path.as_path()).is_some_and(|old| is_same(old, found)) {
            continue;
        }
        remove(roots, &found.path)?;
        note(&format!("{} is protected and appeared during the run: it was removed", found.path.display()));
    }
    // Files are mounts while the command runs and stay; links cannot be, and are put back.
    for old in before {
        let Kind::Link(target) = &old.kind else { continue };
        if scan.found.iter().any(|found| found.path == old.path && is_same(old, found)) {
            continue;
        }
        let (folder, name) = parent(roots, &old.path)?;
        match symlinkat(target, &folder, name) {
            Ok(()) => note(&format!("{} is a protected link: it was put back", old.path.display())),
            Err(error) => {
                return Err(Problem::Workspace(format!(
                    "{} was a protected link and cannot be put back: {error}",
                    old.path.display()
                )));
            }
        }
    }
    Ok(())
}

fn is_same(old: &Found, new: &Found) -> bool {
    match (&old.kind, &new.kind) {
        (Kind::Link(one), Kind::Link(other)) => one == other,
        (one, other) => one == other && (old.device, old.inode) == (new.device, new.inode),
    }
}

/// The folder of a path, opened below its root without following a link: another run may be swapping folders.
fn parent<'a>(
    roots: &[(PathBuf, Place)],
    path: &'a Path,
) -> Result<(rustix::fd::OwnedFd, &'a std::ffi::OsStr), Problem> {
    let gone = || Problem::Workspace(format!("{} cannot be removed", path.display()));
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

fn remove(roots: &[(PathBuf, Place)], path: &Path) -> Result<(), Problem> {
    let (folder, name) = parent(roots, path)?;
    remove_at(&folder, name, 0)
        .map_err(|error| Problem::Workspace(format!("{} cannot be removed: {error}", path.display())))
}

fn remove_at(folder: &rustix::fd::OwnedFd, name: &std::ffi::OsStr, depth: usize) -> rustix::io::Result<()> {
    use std::os::unix::ffi::OsStrExt as _;
    match unlinkat(folder, name, AtFlags::empty()) {
        Err(rustix::io::Errno::ISDIR | rustix::io::Errno::PERM) if depth < 128 => {}
        Err(rustix::io::Errno::NOENT) => return Ok(()),
        other => return other,
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let inner = match openat(folder, name, flags, Mode::empty()) {
        Ok(inner) => inner,
        // The command may have taken away its own rights.
        Err(rustix::io::Errno::ACCESS) => {
            rustix::fs::chmodat(folder, name, Mode::RWXU, AtFlags::empty())?;
            openat(folder, name, flags, Mode::empty())?
        }
        Err(error) => return Err(error),
    };
    rustix::fs::fchmod(&inner, Mode::RWXU)?;
    let names: Vec<std::ffi::OsString> = Dir::read_from(&inner)?
        .filter_map(Result::ok)
        .map(|entry| std::ffi::OsStr::from_bytes(entry.file_name().to_bytes()).to_owned())
        .filter(|name| name != "." && name != "..")
        .collect();
    for name in names {
        remove_at(&inner, &name, depth + 1)?;
    }
    unlinkat(folder, name, AtFlags::REMOVEDIR)
}
