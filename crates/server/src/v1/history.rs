//! What happened to a request, and how its like was decided.

use axum::{extract::State as AxumState, response::Response};
use http::StatusCode;
use placet_core::{DecisionWord, RequestId, Role, State as Life, Time};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    State,
    call::{Caller, Id},
    problem::{Problem, ProblemDocument},
    v1::{json, refuse},
};

/// What happened to a request, and how its like was decided.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HistoryRecord {
    /// Everything that happened, in order.
    entries: Vec<HappenedRecord>,
    /// The last five decisions of people on calls that are alike: with the same commands and targets, the same recipient,
    /// the same kind of SQL on the same tables, the same method and host, a file in the same folder, the same object of a
    /// cluster. Other calls, and those that cannot be taken apart, must be the same. Looked for among the last 200
    /// decided calls of the tool.
    similar: Vec<SimilarRecord>,
}

/// One thing that happened. Its texts can be shown as they are.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HappenedRecord {
    /// Its number in the ledger.
    seq: u64,
    #[schema(value_type = String, format = DateTime)]
    at: Time,
    /// Who did it.
    by: String,
    role: Role,
    /// `request.created`, `request.decided` and so on.
    #[serde(rename = "type")]
    kind: &'static str,
    /// In a sentence.
    text: String,
}

/// A decision on a call like this one.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SimilarRecord {
    id: RequestId,
    /// When it was decided.
    #[schema(value_type = String, format = DateTime)]
    at: Time,
    agent: String,
    /// What was decided on, in a sentence. It can be shown as it is.
    sentence: String,
    decision: DecisionWord,
    by: Vec<String>,
    state: Life,
    /// Whether it was the same call: the same agent, tool and arguments.
    exact: bool,
}

/// What happened to a request, in sentences, and how calls like it were decided.
#[utoipa::path(get, path = "/v1/requests/{id}/history", operation_id = "get_request_history", tag = "requests", params(("id" = inline(RequestId), Path)), responses(
    (status = 200, description = "in the order in which it happened", body = HistoryRecord),
    (status = 404, description = "unknown or malformed", body = ProblemDocument),
))]
pub(crate) async fn history(
    AxumState(state): AxumState<State>,
    Caller(actor): Caller,
    id: Id<RequestId>,
) -> Result<Response, Problem> {
    let history = state.gate.history(&actor, id.get()?).await.map_err(|error| refuse(&state, error))?;
    let entries = history.entries.into_iter().map(|entry| HappenedRecord {
        seq: entry.seq,
        at: entry.at,
        by: entry.by,
        role: entry.role,
        kind: entry.kind,
        text: entry.text,
    });
    let similar = history.similar.into_iter().map(|similar| SimilarRecord {
        id: similar.id,
        at: similar.at,
        agent: similar.agent,
        sentence: similar.sentence,
        decision: similar.decision,
        by: similar.by,
        state: similar.state,
        exact: similar.exact,
    });
    Ok(json(StatusCode::OK, &HistoryRecord { entries: entries.collect(), similar: similar.collect() }))
}
