//! How often people are asked, over HTTP: figures, who may pick out whom, one's pace, summaries, suggested rules.

use serde_json::{Value, json};

use crate::support::{action_with, approved, assert_problem, decide, on_sqlite};

fn keys(value: &Value) -> Vec<String> {
    value.as_object().expect("an object").keys().cloned().collect()
}

#[test]
fn attention_pace_summary_and_suggestions_have_the_shape_of_the_contract() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        // What no rule speaks of waits, and a rule may let it pass.
        server.kit.put_policy("version = 1\n").await;
        for _ in 0..3 {
            let body = action_with(
                json!({"tool": "restart", "arguments": {"host": "web-1"}, "session": "s\u{202e}1"}),
            );
            let record = bot.post("/v1/requests", body).await.expect(201);
            decide(&ann, &record, "approve").await.expect(200);
        }
        let stats = ann.get("/v1/stats").await.expect(200);
        let attention = &stats["attention"];
        assert_eq!(
            keys(attention),
            [
                "active_seconds",
                "asked",
                "asked_percent",
                "calls",
                "confined",
                "passed",
                "prompts_per_active_hour",
                "refused",
                "remembered"
            ]
        );
        assert_eq!(
            (&attention["calls"], &attention["asked"], &attention["asked_percent"]),
            (&json!(3), &json!(3), &json!(100.0))
        );

        let pace = ann.get("/v1/me/pace").await.expect(200);
        assert_eq!(
            keys(&pace),
            ["approvals", "denials", "limit", "quick", "quick_seconds", "text", "warned", "window_seconds"]
        );
        assert_eq!(
            (&pace["warned"], &pace["text"], &pace["limit"]),
            (&json!(false), &Value::Null, &json!(20))
        );

        let summary = ann.get("/v1/summary").await.expect(200);
        assert_eq!(
            keys(&summary),
            ["agent", "attention", "from", "grants", "lines", "session", "to", "whole"]
        );
        assert_eq!((&summary["agent"], &summary["session"]), (&json!("bot"), &json!("s\\u{202e}1")));
        let line = &summary["lines"][0];
        assert_eq!(
            (&line["part"], &line["count"], &line["approved"]),
            (&json!("asked"), &json!(3), &json!(3))
        );
        assert_problem(&ann.get("/v1/summary?session=none").await, 404, "not_found", None);

        let suggested = ann.get("/v1/policy/suggestions").await.expect(200);
        assert_eq!(keys(&suggested), ["items", "left_out", "policy", "report", "text"]);
        let item = &suggested["items"][0];
        assert_eq!(
            (&item["agent"], &item["tool"], &item["approvals"], &item["saved"]),
            (&json!("bot"), &json!("restart"), &json!(3), &json!(3))
        );
        assert_eq!(suggested["text"], item["text"]);
        assert_eq!(ann.get("/v1/policy/suggestions?least=4").await.expect(200)["items"], json!([]));
        assert_problem(&ann.get("/v1/policy/suggestions?least=1").await, 422, "invalid_query", None);
    });
}

#[test]
fn neither_a_list_nor_an_export_picks_out_what_another_person_decided() {
    on_sqlite(async |server| {
        let (bot, ann, bob) =
            (server.agent("bot").await, server.reviewer("ann").await, server.reviewer("bob").await);
        let eve = server.auditor("eve").await;
        approved(&bot, &ann).await;
        for path in ["/v1/requests?by=ann", "/v1/requests/export?by=ann"] {
            assert_problem(&bob.get(path).await, 403, "about_another", None);
            ann.get(path).await.expect(200);
            eve.get(path).await.expect(200);
        }
        let reviewers = async |caller: &placet_testkit::Http| {
            caller.get("/v1/stats").await.expect(200)["reviewers"].as_array().map(Vec::len)
        };
        assert_eq!(
            (reviewers(&ann).await, reviewers(&bob).await, reviewers(&eve).await),
            (Some(1), Some(0), Some(0))
        );
    });
}

#[test]
fn a_reviewer_who_opened_a_request_is_not_measured_by_the_decision_before() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.kit.agent("bot").await, server.reviewer("ann").await);
        let agent = server.actor(&bot);
        let mut records = Vec::new();
        for n in 0..22 {
            let body = action_with(json!({"arguments": {"n": n}}));
            let record = agent.post("/v1/requests", body).await.expect(201);
            ann.get(&crate::support::at(&record, "")).await.expect(200);
            records.push(record);
        }
        server.kit.clock().advance(std::time::Duration::from_secs(5));
        for record in &records {
            decide(&ann, record, "approve").await.expect(200);
        }
        let mut pace = Value::Null;
        placet_testkit::until("the hub heard of every vote", async || {
            pace = ann.get("/v1/me/pace").await.expect(200);
            pace["approvals"] == 22
        })
        .await;
        assert_eq!((&pace["quick"], &pace["warned"]), (&json!(0), &json!(false)));
    });
}
