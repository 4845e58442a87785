//! What callers hand to the writer, and what they get back.

use std::sync::Arc;

use placet_core::{Actor, AdminCommand, AdminRefusal, Command, KeyId, Refusal, Request, SessionId, Time};
use tokio::sync::oneshot;

use crate::{
    AttemptResult, Channels, Delivery, EventDone, NoteChange, NotesDone, StoreError,
    events::{EventWork, NewTheme, ThemeDone},
};

/// Scope and body of an idempotency key, both as hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Idempotency {
    /// SHA-256 of principal, path and key.
    pub scope: [u8; 32],
    /// SHA-256 of the canonical body.
    pub body: [u8; 32],
}

/// One unit for the writer.
#[derive(Debug)]
pub enum Work {
    /// Commands about requests, in order; atomic ones all apply or none.
    Commands {
        /// Who gives them.
        actor: Actor,
        /// The commands.
        commands: Vec<(Command, Option<Idempotency>)>,
        /// All or none.
        atomic: bool,
    },
    /// An event of the observability door, and the request it may make.
    Event(Box<EventWork>),
    /// A command about keys or people.
    Admin {
        /// Who gives it.
        actor: Actor,
        /// The command.
        command: AdminCommand,
        /// Its idempotency key.
        idempotency: Option<Idempotency>,
    },
    /// Take deliveries that are due.
    Lease {
        /// Who takes them.
        owner: String,
        /// Of which channels.
        channels: Channels,
        /// At most so many.
        limit: u32,
        /// For how long.
        until: std::time::Duration,
    },
    /// Say how a delivery went.
    Attempt {
        /// Which one.
        id: placet_core::OutboxId,
        /// Who holds the lease.
        owner: String,
        /// How it went.
        result: AttemptResult,
    },
    /// Note that a session is in use, and give it another secret if one is named.
    Seen {
        /// Which session.
        id: SessionId,
        /// SHA-256 of the secret it was used with.
        secret: [u8; 32],
        /// SHA-256 of the secret that takes its place.
        next: Option<[u8; 32]>,
    },
    /// Forget answers that nobody can ask for any more.
    Prune {
        /// Older than this.
        before: Time,
    },
    /// Delete old events, a bounded number at a time. The newest stays, and so do those whose requests wait.
    PruneEvents {
        /// More than so many.
        keep: u64,
        /// Or older than this.
        before: Time,
    },
    /// Store a colour theme.
    Theme {
        /// The theme.
        theme: NewTheme,
        /// How many there may be.
        most: u32,
    },
    /// Change notes, all of them or none.
    Notes {
        /// The changes, each about another note.
        changes: Vec<NoteChange>,
        /// How many open notes of a kind an owner may have.
        most: u64,
    },
    /// Delete notes whose time is over, a bounded number at a time.
    PruneNotes,
}

/// How a unit of work came out.
#[derive(Debug, Clone)]
pub enum Done {
    /// One outcome per command, in order.
    Commands(Vec<Outcome>),
    /// A command about keys or people.
    Admin(Result<(), AdminRefusal>),
    /// The same admin command was done before, and made this key.
    Replayed(Option<KeyId>),
    /// What became of an event.
    Event(EventDone),
    /// How many events, or notes, were deleted.
    Pruned(u64),
    /// What became of a theme.
    Theme(ThemeDone),
    /// What became of changes of notes.
    Notes(NotesDone),
    /// Leased deliveries.
    Leased(Vec<Delivery>),
    /// Nothing to tell.
    Nothing,
}

/// How one command came out.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Whether it was applied.
    pub answer: Result<(), Refusal>,
    /// The request afterwards, if there is one.
    pub request: Option<Arc<Request>>,
    /// Whether an idempotency key answered it.
    pub replayed: bool,
    /// Whether anything happened; a refused command may have let a deadline take effect.
    pub changed: bool,
}

/// Which queue a unit waits in. A flood in one never delays the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// New requests, fair per principal.
    Submit,
    /// Everything else.
    Urgent,
}

/// What the writer answers with. A reused idempotency key is an error of that unit alone.
pub(crate) type Answer = Result<Done, StoreError>;

/// A unit in the queue.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) work: Work,
    /// A rough count of the bytes it will write, for the limit of a batch.
    pub(crate) weight: usize,
    pub(crate) reply: oneshot::Sender<Answer>,
}

impl Work {
    /// Which queue it belongs to, and the principal that fairness is counted by.
    pub(crate) fn lane(&self) -> (Lane, &str) {
        match self {
            Self::Commands { actor, commands, .. }
                if commands.iter().any(|(command, _)| matches!(command, Command::Submit(_))) =>
            {
                (Lane::Submit, &actor.name)
            }
            Self::Event(work) => (Lane::Submit, &work.actor.name),
            Self::Commands { actor, .. } | Self::Admin { actor, .. } => (Lane::Urgent, &actor.name),
            _ => (Lane::Urgent, ""),
        }
    }

    /// What it is, for those who look how long things take.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Commands { .. } => "commands",
            Self::Event(_) => "event",
            Self::Admin { .. } => "admin",
            Self::Lease { .. } => "lease",
            Self::Attempt { .. } => "attempt",
            Self::Seen { .. } => "seen",
            Self::Prune { .. } => "prune",
            Self::PruneEvents { .. } => "prune_events",
            Self::Theme { .. } => "theme",
            Self::Notes { .. } => "notes",
            Self::PruneNotes => "prune_notes",
        }
    }

    /// Roughly how many bytes it will write.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::Commands { commands, .. } => commands
                .iter()
                .map(|(command, _)| match command {
                    Command::Submit(submit) => 4096 + submit.stored.len() * 2,
                    _ => 4096,
                })
                .sum(),
            Self::Event(work) => {
                let ask = match &work.ask {
                    Some(Command::Submit(submit)) => 4096 + submit.stored.len() * 2,
                    _ => 0,
                };
                512 + work.event.body.len() + ask
            }
            Self::Notes { changes, .. } => changes.iter().map(NoteChange::weight).sum(),
            _ => 4096,
        }
    }

    /// Whether it must have a batch of its own: it changes what other commands are checked against.
    pub(crate) fn alone(&self) -> bool {
        !matches!(self, Self::Commands { .. } | Self::Event(_))
    }
}
