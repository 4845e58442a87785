//! Errors of the store. None of them means that a command was applied.

/// Why the store could not do what it was asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The queue is full; nothing was written.
    #[error("the queue of commands is full: try again shortly")]
    Busy,
    /// The database cannot be reached; nothing was written.
    #[error("the database cannot be reached: {0}")]
    Unavailable(String),
    /// The disk is full; nothing was written.
    #[error("the disk is full: nothing was written; free some space")]
    Full,
    /// The commit's answer was lost and could not be looked up.
    #[error("the outcome is unknown: read the request again before you rely on it")]
    Unknown,
    /// The same idempotency key came with another body.
    #[error("the idempotency key was used with another body")]
    KeyReused,
    /// A write to stable storage failed. The store stops, because what it would say next could be wrong.
    #[error("writing to stable storage failed, so the store has stopped: {0}")]
    Stopped(String),
    /// The database does not have what was acknowledged. Nothing is written until an operator recovers it.
    #[error("the database went back, so nothing is written and no permit is given: {0}")]
    HistoryLost(String),
    /// Another server has this data folder open.
    #[error("another placet server is using {0}: stop it first, or choose another --data folder")]
    Locked(String),
    /// The database was written by a newer program.
    #[error("the database has format {found} and this program knows {known}: use a newer placet")]
    Newer {
        /// What the database says.
        found: i64,
        /// What this program knows.
        known: i64,
    },
    /// What is stored makes no sense.
    #[error("the database is damaged: {0}")]
    Damaged(String),
    /// Anything else the database says.
    #[error("the database says: {0}")]
    Database(String),
    /// The data folder or a file cannot be used.
    #[error("{0}")]
    File(String),
}

impl From<serde_json::Error> for StoreError {
    fn from(error: serde_json::Error) -> Self {
        Self::Damaged(error.to_string())
    }
}

impl From<placet_ledger::CanonicalError> for StoreError {
    fn from(error: placet_ledger::CanonicalError) -> Self {
        Self::Damaged(error.to_string())
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ffi::{ErrorCode, SQLITE_IOERR_DIR_FSYNC, SQLITE_IOERR_FSYNC, SQLITE_IOERR_WRITE};
        if let rusqlite::Error::SqliteFailure(inner, _) = &error {
            // After a failed write or sync the kernel may have dropped the pages: what is on disk is unknown.
            let fatal = [SQLITE_IOERR_FSYNC, SQLITE_IOERR_DIR_FSYNC, SQLITE_IOERR_WRITE];
            match inner.code {
                ErrorCode::DiskFull => return Self::Full,
                // Another connection holds the write lock. Nothing was written, and more attempts would only wait longer.
                ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
                    return Self::Unavailable(error.to_string());
                }
                _ if fatal.contains(&inner.extended_code) => return Self::Stopped(error.to_string()),
                ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => {
                    return Self::Damaged(error.to_string());
                }
                _ => {}
            }
        }
        match error {
            rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..) => Self::Damaged(error.to_string()),
            _ => Self::Database(error.to_string()),
        }
    }
}

impl From<tokio_postgres::Error> for StoreError {
    fn from(error: tokio_postgres::Error) -> Self {
        let text = describe(&error);
        match error.code() {
            // Class 53: out of disk or memory; 55P03, 57014, 25P03: a lock or a statement took too long.
            Some(code) if *code == tokio_postgres::error::SqlState::DISK_FULL => Self::Full,
            Some(code) if code.code().starts_with("53") || code.code().starts_with("57") => {
                Self::Unavailable(text)
            }
            // A connection that is refused or ended says so with FATAL, whatever the code.
            Some(_) if fatal(&error) => Self::Unavailable(text),
            Some(code) if ["55P03", "25P03", "40001", "40P01"].contains(&code.code()) => {
                Self::Unavailable(text)
            }
            Some(_) => Self::Database(text),
            None => Self::Unavailable(text),
        }
    }
}

impl From<deadpool_postgres::PoolError> for StoreError {
    fn from(error: deadpool_postgres::PoolError) -> Self {
        match error {
            deadpool_postgres::PoolError::Backend(error) => error.into(),
            other => Self::Unavailable(other.to_string()),
        }
    }
}

fn fatal(error: &tokio_postgres::Error) -> bool {
    use tokio_postgres::error::Severity;
    let severity = error.as_db_error().and_then(tokio_postgres::error::DbError::parsed_severity);
    matches!(severity, Some(Severity::Fatal | Severity::Panic))
}

fn describe(error: &tokio_postgres::Error) -> String {
    match (error.as_db_error(), std::error::Error::source(error)) {
        (Some(db), _) => db.message().to_owned(),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    }
}
