//! Records that stay: a run left something, or ended without a look at what it left. A person looks at the changes, keeps them or puts
//! back what was there before, and clears the record.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::{
    aside::Aside,
    cleanup::{Change, clean, compare},
    links,
    register::{Record, locked, parsed, read_raw, records},
};
use crate::{
    protected::Lists,
    words::{Doing as _, Problem},
};

/// A run that is over, and whose record stays.
#[derive(Debug)]
pub struct LeftRun {
    file: PathBuf,
    /// As it is in the file.
    text: Vec<u8>,
    /// Nothing if another version of Placet wrote it.
    record: Option<Record>,
}

/// All of them, with their records in this folder.
pub fn left_runs(folder: &Path) -> Result<Vec<LeftRun>, Problem> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let _lock = locked(folder)?;
    let mut files = records(folder)?;
    files.sort();
    let mut left = Vec::new();
    for file in files {
        if let Some((text, true)) = read_raw(&file)? {
            let record = parsed(&text);
            left.push(LeftRun { file, text, record });
        }
    }
    Ok(left)
}

impl LeftRun {
    /// The name of its record.
    pub fn name(&self) -> String {
        self.file.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The folders that it could change.
    pub fn folders(&self) -> Vec<PathBuf> {
        let record = self.record.iter();
        record.flat_map(|record| record.run.roots.iter().map(|(root, _)| root.clone())).collect()
    }

    /// When its record was written.
    pub fn written(&self) -> Option<SystemTime> {
        fs::symlink_metadata(&self.file).and_then(|about| about.modified()).ok()
    }

    /// Whether its record can be read.
    pub fn is_readable(&self) -> bool {
        self.record.is_some()
    }

    /// What could not be put right after it. Nothing if no process looked at what it left.
    pub fn left(&self) -> &[String] {
        self.record.as_ref().map_or(&[], |record| record.left.as_slice())
    }

    /// What is protected and not as it was before the run.
    pub fn changes(&self) -> Result<Vec<Change>, Problem> {
        let Some(Record { run, .. }) = &self.record else { return Ok(Vec::new()) };
        compare(run, &Lists::new(&run.profile)?)
    }

    /// Clears the record. `seen` are the changes that the person saw: if there are others by now, nothing happens.
    pub fn keep(&self, seen: &[Change]) -> Result<(), Problem> {
        self.settle(seen, || Ok(()))
    }

    /// Puts back what was there before the run, and clears the record. What is new is moved away.
    pub fn restore(&self, seen: &[Change]) -> Result<(), Problem> {
        self.settle(seen, || {
            let Some(Record { run, .. }) = &self.record else {
                return Err(Problem::Workspace(format!("{} cannot be read", self.file.display())));
            };
            let aside = Aside::open(&run.profile);
            for old in &run.before.found {
                let is_replaced =
                    |change: &&Change| matches!(change, Change::Replaced { path, .. } if *path == old.path);
                let Some(text) = old.text.as_ref().filter(|_| seen.iter().any(|change| is_replaced(&change)))
                else {
                    continue;
                };
                links::rewrite(run, &old.path, text, old.mode, aside.as_ref())
                    .doing(format_args!("{} cannot be written", old.path.display()))?;
            }
            clean(run, &Lists::new(&run.profile)?, aside.as_ref(), true)
        })
    }

    fn settle(&self, seen: &[Change], act: impl FnOnce() -> Result<(), Problem>) -> Result<(), Problem> {
        let refuse = |why: String| Err(Problem::Workspace(why));
        // No run begins meanwhile.
        let folder = self.file.parent().unwrap_or(Path::new("/"));
        let _lock = locked(folder)?;
        let Some((text, true)) = read_raw(&self.file)? else {
            return refuse(format!("{} was cleared meanwhile", self.file.display()));
        };
        if text != self.text {
            return refuse(format!("{} is another record by now", self.file.display()));
        }
        if let Some(Record { run, .. }) = &self.record {
            for other in records(folder)? {
                if let Some((other, false)) = read_raw(&other)?
                    && parsed(&other).is_none_or(|other| other.run.meets(run))
                {
                    return refuse(
                        "another run is at work there or in the same session: wait until it ends".into(),
                    );
                }
            }
        }
        if self.changes()? != seen {
            return refuse("something changed since it was shown: look again".into());
        }
        act()?;
        fs::remove_file(&self.file).doing(format_args!("{} cannot be removed", self.file.display()))
    }
}
