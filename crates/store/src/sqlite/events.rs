//! Events and documents in the embedded database.

use std::sync::Arc;

use placet_core::{RequestId, Time};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::{
    number,
    readers::{self, SqliteReaders},
};
use crate::{
    Channels, Delivery, EventWords, RecentEvents, SeenEvent, StoreError, StoredEvent,
    backend::Changes,
    documents::DOCUMENTS,
    events::{MARK_EVERY, PRUNED, SESSIONS, WAITING, WORDS},
    rows::{int, parse},
};

const COLUMNS: &str = "e.id, e.received_at, e.agent, e.request, e.body";

type Columns = (u64, i64, String, Option<String>, String);

fn columns(row: &Row<'_>) -> rusqlite::Result<Columns> {
    Ok((number(row, 0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
}

fn stored((id, at, agent, request, body): Columns) -> Result<StoredEvent, StoreError> {
    Ok(StoredEvent {
        id,
        received_at: Time::from_micros(at),
        agent,
        request: request.as_deref().map(parse).transpose()?,
        body: body.into(),
    })
}

fn seen(db: &Connection, columns: Columns) -> Result<SeenEvent, StoreError> {
    let event = stored(columns)?;
    let request = event.request.map(|id| readers::get(db, id)).transpose()?.flatten().map(Arc::new);
    Ok(SeenEvent { event, request })
}

/// The number of the newest event.
pub(super) fn last(db: &Connection) -> Result<u64, StoreError> {
    let mut find = db.prepare_cached("SELECT coalesce(max(id), 0) FROM events")?;
    Ok(find.query_row([], |row| number(row, 0))?)
}

pub(super) fn write(db: &Connection, changes: &Changes) -> Result<(), StoreError> {
    for row in &changes.events {
        db.prepare_cached(
            "INSERT INTO events (id, received_at, agent, request, source_app, session_id, hook_event_type, timestamp, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![
            int(row.id),
            row.at.micros(),
            row.agent,
            row.request.as_ref().map(|request| request.id.to_string()),
            row.source_app,
            row.session_id,
            row.hook_event_type,
            row.timestamp,
            &*row.body,
        ])?;
    }
    for row in &changes.words {
        db.prepare_cached(
            "INSERT INTO event_words (kind, word, seen) VALUES (?1, ?2, ?3)
             ON CONFLICT (kind, word) DO UPDATE SET seen = max(seen, excluded.seen)",
        )?
        .execute(params![row.kind, row.word, int(row.seen)])?;
    }
    Ok(())
}

pub(super) fn prune(db: &Connection, keep: u64, before: Time) -> Result<u64, StoreError> {
    let last = last(db)?;
    let deleted = db
        .prepare_cached(
            "DELETE FROM events WHERE id IN (
                 SELECT o.id FROM (
                     SELECT e.id, e.received_at FROM events e LEFT JOIN requests r ON r.id = e.request
                     WHERE r.state IS NULL OR r.state <> 'pending' ORDER BY e.id LIMIT ?4) o
                 WHERE o.id < ?1 AND (o.id <= ?2 OR o.received_at < ?3))",
        )?
        .execute(params![int(last), int(last.saturating_sub(keep)), before.micros(), PRUNED])?;
    if deleted > 0 {
        let oldest: i64 = db
            .prepare_cached("SELECT id FROM events WHERE request IS NULL ORDER BY id LIMIT 1")?
            .query_row([], |row| row.get(0))
            .optional()?
            // All that is left are events with requests: their words stay.
            .unwrap_or(0);
        db.prepare_cached("DELETE FROM event_words WHERE seen < ?1")?
            .execute([oldest.saturating_sub(int(MARK_EVERY))])?;
    }
    Ok(deleted as u64)
}

impl SqliteReaders {
    pub(crate) async fn recent_events(&self, limit: u32) -> Result<RecentEvents, StoreError> {
        self.long(move |db| {
            readers::snapshot(db, |db| {
                let last = last(db)?;
                let mut find =
                    db.prepare_cached(&format!("SELECT {COLUMNS} FROM events e ORDER BY e.id DESC LIMIT ?1"))?;
                let newest = find.query_map([limit], columns)?;
                let mut events =
                    newest.map(|row| seen(db, row?)).collect::<Result<Vec<_>, StoreError>>()?;
                events.reverse();
                let oldest = events.first().map_or(i64::MAX, |oldest| int(oldest.event.id));
                let mut find = db.prepare_cached(&format!(
                    "SELECT {COLUMNS} FROM requests r CROSS JOIN events e ON e.request = r.id
                     WHERE r.state = 'pending' AND r.deadline IS NOT NULL AND e.id < ?1 ORDER BY e.id LIMIT ?2"
                ))?;
                let waiting = find.query_map(params![oldest, WAITING], columns)?;
                let mut all = waiting.map(|row| seen(db, row?)).collect::<Result<Vec<_>, StoreError>>()?;
                all.append(&mut events);
                Ok(RecentEvents { events: all, last })
            })
        })
        .await
    }

    pub(crate) async fn event(&self, id: u64) -> Result<Option<SeenEvent>, StoreError> {
        self.short(|db| {
            let found = db
                .prepare_cached(&format!("SELECT {COLUMNS} FROM events e WHERE e.id = ?1"))?
                .query_row([int(id)], columns)
                .optional()?;
            found.map(|columns| seen(db, columns)).transpose()
        })
        .await
    }

    pub(crate) async fn event_of(&self, request: RequestId) -> Result<Option<StoredEvent>, StoreError> {
        self.short(|db| {
            let found = db
                .prepare_cached(&format!("SELECT {COLUMNS} FROM events e WHERE e.request = ?1"))?
                .query_row([request.to_string()], columns)
                .optional()?;
            found.map(stored).transpose()
        })
        .await
    }

    pub(crate) async fn events_after(&self, id: u64, limit: u32) -> Result<Vec<SeenEvent>, StoreError> {
        self.long(move |db| {
            let mut find = db.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM events e WHERE e.id > ?1 ORDER BY e.id LIMIT ?2"
            ))?;
            let rows = find.query_map(params![int(id), limit], columns)?;
            rows.map(|row| seen(db, row?)).collect()
        })
        .await
    }

    pub(crate) async fn last_event(&self) -> Result<u64, StoreError> {
        self.short(last).await
    }

    pub(crate) async fn event_words(&self) -> Result<EventWords, StoreError> {
        self.long(|db| {
            let of = |kind: u8, order: &str, limit: u32| -> Result<Vec<String>, StoreError> {
                let mut find = db.prepare_cached(&format!(
                    "SELECT word FROM event_words WHERE kind = ?1 ORDER BY word {order} LIMIT ?2"
                ))?;
                let rows = find.query_map(params![kind, limit], |row| row.get(0))?;
                Ok(rows.collect::<Result<_, _>>()?)
            };
            Ok(EventWords {
                source_apps: of(0, "ASC", WORDS)?,
                session_ids: of(1, "DESC", SESSIONS)?,
                hook_event_types: of(2, "ASC", WORDS)?,
            })
        })
        .await
    }

    pub(crate) async fn documents(&self, kind: &'static str) -> Result<Vec<String>, StoreError> {
        self.long(move |db| {
            let mut find = db.prepare_cached(DOCUMENTS)?;
            let rows = find.query_map([kind], |row| row.get(0))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
    }

    pub(crate) async fn holds(&self, delivery: &Delivery, owner: &str) -> Result<bool, StoreError> {
        self.short(|db| {
            let mut find = db.prepare_cached(
                "SELECT 1 FROM outbox WHERE channel = ?1 AND subject = ?2 AND state = 'waiting' AND lease_owner = ?3 AND wanted = ?4",
            )?;
            Ok(find.exists(params![delivery.channel, delivery.subject, owner, int(delivery.wanted)])?)
        })
        .await
    }

    pub(crate) async fn deliveries_due(&self, now: Time, channels: &Channels) -> Result<bool, StoreError> {
        let (names, meant) = channels.names();
        let names = serde_json::Value::from(names).to_string();
        self.short(|db| {
            let mut find = db.prepare_cached(
                "SELECT 1 FROM outbox WHERE state = 'waiting' AND next_at <= ?1 AND lease_until <= ?1
                     AND (channel IN (SELECT value FROM json_each(?2))) = ?3 LIMIT 1",
            )?;
            Ok(find.exists(params![now.micros(), names, meant])?)
        })
        .await
    }
}
