//! Finds protected files in the workspace, before the run and after it. Links are never followed.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, CWD, Dir, DirEntry, FileType, Mode, OFlags, Stat, fchmod, openat, readlinkat, statat},
    io::Errno,
};
use serde::{Deserialize, Serialize};

use crate::{
    names::{Names, lower, split},
    profile::Profile,
    words::Problem,
};

/// Most files that are looked at.
const MOST_FILES: usize = 3_000_000;
/// Most protected files in one workspace: each is a mount.
const MOST_FOUND: usize = 8192;
/// Deepest folder.
const DEEPEST: usize = 128;
/// The files that git obeys in one of its folders. `commondir` and `gitdir` lead it to other configuration.
const GIT_FILES: [&[u8]; 4] = [b"config", b"config.worktree", b"commondir", b"gitdir"];
/// The folders that it obeys.
const GIT_FOLDERS: [&[u8]; 2] = [b"hooks", b"info"];
/// Folders of git's that nobody obeys and that hold many files. None of them has a configuration of its own: one that has is something
/// else under their name.
const GIT_DATA: [&[u8]; 4] = [b"objects", b"refs", b"logs", b"lfs"];

/// Files that git must read to work at all.
pub(crate) const GIT_CONFIG: [&[u8]; 2] = [b"config", b"config.worktree"];

/// How a file is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Guard {
    /// It can be read and not changed.
    ReadOnly,
    /// It cannot be read either.
    Hidden,
}

/// What stands at a protected path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    File,
    Folder,
    /// A symbolic link, and where it leads.
    Link(OsString),
}

/// Why a path is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// It may hold a secret. Nobody obeys it, so a new one may stay.
    Secret,
    /// Programs obey it.
    Obeyed,
    /// A link in front of a name that is obeyed.
    Leads,
}

/// What there was before a run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Before {
    /// What was protected, links included.
    pub(crate) found: Vec<Found>,
    /// Folders of git's own.
    pub(crate) git: BTreeSet<PathBuf>,
    /// Where protected links lead to nothing: what is there afterwards was made by the run.
    pub(crate) absent: Vec<PathBuf>,
    /// Which folders the workspaces were.
    pub(crate) roots: Vec<(PathBuf, u64, u64)>,
}

impl Before {
    /// Takes out what another run, which is not over, may have made: what it did not know itself, in the folders that it may change.
    ///
    /// Links are as the other run found them, since it puts them back. A folder that was covered here as a whole stays one: nobody
    /// looked into it, and the other run will.
    pub(crate) fn only(&mut self, other: &Self, others: &[PathBuf], own: &[(PathBuf, Place)]) {
        let known: BTreeSet<&Path> = other.found.iter().map(|found| found.path.as_path()).collect();
        let may_change = |path: &Path| others.iter().any(|root| path.starts_with(root));
        let is_own = |path: &Path| own.iter().any(|(root, _)| path.starts_with(root));
        self.found.retain(|found| {
            let covered = found.guard == Guard::Hidden && found.kind == Kind::Folder;
            covered || !may_change(&found.path) || known.contains(found.path.as_path())
        });
        for link in other.found.iter().filter(|link| matches!(link.kind, Kind::Link(_)) && is_own(&link.path))
        {
            self.found.retain(|found| found.path != link.path);
            self.found.push(link.clone());
        }
        self.git.retain(|folder| !may_change(folder) || other.git.contains(folder));
        self.absent.extend(other.absent.iter().filter(|path| is_own(path)).cloned());
    }
}

/// One protected path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) guard: Guard,
    pub(crate) kind: Kind,
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) links: u64,
    /// A link that must stay as it is. What it leads to is protected by its own names.
    pub(crate) passage: bool,
    /// What stands in it, for a configuration of git without secrets.
    pub(crate) config: Option<String>,
}

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

/// Everything protected below the folders that were scanned.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub(crate) found: Vec<Found>,
    /// Folders that must stay where they are: git's own.
    pub(crate) git: BTreeSet<PathBuf>,
    /// Folders that nobody can look into now. The command could open them again, so they are covered.
    pub(crate) closed: Vec<PathBuf>,
    files: usize,
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

/// The lists of a profile, ready to ask.
pub(crate) struct Lists {
    pub(crate) read_only: Names,
    pub(crate) hidden: Names,
    skip: Names,
}

impl Lists {
    pub(crate) fn new(profile: &Profile) -> Result<Self, Problem> {
        let names =
            |list: &[String]| Names::new(list, &profile.home).map_err(|why| Problem::Profile(why.to_owned()));
        // Git's folder has a rule of its own: it must be written for a commit.
        let read_only: Vec<String> =
            profile.read_only.iter().filter(|name| name.as_str() != ".git").cloned().collect();
        Ok(Self {
            read_only: names(&read_only)?,
            hidden: names(&profile.hidden)?,
            skip: names(&profile.skip)?,
        })
    }

    /// How a file with this name is protected by the lists alone.
    pub(crate) fn guard(&self, above: &mut Vec<Vec<u8>>, name: &[u8]) -> Option<Guard> {
        if self.hidden.has(above, name) {
            Some(Guard::Hidden)
        } else if self.read_only.has(above, name) {
            Some(Guard::ReadOnly)
        } else {
            None
        }
    }
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

impl Meets for Scan {
    fn one(&mut self, folder: &Path) -> Result<(), Problem> {
        self.count(folder)
    }

    fn protected(
        &mut self,
        folder: &OwnedFd,
        name: &OsStr,
        path: PathBuf,
        guard: Guard,
        role: Role,
    ) -> Result<bool, Problem> {
        if let Some(found) = look(folder, name, path, guard)? {
            self.push(Found { passage: role == Role::Leads, ..found })?;
        }
        Ok(true)
    }

    /// What a run made one has been taken away after it.
    fn is_module(&self, _: &Path) -> bool {
        true
    }

    fn git(&mut self, path: &Path) {
        self.git.insert(path.to_path_buf());
    }

    fn is_covered(&self, _: &OwnedFd, _: &OsStr, _: &Path, hidden: bool) -> bool {
        hidden
    }

    fn closed(&mut self, at: &OwnedFd, name: &OsStr, path: &Path) -> Result<Option<Reopened>, Problem> {
        if let Some(found) = look(at, name, path.to_path_buf(), Guard::Hidden)? {
            self.push(found)?;
            self.closed.push(path.to_path_buf());
        }
        Ok(None)
    }

    fn too_deep(&mut self, _: &OwnedFd, _: &OsStr, path: &Path) -> Result<(), Problem> {
        Err(Problem::Workspace(format!("{} is too deep", path.display())))
    }

    fn failed(&mut self, problem: Problem) -> Result<(), Problem> {
        Err(problem)
    }
}

impl Scan {
    /// Scans one folder and what is below it.
    pub(crate) fn folder(&mut self, lists: &Lists, root: &Path, place: Place) -> Result<(), Problem> {
        let unreadable = |error: std::io::Error| Problem::Look { path: root.into(), error };
        let folder = open_folder(CWD, root).map_err(|error| unreadable(error.into()))?;
        let folder = folder.ok_or_else(|| unreadable(Errno::ACCESS.into()))?;
        walk(lists, self, folder, root, place)
    }

    /// Other names of protected files: a hard link leads to the same content.
    pub(crate) fn other_names(&mut self, root: &Path) -> Result<(), Problem> {
        let wanted: Vec<Found> =
            self.found.iter().filter(|found| found.links > 1 && found.kind == Kind::File).cloned().collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let known: BTreeSet<PathBuf> = self.found.iter().map(|found| found.path.clone()).collect();
        let covered: BTreeSet<PathBuf> = self.closed.iter().cloned().collect();
        let unreadable = |path: &Path| Problem::Look { path: path.into(), error: Errno::ACCESS.into() };
        let mut folders = vec![root.to_path_buf()];
        while let Some(folder) = folders.pop() {
            if covered.contains(&folder) {
                continue;
            }
            let fd = match open_folder(CWD, &folder) {
                Ok(Some(fd)) => fd,
                // In a folder that is not searched for names: a link in it could still lead to a secret.
                Ok(None) => {
                    let (at, name) = (folder.parent(), folder.file_name());
                    let above = at.map(|at| open_folder(CWD, at)).transpose().ok().flatten().flatten();
                    let (Some(above), Some(name)) = (above, name) else { return Err(unreadable(&folder)) };
                    self.closed(&above, name, &folder)?;
                    continue;
                }
                // Gone meanwhile.
                Err(_) => continue,
            };
            let look = |error: Errno| Problem::Look { path: folder.clone(), error: error.into() };
            for entry in Dir::read_from(&fd).map_err(look)? {
                let entry = entry.map_err(look)?;
                let (Some((name, kind)), inode) = (named(&fd, &entry), entry.ino()) else { continue };
                self.count(&folder)?;
                let path = folder.join(&name);
                if kind == FileType::Directory {
                    folders.push(path);
                } else if let Some(first) = wanted.iter().find(|found| found.inode == inode)
                    && !known.contains(&path)
                    && statat(&fd, &name, AtFlags::SYMLINK_NOFOLLOW)
                        .is_ok_and(|stat| identity(&stat) == (first.device, first.inode))
                {
                    self.push(Found { path, ..first.clone() })?;
                }
            }
        }
        Ok(())
    }

    fn count(&mut self, folder: &Path) -> Result<(), Problem> {
        self.files += 1;
        if self.files > MOST_FILES {
            let most = format!("more than {MOST_FILES} files, the last in {}", folder.display());
            return Err(Problem::Workspace(format!("it has {most}; name folders to leave out in `skip`")));
        }
        Ok(())
    }

    pub(crate) fn push(&mut self, found: Found) -> Result<(), Problem> {
        if self.found.len() >= MOST_FOUND {
            return Err(Problem::Workspace(format!("it has more than {MOST_FOUND} protected files")));
        }
        self.found.push(found);
        Ok(())
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
                for name in ["hooks", "info"] {
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

/// What stands there now; nothing if it is gone.
pub(crate) fn look(
    fd: &OwnedFd,
    name: &OsStr,
    path: PathBuf,
    guard: Guard,
) -> Result<Option<Found>, Problem> {
    let stat = match statat(fd, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(Problem::Look { path, error: error.into() }),
    };
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => Kind::Folder,
        FileType::Symlink => {
            let target = readlinkat(fd, name, Vec::new())
                .map_err(|error| Problem::Look { path: path.clone(), error: error.into() })?;
            Kind::Link(OsStr::from_bytes(target.as_bytes()).to_owned())
        }
        _ => Kind::File,
    };
    let (device, inode) = identity(&stat);
    #[expect(clippy::useless_conversion, reason = "the type differs between architectures")]
    let links = u64::from(stat.st_nlink);
    Ok(Some(Found { path, guard, kind, device, inode, links, passage: false, config: None }))
}

/// Which file it is, whatever its name.
#[expect(clippy::useless_conversion, reason = "the types differ between architectures")]
pub(crate) fn identity(stat: &Stat) -> (u64, u64) {
    (u64::from(stat.st_dev), u64::from(stat.st_ino))
}

/// The name of an entry and its kind; nothing for the folder itself and the one above.
fn named(folder: &OwnedFd, entry: &DirEntry) -> Option<(OsString, FileType)> {
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn profile(root: &Path) -> Profile {
        let text = serde_json::json!({
            "version": 1, "workspace": [root], "cwd": root, "home": "/home/ada",
            "read_only": [".git", ".claude", ".github/workflows"], "hidden": [".env", "*.pem"], "skip": ["node_modules"],
        });
        Profile::read(&text.to_string()).unwrap()
    }

    fn scan(root: &Path) -> Vec<(String, Guard)> {
        let mut scan = Scan::default();
        scan.folder(&Lists::new(&profile(root)).unwrap(), root, Place::Plain).unwrap();
        scan.other_names(root).unwrap();
        let name = |path: &Path| path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        let mut found: Vec<_> = scan.found.iter().map(|found| (name(&found.path), found.guard)).collect();
        found.sort();
        found
    }

    fn write(root: &Path, files: &[&str]) {
        for file in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
    }

    #[test]
    fn names_are_found_at_any_depth_and_folders_as_a_whole() {
        let root = tempfile::tempdir_in("/var/tmp").unwrap();
        write(
            root.path(),
            &["a/b/.env", ".claude/settings.json", ".claude/.env", "node_modules/x/.env", "k.pem"],
        );
        write(root.path(), &[".github/workflows/ci.yml", "src/main.rs"]);
        assert_eq!(
            scan(root.path()),
            [
                (".claude".to_owned(), Guard::ReadOnly),
                (".claude/.env".to_owned(), Guard::Hidden),
                (".github/workflows".to_owned(), Guard::ReadOnly),
                ("a/b/.env".to_owned(), Guard::Hidden),
                ("k.pem".to_owned(), Guard::Hidden),
            ]
        );
    }

    #[test]
    fn what_git_obeys_is_found_in_modules_worktrees_and_bare_repositories() {
        let root = tempfile::tempdir_in("/var/tmp").unwrap();
        write(root.path(), &[".git/HEAD", ".git/config", ".git/hooks/x", ".git/objects/info/packs"]);
        write(
            root.path(),
            &[".git/refs/heads/config", ".git/modules/libs/deep/HEAD", ".git/modules/libs/deep/config"],
        );
        write(
            root.path(),
            &[".git/worktrees/w/commondir", ".git/worktrees/w/HEAD", "bare/HEAD", "bare/config"],
        );
        write(root.path(), &["bare/objects/x", "bare/refs/x", "linked/.git", "config"]);
        let names: Vec<String> = scan(root.path()).into_iter().map(|(name, _)| name).collect();
        assert_eq!(
            names,
            [
                ".git/config",
                ".git/hooks",
                ".git/modules/libs/deep/config",
                ".git/worktrees/w/commondir",
                "bare/HEAD",
                "bare/config",
                "linked/.git"
            ]
        );
    }

    /// Root may read everything, so that there are no closed folders for it.
    fn is_root() -> bool {
        rustix::process::geteuid().is_root()
    }

    #[test]
    fn a_folder_that_cannot_be_looked_into_is_covered_as_a_whole() {
        use std::os::unix::fs::PermissionsExt as _;
        if is_root() {
            return;
        }
        let root = tempfile::tempdir_in("/var/tmp").unwrap();
        write(root.path(), &["a/.env", "b/.env", "c/.env", "open/.env", "node_modules/d/innocent"]);
        fs::hard_link(root.path().join("open/.env"), root.path().join("node_modules/d/secret")).unwrap();
        let modes = [("a", 0o311), ("b", 0o400), ("c", 0o000), ("node_modules/d", 0o311)];
        let set = |mode: Option<u32>| {
            for (name, closed) in modes {
                let mode = fs::Permissions::from_mode(mode.unwrap_or(closed));
                fs::set_permissions(root.path().join(name), mode).unwrap();
            }
        };
        set(None);
        let found = scan(root.path());
        set(Some(0o755));
        let names = ["a", "b", "c", "node_modules/d", "open/.env"];
        assert_eq!(found, names.map(|name| (name.to_owned(), Guard::Hidden)));
    }

    #[test]
    fn another_name_of_a_secret_is_a_secret() {
        let root = tempfile::tempdir_in("/var/tmp").unwrap();
        write(root.path(), &[".env"]);
        fs::create_dir(root.path().join("node_modules")).unwrap();
        fs::hard_link(root.path().join(".env"), root.path().join("node_modules/innocent")).unwrap();
        let names: Vec<String> = scan(root.path()).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, [".env", "node_modules/innocent"]);
    }
}
