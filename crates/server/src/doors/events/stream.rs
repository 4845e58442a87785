//! `/stream`: what there is, then every new event and every answer, over a WebSocket.

use std::collections::BTreeSet;

use axum::{
    extract::{
        State as AxumState, WebSocketUpgrade,
        ws::{Message, WebSocket, rejection::WebSocketUpgradeRejection},
    },
    http::HeaderMap,
    response::Response,
};
use placet_core::{Actor, State as Life};
use tokio::{sync::broadcast, time::Instant};

use super::{Fault, hub::StreamNews, read};
use crate::{
    State,
    call::Caller,
    problem::Problem,
    proof::answered,
    sockets::{POLICY, TRY_AGAIN, close, send},
    v1::Seat,
};

/// Opens a stream.
pub(super) async fn stream(
    AxumState(state): AxumState<State>,
    caller: Result<Caller, Problem>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Fault> {
    let Caller(actor) = caller?;
    let upgrade = upgrade.map_err(|error| Fault::bad(format!("this address speaks WebSocket: {error}")))?;
    state.gate.reads_events(&actor).map_err(|error| Fault::gate(&state, error))?;
    let seat = state.streams.take(&actor.name)?;
    let tracked = state.tasks.token();
    let upgrade = answered(upgrade, &headers);
    Ok(upgrade.max_message_size(64 * 1024).max_frame_size(64 * 1024).on_upgrade(move |socket| async move {
        follow(state, actor, seat, socket).await;
        drop(tracked);
    }))
}

async fn follow(state: State, actor: Actor, _seat: Seat, mut socket: WebSocket) {
    // Subscribed before reading, so that nothing falls between the two.
    let mut news = state.event_streams.subscribe();
    let Ok(recent) = state.gate.recent_events(&actor, read::USUAL).await else {
        return close(socket, TRY_AGAIN, "events cannot be read now").await;
    };
    let now = state.gate.now();
    let settled = recent
        .events
        .iter()
        .filter(|seen| seen.request.as_ref().is_some_and(|request| request.state_at(now) != Life::Pending));
    // What is told at the beginning is not told again.
    let mut settled: BTreeSet<u64> = settled.map(|seen| seen.event.id).collect();
    let initial = format!("{{\"type\":\"initial\",\"data\":[{}]}}", read::texts(&state, &recent).join(","));
    let last = recent.last;
    drop(recent);
    if send(&state, &mut socket, Message::text(initial)).await.is_err() {
        return close(socket, TRY_AGAIN, "too slow").await;
    }
    let mut quiet = Instant::now() + state.settings.timing.heartbeat;
    loop {
        let message = tokio::select! {
            told = news.recv() => match told {
                Ok(StreamNews::Created { id, .. }) if id <= last => continue,
                Ok(StreamNews::Answered { id, .. }) if settled.remove(&id) => continue,
                Ok(StreamNews::Created { frame, .. } | StreamNews::Answered { frame, .. }) => Message::Text(frame),
                Ok(StreamNews::Changed) if state.gate.still_works(&actor) => continue,
                Ok(StreamNews::Changed) => return close(socket, POLICY, "the key was revoked").await,
                Ok(StreamNews::Lost) | Err(broadcast::error::RecvError::Lagged(_)) => {
                    metrics::counter!("placet_slow_readers_total").increment(1);
                    return close(socket, TRY_AGAIN, "something was missed: connect again").await;
                }
                Err(broadcast::error::RecvError::Closed) => return,
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
                Message::Ping(axum::body::Bytes::new())
            }
            () = state.closing.cancelled() => return close(socket, TRY_AGAIN, "closing").await,
        };
        if send(&state, &mut socket, message).await.is_err() {
            metrics::counter!("placet_slow_readers_total").increment(1);
            return close(socket, TRY_AGAIN, "too slow").await;
        }
        quiet = Instant::now() + state.settings.timing.heartbeat;
    }
}
