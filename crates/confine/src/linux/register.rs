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
    scan::{Before, Place},
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

/// What is on record of a run, behind that byte.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    /// The folders that it may change.
    roots: Vec<PathBuf>,
    /// What could not be put right.
    left: Vec<String>,
    before: Before,
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
    /// Waits for other runs that begin.
    pub(crate) fn wait(profile: &Profile) -> Result<Option<Self>, Problem> {
        let Some(folder) = profile.kept.as_deref().and_then(Path::parent) else { return Ok(None) };
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
        let mut beside = Vec::new();
        for file in records(folder)? {
            if let Some((record, false)) = read(&file)? {
                beside.push(record);
            }
        }
        Ok(Some(Self { folder: folder.to_owned(), beside, _lock: lock }))
    }

    /// Puts a run on record, and takes out of what was there before it whatever other runs can have made.
    pub(crate) fn register(
        self,
        roots: &[(PathBuf, Place)],
        before: &mut Before,
    ) -> Result<Registered, Problem> {
        let shared = |record: &Record| {
            let overlaps = |root: &Path| {
                record.roots.iter().any(|other| root.starts_with(other) || other.starts_with(root))
            };
            roots.iter().map(|(root, _)| root.clone()).find(|root| overlaps(root))
        };
        for record in self.beside.iter().filter(|record| shared(record).is_some()) {
            before.only(&record.before, &record.roots, roots);
        }
        for file in records(&self.folder)? {
            // Nobody else began meanwhile. But one may have been killed.
            if let Some((record, true)) = read(&file)?
                && let Some(root) = shared(&record)
            {
                return Err(over(&record, &root, &file));
            }
        }
        let record = Record {
            roots: roots.iter().map(|(root, _)| root.clone()).collect(),
            left: Vec::new(),
            before: before.clone(),
        };
        // No two processes have this number at the same time, and a record of one that is gone is not overwritten.
        let unique = |count: u32| self.folder.join(format!("{RUN}{}-{count}", std::process::id()));
        let file = (0..1000).map(unique).find(|file| fs::symlink_metadata(file).is_err());
        let file = file.ok_or_else(|| Problem::Layer(WHAT.into()))?;
        let mut lock = opened(&file).doing(WHAT)?;
        flock(&lock, FlockOperation::NonBlockingLockShared).doing(WHAT)?;
        lock.write_all(&text(WAITS, &record)?).doing(WHAT)?;
        Ok(Registered { file, lock })
    }
}

fn text(state: u8, record: &Record) -> Result<Vec<u8>, Problem> {
    let mut text = vec![state];
    serde_json::to_writer_pretty(&mut text, record).doing(WHAT)?;
    Ok(text)
}

fn records(folder: &Path) -> Result<Vec<PathBuf>, Problem> {
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
fn read(file: &Path) -> Result<Option<(Record, bool)>, Problem> {
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
    let (state, record) = text.split_first().map_or((WAITS, &[][..]), |(state, record)| (*state, record));
    if is_over && state == WAITS {
        let _ = fs::remove_file(file);
        return Ok(None);
    }
    match serde_json::from_slice(record) {
        Ok(record) => Ok(Some((record, is_over))),
        Err(_) => Err(Problem::Layer(format!("{WHAT}: {} cannot be read", file.display()))),
    }
}

/// Why no run begins beside what is left of this one.
fn over(record: &Record, root: &Path, file: &Path) -> Problem {
    let what = if record.left.is_empty() {
        "was ended before it could be looked at what it left"
    } else {
        "left something that could not be put right"
    };
    Problem::Workspace(format!(
        "an earlier run in {} {what}. Look at it, and remove {} then",
        root.display(),
        file.display()
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

    /// The run is over, and nothing of it is left.
    pub(crate) fn done(self) -> Result<(), Problem> {
        fs::remove_file(&self.file).doing(format_args!("{} cannot be removed", self.file.display()))
    }

    /// The run is over, and this could not be put right.
    pub(crate) fn leave(self, roots: &[(PathBuf, Place)], left: &[String]) -> Result<(), Problem> {
        let record = Record {
            roots: roots.iter().map(|(root, _)| root.clone()).collect(),
            left: left.to_vec(),
            before: Before::default(),
        };
        // If this fails, the first record stays: that keeps runs from beginning as well. Not among the records until it is whole.
        let name = self.file.file_name().unwrap_or_default();
        let new = self.file.with_file_name(format!("new-{}", name.to_string_lossy()));
        fs::write(&new, text(BEGUN, &record)?).and_then(|()| fs::rename(&new, &self.file)).doing(WHAT)
    }
}

fn opened(file: &Path) -> std::io::Result<File> {
    fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(file)
}
