//! An agent that pauses as google-adk does, runs what it is told to, counts it, and can be made to misbehave. The real ones are
//! tested elsewhere, with their own packages; this one does on purpose what those do by accident.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// How it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Manner {
    #[default]
    Well,
    /// A page for people.
    Html,
    /// A stream that says that it works, for ever.
    Forever,
    /// A stream that closes after its first event.
    ClosesEarly,
    /// The answer to a pause is carried out, and the connection breaks before it is said.
    BreaksAfterAnswer,
    /// The answer to a pause is refused, and nothing happens.
    RefusesAnswer,
    /// The answer to a pause is refused for its shape, now and ever.
    RefusesForGood,
    /// The answer to a pause is taken, and nothing is said of it; the task still looks paused.
    SaysNothingAndWaits,
    /// The answer to a pause is taken and being carried out; the task still looks paused.
    LooksPausedAtWork,
    /// The answer to a pause is taken, and with it what was asked out of the status; the rest comes when it behaves in another
    /// way.
    EmptiesStatus,
    /// The answer to a pause is taken, and the status then has something that nobody can read; the rest comes when it behaves in
    /// another way.
    GarblesStatus,
    /// The answer to a pause is taken, and the task ends badly with it.
    FailsWithAnswer,
    /// Its streams tell of tasks of others too.
    TellsOfOthers,
    /// A new message is answered with the first task it ever had, whoever's that is.
    MixesUpTasks,
    /// A withdrawal is answered, and nothing happens.
    IgnoresCancel,
    /// It cannot withdraw a task, and says so.
    RefusesCancel,
    /// It cannot withdraw a task, says so, and nothing that it says afterwards can be read.
    RefusesCancelAndGoes,
    /// It has no streams, and says so.
    Streamless,
    /// More than anybody wants to read.
    Huge,
}

#[derive(Debug, Clone)]
struct Task {
    context: String,
    state: &'static str,
    message: Option<Value>,
    calls: Vec<(String, String)>,
}

#[derive(Debug, Default)]
struct Inner {
    manner: Manner,
    tasks: HashMap<String, Task>,
    /// What it ran, by name, and how often.
    ran: BTreeMap<String, u32>,
    /// Every answer to a pause that it got.
    answers: Vec<Value>,
    /// Every call that it got.
    calls: Vec<(String, HeaderMap)>,
    params: HashMap<String, Value>,
    last: u32,
    /// Whether it does not know a task the next time it is asked for one.
    misses: bool,
    /// The next question for a task, if it is to be answered late.
    late: Late,
    card: Option<Value>,
}

/// A question for a task whose answer was written when it was asked, and comes when things have moved on.
#[derive(Debug, Default)]
enum Late {
    #[default]
    No,
    /// The next one.
    Next,
    /// It was asked, and nobody answered yet.
    Asked,
    /// This is the answer.
    Answered(Value),
}

impl Inner {
    fn task(&mut self, id: &str) -> Option<Task> {
        let missed = std::mem::take(&mut self.misses);
        self.tasks.get(id).filter(|_| !missed).cloned()
    }
}

/// A fake agent on a port of its own.
#[derive(Debug, Clone)]
pub(crate) struct Agent {
    pub(crate) url: String,
    inner: Arc<Mutex<Inner>>,
}

impl Agent {
    pub(crate) async fn start() -> Self {
        Self::start_at("/").await
    }

    /// One that speaks JSON-RPC at this path, and has its card at the root.
    #[expect(clippy::disallowed_methods, reason = "a peer that lives as long as its test")]
    pub(crate) async fn start_at(path: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let agent = Self { url, inner: Arc::default() };
        let routes = Router::new()
            .route(path, post(rpc))
            .route("/.well-known/agent-card.json", get(card))
            .with_state(agent.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        agent
    }

    fn with<T>(&self, f: impl FnOnce(&mut Inner) -> T) -> T {
        f(&mut self.inner.lock().unwrap())
    }

    pub(crate) fn behave(&self, manner: Manner) {
        self.with(|inner| inner.manner = manner);
    }

    pub(crate) fn manner(&self) -> Manner {
        self.with(|inner| inner.manner)
    }

    /// What it ran, and how often each.
    pub(crate) fn ran(&self) -> Vec<(String, u32)> {
        self.with(|inner| inner.ran.clone().into_iter().collect())
    }

    pub(crate) fn answers(&self) -> Vec<Value> {
        self.with(|inner| inner.answers.clone())
    }

    /// The headers of its last call of a method.
    pub(crate) fn headers(&self, method: &str) -> HeaderMap {
        self.with(|inner| {
            inner.calls.iter().rev().find(|(name, _)| name == method).map(|(_, headers)| headers.clone())
        })
        .expect("it was called")
    }

    /// The parameters of its last call of a method.
    pub(crate) fn params(&self, method: &str) -> Value {
        self.with(|inner| inner.params.get(method).cloned()).expect("it was called")
    }

    /// A task as it has it.
    pub(crate) fn task(&self, id: &str) -> Value {
        self.with(|inner| whole(true, id, &inner.tasks[id]))
    }

    /// How often a method was called.
    pub(crate) fn called(&self, method: &str) -> usize {
        self.with(|inner| inner.calls.iter().filter(|(name, _)| name == method).count())
    }

    /// As one of several copies of it, which has not heard of a task yet.
    pub(crate) fn miss_once(&self) {
        self.with(|inner| inner.misses = true);
    }

    /// The next time it is asked for a task its answer comes late.
    pub(crate) fn answer_late(&self) {
        self.with(|inner| inner.late = Late::Next);
    }

    /// Whether that question has come.
    pub(crate) fn is_asked(&self) -> bool {
        self.with(|inner| matches!(inner.late, Late::Asked))
    }

    /// And this is its answer.
    pub(crate) fn answer_now(&self, task: Value) {
        self.with(|inner| inner.late = Late::Answered(task));
    }

    /// As after a restart with its tasks in memory.
    pub(crate) fn forget(&self) {
        self.with(|inner| inner.tasks.clear());
    }

    /// Somebody went on with a task behind our back.
    pub(crate) fn finish(&self, id: &str) {
        self.end(id, "completed");
    }

    /// A task ends in this state.
    pub(crate) fn end(&self, id: &str, state: &'static str) {
        self.with(|inner| {
            if let Some(task) = inner.tasks.get_mut(id) {
                (task.state, task.message) = (state, None);
            }
        });
    }

    /// A task at work pauses.
    pub(crate) fn pause(&self, id: &str, name: &str) {
        self.with(|inner| {
            let task = inner.tasks.get_mut(id).expect("a task");
            let (message, mut calls) = paused(true, 99, &[name]);
            let text = message.to_string().replace("conf-99-0", "conf-late");
            for (call, _) in &mut calls {
                "conf-late".clone_into(call);
            }
            (task.state, task.calls) = ("input-required", calls);
            task.message = Some(serde_json::from_str(&text).unwrap());
        });
    }

    /// A task at work asks in plain words.
    pub(crate) fn ask(&self, id: &str) {
        self.with(|inner| {
            let task = inner.tasks.get_mut(id).expect("a task");
            task.message =
                Some(json!({"messageId": "late", "role": "ROLE_AGENT", "parts": [{"text": "Which?"}]}));
            task.state = "input-required";
        });
    }

    /// A paused task does not say any more what it waits for.
    pub(crate) fn hush(&self, id: &str) {
        self.with(|inner| inner.tasks.get_mut(id).expect("a task").message = None);
    }

    /// A paused task asks in a way that nobody can read.
    pub(crate) fn garble(&self, id: &str) {
        self.with(|inner| {
            let message = inner.tasks.get_mut(id).expect("a task").message.as_mut().expect("a pause");
            message["parts"][0]["data"]["args"] = json!("?");
        });
    }

    /// Changes what a paused task waits for, under the same ids.
    pub(crate) fn rewrite(&self, id: &str, path: &str) {
        self.with(|inner| {
            let task = inner.tasks.get_mut(id).expect("a task");
            let message = task.message.as_mut().expect("a pause");
            message["parts"][0]["data"]["args"]["originalFunctionCall"]["args"]["path"] = json!(path);
        });
    }

    pub(crate) fn show(&self, card: Value) {
        self.with(|inner| inner.card = Some(card));
    }
}

async fn card(State(agent): State<Agent>) -> axum::Json<Value> {
    let card = agent.with(|inner| inner.card.clone());
    axum::Json(card.unwrap_or_else(|| {
        json!({
            "name": "fake", "description": "pauses", "version": "1",
            "url": "http://evil.example/", "protocolVersion": "0.3.0", "preferredTransport": "JSONRPC",
            "supportedInterfaces": [{"url": "http://evil.example/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
            "capabilities": {"streaming": true, "extensions": [{"uri": "https://kagent.dev/extensions/hitl/v1"}]},
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "skills": [],
        })
    }))
}

fn spelled(new: bool, state: &str) -> String {
    if new { format!("TASK_STATE_{}", state.to_uppercase().replace('-', "_")) } else { state.to_owned() }
}

fn data(new: bool, data: Value) -> Value {
    let metadata = json!({"adk_type": "function_call", "adk_is_long_running": true});
    if new {
        json!({"data": data, "metadata": metadata})
    } else {
        json!({"kind": "data", "data": data, "metadata": metadata})
    }
}

fn status(new: bool, task: &Task) -> Value {
    let mut status = json!({"state": spelled(new, task.state), "timestamp": "2026-01-01T00:00:00Z"});
    if let Some(message) = &task.message {
        status["message"] = message.clone();
    }
    status
}

fn whole(new: bool, id: &str, task: &Task) -> Value {
    let mut whole = json!({"id": id, "contextId": task.context, "status": status(new, task)});
    if !new {
        whole["kind"] = json!("task");
    }
    if task.state == "completed" {
        let part = if new { json!({"text": "done"}) } else { json!({"kind": "text", "text": "done"}) };
        whole["artifacts"] = json!([{"artifactId": "a1", "parts": [part]}]);
    }
    whole
}

fn update(new: bool, id: &str, task: &Task) -> Value {
    let event = json!({"taskId": id, "contextId": task.context, "status": status(new, task)});
    if new {
        json!({"statusUpdate": event})
    } else {
        let mut event = event;
        event["kind"] = json!("status-update");
        event["final"] = json!(task.state != "working");
        event
    }
}

/// The pause: one confirmation for each name.
fn paused(new: bool, number: u32, names: &[&str]) -> (Value, Vec<(String, String)>) {
    let mut parts = Vec::new();
    let mut calls = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let id = format!("conf-{number}-{index}");
        parts.push(data(new, json!({
            "name": "adk_request_confirmation", "id": id,
            "args": {
                "originalFunctionCall": {"id": format!("call-{number}-{index}"), "name": "delete_file", "args": {"path": name, "size": 9_007_199_254_740_991_i64}},
                "toolConfirmation": {"hint": format!("May I delete {name}?"), "confirmed": false},
            },
        })));
        calls.push((id, (*name).to_owned()));
    }
    let role = if new { "ROLE_AGENT" } else { "agent" };
    let mut message = json!({"messageId": format!("pause-{number}"), "role": role, "parts": parts});
    if !new {
        message["kind"] = json!("message");
    }
    (message, calls)
}

async fn rpc(
    State(agent): State<Agent>,
    headers: HeaderMap,
    axum::Json(body): axum::Json<Value>,
) -> Response {
    let method = body["method"].as_str().unwrap_or_default().to_owned();
    let manner = agent.with(|inner| {
        inner.calls.push((method.clone(), headers));
        inner.params.insert(method.clone(), body["params"].clone());
        inner.manner
    });
    let id = body["id"].clone();
    let answer =
        |result: Value| axum::Json(json!({"jsonrpc": "2.0", "id": id, "result": result})).into_response();
    let refuse = |code: i64, why: &str| {
        axum::Json(json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": why}}))
            .into_response()
    };
    match manner {
        Manner::Html => {
            return ([(header::CONTENT_TYPE, "text/html")], "<html>sign in</html>").into_response();
        }
        Manner::Huge => return answer(json!({"task": "x".repeat(5 * 1024 * 1024)})),
        _ => {}
    }
    let new = method.chars().next().is_some_and(char::is_uppercase);
    let params = &body["params"];
    let named = params["id"].as_str().unwrap_or_default().to_owned();
    match method.as_str() {
        "GetTask" | "tasks/get" => {
            if let Some(task) = late(&agent).await {
                return answer(task);
            }
            match agent.with(|inner| inner.task(&named)) {
                Some(task) => answer(whole(new, &named, &task)),
                None => refuse(-32001, "no such task"),
            }
        }
        "CancelTask" | "tasks/cancel" if manner == Manner::RefusesCancel => refuse(-32004, "not here"),
        "CancelTask" | "tasks/cancel" if manner == Manner::RefusesCancelAndGoes => {
            agent.behave(Manner::Html);
            refuse(-32004, "not here")
        }
        "SendStreamingMessage" | "message/stream" if manner == Manner::Streamless => {
            refuse(-32004, "no streams here")
        }
        "CancelTask" | "tasks/cancel" => {
            let task = agent.with(|inner| {
                let task = inner.tasks.get_mut(&named)?;
                if manner == Manner::IgnoresCancel {
                    return Some(task.clone());
                }
                task.state = "canceled";
                task.message = None;
                Some(task.clone())
            });
            task.map_or_else(|| refuse(-32001, "no such task"), |task| answer(whole(new, &named, &task)))
        }
        "SendMessage" | "message/send" | "SendStreamingMessage" | "message/stream" => {
            let streams = method.to_lowercase().contains("stream");
            let answers = !params["message"]["taskId"].is_null();
            if [Manner::EmptiesStatus, Manner::GarblesStatus].contains(&manner) && answers {
                let task = params["message"]["taskId"].as_str().unwrap_or_default();
                if manner == Manner::EmptiesStatus {
                    agent.hush(task);
                } else {
                    agent.garble(task);
                }
                while agent.with(|inner| inner.manner) == manner {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            }
            let events = match take(&agent, new, &params["message"], manner) {
                Ok(events) => events,
                Err((code, why)) => return refuse(code, &why),
            };
            if manner == Manner::BreaksAfterAnswer && answers {
                // Headers and nothing else: nobody can tell what became of it.
                let broken =
                    futures_util::stream::once(async { Err::<String, _>(std::io::Error::other("gone")) });
                return ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(broken))
                    .into_response();
            }
            if streams {
                return stream(manner, id.clone(), events);
            }
            let last = events.last().cloned().unwrap_or_default();
            let task_id =
                last["statusUpdate"]["taskId"].as_str().or(last["taskId"].as_str()).unwrap_or_default();
            let task = agent.with(|inner| inner.tasks.get(task_id).cloned()).expect("just made");
            let whole = whole(new, task_id, &task);
            answer(if new { json!({"task": whole}) } else { whole })
        }
        _ => refuse(-32601, "no such method"),
    }
}

/// The late answer, if this question is the one that gets it.
async fn late(agent: &Agent) -> Option<Value> {
    let is_next = agent.with(|inner| {
        let is_next = matches!(inner.late, Late::Next);
        if is_next {
            inner.late = Late::Asked;
        }
        is_next
    });
    if !is_next {
        return None;
    }
    while agent.is_asked() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    match agent.with(|inner| std::mem::take(&mut inner.late)) {
        Late::Answered(task) => Some(task),
        _ => None,
    }
}

/// Takes a message, and says what happens.
fn take(agent: &Agent, new: bool, message: &Value, manner: Manner) -> Result<Vec<Value>, (i64, String)> {
    agent.with(|inner| {
        let texts = message["parts"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
        let text = texts.collect::<Vec<_>>().join(" ");
        let Some(id) = message["taskId"].as_str() else {
            if manner == Manner::MixesUpTasks {
                return Ok(vec![update(new, "task-1", &inner.tasks["task-1"])]);
            }
            inner.last += 1;
            let number = inner.last;
            let id = format!("task-{number}");
            let context = message["contextId"].as_str().map_or_else(|| format!("context-{number}"), str::to_owned);
            let mut task = Task { context, state: "submitted", message: None, calls: Vec::new() };
            let first = whole(new, &id, &task);
            let mut events = vec![if new { json!({"task": first}) } else { first }];
            if let Some(names) = text.strip_prefix("delete ") {
                let names: Vec<&str> = names.split(',').collect();
                let (pause, calls) = paused(new, number, &names);
                (task.state, task.message, task.calls) = ("input-required", Some(pause), calls);
            } else if let Some(words) = text.strip_prefix("pause ") {
                // In whatever language the test has it speak.
                let role = if new { "ROLE_AGENT" } else { "agent" };
                let mut pause = json!({"messageId": format!("pause-{number}"), "role": role, "parts": []});
                let words: serde_json::Map<String, Value> = serde_json::from_str(words).expect("an object");
                pause.as_object_mut().expect("an object").extend(words);
                (task.state, task.message) = ("input-required", Some(pause));
            } else if text == "ask" {
                let part = if new { json!({"text": "Which city?"}) } else { json!({"kind": "text", "text": "Which city?"}) };
                task.message = Some(json!({"messageId": format!("ask-{number}"), "role": if new { "ROLE_AGENT" } else { "agent" }, "parts": [part]}));
                task.state = "input-required";
            } else if manner == Manner::ClosesEarly || manner == Manner::Forever {
                task.state = "working";
            } else {
                task.state = "completed";
            }
            if manner == Manner::TellsOfOthers {
                let artifact = json!({"artifactId": "x", "parts": [{"text": "of somebody else"}]});
                let theirs = json!({"taskId": "task-99", "contextId": "context-99", "artifact": artifact});
                events.push(json!({"artifactUpdate": theirs}));
            }
            events.push(update(new, &id, &task));
            inner.tasks.insert(id, task);
            return Ok(events);
        };
        let Some(task) = inner.tasks.get_mut(id) else { return Err((-32001, "no such task".to_owned())) };
        if manner == Manner::RefusesAnswer {
            return Err((-32603, "not now".to_owned()));
        }
        if manner == Manner::RefusesForGood {
            return Err((-32602, "not like that".to_owned()));
        }
        inner.answers.push(message.clone());
        if manner == Manner::SaysNothingAndWaits {
            return Ok(Vec::new());
        }
        if manner == Manner::LooksPausedAtWork {
            let first = whole(new, id, &Task { state: "working", message: None, ..task.clone() });
            return Ok(vec![if new { json!({"task": first}) } else { first }]);
        }
        if manner == Manner::FailsWithAnswer {
            (task.state, task.message) = ("failed", None);
            return Ok(vec![update(new, id, task)]);
        }
        if message["contextId"].as_str() == Some(&task.context) {
            for part in message["parts"].as_array().into_iter().flatten() {
                let Some(id) = part["data"]["id"].as_str() else { continue };
                let confirmed = part["data"]["response"]["confirmed"] == json!(true);
                let call = task.calls.iter().find(|(known, _)| known == id);
                match call {
                    Some((_, name)) if confirmed => *inner.ran.entry(name.clone()).or_default() += 1,
                    Some(_) => {}
                    None => task.state = "failed",
                }
            }
            // Like the real ones: whatever else is said ends the task, and the approval is gone.
            if task.state == "input-required" {
                task.state = "completed";
            }
        } else {
            task.state = "failed";
        }
        task.message = None;
        let task = task.clone();
        let first = whole(new, id, &Task { state: "submitted", ..task.clone() });
        Ok(vec![if new { json!({"task": first}) } else { first }, update(new, id, &task)])
    })
}

fn stream(manner: Manner, id: Value, events: Vec<Value>) -> Response {
    let line =
        move |result: &Value| format!("data: {}\n\n", json!({"jsonrpc": "2.0", "id": id, "result": result}));
    let mut lines: Vec<String> = events.iter().map(line).collect();
    let body = match manner {
        Manner::ClosesEarly => {
            lines.truncate(1);
            Body::from(lines.concat())
        }
        Manner::Forever => {
            let again = lines.last().cloned().unwrap_or_default();
            let more = futures_util::stream::unfold(again, |again| async {
                tokio::time::sleep(Duration::from_millis(2)).await;
                Some((Ok::<_, std::io::Error>(again.clone()), again))
            });
            let first = futures_util::stream::once(async move { Ok::<_, std::io::Error>(lines.concat()) });
            Body::from_stream(futures_util::StreamExt::chain(first, more))
        }
        _ => Body::from(lines.concat()),
    };
    (StatusCode::OK, [(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}
