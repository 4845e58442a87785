//! The only way out: connections to addresses that are checked at connection time, and to no others.
//!
//! A name is resolved once. Every address is checked, and the connection is made to the very address that passed.
//! There is no second lookup that could differ, and redirects are not followed.

mod error;
mod lookup;
mod rules;
mod socket;
mod target;
mod web;

pub use error::EgressError;
pub use lookup::{Resolve, ResolveFuture, SystemResolver};
pub use rules::{Forbidden, Rules};
pub use socket::{Connection, Limits, Sockets};
pub use target::{BadUrl, Target};
pub use web::{Answer, Http};
