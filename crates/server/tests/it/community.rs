//! The door of the community gateway: what its clients rely on, and what it got wrong.

use http::Method;
use placet_server::Settings;
use placet_testkit::{Answer, Backend, Http, Kit, Server, both};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::support::{
    decide as decide_by_rest, head, merged, on_open_sqlite as on_sqlite, open, opened, rounds, vote,
};

/// What the decorator sends.
fn asking() -> Value {
    json!({
        "session_id": "sess-1", "invocation_id": null, "app_name": "adk_chatbot", "user_id": "current_user",
        "agent_name": "credit_agent", "tool_name": "apply_credit", "message": "Approval requested for apply_credit",
        "payload": {"account_id": "a-1", "amount": 500},
    })
}

fn with(more: Value) -> Value {
    merged(asking(), more)
}

async fn ask(client: &Http) -> Value {
    client.post("/approvals/", asking()).await.expect(201)
}

fn id(record: &Value) -> &str {
    record["id"].as_str().expect("a record with an id")
}

async fn poll(client: &Http, record: &Value) -> Value {
    client.get(&format!("/approvals/{}", id(record))).await.expect(200)
}

async fn decide(client: &Http, record: &Value, body: Value) -> Answer {
    let body = merged(json!({"reviewer_id": "rev-99"}), body);
    client.post(&format!("/approvals/{}/decide", id(record)), body).await
}

/// What is wrong with which field.
fn fields(answer: &Answer) -> Vec<(&str, &str)> {
    assert_eq!(answer.status, 422, "{}", answer.body);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let list = answer.body["detail"].as_array().expect("a list of fields");
    list.iter()
        .map(|field| {
            assert_eq!(field["loc"][0], "body");
            assert!(field["msg"].as_str().is_some_and(|message| !message.is_empty()));
            (field["type"].as_str().expect("a type"), field["loc"][1].as_str().unwrap_or_default())
        })
        .collect()
}

both! {
    async fn its_own_api_tests_hold_here_too(backend: Backend) {
        let server = open(backend).await;
        let client = server.nobody();
        assert_eq!(client.get("/health").await.expect(200), json!({"status": "ok"}));
        assert_eq!(client.get("/approvals/pending").await.expect(200), json!([]));
        let made = ask(&client).await;
        assert_eq!((made["status"].as_str(), made["tool_name"].as_str()), (Some("pending"), Some("apply_credit")));
        let decided = decide(&client, &made, json!({"decision": "approved", "notes": "Looks safe."})).await.expect(200);
        assert_eq!((decided["status"].as_str(), decided["decision_notes"].as_str()), (Some("approved"), Some("Looks safe.")));
        assert!(decided["decided_at"].is_string());
        let again = decide(&client, &made, json!({"decision": "rejected"})).await;
        assert_eq!((again.status, &again.body), (409, &json!({"detail": "Request already resolved."})));
        let refused = ask(&client).await;
        decide(&client, &refused, json!({"decision": "rejected"})).await.expect(200);
        assert_eq!(decide(&client, &refused, json!({"decision": "approved"})).await.status, 409);
        for _ in 0..2 {
            ask(&client).await;
        }
        let pending = client.get("/approvals/pending").await.expect(200);
        assert!(pending.as_array().is_some_and(|list| list.len() == 2 && list.iter().all(|one| one["status"] == "pending")));
        server.finish().await;
    }

    // Fault 1: 44 of 50 rounds told one that it was approved and the other that it was rejected.
    async fn of_two_opposite_decisions_at_once_exactly_one_counts(backend: Backend) {
        let server = open(backend).await;
        let client = server.nobody();
        for round in 0..rounds(20, 50) {
            let made = ask(&client).await;
            let mut both = JoinSet::new();
            for word in ["approved", "rejected"] {
                let (client, made) = (client.clone(), made.clone());
                both.spawn(async move { (word, decide(&client, &made, json!({"decision": word})).await) });
            }
            let answers = both.join_all().await;
            let won: Vec<&str> = answers.iter().filter(|(_, answer)| answer.status == 200).map(|(word, _)| *word).collect();
            let lost = answers.iter().filter(|(_, answer)| answer.status == 409).count();
            assert_eq!((won.len(), lost), (1, 1), "round {round}: {answers:?}");
            assert_eq!(poll(&client, &made).await["status"], won[0], "round {round}");
        }
        server.finish().await;
    }

    // Fault 2: the edit overwrote what was asked, and the tool ran what was asked.
    async fn an_edit_replaces_whole_keeps_what_was_asked_and_never_runs_the_old_arguments(backend: Backend) {
        let server = open(backend).await;
        let (client, ann) = (server.nobody(), server.reviewer("ann").await);
        for accepts in [false, true] {
            let made = client.post("/approvals/", with(json!({"accepts_edits": accepts}))).await.expect(201);
            let edit = json!({"decision": "approved", "payload": {"account_id": "a-1", "amount": 1}, "notes": "too much"});
            let decided = decide(&client, &made, edit.clone()).await.expect(200);
            assert_eq!((decided["status"].as_str(), &decided["payload"]), (Some("approved"), &edit["payload"]));
            let polled = poll(&client, &made).await;
            if accepts {
                assert_eq!((polled["status"].as_str(), &polled["payload"]), (Some("approved"), &edit["payload"]));
            } else {
                // The decorator would run what it asked with, so it must not run.
                assert_eq!((polled["status"].as_str(), &polled["payload"]), (Some("rejected"), &asking()["payload"]));
                let notes = polled["decision_notes"].as_str().expect("notes");
                assert!(notes.contains(r#"{"account_id":"a-1","amount":1}"#) && notes.contains("too much"), "{notes}");
            }
            let record = ann.get(&format!("/v1/requests/{}", id(&made))).await.expect(200);
            assert_eq!((&record["arguments"], &record["decision"]["arguments"]), (&asking()["payload"], &edit["payload"]));
            assert_eq!((record["state"].as_str(), record["claimable"].as_bool()), (Some("approved"), Some(false)));
        }
        // The same arguments are no edit.
        let made = ask(&client).await;
        decide(&client, &made, json!({"decision": "approved", "payload": asking()["payload"]})).await.expect(200);
        assert_eq!(poll(&client, &made).await["status"], "approved");
        server.finish().await;
    }

    // Fault 3: any word became the status.
    async fn a_word_that_is_no_decision_decides_nothing(backend: Backend) {
        let server = open(backend).await;
        let client = server.nobody();
        let made = ask(&client).await;
        let before = head(&server).await;
        for word in [json!("approve"), json!("pending"), json!("Approved"), json!("approved "), json!(""), json!("expired"), json!(true), json!(null), json!(["approved"])] {
            let answer = decide(&client, &made, json!({"decision": word})).await;
            assert_eq!(fields(&answer), [("literal_error", "decision")], "{word}");
        }
        let answer = client.post(&format!("/approvals/{}/decide", id(&made)), json!({})).await;
        assert_eq!(fields(&answer), [("missing", "decision"), ("missing", "reviewer_id")]);
        assert_eq!(poll(&client, &made).await["status"], "pending");
        assert_eq!(head(&server).await, before);
        server.finish().await;
    }

    // Fault 5: escalating ended the run. Fault 4's other half: it must not let anything run either.
    async fn escalating_asks_whom_placet_knows_and_otherwise_ends_without_a_yes(backend: Backend) {
        let server = open(backend).await;
        let (client, ann) = (server.nobody(), server.reviewer("ann").await);
        // Somebody whom Placet knows is asked, and the agent goes on waiting.
        let made = ask(&client).await;
        let said = json!({"decision": "escalated", "escalate_to": "ann", "notes": "yours"});
        let told = decide(&client, &made, said).await.expect(200);
        assert_eq!((told["status"].as_str(), told["escalated_to"].as_str()), (Some("escalated"), Some("ann")));
        assert_eq!(poll(&client, &made).await["status"], "pending");
        assert_eq!(client.get("/approvals/pending").await.expect(200), json!([]));
        let listed = client.get("/approvals/audit?decision=escalated").await.expect(200);
        assert_eq!(listed[0]["id"], made["id"]);
        let record = ann.get(&format!("/v1/requests/{}", id(&made))).await.expect(200);
        assert_eq!((record["state"].as_str(), &record["asked"]), (Some("pending"), &json!(["ann"])));
        decide_by_rest(&ann, &record, "approve").await.expect(200);
        let polled = poll(&client, &made).await;
        assert_eq!((polled["status"].as_str(), polled["decided_by"].as_str()), (Some("approved"), Some("ann")));
        // Nobody else can be asked: the call is over, and its agent hears the original's word for that.
        for (to, shown) in [(json!("boss@example.com"), json!("boss@example.com")), (json!(null), json!(null))] {
            let made = ask(&client).await;
            let told = decide(&client, &made, json!({"decision": "escalated", "escalate_to": to})).await.expect(200);
            assert_eq!((told["status"].as_str(), &told["escalated_to"]), (Some("escalated"), &shown));
            assert_eq!(poll(&client, &made).await["status"], "escalated");
            assert_eq!(decide(&client, &made, json!({"decision": "approved"})).await.status, 409);
            let record = ann.get(&format!("/v1/requests/{}", id(&made))).await.expect(200);
            assert_eq!(record["state"], "denied");
        }
        server.finish().await;
    }

    // Fault 7: a retry made a new row, and a second use of an id was a crash.
    async fn the_same_id_or_call_again_is_the_same_request(backend: Backend) {
        let server = open(backend).await;
        let client = server.nobody();
        let own = with(json!({"id": "7a9c", "created_at": "2026-01-01T00:00:00"}));
        let made = client.post("/approvals/", own.clone()).await.expect(201);
        assert_eq!(made["id"], "7a9c");
        assert_ne!(made["created_at"], "2026-01-01T00:00:00", "the clock is ours");
        let later = merged(own.clone(), json!({"created_at": "2026-02-02T00:00:00"}));
        assert_eq!(client.post("/approvals/", later).await.expect(200)["id"], "7a9c");
        let other = client.post("/approvals/", merged(own.clone(), json!({"payload": {"amount": 9}}))).await;
        assert_eq!(other.status, 409, "{}", other.body);
        assert!(other.body["detail"].as_str().is_some_and(|detail| detail.contains("used before")));
        assert_eq!(poll(&client, &made).await["payload"], asking()["payload"]);
        assert_eq!(client.get("/approvals/pending").await.expect(200).as_array().map(Vec::len), Some(1));
        decide(&client, &made, json!({"decision": "approved"})).await.expect(200);
        assert_eq!(client.post("/approvals/", own).await.expect(200)["status"], "approved", "as it stands");
        let call = with(json!({"function_call_id": "adk-1", "invocation_id": "e-1"}));
        let first = client.post("/approvals/", call.clone()).await.expect(201);
        assert_eq!(client.post("/approvals/", call.clone()).await.expect(200)["id"], first["id"]);
        assert_eq!(client.post("/approvals/", merged(call.clone(), json!({"payload": {}}))).await.status, 409);
        let elsewhere = client.post("/approvals/", merged(call, json!({"session_id": "sess-2"}))).await.expect(201);
        assert_ne!(elsewhere["id"], first["id"]);
        // Two plain calls are two requests: nothing says that they are one.
        assert_ne!(ask(&client).await["id"], ask(&client).await["id"]);
        server.finish().await;
    }

    // Fault 7 and 8: what nobody waits for any more cannot be approved, and a restart loses no wait.
    async fn a_request_survives_a_restart_and_expires_in_time(backend: Backend) {
        let server = open(backend).await;
        let made = ask(&server.nobody()).await;
        let server = server.restart().await;
        let client = server.nobody();
        let polled = poll(&client, &made).await;
        assert_eq!(polled, made);
        server.kit.clock().advance(std::time::Duration::from_mins(5));
        let late = decide(&client, &made, json!({"decision": "approved"})).await;
        assert_eq!((late.status, &late.body), (409, &json!({"detail": "Request already resolved."})));
        assert_eq!(poll(&client, &made).await["status"], "expired");
        assert_eq!(client.get("/approvals/pending").await.expect(200), json!([]));
        server.finish().await;
    }
}

// Fault 4: whoever asked could also say that it was approved.
#[test]
fn whoever_asks_cannot_say_what_was_decided() {
    on_sqlite(async |server| {
        let client = server.nobody();
        let before = head(server).await;
        for (forged, kind, name) in [
            (json!({"status": "approved"}), "literal_error", "status"),
            (json!({"status": null}), "literal_error", "status"),
            (json!({"decided_by": "boss"}), "none_required", "decided_by"),
            (json!({"decided_at": "2026-01-01T00:00:00"}), "none_required", "decided_at"),
            (json!({"decision_notes": "fine"}), "none_required", "decision_notes"),
            (json!({"escalated_to": "boss"}), "none_required", "escalated_to"),
        ] {
            let answer = client.post("/approvals/", with(forged)).await;
            assert_eq!(fields(&answer), [(kind, name)]);
        }
        assert_eq!(head(server).await, before);
        // What its own models write out is taken: everything that a decision fills is empty.
        let whole = with(json!({
            "id": "own-1", "function_call_id": null, "response_schema": {}, "risk_level": "medium", "status": "pending",
            "created_at": "2026-11-15T10:00:00+00:00", "decided_at": null, "decided_by": null,
            "decision_notes": null, "escalated_to": null,
        }));
        client.post("/approvals/", whole).await.expect(201);
    });
}

// Faults 6 and 9: records that nobody could tie to a session or a call.
#[test]
fn everything_the_client_said_of_the_call_is_on_the_record() {
    on_sqlite(async |server| {
        let (client, ann) = (server.nobody(), server.reviewer("ann").await);
        let sent = with(json!({
            "invocation_id": "e-7", "function_call_id": "adk-7", "response_schema": {"type": "object"}, "risk_level": "high",
        }));
        let made = client.post("/approvals/", sent.clone()).await.expect(201);
        for (name, value) in sent.as_object().expect("an object") {
            assert_eq!(&made[name], value, "{name}");
        }
        let names: Vec<&String> = made.as_object().expect("an object").keys().collect();
        let mut original = vec![
            "id",
            "session_id",
            "invocation_id",
            "function_call_id",
            "app_name",
            "user_id",
            "agent_name",
            "tool_name",
            "message",
            "payload",
            "response_schema",
            "risk_level",
            "status",
            "created_at",
            "decided_at",
            "decided_by",
            "decision_notes",
            "escalated_to",
        ];
        original.sort_unstable();
        assert_eq!(
            {
                let mut names = names;
                names.sort_unstable();
                names
            },
            original
        );
        let at = made["created_at"].as_str().expect("a time");
        assert!(at.len() == 26 && at.as_bytes()[10] == b'T' && !at.ends_with('Z'), "{at} names no zone");
        let record = ann.get(&format!("/v1/requests/{}", id(&made))).await.expect(200);
        assert_eq!(
            record["context"],
            json!({
                "app_name": "adk_chatbot", "user_id": "current_user", "agent_name": "credit_agent", "invocation_id": "e-7",
                "call_id": "adk-7", "response_schema": {"type": "object"}, "risk_level": "high",
            })
        );
        assert_eq!((record["agent"].as_str(), record["session"].as_str()), (Some("local"), Some("sess-1")));
        assert_eq!(
            (record["risk"].as_str(), record["summary"].as_str()),
            (Some("high"), Some("Approval requested for apply_credit"))
        );
        // A word that nobody knows is taken for a high risk, not for none.
        let odd = client.post("/approvals/", with(json!({"risk_level": "apocalyptic"}))).await.expect(201);
        assert_eq!(odd["risk_level"], "apocalyptic");
        assert_eq!(ann.get(&format!("/v1/requests/{}", id(&odd))).await.expect(200)["risk"], "high");
    });
}

#[test]
fn the_claimed_reviewer_is_text_and_the_vote_is_marked_open() {
    on_sqlite(async |server| {
        let (client, ann) = (server.nobody(), server.reviewer("ann").await);
        let made = ask(&client).await;
        let decided =
            decide(&client, &made, json!({"decision": "approved", "reviewer_id": "ann"})).await.expect(200);
        assert_eq!(decided["decided_by"], "open-reviewer (said to be ann)");
        let record = ann.get(&format!("/v1/requests/{}", id(&made))).await.expect(200);
        assert_eq!(
            (&record["votes"][0]["by"], &record["votes"][0]["auth"]),
            (&json!("open-reviewer"), &json!("open"))
        );
        assert_eq!(
            (&record["decision"]["by"], &record["decision"]["claimed"]),
            (&json!(["open-reviewer"]), &json!({"reviewer": "ann"}))
        );
        // With a key, the key says who it was.
        let made = ask(&client).await;
        let decided =
            decide(&ann, &made, json!({"decision": "approved", "reviewer_id": "bob"})).await.expect(200);
        assert_eq!(decided["decided_by"], "ann");
    });
}

#[test]
fn without_the_switch_deciding_needs_a_reviewer_and_without_dev_asking_needs_a_key() {
    placet_testkit::block_on(async {
        for dev in [true, false] {
            let settings = Settings { dev, requests_per_second: 0, ..Settings::default() };
            let server = Server::over(Kit::start(Backend::Sqlite).await, settings).await;
            let (nobody, bot, ann) =
                (server.nobody(), server.agent("bot").await, server.reviewer("ann").await);
            let asked = nobody.post("/approvals/", asking()).await;
            assert_eq!(asked.status, if dev { 201 } else { 401 }, "{}", asked.body);
            let made = ask(&bot).await;
            let refused = if dev { 403 } else { 401 };
            let yes = json!({"decision": "approved"});
            assert_eq!(decide(&nobody, &made, yes.clone()).await.status, refused);
            assert_eq!(decide(&bot, &made, yes.clone()).await.status, 403);
            for path in ["/approvals/pending", "/approvals/audit"] {
                assert_eq!(nobody.get(path).await.status, refused, "{path}");
                assert_eq!(bot.get(path).await.status, 403, "{path}");
                assert_eq!(ann.get(path).await.status, 200, "{path}");
            }
            // What others asked is not there for an agent.
            assert_eq!(
                nobody.get(&format!("/approvals/{}", id(&made))).await.status,
                if dev { 404 } else { 401 }
            );
            assert_eq!(poll(&bot, &made).await["status"], "pending");
            let decided = decide(&ann, &made, yes).await.expect(200);
            assert_eq!(decided["decided_by"], "ann");
            server.finish().await;
        }
    });
}

#[test]
fn the_open_door_is_for_this_machine_and_for_pages_that_are_ours() {
    on_sqlite(async |server| {
        let client = server.nobody();
        let made = ask(&client).await;
        let before = head(server).await;
        let own = format!("http://{}", server.authority());
        let yes = json!({"decision": "approved"});
        for (name, value) in [
            ("origin", "https://evil.example"),
            ("origin", "http://localhost:5174"),
            ("origin", "null"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
            ("host", "evil.example"),
        ] {
            let answer = decide(&client.clone().with(name, value), &made, yes.clone()).await;
            assert_eq!(answer.status, 403, "{name}: {value}");
            assert_eq!(
                client.clone().with(name, value).get("/approvals/audit").await.status,
                403,
                "{name}: {value}"
            );
        }
        for (name, value) in [
            ("x-forwarded-for", "203.0.113.7"),
            ("forwarded", "for=203.0.113.7"),
            ("authorization", "Bearer x"),
        ] {
            let answer = decide(&client.clone().with(name, value), &made, yes.clone()).await;
            assert_eq!(answer.status, 401, "{name}");
            assert!(answer.body["detail"].is_string());
        }
        assert_eq!(head(server).await, before);
        for origin in ["http://localhost:5173", &own] {
            let made = ask(&client).await;
            decide(&client.clone().with("origin", origin), &made, yes.clone()).await.expect(200);
        }
    });
}

#[test]
fn the_rest_door_and_requests_of_other_doors_stay_closed() {
    on_sqlite(async |server| {
        let (client, bot, ann) = (server.nobody(), server.agent("bot").await, server.reviewer("ann").await);
        let made = ask(&client).await;
        let record = ann.get(&format!("/v1/requests/{}", id(&made))).await.expect(200);
        let answer =
            client.post(&format!("/v1/requests/{}/decision", id(&made)), vote(&record, "approve")).await;
        assert_eq!((answer.status, answer.code()), (403, "forbidden"));
        for path in ["/v1/requests", "/v1/ledger", "/v1/stats"] {
            assert_eq!(client.get(path).await.status, 403, "{path}");
        }
        let other = crate::support::ask(&bot).await;
        for client in [&client, &ann] {
            assert_eq!(client.get(&format!("/approvals/{}", id(&other))).await.status, 404);
            let answer = decide(client, &other, json!({"decision": "approved"})).await;
            assert_eq!(
                (answer.status, &answer.body),
                (404, &json!({"detail": "Approval request not found."}))
            );
        }
        let listed = client.get("/approvals/audit").await.expect(200);
        assert_eq!(listed.as_array().map(Vec::len), Some(1), "only what came in by this door");
    });
}

#[test]
fn once_other_arguments_are_on_the_table_a_blind_yes_is_refused() {
    placet_testkit::block_on(async {
        let two = |settings: &mut placet_gate::Settings| settings.needs.any[0].all[0].people = 2;
        let server = opened(Kit::with(Backend::Sqlite, two).await).await;
        let (client, ann) = (server.nobody(), server.reviewer("ann").await);
        let made = ask(&client).await;
        let record = ann.get(&format!("/v1/requests/{}", id(&made))).await.expect(200);
        let edit = merged(vote(&record, "edit"), json!({"arguments": {"amount": 1}}));
        ann.post(&format!("/v1/requests/{}/decision", id(&made)), edit).await.expect(200);
        let blind = decide(&client, &made, json!({"decision": "approved"})).await;
        assert_eq!(blind.status, 409, "{}", blind.body);
        assert!(blind.body["detail"].as_str().is_some_and(|detail| detail.contains("other arguments")));
        assert_eq!(poll(&client, &made).await["status"], "pending");
        assert_eq!(
            decide(&client, &made, json!({"decision": "rejected"})).await.expect(200)["status"],
            "rejected"
        );
        server.finish().await;
    });
}

#[test]
fn what_does_not_fit_is_named_field_by_field() {
    on_sqlite(async |server| {
        let client = server.nobody();
        let before = head(server).await;
        let missing = client.post("/approvals/", json!({"session_id": 7, "payload": []})).await;
        assert_eq!(
            fields(&missing),
            [
                ("string_type", "session_id"),
                ("missing", "app_name"),
                ("missing", "user_id"),
                ("missing", "agent_name"),
                ("missing", "tool_name"),
                ("missing", "message"),
                ("dict_type", "payload"),
            ]
        );
        for (body, name) in [
            (json!({"payload": "not json"}), "payload"),
            (json!({"payload": "[1]"}), "payload"),
            (json!({"payload": null}), "payload"),
            (json!({"response_schema": 1}), "response_schema"),
            (json!({"risk_level": 1}), "risk_level"),
            (json!({"invocation_id": 1}), "invocation_id"),
            (json!({"id": ""}), "id"),
            (json!({"id": "pending"}), "id"),
            (json!({"id": "x".repeat(201)}), "id"),
            (json!({"id": crate::roles::NOWHERE}), "id"),
            (json!({"accepts_edits": "yes"}), "accepts_edits"),
            (json!({"tool_name": "two words"}), "tool_name"),
            (json!({"session_id": ""}), "session_id"),
        ] {
            let answer = client.post("/approvals/", with(body.clone())).await;
            assert!(fields(&answer).iter().any(|(_, field)| *field == name), "{body}: {}", answer.body);
        }
        for body in ["{", "[]", "7", "{\"a\":1,\"a\":2}", "\u{feff}{}", "null"] {
            let answer = client.send(Method::POST, "/approvals/", body.into()).await;
            assert!(!fields(&answer).is_empty(), "{body}");
        }
        let large = with(json!({"payload": {"x": "y".repeat(300_000)}}));
        assert_eq!(client.post("/approvals/", large).await.status, 422);
        let made_before = head(server).await;
        assert_eq!(made_before, before, "nothing of it was written");
        let text = client.post("/approvals/", with(json!({"payload": "{\"amount\": 3}"}))).await.expect(201);
        assert_eq!(text["payload"], json!({"amount": 3}), "its own models take JSON as text");
        for (body, name) in [
            (json!({"decision": "approved", "reviewer_id": 1}), "reviewer_id"),
            (json!({"decision": "approved", "reviewer_id": "x".repeat(201)}), "reviewer_id"),
            (json!({"decision": "approved", "notes": 1}), "notes"),
            (json!({"decision": "approved", "payload": "x"}), "payload"),
            (json!({"decision": "rejected", "payload": {"a": 1}}), "payload"),
            (json!({"decision": "escalated", "escalate_to": 1}), "escalate_to"),
        ] {
            let answer = decide(&client, &text, body.clone()).await;
            assert!(fields(&answer).iter().any(|(_, field)| *field == name), "{body}: {}", answer.body);
        }
        assert_eq!(poll(&client, &text).await["status"], "pending");
    });
}

#[test]
fn the_missing_slash_is_a_redirect_that_keeps_method_and_query() {
    on_sqlite(async |server| {
        let client = server.nobody();
        let answer = client.post("/approvals", asking()).await;
        assert_eq!((answer.status, answer.header("location")), (307, Some("/approvals/")));
        let answer = client.get("/approvals?x=1").await;
        assert_eq!((answer.status, answer.header("location")), (307, Some("/approvals/?x=1")));
        assert_eq!(client.get("/approvals/").await.status, 405);
        for unknown in ["nonsense", crate::roles::NOWHERE] {
            let answer = client.get(&format!("/approvals/{unknown}")).await;
            assert_eq!(
                (answer.status, &answer.body),
                (404, &json!({"detail": "Approval request not found."}))
            );
        }
    });
}

#[test]
fn the_lists_are_bounded_newest_first_and_filtered() {
    placet_testkit::block_on(async {
        let many = |settings: &mut placet_gate::Settings| settings.pending_per_agent = 1_000;
        let server = opened(Kit::with(Backend::Sqlite, many).await).await;
        let client = server.nobody();
        for number in 0..510 {
            let agent = if number % 100 == 0 { "rare" } else { "usual" };
            let body = with(json!({"agent_name": agent, "payload": {"number": number}}));
            client.post("/approvals/", body).await.expect(201);
        }
        for path in ["/approvals/pending", "/approvals/audit"] {
            let list = client.get(path).await.expect(200);
            let numbers: Vec<i64> = list
                .as_array()
                .expect("a list")
                .iter()
                .filter_map(|one| one["payload"]["number"].as_i64())
                .collect();
            assert_eq!(numbers, (10..510).rev().collect::<Vec<_>>(), "{path}");
        }
        let rare = client.get("/approvals/audit?agent_name=rare").await.expect(200);
        let numbers: Vec<i64> = rare
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|one| one["payload"]["number"].as_i64())
            .collect();
        assert_eq!(numbers, [500, 400, 300, 200, 100, 0]);
        for (word, status) in [("approved", "approved"), ("rejected", "rejected"), ("escalated", "escalated")]
        {
            decide(&client, &rare[0], json!({"decision": word})).await;
            let rest = client.get("/approvals/audit?agent_name=rare&decision=pending").await.expect(200);
            decide(&client, &rest[0], json!({"decision": word})).await.expect(200);
            let list = client.get(&format!("/approvals/audit?decision={status}")).await.expect(200);
            assert!(
                list.as_array()
                    .is_some_and(|list| !list.is_empty() && list.iter().all(|one| one["status"] == status)),
                "{word}: {list}"
            );
        }
        assert_eq!(client.get("/approvals/audit?decision=nonsense").await.expect(200), json!([]));
        server.finish().await;
    });
}

#[test]
fn what_policy_allows_or_denies_is_told_at_once() {
    on_sqlite(async |server| {
        server
            .kit
            .put_policy("version = 1\n[[rule]]\nname = \"small\"\neffect = \"allow\"\ntool = \"apply_credit\"\nsource = \"community\"\n[[rule]]\nname = \"never\"\neffect = \"deny\"\ntool = \"wipe\"\nreason = \"nothing is wiped\"\n")
            .await;
        let client = server.nobody();
        let allowed = ask(&client).await;
        assert_eq!(
            (allowed["status"].as_str(), allowed["decided_by"].as_str()),
            (Some("approved"), Some("policy rule small"))
        );
        let denied = client.post("/approvals/", with(json!({"tool_name": "wipe"}))).await.expect(201);
        assert_eq!(denied["status"], "rejected");
        assert!(
            denied["decision_notes"].as_str().is_some_and(|notes| notes.contains("nothing is wiped")),
            "{denied}"
        );
        assert_eq!(decide(&client, &denied, json!({"decision": "approved"})).await.status, 409);
    });
}
