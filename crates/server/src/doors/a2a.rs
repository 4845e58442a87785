//! The Agent2Agent protocol, versions 0.3 and 1.0 on the same addresses: the approval desk, which agents ask as a peer, and
//! the agents behind us, whose pauses are held until people have decided.

mod answer;
mod card;
mod desk;
#[cfg(feature = "tck")]
mod kit;
mod list;
mod proxy;
mod push;
mod rest;
mod rpc;
mod serve;
mod settings;
mod stream;
mod task;

use axum::{Router, extract::State as AxumState, http::HeaderMap, routing::get};
use http::StatusCode;
use placet_a2a::Fault;
pub use proxy::{Generic, Mode, Upstream};
pub(crate) use proxy::{Proxy, deliver, watch};
pub(crate) use push::{Push, run as push};
pub use settings::{Desk, Pause};

use self::card::Flavour;
use crate::{State, problem::Problem};

pub(super) fn routes() -> Router<State> {
    let mut routes = Router::new();
    for flavour in [Flavour::Hybrid, Flavour::Pure] {
        let root = flavour.path();
        let shown = move |AxumState(state): AxumState<State>, headers: HeaderMap| async move {
            card::answer(flavour, &headers, state.gate.now())
        };
        for name in ["agent-card.json", "agent.json"] {
            routes = routes.route(&format!("{root}/.well-known/{name}"), get(shown));
        }
        routes = routes.merge(rpc::routes(root)).merge(rest::routes(root));
    }
    let behind = "/a2a/{namespace}/{agent}";
    for name in ["agent-card.json", "agent.json"] {
        routes = routes.route(&format!("{behind}/.well-known/{name}"), get(proxy::card));
    }
    routes = routes.merge(rpc::routes(behind)).merge(rest::routes(behind));
    // Where a reader looks who knows only the machine.
    let shown = |AxumState(state): AxumState<State>, headers: HeaderMap| async move {
        card::answer(Flavour::Hybrid, &headers, state.gate.now())
    };
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
