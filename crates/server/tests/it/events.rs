//! The observability door: what its clients rely on, and what the original got wrong.

mod answers;
mod asking;
mod posting;
mod streaming;
mod themes;

use std::time::Duration;

use futures_util::StreamExt as _;
use placet_server::Settings;
use placet_testkit::{Answer, Backend, Http, Kit, Server};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::mpsc, task::JoinSet};
use tokio_tungstenite::{accept_async, tungstenite::Message};

use crate::support::{PAGE, Socket, merged, on_open_sqlite as on_sqlite, open, soon};

/// What send_event.py sends.
fn event() -> Value {
    json!({
        "source_app": "app", "session_id": "sess-1", "hook_event_type": "PreToolUse", "timestamp": 1_700_000_000_000_u64,
        "payload": {"tool_name": "Bash", "tool_input": {"command": "ls"}}, "model_name": "m", "tool_name": "Bash",
    })
}

fn event_with(more: Value) -> Value {
    merged(event(), more)
}

/// What hitl.py sends.
fn question(kind: &str, url: &Value, more: Value) -> Value {
    let asked = json!({
        "question": "May I delete it?", "responseWebSocketUrl": url, "type": kind, "choices": null, "timeout": 300,
        "requiresResponse": true,
    });
    json!({
        "source_app": "app", "session_id": "sess-1", "hook_event_type": "HumanInTheLoop", "payload": {},
        "humanInTheLoop": merged(asked, more), "timestamp": 1_700_000_000_000_u64,
    })
}

async fn told(client: &Http, event: Value) -> Value {
    client.post("/events", event).await.expect(200)
}

async fn ask(client: &Http, kind: &str, url: &str) -> Value {
    let choices = if kind == "choice" { json!({"choices": ["red", "blue"]}) } else { json!({}) };
    told(client, question(kind, &json!(url), choices)).await
}

fn respond_at(event: &Value) -> String {
    format!("/events/{}/respond", event["id"])
}

async fn respond(client: &Http, event: &Value, body: Value) -> Answer {
    client.post(&respond_at(event), body).await
}

async fn read(client: &Http, event: &Value) -> Value {
    client.get(&format!("/events/{}", event["id"])).await.expect(200)
}

fn error(answer: &Answer) -> &str {
    assert_eq!(answer.header("content-type"), Some("application/json"));
    answer.body["error"].as_str().expect("an error in words")
}

/// How many events, requests and entries there are.
async fn traces(server: &Server) -> (u64, u64) {
    let store = server.kit.store();
    (store.last_event().await.expect("events can be counted"), store.head().await.expect("and entries").1)
}

/// What an agent does while it waits, as hitl.py does it: listens on its own port, takes one text, closes.
struct Waiting {
    url: String,
    answers: mpsc::UnboundedReceiver<Value>,
    _task: JoinSet<()>,
}

impl Waiting {
    async fn start() -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").await.expect("a free port"))
    }

    /// On a port that was chosen before.
    async fn at(port: u16) -> Self {
        Self::on(TcpListener::bind(("127.0.0.1", port)).await.expect("the port is still free"))
    }

    fn on(listener: TcpListener) -> Self {
        let port = listener.local_addr().expect("an address").port();
        let (send, answers) = mpsc::unbounded_channel();
        let mut task = JoinSet::new();
        task.spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { return };
                let Ok(mut socket) = accept_async(stream).await else { continue };
                if let Some(Ok(Message::Text(text))) = socket.next().await {
                    let _ = send.send(serde_json::from_str(&text).expect("an answer is JSON"));
                }
                let _ = socket.close(None).await;
                while let Some(Ok(_)) = socket.next().await {}
            }
        });
        Self { url: format!("ws://localhost:{port}"), answers, _task: task }
    }

    async fn answer(&mut self) -> Value {
        soon(self.answers.recv()).await.expect("the listener runs")
    }

    /// That nothing more comes for a while.
    async fn nothing_more(&mut self) {
        tokio::time::sleep(Duration::from_millis(400)).await;
        assert!(self.answers.try_recv().is_err(), "one answer was enough");
    }
}

/// A port that nobody listens on.
async fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").await.expect("a free port").local_addr().expect("an address").port()
}

/// The next frame of a stream.
async fn frame(socket: &mut Socket) -> Value {
    loop {
        match soon(socket.0.next()).await.expect("the stream goes on").expect("a good frame") {
            Message::Text(text) => return serde_json::from_str(&text).expect("every frame is JSON"),
            Message::Ping(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// That a stream is quiet.
async fn quiet(socket: &mut Socket) {
    let heard = tokio::time::timeout(Duration::from_millis(400), socket.0.next()).await;
    assert!(heard.is_err(), "{heard:?}");
}
