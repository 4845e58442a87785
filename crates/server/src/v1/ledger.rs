//! The ledger, page by page.

use axum::{extract::State as AxumState, response::Response};
use http::StatusCode;
use placet_core::Digest;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

use crate::{
    State,
    call::{Caller, Params},
    problem::Problem,
    v1::{json, refuse},
};

/// Where to begin.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct LedgerParams {
    /// After this entry.
    after: Option<u64>,
    /// 1 to 1000; 100 unless told.
    limit: Option<u32>,
}

/// One entry as it was hashed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LedgerItem {
    seq: u64,
    /// SHA-256 over `placet/entry/v1`, a newline, and the canonical form of `entry`.
    #[schema(value_type = String)]
    hash: Digest,
    /// The entry, in canonical form.
    #[schema(value_type = Object)]
    entry: Box<RawValue>,
}

/// A page of the ledger.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LedgerPage {
    items: Vec<LedgerItem>,
    /// Ask for entries after this one next; null at the end.
    next_after: Option<u64>,
}

/// Read the ledger.
#[utoipa::path(get, path = "/v1/ledger", operation_id = "list_ledger", tag = "ledger", params(LedgerParams), responses((status = 200, description = "entries in order", body = LedgerPage)))]
pub(crate) async fn list(
    AxumState(state): AxumState<State>,
    Caller(actor): Caller,
    Params(params): Params<LedgerParams>,
) -> Result<Response, Problem> {
    let limit = params.limit.unwrap_or(100);
    if !(1..=1000).contains(&limit) {
        return Err(Problem::unprocessable("invalid_query", "", "`limit` must be 1 to 1000"));
    }
    let rows = state
        .gate
        .ledger(&actor, params.after.unwrap_or(0), limit)
        .await
        .map_err(|error| refuse(&state, error))?;
    let next_after = rows.last().filter(|_| rows.len() == limit as usize).map(|row| row.seq);
    let items = rows
        .into_iter()
        .map(|row| {
            let entry = RawValue::from_string(row.text).map_err(|error| {
                Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", error.to_string())
            })?;
            Ok(LedgerItem { seq: row.seq, hash: row.hash, entry })
        })
        .collect::<Result<_, Problem>>()?;
    Ok(json(StatusCode::OK, &LedgerPage { items, next_after }))
}
