//! The baselines: servers that store nothing, and bare commits without a server.

mod agent;
pub mod bare;
pub mod postgres;
pub mod sqlite;
