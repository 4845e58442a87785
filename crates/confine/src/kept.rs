//! Temporary folders that stay for one session of an agent: what one run leaves in `/tmp`, the next one finds.
//!
//! They lie in a folder of Placet's own. What is in them was made by confined commands: no link in them is ever followed.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{DirBuilderExt as _, MetadataExt as _},
    },
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::{
    fd::{AsRawFd as _, OwnedFd},
    fs::{
        AtFlags, CWD, Dir, FlockOperation, Mode, OFlags, RenameFlags, chmod, fchmod, flock, fstat, mkdirat,
        openat, renameat_with, unlinkat,
    },
    io::Errno,
};

use crate::{
    profile::Profile,
    protected::identity,
    words::{Doing as _, Problem},
};

/// The folders in it, and where the command sees them: `~/` stands for the home folder.
const PLACES: [(&str, &str); 2] = [("tmp", "/tmp"), ("cache", "~/.cache")];
/// Most files in one of them.
const MOST_FILES: u64 = 200_000;
/// Deeper than this it is not measured.
const DEEPEST: usize = 128;
/// Most sessions that are kept at the same time.
const MOST_SESSIONS: usize = 32;
/// So many are removed at once.
const AT_ONCE: usize = 4;

/// The folders of one session, for as long as one run uses them.
pub(crate) struct SessionFolders {
    /// Held by every run that uses them: only folders that no run uses are emptied or removed.
    lock: OwnedFd,
    /// Where the command sees it, where it lies, and which folder it is.
    pub(crate) folders: Vec<KeptFolder>,
    /// What to tell the person.
    pub(crate) notes: Vec<String>,
}

/// One of them.
#[derive(Debug, Clone)]
pub(crate) struct KeptFolder {
    pub(crate) at: PathBuf,
    pub(crate) source: PathBuf,
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

impl SessionFolders {
    /// Opens the folders that the profile names, and makes them if they are not there.
    pub(crate) fn open(profile: &Profile) -> Result<Option<Self>, Problem> {
        let Some(folder) = &profile.kept else { return Ok(None) };
        let lock = locked(folder)?;
        let mut kept = Self { lock, folders: Vec::new(), notes: Vec::new() };
        for (name, at) in PLACES {
            let what = format!("{} cannot be used", folder.join(name).display());
            match mkdirat(&kept.lock, name, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error).doing(&what),
            }
            let inner = open_folder(&kept.lock, OsStr::new(name)).doing(&what)?;
            let about = is_ours(&inner).doing(&what)?;
            if is_over(&inner, profile.limits.temp) && kept.empty(&inner).doing(&what)? {
                kept.notes
                    .push(format!("{at} of this session had more in it than it may keep: it was emptied"));
            }
            let at = at.strip_prefix("~/").map_or_else(|| PathBuf::from(at), |rest| profile.home.join(rest));
            let (device, inode) = identity(&about);
            kept.folders.push(KeptFolder { at, source: folder.join(name), device, inode });
        }
        Ok(Some(kept))
    }

    /// Empties one folder, unless another run uses it too.
    fn empty(&self, folder: &OwnedFd) -> rustix::io::Result<bool> {
        let alone = flock(&self.lock, FlockOperation::NonBlockingLockExclusive).is_ok();
        if alone {
            empty(folder)?;
        }
        flock(&self.lock, FlockOperation::LockShared)?;
        Ok(alone)
    }
}

/// Makes and opens the folder of a session, and locks it against being removed.
fn locked(folder: &Path) -> Result<OwnedFd, Problem> {
    let what = format!("{} cannot be used", folder.display());
    for _ in 0..8 {
        match fs::DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(error).doing(&what);
            }
            _ => {}
        }
        if fs::canonicalize(folder).doing(&what)? != folder {
            return Err(Problem::Profile(format!("`{}` goes through a link", folder.display())));
        }
        let lock = open_folder(CWD, folder.as_os_str()).doing(&what)?;
        let about = is_ours(&lock).doing(&what)?;
        flock(&lock, FlockOperation::LockShared).doing(&what)?;
        // Its time says when it was used last.
        rustix::fs::futimens(&lock, &now()).doing(&what)?;
        // It may have been removed just before the lock.
        let still = fs::symlink_metadata(folder);
        if still.is_ok_and(|still| (still.dev(), still.ino()) == identity(&about)) {
            return Ok(lock);
        }
    }
    Err(Problem::Layer(format!("{what}: it is removed again and again")))
}

fn now() -> rustix::fs::Timestamps {
    let now = rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
    rustix::fs::Timestamps { last_access: now, last_modification: now }
}

/// A folder of this user that others cannot open; a folder of somebody else's is not used.
fn is_ours(folder: &OwnedFd) -> Result<rustix::fs::Stat, std::io::Error> {
    let about = fstat(folder)?;
    if about.st_uid != rustix::process::geteuid().as_raw() {
        return Err(std::io::Error::other("it is not the user's own"));
    }
    if about.st_mode & 0o777 != 0o700 {
        // The command may have changed it from inside.
        fchmod(folder, Mode::RWXU)?;
    }
    Ok(about)
}

fn open_folder(at: impl rustix::fd::AsFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    openat(at, name, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

/// Opens a folder although its owner has taken away the rights to.
pub(crate) fn force_open(at: &OwnedFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    match open_folder(at, name) {
        Err(Errno::ACCESS) => {}
        Ok(folder) => {
            fchmod(&folder, Mode::RWXU)?;
            return Ok(folder);
        }
        other => return other,
    }
    // Of the folder itself, not of what a link in its place leads to.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held = openat(at, name, flags, Mode::empty())?;
    chmod(format!("/proc/self/fd/{}", held.as_raw_fd()), Mode::RWXU)?;
    open_folder(at, name)
}

fn names(folder: &OwnedFd) -> rustix::io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// Whether it has more bytes or files than it may. What cannot be measured is too much.
fn is_over(folder: &OwnedFd, most: u64) -> bool {
    let mut quota = Quota::new(most);
    !quota.has_room_for(folder, 0) || quota.closed
}

/// Says which of these folders has too much in it, as the command sees them. One that the command closed for us is measured before
/// the next run.
pub(crate) fn over(places: &[PathBuf], most: u64) -> Option<String> {
    let place = places.iter().find(|place| {
        let mut quota = Quota::new(most);
        open_folder(CWD, place.as_os_str()).is_ok_and(|folder| !quota.has_room_for(&folder, 0))
    })?;
    Some(format!(
        "it kept more than {} MiB, {MOST_FILES} files or {DEEPEST} folders in each other in {}",
        most >> 20,
        place.display()
    ))
}

/// What may still be there.
pub(crate) struct Quota {
    bytes: u64,
    files: u64,
    /// Whether something could not be looked at.
    closed: bool,
}

impl Quota {
    pub(crate) fn new(bytes: u64) -> Self {
        Self { bytes, files: MOST_FILES, closed: false }
    }

    fn has_room_for(&mut self, folder: &OwnedFd, depth: usize) -> bool {
        let Ok(entries) = Dir::read_from(folder) else {
            self.closed = true;
            return true;
        };
        for entry in entries {
            let Ok(entry) = entry else {
                self.closed = true;
                return true;
            };
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..")
                && !self.has_room_for_entry(folder, OsStr::from_bytes(name), depth)
            {
                return false;
            }
        }
        true
    }

    /// Counts one thing in a folder, with everything in it.
    pub(crate) fn has_room_for_entry(&mut self, folder: &OwnedFd, name: &OsStr, depth: usize) -> bool {
        let Ok(about) = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
            // Most likely it is gone already.
            self.closed = true;
            return true;
        };
        let bytes = u64::try_from(about.st_blocks).unwrap_or(u64::MAX).saturating_mul(512);
        let (Some(bytes), Some(files)) = (self.bytes.checked_sub(bytes), self.files.checked_sub(1)) else {
            return false;
        };
        (self.bytes, self.files) = (bytes, files);
        if !rustix::fs::FileType::from_raw_mode(about.st_mode).is_dir() {
            return true;
        }
        if depth == DEEPEST {
            return false;
        }
        if let Ok(inner) = open_folder(folder, name) {
            self.has_room_for(&inner, depth + 1)
        } else {
            self.closed = true;
            true
        }
    }
}

/// Removes everything in a folder, however deep it is. No link is followed.
pub(crate) fn empty(top: &OwnedFd) -> rustix::io::Result<()> {
    let mut number = 0_u64;
    loop {
        let names = names(top)?;
        if names.is_empty() {
            return Ok(());
        }
        for name in names {
            if is_unlinked(top, &name)? {
                continue;
            }
            let inner = force_open(top, &name)?;
            for child in self::names(&inner)? {
                if is_unlinked(&inner, &child)? {
                    continue;
                }
                // A folder is moved only with the right to write it.
                force_open(&inner, &child)?;
                // Up, so that depth costs neither descriptors nor stack.
                loop {
                    number += 1;
                    let moved = format!(".deep-{number}");
                    match renameat_with(&inner, &child, top, moved, RenameFlags::NOREPLACE) {
                        Ok(()) => break,
                        Err(Errno::EXIST) => {}
                        Err(error) => return Err(error),
                    }
                }
            }
            unlinkat(top, &name, AtFlags::REMOVEDIR)?;
        }
    }
}

/// Removes a file or a link. False if it is a folder.
fn is_unlinked(folder: &OwnedFd, name: &OsStr) -> rustix::io::Result<bool> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        Err(Errno::ISDIR | Errno::PERM) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes the folder of one session. One that a run still uses stays.
pub fn remove_kept(folder: &Path) -> std::io::Result<()> {
    let lock = open_folder(CWD, folder.as_os_str())?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    empty(&lock)?;
    Ok(rustix::fs::rmdir(folder)?)
}

/// Removes folders of sessions that were not used for so long, and the oldest ones where there are too many: a few of them each time.
pub fn tidy_kept(sessions: &Path, unused: Duration) {
    let entries = fs::read_dir(sessions).into_iter().flatten().flatten();
    let mut folders: Vec<(Duration, PathBuf)> = entries
        .filter_map(|entry| {
            let about = entry.metadata().ok().filter(fs::Metadata::is_dir)?;
            Some((about.modified().ok()?.elapsed().unwrap_or_default(), entry.path()))
        })
        .collect();
    folders.sort();
    let many = folders.len().saturating_sub(MOST_SESSIONS);
    for (index, (age, folder)) in folders.iter().rev().enumerate().take(AT_ONCE) {
        if *age > unused || index < many {
            // One that is in use is removed another time.
            let _ = remove_kept(folder);
        }
    }
}
