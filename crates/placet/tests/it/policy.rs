//! Policies from outside: the real binary and a real server, files that change, and the documentation that is run.

mod authoring;
mod docs;
mod server;
mod serving;
mod standing;
