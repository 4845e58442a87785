//! What is taken away after a run is moved to a folder of Placet's own, because a file of the user's can be among it.
//!
//! The folder is bounded: the oldest things in it are deleted.

use std::{
    cell::Cell,
    ffi::{OsStr, OsString},
    fs,
    os::{fd::OwnedFd, unix::fs::MetadataExt as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, fchmod, fstat, mkdir, openat, renameat_with, unlinkat},
    io::Errno,
    process::geteuid,
};

use crate::{
    kept::{self, Quota},
    profile::Profile,
};

/// Most things of one run that are moved.
const MOST_ASIDE: u32 = 1000;
/// What was moved longer ago than this is deleted.
const LONGEST: Duration = Duration::from_hours(30 * 24);
/// Most bytes of the whole folder.
const MOST_BYTES: u64 = 1 << 30;

/// The folder for what is taken away.
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
        let is_ours = fstat(&folder).is_ok_and(|about| about.st_uid == geteuid().as_raw());
        is_ours.then(|| Self { path, folder, used: Cell::new(0) })
    }

    /// Moves something here, under a name of its own. Nothing if that cannot be done, as from another file system or with too much here.
    fn take(&self, folder: &OwnedFd, name: &OsStr) -> Option<PathBuf> {
        let plain: String =
            name.to_string_lossy().chars().filter(|sign| !sign.is_control()).take(60).collect();
        while self.used.get() < MOST_ASIDE {
            let count = self.used.replace(self.used.get() + 1);
            let new = format!("{}{count}-{plain}", prefix());
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

impl Drop for Aside {
    fn drop(&mut self) {
        if self.used.get() > 0 {
            tidy(&self.path, LONGEST, Some(MOST_BYTES));
        }
    }
}

/// What the names of this process begin with.
fn prefix() -> String {
    format!("{}-", std::process::id())
}

/// Deletes what was moved aside long ago.
pub fn tidy_removed(folder: &Path) {
    tidy(folder, LONGEST, None);
}

/// Deletes what was moved longer ago than this. If bytes are given, the oldest go until no more than that are left. What this process
/// moved stays: the person was just told where it is.
fn tidy(path: &Path, longest: Duration, bytes: Option<u64>) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(folder) = openat(CWD, path, flags, Mode::empty()) else { return };
    let mut things: Vec<(SystemTime, OsString)> = fs::read_dir(path)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let about = entry.metadata().ok()?;
            // A move sets this time, and not the one of the last write.
            let moved = Duration::new(about.ctime().try_into().ok()?, about.ctime_nsec().try_into().ok()?);
            Some((SystemTime::UNIX_EPOCH + moved, entry.file_name()))
        })
        .collect();
    things.sort();
    let mut quota = bytes.map(Quota::new);
    let mut is_full = false;
    for (moved, name) in things.iter().rev() {
        is_full |= quota.as_mut().is_some_and(|quota| !quota.has_room_for_entry(&folder, name, 0));
        let is_old = moved.elapsed().is_ok_and(|age| age >= longest);
        if (is_old || is_full) && !name.to_string_lossy().starts_with(&prefix()) {
            // What cannot be deleted now is tried again.
            let _ = delete(&folder, name);
        }
    }
}

/// Takes away a file, or a folder with all that is in it, and says what was done with it.
pub(crate) fn remove(folder: &OwnedFd, name: &OsStr, aside: Option<&Aside>) -> rustix::io::Result<String> {
    if let Some(aside) = aside
        && let Some(path) = aside.take(folder, name)
    {
        return Ok(format!("moved to {}", path.display()));
    }
    forced(folder, || delete(folder, name)).map(|()| "removed".to_owned())
}

fn delete(folder: &OwnedFd, name: &OsStr) -> rustix::io::Result<()> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(Errno::NOENT) => return Ok(()),
        other => return other,
    }
    let inner = kept::force_open(folder, name)?;
    kept::empty(&inner)?;
    unlinkat(folder, name, AtFlags::REMOVEDIR)
}

/// Does something in a folder, also if its owner has taken away the right to.
pub(crate) fn forced<T>(folder: &OwnedFd, act: impl Fn() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn removed() -> (tempfile::TempDir, impl Fn() -> Vec<String>) {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        for name in ["1-0-oldest", "1-1-older", "1-2-newest"] {
            fs::create_dir(folder.path().join(name)).unwrap();
            fs::write(folder.path().join(name).join("notes"), vec![b'x'; 100_000]).unwrap();
        }
        let path = folder.path().to_path_buf();
        let names = move || {
            let entries = fs::read_dir(&path).unwrap().flatten();
            let mut names: Vec<String> =
                entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        (folder, names)
    }

    #[test]
    fn what_was_moved_long_ago_is_deleted() {
        let (folder, names) = removed();
        tidy(folder.path(), LONGEST, None);
        assert_eq!(names().len(), 3);
        tidy(folder.path(), Duration::ZERO, None);
        assert_eq!(names(), Vec::<String>::new());
    }

    #[test]
    fn the_oldest_go_first_and_what_this_process_moved_stays() {
        let (folder, names) = removed();
        tidy(folder.path(), LONGEST, Some(MOST_BYTES));
        assert_eq!(names().len(), 3);
        tidy(folder.path(), LONGEST, Some(250_000));
        assert_eq!(names(), ["1-1-older", "1-2-newest"]);
        let own = format!("{}0-own", prefix());
        fs::write(folder.path().join(&own), vec![b'x'; 300_000]).unwrap();
        tidy(folder.path(), LONGEST, Some(250_000));
        assert_eq!(names(), [own]);
    }
}
