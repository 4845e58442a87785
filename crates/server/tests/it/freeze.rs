//! The stop switch over HTTP: 423 for what would approve or claim, and everybody sees it.

use placet_testkit::Server;
use serde_json::{Value, json};

use crate::support::{approved, ask, assert_problem, at, on_sqlite};

async fn stop(server: &Server, body: Value) -> Value {
    server.reviewer("ann").await.post("/v1/freeze", body).await.expect(201)
}

#[test]
fn what_is_frozen_is_neither_approved_nor_claimed_and_says_why() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let (pending, yes) = (ask(&bot).await, approved(&bot, &ann).await);
        let freeze = stop(server, json!({"all": true, "reason": "something is wrong"})).await;
        assert_eq!((&freeze["by"], &freeze["agent"]), (&json!("ann"), &json!(null)));
        let vote = json!({"decision": "approve", "digest": pending["digest"], "version": 1});
        let refused = ann.post(&at(&pending, "/decision"), vote).await;
        assert_problem(&refused, 423, "frozen", None);
        assert!(refused.body["detail"].as_str().unwrap().contains("something is wrong"), "{}", refused.body);
        assert_problem(&bot.post(&at(&yes, "/claim"), json!({})).await, 423, "frozen", None);
        for who in [&bot, &ann, &server.auditor("eve").await] {
            assert_eq!(who.get("/v1/freeze").await.expect(200)["items"][0]["id"], freeze["id"]);
        }
        let id = format!("/v1/freeze/{}", freeze["id"].as_str().unwrap());
        assert_eq!(ann.delete(&id).await.status, 403, "an admin's act");
        assert_eq!(server.admin().delete(&id).await.status, 204);
        bot.post(&at(&yes, "/claim"), json!({})).await.expect(200);
    });
}

#[test]
fn a_freeze_says_what_it_stops_and_why() {
    on_sqlite(async |server| {
        let ann = server.reviewer("ann").await;
        for body in [
            json!({"reason": "x"}),
            json!({"all": true, "agent": "bot", "reason": "x"}),
            json!({"all": true}),
            json!({"all": true, "reason": ""}),
            json!({"all": true, "reason": "x", "for": "1h"}),
        ] {
            assert_eq!(ann.post("/v1/freeze", body.clone()).await.status, 422, "{body}");
        }
    });
}
