//! The origin of a request over A2A, in one line.

use std::fmt::Write as _;

use placet_core::{Record, State, show};

use super::{describe::fields, text::safe};

/// The agent it came through, as `namespace/agent`. None for other doors. The server names the door: a context
/// written by an agent proves nothing.
pub(super) fn via(record: &Record) -> Option<String> {
    let origin = record.origin.as_ref()?;
    if origin.desk { Some("placet/desk".to_owned()) } else { origin.agent.as_deref().map(show) }
}

/// Who asks: the agent, and the one behind Placet that it called.
pub(crate) fn who(record: &Record) -> String {
    let agent = show(&record.agent);
    via(record).map_or(agent.clone(), |via| format!("{agent} through {via}"))
}

/// All of it: agent, sub-agents, conversation, task, dialect, item.
pub(super) fn lineage(record: &Record) -> Option<String> {
    let mut line = via(record)?;
    let drawn = fields(record, "/context");
    let below = |place: &str| drawn.iter().find(|(pointer, _)| pointer == place).map(|(_, text)| bare(text));
    let named = |pointer: &str| proxied(record) && pointer.starts_with("lineage/");
    for (_, name) in drawn.iter().filter(|(pointer, _)| named(pointer)) {
        line.extend([" › ", bare(name)]);
    }
    for (name, place) in [("conversation", "a2a/context"), ("task", "a2a/task"), ("dialect", "a2a/dialect")] {
        if let Some(text) = below(place) {
            line.extend([" · ", name, " ", text]);
        }
    }
    let count = |place: &str| below(place).and_then(|text| text.parse::<u32>().ok());
    if let (Some(item), Some(items)) = (count("a2a/item"), count("a2a/items")) {
        // Writing to a string cannot fail.
        let _ = write!(line, " · item {} of {items}", item.saturating_add(1));
    }
    Some(line)
}

/// The proxy's notes about the call. Elsewhere `warnings` in a context are the agent's own words.
pub(super) fn noted(record: &Record) -> Vec<String> {
    if !proxied(record) {
        return Vec::new();
    }
    let drawn = fields(record, "/context");
    drawn
        .iter()
        .filter(|(pointer, _)| pointer.starts_with("warnings/"))
        .map(|(_, text)| bare(text).to_owned())
        .collect()
}

/// Whether a line of the context is shown elsewhere.
pub(super) fn told(record: &Record, pointer: &str) -> bool {
    let below = |places: &[&str]| places.iter().any(|place| pointer.starts_with(place));
    (via(record).is_some() && below(&["a2a/"])) || (proxied(record) && below(&["lineage/", "warnings/"]))
}

/// Why the agent behind the proxy could not be told, if `failed` means that: no tool reported a failure.
pub(super) fn lost(record: &Record) -> Option<String> {
    if record.state != State::Failed || !proxied(record) {
        return None;
    }
    let note = record.outcome.as_ref()?.note.as_deref()?;
    let lead = format!("{}: upstream_lost: ", record.origin.as_ref()?.agent.as_deref()?);
    note.strip_prefix(&lead).map(safe)
}

fn proxied(record: &Record) -> bool {
    record.origin.as_ref().is_some_and(|origin| origin.agent.is_some())
}

/// The text of a quoted value, without its quotes.
fn bare(text: &str) -> &str {
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use placet_core::Door;
    use serde_json::json;

    use super::*;
    use crate::output::sample;

    #[test]
    fn the_line_names_agent_sub_agent_conversation_task_and_item() {
        let record = sample::proxied();
        assert_eq!(who(&record), "billing-bot through demo/ops");
        insta::assert_snapshot!(lineage(&record).unwrap(), @"demo/ops › cleaner · conversation c-1 · task t-1 · dialect hitl · item 2 of 3");
    }

    #[test]
    fn a_context_that_an_agent_wrote_itself_is_no_lineage() {
        let mut forged = sample::proxied();
        forged.origin = None;
        assert_eq!(
            (who(&forged), lineage(&forged), noted(&forged)),
            ("billing-bot".to_owned(), None, vec![])
        );
        assert!(!told(&forged, "a2a/task"), "it is shown as what it is, a part of the context");
        forged.origin = Door::named("a2a").origin();
        assert_eq!((who(&forged), noted(&forged).len()), ("billing-bot through placet/desk".to_owned(), 0));
    }

    #[test]
    fn a_lost_agent_is_not_a_failed_tool() {
        let mut record = sample::proxied();
        record.state = State::Failed;
        let outcome = |note: &str| json!({"status": "failed", "result_digest": null, "note": note, "at": "2026-11-15T12:00:00Z", "resolved_by": null});
        record.outcome = serde_json::from_value(outcome("demo/ops: upstream_lost: it is gone")).unwrap();
        assert_eq!(lost(&record).as_deref(), Some("it is gone"));
        record.outcome = serde_json::from_value(outcome("disk full, upstream_lost: no")).unwrap();
        assert_eq!(lost(&record), None);
        record.outcome = serde_json::from_value(outcome("demo/ops: upstream_lost: it is gone")).unwrap();
        record.origin = None;
        assert_eq!(lost(&record), None, "an agent of its own writes whatever it likes");
    }
}
