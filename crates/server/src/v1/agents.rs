//! Agents: who answers for them, and which folders people opened to them.

use axum::{extract::State as AxumState, response::Response};
use http::StatusCode;
use placet_gate::AgentView;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    State,
    call::{Call, Caller, Id},
    problem::{Problem, ProblemDocument},
    v1::{json, refuse},
};

/// An agent.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AgentRecord {
    name: String,
    /// The person who answers for it.
    owner: Option<String>,
    /// Folders that a person opened to it; rules name them `@workspace`.
    roots: Vec<String>,
}

/// Every agent.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AgentList {
    items: Vec<AgentRecord>,
}

/// The folders to open, all of them. An empty list closes every one.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RootsBody {
    /// Absolute paths, such as `/home/ann/app`. Neither a home folder nor a part of the system.
    roots: Vec<String>,
}

impl From<AgentView> for AgentRecord {
    fn from(AgentView { name, owner, roots }: AgentView) -> Self {
        Self { name, owner, roots }
    }
}

/// Every agent, with its folders.
#[utoipa::path(get, path = "/v1/agents", operation_id = "list_agents", tag = "admin", responses(
    (status = 200, description = "every agent, by name", body = AgentList),
))]
pub(crate) async fn list(
    AxumState(state): AxumState<State>,
    Caller(actor): Caller,
) -> Result<Response, Problem> {
    let agents = state.gate.agents(&actor).await.map_err(|error| refuse(&state, error))?;
    Ok(json(StatusCode::OK, &AgentList { items: agents.into_iter().map(Into::into).collect() }))
}

/// Open folders to an agent, and close all others: calls that happen in them can pass without a person.
#[utoipa::path(put, path = "/v1/agents/{name}/roots", operation_id = "put_roots", tag = "admin", params(("name" = String, Path)), request_body = RootsBody, responses(
    (status = 200, description = "these are open, on every node", body = AgentRecord),
    (status = 404, description = "no such agent", body = ProblemDocument),
    (status = 422, description = "a folder that cannot be opened", body = ProblemDocument),
))]
pub(crate) async fn put_roots(
    AxumState(state): AxumState<State>,
    name: Id<String>,
    call: Call<RootsBody>,
) -> Result<Response, Problem> {
    let put = state.gate.put_roots(&call.actor, &name.get()?, call.body.roots, false).await;
    Ok(json(StatusCode::OK, &AgentRecord::from(put.map_err(|error| refuse(&state, error))?)))
}
