//! What only Postgres can get wrong: several nodes, lost answers, connections that end. A database per test.

mod faults;
mod nodes;
mod wire;

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU32, Ordering},
    },
    time::Duration,
};

use placet_core::{
    Action, Actor, Auth, Body, Command, Content, Covered, DecisionWord, Effect, Limits, Needs, Request,
    RequestId, Risk, Role, Submit, Terms, Time, Verdict,
};
use placet_ledger::Parts;
use placet_testkit::until;
use tokio_postgres::{Config, config::Host};

use super::{
    LOCK_WAIT, PostgresWriter,
    session::{Driver, connect},
};
use crate::{
    Clock, CommandUnit, Idempotency, Location, Options, Outcome, Store, StoreError, SystemClock, Timeline,
    backend::{Backend, Changes, ReadSet},
    batch::Batch,
};

/// A database of its own in the throw-away cluster.
struct Database {
    server: Config,
    name: String,
}

impl Database {
    async fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let url = std::env::var("PLACET_TEST_POSTGRES")
            .expect("PLACET_TEST_POSTGRES must name a throw-away cluster: run the tests under `cargo xtask postgres -- COMMAND`");
        let server: Config = url.parse().expect("PLACET_TEST_POSTGRES is a Postgres address");
        let name = format!("placet_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let (client, _driver) = connect(&server).await.expect("the cluster is running");
        client.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
        Self { server, name }
    }

    /// With the tables, the head and the first entry.
    async fn opened() -> Self {
        let database = Self::new().await;
        store(&database.url()).await.close().await;
        database
    }

    fn url(&self) -> String {
        self.url_through(self.port())
    }

    fn port(&self) -> u16 {
        self.server.get_ports().first().copied().unwrap_or(5432)
    }

    fn url_through(&self, port: u16) -> String {
        let user = self.server.get_user().unwrap_or("postgres");
        let host = match self.server.get_hosts() {
            [Host::Tcp(host), ..] => host,
            other => panic!("the throw-away cluster must listen on a TCP port, not on {other:?}"),
        };
        format!("postgres://{user}@{host}:{port}/{}", self.name)
    }

    /// A plain connection, to look and to interfere.
    async fn client(&self) -> (tokio_postgres::Client, Driver) {
        connect(&super::config(&self.url()).unwrap()).await.unwrap()
    }

    /// Waits until a statement waits for a lock.
    async fn blocked(&self) {
        let (client, _driver) = self.client().await;
        let waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        until("a statement that waits for a lock", async || {
            client.query_one(waits, &[]).await.unwrap().get::<_, i64>(0) > 0
        })
        .await;
    }

    /// The connection that has an open transaction and does nothing, if there is one.
    async fn idle_in_transaction(&self) -> Option<i32> {
        let (client, _driver) = self.client().await;
        let idle = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'";
        client.query_opt(idle, &[]).await.unwrap().map(|row| row.get(0))
    }
}

/// The database's clock, moved forward by hand.
#[derive(Debug, Default)]
struct Ahead(AtomicI64);

impl Ahead {
    fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_micros()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for Ahead {
    fn now(&self) -> Time {
        self.over_database(SystemClock::new().now())
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }

    fn over_database(&self, database: Time) -> Time {
        Time::from_micros(database.micros() + self.0.load(Ordering::SeqCst))
    }
}

fn options(url: &str) -> Options {
    Options::new(Location::Postgres(url.to_owned()), Arc::new(SystemClock::new()))
}

async fn store(url: &str) -> Store {
    Store::open(options(url)).await.unwrap()
}

async fn writer(url: &str, node: &str) -> PostgresWriter {
    writer_at(url, node, Arc::new(SystemClock::new())).await
}

async fn writer_at(url: &str, node: &str, clock: Arc<dyn Clock>) -> PostgresWriter {
    PostgresWriter::connect(url, node.to_owned(), Arc::new(Timeline::new(clock)), Arc::default(), LOCK_WAIT)
        .await
        .unwrap()
}

fn agent() -> Actor {
    Actor { name: "local".to_owned(), role: Role::Agent, key: None, session: None, auth: Auth::Open }
}

/// A new action in this session, held for a person.
fn submit(session: &str) -> Command {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let mut unique = [0_u8; 10];
    unique[6..].copy_from_slice(&COUNT.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    let id = RequestId::new(1_760_000_000_000, unique);
    let body = Body::Action(Action {
        tool: "mail.send".to_owned(),
        arguments: serde_json::Map::new(),
        arguments_schema: None,
    });
    let created_at = Time::from_micros(1_760_000_000_000_000);
    let content = Content { body, context: serde_json::Map::new(), summary: None, nonce: "n".to_owned() };
    let parts = Parts {
        id,
        agent: "local",
        session,
        body: &content.body,
        context: &content.context,
        summary: None,
        on_behalf_of: None,
        created_at,
        nonce: "n",
    };
    let canonical = parts.canonical().unwrap();
    let terms = Terms {
        session: session.to_owned(),
        risk: None,
        allowed: vec![DecisionWord::Approve, DecisionWord::Deny],
        expires_in: Limits::default().expires_in,
        on_behalf_of: None,
        group: None,
        permit: true,
    };
    Command::Submit(Box::new(Submit {
        id,
        terms,
        content: Arc::new(content),
        stored: canonical.payload.into(),
        digest: canonical.digest,
        created_at,
        source: "rest".to_owned(),
        roots: Vec::new(),
        covered: Covered::Unknown,
        verdict: Verdict {
            effect: Effect::Hold,
            confine: None,
            rule: "test".to_owned(),
            policy: "test".to_owned(),
            reasons: Vec::new(),
        },
        risk: Risk::Low,
        needs: Needs::default(),
        escalation: Vec::new(),
        decisions: None,
        grants: Vec::new(),
        trust: None,
        claim_window: Duration::from_mins(15),
        report_window: Duration::from_hours(1),
        pending_cap: 1_000_000,
        weak: None,
    }))
}

fn unit(command: Command, idempotency: Option<Idempotency>) -> CommandUnit {
    CommandUnit::one(agent(), command, idempotency)
}

async fn send(
    store: &Store,
    command: Command,
    idempotency: Option<Idempotency>,
) -> Result<Outcome, StoreError> {
    Ok(store.commands(unit(command, idempotency)).await?.pop().unwrap())
}

async fn sent(store: &Store, command: Command) -> Arc<Request> {
    let outcome = send(store, command, None).await.unwrap();
    assert_eq!(outcome.answer, Ok(()));
    outcome.request.unwrap()
}

/// Begins a batch of one command and lays out what it would write.
async fn begun(writer: &mut PostgresWriter, command: Command, batch: [u8; 16]) -> Changes {
    let unit = unit(command, None);
    let mut reads = ReadSet::default();
    reads.add_commands(&unit);
    let loaded = writer.begin(&reads).await.unwrap();
    let mut applied =
        Batch::new(loaded, Arc::default(), crate::outbox::OutboxSettings::default(), Arc::default());
    applied.commands(&unit).unwrap();
    applied.finish(batch).unwrap().0
}

async fn head_seq(writer: &mut PostgresWriter) -> u64 {
    let loaded = writer.begin(&ReadSet::default()).await.unwrap();
    writer.rollback().await;
    loaded.head.head.seq
}
