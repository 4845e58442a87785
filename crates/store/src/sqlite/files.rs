//! Compares the files that the server has open with the files at their paths. What a server acknowledges is lost if its
//! folder was moved, removed or replaced while it runs.

use std::{
    fs::Metadata,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::OnceLock,
};

use crate::StoreError;

/// A file by device and number, which a rename keeps and a copy does not.
type Identity = (u64, u64);

/// What a server opened.
#[derive(Debug)]
pub(crate) struct OpenFiles {
    path: PathBuf,
    log_path: PathBuf,
    database: Identity,
    // The log is made by the first transaction, so it may come later.
    log: OnceLock<Identity>,
}

impl OpenFiles {
    /// Right after the database at this path was opened.
    pub(crate) fn new(path: &Path) -> Result<Self, StoreError> {
        let database = identity(path).ok_or_else(|| {
            StoreError::File(format!("{} was removed while it was being opened", path.display()))
        })?;
        Ok(Self { path: path.to_owned(), log_path: log(path), database, log: OnceLock::new() })
    }

    /// What is wrong with the files, if anything is.
    pub(crate) fn problem(&self) -> Option<String> {
        let log = identity(&self.log_path);
        if let (None, Some(log)) = (self.log.get(), log) {
            let _ = self.log.set(log);
        }
        let moved = |what: &str| {
            Some(format!(
                "{what} {} is not the file that this server opened: it was moved, removed or replaced. Nothing more is \
                 written; put the folder back, or restore a backup",
                self.path.display()
            ))
        };
        if identity(&self.path) != Some(self.database) {
            return moved("the database");
        }
        if self.log.get().is_some_and(|known| log != Some(*known)) { moved("the log of") } else { None }
    }

    /// The line in the lock file by which the next start knows which log belongs to which database.
    pub(crate) fn line(&self) -> String {
        let (device, number) = self.database;
        match identity(&self.log_path) {
            Some((log_device, log_number)) => format!("{device}:{number} {log_device}:{log_number}"),
            None => format!("{device}:{number}"),
        }
    }
}

/// Refuses a database that was put in the place of another one, whose log is still there and would be applied to it.
pub(super) fn check_log(data: &Path, lock: &str) -> Result<(), StoreError> {
    let Some((known_database, known_log)) = lock.lines().nth(1).and_then(|line| line.split_once(' ')) else {
        return Ok(());
    };
    let says = |path: &Path| identity(path).map(|(device, number)| format!("{device}:{number}"));
    let database = super::database(data);
    let write_ahead = log(&database);
    // Where both are others, the folder was copied as a whole.
    let same_log = says(&write_ahead).as_deref() == Some(known_log)
        && std::fs::metadata(&write_ahead).is_ok_and(|log| log.len() > 0);
    if same_log && says(&database).is_some_and(|says| says != known_database) {
        return Err(StoreError::File(format!(
            "{} was replaced, and {} belongs to the file before: move the log away to use the new file without what only \
             the log has, or put the old file back",
            database.display(),
            write_ahead.display()
        )));
    }
    Ok(())
}

/// What to say of a data folder that other users of this machine can look into.
pub(crate) fn readable_by_others(data: &Path) -> Option<String> {
    let mode = std::fs::metadata(data).ok()?.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then(|| {
        format!(
            "other users of this machine can look into the data folder {0} (mode {mode:o}): run `chmod 700 {0}`",
            data.display()
        )
    })
}

/// The write-ahead log of a database.
fn log(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

/// Only the number is asked for. Linux gives a file whose times were looked at a new time with its next write, so that
/// every commit would have to sync the inode as well.
#[cfg(target_os = "linux")]
fn identity(path: &Path) -> Option<Identity> {
    use rustix::fs::{AtFlags, CWD, StatxFlags, makedev, statx};
    match statx(CWD, path, AtFlags::empty(), StatxFlags::INO) {
        Ok(file) => Some((makedev(file.stx_dev_major, file.stx_dev_minor), file.stx_ino)),
        Err(rustix::io::Errno::NOSYS) => looked_at(path),
        Err(_) => None,
    }
}

#[cfg(not(target_os = "linux"))]
fn identity(path: &Path) -> Option<Identity> {
    looked_at(path)
}

fn looked_at(path: &Path) -> Option<Identity> {
    let of = |file: Metadata| (file.dev(), file.ino());
    std::fs::metadata(path).ok().map(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("placet.db", "database"), ("placet.db-wal", "log")] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let files = OpenFiles::new(&super::super::database(folder.path())).unwrap();
        let lock = format!("4711\n{}\n", files.line());
        (folder, lock)
    }

    #[test]
    fn a_log_is_not_applied_to_a_file_that_took_the_place_of_its_own() {
        let (folder, lock) = folder();
        let at = |name: &str| folder.path().join(name);
        check_log(folder.path(), &lock).unwrap();
        std::fs::write(at("other"), "another database").unwrap();
        std::fs::rename(at("other"), at("placet.db")).unwrap();
        let refused = check_log(folder.path(), &lock).unwrap_err().to_string();
        assert!(refused.contains("was replaced") && refused.contains("placet.db-wal"), "{refused}");
        // An empty log changes nothing, and a folder that was copied as a whole fits together.
        std::fs::write(at("placet.db-wal"), "").unwrap();
        check_log(folder.path(), &lock).unwrap();
        std::fs::write(at("other"), "log").unwrap();
        std::fs::rename(at("other"), at("placet.db-wal")).unwrap();
        check_log(folder.path(), &lock).unwrap();
    }

    #[test]
    fn a_file_has_one_identity_however_it_is_looked_at() {
        let (folder, _) = folder();
        for name in ["placet.db", "placet.db-wal", "not there"] {
            assert_eq!(identity(&folder.path().join(name)), looked_at(&folder.path().join(name)), "{name}");
        }
    }

    #[test]
    fn what_other_versions_left_in_the_lock_file_is_no_reason_to_refuse() {
        let (folder, _) = folder();
        for lock in ["", "4711\n", "4711\nnonsense\n", "4711\n1:2 \n"] {
            check_log(folder.path(), lock).unwrap();
        }
    }
}
