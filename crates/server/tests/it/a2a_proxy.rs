//! The governing proxy in front of an agent that pauses, and that can be made to misbehave.

mod agent;
mod answers;
mod callers;
mod front;
mod pauses;
mod peers;
mod streams;
