//! Questions, plans and confirmations: every type of answer, right and wrong.

use data_encoding::BASE64;
use serde_json::{Value, json};

use crate::support::{assert_problem, at, decide, head, merged, on_sqlite, vote};

fn question(input: Value) -> Value {
    json!({"kind": "input", "session": "s", "question": "which one?", "input": input})
}

#[test]
fn answers_of_the_wrong_type_or_out_of_range_are_refused_for_every_input_type() {
    let big = BASE64.encode(&vec![0_u8; 128 * 1024 + 1]);
    let file = |name: &str, content: &str| json!({"name": name, "media_type": "text/plain", "content_base64": content});
    /// An answer that does not fit, and the place where it does not.
    type Bad = (Value, &'static str);
    let cases: Vec<(Value, Value, Vec<Bad>)> = vec![
        (
            json!({"type": "text"}),
            json!("blue"),
            vec![
                (json!(5), "/answer"),
                (json!(""), "/answer"),
                (json!(null), "/answer"),
                (json!(["x"]), "/answer"),
                (json!("x".repeat(16_385)), "/answer"),
            ],
        ),
        (
            json!({"type": "number", "min": 1, "max": 10}),
            json!(2.5),
            vec![
                (json!("2"), "/answer"),
                (json!(0.999), "/answer"),
                (json!(10.001), "/answer"),
                (json!(true), "/answer"),
                (json!(null), "/answer"),
            ],
        ),
        (
            json!({"type": "choice", "options": ["red", "blue"]}),
            json!("red"),
            vec![
                (json!("green"), "/answer"),
                (json!("Red"), "/answer"),
                (json!(0), "/answer"),
                (json!(["red"]), "/answer"),
            ],
        ),
        (
            json!({"type": "multi_choice", "options": ["red", "blue"]}),
            json!(["blue", "red"]),
            vec![
                (json!("red"), "/answer"),
                (json!([]), "/answer"),
                (json!(["red", "green"]), "/answer/1"),
                (json!(["red", "red"]), "/answer/1"),
                (json!([1]), "/answer/0"),
            ],
        ),
        (
            json!({"type": "date"}),
            json!("2026-11-15"),
            vec![
                (json!("2026-02-30"), "/answer"),
                (json!("15.11.2026"), "/answer"),
                (json!("2026-11-15T00:00:00Z"), "/answer"),
                (json!(20_261_115), "/answer"),
            ],
        ),
        (
            json!({"type": "file"}),
            file("a.txt", "aGk="),
            vec![
                (json!("aGk="), "/answer"),
                (file("../a", "aGk="), "/answer/name"),
                (file("", "aGk="), "/answer/name"),
                (file("a", "not base64!"), "/answer/content_base64"),
                (file("a", &big), "/answer/content_base64"),
                (json!({"name": "a", "content_base64": ""}), "/answer/media_type"),
                (merged(file("a", ""), json!({"mode": "0777"})), "/answer/mode"),
            ],
        ),
    ];
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        for (spec, good, bad) in cases {
            let record = bot.post("/v1/requests", question(spec.clone())).await.expect(201);
            let before = head(server).await;
            let respond = |answer: Value| merged(vote(&record, "respond"), json!({"answer": answer}));
            for (answer, pointer) in bad {
                let refused = ann.post(&at(&record, "/decision"), respond(answer)).await;
                assert_problem(&refused, 422, "invalid", Some(pointer));
            }
            assert_problem(&decide(&ann, &record, "respond").await, 422, "invalid", Some("/answer"));
            assert_problem(&decide(&ann, &record, "approve").await, 422, "invalid", Some("/decision"));
            assert_eq!(head(server).await, before, "{spec}");
            let done = ann.post(&at(&record, "/decision"), respond(good.clone())).await.expect(200);
            assert_eq!((&done["state"], &done["decision"]["answer"]), (&json!("answered"), &good), "{spec}");
            assert_problem(&bot.post(&at(&record, "/claim"), json!({})).await, 409, "not_approved", None);
        }
    });
}

#[test]
fn a_question_that_needs_no_answer_takes_null() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let record = bot
            .post("/v1/requests", merged(question(json!({"type": "text"})), json!({"required": false})))
            .await
            .expect(201);
        let done = ann
            .post(&at(&record, "/decision"), merged(vote(&record, "respond"), json!({"answer": null})))
            .await
            .expect(200);
        assert_eq!((&done["state"], &done["decision"]["answer"]), (&json!("answered"), &json!(null)));
    });
}

#[test]
fn a_plan_is_decided_step_by_step() {
    let step = |id: &str| json!({"id": id, "action": "run", "description": "does it", "arguments": {"n": 1}});
    let plan = |can_modify: bool| json!({"kind": "plan", "session": "s", "title": "tidy up", "steps": [step("a"), step("b")], "can_modify": can_modify});
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let fixed = bot.post("/v1/requests", plan(false)).await.expect(201);
        let steps =
            |record: &Value, word: &str, steps: Value| merged(vote(record, word), json!({"steps": steps}));
        let cases = [
            (json!([{"id": "a", "decision": "approve"}]), "/steps"),
            (json!([{"id": "a", "decision": "approve"}, {"id": "z", "decision": "deny"}]), "/steps/1/id"),
            (json!([{"id": "a", "decision": "approve"}, {"id": "a", "decision": "deny"}]), "/steps/1/id"),
            (json!([{"id": "b", "decision": "approve"}, {"id": "a", "decision": "approve"}]), "/steps/1/id"),
            (json!([{"id": "a", "decision": "deny"}, {"id": "b", "decision": "deny"}]), "/steps"),
            (json!([{"id": "a", "decision": "perhaps"}]), "/steps/0/decision"),
            (
                json!([{"id": "a", "decision": "approve", "arguments": {}}, {"id": "b", "decision": "approve"}]),
                "/steps/0/arguments",
            ),
        ];
        for (list, pointer) in cases {
            assert_problem(
                &ann.post(&at(&fixed, "/decision"), steps(&fixed, "approve", list)).await,
                422,
                "invalid",
                Some(pointer),
            );
        }
        let list = json!([{"id": "a", "decision": "approve"}, {"id": "b", "decision": "deny"}]);
        let done =
            ann.post(&at(&fixed, "/decision"), steps(&fixed, "approve", list.clone())).await.expect(200);
        assert_eq!((&done["state"], &done["decision"]["steps"]), (&json!("approved"), &list));
        let open = bot.post("/v1/requests", plan(true)).await.expect(201);
        let list = json!([{"id": "b", "decision": "edit", "arguments": {"n": 2}}, {"id": "a", "decision": "approve"}]);
        let done = ann.post(&at(&open, "/decision"), steps(&open, "edit", list.clone())).await.expect(200);
        assert_eq!((&done["decision"]["decision"], &done["decision"]["steps"]), (&json!("edit"), &list));
        assert_problem(&bot.post(&at(&open, "/claim"), json!({})).await, 409, "not_approved", None);
    });
}

#[test]
fn a_confirmation_takes_yes_or_no_and_nothing_else() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let body = json!({"kind": "confirmation", "session": "s", "message": "Ship it?", "confirm_label": "Ship", "cancel_label": "Wait"});
        let record = bot.post("/v1/requests", body.clone()).await.expect(201);
        assert_eq!((&record["confirm_label"], &record["cancel_label"]), (&json!("Ship"), &json!("Wait")));
        for word in ["edit", "respond"] {
            assert_problem(&decide(&ann, &record, word).await, 422, "invalid", Some("/decision"));
        }
        let done = decide(&ann, &record, "approve").await.expect(200);
        assert_eq!(done["state"], "approved");
        let record = bot.post("/v1/requests", body).await.expect(201);
        let no = merged(vote(&record, "deny"), json!({"reason": "not today"}));
        let done = ann.post(&at(&record, "/decision"), no).await.expect(200);
        assert_eq!((&done["state"], &done["decision"]["reason"]), (&json!("denied"), &json!("not today")));
    });
}
