//! Whole calls, from the agent's question to the report.

use placet_client::Decide;
use placet_core::{DecisionWord, State};
use placet_hooks::{Effect, Event, Output, effect};
use rustix::process::Signal;
use serde_json::{Map, Value, json};

use super::world::{World, blocks, ended, message, start};
use crate::program::{handles, send};

const CLAUDE: Event = Event::ClaudePreToolUse;
// Longer than any wait of a test, so no call ends by a timeout.
const LONG: [&str; 2] = ["--wait", "600s"];

fn bytes(message: &Value) -> Vec<u8> {
    message.to_string().into_bytes()
}

fn runs(event: Event, output: &Output) -> Option<Map<String, Value>> {
    match effect(event, output) {
        Effect::Runs(input) => input,
        other => panic!("{other:?}: {output:?}"),
    }
}

/// The message after a call.
fn after(event: &str, mut message: Value) -> Value {
    message["hook_event_name"] = json!(event);
    message["tool_response"] = json!({"stdout": "ok"});
    message
}

#[test]
fn an_approved_call_runs_once_and_its_outcome_is_reported() {
    let world = World::new();
    let call = message(CLAUDE, "toolu_1", "rm -rf dist");
    let child = world.start(CLAUDE, &LONG, &bytes(&call));
    let record = world.pending();
    assert_eq!(record.tool.as_deref(), Some("Bash"));
    let context = record.context.clone().unwrap_or_default();
    assert_eq!(
        (&context["agent"], &context["call_id"], &context["cwd"]),
        (&json!("claude-code"), &json!("toolu_1"), &json!("/"))
    );
    world.approve(&record);
    assert_eq!(runs(CLAUDE, &ended(child)), None);
    world.becomes(&record, State::Claimed);

    blocks(CLAUDE, "the same call again", &world.hook(CLAUDE, &LONG, &call));
    let mut other = call.clone();
    other["tool_input"] = json!({"command": "rm -rf /"});
    blocks(CLAUDE, "the same id with other arguments", &world.hook(CLAUDE, &LONG, &other));
    assert_eq!(world.requests().len(), 1, "neither was asked for anew");

    let output = world.hook(CLAUDE, &[], &after("PostToolUse", call));
    assert_eq!(output, Output::default());
    world.becomes(&record, State::Succeeded);
}

#[test]
fn a_call_that_failed_is_reported_as_failed() {
    let world = World::new();
    let call = message(CLAUDE, "toolu_1", "allowed");
    runs(CLAUDE, &world.hook(CLAUDE, &[], &call));
    world.hook(CLAUDE, &[], &after("PostToolUseFailure", call));
    assert_eq!(world.requests()[0].state, State::Failed);
}

#[test]
fn an_edited_call_runs_as_edited_once_the_agent_has_shown_that_it_runs_what_it_is_handed() {
    let world = World::new();
    for event in [CLAUDE, Event::CodexPreToolUse, Event::GeminiBeforeTool, Event::OpenCodeBefore] {
        let call = |id: &str| {
            let mut call = message(event, id, "rm -rf /");
            call["cwd"] = json!("/");
            start(world.handing(event, &LONG), &bytes(&call))
        };
        let child = call("call_1");
        let record = world.pending();
        assert!(
            !record.allowed.contains(&DecisionWord::Edit),
            "{event:?}: nothing shows that it runs an edit"
        );
        world.approve(&record);
        ended(child);

        world.proves(event);
        let child = call("call_2");
        let record = world.pending();
        let safer = Map::from_iter([("command".to_owned(), json!("rm -rf dist"))]);
        world.edit(&record, safer.clone());
        assert_eq!(runs(event, &ended(child)), Some(safer.clone()), "{event:?}");

        // It was seen to drop what it was handed while a person decided.
        let child = call("call_3");
        let record = world.pending();
        std::fs::remove_dir_all(world.folder.path().join("state/proofs")).unwrap();
        world.edit(&record, safer);
        let output = ended(child);
        blocks(event, "a change that the agent may drop", &output);
        assert!(output.stderr.contains(r#"What was approved: {"command":"rm -rf dist"}"#), "{output:?}");
        world.becomes(&record, State::Failed);
    }
}

#[test]
fn an_edit_is_not_offered_in_another_mode_or_session_or_without_confinement() {
    let world = World::new();
    world.proves(CLAUDE);
    for (key, value) in [("permission_mode", "plan"), ("session_id", "s-2"), ("tool_use_id", "toolu_1")] {
        let mut call = message(CLAUDE, "toolu", "make");
        call[key] = json!(value);
        let hook = |confines: bool| {
            if confines { world.handing(CLAUDE, &LONG) } else { world.command(CLAUDE, &LONG) }
        };
        let same = key == "tool_use_id";
        for confines in [true, false] {
            call["tool_use_id"] = json!(format!("toolu_{key}_{confines}"));
            let child = start(hook(confines), &bytes(&call));
            let record = world.pending();
            assert_eq!(record.allowed.contains(&DecisionWord::Edit), same && confines, "{key} {confines}");
            world.approve(&record);
            ended(child);
        }
    }
}

#[test]
fn calls_without_an_id_that_look_the_same_are_each_asked_for() {
    let world = World::new();
    let event = Event::GeminiBeforeTool;
    for _ in 0..3 {
        let child = world.start(event, &LONG, &bytes(&message(event, "", "make")));
        let record = world.pending();
        world.approve(&record);
        runs(event, &ended(child));
    }
    assert_eq!(world.requests().len(), 3);
    // A hook that died while it waited left its request behind: asking again continues that request.
    let mut child = world.start(event, &LONG, &bytes(&message(event, "", "make")));
    let record = world.pending();
    child.kill().unwrap();
    child.wait().unwrap();
    let child = world.start(event, &LONG, &bytes(&message(event, "", "make")));
    world.approve(&record);
    runs(event, &ended(child));
    assert_eq!(world.requests().len(), 4);
}

#[test]
fn without_a_place_to_remember_a_used_approval_is_not_used_again() {
    let world = World::new();
    let event = Event::GeminiBeforeTool;
    for _ in 0..2 {
        let mut command = world.command(event, &LONG);
        command.env("PLACET_STATE_DIR", "/proc/nowhere");
        runs(event, &ended(start(command, &bytes(&message(event, "", "allowed")))));
    }
    assert_eq!(world.requests().len(), 2, "each run has a request of its own");
}

#[test]
fn a_call_that_outlives_claude_code_is_put_off_and_taken_up_again_once() {
    let world = World::new();
    let call = message(CLAUDE, "toolu_9", "deploy");
    let hook = |wait: &str| {
        let mut command = world.command(CLAUDE, &["--defer", "--wait", wait]);
        command.env("CLAUDE_CODE_ENTRYPOINT", "sdk-cli");
        ended(start(command, &bytes(&call)))
    };
    assert_eq!(effect(CLAUDE, &hook("1s")), Effect::Deferred);
    let record = world.pending();
    // The process ends and says so. The question stays open.
    world.hook(CLAUDE, &[], &after("SessionEnd", call.clone()));
    world.approve(&world.pending());
    assert_eq!(runs(CLAUDE, &hook("30s")), None);
    world.becomes(&record, State::Claimed);
    blocks(CLAUDE, "resumed twice", &hook("1s"));
    assert_eq!(world.requests().len(), 1);
}

#[test]
fn the_end_of_a_session_is_summed_up_in_one_text() {
    let world = World::new();
    let call = message(CLAUDE, "toolu_1", "allowed");
    runs(CLAUDE, &world.hook(CLAUDE, &[], &call));
    let output = world.hook(CLAUDE, &[], &after("SessionEnd", call.clone()));
    let said: Value = serde_json::from_str(&output.stdout).expect("JSON for the agent");
    let text = said["systemMessage"].as_str().expect("a text for the person");
    assert!(text.starts_with("Placet: of 1 call, 1 passed without a person, 0 were asked."), "{text}");
    // The end of a turn says nothing, nor does a session without calls.
    assert_eq!(world.hook(CLAUDE, &[], &after("Stop", call.clone())), Output::default());
    let mut other = after("SessionEnd", call);
    other["session_id"] = json!("another");
    assert_eq!(world.hook(CLAUDE, &[], &other), Output::default());
}

#[test]
fn a_call_is_not_put_off_where_claude_code_would_run_it_instead() {
    let world = World::new();
    let cases = [
        ("at a terminal", Some("cli"), "default"),
        ("nobody knows where", None, "plan"),
        ("bypass", Some("sdk-cli"), "bypassPermissions"),
        ("edits accepted", Some("sdk-cli"), "acceptEdits"),
    ];
    // At the same time: each waits for a person who does not come.
    let running = cases.map(|(what, entry, mode)| {
        let mut call = message(CLAUDE, mode, "deploy");
        call["permission_mode"] = json!(mode);
        let mut command = world.command(CLAUDE, &["--defer", "--wait", "1s"]);
        if let Some(entry) = entry {
            command.env("CLAUDE_CODE_ENTRYPOINT", entry);
        }
        (what, start(command, &bytes(&call)))
    });
    for (what, child) in running {
        blocks(CLAUDE, what, &ended(child));
    }
}

#[test]
fn a_relay_and_the_person_at_the_terminal_race_and_the_first_answer_counts() {
    let world = World::new();
    let relay = ["--mode", "relay", "--wait", "600s"];
    for event in [Event::ClaudePermissionRequest, Event::CodexPermissionRequest] {
        // Placet first.
        let child = world.start(event, &relay, &bytes(&message(event, "1", "make")));
        world.approve(&world.pending());
        assert_eq!(runs(event, &ended(child)), None);
        let child = world.start(event, &relay, &bytes(&message(event, "2", "make")));
        world.decide(&world.pending(), Decide::deny(&world.pending(), "no"));
        blocks(event, "denied", &ended(child));

        // The terminal answers first: the call has run while Placet was still asking.
        let child = world.start(event, &relay, &bytes(&message(event, "3", "make test")));
        let record = world.pending();
        let mut ran = after("PostToolUse", message(event, "3", "make test"));
        ran["tool_use_id"] = json!("toolu_3");
        assert_eq!(world.hook(event, &["--mode", "relay"], &ran), Output::default());
        world.becomes(&record, State::Cancelled);
        assert_eq!(ended(child), Output::default(), "no opinion");

        // The terminal said no, and the turn went on.
        let child = world.start(event, &relay, &bytes(&message(event, "4", "make")));
        let record = world.pending();
        let stop = json!({"hook_event_name": "Stop", "session_id": "s-1"});
        world.hook(event, &["--mode", "relay"], &stop);
        world.becomes(&record, State::Cancelled);
        assert_eq!(ended(child), Output::default());
    }
}

#[test]
fn a_relay_that_fails_leaves_it_to_the_person_at_the_terminal() {
    let world = World::at("http://127.0.0.1:9".to_owned());
    let relay = ["--mode", "relay", "--give-up", "1s", "--wait", "2s"];
    for event in [Event::ClaudePermissionRequest, Event::CodexPermissionRequest] {
        for input in [bytes(&message(event, "1", "allowed")), b"{".to_vec()] {
            let output = ended(world.start(event, &relay, &input));
            assert_eq!(effect(event, &output), Effect::Undecided, "{output:?}");
            assert!(output.stderr.contains("Placet: "), "{output:?}");
        }
    }
    // The agent does not ask at the terminal before a tool is used, so relay mode does not apply.
    let output = ended(world.start(CLAUDE, &relay, &bytes(&message(CLAUDE, "1", "allowed"))));
    blocks(CLAUDE, "relay before a tool", &output);
}

#[test]
fn a_hook_that_is_stopped_takes_its_question_back() {
    let world = World::new();
    let child = world.start(CLAUDE, &LONG, &bytes(&message(CLAUDE, "toolu_1", "make")));
    let record = world.pending();
    // The record appears a moment before the hook handles the signal.
    handles(&child, Signal::TERM);
    send(&child, Signal::TERM);
    world.becomes(&record, State::Cancelled);
    let output = ended(child);
    blocks(CLAUDE, "stopped", &output);
    assert!(output.stderr.contains("the agent stopped the hook"), "{output:?}");
}

#[test]
fn a_hook_that_nobody_listens_to_takes_its_question_back() {
    let world = World::new();
    let mut child = world.start(CLAUDE, &LONG, &bytes(&message(CLAUDE, "toolu_1", "make")));
    let record = world.pending();
    drop(child.stdout.take());
    world.becomes(&record, State::Cancelled);
    child.wait().unwrap();
}

#[test]
fn questions_to_a_person_are_answered_by_a_person() {
    let world = World::new();
    let mut call = message(CLAUDE, "toolu_1", "");
    call["tool_name"] = json!("AskUserQuestion");
    call["tool_input"] = json!({"questions": [{"question": "Which framework?", "header": "F",
        "options": [{"label": "React"}, {"label": "Vue"}], "multiSelect": false}]});
    let child = world.start(CLAUDE, &LONG, &bytes(&call));
    let record = world.pending();
    assert_eq!(record.question.as_deref(), Some("Which framework?"));
    world.decide(&record, Decide::respond(&record, json!("Vue")));
    let input = runs(CLAUDE, &ended(child)).expect("the answer travels in the input");
    assert_eq!(input["answers"], json!({"Which framework?": "Vue"}));
    assert_eq!(input["questions"], call["tool_input"]["questions"]);

    call["tool_use_id"] = json!("toolu_2");
    let child = world.start(CLAUDE, &LONG, &bytes(&call));
    let record = world.pending();
    world.decide(&record, Decide::deny(&record, "ask somebody else"));
    blocks(CLAUDE, "no answer", &ended(child));
}
