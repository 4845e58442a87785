//! The embedded database: one file, one writer, several readers, one server at a time.

mod events;
mod files;
mod notes;
mod readers;
mod recent;
mod writer;

use std::{
    fs::{File, OpenOptions},
    io::{Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

pub(crate) use files::{OpenFiles, readable_by_others};
pub(crate) use readers::SqliteReaders;
pub(crate) use recent::Recent;
use rusqlite::{Connection, OpenFlags};
pub(crate) use writer::SqliteWriter;

use crate::{
    StoreError,
    migrations::{KNOWN, SQLITE},
    sabotage::planted,
};

/// How long a connection waits while another one writes.
pub(crate) const LOCK_WAIT: Duration = Duration::from_secs(5);

/// The database file in its data folder.
pub(crate) fn database(data: &Path) -> PathBuf {
    data.join("placet.db")
}

/// Held while a server has the data folder; the operating system lets go of it however the process ends.
#[derive(Debug)]
pub(crate) struct Lock {
    // Closing the file releases the lock.
    file: File,
}

impl Lock {
    /// Takes the folder, or says who has it.
    pub(crate) fn take(data: &Path) -> Result<Self, StoreError> {
        let path = data.join("placet.lock");
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(|error| StoreError::File(format!("cannot open {}: {error}", path.display())))?;
        rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| StoreError::Locked(data.display().to_string()))?;
        let mut before = String::new();
        // What a server before us left there is text of ours, or nothing that we could use.
        let _ = (&file).take(1024).read_to_string(&mut before);
        files::check_log(data, &before)?;
        Ok(Self { file })
    }

    /// Writes down whose lock it is, for people who look, and which log belongs to which database, for the next start.
    pub(crate) fn describe(&mut self, files: &OpenFiles) {
        let text = format!("{}\n{}\n", std::process::id(), files.line());
        // The lock itself is what counts.
        let _ = self
            .file
            .set_len(0)
            .and_then(|()| self.file.rewind())
            .and_then(|()| self.file.write_all(text.as_bytes()));
    }
}

/// Makes the data folder, for its owner only.
pub(crate) fn make_folder(data: &Path) -> Result<(), StoreError> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(data)
        .map_err(|error| StoreError::File(format!("cannot make the data folder {}: {error}", data.display())))
}

/// Opens the database for writing, makes or upgrades its tables, and returns the connection.
pub(crate) fn open(data: &Path, checkpoint_pages: u32, max_mib: u32) -> Result<Connection, StoreError> {
    let path = database(data);
    let connection = Connection::open(&path)
        .map_err(|error| StoreError::File(format!("cannot open {}: {error}", path.display())))?;
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .map_err(|error| StoreError::File(format!("cannot protect {}: {error}", path.display())))?;
    let mode: String = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if mode != "wal" {
        return Err(StoreError::File(format!(
            "{} cannot use a write-ahead log: is it on a network file system?",
            path.display()
        )));
    }
    // FULL: an acknowledged decision survives a power cut. NORMAL would lose it, and is planted to prove the tests.
    connection.pragma_update(None, "synchronous", if planted("sync-normal") { "NORMAL" } else { "FULL" })?;
    connection.pragma_update(None, "wal_autocheckpoint", checkpoint_pages)?;
    connection.pragma_update(None, "cache_size", -65_536)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "foreign_keys", "ON")?;
    connection.busy_timeout(LOCK_WAIT)?;
    connection.set_prepared_statement_cache_capacity(64);
    migrate(&connection)?;
    if max_mib > 0 {
        let page: u32 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let pages = i64::from(max_mib) * 1024 * 1024 / i64::from(page.max(1));
        // Beyond it SQLite says what it says of a full disk, and undoes what it began.
        connection.pragma_update(None, "max_page_count", pages)?;
    }
    Ok(connection)
}

/// Opens the database for reading beside a running server.
pub(crate) fn open_read_only(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if !path.exists() {
        return Err(StoreError::File(format!("there is no database at {}", path.display())));
    }
    // A read-only handle could not recover a write-ahead log that a crash left behind, so reading alone is
    // enforced by the pragma.
    let connection = Connection::open_with_flags(path, flags)
        .map_err(|error| StoreError::File(format!("cannot open {}: {error}", path.display())))?;
    connection.busy_timeout(LOCK_WAIT)?;
    connection.pragma_update(None, "query_only", "ON")?;
    connection.pragma_update(None, "cache_size", -16_384)?;
    connection.set_prepared_statement_cache_capacity(64);
    let found = format(&connection)?;
    if found > KNOWN {
        return Err(StoreError::Newer { found, known: KNOWN });
    }
    let begun = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'head'";
    let begun = found > 0 && connection.query_row(begun, [], |row| row.get::<_, i64>(0))? > 0;
    if !begun || connection.query_row("SELECT count(*) FROM head", [], |row| row.get::<_, i64>(0))? == 0 {
        return Err(StoreError::File(format!(
            "{} has no ledger: its first start did not finish, and nothing was ever recorded in it",
            path.display()
        )));
    }
    Ok(connection)
}

/// A column that holds a number and is never negative.
fn number(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, value))
}

fn format(connection: &Connection) -> Result<i64, StoreError> {
    Ok(connection.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

pub(crate) fn migrate(connection: &Connection) -> Result<(), StoreError> {
    let found = format(connection)?;
    if found > KNOWN {
        return Err(StoreError::Newer { found, known: KNOWN });
    }
    for (number, sql) in SQLITE.iter().filter(|(number, _)| *number > found) {
        connection
            .execute_batch(&format!("BEGIN IMMEDIATE;\n{sql}\nPRAGMA user_version = {number};\nCOMMIT;"))?;
    }
    Ok(())
}
