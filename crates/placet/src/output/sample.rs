//! Sample records for the tests of output.

use placet_core::{Card, CardFlag, CardSection, DisplayField, Record, RecordCard, SectionBody, Time, show};
use serde_json::{Value, json};

/// The time of the output: a minute and five seconds after the samples were made.
pub(crate) fn now() -> Time {
    "2026-11-15T12:01:05Z".parse().expect("a time")
}

fn record(own: Value) -> Record {
    let mut record = json!({
        "id": "req_0698d3r3kvtg0i8s0c1g60o30c", "version": 1, "kind": "action", "state": "pending",
        "agent": "billing-bot", "session": "sess-1", "tool": null, "arguments": null, "arguments_schema": null,
        "context": {}, "summary": null, "on_behalf_of": null, "group": null, "nonce": "n",
        "digest": format!("sha256:{}", "a".repeat(64)), "risk": "medium",
        "allowed": ["approve", "edit", "deny"], "claimable": true,
        "verdict": {"effect": "hold", "rule": "default", "policy": "sha256:none", "reasons": ["rule `default`: every action is held"]},
        "needs": {"any": [{"all": [{"people": 1, "team": null}]}], "four_eyes": false, "step_up": null},
        "votes": [], "proposal": null, "asked": [], "decision": null,
        "created_at": "2026-11-15T12:00:00Z", "expires_at": "2026-11-15T12:05:00Z",
        "claim_by": null, "report_by": null, "claim": null, "outcome": null,
        "url": "/r/req_0698d3r3kvtg0i8s0c1g60o30c",
    });
    for (key, value) in own.as_object().expect("an object") {
        record[key] = value.clone();
    }
    serde_json::from_value(record).expect("a record")
}

/// An action of high risk.
pub(crate) fn action() -> Record {
    record(json!({
        "kind": "action", "tool": "delete_files", "risk": "high",
        "arguments": {"files": ["report.md", "a b.txt"], "force": true},
        "summary": "Just some old files,\u{202e} trust me",
        "context": {"cwd": "/srv"},
    }))
}

/// The same record with a card: this sentence, these sections, and these values.
pub(crate) fn carded(record: Record, sections: Vec<CardSection>, rest: &[(&str, &str)]) -> Record {
    let field = |(pointer, text): &(&str, &str)| DisplayField {
        pointer: (*pointer).to_owned(),
        text: (*text).to_owned(),
        keys: Vec::new(),
    };
    let card = Card {
        sentence: "Delete 2 files: report.md, a b.txt".to_owned(),
        digest: format!("sha256:{}", "c".repeat(64)).parse().expect("a digest"),
        sections,
        rest: rest.iter().map(field).collect(),
        flagged: vec![CardFlag {
            pointer: "/arguments/force".to_owned(),
            why: "It does not ask again.".to_owned(),
        }],
        hidden: 0,
    };
    Record { view: Some(RecordCard::Whole(Box::new(card))), ..record }
}

/// An action with a card that has a text of these lines.
pub(crate) fn shown(text: &str) -> Record {
    let section = CardSection {
        body: SectionBody::Text { text: show(text) },
        title: Some("note".to_owned()),
        step: None,
        pointers: vec!["/arguments/note".to_owned()],
    };
    let rest = [
        ("/session", "sess-1"),
        ("/tool", "delete_files"),
        ("/arguments/files/0", "\"report.md\""),
        ("/arguments/force", "true"),
    ];
    carded(action(), vec![section], &rest)
}

/// An action of an agent behind the proxy, asked by one of its sub-agents.
pub(crate) fn proxied() -> Record {
    record(json!({
        "kind": "action", "tool": "delete_files", "arguments": {"arguments_json": "{\"n\":9007199254740993}"},
        "source": "a2a/demo/ops", "origin": {"agent": "demo/ops"}, "group": "pause-1", "session": "c-1",
        "context": {
            "a2a": {"namespace": "demo", "agent": "ops", "context": "c-1", "task": "t-1", "message": "m-1",
                "dialect": "hitl", "item": 1, "items": 3, "id": "call-2"},
            "call_id": "x", "lineage": ["cleaner"], "warnings": ["a number of 2^53 or more"],
        },
    }))
}

/// A plan of three steps.
pub(crate) fn plan() -> Record {
    record(json!({
        "kind": "plan", "title": "Clean the archive", "can_modify": true, "claimable": false,
        "steps": [
            {"id": "list", "action": "list", "description": "Find old files"},
            {"id": "purge", "action": "delete", "description": "Delete them", "arguments": {"older_than": "90d"}},
            {"id": "tell", "action": "report", "description": "Say what was deleted", "optional": true},
        ],
    }))
}

/// A question.
pub(crate) fn input(spec: Value) -> Record {
    record(json!({
        "kind": "input", "question": "Which one?", "input": spec, "required": true, "claimable": false,
        "allowed": ["respond", "deny"],
    }))
}

/// Yes or no.
pub(crate) fn confirmation() -> Record {
    record(json!({
        "kind": "confirmation", "message": "Go live?", "confirm_label": "Go", "cancel_label": "Wait",
        "claimable": false, "allowed": ["approve", "deny"],
    }))
}
