//! Answers: given anywhere, they go back to the agent, once, and survive what happens in between.

use placet_testkit::both;

use super::*;
use crate::support::{at, decide, merged, with_settings};

/// Waits until so many answers were tried in vain.
async fn failed(server: &Server, count: usize) {
    let tried = "SELECT 1 FROM outbox WHERE state = 'waiting' AND attempts > 0";
    until_so("failed attempts", async || server.kit.place().rows(tried).await.len() == count).await;
}

both! {
    async fn an_answer_of_each_kind_reaches_the_agent(backend: Backend) {
        let mut server = open(backend).await;
        let (local, mut answered) = (server.nobody(), Vec::new());
        for (kind, answer) in [
            ("permission", json!({"permission": true})),
            ("permission", json!({"permission": false})),
            ("question", json!({"response": "use the other one"})),
            ("choice", json!({"choice": "blue"})),
        ] {
            let mut waiting = Waiting::start().await;
            let event = ask(&local, kind, &waiting.url).await;
            // As the dashboard sends it; what it says of the event and of the time is not believed.
            let forged = json!({"hookEvent": {"id": 999, "payload": {"permission_type": "forged"}}, "respondedAt": 5});
            let updated = respond(&local, &event, merged(answer.clone(), forged)).await.expect(200);
            let status = &updated["humanInTheLoopStatus"];
            assert_eq!(status["status"], json!("responded"));
            let heard = waiting.answer().await;
            for (name, value) in answer.as_object().expect("an object") {
                assert_eq!((&heard[name], &status["response"][name]), (value, value), "{heard}");
            }
            assert_eq!(heard["respondedAt"], status["respondedAt"]);
            assert!(heard["respondedAt"].as_u64() > Some(1_700_000_000_000));
            assert_eq!(heard["respondedBy"], json!("open-reviewer"));
            assert_eq!((&heard["hookEvent"]["id"], &heard["hookEvent"]["session_id"]), (&event["id"], &json!("sess-1")));
            assert_eq!(heard["hookEvent"]["humanInTheLoop"]["type"], json!(kind));
            answered.push(waiting);
        }
        for waiting in answered {
            waiting.nothing_more(&mut server).await;
        }
        server.finish().await;
    }

    async fn an_answer_waits_for_a_listener_that_is_away_for_a_while(backend: Backend) {
        let mut server = open(backend).await;
        let local = server.nobody();
        let port = Port::new();
        let mut events = Vec::new();
        for _ in 0..5 {
            events.push(ask(&local, "permission", &format!("ws://localhost:{}", port.number())).await);
        }
        for event in &events {
            respond(&local, event, json!({"permission": true})).await.expect(200);
        }
        // The first attempts fail; the clock stands still, so nothing is tried again before it moves.
        failed(&server, 5).await;
        let mut waiting = Waiting::on(port.listen());
        server.kit.clock().advance(Duration::from_secs(3));
        let mut heard: Vec<u64> = Vec::new();
        for _ in 0..5 {
            heard.push(waiting.answer().await["hookEvent"]["id"].as_u64().expect("a number"));
        }
        heard.sort_unstable();
        assert_eq!(heard, (1..=5).collect::<Vec<_>>());
        waiting.nothing_more(&mut server).await;
        server.finish().await;
    }

    async fn an_answer_survives_a_restart_before_it_was_delivered(backend: Backend) {
        let server = open(backend).await;
        let local = server.nobody();
        let port = Port::new();
        let event = ask(&local, "permission", &format!("ws://localhost:{}", port.number())).await;
        respond(&local, &event, json!({"permission": true})).await.expect(200);
        failed(&server, 1).await;
        let server = server.restart().await;
        let mut waiting = Waiting::on(port.listen());
        server.kit.clock().advance(Duration::from_secs(6));
        let heard = waiting.answer().await;
        assert_eq!((&heard["permission"], &heard["hookEvent"]["id"]), (&json!(true), &event["id"]));
        server.finish().await;
    }
}

#[test]
fn a_decision_made_elsewhere_goes_back_to_the_agent_with_who_made_it() {
    on_sqlite(async |server| {
        let (local, ann) = (server.nobody(), server.reviewer("ann").await);
        let mut waiting = Waiting::start().await;
        let event = ask(&local, "permission", &waiting.url).await;
        let record = ann
            .get(&format!("/v1/requests/{}", event["placetRequest"].as_str().expect("an id")))
            .await
            .expect(200);
        decide(&ann, &record, "approve").await.expect(200);
        let heard = waiting.answer().await;
        assert_eq!((&heard["permission"], &heard["respondedBy"]), (&json!(true), &json!("ann")));
        // A question that a person declines to answer has no answer, and says so.
        let event = ask(&local, "question", &waiting.url).await;
        let record = ann
            .get(&format!("/v1/requests/{}", event["placetRequest"].as_str().expect("an id")))
            .await
            .expect(200);
        decide(&ann, &record, "deny").await.expect(200);
        let heard = waiting.answer().await;
        assert_eq!((&heard["response"], &heard["denied"]), (&Value::Null, &json!(true)));
    });
}

#[test]
fn a_second_answer_is_refused_and_the_first_one_stands() {
    on_sqlite(async |server| {
        let (local, ann) = (server.nobody(), server.reviewer("ann").await);
        let mut waiting = Waiting::start().await;
        let event = ask(&local, "permission", &waiting.url).await;
        respond(&local, &event, json!({"permission": false})).await.expect(200);
        for again in [json!({"permission": true}), json!({"permission": false})] {
            for who in [&local, &ann] {
                let answer = respond(who, &event, again.clone()).await;
                assert_eq!((answer.status, error(&answer)), (409, "Already answered"));
            }
        }
        assert_eq!(waiting.answer().await["permission"], json!(false));
        assert_eq!(
            read(&local, &event).await["humanInTheLoopStatus"]["response"]["permission"],
            json!(false)
        );
        waiting.nothing_more(server).await;
    });
}

#[test]
fn an_answer_that_does_not_fit_is_refused_and_changes_nothing() {
    on_sqlite(async |server| {
        let local = server.nobody();
        let events = [
            ask(&local, "permission", "").await,
            ask(&local, "question", "").await,
            ask(&local, "choice", "").await,
        ];
        let before = traces(server).await;
        for (event, body) in [
            (&events[0], json!({})),
            (&events[0], json!({"permission": "true"})),
            (&events[0], json!({"permission": 1})),
            (&events[0], json!({"permission": null})),
            (&events[0], json!({"response": "yes, approve"})),
            (&events[1], json!({"permission": true})),
            (&events[1], json!({"response": 5})),
            (&events[2], json!({"choice": "green"})),
            (&events[2], json!({"choice": ["red"]})),
        ] {
            let answer = respond(&local, event, body.clone()).await;
            assert_eq!(answer.status, 400, "{body}: {}", answer.body);
        }
        for body in ["", "null", "\"yes\"", "[]", "[{\"permission\":true}]", "{"] {
            let answer = local.post_bytes(&respond_at(&events[0]), body).await;
            assert_eq!((answer.status, answer.body), (400, json!({"error": "Invalid request"})), "{body}");
        }
        let plain = told(&local, event()).await;
        let answer = respond(&local, &plain, json!({"permission": true})).await;
        assert_eq!((answer.status, error(&answer)), (409, "this event asks nothing"));
        assert_eq!(traces(server).await, (before.0 + 1, before.1));
    });
}

#[test]
fn answering_needs_a_reviewer_unless_the_operator_opened_the_doors() {
    with_settings(
        |settings| settings.dev = true,
        async |server| {
            let (local, bot) = (server.nobody(), server.agent("bot").await);
            let (ann, eve) = (server.reviewer("ann").await, server.auditor("eve").await);
            let event = ask(&local, "permission", "").await;
            for (who, status) in [(&local, 403), (&bot, 403), (&eve, 403)] {
                let answer = respond(who, &event, json!({"permission": true})).await;
                assert_eq!(answer.status, status, "{}", answer.body);
            }
            assert_eq!(read(&local, &event).await["humanInTheLoopStatus"]["status"], json!("pending"));
            let updated = respond(&ann, &event, json!({"permission": true})).await.expect(200);
            assert_eq!(updated["humanInTheLoopStatus"]["response"]["respondedBy"], json!("ann"));
        },
    );
}

#[test]
fn a_page_that_is_not_listed_cannot_answer() {
    on_sqlite(async |server| {
        let local = server.nobody();
        let event = ask(&local, "permission", "").await;
        for origin in ["https://evil.example", "http://localhost:9999", "null"] {
            let page = local.clone().with("origin", origin);
            assert_eq!(respond(&page, &event, json!({"permission": true})).await.status, 403, "{origin}");
        }
        respond(&local.clone().with("origin", PAGE), &event, json!({"permission": true})).await.expect(200);
    });
}

#[test]
fn a_decision_through_the_open_door_is_marked_in_the_ledger() {
    on_sqlite(async |server| {
        let (local, ann) = (server.nobody(), server.reviewer("ann").await);
        let event = ask(&local, "permission", "").await;
        respond(&local, &event, json!({"permission": true})).await.expect(200);
        let record = json!({"id": event["placetRequest"]});
        let record = ann.get(&at(&record, "")).await.expect(200);
        assert_eq!(
            (&record["votes"][0]["by"], &record["votes"][0]["auth"]),
            (&json!("open-reviewer"), &json!("open"))
        );
    });
}

#[test]
fn an_agent_that_cannot_be_called_fetches_its_answer() {
    with_settings(
        |_| {},
        async |server| {
            let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
            let event = ask(&bot, "question", "").await;
            respond(&ann, &event, json!({"response": "blue"})).await.expect(200);
            let fetched = read(&bot, &event).await;
            assert_eq!(fetched["humanInTheLoopStatus"]["response"]["response"], json!("blue"));
            // Nothing waits to be delivered for an agent that listens nowhere.
            assert_eq!(server.kit.place().rows("SELECT 1 FROM outbox").await.len(), 0);
        },
    );
}

#[test]
fn what_policy_decides_alone_is_answered_at_once() {
    on_sqlite(async |server| {
        server.kit.put_policy("version = 1\n\n[[rule]]\nname = \"no\"\neffect = \"deny\"\nkind = [\"confirmation\"]\nreason = \"never\"\n").await;
        let mut waiting = Waiting::start().await;
        let event = ask(&server.nobody(), "permission", &waiting.url).await;
        assert_eq!(event["humanInTheLoopStatus"]["response"]["permission"], json!(false));
        let heard = waiting.answer().await;
        assert_eq!((&heard["permission"], &heard["respondedBy"]), (&json!(false), &json!("policy")));
    });
}
