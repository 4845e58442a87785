//! The observability door: events of coding agents, some of which ask a person, for clients of
//! claude-code-hooks-multi-agent-observability. The names and shapes on the wire are theirs.

mod body;
mod cors;
mod fault;
mod hitl;
mod hub;
mod post;
mod read;
mod respond;
mod shape;
mod stream;
mod themes;

use axum::{
    Router, middleware,
    routing::{get, post as posting},
};
pub(crate) use cors::{allows_origin, is_ours};
use fault::Fault;
pub(crate) use hub::{EventStreams, follow};
use placet_egress::Rules;

use crate::State;

/// What can be set about this door.
#[derive(Debug, Clone)]
pub struct EventsDoor {
    /// Where answers may be sent to.
    pub callbacks: Rules,
    /// Largest body of an event, in bytes.
    pub body_max: usize,
}

impl Default for EventsDoor {
    fn default() -> Self {
        Self { callbacks: Rules::default(), body_max: 8 * 1024 * 1024 }
    }
}

/// The routes of this door.
pub(crate) fn routes(state: &State) -> Router<State> {
    Router::new()
        .route("/events", posting(post::post))
        .route("/events/recent", get(read::recent))
        .route("/events/filter-options", get(read::filter_options))
        .route("/events/{id}", get(read::one))
        .route("/events/{id}/respond", posting(respond::respond))
        .route("/stream", get(stream::stream))
        .route("/api/themes", get(themes::list).post(themes::create))
        .method_not_allowed_fallback(|| async { Fault::method_not_allowed() })
        .layer(middleware::from_fn_with_state(state.clone(), cors::cors))
}
