//! Standing approvals: listed with what they cover, taken back with one call.

use axum::{
    extract::State as AxumState,
    response::{IntoResponse as _, Response},
};
use http::StatusCode;
use placet_core::{Grant, GrantId, Time};
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

/// A standing approval that counts no more though nobody took it back.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EndedGrantRecord {
    #[serde(flatten)]
    grant: Grant,
    /// How often it was used.
    used: u32,
    /// What it covered, in words.
    covers: String,
    /// When it ended.
    #[schema(value_type = String, format = DateTime)]
    ended_at: Time,
    /// Why.
    why: &'static str,
}

/// What the upgrade from version 0.2 ended.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EndedAtUpgrade {
    /// Standing approvals on commands, the newest first. They are listed for a month.
    items: Vec<EndedGrantRecord>,
    /// Kinds of calls whose approvals were counted for trust. They are counted anew.
    trust: u64,
}

/// Standing approvals.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct GrantList {
    items: Vec<GrantRecord>,
    ended_at_upgrade: EndedAtUpgrade,
}

/// Why a standing approval of version 0.2 on a command ended.
const OUTGROWN: &str = "version 0.2 gave it for a command without regard to the folder: approve the command again where it may run";

/// Standing approvals that can still be used, and those that an upgrade ended: a reviewer's own, or everybody's for admins and
/// auditors.
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
    let outgrown = state.gate.outgrown(&actor).await.map_err(|error| refuse(&state, error))?;
    let ended = outgrown.grants.into_iter().map(|one| EndedGrantRecord {
        grant: (*one.grant).clone(),
        used: one.used,
        covers: one.covered,
        ended_at: one.at,
        why: OUTGROWN,
    });
    let ended_at_upgrade = EndedAtUpgrade { items: ended.collect(), trust: outgrown.trust };
    Ok(json(StatusCode::OK, &GrantList { items: grants.into_iter().map(record).collect(), ended_at_upgrade }))
}

/// Take a standing approval back, at once: one's own, or anybody's as an admin.
#[utoipa::path(delete, path = "/v1/grants/{id}", operation_id = "revoke_grant", tag = "policy", params(("id" = inline(GrantId), Path)), responses(
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
