//! The Agent2Agent protocol, versions 0.3 and 1.0 on the same addresses: the approval desk, which agents ask as a peer.

mod answer;
mod card;
mod desk;
mod rest;
mod rpc;
mod serve;
mod settings;
mod stream;
mod task;

use axum::{Router, http::HeaderMap, routing::get};
use http::StatusCode;
use placet_a2a::Fault;
pub use settings::{Desk, Pause};

use self::card::Flavour;
use crate::{State, problem::Problem};

pub(super) fn routes() -> Router<State> {
    let mut routes = Router::new();
    for flavour in [Flavour::Hybrid, Flavour::Pure] {
        let root = flavour.path();
        let shown = move |headers: HeaderMap| async move { card::answer(flavour, &headers) };
        for name in ["agent-card.json", "agent.json"] {
            routes = routes.route(&format!("{root}/.well-known/{name}"), get(shown));
        }
        routes = routes.merge(rpc::routes(root)).merge(rest::routes(root));
    }
    // Where a reader looks who knows only the machine.
    let shown = |headers: HeaderMap| async move { card::answer(Flavour::Hybrid, &headers) };
    routes.route("/.well-known/agent-card.json", get(shown)).route("/.well-known/agent.json", get(shown))
}

/// A problem of ours in the protocol's words.
fn problem(problem: Problem) -> Fault {
    let detail = match problem.pointer() {
        Some(pointer) if !pointer.is_empty() => format!("{pointer}: {}", problem.detail()),
        _ => problem.detail().to_owned(),
    };
    match problem.status() {
        StatusCode::UNAUTHORIZED => Fault::Unauthenticated(detail),
        StatusCode::FORBIDDEN => Fault::Forbidden(detail),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => Fault::ContentType(detail),
        StatusCode::CONFLICT => Fault::Unsupported(detail),
        StatusCode::UNPROCESSABLE_ENTITY | StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND => {
            Fault::InvalidParams(detail)
        }
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::INSUFFICIENT_STORAGE => Fault::Busy(detail),
        _ => Fault::Internal(detail),
    }
}
