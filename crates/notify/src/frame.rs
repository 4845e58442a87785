//! What an agent that waits for a call is told: the answer, and the event it asked with.

use placet_core::Request;
use placet_gate::{StoredEvent, event_answer};
use serde_json::{Map, Value};

/// Largest frame: clients of this protocol read at most a mebibyte.
const LARGEST: usize = 1_000_000;

/// The text that is sent. `None` if there is no answer that could be told.
pub(crate) fn frame(request: &Request, event: &StoredEvent) -> Option<String> {
    let answer = event_answer(request)?;
    let mut hook: Map<String, Value> = serde_json::from_str(&event.json("")).ok()?;
    // A transcript is not needed to know which question was answered.
    hook.remove("chat");
    let whole = with(answer.clone(), hook.clone());
    if whole.len() <= LARGEST {
        return Some(whole);
    }
    hook.retain(|name, _| {
        ["id", "source_app", "session_id", "hook_event_type", "timestamp"].contains(&name.as_str())
    });
    Some(with(answer, hook))
}

fn with(mut answer: Map<String, Value>, hook: Map<String, Value>) -> String {
    answer.insert("hookEvent".to_owned(), Value::Object(hook));
    Value::Object(answer).to_string()
}
