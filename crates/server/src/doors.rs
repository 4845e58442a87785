//! Doors for the clients of other gateways and for coding agents. Each speaks the words of its own kind and translates, nothing more; none knows
//! another. They are not part of the OpenAPI document: what such a client may send was written down elsewhere, by others.

pub(crate) mod a2a;
mod community;
pub(crate) mod events;
mod hooks;
mod open;

use axum::Router;
pub(crate) use hooks::Running as HookPermits;

use crate::State;

/// The routes of all of them.
pub(crate) fn routes(state: &State) -> Router<State> {
    a2a::routes().merge(community::routes()).merge(events::routes(state)).merge(hooks::routes())
}
