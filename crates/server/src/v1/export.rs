//! Requests as a file: one line each, written as they are read.

use axum::{
    body::Body,
    extract::State as AxumState,
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use placet_core::{Actor, GrantUsed, Record, Request, Risk, State as Life, show};
use placet_gate::{Filter, GateError};
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use utoipa::{IntoParams, ToSchema};

use crate::{
    State,
    call::{Caller, Params},
    problem::{Problem, ProblemDocument},
    v1::{refuse, requests::ListParams},
};

/// In which form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Format {
    /// One record in JSON on every line.
    #[default]
    Jsonl,
    /// A table for spreadsheets.
    Csv,
}

/// Which requests to export, in which form; everything given must match.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExportParams {
    /// `jsonl` or `csv`; `jsonl` unless told.
    #[param(inline)]
    format: Option<Format>,
    state: Option<Life>,
    agent: Option<String>,
    tool: Option<String>,
    session: Option<String>,
    risk: Option<Risk>,
    group: Option<String>,
    /// Text in id, agent, tool, session or group.
    #[param(max_length = 200)]
    q: Option<String>,
    /// Made at this time or later, such as `2026-11-15T00:00:00Z`.
    since: Option<String>,
    /// Made before this time.
    until: Option<String>,
    /// Decided by this person, alone or with others.
    by: Option<String>,
    /// For a session: a ticket of `POST /v1/requests/export/ticket`, in place of a proof. It works once.
    #[expect(dead_code, reason = "looked at before the call comes here")]
    ticket: Option<String>,
}

/// Requests read at a time.
const PAGE: u32 = 200;

/// A chunk is handed over when it is this long, whatever is left of the page: pages can be long.
const CHUNK: usize = 64 * 1024;
/// Chunks on their way to the reader.
const AHEAD: usize = 2;

/// Requests as a file: records as lines of JSON, or a table. A file that ends early was cut off: the connection breaks.
#[utoipa::path(get, path = "/v1/requests/export", operation_id = "export_requests", tag = "requests", params(ExportParams), responses(
    (status = 200, description = "newest first; pending ones by nearest deadline. Cells of a table that begin with `=`, `+`, `-` or `@` have a `'` before them", content((Record = "application/x-ndjson"), (String = "text/csv"))),
    (status = 503, description = "other exports are running", body = ProblemDocument),
))]
pub(crate) async fn export(
    AxumState(state): AxumState<State>,
    Caller(actor): Caller,
    Params(params): Params<ExportParams>,
) -> Result<Response, Problem> {
    let format = params.format.unwrap_or_default();
    let filter = ListParams {
        state: params.state,
        agent: params.agent,
        tool: params.tool,
        session: params.session,
        risk: params.risk,
        group: params.group,
        q: params.q,
        since: params.since,
        until: params.until,
        by: params.by,
        ..ListParams::default()
    };
    let filter = filter.filter()?;
    let Ok(turn) = state.exports.clone().try_acquire_owned() else {
        let detail = "other exports are running: try again when they are done";
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail).retry_after(5));
    };
    // Read before the answer begins, so that a refusal has a status of its own.
    let first = state.gate.list(&actor, &filter, PAGE).await.map_err(|error| refuse(&state, error))?;
    let (send, mut receive) = mpsc::channel::<std::io::Result<Bytes>>(AHEAD);
    state.tasks.spawn(produce(state.clone(), actor, filter, format, first, send, turn));
    let chunks = futures_util::stream::poll_fn(move |cx| receive.poll_recv(cx));
    let (kind, end) = match format {
        Format::Jsonl => ("application/x-ndjson", "jsonl"),
        Format::Csv => ("text/csv; charset=utf-8", "csv"),
    };
    let day: String = state.gate.now().to_string().chars().take(10).collect();
    let mut response = Body::from_stream(chunks).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    if let Ok(name) = HeaderValue::from_str(&format!("attachment; filename=\"placet-requests-{day}.{end}\""))
    {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    Ok(response)
}

/// Writes page after page until the end, or until the reader goes away, is too slow, or the server closes.
async fn produce(
    state: State,
    actor: Actor,
    mut filter: Filter,
    format: Format,
    first: placet_gate::Listed,
    send: mpsc::Sender<std::io::Result<Bytes>>,
    _turn: OwnedSemaphorePermit,
) {
    let mut page = first;
    let mut chunk = Vec::new();
    if format == Format::Csv {
        line(&mut chunk, COLUMNS.iter().map(|column| (*column).to_owned()));
    }
    loop {
        let now = state.gate.now();
        for request in &page.items {
            let written = match format {
                Format::Jsonl => {
                    serde_json::to_writer(&mut chunk, &request.view(now)).map(|()| chunk.push(b'\n'))
                }
                Format::Csv => {
                    line(&mut chunk, cells(&state, &actor, request).into_iter());
                    Ok(())
                }
            };
            if let Err(error) = written {
                let _ = send.send(Err(error.into())).await;
                return;
            }
            if chunk.len() >= CHUNK && sent(&state, &send, &mut chunk).await.is_err() {
                return;
            }
        }
        if !chunk.is_empty() && sent(&state, &send, &mut chunk).await.is_err() {
            return;
        }
        let Some(next) = page.next else { return };
        filter.after = Some(next);
        page = match state.gate.list(&actor, &filter, PAGE).await {
            Ok(_) if state.closing.is_cancelled() => return cut(&send, &GateError::Closing).await,
            Ok(_) if !state.gate.still_works(&actor) => return cut(&send, &GateError::KeyRevoked).await,
            Ok(page) => page,
            Err(error) => return cut(&send, &error).await,
        };
    }
}

/// Hands a chunk over, unless the reader is too slow or gone.
async fn sent(
    state: &State,
    send: &mpsc::Sender<std::io::Result<Bytes>>,
    chunk: &mut Vec<u8>,
) -> Result<(), ()> {
    let chunk = Bytes::from(std::mem::take(chunk));
    send.send_timeout(Ok(chunk), state.settings.slow_reader).await.map_err(drop)
}

/// Breaks the connection, so that half a file is not taken for a whole one.
async fn cut(send: &mpsc::Sender<std::io::Result<Bytes>>, error: &GateError) {
    tracing::warn!(%error, "an export was cut off");
    let _ = send.send(Err(std::io::Error::other(error.to_string()))).await;
}

const COLUMNS: [&str; 18] = [
    "id",
    "created_at",
    "state",
    "kind",
    "agent",
    "session",
    "tool",
    "risk",
    "effect",
    "decision",
    "decided_by",
    "decided_at",
    "reason",
    "rule",
    "group",
    "on_behalf_of",
    "expires_at",
    "digest",
];

fn cells(state: &State, actor: &Actor, request: &Request) -> [String; 18] {
    let row = state.gate.row(actor, request);
    let reason = request.decision.as_ref().and_then(|decision| decision.reason.as_deref());
    [
        row.id.to_string(),
        row.created_at.to_string(),
        row.state.to_string(),
        row.kind.to_string(),
        row.agent,
        row.session,
        row.tool.unwrap_or_default(),
        row.risk.to_string(),
        row.effect,
        row.decision.map(|word| word.to_string()).unwrap_or_default(),
        row.grant.as_ref().map_or_else(|| row.decided_by.join("; "), GrantUsed::whose),
        row.decided_at.map(|at| at.to_string()).unwrap_or_default(),
        reason.map(show).unwrap_or_default(),
        show(&request.verdict.rule),
        row.group.unwrap_or_default(),
        request.on_behalf_of.as_deref().map(show).unwrap_or_default(),
        row.expires_at.to_string(),
        request.digest.to_string(),
    ]
}

/// One line of a table.
fn line(out: &mut Vec<u8>, cells: impl Iterator<Item = String>) {
    for (index, text) in cells.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(cell(&text).as_bytes());
    }
    out.extend_from_slice(b"\r\n");
}

/// One cell: in quotes where it must be, and never a formula.
fn cell(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if formula { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula_and_none_breaks_out_of_its_place() {
        for (text, written) in [
            ("plain", "plain"),
            ("=1+1", "'=1+1"),
            ("+49", "'+49"),
            ("-1", "'-1"),
            ("@cmd", "'@cmd"),
            ("a,b", "\"a,b\""),
            ("=HYPERLINK(\"x\",1)", "\"'=HYPERLINK(\"\"x\"\",1)\""),
            ("", ""),
        ] {
            assert_eq!(cell(text), written);
        }
    }
}
