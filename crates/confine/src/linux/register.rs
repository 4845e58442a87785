//! Runs are on record outside the workspace, from before the command begins until what it left was looked at.
//!
//! A run that begins beside others must not take what they made for the user's own. And where a run ended without that look, or it could
//! not put right what it found, none begins before a person has looked. Whoever runs a command by hand, without a folder of sessions, has
//! neither.

use std::{
    fs::{self, File},
    io::{ErrorKind, Read as _, Write as _},
    os::unix::fs::{FileExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};
use serde::{Deserialize, Serialize};

use crate::{
    profile::Profile,
    protected::Before,
    walk::Place,
    words::{Doing as _, Problem},
};

/// Held while a run looks at its workspace and puts itself on record: none is missed.
const LOCK: &str = "begin.lock";
/// How often a run that begins is waited for, and how long each time.
const TRIES: u32 = 1500;
const PAUSE: Duration = Duration::from_millis(20);
/// What the names of records begin with.
const RUN: &str = "run-";
/// The first byte of a record: whether the command may have begun.
const WAITS: u8 = b'0';
const BEGUN: u8 = b'1';

/// A run as it was when it began: all that is needed to look at what it left.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RunState {
    pub(crate) profile: Profile,
    /// Folders that the command can write, with how they are scanned.
    pub(crate) roots: Vec<(PathBuf, Place)>,
    pub(crate) before: Before,
}

impl RunState {
    /// A folder of this run that another one may change as well.
    pub(crate) fn shares(&self, roots: &[(PathBuf, Place)]) -> Option<PathBuf> {
        let mut own = self.roots.iter().map(|(root, _)| root);
        own.find(|root| roots.iter().any(|(other, _)| root.starts_with(other) || other.starts_with(root)))
            .cloned()
    }

    /// Whether processes of both runs can meet, and hand each other what they have open.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        let session = self.profile.kept.is_some() && self.profile.kept == other.profile.kept;
        session || self.shares(&other.roots).is_some()
    }
}

/// What is on record of a run, behind that byte.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) run: RunState,
    /// What could not be put right.
    pub(crate) left: Vec<String>,
}

/// The time in which a run looks at its workspace. No other begins meanwhile.
pub(crate) struct Beginning {
    folder: PathBuf,
    /// The runs that were not over when it began to look: they may be over by now.
    beside: Vec<Record>,
    _lock: File,
}

/// A run on record. Its lock says that it is alive.
pub(crate) struct Registered {
    pub(crate) file: PathBuf,
    lock: File,
}

const WHAT: &str = "runs at the same time cannot be told apart";

impl Beginning {
    /// Waits for other runs that begin. A run without a folder of a session waits for none.
    pub(crate) fn of(profile: &Profile) -> Result<Option<Self>, Problem> {
        let folder = profile.kept.as_deref().and_then(Path::parent);
        folder.map(Self::wait).transpose()
    }

    /// Waits for runs that begin, with their records in this folder.
    fn wait(folder: &Path) -> Result<Self, Problem> {
        let lock = locked(folder)?;
        let mut beside = Vec::new();
        for file in records(folder)? {
            if let Some((record, false)) = read(&file)? {
                beside.push(record);
            }
        }
        Ok(Self { folder: folder.to_owned(), beside, _lock: lock })
    }

    /// Puts a run on record, and takes out of what was there before it whatever other runs can have made.
    pub(crate) fn register(self, run: &mut RunState) -> Result<Registered, Problem> {
        for Record { run: other, .. } in &self.beside {
            if other.shares(&run.roots).is_some() {
                let others: Vec<PathBuf> = other.roots.iter().map(|(root, _)| root.clone()).collect();
                run.before.only(&other.before, &others, &run.roots);
            }
        }
        for file in records(&self.folder)? {
            // Nobody else began meanwhile. But one may have been killed.
            if let Some((record, true)) = read(&file)?
                && let Some(root) = record.run.shares(&run.roots)
            {
                return Err(stays(&record, &root, &self.folder));
            }
        }
        let record = Record { run: run.clone(), left: Vec::new() };
        // No two processes have this number at the same time, and a record of one that is gone is not overwritten.
        let unique = |count: u32| self.folder.join(format!("{RUN}{}-{count}", std::process::id()));
        let file = (0..1000).map(unique).find(|file| fs::symlink_metadata(file).is_err());
        let file = file.ok_or_else(|| Problem::Layer(WHAT.into()))?;
        let mut lock = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&file)
            .doing(WHAT)?;
        flock(&lock, FlockOperation::NonBlockingLockShared).doing(WHAT)?;
        lock.write_all(&text(WAITS, &record)?).doing(WHAT)?;
        Ok(Registered { file, lock })
    }
}

/// Waits for the time in which no run begins.
pub(crate) fn locked(folder: &Path) -> Result<File, Problem> {
    let lock = opened(&folder.join(LOCK)).doing(WHAT)?;
    let mut tries = 0;
    while let Err(error) = flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        tries += 1;
        if error != Errno::WOULDBLOCK || tries > TRIES {
            let why = format!("{WHAT}: another one has been about to begin for long ({error})");
            return Err(Problem::Layer(why));
        }
        std::thread::sleep(PAUSE);
    }
    Ok(lock)
}

fn text(state: u8, record: &Record) -> Result<Vec<u8>, Problem> {
    let mut text = vec![state];
    serde_json::to_writer_pretty(&mut text, record).doing(WHAT)?;
    Ok(text)
}

pub(crate) fn records(folder: &Path) -> Result<Vec<PathBuf>, Problem> {
    let mut records = Vec::new();
    for entry in fs::read_dir(folder).doing(WHAT)? {
        let entry = entry.doing(WHAT)?;
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(RUN)) {
            records.push(entry.path());
        }
    }
    Ok(records)
}

/// Another record, and whether its run is over. Nothing if its command never began, or it is gone.
pub(crate) fn read(file: &Path) -> Result<Option<(Record, bool)>, Problem> {
    let Some((text, is_over)) = read_raw(file)? else { return Ok(None) };
    let unreadable = || {
        Problem::Layer(format!("{WHAT}: {} cannot be read. To end this: placet run --clear", file.display()))
    };
    parsed(&text).map(|record| Some((record, is_over))).ok_or_else(unreadable)
}

/// What is on record, if it can be read. Another version of Placet has another form.
pub(crate) fn parsed(text: &[u8]) -> Option<Record> {
    serde_json::from_slice(text.get(1..)?).ok()
}

/// The same as it is in the file.
pub(crate) fn read_raw(file: &Path) -> Result<Option<(Vec<u8>, bool)>, Problem> {
    // To write as well: some file systems want that for the lock.
    let mut lock = match fs::OpenOptions::new().read(true).write(true).open(file) {
        Ok(lock) => lock,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).doing(WHAT),
    };
    let is_over = match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => true,
        Err(Errno::WOULDBLOCK) => false,
        Err(error) => return Err(error).doing(WHAT),
    };
    let mut text = Vec::new();
    lock.read_to_end(&mut text).doing(WHAT)?;
    // Removed by its run while it was opened here.
    if is_over && fs::symlink_metadata(file).is_err() {
        return Ok(None);
    }
    if is_over && text.first().is_none_or(|state| *state == WAITS) {
        let _ = fs::remove_file(file);
        return Ok(None);
    }
    Ok(Some((text, is_over)))
}

/// Why no run begins where this one ended.
fn stays(record: &Record, root: &Path, folder: &Path) -> Problem {
    let what = if record.left.is_empty() {
        "was ended before it could be looked at what it left"
    } else {
        "left something that could not be put right"
    };
    Problem::Workspace(format!(
        "an earlier run in {} {what}, and is on record in {}. To see what changed: placet run --records. To end this: placet run --clear",
        root.display(),
        folder.display()
    ))
}

impl Registered {
    /// The command begins.
    pub(crate) fn begins(&self) -> Result<(), Problem> {
        self.lock.write_all_at(&[BEGUN], 0).doing(WHAT)
    }

    /// Takes up the record of a run whose runner was killed.
    pub(crate) fn again(file: PathBuf) -> Result<Self, Problem> {
        let lock = fs::OpenOptions::new().read(true).write(true).open(&file).doing(WHAT)?;
        flock(&lock, FlockOperation::LockShared).doing(WHAT)?;
        Ok(Self { file, lock })
    }

    /// Whether no other run is on record that may not be over: any can have got what a process of this one opened, also through a third.
    ///
    /// Only a run that is over says what it left. One that left something in the same folders counts too: a person looks there anyway.
    /// No lock is tried: without [`LOCK`] that could disturb a run that begins.
    pub(crate) fn is_alone(&self, run: &RunState) -> bool {
        let is_none = |file: &Path| match fs::read(file) {
            Ok(text) => parsed(&text).is_some_and(|other| !other.left.is_empty() && !other.run.meets(run)),
            Err(error) => error.kind() == ErrorKind::NotFound,
        };
        let folder = self.file.parent().unwrap_or(Path::new("/"));
        records(folder).is_ok_and(|files| files.iter().all(|file| *file == self.file || is_none(file)))
    }

    /// The run is over, and nothing of it is left.
    pub(crate) fn done(self) -> Result<(), Problem> {
        fs::remove_file(&self.file).doing(format_args!("{} cannot be removed", self.file.display()))
    }

    /// The run is over, and this could not be put right.
    pub(crate) fn leave(self, run: &RunState, left: &[String]) -> Result<(), Problem> {
        let record = Record { run: run.clone(), left: left.to_vec() };
        // If this fails, the first record stays: that keeps runs from beginning as well. Not among the records until it is whole.
        let name = self.file.file_name().unwrap_or_default();
        let new = self.file.with_file_name(format!("new-{}", name.to_string_lossy()));
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&new)
            .doing(WHAT)?;
        file.write_all(&text(BEGUN, &record)?).and_then(|()| fs::rename(&new, &self.file)).doing(WHAT)
    }
}

fn opened(file: &Path) -> std::io::Result<File> {
    fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(file)
}
