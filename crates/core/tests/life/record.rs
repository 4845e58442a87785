//! The shape of the record: every field of the contract, null when empty, and the same bytes both ways.

use std::sync::Arc;

use placet_core::{Body, Display, DisplayField, Effect, Kind, Preview, Record, Warning, WarningCode};
use serde_json::{Value, json};

use crate::scene::{Scene, one, two};

fn written(scene: &Scene) -> Value {
    serde_json::to_value(scene.request.view(scene.now)).unwrap()
}

#[test]
fn every_field_of_the_contract_is_on_the_record() {
    let mut scene = Scene::held(one());
    scene.edit("bob", 1).unwrap();
    let record = written(&scene);
    for field in [
        "id",
        "version",
        "kind",
        "state",
        "agent",
        "session",
        "tool",
        "arguments",
        "context",
        "summary",
        "on_behalf_of",
        "group",
        "nonce",
        "digest",
        "risk",
        "verdict",
        "needs",
        "votes",
        "proposal",
        "decision",
        "created_at",
        "expires_at",
        "claim_by",
        "report_by",
        "claim",
        "outcome",
        "url",
    ] {
        assert!(record.get(field).is_some(), "{field}");
    }
    assert_eq!(
        record["needs"],
        json!({"any":[{"all":[{"people":1,"team":null}]}],"four_eyes":false,"step_up":null})
    );
    for field in ["decision", "by", "reason", "arguments", "digest", "answer", "steps", "at"] {
        assert!(record["decision"].get(field).is_some(), "decision.{field}");
    }
    for field in ["by", "vote", "digest", "at", "auth"] {
        assert!(record["votes"][0].get(field).is_some(), "votes.{field}");
    }
    assert_eq!(record["arguments"]["n"], 0, "what was proposed");
    assert_eq!(record["decision"]["arguments"]["n"], 1, "what will run");
    assert_eq!(record["url"], format!("/r/{}", scene.request.id));
}

#[test]
fn a_kinds_own_fields_are_null_when_empty_and_absent_on_other_kinds() {
    for (kind, own, empty) in [
        (Kind::Plan, &["title", "steps", "can_modify", "estimated_duration"][..], Some("estimated_duration")),
        (Kind::Input, &["question", "input", "required", "default"], Some("default")),
        (Kind::Confirmation, &["message", "details", "confirm_label", "cancel_label"], Some("details")),
        (Kind::Action, &[], None),
    ] {
        let record = written(&Scene::of(kind, one()));
        for field in ["title", "estimated_duration", "question", "default", "message", "details"] {
            assert_eq!(record.get(field).is_some(), own.contains(&field), "{kind} {field}");
        }
        if let Some(empty) = empty {
            assert_eq!(record[empty], Value::Null, "{kind} {empty}");
        }
    }
}

#[test]
fn what_a_reviewer_is_shown_and_a_permit_travel_on_the_record() {
    let scene = Scene::asked(Kind::Action, two(), Effect::Allow, |_| {});
    let mut view = scene.request.view(scene.now);
    let field =
        DisplayField { pointer: "/tool".to_owned(), text: "delete_files".to_owned(), keys: Vec::new() };
    let warning = Warning { code: WarningCode::Long, pointer: String::new(), text: "long".to_owned() };
    view.display = Some(Display {
        digest: scene.request.digest,
        fields: vec![field],
        code: None,
        effect: "Delete 1 file: a".to_owned(),
        preview: Preview::Json,
        shown: Vec::new(),
        warnings: vec![warning],
    });
    view.permit = Some("plp_x".to_owned());
    let text = serde_json::to_string(&view).unwrap();
    let record: Record = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string(&record).unwrap(), text);
    assert_eq!((record.permit.as_deref(), record.claimable), (Some("plp_x"), true));
}

#[test]
fn an_empty_list_or_object_is_shown_and_a_full_one_by_its_values() {
    let written = json!({"a": [], "b": [1, [], "x"], "c": {}, "d": {"e": null}});
    let scene = Scene::asked(Kind::Action, one(), Effect::Hold, |submit| {
        let content = Arc::make_mut(&mut submit.content);
        let Body::Action(action) = &mut content.body else { panic!("an action") };
        action.arguments = written.as_object().unwrap().clone();
    });
    let shown = scene.request.display_fields();
    let arguments: Vec<(&str, &str)> = shown
        .iter()
        .filter_map(|field| Some((field.pointer.strip_prefix("/arguments")?, field.text.as_str())))
        .collect();
    assert_eq!(
        arguments,
        [("/a", "[]"), ("/b/0", "1"), ("/b/1", "[]"), ("/b/2", "\"x\""), ("/c", "{}"), ("/d/e", "null")]
    );
}

#[test]
fn a_request_names_its_door_unless_that_is_rest() {
    let by = |source: &str| {
        let source = source.to_owned();
        Scene::asked(Kind::Action, one(), Effect::Hold, |submit| submit.source = source)
    };
    for (source, door) in [("rest", None), ("mcp", Some("mcp")), ("", Some(""))] {
        let scene = by(source);
        assert_eq!(scene.request.door().written(), door);
        assert_eq!(written(&scene)["source"], json!(door), "{source}");
    }
}

#[test]
fn secrets_of_the_claim_are_not_on_the_record() {
    let mut scene = Scene::held(one());
    scene.approve("bob").unwrap();
    scene.claim().unwrap();
    let text = serde_json::to_string(&scene.request.view(scene.now)).unwrap();
    for secret in ["permit", "me"] {
        assert!(!text.contains(&scene.secret(secret).to_string()), "{secret}");
    }
}
