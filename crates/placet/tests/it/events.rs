//! The observability door of the real binary: an acknowledged answer reaches its agent, whatever happens to the
//! server.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::Path,
};

use futures_util::StreamExt as _;
use placet_testkit::{Program, soon};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpSocket};

use crate::program::binary;

/// A running server. Killed when dropped.
struct Server(Program);

impl Server {
    fn start(data: &Path) -> Self {
        Self(Program::serve(binary(), data, |command| {
            command.args(["--dev", "--set", "doors.open_decide=true"]);
        }))
    }

    /// Like a power cut, for the process.
    fn kill(mut self) {
        self.0.kill();
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let mut stream = TcpStream::connect(self.0.address()).expect("the server accepts connections");
        let body = body.to_string();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.0.address(),
            body.len()
        );
        stream.write_all(head.as_bytes()).expect("sent");
        stream.write_all(body.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
        serde_json::from_str(body).expect("JSON")
    }
}

/// A port that we reserve without listening: connections are refused.
fn reserved_port() -> (TcpSocket, u16) {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a free port");
    let port = socket.local_addr().expect("an address").port();
    (socket, port)
}

/// Reads one text and closes, like an agent.
async fn heard(listener: TcpListener) -> Value {
    let (stream, _) = listener.accept().await.expect("a connection");
    let mut socket = tokio_tungstenite::accept_async(stream).await.expect("a handshake");
    let text = socket.next().await.expect("a message").expect("a message").into_text().expect("text");
    let _ = socket.close(None).await;
    while let Some(Ok(_)) = socket.next().await {}
    serde_json::from_str(&text).expect("JSON")
}

/// Three times here; `PLACET_EVENT_KILLS=50` for the long form.
#[test]
fn an_answer_survives_a_kill_between_it_and_its_delivery() {
    let kills: u32 =
        std::env::var("PLACET_EVENT_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(3);
    let data = tempfile::tempdir().expect("a folder");
    for round in 0..kills {
        let server = Server::start(data.path());
        let (socket, port) = reserved_port();
        let event = server.post(
            "/events",
            &json!({
                "source_app": "app", "session_id": "s", "hook_event_type": "HumanInTheLoop", "payload": {"round": round},
                "humanInTheLoop": {"question": "May I?", "type": "permission", "responseWebSocketUrl": format!("ws://localhost:{port}")},
            }),
        );
        server.post(&format!("/events/{}/respond", event["id"]), &json!({"permission": true}));
        server.kill();
        // The agent listens only now, so nothing can have been delivered before the kill.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let listener = runtime.block_on(async { socket.listen(16) }).expect("it listens");
        let server = Server::start(data.path());
        let answer = runtime.block_on(soon("the answer", heard(listener)));
        assert_eq!(
            (&answer["permission"], &answer["hookEvent"]["id"]),
            (&json!(true), &event["id"]),
            "{answer}"
        );
        server.kill();
    }
}
