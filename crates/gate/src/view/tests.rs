//! Each leaf once, typed sections, flags and digests.

use std::sync::Arc;

use placet_core::{
    Action, Body, Card, CardSection, Confirmation, Content, Decision, DecisionWord, DiffRow, Digest, Input,
    InputSpec, InputType, Needs, Plan, Proposal, ProposalContent, Request, RequestId, SectionBody, Step,
    StepDecision, Time,
};
use serde_json::{Map, Value, json};

mod each;
mod sections;

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("expected an object, not {other}"),
    }
}

/// A held request with this body.
fn request(body: Body, context: Value) -> Request {
    let zero = std::time::Duration::ZERO;
    let mut request: Request = serde_json::from_value(json!({
        "id": RequestId::new(1, [2; 10]), "seq": 1, "version": 1, "material": 1,
        "state": "pending", "kind": body.kind(), "agent": "bot", "session": "s",
        "tool": body.tool(), "group": "g", "on_behalf_of": null, "risk": "low",
        "verdict": {"effect": "hold", "rule": "r", "policy": "p", "reasons": []},
        "needs": Needs::default(), "allowed": ["approve", "edit", "deny"], "permit": true,
        "digest": Digest::default(), "votes": [], "proposal": null, "decision": null, "asked": [],
        "created_at": Time::from_micros(7), "expires_at": Time::from_micros(i64::MAX),
        "claim_window": zero, "report_window": zero,
        "claim_by": null, "report_by": null, "claim": null, "outcome": null,
    }))
    .unwrap();
    let content =
        Content { body, context: object(context), summary: Some("words".into()), nonce: "n".into() };
    request.content = Some(Arc::new(content));
    request
}

fn action(tool: &str, arguments: Value) -> Request {
    let body =
        Action { tool: tool.into(), arguments: object(arguments), arguments_schema: Some(json!({"a": "b"})) };
    request(Body::Action(body), json!({}))
}

fn question(question: &str) -> Body {
    let options = Some(vec!["Red".to_owned(), "Red\u{202e}".to_owned()]);
    let input = InputSpec { kind: InputType::Choice, min: None, max: None, options };
    Body::Input(Input { question: question.into(), input, required: true, default: Some(json!("Red")) })
}

fn confirmation(message: &str, details: Option<&str>) -> Body {
    Body::Confirmation(Confirmation {
        message: message.into(),
        details: details.map(str::to_owned),
        confirm_label: "Yes".into(),
        cancel_label: "No".into(),
    })
}

fn step(id: &str, action: &str, arguments: Option<Value>) -> Step {
    Step {
        id: id.into(),
        action: action.into(),
        description: format!("do {id}"),
        arguments: arguments.map(object),
        optional: None,
    }
}

fn plan(steps: Vec<Step>) -> Body {
    Body::Plan(Plan {
        title: "Deploy".into(),
        steps,
        can_modify: true,
        estimated_duration: Some("1 h".into()),
    })
}

/// Puts a replacement on the table.
fn proposed(mut request: Request, word: DecisionWord, content: Option<ProposalContent>) -> Request {
    request.proposal = Some(Proposal {
        by: "ann".into(),
        word,
        digest: Digest::new([1; 32]),
        at: Time::default(),
        version: 2,
        content: content.map(Arc::new),
    });
    request
}

/// Decides it, with a replacement or as it was asked.
fn decided(mut request: Request, word: DecisionWord, content: Option<ProposalContent>) -> Request {
    request.decision = Some(Decision {
        word,
        by: vec!["ann".into()],
        digest: Digest::new([1; 32]),
        at: Time::default(),
        version: 3,
        content_version: content.is_some().then_some(2),
        content: content.map(Arc::new),
        reason: None,
        claimed: None,
    });
    request
}

fn arguments(value: Value) -> ProposalContent {
    ProposalContent { arguments: Some(object(value)), ..ProposalContent::default() }
}

fn card(request: &Request) -> Card {
    super::card(request).unwrap()
}

fn pointers(section: &CardSection) -> Vec<&str> {
    section.pointers.iter().map(String::as_str).collect()
}

fn listed(card: &Card) -> Vec<&str> {
    card.rest.iter().map(|field| field.pointer.as_str()).collect()
}
