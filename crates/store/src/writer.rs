//! The group-commit writer: takes everything that queued, commits it in one transaction, and only then answers.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use placet_core::Directory;
use tokio::sync::{broadcast, watch};

use crate::{
    AdminOutcome, StoreError, Timeline,
    acked::Memory,
    backend::{Backend, CommitError, NotesError, ReadSet},
    batch::Batch,
    events::{EventRow, EventsCommitted, SeenEvent, Words},
    history::History,
    job::{
        AdminUnit, AttemptUnit, BatchJob, LeaseUnit, NotesUnit, PruneEventsUnit, SessionUseUnit, TableJob,
        Ticket,
    },
    notes::NotesOutcome,
    outbox::OutboxSettings,
    queue::{Queue, Transaction},
    sabotage::planted,
    tail::{CommittedNews, News},
};

/// What the writer shares with the rest of the store.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) queue: Queue,
    // Entries of this node's commits, for the tails. Bounded: a tail that lags reads the database instead.
    pub(crate) committed: broadcast::Sender<CommittedNews>,
    // Keys and people, for the doors; replaced whole after every change.
    pub(crate) directory: watch::Sender<(u64, Arc<Directory>)>,
    // Why the store has stopped, once it has.
    pub(crate) stopped: watch::Sender<Option<String>>,
    // The same for events, whose batches are larger.
    pub(crate) events: broadcast::Sender<EventsCommitted>,
    // Which words of events are in their table. Only the writer looks at it.
    pub(crate) words: Mutex<Words>,
    // Which deliveries a change makes.
    pub(crate) outbox: OutboxSettings,
    // Key of the digests that compare calls.
    pub(crate) secret: Arc<[u8]>,
    // Never before the newest entry.
    pub(crate) time: Arc<Timeline>,
    // What the database must have.
    pub(crate) history: Arc<History>,
    // What is remembered of it outside the database.
    pub(crate) memory: Option<Arc<Memory>>,
}

/// How long an outcome is looked for after the connection broke at COMMIT.
const LOOK_FOR: Duration = Duration::from_secs(10);

/// Writes until the queue is closed and empty, or stable storage fails.
pub(crate) async fn run<B: Backend>(mut backend: B, shared: Arc<Shared>) {
    while let Some(transaction) = shared.queue.next().await {
        let written = match transaction {
            Transaction::Batch(jobs) => {
                metrics::histogram!("placet_writer_batch_size").record(jobs.len() as f64);
                write_batch(&mut backend, &shared, jobs).await
            }
            Transaction::Table(job) => {
                metrics::histogram!("placet_writer_batch_size").record(1.0);
                write_table(&mut backend, job).await
            }
        };
        if let Err(why) = written {
            tracing::error!(%why, "the store stops: stable storage failed");
            shared.queue.close();
            shared.stopped.send_replace(Some(why));
            while let Some(transaction) = shared.queue.next().await {
                let error = StoreError::Stopped("it stopped before this was written".to_owned());
                match transaction {
                    Transaction::Batch(jobs) => fail_all(jobs, &error),
                    Transaction::Table(job) => job.fail(error),
                }
            }
            return;
        }
    }
}

fn fail_all(jobs: Vec<BatchJob>, error: &StoreError) {
    for job in jobs {
        job.fail(error.clone());
    }
}

/// Writes one batch. An error here is fatal to the store.
async fn write_batch<B: Backend>(
    backend: &mut B,
    shared: &Shared,
    mut jobs: Vec<BatchJob>,
) -> Result<(), String> {
    if planted("ack-before-commit") && jobs.iter().all(|job| matches!(job, BatchJob::Commands(_))) {
        return answer_early(backend, shared, jobs).await;
    }
    match attempt(backend, shared, &mut jobs).await {
        Ok(committed) => {
            committed.announce(shared, jobs);
            Ok(())
        }
        Err(StoreError::Stopped(why)) => {
            fail_all(jobs, &StoreError::Stopped(why.clone()));
            Err(why)
        }
        // The database is gone or the outcome unknown: more attempts would only make things worse.
        Err(error @ (StoreError::Unavailable(_) | StoreError::Unknown | StoreError::HistoryLost(_))) => {
            fail_all(jobs, &error);
            Ok(())
        }
        Err(error) if jobs.len() == 1 => {
            fail_all(jobs, &error);
            Ok(())
        }
        // One bad unit must not take the others with it: try them one by one.
        Err(_) => {
            for mut job in jobs {
                match attempt(backend, shared, std::slice::from_mut(&mut job)).await {
                    Ok(committed) => committed.announce(shared, vec![job]),
                    Err(StoreError::Stopped(why)) => {
                        job.fail(StoreError::Stopped(why.clone()));
                        return Err(why);
                    }
                    Err(error) => job.fail(error),
                }
            }
            Ok(())
        }
    }
}

/// The planted bug: answers before the commit, so that a crash in between loses what was acknowledged.
async fn answer_early<B: Backend>(
    backend: &mut B,
    shared: &Shared,
    mut jobs: Vec<BatchJob>,
) -> Result<(), String> {
    let Ok(batch) = apply(backend, shared, &mut jobs).await else {
        backend.rollback().await;
        fail_all(jobs, &StoreError::Busy);
        return Ok(());
    };
    jobs.into_iter().for_each(BatchJob::send_kept);
    tokio::time::sleep(Duration::from_millis(5)).await;
    if let Ok(committed) = commit(backend, shared, batch).await {
        committed.announce(shared, Vec::new());
    }
    Ok(())
}

/// What was committed, for the tails.
struct Committed {
    news: Vec<News>,
    events: Vec<SeenEvent>,
}

impl Committed {
    /// Answers the callers, then feeds the tails. In this order: a caller is one thread away, and would otherwise queue
    /// behind the work that the news makes.
    fn announce(self, shared: &Shared, jobs: Vec<BatchJob>) {
        jobs.into_iter().for_each(BatchJob::send_kept);
        // Before the gate starts there is no tail. The first one begins at the head.
        if !self.news.is_empty() {
            let _ = shared.committed.send(self.news.into());
        }
        if !self.events.is_empty() {
            let _ = shared.events.send(self.events.into());
        }
    }
}

/// Applies and commits some jobs, which keep their answers. No caller is answered here, so an error means that nothing was
/// acknowledged.
async fn attempt<B: Backend>(
    backend: &mut B,
    shared: &Shared,
    jobs: &mut [BatchJob],
) -> Result<Committed, StoreError> {
    match apply(backend, shared, jobs).await {
        Ok(batch) => commit(backend, shared, batch).await,
        Err(error) => {
            backend.rollback().await;
            Err(error)
        }
    }
}

async fn apply<B: Backend>(
    backend: &mut B,
    shared: &Shared,
    jobs: &mut [BatchJob],
) -> Result<Batch, StoreError> {
    let mut reads = ReadSet::default();
    for job in jobs.iter() {
        job.add_reads(&mut reads);
    }
    let loaded = backend.begin(&reads).await?;
    // Keys and people are held in memory; the head says whether another node changed them since.
    let (known, mut directory) = shared.directory.borrow().clone();
    if known != loaded.head.principals_seq {
        directory = Arc::new(backend.directory().await?);
        shared.directory.send_replace((loaded.head.principals_seq, directory.clone()));
    }
    let mut batch = Batch::new(loaded, directory, shared.outbox.clone(), shared.secret.clone());
    for job in jobs {
        match job {
            BatchJob::Commands(ticket) => {
                let answer = batch.commands(&ticket.unit);
                ticket.keep(answer)?;
            }
            BatchJob::Event(ticket) => {
                let answer = batch.event(&ticket.unit);
                ticket.keep(answer)?;
            }
            BatchJob::Admin(ticket) => {
                let answer = apply_admin(backend, &mut batch, &ticket.unit).await;
                ticket.keep(answer)?;
            }
        }
    }
    Ok(batch)
}

async fn apply_admin<B: Backend>(
    backend: &mut B,
    batch: &mut Batch,
    unit: &AdminUnit,
) -> Result<AdminOutcome, StoreError> {
    let (outcome, last_key_of) = batch.admin(unit)?;
    if let Some(agent) = last_key_of {
        let live = backend.live_of(Some(&agent)).await?;
        batch.end_of_agent(live)?;
    }
    Ok(outcome)
}

/// Does work on a table beside the ledger. An error here is fatal to the store.
async fn write_table<B: Backend>(backend: &mut B, job: TableJob) -> Result<(), String> {
    match job {
        TableJob::Lease(ticket) => {
            let LeaseUnit { owner, channels, limit, lease } = &ticket.unit;
            let answer = backend.lease(owner, channels, *limit, *lease).await;
            finish(ticket, answer)
        }
        TableJob::Attempt(ticket) => {
            let AttemptUnit { delivery, owner, result } = &ticket.unit;
            let answer = backend.attempt(delivery, owner, result).await;
            finish(ticket, answer)
        }
        TableJob::SessionUse(ticket) => {
            let SessionUseUnit { id, secret, next } = ticket.unit;
            let answer = backend.use_session(id, secret, next).await;
            finish(ticket, answer)
        }
        TableJob::Prune(ticket) => {
            let answer = backend.prune(ticket.unit).await;
            finish(ticket, answer)
        }
        TableJob::PruneEvents(ticket) => {
            let PruneEventsUnit { keep, before } = ticket.unit;
            let answer = backend.prune_events(keep, before).await;
            finish(ticket, answer)
        }
        TableJob::Document(ticket) => {
            let answer = backend.add_document(&ticket.unit.document, ticket.unit.most).await;
            finish(ticket, answer)
        }
        TableJob::Notes(ticket) => {
            let answer = change_notes(backend, &ticket.unit).await;
            finish(ticket, answer)
        }
        TableJob::PruneNotes(ticket) => {
            let answer = backend.prune_notes().await;
            finish(ticket, answer)
        }
    }
}

/// Answers the caller. Says why the store has to stop, if it has to.
fn finish<U, A>(ticket: Ticket<U, A>, answer: Result<A, StoreError>) -> Result<(), String> {
    let stopped = match &answer {
        Err(StoreError::Stopped(why)) => Err(why.clone()),
        _ => Ok(()),
    };
    ticket.answer(answer);
    stopped
}

async fn change_notes<B: Backend>(backend: &mut B, unit: &NotesUnit) -> Result<NotesOutcome, StoreError> {
    let mut batch = [0_u8; 16];
    random(&mut batch)?;
    match backend.change_notes(&unit.changes, unit.most, batch).await {
        Ok(outcome) => Ok(outcome),
        Err(NotesError::Not(error)) => Err(error),
        Err(NotesError::Maybe(error, outcome)) => look_up(backend, batch, error).await.map(|()| outcome),
    }
}

/// Commits what was applied. An unknown outcome is looked up, never guessed.
async fn commit<B: Backend>(backend: &mut B, shared: &Shared, batch: Batch) -> Result<Committed, StoreError> {
    if batch.is_empty() {
        backend.rollback().await;
        return Ok(Committed { news: Vec::new(), events: Vec::new() });
    }
    let directory = batch.directory.clone();
    let mut id = [0_u8; 16];
    random(&mut id)?;
    let (mut changes, news) = match batch.finish(id) {
        Ok(finished) => finished,
        Err(error) => {
            backend.rollback().await;
            return Err(error);
        }
    };
    changes.words = words(shared).missing(&changes.events);
    let head = changes.head.clone();
    match backend.commit(&changes).await {
        Ok(()) => {}
        Err(CommitError::Not(error)) => {
            backend.rollback().await;
            return Err(error);
        }
        Err(CommitError::Maybe(error)) => look_up(backend, id, error).await?,
    }
    shared.time.saw(changes.now);
    shared.history.saw(&head.head);
    if let Some(memory) = &shared.memory {
        memory.note(news.iter());
    }
    if shared.directory.borrow().0 != head.principals_seq {
        shared.directory.send_replace((head.principals_seq, directory));
    }
    words(shared).written(changes.words);
    // Without a tail of events there is no need to lay them out.
    let followed = shared.events.receiver_count() > 0;
    let events = if followed { changes.events.iter().map(EventRow::seen).collect() } else { Vec::new() };
    Ok(Committed { news, events })
}

fn words(shared: &Shared) -> std::sync::MutexGuard<'_, Words> {
    // Held for a few lookups, never across an await; a panic leaves a plain map behind.
    shared.words.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn look_up<B: Backend>(backend: &mut B, batch: [u8; 16], error: StoreError) -> Result<(), StoreError> {
    let start = tokio::time::Instant::now();
    tracing::warn!(%error, "the answer to a commit was lost; looking the batch up");
    loop {
        match backend.was_committed(batch).await {
            Ok(true) => return Ok(()),
            Ok(false) => return Err(error),
            Err(lost @ StoreError::HistoryLost(_)) => return Err(lost),
            Err(_) if start.elapsed() < LOOK_FOR => tokio::time::sleep(Duration::from_millis(200)).await,
            Err(_) => return Err(StoreError::Unknown),
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a batch's name only has to be unique; nothing depends on it in tests"
)]
pub(crate) fn random(bytes: &mut [u8]) -> Result<(), StoreError> {
    getrandom::fill(bytes).map_err(|error| StoreError::File(format!("the system has no randomness: {error}")))
}
