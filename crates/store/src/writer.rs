//! The group-commit writer: takes everything that queued, commits it in one transaction, and only then answers.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use placet_core::Directory;
use tokio::sync::{broadcast, watch};

use crate::{
    Done, StoreError, Timeline,
    acked::Memory,
    backend::{Backend, CommitError, NotesError},
    batch::{Batch, want},
    events::{EventRow, EventsCommitted, SeenEvent, Words},
    history::History,
    notes::{NoteChange, NotesDone},
    outbox::Telling,
    queue::Queue,
    sabotage::planted,
    tail::{Committed, News},
    work::{Answer, Job, Work},
};

/// What the writer shares with the rest of the store.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) queue: Queue,
    // Entries of this node's commits, for the tails. Bounded: a tail that lags reads the database instead.
    pub(crate) committed: broadcast::Sender<Committed>,
    // Keys and people, for the doors; replaced whole after every change.
    pub(crate) directory: watch::Sender<(u64, Arc<Directory>)>,
    // Why the store has stopped, once it has.
    pub(crate) stopped: watch::Sender<Option<String>>,
    // The same for events, whose batches are larger.
    pub(crate) events: broadcast::Sender<EventsCommitted>,
    // Which words of events are in their table. Only the writer looks at it.
    pub(crate) words: Mutex<Words>,
    // Who is told of what.
    pub(crate) telling: Telling,
    // Keys what is said to be the same call.
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

/// Writes batches until the queue is closed and empty, or stable storage fails.
pub(crate) async fn run<B: Backend>(mut backend: B, shared: Arc<Shared>) {
    while let Some(jobs) = shared.queue.next_batch().await {
        metrics::histogram!("placet_writer_batch_size").record(jobs.len() as f64);
        if let Err(why) = write(&mut backend, &shared, jobs).await {
            tracing::error!(%why, "the store stops: stable storage failed");
            shared.queue.close();
            shared.stopped.send_replace(Some(why));
            while let Some(jobs) = shared.queue.next_batch().await {
                answer_all(jobs, &StoreError::Stopped("it stopped before this was written".to_owned()));
            }
            return;
        }
    }
}

fn answer_all(jobs: Vec<Job>, error: &StoreError) {
    for job in jobs {
        answer(job, Err(error.clone()));
    }
}

fn answer_each(jobs: Vec<Job>, answers: Vec<Answer>) {
    for (job, outcome) in jobs.into_iter().zip(answers) {
        answer(job, outcome);
    }
}

fn answer(job: Job, answer: Answer) {
    // A caller that went away does not need its answer; the work is done all the same.
    let _ = job.reply.send(answer);
}

/// Writes one batch. An error here is fatal to the store.
async fn write<B: Backend>(backend: &mut B, shared: &Shared, jobs: Vec<Job>) -> Result<(), String> {
    if planted("ack-before-commit") && jobs.iter().all(|job| matches!(job.work, Work::Commands { .. })) {
        return early(backend, shared, jobs).await;
    }
    match attempt(backend, shared, &jobs).await {
        Ok(written) => {
            written.announce(shared, jobs);
            Ok(())
        }
        Err(StoreError::Stopped(why)) => {
            answer_all(jobs, &StoreError::Stopped(why.clone()));
            Err(why)
        }
        // One bad unit must not take the others with it: replay one by one. When the database is gone or the
        // outcome unknown, more attempts would only make things worse.
        Err(error @ (StoreError::Unavailable(_) | StoreError::Unknown | StoreError::HistoryLost(_))) => {
            answer_all(jobs, &error);
            Ok(())
        }
        Err(error) if jobs.len() == 1 => {
            answer_all(jobs, &error);
            Ok(())
        }
        Err(_) => {
            for job in jobs {
                match attempt(backend, shared, std::slice::from_ref(&job)).await {
                    Ok(written) => written.announce(shared, vec![job]),
                    Err(StoreError::Stopped(why)) => {
                        answer(job, Err(StoreError::Stopped(why.clone())));
                        return Err(why);
                    }
                    Err(error) => answer(job, Err(error)),
                }
            }
            Ok(())
        }
    }
}

/// The planted bug: answers before the commit, so that a crash in between loses what was acknowledged.
async fn early<B: Backend>(backend: &mut B, shared: &Shared, jobs: Vec<Job>) -> Result<(), String> {
    let Ok((batch, answers)) = apply(backend, shared, &jobs).await else {
        backend.rollback().await;
        answer_all(jobs, &StoreError::Busy);
        return Ok(());
    };
    answer_each(jobs, answers);
    tokio::time::sleep(Duration::from_millis(5)).await;
    if let Ok((news, events)) = commit(backend, shared, batch).await {
        tell(shared, news, events);
    }
    Ok(())
}

/// What is durable and not yet said to anybody.
struct Written {
    answers: Vec<Answer>,
    news: Vec<News>,
    events: Vec<SeenEvent>,
}

impl Written {
    /// Answers the callers, then tells the tails. In this order: a caller is one thread away, and would otherwise
    /// queue behind the work that the news makes.
    fn announce(self, shared: &Shared, jobs: Vec<Job>) {
        answer_each(jobs, self.answers);
        tell(shared, self.news, self.events);
    }
}

/// Applies and commits some jobs. No caller is answered here, so an error means nothing was acknowledged.
async fn attempt<B: Backend>(backend: &mut B, shared: &Shared, jobs: &[Job]) -> Result<Written, StoreError> {
    if let [Job { work, .. }] = jobs
        && let Some(done) = alone(backend, work).await
    {
        return done.map(|done| Written { answers: vec![Ok(done)], news: Vec::new(), events: Vec::new() });
    }
    let applied = apply(backend, shared, jobs).await;
    let (batch, answers) = match applied {
        Ok(applied) => applied,
        Err(error) => {
            backend.rollback().await;
            return Err(error);
        }
    };
    let (news, events) = commit(backend, shared, batch).await?;
    Ok(Written { answers, news, events })
}

/// Work that is a transaction of its own and makes no ledger entry.
async fn alone<B: Backend>(backend: &mut B, work: &Work) -> Option<Result<Done, StoreError>> {
    match work {
        Work::Lease { owner, channels, limit, until } => {
            Some(backend.lease(owner, channels, *limit, *until).await.map(Done::Leased))
        }
        Work::Attempt { id, owner, result } => {
            Some(backend.attempt(*id, owner, result).await.map(|()| Done::Nothing))
        }
        Work::Seen { id, secret, next } => {
            Some(backend.seen(*id, *secret, *next).await.map(|()| Done::Nothing))
        }
        Work::Prune { before } => Some(backend.prune(*before).await.map(|()| Done::Nothing)),
        Work::PruneEvents { keep, before } => {
            Some(backend.prune_events(*keep, *before).await.map(Done::Pruned))
        }
        Work::Theme { theme, most } => Some(backend.put_theme(theme, *most).await.map(Done::Theme)),
        Work::Notes { changes, most } => Some(change_notes(backend, changes, *most).await.map(Done::Notes)),
        Work::PruneNotes => Some(backend.prune_notes().await.map(Done::Pruned)),
        Work::Commands { .. } | Work::Event(_) | Work::Admin { .. } => None,
    }
}

async fn change_notes<B: Backend>(
    backend: &mut B,
    changes: &[NoteChange],
    most: u64,
) -> Result<NotesDone, StoreError> {
    let mut batch = [0_u8; 16];
    random(&mut batch)?;
    match backend.change_notes(changes, most, batch).await {
        Ok(done) => Ok(done),
        Err(NotesError::Not(error)) => Err(error),
        Err(NotesError::Maybe(error, done)) => look_up(backend, batch, error).await.map(|()| done),
    }
}

async fn apply<B: Backend>(
    backend: &mut B,
    shared: &Shared,
    jobs: &[Job],
) -> Result<(Batch, Vec<Answer>), StoreError> {
    let loaded = backend.begin(&want(jobs.iter().map(|job| &job.work))).await?;
    // Keys and people are held in memory; the head says whether another node changed them since.
    let (known, mut directory) = shared.directory.borrow().clone();
    if known != loaded.head.principals_seq {
        directory = Arc::new(backend.directory().await?);
        shared.directory.send_replace((loaded.head.principals_seq, directory.clone()));
    }
    let mut batch = Batch::new(loaded, directory, shared.telling.clone(), shared.secret.clone());
    let mut answers = Vec::with_capacity(jobs.len());
    for job in jobs {
        answers.push(match &job.work {
            Work::Commands { actor, commands, atomic } => match batch.commands(actor, commands, *atomic) {
                Err(error) if !matches!(error, StoreError::KeyReused) => return Err(error),
                answer => answer,
            },
            Work::Event(work) => match batch.event(work) {
                Err(error) if !matches!(error, StoreError::KeyReused) => return Err(error),
                answer => answer,
            },
            Work::Admin { actor, command, idempotency } => {
                match batch.admin(actor, command, idempotency.as_ref()) {
                    Ok((done, None)) => Ok(done),
                    Ok((done, Some(agent))) => {
                        let live = backend.live_of(Some(&agent)).await?;
                        batch.end_of_agent(live)?;
                        Ok(done)
                    }
                    Err(StoreError::KeyReused) => Err(StoreError::KeyReused),
                    Err(error) => return Err(error),
                }
            }
            _ => Ok(Done::Nothing),
        });
    }
    Ok((batch, answers))
}

/// Commits what was applied, and says what the tails are to be told. An unknown outcome is looked up, never guessed.
async fn commit<B: Backend>(
    backend: &mut B,
    shared: &Shared,
    batch: Batch,
) -> Result<(Vec<News>, Vec<SeenEvent>), StoreError> {
    if batch.is_empty() {
        backend.rollback().await;
        return Ok((Vec::new(), Vec::new()));
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
    // What nobody follows need not be laid out.
    let followed = shared.events.receiver_count() > 0;
    let events = if followed { changes.events.iter().map(EventRow::seen).collect() } else { Vec::new() };
    Ok((news, events))
}

fn words(shared: &Shared) -> std::sync::MutexGuard<'_, Words> {
    // Held for a few lookups, never across an await; a panic leaves a plain map behind.
    shared.words.lock().unwrap_or_else(PoisonError::into_inner)
}

fn tell(shared: &Shared, news: Vec<News>, events: Vec<SeenEvent>) {
    // No tail is listening before the gate starts; that is fine, it begins at the head.
    if !news.is_empty() {
        let _ = shared.committed.send(news.into());
    }
    if !events.is_empty() {
        let _ = shared.events.send(events.into());
    }
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
