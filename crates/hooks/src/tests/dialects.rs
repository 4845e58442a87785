//! Each answer in each dialect, to the letter.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::{approved, call, called, edited, message};
use crate::{Agent, Answer, Effect, Event, Mode, effect, render};

fn lines(answer: impl Fn(Event) -> Answer) -> String {
    let mut lines = String::new();
    for event in Event::ALL {
        let output = render(&call(event), Mode::Gate, &answer(event));
        let _ = writeln!(lines, "{}/{} [{}] {}", event.agent(), event.as_str(), output.code, output.stdout);
    }
    lines
}

#[test]
fn a_yes() {
    insta::assert_snapshot!(lines(|event| approved(&call(event))), @"");
}

#[test]
fn a_no() {
    insta::assert_snapshot!(lines(|_| Answer::Deny("Placet: denied by ann: no".to_owned())), @"");
}

#[test]
fn no_decision() {
    insta::assert_snapshot!(lines(|_| Answer::Block("Placet: cannot reach the server".to_owned())), @"");
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
    insta::assert_snapshot!(lines(|event| edited(&call(event), &other(event))), @"");
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
