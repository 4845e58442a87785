//! Messages and answers of each agent. Only an approved and claimed request may allow a call.

use placet_core::Record;
use placet_ledger::action_digest;
use serde_json::{Map, Value, json};

use crate::{Agent, Answer, ApprovedCall, Call, Event, HookMessage, read};

mod dialects;
mod failures;
mod messages;

/// What an agent sends before a call, in the shape that was seen or is documented.
pub(crate) fn message(event: Event) -> Value {
    let input = json!({"command": "rm -rf dist", "description": "Clean"});
    match event {
        Event::ClaudePreToolUse => json!({
            "session_id": "s-1", "transcript_path": "/home/ann/.claude/projects/p/s-1.jsonl", "cwd": "/srv/app",
            "prompt_id": "p-1", "permission_mode": "default", "effort": {"level": "high"},
            "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": input, "tool_use_id": "toolu_01",
        }),
        Event::ClaudePermissionRequest => json!({
            "session_id": "s-1", "transcript_path": "/home/ann/.claude/projects/p/s-1.jsonl", "cwd": "/srv/app",
            "prompt_id": "p-1", "permission_mode": "default", "hook_event_name": "PermissionRequest",
            "tool_name": "Bash", "tool_input": input,
            "permission_suggestions": [{"type": "addRules", "rules": [{"toolName": "Bash"}],
                "behavior": "allow", "destination": "localSettings"}],
        }),
        Event::CodexPreToolUse => json!({
            "session_id": "t-1", "turn_id": "u-1", "transcript_path": null, "cwd": "/srv/app",
            "hook_event_name": "PreToolUse", "model": "m", "permission_mode": "default", "tool_name": "Bash",
            "tool_input": input, "tool_use_id": "call_1",
        }),
        Event::CodexPermissionRequest => json!({
            "session_id": "t-1", "turn_id": "u-1", "transcript_path": null, "cwd": "/srv/app",
            "hook_event_name": "PermissionRequest", "model": "m", "permission_mode": "default",
            "tool_name": "Bash", "tool_input": input,
        }),
        Event::GeminiBeforeTool => json!({
            "session_id": "g-1", "transcript_path": "/tmp/t.json", "cwd": "/srv/app", "hook_event_name": "BeforeTool",
            "timestamp": "2026-11-15T12:00:00Z", "tool_name": "run_shell_command", "tool_input": input,
        }),
        Event::CursorPreToolUse => json!({
            "conversation_id": "c-1", "generation_id": "n-1", "hook_event_name": "preToolUse", "cursor_version": "2.4",
            "workspace_roots": ["/srv/app"], "model": "m", "tool_name": "Shell", "tool_input": input,
            "tool_use_id": "tool_1", "cwd": "/srv/app",
        }),
        Event::CursorBeforeShell => json!({
            "conversation_id": "c-1", "generation_id": "n-1", "hook_event_name": "beforeShellExecution",
            "workspace_roots": ["/srv/app"], "command": "rm -rf dist", "cwd": "/srv/app",
        }),
        Event::CursorBeforeMcp => json!({
            "conversation_id": "c-1", "generation_id": "n-1", "hook_event_name": "beforeMCPExecution",
            "workspace_roots": ["/srv/app"], "tool_name": "query", "tool_input": "{\"sql\": \"select 1\"}",
            "url": "http://localhost:3000",
        }),
        Event::CursorBeforeRead => json!({
            "conversation_id": "c-1", "generation_id": "n-1", "hook_event_name": "beforeReadFile",
            "workspace_roots": ["/srv/app"], "file_path": "/srv/app/.env", "content": "KEY=1",
        }),
        Event::CopilotPreToolUse => json!({
            "sessionId": "k-1", "timestamp": 1_704_614_600_000_u64, "cwd": "/srv/app", "toolName": "bash",
            "toolArgs": "{\"command\":\"rm -rf dist\",\"description\":\"Clean\"}",
        }),
        Event::CopilotPreToolUseCompatible => json!({
            "hook_event_name": "PreToolUse", "session_id": "k-1", "timestamp": "2026-11-15T12:00:00Z",
            "cwd": "/srv/app", "tool_name": "bash", "tool_input": input,
        }),
        Event::CopilotPermissionRequest => json!({
            "hook_event_name": "permissionRequest", "sessionId": "k-1", "timestamp": 1, "cwd": "/srv/app",
            "toolName": "bash", "toolInput": input,
        }),
        Event::OpenCodeBefore => json!({
            "hook_event_name": "tool.execute.before", "session_id": "ses_1", "call_id": "call_1",
            "tool_name": "bash", "tool_input": input, "cwd": "/srv/app",
        }),
    }
}

/// The call in a message.
pub(crate) fn call(event: Event) -> Call {
    called(event.agent(), &message(event))
}

pub(crate) fn called(agent: Agent, message: &Value) -> Call {
    match read(agent, None, message.to_string().as_bytes()) {
        Ok(HookMessage::Asks(call)) => *call,
        other => panic!("{agent}: {other:?}"),
    }
}

/// A claimed record of a call, changed as told.
pub(crate) fn record(call: &Call, changes: Value) -> Record {
    let digest = format!("sha256:{}", "a".repeat(64));
    let mut record = json!({
        "id": "req_0698d3r3kvtg0i8s0c1g60o30c", "version": 3, "kind": "action", "state": "claimed",
        "agent": "coder", "session": call.session, "tool": call.tool, "arguments": call.input,
        "arguments_schema": null, "context": {}, "summary": null, "on_behalf_of": null, "group": null, "nonce": "n",
        "digest": digest, "risk": "high", "allowed": ["approve", "edit", "deny"], "claimable": true,
        "verdict": {"effect": "hold", "rule": "r", "policy": "sha256:p", "reasons": []},
        "needs": {"any": [{"all": [{"people": 1, "team": null}]}], "four_eyes": false, "step_up": null},
        "votes": [], "proposal": null, "asked": [],
        "decision": {"decision": "approve", "by": ["ann"], "reason": null, "arguments": null, "digest": digest,
            "answer": null, "steps": null, "at": "2026-11-15T12:00:01Z"},
        "created_at": "2026-11-15T12:00:00Z", "expires_at": "2026-11-15T12:05:00Z",
        "claim_by": null, "report_by": null, "claim": null, "outcome": null, "url": "/r/x",
    });
    let plain: Record = serde_json::from_value(record.clone()).expect("a record");
    let digest = action_digest(&plain, &call.input).expect("a digest");
    record["digest"] = json!(digest);
    record["decision"]["digest"] = json!(digest);
    for (key, value) in changes.as_object().expect("an object") {
        record[key] = value.clone();
    }
    serde_json::from_value(record).expect("a record")
}

/// An edit of this call by ann.
pub(crate) fn edit(call: &Call, arguments: &Map<String, Value>) -> Value {
    let digest = action_digest(&record(call, json!({})), arguments).expect("a digest");
    json!({"decision": "edit", "by": ["ann"], "reason": null, "arguments": arguments, "digest": digest,
        "answer": null, "steps": null, "at": "2026-11-15T12:00:01Z"})
}

/// Approved as it is.
pub(crate) fn approved(call: &Call) -> Answer {
    let record = record(call, json!({}));
    Answer::Allow(
        ApprovedCall::check(call, &record, Some("prm_1"), &call.input, Some(record.digest)).expect("a yes"),
    )
}

/// Approved with other arguments.
pub(crate) fn edited(call: &Call, arguments: &Map<String, Value>) -> Answer {
    let record = record(call, json!({ "decision": edit(call, arguments) }));
    let digest = record.decision.as_ref().map(|decision| decision.digest);
    Answer::Allow(ApprovedCall::check(call, &record, Some("prm_1"), arguments, digest).expect("a yes"))
}
