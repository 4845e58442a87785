//! What Placet is measured against: servers that store nothing, and bare commits that serve nobody.

mod agent;
pub mod bare;
pub mod postgres;
pub mod sqlite;
