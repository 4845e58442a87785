//! Standing approvals: listed with what they cover, taken back with one call.

use axum::{
    extract::State as AxumState,
    response::{IntoResponse as _, Response},
};
use http::StatusCode;
use placet_core::{Grant, GrantId};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    State,
    call::{Caller, Id},
    problem::{Problem, ProblemDocument},
    v1::{json, refuse},
};

/// A standing approval.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct GrantRecord {
    #[serde(flatten)]
    grant: Grant,
    /// How often it was used.
    used: u32,
    /// What it covers, in words.
    covers: String,
}

/// Standing approvals.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct GrantList {
    items: Vec<GrantRecord>,
}

/// Standing approvals that can still be used: a reviewer's own, or everybody's for admins and auditors.
#[utoipa::path(get, path = "/v1/grants", operation_id = "list_grants", tag = "policy", responses(
    (status = 200, description = "standing approvals", body = GrantList),
))]
pub(crate) async fn list(
    AxumState(state): AxumState<State>,
    Caller(actor): Caller,
) -> Result<Response, Problem> {
    let grants = state.gate.grants(&actor).await.map_err(|error| refuse(&state, error))?;
    let record = |view: placet_gate::GrantView| GrantRecord {
        grant: (*view.grant).clone(),
        used: view.used,
        covers: view.covers,
    };
    Ok(json(StatusCode::OK, &GrantList { items: grants.into_iter().map(record).collect() }))
}

/// Take a standing approval back, at once: one's own, or anybody's as an admin.
#[utoipa::path(delete, path = "/v1/grants/{id}", operation_id = "revoke_grant", tag = "policy", params(("id" = String, Path)), responses(
    (status = 204, description = "gone"),
    (status = 404, description = "unknown, somebody else's or malformed", body = ProblemDocument),
))]
pub(crate) async fn revoke(
    AxumState(state): AxumState<State>,
    Caller(actor): Caller,
    id: Id<GrantId>,
) -> Result<Response, Problem> {
    state.gate.revoke_grant(&actor, id.get()?).await.map_err(|error| refuse(&state, error))?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
