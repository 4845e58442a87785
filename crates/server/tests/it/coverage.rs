//! What agents report of themselves, over HTTP.

use serde_json::{Value, json};

use crate::support::on_sqlite;

fn report(status: &str) -> Value {
    json!({"framework": "google-adk", "agent": "desk", "parts": [
        {"name": "refund", "kind": "tool", "agent": "desk", "status": "gated", "why": "each call asks"},
        {"name": "google_search", "kind": "hosted", "agent": "desk", "status": status, "why": "the provider runs it"},
    ]})
}

#[test]
fn a_report_is_kept_shown_and_forgotten() {
    on_sqlite(async |server| {
        let (root, bot) = (server.admin(), server.agent("bot").await);
        let put = bot.put("/v1/coverage", report("uncovered")).await.expect(200);
        assert_eq!(put["covered"], "partial");
        assert_eq!(put["coverage"], json!([report("uncovered")]));
        let listed = server.reviewer("ann").await.get("/v1/agents").await.expect(200);
        assert!(listed["items"].as_array().unwrap().contains(&put), "{listed}");
        let put = bot.put("/v1/coverage", report("gated")).await.expect(200);
        assert_eq!((&put["covered"], put["coverage"].as_array().unwrap().len()), (&json!("complete"), 1));
        let forgotten = root.delete("/v1/agents/bot/coverage").await.expect(200);
        assert_eq!((&forgotten["covered"], &forgotten["coverage"]), (&json!("unknown"), &json!([])));
    });
}

#[test]
fn a_report_that_cannot_be_kept_is_refused_with_its_place() {
    on_sqlite(async |server| {
        let bot = server.agent("bot").await;
        let with = |pointer: &str, value: Value| {
            let mut bad = report("gated");
            *bad.pointer_mut(pointer).unwrap() = value;
            bad
        };
        for (bad, place) in [
            (with("/framework", json!("")), "/framework"),
            (with("/agent", json!("x".repeat(201))), "/agent"),
            (with("/parts", json!(vec![report("gated")["parts"][0].clone(); 257])), "/parts"),
            (with("/parts/0/name", json!("a\nb")), "/parts"),
            (with("/parts/0/why", json!("x".repeat(301))), "/parts"),
        ] {
            let refused = bot.put("/v1/coverage", bad.clone()).await;
            assert_eq!((refused.status, &refused.body["pointer"]), (422, &json!(place)), "{bad}");
        }
        let mut unknown = report("gated");
        unknown["complete"] = json!(true);
        for bad in [unknown, with("/parts/0/status", json!("fine")), with("/parts", json!(null)), json!([])] {
            assert_eq!(bot.put("/v1/coverage", bad.clone()).await.status, 422, "{bad}");
        }
        for number in 0..8 {
            bot.put("/v1/coverage", with("/agent", json!(number.to_string()))).await.expect(200);
        }
        let refused = bot.put("/v1/coverage", report("gated")).await;
        assert_eq!((refused.status, &refused.body["code"]), (429, &json!("too_many_reports")));
    });
}
