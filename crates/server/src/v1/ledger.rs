//! The ledger, page by page, and whether it holds.

use axum::{
    body::Body,
    extract::State as AxumState,
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use placet_core::{Digest, Time};
use placet_gate::Verification;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json as value, value::RawValue};
use tokio::sync::mpsc;
use utoipa::{IntoParams, ToSchema};

use crate::{
    State,
    call::{Caller, Params},
    problem::{Problem, ProblemDocument},
    v1::{json, refuse},
};

/// Where to begin.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct LedgerParams {
    /// After this entry.
    after: Option<u64>,
    /// 100 unless told.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// One entry as it was hashed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LedgerItem {
    seq: u64,
    /// SHA-256 over `placet/entry/v1`, a newline, and the canonical form of `entry`.
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
    #[schema(required = true)]
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

/// Where the ledger stands.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LedgerStatus {
    /// Hash of the last entry.
    head: Digest,
    /// How many there are.
    entries: u64,
    /// What the last verification by this server found; null when there was none since it started.
    #[schema(required = true)]
    verified: Option<VerifiedRecord>,
}

/// What a verification found.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct VerifiedRecord {
    ok: bool,
    /// How many entries were checked.
    entries: u64,
    #[schema(value_type = String, format = DateTime)]
    at: Time,
    /// What is wrong, first of all.
    #[schema(required = true)]
    problem: Option<String>,
}

/// Where the ledger stands, and whether it was found to hold.
#[utoipa::path(get, path = "/v1/ledger/status", operation_id = "get_ledger_status", tag = "ledger", responses((status = 200, description = "as of now", body = LedgerStatus)))]
pub(crate) async fn status(
    AxumState(state): AxumState<State>,
    Caller(actor): Caller,
) -> Result<Response, Problem> {
    let status = state.gate.ledger_status(&actor).await.map_err(|error| refuse(&state, error))?;
    let (entries, head, last) = status;
    let verified =
        last.map(|Verification { ok, entries, at, problem, .. }| VerifiedRecord { ok, entries, at, problem });
    Ok(json(StatusCode::OK, &LedgerStatus { head, entries, verified }))
}

/// Check the whole ledger: the chain, what was written, and that the tables are what it says.
#[utoipa::path(post, path = "/v1/ledger/verify", operation_id = "verify_ledger", tag = "ledger", responses(
    (status = 200, description = "lines of `{checked, total}`, and last `{done, ok, entries, head, problem, at}`. Without that last line it was cut off", body = Object, content_type = "application/x-ndjson"),
    (status = 409, description = "busy: somebody else is verifying", body = ProblemDocument),
))]
pub(crate) async fn verify(
    AxumState(state): AxumState<State>,
    Caller(actor): Caller,
) -> Result<Response, Problem> {
    let turn = state.gate.verify_turn(&actor).map_err(|error| refuse(&state, error))?;
    let Some(turn) = turn else {
        let detail = "somebody else is verifying the ledger: wait until that is done";
        return Err(Problem::new(StatusCode::CONFLICT, "busy", detail).retry_after(5));
    };
    // One line on its way: progress that nobody reads is skipped, never queued.
    let (lines, mut told) = mpsc::channel::<Value>(1);
    state.tasks.spawn({
        let state = state.clone();
        async move {
            let said = lines.clone();
            let verified = state.gate.verify_ledger(turn, move |at| {
                let _ = said.try_send(value!({"checked": at.done, "total": at.of}));
            });
            let last = tokio::select! {
                found = verified => match found {
                    Ok(Verification { ok, entries, head, problem, at }) => {
                        value!({"done": true, "ok": ok, "entries": entries, "head": head, "problem": problem, "at": at})
                    }
                    Err(error) => {
                        let problem = format!("it could not be read to its end: {error}");
                        let at = state.gate.now();
                        value!({"done": true, "ok": false, "entries": 0, "head": null, "problem": problem, "at": at})
                    }
                },
                // The reader went away: nobody needs the rest.
                () = lines.closed() => return,
            };
            let _ = lines.send(last).await;
        }
    });
    let lines = futures_util::stream::poll_fn(move |cx| {
        told.poll_recv(cx)
            .map(|line| line.map(|line| Ok::<_, std::convert::Infallible>(Bytes::from(format!("{line}\n")))))
    });
    let kind = [(header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"))];
    Ok((kind, Body::from_stream(lines)).into_response())
}

/// Say that keys, people and policy were looked at after a restore or a recovery: `/readyz` and `placet doctor` remind until
/// then.
#[utoipa::path(post, path = "/v1/restore/confirm", operation_id = "confirm_restore", tag = "admin", responses(
    (status = 204, description = "confirmed, and in the ledger"),
    (status = 409, description = "nothing_to_confirm", body = ProblemDocument),
))]
pub(crate) async fn confirm_restore(
    AxumState(state): AxumState<State>,
    Caller(actor): Caller,
) -> Result<Response, Problem> {
    state.gate.confirm_restore(&actor).await.map_err(|error| refuse(&state, error))?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
