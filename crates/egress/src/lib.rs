//! The only way out: connections to addresses that were checked when they are connected to, and to no others.
//!
//! A name is resolved once, every address it has is checked, and the connection is made to the very address that passed.
//! There is no second lookup that could say something else, and nothing is followed to another place.

mod error;
mod lookup;
mod rules;
mod socket;
mod target;
mod web;

pub use error::EgressError;
pub use lookup::{Resolve, Resolved, SystemResolver};
pub use rules::{Forbidden, Rules};
pub use socket::{Connection, Limits, Sockets};
pub use target::{BadUrl, Target};
pub use web::{Answer, Http};
