//! The observability door: what its clients rely on, and what the original got wrong.

mod answers;
mod asking;
mod posting;
mod streaming;
mod themes;

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use placet_server::Settings;
use placet_testkit::{Answer, Backend, Http, Kit, Server};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::mpsc, task::JoinSet};
use tokio_tungstenite::{accept_async, connect_async, tungstenite::Message};

use crate::support::{PAGE, Port, Socket, merged, on_open_sqlite as on_sqlite, open, soon, until_so};

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
        soon("an answer at the agent", self.answers.recv()).await.expect("the listener runs")
    }

    /// That nothing more came. The server has nothing left to deliver, and is stopped: whatever it sent came before what
    /// the test sends now, because the agent takes one connection after the other.
    async fn nothing_more(mut self, server: &mut Server) {
        delivered(server).await;
        server.stop().await;
        let (mut socket, _) = connect_async(&self.url).await.expect("the listener runs");
        socket.send(Message::text("\"last\"")).await.expect("it can be sent");
        assert_eq!(self.answer().await, json!("last"), "one answer was enough");
    }
}

/// Waits until every delivery was made or given up.
async fn delivered(server: &Server) {
    let left = "SELECT 1 FROM outbox WHERE state = 'waiting'";
    until_so("an outbox with nothing to deliver", async || server.kit.place().rows(left).await.is_empty())
        .await;
}

/// The next frame of a stream.
async fn frame(socket: &mut Socket) -> Value {
    loop {
        match soon("a frame", socket.0.next()).await.expect("the stream goes on").expect("a good frame") {
            Message::Text(text) => return serde_json::from_str(&text).expect("every frame is JSON"),
            Message::Ping(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// That a stream has told everything: next comes what happens now, a question and then its answer.
async fn told_everything(client: &Http, socket: &mut Socket) {
    let asked = ask(client, "permission", "").await;
    let told = frame(socket).await["data"].clone();
    assert_eq!(
        (&told["id"], &told["humanInTheLoopStatus"]["status"]),
        (&asked["id"], &json!("pending")),
        "{told}"
    );
    respond(client, &asked, json!({"permission": true})).await.expect(200);
    let told = frame(socket).await["data"].clone();
    assert_eq!(
        (&told["id"], &told["humanInTheLoopStatus"]["status"]),
        (&asked["id"], &json!("responded")),
        "{told}"
    );
}
