//! What callers hand to the writer. Each kind of work has a type of its own, and an answer of its own.

use std::{sync::Arc, time::Duration};

use placet_core::{Actor, AdminCommand, AdminRefusal, Command, KeyId, Refusal, Request, SessionId, Time};
use tokio::sync::oneshot;

use crate::{
    AttemptResult, Channels, Delivery, DocumentOutcome, EventOutcome, EventUnit, NewDocument, NoteChange,
    NotesOutcome, StoreError, backend::ReadSet,
};

/// Scope and body of an idempotency key, both as hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Idempotency {
    /// SHA-256 of principal, path and key.
    pub scope: [u8; 32],
    /// SHA-256 of the canonical body.
    pub body: [u8; 32],
}

/// Commands of one caller about requests. They are applied in order.
#[derive(Debug)]
pub struct CommandUnit {
    /// Who gives them.
    pub actor: Actor,
    /// The commands, each with its idempotency key if it has one.
    pub commands: Vec<(Command, Option<Idempotency>)>,
    /// Whether one refusal takes all of them back.
    pub atomic: bool,
}

impl CommandUnit {
    /// A unit of one command.
    pub fn one(actor: Actor, command: Command, idempotency: Option<Idempotency>) -> Self {
        Self { actor, commands: vec![(command, idempotency)], atomic: false }
    }
}

/// The result of one command.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Whether it was applied.
    pub answer: Result<(), Refusal>,
    /// The request afterwards, if there is one.
    pub request: Option<Arc<Request>>,
    /// Whether an idempotency key answered it.
    pub replayed: bool,
    /// Whether anything changed. A refused command may have let a deadline take effect.
    pub changed: bool,
}

/// A command about keys or people.
#[derive(Debug)]
pub(crate) struct AdminUnit {
    pub(crate) actor: Actor,
    pub(crate) command: AdminCommand,
    pub(crate) idempotency: Option<Idempotency>,
}

/// The result of a command about keys or people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdminOutcome {
    /// It was applied.
    Applied,
    /// It was refused.
    Refused(AdminRefusal),
    /// An idempotency key answered it. The key that the first call made, if it made one.
    Replayed(Option<KeyId>),
}

/// A request for deliveries that are due.
#[derive(Debug)]
pub(crate) struct LeaseUnit {
    pub(crate) owner: String,
    pub(crate) channels: Channels,
    pub(crate) limit: u32,
    pub(crate) lease: Duration,
}

/// The result of one attempt to deliver.
#[derive(Debug)]
pub(crate) struct AttemptUnit {
    pub(crate) delivery: Delivery,
    pub(crate) owner: String,
    pub(crate) result: AttemptResult,
}

/// The use of a session, with the SHA-256 of its secret and of the secret that replaces it.
#[derive(Debug)]
pub(crate) struct SessionUseUnit {
    pub(crate) id: SessionId,
    pub(crate) secret: [u8; 32],
    pub(crate) next: Option<[u8; 32]>,
}

/// Bounds on the events that stay.
#[derive(Debug)]
pub(crate) struct PruneEventsUnit {
    pub(crate) keep: u64,
    pub(crate) before: Time,
}

/// A document, and how many of its kind there may be.
#[derive(Debug)]
pub(crate) struct DocumentUnit {
    pub(crate) document: NewDocument,
    pub(crate) most: u32,
}

/// Changes of notes, and how many open notes of a kind an owner may have.
#[derive(Debug)]
pub(crate) struct NotesUnit {
    pub(crate) changes: Vec<NoteChange>,
    pub(crate) most: u64,
}

/// A unit in the queue, and the caller that waits for its answer.
#[derive(Debug)]
pub(crate) struct Ticket<U, A> {
    pub(crate) unit: U,
    // Kept until the transaction is committed. Another attempt at the unit replaces it.
    answer: Option<Result<A, StoreError>>,
    reply: oneshot::Sender<Result<A, StoreError>>,
}

impl<U, A> Ticket<U, A> {
    pub(crate) fn new(unit: U) -> (Self, oneshot::Receiver<Result<A, StoreError>>) {
        let (reply, answer) = oneshot::channel();
        (Self { unit, answer: None, reply }, answer)
    }

    /// Keeps the answer until the commit. A reused idempotency key concerns this unit alone; any other error fails the
    /// whole batch.
    pub(crate) fn keep(&mut self, answer: Result<A, StoreError>) -> Result<(), StoreError> {
        match answer {
            Err(error) if !matches!(error, StoreError::KeyReused) => Err(error),
            answer => {
                self.answer = Some(answer);
                Ok(())
            }
        }
    }

    /// Sends an answer. The unit is done even if the caller has gone away.
    pub(crate) fn answer(self, answer: Result<A, StoreError>) {
        let _ = self.reply.send(answer);
    }

    fn send_kept(mut self) {
        let answer = self.answer.take();
        self.answer(answer.unwrap_or(Err(StoreError::Unknown)));
    }
}

/// Work that is applied in a batch and shares its transaction.
#[derive(Debug)]
pub(crate) enum BatchJob {
    Commands(Ticket<CommandUnit, Vec<Outcome>>),
    Event(Ticket<Box<EventUnit>, EventOutcome>),
    Admin(Ticket<Box<AdminUnit>, AdminOutcome>),
}

/// Work on a table beside the ledger, in a transaction of its own.
#[derive(Debug)]
pub(crate) enum TableJob {
    Lease(Ticket<LeaseUnit, Vec<Delivery>>),
    Attempt(Ticket<AttemptUnit, ()>),
    SessionUse(Ticket<SessionUseUnit, ()>),
    Prune(Ticket<Time, ()>),
    PruneEvents(Ticket<PruneEventsUnit, u64>),
    Document(Ticket<DocumentUnit, DocumentOutcome>),
    Notes(Ticket<NotesUnit, NotesOutcome>),
    PruneNotes(Ticket<(), u64>),
}

/// Anything in the queue.
#[derive(Debug)]
pub(crate) enum Job {
    Batch(BatchJob),
    Table(TableJob),
}

impl BatchJob {
    /// Whose turn it takes in the lane for new requests. None for the urgent lane.
    pub(crate) fn submitter(&self) -> Option<&str> {
        match self {
            Self::Commands(Ticket { unit, .. })
                if unit.commands.iter().any(|(command, _)| matches!(command, Command::Submit(_))) =>
            {
                Some(&unit.actor.name)
            }
            Self::Event(Ticket { unit, .. }) => Some(&unit.actor.name),
            Self::Commands(_) | Self::Admin(_) => None,
        }
    }

    /// Whether it needs a batch of its own: it changes what other commands are checked against.
    pub(crate) fn is_alone(&self) -> bool {
        matches!(self, Self::Admin(_))
    }

    /// Adds what must be read before it is applied.
    pub(crate) fn add_reads(&self, reads: &mut ReadSet) {
        match self {
            Self::Commands(Ticket { unit, .. }) => reads.add_commands(unit),
            Self::Event(Ticket { unit, .. }) => reads.add_event(unit),
            Self::Admin(Ticket { unit, .. }) => reads.scopes.extend(unit.idempotency.map(|key| key.scope)),
        }
    }

    /// Sends the answer that was kept until the commit.
    pub(crate) fn send_kept(self) {
        match self {
            Self::Commands(ticket) => ticket.send_kept(),
            Self::Event(ticket) => ticket.send_kept(),
            Self::Admin(ticket) => ticket.send_kept(),
        }
    }

    pub(crate) fn fail(self, error: StoreError) {
        match self {
            Self::Commands(ticket) => ticket.answer(Err(error)),
            Self::Event(ticket) => ticket.answer(Err(error)),
            Self::Admin(ticket) => ticket.answer(Err(error)),
        }
    }

    /// Roughly how many bytes it writes.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::Commands(Ticket { unit, .. }) => {
                unit.commands.iter().map(|(command, _)| submit_weight(command).max(SMALL)).sum()
            }
            Self::Event(Ticket { unit, .. }) => {
                512 + unit.event.body.len() + unit.ask.as_ref().map_or(0, submit_weight)
            }
            Self::Admin(_) => SMALL,
        }
    }
}

/// Bytes of a unit without long texts.
const SMALL: usize = 4096;

fn submit_weight(command: &Command) -> usize {
    match command {
        Command::Submit(submit) => SMALL + submit.stored.len() * 2,
        _ => 0,
    }
}

impl TableJob {
    pub(crate) fn fail(self, error: StoreError) {
        match self {
            Self::Lease(ticket) => ticket.answer(Err(error)),
            Self::Attempt(ticket) => ticket.answer(Err(error)),
            Self::SessionUse(ticket) => ticket.answer(Err(error)),
            Self::Prune(ticket) => ticket.answer(Err(error)),
            Self::PruneEvents(ticket) => ticket.answer(Err(error)),
            Self::Document(ticket) => ticket.answer(Err(error)),
            Self::Notes(ticket) => ticket.answer(Err(error)),
            Self::PruneNotes(ticket) => ticket.answer(Err(error)),
        }
    }
}

impl Job {
    /// Its name in traces.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Batch(BatchJob::Commands(_)) => "commands",
            Self::Batch(BatchJob::Event(_)) => "event",
            Self::Batch(BatchJob::Admin(_)) => "admin",
            Self::Table(TableJob::Lease(_)) => "lease",
            Self::Table(TableJob::Attempt(_)) => "attempt",
            Self::Table(TableJob::SessionUse(_)) => "seen",
            Self::Table(TableJob::Prune(_)) => "prune",
            Self::Table(TableJob::PruneEvents(_)) => "prune_events",
            Self::Table(TableJob::Document(_)) => "document",
            Self::Table(TableJob::Notes(_)) => "notes",
            Self::Table(TableJob::PruneNotes(_)) => "prune_notes",
        }
    }
}
