//! Doors for the clients of other gateways. Each speaks the words of its own kind, and is not part of the OpenAPI document:
//! what such a client may send was written down elsewhere, by others.

mod community;
mod open;

use axum::Router;

use crate::State;

/// The routes of all of them.
pub(crate) fn routes() -> Router<State> {
    community::routes()
}
