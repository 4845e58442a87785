//! Where a test keeps its data: a temporary folder, or a database of its own in a throw-away Postgres.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use placet_store::{Clock, Location, Options, Verified, VerifyError, verify_file, verify_postgres};
use serde_json::Value;
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

/// Which database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// The embedded one.
    Sqlite,
    /// The shared one.
    Postgres,
}

impl Backend {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Sqlite, Self::Postgres];
}

/// Somewhere empty; gone when dropped.
#[derive(Debug)]
pub struct Place {
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Folder(TempDir),
    Database { cluster: String, name: String },
    Elsewhere { url: String },
}

impl Place {
    /// A new, empty place.
    pub async fn new(backend: Backend) -> Self {
        match backend {
            Backend::Sqlite => {
                let folder = tempfile::Builder::new()
                    .prefix("placet-test-")
                    .tempdir()
                    .expect("a temporary folder can be made");
                Self { kind: Kind::Folder(folder) }
            }
            Backend::Postgres => {
                static COUNT: AtomicU32 = AtomicU32::new(0);
                let cluster = cluster();
                let name =
                    format!("placet_kit_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::SeqCst));
                let session = Session::open(&cluster).await;
                session.run(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
                session.run(&format!("CREATE DATABASE {name}")).await;
                Self { kind: Kind::Database { cluster, name } }
            }
        }
    }

    /// A Postgres database that the test looks after.
    pub fn elsewhere(url: String) -> Self {
        Self { kind: Kind::Elsewhere { url } }
    }

    /// Which database.
    pub fn backend(&self) -> Backend {
        match self.kind {
            Kind::Folder(_) => Backend::Sqlite,
            Kind::Database { .. } | Kind::Elsewhere { .. } => Backend::Postgres,
        }
    }

    /// As the store is told.
    pub fn location(&self) -> Location {
        match &self.kind {
            Kind::Folder(_) => Location::Folder(self.folder()),
            Kind::Database { .. } | Kind::Elsewhere { .. } => Location::Postgres(self.url()),
        }
    }

    /// The usual options of a store here.
    pub fn options(&self, clock: Arc<dyn Clock>) -> Options {
        Options::new(self.location(), clock)
    }

    /// The data folder.
    pub fn folder(&self) -> PathBuf {
        match &self.kind {
            Kind::Folder(folder) => folder.path().join("data"),
            Kind::Database { .. } | Kind::Elsewhere { .. } => panic!("a Postgres database has no folder"),
        }
    }

    /// The embedded database's file.
    pub fn file(&self) -> PathBuf {
        self.folder().join("placet.db")
    }

    /// The address of the Postgres database.
    pub fn url(&self) -> String {
        match &self.kind {
            Kind::Folder(_) => panic!("a folder has no address"),
            Kind::Database { cluster, name } => within(cluster, name),
            Kind::Elsewhere { url } => url.clone(),
        }
    }

    /// The name of the Postgres database.
    pub fn name(&self) -> &str {
        match &self.kind {
            Kind::Folder(_) | Kind::Elsewhere { .. } => panic!("it has no database name of its own"),
            Kind::Database { name, .. } => name,
        }
    }

    /// Runs statements beside the store, like a person with access to the database.
    pub async fn sql(&self, statements: &str) {
        self.try_sql(statements).await.unwrap_or_else(|error| panic!("{statements}: {error}"));
    }

    /// The same, with the database's refusal.
    pub async fn try_sql(&self, statements: &str) -> Result<(), String> {
        match &self.kind {
            Kind::Folder(_) => {
                let connection = rusqlite::Connection::open(self.file()).expect("the database opens");
                connection.busy_timeout(std::time::Duration::from_secs(5)).expect("a timeout can be set");
                connection.execute_batch(statements).map_err(|error| error.to_string())
            }
            Kind::Database { .. } | Kind::Elsewhere { .. } => {
                let session = Session::open(&self.url()).await;
                session.client.batch_execute(statements).await.map_err(|error| format!("{error:?}"))
            }
        }
    }

    /// Every row of a query, each value as text (`null` stays null).
    pub async fn rows(&self, query: &str) -> Vec<Vec<Value>> {
        match &self.kind {
            Kind::Folder(_) => sqlite_rows(&self.file(), query),
            Kind::Database { .. } | Kind::Elsewhere { .. } => {
                Session::open(&self.url()).await.rows(query).await
            }
        }
    }

    /// The one value of a query, as text.
    pub async fn value(&self, query: &str) -> Value {
        let rows = self.rows(query).await;
        rows.into_iter()
            .next()
            .and_then(|row| row.into_iter().next())
            .unwrap_or_else(|| panic!("no row: {query}"))
    }

    /// Keeps the writer from starting a batch until the lock is dropped, like another writer.
    pub async fn hold(&self) -> WriterLock {
        match &self.kind {
            Kind::Folder(_) => {
                let connection = rusqlite::Connection::open(self.file()).expect("the database opens");
                connection.busy_timeout(std::time::Duration::from_secs(5)).expect("a timeout can be set");
                connection.execute_batch("BEGIN IMMEDIATE").expect("the write lock is free");
                WriterLock { _sqlite: Some(connection), _postgres: None }
            }
            Kind::Database { .. } | Kind::Elsewhere { .. } => {
                let session = Session::open(&self.url()).await;
                session.run("BEGIN; SELECT one FROM head FOR UPDATE").await;
                WriterLock { _sqlite: None, _postgres: Some(session) }
            }
        }
    }

    /// Waits until this many writers wait for the lock. Postgres lets them in by order of arrival.
    pub async fn held_up(&self, writers: usize) {
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        let writers = Value::from(writers.to_string());
        let enough = async || (self.value(waiting).await == writers).then_some(());
        crate::found("the writers to wait for the hold", enough).await;
    }

    /// Ends every connection to this database and, during `away`, accepts no new one.
    pub async fn postgres_away(&self, away: bool) {
        let Kind::Database { cluster, name } = &self.kind else { panic!("a folder does not go away") };
        let session = Session::open(cluster).await;
        session.run(&format!("ALTER DATABASE {name} WITH ALLOW_CONNECTIONS {}", !away)).await;
        if away {
            self.cut_connections().await;
        }
    }

    /// Ends every connection to this database, whatever it is doing.
    pub async fn cut_connections(&self) {
        let Kind::Database { cluster, name } = &self.kind else { panic!("a folder has no connections") };
        let cut = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'");
        Session::open(cluster).await.run(&cut).await;
    }

    /// Verifies the stored data, without a server.
    pub async fn verify(&self) -> Result<Verified, VerifyError> {
        match &self.kind {
            Kind::Folder(_) => verify_file(&self.folder(), |_| {}).await,
            Kind::Database { .. } | Kind::Elsewhere { .. } => verify_postgres(&self.url(), |_| {}).await,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Kind::Database { cluster, name } = &self.kind else { return };
        let (cluster, name) = (cluster.clone(), name.clone());
        // Dropped inside a test's runtime, which must not block: another thread has its own.
        let dropping = std::thread::Builder::new().name("drop-database".to_owned()).spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
            runtime.block_on(async {
                Session::open(&cluster)
                    .await
                    .run(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
                    .await;
            });
        });
        // At worst it stays behind: the cluster is thrown away.
        let _ = dropping.map(std::thread::JoinHandle::join);
    }
}

/// A lock that keeps the writer waiting, until it is dropped.
#[derive(Debug)]
pub struct WriterLock {
    _sqlite: Option<rusqlite::Connection>,
    _postgres: Option<Session>,
}

/// The address of the throw-away cluster.
fn cluster() -> String {
    std::env::var("PLACET_TEST_POSTGRES").unwrap_or_else(|_| {
        panic!("PLACET_TEST_POSTGRES is not set: run through `cargo xtask test`, or `cargo xtask postgres -- cargo nextest run …`")
    })
}

/// The same address with another database.
fn within(cluster: &str, name: &str) -> String {
    let (server, _) =
        cluster.rsplit_once('/').expect("an address such as postgres://user@host:port/postgres");
    format!("{server}/{name}")
}

/// A plain connection to Postgres.
#[derive(Debug)]
struct Session {
    client: Client,
    // Ends with the session, and so does the connection.
    _driver: JoinSet<()>,
}

impl Session {
    async fn open(url: &str) -> Self {
        let (client, connection) =
            tokio_postgres::connect(url, NoTls).await.unwrap_or_else(|error| panic!("{url}: {error}"));
        let mut driver = JoinSet::new();
        driver.spawn(async move { drop(connection.await) });
        Self { client, _driver: driver }
    }

    async fn run(&self, statements: &str) {
        self.client.batch_execute(statements).await.unwrap_or_else(|error| panic!("{statements}: {error:?}"));
    }

    async fn rows(&self, query: &str) -> Vec<Vec<Value>> {
        let messages =
            self.client.simple_query(query).await.unwrap_or_else(|error| panic!("{query}: {error:?}"));
        let rows = messages.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|index| row.get(index).map_or(Value::Null, Value::from)).collect())
            }
            _ => None,
        });
        rows.collect()
    }
}

fn sqlite_rows(file: &Path, query: &str) -> Vec<Vec<Value>> {
    use rusqlite::types::ValueRef;
    let connection = rusqlite::Connection::open(file).expect("the database opens");
    let mut statement = connection.prepare(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| {
        (0..columns)
            .map(|index| {
                Ok(match row.get_ref(index)? {
                    ValueRef::Null => Value::Null,
                    ValueRef::Integer(int) => int.to_string().into(),
                    ValueRef::Real(real) => real.to_string().into(),
                    ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
                    ValueRef::Blob(bytes) => {
                        bytes.iter().fold("\\x".to_owned(), |hex, byte| format!("{hex}{byte:02x}")).into()
                    }
                })
            })
            .collect()
    });
    rows.and_then(Iterator::collect).unwrap_or_else(|error| panic!("{query}: {error}"))
}
