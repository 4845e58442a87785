//! After the run: protected files that were not there before are removed, and replaced links are put back.
//!
//! Whatever the command left must be looked through: closed folders are opened, deep ones are removed, and an error at one place does not
//! keep the others from being looked at.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs::File,
    io::Read as _,
    ops::Bound,
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{
        AtFlags, CWD, Mode, OFlags, RenameFlags, chmod, fchmod, fstat, mkdir, openat, readlinkat,
        renameat_with, statat, symlinkat, unlinkat,
    },
    io::Errno,
    process::geteuid,
};

use super::outer::note;
use crate::{
    kept,
    profile::Profile,
    scan::{
        Before, Found, Guard, Kind, Lists, Meets, Place, Reopened, Role, identity, look, open_folder, walk,
    },
    words::Problem,
};

/// So many things of one run are kept aside.
const MOST_ASIDE: u32 = 1000;
/// Longest configuration that is read.
const LONGEST: u64 = 256 << 10;
/// So many failures are told.
const TOLD: usize = 20;

/// Compares what is protected now with what was before. No process of the run is alive any more.
/// What is taken away is kept in `aside`, if that can be had: a file of the user's can be among it.
pub(crate) fn clean(
    roots: &[(PathBuf, Place)],
    lists: &Lists,
    before: &Before,
    aside: Option<&Aside>,
) -> Result<(), Problem> {
    let known = before.found.iter().map(|found| (found.path.as_path(), found)).collect();
    let mut cleaning = Cleaning {
        known,
        same: same(before),
        aside,
        git: &before.git,
        links: BTreeSet::new(),
        failures: 0,
        told: Vec::new(),
    };
    for (root, place) in roots {
        let done = open_root(root).and_then(|(folder, closed)| {
            let now =
                fstat(&folder).map_err(|error| Problem::Look { path: root.clone(), error: error.into() })?;
            let (device, inode) = identity(&now);
            if !before.roots.contains(&(root.clone(), device, inode)) {
                let why = format!(
                    "{} is another folder than before the run: what the command left is elsewhere",
                    root.display()
                );
                return Err(Problem::Workspace(why));
            }
            let walked = walk(lists, &mut cleaning, folder, root, *place);
            if let Some((folder, mode)) = closed {
                let _ = fchmod(folder, mode);
            }
            walked
        });
        done.or_else(|problem| cleaning.failed(problem))?;
    }
    // Files are mounts while the command runs and stay; links cannot be, and are put back.
    for old in &before.found {
        let Kind::Link(target) = &old.kind else { continue };
        if cleaning.links.contains(&old.path) {
            continue;
        }
        match put_back(roots, &old.path, target, aside) {
            Ok(true) => note(&format!("{} is a protected link: it was put back", old.path.display())),
            Ok(false) => {}
            Err(error) => {
                let sentence =
                    format!("{} was a protected link and cannot be put back: {error}", old.path.display());
                cleaning.failed(Problem::Workspace(sentence))?;
            }
        }
    }
    for path in &before.absent {
        match take_away(roots, path, aside) {
            Ok(true) => {
                note(&format!("{} appeared where a protected link leads: it was removed", path.display()));
            }
            Ok(false) => {}
            Err(error) => {
                let sentence = format!(
                    "{} appeared where a protected link leads, and cannot be removed: {error}",
                    path.display()
                );
                cleaning.failed(Problem::Workspace(sentence))?;
            }
        }
    }
    match cleaning.failures {
        0 => Ok(()),
        count => Err(Problem::Left { count, told: cleaning.told }),
    }
}

/// Which files and folders were protected. Not links: the command can remove one, and its number is free then.
fn same(before: &Before) -> BTreeSet<(u64, u64)> {
    let lasting = before.found.iter().filter(|found| !matches!(found.kind, Kind::Link(_)));
    lasting.map(|found| (found.device, found.inode)).collect()
}

/// A walk that removes.
struct Cleaning<'b> {
    known: BTreeMap<&'b Path, &'b Found>,
    /// Which files and folders they are.
    same: BTreeSet<(u64, u64)>,
    aside: Option<&'b Aside>,
    git: &'b BTreeSet<PathBuf>,
    /// Protected links that are as they were.
    links: BTreeSet<PathBuf>,
    failures: usize,
    told: Vec<String>,
}

impl Cleaning<'_> {
    /// Whether something below this path was protected before the run.
    fn holds_known(&self, path: &Path) -> bool {
        let from = (Bound::Excluded(path), Bound::Unbounded);
        self.known.range::<Path, _>(from).next().is_some_and(|(known, _)| known.starts_with(path))
    }
}

/// Opens a whole workspace, and says which mode it must get back.
fn open_root(root: &Path) -> Result<(OwnedFd, Option<(OwnedFd, Mode)>), Problem> {
    let unreadable = |error: Errno| Problem::Look { path: root.into(), error: error.into() };
    if let Some(folder) = open_folder(CWD, root).map_err(unreadable)? {
        return Ok((folder, None));
    }
    let above = root.parent().map(|above| openat(CWD, above, HELD, Mode::empty()));
    let (Some(above), Some(name)) = (above, root.file_name()) else { return Err(unreadable(Errno::ACCESS)) };
    let Reopened { folder, mode } = reopen(&above.map_err(unreadable)?, name).map_err(unreadable)?;
    let held = rustix::io::fcntl_dupfd_cloexec(&folder, 3).map_err(unreadable)?;
    Ok((folder, Some((held, mode))))
}

impl Meets for Cleaning<'_> {
    fn one(&mut self, _: &Path) -> Result<(), Problem> {
        Ok(())
    }

    fn protected(
        &mut self,
        folder: &OwnedFd,
        name: &OsStr,
        path: PathBuf,
        guard: Guard,
        role: Role,
    ) -> Result<bool, Problem> {
        let found = match look(folder, name, path, guard) {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(false),
            Err(problem) => return self.failed(problem).map(|()| true),
        };
        match self.known.get(found.path.as_path()) {
            Some(old) if is_same(old, &found) => {
                if matches!(found.kind, Kind::Link(_)) {
                    self.links.insert(found.path);
                }
                return Ok(true);
            }
            // The command could not replace what was covered for it: somebody outside did, such as an editor that saves. From then on
            // the command could write to it.
            Some(old) if !matches!(old.kind, Kind::Link(_)) => {
                let harmless = |old: &String| {
                    text(folder, name).is_some_and(|new| crate::git::differ_in_branches(old, &new))
                };
                if old.config.as_ref().is_some_and(harmless) {
                    return Ok(true);
                }
                if role == Role::Obeyed {
                    let why = format!(
                        "{} is protected and was replaced from outside during the run, so the command could write to it",
                        found.path.display()
                    );
                    self.failed(Problem::Workspace(why))?;
                }
                return Ok(true);
            }
            // A secret that nobody obeys may be new.
            None if role == Role::Secret => return Ok(true),
            _ => {}
        }
        // It was there before, under another name. The command could not move it: what is protected is a mount for it.
        if !matches!(found.kind, Kind::Link(_)) && self.same.contains(&(found.device, found.inode)) {
            let why = format!(
                "{} is protected and was moved there from outside during the run",
                found.path.display()
            );
            return self.failed(Problem::Workspace(why)).map(|()| true);
        }
        // Others lie in it that were there before: it is not what appeared.
        if self.holds_known(&found.path) {
            let why = format!(
                "{} is protected now, and has files in it that were protected before",
                found.path.display()
            );
            return self.failed(Problem::Workspace(why)).map(|()| true);
        }
        match remove(folder, name, self.aside) {
            Ok(whither) => note(&format!(
                "{} is protected and appeared during the run: it was {whither}",
                found.path.display()
            )),
            Err(error) => {
                let why = format!(
                    "{} is protected, appeared during the run, and cannot be removed: {error}",
                    found.path.display()
                );
                self.failed(Problem::Workspace(why))?;
            }
        }
        Ok(false)
    }

    fn git(&mut self, _: &Path) {}

    fn is_module(&self, path: &Path) -> bool {
        self.git.contains(path)
    }

    /// What was covered during the run cannot have changed, whoever opened it meanwhile. A name alone covered nothing.
    fn is_covered(&self, at: &OwnedFd, name: &OsStr, path: &Path, _: bool) -> bool {
        self.known.get(path).is_some_and(|old| {
            let now = look(at, name, path.to_path_buf(), old.guard);
            old.guard == Guard::Hidden
                && old.kind == Kind::Folder
                && now.is_ok_and(|now| now.is_some_and(|now| is_same(old, &now)))
        })
    }

    fn closed(&mut self, at: &OwnedFd, name: &OsStr, path: &Path) -> Result<Option<Reopened>, Problem> {
        match reopen(at, name) {
            Ok(reopened) => Ok(Some(reopened)),
            // The command is one user and made none of somebody else's.
            Err(_) if is_of_another(at, name) => {
                note(&format!(
                    "{} is another user's and appeared during the run: it was not looked into",
                    path.display()
                ));
                Ok(None)
            }
            Err(error) => {
                self.failed(Problem::Look { path: path.into(), error: error.into() }).map(|()| None)
            }
        }
    }

    /// Before the run no folder was so deep, so the command made it.
    fn too_deep(&mut self, at: &OwnedFd, name: &OsStr, path: &Path) -> Result<(), Problem> {
        match remove(at, name, self.aside) {
            Ok(whither) => {
                note(&format!("{} is too deep to be looked through: it was {whither}", path.display()));
            }
            Err(error) => {
                let why = format!(
                    "{} is too deep to be looked through, and cannot be removed: {error}",
                    path.display()
                );
                self.failed(Problem::Workspace(why))?;
            }
        }
        Ok(())
    }

    fn failed(&mut self, problem: Problem) -> Result<(), Problem> {
        if self.failures < TOLD {
            self.told.push(problem.to_string());
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

/// What stands in a file, if it is one and of a usual size.
fn text(folder: &OwnedFd, name: &OsStr) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(folder, name, flags, Mode::empty()).ok()?);
    let about = file.metadata().ok()?;
    let mut text = String::new();
    (about.is_file() && about.len() <= LONGEST && file.take(LONGEST).read_to_string(&mut text).is_ok())
        .then_some(text)
}

fn is_of_another(at: &OwnedFd, name: &OsStr) -> bool {
    statat(at, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|about| about.st_uid != geteuid().as_raw())
}

/// Removes something that was not there before.
fn take_away(roots: &[(PathBuf, Place)], path: &Path, aside: Option<&Aside>) -> rustix::io::Result<bool> {
    in_folder_of(roots, path, |folder, name| match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error),
        Ok(_) => remove(folder, name, aside).map(|_| true),
    })
    .or_else(|error| if error == Errno::NOENT { Ok(false) } else { Err(error) })
}

/// Puts a link back, unless it is as it was.
fn put_back(
    roots: &[(PathBuf, Place)],
    path: &Path,
    target: &OsStr,
    aside: Option<&Aside>,
) -> rustix::io::Result<bool> {
    in_folder_of(roots, path, |folder, name| {
        let now = readlinkat(folder, name, Vec::new());
        if now.is_ok_and(|now| now.as_bytes() == target.as_bytes()) {
            return Ok(false);
        }
        remove(folder, name, aside)?;
        forced(folder, || symlinkat(target, folder, name)).map(|()| true)
    })
    // Its folder is gone, as after a checkout: nobody obeys a link that is nowhere.
    .or_else(|error| if error == Errno::NOENT { Ok(false) } else { Err(error) })
}

/// Does something in the folder of a path, which gets its mode back.
fn in_folder_of<T>(
    roots: &[(PathBuf, Place)],
    path: &Path,
    act: impl FnOnce(&OwnedFd, &OsStr) -> rustix::io::Result<T>,
) -> rustix::io::Result<T> {
    let (root, _) = roots.iter().find(|(root, _)| path.starts_with(root)).ok_or(Errno::NOENT)?;
    let (above, name) = (path.parent().ok_or(Errno::NOENT)?, path.file_name().ok_or(Errno::NOENT)?);
    let relative = above.strip_prefix(root).map_err(|_| Errno::NOENT)?;
    let mut closed = Vec::new();
    let done = descend(root, relative, &mut closed).and_then(|folder| act(&folder, name));
    for (folder, mode) in closed {
        let _ = fchmod(folder, mode);
    }
    done
}

/// Opens a folder below a root without following a link: another run may be swapping folders. Folders that had to be opened by force
/// get their modes back later.
fn descend(root: &Path, relative: &Path, closed: &mut Vec<(OwnedFd, Mode)>) -> rustix::io::Result<OwnedFd> {
    let mut folder = openat(CWD, root, HELD, Mode::empty())?;
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

/// Does something in a folder, also if its owner has taken away the right to.
fn forced<T>(folder: &OwnedFd, act: impl Fn() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    match act() {
        Err(Errno::ACCESS) => {}
        other => return other,
    }
    let mode = Mode::from_raw_mode(fstat(folder)?.st_mode & 0o7777);
    fchmod(folder, mode | Mode::RWXU)?;
    let done = act();
    let _ = fchmod(folder, mode);
    done
}

/// Takes away a file, or a folder with all that is in it, and says what was done with it.
fn remove(folder: &OwnedFd, name: &OsStr, aside: Option<&Aside>) -> rustix::io::Result<String> {
    if let Some(aside) = aside
        && let Some(path) = aside.take(folder, name)
    {
        return Ok(format!("moved to {}", path.display()));
    }
    forced(folder, || {
        match unlinkat(folder, name, AtFlags::empty()) {
            Err(Errno::ISDIR | Errno::PERM) => {}
            Err(Errno::NOENT) => return Ok(()),
            other => return other,
        }
        let inner = kept::force_open(folder, name)?;
        kept::empty(&inner)?;
        unlinkat(folder, name, AtFlags::REMOVEDIR)
    })
    .map(|()| "removed".to_owned())
}

/// A folder of Placet's own for what was taken away.
pub(crate) struct Aside {
    path: PathBuf,
    folder: OwnedFd,
    /// How many names were used.
    used: Cell<u32>,
}

impl Aside {
    /// Beside the folder of sessions, which no command sees.
    pub(crate) fn open(profile: &Profile) -> Option<Self> {
        let path = profile.kept.as_deref()?.parent()?.with_file_name("removed");
        match mkdir(&path, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(_) => return None,
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = openat(CWD, &path, flags, Mode::empty()).ok()?;
        Some(Self { path, folder, used: Cell::new(0) })
    }

    /// Moves something here, under a name of its own. Nothing if that cannot be done, as from another file system or with too much here.
    fn take(&self, folder: &OwnedFd, name: &OsStr) -> Option<PathBuf> {
        let plain: String =
            name.to_string_lossy().chars().filter(|sign| !sign.is_control()).take(60).collect();
        while self.used.get() < MOST_ASIDE {
            let count = self.used.replace(self.used.get() + 1);
            let new = format!("{}-{count}-{plain}", std::process::id());
            let moved = || renameat_with(folder, name, &self.folder, new.as_str(), RenameFlags::NOREPLACE);
            match forced(folder, moved) {
                Ok(()) => return Some(self.path.join(new)),
                Err(Errno::EXIST) => {}
                // A folder is moved only with the right to write it.
                Err(Errno::ACCESS) => {
                    kept::force_open(folder, name).ok()?;
                    return forced(folder, moved).is_ok().then(|| self.path.join(new));
                }
                Err(_) => return None,
            }
        }
        None
    }
}
