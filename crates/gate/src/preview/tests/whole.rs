//! What a preview says that it shows is in it, place for place, and everything else is listed.

use std::collections::BTreeMap;

use placet_core::{Action, Body, Preview, Request};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{object, request};

/// Few values, so that many places have the same one.
fn leaf() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!("true"),
        json!(true),
        json!("12"),
        json!(12),
        json!(""),
        json!(" "),
        json!(null),
        json!({}),
        json!([]),
        json!("a\nb\n"),
        json!("x"),
        json!("POST"),
        json!("https://a.example/x"),
        json!("SELECT 1"),
    ])
}

fn nested() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[ab0~/]{0,2}", inner, 0..3).prop_map(|map| json!(map)),
        ]
    })
}

/// A known shape, with more arguments beside it and some of its own replaced.
fn call() -> impl Strategy<Value = (&'static str, Map<String, Value>)> {
    let shapes: Vec<(&'static str, Value)> = vec![
        ("Bash", json!({"command": "true", "cwd": "12", "timeout": 12, "description": "true"})),
        ("shell", json!({"command": ["bash", "-lc", "true"]})),
        ("execute_sql", json!({"query": "SELECT 1", "params": ["SELECT 1"]})),
        ("Edit", json!({"file_path": "x", "old_string": "x", "new_string": "true", "replace_all": true})),
        (
            "MultiEdit",
            json!({"file_path": "x", "edits": [
            {"old_string": "x", "new_string": "12"}, {"old_string": "x", "new_string": "12"}]}),
        ),
        ("write_file", json!({"path": "x", "content": "x"})),
        ("apply_patch", json!({"patch": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n+12\n"})),
        (
            "http_request",
            json!({"url": "https://a.example/x", "method": "POST", "headers": {"x": "POST"}, "body": "x"}),
        ),
        ("send_email", json!({"to": ["x", "x"], "cc": "x", "subject": "true", "body": "true"})),
        ("pay", json!({"amount": 12, "currency": "EUR", "to": "x", "iban": "x", "reference": "12"})),
        ("sepa/credit", json!({"amount": "12", "currency": "EUR", "iban": "x"})),
        ("delete_files", json!({"files": ["x", "x"]})),
        ("frobnicate", json!({"a": "x"})),
    ];
    let more = prop::collection::btree_map("[a-c0]{1,2}|command|body|amount|to|options", nested(), 0..4);
    (prop::sample::select(shapes), more).prop_map(|((tool, shape), more)| {
        let mut arguments = object(shape);
        arguments.extend(more);
        (tool, arguments)
    })
}

/// Every text of a preview and how often, written down here once more and without the code under test.
fn drawn(preview: &Preview) -> BTreeMap<String, usize> {
    let mut out = Vec::new();
    if let Preview::Diff { path, lines, .. } = preview {
        out.push(path.clone());
        let parts: Vec<_> = lines.split(|line| line.op == "@").collect();
        for part in &parts {
            for side in ["-", "+"] {
                let own = part.iter().filter(|line| line.op == " " || line.op == side);
                out.push(own.map(|line| line.text.as_str()).collect::<Vec<_>>().join("\\n"));
            }
        }
        let whole = lines.iter().filter(|line| line.op != "\\");
        let op = |op: &str| if op == "@" { String::new() } else { op.to_owned() };
        out.push(whole.map(|line| format!("{}{}", op(&line.op), line.text)).collect::<Vec<_>>().join("\\n"));
    } else {
        super::texts(&serde_json::to_value(preview).unwrap(), &mut out);
    }
    let mut counts = BTreeMap::new();
    for text in out {
        *counts.entry(text.trim_end_matches("\\n").to_owned()).or_default() += 1;
    }
    counts
}

fn held(tool: &str, arguments: Map<String, Value>) -> Request {
    let body = Action { tool: tool.to_owned(), arguments, arguments_schema: None };
    request(Body::Action(body), json!({"cwd": "/srv"}), None)
}

#[test]
fn equal_values_in_other_places_are_not_claimed() {
    for (tool, arguments, hidden) in [
        (
            "Bash",
            json!({"command": "git pull || true", "dangerouslyDisableSandbox": true}),
            "dangerouslyDisableSandbox",
        ),
        (
            "pay",
            json!({"amount": 1, "currency": "EUR", "to": "x", "reference": "12", "monthly_for_months": 12}),
            "monthly_for_months",
        ),
        (
            "send_email",
            json!({"to": "x", "subject": "s", "body": "true", "send_to_all_contacts": true}),
            "send_to_all_contacts",
        ),
        ("send_email", json!({"to": "x", "subject": "s", "body": "s", "bcc_all": "s"}), "bcc_all"),
    ] {
        let (_, shown) = super::super::preview(&held(tool, object(arguments)));
        assert!(!shown.contains(&format!("/arguments/{hidden}")), "{tool}: {shown:?}");
    }
}

proptest! {
    #[test]
    fn a_claimed_place_is_in_the_preview_and_every_other_leaf_is_listed((tool, arguments) in call()) {
        let request = held(tool, arguments);
        let fields = request.display_fields();
        let (preview, shown) = super::super::preview(&request);
        let mut counts = drawn(&preview);
        for pointer in &shown {
            let own: Vec<_> = fields.iter().filter(|field| field.pointer == *pointer).collect();
            prop_assert_eq!(own.len(), 1, "{} stands for one leaf", pointer);
            let text = own[0].text.trim_matches('"').trim_end_matches("\\n").to_owned();
            let left = counts.entry(text).or_default();
            prop_assert!(*left > 0, "{} is claimed and is not in {:?}", pointer, preview);
            *left -= 1;
        }
        let listed = fields.iter().filter(|field| !shown.contains(&field.pointer)).count();
        prop_assert_eq!(listed + shown.len(), fields.len());
    }
}
