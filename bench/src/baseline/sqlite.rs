//! Raw fsynced commits of the rows a create writes, straight through rusqlite: no HTTP, no life cycle.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use rusqlite::{Connection, TransactionBehavior, params};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use crate::load::figures::Latencies;
use crate::load::wire::CREATE_BODY;

/// What a loop of commits reached.
#[derive(Debug, Clone)]
pub struct Commits {
    /// Creates made durable a second.
    pub per_second: f64,
    /// How long each commit took, from BEGIN to COMMIT answered.
    pub latency: Latencies,
}

const SCHEMA: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE requests (
        id TEXT PRIMARY KEY, version INTEGER NOT NULL, state TEXT NOT NULL, agent TEXT NOT NULL, session TEXT NOT NULL,
        tool TEXT NOT NULL, digest TEXT NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX requests_pending ON requests (expires_at) WHERE state = 'pending';
    CREATE TABLE payloads (request_id TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT;
    CREATE TABLE ledger (
        seq INTEGER PRIMARY KEY, request_id TEXT NOT NULL, at INTEGER NOT NULL, entry TEXT NOT NULL, hash BLOB NOT NULL
    ) STRICT;
";

/// Commits for `measure`, `group` creates to a commit, into a fresh database in `folder`.
pub fn run(folder: &Path, group: u32, measure: Duration) -> Result<Commits> {
    let mut connection = Connection::open(folder.join("raw.db"))?;
    connection.execute_batch(SCHEMA)?;
    let warm_up = measure / 4;
    let begun = Instant::now();
    let mut recorded = Vec::new();
    let mut rows = Rows::default();
    loop {
        let before = Instant::now();
        if before >= begun + warm_up + measure {
            break;
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for _ in 0..group {
            rows.write(&transaction)?;
        }
        transaction.commit()?;
        if before >= begun + warm_up {
            recorded.push(before.elapsed());
        }
    }
    let busy: Duration = recorded.iter().sum();
    let count = recorded.len() as f64 * f64::from(group);
    Ok(Commits { per_second: count / busy.as_secs_f64(), latency: Latencies::new(recorded) })
}

/// The rows of one create after another: time-ordered ids, the chain carried along.
#[derive(Default)]
struct Rows {
    number: i64,
    head: [u8; 32],
}

impl Rows {
    fn write(&mut self, connection: &Connection) -> Result<()> {
        self.number += 1;
        let number = self.number;
        let row = Row::of(number, &mut self.head);
        connection
            .prepare_cached(
                "INSERT INTO requests VALUES (?1, 1, 'pending', 'bench', ?2, 'files.delete', ?3, ?4, ?5)",
            )?
            .execute(params![row.id, row.session, row.digest, number, number + 300_000])?;
        connection
            .prepare_cached("INSERT INTO payloads VALUES (?1, ?2)")?
            .execute(params![row.id, row.body])?;
        connection
            .prepare_cached("INSERT INTO ledger VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute(params![number, row.id, number, row.entry, self.head])?;
        Ok(())
    }
}

/// One create's values, shared with the Postgres baseline.
pub(super) struct Row {
    pub(super) id: String,
    pub(super) session: String,
    pub(super) digest: String,
    pub(super) body: String,
    pub(super) entry: String,
}

impl Row {
    /// Computes digest and entry, and moves the chain's head on.
    pub(super) fn of(number: i64, head: &mut [u8; 32]) -> Self {
        let digits = format!("{number:010}");
        let body = CREATE_BODY.replace("##########", &digits);
        let id = format!("req_{number:026}");
        let digest = format!("sha256:{}", data_encoding::HEXLOWER.encode(&Sha256::digest(body.as_bytes())));
        let entry = format!(
            r#"{{"at":{number},"by":"bench","digest":"{digest}","event":"request.created","format":1,"id":"{id}","seq":{number},"version":1}}"#
        );
        let mut chain = Sha256::new();
        chain.update(*head);
        chain.update(entry.as_bytes());
        *head = chain.finalize().into();
        Self { id, session: format!("bench-{digits}"), digest, body, entry }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_commit_leaves_its_rows_and_a_moved_head() {
        let folder = tempfile::tempdir().unwrap();
        let commits = run(folder.path(), 3, Duration::from_millis(50)).unwrap();
        assert!(commits.per_second > 0.0 && !commits.latency.is_empty());
        let connection = Connection::open(folder.path().join("raw.db")).unwrap();
        let (rows, hashes): (i64, i64) = connection
            .query_row(
                "SELECT (SELECT count(*) FROM requests JOIN payloads ON id = request_id), count(DISTINCT hash) FROM ledger",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .unwrap();
        assert_eq!(rows, hashes);
        assert_eq!(rows % 3, 0);
    }
}
