//! Every agent, every failure: the call does not run.

use std::net::TcpListener;

use placet_client::Decide;
use placet_hooks::{Effect, Event, effect};
use serde_json::{Map, json};

use super::world::{EVENTS, World, blocks, ended, fake, message, start};

/// One hook for each event at the same time, and how the agents react.
fn all(world: &World, what: &str, args: &[&str], input: impl Fn(Event) -> Vec<u8>) {
    let running: Vec<_> = EVENTS
        .into_iter()
        .map(|event| {
            // As installed: the settings name the event for agents that do not.
            let hint = ["--event", event.as_str()];
            (event, world.start(event, &[args, &hint].concat(), &input(event)))
        })
        .collect();
    for (event, child) in running {
        blocks(event, what, &ended(child));
    }
}

fn calls(command: &'static str) -> impl Fn(Event) -> Vec<u8> {
    move |event| message(event, "call-1", command).to_string().into_bytes()
}

const SOON: [&str; 4] = ["--wait", "2s", "--give-up", "1s"];

#[test]
fn a_server_that_is_down_blocks() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    all(&World::at(format!("http://{nobody}")), "server down", &SOON, calls("allowed"));
}

#[test]
fn what_is_blocked_because_the_server_is_away_ends_with_the_command_that_brings_it_back() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let world = World::at(format!("http://{nobody}"));
    let event = Event::ClaudePreToolUse;
    let output = ended(world.start(event, &SOON, message(event, "call-1", "allowed").to_string().as_bytes()));
    let said = output.stderr.trim();
    assert!(said.starts_with("Placet: nothing was run: "), "{said}");
    assert!(said.ends_with(&format!("placet serve --listen {nobody}")), "{said}");
}

#[test]
fn a_server_that_hangs_is_given_up_and_blocks() {
    all(&World::at(fake(None)), "server hangs", &SOON, calls("allowed"));
}

#[test]
fn a_server_that_answers_anything_but_a_claimed_approval_blocks() {
    let answers = [
        ("500", "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
        (
            "HTML",
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 15\r\nConnection: close\r\n\r\n<html>ok</html>",
        ),
        (
            "an empty object",
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
        ),
        ("no body", "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"),
        (
            "half an answer",
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9999\r\nConnection: close\r\n\r\n{\"id\":",
        ),
        ("not HTTP", "approved\n"),
        (
            "a redirect",
            "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        ),
        (
            "a yes in other words",
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 20\r\nConnection: close\r\n\r\n{\"state\":\"approved\"}",
        ),
    ];
    for (what, answer) in answers {
        all(&World::at(fake(Some(answer))), what, &SOON, calls("allowed"));
    }
}

#[test]
fn input_that_makes_no_sense_blocks() {
    // No person is asked: it must not even get that far.
    let world = World::at("http://127.0.0.1:9".to_owned());
    all(&world, "nothing", &SOON, |_| Vec::new());
    all(&world, "junk", &SOON, |_| b"\x00\xffnot json".to_vec());
    all(&world, "not an object", &SOON, |_| b"true".to_vec());
    all(&world, "half a document", &SOON, |event| {
        let mut whole = calls("allowed")(event);
        whole.truncate(whole.len() / 2);
        whole
    });
    all(&world, "fields missing", &SOON, |event| {
        let mut message = message(event, "call-1", "allowed");
        for field in ["session_id", "sessionId", "conversation_id"] {
            message.as_object_mut().unwrap().remove(field);
        }
        message.to_string().into_bytes()
    });
    all(&world, "a key twice", &SOON, |event| {
        let text = message(event, "call-1", "allowed").to_string();
        text.replace("\"command\":\"allowed\"", "\"command\":\"allowed\",\"command\":\"denied\"").into_bytes()
    });
    // The settings name one event, and the message an unknown one.
    let running = EVENTS.map(|event| {
        let mut message = message(event, "call-1", "allowed");
        message["hook_event_name"] = json!("BeforeEverything");
        (event, world.start(event, &["--event", event.as_str()], message.to_string().as_bytes()))
    });
    for (event, child) in running {
        blocks(event, "unknown event", &ended(child));
    }
}

#[test]
fn options_that_make_no_sense_block() {
    let world = World::at("http://127.0.0.1:9".to_owned());
    for event in EVENTS.into_iter().filter(|event| *event != Event::ClaudePermissionRequest) {
        for args in [&["--nonsense"][..], &["--wait", "soon"], &["--mode", "allow"], &["extra"]] {
            let child = world.start(event, args, &calls("allowed")(event));
            blocks(event, &format!("{args:?}"), &ended(child));
        }
    }
    let mut command = world.command(Event::ClaudePreToolUse, &[]);
    command.env("PLACET_TOKEN", "a key with\nlines");
    let output = ended(start(command, &calls("allowed")(Event::ClaudePreToolUse)));
    blocks(Event::ClaudePreToolUse, "an impossible key", &output);
    let mut missing = world.command(Event::ClaudePreToolUse, &["--token-file", "/nowhere/key"]);
    missing.env_remove("PLACET_TOKEN");
    let output = ended(start(missing, &calls("allowed")(Event::ClaudePreToolUse)));
    blocks(Event::ClaudePreToolUse, "no key file", &output);
}

#[test]
fn a_wrong_key_a_denied_call_and_one_that_nobody_decides_block() {
    let mut world = World::new();
    all(&world, "denied by policy", &SOON, calls("denied"));
    all(&world, "nobody decides", &SOON, |event| message(event, "call-2", "held").to_string().into_bytes());
    assert!(world.requests().iter().all(|record| record.claim.is_none()), "nothing was claimed");
    world.agent = "plk_agent_wrong".to_owned();
    all(&world, "wrong key", &SOON, calls("allowed"));
    // With the right key and an approval the same calls run, so they were not blocked for other reasons.
    let world = World::new();
    for event in EVENTS {
        let output = world.hook(event, &["--event", event.as_str()], &message(event, "call-3", "allowed"));
        assert!(matches!(effect(event, &output), Effect::Runs(None)), "{event:?}: {output:?}");
    }
}

#[test]
fn a_reviewers_no_and_a_change_that_the_agent_cannot_make_block() {
    let world = World::new();
    let event = Event::CursorBeforeShell;
    let child = world.start(event, &["--wait", "600s"], &calls("held")(event));
    world.decide(&world.pending(), Decide::deny(&world.pending(), "not today"));
    let output = ended(child);
    blocks(event, "denied by a person", &output);
    assert!(output.stdout.contains("denied by ann: not today"), "{output:?}");

    // Gemini merges arguments over the old ones: removed arguments would still be used.
    let event = Event::GeminiBeforeTool;
    world.proves(event);
    let mut two = message(event, "", "held");
    two["tool_input"]["directory"] = json!("/etc");
    let child = start(world.handing(event, &["--wait", "600s"]), two.to_string().as_bytes());
    let record = world.pending();
    world.edit(&record, Map::from_iter([("command".to_owned(), json!("ls"))]));
    blocks(event, "a change it cannot make", &ended(child));
    let record = world.becomes(&record, placet_core::State::Failed);
    assert!(record.outcome.is_some_and(|outcome| outcome.note.is_some()));
}

#[test]
fn a_hook_whose_input_never_ends_blocks_by_itself() {
    let world = World::at("http://127.0.0.1:9".to_owned());
    let event = Event::ClaudePreToolUse;
    let mut child = world.command(event, &["--input-within", "100ms"]).spawn().unwrap();
    let input = child.stdin.take().unwrap();
    let output = ended(child);
    drop(input);
    blocks(event, "input without end", &output);
    assert!(output.stderr.contains("standard input was not complete"), "{output:?}");
}
