//! Agents: who answers for them, which folders people opened to them, and what they report of themselves.

use axum::{extract::State as AxumState, response::Response};
use http::StatusCode;
use placet_core::{Coverage, Covered, Part, Seen};
use placet_gate::AgentView;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    State,
    call::{Call, Caller, Id},
    problem::{Problem, ProblemDocument},
    v1::{
        forms::{Folder, Name},
        json, refuse,
    },
};

/// An agent.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AgentRecord {
    name: String,
    /// The person who answers for it.
    #[schema(required = true)]
    owner: Option<String>,
    /// Folders that a person opened to it; rules name them `@workspace`.
    roots: Vec<String>,
    /// Whether its hook program may be told to run calls confined; rules say so with `confine`.
    confine: bool,
    /// What its reports come to; rules ask for it with `coverage`.
    covered: Covered,
    /// What it reports of its programs. The agent's own words.
    coverage: Vec<CoverageReport>,
}

/// What one program of an agent can do, and whether Placet sees it.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CoverageReport {
    /// The framework it is written with, such as `google-adk`.
    #[schema(min_length = 1, max_length = 200)]
    framework: String,
    /// What the program calls its outermost agent. A report takes the place of the one before with the same framework and
    /// agent; there are at most 8.
    #[schema(min_length = 1, max_length = 200)]
    agent: String,
    /// Everything it can do.
    #[schema(max_items = 256)]
    parts: Vec<CoveragePart>,
}

/// One thing that a program can do.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CoveragePart {
    /// The tool, toolset or agent.
    #[schema(min_length = 1, max_length = 200)]
    name: String,
    /// What it is: `tool`, `toolset`, `hosted`, `code`, `agent` and so on.
    #[schema(min_length = 1, max_length = 200)]
    kind: String,
    /// The agent inside the program that has it.
    #[schema(min_length = 1, max_length = 200)]
    agent: String,
    status: Seen,
    /// Why that is so.
    #[serde(default)]
    #[schema(max_length = 300)]
    why: String,
}

impl From<CoverageReport> for Coverage {
    fn from(CoverageReport { framework, agent, parts }: CoverageReport) -> Self {
        let part = |CoveragePart { name, kind, agent, status, why }| Part { name, kind, agent, status, why };
        Self { framework, program: agent, parts: parts.into_iter().map(part).collect() }
    }
}

impl From<Coverage> for CoverageReport {
    fn from(Coverage { framework, program, parts }: Coverage) -> Self {
        let part = |Part { name, kind, agent, status, why }| CoveragePart { name, kind, agent, status, why };
        Self { framework, agent: program, parts: parts.into_iter().map(part).collect() }
    }
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
    #[schema(value_type = Vec<Folder>, max_items = 32)]
    roots: Vec<String>,
}

/// Whether an agent is marked for it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConfineBody {
    /// `false` takes the mark away.
    confine: bool,
}

impl From<AgentView> for AgentRecord {
    fn from(AgentView { name, owner, roots, confine, covered, coverage }: AgentView) -> Self {
        let coverage = coverage.into_iter().map(Into::into).collect();
        Self { name, owner, roots, confine, covered, coverage }
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
#[utoipa::path(put, path = "/v1/agents/{name}/roots", operation_id = "put_roots", tag = "admin", params(("name" = inline(Name), Path)), request_body = RootsBody, responses(
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

/// Mark an agent: its hook program may be told to run calls confined, where policy says `confine`. Without the mark they wait.
#[utoipa::path(put, path = "/v1/agents/{name}/confine", operation_id = "put_confine", tag = "admin", params(("name" = inline(Name), Path)), request_body = ConfineBody, responses(
    (status = 200, description = "so it is, on every node", body = AgentRecord),
    (status = 404, description = "no such agent", body = ProblemDocument),
))]
pub(crate) async fn put_confine(
    AxumState(state): AxumState<State>,
    name: Id<String>,
    call: Call<ConfineBody>,
) -> Result<Response, Problem> {
    let put = state.gate.put_confine(&call.actor, &name.get()?, call.body.confine).await;
    Ok(json(StatusCode::OK, &AgentRecord::from(put.map_err(|error| refuse(&state, error))?)))
}

/// Say what of a program Placet sees, and what not. Adapters send it when an agent starts. What is new is ledgered; policy may
/// hold or deny calls of an agent for it.
#[utoipa::path(put, path = "/v1/coverage", operation_id = "put_coverage", tag = "requests", request_body = CoverageReport, responses(
    (status = 200, description = "it is kept", body = AgentRecord),
    (status = 404, description = "an agent without a key", body = ProblemDocument),
    (status = 422, description = "a report that cannot be kept", body = ProblemDocument),
    (status = 429, description = "too_many_reports: of 8 programs of this agent", body = ProblemDocument),
))]
pub(crate) async fn put_coverage(
    AxumState(state): AxumState<State>,
    call: Call<CoverageReport>,
) -> Result<Response, Problem> {
    let put = state.gate.put_coverage(&call.actor, call.body.into()).await;
    Ok(json(StatusCode::OK, &AgentRecord::from(put.map_err(|error| refuse(&state, error))?)))
}

/// Forget what an agent reported, such as of programs that are gone. It is `unknown` until it reports again.
#[utoipa::path(delete, path = "/v1/agents/{name}/coverage", operation_id = "forget_coverage", tag = "admin", params(("name" = inline(Name), Path)), responses(
    (status = 200, description = "nothing is known of it", body = AgentRecord),
    (status = 404, description = "no such agent", body = ProblemDocument),
))]
pub(crate) async fn forget_coverage(
    AxumState(state): AxumState<State>,
    name: Id<String>,
    Caller(actor): Caller,
) -> Result<Response, Problem> {
    let forgotten = state.gate.forget_coverage(&actor, &name.get()?).await;
    Ok(json(StatusCode::OK, &AgentRecord::from(forgotten.map_err(|error| refuse(&state, error))?)))
}
