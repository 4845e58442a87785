//! The stop switch: anybody who decides can press it, an admin lifts it, everybody can see it.

use axum::{
    extract::State as AxumState,
    response::{IntoResponse as _, Response},
};
use http::StatusCode;
use placet_core::{Freeze, FreezeId};
use placet_gate::NewFreeze;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    State,
    call::{Call, Caller, Id},
    problem::{Problem, ProblemDocument},
    v1::{forms::Name, json, refuse},
};

/// What to stop: an agent, a tool, both (that tool of that agent), or everything with `all`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FreezeBody {
    /// Calls of this agent.
    #[serde(default)]
    #[schema(value_type = Option<Name>)]
    agent: Option<String>,
    /// Calls of this tool.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 200, pattern = "^[A-Za-z0-9_./:-]+$")]
    tool: Option<String>,
    /// Everything. Said on its own, so that a forgotten field does not stop the house.
    #[serde(default)]
    all: bool,
    /// Why. Everybody can read it.
    #[schema(min_length = 1, max_length = 1000)]
    reason: String,
}

/// What is stopped.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FreezeList {
    items: Vec<Freeze>,
}

/// Stop an agent, a tool or everything: from then on nothing of it is allowed, approved or claimed.
#[utoipa::path(post, path = "/v1/freeze", operation_id = "freeze", tag = "admin", request_body = FreezeBody, responses(
    (status = 201, description = "it is stopped, on every node", body = Freeze),
    (status = 422, description = "no reason, or it does not say what to stop", body = ProblemDocument),
))]
pub(crate) async fn create(
    AxumState(state): AxumState<State>,
    call: Call<FreezeBody>,
) -> Result<Response, Problem> {
    let FreezeBody { agent, tool, all, reason } = call.body;
    if all == (agent.is_some() || tool.is_some()) {
        let detail = "say what to stop: `agent`, `tool`, or `all: true` for everything, and not both";
        return Err(Problem::unprocessable("invalid", "", detail));
    }
    let frozen = state.gate.freeze(&call.actor, NewFreeze { agent, tool, reason }).await;
    let frozen = frozen.map_err(|error| refuse(&state, error))?;
    Ok(json(StatusCode::CREATED, &*frozen))
}

/// What is stopped now.
#[utoipa::path(get, path = "/v1/freeze", operation_id = "list_freezes", tag = "admin", responses(
    (status = 200, description = "everything that is stopped, the oldest first", body = FreezeList),
))]
pub(crate) async fn list(AxumState(state): AxumState<State>, _: Caller) -> Result<Response, Problem> {
    let freezes = state.gate.freezes().await.map_err(|error| refuse(&state, error))?;
    let items = freezes.iter().map(|freeze| (**freeze).clone()).collect();
    Ok(json(StatusCode::OK, &FreezeList { items }))
}

/// Let it go on.
#[utoipa::path(delete, path = "/v1/freeze/{id}", operation_id = "unfreeze", tag = "admin", params(("id" = inline(FreezeId), Path)), responses(
    (status = 204, description = "it goes on, on every node"),
    (status = 404, description = "unknown, lifted before or malformed", body = ProblemDocument),
))]
pub(crate) async fn lift(
    AxumState(state): AxumState<State>,
    Caller(actor): Caller,
    id: Id<FreezeId>,
) -> Result<Response, Problem> {
    state.gate.unfreeze(&actor, id.get()?).await.map_err(|error| refuse(&state, error))?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
