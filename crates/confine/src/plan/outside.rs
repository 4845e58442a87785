//! What is hidden outside the workspace: secrets of the machine and of the home, and sockets of other programs.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
};

use super::{Part, is_seen};
use crate::{
    names::{From, Pattern, glob, lower, split},
    profile::Profile,
    protected::{Guard, Kind, Lists, ProtectedPath},
    words::Problem,
};

/// Secrets of the machine that are hidden whatever the profile says: root can read them.
const ALWAYS_HIDDEN: [&str; 6] =
    ["/etc/shadow*", "/etc/gshadow*", "/etc/sudoers*", "/etc/ssl/private", "/etc/ssh", "/etc/placet"];
/// Most sockets that are covered.
const MOST_SOCKETS: usize = 4096;

/// Hidden files outside the workspace: those with a place of their own, and names in the folders shown from the home.
pub(super) fn outside(
    profile: &Profile,
    parts: &[(PathBuf, Part)],
    guards: &mut Vec<ProtectedPath>,
) -> Result<(), Problem> {
    let lists = Lists::new(profile)?;
    let always = ALWAYS_HIDDEN.iter().filter_map(|name| Pattern::read(name).ok());
    let mut paths = BTreeSet::new();
    for pattern in lists.hidden.anchored().cloned().chain(always) {
        let start = if pattern.from == From::Home { profile.home.clone() } else { PathBuf::from("/") };
        expand(&pattern, start, 0, &mut paths);
    }
    if rustix::process::geteuid().is_root() {
        not_for_all(Path::new("/etc"), &mut paths, 0);
    }
    for (path, part) in parts {
        if matches!(part, Part::Shown(_)) && path.starts_with(&profile.home) {
            let mut above = split(path);
            for entry in fs::read_dir(path).into_iter().flatten().flatten() {
                if lists.hidden.has(&mut above, &lower(entry.file_name().as_bytes())) {
                    paths.insert(entry.path());
                }
            }
        }
    }
    for path in paths {
        if is_seen(parts, &path) && !guards.iter().any(|found| found.path == path) {
            guards.extend(found(&path)?);
        }
    }
    Ok(())
}

/// Files that only some may read. Root is the owner of most of them, so the kernel would let a command of root's read them.
fn not_for_all(folder: &Path, into: &mut BTreeSet<PathBuf>, depth: usize) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        // Half of them are links, which the list itself tells.
        if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            continue;
        }
        let Ok(about) = entry.metadata() else { continue };
        let (mode, is_folder) = (about.mode(), about.is_dir());
        if mode & 0o004 == 0 || (is_folder && mode & 0o001 == 0) {
            into.insert(entry.path());
        } else if is_folder && depth < 8 {
            not_for_all(&entry.path(), into, depth + 1);
        }
    }
}

/// The files of the machine that a pattern stands for.
fn expand(pattern: &Pattern, at: PathBuf, index: usize, into: &mut BTreeSet<PathBuf>) {
    let (Some(written), Some(low)) = (pattern.written.get(index), pattern.segments.get(index)) else {
        into.insert(at);
        return;
    };
    // The folders of processes and devices are new ones inside.
    if at == Path::new("/") && matches!(low.as_slice(), b"proc" | b"dev" | b"run") {
        return;
    }
    if written.contains(['*', '?']) {
        for entry in fs::read_dir(&at).into_iter().flatten().flatten() {
            if glob(low, &lower(entry.file_name().as_bytes())) {
                expand(pattern, entry.path(), index + 1, into);
            }
        }
    } else {
        let next = at.join(written);
        if fs::symlink_metadata(&next).is_ok() {
            expand(pattern, next, index + 1, into);
        }
    }
}

pub(super) fn found(path: &Path) -> Result<Option<ProtectedPath>, Problem> {
    let about = match fs::symlink_metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        // What we cannot reach, the command cannot reach.
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return Ok(None),
        Err(error) => return Err(Problem::Look { path: path.into(), error }),
    };
    let kind = if about.is_dir() {
        Kind::Folder
    } else if about.is_symlink() {
        let target = fs::read_link(path).map_err(|error| Problem::Look { path: path.into(), error })?;
        Kind::Link(target.into_os_string())
    } else {
        Kind::File
    };
    let guard = Guard::Hidden;
    Ok(Some(ProtectedPath {
        path: path.into(),
        guard,
        kind,
        device: about.dev(),
        inode: about.ino(),
        born: None,
        links: 1,
        passage: false,
        mode: about.mode() & 0o7777,
        text: None,
    }))
}

/// Sockets of other programs that the command could reach by their path: a read-only mount does not stop `connect`.
pub(super) fn sockets(parts: &[(PathBuf, Part)], guards: &mut Vec<ProtectedPath>) -> Result<(), Problem> {
    let path = Path::new("/proc/net/unix");
    let table = fs::read(path).map_err(|error| Problem::Look { path: path.into(), error })?;
    let table = String::from_utf8_lossy(&table);
    let mut seen = BTreeSet::new();
    for line in table.lines().skip(1) {
        let Some(start) = line.find(" /") else { continue };
        let Ok(path) = fs::canonicalize(&line[start + 1..]) else { continue };
        if is_seen(parts, &path) && seen.insert(path.clone()) {
            guards.extend(found(&path)?);
        }
        if seen.len() > MOST_SOCKETS {
            return Err(Problem::Layer("this machine has too many sockets to cover".into()));
        }
    }
    Ok(())
}
