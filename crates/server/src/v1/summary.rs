//! What happened in one session of an agent.

use axum::{extract::State as AxumState, response::Response};
use http::StatusCode;
use placet_core::{GrantId, RequestId, Time};
use placet_gate::{Part, SessionSummary};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    State,
    call::{Caller, Params},
    problem::{Problem, ProblemDocument},
    v1::{json, refuse, stats::AttentionRecord},
};

/// Which session. Without `session`, the one with the newest request.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SummaryParams {
    session: Option<String>,
    /// Two agents may give their sessions the same name; without this the one that asked last is meant.
    agent: Option<String>,
}

/// What happened in one session. All texts in it can be shown as they are.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SummaryRecord {
    agent: String,
    session: String,
    #[schema(value_type = String, format = DateTime)]
    from: Time,
    #[schema(value_type = String, format = DateTime)]
    to: Time,
    /// Whether all requests were looked at; otherwise the newest 5000.
    whole: bool,
    attention: AttentionRecord,
    /// What was asked, remembered, confined, refused and passed, in this order; of each what came most often, up to 20 lines.
    lines: Vec<LineRecord>,
    /// Standing approvals that let requests of the session through.
    grants: Vec<UsedRecord>,
}

/// Which part of `attention` a line is of.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SummaryPart {
    Passed,
    Confined,
    Remembered,
    Asked,
    Refused,
}

impl From<Part> for SummaryPart {
    fn from(part: Part) -> Self {
        match part {
            Part::Passed => Self::Passed,
            Part::Confined => Self::Confined,
            Part::Remembered => Self::Remembered,
            Part::Asked => Self::Asked,
            Part::Refused => Self::Refused,
        }
    }
}

/// Requests of one kind.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LineRecord {
    part: SummaryPart,
    /// The tool, or the kind of what has none.
    tool: String,
    /// What one of them does, in a sentence; null of what passed free.
    #[schema(required = true)]
    effect: Option<String>,
    count: u64,
    /// How many of them people approved.
    approved: u64,
    /// How many they denied.
    denied: u64,
    /// The newest of them.
    request: RequestId,
}

/// A standing approval that let requests of the session through.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UsedRecord {
    id: GrantId,
    #[schema(required = true)]
    by: Option<String>,
    tool: String,
    count: u64,
    /// Whether it still stands, so that it can be taken back.
    stands: bool,
}

impl From<SessionSummary> for SummaryRecord {
    fn from(summary: SessionSummary) -> Self {
        let lines = summary.lines.into_iter().map(|line| LineRecord {
            part: line.part.into(),
            tool: line.tool,
            effect: line.effect,
            count: line.count,
            approved: line.approved,
            denied: line.denied,
            request: line.request,
        });
        let grants = summary.grants.into_iter().map(|grant| UsedRecord {
            id: grant.id,
            by: grant.by,
            tool: grant.tool,
            count: grant.count,
            stands: grant.stands,
        });
        Self {
            lines: lines.collect(),
            grants: grants.collect(),
            attention: summary.attention.into(),
            agent: summary.agent,
            session: summary.session,
            from: summary.from,
            to: summary.to,
            whole: summary.whole,
        }
    }
}

/// What happened in one session: what passed without a person, what was confined, what was asked. An agent reads its own.
#[utoipa::path(get, path = "/v1/summary", operation_id = "get_session_summary", tag = "requests", params(SummaryParams), responses(
    (status = 200, description = "counted over the requests of the session", body = SummaryRecord),
    (status = 404, description = "no request of such a session", body = ProblemDocument),
))]
pub(crate) async fn summary(
    AxumState(state): AxumState<State>,
    Caller(actor): Caller,
    Params(params): Params<SummaryParams>,
) -> Result<Response, Problem> {
    let summary = state.gate.session_summary(&actor, params.agent, params.session).await;
    let summary = summary.map_err(|error| refuse(&state, error))?;
    Ok(json(StatusCode::OK, &SummaryRecord::from(summary)))
}
