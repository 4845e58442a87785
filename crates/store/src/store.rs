//! The store as its users see it: open, read, follow the tail, close.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
    time::Duration,
};

use data_encoding::{BASE32_DNSSEC, HEXLOWER};
use placet_core::{Actor, AdminEvent, Digest, Directory, Request, RequestId, SessionId, Time};
use tokio::sync::{broadcast, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Channels, Clock, Delivery, EndedAtUpgrade, EventTail, Filter, GrantUse, LedgerRow, Listed, PolicyVersion,
    StoreError, StoredSession, Tail, Timeline,
    acked::{self, Memory},
    backend::{Backend, ReadSet},
    batch::Batch,
    follow::{Follower, Hint},
    history::{History, until_lost},
    outbox::OutboxSettings,
    postgres::{self, PostgresReaders, PostgresWriter},
    queue::{Bounds, Queue},
    read::Readers,
    recover,
    sabotage::planted,
    sqlite::{self, OpenFiles, SqliteReaders, SqliteWriter},
    writer::{self, Shared, random},
};

/// Where the data is.
#[derive(Debug, Clone)]
pub enum Location {
    /// A folder with an embedded database, for one server.
    Folder(PathBuf),
    /// A Postgres database, for several.
    Postgres(String),
}

/// How to open a store.
#[derive(Clone)]
pub struct Options {
    /// Where the data is.
    pub location: Location,
    /// Where the time comes from.
    pub clock: Arc<dyn Clock>,
    /// Channels that are told of every change of a request.
    pub channels: Vec<String>,
    /// Pages in the write-ahead log before it is folded into the database file.
    pub checkpoint_pages: u32,
    /// How large the embedded database may grow, in MiB; 0 for as large as the disk.
    pub max_mib: u32,
    /// How often a tail of a shared database looks by itself, in case a notification was lost.
    pub safety_poll: Duration,
    /// How many batches a tail may lag behind before it reads the database instead.
    pub handover: usize,
    /// How long the writer waits while another one holds the database.
    pub lock_wait: Duration,
    /// Where acknowledged entries are remembered outside the database; nowhere without it.
    pub state: Option<PathBuf>,
}

impl Options {
    /// The usual settings.
    pub fn new(location: Location, clock: Arc<dyn Clock>) -> Self {
        let lock_wait = match location {
            Location::Folder(_) => sqlite::LOCK_WAIT,
            Location::Postgres(_) => postgres::LOCK_WAIT,
        };
        Self {
            location,
            clock,
            channels: Vec::new(),
            checkpoint_pages: 4000,
            max_mib: 0,
            safety_poll: SAFETY_POLL,
            handover: HANDOVER,
            lock_wait,
            state: None,
        }
    }
}

/// What survives what: said at start, on `/readyz` and in the docs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Durability {
    /// `sqlite` or `postgres`.
    pub database: &'static str,
    /// In one line.
    pub level: String,
    /// Problems that the owner of the database should fix.
    pub warnings: Vec<String>,
}

/// The usual [`Options::handover`].
const HANDOVER: usize = 1024;
/// The same for batches of events. A batch may have megabytes.
const EVENT_HANDOVER: usize = 32;
/// The usual [`Options::safety_poll`].
const SAFETY_POLL: Duration = Duration::from_secs(1);

/// An open store. Cheap to share; close it with [`Store::close`].
#[derive(Debug)]
pub struct Store {
    pub(crate) shared: Arc<Shared>,
    readers: Arc<Readers>,
    hint: watch::Sender<Hint>,
    poll: Option<Duration>,
    // What other nodes know this one by, where there can be others.
    mark: Option<u32>,
    durability: Durability,
    // The data folder and what is open in it, where there is one.
    files: Option<(PathBuf, Arc<OpenFiles>)>,
    // Listening for other nodes happens on tracked tasks that end with the store.
    tasks: TaskTracker,
    cancel: CancellationToken,
    // The writer's thread. The first call of `close` takes it.
    writer: Mutex<Option<JoinHandle<()>>>,
    _lock: Option<sqlite::Lock>,
}

impl Store {
    /// Opens the store, makes or upgrades its tables, and starts the writer.
    pub async fn open(options: Options) -> Result<Self, StoreError> {
        match options.location.clone() {
            Location::Folder(data) => Box::pin(Self::open_sqlite(&data, options)).await,
            Location::Postgres(url) => Box::pin(Self::open_postgres(url, options)).await,
        }
    }

    async fn open_sqlite(data: &Path, options: Options) -> Result<Self, StoreError> {
        sqlite::make_folder(data)?;
        let mut lock = sqlite::Lock::take(data)?;
        let connection = sqlite::open(data, options.checkpoint_pages, options.max_mib)?;
        connection.busy_timeout(options.lock_wait)?;
        let secret = sqlite_first_start(&connection)?;
        let files = Arc::new(OpenFiles::new(&sqlite::database(data))?);
        lock.describe(&files);
        let recent = Arc::new(sqlite::Recent::default());
        let readers = Readers::Sqlite(SqliteReaders::new(&sqlite::database(data), Some(recent.clone())));
        let shared_parts = TimeAndHistory::new(&options);
        let backend = SqliteWriter::new(
            connection,
            shared_parts.time.clone(),
            shared_parts.history.clone(),
            recent,
            files.clone(),
        );
        let durability = Durability {
            database: "sqlite",
            level: "WAL, synchronous=FULL: survives a crash and a power cut".to_owned(),
            warnings: Vec::new(),
        };
        let mut store =
            Self::start(backend, readers, options, shared_parts, secret, durability, (None, Some(lock)))
                .await?;
        store.tasks.spawn(watch_files(files.clone(), store.shared.clone(), store.cancel.clone()));
        store.files = Some((data.to_owned(), files));
        Ok(store)
    }

    async fn open_postgres(url: String, options: Options) -> Result<Self, StoreError> {
        postgres::prepare(&url).await?;
        let (epoch, secret) = (new_epoch()?, new_secret()?);
        let secret = postgres::initialise(&url, &epoch, &secret).await?;
        let readers = Readers::Postgres(PostgresReaders::connect(&url)?);
        let mut node = [0_u8; 8];
        random(&mut node)?;
        let (node, shared_parts) = (HEXLOWER.encode(&node), TimeAndHistory::new(&options));
        let (time, history) = (shared_parts.time.clone(), shared_parts.history.clone());
        let backend = PostgresWriter::connect(&url, node, time, history, options.lock_wait).await?;
        let (level, warnings) = postgres::durability(&url).await?;
        let durability = Durability { database: "postgres", level, warnings };
        Self::start(backend, readers, options, shared_parts, secret, durability, (Some(url), None)).await
    }

    async fn start<B: Backend>(
        mut backend: B,
        readers: Readers,
        options: Options,
        shared_parts: TimeAndHistory,
        secret: String,
        durability: Durability,
        (listen, lock): (Option<String>, Option<sqlite::Lock>),
    ) -> Result<Self, StoreError> {
        open_ledger(&mut backend).await?;
        // Also in a database whose head does not say yet when it was made.
        let head = readers.head().await?.head;
        for row in readers.ledger(head.seq.saturating_sub(1), 1).await? {
            shared_parts.time.saw(row.at()?);
        }
        let memory = match &options.state {
            Some(folder) => Some(remember(folder, &readers, &shared_parts.history).await?),
            None => None,
        };
        let (principals_seq, directory) = readers.directory().await?;
        let shared = Arc::new(Shared {
            queue: Queue::new(Bounds::default()),
            committed: broadcast::channel(options.handover).0,
            events: broadcast::channel(EVENT_HANDOVER).0,
            words: Mutex::default(),
            directory: watch::channel((principals_seq, Arc::new(directory))).0,
            stopped: watch::channel(None).0,
            outbox: OutboxSettings { channels: options.channels.into(), owner: owner()? },
            secret: secret.into_bytes().into(),
            time: shared_parts.time,
            history: shared_parts.history,
            memory: memory.clone(),
        });
        let runtime = tokio::runtime::Handle::current();
        let thread = std::thread::Builder::new()
            .name("placet-writer".to_owned())
            .spawn({
                let shared = shared.clone();
                move || runtime.block_on(writer::run(backend, shared))
            })
            .map_err(|error| StoreError::File(format!("cannot start the writer's thread: {error}")))?;
        let (tasks, cancel) = (TaskTracker::new(), CancellationToken::new());
        let hint = watch::channel(Hint::default()).0;
        let poll = listen.as_ref().map(|_| options.safety_poll);
        let readers = Arc::new(readers);
        if let Some(gap) = poll {
            tasks.spawn(watch_history(readers.clone(), shared.history.clone(), gap, cancel.clone()));
        }
        if let Some(memory) = memory {
            tasks.spawn(acked::write(memory, cancel.clone()));
        }
        let mut mark = None;
        if let Some(url) = listen {
            let mut bytes = [0_u8; 4];
            random(&mut bytes)?;
            // Half of the numbers: Postgres takes the name of a lock as a signed one.
            let own = u32::from_ne_bytes(bytes) >> 1;
            mark = Some(own);
            tasks.spawn(postgres::listen(url, own, hint.clone(), cancel.clone()));
        }
        Ok(Self {
            shared,
            readers,
            hint,
            poll,
            mark,
            durability,
            files: None,
            tasks,
            cancel,
            writer: Mutex::new(Some(thread)),
            _lock: lock,
        })
    }

    /// The one time that rules over deadlines, here and in whatever is built on this store.
    pub fn time(&self) -> &Timeline {
        &self.shared.time
    }

    /// The same, to be kept beside the store.
    pub fn shared_time(&self) -> Arc<Timeline> {
        self.shared.time.clone()
    }

    /// Why nothing is written any more although the database can be reached: it does not have what was acknowledged.
    pub fn lost(&self) -> Option<String> {
        self.shared.history.lost()
    }

    /// Ends when that is found.
    pub async fn until_lost(&self) -> StoreError {
        until_lost(&mut self.shared.history.watch()).await
    }

    /// Why the store has stopped, if it has.
    pub fn stopped(&self) -> Option<String> {
        self.shared.stopped.borrow().clone()
    }

    /// Ends when the store stops by itself because stable storage failed.
    pub async fn until_stopped(&self) -> String {
        let mut stopped = self.shared.stopped.subscribe();
        let why = stopped.wait_for(Option::is_some).await.map(|why| why.clone());
        match why {
            Ok(Some(why)) => why,
            _ => std::future::pending().await,
        }
    }

    /// How many units wait for the writer.
    pub fn queued(&self) -> usize {
        self.shared.queue.len()
    }

    /// Keys and people as this node shared_parts them.
    pub fn directory(&self) -> Arc<Directory> {
        self.shared.directory.borrow().1.clone()
    }

    /// Whether no other process can write here: the embedded database has one server.
    pub fn is_alone(&self) -> bool {
        self.poll.is_none()
    }

    /// Whether another node is connected to the database now. A node that cannot listen at the moment is not seen.
    pub async fn others(&self) -> Result<bool, StoreError> {
        match (&*self.readers, self.mark) {
            (Readers::Postgres(readers), Some(mark)) => readers.others(mark).await,
            _ => Ok(false),
        }
    }

    /// Looks whether another node changed keys or people, and takes the change over.
    pub async fn refresh_directory(&self) -> Result<Arc<Directory>, StoreError> {
        let known = self.shared.directory.borrow().0;
        if self.readers.head().await?.principals_seq == known {
            return Ok(self.directory());
        }
        let (seq, directory) = self.readers.directory().await?;
        self.shared.directory.send_if_modified(|current| {
            let newer = seq > current.0;
            if newer {
                *current = (seq, Arc::new(directory));
            }
            newer
        });
        Ok(self.directory())
    }

    /// The secret of this database, which keys permits and codes.
    pub fn secret(&self) -> Arc<[u8]> {
        self.shared.secret.clone()
    }

    /// What survives what.
    pub fn durability(&self) -> &Durability {
        &self.durability
    }

    /// Problems that the operator should fix although everything works.
    pub fn warnings(&self) -> Vec<String> {
        let folder = self.files.as_ref().map(|(data, _)| data);
        let readable = folder.and_then(|data| sqlite::readable_by_others(data));
        self.durability.warnings.iter().cloned().chain(readable).collect()
    }

    /// Looks at the files now, and stops the store if they are not those that it opened.
    pub fn look_at_files(&self) {
        if let Some((_, files)) = &self.files {
            stop_if_moved(files, &self.shared);
        }
    }

    /// One request.
    pub async fn get(&self, id: RequestId) -> Result<Option<Arc<Request>>, StoreError> {
        self.readers.get(id).await
    }

    /// A page of requests.
    pub async fn list(&self, filter: &Filter, limit: u32, now: Time) -> Result<Listed, StoreError> {
        self.readers.list(filter, limit, now).await
    }

    /// How many groups there are among so many of the newest requests of a list.
    pub async fn groups(&self, filter: &Filter, newest: u32, now: Time) -> Result<u64, StoreError> {
        self.readers.groups(filter, newest, now).await
    }

    /// A page of the ledger.
    pub async fn ledger(&self, after: u64, limit: u32) -> Result<Vec<LedgerRow>, StoreError> {
        self.readers.ledger(after, limit).await
    }

    /// Committed entries after a cursor, with their requests as they stand now.
    pub async fn news(&self, after: u64, limit: u32) -> Result<Vec<crate::News>, StoreError> {
        self.readers.news(after, limit).await
    }

    /// Requests whose deadline has passed.
    pub async fn due(&self, now: Time, limit: u32) -> Result<Vec<RequestId>, StoreError> {
        self.readers.due(now, limit).await
    }

    /// The nearest deadline of all.
    pub async fn next_deadline(&self) -> Result<Option<Time>, StoreError> {
        self.readers.next_deadline().await
    }

    /// Requests in the order they were made, after an entry: for looking at all of them.
    pub async fn history(&self, after: u64, limit: u32) -> Result<Vec<Arc<Request>>, StoreError> {
        self.readers.history(after, limit).await
    }

    /// The text of a policy that was put at some time.
    pub async fn policy_text(&self, hash: &str) -> Result<Option<Arc<str>>, StoreError> {
        self.readers.policy_text(hash).await
    }

    /// The policies that were put, the newest first.
    pub async fn policies(&self, limit: u32) -> Result<Vec<PolicyVersion>, StoreError> {
        self.readers.policies(limit).await
    }

    /// Standing approvals that were not ended, with how often they were used.
    pub async fn grants(&self) -> Result<Vec<GrantUse>, StoreError> {
        self.readers.grants().await
    }

    /// Standing approvals and trust that an upgrade ended.
    pub async fn ended_at_upgrade(&self) -> Result<EndedAtUpgrade, StoreError> {
        self.readers.ended_at_upgrade().await
    }

    /// The session that a secret's SHA-256 belongs to, as its current secret or as the one before.
    pub async fn session(&self, secret: [u8; 32]) -> Result<Option<StoredSession>, StoreError> {
        self.readers.session(secret).await
    }

    /// A person's sessions that were not ended, the newest first.
    pub async fn sessions_of(&self, name: &str) -> Result<Vec<StoredSession>, StoreError> {
        self.readers.sessions_of(name).await
    }

    /// Sessions that are past their end or were last used too long ago.
    pub async fn old_sessions(
        &self,
        now: Time,
        idle_since: Time,
        limit: u32,
    ) -> Result<Vec<SessionId>, StoreError> {
        self.readers.old_sessions(now, idle_since, limit).await
    }

    /// The current epoch and the last entry.
    pub async fn head(&self) -> Result<(String, u64), StoreError> {
        let head = self.readers.head().await?.head;
        Ok((head.epoch, head.seq))
    }

    /// How many entries the ledger has, and the hash of the last one.
    pub async fn ledger_head(&self) -> Result<(u64, Digest), StoreError> {
        let head = self.readers.head().await?.head;
        Ok((head.seq, head.hash))
    }

    /// The entries about one request, by the entry that created it.
    pub async fn entries_of(&self, request: u64, limit: u32) -> Result<Vec<LedgerRow>, StoreError> {
        self.readers.entries_of(request, limit).await
    }

    /// Follows the ledger from an entry on, or from now.
    pub async fn tail(&self, after: Option<u64>) -> Result<Tail, StoreError> {
        // Subscribed before the cursor is read, so that nothing falls between the two.
        let own = self.shared.committed.subscribe();
        let hint = self.hint.subscribe();
        let cursor = match after {
            Some(after) => after,
            None => self.readers.head().await?.head.seq,
        };
        let lost = self.shared.history.watch();
        Ok(Tail(Follower::new(cursor, own, hint, self.readers.clone(), lost, self.poll)))
    }

    /// Follows events from now on.
    pub async fn event_tail(&self) -> Result<EventTail, StoreError> {
        let (own, hint) = (self.shared.events.subscribe(), self.hint.subscribe());
        let cursor = self.readers.last_event().await?;
        let lost = self.shared.history.watch();
        Ok(EventTail(Follower::new(cursor, own, hint, self.readers.clone(), lost, self.poll)))
    }

    /// Whether a delivery is due and not leased.
    pub async fn deliveries_due(&self, now: Time, channels: Channels) -> Result<bool, StoreError> {
        self.readers.deliveries_due(now, &channels).await
    }

    /// Whether a delivery waits, this node has it, and nothing newer is wanted.
    pub async fn holds(&self, delivery: &Delivery) -> Result<bool, StoreError> {
        self.readers.holds(delivery, self.owner()).await
    }

    /// The name under which this node takes deliveries; another one with every start.
    pub fn owner(&self) -> &str {
        &self.shared.outbox.owner
    }

    /// Whether other nodes may use the same database at the same time.
    pub fn is_shared(&self) -> bool {
        matches!(*self.readers, Readers::Postgres(_))
    }

    pub(crate) fn readers(&self) -> &Readers {
        &self.readers
    }

    /// Writes what is queued, then closes the database.
    pub async fn close(&self) {
        self.shared.queue.close();
        self.cancel.cancel();
        self.tasks.close();
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer {
            let joined = tokio::task::spawn_blocking(move || writer.join()).await;
            if !matches!(joined, Ok(Ok(()))) {
                tracing::error!("the writer's thread ended badly");
            }
        }
        // What this node acknowledged is written down by the last of them.
        self.tasks.wait().await;
    }
}

/// What writer and readers are compared with.
struct TimeAndHistory {
    time: Arc<Timeline>,
    history: Arc<History>,
}

impl TimeAndHistory {
    fn new(options: &Options) -> Self {
        Self { time: Arc::new(Timeline::new(options.clock.clone())), history: Arc::default() }
    }
}

/// Compares the database with what this machine remembers of it, and takes a file to remember more in. A database that went
/// back can still be read.
async fn remember(folder: &Path, readers: &Readers, history: &History) -> Result<Arc<Memory>, StoreError> {
    let ledger = recover::ledger(readers).await?;
    let remembered = acked::remembered(folder, ledger)?;
    if remembered.is_empty() {
        tracing::info!(folder = %folder.display(), "nothing is remembered of this ledger here: the first start, or another machine");
    }
    for newest in remembered.iter().filter_map(|entries| entries.last()) {
        if !recover::has(readers, newest).await? {
            history.lose(format!(
                "entry {}, {}, was acknowledged before this start, and the database does not have it",
                newest.seq, newest.hash
            ));
        }
    }
    Memory::open(folder, ledger).map(Arc::new)
}

/// Checks from time to time that a shared database still has what is known. Otherwise only a write would find a loss.
async fn watch_history(
    readers: Arc<Readers>,
    history: Arc<History>,
    gap: Duration,
    cancel: CancellationToken,
) {
    while cancel.run_until_cancelled(tokio::time::sleep(gap)).await.is_some() {
        let known = history.known();
        // Out of reach is no loss; the next look is soon.
        let Ok((head, there)) = readers.head_and(known.as_ref()).await else { continue };
        if history.check(known.as_ref(), &head, there).is_err() {
            return;
        }
    }
}

pub(crate) fn new_epoch() -> Result<String, StoreError> {
    let mut bytes = [0_u8; 5];
    random(&mut bytes)?;
    Ok(format!("e{}", BASE32_DNSSEC.encode(&bytes)))
}

fn owner() -> Result<Arc<str>, StoreError> {
    let mut bytes = [0_u8; 8];
    random(&mut bytes)?;
    Ok(HEXLOWER.encode(&bytes).into())
}

fn new_secret() -> Result<String, StoreError> {
    let mut bytes = [0_u8; 32];
    random(&mut bytes)?;
    Ok(HEXLOWER.encode(&bytes))
}

/// How often the files of an open store are looked at.
const LOOK_AT_FILES: Duration = Duration::from_secs(1);

async fn watch_files(files: Arc<OpenFiles>, shared: Arc<Shared>, cancel: CancellationToken) {
    while !stop_if_moved(&files, &shared) {
        tokio::select! {
            () = cancel.cancelled() => return,
            () = tokio::time::sleep(LOOK_AT_FILES) => {}
        }
    }
}

/// Whether the store has stopped because its files are not there any more.
fn stop_if_moved(files: &OpenFiles, shared: &Shared) -> bool {
    let Some(problem) = files.problem().filter(|_| !planted("folder-is-not-looked-at")) else { return false };
    shared.queue.close();
    shared.stopped.send_if_modified(|stopped| {
        let first = stopped.is_none();
        if first {
            tracing::error!(why = problem, "the store stops");
            *stopped = Some(problem);
        }
        first
    });
    true
}

/// Makes head and secret where there are none yet; returns the secret.
fn sqlite_first_start(connection: &rusqlite::Connection) -> Result<String, StoreError> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    connection.execute(
        "INSERT INTO head (one, epoch, seq, hash, principals_seq) VALUES (1, ?1, 0, ?2, 0) ON CONFLICT DO NOTHING",
        rusqlite::params![new_epoch()?, &Digest::default().as_bytes()[..]],
    )?;
    connection.execute(
        "INSERT INTO meta (name, value) VALUES ('secret', ?1) ON CONFLICT DO NOTHING",
        [new_secret()?],
    )?;
    // One server at a time has this file, so every lease is of a server that is gone.
    connection.execute(
        "UPDATE outbox SET lease_until = 0, lease_owner = NULL WHERE state = 'waiting' AND lease_until > 0",
        [],
    )?;
    let secret =
        connection.query_row("SELECT value FROM meta WHERE name = 'secret'", [], |row| row.get(0))?;
    connection.execute_batch("COMMIT")?;
    Ok(secret)
}

/// Writes the first entry of a new ledger.
async fn open_ledger<B: Backend>(backend: &mut B) -> Result<(), StoreError> {
    let loaded = backend.begin(&ReadSet::default()).await?;
    if loaded.head.head.seq > 0 {
        backend.rollback().await;
        return Ok(());
    }
    let mut batch = Batch::new(loaded, Arc::default(), OutboxSettings::default(), Arc::default());
    batch.admin_event(&Actor::system(), AdminEvent::Opened {});
    commit_alone(backend, batch).await
}

/// Commits a batch that is not part of serving: the first entry, or a restore.
pub(crate) async fn commit_alone<B: Backend>(backend: &mut B, batch: Batch) -> Result<(), StoreError> {
    let mut id = [0_u8; 16];
    random(&mut id)?;
    let (changes, _) = batch.finish(id)?;
    match backend.commit(&changes).await {
        Ok(()) => Ok(()),
        Err(crate::backend::CommitError::Not(error) | crate::backend::CommitError::Maybe(error)) => {
            backend.rollback().await;
            Err(error)
        }
    }
}
