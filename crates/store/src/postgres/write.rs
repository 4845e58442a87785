//! The statements of the writer in Postgres: prepared once per connection, with whole columns as array parameters.

use placet_core::{GrantEnd, Time, door};
use tokio_postgres::{Client, Error, Statement as Prepared};

use super::{
    notes, plain,
    session::{Statement, requests, simple},
};
use crate::{
    StoreError,
    backend::Changes,
    keyed::of_call,
    outbox::raising,
    policies::{TrustChange, idle_before},
    rows::{AnswerRow, int},
    sessions::{Reminder, voided_columns},
};

/// Prepares every statement in one round trip.
macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $sql:expr;)*) => {
        pub(super) struct Statements {
            $($(#[$doc])* pub(super) $name: Prepared,)*
        }

        impl Statements {
            pub(super) async fn prepare(client: &Client) -> Result<Self, Error> {
                let ($($name,)*) = futures_util::try_join!($(client.prepare($sql)),*)?;
                Ok(Self { $($name),* })
            }
        }
    };
}

statements! {
    /// The lock that makes a batch the only writer.
    head = "SELECT FROM head WHERE one = 1 FOR UPDATE";
    /// The same, with where the ledger ends and the hash of an entry that must be in it.
    begin = "SELECT epoch, seq, hash, principals_seq, at, (SELECT l.hash FROM ledger l WHERE l.seq = $1)
             FROM head WHERE one = 1 FOR UPDATE OF head";
    /// The clock that rules over deadlines.
    clock = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
    answers = "SELECT i.scope, i.body, i.request, r.id, i.answer FROM idempotency i LEFT JOIN requests r ON r.seq = i.request WHERE i.scope = ANY ($1)";
    /// Requests by id, and those that an idempotency key answers with.
    requests = requests!(
        "(SELECT seq FROM requests WHERE id = ANY ($1)
          UNION SELECT request FROM idempotency WHERE scope = ANY ($2) AND request IS NOT NULL) n JOIN requests r ON r.seq = n.seq"
    );
    /// Counts of the agents that are named, and of those whose requests are read.
    tallies = "SELECT t.agent, t.pending FROM (
                   SELECT unnest($1::text[]) AS agent
                   UNION SELECT agent FROM requests WHERE id = ANY ($2)
                   UNION SELECT r.agent FROM idempotency i JOIN requests r ON r.seq = i.request WHERE i.scope = ANY ($3)) a
               JOIN tallies t ON t.agent = a.agent";

    /// How often standing approvals were used, and what people approved before.
    uses = "SELECT id, used FROM grants WHERE id = ANY ($1)";
    trust = "SELECT digest, count, at, seq FROM trust WHERE digest = ANY ($1)";

    put_requests = "INSERT INTO requests (seq, id, version, state, kind, agent, session, tool, risk, grp, created_at, deadline, meta, source, changed_at)
                    SELECT n.*, $15 FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
                                         $9::text[], $10::text[], $11::bigint[], $12::bigint[], $13::text[], $14::text[]) n";
    put_decided_by = "INSERT INTO decided_by (name, request) SELECT * FROM unnest($1::text[], $2::bigint[])";
    set_requests = "WITH changed AS (
                        UPDATE requests r SET version = n.version, state = n.state, deadline = n.deadline, meta = n.meta, risk = n.risk, changed_at = $7
                        FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::text[], $8::text[])
                            AS n (seq, version, state, deadline, meta, risk)
                        WHERE r.seq = n.seq RETURNING 1)
                    SELECT placet_expect(count(*), $6, 'requests to update') FROM changed";
    put_payloads = "INSERT INTO payloads (seq, request, version, body) SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[])";
    put_entries = "INSERT INTO ledger (seq, request, entry, hash) SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bytea[])";
    put_answers = "INSERT INTO idempotency (scope, body, request, answer, created_at)
                   SELECT n.*, $5 FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::text[]) n";
    /// Where a weak key points elsewhere now. Another node may have pruned the old row meanwhile.
    set_answers = "INSERT INTO idempotency (scope, body, request, answer, created_at)
                   SELECT n.*, $5 FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::text[]) n
                   ON CONFLICT (scope) DO UPDATE
                   SET body = excluded.body, request = excluded.request, answer = excluded.answer, created_at = excluded.created_at";
    put_tallies = "INSERT INTO tallies (agent, pending) SELECT * FROM unnest($1::text[], $2::bigint[])
                   ON CONFLICT (agent) DO UPDATE SET pending = excluded.pending";
    put_keys = "INSERT INTO keys (id, role, name, secret, created_at, revoked_at, owner)
                SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::bigint[], $6::bigint[], $7::text[])";
    set_keys = "WITH changed AS (
                    UPDATE keys k SET revoked_at = n.revoked_at FROM unnest($1::text[], $2::bigint[]) AS n (id, revoked_at)
                    WHERE k.id = n.id RETURNING 1)
                SELECT placet_expect(count(*), $3, 'keys to update') FROM changed";
    put_principals = "INSERT INTO principals (name, kind, data) SELECT * FROM unnest($1::text[], $2::text[], $3::text[])
                      ON CONFLICT (name) DO UPDATE SET kind = excluded.kind, data = excluded.data";
    cut_principals = "DELETE FROM principals WHERE name = ANY ($1)";
    put_outbox = raising!(
        "INSERT INTO outbox (channel, subject, wanted, told, state, attempts, next_at, give_up_at, lease_until, lease_owner)
         SELECT n.channel, n.subject, n.wanted, 0, 'waiting', 0, n.next_at, n.give_up_at, n.lease_until, n.lease_owner
         FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[])
             AS n (channel, subject, wanted, next_at, give_up_at, lease_until, lease_owner)"
    );
    raise = raising!(
        "INSERT INTO outbox (channel, subject, wanted, told, body, state, attempts, next_at, give_up_at, lease_until)
         SELECT n.kind, n.key, $3::bigint, 0, $4::text, 'waiting', 0, $5::bigint, $6::bigint, 0
         FROM notes n WHERE n.kind = $1 AND n.scope = $2"
    );
    retry = "UPDATE outbox SET state = 'waiting', attempts = 0, next_at = $3, give_up_at = $4, last_error = NULL
             WHERE channel = $1 AND subject = $2 AND told < wanted";
    put_policies = "INSERT INTO policies (seq, hash, source, who, at, text)
                    SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[])";
    put_grants = "INSERT INTO grants (id, data, digest, pattern, used)
                  SELECT n.*, 0 FROM unnest($1::text[], $2::text[], $3::bytea[], $4::text[]) n";
    use_grants = "WITH counted AS (
                      UPDATE grants g SET used = n.used FROM unnest($1::text[], $2::bigint[]) AS n (id, used) WHERE g.id = n.id RETURNING 1)
                  SELECT placet_expect(count(*), $3, 'standing approvals to count') FROM counted";
    end_grants = "UPDATE grants g SET ended_at = $3, ended_why = n.why FROM unnest($1::text[], $2::text[]) AS n (id, why) WHERE g.id = n.id";
    no_trust = "DELETE FROM trust";
    no_notes = "DELETE FROM notes";
    no_followers = "DELETE FROM outbox WHERE channel = $1";
    cut_trust = "DELETE FROM trust WHERE digest BETWEEN $1 AND $2";
    add_trust = "INSERT INTO trust (digest, count, at, seq) VALUES ($1, 1, $2, $3) ON CONFLICT (digest) DO UPDATE
                 SET count = CASE WHEN trust.at <= $4 THEN 0 ELSE trust.count END + 1, at = excluded.at, seq = excluded.seq
                 WHERE $5 > trust.seq";
    take_trust = "UPDATE trust SET count = greatest(count - 1, 0) WHERE digest = $1";
    cut_unconfirmed = "DELETE FROM meta WHERE name = 'unconfirmed'";
    put_unconfirmed = "INSERT INTO meta (name, value) VALUES ('unconfirmed', $1)";
    cut_freezes = "DELETE FROM freezes WHERE id = ANY ($1)";
    put_freeze = "INSERT INTO freezes (id, data) VALUES ($1, $2)";
    cut_voided = "DELETE FROM voided WHERE kind = $1 AND name = $2";
    put_voided = "INSERT INTO voided (kind, name, at) VALUES ($1, $2, $3)
                  ON CONFLICT (kind, name) DO UPDATE SET at = excluded.at";
    end_sessions = "DELETE FROM sessions WHERE id = ANY ($1)";
    cut_links = "DELETE FROM links WHERE name = ANY ($1)";
    cut_passwords = "DELETE FROM passwords WHERE name = ANY ($1)";
    put_session = "INSERT INTO sessions (id, name, via, created_at, expires_at, secret, rotated_at, last_seen_at, user_agent, bound)
                   VALUES ($1, $2, $3, $4, $5, $6, $4, $4, $7, $8)";
    put_link = "INSERT INTO links (name, token, expires_at) VALUES ($1, $2, $3)
                ON CONFLICT (name) DO UPDATE SET token = excluded.token, expires_at = excluded.expires_at";
    put_password = "INSERT INTO passwords (name, hash) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET hash = excluded.hash";
    seen_session = "UPDATE sessions SET last_seen_at = greatest(last_seen_at, $2) WHERE id = $1";
    turn_session = "UPDATE sessions SET secret = $3, previous = secret, rotated_at = $4 WHERE id = $1 AND secret = $2";
    /// Events of the observability door.
    last_event = "SELECT coalesce(max(id), 0) FROM events";
    put_events = "INSERT INTO events (id, received_at, agent, request, source_app, session_id, hook_event_type, timestamp, body)
                  SELECT n.id, $2, n.agent, n.request, n.source_app, n.session_id, n.hook_event_type, n.timestamp, n.body
                  FROM unnest($1::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::text[])
                      AS n (id, agent, request, source_app, session_id, hook_event_type, timestamp, body)";
    put_words = "INSERT INTO event_words (kind, word, seen) SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[])
                 ON CONFLICT (kind, word) DO UPDATE SET seen = greatest(event_words.seen, excluded.seen)";
    prune_events = "WITH old AS MATERIALIZED (
                        SELECT o.id FROM (
                            SELECT e.id, e.received_at FROM events e LEFT JOIN requests r ON r.id = e.request
                            WHERE r.state IS NULL OR r.state <> 'pending' ORDER BY e.id LIMIT $3) o
                        WHERE o.id < (SELECT max(id) FROM events) AND (o.id <= (SELECT max(id) FROM events) - $1 OR o.received_at < $2)),
                    gone AS (DELETE FROM events e USING old WHERE e.id = old.id RETURNING 1)
                    SELECT count(*) FROM gone";
    prune_words = "DELETE FROM event_words WHERE seen < (SELECT id FROM events WHERE request IS NULL ORDER BY id LIMIT 1) - $1";
    count_documents = "SELECT count(*), count(*) FILTER (WHERE name = $2) FROM documents WHERE kind = $1";
    put_document = "INSERT INTO documents (kind, name, created_at, body) VALUES ($1, $2, $3, $4)";
    /// Notes of doors.
    find_notes = "SELECT n.kind, n.key, n.version, n.owner, n.open
                  FROM unnest($1::text[], $2::text[]) AS w (kind, key) JOIN notes n ON n.kind = w.kind AND n.key = w.key";
    count_notes = "SELECT w.kind, w.owner, (SELECT count(*) FROM (
                       SELECT 1 FROM notes n WHERE n.kind = w.kind AND n.owner = w.owner AND n.open = 1 LIMIT $3) c)
                   FROM unnest($1::text[], $2::text[]) AS w (kind, owner)";
    put_note = "INSERT INTO notes (kind, key, owner, scope, open, version, at, keep_until, body)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
                ON CONFLICT (kind, key) DO UPDATE SET owner = excluded.owner, scope = excluded.scope, open = excluded.open,
                    version = excluded.version, at = excluded.at, keep_until = excluded.keep_until, body = excluded.body";
    cut_note = "WITH told AS (DELETE FROM outbox WHERE channel = $1 AND subject = $2)
                DELETE FROM notes WHERE kind = $1 AND key = $2";
    prune_notes = "WITH old AS MATERIALIZED (SELECT kind, key FROM notes WHERE keep_until < $1 ORDER BY keep_until LIMIT $2),
                   told AS (DELETE FROM outbox o USING old WHERE o.channel = old.kind AND o.subject = old.key),
                   gone AS (DELETE FROM notes n USING old WHERE n.kind = old.kind AND n.key = old.key RETURNING 1)
                   SELECT count(*) FROM gone";
    /// The name of a batch that does not move the head.
    name_batch = "INSERT INTO writers (node, batch, at) VALUES ($1, $2, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
                  ON CONFLICT (node) DO UPDATE SET batch = excluded.batch, at = excluded.at";
    /// Only from where this batch began: nothing can have come in between. With it goes the batch's name, by which
    /// its commit can be looked up, and the hint to the other nodes.
    set_head = "WITH mine AS (
                    INSERT INTO writers (node, batch, at) VALUES ($6, $7, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
                    ON CONFLICT (node) DO UPDATE SET batch = excluded.batch, at = excluded.at),
                changed AS (
                    UPDATE head SET epoch = $1, seq = $2, hash = $3, principals_seq = $4, at = $9 WHERE one = 1 AND seq = $5 RETURNING 1)
                SELECT placet_expect(count(*), 1, 'heads of the ledger to advance'), pg_notify('placet', $8) FROM changed";
    /// A new epoch ends a restore: from here on the database may be served.
    end_restore = "DELETE FROM meta WHERE name = 'restoring'";

    writer = "SELECT batch FROM writers WHERE node = $1";
    lease = "WITH due AS MATERIALIZED (
                 SELECT channel, subject FROM outbox WHERE state = 'waiting' AND next_at <= $1 AND lease_until <= $1
                     AND (channel = ANY ($5::text[])) = $6 ORDER BY next_at, wanted LIMIT $4
                 FOR UPDATE SKIP LOCKED)
             UPDATE outbox o SET lease_until = $3, lease_owner = $2 FROM due
             WHERE o.channel = due.channel AND o.subject = due.subject
             RETURNING o.channel, o.subject, o.wanted, o.body, o.attempts";
    leased = "SELECT wanted, told, attempts, give_up_at FROM outbox
              WHERE channel = $1 AND subject = $2 AND state = 'waiting' AND lease_owner = $3 AND wanted >= $4 FOR UPDATE";
    attempted = "UPDATE outbox SET state = $3, told = $4, attempts = $5, next_at = $6, lease_until = 0, lease_owner = NULL,
                     last_error = $7, body = CASE WHEN $4 < wanted THEN body END
                 WHERE channel = $1 AND subject = $2";
    prune_answers = "WITH old AS MATERIALIZED (
                         SELECT i.id FROM idempotency i LEFT JOIN requests r ON r.seq = i.request
                         WHERE i.created_at < $1 AND (r.seq IS NULL OR (r.deadline IS NULL AND r.state <> 'unknown' AND r.changed_at < $1))
                         ORDER BY i.created_at LIMIT 1000)
                     DELETE FROM idempotency i USING old WHERE i.id = old.id";
    /// As long as somebody follows, what they were told is known.
    prune_outbox = "WITH old AS MATERIALIZED (
                        SELECT o.channel, o.subject FROM outbox o WHERE o.state <> 'waiting' AND o.next_at < $1
                            AND NOT EXISTS (SELECT 1 FROM notes n WHERE n.kind = o.channel AND n.key = o.subject) LIMIT 1000
                        FOR UPDATE OF o SKIP LOCKED)
                    DELETE FROM outbox o USING old
                    WHERE o.channel = old.channel AND o.subject = old.subject AND o.state <> 'waiting' AND o.next_at < $1";
    prune_trust = "DELETE FROM trust WHERE digest IN (SELECT digest FROM trust WHERE at < $1 LIMIT 1000)";
    prune_grants = "DELETE FROM grants WHERE id IN (SELECT id FROM grants WHERE ended_at < $1 LIMIT 1000)";
}

/// One statement of a batch, with its parameters inside.
macro_rules! send {
    ($client:ident, $statement:expr, $($param:expr),* $(,)?) => {{
        let (client, statement) = ($client, $statement);
        Box::pin(async move { client.query(statement, &[$(&$param),*]).await }) as Statement<'_>
    }};
}
pub(super) use send;

/// Where a batch began.
#[derive(Debug, Clone)]
pub(super) struct Begun {
    pub(super) seq: u64,
    pub(super) epoch: String,
}

impl Statements {
    /// Everything a batch writes, its commit last. What there is nothing of is not sent.
    pub(super) fn batch<'a>(
        &'a self,
        client: &'a Client,
        changes: &'a Changes,
        begun: &Begun,
        node: &'a str,
    ) -> Result<Vec<Statement<'a>>, StoreError> {
        let mut all = Vec::with_capacity(16);
        self.requests(client, changes, &mut all);
        if !changes.decided_by.is_empty() {
            let (names, requests): (Vec<&str>, Vec<i64>) =
                changes.decided_by.iter().map(|(name, request)| (name.as_str(), int(*request))).unzip();
            all.push(send!(client, &self.put_decided_by, names, requests));
        }
        if !changes.payloads.is_empty() {
            let rows = &changes.payloads;
            let seqs: Vec<i64> = rows.iter().map(|row| int(row.seq)).collect();
            let requests: Vec<i64> = rows.iter().map(|row| int(row.request)).collect();
            let versions: Vec<i64> = rows.iter().map(|row| i64::from(row.version)).collect();
            let bodies: Vec<&str> = rows.iter().map(|row| &*row.body).collect();
            all.push(send!(client, &self.put_payloads, seqs, requests, versions, bodies));
        }
        if !changes.entries.is_empty() {
            let rows = &changes.entries;
            let seqs: Vec<i64> = rows.iter().map(|row| int(row.seq)).collect();
            let requests: Vec<Option<i64>> = rows.iter().map(|row| row.request.map(int)).collect();
            let texts: Vec<&str> = rows.iter().map(|row| row.text.as_str()).collect();
            let hashes: Vec<&[u8]> = rows.iter().map(|row| &row.hash.as_bytes()[..]).collect();
            all.push(send!(client, &self.put_entries, seqs, requests, texts, hashes));
        }
        let (stored, new): (Vec<&AnswerRow>, Vec<&AnswerRow>) =
            changes.answers.iter().partition(|row| row.stored);
        for (rows, statement) in [(new, &self.put_answers), (stored, &self.set_answers)] {
            if rows.is_empty() {
                continue;
            }
            let scopes: Vec<&[u8]> = rows.iter().map(|row| &row.scope[..]).collect();
            let bodies: Vec<&[u8]> = rows.iter().map(|row| &row.body[..]).collect();
            let requests: Vec<Option<i64>> =
                rows.iter().map(|row| row.request.map(|(seq, _)| int(seq))).collect();
            let answers: Vec<Option<&str>> = rows.iter().map(|row| row.answer.as_deref()).collect();
            all.push(send!(client, statement, scopes, bodies, requests, answers, changes.now.micros()));
        }
        if !changes.tallies.is_empty() {
            let (agents, pending): (Vec<&str>, Vec<i64>) =
                changes.tallies.iter().map(|(agent, pending)| (agent.as_str(), int(*pending))).unzip();
            all.push(send!(client, &self.put_tallies, agents, pending));
        }
        self.rare(client, changes, &mut all)?;
        self.standing(client, changes, &mut all)?;
        if !changes.sign_ins.is_empty() {
            self.sign_ins(client, changes, &mut all)?;
        }
        if !changes.events.is_empty() {
            self.events(client, changes, &mut all);
        }
        if changes.head.head.epoch != begun.epoch {
            all.push(send!(client, &self.end_restore,));
        }
        let (head, principals_seq) = (&changes.head.head, int(changes.head.principals_seq));
        let (seq, from, now) = (int(head.seq), int(begun.seq), changes.now.micros());
        let news = match changes.events.last() {
            Some(event) => format!("{} {}", head.seq, event.id),
            None => head.seq.to_string(),
        };
        let (hash, batch) = (&head.hash.as_bytes()[..], &changes.batch[..]);
        all.push(send!(
            client,
            &self.set_head,
            head.epoch,
            seq,
            hash,
            principals_seq,
            from,
            node,
            batch,
            news,
            now
        ));
        all.push(simple(client, "COMMIT"));
        Ok(all)
    }

    /// Events, and the words they can be filtered by.
    fn events<'a>(&'a self, client: &'a Client, changes: &'a Changes, all: &mut Vec<Statement<'a>>) {
        let rows = &changes.events;
        let ids: Vec<i64> = rows.iter().map(|row| int(row.id)).collect();
        let agents: Vec<_> = rows.iter().map(|row| plain(&row.agent)).collect();
        let requests: Vec<Option<String>> =
            rows.iter().map(|row| row.request.as_ref().map(|request| request.id.to_string())).collect();
        let apps: Vec<_> = rows.iter().map(|row| plain(&row.source_app)).collect();
        let sessions: Vec<_> = rows.iter().map(|row| plain(&row.session_id)).collect();
        let kinds: Vec<_> = rows.iter().map(|row| plain(&row.hook_event_type)).collect();
        let times: Vec<i64> = rows.iter().map(|row| row.timestamp).collect();
        let bodies: Vec<&str> = rows.iter().map(|row| &*row.body).collect();
        let now = changes.now.micros();
        all.push(send!(
            client,
            &self.put_events,
            ids,
            now,
            agents,
            requests,
            apps,
            sessions,
            kinds,
            times,
            bodies
        ));
        if !changes.words.is_empty() {
            let kinds: Vec<i64> = changes.words.iter().map(|row| i64::from(row.kind)).collect();
            let words: Vec<_> = changes.words.iter().map(|row| plain(&row.word)).collect();
            let seen: Vec<i64> = changes.words.iter().map(|row| int(row.seen)).collect();
            all.push(send!(client, &self.put_words, kinds, words, seen));
        }
    }

    fn requests<'a>(&'a self, client: &'a Client, changes: &'a Changes, all: &mut Vec<Statement<'a>>) {
        let (new, changed): (Vec<_>, Vec<_>) = changes.requests.iter().partition(|row| row.new);
        if !new.is_empty() {
            let of = |column: fn(&placet_core::Request) -> i64| {
                new.iter().map(|row| column(&row.request)).collect::<Vec<i64>>()
            };
            let (seqs, versions) = (of(|request| int(request.seq)), of(|request| i64::from(request.version)));
            let created = of(|request| request.created_at.micros());
            let deadlines: Vec<Option<i64>> =
                new.iter().map(|row| row.request.deadline().map(Time::micros)).collect();
            let ids: Vec<String> = new.iter().map(|row| row.request.id.to_string()).collect();
            let states: Vec<&str> = new.iter().map(|row| row.request.state.as_str()).collect();
            let kinds: Vec<&str> = new.iter().map(|row| row.request.kind.as_str()).collect();
            let agents: Vec<_> = new.iter().map(|row| plain(&row.request.agent)).collect();
            let sessions: Vec<_> = new.iter().map(|row| plain(&row.request.session)).collect();
            let tools: Vec<_> = new.iter().map(|row| row.request.tool.as_deref().map(plain)).collect();
            let risks: Vec<&str> = new.iter().map(|row| row.request.risk.as_str()).collect();
            let groups: Vec<_> = new.iter().map(|row| row.request.group.as_deref().map(plain)).collect();
            let metas: Vec<&str> = new.iter().map(|row| row.meta.as_str()).collect();
            let sources: Vec<_> = new.iter().map(|row| row.request.door().written().map(plain)).collect();
            all.push(send!(
                client,
                &self.put_requests,
                seqs,
                ids,
                versions,
                states,
                kinds,
                agents,
                sessions,
                tools,
                risks,
                groups,
                created,
                deadlines,
                metas,
                sources,
                changes.now.micros(),
            ));
        }
        if !changed.is_empty() {
            let seqs: Vec<i64> = changed.iter().map(|row| int(row.request.seq)).collect();
            let versions: Vec<i64> = changed.iter().map(|row| i64::from(row.request.version)).collect();
            let states: Vec<&str> = changed.iter().map(|row| row.request.state.as_str()).collect();
            let deadlines: Vec<Option<i64>> =
                changed.iter().map(|row| row.request.deadline().map(Time::micros)).collect();
            let metas: Vec<&str> = changed.iter().map(|row| row.meta.as_str()).collect();
            let risks: Vec<&str> = changed.iter().map(|row| row.request.risk.as_str()).collect();
            all.push(send!(
                client,
                &self.set_requests,
                seqs,
                versions,
                states,
                deadlines,
                metas,
                int(changed.len() as u64),
                changes.now.micros(),
                risks,
            ));
        }
    }

    /// Policies, standing approvals and trust: not in every batch either.
    fn standing<'a>(
        &'a self,
        client: &'a Client,
        changes: &'a Changes,
        all: &mut Vec<Statement<'a>>,
    ) -> Result<(), StoreError> {
        if !changes.policies.is_empty() {
            let of = || changes.policies.iter().map(|row| &row.version);
            let seqs: Vec<i64> = of().map(|version| int(version.seq)).collect();
            let hashes: Vec<&str> = of().map(|version| version.hash.as_str()).collect();
            let sources: Vec<_> = of().map(|version| plain(&version.source)).collect();
            let who: Vec<&str> = of().map(|version| version.by.as_str()).collect();
            let at: Vec<i64> = of().map(|version| version.at.micros()).collect();
            let texts: Vec<&str> = changes.policies.iter().map(|row| &*row.text).collect();
            all.push(send!(client, &self.put_policies, seqs, hashes, sources, who, at, texts));
        }
        if !changes.grants.is_empty() {
            let rows = &changes.grants;
            let ids: Vec<String> = rows.iter().map(|row| row.grant.id.to_string()).collect();
            let data = rows.iter().map(|row| serde_json::to_string(&*row.grant));
            let data = data.collect::<Result<Vec<String>, _>>()?;
            let digests: Vec<Option<&[u8]>> = rows.iter().map(|row| row.digest()).collect();
            let patterns: Vec<Option<&str>> = rows.iter().map(|row| row.pattern()).collect();
            all.push(send!(client, &self.put_grants, ids, data, digests, patterns));
        }
        if !changes.used.is_empty() {
            let (ids, used): (Vec<String>, Vec<i64>) =
                changes.used.iter().map(|(id, used)| (id.to_string(), i64::from(*used))).unzip();
            all.push(send!(client, &self.use_grants, ids, used, int(changes.used.len() as u64)));
        }
        if !changes.ended.is_empty() {
            let ids: Vec<String> = changes.ended.iter().map(|(id, _)| id.to_string()).collect();
            let why: Vec<Option<&str>> =
                changes.ended.iter().map(|(_, why)| why.map(GrantEnd::as_str)).collect();
            all.push(send!(client, &self.end_grants, ids, why, changes.now.micros()));
        }
        if changes.no_trust {
            all.push(send!(client, &self.no_trust,));
            all.push(send!(client, &self.no_notes,));
            all.push(send!(client, &self.no_followers, door::PUSH));
        }
        // One after the other: what comes later counts from what came before.
        let (now, idle) = (changes.now.micros(), idle_before(changes.now).micros());
        for (digest, change) in &changes.trust {
            let key = digest;
            let digest = &digest[..];
            all.push(match change {
                TrustChange::Reset => {
                    let [first, last] = of_call(key);
                    send!(client, &self.cut_trust, first.to_vec(), last.to_vec())
                }
                TrustChange::Approved { asked, seq } => {
                    send!(client, &self.add_trust, digest, now, int(*seq), idle, int(*asked))
                }
                TrustChange::Failed => send!(client, &self.take_trust, digest),
            });
        }
        Ok(())
    }

    /// Sessions, one-time links and passwords: rarer still, and one at a time.
    fn sign_ins<'a>(
        &'a self,
        client: &'a Client,
        changes: &'a Changes,
        all: &mut Vec<Statement<'a>>,
    ) -> Result<(), StoreError> {
        let rows = &changes.sign_ins;
        if !rows.ended.is_empty() {
            let ids: Vec<String> = rows.ended.iter().map(ToString::to_string).collect();
            all.push(send!(client, &self.end_sessions, ids));
        }
        if !rows.gone_links.is_empty() {
            all.push(send!(client, &self.cut_links, rows.gone_links));
        }
        if !rows.gone_passwords.is_empty() {
            all.push(send!(client, &self.cut_passwords, rows.gone_passwords));
        }
        if rows.reminder != Reminder::Unchanged {
            all.push(send!(client, &self.cut_unconfirmed,));
            if let Reminder::Since(at) = rows.reminder {
                all.push(send!(client, &self.put_unconfirmed, at.to_string()));
            }
        }
        if !rows.lifted.is_empty() {
            let ids: Vec<String> = rows.lifted.iter().map(ToString::to_string).collect();
            all.push(send!(client, &self.cut_freezes, ids));
        }
        for freeze in &rows.frozen {
            let data = serde_json::to_string(&**freeze)?;
            all.push(send!(client, &self.put_freeze, freeze.id.to_string(), data));
        }
        for what in &rows.forgotten {
            let (kind, name) = voided_columns(what);
            all.push(send!(client, &self.cut_voided, kind, name));
        }
        for (what, at) in &rows.voided {
            let (kind, name) = voided_columns(what);
            all.push(send!(client, &self.put_voided, kind, name, at.micros()));
        }
        for row in &rows.opened {
            let session = &row.session;
            all.push(send!(
                client,
                &self.put_session,
                session.id.to_string(),
                session.name,
                session.via.as_str(),
                session.created_at.micros(),
                session.expires_at.micros(),
                &row.secret[..],
                plain(&row.user_agent),
                &row.key[..],
            ));
        }
        for link in &rows.links {
            all.push(send!(client, &self.put_link, link.name, &link.token[..], link.expires_at.micros()));
        }
        for (name, hash) in &rows.passwords {
            all.push(send!(client, &self.put_password, name, &**hash));
        }
        Ok(())
    }

    /// Keys, people and deliveries: not in every batch.
    fn rare<'a>(
        &'a self,
        client: &'a Client,
        changes: &'a Changes,
        all: &mut Vec<Statement<'a>>,
    ) -> Result<(), StoreError> {
        let new: Vec<_> = changes
            .keys
            .iter()
            .filter_map(|row| row.secret.as_ref().map(|secret| (&row.key, &secret[..])))
            .collect();
        if !new.is_empty() {
            let ids: Vec<String> = new.iter().map(|(key, _)| key.id.to_string()).collect();
            let roles: Vec<&str> = new.iter().map(|(key, _)| key.role.as_str()).collect();
            let names: Vec<&str> = new.iter().map(|(key, _)| key.name.as_str()).collect();
            let secrets: Vec<&[u8]> = new.iter().map(|(_, secret)| *secret).collect();
            let created: Vec<i64> = new.iter().map(|(key, _)| key.created_at.micros()).collect();
            let revoked: Vec<Option<i64>> =
                new.iter().map(|(key, _)| key.revoked_at.map(Time::micros)).collect();
            let owners: Vec<Option<&str>> = new.iter().map(|(key, _)| key.owner.as_deref()).collect();
            all.push(send!(client, &self.put_keys, ids, roles, names, secrets, created, revoked, owners));
        }
        let changed: Vec<_> =
            changes.keys.iter().filter(|row| row.secret.is_none()).map(|row| &row.key).collect();
        if !changed.is_empty() {
            let ids: Vec<String> = changed.iter().map(|key| key.id.to_string()).collect();
            let revoked: Vec<Option<i64>> =
                changed.iter().map(|key| key.revoked_at.map(Time::micros)).collect();
            all.push(send!(client, &self.set_keys, ids, revoked, int(changed.len() as u64)));
        }
        if !changes.principals.is_empty() {
            let rows = &changes.principals;
            let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
            let kinds: Vec<&str> = rows.iter().map(|row| row.data.kind()).collect();
            let data = rows.iter().map(|row| row.data.text()).collect::<Result<Vec<String>, _>>()?;
            all.push(send!(client, &self.put_principals, names, kinds, data));
        }
        if !changes.removed_principals.is_empty() {
            all.push(send!(client, &self.cut_principals, changes.removed_principals));
        }
        if !changes.outbox.is_empty() {
            let rows = &changes.outbox;
            let channels: Vec<_> = rows.iter().map(|row| plain(&row.channel)).collect();
            let subjects: Vec<&str> = rows.iter().map(|row| row.subject.as_str()).collect();
            let wanted: Vec<i64> = rows.iter().map(|row| int(row.wanted)).collect();
            let next: Vec<i64> = rows.iter().map(|row| row.next_at.micros()).collect();
            let give_up: Vec<i64> = rows.iter().map(|row| row.give_up_at.micros()).collect();
            let until: Vec<i64> =
                rows.iter().map(|row| row.lease.as_ref().map_or(0, |(_, until)| until.micros())).collect();
            let owners: Vec<Option<&str>> =
                rows.iter().map(|row| row.lease.as_ref().map(|(owner, _)| &**owner)).collect();
            all.push(send!(
                client,
                &self.put_outbox,
                channels,
                subjects,
                wanted,
                next,
                give_up,
                until,
                owners
            ));
        }
        all.extend(changes.raises.iter().map(|news| notes::raise(client, self, news, changes.now)));
        Ok(())
    }
}
