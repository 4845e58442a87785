//! Raw grouped commits of the same rows into Postgres, and a database of its own for every measurement.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls};

use super::sqlite::{Commits, Row};
use crate::load::figures::Latencies;

/// A database made for one measurement; call [`Database::drop_it`] at the end.
#[derive(Debug)]
pub struct Database {
    cluster: String,
    name: String,
}

impl Database {
    /// Makes an empty database in the cluster that `cluster` (a `postgres://` URL) points to.
    pub async fn make(cluster: &str) -> Result<Self> {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let name = format!("placet_bench_{}_{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let session = connect(cluster).await?;
        // One may be left of a run that was broken off under the same process id.
        session.client.batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await?;
        session.client.batch_execute(&format!("CREATE DATABASE {name}")).await?;
        Ok(Self { cluster: cluster.to_owned(), name })
    }

    /// The URL of this database: the cluster's with another path.
    pub fn url(&self) -> Result<String> {
        with_database(&self.cluster, &self.name)
    }

    /// Drops it, with whatever is still connected.
    pub async fn drop_it(self) -> Result<()> {
        let session = connect(&self.cluster).await?;
        session.client.batch_execute(&format!("DROP DATABASE {} WITH (FORCE)", self.name)).await?;
        Ok(())
    }
}

fn with_database(url: &str, name: &str) -> Result<String> {
    let (scheme, rest) = url.split_once("://").context("PLACET_BENCH_POSTGRES is no postgres:// URL")?;
    let (rest, query) =
        rest.split_once('?').map_or((rest, String::new()), |(rest, query)| (rest, format!("?{query}")));
    let host = rest.split_once('/').map_or(rest, |(host, _)| host);
    Ok(format!("{scheme}://{host}/{name}{query}"))
}

/// A client and the task that drives its connection, which ends with it.
struct Session {
    client: Client,
    _driver: JoinSet<()>,
}

async fn connect(url: &str) -> Result<Session> {
    let (client, connection) =
        tokio_postgres::connect(url, NoTls).await.context("cannot connect to PLACET_BENCH_POSTGRES")?;
    let mut driver = JoinSet::new();
    driver.spawn(async move {
        // A broken connection shows as an error of the next statement.
        let _ = connection.await;
    });
    Ok(Session { client, _driver: driver })
}

type Value<'a> = &'a (dyn ToSql + Sync);

const SCHEMA: &str = "
    CREATE TABLE requests (
        id text PRIMARY KEY, version bigint NOT NULL, state text NOT NULL, agent text NOT NULL, session text NOT NULL,
        tool text NOT NULL, digest text NOT NULL, created_at bigint NOT NULL, expires_at bigint NOT NULL
    );
    CREATE INDEX requests_pending ON requests (expires_at) WHERE state = 'pending';
    CREATE TABLE payloads (request_id text PRIMARY KEY, body text NOT NULL);
    CREATE TABLE ledger (
        seq bigint PRIMARY KEY, request_id text NOT NULL, at bigint NOT NULL, entry text NOT NULL, hash bytea NOT NULL
    );
";

/// Commits for `measure`, `group` creates to a commit, each table written with one statement.
pub async fn run(url: &str, group: u32, measure: Duration) -> Result<Commits> {
    let mut session = connect(url).await?;
    let client = &mut session.client;
    client.batch_execute(SCHEMA).await?;
    let requests = client
        .prepare(
            "INSERT INTO requests SELECT id, 1, 'pending', 'bench', session, 'files.delete', digest, at, at + 300000
             FROM UNNEST($1::text[], $2::text[], $3::text[], $4::bigint[]) AS row (id, session, digest, at)",
        )
        .await?;
    let payloads =
        client.prepare("INSERT INTO payloads SELECT * FROM UNNEST($1::text[], $2::text[])").await?;
    let ledger = client
        .prepare(
            "INSERT INTO ledger SELECT seq, id, seq, entry, hash
             FROM UNNEST($1::bigint[], $2::text[], $3::text[], $4::bytea[]) AS row (seq, id, entry, hash)",
        )
        .await?;
    let warm_up = measure / 4;
    let begun = Instant::now();
    let mut recorded = Vec::new();
    let mut number: i64 = 0;
    let mut head = [0_u8; 32];
    while begun.elapsed() < warm_up + measure {
        let before = Instant::now();
        let mut numbers = Vec::new();
        let mut rows = Columns::default();
        for _ in 0..group {
            number += 1;
            numbers.push(number);
            rows.push(Row::of(number, &mut head), &head);
        }
        let transaction = client.transaction().await?;
        let first: [Value<'_>; 4] = [&rows.ids, &rows.sessions, &rows.digests, &numbers];
        let second: [Value<'_>; 2] = [&rows.ids, &rows.bodies];
        let third: [Value<'_>; 4] = [&numbers, &rows.ids, &rows.entries, &rows.hashes];
        // Sent together, so that the three statements cost one round trip.
        tokio::try_join!(
            transaction.execute(&requests, &first),
            transaction.execute(&payloads, &second),
            transaction.execute(&ledger, &third),
        )?;
        transaction.commit().await?;
        if before >= begun + warm_up {
            recorded.push(before.elapsed());
        }
    }
    let busy: Duration = recorded.iter().sum();
    let count = recorded.len() as f64 * f64::from(group);
    Ok(Commits { per_second: count / busy.as_secs_f64(), latency: Latencies::new(recorded) })
}

#[derive(Default)]
struct Columns {
    ids: Vec<String>,
    sessions: Vec<String>,
    digests: Vec<String>,
    bodies: Vec<String>,
    entries: Vec<String>,
    hashes: Vec<Vec<u8>>,
}

impl Columns {
    fn push(&mut self, row: Row, head: &[u8; 32]) {
        self.ids.push(row.id);
        self.sessions.push(row.session);
        self.digests.push(row.digest);
        self.bodies.push(row.body);
        self.entries.push(row.entry);
        self.hashes.push(head.to_vec());
    }
}

#[cfg(test)]
mod tests {
    use super::with_database;

    #[test]
    fn the_database_in_a_url_is_replaced_and_the_rest_kept() {
        let url = with_database("postgres://ann@127.0.0.1:5432/postgres?connect_timeout=3", "x").unwrap();
        assert_eq!(url, "postgres://ann@127.0.0.1:5432/x?connect_timeout=3");
        assert_eq!(with_database("postgres://ann@h", "x").unwrap(), "postgres://ann@h/x");
        assert!(with_database("nonsense", "x").is_err());
    }
}
