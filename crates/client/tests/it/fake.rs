//! A server that answers as the test says, and records the calls.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    extract::Request,
    http::{Response, StatusCode},
};
use placet_client::Client;
use placet_ledger::action_digest;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};

/// One call as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) line: String,
    pub(crate) key: Option<String>,
    pub(crate) cursor: Option<String>,
    pub(crate) claimant: Option<String>,
    pub(crate) body: Value,
}

/// What the fake answers.
pub(crate) enum Reply {
    /// A status and a JSON body.
    Json(u16, Value),
    /// The same, with a header.
    With(u16, &'static str, &'static str, Value),
    /// A stream of events, which then ends.
    Events(String),
    /// The connection breaks after the call arrived: the outcome is unknown.
    Lost,
}

type Calls = Arc<Mutex<Vec<Call>>>;

/// The fake. Stops when dropped.
pub(crate) struct Fake {
    pub(crate) address: SocketAddr,
    calls: Calls,
    task: JoinSet<()>,
}

impl Fake {
    /// Answers each call by its number (from 0) and itself.
    pub(crate) async fn start(answer: impl Fn(usize, &Call) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap(), answer).await
    }

    pub(crate) async fn start_at(
        address: SocketAddr,
        answer: impl Fn(usize, &Call) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let calls = Calls::default();
        let (seen, answer) = (calls.clone(), Arc::new(answer));
        let app = Router::new().fallback(move |request: Request| {
            let (seen, answer) = (seen.clone(), answer.clone());
            async move {
                let call = read(request).await;
                let number = {
                    let mut seen = seen.lock().unwrap();
                    seen.push(call.clone());
                    seen.len() - 1
                };
                write(answer(number, &call))
            }
        });
        let mut task = JoinSet::new();
        task.spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { address, calls, task }
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(&format!("http://{}", self.address), "plk_agent_x").unwrap()
    }

    /// Stops it. Its port is free when this returns.
    pub(crate) async fn stop(mut self) {
        self.task.shutdown().await;
    }

    /// Waits for this many calls.
    pub(crate) async fn called(&self, times: usize) {
        while self.calls().len() < times {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }
}

async fn read(request: Request) -> Call {
    let header = |request: &Request, name: &str| {
        let value = request.headers().get(name)?;
        value.to_str().ok().map(str::to_owned)
    };
    let key = header(&request, "idempotency-key");
    let cursor = header(&request, "last-event-id");
    let claimant = header(&request, "placet-claimant");
    let line = format!("{} {}", request.method(), request.uri());
    let body = to_bytes(request.into_body(), 1 << 20).await.unwrap();
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Call { line, key, cursor, claimant, body }
}

fn write(reply: Reply) -> Response<Body> {
    let build = |status: u16, header: (&str, &str), body: Body| {
        let status = StatusCode::from_u16(status).unwrap();
        let response = Response::builder().status(status).header(header.0, header.1);
        response.body(body).unwrap()
    };
    match reply {
        Reply::Json(status, body) => build(status, ("x-fake", "1"), Body::from(body.to_string())),
        Reply::With(status, name, value, body) => build(status, (name, value), Body::from(body.to_string())),
        Reply::Events(text) => build(200, ("content-type", "text/event-stream"), Body::from(text)),
        Reply::Lost => {
            let broken = futures_util::stream::once(async { Err::<Bytes, _>(std::io::Error::other("gone")) });
            build(200, ("x-fake", "1"), Body::from_stream(broken))
        }
    }
}

/// A record in this state and version, with its true digest.
pub(crate) fn record(state: &str, version: u32) -> Value {
    let mut record = json!({
        "id": ID, "version": version, "kind": "action", "state": state, "agent": "bot", "session": "s",
        "tool": "pay", "arguments": {"amount": 5}, "arguments_schema": null, "context": {}, "summary": null,
        "on_behalf_of": null, "group": null, "nonce": "n", "digest": digest('a'), "risk": "low",
        "allowed": ["approve", "edit", "deny"], "claimable": true,
        "verdict": {"effect": "hold", "rule": "default", "policy": "none", "reasons": []},
        "needs": {"any": [{"all": [{"people": 1, "team": null}]}], "four_eyes": false, "step_up": null},
        "votes": [], "proposal": null, "asked": [], "decision": null,
        "created_at": "2026-11-15T12:00:00Z", "expires_at": "2026-11-15T12:05:00Z",
        "claim_by": null, "report_by": null, "claim": null, "outcome": null, "url": "/r/x",
    });
    record["digest"] = digest_with(&record, &json!({"amount": 5}));
    record
}

/// The true digest of a record with these arguments in place.
pub(crate) fn digest_with(record: &Value, arguments: &Value) -> Value {
    // A test may put a state there that this version does not know.
    let mut known = record.clone();
    known["state"] = json!("approved");
    let record = serde_json::from_value(known).unwrap();
    json!(action_digest(&record, arguments.as_object().unwrap()).unwrap())
}

pub(crate) const ID: &str = "req_0698d3r3kvtg0i8s0c1g60o30c";

pub(crate) fn digest(letter: char) -> String {
    format!("sha256:{}", letter.to_string().repeat(64))
}
