//! Spans reach a collector, name their call, and contain nothing of the request.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use placet_testkit::{BOOTSTRAP, Http, Program};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};

use crate::program::binary;

/// A test collector: it keeps what it gets, and answers as it is told.
#[derive(Clone, Default)]
struct Collector {
    exports: Arc<Mutex<Vec<(HeaderMap, Bytes)>>>,
    // How many exports it first answers with 503.
    busy: Arc<AtomicUsize>,
}

async fn take(
    State(collector): State<Collector>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, &'static str) {
    let busy = collector.busy.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
    if busy.is_ok() {
        return (StatusCode::SERVICE_UNAVAILABLE, "");
    }
    collector.exports.lock().expect("its exports").push((headers, body));
    (StatusCode::OK, "{}")
}

impl Collector {
    async fn listen(&self) -> (String, JoinSet<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/v1/traces", listener.local_addr().expect("its address"));
        let routes = Router::new().route("/v1/traces", post(take)).with_state(self.clone());
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, routes).await.expect("it serves") });
        (url, serving)
    }

    fn spans(&self) -> Vec<Value> {
        let exports = self.exports.lock().expect("its exports");
        let spans = |body: &Bytes| -> Vec<Value> {
            let export: Value = serde_json::from_slice(body).expect("JSON");
            assert_eq!(
                attribute(&export["resourceSpans"][0]["resource"], "service.name"),
                json!("gate-of-tests")
            );
            export["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().expect("spans").clone()
        };
        exports.iter().flat_map(|(_, body)| spans(body)).collect()
    }

    /// Everything it ever got, as text.
    fn text(&self) -> String {
        let exports = self.exports.lock().expect("its exports");
        exports.iter().map(|(_, body)| String::from_utf8_lossy(body).into_owned()).collect()
    }
}

fn attribute(of: &Value, key: &str) -> Value {
    let attributes = of["attributes"].as_array().into_iter().flatten();
    let found = attributes.into_iter().find(|attribute| attribute["key"] == key);
    let value = found.map(|attribute| &attribute["value"]);
    value.and_then(|value| value.as_object()?.values().next().cloned()).unwrap_or(Value::Null)
}

fn serve(data: &std::path::Path, url: &str, more: &[&str]) -> Program {
    Program::serve(binary(), data, |command| {
        for set in [&format!("telemetry.traces={url}"), "telemetry.service=gate-of-tests"] {
            command.args(["--set", set]);
        }
        command.args(more);
    })
}

fn caller(server: &Program, token: &str) -> Http {
    let authority = server.address().to_owned();
    Http { authority, token: Some(token.to_owned()), headers: Vec::new(), signer: None }
}

/// What the server counted.
async fn counted(server: &Program, outcome: &str) -> u64 {
    let metrics = caller(server, BOOTSTRAP).get("/metrics").await.expect(200);
    let wanted = format!("placet_spans_total{{outcome=\"{outcome}\"}} ");
    let line =
        metrics.as_str().expect("text").lines().find_map(|line| line.strip_prefix(&wanted)?.parse().ok());
    line.unwrap_or(0)
}

async fn until(mut done: impl AsyncFnMut() -> bool) {
    let waited = tokio::time::timeout(Duration::from_mins(1), async {
        while !done().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    waited.await.expect("it happens");
}

fn action(secret: &str) -> Value {
    json!({"kind": "action", "session": "s", "tool": "t", "arguments": {"path": format!("/srv/{secret}")}, "summary": secret})
}

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

#[tokio::test(flavor = "multi_thread")]
async fn every_call_and_what_it_did_reach_the_collector_and_nothing_that_was_asked_does() {
    let (collector, data) = (Collector::default(), tempfile::tempdir().expect("a folder"));
    let (url, _serving) = collector.listen().await;
    let headers = data.path().with_extension("headers");
    std::fs::write(&headers, "x-tenant: ops\n\nauthorization: Bearer of the collector\n").expect("a file");
    let named = format!("telemetry.headers_file={}", headers.display());
    let mut server = serve(data.path(), &url, &["--set", &named]);
    let (agent, reviewer) = (server.key("agent", "bot"), server.key("reviewer", "ann"));
    let bot = caller(&server, &agent).with("traceparent", &format!("00-{TRACE}-00f067aa0ba902b7-01"));
    let made = bot.post("/v1/requests", action("zanzibar")).await.expect(201);
    let id = made["id"].as_str().expect("its id").to_owned();
    let ann = caller(&server, &reviewer);
    let no = json!({ "decision": "deny", "digest": made["digest"], "version": made["version"], "reason": "quagga" });
    ann.post(&format!("/v1/requests/{id}/decision"), no).await.expect(200);
    ann.get("/v1/requests/req_00000000000000000000000000").await;
    ann.send(http::Method::from_bytes(b"ANYTEXT").expect("a method"), "/v1/requests", Bytes::new()).await;
    // The last calls are exported too.
    server.stop();

    let spans = collector.spans();
    let named = |name: &str| -> Vec<&Value> { spans.iter().filter(|span| span["name"] == name).collect() };
    let [asked] = named("POST /v1/requests")[..] else { panic!("{spans:?}") };
    assert_eq!((&asked["traceId"], &asked["parentSpanId"]), (&json!(TRACE), &json!("00f067aa0ba902b7")));
    let about = |span: &Value| {
        ["http.response.status_code", "placet.principal", "placet.request"].map(|key| attribute(span, key))
    };
    assert_eq!(about(asked), [json!("201"), json!("bot"), json!(id)]);
    let inside = |name: &str| {
        spans.iter().any(|span| {
            span["name"] == name && span["parentSpanId"] == asked["spanId"] && span["traceId"] == TRACE
        })
    };
    assert!(inside("judge") && inside("write"), "{spans:?}");
    let [decided] = named("POST /v1/requests/{id}/decision")[..] else { panic!("{spans:?}") };
    assert_eq!(about(decided), [json!("200"), json!("ann"), json!(id)]);
    assert_ne!(decided["traceId"], json!(TRACE), "a trace of its own");
    let [missing] = named("GET /v1/requests/{id}")[..] else { panic!("{spans:?}") };
    assert_eq!(attribute(missing, "placet.problem"), json!("not_found"));

    let text = collector.text();
    for secret in [
        "zanzibar",
        "ANYTEXT",
        "quagga",
        &agent,
        &reviewer,
        BOOTSTRAP,
        "of the collector",
        made["digest"].as_str().expect("text"),
    ] {
        assert!(!text.contains(secret), "{secret} has left");
    }
    let exports = collector.exports.lock().expect("its exports");
    assert!(
        exports.iter().all(|(headers, _)| headers["x-tenant"] == "ops"
            && headers["authorization"] == "Bearer of the collector")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_that_a_busy_collector_did_not_take_are_sent_again() {
    let (collector, data) = (Collector::default(), tempfile::tempdir().expect("a folder"));
    collector.busy.store(1, Ordering::SeqCst);
    let (url, _serving) = collector.listen().await;
    let server = serve(data.path(), &url, &[]);
    caller(&server, BOOTSTRAP).get("/v1/requests/req_00000000000000000000000000").await;
    until(async || collector.spans().iter().any(|span| span["name"] == "GET /v1/requests/{id}")).await;
    assert_eq!((collector.busy.load(Ordering::SeqCst), counted(&server, "failed").await), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_never_answers_costs_spans_and_no_calls() {
    // It accepts connections and never answers.
    let hole = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/v1/traces", hole.local_addr().expect("its address"));
    let data = tempfile::tempdir().expect("a folder");
    let mut server = serve(data.path(), &url, &["--set", "limits.requests_per_second=0"]);
    let bot = caller(&server, &server.key("agent", "bot"));
    until(async || {
        for _ in 0..200 {
            bot.get("/v1/requests/req_00000000000000000000000000").await.expect(404);
        }
        counted(&server, "dropped").await > 0
    })
    .await;
    assert_eq!(counted(&server, "exported").await, 0);
    server.stop();
}

#[test]
fn a_collector_that_cannot_be_called_is_said_before_anything_starts() {
    let data = tempfile::tempdir().expect("a folder");
    let file = data.path().join("headers");
    std::fs::write(&file, "x-a: b\nhunter2\n").expect("a file");
    let refused = |sets: &[&str]| {
        let mut serve = std::process::Command::new(binary());
        serve.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data.path().join("db"));
        for set in sets {
            serve.args(["--set", set]);
        }
        let output = serve.output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{sets:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let good = "telemetry.traces=http://127.0.0.1:4318/v1/traces";
    for (sets, said) in [
        (&["telemetry.traces=collector:4317"][..], "telemetry.traces"),
        (&["telemetry.traces=grpc://collector:4317"], "only `http://` and `https://` can be called"),
        (&["telemetry.traces=http://169.254.169.254/v1/traces"], "169.254.169.254"),
        (&[good, "telemetry.headers_file=/nowhere/headers"], "/nowhere/headers"),
        (&[good, &format!("telemetry.headers_file={}", file.display())], "line 2 is no `name: value`"),
    ] {
        let error = refused(sets);
        assert!(error.contains(said), "{error}");
        assert!(!error.contains("hunter2"), "what stands in the file may be a secret");
    }
    assert!(!data.path().join("db").exists());
}
