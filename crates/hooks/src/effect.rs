//! How an agent reacts to a hook's output, written down independently of how answers are rendered.
//!
//! Taken from the documentation and source of each agent. `placet doctor` and the tests judge a hook's output by it,
//! so "blocked" means what the agent does.

use serde_json::{Map, Value};

use crate::{Event, Output};

/// What happens to the call.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// It runs, with replaced arguments if there are any.
    Runs(Option<Map<String, Value>>),
    /// It does not run.
    Blocked,
    /// The agent goes on without the hook: by its own rules, a prompt, or in the worst case a run.
    Undecided,
    /// It does not run now; the agent asks again when it is resumed.
    Deferred,
}

/// How the agent of this event reacts.
pub fn effect(event: Event, output: &Output) -> Effect {
    let said: Option<Map<String, Value>> = match serde_json::from_str(output.stdout.trim()) {
        Ok(Value::Object(said)) => Some(said),
        _ => None,
    };
    let said = said.as_ref();
    match event {
        Event::ClaudePreToolUse => claude_tool(said, output),
        Event::ClaudePermissionRequest => permission(said, true),
        Event::CodexPreToolUse => codex_tool(said, output),
        Event::CodexPermissionRequest => match output.code {
            0 => permission(said, false),
            2 if !output.stderr.trim().is_empty() => Effect::Blocked,
            _ => Effect::Undecided,
        },
        Event::GeminiBeforeTool => gemini(said, output),
        Event::CursorPreToolUse
        | Event::CursorBeforeShell
        | Event::CursorBeforeMcp
        | Event::CursorBeforeRead => cursor(event, said, output),
        Event::CopilotPreToolUse | Event::CopilotPreToolUseCompatible => match output.code {
            0 => match text(said, "permissionDecision") {
                Some("allow") => Effect::Runs(object(said, "modifiedArgs")),
                Some("deny") if text(said, "permissionDecisionReason").is_some() => Effect::Blocked,
                _ => Effect::Undecided,
            },
            _ => Effect::Undecided,
        },
        Event::CopilotPermissionRequest => match (output.code, text(said, "behavior")) {
            (2, _) | (0, Some("deny")) => Effect::Blocked,
            (0, Some("allow")) => Effect::Runs(None),
            _ => Effect::Undecided,
        },
        // Our own plugin: anything but this throws, and a throw blocks.
        Event::OpenCodeBefore => match (output.code, text(said, "decision")) {
            (0, Some("allow")) => Effect::Runs(object(said, "args")),
            _ => Effect::Blocked,
        },
    }
}

fn text<'a>(said: Option<&'a Map<String, Value>>, name: &str) -> Option<&'a str> {
    said?.get(name)?.as_str().filter(|text| !text.is_empty())
}

fn object(said: Option<&Map<String, Value>>, name: &str) -> Option<Map<String, Value>> {
    said?.get(name)?.as_object().cloned()
}

fn specific(said: Option<&Map<String, Value>>) -> Option<&Map<String, Value>> {
    said?.get("hookSpecificOutput")?.as_object()
}

fn claude_tool(said: Option<&Map<String, Value>>, output: &Output) -> Effect {
    if output.code == 2 {
        return Effect::Blocked;
    }
    let own = specific(said).filter(|own| text(Some(own), "hookEventName") == Some("PreToolUse"));
    match text(own, "permissionDecision") {
        Some("allow") => Effect::Runs(object(own, "updatedInput")),
        Some("deny") => Effect::Blocked,
        Some("defer") => Effect::Deferred,
        _ => Effect::Undecided,
    }
}

fn permission(said: Option<&Map<String, Value>>, takes_input: bool) -> Effect {
    let own = specific(said).filter(|own| text(Some(own), "hookEventName") == Some("PermissionRequest"));
    let decision = own.and_then(|own| own.get("decision")?.as_object());
    // Codex drops an answer with fields it does not support.
    let extra = ["updatedInput", "updatedPermissions", "interrupt"];
    if !takes_input && decision.is_some_and(|decision| extra.iter().any(|name| decision.contains_key(*name)))
    {
        return Effect::Undecided;
    }
    match text(decision, "behavior") {
        Some("allow") => Effect::Runs(object(decision, "updatedInput")),
        Some("deny") => Effect::Blocked,
        _ => Effect::Undecided,
    }
}

fn codex_tool(said: Option<&Map<String, Value>>, output: &Output) -> Effect {
    match output.code {
        2 if !output.stderr.trim().is_empty() => return Effect::Blocked,
        0 => {}
        _ => return Effect::Undecided,
    }
    // Codex takes silence as permission to go on.
    if output.stdout.trim().is_empty() {
        return Effect::Runs(None);
    }
    let own = specific(said);
    let known = [
        "hookEventName",
        "permissionDecision",
        "permissionDecisionReason",
        "updatedInput",
        "additionalContext",
    ];
    if own.is_none_or(|own| own.keys().any(|name| !known.contains(&name.as_str()))) {
        return Effect::Undecided;
    }
    match text(own, "permissionDecision") {
        Some("deny") if text(own, "permissionDecisionReason").is_some() => Effect::Blocked,
        Some("allow") if object(own, "updatedInput").is_some() => Effect::Runs(object(own, "updatedInput")),
        _ => Effect::Undecided,
    }
}

fn gemini(said: Option<&Map<String, Value>>, output: &Output) -> Effect {
    let told =
        [&output.stdout, &output.stderr].into_iter().map(|text| text.trim()).find(|text| !text.is_empty());
    match said {
        Some(_) => match text(said, "decision") {
            Some("deny" | "block") => Effect::Blocked,
            Some("ask") => Effect::Undecided,
            _ => Effect::Runs(object(specific(said), "tool_input")),
        },
        // Text instead of JSON: codes from 2 up block, and only if there is any text.
        None if told.is_some() && output.code >= 2 => Effect::Blocked,
        None => Effect::Undecided,
    }
}

fn cursor(event: Event, said: Option<&Map<String, Value>>, output: &Output) -> Effect {
    // As installed, with `failClosed`: a failure blocks.
    match (output.code, text(said, "permission")) {
        (0, Some("allow")) => {
            let input = object(said, "updated_input").filter(|_| event == Event::CursorPreToolUse);
            Effect::Runs(input)
        }
        (0, Some("ask")) => Effect::Undecided,
        _ => Effect::Blocked,
    }
}
