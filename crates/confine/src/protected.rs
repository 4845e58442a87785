//! Protected files: how each is protected, and what stood there before a run.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    fs::File,
    io::Read as _,
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, Stat, StatxFlags, fstat, openat, readlinkat, statat, statx},
    io::Errno,
};
use serde::{Deserialize, Serialize};

use crate::{
    names::{Names, split},
    profile::Profile,
    walk::Place,
    words::Problem,
};

/// Longest text that is read of a file.
const LONGEST_TEXT: u64 = 256 << 10;
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
    pub(crate) found: Vec<ProtectedPath>,
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
pub(crate) struct ProtectedPath {
    pub(crate) path: PathBuf,
    pub(crate) guard: Guard,
    pub(crate) kind: Kind,
    pub(crate) device: u64,
    pub(crate) inode: u64,
    /// When it was made, where the file system tells: the number of a deleted file is given to a new one.
    pub(crate) born: Option<(i64, u32)>,
    pub(crate) links: u64,
    /// A link that must stay as it is. What it leads to is protected by its own names.
    pub(crate) passage: bool,
    /// Its permissions.
    pub(crate) mode: u32,
    /// What stands in it, if it may be kept on record: not of a file that may hold a secret, nor of a long one.
    pub(crate) text: Option<String>,
}

/// The lists of a profile, ready to ask.
pub(crate) struct Lists {
    pub(crate) read_only: Names,
    pub(crate) hidden: Names,
    pub(crate) skip: Names,
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

/// Whether a path has the name of a configuration of git.
pub(crate) fn is_config_of_git(path: &Path) -> bool {
    split(path).last().is_some_and(|name| GIT_CONFIG.contains(&name.as_slice()))
}

/// What stands there now; nothing if it is gone.
pub(crate) fn look(
    fd: &OwnedFd,
    name: &OsStr,
    path: PathBuf,
    guard: Guard,
) -> Result<Option<ProtectedPath>, Problem> {
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
    let mode = stat.st_mode & 0o7777;
    let born = born(fd, name);
    Ok(Some(ProtectedPath {
        path,
        guard,
        kind,
        device,
        inode,
        born,
        links,
        passage: false,
        mode,
        text: None,
    }))
}

fn born(fd: &OwnedFd, name: &OsStr) -> Option<(i64, u32)> {
    let about = statx(fd, name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BTIME).ok()?;
    let is_told = StatxFlags::from_bits_retain(about.stx_mask).contains(StatxFlags::BTIME);
    is_told.then_some((about.stx_btime.tv_sec, about.stx_btime.tv_nsec))
}

/// The text of a file, its mode and which file it is. Nothing of what is no file, long or no text.
pub(crate) fn read_text(at: impl AsFd, name: impl rustix::path::Arg) -> Option<(String, Stat)> {
    // A pipe in its place would be waited for.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(at, name, flags, Mode::empty()).ok()?);
    let stat = fstat(&file).ok()?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return None;
    }
    let mut text = String::new();
    let length = file.take(LONGEST_TEXT + 1).read_to_string(&mut text).ok()?;
    (length as u64 <= LONGEST_TEXT).then_some((text, stat))
}

/// Which file it is, whatever its name.
#[expect(clippy::useless_conversion, reason = "the types differ between architectures")]
pub(crate) fn identity(stat: &Stat) -> (u64, u64) {
    (u64::from(stat.st_dev), u64::from(stat.st_ino))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str, guard: Guard, kind: Kind) -> ProtectedPath {
        let (path, device, inode) = (PathBuf::from(name), 1, 1);
        ProtectedPath {
            path,
            guard,
            kind,
            device,
            inode,
            born: None,
            links: 1,
            passage: false,
            mode: 0o644,
            text: None,
        }
    }

    fn file(name: &str) -> ProtectedPath {
        path(name, Guard::ReadOnly, Kind::File)
    }

    fn link(name: &str, target: &str) -> ProtectedPath {
        path(name, Guard::ReadOnly, Kind::Link(target.into()))
    }

    /// What is left of what a run found that began beside another one, which may change this folder.
    fn only(mut found: Before, other: &Before, others: &str, own: &str) -> Before {
        found.only(other, &[others.into()], &[(own.into(), Place::Plain)]);
        found.found.sort_by(|one, other| one.path.cmp(&other.path));
        found
    }

    fn before(found: &[ProtectedPath]) -> Before {
        Before { found: found.to_vec(), ..Before::default() }
    }

    #[test]
    fn what_the_other_run_did_not_know_is_its_own_in_the_folders_that_it_may_change() {
        let found = before(&[file("/w/a/known"), file("/w/a/made"), file("/w/b/mine")]);
        let left = only(found, &before(&[file("/w/a/known")]), "/w/a", "/w").found;
        assert_eq!(left, [file("/w/a/known"), file("/w/b/mine")]);
    }

    #[test]
    fn a_folder_that_is_covered_as_a_whole_stays_covered_and_a_hidden_file_does_not() {
        let covered = path("/w/closed", Guard::Hidden, Kind::Folder);
        let found = [covered.clone(), path("/w/.env", Guard::Hidden, Kind::File)];
        let fixed = path("/w/fixed", Guard::ReadOnly, Kind::Folder);
        let found = [&found[..], &[fixed]].concat();
        assert_eq!(only(before(&found), &Before::default(), "/w", "/w").found, [covered]);
    }

    #[test]
    fn links_are_as_the_other_run_found_them_also_if_they_are_gone_or_something_else_now() {
        let other = before(&[
            link("/w/gone", "a"),
            link("/w/moved", "a"),
            link("/w/replaced", "a"),
            link("/v/elsewhere", "a"),
            file("/w/file"),
        ]);
        let found = before(&[link("/w/moved", "b"), file("/w/replaced"), link("/w/new", "b")]);
        let left = only(found, &other, "/", "/w").found;
        assert_eq!(left, [link("/w/gone", "a"), link("/w/moved", "a"), link("/w/replaced", "a")]);
    }

    #[test]
    fn what_the_other_run_made_is_no_folder_of_gits_and_where_its_links_led_to_nothing_nothing_was() {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let of = |git: &[&str], absent: &[&str]| Before {
            git: paths(git).into_iter().collect(),
            absent: paths(absent),
            ..Before::default()
        };
        let found = of(&["/w/a/.git", "/w/a/.git/modules/made", "/w/b/.git"], &["/w/b/none"]);
        let other = of(&["/w/a/.git"], &["/w/a/none", "/v/none"]);
        let left = only(found, &other, "/w/a", "/w");
        assert_eq!(left.git.into_iter().collect::<Vec<_>>(), paths(&["/w/a/.git", "/w/b/.git"]));
        assert_eq!(left.absent, paths(&["/w/b/none", "/w/a/none"]));
    }
}
