//! What coding agents say to their hooks and want to hear back: pure translation, used by `placet hook` and by the
//! server's hook door.
//!
//! One call comes in ([`read`]), becomes one request ([`Asking::create`]), and one [`Answer`] goes out in the dialect of the
//! agent and event it came from ([`render`]). A yes can only be made from a request that was approved and claimed
//! ([`Approved`]), and everything that goes wrong has a rendering that blocks.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::unreachable
    )
)]

mod agent;
mod answer;
mod approved;
mod asking;
mod effect;
mod fields;
mod question;
mod read;
mod refusal;
mod render;

pub use agent::{Agent, Edits, Event, Mode};
pub use answer::{Answer, Output};
pub use approved::Approved;
pub use asking::{Asking, Call, Options};
pub use effect::{Effect, effect};
pub use question::{Question, answered, questions};
pub use read::{Fault, Incoming, LARGEST, Ran, read};
pub use refusal::refusal;
pub use render::{blocked, render};

#[cfg(test)]
mod tests;
