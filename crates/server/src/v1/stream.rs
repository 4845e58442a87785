//! Server-sent events, resumable without gaps or repetitions.

use axum::{
    extract::State as AxumState,
    http::HeaderMap,
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use http::{HeaderValue, header};
use placet_core::Actor;
use placet_gate::GateError;
use tokio::time::Instant;

use crate::{
    State,
    call::{Caller, Params},
    chunks::{self, ChunkSender},
    problem::Problem,
    v1::streams::{Position, StreamEvent, StreamParams, event, still_works},
};

/// The last thing a reader is told when the database went back.
const HISTORY_LOST: &str = "event: error\ndata: {\"code\":\"history_lost\",\"detail\":\"the database went back: what was told may not hold\"}\n\n";

/// Follow what happens to requests: `request.created`, `request.decided` and so on, each with the current record.
#[utoipa::path(get, path = "/v1/stream", operation_id = "stream_events", tag = "streams", params(StreamParams, ("Last-Event-ID" = Option<String>, Header)), responses(
    (status = 200, description = "server-sent events; `reset` means: list again", body = StreamEvent, content_type = "text/event-stream"),
))]
pub(crate) async fn stream(
    AxumState(state): AxumState<State>,
    Caller(actor): Caller,
    Params(params): Params<StreamParams>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let position = Position::open(&state, &actor, &headers, &params).await?;
    let (send, body) = chunks::channel();
    state.tasks.spawn(produce(state.clone(), actor, position, send));
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

/// Writes events until the reader goes away, is too slow, loses its key, or the server closes.
async fn produce(state: State, actor: Actor, mut position: Position, send: ChunkSender) {
    let slow = state.settings.slow_reader;
    // The first bytes tell the reader where it stands, before anything happens.
    let hello = if position.reset {
        format!(
            "retry: 1000\nid: {}\nevent: reset\ndata: {{\"reason\":\"unknown cursor\"}}\n\n",
            position.id()
        )
    } else {
        format!("retry: 1000\nid: {}\n\n", position.id())
    };
    if send.send(hello.into(), slow).await.is_err() {
        return;
    }
    // Counted from the last thing that was sent, so that news for others cannot keep a heartbeat away.
    let mut quiet = Instant::now() + state.settings.timing.heartbeat;
    loop {
        let chunk = tokio::select! {
            news = position.feed.next() => match news {
                Ok(news) => {
                    position.epoch = news.epoch.to_string();
                    if !still_works(&state, &actor, &news).await {
                        return;
                    }
                    match event(&state, &actor, position.view, &news) {
                        Some(event) => written(&event),
                        None => continue,
                    }
                }
                Err(GateError::Closing) => return,
                Err(GateError::Store(placet_gate::StoreError::HistoryLost(_))) => {
                    send.try_send(Bytes::from_static(HISTORY_LOST.as_bytes()));
                    return;
                }
                Err(error) => {
                    tracing::warn!(%error, "a stream ends: the ledger cannot be read");
                    return;
                }
            },
            () = tokio::time::sleep_until(quiet) => {
                if !state.gate.still_works(&actor) {
                    return;
                }
                Bytes::from(format!(": heartbeat\nid: {}\n\n", position.id()))
            }
            () = send.closed() => return,
            () = state.closing.cancelled() => {
                send.try_send(Bytes::from(format!("id: {}\n\n", position.id())));
                return;
            }
        };
        // A reader that does not read is let go; it comes back with the id of the last event it has.
        if send.send(chunk, slow).await.is_err() {
            metrics::counter!("placet_slow_readers_total").increment(1);
            return;
        }
        quiet = Instant::now() + state.settings.timing.heartbeat;
    }
}

fn written(event: &StreamEvent<'_>) -> Bytes {
    // JSON has no raw line breaks, so one data line is enough.
    let data = serde_json::to_string(event).unwrap_or_default();
    Bytes::from(format!("id: {}\nevent: {}\ndata: {data}\n\n", event.id, event.kind))
}
