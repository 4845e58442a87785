//! What the store promises, on both databases.

mod again;
mod batches;
mod deliveries;
mod events;
mod files;
mod following;
mod levels;
mod notes;
mod once;
mod principals;
mod queueing;
mod reading;
mod restoring;
mod shop;
mod standing;
mod tampering;
mod upgrading;
