//! What clients see of a task while people decide, and when nothing can come of it any more.

use std::sync::Arc;

use placet_a2a::{AgentTask, Part, Status, TaskState, remark};
use placet_core::{Request, State as Life, Time};
use serde_json::{Value, json};

use super::{
    super::told::{Cards, told},
    kept::KnownTask,
    life::Paused,
};

/// At work, and why that takes a while: the card of each request that waits.
pub(super) fn waiting(kept: &KnownTask, requests: &[Arc<Request>], cards: Cards<'_>, now: Time) -> Status {
    let left = requests.iter().filter(|request| request.state_at(now) == Life::Pending).count();
    let mut text = match (requests.len(), left) {
        (_, 0) => "Decided: the agent is being told.".to_owned(),
        (1, _) => "Awaiting approval: a person decides.".to_owned(),
        (all, left) => format!("Awaiting approval: people decide, {left} of {all} are open."),
    };
    let cards = told(requests.iter().map(AsRef::as_ref), cards, now);
    if !cards.is_empty() {
        text.extend(["\n\n", &cards]);
    }
    let mut parts = vec![Part::text(text)];
    parts.extend(requests.iter().map(|request| {
        Part::data(json!({
            "type": "approval_pending",
            "approval_id": request.id,
            "digest": request.current_digest(),
            "expires_at": request.expires_at,
            "url": format!("/r/{}", request.id),
            "state": request.state_at(now).as_str(),
        }))
    }));
    let group = kept.facts.pause.as_ref().map_or("", |pause: &Paused| pause.group.as_str());
    let versions: u64 = requests.iter().map(|request| u64::from(request.version)).sum();
    let since = requests.iter().map(|request| request.created_at).max().unwrap_or(now);
    let message = remark(format!("{group}-{versions}"), &kept.id, &kept.facts.context, parts);
    Status { state: TaskState::Working, message: Some(message), at: Some(since.to_string()) }
}

/// Broken, and why.
pub(super) fn broken(kept: &KnownTask, why: &str, now: Time) -> Status {
    let text = format!("This task cannot go on: {why}.");
    let message = remark(
        format!("placet-lost-{}", kept.id),
        &kept.id,
        &kept.facts.context,
        vec![Part::text(text), Part::data(json!({"type": "upstream_lost", "reason": why}))],
    );
    Status { state: TaskState::Failed, message: Some(message), at: Some(now.to_string()) }
}

/// A task that was withdrawn because people did not answer its question: it says why, before what the agent says itself.
pub(super) fn refused(kept: &KnownTask, seen: &AgentTask<'_>, why: &str) -> Value {
    let text = format!("The agent's question was not answered: {why}.");
    let parts = vec![Part::text(text), Part::data(json!({"type": "question_refused", "reason": why}))];
    let message = remark(format!("placet-refused-{}", kept.id), &kept.id, &kept.facts.context, parts);
    let at = seen.status.get("timestamp").and_then(Value::as_str).map(str::to_owned);
    let status = Status { state: TaskState::Canceled, message: Some(message), at };
    let mut task = kept.facts.version().with_status(seen.object, &status);
    let own = seen.status.pointer("/message/parts").and_then(Value::as_array);
    if let Some(parts) = task.pointer_mut("/status/message/parts").and_then(Value::as_array_mut) {
        parts.extend(own.into_iter().flatten().cloned());
    }
    task
}

/// A task as its client sees it, with another status if there is one to see.
pub(super) fn task(kept: &KnownTask, seen: &AgentTask<'_>, status: Option<&Status>) -> Value {
    match status {
        Some(status) => kept.facts.version().with_status(seen.object, status),
        None => seen.object.clone(),
    }
}

/// A task in our words, with a count that grows with every pause, answer and end of it. What an agent says is passed on as it
/// came, without.
pub(super) fn counted(kept: &KnownTask, mut task: Value) -> Value {
    if let Some(fields) = task.as_object_mut() {
        let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
        if !metadata.is_object() {
            *metadata = json!({});
        }
        metadata["placet"] = json!({"generation": kept.generation()});
    }
    task
}
