//! All SQL: one store over two thin backends, a group-commit writer, and an ordered tail of what was committed.
//!
//! Both backends share all logic. Commands enter a bounded [`queue`]. The [`writer`] takes all that queued during the
//! last commit, applies it in memory ([`batch`]) and commits it in one transaction. Then it answers the callers and
//! feeds the [`tail`].

mod acked;
mod backend;
mod batch;
mod clock;
mod documents;
mod error;
mod events;
mod figures;
mod follow;
mod history;
mod job;
mod keyed;
mod migrations;
mod notes;
mod outbox;
mod policies;
mod postgres;
mod prior;
mod queue;
mod read;
mod recover;
mod restore;
mod rows;
mod sabotage;
mod sessions;
mod sqlite;
mod store;
mod tail;
mod verify;
mod writer;
mod writes;

pub use acked::Acked;
pub use clock::{ABSORBED, Clock, Reading, SystemClock, Timeline};
pub use documents::{DocumentOutcome, NewDocument};
pub use error::StoreError;
pub use events::{
    EventOutcome, EventTail, EventUnit, EventWords, NewEvent, RecentEvents, SeenEvent, StoredEvent,
};
pub use figures::{CountedDecision, CountedRequest, Figure, VerdictWord, Waiting};
pub use job::{AdminOutcome, CommandUnit, Idempotency, Outcome};
pub use keyed::{grant_key, same_key, trust_key, unbound_grant_key};
pub use notes::{NewNote, Note, NoteChange, NoteExpected, NoteFilter, NotePage, NotePlace, NotesOutcome};
pub use outbox::{ANSWER_TO, AttemptResult, Channels, Delivery, Raise};
pub use policies::{EndedAtUpgrade, EndedGrant, GrantUse, PolicyVersion};
pub use read::{Filter, LedgerRow, Listed, Order};
pub use recover::{
    Accepted, Concerned, Loss, RecoverReport, accept_clock, begin_memory, look_for_loss, recover,
};
pub use restore::{RestoreReport, backed_up, backup, restore, verify_file, verify_postgres};
#[doc(hidden)]
pub use sabotage::{HAS_PLANTED_BUGS, planted};
pub use sessions::StoredSession;
pub use store::{Durability, Location, Options, Store};
pub use tail::{News, Tail};
pub use verify::{Progress, Verified, VerifyError};
