//! The time until a person's answer reaches an agent that listens on its own WebSocket, like the agents of the
//! observability server.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use futures_util::StreamExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};

use super::closed::next_number;
use super::conn::Conn;
use super::figures::Latencies;
use super::posts::post;
use super::wire::number_after;

/// An answer counts as lost after this time.
const LOST: Duration = Duration::from_secs(5);

/// What one round saw.
#[derive(Debug, Clone)]
pub struct DeliveryTimes {
    /// From sending the answer to its arrival at the agent.
    pub delivered: Latencies,
    /// From sending the answer to the end of the call.
    pub call: Latencies,
    /// Answers that never came.
    pub lost: usize,
}

/// The waiting agents by number.
type Waiting = Arc<Mutex<HashMap<u64, oneshot::Sender<Instant>>>>;

/// `workers` people, each with an agent: the agent asks, the person answers, `each` times over.
pub async fn run(addr: SocketAddr, workers: usize, each: usize) -> Result<DeliveryTimes> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    let waiting = Waiting::default();
    // Ends with this set, which is dropped when the round is over.
    let mut agents = JoinSet::new();
    agents.spawn(listen(listener, waiting.clone()));
    let mut people = JoinSet::new();
    for _ in 0..workers {
        people.spawn(answer(addr, port, each, waiting.clone()));
    }
    let (mut delivered, mut call, mut lost) = (Vec::new(), Vec::new(), 0);
    while let Some(done) = people.join_next().await {
        for (took, reached) in done?? {
            call.push(took);
            match reached {
                Some(reached) => delivered.push(reached),
                None => lost += 1,
            }
        }
    }
    Ok(DeliveryTimes { delivered: Latencies::new(delivered), call: Latencies::new(call), lost })
}

async fn listen(listener: TcpListener, waiting: Waiting) {
    let mut sockets = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        sockets.spawn(hear(stream, waiting.clone()));
    }
}

/// The number is in the path, so that one listener can be the agent of every request.
async fn hear(stream: TcpStream, waiting: Waiting) {
    let mut number = None;
    #[expect(clippy::result_large_err, reason = "the signature that the library calls")]
    let path = |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
        number = request.uri().path().trim_start_matches('/').parse::<u64>().ok();
        Ok(response)
    };
    let Ok(mut socket) = tokio_tungstenite::accept_hdr_async(stream, path).await else { return };
    while let Some(Ok(message)) = socket.next().await {
        let waiter =
            number.and_then(|number| waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&number));
        if let Some(waiter) = waiter.filter(|_| message.is_text()) {
            let _ = waiter.send(Instant::now());
        }
    }
}

/// One person: the time of each call, and when the agent had the answer.
async fn answer(
    addr: SocketAddr,
    port: u16,
    each: usize,
    waiting: Waiting,
) -> Result<Vec<(Duration, Option<Duration>)>> {
    let mut conn = Conn::open(addr).await?;
    let mut seen = Vec::with_capacity(each);
    for _ in 0..each {
        let number = next_number();
        let (tell, told) = oneshot::channel();
        waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(number, tell);
        let asked = serde_json::json!({
            "source_app": "bench", "session_id": format!("bench-{number}"), "hook_event_type": "HumanInTheLoop",
            "payload": {}, "humanInTheLoop": {
                "question": "May I?", "responseWebSocketUrl": format!("ws://127.0.0.1:{port}/{number}"),
                "type": "permission", "choices": null, "timeout": 300, "requiresResponse": true,
            },
        });
        let answer = conn.call(&post(addr, "/events", &asked.to_string())).await?;
        answer.expect(200, "ask")?;
        let id = number_after(answer.body, b"\"id\":").context("the event has no id")?;
        let said = serde_json::json!({"permission": true, "respondedAt": 0});
        let call = post(addr, &format!("/events/{id}/respond"), &said.to_string());
        let sent = Instant::now();
        conn.call(&call).await?.expect(200, "respond")?;
        let took = sent.elapsed();
        let reached = tokio::time::timeout(LOST, told).await.ok().and_then(Result::ok);
        seen.push((took, reached.map(|at| at.saturating_duration_since(sent))));
    }
    Ok(seen)
}
