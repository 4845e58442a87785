//! Each answer in each dialect, to the letter.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::{approved, call, called, edited, message};
use crate::{Agent, Answer, Effect, Event, Mode, effect, render};

fn lines(answer: impl Fn(Event) -> Answer) -> String {
    let mut lines = String::new();
    for event in Event::ALL {
        let output = render(&call(event), Mode::Gate, &answer(event));
        let line = format!("{}/{} [{}] {}", event.agent(), event.as_str(), output.code, output.stdout);
        let _ = writeln!(lines, "{}", line.trim_end());
    }
    lines
}

#[test]
fn a_yes() {
    insta::assert_snapshot!(lines(|event| approved(&call(event))), @r#"
    claude-code/PreToolUse [0] {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"Placet: approved by ann"}}
    claude-code/PermissionRequest [0] {"hookSpecificOutput":{"decision":{"behavior":"allow"},"hookEventName":"PermissionRequest"}}
    codex/PreToolUse [0]
    codex/PermissionRequest [0] {"hookSpecificOutput":{"decision":{"behavior":"allow"},"hookEventName":"PermissionRequest"}}
    gemini/BeforeTool [0] {"decision":"allow"}
    cursor/preToolUse [0] {"permission":"allow"}
    cursor/beforeShellExecution [0] {"permission":"allow"}
    cursor/beforeMCPExecution [0] {"permission":"allow"}
    cursor/beforeReadFile [0] {"permission":"allow"}
    copilot/preToolUse [0] {"permissionDecision":"allow","permissionDecisionReason":"Placet: approved by ann"}
    copilot/PreToolUse [0] {"permissionDecision":"allow","permissionDecisionReason":"Placet: approved by ann"}
    copilot/permissionRequest [0] {"behavior":"allow"}
    opencode/tool.execute.before [0] {"decision":"allow"}
    "#);
}

#[test]
fn a_yes_that_somebody_gave_in_advance_says_whose_it_is() {
    let call = call(Event::ALL[0]);
    let said = |decision: Value| {
        let mut whole = super::record(&call, json!({}));
        let decided = whole.decision.as_mut().expect("a decision");
        decided.by = serde_json::from_value(decision["by"].clone()).expect("names");
        decided.grant = serde_json::from_value(decision["grant"].clone()).expect("a grant or none");
        let yes = crate::ApprovedCall::check(&call, &whole, Some("prm_1"), &call.input, Some(whole.digest));
        yes.expect("a yes").reason()
    };
    let id = "grt_0698d3r3kvtg0i8s0c1g60o30c";
    let granted = said(json!({"by": [], "grant": {"id": id, "by": "ann"}}));
    assert_eq!(granted, "Placet: approved by ann's grant");
    // Of a record that version 0.2 made.
    assert_eq!(said(json!({"by": [], "grant": {"id": id}})), "Placet: approved by a grant");
    assert_eq!(said(json!({"by": [], "grant": null})), "Placet: approved by policy");
    assert_eq!(said(json!({"by": ["ann"], "grant": null})), "Placet: approved by ann");
}

#[test]
fn a_no() {
    insta::assert_snapshot!(lines(|_| Answer::Deny("Placet: denied by ann: no".to_owned())), @r#"
    claude-code/PreToolUse [2] {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"Placet: denied by ann: no"}}
    claude-code/PermissionRequest [0] {"hookSpecificOutput":{"decision":{"behavior":"deny","message":"Placet: denied by ann: no"},"hookEventName":"PermissionRequest"}}
    codex/PreToolUse [2] {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"Placet: denied by ann: no"}}
    codex/PermissionRequest [0] {"hookSpecificOutput":{"decision":{"behavior":"deny","message":"Placet: denied by ann: no"},"hookEventName":"PermissionRequest"}}
    gemini/BeforeTool [2] {"decision":"deny","reason":"Placet: denied by ann: no"}
    cursor/preToolUse [0] {"agent_message":"Placet: denied by ann: no","permission":"deny","user_message":"Placet: denied by ann: no"}
    cursor/beforeShellExecution [0] {"agent_message":"Placet: denied by ann: no","permission":"deny","user_message":"Placet: denied by ann: no"}
    cursor/beforeMCPExecution [0] {"agent_message":"Placet: denied by ann: no","permission":"deny","user_message":"Placet: denied by ann: no"}
    cursor/beforeReadFile [0] {"agent_message":"Placet: denied by ann: no","permission":"deny","user_message":"Placet: denied by ann: no"}
    copilot/preToolUse [0] {"behavior":"deny","message":"Placet: denied by ann: no","permissionDecision":"deny","permissionDecisionReason":"Placet: denied by ann: no"}
    copilot/PreToolUse [0] {"behavior":"deny","hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"Placet: denied by ann: no"},"message":"Placet: denied by ann: no","permissionDecision":"deny","permissionDecisionReason":"Placet: denied by ann: no"}
    copilot/permissionRequest [0] {"behavior":"deny","message":"Placet: denied by ann: no","permissionDecision":"deny","permissionDecisionReason":"Placet: denied by ann: no"}
    opencode/tool.execute.before [2] {"decision":"deny","reason":"Placet: denied by ann: no"}
    "#);
}

#[test]
fn no_decision() {
    insta::assert_snapshot!(lines(|_| Answer::Block("Placet: cannot reach the server".to_owned())), @r#"
    claude-code/PreToolUse [2] {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"Placet: cannot reach the server"}}
    claude-code/PermissionRequest [0] {"hookSpecificOutput":{"decision":{"behavior":"deny","message":"Placet: cannot reach the server"},"hookEventName":"PermissionRequest"}}
    codex/PreToolUse [2] {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"Placet: cannot reach the server"}}
    codex/PermissionRequest [0] {"hookSpecificOutput":{"decision":{"behavior":"deny","message":"Placet: cannot reach the server"},"hookEventName":"PermissionRequest"}}
    gemini/BeforeTool [2] {"decision":"deny","reason":"Placet: cannot reach the server"}
    cursor/preToolUse [2] {"agent_message":"Placet: cannot reach the server","permission":"deny","user_message":"Placet: cannot reach the server"}
    cursor/beforeShellExecution [2] {"agent_message":"Placet: cannot reach the server","permission":"deny","user_message":"Placet: cannot reach the server"}
    cursor/beforeMCPExecution [2] {"agent_message":"Placet: cannot reach the server","permission":"deny","user_message":"Placet: cannot reach the server"}
    cursor/beforeReadFile [2] {"agent_message":"Placet: cannot reach the server","permission":"deny","user_message":"Placet: cannot reach the server"}
    copilot/preToolUse [0] {"behavior":"deny","message":"Placet: cannot reach the server","permissionDecision":"deny","permissionDecisionReason":"Placet: cannot reach the server"}
    copilot/PreToolUse [0] {"behavior":"deny","hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"Placet: cannot reach the server"},"message":"Placet: cannot reach the server","permissionDecision":"deny","permissionDecisionReason":"Placet: cannot reach the server"}
    copilot/permissionRequest [0] {"behavior":"deny","message":"Placet: cannot reach the server","permissionDecision":"deny","permissionDecisionReason":"Placet: cannot reach the server"}
    opencode/tool.execute.before [2] {"decision":"deny","reason":"Placet: cannot reach the server"}
    "#);
}

fn other(event: Event) -> Map<String, Value> {
    let mut input = call(event).input;
    for value in input.values_mut() {
        *value = json!("ls");
    }
    input
}

#[test]
fn a_yes_with_other_arguments() {
    insta::assert_snapshot!(lines(|event| edited(&call(event), &other(event))), @r#"
    claude-code/PreToolUse [0] {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"Placet: approved with changes by ann","updatedInput":{"command":"ls","description":"ls"}}}
    claude-code/PermissionRequest [0] {"hookSpecificOutput":{"decision":{"behavior":"allow","updatedInput":{"command":"ls","description":"ls"}},"hookEventName":"PermissionRequest"}}
    codex/PreToolUse [0] {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"ls","description":"ls"}}}
    codex/PermissionRequest [0] {"hookSpecificOutput":{"decision":{"behavior":"deny","message":"Placet: approved with changes that codex cannot make for `PermissionRequest`, so nothing was run. What was approved: {\"command\":\"ls\",\"description\":\"ls\"}"},"hookEventName":"PermissionRequest"}}
    gemini/BeforeTool [0] {"decision":"allow","hookSpecificOutput":{"hookEventName":"BeforeTool","tool_input":{"command":"ls","description":"ls"}}}
    cursor/preToolUse [0] {"permission":"allow","updated_input":{"command":"ls","description":"ls"}}
    cursor/beforeShellExecution [0] {"agent_message":"Placet: approved with changes that cursor cannot make for `beforeShellExecution`, so nothing was run. What was approved: {\"command\":\"ls\"}","permission":"deny","user_message":"Placet: approved with changes that cursor cannot make for `beforeShellExecution`, so nothing was run. What was approved: {\"command\":\"ls\"}"}
    cursor/beforeMCPExecution [0] {"agent_message":"Placet: approved with changes that cursor cannot make for `beforeMCPExecution`, so nothing was run. What was approved: {\"sql\":\"ls\"}","permission":"deny","user_message":"Placet: approved with changes that cursor cannot make for `beforeMCPExecution`, so nothing was run. What was approved: {\"sql\":\"ls\"}"}
    cursor/beforeReadFile [0] {"agent_message":"Placet: approved with changes that cursor cannot make for `beforeReadFile`, so nothing was run. What was approved: {\"file_path\":\"ls\"}","permission":"deny","user_message":"Placet: approved with changes that cursor cannot make for `beforeReadFile`, so nothing was run. What was approved: {\"file_path\":\"ls\"}"}
    copilot/preToolUse [0] {"modifiedArgs":{"command":"ls","description":"ls"},"permissionDecision":"allow","permissionDecisionReason":"Placet: approved with changes by ann"}
    copilot/PreToolUse [0] {"modifiedArgs":{"command":"ls","description":"ls"},"permissionDecision":"allow","permissionDecisionReason":"Placet: approved with changes by ann"}
    copilot/permissionRequest [0] {"behavior":"deny","message":"Placet: approved with changes that copilot cannot make for `permissionRequest`, so nothing was run. What was approved: {\"command\":\"ls\",\"description\":\"ls\"}","permissionDecision":"deny","permissionDecisionReason":"Placet: approved with changes that copilot cannot make for `permissionRequest`, so nothing was run. What was approved: {\"command\":\"ls\",\"description\":\"ls\"}"}
    opencode/tool.execute.before [0] {"args":{"command":"ls","description":"ls"},"decision":"allow"}
    "#);
}

#[test]
fn a_yes_runs_with_exactly_what_was_approved_or_not_at_all() {
    for event in Event::ALL {
        let (call, other) = (call(event), other(event));
        assert_eq!(
            effect(event, &render(&call, Mode::Gate, &approved(&call))),
            Effect::Runs(None),
            "{event:?}"
        );
        let run = match effect(event, &render(&call, Mode::Gate, &edited(&call, &other))) {
            // Gemini lays the new arguments over the old ones.
            Effect::Runs(Some(new)) if event == Event::GeminiBeforeTool => {
                let mut laid = call.input.clone();
                laid.extend(new);
                laid
            }
            Effect::Runs(Some(new)) => new,
            Effect::Blocked => continue,
            wrong => panic!("{event:?}: {wrong:?}"),
        };
        assert_eq!(run, other, "{event:?}");
    }
}

#[test]
fn arguments_that_gemini_could_not_take_away_block() {
    let call = call(Event::GeminiBeforeTool);
    let fewer = Map::from_iter([("command".to_owned(), json!("ls"))]);
    let output = render(&call, Mode::Gate, &edited(&call, &fewer));
    assert_eq!(effect(call.event, &output), Effect::Blocked);
    assert!(output.stderr.contains("cannot make"), "{}", output.stderr);
}

#[test]
fn a_plan_of_claude_code_is_handed_back_with_the_yes() {
    let mut message = message(Event::ClaudePreToolUse);
    message["tool_name"] = json!("ExitPlanMode");
    message["tool_input"] = json!({"plan": "1. look"});
    let call = called(Agent::ClaudeCode, &message);
    let output = render(&call, Mode::Gate, &approved(&call));
    assert_eq!(effect(call.event, &output), Effect::Runs(Some(call.input)));
}

#[test]
fn an_answer_is_a_yes_only_to_the_tool_that_asks() {
    let call = call(Event::ClaudePreToolUse);
    let output = render(&call, Mode::Gate, &Answer::Answered(call.input.clone()));
    assert_eq!(effect(call.event, &output), Effect::Blocked);
}

#[test]
fn only_claude_code_can_put_a_call_off() {
    for event in Event::ALL {
        let seen = effect(event, &render(&call(event), Mode::Gate, &Answer::Defer));
        let expected = if event == Event::ClaudePreToolUse { Effect::Deferred } else { Effect::Blocked };
        assert_eq!(seen, expected, "{event:?}");
    }
}
