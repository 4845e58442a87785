//! The interface of a writing database: all that differs between SQLite and Postgres when a batch is written.

use std::{
    collections::{BTreeSet, HashMap},
    future::Future,
    sync::Arc,
    time::Duration,
};

use placet_core::{Actor, Command, Directory, GrantId, Request, RequestId, SessionId, Submit, Time};
use placet_ledger::Head;

use crate::{
    AttemptResult, Channels, CommandUnit, Delivery, DocumentOutcome, EventUnit, NewDocument, NoteChange,
    NotesOutcome, Reading, StoreError,
    events::{EventRow, WordRow},
    outbox::Raise,
    policies::{GrantEnding, GrantRow, PolicyRow, TrustChange, TrustRow},
    rows::{AnswerRow, EntryRow, KeyRow, OutboxRow, PayloadRow, PrincipalRow, RequestRow},
    sessions::SignIns,
};

/// What a batch reads before its units are applied. In order, so that every batch asks in the same way.
#[derive(Debug, Default)]
pub(crate) struct ReadSet {
    pub(crate) requests: BTreeSet<RequestId>,
    pub(crate) scopes: BTreeSet<[u8; 32]>,
    pub(crate) agents: BTreeSet<String>,
    pub(crate) grants: BTreeSet<GrantId>,
    pub(crate) trust: BTreeSet<[u8; 32]>,
    /// The number of the newest event.
    pub(crate) last_event: bool,
}

impl ReadSet {
    pub(crate) fn add_commands(&mut self, unit: &CommandUnit) {
        for (command, idempotency) in &unit.commands {
            self.scopes.extend(idempotency.map(|key| key.scope));
            match command {
                Command::Submit(submit) => self.add_submit(&unit.actor, submit),
                _ => {
                    self.requests.insert(command.request());
                }
            }
        }
    }

    pub(crate) fn add_event(&mut self, unit: &EventUnit) {
        self.last_event = true;
        self.scopes.extend(unit.idempotency.map(|key| key.scope));
        if let Some(Command::Submit(submit)) = &unit.ask {
            self.add_submit(&unit.actor, submit);
        }
    }

    fn add_submit(&mut self, actor: &Actor, submit: &Submit) {
        self.scopes.extend(submit.weak.map(|weak| weak.scope));
        if !self.agents.contains(&actor.name) {
            self.agents.insert(actor.name.clone());
        }
        self.grants.extend(&submit.grants);
        self.trust.extend(submit.trust.as_ref().map(|offer| offer.key));
    }
}

/// What a batch has read, under the lock that makes it the only writer.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) head: HeadRow,
    pub(crate) time: Reading,
    pub(crate) requests: Vec<Arc<Request>>,
    pub(crate) answers: Vec<AnswerRow>,
    pub(crate) tallies: HashMap<String, u64>,
    pub(crate) used: HashMap<GrantId, u32>,
    pub(crate) trust: HashMap<[u8; 32], TrustRow>,
    pub(crate) last_event: u64,
}

/// Where the ledger ends, and the last entry that changed keys or people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeadRow {
    pub(crate) head: Head,
    pub(crate) principals_seq: u64,
}

/// What a batch writes.
#[derive(Debug)]
pub(crate) struct Changes {
    /// Names the batch, so that its commit can be looked up.
    pub(crate) batch: [u8; 16],
    pub(crate) now: Time,
    pub(crate) head: HeadRow,
    pub(crate) requests: Vec<RequestRow>,
    pub(crate) payloads: Vec<PayloadRow>,
    pub(crate) entries: Vec<EntryRow>,
    pub(crate) answers: Vec<AnswerRow>,
    pub(crate) tallies: Vec<(String, u64)>,
    /// The people of new decisions, each with the `seq` of the request.
    pub(crate) decided_by: Vec<(String, u64)>,
    pub(crate) keys: Vec<KeyRow>,
    pub(crate) principals: Vec<PrincipalRow>,
    pub(crate) removed_principals: Vec<String>,
    pub(crate) sign_ins: SignIns,
    pub(crate) outbox: Vec<OutboxRow>,
    /// News for all who follow something.
    pub(crate) raises: Vec<Raise>,
    pub(crate) policies: Vec<PolicyRow>,
    /// Standing approvals: new ones, then how often they were used, then those that ended.
    pub(crate) grants: Vec<Arc<GrantRow>>,
    pub(crate) used: Vec<(GrantId, u32)>,
    pub(crate) ended: Vec<GrantEnding>,
    pub(crate) trust: Vec<([u8; 32], TrustChange)>,
    /// A new epoch begins: all trust and all notes are deleted.
    pub(crate) no_trust: bool,
    /// Events, and the words they can be filtered by.
    pub(crate) events: Vec<EventRow>,
    pub(crate) words: Vec<WordRow>,
}

/// A commit that did not go well.
#[derive(Debug)]
pub(crate) enum CommitError {
    /// Nothing was committed.
    Not(StoreError),
    /// The answer was lost: look the batch up before doing anything else.
    Maybe(StoreError),
}

/// A change of notes that did not go well.
#[derive(Debug)]
pub(crate) enum NotesError {
    /// Nothing was committed.
    Not(StoreError),
    /// The answer was lost. If the batch was committed, this is the result.
    Maybe(StoreError, NotesOutcome),
}

/// The writing side of one database. Reads happen between `begin` and `commit`, under its lock.
pub(crate) trait Backend: Send + 'static {
    /// Opens a transaction as the only writer and reads what the batch needs.
    fn begin(&mut self, reads: &ReadSet) -> impl Future<Output = Result<Loaded, StoreError>> + Send;
    /// Keys and people, inside the transaction.
    fn directory(&mut self) -> impl Future<Output = Result<Directory, StoreError>> + Send;
    /// Requests that still have a deadline, of one agent or of all, inside the transaction.
    fn live_of(
        &mut self,
        agent: Option<&str>,
    ) -> impl Future<Output = Result<Vec<Arc<Request>>, StoreError>> + Send;
    /// Writes everything and commits.
    fn commit(&mut self, changes: &Changes) -> impl Future<Output = Result<(), CommitError>> + Send;
    /// Forgets an open transaction, if there is one.
    fn rollback(&mut self) -> impl Future<Output = ()> + Send;
    /// Whether a batch was committed, asked over a fresh connection if need be.
    fn was_committed(&mut self, batch: [u8; 16]) -> impl Future<Output = Result<bool, StoreError>> + Send;
    /// Leases deliveries that are due: one transaction of its own.
    fn lease(
        &mut self,
        owner: &str,
        channels: &Channels,
        limit: u32,
        lease: Duration,
    ) -> impl Future<Output = Result<Vec<Delivery>, StoreError>> + Send;
    /// Records how a delivery went: one transaction of its own.
    fn attempt(
        &mut self,
        delivery: &Delivery,
        owner: &str,
        result: &AttemptResult,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
    /// Notes that a session is in use, and gives it a new secret if one is named: one transaction of its own. Nothing
    /// happens to a session that is over, or whose secret is another by now.
    fn use_session(
        &mut self,
        id: SessionId,
        secret: [u8; 32],
        next: Option<[u8; 32]>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
    /// Forgets old answers, a bounded number at a time.
    fn prune(&mut self, before: Time) -> impl Future<Output = Result<(), StoreError>> + Send;
    /// Deletes old events, a bounded number at a time, and says how many.
    fn prune_events(
        &mut self,
        keep: u64,
        before: Time,
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;
    /// Stores a document, unless there is one of that name or there are too many.
    fn add_document(
        &mut self,
        document: &NewDocument,
        most: u32,
    ) -> impl Future<Output = Result<DocumentOutcome, StoreError>> + Send;
    /// Changes notes, all of them or none: one transaction of its own, which can be looked up by the name of the batch.
    fn change_notes(
        &mut self,
        changes: &[NoteChange],
        most: u64,
        batch: [u8; 16],
    ) -> impl Future<Output = Result<NotesOutcome, NotesError>> + Send;
    /// Deletes notes whose time is over, a bounded number at a time, and says how many.
    fn prune_notes(&mut self) -> impl Future<Output = Result<u64, StoreError>> + Send;
}
