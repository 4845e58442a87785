//! One node's writing connection: a batch is one transaction in two round trips, under the lock on the head row.

use std::{collections::HashMap, sync::Arc, time::Duration};

use placet_core::{Directory, Request, SessionId, Time};
use tokio::time::{error::Elapsed, timeout};
use tokio_postgres::{Client, Config, Row, types::Type};

use super::{
    config, known, notes, plain,
    readers::{self, BY_INDEX, Param, typed},
    session::{
        self, Driver, PipelineAnswers, Statement, broken, connect, failed, number, pipeline, read, request,
        requests, simple,
    },
    write::{Begun, Statements, send},
};
use crate::{
    AttemptResult, Channels, Delivery, DocumentOutcome, NewDocument, NoteChange, NotesOutcome, Reading,
    StoreError, Timeline,
    backend::{Backend, Changes, CommitError, Loaded, NotesError, ReadSet},
    events::{MARK_EVERY, PRUNED},
    history::History,
    notes as noted,
    outbox::WaitingRow,
    policies::{TrustRow, idle_before},
    rows::{AnswerRow, bytes32, int, parse, uint},
};

/// A node that stops in the middle of a batch holds the lock for at most as long as the server lets it idle; the
/// others wait a little longer than that, so that they get their turn instead of an error.
const TIMEOUTS: &str = "SET idle_in_transaction_session_timeout = '3s'; SET statement_timeout = '10s'";
/// The usual wait for the lock.
pub(crate) const LOCK_WAIT: Duration = Duration::from_secs(6);

/// An acknowledged decision must survive a crash, so the one setting that would lose it is not accepted. Any other
/// choice of the server's owner stands.
const DURABLE: &str = "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'";

/// How long a round trip may take before the connection is given up: longer than the server's own limits.
const ROUND_TRIP: Duration = Duration::from_secs(12);

/// The chain needs each batch to see what was committed before it got the lock.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// One node's writer.
pub(crate) struct PostgresWriter {
    config: Config,
    // Names this node's last batch in the database.
    node: String,
    // How long to wait for the lock that another node holds.
    lock_wait: Duration,
    time: Arc<Timeline>,
    history: Arc<History>,
    // None once it broke: the next batch opens another.
    session: Option<Session>,
    // Set while a transaction is open.
    begun: Option<Begun>,
}

struct Session {
    client: Client,
    statements: Statements,
    // Closes the connection when the session is dropped.
    _driver: Driver,
}

impl Session {
    async fn open(config: &Config, node: &str, lock_wait: Duration) -> Result<Self, StoreError> {
        let (client, driver) = connect(config).await?;
        let late =
            |_| StoreError::Unavailable("the database accepts connections and does not answer".to_owned());
        let prepared = async {
            client
                .batch_execute(&format!(
                    "{BY_INDEX}; {TIMEOUTS}; SET lock_timeout = '{}ms'; {DURABLE}; SET plan_cache_mode = force_generic_plan",
                    lock_wait.as_millis()
                ))
                .await?;
            let format = client.query_one("SELECT max(version) FROM placet_format", &[]).await?;
            known(read(&format, 0)?)?;
            // A node has a new name with every start: forget those that are long gone.
            let gone = "DELETE FROM writers WHERE at < (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - 86400000000 AND node <> $1";
            client.execute(gone, &[&node]).await?;
            Ok::<_, StoreError>(Box::pin(Statements::prepare(&client)).await?)
        };
        let statements = timeout(ROUND_TRIP, prepared).await.map_err(late)??;
        Ok(Self { client, statements, _driver: driver })
    }
}

impl PostgresWriter {
    pub(crate) async fn connect(
        url: &str,
        node: String,
        time: Arc<Timeline>,
        history: Arc<History>,
        lock_wait: Duration,
    ) -> Result<Self, StoreError> {
        let config = config(url)?;
        let session = Session::open(&config, &node, lock_wait).await?;
        Ok(Self { config, node, lock_wait, time, history, session: Some(session), begun: None })
    }

    /// The connection, or a new one in place of a broken one.
    async fn session(&mut self) -> Result<&Session, StoreError> {
        if self.session.as_ref().is_none_or(|session| session.client.is_closed()) {
            self.session = None;
            self.begun = None;
            let session =
                Session::open(&self.config, &self.node, self.lock_wait).await.map_err(
                    |error| match error {
                        StoreError::Newer { .. } | StoreError::Unavailable(_) => error,
                        // Nothing was written, and more attempts would not help now.
                        other => StoreError::Unavailable(other.to_string()),
                    },
                )?;
            // Before anything is asked: whatever answers here now may not be what answered before.
            let known = self.history.known();
            let asked = timeout(ROUND_TRIP, session::history(&session.client, known.as_ref())).await;
            let (head, there) = asked.map_err(|_| lost())??;
            self.history.check(known.as_ref(), &head, there)?;
            self.session = Some(session);
        }
        self.session.as_ref().ok_or_else(lost)
    }

    /// One round trip.
    async fn ask(
        &mut self,
        statements: impl FnOnce(&Session) -> Vec<Statement<'_>> + Send,
    ) -> Result<Vec<Vec<Row>>, StoreError> {
        let session = self.session.as_ref().ok_or_else(lost)?;
        let sent = timeout(ROUND_TRIP, pipeline(statements(session))).await;
        self.settle(sent)
    }

    /// The rows of a round trip. Whether or not it worked, the connection is fit for use afterwards or forgotten.
    fn settle(&mut self, sent: Result<PipelineAnswers, Elapsed>) -> Result<Vec<Vec<Row>>, StoreError> {
        match sent.map(PipelineAnswers::rows) {
            Ok(Ok(rows)) => Ok(rows),
            Ok(Err(error)) => {
                if broken(&error) {
                    self.forget();
                }
                Err(failed(error))
            }
            Err(_) => {
                self.forget();
                Err(StoreError::Unavailable(format!("no answer within {} s", ROUND_TRIP.as_secs())))
            }
        }
    }

    fn forget(&mut self) {
        self.session = None;
        self.begun = None;
    }

    /// Takes the lock and reads what the batch needs, in one round trip.
    async fn load(&mut self, reads: &ReadSet) -> Result<Loaded, StoreError> {
        self.session().await?;
        // Until the head was read: a rollback is due from the moment BEGIN may have been sent.
        self.begun = Some(Begun { seq: u64::MAX, epoch: String::new() });
        let ids: Vec<String> = reads.requests.iter().map(ToString::to_string).collect();
        let scopes: Vec<&[u8]> = reads.scopes.iter().map(|scope| &scope[..]).collect();
        let agents: Vec<String> = reads.agents.iter().cloned().collect();
        let (ids, scopes, agents) = (&ids, &scopes, &agents);
        let (find_answers, find_requests) = (!scopes.is_empty(), !ids.is_empty() || !scopes.is_empty());
        let find_tallies = find_requests || !agents.is_empty();
        let grants: Vec<String> = reads.grants.iter().map(ToString::to_string).collect();
        let keys: Vec<&[u8]> = reads.trust.iter().map(|key| &key[..]).collect();
        let (grants, keys) = (&grants, &keys);
        let known = self.history.known();
        let must_be_there = known.as_ref().map_or(0, |known| int(known.seq));
        let Session { client, statements, .. } = self.session.as_ref().ok_or_else(lost)?;
        // The clock is read after the lock is held, so that nothing is decided on an old time.
        let mut all = vec![
            simple(client, BEGIN),
            send!(client, &statements.begin, must_be_there),
            send!(client, &statements.clock,),
        ];
        if find_answers {
            all.push(send!(client, &statements.answers, scopes));
        }
        if find_requests {
            all.push(send!(client, &statements.requests, ids, scopes));
        }
        if find_tallies {
            all.push(send!(client, &statements.tallies, agents, ids, scopes));
        }
        if !grants.is_empty() {
            all.push(send!(client, &statements.uses, grants));
        }
        if !keys.is_empty() {
            all.push(send!(client, &statements.trust, keys));
        }
        if reads.last_event {
            all.push(send!(client, &statements.last_event,));
        }
        let sent = timeout(ROUND_TRIP, pipeline(all)).await;
        let mut rows = self.settle(sent)?.into_iter().skip(1);
        let mut next = |asked: bool| if asked { rows.next().ok_or_else(lost) } else { Ok(Vec::new()) };
        let (heads, clock) = (next(true)?, next(true)?);
        let (answers, requests, tallies) = (next(find_answers)?, next(find_requests)?, next(find_tallies)?);
        let (uses, trusted) = (next(!grants.is_empty())?, next(!keys.is_empty())?);
        let last_event = next(reads.last_event)?.first().map_or(Ok(0), |row| number(row, 0))?;

        let row = heads
            .first()
            .ok_or_else(|| StoreError::Damaged("the head of the ledger is missing".to_owned()))?;
        let head = session::head(row)?;
        self.history.check(known.as_ref(), &head.head, session::digest(row, 5)?)?;
        self.history.saw(&head.head);
        self.begun = Some(Begun { seq: head.head.seq, epoch: head.head.epoch.clone() });
        self.time.saw(Time::from_micros(read(row, 4)?));
        let time = self.reading(&clock)?;
        let answers = answers.iter().map(answer).collect::<Result<Vec<_>, _>>()?;
        let requests = requests
            .iter()
            .map(|row| Ok(Arc::new(request(row)?)))
            .collect::<Result<Vec<Arc<Request>>, StoreError>>()?;
        // An agent that was never counted has nothing pending.
        let met = agents.iter().cloned().chain(requests.iter().map(|request| request.agent.clone()));
        let mut counts: HashMap<String, u64> = met.map(|agent| (agent, 0)).collect();
        for row in &tallies {
            counts.insert(read(row, 0)?, number(row, 1)?);
        }
        let used = uses
            .iter()
            .map(|row| Ok((parse(read(row, 0)?)?, number(row, 1)?)))
            .collect::<Result<HashMap<_, _>, StoreError>>()?;
        // What was asked for is there, so that later commands of the batch see what earlier ones did.
        let mut trust: HashMap<[u8; 32], TrustRow> =
            reads.trust.iter().map(|key| (*key, TrustRow::none())).collect();
        for row in &trusted {
            let found = TrustRow {
                count: number(row, 1)?,
                at: Time::from_micros(read(row, 2)?),
                seq: number(row, 3)?,
            };
            trust.insert(bytes32(read(row, 0)?)?, found);
        }
        Ok(Loaded { head, time, requests, answers, tallies: counts, used, trust, last_event })
    }

    /// The database's clock, which tests may move.
    fn reading(&self, rows: &[Row]) -> Result<Reading, StoreError> {
        let row = rows.first().ok_or_else(|| StoreError::Damaged("the database has no clock".to_owned()))?;
        Ok(self.time.over_database(Time::from_micros(read(row, 0)?)))
    }

    /// A transaction of two round trips: the clock and something to look at, then what follows from it.
    async fn small(
        &mut self,
        look: impl FnOnce(&Session) -> Vec<Statement<'_>> + Send,
    ) -> Result<(Time, Vec<Vec<Row>>), StoreError> {
        self.session().await?;
        self.begun = Some(Begun { seq: u64::MAX, epoch: String::new() });
        let looked = self
            .ask(|session| {
                let (client, statements) = (&session.client, &session.statements);
                let mut all = vec![simple(client, BEGIN), send!(client, &statements.clock,)];
                all.extend(look(session));
                all
            })
            .await;
        let rows = self.undo_failed(looked).await?;
        let now = rows.get(1).map_or_else(|| Err(lost()), |rows| self.reading(rows))?.now;
        Ok((now, rows.into_iter().skip(2).collect()))
    }

    /// Ends a transaction that [`PostgresWriter::small`] began.
    async fn finish(
        &mut self,
        write: impl FnOnce(&Session) -> Vec<Statement<'_>> + Send,
    ) -> Result<Vec<Vec<Row>>, StoreError> {
        let written = self
            .ask(|session| {
                let mut all = write(session);
                all.push(simple(&session.client, "COMMIT"));
                all
            })
            .await;
        let rows = self.undo_failed(written).await?;
        self.begun = None;
        Ok(rows)
    }

    /// How a transaction ended whose last statement was its commit.
    fn committed(&mut self, sent: Result<PipelineAnswers, Elapsed>) -> Result<(), CommitError> {
        let Ok(sent) = sent else {
            self.forget();
            let error =
                StoreError::Unavailable(format!("no answer to a commit within {} s", ROUND_TRIP.as_secs()));
            return Err(CommitError::Maybe(error));
        };
        let all = sent.all;
        let done = verdict(sent);
        match done {
            // Its connection may still be at work: it is closed, and the answer looked for on another one.
            Err(CommitError::Maybe(_)) => self.forget(),
            // COMMIT ended the transaction, one way or the other.
            _ if all => self.begun = None,
            _ => {}
        }
        done
    }

    /// A setting of this writer's connection.
    #[cfg(test)]
    pub(super) async fn setting(&mut self, name: &str) -> String {
        let session = self.session().await.expect("a connection");
        session.client.query_one("SELECT current_setting($1)", &[&name]).await.expect("a setting").get(0)
    }

    /// Changes a setting of this writer's connection, also inside an open transaction.
    #[cfg(test)]
    pub(super) async fn set(&mut self, name: &str, value: &str) {
        let session = self.session.as_ref().expect("a connection");
        let change = format!("SET {name} = '{value}'");
        session.client.batch_execute(&change).await.expect("a setting that can be changed");
    }

    async fn undo_failed<T>(&mut self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        if done.is_err() {
            self.rollback().await;
        }
        done
    }
}

fn lost() -> StoreError {
    StoreError::Unavailable("the connection was lost".to_owned())
}

fn answer(row: &Row) -> Result<AnswerRow, StoreError> {
    let request = match (read::<Option<i64>>(row, 2)?, read::<Option<&str>>(row, 3)?) {
        (Some(seq), Some(id)) => Some((uint(seq)?, parse(id)?)),
        _ => None,
    };
    Ok(AnswerRow {
        scope: bytes32(read(row, 0)?)?,
        body: bytes32(read(row, 1)?)?,
        request,
        answer: read(row, 4)?,
        stored: true,
    })
}

/// What the answers to a batch say about its commit, which is the last of them.
///
/// INVARIANT: only a COMMIT that succeeded, after statements that all did, is a yes. A COMMIT of a transaction that
/// failed rolls back and reports no error; and an answer that never came says nothing at all.
pub(super) fn verdict(sent: PipelineAnswers) -> Result<(), CommitError> {
    let (all, mut answers) = (sent.all, sent.answers);
    let commit = if all { answers.pop() } else { None };
    let failure = answers.into_iter().find_map(Result::err);
    match (commit, failure) {
        (Some(Ok(_)), None) => Ok(()),
        // COMMIT never went out, or Postgres itself said that what it would commit had failed.
        (None, Some(error)) => Err(CommitError::Not(failed(error))),
        (Some(_), Some(error)) if error.as_db_error().is_some() => Err(CommitError::Not(failed(error))),
        (Some(Err(error)), None) if !broken(&error) => Err(CommitError::Not(failed(error))),
        (Some(Err(error)), None) | (Some(_), Some(error)) => Err(CommitError::Maybe(failed(error))),
        (None, None) => Err(CommitError::Not(lost())),
    }
}

impl Backend for PostgresWriter {
    async fn begin(&mut self, reads: &ReadSet) -> Result<Loaded, StoreError> {
        self.rollback().await;
        let seemed_well = self.session.as_ref().is_some_and(|session| !session.client.is_closed());
        match self.load(reads).await {
            // It broke under our hands, before anything was written: once more on a new connection.
            Err(StoreError::Unavailable(_)) if seemed_well && self.session.is_none() => {
                self.load(reads).await
            }
            loaded => loaded,
        }
    }

    async fn directory(&mut self) -> Result<Directory, StoreError> {
        let rows =
            self.ask(|session| readers::DIRECTORY.map(|sql| typed(&session.client, sql, vec![])).into());
        let rows = rows.await?.try_into().map_err(|_| lost())?;
        readers::directory(&rows)
    }

    async fn live_of(&mut self, agent: Option<&str>) -> Result<Vec<Arc<Request>>, StoreError> {
        const LIVE: &str = requests!(
            "(SELECT seq, meta FROM requests WHERE deadline IS NOT NULL AND ($1::text IS NULL OR agent = $1)) r"
        );
        let agent = agent.map(str::to_owned);
        let rows = self
            .ask(|session| {
                vec![typed(&session.client, LIVE, vec![(Box::new(agent) as Param<'_>, Type::TEXT)])]
            })
            .await?;
        let mut live = rows
            .iter()
            .flatten()
            .map(|row| Ok(Arc::new(request(row)?)))
            .collect::<Result<Vec<_>, StoreError>>()?;
        live.sort_by_key(|request: &Arc<Request>| request.seq);
        Ok(live)
    }

    async fn commit(&mut self, changes: &Changes) -> Result<(), CommitError> {
        let (Some(session), Some(begun)) = (&self.session, &self.begun) else {
            return Err(CommitError::Not(lost()));
        };
        let batch = session
            .statements
            .batch(&session.client, changes, begun, &self.node)
            .map_err(CommitError::Not)?;
        let sent = timeout(ROUND_TRIP, pipeline(batch)).await;
        self.committed(sent)
    }

    async fn rollback(&mut self) {
        if self.begun.take().is_some()
            && let Err(error) = self.ask(|session| vec![simple(&session.client, "ROLLBACK")]).await
        {
            // The server rolls back by itself when the connection ends.
            tracing::debug!(%error, "a transaction ended with its connection");
            self.forget();
        }
    }

    async fn was_committed(&mut self, batch: [u8; 16]) -> Result<bool, StoreError> {
        self.forget();
        self.session().await?;
        let node = self.node.clone();
        // A COMMIT that is still at work holds the lock: once we have it, that transaction is over.
        let asked = self
            .ask(move |Session { client, statements, .. }| {
                vec![
                    simple(client, BEGIN),
                    send!(client, &statements.head,),
                    send!(client, &statements.writer, node),
                    simple(client, "COMMIT"),
                ]
            })
            .await;
        if asked.is_err() {
            self.forget();
        }
        let rows = asked?;
        let last: Option<Vec<u8>> =
            rows.get(2).and_then(|rows| rows.first()).map(|row| read(row, 0)).transpose()?;
        Ok(last.as_deref() == Some(&batch[..]))
    }

    async fn lease(
        &mut self,
        owner: &str,
        channels: &Channels,
        limit: u32,
        until: Duration,
    ) -> Result<Vec<Delivery>, StoreError> {
        let (names, meant) = channels.names();
        let names = names.to_vec();
        let (now, _) = self.small(|_| Vec::new()).await?;
        let (from, until, limit, owner) =
            (now.micros(), now.plus(until).micros(), i64::from(limit), owner.to_owned());
        let rows = self
            .finish(move |Session { client, statements, .. }| {
                vec![send!(client, &statements.lease, from, owner, until, limit, names, meant)]
            })
            .await?;
        let mut leased = rows.iter().flatten().map(delivery).collect::<Result<Vec<_>, _>>()?;
        leased.sort_by_key(|delivery| delivery.wanted);
        Ok(leased)
    }

    async fn attempt(
        &mut self,
        delivery: &Delivery,
        owner: &str,
        result: &AttemptResult,
    ) -> Result<(), StoreError> {
        let (channel, subject, owner) =
            (delivery.channel.clone(), delivery.subject.clone(), owner.to_owned());
        let level = int(delivery.wanted);
        let (now, found) = self
            .small(move |Session { client, statements, .. }| {
                vec![send!(client, &statements.leased, channel, subject, owner, level)]
            })
            .await?;
        // The lease ran out and another owner has it: the result of that owner counts. A row with a lower level is a new one.
        let Some(row) = found.first().and_then(|rows| rows.first()) else {
            self.rollback().await;
            return Ok(());
        };
        let row = WaitingRow {
            wanted: number(row, 0)?,
            told: number(row, 1)?,
            attempts: number(row, 2)?,
            give_up_at: Time::from_micros(read(row, 3)?),
        };
        let after = row.after(delivery.wanted, result, now);
        let (channel, subject) = (delivery.channel.clone(), delivery.subject.clone());
        let (state, told, next_at) = (after.state, int(after.told), after.next_at.micros());
        let attempts = i64::from(after.attempts);
        let error = after.error.map(|error| plain(error).into_owned());
        self.finish(move |Session { client, statements, .. }| {
            vec![send!(
                client,
                &statements.attempted,
                channel,
                subject,
                state,
                told,
                attempts,
                next_at,
                error
            )]
        })
        .await?;
        Ok(())
    }

    async fn use_session(
        &mut self,
        id: SessionId,
        secret: [u8; 32],
        next: Option<[u8; 32]>,
    ) -> Result<(), StoreError> {
        let (now, _) = self.small(|_| Vec::new()).await?;
        let (id, now) = (id.to_string(), now.micros());
        self.finish(move |Session { client, statements, .. }| {
            let seen = id.clone();
            let mut all = vec![send!(client, &statements.seen_session, seen, now)];
            if let Some(next) = next {
                all.push(send!(client, &statements.turn_session, id, &secret[..], &next[..], now));
            }
            all
        })
        .await?;
        Ok(())
    }

    async fn prune_events(&mut self, keep: u64, before: Time) -> Result<u64, StoreError> {
        let (keep, before, limit) = (int(keep), before.micros(), i64::from(PRUNED));
        // Under the lock of the writers: the newest event must stay the newest until this is over.
        self.small(|Session { client, statements, .. }| vec![send!(client, &statements.head,)]).await?;
        let rows = self
            .finish(move |Session { client, statements, .. }| {
                let marks = int(MARK_EVERY);
                vec![
                    send!(client, &statements.prune_events, keep, before, limit),
                    send!(client, &statements.prune_words, marks),
                ]
            })
            .await?;
        number(rows.first().and_then(|rows| rows.first()).ok_or_else(lost)?, 0)
    }

    async fn add_document(
        &mut self,
        document: &NewDocument,
        most: u32,
    ) -> Result<DocumentOutcome, StoreError> {
        let (kind, name) = (document.kind, document.name.clone());
        let (now, found) = self
            .small(move |Session { client, statements, .. }| {
                // The lock of the writers: two nodes must not both find room for the last one.
                vec![send!(client, &statements.head,), send!(client, &statements.count_documents, kind, name)]
            })
            .await?;
        let counts = found
            .get(1)
            .and_then(|rows| rows.first())
            .map(|row| Ok((read::<i64>(row, 0)?, read::<i64>(row, 1)?)));
        let (there, same) = counts.unwrap_or_else(|| Err(lost()))?;
        if same > 0 || there >= i64::from(most) {
            self.rollback().await;
            return Ok(if same > 0 { DocumentOutcome::NameTaken } else { DocumentOutcome::TooMany });
        }
        let (name, body, now) = (document.name.clone(), document.body.clone(), now.micros());
        self.finish(move |Session { client, statements, .. }| {
            vec![send!(client, &statements.put_document, kind, name, now, &*body)]
        })
        .await?;
        Ok(DocumentOutcome::Stored)
    }

    async fn change_notes(
        &mut self,
        changes: &[NoteChange],
        most: u64,
        batch: [u8; 16],
    ) -> Result<NotesOutcome, NotesError> {
        let (now, rows) = self
            .small(|Session { client, statements, .. }| notes::look(client, statements, changes, most))
            .await
            .map_err(NotesError::Not)?;
        let found = notes::found(&rows);
        let found = self.undo_failed(found).await.map_err(NotesError::Not)?;
        let done = noted::judge(changes, found, most);
        let NotesOutcome::Changed(versions) = &done else {
            self.rollback().await;
            return Ok(done);
        };
        let Some(Session { client, statements, .. }) = &self.session else {
            return Err(NotesError::Not(lost()));
        };
        let node = &self.node;
        let mut all = notes::write(client, statements, changes, versions, now);
        all.push(send!(client, &statements.name_batch, node, &batch[..]));
        all.push(simple(client, "COMMIT"));
        let sent = timeout(ROUND_TRIP, pipeline(all)).await;
        match self.committed(sent) {
            Ok(()) => Ok(done),
            Err(CommitError::Not(error)) => {
                self.rollback().await;
                Err(NotesError::Not(error))
            }
            Err(CommitError::Maybe(error)) => Err(NotesError::Maybe(error, done)),
        }
    }

    async fn prune_notes(&mut self) -> Result<u64, StoreError> {
        // Under the lock of the writers: a note that is being changed is not deleted under their hands.
        let (now, _) =
            self.small(|Session { client, statements, .. }| vec![send!(client, &statements.head,)]).await?;
        let (now, limit) = (now.micros(), i64::from(noted::PRUNED));
        let rows = self
            .finish(move |Session { client, statements, .. }| {
                vec![send!(client, &statements.prune_notes, now, limit)]
            })
            .await?;
        number(rows.first().and_then(|rows| rows.first()).ok_or_else(lost)?, 0)
    }

    async fn prune(&mut self, before: Time) -> Result<(), StoreError> {
        let (before, long_ago) = (before.micros(), idle_before(before).micros());
        self.small(|_| Vec::new()).await?;
        self.finish(move |Session { client, statements, .. }| {
            vec![
                send!(client, &statements.prune_answers, before),
                send!(client, &statements.prune_outbox, before),
                send!(client, &statements.prune_trust, long_ago),
                send!(client, &statements.prune_grants, long_ago),
            ]
        })
        .await?;
        Ok(())
    }
}

fn delivery(row: &Row) -> Result<Delivery, StoreError> {
    Ok(Delivery {
        channel: read(row, 0)?,
        subject: read(row, 1)?,
        wanted: number(row, 2)?,
        body: read::<Option<&str>>(row, 3)?.map(Arc::from),
        attempts: number(row, 4)?,
    })
}
