use placet_core::{DecisionWord, InputType, Risk};
use serde_json::json;

use super::*;

mod others;

/// A paused status in the JSON of 0.3, with these parts.
fn paused(parts: Value) -> Value {
    json!({"state": "input-required",
        "message": {"kind": "message", "messageId": "m1", "role": "agent", "parts": parts}})
}

fn confirmation(prefix: &str, n: u32, name: &str, args: Value, more: Value) -> Value {
    let mut confirmation = json!({"hint": format!("Tool '{name}' requires approval."), "confirmed": false});
    if !more.is_null() {
        confirmation["payload"] = more;
    }
    let metadata =
        json!({format!("{prefix}type"): "function_call", format!("{prefix}is_long_running"): true});
    json!({"kind": "data", "metadata": metadata, "data": {
        "name": "adk_request_confirmation", "id": format!("confirm-{n}"),
        "args": {"originalFunctionCall": {"id": format!("call-{n}"), "name": name, "args": args},
                 "toolConfirmation": confirmation}}})
}

fn delete(prefix: &str, n: u32) -> Value {
    confirmation(prefix, n, "delete_file", json!({"path": "/etc/x", "size": 3}), Value::Null)
}

fn found(status: &Value) -> Pause {
    detect(status).unwrap().unwrap()
}

fn refused(status: &Value) -> String {
    detect(status).unwrap_err().message()
}

fn no(reason: &str) -> Decided {
    Decided::Rejected { reason: Some(reason.to_owned()) }
}

/// The data parts of the answer.
fn data(pause: &Pause, decisions: &[Decided]) -> Vec<Value> {
    let answer = pause.answer(Version::V10, "a1", "t1", "c1", decisions).unwrap();
    answer["parts"].as_array().unwrap().iter().map(|part| part["data"].clone()).collect()
}

#[test]
fn only_a_task_that_waits_is_paused() {
    for state in ["working", "completed", "TASK_STATE_WORKING", "TASK_STATE_UNSPECIFIED", "nonsense"] {
        let mut status = paused(json!([delete("kagent_", 1)]));
        status["state"] = json!(state);
        assert_eq!(detect(&status), Ok(None), "{state}");
    }
    for state in ["input-required", "auth-required", "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED"]
    {
        let mut status = paused(json!([delete("kagent_", 1)]));
        status["state"] = json!(state);
        assert_eq!(found(&status).dialect, Dialect::Confirmation, "{state}");
    }
}

#[test]
fn every_confirmation_is_an_action_with_the_original_call() {
    let pause = found(&paused(json!([delete("kagent_", 1), delete("kagent_", 2)])));
    let ids: Vec<_> = pause.items.iter().map(|item| item.id.as_str()).collect();
    assert_eq!(ids, ["call-1", "call-2"]);
    let create = &pause.items[0].create;
    assert_eq!((create.kind, create.tool.as_deref()), (Kind::Action, Some("delete_file")));
    assert_eq!(json!(create.arguments), json!({"path": "/etc/x", "size": 3}));
    assert_eq!(create.allowed, Some(vec![DecisionWord::Approve, DecisionWord::Deny]));
    assert_eq!(create.summary.as_deref(), Some("Tool 'delete_file' requires approval."));
    assert_eq!(json!(create.context), json!({"call_id": "call-1", "confirmation_id": "confirm-1"}));
    assert_eq!((create.session.as_str(), create.permit), ("a2a", None));
}

#[test]
fn an_answer_is_one_message_that_names_its_task_and_its_context() {
    let pause = found(&paused(json!([delete("kagent_", 1)])));
    let answer = pause.answer(Version::V03, "a1", "t1", "c1", &[Decided::Approved]).unwrap();
    let part = json!({"kind": "data", "data": {"decision_type": "approve"}});
    let whole = json!({"kind": "message", "messageId": "a1", "taskId": "t1", "contextId": "c1", "role": "user", "parts": [part]});
    assert_eq!(answer, whole);
    for (message, task, context) in [("", "t", "c"), ("m", "", "c"), ("m", "t", "")] {
        let answer = pause.answer(Version::V03, message, task, context, &[Decided::Approved]);
        assert_eq!(answer, Err(Incomplete::Nameless));
    }
}

#[test]
fn a_decision_too_few_or_too_many_is_no_answer() {
    let pause = found(&paused(json!([delete("kagent_", 1), delete("kagent_", 2)])));
    for decisions in [vec![], vec![Decided::Approved], vec![Decided::Approved; 3]] {
        let count = Incomplete::Count { items: 2, decisions: decisions.len() };
        assert_eq!(pause.answer(Version::V10, "a", "t", "c", &decisions), Err(count));
    }
}

#[test]
fn a_decision_of_another_kind_is_no_answer() {
    let pause = found(&paused(json!([delete("adk_", 1)])));
    let misfit = Err(Incomplete::Misfit { item: "confirm-1".to_owned() });
    assert_eq!(pause.answer(Version::V10, "a", "t", "c", &[Decided::Answered(json!("x"))]), misfit);
    let pause = found(&paused(json!([ask("kagent_", 1, json!([{"question": "Which?"}]))])));
    let misfit = Err(Incomplete::Misfit { item: "call-1#0".to_owned() });
    assert_eq!(pause.answer(Version::V10, "a", "t", "c", &[Decided::Approved]), misfit);
}

#[test]
fn kagent_hears_one_word_for_all_only_when_all_are_the_same() {
    let pause = found(&paused(json!([delete("kagent_", 1), delete("kagent_", 2)])));
    assert_eq!(data(&pause, &[Decided::Approved, Decided::Approved]), [json!({"decision_type": "approve"})]);
    assert_eq!(
        data(&pause, &[no("never"), no("never")]),
        [json!({"decision_type": "reject", "rejection_reason": "never"})]
    );
    assert_eq!(
        data(&pause, &[no("never"), no("not now")]),
        [json!({"decision_type": "batch", "decisions": {"call-1": "reject", "call-2": "reject"},
            "rejection_reasons": {"call-1": "never", "call-2": "not now"}})]
    );
    assert_eq!(
        data(&pause, &[Decided::Approved, no("never")]),
        [json!({"decision_type": "batch", "decisions": {"call-1": "approve", "call-2": "reject"},
            "rejection_reasons": {"call-2": "never"}})]
    );
}

#[test]
fn adk_gets_one_response_for_each_confirmation() {
    let payload = json!({"limit": 5});
    let second = confirmation("adk_", 2, "pay", json!({}), payload);
    let pause = found(&paused(json!([delete("adk_", 1), second])));
    assert_eq!(pause.items[0].id, "confirm-1");
    assert_eq!(json!(pause.items[1].create.context)["payload"], json!({"limit": 5}));
    let answer = pause.answer(Version::V10, "a", "t", "c", &[no("never"), Decided::Approved]).unwrap();
    let response = |id: &str, response: Value| {
        json!({"metadata": {"adk_type": "function_response"},
            "data": {"id": id, "name": "adk_request_confirmation", "response": response}})
    };
    assert_eq!(
        answer["parts"],
        json!([
            response("confirm-1", json!({"confirmed": false, "payload": {"rejection_reason": "never"}})),
            response("confirm-2", json!({"confirmed": true, "payload": {"limit": 5}})),
        ])
    );
}

/// A part that passes on what agents behind the agent wait for.
fn subagent(n: u32, inner: &[(&str, Value)]) -> Value {
    let parts = inner.iter().enumerate().map(|(index, (name, args))| {
        let call = json!({"id": format!("inner-{n}-{index}"), "name": name, "args": args});
        json!({"name": "adk_request_confirmation", "id": format!("x{index}"), "originalFunctionCall": call})
    });
    let payload = json!({"task_id": "t9", "context_id": "c9", "subagent_name": "cleaner",
        "hitl_parts": parts.collect::<Vec<_>>()});
    confirmation("kagent_", n, "cleaner", json!({"request": "clean up"}), payload)
}

#[test]
fn the_calls_of_an_agent_behind_the_agent_are_the_ones_to_decide() {
    let rm = json!({"path": "/a"});
    let pause =
        found(&paused(json!([subagent(1, &[("rm", rm.clone()), ("mv", json!({}))]), delete("kagent_", 2)])));
    let ids: Vec<_> = pause.items.iter().map(|item| item.id.as_str()).collect();
    assert_eq!(ids, ["inner-1-0", "inner-1-1", "call-2"]);
    let create = &pause.items[0].create;
    assert_eq!((create.tool.as_deref(), json!(create.arguments)), (Some("rm"), rm));
    assert_eq!(
        json!(create.context),
        json!({"call_id": "inner-1-0", "confirmation_id": "x0", "lineage": ["cleaner"]})
    );
    let said = data(&pause, &[Decided::Approved, no("keep"), Decided::Approved]);
    let decisions = json!({"inner-1-0": "approve", "inner-1-1": "reject", "call-2": "approve"});
    assert_eq!(said[0]["decisions"], decisions);
}

#[test]
fn a_no_that_a_batch_would_lose_on_its_way_is_a_no_to_all() {
    let relay = json!({"request": "delete the bucket"});
    let pause = found(&paused(json!([subagent(1, &[("janitor", relay), ("rm", json!({"path": "/a"}))])])));
    let decisions = [no("never"), Decided::Approved];
    let said = data(&pause, &decisions);
    assert_eq!(said[0]["decision_type"], "reject");
    let reason = said[0]["rejection_reason"].as_str().unwrap();
    assert!(reason.starts_with("janitor: never; rm: approved, but not run"), "{reason}");
    let settled = pause.settled(&decisions).unwrap();
    assert!(settled.iter().all(|decided| matches!(decided, Decided::Rejected { .. })), "{settled:?}");
    assert!(
        pause.items[0]
            .create
            .summary
            .as_deref()
            .unwrap()
            .starts_with("Warning: this calls yet another agent")
    );
    // The other way round, nothing that was rejected can run, so the yes stands.
    let said = data(&pause, &[Decided::Approved, no("never")]);
    assert_eq!(said[0]["decisions"], json!({"inner-1-0": "approve", "inner-1-1": "reject"}));
}

#[test]
fn kagent_in_the_spelling_of_adk_is_known_by_the_agent_behind_it() {
    let text = subagent(1, &[("rm", json!({}))]).to_string().replace("\"kagent_", "\"adk_");
    let pause = found(&paused(json!([serde_json::from_str::<Value>(&text).unwrap()])));
    assert_eq!(data(&pause, &[Decided::Approved]), [json!({"decision_type": "approve"})]);
}

fn ask(prefix: &str, n: u32, questions: Value) -> Value {
    confirmation(prefix, n, "ask_user", json!({ "questions": questions }), Value::Null)
}

#[test]
fn questions_are_answered_together_and_in_order() {
    let questions = json!([
        {"question": "Which?", "choices": ["pg", "sqlite"], "multiple": false},
        {"question": "Where?", "choices": ["eu", "us"], "multiple": true},
        {"question": "Why?", "choices": []},
    ]);
    let answers = [json!("pg"), json!(["eu", "us"]), json!("because")].map(Decided::Answered);
    let told = json!([{"answer": ["pg"]}, {"answer": ["eu", "us"]}, {"answer": ["because"]}]);
    let pause = found(&paused(json!([ask("kagent_", 1, questions.clone())])));
    let kinds: Vec<_> = pause.items.iter().map(|item| item.create.input.as_ref().unwrap().kind).collect();
    assert_eq!(kinds, [InputType::Choice, InputType::MultiChoice, InputType::Text]);
    assert_eq!(pause.items[1].id, "call-1#1");
    assert_eq!(data(&pause, &answers), [json!({"decision_type": "approve", "ask_user_answers": told})]);
    let refused = [answers[0].clone(), no("private"), answers[2].clone()];
    assert_eq!(data(&pause, &refused), [json!({"decision_type": "reject", "rejection_reason": "private"})]);
    let pause = found(&paused(json!([ask("adk_", 1, questions)])));
    assert_eq!(
        data(&pause, &answers)[0]["response"],
        json!({"confirmed": true, "payload": {"answers": told}})
    );
}

#[test]
fn answers_never_let_a_rejected_call_run() {
    let pause =
        found(&paused(json!([ask("kagent_", 1, json!([{"question": "Which?"}])), delete("kagent_", 2)])));
    let answered = Decided::Answered(json!("pg"));
    let said = data(&pause, &[answered.clone(), Decided::Approved]);
    assert_eq!(said[0]["ask_user_answers"], json!([{"answer": ["pg"]}]));
    // With answers in it, kagent approves whatever else waits.
    let said = data(&pause, &[answered, no("never")]);
    assert_eq!(said[0]["decisions"], json!({"call-1": "reject", "call-2": "reject"}));
    assert_eq!(said[0].get("ask_user_answers"), None);
}

#[test]
fn numbers_that_doubles_cannot_hold_are_shown_as_text_with_a_warning() {
    for number in ["9007199254740992", "-9007199254740993", "18446744073709551615", "1e300"] {
        let args: Value = serde_json::from_str(&format!(r#"{{"deep": [{{"n": {number}}}]}}"#)).unwrap();
        let pause = found(&paused(json!([confirmation("kagent_", 1, "pay", args.clone(), Value::Null)])));
        let create = &pause.items[0].create;
        assert_eq!(json!(create.arguments), json!({"arguments_json": args.to_string()}));
        assert!(create.summary.as_deref().unwrap().starts_with("Warning: a number of 2^53"));
        assert_eq!(create.risk, Some(Risk::Critical));
        assert_eq!(json!(create.context)["warnings"].as_array().unwrap().len(), 1);
    }
    let args = json!({"n": 9_007_199_254_740_991_i64, "m": -9_007_199_254_740_991_i64, "f": 0.1});
    let pause = found(&paused(json!([confirmation("kagent_", 1, "pay", args.clone(), Value::Null)])));
    assert_eq!(json!(pause.items[0].create.arguments), args);
}

#[test]
fn what_is_half_readable_is_refused_by_its_place() {
    let good = || delete("kagent_", 1);
    let with = |change: &dyn Fn(&mut Value)| {
        let mut part = good();
        change(&mut part);
        json!([part])
    };
    let original = |part: &mut Value, name: &str, value: Value| {
        part["data"]["args"]["originalFunctionCall"][name] = value;
    };
    let file = json!({"kind": "file", "file": {"uri": "https://x/"}});
    let cases = [
        (json!([good(), good()]), "pauses twice on the id `call-1`"),
        (
            json!([good(), {"kind": "data", "data": {"name": "adk_request_credential"}}]),
            "parts[1]` stands beside",
        ),
        (json!([good(), file]), "parts[1]` stands beside"),
        (json!([good(), delete("adk_", 2)]), "two spellings"),
        (with(&|part| part["metadata"] = json!({})), "parts[0]` has no `kagent_type`"),
        (with(&|part| part["metadata"]["kagent_type"] = json!("function_response")), "has no `kagent_type`"),
        (with(&|part| original(part, "id", json!(""))), "has a call without an id"),
        (with(&|part| original(part, "id", json!(7))), "originalFunctionCall.id` is not text"),
        (with(&|part| original(part, "args", json!([1]))), "originalFunctionCall.args` is not an object"),
        (
            with(&|part| original(part, "name", json!("delete file"))),
            "originalFunctionCall.name` is no name of a tool",
        ),
        (with(&|part| part["data"]["id"] = Value::Null), "parts[0].data.id` is missing"),
        (with(&|part| part["data"]["args"] = Value::Null), "parts[0].data.args` is missing"),
        (json!([ask("kagent_", 1, json!([]))]), "questions` is empty"),
        (json!([ask("kagent_", 1, json!([{"question": ""}]))]), "questions[0].question` is missing"),
        (
            json!([
                ask("kagent_", 1, json!([{"question": "a"}])),
                ask("kagent_", 2, json!([{"question": "b"}]))
            ]),
            "two sets of questions",
        ),
        (json!((0..51).map(|n| delete("kagent_", n)).collect::<Vec<_>>()), "pauses on 51 items"),
        (json!("x"), "parts` is not a list"),
    ];
    for (parts, wanted) in cases {
        let why = refused(&paused(parts.clone()));
        assert!(why.contains(wanted), "{why} for {parts}");
    }
}

#[test]
fn plain_words_are_a_question_that_only_a_person_answers() {
    let pause = found(&paused(json!([{"kind": "text", "text": "Delete it?"}])));
    assert_eq!((pause.dialect, pause.items.len()), (Dialect::Generic, 1));
    assert_eq!(pause.items[0].create.question.as_deref(), Some("Delete it?"));
    let answer = pause.answer(Version::V10, "a", "t", "c", &[Decided::Answered(json!("no"))]).unwrap();
    assert_eq!(answer["parts"], json!([{"text": "no"}]));
    assert_eq!(pause.answer(Version::V10, "a", "t", "c", &[no("x")]), Err(Incomplete::NoRefusal));
    for empty in [json!(""), json!(" "), json!(["a"]), Value::Null] {
        assert!(pause.answer(Version::V10, "a", "t", "c", &[Decided::Answered(empty)]).is_err());
    }
}

#[test]
fn a_request_for_credentials_is_generic() {
    let part = json!({"kind": "data", "metadata": {"adk_type": "function_call"}, "data": {"name": "adk_request_credential"}});
    let mut status = paused(json!([part]));
    status["state"] = json!("auth-required");
    assert_eq!(found(&status).dialect, Dialect::Generic);
    assert_eq!(found(&json!({"state": "TASK_STATE_AUTH_REQUIRED"})).dialect, Dialect::Generic);
}

#[test]
fn the_same_pause_has_the_same_fingerprint_and_another_has_another() {
    let first = paused(json!([delete("kagent_", 1)]));
    let text = first.to_string();
    assert_eq!(found(&first).fingerprint(), found(&serde_json::from_str(&text).unwrap()).fingerprint());
    // Through protocol buffers every number is a double.
    let double = text.replace("\"size\":3", "\"size\":3.0");
    assert_eq!(found(&first).fingerprint(), found(&serde_json::from_str(&double).unwrap()).fingerprint());
    for (old, new) in [("m1", "m2"), ("call-1", "call-9"), ("/etc/x", "/etc/y"), ("\"size\":3", "\"size\":4")]
    {
        let other = serde_json::from_str(&text.replace(old, new)).unwrap();
        assert_ne!(found(&first).fingerprint(), found(&other).fingerprint(), "{new}");
    }
}

#[test]
fn every_dialect_is_found_by_its_name() {
    for dialect in Dialect::ALL {
        assert_eq!(Dialect::of_name(dialect.as_str()), Some(dialect));
    }
    assert_eq!(Dialect::of_name("Generic"), None);
}
