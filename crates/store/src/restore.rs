//! Backup to one portable file, and restore from it into a new epoch, so that no old permit lives twice.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use rusqlite::{Connection, OptionalExtension as _, types::Value};

use crate::{
    Clock, Location, StoreError, Timeline,
    backend::{Backend, ReadSet},
    batch::{Batch, EpochReason},
    outbox::OutboxSettings,
    postgres::{self, PostgresWriter},
    read::Readers,
    sqlite::{self, SqliteReaders, SqliteWriter},
    store::{commit_alone, new_epoch},
    verify::{Progress, Verified, VerifyError, verify},
};

/// What a restore did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreReport {
    /// What the backup held.
    pub verified: Verified,
    /// The new epoch.
    pub epoch: String,
    /// Requests that were still open and are now cancelled, revoked or unknown.
    pub closed: usize,
    /// When the last entry of the backup was written: what changed later is undone.
    pub as_of: Option<String>,
    /// When each person, or one of their keys, was last changed.
    pub people: BTreeMap<String, String>,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Text,
    Int,
    Bytes,
}

/// Table and column of everything that a backup carries from one database to another.
pub fn backed_up() -> impl Iterator<Item = (&'static str, &'static str)> {
    TABLES.iter().flat_map(|(table, columns)| columns.iter().map(|(column, _)| (*table, *column)))
}

/// Every table of a backup, in the order it is copied. Notes are not among them: they are void in a new epoch.
pub(crate) const TABLES: &[(&str, &[(&str, Column)])] = {
    use Column::{Bytes, Int, Text};
    &[
        (
            "head",
            &[
                ("one", Int),
                ("epoch", Text),
                ("seq", Int),
                ("hash", Bytes),
                ("principals_seq", Int),
                ("at", Int),
            ],
        ),
        ("meta", &[("name", Text), ("value", Text)]),
        (
            "requests",
            &[
                ("seq", Int),
                ("id", Text),
                ("version", Int),
                ("state", Text),
                ("kind", Text),
                ("agent", Text),
                ("session", Text),
                ("tool", Text),
                ("risk", Text),
                ("grp", Text),
                ("created_at", Int),
                ("changed_at", Int),
                ("deadline", Int),
                ("meta", Text),
                ("source", Text),
            ],
        ),
        ("decided_by", &[("name", Text), ("request", Int)]),
        ("payloads", &[("seq", Int), ("request", Int), ("version", Int), ("body", Text)]),
        ("ledger", &[("seq", Int), ("request", Int), ("entry", Text), ("hash", Bytes)]),
        (
            "idempotency",
            &[
                ("id", Int),
                ("scope", Bytes),
                ("body", Bytes),
                ("request", Int),
                ("answer", Text),
                ("created_at", Int),
            ],
        ),
        ("tallies", &[("agent", Text), ("pending", Int)]),
        ("principals", &[("name", Text), ("kind", Text), ("data", Text)]),
        (
            "keys",
            &[
                ("id", Text),
                ("role", Text),
                ("name", Text),
                ("secret", Bytes),
                ("created_at", Int),
                ("revoked_at", Int),
                ("owner", Text),
            ],
        ),
        ("voided", &[("kind", Text), ("name", Text), ("at", Int)]),
        ("freezes", &[("id", Text), ("data", Text)]),
        (
            "outbox",
            &[
                ("channel", Text),
                ("subject", Text),
                ("wanted", Int),
                ("told", Int),
                ("body", Text),
                ("state", Text),
                ("attempts", Int),
                ("next_at", Int),
                ("lease_until", Int),
                ("lease_owner", Text),
                ("give_up_at", Int),
                ("last_error", Text),
            ],
        ),
        (
            "policies",
            &[("seq", Int), ("hash", Text), ("source", Text), ("who", Text), ("at", Int), ("text", Text)],
        ),
        (
            "grants",
            &[
                ("id", Text),
                ("data", Text),
                ("digest", Bytes),
                ("pattern", Text),
                ("used", Int),
                ("ended_at", Int),
                ("ended_why", Text),
            ],
        ),
        ("trust", &[("digest", Bytes), ("count", Int), ("at", Int), ("seq", Int)]),
        (
            "sessions",
            &[
                ("id", Text),
                ("name", Text),
                ("via", Text),
                ("created_at", Int),
                ("expires_at", Int),
                ("secret", Bytes),
                ("previous", Bytes),
                ("rotated_at", Int),
                ("last_seen_at", Int),
                ("user_agent", Text),
                ("bound", Bytes),
            ],
        ),
        ("links", &[("name", Text), ("token", Bytes), ("expires_at", Int)]),
        ("passwords", &[("name", Text), ("hash", Text)]),
        (
            "events",
            &[
                ("id", Int),
                ("received_at", Int),
                ("agent", Text),
                ("request", Text),
                ("source_app", Text),
                ("session_id", Text),
                ("hook_event_type", Text),
                ("timestamp", Int),
                ("body", Text),
            ],
        ),
        ("event_words", &[("kind", Int), ("word", Text), ("seen", Int)]),
        ("documents", &[("kind", Text), ("name", Text), ("created_at", Int), ("body", Text)]),
    ]
};

/// Writes everything into a new file, beside a running server if there is one.
pub async fn backup(from: &Location, file: &Path) -> Result<(), StoreError> {
    if file.exists() {
        return Err(StoreError::File(format!("{} is already there: name a new file", file.display())));
    }
    match from {
        Location::Folder(data) => {
            let (database, file) = (sqlite::database(data), file.to_owned());
            let copied = tokio::task::spawn_blocking(move || {
                let connection = sqlite::open_read_only(&database)?;
                connection.pragma_update(None, "query_only", "OFF")?;
                connection.execute("VACUUM INTO ?1", [file.to_string_lossy()])?;
                protect(&file)
            });
            copied.await.map_err(|error| StoreError::Database(error.to_string()))?
        }
        Location::Postgres(url) => {
            let mut copy = Copy::create(file)?;
            postgres::export(url, &mut copy).await?;
            copy.finish()?;
            protect(file)
        }
    }
}

/// A backup holds hashed keys and arguments: for its owner only, and on disk before we say so.
fn protect(file: &Path) -> Result<(), StoreError> {
    let wrong =
        |error: std::io::Error| StoreError::File(format!("cannot finish {}: {error}", file.display()));
    std::fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).map_err(wrong)?;
    std::fs::File::open(file).and_then(|file| file.sync_all()).map_err(wrong)
}

/// A backup that is being written row by row.
pub(crate) struct Copy {
    connection: Connection,
}

impl Copy {
    fn create(file: &Path) -> Result<Self, StoreError> {
        let connection = Connection::open(file)?;
        for (number, sql) in crate::migrations::SQLITE {
            connection.execute_batch(&format!("{sql}\nPRAGMA user_version = {number};"))?;
        }
        connection.execute_batch("BEGIN")?;
        Ok(Self { connection })
    }

    /// Adds one row.
    pub(crate) fn row(
        &self,
        table: &str,
        columns: &[(&str, Column)],
        values: &[Value],
    ) -> Result<(), StoreError> {
        let names = columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let marks = vec!["?"; columns.len()].join(", ");
        let sql = format!("INSERT INTO {table} ({names}) VALUES ({marks})");
        self.connection.prepare_cached(&sql)?.execute(rusqlite::params_from_iter(values))?;
        Ok(())
    }

    fn finish(self) -> Result<(), StoreError> {
        self.connection.execute_batch("COMMIT")?;
        Ok(())
    }
}

/// Calls back with every row of a backup, table by table, in pages.
pub(crate) fn rows_of(
    file: &Path,
    table: &str,
    columns: &[(&str, Column)],
    mut each: impl FnMut(Vec<Vec<Value>>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let connection = sqlite::open_read_only(file)?;
    let mut names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    // A backup of an earlier format does not have every table and every column.
    let from = if connection.table_exists(None, table)? {
        for name in &mut names {
            if !connection.column_exists(None, table, name)? {
                *name = column_before(table, name);
            }
        }
        if table == "outbox" && !connection.column_exists(None, table, "subject")? {
            OUTBOX_BY_ENTRY
        } else {
            table
        }
    } else {
        match table_before(table) {
            Some((made_from, rows)) if connection.table_exists(None, made_from)? => rows,
            _ => return Ok(()),
        }
    };
    let mut find = connection.prepare(&format!("SELECT {} FROM {from}", names.join(", ")))?;
    let mut rows = find.query([])?;
    let mut page = Vec::new();
    while let Some(row) = rows.next()? {
        page.push((0..columns.len()).map(|index| row.get(index)).collect::<Result<Vec<Value>, _>>()?);
        if page.len() == 500 {
            each(std::mem::take(&mut page))?;
        }
    }
    each(page)
}

/// The outbox of a backup that has a row per entry, as the migration would turn it into one per subject.
const OUTBOX_BY_ENTRY: &str =
    "(SELECT *, max(seq) FROM outbox WHERE state = 'waiting' GROUP BY channel, request)";

/// What a backup of an earlier format says in the place of a column that came later, as its migration would.
fn column_before(table: &str, column: &str) -> &'static str {
    match (table, column) {
        ("keys", "owner") => {
            "(SELECT json_extract(entry, '$.data.owner') FROM ledger
              WHERE entry LIKE '%\"type\":\"key.created\"%' AND json_extract(entry, '$.data.id') = keys.id)"
        }
        ("outbox", "subject") => "request",
        ("outbox", "wanted") => "seq",
        ("trust", "seq") | ("head", "at") | ("outbox", "told") => "0",
        ("requests", "source") => "json_extract(meta, '$.source')",
        _ => "NULL",
    }
}

/// A table that came later: the table that it is made from, and its rows, as its migration would make them.
fn table_before(table: &str) -> Option<(&'static str, &'static str)> {
    match table {
        "decided_by" => Some((
            "requests",
            "(SELECT DISTINCT person.value AS name, requests.seq AS request
              FROM requests, json_each(requests.meta, '$.decision.by') AS person)",
        )),
        "documents" => {
            Some(("themes", "(SELECT 'events.theme' AS kind, name, created_at, body FROM themes)"))
        }
        _ => None,
    }
}

/// Checks a database file, or a folder, without a server.
pub async fn verify_file(
    file: &Path,
    progress: impl FnMut(Progress) + Send,
) -> Result<Verified, VerifyError> {
    let file = if file.is_dir() { sqlite::database(file) } else { file.to_owned() };
    if !file.exists() {
        return Err(StoreError::File(format!("there is no database at {}", file.display())).into());
    }
    verify(&Readers::Sqlite(SqliteReaders::new(&file, None)), progress).await
}

/// Checks a Postgres database.
pub async fn verify_postgres(
    url: &str,
    progress: impl FnMut(Progress) + Send,
) -> Result<Verified, VerifyError> {
    let readers = postgres::PostgresReaders::connect(url)?;
    verify(&Readers::Postgres(readers), progress).await
}

/// Restores a backup into an empty place and begins a new epoch there.
pub async fn restore(
    file: &Path,
    into: &Location,
    clock: Arc<dyn Clock>,
    progress: impl FnMut(Progress) + Send,
) -> Result<RestoreReport, VerifyError> {
    let verified = verify_file(file, progress).await?;
    let time = Arc::new(Timeline::new(clock));
    time.saw(verified.at);
    let (epoch, closed) = match into {
        Location::Folder(data) => {
            let database = sqlite::database(data);
            sqlite::make_folder(data)?;
            let _lock = sqlite::Lock::take(data)?;
            if database.exists() {
                return Err(StoreError::File(format!(
                    "{} already holds a database: restore into an empty folder",
                    data.display()
                ))
                .into());
            }
            // Under another name until the new epoch is written: a restore that was cut short is never served.
            let half = data.join("placet.db.restoring");
            let wrong =
                |error: std::io::Error| StoreError::File(format!("cannot write {}: {error}", half.display()));
            // The journal of a restore that was cut short would be played back into this one.
            for left in [
                "placet.db.restoring",
                "placet.db.restoring-journal",
                "placet.db.restoring-wal",
                "placet.db.restoring-shm",
            ] {
                match std::fs::remove_file(data.join(left)) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                        return Err(wrong(error).into());
                    }
                    _ => {}
                }
            }
            std::fs::copy(file, &half).map_err(wrong)?;
            let connection = Connection::open(&half).map_err(StoreError::from)?;
            connection.pragma_update(None, "synchronous", "FULL").map_err(StoreError::from)?;
            sqlite::migrate(&connection)?;
            let files = Arc::new(sqlite::OpenFiles::new(&half)?);
            let mut backend = SqliteWriter::new(connection, time, Arc::default(), Arc::default(), files);
            let done = begin_epoch(&mut backend, EpochReason::Restored).await?;
            drop(backend);
            protect(&half)?;
            std::fs::rename(&half, &database).map_err(wrong)?;
            std::fs::File::open(data).and_then(|folder| folder.sync_all()).map_err(wrong)?;
            done
        }
        Location::Postgres(url) => {
            postgres::prepare(url).await?;
            postgres::import(url, file).await?;
            let (node, wait) = ("restore".to_owned(), postgres::LOCK_WAIT);
            let mut backend = PostgresWriter::connect(url, node, time, Arc::default(), wait).await?;
            begin_epoch(&mut backend, EpochReason::Restored).await?
        }
    };
    let (as_of, people) = dates(file)?;
    Ok(RestoreReport { verified, epoch, closed, as_of, people })
}

/// How old a backup is, and when it last heard of each person.
fn dates(file: &Path) -> Result<(Option<String>, BTreeMap<String, String>), StoreError> {
    let connection = sqlite::open_read_only(file)?;
    let last = "SELECT json_extract(entry, '$.at') FROM ledger ORDER BY seq DESC LIMIT 1";
    let as_of = connection.query_row(last, [], |row| row.get(0)).optional()?;
    let mut find = connection.prepare(
        "SELECT json_extract(entry, '$.data.name'), max(json_extract(entry, '$.at')) FROM ledger
         WHERE entry LIKE '%\"type\":\"person.put\"%' OR entry LIKE '%\"type\":\"key.created\"%' GROUP BY 1",
    )?;
    let people = find.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok((as_of, people.collect::<Result<_, _>>()?))
}

/// Begins a new epoch; says its name and how many requests it closed.
pub(crate) async fn begin_epoch<B: Backend>(
    backend: &mut B,
    reason: EpochReason,
) -> Result<(String, usize), StoreError> {
    let mut loaded = backend.begin(&ReadSet::default()).await?;
    let directory = Arc::new(backend.directory().await?);
    let live = backend.live_of(None).await?;
    // Every pending request is about to end; counting down from what is there leaves zero.
    for request in live.iter().filter(|request| request.state == placet_core::State::Pending) {
        *loaded.tallies.entry(request.agent.clone()).or_default() += 1;
    }
    let closed = live.len();
    let epoch = new_epoch()?;
    let mut batch = Batch::new(loaded, directory, OutboxSettings::default(), Arc::default());
    batch.new_epoch(epoch.clone(), reason, live)?;
    commit_alone(backend, batch).await?;
    Ok((epoch, closed))
}
