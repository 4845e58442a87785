//! Withdrawing, taking back, asking others, settling.

use axum::{extract::State as AxumState, response::Response};
use http::StatusCode;
use placet_core::{Record, ReportStatus, RequestId};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::{
    State,
    call::{Call, Id},
    problem::{Problem, ProblemDocument},
    v1::{forms::ReviewerOrTeam, record, refuse},
};

/// Why, if you like.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Because {
    #[serde(default)]
    #[schema(max_length = 8192)]
    reason: Option<String>,
}

impl Because {
    fn checked(self) -> Result<Option<String>, Problem> {
        if self.reason.as_ref().is_some_and(|reason| reason.len() > 8_192) {
            return Err(Problem::unprocessable("invalid", "/reason", "longer than 8192 bytes"));
        }
        Ok(self.reason)
    }
}

/// Withdraw a request, as the agent that made it.
#[utoipa::path(post, path = "/v1/requests/{id}/cancel", operation_id = "cancel_request", tag = "requests", params(("id" = inline(RequestId), Path)), request_body = Because, responses(
    (status = 200, description = "the record", body = Record),
    (status = 404, description = "unknown, foreign or malformed", body = ProblemDocument),
    (status = 409, description = "too late", body = ProblemDocument),
))]
pub(crate) async fn cancel(
    AxumState(state): AxumState<State>,
    id: Id<RequestId>,
    call: Call<Because>,
) -> Result<Response, Problem> {
    let cancelled = state.gate.cancel(&call.actor, id.get()?, call.body.checked()?, call.idempotency).await;
    let request = cancelled.map_err(|error| refuse(&state, error))?;
    Ok(record(&state, &call.actor, StatusCode::OK, &request))
}

/// Take an unclaimed approval back.
#[utoipa::path(post, path = "/v1/requests/{id}/revoke", operation_id = "revoke_approval", tag = "decisions", params(("id" = inline(RequestId), Path)), request_body = Because, responses(
    (status = 200, description = "the record", body = Record),
    (status = 409, description = "not approved, or claimed already", body = ProblemDocument),
))]
pub(crate) async fn revoke(
    AxumState(state): AxumState<State>,
    id: Id<RequestId>,
    call: Call<Because>,
) -> Result<Response, Problem> {
    let revoked = state.gate.revoke(&call.actor, id.get()?, call.body.checked()?, call.idempotency).await;
    let request = revoked.map_err(|error| refuse(&state, error))?;
    Ok(record(&state, &call.actor, StatusCode::OK, &request))
}

/// Who shall be asked.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reassign {
    /// Names of reviewers, or `team:NAME`.
    #[schema(value_type = Vec<ReviewerOrTeam>, min_items = 1, max_items = 50)]
    to: Vec<String>,
    #[serde(default)]
    #[schema(max_length = 8192)]
    reason: Option<String>,
}

/// Change who is asked, never what is needed.
#[utoipa::path(post, path = "/v1/requests/{id}/reassign", operation_id = "reassign_request", tag = "decisions", params(("id" = inline(RequestId), Path)), request_body = Reassign, responses(
    (status = 200, description = "the record", body = Record),
    (status = 409, description = "no longer pending", body = ProblemDocument),
    (status = 422, description = "nobody of that name", body = ProblemDocument),
))]
pub(crate) async fn reassign(
    AxumState(state): AxumState<State>,
    id: Id<RequestId>,
    call: Call<Reassign>,
) -> Result<Response, Problem> {
    let reason = Because { reason: call.body.reason }.checked()?;
    let reassigned =
        state.gate.reassign(&call.actor, id.get()?, call.body.to, reason, call.idempotency).await;
    let request = reassigned.map_err(|error| refuse(&state, error))?;
    Ok(record(&state, &call.actor, StatusCode::OK, &request))
}

/// What became of it, and how you know.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Resolve {
    status: ReportStatus,
    #[schema(min_length = 1, max_length = 8192)]
    reason: String,
}

/// Settle an unknown outcome.
#[utoipa::path(post, path = "/v1/requests/{id}/resolve", operation_id = "resolve_outcome", tag = "decisions", params(("id" = inline(RequestId), Path)), request_body = Resolve, responses(
    (status = 200, description = "the record", body = Record),
    (status = 409, description = "the outcome is not unknown", body = ProblemDocument),
))]
pub(crate) async fn resolve(
    AxumState(state): AxumState<State>,
    id: Id<RequestId>,
    call: Call<Resolve>,
) -> Result<Response, Problem> {
    let resolved = state
        .gate
        .resolve(&call.actor, id.get()?, call.body.status, call.body.reason, call.idempotency)
        .await;
    let request = resolved.map_err(|error| refuse(&state, error))?;
    Ok(record(&state, &call.actor, StatusCode::OK, &request))
}
