//! Recovery. After a loss: finds acknowledged entries that the database does not have, and begins a new epoch that guesses
//! nothing about them. After a wrong clock: accepts that the ledger is ahead of the clock.

use std::{collections::BTreeSet, path::Path, sync::Arc, time::Duration};

use placet_core::{Actor, AdminEvent, Digest, RequestId, Time};
use placet_ledger::{Data, Entry, Head};

use crate::{
    ABSORBED, Acked, Clock, Location, StoreError, Timeline,
    acked::{self, Memory},
    backend::{Backend, ReadSet},
    batch::{Batch, EpochReason},
    outbox::OutboxSettings,
    postgres::{self, PostgresReaders, PostgresWriter},
    read::Readers,
    restore::begin_epoch,
    sqlite::{self, OpenFiles, SqliteReaders, SqliteWriter},
    store::commit_alone,
    tail::News,
};

/// What a database does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// Where the ledger ends now.
    pub head: Head,
    /// The last entry that a node of this machine acknowledged.
    pub acknowledged: Acked,
    /// The last entry that the database and this machine both know; none where they have nothing in common any more.
    pub common: Option<u64>,
    /// Requests that something happened to in what was lost, as far as this machine remembers.
    pub concerned: Vec<Concerned>,
}

impl Loss {
    /// Whether this machine remembers every entry that was lost. If not, more requests may be concerned.
    pub fn is_whole(&self) -> bool {
        self.common.is_some()
    }
}

/// What happened to a request in what was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Concerned {
    /// Which.
    pub request: RequestId,
    /// `request.claimed` and so on, in order.
    pub events: Vec<String>,
}

/// What a recovery did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoverReport {
    /// The new epoch.
    pub epoch: String,
    /// Requests that were still open and are now cancelled or unknown.
    pub closed: usize,
}

/// What accepting the clock did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// What time it was by the ledger.
    pub from: Time,
    /// What time it is by the clock.
    pub to: Time,
    /// Requests that had expired by the ledger's time, and expired now.
    pub expired: usize,
}

/// What a ledger is known by on this machine: the hash of its first entry.
pub(crate) async fn ledger(readers: &Readers) -> Result<Digest, StoreError> {
    let first = readers.ledger(0, 1).await?;
    Ok(first.first().ok_or_else(|| StoreError::Damaged("the ledger has no first entry".to_owned()))?.hash)
}

/// Whether a database has this entry, or a later epoch began by a restore or a recovery, which accept its loss.
pub(crate) async fn has(readers: &Readers, acked: &Acked) -> Result<bool, StoreError> {
    let known = Head { epoch: acked.epoch.clone(), seq: acked.seq, hash: acked.hash };
    let (head, there) = readers.head_and(Some(&known)).await?;
    if head.seq >= acked.seq && there == Some(acked.hash) {
        return Ok(true);
    }
    Ok(head.epoch != acked.epoch && ended(readers, &acked.epoch).await?)
}

/// Whether a restore or a recovery ended this epoch.
async fn ended(readers: &Readers, epoch: &str) -> Result<bool, StoreError> {
    let mut after = 0;
    loop {
        let page = readers.ledger(after, 1000).await?;
        let Some(last) = page.last() else { return Ok(false) };
        after = last.seq;
        for row in page.iter().filter(|row| row.text.contains("\"ledger.re")) {
            let entry: Entry = serde_json::from_str(&row.text)?;
            match entry.data {
                Data::Admin(AdminEvent::Restored { from } | AdminEvent::Recovered { from, .. })
                    if from == epoch =>
                {
                    return Ok(true);
                }
                _ => {}
            }
        }
    }
}

fn readers(location: &Location) -> Result<Readers, StoreError> {
    Ok(match location {
        Location::Folder(data) => {
            let file = sqlite::database(data);
            if !file.exists() {
                return Err(StoreError::File(format!("there is no database at {}", file.display())));
            }
            Readers::Sqlite(SqliteReaders::new(&file, None))
        }
        Location::Postgres(url) => Readers::Postgres(PostgresReaders::connect(url)?),
    })
}

/// Looks whether a database has what this machine acknowledged. Changes nothing. `None` when nothing is missing; an error
/// when this machine remembers nothing of it.
pub async fn look_for_loss(location: &Location, state: &Path) -> Result<Option<Loss>, StoreError> {
    let readers = readers(location)?;
    let remembered = acked::remembered(state, ledger(&readers).await?)?;
    if remembered.is_empty() {
        return Err(StoreError::File(format!(
            "nothing is remembered of this ledger in {}: look on the machine of a node that served it, or name its folder \
             with --state",
            state.display()
        )));
    }
    let mut worst: Option<Loss> = None;
    for entries in &remembered {
        let Some(newest) = entries.last() else { continue };
        if has(&readers, newest).await? {
            continue;
        }
        let loss = loss(&readers, entries, newest).await?;
        if worst.as_ref().is_none_or(|worst| worst.acknowledged.seq < loss.acknowledged.seq) {
            worst = Some(loss);
        }
    }
    Ok(worst)
}

async fn loss(readers: &Readers, entries: &[Acked], newest: &Acked) -> Result<Loss, StoreError> {
    // Entries are numbered without gaps, so the first that the database has ends the search.
    let mut lost: Vec<&Acked> = Vec::new();
    let mut common = None;
    for entry in entries.iter().rev().filter(|entry| entry.epoch == newest.epoch) {
        let known = Head { epoch: entry.epoch.clone(), seq: entry.seq, hash: entry.hash };
        let (head, there) = readers.head_and(Some(&known)).await?;
        if head.seq >= entry.seq && there == Some(entry.hash) {
            common = Some(entry.seq);
            break;
        }
        lost.push(entry);
    }
    lost.reverse();
    let mut concerned: Vec<Concerned> = Vec::new();
    for entry in lost {
        let Some(request) = entry.request else { continue };
        match concerned.iter_mut().find(|known| known.request == request) {
            Some(known) => known.events.push(entry.name.clone()),
            None => concerned.push(Concerned { request, events: vec![entry.name.clone()] }),
        }
    }
    let head = readers.head().await?.head;
    Ok(Loss { head, acknowledged: newest.clone(), common, concerned })
}

/// Begins a new epoch in a database that went back. Pending requests are cancelled; what was approved or claimed is unknown.
/// Every node must be stopped, or have noticed the loss.
pub async fn recover(
    location: &Location,
    state: &Path,
    loss: Option<&Loss>,
    clock: Arc<dyn Clock>,
) -> Result<RecoverReport, StoreError> {
    let reason = EpochReason::Recovered { acknowledged: loss.map(|loss| loss.acknowledged.seq) };
    let time = Arc::new(Timeline::new(clock));
    let (epoch, closed) = match location {
        Location::Folder(data) => {
            let (mut backend, _lock) = folder(data, &time)?;
            begin_epoch(&mut backend, reason).await?
        }
        Location::Postgres(url) => begin_epoch(&mut shared(url, &time).await?, reason).await?,
    };
    begin_memory(location, state).await?;
    Ok(RecoverReport { epoch, closed })
}

/// Forgets what this machine remembered of a ledger, and remembers where it ends now: a new epoch has begun on purpose.
pub async fn begin_memory(location: &Location, state: &Path) -> Result<(), StoreError> {
    let readers = readers(location)?;
    let ledger = ledger(&readers).await?;
    acked::forget(state, ledger)?;
    let head = readers.head().await?.head;
    let memory = Memory::open(state, ledger)?;
    for row in readers.ledger(head.seq.saturating_sub(1), 1).await? {
        let entry: Entry = serde_json::from_str(&row.text)?;
        memory.note(std::iter::once(&News::new(entry, row.hash, None, true)));
    }
    memory.flush().map_err(|error| StoreError::File(format!("cannot write to {}: {error}", state.display())))
}

fn folder(data: &Path, time: &Arc<Timeline>) -> Result<(SqliteWriter, sqlite::Lock), StoreError> {
    let database = sqlite::database(data);
    if !database.exists() {
        return Err(StoreError::File(format!("there is no database at {}", database.display())));
    }
    let lock = sqlite::Lock::take(data)?;
    let connection = sqlite::open(data, 4000, 0)?;
    let files = Arc::new(OpenFiles::new(&database)?);
    Ok((SqliteWriter::new(connection, time.clone(), Arc::default(), Arc::default(), files), lock))
}

async fn shared(url: &str, time: &Arc<Timeline>) -> Result<PostgresWriter, StoreError> {
    postgres::prepare(url).await?;
    let (node, wait) = ("recover".to_owned(), postgres::LOCK_WAIT);
    PostgresWriter::connect(url, node, time.clone(), Arc::default(), wait).await
}

/// Accepts that the clock is right and the ledger is ahead of it. Requests past their deadline by the ledger's time expire first; then
/// time goes on from the clock's. `None` when the clock is not behind.
pub async fn accept_clock(
    location: &Location,
    clock: Arc<dyn Clock>,
) -> Result<Option<Accepted>, StoreError> {
    let time = Arc::new(Timeline::new(clock.clone()));
    let readers = readers(location)?;
    let head = readers.head().await?.head;
    for row in readers.ledger(head.seq.saturating_sub(1), 1).await? {
        time.saw(row.at()?);
    }
    match location {
        Location::Folder(data) => {
            let (mut backend, _lock) = folder(data, &time)?;
            accept(&mut backend, &*clock).await
        }
        Location::Postgres(url) => accept(&mut shared(url, &time).await?, &*clock).await,
    }
}

async fn accept<B: Backend>(backend: &mut B, clock: &dyn Clock) -> Result<Option<Accepted>, StoreError> {
    let mut expired = BTreeSet::new();
    loop {
        let loaded = backend.begin(&ReadSet::default()).await?;
        let Some(behind) = loaded.time.behind else {
            backend.rollback().await;
            return Ok(None);
        };
        let (from, to) = (loaded.time.now, clock_now(clock, loaded.time.now, behind));
        let directory = Arc::new(backend.directory().await?);
        let due: Vec<_> = backend.live_of(None).await?;
        let due: Vec<_> = due.into_iter().filter(|request| request.overdue(from).is_some()).collect();
        let mut loaded = loaded;
        if due.is_empty() {
            // By the clock: this entry alone may be older than the one before.
            loaded.time.now = to;
            let mut batch = Batch::new(loaded, directory, OutboxSettings::default(), Arc::default());
            batch.admin_event(&Actor::system(), AdminEvent::ClockAccepted { from });
            commit_alone(backend, batch).await?;
            return Ok(Some(Accepted { from, to, expired: expired.len() }));
        }
        // A deadline may lead to the next one, so this goes on until nothing is due.
        expired.extend(due.iter().map(|request| request.id));
        for request in due.iter().filter(|request| request.state == placet_core::State::Pending) {
            *loaded.tallies.entry(request.agent.clone()).or_default() += 1;
        }
        let mut batch = Batch::new(loaded, directory, OutboxSettings::default(), Arc::default());
        batch.expire(due)?;
        commit_alone(backend, batch).await?;
    }
}

/// The time of the slowest clock: the operator says that this one is right.
fn clock_now(clock: &dyn Clock, ledger: Time, behind: Duration) -> Time {
    debug_assert!(behind > ABSORBED, "otherwise there is nothing to accept");
    let slowest = i64::try_from(behind.as_micros()).unwrap_or(i64::MAX);
    clock.now().min(Time::from_micros(ledger.micros().saturating_sub(slowest)))
}
