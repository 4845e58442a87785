//! A bare agent that speaks A2A 0.3 and keeps as little as possible: the baseline for calls through the proxy, and
//! the agent that pauses when many tasks wait.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

#[derive(Default)]
struct Tasks {
    last: u64,
    /// The tasks that wait. All others are done.
    waiting: HashMap<String, Value>,
}

type Shared = Arc<Mutex<Tasks>>;

/// Its routes.
pub(super) fn routes() -> Router {
    Router::new()
        .route("/", post(call))
        .route("/.well-known/agent-card.json", get(card))
        .with_state(Shared::default())
}

async fn card() -> Json<Value> {
    Json(json!({
        "name": "bare", "description": "answers", "version": "1", "url": "http://127.0.0.1/", "protocolVersion": "0.3.0",
        "preferredTransport": "JSONRPC", "capabilities": {"streaming": true}, "skills": [],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
    }))
}

fn done(id: &str, context: &str) -> Value {
    json!({
        "kind": "task", "id": id, "contextId": context, "status": {"state": "completed"},
        "artifacts": [{"artifactId": "a", "parts": [{"kind": "text", "text": "Three pods are running in the namespace shop."}]}],
    })
}

fn paused(id: &str, context: &str) -> Value {
    let call =
        json!({"id": format!("call-{id}"), "name": "delete_file", "args": {"path": format!("/srv/{id}")}});
    let asked = json!({
        "name": "adk_request_confirmation", "id": format!("conf-{id}"),
        "args": {"originalFunctionCall": call, "toolConfirmation": {"hint": "May I?", "confirmed": false}},
    });
    let part = json!({"kind": "data", "data": asked, "metadata": {"adk_type": "function_call", "adk_is_long_running": true}});
    let message =
        json!({"kind": "message", "messageId": format!("pause-{id}"), "role": "agent", "parts": [part]});
    json!({"kind": "task", "id": id, "contextId": context, "status": {"state": "input-required", "message": message}})
}

async fn call(State(tasks): State<Shared>, Json(body): Json<Value>) -> Response {
    let message = &body["params"]["message"];
    let task = {
        let mut tasks = tasks.lock().unwrap_or_else(PoisonError::into_inner);
        match (body["method"].as_str(), message["taskId"].as_str()) {
            (Some("tasks/get"), _) => {
                let id = body["params"]["id"].as_str().unwrap_or_default();
                tasks.waiting.get(id).cloned().unwrap_or_else(|| done(id, &id.replace("task", "context")))
            }
            (_, Some(id)) => {
                tasks.waiting.remove(id);
                done(id, &id.replace("task", "context"))
            }
            _ => {
                tasks.last += 1;
                let (id, context) = (format!("task-{}", tasks.last), format!("context-{}", tasks.last));
                if message["parts"][0]["text"] == "hold" {
                    let task = paused(&id, &context);
                    tasks.waiting.insert(id, task.clone());
                    task
                } else {
                    done(&id, &context)
                }
            }
        }
    };
    let answer = json!({"jsonrpc": "2.0", "id": body["id"], "result": task});
    if body["method"] == "message/stream" {
        return ([(header::CONTENT_TYPE, "text/event-stream")], format!("data: {answer}\n\n"))
            .into_response();
    }
    Json(answer).into_response()
}
