//! The engine: submit, decide, wait, claim, report and the rest. It knows no HTTP; every door calls the same functions.

mod decide;
mod entropy;
mod error;
mod feed;
mod gate;
mod hub;
mod keys;
mod permit;
mod schema;
mod submit;
mod timer;
mod waiters;

pub use decide::{Decision, Remember};
pub use entropy::{Entropy, SystemEntropy};
pub use error::GateError;
pub use feed::Feed;
pub use gate::{Gate, Settings};
pub use keys::{MadeKey, NewKey, PersonSpec};
pub use permit::Claimed;
pub use placet_store::{
    Clock, Done, Filter, Idempotency, LedgerRow, Listed, News, Order, Outcome, StoreError, SystemClock,
};
pub use submit::Submitted;
pub use waiters::{Parked, Until, Waited, Waiting, Woken};
