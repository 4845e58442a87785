//! Every check of a create call: what passes, and which field a refusal names.

use serde_json::json;

use super::*;

fn check(body: Value) -> Result<Spec, String> {
    let create: Create = serde_json::from_value(body).map_err(|error| error.to_string())?;
    create.check(&Limits::default()).map_err(|invalid| invalid.pointer)
}

fn action_with(field: &str, value: Value) -> Result<Spec, String> {
    let mut body = json!({"kind":"action","session":"s","tool":"t","arguments":{}});
    body[field] = value;
    check(body)
}

#[test]
fn a_plain_action_waits_five_minutes_and_has_a_permit() {
    let spec = action_with("summary", Value::Null).unwrap();
    assert_eq!(spec.terms.expires_in, Duration::from_mins(5));
    assert!(spec.terms.permit);
    assert_eq!(spec.terms.allowed, [DecisionWord::Approve, DecisionWord::Edit, DecisionWord::Deny]);
}

#[test]
fn each_bad_field_is_named() {
    for (field, value) in [
        ("tool", json!("rm -rf")),
        ("tool", json!("")),
        ("tool", json!("tööl")),
        ("session", json!("")),
        ("expires_in", json!("soon")),
        ("expires_in", json!("0s")),
        ("expires_in", json!("-5m")),
        ("expires_in", json!("90000h")),
        ("on_behalf_of", json!("ann smith")),
        ("title", json!("a plan's field")),
        ("question", json!("an input's field")),
        ("arguments_schema", json!([])),
    ] {
        assert_eq!(action_with(field, value.clone()).unwrap_err(), format!("/{field}"), "{value}");
    }
    assert_eq!(action_with("allowed", json!(["approve", "deny"])).unwrap().terms.allowed.len(), 2);
}

#[test]
fn the_time_for_deciding_includes_both_its_limits() {
    for (text, expected) in [
        ("999ms", None),
        ("1s", Some(Duration::from_secs(1))),
        ("720h", Some(Duration::from_hours(30 * 24))),
        ("720h 1ms", None),
    ] {
        let spec = action_with("expires_in", json!(text));
        assert_eq!(spec.ok().map(|spec| spec.terms.expires_in), expected, "{text}");
    }
}

#[test]
fn a_no_is_always_possible() {
    assert_eq!(
        action_with("allowed", json!(["approve"])).unwrap().terms.allowed,
        [DecisionWord::Approve, DecisionWord::Deny]
    );
    assert_eq!(action_with("allowed", json!([])).unwrap().terms.allowed, [DecisionWord::Deny]);
}

#[test]
fn unknown_fields_and_words_are_refused_by_name() {
    assert!(action_with("approved", json!(true)).unwrap_err().contains("`approved`"));
    assert!(action_with("risk", json!("none")).unwrap_err().contains("`none`"));
    assert!(check(json!({"kind":"wish","session":"s"})).unwrap_err().contains("`wish`"));
}

#[test]
fn plans_questions_and_confirmations_are_checked() {
    let step = json!({"id":"a","action":"x","description":""});
    assert!(check(json!({"kind":"plan","session":"s","title":"t","steps":[step]})).is_ok());
    assert_eq!(
        check(json!({"kind":"plan","session":"s","title":"t","steps":[step, step]})).unwrap_err(),
        "/steps/1/id"
    );
    assert_eq!(check(json!({"kind":"plan","session":"s","title":"t","steps":[]})).unwrap_err(), "/steps");
    assert_eq!(
        check(json!({"kind":"input","session":"s","question":"q","input":{"type":"choice"}})).unwrap_err(),
        "/input/options"
    );
    assert_eq!(
        check(json!({"kind":"input","session":"s","question":"q","input":{"type":"text","min":1}}))
            .unwrap_err(),
        "/input/min"
    );
    assert_eq!(
        check(json!({"kind":"input","session":"s","question":"q","input":{"type":"number","min":2,"max":1}}))
            .unwrap_err(),
        "/input/min"
    );
    assert_eq!(
        check(json!({"kind":"input","session":"s","question":"q","input":{"type":"date"},"default":"x"}))
            .unwrap_err(),
        "/default"
    );
    assert_eq!(check(json!({"kind":"confirmation","session":"s"})).unwrap_err(), "/message");
    assert_eq!(
        check(json!({"kind":"confirmation","session":"s","message":"m","permit":true})).unwrap_err(),
        "/permit"
    );
    assert_eq!(
        check(json!({"kind":"confirmation","session":"s","message":"m","allowed":["edit"]})).unwrap_err(),
        "/allowed/0"
    );
}
