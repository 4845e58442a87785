//! The load generator: cheap HTTP clients, their measurements, and the rows of the result table.
//!
//! Client and server share two cores, so everything here must cost little: raw sockets, request bytes built once and
//! patched in place, answers read no further than needed, one thread for all clients. Baseline and subject use this
//! same code.

pub mod closed;
pub mod conn;
pub mod delivery;
pub mod figures;
pub mod fill;
pub mod list;
pub mod on_postgres;
pub mod pairs;
pub mod parked;
pub mod paused;
pub mod posts;
pub mod process;
pub mod rows;
pub mod subject;
pub mod target;
pub mod wake;
pub mod wire;
