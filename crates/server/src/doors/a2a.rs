//! The Agent2Agent protocol, versions 0.3 and 1.0 on the same addresses: the approval desk, which agents ask as a peer, and
//! the agents behind us, whose pauses are held until people have decided.

mod answer;
mod card;
mod desk;
mod list;
mod proxy;
mod push;
mod rest;
mod rpc;
mod serve;
mod settings;
mod stream;
mod task;
mod told;

use axum::{Router, extract::State as AxumState, http::HeaderMap, response::Response, routing::get};
use http::StatusCode;
use placet_a2a::{Fault, Version};
pub use proxy::{Generic, Mode, Problem, Resumes, Upstream, check_agents};
pub(crate) use proxy::{Proxy, watch};
pub use push::TaskNews;
pub(crate) use push::client as push_client;
pub use settings::{Desk, Pause, RootCard};

use self::card::Flavour;
use crate::{State, problem, v1};

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
    routes
        .route("/.well-known/agent-card.json", get(root_card))
        .route("/.well-known/agent.json", get(root_card))
}

/// The card where a reader looks who knows only the machine: whose it is, the operator says.
async fn root_card(AxumState(state): AxumState<State>, headers: HeaderMap) -> Response {
    match &state.settings.root_card {
        RootCard::Desk => card::answer(Flavour::Hybrid, &headers, state.gate.now()),
        RootCard::Agent { namespace, agent } => proxy::card_of(&state, namespace, agent, &headers).await,
        RootCard::None => {
            let fault = Fault::NoAgent("/".to_owned());
            v1::json(StatusCode::NOT_FOUND, &fault.http(Version::V10))
        }
    }
}

/// A problem of ours in the protocol's words.
fn problem(problem: problem::Problem) -> Fault {
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
