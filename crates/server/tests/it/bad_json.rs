//! Bodies that are not the strict JSON we take: each is refused with its place, and nothing is written.

use placet_testkit::{Http, Server};
use serde_json::{Value, json};

use crate::support::{action, action_with, ask, assert_problem, at, head, merged, on_sqlite, vote};

/// Sends a body to create and checks that it was refused, with this code and pointer, and left no trace.
async fn refused(server: &Server, bot: &Http, body: impl Into<bytes::Bytes>, code: &str, pointer: &str) {
    let body = body.into();
    let shown = String::from_utf8_lossy(&body).chars().take(80).collect::<String>();
    let before = head(server).await;
    let answer = bot.post_bytes("/v1/requests", body).await;
    assert_eq!(
        (answer.status, answer.code(), answer.body["pointer"].as_str()),
        (422, code, Some(pointer)),
        "{shown}: {}",
        answer.body
    );
    assert_problem(&answer, 422, code, Some(pointer));
    assert_eq!(head(server).await, before, "{shown} was refused, and yet the ledger grew");
}

#[test]
fn bodies_that_are_not_strict_json_are_refused_by_name_and_place() {
    on_sqlite(async |server| {
        let bot = server.agent("bot").await;
        let text = action().to_string();
        refused(server, &bot, "{", "truncated", "").await;
        refused(server, &bot, "nonsense", "syntax", "").await;
        refused(server, &bot, &b"  "[..], "empty", "").await;
        refused(server, &bot, text[..text.len() - 1].to_owned(), "truncated", "").await;
        refused(server, &bot, format!("{text} {{}}"), "trailing_bytes", "").await;
        refused(server, &bot, format!("\u{feff}{text}"), "byte_order_mark", "").await;
        refused(server, &bot, &b"{\"kind\":\"\xff\"}"[..], "not_utf8", "/kind").await;
        refused(server, &bot, r#"{"kind":"action","kind":"plan"}"#, "duplicate_key", "/kind").await;
        refused(server, &bot, r#"{"arguments":{"a":1,"\u0061":2}}"#, "duplicate_key", "/arguments/a").await;
        refused(server, &bot, r#"{"session":"\ud800"}"#, "lone_surrogate", "/session").await;
        refused(server, &bot, r#"{"arguments":{"n":9007199254740992}}"#, "integer_range", "/arguments/n")
            .await;
        refused(server, &bot, r#"{"arguments":{"n":1e999}}"#, "number_range", "/arguments/n").await;
        refused(server, &bot, r#"{"arguments":{"n":NaN}}"#, "syntax", "/arguments/n").await;
    });
}

#[test]
fn bodies_that_are_too_deep_too_large_or_too_many_are_refused() {
    on_sqlite(async |server| {
        let bot = server.agent("bot").await;
        let deep = |levels: usize| format!(r#"{{"arguments":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
        let place = format!("/arguments{}", "/0".repeat(63));
        refused(server, &bot, deep(64), "too_deep", &place).await;
        // One level less is deep enough: the next complaint is another one.
        let answer = bot.post_bytes("/v1/requests", deep(63)).await;
        assert_eq!((answer.status, answer.code()), (422, "invalid"), "{}", answer.body);
        refused(server, &bot, format!(r#"{{"session":"{}"}}"#, "x".repeat(256 * 1024)), "too_large", "")
            .await;
        refused(server, &bot, vec![b' '; 3 * 1024 * 1024], "too_large", "").await;
        let many = format!(r#"{{"arguments":{{"list":[{}1]}}}}"#, "1,".repeat(10_000));
        let answer = bot.post_bytes("/v1/requests", many).await;
        assert_problem(&answer, 422, "too_many_nodes", None);
    });
}

#[test]
fn unknown_fields_are_refused_and_named() {
    on_sqlite(async |server| {
        let bot = server.agent("bot").await;
        let step = json!({"id": "a", "action": "x", "description": "d", "later": 1});
        let plan = json!({"kind": "plan", "session": "s", "title": "t", "steps": [step]});
        refused(server, &bot, plan.to_string(), "invalid", "/steps/0/later").await;
        refused(server, &bot, action_with(json!({"state": "approved"})).to_string(), "invalid", "/state")
            .await;
        refused(server, &bot, action_with(json!({"a/b~c": 1})).to_string(), "invalid", "/a~1b~0c").await;
        let input = json!({"kind": "input", "session": "s", "question": "?", "input": {"type": "text", "secret": true}});
        refused(server, &bot, input.to_string(), "invalid", "/input/secret").await;
        // Fields of another kind are as unknown as any.
        refused(server, &bot, action_with(json!({"title": "t"})).to_string(), "invalid", "/title").await;
    });
}

#[test]
fn missing_and_wrong_fields_of_a_create_are_named() {
    on_sqlite(async |server| {
        let bot = server.agent("bot").await;
        let cases: &[(Value, &str)] = &[
            (json!({}), "/kind"),
            (json!({"kind": "action", "session": "s"}), "/tool"),
            (json!({"kind": "action", "tool": "t", "arguments": {}}), "/session"),
            (json!({"kind": "action", "session": "s", "tool": "t"}), "/arguments"),
            (json!({"kind": "magic", "session": "s"}), "/kind"),
            (json!({"kind": "Action", "session": "s"}), "/kind"),
            (action_with(json!({"session": ""})), "/session"),
            (action_with(json!({"session": 7})), "/session"),
            (action_with(json!({"tool": "rm -rf"})), "/tool"),
            (action_with(json!({"tool": ""})), "/tool"),
            (action_with(json!({"tool": "t".repeat(201)})), "/tool"),
            (action_with(json!({"arguments": []})), "/arguments"),
            (action_with(json!({"arguments": "x"})), "/arguments"),
            (action_with(json!({"risk": "harmless"})), "/risk"),
            (action_with(json!({"allowed": ["approve", "maybe"]})), "/allowed/1"),
            (action_with(json!({"expires_in": "soon"})), "/expires_in"),
            (action_with(json!({"expires_in": "0s"})), "/expires_in"),
            (action_with(json!({"expires_in": "-5m"})), "/expires_in"),
            (action_with(json!({"expires_in": "100000h"})), "/expires_in"),
            (action_with(json!({"on_behalf_of": "a b"})), "/on_behalf_of"),
            (action_with(json!({"permit": "yes"})), "/permit"),
            (action_with(json!({"context": 1})), "/context"),
            (action_with(json!({"arguments_schema": "x"})), "/arguments_schema"),
            (action_with(json!({"arguments_schema": {"type": 5}})), "/arguments_schema"),
            (action_with(json!({"arguments_schema": {"$ref": "http://127.0.0.1:1/x"}})), "/arguments_schema"),
            (json!({"kind": "plan", "session": "s", "title": "t", "steps": []}), "/steps"),
            (
                json!({"kind": "input", "session": "s", "question": "?", "input": {"type": "colour"}}),
                "/input/type",
            ),
            (
                json!({"kind": "input", "session": "s", "question": "?", "input": {"type": "choice"}}),
                "/input/options",
            ),
            (json!({"kind": "confirmation", "session": "s"}), "/message"),
        ];
        for (body, pointer) in cases {
            refused(server, &bot, body.to_string(), "invalid", pointer).await;
        }
        // A list is not an object, also where its items would fit the fields one by one.
        for (body, pointer) in [
            (json!([action()]), ""),
            (json!(["action", "s"]), ""),
            (json!({"kind": "plan", "session": "s", "title": "t", "steps": [["a", "run", "d"]]}), "/steps/0"),
            (json!({"kind": "input", "session": "s", "question": "?", "input": ["text"]}), "/input"),
            (json!("action"), ""),
            (json!(null), ""),
        ] {
            refused(server, &bot, body.to_string(), "invalid", pointer).await;
        }
        let answer = bot.post_bytes("/v1/requests", "").await;
        assert_problem(&answer, 422, "invalid", Some("/kind"));
    });
}

#[test]
fn missing_and_wrong_fields_of_a_decision_are_named() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let record = ask(&bot).await;
        let good = vote(&record, "approve");
        let without = |field: &str| {
            let mut body = good.clone();
            body.as_object_mut().expect("an object").remove(field);
            body
        };
        let cases: &[(Value, &str)] = &[
            (without("digest"), "/digest"),
            (without("version"), "/version"),
            (without("decision"), "/decision"),
            (merged(good.clone(), json!({"decision": "yes"})), "/decision"),
            (merged(good.clone(), json!({"decision": "Approve"})), "/decision"),
            (merged(good.clone(), json!({"decision": "approve\u{200b}"})), "/decision"),
            (merged(good.clone(), json!({"decision": true})), "/decision"),
            (merged(good.clone(), json!({"digest": "sha256:00"})), "/digest"),
            (merged(good.clone(), json!({"digest": null})), "/digest"),
            (merged(good.clone(), json!({"version": -1})), "/version"),
            (merged(good.clone(), json!({"version": 1.5})), "/version"),
            (merged(good.clone(), json!({"tool": "other"})), "/tool"),
            (merged(good.clone(), json!({"force": true})), "/force"),
            (merged(good.clone(), json!({"answer": 1})), "/answer"),
            (merged(good.clone(), json!({"answer": null})), "/answer"),
            (merged(good.clone(), json!({"arguments": {}})), "/arguments"),
            (merged(good.clone(), json!({"steps": []})), "/steps"),
            (merged(good.clone(), json!({"remember": {"tool": "delete_files"}})), "/remember/tool"),
            (merged(good.clone(), json!({"remember": {"scope": "everything"}})), "/remember/scope"),
            (merged(good.clone(), json!({"reason": "x".repeat(8193)})), "/reason"),
            (merged(good.clone(), json!({"step_up": {"code": 0}})), "/step_up/code"),
            (merged(good.clone(), json!({"decision": "respond", "answer": "hi"})), "/decision"),
        ];
        let before = head(server).await;
        for (body, pointer) in cases {
            let answer = ann.post(&at(&record, "/decision"), body.clone()).await;
            assert_eq!(
                (answer.status, answer.body["pointer"].as_str()),
                (422, Some(*pointer)),
                "{body}: {}",
                answer.body
            );
        }
        assert_eq!(head(server).await, before);
        let now = bot.get(&at(&record, "")).await.expect(200);
        assert_eq!((&now["state"], &now["version"]), (&json!("pending"), &json!(1)));
    });
}

#[test]
fn wrong_fields_of_the_other_calls_are_named() {
    on_sqlite(async |server| {
        let (bot, ann, admin) = (server.agent("bot").await, server.reviewer("ann").await, server.admin());
        let record = ask(&bot).await;
        let before = head(server).await;
        let cases: &[(&Http, String, Value, &str)] = &[
            (&bot, at(&record, "/claim"), json!({"claimant": "short"}), "/claimant"),
            (&bot, at(&record, "/claim"), json!({"claimant": "x".repeat(257)}), "/claimant"),
            (&bot, at(&record, "/claim"), json!({"permit": "x"}), "/permit"),
            (&bot, at(&record, "/outcome"), json!({"status": "succeeded"}), "/permit"),
            (&bot, at(&record, "/outcome"), json!({"permit": "p", "status": "done"}), "/status"),
            (
                &bot,
                at(&record, "/outcome"),
                json!({"permit": "p", "status": "failed", "note": "x".repeat(8193)}),
                "/note",
            ),
            (
                &bot,
                at(&record, "/outcome"),
                json!({"permit": "p", "status": "failed", "result_digest": "x".repeat(201)}),
                "/result_digest",
            ),
            (&bot, at(&record, "/cancel"), json!({"reason": "x".repeat(8193)}), "/reason"),
            (&bot, at(&record, "/cancel"), json!({"why": "x"}), "/why"),
            (&ann, at(&record, "/revoke"), json!({"reason": 5}), "/reason"),
            (&ann, at(&record, "/reassign"), json!({}), "/to"),
            (&ann, at(&record, "/reassign"), json!({"to": []}), "/to"),
            (&ann, at(&record, "/reassign"), json!({"to": ["ann", "nobody"]}), "/to/1"),
            (&ann, at(&record, "/reassign"), json!({"to": ["team:ghosts"]}), "/to/0"),
            (&ann, at(&record, "/resolve"), json!({"status": "succeeded"}), "/reason"),
            (&ann, at(&record, "/resolve"), json!({"status": "succeeded", "reason": "  "}), "/reason"),
            (&ann, at(&record, "/resolve"), json!({"status": "unknown", "reason": "x"}), "/status"),
            (&admin, "/v1/keys".to_owned(), json!({"role": "owner", "name": "x"}), "/role"),
            (&admin, "/v1/keys".to_owned(), json!({"role": "agent"}), "/name"),
            (&admin, "/v1/keys".to_owned(), json!({"role": "agent", "name": "a b"}), "/name"),
            (
                &admin,
                "/v1/keys".to_owned(),
                json!({"role": "reviewer", "name": "x", "owner": "ann"}),
                "/owner",
            ),
            (&admin, "/v1/people".to_owned(), json!({"name": "x", "roles": []}), "/roles"),
            (&admin, "/v1/people".to_owned(), json!({"name": "x", "roles": ["agent"]}), "/roles"),
            (&admin, "/v1/people".to_owned(), json!({"name": "x", "roles": ["boss"]}), "/roles/0"),
        ];
        for (caller, path, body, pointer) in cases {
            let answer = caller.post(path, body.clone()).await;
            assert_eq!(
                (answer.status, answer.body["pointer"].as_str()),
                (422, Some(*pointer)),
                "{path} {body}: {}",
                answer.body
            );
        }
        assert_eq!(head(server).await, before);
    });
}

#[test]
fn queries_that_do_not_fit_are_refused() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let record = ask(&bot).await;
        let before = head(server).await;
        for query in ["wait=soon", "wait=-1s", "waiting=1s", "claim=perhaps"] {
            let answer = bot.post(&format!("/v1/requests?{query}"), action()).await;
            assert_problem(&answer, 422, "invalid_query", None);
        }
        assert_eq!(head(server).await, before, "a bad query is refused before anything is written");
        for query in ["wait=soon", "version=-1", "version=x", "wait=1s&wait=2s"] {
            assert_problem(&bot.get(&at(&record, &format!("?{query}"))).await, 422, "invalid_query", None);
        }
        let long = format!("q={}", "x".repeat(201));
        for query in [
            "limit=0",
            "limit=501",
            "limit=x",
            "state=done",
            "risk=none",
            "cursor=!",
            "cursor=p1",
            "colour=red",
            &long,
        ] {
            assert_problem(&ann.get(&format!("/v1/requests?{query}")).await, 422, "invalid_query", None);
        }
        for query in ["after=-1", "after=x", "limit=0", "limit=1001", "before=1"] {
            assert_problem(&ann.get(&format!("/v1/ledger?{query}")).await, 422, "invalid_query", None);
        }
        assert_problem(&ann.get("/v1/stream?since=1").await, 422, "invalid_query", None);
    });
}
