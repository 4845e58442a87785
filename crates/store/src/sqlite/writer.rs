//! The one writing connection of the embedded database, on a thread of its own.

use std::{collections::HashMap, sync::Arc, time::Duration};

use placet_core::{Directory, GrantEnd, Request, SessionId, Time, door};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::{OpenFiles, Recent, events, notes, number, readers};
use crate::{
    AttemptResult, Channels, Delivery, DocumentOutcome, NewDocument, NoteChange, NotesOutcome, StoreError,
    Timeline,
    backend::{Backend, Changes, CommitError, Loaded, NotesError, ReadSet},
    history::History,
    keyed::of_call,
    outbox::{Raise, WaitingRow, raising},
    policies::{PolicyRow, TrustChange, TrustRow, idle_before},
    rows::{AnswerRow, bytes32, int, parse, uint},
    sabotage::planted,
    sessions::{NewLink, NewSession, Reminder, voided_columns},
};

/// The one writer.
pub(crate) struct SqliteWriter {
    connection: Connection,
    time: Arc<Timeline>,
    history: Arc<History>,
    recent: Arc<Recent>,
    files: Arc<OpenFiles>,
}

impl SqliteWriter {
    pub(crate) fn new(
        connection: Connection,
        time: Arc<Timeline>,
        history: Arc<History>,
        recent: Arc<Recent>,
        files: Arc<OpenFiles>,
    ) -> Self {
        Self { connection, time, history, recent, files }
    }

    fn load(&mut self, reads: &ReadSet) -> Result<Loaded, StoreError> {
        let db = &self.connection;
        db.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        // A file that was moved or deleted is not found at the next start: what is written into it is not durable.
        if let Some(problem) = self.files.problem().filter(|_| !planted("folder-is-not-looked-at")) {
            return Err(StoreError::Stopped(problem));
        }
        let (head, at) = readers::head_at(db)?;
        if let Some(known) = self.history.known() {
            let there = if known.seq == head.head.seq {
                Some(head.head.hash)
            } else {
                readers::hash_of(db, known.seq)?
            };
            self.history.check(Some(&known), &head.head, there)?;
        }
        self.history.saw(&head.head);
        let mut answers = Vec::new();
        for scope in &reads.scopes {
            let mut find = db.prepare_cached(
                "SELECT i.body, i.request, r.id, i.answer FROM idempotency i LEFT JOIN requests r ON r.seq = i.request WHERE i.scope = ?1",
            )?;
            let row = find
                .query_row([&scope[..]], |row| {
                    Ok((
                        row.get::<_, Vec<u8>>(0)?,
                        row.get::<_, Option<i64>>(1)?,
                        row.get::<_, Option<String>>(2)?,
                        row.get(3)?,
                    ))
                })
                .optional()?;
            if let Some((body, seq, id, answer)) = row {
                let request = match (seq, id) {
                    (Some(seq), Some(id)) => Some((uint(seq)?, parse(&id)?)),
                    _ => None,
                };
                answers.push(AnswerRow {
                    scope: *scope,
                    body: bytes32(&body)?,
                    request,
                    answer,
                    stored: true,
                });
            }
        }
        let replayed = answers.iter().filter_map(|answer| answer.request.map(|(_, id)| id));
        let mut requests: Vec<Arc<Request>> = Vec::new();
        for id in reads.requests.iter().copied().chain(replayed) {
            if requests.iter().any(|request| request.id == id) {
                continue;
            }
            requests.extend(match self.recent.get(id) {
                Some(request) => Some(request),
                None => readers::get(db, id)?.map(Arc::new),
            });
        }
        let mut tallies = HashMap::new();
        for agent in reads.agents.iter().chain(requests.iter().map(|request| &request.agent)) {
            if !tallies.contains_key(agent) {
                tallies.insert(agent.clone(), tally(db, agent)?);
            }
        }
        let mut used = HashMap::new();
        for id in &reads.grants {
            let mut find = db.prepare_cached("SELECT used FROM grants WHERE id = ?1")?;
            used.extend(
                find.query_row([id.to_string()], |row| row.get(0)).optional()?.map(|used| (*id, used)),
            );
        }
        let mut trust = HashMap::new();
        for key in &reads.trust {
            let mut find = db.prepare_cached("SELECT count, at, seq FROM trust WHERE digest = ?1")?;
            let row = find.query_row([&key[..]], |row| {
                Ok(TrustRow { count: row.get(0)?, at: Time::from_micros(row.get(1)?), seq: number(row, 2)? })
            });
            // What was asked for is there, so that later commands of the batch see what earlier ones did.
            trust.insert(*key, row.optional()?.unwrap_or(TrustRow::none()));
        }
        let last_event = if reads.last_event { events::last(db)? } else { 0 };
        // Read after the lock is held, so that nothing is decided on an old time.
        self.time.saw(at);
        let time = self.time.read();
        Ok(Loaded { head, time, requests, answers, tallies, used, trust, last_event })
    }

    fn write(&self, changes: &Changes) -> Result<(), StoreError> {
        let db = &self.connection;
        for row in &changes.requests {
            let request = &row.request;
            let deadline = request.deadline().map(Time::micros);
            if row.new {
                db.prepare_cached(
                    "INSERT INTO requests (seq, id, version, state, kind, agent, session, tool, risk, grp, created_at, deadline, meta, changed_at, source)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
                )?
                .execute(params![
                    int(request.seq),
                    request.id.to_string(),
                    request.version,
                    request.state.as_str(),
                    request.kind.as_str(),
                    request.agent,
                    request.session,
                    request.tool,
                    request.risk.as_str(),
                    request.group,
                    request.created_at.micros(),
                    deadline,
                    row.meta,
                    changes.now.micros(),
                    request.door().written(),
                ])?;
            } else {
                let changed = db
                    .prepare_cached("UPDATE requests SET version = ?2, state = ?3, deadline = ?4, meta = ?5, changed_at = ?6, risk = ?7 WHERE seq = ?1")?
                    .execute(params![int(request.seq), request.version, request.state.as_str(), deadline, row.meta, changes.now.micros(), request.risk.as_str()])?;
                if changed != 1 {
                    return Err(StoreError::Damaged(format!("{} has no row to update", request.id)));
                }
            }
        }
        for (name, request) in &changes.decided_by {
            db.prepare_cached("INSERT INTO decided_by (name, request) VALUES (?1, ?2)")?
                .execute(params![name, int(*request)])?;
        }
        for row in &changes.payloads {
            db.prepare_cached("INSERT INTO payloads (seq, request, version, body) VALUES (?1, ?2, ?3, ?4)")?
                .execute(params![int(row.seq), int(row.request), row.version, &*row.body])?;
        }
        for row in &changes.entries {
            db.prepare_cached("INSERT INTO ledger (seq, request, entry, hash) VALUES (?1, ?2, ?3, ?4)")?
                .execute(params![int(row.seq), row.request.map(int), row.text, &row.hash.as_bytes()[..]])?;
        }
        for row in &changes.answers {
            let put = if row.stored {
                "INSERT INTO idempotency (scope, body, request, answer, created_at) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (scope) DO UPDATE SET body = excluded.body, request = excluded.request, answer = excluded.answer, created_at = excluded.created_at"
            } else {
                "INSERT INTO idempotency (scope, body, request, answer, created_at) VALUES (?1, ?2, ?3, ?4, ?5)"
            };
            db.prepare_cached(put)?.execute(params![
                &row.scope[..],
                &row.body[..],
                row.request.map(|(seq, _)| int(seq)),
                row.answer,
                changes.now.micros()
            ])?;
        }
        for (agent, pending) in &changes.tallies {
            db.prepare_cached(
                "INSERT INTO tallies (agent, pending) VALUES (?1, ?2) ON CONFLICT (agent) DO UPDATE SET pending = excluded.pending",
            )?
            .execute(params![agent, int(*pending)])?;
        }
        self.write_rare(changes)?;
        self.write_standing(changes)?;
        self.write_sign_ins(changes)?;
        events::write(db, changes)?;
        if changes.entries.is_empty() {
            // The ledger ends where it ended.
            return Ok(());
        }
        db.prepare_cached(
            "UPDATE head SET epoch = ?1, seq = ?2, hash = ?3, principals_seq = ?4, at = ?5 WHERE one = 1",
        )?
        .execute(params![
            changes.head.head.epoch,
            int(changes.head.head.seq),
            &changes.head.head.hash.as_bytes()[..],
            int(changes.head.principals_seq),
            changes.now.micros(),
        ])?;
        Ok(())
    }

    /// Keys, people and deliveries: not in every batch.
    fn write_rare(&self, changes: &Changes) -> Result<(), StoreError> {
        let db = &self.connection;
        for row in &changes.keys {
            let key = &row.key;
            let revoked_at = key.revoked_at.map(Time::micros);
            if let Some(secret) = &row.secret {
                db.prepare_cached("INSERT INTO keys (id, role, name, secret, created_at, revoked_at, owner) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?
                    .execute(params![key.id.to_string(), key.role.as_str(), key.name, &secret[..], key.created_at.micros(), revoked_at, key.owner])?;
            } else {
                db.prepare_cached("UPDATE keys SET revoked_at = ?2 WHERE id = ?1")?
                    .execute(params![key.id.to_string(), revoked_at])?;
            }
        }
        for row in &changes.principals {
            db.prepare_cached(
                "INSERT INTO principals (name, kind, data) VALUES (?1, ?2, ?3)
                 ON CONFLICT (name) DO UPDATE SET kind = excluded.kind, data = excluded.data",
            )?
            .execute(params![row.name, row.data.kind(), row.data.text()?])?;
        }
        for name in &changes.removed_principals {
            db.prepare_cached("DELETE FROM principals WHERE name = ?1")?.execute([name])?;
        }
        for row in &changes.outbox {
            db.prepare_cached(raising!(
                "INSERT INTO outbox (channel, subject, wanted, told, state, attempts, next_at, give_up_at, lease_until, lease_owner)
                 VALUES (?1, ?2, ?3, 0, 'waiting', 0, ?4, ?5, ?6, ?7)"
            ))?
            .execute(params![
                row.channel,
                row.subject,
                int(row.wanted),
                row.next_at.micros(),
                row.give_up_at.micros(),
                row.lease.as_ref().map_or(0, |(_, until)| until.micros()),
                row.lease.as_ref().map(|(owner, _)| &**owner),
            ])?;
        }
        for news in &changes.raises {
            raise(db, news, changes.now)?;
        }
        Ok(())
    }

    /// Policies, standing approvals and trust: not in every batch either.
    fn write_standing(&self, changes: &Changes) -> Result<(), StoreError> {
        let db = &self.connection;
        for PolicyRow { version, text } in &changes.policies {
            db.prepare_cached(
                "INSERT INTO policies (seq, hash, source, who, at, text) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![
                int(version.seq),
                version.hash,
                version.source,
                version.by,
                version.at.micros(),
                &**text
            ])?;
        }
        for row in &changes.grants {
            db.prepare_cached(
                "INSERT INTO grants (id, data, digest, pattern, used) VALUES (?1, ?2, ?3, ?4, 0)",
            )?
            .execute(params![
                row.grant.id.to_string(),
                serde_json::to_string(&*row.grant)?,
                row.digest(),
                row.pattern()
            ])?;
        }
        for (id, used) in &changes.used {
            let counted = db
                .prepare_cached("UPDATE grants SET used = ?2 WHERE id = ?1")?
                .execute(params![id.to_string(), used])?;
            if counted != 1 {
                return Err(StoreError::Damaged(format!("{id} has no row to count its uses in")));
            }
        }
        for (id, why) in &changes.ended {
            db.prepare_cached("UPDATE grants SET ended_at = ?2, ended_why = ?3 WHERE id = ?1")?
                .execute(params![id.to_string(), changes.now.micros(), why.map(GrantEnd::as_str)])?;
        }
        if changes.no_trust {
            db.execute_batch("DELETE FROM trust; DELETE FROM notes")?;
            db.execute("DELETE FROM outbox WHERE channel = ?1", [door::PUSH])?;
        }
        let (now, idle) = (changes.now.micros(), idle_before(changes.now).micros());
        for (digest, change) in &changes.trust {
            let key = digest;
            let digest = &digest[..];
            match change {
                TrustChange::Reset => {
                    let [first, last] = of_call(key);
                    db.prepare_cached("DELETE FROM trust WHERE digest BETWEEN ?1 AND ?2")?
                        .execute([&first[..], &last[..]])?
                }
                TrustChange::Approved { asked, seq } => db
                    .prepare_cached(
                        "INSERT INTO trust (digest, count, at, seq) VALUES (?1, 1, ?2, ?3) ON CONFLICT (digest) DO UPDATE
                         SET count = CASE WHEN trust.at <= ?4 THEN 0 ELSE trust.count END + 1, at = excluded.at, seq = excluded.seq
                         WHERE ?5 > trust.seq",
                    )?
                    .execute(params![digest, now, int(*seq), idle, int(*asked)])?,
                TrustChange::Failed => db
                    .prepare_cached("UPDATE trust SET count = max(count - 1, 0) WHERE digest = ?1")?
                    .execute([digest])?,
            };
        }
        Ok(())
    }

    /// Sessions, one-time links and passwords: rarer still.
    fn write_sign_ins(&self, changes: &Changes) -> Result<(), StoreError> {
        let (db, rows) = (&self.connection, &changes.sign_ins);
        for id in &rows.ended {
            db.prepare_cached("DELETE FROM sessions WHERE id = ?1")?.execute([id.to_string()])?;
        }
        for name in &rows.gone_links {
            db.prepare_cached("DELETE FROM links WHERE name = ?1")?.execute([name])?;
        }
        for name in &rows.gone_passwords {
            db.prepare_cached("DELETE FROM passwords WHERE name = ?1")?.execute([name])?;
        }
        for what in &rows.forgotten {
            let (kind, name) = voided_columns(what);
            db.prepare_cached("DELETE FROM voided WHERE kind = ?1 AND name = ?2")?.execute([kind, &name])?;
        }
        for (what, at) in &rows.voided {
            let (kind, name) = voided_columns(what);
            db.prepare_cached(
                "INSERT INTO voided (kind, name, at) VALUES (?1, ?2, ?3)
                 ON CONFLICT (kind, name) DO UPDATE SET at = excluded.at",
            )?
            .execute(params![kind, name, at.micros()])?;
        }
        for id in &rows.lifted {
            db.prepare_cached("DELETE FROM freezes WHERE id = ?1")?.execute([id.to_string()])?;
        }
        if rows.reminder != Reminder::Unchanged {
            db.prepare_cached("DELETE FROM meta WHERE name = 'unconfirmed'")?.execute([])?;
            if let Reminder::Since(at) = rows.reminder {
                db.prepare_cached("INSERT INTO meta (name, value) VALUES ('unconfirmed', ?1)")?
                    .execute([at.to_string()])?;
            }
        }
        for freeze in &rows.frozen {
            db.prepare_cached("INSERT INTO freezes (id, data) VALUES (?1, ?2)")?
                .execute(params![freeze.id.to_string(), serde_json::to_string(&**freeze)?])?;
        }
        for NewSession { session, secret, user_agent, key } in &rows.opened {
            let created = session.created_at.micros();
            db.prepare_cached(
                "INSERT INTO sessions (id, name, via, created_at, expires_at, secret, rotated_at, last_seen_at, user_agent, bound)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?4, ?4, ?7, ?8)",
            )?
            .execute(params![
                session.id.to_string(),
                session.name,
                session.via.as_str(),
                created,
                session.expires_at.micros(),
                &secret[..],
                user_agent,
                &key[..]
            ])?;
        }
        for NewLink { name, token, expires_at } in &rows.links {
            db.prepare_cached(
                "INSERT INTO links (name, token, expires_at) VALUES (?1, ?2, ?3)
                 ON CONFLICT (name) DO UPDATE SET token = excluded.token, expires_at = excluded.expires_at",
            )?
            .execute(params![name, &token[..], expires_at.micros()])?;
        }
        for (name, hash) in &rows.passwords {
            db.prepare_cached(
                "INSERT INTO passwords (name, hash) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET hash = excluded.hash",
            )?
            .execute(params![name, &**hash])?;
        }
        Ok(())
    }

    /// One transaction around something small.
    fn within<T>(&self, body: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        let done = body(&self.connection).and_then(|value| {
            self.connection.execute_batch("COMMIT")?;
            Ok(value)
        });
        if done.is_err() {
            self.undo();
        }
        done
    }

    fn undo(&self) {
        if !self.connection.is_autocommit()
            && let Err(error) = self.connection.execute_batch("ROLLBACK")
        {
            tracing::warn!(%error, "a transaction could not be rolled back");
        }
    }
}

fn tally(db: &Connection, agent: &str) -> Result<u64, StoreError> {
    let mut find = db.prepare_cached("SELECT pending FROM tallies WHERE agent = ?1")?;
    // An agent that was never counted has nothing pending.
    Ok(find.query_row([agent], |row| number(row, 0)).optional()?.unwrap_or(0))
}

impl Backend for SqliteWriter {
    async fn begin(&mut self, reads: &ReadSet) -> Result<Loaded, StoreError> {
        self.load(reads)
    }

    async fn directory(&mut self) -> Result<Directory, StoreError> {
        readers::directory(&self.connection)
    }

    async fn live_of(&mut self, agent: Option<&str>) -> Result<Vec<Arc<Request>>, StoreError> {
        readers::live(&self.connection, agent)
    }

    async fn commit(&mut self, changes: &Changes) -> Result<(), CommitError> {
        self.write(changes).map_err(CommitError::Not)?;
        let committed = self.connection.prepare_cached("COMMIT").and_then(|mut commit| commit.execute([]));
        // A failed COMMIT leaves the transaction open (and is rolled back) unless stable storage itself failed.
        committed.map_err(|error| CommitError::Not(error.into()))?;
        self.recent.committed(changes.requests.iter().map(|row| row.request.clone()));
        Ok(())
    }

    async fn rollback(&mut self) {
        self.undo();
    }

    async fn was_committed(&mut self, _batch: [u8; 16]) -> Result<bool, StoreError> {
        // Nothing between this process and its file can lose an answer.
        Ok(false)
    }

    async fn lease(
        &mut self,
        owner: &str,
        channels: &Channels,
        limit: u32,
        until: Duration,
    ) -> Result<Vec<Delivery>, StoreError> {
        let now = self.time.now();
        let (names, meant) = channels.names();
        let names = serde_json::Value::from(names).to_string();
        self.within(|db| {
            let mut lease = db.prepare_cached(
                "UPDATE outbox SET lease_until = ?3, lease_owner = ?2 WHERE (channel, subject) IN (
                     SELECT channel, subject FROM outbox WHERE state = 'waiting' AND next_at <= ?1 AND lease_until <= ?1
                         AND (channel IN (SELECT value FROM json_each(?5))) = ?6 ORDER BY next_at, wanted LIMIT ?4)
                 RETURNING channel, subject, wanted, body, attempts",
            )?;
            let rows = lease.query_map(params![now.micros(), owner, now.plus(until).micros(), limit, names, meant], delivery)?;
            let mut leased = rows.collect::<Result<Vec<_>, _>>()?;
            leased.sort_by_key(|delivery| delivery.wanted);
            Ok(leased)
        })
    }

    async fn attempt(
        &mut self,
        delivery: &Delivery,
        owner: &str,
        result: &AttemptResult,
    ) -> Result<(), StoreError> {
        let now = self.time.now();
        self.within(|db| {
            let found = db
                .prepare_cached(
                    "SELECT wanted, told, attempts, give_up_at FROM outbox
                     WHERE channel = ?1 AND subject = ?2 AND state = 'waiting' AND lease_owner = ?3 AND wanted >= ?4",
                )?
                .query_row(params![delivery.channel, delivery.subject, owner, int(delivery.wanted)], |row| {
                    Ok(WaitingRow {
                        wanted: number(row, 0)?,
                        told: number(row, 1)?,
                        attempts: row.get(2)?,
                        give_up_at: Time::from_micros(row.get(3)?),
                    })
                })
                .optional()?;
            // The lease ran out and another owner has it: the result of that owner counts. A row with a lower level is a new one.
            let Some(row) = found else { return Ok(()) };
            let after = row.after(delivery.wanted, result, now);
            db.prepare_cached(
                "UPDATE outbox SET state = ?3, told = ?4, attempts = ?5, next_at = ?6, lease_until = 0, lease_owner = NULL,
                     last_error = ?7, body = CASE WHEN ?4 < wanted THEN body END
                 WHERE channel = ?1 AND subject = ?2",
            )?
            .execute(params![
                delivery.channel,
                delivery.subject,
                after.state,
                int(after.told),
                after.attempts,
                after.next_at.micros(),
                after.error,
            ])?;
            Ok(())
        })
    }

    async fn use_session(
        &mut self,
        id: SessionId,
        secret: [u8; 32],
        next: Option<[u8; 32]>,
    ) -> Result<(), StoreError> {
        let now = self.time.now().micros();
        self.within(|db| {
            db.prepare_cached("UPDATE sessions SET last_seen_at = max(last_seen_at, ?2) WHERE id = ?1")?
                .execute(params![id.to_string(), now])?;
            if let Some(next) = next {
                db.prepare_cached(
                    "UPDATE sessions SET secret = ?3, previous = secret, rotated_at = ?4 WHERE id = ?1 AND secret = ?2",
                )?
                .execute(params![id.to_string(), &secret[..], &next[..], now])?;
            }
            Ok(())
        })
    }

    async fn prune_events(&mut self, keep: u64, before: Time) -> Result<u64, StoreError> {
        self.within(|db| events::prune(db, keep, before))
    }

    async fn add_document(
        &mut self,
        document: &NewDocument,
        most: u32,
    ) -> Result<DocumentOutcome, StoreError> {
        let NewDocument { kind, name, body } = document;
        let now = self.time.now();
        self.within(|db| {
            let (there, same): (u32, u32) = db
                .prepare_cached(
                    "SELECT count(*), count(*) FILTER (WHERE name = ?2) FROM documents WHERE kind = ?1",
                )?
                .query_row([*kind, name], |row| Ok((row.get(0)?, row.get(1)?)))?;
            if same > 0 {
                return Ok(DocumentOutcome::NameTaken);
            }
            if there >= most {
                return Ok(DocumentOutcome::TooMany);
            }
            db.prepare_cached(
                "INSERT INTO documents (kind, name, created_at, body) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![kind, name, now.micros(), &**body])?;
            Ok(DocumentOutcome::Stored)
        })
    }

    async fn change_notes(
        &mut self,
        changes: &[NoteChange],
        most: u64,
        _batch: [u8; 16],
    ) -> Result<NotesOutcome, NotesError> {
        let now = self.time.now();
        self.within(|db| notes::change(db, changes, most, now)).map_err(NotesError::Not)
    }

    async fn prune_notes(&mut self) -> Result<u64, StoreError> {
        let now = self.time.now();
        self.within(|db| notes::prune(db, now))
    }

    async fn prune(&mut self, before: Time) -> Result<(), StoreError> {
        self.within(|db| {
            db.prepare_cached(
                "DELETE FROM idempotency WHERE id IN (
                     SELECT i.id FROM idempotency i LEFT JOIN requests r ON r.seq = i.request
                     WHERE i.created_at < ?1 AND (r.seq IS NULL OR (r.deadline IS NULL AND r.state <> 'unknown' AND r.changed_at < ?1)) ORDER BY i.created_at LIMIT 1000)",
            )?
            .execute([before.micros()])?;
            // As long as somebody follows, what they were told is known.
            db.prepare_cached(
                "DELETE FROM outbox WHERE (channel, subject) IN (
                     SELECT o.channel, o.subject FROM outbox o WHERE o.state <> 'waiting' AND o.next_at < ?1
                         AND NOT EXISTS (SELECT 1 FROM notes n WHERE n.kind = o.channel AND n.key = o.subject) LIMIT 1000)",
            )?
            .execute([before.micros()])?;
            let long_ago = idle_before(before).micros();
            db.prepare_cached("DELETE FROM trust WHERE digest IN (SELECT digest FROM trust WHERE at < ?1 LIMIT 1000)")?
                .execute([long_ago])?;
            db.prepare_cached("DELETE FROM grants WHERE id IN (SELECT id FROM grants WHERE ended_at < ?1 LIMIT 1000)")?
                .execute([long_ago])?;
            Ok(())
        })
    }
}

fn delivery(row: &Row<'_>) -> rusqlite::Result<Delivery> {
    Ok(Delivery {
        channel: row.get(0)?,
        subject: row.get(1)?,
        wanted: number(row, 2)?,
        body: row.get::<_, Option<String>>(3)?.map(Arc::from),
        attempts: row.get(4)?,
    })
}

/// Raises the rows of all who follow something.
pub(super) fn raise(db: &Connection, news: &Raise, now: Time) -> Result<(), StoreError> {
    db.prepare_cached(raising!(
        "INSERT INTO outbox (channel, subject, wanted, told, body, state, attempts, next_at, give_up_at, lease_until)
         SELECT n.kind, n.key, ?3, 0, ?4, 'waiting', 0, ?5, ?6, 0 FROM notes n WHERE n.kind = ?1 AND n.scope = ?2"
    ))?
    .execute(params![
        news.channel,
        news.scope,
        int(news.wanted),
        news.body.as_deref(),
        now.micros(),
        Raise::give_up_at(now).micros(),
    ])?;
    Ok(())
}
