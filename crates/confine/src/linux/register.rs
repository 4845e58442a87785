//! Runs are on record outside the workspace, from before the command begins until what it left was looked at.
//!
//! A run that begins beside others must not take what they made for the user's own. And where a run ended without that look, or it could
//! not put right what it found, none begins before a person has looked. Whoever runs a command by hand, without a folder of sessions, has
//! neither.

use std::{
    fs::{self, File},
    io::{ErrorKind, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
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
/// What the names of records begin with.
const RUN: &str = "run-";

/// What is on record of a run.
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
    _lock: File,
}

/// A run on record. Its lock says that it is alive.
pub(crate) struct Registered {
    pub(crate) file: PathBuf,
    _lock: File,
}

const WHAT: &str = "runs at the same time cannot be told apart";

impl Beginning {
    /// Waits for other runs that begin.
    pub(crate) fn wait(profile: &Profile) -> Result<Option<Self>, Problem> {
        let Some(folder) = profile.kept.as_deref().and_then(Path::parent) else { return Ok(None) };
        let lock = opened(&folder.join(LOCK)).doing(WHAT)?;
        flock(&lock, FlockOperation::LockExclusive).doing(WHAT)?;
        Ok(Some(Self { folder: folder.to_owned(), _lock: lock }))
    }

    /// Puts a run on record, and takes out of what was there before it whatever other runs can have made.
    pub(crate) fn register(
        self,
        roots: &[(PathBuf, Place)],
        before: &mut Before,
    ) -> Result<Registered, Problem> {
        for entry in fs::read_dir(&self.folder).doing(WHAT)? {
            let entry = entry.doing(WHAT)?;
            if entry.file_name().to_str().is_some_and(|name| name.starts_with(RUN)) {
                beside(&entry.path(), roots, before)?;
            }
        }
        let record = Record {
            roots: roots.iter().map(|(root, _)| root.clone()).collect(),
            left: Vec::new(),
            before: before.clone(),
        };
        // No two processes have this number at the same time, and a record of one that is gone has been read above.
        let unique = |count: u32| self.folder.join(format!("{RUN}{}-{count}", std::process::id()));
        let file = (0..1000).map(unique).find(|file| fs::symlink_metadata(file).is_err());
        let file = file.ok_or_else(|| Problem::Layer(WHAT.into()))?;
        let mut lock = opened(&file).doing(WHAT)?;
        flock(&lock, FlockOperation::LockShared).doing(WHAT)?;
        lock.write_all(&serde_json::to_vec(&record).doing(WHAT)?).doing(WHAT)?;
        Ok(Registered { file, _lock: lock })
    }
}

/// Another record: of a run beside this one, or of one that is over.
fn beside(file: &Path, roots: &[(PathBuf, Place)], before: &mut Before) -> Result<(), Problem> {
    let lock = match File::open(file) {
        Ok(lock) => lock,
        // It has just ended.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).doing(WHAT),
    };
    let is_over = match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => true,
        Err(Errno::WOULDBLOCK) => false,
        Err(error) => return Err(error).doing(WHAT),
    };
    let Ok(record) = serde_json::from_reader::<_, Record>(std::io::BufReader::new(&lock)) else {
        if is_over {
            // It was killed before it was on record, and so before its command began.
            let _ = fs::remove_file(file);
            return Ok(());
        }
        return Err(Problem::Layer(format!("{WHAT}: {} cannot be read", file.display())));
    };
    let shared = roots.iter().find(|(root, _)| {
        record.roots.iter().any(|other| root.starts_with(other) || other.starts_with(root))
    });
    let Some((root, _)) = shared else { return Ok(()) };
    // Removed by its run while it was opened here.
    if is_over && fs::symlink_metadata(file).is_err() {
        return Ok(());
    }
    if is_over {
        let what = if record.left.is_empty() {
            "was ended before it could be looked at what it left"
        } else {
            "left something that could not be put right"
        };
        return Err(Problem::Workspace(format!(
            "an earlier run in {} {what}. Look at it, and remove {} then",
            root.display(),
            file.display()
        )));
    }
    before.only(&record.before);
    Ok(())
}

impl Registered {
    /// Takes up the record of a run whose runner was killed.
    pub(crate) fn again(file: PathBuf) -> Result<Self, Problem> {
        let lock = File::open(&file).doing(WHAT)?;
        flock(&lock, FlockOperation::LockShared).doing(WHAT)?;
        Ok(Self { file, _lock: lock })
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
        let text = serde_json::to_vec_pretty(&record).doing(WHAT)?;
        // If this fails, the first record stays: that keeps runs from beginning as well.
        let new = self.file.with_extension("new");
        fs::write(&new, text).and_then(|()| fs::rename(&new, &self.file)).doing(WHAT)
    }
}

fn opened(file: &Path) -> std::io::Result<File> {
    fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(file)
}
