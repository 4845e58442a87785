//! After the run: protected files that were not there before are removed, and replaced links are put back.
//!
//! Whatever the command left must be looked through: closed folders are opened, deep ones are removed, and an error at one place does not
//! keep the others from being looked at.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    ops::Bound,
    os::fd::{AsRawFd as _, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags, chmod, fchmod, fstat, openat, statat},
    io::Errno,
    process::geteuid,
};

use super::{
    aside::{Aside, remove},
    links,
    outer::note,
    register::RunState,
};
use crate::{
    protected::{
        Before, Guard, Kind, Lists, ProtectedPath, Role, identity, is_config_of_git, look, read_text,
    },
    walk::{Meets, Reopened, open_folder, walk},
    words::Problem,
};

/// So many failures are told.
const TOLD: usize = 20;

/// Something protected that is not as it was before a run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Nothing was there.
    New {
        /// Where.
        path: PathBuf,
        /// What is there now.
        state: Option<FileState>,
    },
    /// Something else was there. The texts are known if they are short and no secrets.
    Replaced {
        /// Where.
        path: PathBuf,
        /// The text before the run.
        before: Option<String>,
        /// The text now.
        now: Option<String>,
        /// What is there now.
        state: Option<FileState>,
    },
    /// A link was there.
    Link {
        /// Where.
        path: PathBuf,
        /// What it led to.
        target: PathBuf,
        /// What is there now.
        state: Option<FileState>,
    },
    /// Anything else, in a sentence.
    Other(String),
}

/// Which file or folder is at a path, and when it last changed: tells of a change where no text is shown.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileState {
    device: u64,
    inode: u64,
    size: i64,
    /// Of a folder, when a name in it changed. Of a file, when anything of it did: a program can set its other time as it likes.
    changed: (i64, i64),
    /// The number of hard links. Of a folder always 1.
    names: u64,
}

impl FileState {
    #[expect(clippy::useless_conversion, reason = "the types differ between architectures")]
    pub(crate) fn of(folder: &OwnedFd, name: &OsStr) -> Option<Self> {
        let about = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let (device, inode) = identity(&about);
        let is_folder = FileType::from_raw_mode(about.st_mode).is_dir();
        // A look at a closed folder sets its mode, which counts as a change of the folder.
        let (seconds, part, names) = if is_folder {
            (about.st_mtime, about.st_mtime_nsec, 1)
        } else {
            (about.st_ctime, about.st_ctime_nsec, u64::from(about.st_nlink))
        };
        let changed = (i64::from(seconds), i64::try_from(part).unwrap_or_default());
        Some(Self { device, inode, size: i64::from(about.st_size), changed, names })
    }

    /// Whether it is a file with other names: hard links.
    #[must_use]
    pub fn has_other_names(&self) -> bool {
        self.names > 1
    }
}

/// Puts right what is not as it was before. No process of the run is alive any more.
/// What is taken away is kept in `aside`, if that can be had: a file of the user's can be among it. `alone` says that no process of
/// another run can have something open that a process of this one opened.
pub(crate) fn clean(
    run: &RunState,
    lists: &Lists,
    aside: Option<&Aside>,
    alone: bool,
) -> Result<(), Problem> {
    let mut cleaning = Cleaning::new(run, aside, true);
    cleaning.alone = alone;
    cleaning.look_at_all(run, lists)?;
    match cleaning.failures {
        0 => Ok(()),
        count => Err(Problem::Left { count, told: cleaning.told }),
    }
}

/// Says what is not as it was before, and leaves it so.
pub(crate) fn compare(run: &RunState, lists: &Lists) -> Result<Vec<Change>, Problem> {
    let mut cleaning = Cleaning::new(run, None, false);
    cleaning.look_at_all(run, lists)?;
    let mut changes = cleaning.changes;
    changes.sort();
    Ok(changes)
}

/// Which files and folders were protected. Not links: the command can remove one, and its number is free then.
fn same(before: &Before) -> BTreeSet<(u64, u64)> {
    let lasting = before.found.iter().filter(|found| !matches!(found.kind, Kind::Link(_)));
    lasting.map(|found| (found.device, found.inode)).collect()
}

/// A walk that compares, and puts right what differs.
struct Cleaning<'b> {
    known: BTreeMap<&'b Path, &'b ProtectedPath>,
    /// Which files and folders they are.
    same: BTreeSet<(u64, u64)>,
    aside: Option<&'b Aside>,
    git: &'b BTreeSet<PathBuf>,
    /// Protected links that are as they were.
    links: BTreeSet<PathBuf>,
    /// Whether it puts right what it finds. Otherwise it makes a list.
    repairs: bool,
    alone: bool,
    changes: Vec<Change>,
    failures: usize,
    told: Vec<String>,
}

impl<'b> Cleaning<'b> {
    fn new(run: &'b RunState, aside: Option<&'b Aside>, repairs: bool) -> Self {
        let before = &run.before;
        Self {
            known: before.found.iter().map(|found| (found.path.as_path(), found)).collect(),
            same: same(before),
            aside,
            git: &before.git,
            links: BTreeSet::new(),
            repairs,
            alone: false,
            changes: Vec::new(),
            failures: 0,
            told: Vec::new(),
        }
    }

    fn look_at_all(&mut self, run: &RunState, lists: &Lists) -> Result<(), Problem> {
        for (root, place) in &run.roots {
            let done = open_root(root).and_then(|(folder, closed)| {
                let now = fstat(&folder)
                    .map_err(|error| Problem::Look { path: root.clone(), error: error.into() })?;
                let (device, inode) = identity(&now);
                if !run.before.roots.contains(&(root.clone(), device, inode)) {
                    let why = format!(
                        "{} is another folder than before the run: what the command left is elsewhere",
                        root.display()
                    );
                    return Err(Problem::Workspace(why));
                }
                let walked = walk(lists, self, folder, root, *place);
                if let Some((folder, mode)) = closed {
                    let _ = fchmod(folder, mode);
                }
                walked
            });
            done.or_else(|problem| self.failed(problem))?;
        }
        self.links(run)?;
        self.absent(run)
    }

    /// Files are mounts while the command runs and stay; links cannot be, and are put back.
    fn links(&mut self, run: &RunState) -> Result<(), Problem> {
        for old in &run.before.found {
            let Kind::Link(target) = &old.kind else { continue };
            if self.links.contains(&old.path) {
                continue;
            }
            let done = match links::is_as_before(run, &old.path, target) {
                Ok(true) => Ok(()),
                Ok(false) if !self.repairs => {
                    let state = links::state(run, &old.path);
                    self.changes.push(Change::Link { path: old.path.clone(), target: target.into(), state });
                    Ok(())
                }
                Ok(false) => links::put_back(run, &old.path, target, self.aside).inspect(|()| {
                    note(&format!("{} is a protected link: it was put back", old.path.display()));
                }),
                Err(error) => Err(error),
            };
            if let Err(error) = done {
                let sentence =
                    format!("{} was a protected link and cannot be put back: {error}", old.path.display());
                self.failed(Problem::Workspace(sentence))?;
            }
        }
        Ok(())
    }

    fn absent(&mut self, run: &RunState) -> Result<(), Problem> {
        for path in &run.before.absent {
            let done = match links::is_there(run, path) {
                Ok(false) => Ok(()),
                Ok(true) if !self.repairs => {
                    self.changes.push(Change::New { path: path.clone(), state: links::state(run, path) });
                    Ok(())
                }
                Ok(true) => links::take_away(run, path, self.aside).inspect(|()| {
                    note(&format!(
                        "{} appeared where a protected link leads: it was removed",
                        path.display()
                    ));
                }),
                Err(error) => Err(error),
            };
            if let Err(error) = done {
                let sentence = format!(
                    "{} appeared where a protected link leads, and cannot be removed: {error}",
                    path.display()
                );
                self.failed(Problem::Workspace(sentence))?;
            }
        }
        Ok(())
    }

    /// Whether something below this path was protected before the run.
    fn holds_known(&self, path: &Path) -> bool {
        let from = (Bound::Excluded(path), Bound::Unbounded);
        self.known.range::<Path, _>(from).next().is_some_and(|(known, _)| known.starts_with(path))
    }

    /// Removes what the run made. `what` says why it may not stay.
    fn remove(&mut self, folder: &OwnedFd, name: &OsStr, path: &Path, what: &str) -> Result<(), Problem> {
        if !self.repairs {
            // What was a link is on the list as one.
            if !self.known.contains_key(path) {
                self.changes
                    .push(Change::New { path: path.to_path_buf(), state: FileState::of(folder, name) });
            }
            return Ok(());
        }
        match remove(folder, name, self.aside) {
            Ok(whither) => {
                note(&format!("{} {what}: it was {whither}", path.display()));
                Ok(())
            }
            Err(error) => {
                let why = format!("{} {what}, and cannot be removed: {error}", path.display());
                self.failed(Problem::Workspace(why))
            }
        }
    }

    /// What was covered for the command has another file in its place: a program outside put it there, such as an editor that saves.
    fn replaced(&mut self, folder: &OwnedFd, name: &OsStr, old: &ProtectedPath) -> Result<(), Problem> {
        let now = read_text(folder, name);
        let is_harmless = |before: &String| {
            now.as_ref().is_some_and(|(now, about)| {
                let alike = before == now
                    || (is_config_of_git(&old.path) && crate::git::differ_in_branches(before, now));
                // The command can write to it by another name from now on.
                alike && about.st_mode & 0o7777 == old.mode && about.st_nlink == 1
            })
        };
        // Otherwise a run that goes on could still write to it.
        if self.alone && old.text.as_ref().is_some_and(is_harmless) {
            return Ok(());
        }
        let state = FileState::of(folder, name);
        if self.repairs {
            let more = if state.as_ref().is_some_and(FileState::has_other_names) {
                ", and it has other names"
            } else {
                ""
            };
            let why = format!(
                "{} is protected and was replaced from outside during the run, so the command could write to it{more}",
                old.path.display()
            );
            return self.failed(Problem::Workspace(why));
        }
        let may_show = |text: &String| {
            old.guard == Guard::ReadOnly
                && (!is_config_of_git(&old.path) || crate::git::is_without_secrets(text))
        };
        let now = now.map(|(text, _)| text).filter(may_show);
        self.changes.push(Change::Replaced { path: old.path.clone(), before: old.text.clone(), now, state });
        Ok(())
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
        match self.known.get(found.path.as_path()).copied() {
            Some(old) if is_same(old, &found) => {
                if matches!(found.kind, Kind::Link(_)) {
                    self.links.insert(found.path);
                }
                return Ok(true);
            }
            Some(old) if !matches!(old.kind, Kind::Link(_)) => {
                if role == Role::Obeyed {
                    self.replaced(folder, name, old)?;
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
        self.remove(folder, name, &found.path, "is protected and appeared during the run").map(|()| false)
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
        self.remove(at, name, path, "is too deep to be looked through")
    }

    fn failed(&mut self, problem: Problem) -> Result<(), Problem> {
        if !self.repairs {
            self.changes.push(Change::Other(problem.to_string()));
        } else if self.failures < TOLD {
            self.told.push(problem.to_string());
        }
        self.failures += 1;
        Ok(())
    }
}

fn is_same(old: &ProtectedPath, new: &ProtectedPath) -> bool {
    match (&old.kind, &new.kind) {
        (Kind::Link(one), Kind::Link(other)) => one == other,
        (one, other) => {
            one == other && (old.device, old.inode, old.born) == (new.device, new.inode, new.born)
        }
    }
}

pub(crate) const HELD: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a folder although its owner has taken away the rights to. Only a folder of this user.
pub(crate) fn reopen(at: &OwnedFd, name: &OsStr) -> rustix::io::Result<Reopened> {
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

fn is_of_another(at: &OwnedFd, name: &OsStr) -> bool {
    statat(at, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|about| about.st_uid != geteuid().as_raw())
}
