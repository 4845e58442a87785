//! Telling events, and reading them back.

use http::Method;
use placet_testkit::both;

use super::*;
use crate::support::with_settings;

both! {
    async fn an_event_comes_back_as_it_was_sent_with_its_number(backend: Backend) {
        let server = open(backend).await;
        let local = server.nobody();
        let sent = event_with(json!({"id": 77, "agent_id": "x", "odd": [1, {"deep": null}]}));
        let answer = local.post("/events", sent.clone()).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
        let expected = merged(sent, json!({"id": 1}));
        assert_eq!(answer.body, expected);
        assert_eq!(local.get("/events/recent").await.expect(200), json!([expected]));
        assert_eq!(local.get("/events/1").await.expect(200), expected);
        let options = local.get("/events/filter-options").await.expect(200);
        assert_eq!(options, json!({"source_apps": ["app"], "session_ids": ["sess-1"], "hook_event_types": ["PreToolUse"]}));
        server.finish().await;
    }
}

#[test]
fn an_event_without_a_time_gets_ours_in_milliseconds() {
    on_sqlite(async |server| {
        for nothing in [json!(null), json!(0), json!("")] {
            let stored = told(&server.nobody(), event_with(json!({"timestamp": nothing}))).await;
            assert!(stored["timestamp"].as_u64().is_some_and(|time| time > 1_700_000_000_000), "{stored}");
        }
    });
}

#[test]
fn what_is_no_event_is_refused_in_the_words_of_the_original_and_leaves_no_trace() {
    on_sqlite(async |server| {
        let local = server.nobody();
        let before = traces(server).await;
        for field in ["source_app", "session_id", "hook_event_type", "payload"] {
            for nothing in [json!(null), json!(""), json!(0), json!(false)] {
                let answer = local.post("/events", event_with(json!({field: nothing}))).await;
                assert_eq!((answer.status, answer.body), (400, json!({"error": "Missing required fields"})));
            }
        }
        for body in ["[]", "5", "\"text\"", "{}"] {
            let answer = local.post_bytes("/events", body).await;
            assert_eq!(
                (answer.status, answer.body),
                (400, json!({"error": "Missing required fields"})),
                "{body}"
            );
        }
        for body in ["", "null", "{", "{\"source_app\":}", "nope", "{}x"] {
            let answer = local.post_bytes("/events", body).await;
            assert_eq!((answer.status, answer.body), (400, json!({"error": "Invalid request"})), "{body}");
        }
        // Text where numbers belong, and the other way round.
        for (field, value) in [
            ("timestamp", json!("2026-11-15")),
            ("timestamp", json!({})),
            ("session_id", json!(5)),
            ("source_app", json!(["a"])),
            ("hook_event_type", json!({"a": 1})),
            ("session_id", json!("x".repeat(2000))),
        ] {
            let answer = local.post("/events", event_with(json!({field: value}))).await;
            assert_eq!(answer.status, 400, "{field}");
            assert!(error(&answer).starts_with(field), "{}", answer.body);
        }
        let deep = format!(
            "{{\"source_app\":\"a\",\"session_id\":\"s\",\"hook_event_type\":\"h\",\"payload\":{}1{}}}",
            "[".repeat(70),
            "]".repeat(70)
        );
        assert!(error(&local.post_bytes("/events", deep).await).contains("nested"));
        assert_eq!(traces(server).await, before);
    });
}

#[test]
fn an_event_of_a_hundred_megabytes_is_refused_and_the_server_goes_on() {
    on_sqlite(async |server| {
        let local = server.nobody();
        let before = traces(server).await;
        let small = event_with(json!({"payload": {"x": "@"}})).to_string();
        let huge = small.replacen('@', &"y".repeat(100 * 1024 * 1024), 1);
        let answer = soon("a refusal", local.post_bytes("/events", huge)).await;
        assert_eq!(answer.status, 413, "{}", answer.body);
        assert!(error(&answer).contains("8388608"));
        let large = event_with(json!({"payload": {"x": "y".repeat(2 * 1024 * 1024)}}));
        assert_eq!(local.post("/events", large).await.status, 413);
        assert_eq!(traces(server).await, before);
        // A transcript of megabytes is cut, not refused: agents send all of it when they stop.
        let chat: Vec<Value> = (0..3000).map(|n| json!({"n": n, "text": "z".repeat(1000)})).collect();
        let stored = told(&local, event_with(json!({"chat": chat}))).await;
        assert!(stored.to_string().len() < 400_000 && stored["chat_left_out"].as_u64() > Some(2000));
        assert_eq!(
            stored["chat"].as_array().and_then(|chat| chat.last()).map(|last| &last["n"]),
            Some(&json!(2999))
        );
    });
}

#[test]
fn events_of_the_future_hide_nothing_and_reads_are_in_the_order_of_arrival() {
    on_sqlite(async |server| {
        let local = server.nobody();
        for time in [9_999_999_999_999_u64, 5, 9_999_999_999_998] {
            told(&local, event_with(json!({"timestamp": time}))).await;
        }
        let ids = async |path: &str| {
            let list = local.get(path).await.expect(200);
            list.as_array()
                .expect("a list")
                .iter()
                .map(|event| event["id"].as_u64().expect("a number"))
                .collect::<Vec<_>>()
        };
        assert_eq!(ids("/events/recent?limit=2").await, [2, 3]);
        assert_eq!(ids("/events/recent").await, [1, 2, 3]);
        assert_eq!(ids("/events/recent?limit=-1").await, [1, 2, 3]);
        assert!(ids("/events/recent?limit=0").await.is_empty());
        let answer = local.get("/events/recent?limit=abc").await;
        assert_eq!((answer.status, error(&answer)), (400, "limit: expected a number"));
    });
}

#[test]
fn there_is_no_banner_and_no_page_of_source_code() {
    on_sqlite(async |server| {
        let local = server.nobody();
        for (method, path, status) in [
            (Method::GET, "/events", 405),
            (Method::PUT, "/events", 405),
            (Method::DELETE, "/events/1", 405),
            (Method::GET, "/events/1/respond", 405),
            (Method::GET, "/events/5", 404),
            (Method::GET, "/events/abc", 404),
            (Method::GET, "/events/-1", 404),
            (Method::POST, "/events/abc/respond", 404),
            (Method::POST, "/events/99/respond", 404),
            (Method::GET, "/stream", 400),
            (Method::GET, "/api/themes/x", 404),
            (Method::GET, "/nowhere", 404),
        ] {
            let answer = local.send(method.clone(), path, "{\"permission\":true}".into()).await;
            assert_eq!(answer.status, status, "{method} {path}: {}", answer.body);
            assert!(!answer.body.to_string().contains(".rs"), "{}", answer.body);
        }
        let answer = respond(&local, &json!({"id": 99}), json!({"permission": true})).await;
        assert_eq!((answer.status, answer.body), (404, json!({"error": "Event not found"})));
    });
}

#[test]
fn the_same_key_stores_an_event_once() {
    on_sqlite(async |server| {
        let local = server.nobody();
        let once = local.key("k-1");
        let (first, again) = (told(&once, event()).await, told(&once, event()).await);
        assert_eq!(first, again);
        assert_eq!(once.post("/events", event_with(json!({"x": 1}))).await.status, 409);
        assert_eq!(
            told(&local, event()).await["id"],
            json!(2),
            "without a key nobody knows that it is the same"
        );
    });
}

#[test]
fn only_agents_tell_and_only_those_who_review_or_audit_read() {
    with_settings(
        |_| {},
        async |server| {
            let (bot, other) = (server.agent("bot").await, server.agent("other").await);
            let (ann, eve) = (server.reviewer("ann").await, server.auditor("eve").await);
            let nobody = server.nobody();
            let unknown = nobody.post("/events", event()).await;
            assert_eq!(unknown.status, 401);
            error(&unknown);
            for not_an_agent in [&ann, &eve, &server.admin()] {
                assert_eq!(not_an_agent.post("/events", event()).await.status, 403);
            }
            let mine = told(&bot, event()).await;
            for path in ["/events/recent", "/events/filter-options", "/api/themes"] {
                for (who, status) in
                    [(&ann, 200), (&eve, 200), (&bot, 403), (&server.admin(), 403), (&nobody, 401)]
                {
                    assert_eq!(who.get(path).await.status, status, "{path}");
                }
            }
            // An agent fetches its own, and cannot tell another's from none.
            assert_eq!(read(&bot, &mine).await, mine);
            let (foreign, absent) = (other.get("/events/1").await, other.get("/events/2").await);
            assert_eq!((foreign.status, foreign.body), (404, absent.body));
            for (who, status) in [(&bot, 403), (&server.admin(), 403), (&nobody, 401)] {
                assert_eq!(
                    Socket::try_open(who, "/stream").await.err().map(|error| match error {
                        tokio_tungstenite::tungstenite::Error::Http(response) => response.status().as_u16(),
                        other => panic!("{other}"),
                    }),
                    Some(status)
                );
            }
        },
    );
}

#[test]
fn pages_of_listed_origins_may_use_the_door_and_no_others() {
    on_sqlite(async |server| {
        let local = server.nobody();
        let page = local.clone().with("origin", PAGE);
        for path in ["/events", "/events/recent", "/events/1/respond", "/api/themes"] {
            let answer = page.send(Method::OPTIONS, path, bytes::Bytes::new()).await;
            assert_eq!((answer.status, answer.body.clone()), (200, Value::Null), "{path}");
            assert_eq!(answer.header("access-control-allow-origin"), Some(PAGE));
            assert!(
                answer
                    .header("access-control-allow-headers")
                    .is_some_and(|names| names.contains("Content-Type"))
            );
        }
        let answer = page.post("/events", event()).await;
        assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, Some(PAGE)));
        for other in ["http://localhost:9999", "https://evil.example", "null", "http://127.0.0.1:5173"] {
            let page = local.clone().with("origin", other);
            for (method, path) in
                [(Method::OPTIONS, "/events"), (Method::GET, "/events/recent"), (Method::POST, "/events")]
            {
                let answer = page.send(method, path, event().to_string().into()).await;
                assert_eq!(
                    (answer.status, answer.header("access-control-allow-origin")),
                    (403, None),
                    "{other} {path}"
                );
            }
            assert!(Socket::try_open(&page, "/stream").await.is_err(), "{other}");
        }
        // The list opens this door, not the others.
        let answer = page.clone().with("x", "y").get("/v1/requests").await;
        assert_eq!(answer.header("access-control-allow-origin"), None);
        assert_eq!(server.kit.store().last_event().await.expect("a number"), 1);
    });
}
