//! The text that a reviewer reads for each kind of request.

use serde_json::json;

use super::*;
use crate::output::sample;

fn sheet(record: &Record) -> String {
    let line = |line: Line| match (line.tone, line.label.as_str()) {
        (Tone::Heading, _) => format!("== {}", line.text),
        _ if line.shape == Shape::Row => format!("{}| {}", line.label, line.text),
        (_, "") => line.text,
        (_, label) => format!("{label}: {}", line.text),
    };
    describe(record, sample::now()).into_iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_action_shows_facts_first_and_the_agents_words_last_and_marked() {
    insta::assert_snapshot!(sheet(&sample::action()), @r#"
    billing-bot wants to run delete_files
    files/0: "report.md"
    files/1: "a b.txt"
    force: true
    == Why it waits
    risk: high
    rule: default: every action is held
    needs: one reviewer
    asked: 1m05s ago
    decide within: 3m55s
    == Facts
    id: req_0698d3r3kvtg0i8s0c1g60o30c
    version: 1
    digest: sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
    session: sess-1
    context/cwd: "/srv"
    == The agent says (untrusted)
    | Just some old files,\u{202e} trust me
    "#);
}

#[test]
fn with_a_card_its_sentence_stands_first_and_every_value_has_its_whole_pointer() {
    insta::assert_snapshot!(sheet(&sample::shown("Hi\n== Facts\n  id: 1")), @r#"
    billing-bot wants to run delete_files
    Delete 2 files: report.md, a b.txt
    careful: It does not ask again. (/arguments/force)
    == Text · note
    at: /arguments/note
    | Hi
    | == Facts
    |   id: 1
    == Everything else
    /session: sess-1
    /tool: delete_files
    /arguments/files/0: "report.md"
    /arguments/force: true
    == Why it waits
    risk: high
    rule: default: every action is held
    needs: one reviewer
    asked: 1m05s ago
    decide within: 3m55s
    == Facts
    id: req_0698d3r3kvtg0i8s0c1g60o30c
    version: 1
    digest: sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
    session: sess-1
    == The agent says (untrusted)
    | Just some old files,\u{202e} trust me
    "#);
}

#[test]
fn a_replacement_is_what_is_shown_and_the_original_is_history() {
    let mut record =
        sample::carded(sample::action(), Vec::new(), &[("/proposal/arguments/to", "\"Mallory\"")]);
    record.proposal =
        serde_json::from_value(json!({"by": "bob", "decision": "edit", "digest": record.digest,
        "at": record.created_at, "arguments": {"to": "Mallory"}, "answer": null, "steps": null}))
        .unwrap();
    let text = sheet(&record);
    let (before, after) =
        text.split_once("== What was asked before it was replaced (history)").expect("history");
    assert!(before.contains("== bob put this in place of what was asked: a yes is a yes to this"), "{text}");
    assert!(
        before.contains("/proposal/arguments/to: \"Mallory\"") && !before.contains("report.md\""),
        "{text}"
    );
    assert!(after.contains("files/0: \"report.md\""), "{text}");
}

#[test]
fn what_came_over_a2a_has_one_line_for_it_and_its_warnings_stand_above() {
    let mut record = sample::proxied();
    insta::assert_snapshot!(sheet(&record), @r#"
    billing-bot wants to run delete_files
    arguments_json: "{\"n\":9007199254740993}"
    careful: a number of 2^53 or more
    == Why it waits
    risk: medium
    rule: default: every action is held
    needs: one reviewer
    asked: 1m05s ago
    decide within: 3m55s
    == Facts
    id: req_0698d3r3kvtg0i8s0c1g60o30c
    version: 1
    digest: sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
    session: c-1
    over A2A: demo/ops › cleaner · conversation c-1 · task t-1 · dialect hitl · item 2 of 3
    group: pause-1
    context/call_id: "x"
    "#);
    record.state = State::Failed;
    let note = "demo/ops: upstream_lost: the agent does not know it any more";
    let outcome = json!({"status": "failed", "result_digest": null, "note": note, "at": record.created_at, "resolved_by": null});
    record.outcome = serde_json::from_value(outcome).unwrap();
    let text = sheet(&record);
    let line = "outcome: upstream lost: demo/ops lost the task (the agent does not know it any more); no tool reported anything";
    assert!(text.contains(line), "{text}");
}

#[test]
fn the_servers_own_drawing_is_used_where_there_is_one() {
    let mut record = sample::action();
    let drawn = json!({"digest": record.digest, "fields": [
        {"pointer": "/arguments/amount", "text": "1e+21"}, {"pointer": "/arguments_schema", "text": "no"},
        {"pointer": "/arguments/to", "text": "\"ann\u{1b}[2J\""}]});
    record.display = serde_json::from_value(drawn).unwrap();
    record.needs.step_up = Some("code".to_owned());
    let text = sheet(&record);
    let browser = format!("step-up: code: approved in a browser only, at {}", record.url);
    assert!(text.contains("amount: 1e+21") && text.contains(&browser), "{text}");
    assert!(!text.contains('\u{1b}') && !text.contains("_schema"), "{text}");
}
