//! The client against a server that breaks off, refuses, repeats itself and talks nonsense.

mod fake;
mod gated;
mod outage;
mod policy;
mod stream;
mod waiting;
