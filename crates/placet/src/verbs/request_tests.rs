//! The typed options become a request, or one sentence that names the wrong field.

use clap::Parser;

use super::*;
use crate::{
    cli::{Cli, Command},
    output::sample,
};

fn typed(line: &[&str]) -> Result<Value, String> {
    let line = ["placet", "request"].iter().chain(line);
    let Command::Request(args) = Cli::try_parse_from(line).map_err(|error| error.to_string())?.command else {
        unreachable!("it is a request")
    };
    create(&args).map(|create| json!(create)).map_err(|error| error.to_string())
}

#[test]
fn an_action_is_a_tool_and_its_arguments() {
    let body = typed(&["--tool", "pay", "--args", "{\"amount\":5}", "--risk", "high", "--session", "s"]);
    let expected =
        json!({"kind": "action", "session": "s", "tool": "pay", "arguments": {"amount": 5}, "risk": "high"});
    assert_eq!(body, Ok(expected));
}

#[test]
fn the_other_kinds_come_whole() {
    let body =
        typed(&["--kind", "input", "--body", "{\"question\":\"?\",\"input\":{\"type\":\"date\"}}"]).unwrap();
    assert_eq!(body["input"], json!({"type": "date"}));
    assert_eq!(body["session"], json!("shell"));
}

#[test]
fn bad_input_is_named_with_the_fix() {
    insta::assert_snapshot!(typed(&["--tool", "pay"]).unwrap_err(), @"`--args` is missing: an action is a tool and its arguments");
    insta::assert_snapshot!(typed(&["--kind", "plan"]).unwrap_err(), @"`--body` is missing: the kind `plan` needs its fields as a JSON object or @FILE");
    insta::assert_snapshot!(typed(&["--kind", "plan", "--tool", "x", "--body", "{}"]).unwrap_err(), @"`--tool` and `--args` are for the kind `action`; put the fields of `plan` into `--body`");
    insta::assert_snapshot!(typed(&["--kind", "plan", "--body", "{\"titel\":1}"]).unwrap_err(), @"`--body`: unknown field `titel`, expected one of `kind`, `session`, `summary`, `risk`, `context`, `allowed`, `expires_in`, `on_behalf_of`, `group`, `permit`, `tool`, `arguments`, `arguments_schema`, `title`, `steps`, `can_modify`, `estimated_duration`, `question`, `input`, `required`, `default`, `message`, `details`, `confirm_label`, `cancel_label`");
    insta::assert_snapshot!(typed(&["--kind", "plan", "--body", "{\"session\":\"x\"}", "--session", "y"]).unwrap_err(), @"`session` is given twice: in `--body` and as an option");
}

#[test]
fn after_an_edit_the_edited_arguments_are_printed() {
    let mut record = sample::action();
    record.state = State::Approved;
    record.decision = serde_json::from_value(json!({"decision": "edit", "by": ["ann"], "reason": null,
        "arguments": {"files": ["x\u{202e}"]}, "digest": record.digest, "answer": null, "steps": null,
        "at": record.created_at}))
    .unwrap();
    assert_eq!(results(&record), [("arguments", "{\"files\":[\"x\\u202e\"]}".to_owned())]);
    for state in State::ALL.iter().copied().filter(|state| *state != State::Approved) {
        record.state = state;
        assert_eq!(results(&record), [], "{state}: there is nothing to run");
    }
}
