//! Sections and the rest together have each leaf of what a yes would run, once, and the section holds its text.

use std::collections::BTreeMap;

use placet_core::{Kind, quoted, show};
use proptest::prelude::*;

use super::*;

/// Every leaf of a JSON value, under its pointer, written down here without the code under test.
fn leaves(value: &Value, at: &str, out: &mut BTreeMap<String, Value>) {
    let part = |key: &str| show(&key.replace('~', "~0").replace('/', "~1"));
    match value {
        Value::Object(map) if !map.is_empty() => {
            map.iter().for_each(|(key, value)| leaves(value, &format!("{at}/{}", part(key)), out));
        }
        Value::Array(items) if !items.is_empty() => {
            items.iter().enumerate().for_each(|(index, value)| leaves(value, &format!("{at}/{index}"), out));
        }
        single => drop(out.insert(at.to_owned(), single.clone())),
    }
}

/// The leaves that the card must have, from the record as it is on the wire.
fn expected(request: &Request) -> BTreeMap<String, Value> {
    let record = serde_json::to_value(request.view(Time::default())).unwrap();
    let mut out = BTreeMap::new();
    let replaced = match (&request.decision, &request.proposal) {
        (Some(decision), _) => decision.content.is_some().then_some("decision"),
        (None, proposal) => proposal.is_some().then_some("proposal"),
    };
    let new = |field: &str| replaced.map(|at| &record[at][field]).filter(|value| !value.is_null());
    let mut take = |field: &str| {
        if !record[field].is_null() {
            leaves(&record[field], &format!("/{field}"), &mut out);
        }
    };
    for field in [
        "session",
        "on_behalf_of",
        "context",
        "tool",
        "title",
        "estimated_duration",
        "question",
        "default",
        "message",
        "details",
        "confirm_label",
        "cancel_label",
    ] {
        take(field);
    }
    if new("arguments").is_none() {
        take("arguments");
    }
    if request.kind == Kind::Input {
        leaves(&record["input"]["options"], "/input/options", &mut out);
    }
    let steps = record["steps"].as_array().cloned().unwrap_or_default();
    for (index, step) in steps.iter().enumerate() {
        for field in ["id", "action", "description"] {
            leaves(&step[field], &format!("/steps/{index}/{field}"), &mut out);
        }
        let edited = new("steps").into_iter().flat_map(|steps| steps.as_array().unwrap());
        let edited = edited.filter(|new| new["id"] == step["id"]).any(|new| !new["arguments"].is_null());
        if !edited && !step["arguments"].is_null() {
            leaves(&step["arguments"], &format!("/steps/{index}/arguments"), &mut out);
        }
    }
    for field in ["arguments", "answer", "steps"] {
        if let Some(value) = new(field) {
            leaves(value, &format!("/{}/{field}", replaced.unwrap()), &mut out);
        }
    }
    out
}

/// Every text that a section shows, and how often, written down here once more.
fn texts(section: &CardSection) -> Vec<String> {
    match &section.body {
        SectionBody::Diff { path, lines, .. } => {
            let mut out = vec![path.clone()];
            let line = |row: &DiffRow| row.line.text.clone();
            for part in lines.split(|row| row.line.op == "@") {
                for side in ["-", "+"] {
                    let own = part.iter().filter(|row| row.line.op == " " || row.line.op == side);
                    out.push(own.map(line).collect::<Vec<_>>().join("\\n"));
                }
            }
            let op = |row: &DiffRow| if row.line.op == "@" { String::new() } else { row.line.op.clone() };
            let all = lines.iter().filter(|row| row.line.op != "\\");
            out.push(all.map(|row| format!("{}{}", op(row), line(row))).collect::<Vec<_>>().join("\\n"));
            for text in &mut out {
                *text = text.trim_end_matches("\\n").to_owned();
            }
            out
        }
        SectionBody::Command { command, cwd, claimed_cwd, .. } => {
            [Some(command), cwd.as_ref(), claimed_cwd.as_ref()].into_iter().flatten().cloned().collect()
        }
        SectionBody::Sql { statement, .. } => vec![statement.clone()],
        SectionBody::Image { media_type, data, .. } => {
            vec![format!("data:{media_type};base64,{data}"), data.clone(), media_type.clone()]
        }
        SectionBody::Tree { nodes } => nodes.iter().filter_map(|node| node.text.clone()).collect(),
        SectionBody::Table { rows, .. } => rows.iter().flatten().flatten().cloned().collect(),
        SectionBody::Step { id, action, description, .. } => {
            vec![id.clone(), action.clone(), description.clone()]
        }
        other => {
            let mut out = BTreeMap::new();
            let mut body = serde_json::to_value(other).unwrap();
            body.as_object_mut().unwrap().remove("type");
            leaves(&body, "", &mut out);
            out.into_values().filter_map(|value| value.as_str().map(str::to_owned)).collect()
        }
    }
}

/// The ways in which a value can stand on a card.
fn drawings(value: &Value, ends: bool) -> Vec<String> {
    match value {
        Value::String(text) => {
            let drawn = show(text);
            let drawn = if ends { drawn.trim_end_matches("\\n").to_owned() } else { drawn };
            vec![drawn, quoted(text)]
        }
        other => vec![other.to_string()],
    }
}

fn check(request: &Request) -> Result<(), TestCaseError> {
    let (card, expected) = (card(request), expected(request));
    let mut seen: Vec<&str> = card.sections.iter().flat_map(pointers).chain(listed(&card)).collect();
    seen.sort_unstable();
    let all: Vec<&str> = expected.keys().map(String::as_str).collect();
    prop_assert_eq!(seen, all, "{:?}", card);
    for field in &card.rest {
        let value = &expected[&field.pointer];
        prop_assert!(
            drawings(value, false).contains(&field.text),
            "{} is {} for {}",
            field.pointer,
            field.text,
            value
        );
    }
    for section in &card.sections {
        let mut texts = texts(section);
        let diff = matches!(section.body, SectionBody::Diff { .. });
        for pointer in &section.pointers {
            let mut drawings = drawings(&expected[pointer], diff);
            // Among the values of a table or a tree, a text is told from what it only looks like.
            let cells = matches!(section.body, SectionBody::Table { .. } | SectionBody::Tree { .. });
            if let (true, Value::String(text)) = (cells, &expected[pointer])
                && serde_json::from_str::<Value>(text).is_ok()
            {
                drawings = vec![quoted(text)];
            }
            let found = texts.iter().position(|text| drawings.contains(text));
            prop_assert!(found.is_some(), "{} = {} is not in {:?}", pointer, expected[pointer], section);
            texts.swap_remove(found.unwrap());
        }
    }
    prop_assert_eq!(card.hidden, 0);
    // A line has none of them, and says how many.
    prop_assert_eq!(super::super::line(request, String::new()).hidden as usize, expected.len());
    for flag in &card.flagged {
        prop_assert!(flag.pointer.is_empty() || expected.contains_key(&flag.pointer), "{:?}", flag);
    }
    Ok(())
}

/// Few values, so that many places have the same one; some that deceive, and some that are long.
fn leaf() -> impl Strategy<Value = Value> {
    let png = "data:image/png;base64,iVBORw0KGgoAAAAN";
    prop::sample::select(vec![
        json!("true"),
        json!(true),
        json!("12"),
        json!(12),
        json!(-0.5),
        json!(""),
        json!(" "),
        json!(" x"),
        json!("x "),
        json!(null),
        json!("null"),
        json!({}),
        json!([]),
        json!("{}"),
        json!("\"x\""),
        json!("x"),
        json!("a\nb\n"),
        json!("a \nb"),
        json!("\u{202e}x"),
        json!("pаy"),
        json!("x".repeat(3_000)),
        json!("long\n".repeat(500)),
        json!("\\n"),
        json!("/arguments/a"),
        json!("Approve"),
        json!("image/png"),
        json!("iVBORw0KGgoAAAAN"),
        json!("aGk="),
        json!(png),
        json!("POST"),
        json!("https://a.example/x"),
        json!("SELECT 1"),
    ])
}

fn key() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "0",
        "1",
        "a",
        "b",
        "a/b",
        "~",
        "~1",
        "",
        "\"0\"",
        " ",
        "é\u{200b}",
        "name",
        "base64",
        "media_type",
        "arguments",
    ])
    .prop_map(str::to_owned)
}

fn nested() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key(), inner.clone(), 0..4).prop_map(|map| json!(map)),
            // Tables, full and with holes.
            (prop::collection::vec(prop::collection::btree_map("[ab]|name", leaf(), 0..4), 2..5))
                .prop_map(|rows| json!(rows)),
        ]
    })
}

/// A known shape, with more arguments beside it and some of its own replaced.
fn call() -> impl Strategy<Value = (String, Value)> {
    let shapes: Vec<(&str, Value)> = vec![
        ("Bash", json!({"command": "true", "cwd": "12", "timeout": 12, "description": "true"})),
        ("Bash", json!({"command": "ls"})),
        ("shell", json!({"command": ["bash", "-lc", "true"]})),
        ("execute_sql", json!({"query": "SELECT 1", "params": ["SELECT 1"]})),
        ("Edit", json!({"file_path": "x", "old_string": "x", "new_string": "true", "replace_all": true})),
        (
            "MultiEdit",
            json!({"file_path": "x", "edits": [
            {"old_string": "x", "new_string": "12"}, {"old_string": "x", "new_string": "12"}]}),
        ),
        ("write_file", json!({"path": "x", "content": "x\n"})),
        ("create_file", json!({"path": "x", "content": "y\n".repeat(500)})),
        ("apply_patch", json!({"patch": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n+12\n"})),
        (
            "http_request",
            json!({"url": "https://a.example/x", "method": "POST", "headers": {"x": "POST"}, "body": {"a": "x"}}),
        ),
        (
            "send_email",
            json!({"to": ["x", "x"], "cc": "x", "subject": "true", "body": "true",
            "attachments": [{"name": "x", "base64": "aGk=", "media_type": "x"}]}),
        ),
        ("send_message", json!({"channel": "x", "text": "x"})),
        ("pay", json!({"amount": 12, "currency": "EUR", "to": "x", "iban": "x", "reference": "12"})),
        ("delete_files", json!({"files": ["x", "x"]})),
        ("frobnicate", json!({"a": "x"})),
        ("upload", json!({"name": "x", "media_type": "image/png", "base64": "iVBORw0KGgoAAAAN"})),
    ];
    let more = prop::collection::btree_map(
        prop_oneof![key(), "command|body|amount|to|options|text|content".prop_map(|key| key)],
        nested(),
        0..4,
    );
    (prop::sample::select(shapes), more).prop_map(|((tool, shape), more)| {
        let mut arguments = object(shape);
        arguments.extend(more);
        (tool.to_owned(), Value::Object(arguments))
    })
}

/// Words of the request that an agent chooses.
fn words() -> impl Strategy<Value = String> {
    leaf().prop_map(|value| value.as_str().unwrap_or("s").to_owned())
}

/// What the reviewers did: nothing, a replacement on the table, a decision as asked, or one with a replacement.
fn turned(request: Request, how: u8, word: DecisionWord, content: ProposalContent) -> Request {
    let content = Some(content);
    match how % 5 {
        0 => request,
        1 => proposed(request, word, content),
        2 => decided(request, DecisionWord::Deny, None),
        3 => decided(proposed(request, word, content), DecisionWord::Deny, None),
        _ => decided(proposed(request, word, content.clone()), word, content),
    }
}

fn requests() -> impl Strategy<Value = Request> {
    let actions = (call(), call(), 0..5_u8).prop_map(|((tool, asked), (_, other), how)| {
        turned(action(&tool, asked), how, DecisionWord::Edit, arguments(other))
    });
    let plans = (prop::collection::vec(call(), 1..4), call(), 0..5_u8, any::<bool>()).prop_map(
        |(calls, (_, other), how, back)| {
            let steps: Vec<Step> = calls
                .into_iter()
                .enumerate()
                .map(|(index, (tool, asked))| {
                    step(&format!("s{index}"), &tool, (index != 1).then_some(asked))
                })
                .collect();
            let words = [DecisionWord::Edit, DecisionWord::Approve, DecisionWord::Deny];
            let mut chosen: Vec<StepDecision> = steps
                .iter()
                .zip(words.iter().cycle())
                .map(|(step, word)| StepDecision {
                    id: step.id.clone(),
                    decision: *word,
                    arguments: (*word == DecisionWord::Edit).then(|| object(other.clone())),
                })
                .collect();
            if back {
                chosen.reverse();
            }
            let content = ProposalContent { steps: Some(chosen), ..ProposalContent::default() };
            turned(request(plan(steps), json!({})), how, DecisionWord::Approve, content)
        },
    );
    let inputs = (words(), nested(), 0..5_u8).prop_map(|(text, answer, how)| {
        // On the wire an answer of nothing is the same as none.
        let answer = if answer.is_null() { json!("x") } else { answer };
        let content = ProposalContent { answer: Some(answer), ..ProposalContent::default() };
        turned(request(question(&text), json!({})), how, DecisionWord::Respond, content)
    });
    let confirmations =
        (words(), prop::option::of(words()), any::<bool>()).prop_map(|(message, details, no)| {
            let request = request(confirmation(&message, details.as_deref()), json!({}));
            if no { decided(request, DecisionWord::Deny, None) } else { request }
        });
    let all = prop_oneof![4 => actions, 2 => plans, 1 => inputs, 1 => confirmations];
    (all, nested(), words(), prop::option::of(words()), any::<bool>()).prop_map(
        |(mut request, context, session, behalf, hook)| {
            let mut content = (**request.content.as_ref().unwrap()).clone();
            content.context = match context {
                Value::Object(map) => map,
                other => object(json!({"cwd": "/srv", "other": other})),
            };
            if hook {
                content.context.insert("cwd".into(), json!("12"));
            }
            request.content = Some(Arc::new(content));
            request.session = session;
            request.on_behalf_of = behalf;
            request
        },
    )
}

proptest! {
    #[test]
    fn every_leaf_is_on_the_card_once_and_its_section_holds_its_text(request in requests()) {
        check(&request)?;
    }

    #[test]
    fn another_value_at_any_place_is_another_card(left in call(), right in call()) {
        let (one, other) = (action(&left.0, left.1.clone()), action(&right.0, right.1.clone()));
        let (one, other) = (card(&one), card(&other));
        if left == right {
            prop_assert_eq!(one.digest, other.digest);
        }
        let same = one.sections == other.sections && one.rest == other.rest && one.sentence == other.sentence;
        prop_assert_eq!(one.digest == other.digest, same);
    }
}

#[test]
fn a_request_of_ten_thousand_values_is_whole_too() {
    let many = vec!["x"; 1_000];
    let rows: Vec<Value> =
        (0..2_500).map(|n| json!({"id": n, "name": format!("n{n}"), "on": n % 2 == 0})).collect();
    check(&action("import", json!({"rows": rows, "deep": [[[many]]]}))).unwrap();
}
