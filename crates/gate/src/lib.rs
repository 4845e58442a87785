//! The engine: submit, decide, wait, claim, report and the rest. It knows no HTTP; every door calls the same functions.

mod channel;
mod coming;
mod decide;
mod entropy;
mod error;
mod events;
mod explain;
mod feed;
mod figures;
mod freezes;
mod gate;
mod grants;
mod history;
mod hub;
mod judge;
mod keys;
mod notes;
mod opening;
mod outgrown;
mod pace;
mod passwords;
mod permit;
mod policies;
mod preview;
mod roots;
mod row;
mod schema;
mod sessions;
mod shape;
mod simulate;
mod submit;
mod suggest;
mod summary;
mod tickets;
mod timer;
mod together;
mod unknown_keys;
mod verifying;
mod view;
mod waiters;
mod warnings;

pub use channel::{Attempt, Channel, ChannelLimits, Due, Line, Post, PostSource, Posting};
pub use coming::{Notice, UpcomingAnswer};
pub use decide::Decision;
pub use entropy::{Entropy, SystemEntropy};
pub use error::GateError;
pub use events::{AcceptedEvent, EventRetention, answer as event_answer, status as event_status};
pub use explain::{CallExplanation, Preview};
pub use feed::Feed;
pub use figures::{
    Attention, Deciders, Decisions, Depth, Figures, PendingNow, ReviewerFigures, Speed, Speeds,
};
pub use freezes::NewFreeze;
pub use gate::{Gate, Settings};
pub use grants::{GrantPreview, GrantView, Remember, RememberScope, RememberWithin};
pub use history::{History, HistoryEntry, SimilarDecision};
pub use keys::{KeyLook, MadeKey, NewKey, PersonSpec};
pub use notes::{NoteConflict, Notes};
pub use outgrown::{Outgrown, OutgrownGrant};
pub use pace::Pace;
pub use permit::{ClaimedPermit, RunReport};
pub use placet_store::{
    ANSWER_TO, AttemptResult, Channels, Clock, Delivery, DocumentOutcome, EventTail, EventWords, Filter,
    Idempotency, LedgerRow, Listed, NewDocument, NewEvent, NewNote, News, Note, NoteChange, NoteExpected,
    NoteFilter, Order, Outcome, PolicyVersion, Progress, Raise, RecentEvents, SeenEvent, StoreError,
    StoredEvent, StoredSession, SystemClock, planted,
};
pub use policies::{CheckedPolicy, PolicyPut, PolicyView};
pub use roots::AgentView;
pub use sessions::{MadeLink, OpenedSession, SignedIn};
pub use simulate::{Shadow, SimulationProgress};
pub use submit::Submitted;
pub use suggest::{OmittedCalls, Suggestion, Suggestions};
pub use summary::{Part, SessionSummary, SummaryGrant, SummaryLine};
pub use tickets::{Ticket, TicketFor};
pub use verifying::{Turn, Verification};
pub use waiters::{ParkedWait, Until, WaitResult, WaitState, WokenWait};
