//! One answer in each agent's dialect. Everything but a clear allow blocks, in the form that the agent takes as a
//! block.
//!
//! Exit code 2 with a reason on standard error blocks in Claude Code, Codex and Gemini CLI, whatever is printed. The
//! JSON beside it carries the reason where it is read. Cursor takes both. Copilot goes on after exit code 2, so its
//! deny is exit code 0 with JSON.

use serde_json::{Map, Value, json};

use crate::{Agent, Answer, ApprovedCall, Call, Edits, Event, Mode, Output};

/// Blocks.
const BLOCK: u8 = 2;
/// A failure that leaves the decision to the person at the terminal.
const LEFT: u8 = 1;
/// The longest reason that is passed on.
const REASON: usize = 2_000;

/// The output and exit code of the hook.
pub fn render(call: &Call, mode: Mode, answer: &Answer) -> Output {
    let event = call.event;
    match answer {
        Answer::Allow(approved) => match fitted(event, call, approved) {
            Ok(arguments) => allow(call, arguments, &approved.reason()),
            Err(why) => refuse(event, &why, false),
        },
        Answer::Answered(input) => {
            let asked = matches!(event, Event::ClaudePreToolUse | Event::ClaudePermissionRequest)
                && call.tool == "AskUserQuestion";
            if !asked {
                return refuse(event, "Placet: an answer is no permission to run this", true);
            }
            allow(call, Some(input), "Placet: answered")
        }
        Answer::Deny(reason) => refuse(event, reason, false),
        Answer::Block(reason) => refuse(event, reason, true),
        Answer::Defer if event == Event::ClaudePreToolUse => printed(json!({ "hookSpecificOutput": {
            "hookEventName": "PreToolUse", "permissionDecision": "defer",
        }})),
        Answer::Defer => refuse(event, "Placet: not decided yet", true),
        Answer::Pass(why) if mode == Mode::Relay && event.is_prompt() => left(why.as_deref()),
        Answer::Pass(why) => refuse(event, why.as_deref().unwrap_or("Placet: no decision"), true),
    }
}

/// The output when it is not even known which call it is about. `hint` is the event the hook was installed for.
pub fn blocked(agent: Agent, hint: Option<&str>, mode: Mode, reason: &str) -> Output {
    if mode == Mode::Relay {
        return left(Some(reason));
    }
    if agent == Agent::ClaudeCode && hint == Some(Event::ClaudePermissionRequest.as_str()) {
        return refuse(Event::ClaudePermissionRequest, reason, true);
    }
    let reason = bounded(reason);
    let stdout = match agent {
        // The event is unknown. Agents read these fields before an event that can be blocked, and ignore them after
        // others.
        Agent::ClaudeCode | Agent::Codex => json!({ "hookSpecificOutput": {
            "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason,
        }}),
        Agent::Gemini | Agent::OpenCode => json!({ "decision": "deny", "reason": reason }),
        Agent::Cursor => json!({ "permission": "deny", "user_message": reason, "agent_message": reason }),
        Agent::Copilot => copilot_refusal(&reason),
    };
    let code = if agent == Agent::Copilot { 0 } else { BLOCK };
    Output { stdout: stdout.to_string(), stderr: reason, code }
}

/// The replacement arguments, if they are needed and this agent can apply them.
fn fitted<'a>(
    event: Event,
    call: &Call,
    approved: &'a ApprovedCall,
) -> Result<Option<&'a Map<String, Value>>, String> {
    let Some(handed) = approved.handed() else {
        // These two run only when they get their input back.
        let interactive = matches!(event, Event::ClaudePreToolUse | Event::ClaudePermissionRequest)
            && call.tool == "ExitPlanMode";
        return Ok(interactive.then(|| approved.arguments()));
    };
    let possible = match event.edits() {
        Edits::Replace => true,
        Edits::Merge => call.input.keys().all(|key| handed.contains_key(key)),
        Edits::Never => false,
    };
    if possible {
        return Ok(Some(handed));
    }
    Err(format!(
        "Placet: approved with changes that {} cannot make for `{}`, so nothing was run. What was approved: {}",
        event.agent(),
        event.as_str(),
        Value::Object(approved.arguments().clone())
    ))
}

fn allow(call: &Call, arguments: Option<&Map<String, Value>>, reason: &str) -> Output {
    match call.event {
        Event::ClaudePreToolUse => {
            let mut answer = json!({
                "hookEventName": "PreToolUse", "permissionDecision": "allow", "permissionDecisionReason": reason,
            });
            put(&mut answer, "updatedInput", arguments);
            printed(json!({ "hookSpecificOutput": answer }))
        }
        Event::ClaudePermissionRequest => {
            let mut decision = json!({ "behavior": "allow" });
            put(&mut decision, "updatedInput", arguments);
            printed(
                json!({ "hookSpecificOutput": { "hookEventName": "PermissionRequest", "decision": decision }}),
            )
        }
        // Codex takes a plain allow as an error. Without output the call goes on.
        Event::CodexPreToolUse => match arguments {
            None => Output::default(),
            Some(arguments) => printed(json!({ "hookSpecificOutput": {
                "hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": arguments,
            }})),
        },
        Event::CodexPermissionRequest => printed(json!({ "hookSpecificOutput": {
            "hookEventName": "PermissionRequest", "decision": { "behavior": "allow" },
        }})),
        Event::GeminiBeforeTool => {
            let mut answer = json!({ "decision": "allow" });
            if let Some(arguments) = arguments {
                put(
                    &mut answer,
                    "hookSpecificOutput",
                    Some(&json!({
                        "hookEventName": "BeforeTool", "tool_input": arguments,
                    })),
                );
            }
            printed(answer)
        }
        Event::CursorPreToolUse => {
            let mut answer = json!({ "permission": "allow" });
            put(&mut answer, "updated_input", arguments);
            printed(answer)
        }
        // With `failClosed` silence is a failure, so an allow is always written.
        Event::CursorBeforeShell | Event::CursorBeforeMcp | Event::CursorBeforeRead => {
            printed(json!({ "permission": "allow" }))
        }
        Event::CopilotPreToolUse | Event::CopilotPreToolUseCompatible => {
            let mut answer = json!({ "permissionDecision": "allow", "permissionDecisionReason": reason });
            put(&mut answer, "modifiedArgs", arguments);
            printed(answer)
        }
        Event::CopilotPermissionRequest => printed(json!({ "behavior": "allow" })),
        Event::OpenCodeBefore => {
            let mut answer = json!({ "decision": "allow" });
            put(&mut answer, "args", arguments);
            printed(answer)
        }
    }
}

/// A deny. `failed` when there was no decision: then the agent's strongest form is used.
fn refuse(event: Event, reason: &str, failed: bool) -> Output {
    let reason = bounded(reason);
    let (answer, code) = match event {
        Event::ClaudePreToolUse | Event::CodexPreToolUse => (
            json!({ "hookSpecificOutput": {
                "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason,
            }}),
            BLOCK,
        ),
        // Only the JSON counts here: exit code 2 is ignored (Claude Code), or overrides it (Codex).
        Event::ClaudePermissionRequest | Event::CodexPermissionRequest => (
            json!({ "hookSpecificOutput": {
                "hookEventName": "PermissionRequest", "decision": { "behavior": "deny", "message": reason },
            }}),
            0,
        ),
        Event::GeminiBeforeTool | Event::OpenCodeBefore => {
            (json!({ "decision": "deny", "reason": reason }), BLOCK)
        }
        Event::CursorPreToolUse
        | Event::CursorBeforeShell
        | Event::CursorBeforeMcp
        | Event::CursorBeforeRead => (
            json!({ "permission": "deny", "user_message": reason, "agent_message": reason }),
            if failed { BLOCK } else { 0 },
        ),
        Event::CopilotPreToolUse | Event::CopilotPermissionRequest => (copilot_refusal(&reason), 0),
        Event::CopilotPreToolUseCompatible => {
            let mut answer = copilot_refusal(&reason);
            put(
                &mut answer,
                "hookSpecificOutput",
                Some(&json!({
                    "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason,
                })),
            );
            (answer, 0)
        }
    };
    Output { stdout: answer.to_string(), stderr: reason, code }
}

/// A deny for both of Copilot's events: its messages do not always name the event.
fn copilot_refusal(reason: &str) -> Value {
    json!({
        "permissionDecision": "deny", "permissionDecisionReason": reason, "behavior": "deny", "message": reason,
    })
}

/// The person at the terminal decides.
fn left(why: Option<&str>) -> Output {
    match why {
        None => Output::default(),
        Some(why) => Output { stderr: bounded(why), code: LEFT, ..Output::default() },
    }
}

fn printed(answer: Value) -> Output {
    Output { stdout: answer.to_string(), ..Output::default() }
}

fn put<T: serde::Serialize>(object: &mut Value, name: &str, value: Option<&T>) {
    if let (Value::Object(object), Some(Ok(value))) = (object, value.map(serde_json::to_value)) {
        object.insert(name.to_owned(), value);
    }
}

/// A reason is never empty, because silence means consent, and never too long.
fn bounded(reason: &str) -> String {
    let reason = reason.trim();
    if reason.is_empty() {
        return "Placet: blocked".to_owned();
    }
    let mut bounded: String = reason.chars().take(REASON).collect();
    if bounded.len() < reason.len() {
        bounded.push('…');
    }
    bounded
}
