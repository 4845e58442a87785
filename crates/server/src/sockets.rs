//! What all WebSockets of this server do alike: write within a bound, ping, and say why they close.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket};

use crate::State;

/// "Try again later": the close code for readers that were too slow, and for a closing server.
pub(crate) const TRY_AGAIN: u16 = 1013;
/// The key stopped working.
pub(crate) const POLICY: u16 = 1008;

/// Writes a message, unless the reader is too slow or gone.
pub(crate) async fn send(state: &State, socket: &mut WebSocket, message: Message) -> Result<(), ()> {
    match tokio::time::timeout(state.settings.slow_reader, socket.send(message)).await {
        Ok(Ok(())) => Ok(()),
        _ => Err(()),
    }
}

/// Says goodbye with a reason.
pub(crate) async fn close(mut socket: WebSocket, code: u16, reason: &str) {
    let frame = CloseFrame { code, reason: reason.to_owned().into() };
    let _ = tokio::time::timeout(Duration::from_secs(1), socket.send(Message::Close(Some(frame)))).await;
}
