//! Translates between coding agents' hooks and the gate. Pure functions, used by `placet hook` and by the server's
//! hook door.
//!
//! One call comes in ([`read`]), becomes one request ([`CallRequest::create`]), and one [`Answer`] goes out in the
//! dialect of the agent and event ([`render`]). Only an approved and claimed request can allow a call
//! ([`ApprovedCall`]). Every failure is rendered so that it blocks.
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
pub use approved::ApprovedCall;
pub use asking::{Call, CallRequest, Options};
pub use effect::{Effect, effect};
pub use question::{Question, answered, questions};
pub use read::{Fault, FinishedCall, HookMessage, LARGEST, read};
pub use refusal::refusal;
pub use render::{blocked, render};

#[cfg(test)]
mod tests;
