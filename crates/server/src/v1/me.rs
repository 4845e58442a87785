//! What concerns the caller alone.

use axum::{extract::State as AxumState, response::Response};
use http::StatusCode;
use placet_gate::Pace;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    State,
    call::Caller,
    problem::{Problem, ProblemDocument},
    v1::{json, refuse},
};

/// How fast the caller decided of late, as this server heard of it. Nobody else is told, and nothing is blocked.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PaceRecord {
    /// Whether it is faster than anybody reads: `limit` quick yeses in the window, and not one no.
    warned: bool,
    /// Yeses in the window.
    approvals: u64,
    /// Of them those that came within `quick_seconds` after the request was opened or, where that is not known, after the
    /// caller's decision before.
    quick: u64,
    /// Noes in the window.
    denials: u64,
    /// How far back it looks.
    window_seconds: u64,
    quick_seconds: u64,
    limit: u64,
    /// With a warning: what was seen and what to do, in two sentences.
    #[schema(required = true)]
    text: Option<String>,
}

impl From<Pace> for PaceRecord {
    fn from(pace: Pace) -> Self {
        let text = format!(
            "You approved {} requests in the last {} minutes, each within {} seconds, and denied none. If they are all alike, a \
             rule or a remembered approval saves you the prompts: see placet policy suggest.",
            pace.quick,
            Pace::WINDOW.as_secs() / 60,
            Pace::QUICK.as_secs()
        );
        Self {
            warned: pace.warned,
            approvals: pace.approvals,
            quick: pace.quick,
            denials: pace.denials,
            window_seconds: Pace::WINDOW.as_secs(),
            quick_seconds: Pace::QUICK.as_secs(),
            limit: Pace::MOST,
            text: pace.warned.then_some(text),
        }
    }
}

/// How fast the caller decided of late: for that person alone.
#[utoipa::path(get, path = "/v1/me/pace", operation_id = "get_pace", tag = "decisions", responses(
    (status = 200, description = "the last ten minutes", body = PaceRecord),
    (status = 403, description = "for reviewers", body = ProblemDocument),
))]
pub(crate) async fn pace(
    AxumState(state): AxumState<State>,
    Caller(actor): Caller,
) -> Result<Response, Problem> {
    let pace = state.gate.pace(&actor).map_err(|error| refuse(&state, error))?;
    Ok(json(StatusCode::OK, &PaceRecord::from(pace)))
}
