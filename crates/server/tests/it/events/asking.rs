//! Events that ask a person become requests like all others.

use super::*;
use crate::support::{at, decide, with_settings};

#[test]
fn each_kind_of_question_becomes_a_request() {
    on_sqlite(async |server| {
        let (local, ann) = (server.nobody(), server.reviewer("ann").await);
        let waiting = Waiting::start().await;
        for (kind, expected) in [
            ("permission", json!({"kind": "confirmation", "message": "May I delete it?"})),
            ("question", json!({"kind": "input", "question": "May I delete it?", "input": {"type": "text"}})),
            (
                "choice",
                json!({"kind": "input", "question": "May I delete it?", "input": {"type": "choice", "options": ["red", "blue"]}}),
            ),
        ] {
            let event = ask(&local, kind, &waiting.url).await;
            assert_eq!(event["humanInTheLoopStatus"], json!({"status": "pending"}));
            let id = event["placetRequest"].as_str().expect("the request's id");
            let record = ann.get(&format!("/v1/requests/{id}")).await.expect(200);
            for (field, value) in expected.as_object().expect("an object") {
                if field == "input" {
                    assert_eq!(
                        (&record["input"]["type"], &record["input"]["options"]),
                        (&value["type"], &value["options"]),
                        "{record}"
                    );
                } else {
                    assert_eq!(record[field], *value, "{record}");
                }
            }
            assert_eq!(
                (&record["state"], &record["agent"], &record["session"]),
                (&json!("pending"), &json!("local"), &json!("sess-1"))
            );
            assert_eq!(record["context"]["answer_to"], json!(waiting.url));
        }
    });
}

#[test]
fn a_question_that_does_not_fit_is_refused_by_name_and_leaves_no_trace() {
    on_sqlite(async |server| {
        let local = server.nobody();
        let before = traces(server).await;
        let good = json!("ws://localhost:9");
        for (kind, more, word) in [
            ("wish", json!({}), "humanInTheLoop.type"),
            ("permission", json!({"type": 5}), "humanInTheLoop.type"),
            ("permission", json!({"question": null}), "humanInTheLoop.question"),
            ("permission", json!({"question": "  "}), "humanInTheLoop.question"),
            ("permission", json!({"question": 7}), "humanInTheLoop.question"),
            ("permission", json!({"question": "x".repeat(9000)}), "message"),
            ("choice", json!({"choices": null}), "humanInTheLoop.choices"),
            ("choice", json!({"choices": "red"}), "humanInTheLoop.choices"),
            ("choice", json!({"choices": [1, 2]}), "humanInTheLoop.choices"),
            ("choice", json!({"choices": []}), "input.options"),
            ("choice", json!({"choices": ["a", "a"]}), "input.options"),
            ("permission", json!({"timeout": "300"}), "humanInTheLoop.timeout"),
            ("permission", json!({"timeout": 0}), "humanInTheLoop.timeout"),
            ("permission", json!({"timeout": -5}), "humanInTheLoop.timeout"),
            ("permission", json!({"timeout": 1e12}), "humanInTheLoop.timeout"),
            ("permission", json!({"timeout": 99_999_999}), "expires_in"),
            ("permission", json!({"responseWebSocketUrl": 8080}), "humanInTheLoop.responseWebSocketUrl"),
        ] {
            let answer = local.post("/events", question(kind, &good, more.clone())).await;
            assert_eq!(answer.status, 400, "{more}: {}", answer.body);
            assert!(error(&answer).contains(word), "{more}: {}", answer.body);
        }
        for odd in [json!("yes"), json!([]), json!(5)] {
            let answer = local.post("/events", event_with(json!({"humanInTheLoop": odd}))).await;
            assert_eq!(answer.status, 400, "{odd}");
        }
        assert_eq!(traces(server).await, before);
    });
}

#[test]
fn an_answer_goes_only_to_this_machine_unless_the_operator_lists_the_host() {
    on_sqlite(async |server| {
        let local = server.nobody();
        let before = traces(server).await;
        for bad in [
            "ws://10.0.0.1:80",
            "ws://192.168.1.1:80",
            "ws://169.254.169.254/latest/meta-data",
            "ws://[fd00:ec2::254]:80",
            "ws://metadata.google.internal",
            "ws://evil.example:80",
            "ws://localhost.evil.example:80",
            "ws://ann:secret@localhost:80",
            "ws://localhost:80@evil.example",
            "ws://[::ffff:10.0.0.1]:80",
            "ws://0.0.0.0:80",
            "ws://2130706433:80",
            "wss://localhost:80",
            "file:///etc/passwd",
            "nonsense",
        ] {
            let answer = local.post("/events", question("permission", &json!(bad), json!({}))).await;
            assert_eq!(answer.status, 400, "{bad}: {}", answer.body);
            assert!(
                error(&answer).starts_with("humanInTheLoop.responseWebSocketUrl"),
                "{bad}: {}",
                answer.body
            );
        }
        assert_eq!(traces(server).await, before);
        for good in [
            json!("ws://localhost:9"),
            json!("ws://127.0.0.1:9/x?y"),
            json!("ws://[::1]:9"),
            json!("http://localhost:9"),
            json!(""),
            Value::Null,
        ] {
            told(&local, question("permission", &good, json!({}))).await;
        }
    });
    with_settings(
        |settings| settings.events.callbacks = placet_egress::Rules::new(["agents.example".to_owned()]),
        async |server| {
            let bot = server.agent("bot").await;
            told(&bot, question("permission", &json!("ws://agents.example:9"), json!({}))).await;
            assert_eq!(
                bot.post("/events", question("permission", &json!("ws://other.example:9"), json!({})))
                    .await
                    .status,
                400
            );
        },
    );
}

#[test]
fn a_status_that_the_client_sends_is_not_believed() {
    on_sqlite(async |server| {
        let local = server.nobody();
        let claimed = json!({"status": "responded", "response": {"permission": true}});
        let sent =
            merged(question("permission", &Value::Null, json!({})), json!({"humanInTheLoopStatus": claimed}));
        let event = told(&local, sent).await;
        assert_eq!(event["humanInTheLoopStatus"], json!({"status": "pending"}));
        assert_eq!(read(&local, &event).await["humanInTheLoopStatus"], json!({"status": "pending"}));
        let plain = told(&local, event_with(json!({"humanInTheLoopStatus": claimed}))).await;
        assert!(plain.get("humanInTheLoopStatus").is_none());
    });
}

#[test]
fn a_timeout_is_enforced_recorded_and_final() {
    on_sqlite(async |server| {
        let (local, ann) = (server.nobody(), server.reviewer("ann").await);
        let waiting = Waiting::start().await;
        let event = told(&local, question("permission", &json!(waiting.url), json!({"timeout": 1.5}))).await;
        server.kit.clock().advance(std::time::Duration::from_millis(1600));
        assert_eq!(read(&local, &event).await["humanInTheLoopStatus"], json!({"status": "timeout"}));
        let late = respond(&local, &event, json!({"permission": true})).await;
        assert_eq!(late.status, 409, "{}", late.body);
        server.kit.gate().sweep().await.expect("deadlines can take effect");
        let id = event["placetRequest"].as_str().expect("an id");
        assert_eq!(ann.get(&format!("/v1/requests/{id}")).await.expect(200)["state"], json!("expired"));
        assert_eq!(respond(&ann, &event, json!({"permission": true})).await.status, 409);
        assert_eq!(read(&local, &event).await["humanInTheLoopStatus"], json!({"status": "timeout"}));
        // Nobody said no, so nobody is told no.
        assert_eq!(server.kit.place().rows("SELECT 1 FROM outbox").await.len(), 0);
        waiting.nothing_more(server).await;
    });
}

#[test]
fn waiting_questions_are_not_pushed_out_by_newer_events() {
    on_sqlite(async |server| {
        let local = server.nobody();
        let first = ask(&local, "permission", "").await;
        for _ in 0..30 {
            told(&local, event()).await;
        }
        let recent = local.get("/events/recent?limit=5").await.expect(200);
        let ids: Vec<_> = recent
            .as_array()
            .expect("a list")
            .iter()
            .map(|event| event["id"].as_u64().expect("a number"))
            .collect();
        assert_eq!(ids, [1, 27, 28, 29, 30, 31]);
        respond(&local, &first, json!({"permission": false})).await.expect(200);
        let recent = local.get("/events/recent?limit=5").await.expect(200);
        assert_eq!(recent.as_array().map(Vec::len), Some(5));
    });
}

#[test]
fn a_question_asked_again_with_its_key_has_the_answer_that_was_given() {
    on_sqlite(async |server| {
        let (local, ann) = (server.nobody(), server.reviewer("ann").await);
        let once = local.key("ask-1");
        let event = told(&once, question("permission", &Value::Null, json!({}))).await;
        let record = ann
            .get(&format!("/v1/requests/{}", event["placetRequest"].as_str().expect("an id")))
            .await
            .expect(200);
        decide(&ann, &record, "approve").await.expect(200);
        // The agent restarted in between, and nobody could call it.
        let again = told(&once, question("permission", &Value::Null, json!({}))).await;
        assert_eq!(
            (&again["id"], &again["humanInTheLoopStatus"]["response"]["permission"]),
            (&event["id"], &json!(true))
        );
        assert_eq!(ann.get(&at(&record, "")).await.expect(200)["version"], json!(2));
    });
}

#[test]
fn an_agent_over_its_limit_is_refused_and_no_event_is_left() {
    placet_testkit::block_on(async {
        let kit = Kit::with(Backend::Sqlite, |settings| settings.pending_per_agent = 1).await;
        let server = Server::over(kit, Settings { requests_per_second: 0, ..Settings::default() }).await;
        let bot = server.agent("bot").await;
        ask(&bot, "permission", "").await;
        let before = traces(&server).await;
        let answer = bot.post("/events", question("permission", &Value::Null, json!({}))).await;
        assert_eq!(answer.status, 429, "{}", answer.body);
        assert_eq!(traces(&server).await, before);
        server.finish().await;
    });
}
