//! Channels, and the one worker that runs them: it leases deliveries from the outbox and has them attempted.

mod callbacks;
mod frame;
mod line;
mod posts;
mod worker;

pub use callbacks::Callbacks;
pub use posts::Posts;
pub use worker::Deliveries;
