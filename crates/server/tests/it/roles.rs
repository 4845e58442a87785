//! Who may call what: every role on every route of the document, keys that do not work, and ids that lead nowhere.

use bytes::Bytes;
use http::Method;
use placet_testkit::{Http, Server};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    openapi::{Operation, operations},
    support::{
        Socket, Sse, action, approved, ask, assert_problem, at, head, on_sqlite, soon, without_heartbeats,
    },
    waits::parked,
};

/// A request that does not exist, spelled well.
pub(crate) const NOWHERE: &str = "req_0698d3r3kvtg0i8s0c1g60o30c";

/// A policy under which everything waits.
const POLICY: &str = "version = 1\n";

/// Who may make a call (a=agent, r=reviewer, d=admin, u=auditor), a body that fits, and what those who may get.
fn rule(operation: &Operation) -> (&'static str, Value, u16) {
    let vote = json!({"decision": "deny", "digest": format!("sha256:{}", "0".repeat(64)), "version": 1});
    match operation.name().as_str() {
        "POST /v1/requests" => ("a", action(), 201),
        "GET /v1/requests"
        | "GET /v1/ledger"
        | "GET /v1/requests/export"
        | "GET /v1/ledger/status"
        | "POST /v1/ledger/verify"
        | "GET /v1/stats" => ("ru", json!(null), 200),
        "GET /v1/me/pace" => ("r", json!(null), 200),
        // There is one request by then.
        "GET /v1/summary" => ("aru", json!(null), 200),
        "GET /v1/policy/suggestions" => ("rd", json!(null), 200),
        "GET /v1/requests/{id}/history" => ("ru", json!(null), 404),
        // Whoever sees no request at all gets what everybody gets for a request they cannot see.
        "GET /v1/requests/{id}" => ("arud", json!(null), 404),
        "POST /v1/freeze" => ("rd", json!({"tool": "nobody.calls.this", "reason": "a test"}), 201),
        "POST /v1/requests/{id}/decision" => ("r", vote, 404),
        "POST /v1/decisions" => (
            "r",
            json!([vote.as_object().map(|vote| {
                let mut item = vote.clone();
                item.insert("id".to_owned(), json!("nonsense"));
                item
            })]),
            200,
        ),
        "POST /v1/requests/{id}/claim" | "POST /v1/requests/{id}/cancel" => ("a", json!({}), 404),
        "POST /v1/requests/{id}/outcome" => ("a", json!({"permit": "p", "status": "failed"}), 404),
        "POST /v1/requests/{id}/revoke" => ("r", json!({}), 404),
        "POST /v1/requests/{id}/reassign" => ("r", json!({"to": ["ann"]}), 404),
        "POST /v1/requests/{id}/resolve" => ("r", json!({"status": "failed", "reason": "seen"}), 404),
        "GET /v1/stream" | "GET /v1/freeze" => ("arud", json!(null), 200),
        // Without the headers of an upgrade.
        "GET /v1/ws" => ("arud", json!(null), 400),
        "POST /v1/keys" => ("d", json!({"role": "auditor", "name": "new"}), 201),
        "POST /v1/restore/confirm" => ("d", json!(null), 409),
        "POST /v1/people" => ("d", json!({"name": "new", "roles": ["auditor"]}), 201),
        "PUT /v1/people/{name}" => ("d", json!({"roles": ["auditor"]}), 200),
        "PUT /v1/coverage" => ("a", json!({"framework": "f", "agent": "a", "parts": []}), 200),
        "DELETE /v1/agents/{name}/coverage" => ("d", json!(null), 404),
        "PUT /v1/agents/{name}/confine" => ("d", json!({"confine": true}), 404),
        "PUT /v1/agents/{name}/roots" => ("d", json!({"roots": ["/srv/app"]}), 404),
        "GET /v1/keys" | "GET /v1/people" => ("d", json!(null), 200),
        "DELETE /v1/keys/{id}" | "DELETE /v1/people/{name}" | "DELETE /v1/freeze/{id}" => {
            ("d", json!(null), 404)
        }
        "GET /v1/agents" | "GET /v1/policy" | "GET /v1/grants" | "GET /v1/sessions" => {
            ("rdu", json!(null), 200)
        }
        "GET /v1/policy/{hash}" | "GET /v1/policy/shadow" | "DELETE /v1/sessions/{id}" => {
            ("rdu", json!(null), 404)
        }
        "PUT /v1/policy" => ("d", json!({ "policy": POLICY }), 200),
        "POST /v1/policy/check" | "POST /v1/policy/simulate" => ("rdu", json!({ "policy": POLICY }), 200),
        "POST /v1/policy/explain" => ("rdu", json!({"request": action()}), 200),
        "PUT /v1/policy/shadow" => ("d", json!({ "policy": POLICY }), 204),
        "DELETE /v1/policy/shadow" => ("d", json!(null), 204),
        "DELETE /v1/grants/{id}" => ("rd", json!(null), 404),
        "POST /v1/people/{name}/link" => ("d", json!(null), 201),
        other => panic!("who may call {other}? say it here"),
    }
}

fn address(operation: &Operation) -> String {
    let id = match operation.path.as_str() {
        path if path.contains("keys") => "key_0698d3r3kvtg0i8s0c1g60o30c",
        path if path.contains("sessions") => "ses_0698d3r3kvtg0i8s0c1g60o30c",
        path if path.contains("freeze") => "frz_0698d3r3kvtg0i8s0c1g60o30c",
        path if path.contains("grants") => "grt_0698d3r3kvtg0i8s0c1g60o30c",
        _ => NOWHERE,
    };
    let name = if operation.method == Method::DELETE { "nobody" } else { "newcomer" };
    operation.path.replace("{id}", id).replace("{name}", name).replace("{hash}", "sha256:00")
}

/// The operations that keys can make.
fn keyed() -> impl Iterator<Item = Operation> {
    operations().into_iter().filter(|operation| {
        let sessions_only = operation.value["security"] == json!([{"session": []}]);
        operation.path.starts_with("/v1/") && !operation.is_open() && !sessions_only
    })
}

fn bytes(body: &Value) -> Bytes {
    if body.is_null() { Bytes::new() } else { body.to_string().into() }
}

/// The status of a call; the body of a stream is not waited for.
async fn status(caller: &Http, operation: &Operation, body: &Value) -> (u16, Value) {
    if operation.path == "/v1/stream" {
        let opened = caller.lines("/v1/stream").await;
        return (opened.status, Value::Null);
    }
    let answer = caller.send(operation.method.clone(), &address(operation), bytes(body)).await;
    (answer.status, answer.body)
}

async fn one_of_each(server: &Server) -> [(char, Http); 4] {
    [
        ('a', server.agent("bot").await),
        ('r', server.reviewer("ann").await),
        ('d', server.admin()),
        ('u', server.auditor("eve").await),
    ]
}

#[test]
fn every_role_can_call_exactly_what_is_its_own() {
    on_sqlite(async |server| {
        let callers = one_of_each(server).await;
        for operation in &keyed().collect::<Vec<_>>() {
            let (who, body, expected) = rule(operation);
            for (role, caller) in &callers {
                let before = head(server).await;
                let (status, body) = status(caller, operation, &body).await;
                if who.contains(*role) {
                    assert_eq!(status, expected, "{} as `{role}`: {body}", operation.name());
                } else {
                    assert_eq!(
                        (status, body["code"].as_str()),
                        (403, Some("forbidden")),
                        "{} as `{role}`: {body}",
                        operation.name()
                    );
                    assert_eq!(
                        head(server).await,
                        before,
                        "{} as `{role}` was refused and written",
                        operation.name()
                    );
                }
            }
        }
    });
}

#[test]
fn without_a_working_key_nothing_is_answered_or_written() {
    on_sqlite(async |server| {
        let gone = server.kit.agent("gone").await;
        let revoked = server.actor(&gone);
        server.kit.revoke_key(&gone).await;
        let callers = [
            server.nobody(),
            server.http(Some("plk_agent_wrong")),
            server.http(Some("")),
            server.http(Some("plk_reviewer_0000000000000000000000000000000000000000000000000000")),
            server.nobody().with("authorization", "Basic dXNlcjpwYXNz"),
            server.nobody().with("authorization", "Bearer"),
            revoked,
        ];
        let before = head(server).await;
        for operation in &keyed().collect::<Vec<_>>() {
            let (_, body, _) = rule(operation);
            for caller in &callers {
                let answer = caller.send(operation.method.clone(), &address(operation), bytes(&body)).await;
                assert_problem(&answer, 401, "unauthorized", None);
                assert_eq!(answer.header("www-authenticate"), Some("Bearer"), "{}", operation.name());
            }
            // Neither a bad query nor a bad body is discussed with strangers.
            let path = format!("{}?nonsense=1", address(operation));
            assert_eq!(
                server.nobody().send(operation.method.clone(), &path, "{".into()).await.status,
                401,
                "{}",
                operation.name()
            );
        }
        assert_eq!(head(server).await, before);
    });
}

#[test]
fn unknown_foreign_and_malformed_ids_are_answered_alike_to_the_byte() {
    on_sqlite(async |server| {
        let (bot, ann, thief) =
            (server.agent("bot").await, server.reviewer("ann").await, server.agent("thief").await);
        let foreign = approved(&bot, &ann).await["id"].as_str().expect("an id").to_owned();
        let malformed = [
            "x",
            "req_",
            "req_zzz",
            &NOWHERE.to_uppercase(),
            "%00",
            "..%2f..",
            "req_%ff",
            &"r".repeat(2000),
            &format!("{NOWHERE}0"),
        ];
        let mut calls =
            vec![(Method::GET, "", json!(null), &thief), (Method::GET, "?wait=5s", json!(null), &thief)];
        calls.push((Method::POST, "/claim", json!({}), &thief));
        calls.push((Method::POST, "/cancel", json!({}), &thief));
        calls.push((Method::POST, "/outcome", json!({"permit": "p", "status": "failed"}), &thief));
        for (method, verb, body, caller) in &calls {
            let expected =
                caller.send(method.clone(), &format!("/v1/requests/{NOWHERE}{verb}"), bytes(body)).await;
            assert_problem(&expected, 404, "not_found", None);
            for id in malformed.iter().copied().chain([foreign.as_str()]) {
                let answer =
                    caller.send(method.clone(), &format!("/v1/requests/{id}{verb}"), bytes(body)).await;
                assert_eq!((answer.status, &answer.body), (404, &expected.body), "{method} {id}{verb}");
                let names = |answer: &placet_testkit::Answer| {
                    answer.headers.keys().map(ToString::to_string).collect::<Vec<_>>()
                };
                assert_eq!(names(&answer), names(&expected), "{method} {id}{verb}");
            }
        }
        let vote = json!({"decision": "deny", "digest": format!("sha256:{}", "0".repeat(64)), "version": 1});
        let expected = ann.post(&format!("/v1/requests/{NOWHERE}/decision"), vote.clone()).await;
        for id in malformed {
            let answer = ann.post(&format!("/v1/requests/{id}/decision"), vote.clone()).await;
            assert_eq!((answer.status, &answer.body), (404, &expected.body), "{id}");
        }
        assert_eq!(server.nobody().get("/v1/nothing").await.body, expected.body);
    });
}

#[test]
fn a_revoked_key_ends_parked_waits_and_streams_at_once() {
    // A heartbeat would notice as well, much later.
    without_heartbeats(async |server| {
        let (actor, ann) = (server.kit.agent("bot").await, server.kit.reviewer("ann").await);
        let (bot, reviewer) = (server.actor(&actor), server.actor(&ann));
        let record = ask(&bot).await;
        let mut waits = JoinSet::new();
        for caller in [bot.clone(), reviewer.clone()] {
            let path = at(&record, "?wait=5m");
            waits.spawn(async move { caller.get(&path).await });
        }
        let mut events = Sse::open(&reviewer, None).await.greeted().await;
        let mut socket = Socket::open(&reviewer, "/v1/ws").await;
        parked(server, 2).await;
        server.kit.revoke_key(&ann).await;
        let answer =
            soon("the end of a wait", waits.join_next()).await.expect("two waits").expect("a wait ends well");
        assert_problem(&answer, 401, "unauthorized", None);
        assert!(events.next().await.is_none(), "the stream of a revoked key ends");
        let closed =
            socket.next().await.expect_err("the socket of a revoked key ends").expect("with a reason");
        assert_eq!(u16::from(closed.code), 1008);
        server.kit.revoke_key(&actor).await;
        // The agent's own wait ends as well: its last key went, and with it the request.
        let answer = soon("the end of a wait", waits.join_next())
            .await
            .expect("one more wait")
            .expect("a wait ends well");
        assert_eq!(answer.status, 401, "{}", answer.body);
        assert_eq!(bot.get(&at(&record, "")).await.status, 401);
        assert_eq!(
            server
                .kit
                .read(record["id"].as_str().expect("an id").parse().expect("an id"))
                .await
                .state
                .as_str(),
            "cancelled"
        );
    });
}

#[test]
fn a_key_that_is_revoked_while_its_stream_opens_does_not_keep_the_stream() {
    without_heartbeats(async |server| {
        for round in 0..40 {
            let actor = server.kit.auditor(&format!("eve-{round}")).await;
            let caller = server.actor(&actor);
            let (mut opened, ()) = tokio::join!(caller.lines("/v1/stream"), server.kit.revoke_key(&actor));
            if opened.status == 200 {
                let end = async { while opened.next().await.is_some() {} };
                soon(&format!("the end of the stream of round {round}"), end).await;
            } else {
                assert_eq!(opened.status, 401, "round {round}");
            }
        }
    });
}

#[test]
fn keys_are_shown_once_listed_without_secrets_and_revoked_at_once() {
    on_sqlite(async |server| {
        let admin = server.admin();
        let made = admin.post("/v1/keys", json!({"role": "reviewer", "name": "ann"})).await.expect(201);
        let secret = made["key"].as_str().expect("a key").to_owned();
        assert!(secret.starts_with("plk_reviewer_"));
        let ann = server.http(Some(&secret));
        ann.get("/v1/requests").await.expect(200);
        let listed = admin.get("/v1/keys").await.expect(200);
        assert!(!listed.to_string().contains(&secret));
        assert!(
            listed["items"]
                .as_array()
                .expect("items")
                .iter()
                .any(|key| key["name"] == "ann" && key["revoked_at"].is_null())
        );
        let path = format!("/v1/keys/{}", made["id"].as_str().expect("an id"));
        let revoked = admin.delete(&path).await;
        assert_eq!((revoked.status, &revoked.body), (204, &Value::Null));
        assert_eq!(ann.get("/v1/requests").await.status, 401);
        assert_problem(&admin.delete(&path).await, 404, "not_found", None);
        assert_problem(
            &admin.post("/v1/keys", json!({"role": "agent", "name": "ann"})).await,
            409,
            "other_kind",
            None,
        );
    });
}

#[test]
fn the_last_admin_cannot_lock_everybody_out() {
    on_sqlite(async |server| {
        let admin = server.admin();
        let keys = admin.get("/v1/keys").await.expect(200);
        let path = format!("/v1/keys/{}", keys["items"][0]["id"].as_str().expect("an id"));
        assert_problem(&admin.delete(&path).await, 409, "last_admin", None);
        assert_problem(&admin.delete("/v1/people/bootstrap").await, 409, "last_admin", None);
        let demoted = admin.put("/v1/people/bootstrap", json!({"roles": ["auditor"]})).await;
        assert_problem(&demoted, 409, "last_admin", None);
        admin.get("/v1/people").await.expect(200);
    });
}

#[test]
fn a_person_who_loses_the_role_loses_the_key_that_needs_it() {
    on_sqlite(async |server| {
        let (ann, admin) = (server.reviewer("ann").await, server.admin());
        ann.get("/v1/requests").await.expect(200);
        admin.put("/v1/people/ann", json!({"roles": ["auditor"], "teams": ["books"]})).await.expect(200);
        assert_eq!(ann.get("/v1/requests").await.status, 401);
        let people = admin.get("/v1/people").await.expect(200);
        assert!(
            people["items"]
                .as_array()
                .expect("items")
                .contains(&json!({"name": "ann", "roles": ["auditor"], "teams": ["books"]}))
        );
        assert_eq!(admin.delete("/v1/people/ann").await.status, 204);
        assert_problem(&admin.delete("/v1/people/ann").await, 404, "not_found", None);
    });
}
