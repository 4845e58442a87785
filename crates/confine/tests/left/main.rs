//! What a run leaves behind: no process, and nothing protected that was not there before, whatever the command does.
#![cfg(target_os = "linux")]

mod blinds;
mod closed;
mod killed;
mod records;
mod replaced;
mod space;
mod together;
