//! The client against a server that breaks off, refuses, repeats itself and talks nonsense.

mod fake;
mod gated;
mod stream;
mod waiting;
