//! Claiming a permit and reporting what became of it.

use axum::{extract::State as AxumState, response::Response};
use http::{HeaderMap, StatusCode};
use placet_core::{Confine, Digest, Record, ReportStatus, RequestId, Time};
use placet_gate::RunReport;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::{
    State,
    call::{Call, Id, check_claimant},
    problem::{Problem, ProblemDocument},
    v1::{json, record, refuse, requests::door},
};

/// Who claims.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claim {
    /// A random secret kept in memory: with it, a lost answer can be asked for again.
    #[serde(default)]
    #[schema(min_length = 16, max_length = 256)]
    claimant: Option<String>,
}

/// The right to run exactly this, once.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClaimedPermit<'a> {
    /// Needed to report.
    permit: &'a str,
    /// What may run: the stored arguments, edited ones if there was an edit.
    #[schema(value_type = Object)]
    arguments: Option<&'a Map<String, Value>>,
    /// Digest of what may run.
    digest: Digest,
    /// It may run only so confined, by `placet run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    confine: Option<Confine>,
    /// Of a confined one: the folders that it may change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    workspace: Vec<String>,
    /// Report before this.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    report_by: Option<Time>,
}

/// Take the permit of an approved action.
#[utoipa::path(post, path = "/v1/requests/{id}/claim", operation_id = "claim_request", tag = "permits", params(("id" = inline(RequestId), Path)), request_body = Claim, responses(
    (status = 200, description = "the permit and the stored arguments", body = ClaimedPermit),
    (status = 404, description = "unknown, foreign or malformed", body = ProblemDocument),
    (status = 409, description = "already_claimed, not_approved or lapsed; unconfined: allowed for the hook program alone", body = ProblemDocument),
    (status = 423, description = "frozen: somebody stopped this agent or this tool", body = ProblemDocument),
))]
pub(crate) async fn claim(
    AxumState(state): AxumState<State>,
    id: Id<RequestId>,
    headers: HeaderMap,
    call: Call<Claim>,
) -> Result<Response, Problem> {
    let claimant = call.body.claimant.as_deref();
    check_claimant(claimant, "/claimant")?;
    let claimed = state
        .gate
        .claim_through(door(&headers)?, &call.actor, id.get()?, claimant, call.idempotency)
        .await
        .map_err(|error| refuse(&state, error))?;
    let permit = ClaimedPermit {
        permit: &claimed.permit,
        arguments: claimed.request.effective_arguments(),
        digest: claimed.request.effective_digest(),
        confine: claimed.request.verdict.confine,
        workspace: claimed.workspace,
        report_by: claimed.request.report_by,
    };
    Ok(json(StatusCode::OK, &permit))
}

/// What became of it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Outcome {
    permit: String,
    status: ReportStatus,
    /// The executor's digest of the result.
    #[serde(default)]
    #[schema(max_length = 200)]
    result_digest: Option<String>,
    #[serde(default)]
    #[schema(max_length = 8192)]
    note: Option<String>,
    /// It was allowed confined, and nothing shows that it ran so: an alarm, and the agent is not marked any more.
    #[serde(default)]
    unconfined: bool,
}

/// Report what became of a claimed action.
#[utoipa::path(post, path = "/v1/requests/{id}/outcome", operation_id = "report_outcome", tag = "permits", params(("id" = inline(RequestId), Path)), request_body = Outcome, responses(
    (status = 200, description = "the record", body = Record),
    (status = 403, description = "wrong_permit", body = ProblemDocument),
    (status = 404, description = "unknown, foreign or malformed", body = ProblemDocument),
    (status = 409, description = "not_claimed or already_reported", body = ProblemDocument),
))]
pub(crate) async fn report(
    AxumState(state): AxumState<State>,
    id: Id<RequestId>,
    call: Call<Outcome>,
) -> Result<Response, Problem> {
    let Outcome { permit, status, result_digest, note, unconfined } = call.body;
    if result_digest.as_ref().is_some_and(|digest| digest.len() > 200) {
        return Err(Problem::unprocessable("invalid", "/result_digest", "longer than 200 bytes"));
    }
    if note.as_ref().is_some_and(|note| note.len() > 8_192) {
        return Err(Problem::unprocessable("invalid", "/note", "longer than 8192 bytes"));
    }
    let ran = RunReport { status, result_digest, note, unconfined };
    let reported = state.gate.report_run(&call.actor, id.get()?, &permit, ran, call.idempotency).await;
    let request = reported.map_err(|error| refuse(&state, error))?;
    Ok(record(&state, &call.actor, StatusCode::OK, &request))
}
