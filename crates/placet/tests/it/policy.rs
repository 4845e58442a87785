//! Policies from outside: the real binary and a real server, changing files, and the documentation's commands.

mod authoring;
mod docs;
mod server;
mod serving;
mod standing;
