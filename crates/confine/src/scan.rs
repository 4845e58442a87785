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
    fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fchmod, openat, readlinkat, statat},
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
/// What git obeys in one of its folders. `commondir` and `gitdir` lead it to other configuration.
const GIT_FIXED: [&[u8]; 6] = [b"config", b"config.worktree", b"hooks", b"info", b"commondir", b"gitdir"];

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

/// One protected path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) guard: Guard,
    pub(crate) kind: Kind,
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) links: u64,
}

/// What is known of a folder while its content is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Place {
    Plain,
    /// In a folder that is read-only as a whole: only what must be hidden matters.
    Fixed,
    /// A folder of git's own: `.git`, a module, a linked worktree, a bare repository.
    Git,
    Modules,
    Worktrees,
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
    fn protected(&mut self, folder: &OwnedFd, name: &OsStr, path: PathBuf, guard: Guard) -> Result<bool, Problem>;
    /// A folder of git's own.
    fn git(&mut self, path: &Path);
    /// Whether this folder is left out, because the command could not see what is in it.
    fn is_covered(&self, path: &Path) -> bool;
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

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a folder for looking at everything in it. Nothing if its rights do not allow that.
pub(crate) fn open_folder(at: impl AsFd, name: impl rustix::path::Arg) -> rustix::io::Result<Option<OwnedFd>> {
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

    fn protected(&mut self, folder: &OwnedFd, name: &OsStr, path: PathBuf, guard: Guard) -> Result<bool, Problem> {
        if let Some(found) = look(folder, name, path, guard)? {
            self.push(found)?;
        }
        Ok(true)
    }

    fn git(&mut self, path: &Path) {
        self.git.insert(path.to_path_buf());
    }

    fn is_covered(&self, _: &Path) -> bool {
        false
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
            for (name, kind, inode) in list(&fd, &folder)? {
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

    fn push(&mut self, found: Found) -> Result<(), Problem> {
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
        let entries = match list(fd, path) {
            Ok(entries) => entries,
            Err(problem) => return self.meets.failed(problem),
        };
        let has = |name: &str| entries.iter().any(|(entry, ..)| entry == name);
        let place = match place {
            // Git obeys the configuration of such a folder when it is called inside.
            Place::Plain if has("HEAD") && has("objects") && has("refs") => Place::Git,
            Place::Modules if has("HEAD") || has("config") => Place::Git,
            other => other,
        };
        if place == Place::Git {
            self.meets.git(path);
        }
        for (name, kind, _) in &entries {
            self.meets.one(path)?;
            self.entry(fd, path, place, name, *kind, depth)?;
        }
        Ok(())
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
        let is_folder = kind == FileType::Directory;
        let mut guard = self.lists.guard(&mut self.above, &low);
        let inside = match place {
            // Git does nothing without them, so whether they are hidden depends on what is in them: see the plan.
            Place::Git if GIT_CONFIG.contains(&low.as_slice()) && !is_folder => {
                guard = Some(Guard::ReadOnly);
                None
            }
            Place::Git if GIT_FIXED.contains(&low.as_slice()) => {
                guard = guard.max(Some(Guard::ReadOnly));
                None
            }
            Place::Git if low == b"modules" => Some(Place::Modules),
            Place::Git if low == b"worktrees" => Some(Place::Worktrees),
            // Objects and references: nobody obeys them, and there are many.
            Place::Git => None,
            Place::Modules => Some(Place::Modules),
            Place::Worktrees => Some(Place::Git),
            Place::Plain if low == b".git" && is_folder => Some(Place::Git),
            Place::Plain if low == b".git" => {
                guard = guard.max(Some(Guard::ReadOnly));
                None
            }
            Place::Plain if self.lists.skip.has(&mut self.above, &low) => None,
            Place::Plain | Place::Fixed => Some(place),
        };
        if place == Place::Fixed && guard == Some(Guard::ReadOnly) {
            guard = None;
        }
        let path = folder.join(name);
        if let Some(guard) = guard
            && !self.meets.protected(fd, name, path.clone(), guard)?
        {
            return Ok(());
        }
        let inside = match guard {
            Some(Guard::Hidden) => None,
            Some(Guard::ReadOnly) => Some(Place::Fixed),
            None => inside,
        };
        let (true, Some(inside)) = (is_folder, inside) else { return Ok(()) };
        if self.meets.is_covered(&path) {
            return Ok(());
        }
        self.above.push(low);
        let result = self.below(fd, name, &path, inside, depth + 1);
        self.above.pop();
        result
    }

    fn below(&mut self, at: &OwnedFd, name: &OsStr, path: &Path, place: Place, depth: usize) -> Result<(), Problem> {
        if depth > DEEPEST {
            return self.meets.too_deep(at, name, path);
        }
        match open_folder(at, name) {
            Ok(Some(folder)) => self.folder(&folder, path, place, depth),
            Ok(None) => {
                let Some(Reopened { folder, mode }) = self.meets.closed(at, name, path)? else { return Ok(()) };
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

/// What stands there now; nothing if it is gone.
pub(crate) fn look(fd: &OwnedFd, name: &OsStr, path: PathBuf, guard: Guard) -> Result<Option<Found>, Problem> {
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
    Ok(Some(Found { path, guard, kind, device, inode, links }))
}

/// Which file it is, whatever its name.
#[expect(clippy::useless_conversion, reason = "the types differ between architectures")]
pub(crate) fn identity(stat: &Stat) -> (u64, u64) {
    (u64::from(stat.st_dev), u64::from(stat.st_ino))
}

/// The names in a folder, with their kinds and inodes.
fn list(fd: &OwnedFd, path: &Path) -> Result<Vec<(OsString, FileType, u64)>, Problem> {
    let look = |error: rustix::io::Errno| Problem::Look { path: path.into(), error: error.into() };
    let mut entries = Vec::new();
    for entry in Dir::read_from(fd).map_err(look)? {
        let entry = entry.map_err(look)?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => statat(fd, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
            kind => kind,
        };
        entries.push((name.to_owned(), kind, entry.ino()));
    }
    Ok(entries)
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
