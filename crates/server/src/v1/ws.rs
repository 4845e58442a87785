//! The same stream over a WebSocket.

use axum::{
    extract::{
        State as AxumState, WebSocketUpgrade,
        ws::{Message, WebSocket, rejection::WebSocketUpgradeRejection},
    },
    http::HeaderMap,
    response::Response,
};
use http::StatusCode;
use placet_core::Actor;
use placet_gate::{GateError, StoreError};
use tokio::time::Instant;

use crate::{
    State,
    call::{Caller, Params},
    problem::{Problem, ProblemDocument},
    proof::answered,
    sockets::{POLICY, TRY_AGAIN, close, send},
    v1::streams::{Position, StreamParams, event, still_works},
};

/// Follow what happens to requests over a WebSocket: the same events, one text message each. A session shows a ticket of
/// `POST /v1/ws/ticket` as its second `Sec-WebSocket-Protocol`.
#[utoipa::path(get, path = "/v1/ws", operation_id = "stream_events_ws", tag = "streams", params(StreamParams), responses(
    (status = 101, description = "messages `{id, type, at, record}`, or with `view=row` `{id, type, at, request}`; `{type: \"reset\"}` means: list again"),
    (status = 400, description = "not a WebSocket handshake", body = ProblemDocument),
))]
pub(crate) async fn ws(
    AxumState(state): AxumState<State>,
    Caller(actor): Caller,
    Params(params): Params<StreamParams>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let upgrade = upgrade.map_err(|error| {
        Problem::new(
            StatusCode::BAD_REQUEST,
            "not_a_websocket",
            format!("this address speaks WebSocket: {error}"),
        )
    })?;
    let position = Position::open(&state, &actor, &headers, &params).await?;
    let tracked = state.tasks.token();
    let upgrade = answered(upgrade, &headers);
    Ok(upgrade.max_message_size(4096).max_frame_size(4096).on_upgrade(move |socket| async move {
        follow(state, actor, position, socket).await;
        drop(tracked);
    }))
}

async fn follow(state: State, actor: Actor, mut position: Position, mut socket: WebSocket) {
    if position.reset {
        let reset = serde_json::json!({"id": position.id(), "type": "reset", "reason": "unknown cursor"});
        if send(&state, &mut socket, Message::text(reset.to_string())).await.is_err() {
            return;
        }
    }
    // Counted from the last thing that was sent, so that news for others cannot keep a ping away.
    let mut quiet = Instant::now() + state.settings.timing.heartbeat;
    loop {
        let message = tokio::select! {
            news = position.feed.next() => match news {
                Ok(news) => {
                    position.epoch = news.epoch.to_string();
                    if !still_works(&state, &actor, &news).await {
                        return close(socket, POLICY, "the key was revoked").await;
                    }
                    match event(&state, &actor, position.view, &news) {
                        Some(event) => Message::text(serde_json::to_string(&event).unwrap_or_default()),
                        None => continue,
                    }
                }
                Err(GateError::Store(StoreError::HistoryLost(_))) => {
                    return close(socket, TRY_AGAIN, "history_lost").await;
                }
                Err(_) => return close(socket, TRY_AGAIN, &position.id()).await,
            },
            said = socket.recv() => match said {
                // Nothing is expected from the reader; pings are answered underneath.
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => continue,
            },
            () = tokio::time::sleep_until(quiet) => {
                if !state.gate.still_works(&actor) {
                    return close(socket, POLICY, "the key was revoked").await;
                }
                Message::Ping(position.id().into_bytes().into())
            }
            () = state.closing.cancelled() => return close(socket, TRY_AGAIN, &position.id()).await,
        };
        if send(&state, &mut socket, message).await.is_err() {
            metrics::counter!("placet_slow_readers_total").increment(1);
            return close(socket, TRY_AGAIN, &position.id()).await;
        }
        quiet = Instant::now() + state.settings.timing.heartbeat;
    }
}
