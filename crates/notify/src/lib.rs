//! Channels: workers that take deliveries from the outbox and see that they arrive.

mod callbacks;
mod frame;
mod line;

pub use callbacks::Callbacks;
