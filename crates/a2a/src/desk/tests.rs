use placet_core::{DecisionWord, InputType, Kind, Risk};
use serde_json::{Map, Value, json};

use super::*;
use crate::{Part, Role};

fn message(parts: Vec<Part>, metadata: Value) -> Message {
    let metadata = metadata.as_object().cloned().unwrap_or_else(Map::new);
    Message {
        id: "m1".to_owned(),
        context: None,
        task: None,
        role: Role::User,
        parts,
        metadata,
        extensions: Vec::new(),
        reference_tasks: Vec::new(),
    }
}

fn part(data: Value) -> Asking {
    read(&message(vec![Part::data(data)], json!({}))).unwrap().unwrap()
}

fn extension(uri: &str, words: Value) -> Result<Option<Asking>, Fault> {
    read(&message(vec![], json!({ uri: words })))
}

#[test]
fn the_flat_form_of_agentkit_has_its_arguments_beside_the_action() {
    let asking = part(json!({
        "type": "approval_request", "action": "delete_files", "files": ["report.md", "draft.txt"],
        "message": "Delete these 2 files?", "options": ["approve", "deny", "modify"],
    }));
    let create = &asking.items[0].create;
    assert_eq!(asking.dialect, Dialect::AgentKit);
    assert_eq!((create.kind, create.tool.as_deref()), (Kind::Action, Some("delete_files")));
    assert_eq!(json!(create.arguments), json!({"files": ["report.md", "draft.txt"]}));
    assert_eq!(create.summary.as_deref(), Some("Delete these 2 files?"));
    assert_eq!(create.allowed, Some(vec![DecisionWord::Deny, DecisionWord::Approve, DecisionWord::Edit]));
}

#[test]
fn the_encoded_form_of_agentkit_has_all_four_kinds() {
    let action = part(json!({"action": {"_0": {
        "id": "a-1", "action": "run command", "description": "Clean up", "parameters": {"command": "rm x"}, "risk": "high", "timeout": 90,
    }}}));
    let create = &action.items[0].create;
    assert_eq!(
        (create.tool.as_deref(), create.risk, create.expires_in.as_deref()),
        (Some("run_command"), Some(Risk::High), Some("90s"))
    );
    assert_eq!((json!(create.arguments), action.key.as_deref()), (json!({"command": "rm x"}), Some("a-1")));
    let plan = part(json!({"type": "approval_request", "title": "Move", "canModify": true,
        "steps": [{"order": 1, "action": "copy", "description": "d", "isOptional": true}]}));
    let create = &plan.items[0].create;
    assert_eq!((create.kind, create.can_modify), (Kind::Plan, Some(true)));
    assert_eq!(
        json!(create.steps),
        json!([{"id": "1", "action": "copy", "description": "d", "optional": true}])
    );
    let input = part(
        json!({"input": {"_0": {"id": "q", "question": "Which?", "inputType": {"choice": {"options": ["a", "b"]}}, "required": true}}}),
    );
    let spec = input.items[0].create.input.clone().unwrap();
    assert_eq!((spec.kind, spec.options), (InputType::Choice, Some(vec!["a".to_owned(), "b".to_owned()])));
    let yes = part(
        json!({"confirmation": {"_0": {"id": "c", "message": "Send?", "confirmLabel": "Send", "cancelLabel": "Go back"}}}),
    );
    let create = &yes.items[0].create;
    assert_eq!((create.kind, create.confirm_label.as_deref()), (Kind::Confirmation, Some("Send")));
}

#[test]
fn an_unknown_risk_is_the_highest() {
    let asking = part(json!({"type": "approval_request", "action": "a", "risk": "none at all"}));
    assert_eq!(asking.items[0].create.risk, Some(Risk::Critical));
}

#[test]
fn arguments_in_two_places_are_refused() {
    let data = json!({"type": "approval_request", "action": "a", "parameters": {"x": 1}, "y": 2});
    let fault = read(&message(vec![Part::data(data)], json!({}))).unwrap_err();
    assert_eq!(fault.message(), "`message.parts[0].data.parameters` must be the only place with arguments");
}

#[test]
fn every_call_of_a_pause_of_kagent_is_an_item_and_nested_calls_are_the_ones_that_run() {
    let call = |id: &str| json!({"id": id, "call_id": "c", "name": "delete_file", "args": {"path": "/x"}});
    let asking = extension(
        KAGENT,
        json!({"type": "tool_approval_request", "hint": "h", "tools": [call("a"), call("b")]}),
    );
    let asking = asking.unwrap().unwrap();
    let ids: Vec<_> = asking.items.iter().map(|item| item.id.as_deref()).collect();
    assert_eq!((asking.dialect, ids), (Dialect::Kagent, vec![Some("a"), Some("b")]));
    let nested = json!({"type": "tool_approval_request", "tools": [call("outer")],
        "nested": {"subagent_name": "sub", "tools": [call("inner")]}});
    let asking = extension(KAGENT, nested).unwrap().unwrap();
    assert_eq!(asking.items[0].id.as_deref(), Some("inner"));
    assert_eq!(json!(asking.items[0].create.context), json!({"call_id": "c", "lineage": ["sub"]}));
}

#[test]
fn questions_of_kagent_are_inputs() {
    let words = json!({"type": "ask_user_request", "id": "q", "questions": [
        {"question": "Which?", "choices": ["a", "b"], "multiple": true}, {"question": "Why?", "choices": []}]});
    let asking = extension(KAGENT, words).unwrap().unwrap();
    let kinds: Vec<_> = asking.items.iter().map(|item| item.create.input.as_ref().unwrap().kind).collect();
    assert_eq!(kinds, [InputType::MultiChoice, InputType::Text]);
}

#[test]
fn the_two_other_extensions_are_understood() {
    let asking =
        extension(AGENTSTACK, json!({"action": "tool-call", "title": "t", "name": "rm", "input": {"a": 1}}));
    let asking = asking.unwrap().unwrap();
    assert_eq!(asking.items[0].create.tool.as_deref(), Some("rm"));
    let words = json!({"requestId": "r1", "summary": "Pay 5", "digest": "sha256:00"});
    let asking = read(&message(vec![], json!({ DIGESTED_KEY: words }))).unwrap().unwrap();
    assert_eq!((asking.dialect, asking.key.as_deref()), (Dialect::Digested, Some("r1")));
    assert_eq!(asking.items[0].create.message.as_deref(), Some("Pay 5"));
}

#[test]
fn our_own_extension_is_the_body_of_a_create_and_strict_about_it() {
    let body = json!({"kind": "action", "tool": "t", "arguments": {}});
    let asking = extension(OWN, json!({"requests": [body, body]})).unwrap().unwrap();
    assert_eq!((asking.dialect, asking.items.len()), (Dialect::Own, 2));
    for words in [
        json!({}),
        json!({"request": body, "requests": [body]}),
        json!({"request": {"kind": "action", "tol": "t"}}),
    ] {
        assert_eq!(extension(OWN, words.clone()).unwrap_err().code(), -32602, "{words}");
    }
    assert!(extension(OWN, json!({"requests": vec![body; 51]})).is_err());
}

#[test]
fn chatter_asks_for_nothing() {
    for parts in [
        vec![Part::text("approve")],
        vec![Part::data(json!({"type": "approval_response", "decision": "approve"}))],
        vec![Part::data(json!([1]))],
    ] {
        assert_eq!(read(&message(parts, json!({}))), Ok(None));
    }
    assert_eq!(extension(KAGENT, json!({"type": "tool_approval_response", "approvals": []})), Ok(None));
}

fn words(data: Value) -> Result<Vec<ItemAnswer>, Fault> {
    said(&message(vec![Part::data(data)], json!({})))
}

#[test]
fn every_dialect_of_answers_is_understood() {
    let yes = |item: Option<&str>| (item.map(str::to_owned), DecisionWord::Approve);
    let no = |item: Option<&str>| (item.map(str::to_owned), DecisionWord::Deny);
    let cases = [
        (json!({"type": "approval_response", "decision": "approve"}), vec![yes(None)]),
        (
            json!({"type": "approval_response", "decision": "reject", "approval_id": "req_1"}),
            vec![no(Some("req_1"))],
        ),
        (
            json!({"type": "tool_approval_response", "approvals": [{"id": "a", "approved": true}, {"id": "b", "approved": false}]}),
            vec![yes(Some("a")), no(Some("b"))],
        ),
        (json!({"decision_type": "approve"}), vec![yes(None)]),
        (json!({"decision_type": "deny"}), vec![no(None)]),
        (
            json!({"decision_type": "batch", "decisions": {"a": "approve", "b": "reject"}, "rejection_reasons": {"b": "no"}}),
            vec![yes(Some("a")), no(Some("b"))],
        ),
    ];
    for (data, expected) in cases {
        let found: Vec<_> =
            words(data.clone()).unwrap().into_iter().map(|said| (said.item, said.word)).collect();
        assert_eq!(found, expected, "{data}");
    }
}

#[test]
fn an_unknown_word_is_refused_and_text_says_nothing() {
    for data in [
        json!({"type": "approval_response", "decision": "Approve"}),
        json!({"type": "approval_response", "decision": "yes"}),
        json!({"type": "approval_response"}),
        json!({"decision_type": "always"}),
        json!({"decision_type": "batch", "decisions": {"a": "ok"}}),
        json!({"type": "tool_approval_response", "approvals": [{"id": "a", "approved": "true"}]}),
        json!({"type": "tool_approval_response", "approvals": [{"id": "a"}]}),
    ] {
        assert_eq!(words(data.clone()).unwrap_err().code(), -32602, "{data}");
    }
    assert_eq!(said(&message(vec![Part::text("approve")], json!({}))), Ok(vec![]));
}

#[test]
fn a_yes_with_other_arguments_is_an_edit() {
    let found = words(json!({"type": "approval_response", "decision": "approve", "args": {"a": 1}})).unwrap();
    assert_eq!((found[0].word, json!(found[0].arguments)), (DecisionWord::Edit, json!({"a": 1})));
}
