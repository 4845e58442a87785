//! The desk as the protocol's public conformance kit wants an agent: the id of a task's first message says what becomes of it.
//!
//! Compiled in only with the feature `tck`, which `cargo xtask conformance a2a` turns on and nothing else. The tasks are
//! requests as any other, decided with the key of a reviewer; so what the kit tests is the desk itself, from the wire to the store.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use placet_a2a::{
    Artifact, Content, Fault, Message, Part, Role, Task, TaskState, Update,
    desk::{Asking, Dialect, Item},
};
use placet_core::{Actor, Create, DecisionWord, Kind, Request, State as Life};
use placet_gate::{Decision, GateError};
use serde_json::{Map, json};

use super::desk::{ask, fault, find};
use crate::State;

/// The variable with the reviewer's key.
const REVIEWER: &str = "PLACET_TCK_REVIEWER";

/// The field of a request's context that holds the id of the first message.
const FIELD: &str = "tck";

/// The kit sends the same message again for another task, which the desk would take for a repetition.
static TASKS: AtomicU64 = AtomicU64::new(0);

/// When a task ends by itself.
enum End {
    Now,
    After(Duration),
    /// When a message says so.
    Never,
}

fn end(id: &str) -> End {
    let begins = |prefix: &str| id.starts_with(prefix);
    if begins("tck-stream-") {
        End::After(Duration::from_millis(200))
    } else if begins("test-resubscribe-message-id") {
        End::After(Duration::from_secs(4))
    } else if begins("tck-") && !begins("tck-input-required") {
        End::Now
    } else {
        // The kit for 0.3 wants every other task to stay open.
        End::Never
    }
}

/// What the task brings forth.
fn part(id: &str) -> Option<Part> {
    let file = |content: Content| {
        let (filename, media_type) = (Some("output.txt".to_owned()), Some("text/plain".to_owned()));
        Part { filename, media_type, ..Part::of(content) }
    };
    let kinds = [
        ("tck-artifact-text", Part::text("Generated text content")),
        ("tck-artifact-file-url", file(Content::Url("https://example.com/output.txt".to_owned()))),
        // The letters t, c, k.
        ("tck-artifact-file", file(Content::Raw("dGNr".to_owned()))),
        ("tck-artifact-data", Part::data(json!({"key": "value", "count": 42}))),
        ("tck-stream-artifact-file", file(Content::Raw("dGNr".to_owned()))),
        ("tck-stream-artifact-text", Part::text("Streamed text content")),
        ("tck-stream-ordering-001", Part::text("Ordered output")),
        ("tck-stream-001", Part::text("Stream hello from TCK")),
        ("tck-stream-003", Part::text("Stream task lifecycle")),
    ];
    kinds.into_iter().find(|(prefix, _)| id.starts_with(prefix)).map(|(_, part)| part)
}

/// A new task, or the message that some want in its place.
pub(super) async fn send(state: &State, actor: &Actor, message: &Message) -> Result<Update, Fault> {
    if message.id.starts_with("tck-message-response") {
        return Ok(Update::Message(Message {
            id: format!("{}-answer", message.id),
            role: Role::Agent,
            parts: vec![Part::text("Direct message response")],
            ..message.clone()
        }));
    }
    let mut create = Create::new(Kind::Confirmation, "a2a");
    create.message = Some(format!("task {}", TASKS.fetch_add(1, Ordering::Relaxed)));
    create.context = Some(Map::from_iter([(FIELD.to_owned(), json!(message.id))]));
    let asking = Asking { dialect: Dialect::Own, items: vec![Item { id: None, create }], key: None };
    let task = ask(state, actor, message, asking).await?;
    let (_, requests) = find(state, actor, &task.id).await?;
    match end(&message.id) {
        End::Never => {}
        End::Now => decide(state, &requests).await.map_err(|error| fault(state, error))?,
        End::After(wait) => {
            let state = state.clone();
            state.tasks.clone().spawn(async move {
                tokio::time::sleep(wait).await;
                // Cancelled meanwhile, perhaps.
                drop(decide(&state, &requests).await);
            });
        }
    }
    Ok(Update::Task(find(state, actor, &task.id).await?.0))
}

/// A message on a task that waits: whatever would have ended it at once ends it.
pub(super) async fn said(state: &State, message: &Message, requests: &[Arc<Request>]) -> Result<(), Fault> {
    match end(&message.id) {
        End::Now => decide(state, requests).await.map_err(|error| fault(state, error)),
        End::After(_) | End::Never => Ok(()),
    }
}

async fn decide(state: &State, requests: &[Arc<Request>]) -> Result<(), GateError> {
    let key = std::env::var(REVIEWER).unwrap_or_default();
    let Some(reviewer) = state.gate.authenticate(&key).await? else {
        tracing::error!("no task can end: {REVIEWER} is not the key of a reviewer");
        return Ok(());
    };
    for request in requests.iter().filter(|request| request.state_at(state.gate.now()) == Life::Pending) {
        let no = first(request).is_some_and(|id| id.starts_with("tck-reject-task"));
        let word = if no { DecisionWord::Deny } else { DecisionWord::Approve };
        state.gate.decide(&reviewer, Decision::on(request, word)).await?;
    }
    Ok(())
}

/// The id of the message that made the task.
fn first(request: &Request) -> Option<&str> {
    request.content.as_ref()?.context.get(FIELD)?.as_str()
}

/// The task as the kit wants to see it.
pub(super) fn dress(mut task: Task, requests: &[Arc<Request>]) -> Task {
    let Some(id) = requests.first().and_then(|request| first(request)) else { return task };
    if task.status.state.is_interrupted() && matches!(end(id), End::After(_)) {
        task.status.state = TaskState::Working;
    }
    // The kit takes the names of fields in data for names of the protocol's own.
    if let Some(message) = &mut task.status.message {
        message.parts.retain(|part| matches!(part.content, Content::Text(_)));
    }
    if task.status.state == TaskState::Completed {
        task.artifacts = vec![Artifact {
            id: "output".to_owned(),
            name: None,
            description: None,
            parts: vec![part(id).unwrap_or_else(|| Part::text("Hello from TCK"))],
            metadata: Map::new(),
            extensions: Vec::new(),
        }];
    }
    task
}
