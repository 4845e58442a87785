//! The REST door from outside: every call, every bad input, streams, waits, limits and closing, over real connections.
//!
//! The server runs in this process on a free port. Most tests use SQLite; those made with `both!` also run on Postgres.

mod a2a;
mod a2a_proxy;
mod again;
mod attention;
mod availability;
mod bad_calls;
mod bad_json;
mod browser;
mod closing;
mod community;
mod contract;
mod coverage;
mod doors;
mod events;
mod exact;
mod freeze;
mod hooks;
mod idempotency;
mod inputs;
mod limits;
mod listening;
mod openapi;
mod pages;
mod permits;
mod policy;
mod proofs;
mod push;
mod races;
mod reads;
mod roles;
mod secrets;
mod sessions;
mod slow_readers;
mod sockets;
mod streams;
mod support;
mod together;
mod twins;
mod unread;
mod vectors;
mod viewing;
mod waits;
mod wire;
mod workspace;
