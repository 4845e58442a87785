//! What the writer does for the users of a store: one method for each kind of work.

use std::time::Duration;

use placet_core::{Actor, AdminCommand, SessionId, Time};
use tracing::Instrument as _;

use crate::{
    AdminOutcome, AttemptResult, Channels, CommandUnit, Delivery, DocumentOutcome, EventOutcome, EventUnit,
    Idempotency, NewDocument, NoteChange, NotesOutcome, Outcome, Store, StoreError,
    job::{
        AdminUnit, AttemptUnit, BatchJob, DocumentUnit, Job, LeaseUnit, NotesUnit, PruneEventsUnit,
        SessionUseUnit, TableJob, Ticket,
    },
};

/// Every method waits until its work is durable or refused. Dropping the future does not take the work back.
impl Store {
    /// Applies commands about requests, in order. One outcome per command.
    pub async fn commands(&self, unit: CommandUnit) -> Result<Vec<Outcome>, StoreError> {
        self.write(unit, |ticket| Job::Batch(BatchJob::Commands(ticket))).await
    }

    /// Applies a command about keys or people.
    pub async fn admin(
        &self,
        actor: Actor,
        command: AdminCommand,
        idempotency: Option<Idempotency>,
    ) -> Result<AdminOutcome, StoreError> {
        let unit = Box::new(AdminUnit { actor, command, idempotency });
        self.write(unit, |ticket| Job::Batch(BatchJob::Admin(ticket))).await
    }

    /// Stores an event, and makes its request in the same transaction.
    pub async fn add_event(&self, unit: EventUnit) -> Result<EventOutcome, StoreError> {
        self.write(Box::new(unit), |ticket| Job::Batch(BatchJob::Event(ticket))).await
    }

    /// Leases deliveries that are due.
    pub async fn lease(
        &self,
        owner: &str,
        channels: Channels,
        limit: u32,
        lease: Duration,
    ) -> Result<Vec<Delivery>, StoreError> {
        let unit = LeaseUnit { owner: owner.to_owned(), channels, limit, lease };
        self.write(unit, |ticket| Job::Table(TableJob::Lease(ticket))).await
    }

    /// Records how an attempt to deliver went. Nothing happens if the owner has lost its lease.
    pub async fn record_attempt(
        &self,
        delivery: Delivery,
        owner: &str,
        result: AttemptResult,
    ) -> Result<(), StoreError> {
        let unit = AttemptUnit { delivery, owner: owner.to_owned(), result };
        self.write(unit, |ticket| Job::Table(TableJob::Attempt(ticket))).await
    }

    /// Records that a session is in use. `secret` is the SHA-256 of the secret that was used; `next` replaces it if given.
    pub async fn use_session(
        &self,
        id: SessionId,
        secret: [u8; 32],
        next: Option<[u8; 32]>,
    ) -> Result<(), StoreError> {
        let unit = SessionUseUnit { id, secret, next };
        self.write(unit, |ticket| Job::Table(TableJob::SessionUse(ticket))).await
    }

    /// Deletes idempotency keys, deliveries, grants and trust that ended before this time. A bounded number of each.
    pub async fn prune(&self, before: Time) -> Result<(), StoreError> {
        self.write(before, |ticket| Job::Table(TableJob::Prune(ticket))).await
    }

    /// Deletes events beyond the newest `keep`, or older than `before`. A bounded number; says how many. The newest event
    /// stays, and so do those whose requests wait.
    pub async fn prune_events(&self, keep: u64, before: Time) -> Result<u64, StoreError> {
        let unit = PruneEventsUnit { keep, before };
        self.write(unit, |ticket| Job::Table(TableJob::PruneEvents(ticket))).await
    }

    /// Stores a document, unless there are `most` of its kind already or its name is taken.
    pub async fn add_document(
        &self,
        document: NewDocument,
        most: u32,
    ) -> Result<DocumentOutcome, StoreError> {
        let unit = DocumentUnit { document, most };
        self.write(unit, |ticket| Job::Table(TableJob::Document(ticket))).await
    }

    /// Changes notes, all of them or none. Each change is about another note. `most` is how many open notes of a kind an
    /// owner may have.
    pub async fn change_notes(
        &self,
        changes: Vec<NoteChange>,
        most: u64,
    ) -> Result<NotesOutcome, StoreError> {
        let unit = NotesUnit { changes, most };
        self.write(unit, |ticket| Job::Table(TableJob::Notes(ticket))).await
    }

    /// Deletes notes whose time is over. A bounded number; says how many.
    pub async fn prune_notes(&self) -> Result<u64, StoreError> {
        self.write((), |ticket| Job::Table(TableJob::PruneNotes(ticket))).await
    }

    /// Puts a unit in the queue and waits for its answer.
    async fn write<U, A>(&self, unit: U, job: impl FnOnce(Ticket<U, A>) -> Job) -> Result<A, StoreError> {
        if let Some(why) = self.lost() {
            return Err(StoreError::HistoryLost(why));
        }
        let (ticket, answer) = Ticket::new(unit);
        let job = job(ticket);
        let span = tracing::debug_span!("write", work = job.name());
        if !self.shared.queue.push(job) {
            return Err(self.stopped().map_or(StoreError::Busy, StoreError::Stopped));
        }
        // The writer answers every job it takes. A dropped ticket means that its thread died.
        answer.instrument(span).await.unwrap_or(Err(StoreError::Unknown))
    }
}
