//! Channels, and the one worker that runs them: it takes deliveries from the outbox and sees that they arrive.

mod callbacks;
mod frame;
mod line;
mod worker;

pub use callbacks::Callbacks;
pub use worker::Deliveries;
