//! Raw grouped commits of the same rows into Postgres, with a new database for every measurement.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls};

use super::sqlite::{Commits, Row, WINDOW};
use crate::load::figures::Latencies;

/// A database for one measurement. Call [`Database::drop_it`] at the end.
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
        // A cancelled run under the same process id may have left one.
        session.client.batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await?;
        session.client.batch_execute(&format!("CREATE DATABASE {name}")).await?;
        Ok(Self { cluster: cluster.to_owned(), name })
    }

    /// The URL of this database: the cluster's with another path.
    pub fn url(&self) -> Result<String> {
        with_database(&self.cluster, &self.name)
    }

    /// Drops it, with all connections to it.
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

/// The tables, indexes and triggers of the product itself.
const SCHEMA: &str = include_str!("../../../crates/store/migrations/postgres/0001_gate.sql");

/// Commits for `measure`, with `group` creates per commit. Each table is written with one statement.
pub async fn run(url: &str, group: u32, measure: Duration) -> Result<Commits> {
    let mut session = connect(url).await?;
    let client = &mut session.client;
    client.batch_execute(SCHEMA).await?;
    client.batch_execute("INSERT INTO head VALUES (1, 'bench', 0, '\\x00', 0)").await?;
    let requests = client
        .prepare(
            "INSERT INTO requests (seq, id, version, state, kind, agent, session, tool, risk, created_at, changed_at, deadline, meta)
             SELECT seq, id, 1, 'pending', 'action', 'bench-agent', session, 'files.delete', 'high', at, at, at + $6, meta
             FROM UNNEST($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::text[]) AS row (seq, id, session, at, meta)",
        )
        .await?;
    let payloads = client
        .prepare(
            "INSERT INTO payloads (seq, request, version, body)
             SELECT seq, seq, 1, body FROM UNNEST($1::bigint[], $2::text[]) AS row (seq, body)",
        )
        .await?;
    let ledger = client
        .prepare(
            "INSERT INTO ledger (seq, request, entry, hash)
             SELECT seq, seq, entry, hash FROM UNNEST($1::bigint[], $2::text[], $3::bytea[]) AS row (seq, entry, hash)",
        )
        .await?;
    let ends = client.prepare("UPDATE head SET seq = $1, hash = $2 WHERE one = 1").await?;
    let warm_up = measure / 4;
    let begun = Instant::now();
    let mut recorded = Vec::new();
    let mut number: i64 = 0;
    let mut head = [0_u8; 32];
    // A slow disk gets the time for one commit.
    while begun.elapsed() < warm_up + measure || recorded.is_empty() {
        let before = Instant::now();
        let mut numbers = Vec::new();
        let mut rows = Columns::default();
        for _ in 0..group {
            number += 1;
            numbers.push(number);
            rows.push(Row::of(number, &mut head), &head);
        }
        let transaction = client.transaction().await?;
        let hash = head.to_vec();
        let first: [Value<'_>; 6] = [&numbers, &rows.ids, &rows.sessions, &rows.times, &rows.metas, &WINDOW];
        let second: [Value<'_>; 2] = [&numbers, &rows.bodies];
        let third: [Value<'_>; 3] = [&numbers, &rows.entries, &rows.hashes];
        let fourth: [Value<'_>; 2] = [&number, &hash];
        // Sent together, so that the statements cost one round trip.
        tokio::try_join!(
            transaction.execute(&requests, &first),
            transaction.execute(&payloads, &second),
            transaction.execute(&ledger, &third),
            transaction.execute(&ends, &fourth),
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
    times: Vec<i64>,
    metas: Vec<String>,
    bodies: Vec<String>,
    entries: Vec<String>,
    hashes: Vec<Vec<u8>>,
}

impl Columns {
    fn push(&mut self, row: Row, head: &[u8; 32]) {
        self.ids.push(row.id);
        self.sessions.push(row.session);
        self.times.push(row.at);
        self.metas.push(row.meta);
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
