//! How the messages of the agents are read.

use placet_core::DecisionWord;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{call, called, message};
use crate::{Agent, Event, Fault, HookMessage, Options, questions, read};

fn created(event: Event) -> Value {
    let options = Options { expires_in: Some("540s".to_owned()), on_behalf_of: None, edits: true };
    serde_json::to_value(call(event).asking(&options).create()).unwrap()
}

#[test]
fn a_call_of_claude_code_becomes_an_action_with_its_tool_arguments_and_origin() {
    insta::assert_json_snapshot!(created(Event::ClaudePreToolUse), @r#"
    {
      "allowed": [
        "approve",
        "edit",
        "deny"
      ],
      "arguments": {
        "command": "rm -rf dist",
        "description": "Clean"
      },
      "context": {
        "agent": "claude-code",
        "call_id": "toolu_01",
        "cwd": "/srv/app",
        "hook": "PreToolUse",
        "transcript": "/home/ann/.claude/projects/p/s-1.jsonl"
      },
      "expires_in": "540s",
      "group": "hook-af94a1d13659c098f6926993ab0015f9",
      "kind": "action",
      "session": "s-1",
      "tool": "Bash"
    }
    "#);
}

#[test]
fn every_agents_message_becomes_an_action_the_gate_takes() {
    let mut seen = Vec::new();
    for event in Event::ALL {
        let call = call(event);
        assert_eq!(call.event, event);
        let options = Options::default();
        let spec = call.asking(&options).create().check(&placet_core::Limits::default());
        assert!(spec.is_ok_and(|spec| spec.terms.permit), "{event:?}");
        let (arguments, tool) = (Value::Object(call.input), call.tool);
        seen.push(format!("{}/{}: {tool} {arguments}", event.agent(), event.as_str()));
    }
    insta::assert_snapshot!(seen.join("\n"), @r#"
    claude-code/PreToolUse: Bash {"command":"rm -rf dist","description":"Clean"}
    claude-code/PermissionRequest: Bash {"command":"rm -rf dist","description":"Clean"}
    codex/PreToolUse: Bash {"command":"rm -rf dist","description":"Clean"}
    codex/PermissionRequest: Bash {"command":"rm -rf dist","description":"Clean"}
    gemini/BeforeTool: run_shell_command {"command":"rm -rf dist","description":"Clean"}
    cursor/preToolUse: Shell {"command":"rm -rf dist","description":"Clean"}
    cursor/beforeShellExecution: Shell {"command":"rm -rf dist"}
    cursor/beforeMCPExecution: MCP:query {"sql":"select 1"}
    cursor/beforeReadFile: read_file {"file_path":"/srv/app/.env"}
    copilot/preToolUse: bash {"command":"rm -rf dist","description":"Clean"}
    copilot/PreToolUse: bash {"command":"rm -rf dist","description":"Clean"}
    copilot/permissionRequest: bash {"command":"rm -rf dist","description":"Clean"}
    opencode/tool.execute.before: bash {"command":"rm -rf dist","description":"Clean"}
    "#);
}

#[test]
fn new_fields_of_an_agent_do_no_harm() {
    for event in Event::ALL {
        let mut message = message(event);
        message["something_new"] = json!({"a": [1, 2, {"b": null}]});
        assert_eq!(called(event.agent(), &message), call(event));
    }
}

#[test]
fn what_is_offered_to_reviewers_is_what_the_agent_can_take_and_was_seen_to_take() {
    for event in Event::ALL {
        let create = call(event).asking(&Options::default()).create();
        assert_eq!(create.allowed, Some(vec![DecisionWord::Approve, DecisionWord::Deny]), "{event:?}");
    }
    assert_eq!(created(Event::CodexPermissionRequest)["allowed"], json!(["approve", "deny"]));
    assert_eq!(created(Event::CursorBeforeShell)["allowed"], json!(["approve", "deny"]));
    assert_eq!(created(Event::GeminiBeforeTool)["allowed"], json!(["approve", "edit", "deny"]));
}

#[test]
fn a_sub_agents_kind_is_its_lineage() {
    let mut message = message(Event::ClaudePreToolUse);
    message["agent_id"] = json!("a-1");
    message["agent_type"] = json!("researcher");
    let call = called(Agent::ClaudeCode, &message);
    assert_eq!(call.context["lineage"], json!(["researcher"]));
    assert_eq!(call.context["agent_id"], json!("a-1"));
}

#[test]
fn the_same_call_asked_again_has_the_same_key_and_body() {
    let options = Options::default();
    let first = call(Event::ClaudePreToolUse);
    // Resumed: another prompt, another mode, and the same call.
    let mut again = message(Event::ClaudePreToolUse);
    again["prompt_id"] = json!("p-2");
    again["permission_mode"] = json!("plan");
    let again = called(Agent::ClaudeCode, &again);
    let (first, again) = (first.asking(&options), again.asking(&options));
    assert_eq!(first.key(0), again.key(0));
    assert_eq!(first.create(), again.create());
    assert!(first.key(0).len() <= 255 && first.key(0).bytes().all(|byte| byte.is_ascii_graphic()));
}

#[test]
fn calls_are_told_apart_by_session_agent_id_turn_arguments_and_count() {
    let options = Options::default();
    let key = |event: Event, field: &str, value: Value, count| {
        let mut message = message(event);
        if !field.is_empty() {
            message[field] = value;
        }
        called(event.agent(), &message).asking(&options).key(count)
    };
    let claude = Event::ClaudePreToolUse;
    let base = key(claude, "", json!(null), 0);
    assert_ne!(base, key(claude, "session_id", json!("s-2"), 0));
    assert_ne!(base, key(claude, "tool_use_id", json!("toolu_02"), 0));
    assert_eq!(base, key(claude, "", json!(null), 7), "an id needs no count");
    assert_ne!(base, key(Event::CodexPreToolUse, "tool_use_id", json!("toolu_01"), 0));
    let gemini = Event::GeminiBeforeTool;
    let base = key(gemini, "", json!(null), 0);
    assert_eq!(base, key(gemini, "timestamp", json!("2026-11-15T13:00:00Z"), 0));
    assert_ne!(base, key(gemini, "", json!(null), 1));
    assert_ne!(base, key(gemini, "tool_input", json!({"command": "ls"}), 0));
    let codex = Event::CodexPermissionRequest;
    assert_ne!(key(codex, "", json!(null), 0), key(codex, "turn_id", json!("u-2"), 0));
}

#[test]
fn what_follows_a_call_is_recognised() {
    let ran = |agent: Agent, message: Value| match read(agent, None, message.to_string().as_bytes()) {
        Ok(HookMessage::Ran(ran)) => (ran.session, ran.tool, ran.call_id, ran.worked),
        other => panic!("{other:?}"),
    };
    let mut post = message(Event::ClaudePreToolUse);
    post["hook_event_name"] = json!("PostToolUse");
    let id = Some("toolu_01".to_owned());
    assert_eq!(ran(Agent::ClaudeCode, post.clone()), ("s-1".into(), "Bash".into(), id.clone(), true));
    post["hook_event_name"] = json!("PostToolUseFailure");
    assert_eq!(ran(Agent::ClaudeCode, post), ("s-1".into(), "Bash".into(), id, false));
    let mut post = message(Event::GeminiBeforeTool);
    post["hook_event_name"] = json!("AfterTool");
    post["tool_response"] = json!({"llmContent": "x", "error": {"message": "no"}});
    assert!(!ran(Agent::Gemini, post).3);
    let copilot = json!({"sessionId": "k-1", "toolName": "bash", "toolArgs": {}, "toolResult": {"resultType": "success"}});
    assert!(ran(Agent::Copilot, copilot).3);
    let stop = json!({"hook_event_name": "Stop", "session_id": "s-1"}).to_string();
    let stopped = |ended| Ok(HookMessage::Stopped { session: "s-1".to_owned(), ended });
    assert_eq!(read(Agent::ClaudeCode, None, stop.as_bytes()), stopped(false));
    assert_eq!(read(Agent::Codex, None, stop.as_bytes()), stopped(false));
    let end = stop.replace("Stop", "SessionEnd");
    assert_eq!(read(Agent::ClaudeCode, None, end.as_bytes()), stopped(true));
}

#[test]
fn what_cannot_be_understood_is_named() {
    let fault = |agent, text: &str| read(agent, None, text.as_bytes()).unwrap_err().to_string();
    insta::assert_snapshot!(fault(Agent::ClaudeCode, " \n"), @"standard input is empty: expected the JSON that the agent sends to its hooks");
    insta::assert_snapshot!(fault(Agent::ClaudeCode, "{\"session_id\": \"s"), @"standard input is not usable JSON: the text ends before the document does; send the whole document (byte 17)");
    insta::assert_snapshot!(fault(Agent::ClaudeCode, "[1]"), @"standard input is JSON, but not the object that an agent sends to its hooks");
    insta::assert_snapshot!(fault(Agent::Codex, "{}"), @"`hook_event_name` is missing: this version of the agent speaks to hooks in a way Placet does not know");
    insta::assert_snapshot!(fault(Agent::Gemini, "{\"hook_event_name\":\"BeforeModel\"}"), @"unknown event `BeforeModel` of gemini: install the hook with `placet hook install gemini`");
    insta::assert_snapshot!(fault(Agent::ClaudeCode, "{\"hook_event_name\":\"PreToolUse\",\"session_id\":\"s\",\"tool_name\":\"a b\",\"tool_input\":{},\"tool_use_id\":\"t\"}"), @"the tool name `a b` cannot be put into a request: 1 to 200 of A-Z a-z 0-9 _ . / : -");
    insta::assert_snapshot!(fault(Agent::ClaudeCode, "{\"hook_event_name\":\"PreToolUse\",\"session_id\":\"s\",\"tool_name\":\"Bash\",\"tool_input\":\"x\",\"tool_use_id\":\"t\"}"), @"`tool_input` is not an object: this version of the agent speaks to hooks in a way Placet does not know");
    let twice = "{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Read\",\"tool_name\":\"Bash\"}";
    assert!(matches!(read(Agent::ClaudeCode, None, twice.as_bytes()), Err(Fault::Json(_))));
    let large = vec![b' '; crate::LARGEST + 1];
    assert_eq!(read(Agent::ClaudeCode, None, &large), Err(Fault::TooLarge));
}

#[test]
fn every_field_that_a_call_needs_is_needed() {
    let needed = |event: Event| -> &'static [&'static str] {
        match event {
            Event::ClaudePreToolUse | Event::CodexPreToolUse => {
                &["session_id", "tool_name", "tool_input", "tool_use_id"]
            }
            Event::ClaudePermissionRequest | Event::CodexPermissionRequest | Event::GeminiBeforeTool => {
                &["session_id", "tool_name", "tool_input", "hook_event_name"]
            }
            Event::CursorPreToolUse | Event::CursorBeforeMcp => {
                &["conversation_id", "tool_name", "tool_input"]
            }
            Event::CursorBeforeShell => &["conversation_id", "command"],
            Event::CursorBeforeRead => &["conversation_id", "file_path"],
            Event::CopilotPreToolUse => &["sessionId", "toolName", "toolArgs"],
            Event::CopilotPreToolUseCompatible => &["session_id", "tool_name", "tool_input"],
            Event::CopilotPermissionRequest => &["sessionId", "toolName", "toolInput"],
            Event::OpenCodeBefore => &["session_id", "call_id", "tool_name", "tool_input"],
        }
    };
    for event in Event::ALL {
        for field in needed(event) {
            let mut message = message(event);
            message.as_object_mut().unwrap().remove(*field).expect(field);
            let read = read(event.agent(), None, message.to_string().as_bytes());
            assert!(read.is_err(), "{event:?} without `{field}`: {read:?}");
        }
    }
}

#[test]
fn questions_of_claude_code_become_questions_to_a_person() {
    let mut message = message(Event::ClaudePreToolUse);
    message["tool_name"] = json!("AskUserQuestion");
    message["tool_input"] = json!({"questions": [
        {"question": "Which framework?", "header": "F", "options": [{"label": "React"}, {"label": "Vue"}], "multiSelect": false},
        {"question": "Which days?", "options": [{"label": "Mon"}, {"label": "Tue"}], "multiSelect": true},
    ]});
    let call = called(Agent::ClaudeCode, &message);
    let options = Options::default();
    let asked = questions(&call.asking(&options), &call).unwrap().unwrap();
    let kinds: Vec<_> =
        asked.iter().map(|question| serde_json::to_value(&question.create.input).unwrap()).collect();
    assert_eq!(
        kinds,
        [
            json!({"type": "choice", "options": ["React", "Vue"]}),
            json!({"type": "multi_choice", "options": ["Mon", "Tue"]}),
        ]
    );
    for question in asked {
        assert!(question.create.check(&placet_core::Limits::default()).is_ok());
    }
    let answers =
        [("Which framework?".to_owned(), json!("Vue")), ("Which days?".to_owned(), json!(["Mon", "Tue"]))];
    let input = crate::answered(&call, &answers).unwrap();
    assert_eq!(input["answers"], json!({"Which framework?": "Vue", "Which days?": "Mon, Tue"}));
    assert_eq!(input["questions"], message["tool_input"]["questions"]);
    assert!(
        questions(
            &super::call(Event::ClaudePreToolUse).asking(&options),
            &super::call(Event::ClaudePreToolUse)
        )
        .is_none()
    );
}

proptest! {
    /// Whatever bytes come in: an answer or a named fault, no panic.
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300), which in 0..6_usize) {
        let _ = read(Agent::ALL[which], None, &bytes);
    }

    /// A message cut anywhere is refused: half a call is no call.
    #[test]
    fn half_a_message_is_refused(which in 0..Event::ALL.len(), cut in 0.0..1.0_f64) {
        let event = Event::ALL[which];
        let text = message(event).to_string();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a position in the text")]
        let cut = (text.len() as f64 * cut) as usize;
        prop_assert!(read(event.agent(), None, &text.as_bytes()[..cut]).is_err());
    }
}

#[test]
fn calls_of_one_session_sub_agent_and_turn_share_a_group_and_no_others_do() {
    let group = |event: Event, changes: Value| {
        let mut message = message(event);
        for (key, value) in changes.as_object().unwrap() {
            message[key] = value.clone();
        }
        let call = called(event.agent(), &message);
        call.asking(&Options::default()).create().group.unwrap()
    };
    let codex = |changes| group(Event::CodexPreToolUse, changes);
    let one = codex(json!({}));
    let same = json!({"tool_use_id": "call_2", "tool_name": "apply_patch", "tool_input": {"patch": "x"}});
    assert_eq!(codex(same), one, "another call of the same message");
    for other in [json!({"session_id": "t-2"}), json!({"turn_id": "u-2"}), json!({"agent_id": "sub-1"})] {
        assert_ne!(codex(other.clone()), one, "{other}");
    }
    assert_ne!(
        codex(json!({"agent_id": "u-1", "turn_id": ""})),
        one,
        "a name in another place is another name"
    );
    // What is deferred is asked for again in a later turn, under the same key: so the body has to be the same.
    let claude = |changes| group(Event::ClaudePreToolUse, changes);
    assert_eq!(claude(json!({"prompt_id": "p-2"})), claude(json!({})));
    assert_ne!(claude(json!({"session_id": "s-2"})), claude(json!({})));
    // A group is short, whatever a session is called, and can be typed.
    let long = claude(json!({"session_id": "s".repeat(5_000)}));
    assert!(
        long.len() == 37 && long.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'),
        "{long}"
    );
}
