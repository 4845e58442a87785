//! Raw fsynced commits of the rows of a create, through rusqlite alone: no HTTP, no life cycle.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use rusqlite::{Connection, TransactionBehavior, params};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use crate::load::figures::Latencies;

/// The result of a loop of commits.
#[derive(Debug, Clone)]
pub struct Commits {
    /// Creates made durable per second.
    pub per_second: f64,
    /// How long each commit took, from BEGIN to COMMIT answered.
    pub latency: Latencies,
}

/// The tables, indexes and triggers of the product itself.
const SCHEMA: &str = include_str!("../../../crates/store/migrations/sqlite/0001_gate.sql");

/// The product's way of opening them.
const SETTINGS: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = 4000;
    PRAGMA cache_size = -65536;
    PRAGMA temp_store = MEMORY;
";

/// Commits for `measure`, with `group` creates per commit, into a fresh database in `folder`.
pub fn run(folder: &Path, group: u32, measure: Duration) -> Result<Commits> {
    let mut connection = Connection::open(folder.join("raw.db"))?;
    connection.execute_batch(SETTINGS)?;
    connection.execute_batch(SCHEMA)?;
    connection.execute("INSERT INTO head VALUES (1, 'bench', 0, x'00', 0)", [])?;
    let warm_up = measure / 4;
    let begun = Instant::now();
    let mut recorded = Vec::new();
    let mut rows = Rows::default();
    loop {
        let before = Instant::now();
        // A slow disk gets the time for one commit.
        if before >= begun + warm_up + measure && !recorded.is_empty() {
            break;
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for _ in 0..group {
            rows.write(&transaction)?;
        }
        rows.write_head(&transaction)?;
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
                "INSERT INTO requests (seq, id, version, state, kind, agent, session, tool, risk, grp, created_at, changed_at, deadline, meta)
                 VALUES (?1, ?2, 1, 'pending', 'action', 'bench-agent', ?3, 'files.delete', 'high', NULL, ?4, ?4, ?5, ?6)",
            )?
            .execute(params![number, row.id, row.session, row.at, row.at + WINDOW, row.meta])?;
        connection
            .prepare_cached("INSERT INTO payloads (seq, request, version, body) VALUES (?1, ?1, 1, ?2)")?
            .execute(params![number, row.body])?;
        connection
            .prepare_cached("INSERT INTO ledger (seq, request, entry, hash) VALUES (?1, ?1, ?2, ?3)")?
            .execute(params![number, row.entry, self.head])?;
        Ok(())
    }

    /// Once per commit: the end of the ledger.
    fn write_head(&self, connection: &Connection) -> Result<()> {
        connection
            .prepare_cached("UPDATE head SET seq = ?1, hash = ?2 WHERE one = 1")?
            .execute(params![self.number, self.head])?;
        Ok(())
    }
}

/// The time limit of a request, in microseconds.
pub(super) const WINDOW: i64 = 6 * 3_600_000_000;

/// One create's values, shared with the Postgres baseline.
pub(super) struct Row {
    pub(super) id: String,
    pub(super) session: String,
    pub(super) at: i64,
    pub(super) meta: String,
    pub(super) body: String,
    pub(super) entry: String,
}

impl Row {
    /// Fills in texts as long as the product's own, and advances the head of the chain.
    pub(super) fn of(number: i64, head: &mut [u8; 32]) -> Self {
        let digits = format!("{number:010}");
        let body = PAYLOAD.replace("##########", &digits);
        let id = format!("req_{number:026}");
        let at = 1_780_000_000_000_000 + number * 100;
        let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(body.as_bytes()));
        let meta = META.replace("##########", &digits).replace("$digest", &digest);
        let prev = data_encoding::HEXLOWER.encode(head);
        let entry = ENTRY.replace("##########", &digits).replace("$digest", &digest).replace("$prev", &prev);
        *head = Sha256::digest(entry.as_bytes()).into();
        Self { id, session: format!("bench-{digits}"), at, meta, body, entry }
    }
}

/// The state of a request as the product stores it.
const META: &str = concat!(
    r#"{"id":"req_0000000000000000##########","seq":##########,"version":1,"material":1,"state":"pending","kind":"action","#,
    r#""agent":"bench-agent","session":"bench-##########","tool":"files.delete","group":null,"on_behalf_of":null,"risk":"high","#,
    r#""verdict":{"effect":"hold","rule":"hold-everything","policy":"sha256:$digest","#,
    r#""reasons":["no policy is installed, so every request waits for a person"]},"#,
    r#""needs":{"any":[{"all":[{"people":1,"team":null}]}],"four_eyes":false,"step_up":null},"allowed":["approve","edit","deny"],"#,
    r#""permit":true,"digest":"sha256:$digest","votes":[],"proposal":null,"decision":null,"asked":[],"#,
    r#""created_at":"2026-05-28T20:26:40.000000Z","expires_at":"2026-05-29T02:26:40.000000Z","#,
    r#""claim_window":{"secs":900,"nanos":0},"report_window":{"secs":3600,"nanos":0},"#,
    r#""claim_by":null,"report_by":null,"claim":null,"outcome":null}"#
);

/// What the agent wrote.
const PAYLOAD: &str = concat!(
    r#"{"body":{"arguments":{"files":["/srv/reports/2026/quarter-##########.md","/srv/reports/2026/annex-a.md","#,
    r#""/srv/reports/2026/annex-b.md"],"reason":"superseded by the signed version in the archive","recursive":false},"#,
    r#""tool":"files.delete"},"context":{"call_id":"call-##########","cwd":"/srv/reports","invocation_id":"inv-7f3a9c51e0","#,
    r#""lineage":["planner","archivist"]},"nonce":"ab4e9cd2666b5efeb28249679a38ba23","#,
    r#""summary":"Remove the draft reports that were replaced by the signed ones; the archive keeps a copy of each of them."}"#
);

/// Its ledger entry.
const ENTRY: &str = concat!(
    r#"{"at":"2026-05-28T20:26:40.000000Z","by":{"auth":"token","key":"key_0000000000000000##########","name":"bench-agent","#,
    r#""role":"agent"},"data":{"agent":"bench-agent","allowed":["approve","edit","deny"],"claim_by":null,"#,
    r#""claim_window":{"nanos":0,"secs":900},"created_at":"2026-05-28T20:26:40.000000Z","digest":"sha256:$digest","#,
    r#""expires_at":"2026-05-29T02:26:40.000000Z","group":null,"kind":"action","#,
    r#""needs":{"any":[{"all":[{"people":1,"team":null}]}],"four_eyes":false,"step_up":null},"on_behalf_of":null,"permit":true,"#,
    r#""report_window":{"nanos":0,"secs":3600},"risk":"high","session":"bench-##########","state":"pending","tool":"files.delete","#,
    r#""type":"request.created","verdict":{"effect":"hold","policy":"sha256:$digest","#,
    r#""reasons":["no policy is installed, so every request waits for a person"],"rule":"hold-everything"}},"epoch":"e3u24nh95","#,
    r#""payload":"sha256:$digest","prev":"sha256:$prev","request":"req_0000000000000000##########","seq":##########,"v":1,"version":1}"#
);

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
                "SELECT (SELECT count(*) FROM requests JOIN payloads USING (seq)), count(DISTINCT hash) FROM ledger",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .unwrap();
        assert_eq!(rows, hashes);
        assert_eq!(rows % 3, 0);
    }
}
