//! The dialects beside `adk_request_confirmation`.

use super::*;
use crate::desk::{AGENTSTACK, DIGESTED, DIGESTED_KEY, KAGENTI};

/// A paused status in the JSON of 1.0 that says this in its metadata.
fn extended(key: &str, words: Value) -> Value {
    let message = json!({"messageId": "m1", "role": "ROLE_AGENT", "parts": [{"text": "Wait."}],
        "extensions": [key], "metadata": {key: words}});
    json!({"state": "TASK_STATE_INPUT_REQUIRED", "message": message})
}

fn tool(id: &str) -> Value {
    json!({"id": id, "call_id": format!("c-{id}"), "name": "delete_file", "args": {"path": "/x"}})
}

/// What the answer says in its metadata.
fn metadata(pause: &Pause, key: &str, decisions: &[Decided]) -> Value {
    let answer = pause.answer(Version::V10, "a1", "t1", "c1", decisions).unwrap();
    answer["metadata"][key].clone()
}

#[test]
fn hitl_names_every_id_of_the_request_in_the_same_place() {
    let words =
        json!({"type": "tool_approval_request", "hint": "h", "tools": [tool("a"), tool("b"), tool("c")]});
    let pause = found(&extended(KAGENT, words));
    assert_eq!((pause.dialect, pause.items.len()), (Dialect::Hitl, 3));
    let decisions = [Decided::Approved, no("never"), Decided::Rejected { reason: None }];
    assert_eq!(
        metadata(&pause, KAGENT, &decisions),
        json!({"type": "tool_approval_response", "approvals": [
            {"id": "a", "approved": true},
            {"id": "b", "approved": false, "rejection_reason": "never"},
            {"id": "c", "approved": false},
        ]})
    );
    let answer = pause.answer(Version::V10, "a1", "t1", "c1", &decisions).unwrap();
    assert_eq!(answer["extensions"], json!([KAGENT]));
}

#[test]
fn hitl_of_an_agent_behind_the_agent_is_answered_by_the_inner_ids() {
    let nested =
        json!({"subagent_name": "cleaner", "task_id": "t", "context_id": "c", "tools": [tool("in")]});
    let words = json!({"type": "tool_approval_request", "tools": [tool("out")], "nested": nested});
    let pause = found(&extended(KAGENT, words));
    assert_eq!(json!(pause.items[0].create.context), json!({"call_id": "c-in", "lineage": ["cleaner"]}));
    let said = metadata(&pause, KAGENT, &[Decided::Approved]);
    assert_eq!(said["approvals"], json!([{"id": "in", "approved": true}]));
    let nested =
        json!({"subagent_name": "cleaner", "tools": [{"id": "in", "call_id": "x", "name": "ask_user"}]});
    let words = json!({"type": "ask_user_request", "id": "out", "questions": [{"question": "Which?"}], "nested": nested});
    let pause = found(&extended(KAGENT, words));
    let said = metadata(&pause, KAGENT, &[Decided::Answered(json!("this"))]);
    assert_eq!(said, json!({"type": "ask_user_response", "id": "in", "answers": [{"answer": ["this"]}]}));
}

#[test]
fn hitl_has_no_word_for_a_refused_question_so_every_answer_says_that_there_is_none() {
    let words =
        json!({"type": "ask_user_request", "id": "q", "questions": [{"question": "A?"}, {"question": "B?"}]});
    let pause = found(&extended(KAGENT, words));
    let said = metadata(&pause, KAGENT, &[Decided::Answered(json!("a")), no("private")]);
    let declined = json!({"answer": ["Declined to answer: private"]});
    assert_eq!(said["answers"], json!([declined, declined]));
}

#[test]
fn hitl_that_cannot_be_answered_whole_is_refused() {
    let nested = json!({"tools": [tool("in")]});
    for (words, wanted) in [
        (
            json!({"type": "tool_approval_request", "tools": [tool("a"), tool("b")], "nested": nested}),
            "nested",
        ),
        (
            json!({"type": "ask_user_request", "id": "q", "questions": [{"question": "?"}], "nested": nested}),
            "nested.tools",
        ),
        (json!({"type": "tool_approval_response", "approvals": []}), "hitl/v1.type"),
        (json!({"type": "tool_approval_request", "tools": []}), "0 items"),
        (json!({"type": "tool_approval_request", "tools": [tool("a"), tool("a")]}), "twice on the id `a`"),
        (json!({"type": "tool_approval_request", "tools": [{"id": "", "name": "x"}]}), "tools[0].id"),
        (
            json!({"type": "tool_approval_request", "tools": [{"id": "a", "name": "x", "args": "y"}]}),
            "tools[0].args",
        ),
        (json!({"type": "ask_user_request", "id": "q", "questions": []}), "questions` is empty"),
        (json!("x"), "not an object"),
    ] {
        let why = refused(&extended(KAGENT, words.clone()));
        assert!(why.contains(wanted), "{why} for {words}");
    }
}

#[test]
fn the_one_word_extensions_are_answered_under_the_key_they_asked_under() {
    for key in [AGENTSTACK, KAGENTI] {
        let call = json!({"action": "tool-call", "title": null, "name": "rm", "input": {"a": 1}});
        let pause = found(&extended(key, call));
        assert_eq!((pause.dialect, pause.items[0].create.tool.as_deref()), (Dialect::Agentstack, Some("rm")));
        assert_eq!(metadata(&pause, key, &[Decided::Approved]), json!({"decision": "approve"}));
        assert_eq!(metadata(&pause, key, &[no("x")]), json!({"decision": "reject"}));
        let pause = found(&extended(key, json!({"action": "generic", "title": null, "description": null})));
        let create = &pause.items[0].create;
        assert_eq!((create.kind, create.tool.as_deref()), (Kind::Action, Some("approval")));
        assert_eq!(json!(create.arguments), json!({"message": "The agent asks for approval."}));
    }
    let why = refused(&extended(AGENTSTACK, json!({"action": "tool-call", "name": "rm -rf", "input": {}})));
    assert!(why.contains("name` is no name of a tool"), "{why}");
    let words = json!({"requestId": "r1", "summary": "Pay 5", "digest": "sha256:00"});
    for key in [DIGESTED_KEY, DIGESTED] {
        let pause = found(&extended(key, words.clone()));
        assert_eq!((pause.dialect, pause.items[0].id.as_str()), (Dialect::Digested, "r1"));
        let create = &pause.items[0].create;
        assert_eq!(json!(create.arguments), json!({"message": "Pay 5", "details": "Wait."}));
        assert_eq!(json!(create.context), json!({"digest": "sha256:00"}));
        let said = metadata(&pause, key, &[no("never")]);
        let whole = json!({"requestId": "r1", "decision": "deny", "digest": "sha256:00", "comment": "never"});
        assert_eq!(said, whole);
        assert_eq!(metadata(&pause, key, &[Decided::Approved])["decision"], "approve");
    }
    let changed = json!({"requestId": "r1", "summary": "Pay 5", "digest": "sha256:11"});
    let both = [words, changed].map(|words| found(&extended(DIGESTED_KEY, words)).fingerprint());
    assert_ne!(both[0], both[1]);
}

fn interrupt(actions: Value) -> Value {
    paused(json!([{"kind": "text", "text": "**Approval Required**"},
        {"kind": "data", "metadata": {"kagent_type": "interrupt_data"},
         "data": {"interrupt_type": "tool_approval", "action_requests": actions}}]))
}

#[test]
fn the_first_proposal_of_kagent_takes_one_word_for_all() {
    let pause =
        found(&interrupt(json!([{"name": "rm", "args": {"a": 1}, "id": "c1"}, {"name": "mv", "args": {}}])));
    assert_eq!((pause.dialect, pause.items[1].id.as_str()), (Dialect::ToolApproval, "call 2"));
    let parts = |decisions: &[Decided]| {
        pause.answer(Version::V03, "a", "t", "c", decisions).unwrap()["parts"].clone()
    };
    let said = |word: &str, text: &str| json!([{"kind": "data", "data": {"decision_type": word}}, {"kind": "text", "text": text}]);
    assert_eq!(parts(&[Decided::Approved, Decided::Approved]), said("approve", "Approved"));
    assert_eq!(parts(&[no("x"), no("x")]), said("deny", "Denied: x"));
    let mixed = [Decided::Approved, no("never")];
    let told = parts(&mixed);
    assert_eq!(told[0]["data"]["decision_type"], "deny");
    assert!(told[1]["text"].as_str().unwrap().starts_with("Denied: rm: approved, but not run"), "{told}");
    assert!(matches!(pause.settled(&mixed).unwrap()[0], Decided::Rejected { .. }));
    let why = refused(&interrupt(json!([{"name": "rm", "args": {}, "id": ""}])));
    assert!(why.contains("action_requests[0].id` is empty"), "{why}");
}

#[test]
fn agentkit_is_answered_in_its_own_spelling() {
    let ask = json!({"type": "approval_request", "action": "delete_files", "files": ["a"], "message": "Delete?",
        "options": ["approve", "deny", "modify"], "on_behalf_of": "ann"});
    let status = json!({"state": "TASK_STATE_INPUT_REQUIRED",
        "message": {"role": "agent", "parts": [{"kind": "data", "data": ask}]}});
    let pause = found(&status);
    let create = &pause.items[0].create;
    assert_eq!((pause.dialect, create.tool.as_deref()), (Dialect::AgentKit, Some("delete_files")));
    // What the answer cannot carry is not offered, and who is behind the call is not the agent's to say.
    assert_eq!(create.allowed, Some(vec![DecisionWord::Approve, DecisionWord::Deny]));
    assert_eq!(create.on_behalf_of, None);
    let answer = pause.answer(Version::V10, "a", "t", "c", &[no("keep")]).unwrap();
    let told = json!({"type": "approval_response", "decision": "deny", "reason": "keep"});
    assert_eq!(answer["parts"], json!([{"kind": "data", "data": told}]));
    assert_eq!(
        (&answer["task_id"], &answer["taskId"], &answer["role"]),
        (&json!("t"), &json!("t"), &json!("user"))
    );
    let part = |n: u32| json!({"data": {"action": {"_0": {"id": format!("r{n}"), "action": "rm", "parameters": {}}}}});
    let status = json!({"state": "TASK_STATE_INPUT_REQUIRED",
        "message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [part(1), part(2)]}});
    let said = data(&found(&status), &[Decided::Approved, no("x")]);
    assert_eq!((&said[0]["id"], &said[0]["decision"]), (&json!("r1"), &json!("approve")));
    assert_eq!((&said[1]["id"], &said[1]["decision"]), (&json!("r2"), &json!("deny")));
}

#[test]
fn a_plan_of_agentkit_is_one_thing_because_its_answer_knows_no_steps() {
    let plan = json!({"type": "approval_request", "title": "Move", "canModify": true,
        "steps": [{"order": 1, "action": "copy", "description": "d"}, {"order": 2, "action": "rm", "description": "d"}]});
    let pause = found(&paused(json!([{"kind": "data", "data": plan}])));
    let create = &pause.items[0].create;
    assert_eq!((create.kind, create.tool.as_deref()), (Kind::Action, Some("plan")));
    assert_eq!(json!(create.arguments), plan);
}

#[test]
fn several_requests_of_agentkit_need_names_and_nothing_may_stand_beside_them() {
    let flat = json!({"kind": "data", "data": {"type": "approval_request", "action": "rm"}});
    let why = refused(&paused(json!([flat, flat])));
    assert!(why.contains("parts[0].data.id` is missing"), "{why}");
    let why = refused(&paused(json!([flat, {"kind": "data", "data": {"x": 1}}])));
    assert!(why.contains("parts[1]` stands beside"), "{why}");
}

#[test]
fn a_request_that_was_found_can_be_put() {
    let many = "ä".repeat(9000);
    let long = confirmation("kagent_", 1, "rm", json!({}), Value::Null)
        .to_string()
        .replace("Tool 'rm' requires approval.", &many);
    let long: Value = serde_json::from_str(&long).unwrap();
    let odd = ask("kagent_", 1, json!([{"question": "Which?", "choices": ["a", "a", ""]}]));
    let statuses = [
        paused(json!([long])),
        paused(json!([odd])),
        paused(json!([{"kind": "text", "text": many}])),
        extended(AGENTSTACK, json!({"action": "generic"})),
        extended(DIGESTED, json!({"requestId": "r", "summary": "s", "digest": "d"})),
    ];
    for status in statuses {
        for item in found(&status).items {
            let checked = item.create.check(&placet_core::Limits::default());
            assert!(checked.is_ok(), "{checked:?}");
        }
    }
}
