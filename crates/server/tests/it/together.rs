//! What waits together, over HTTP: for reviewers who read one record, and decided item by item.

use placet_testkit::Http;
use serde_json::{Value, json};

use crate::support::{action_with, at, on_sqlite};

async fn call(agent: &Http, file: &str) -> Value {
    let claims = json!({"arguments": {"files": [file]}, "session": "s", "group": "turn"});
    let agent = agent.clone().with("Placet-Door", "hook-program");
    agent.post("/v1/requests", action_with(claims)).await.expect(201)
}

#[test]
fn a_reviewer_reads_what_waits_with_a_request_and_decides_exactly_that() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let (one, two) = (call(&bot, "a").await, call(&bot, "b").await);
        let record = ann.get(&at(&one, "")).await.expect(200);
        let items = record["together"]["items"].as_array().expect("a list").clone();
        assert_eq!(record["together"]["more"], 0);
        // Asked for in one moment, so their order means nothing.
        for request in [&one, &two] {
            let item = items.iter().find(|item| item["id"] == request["id"]).expect("it is listed");
            assert_eq!(item["digest"], request["digest"]);
        }
        assert_eq!(items.len(), 2);
        // An agent is not told, and neither is who reads a list.
        for answer in [&one, &bot.get(&at(&one, "")).await.expect(200)] {
            assert_eq!(answer.get("together"), None, "{answer}");
        }
        let page = ann.get("/v1/requests?state=pending").await.expect(200);
        assert!(page["items"].as_array().unwrap().iter().all(|item| item.get("together").is_none()));

        let late = call(&bot, "c").await;
        let batch: Vec<Value> = items
            .iter()
            .map(|item| json!({"id": item["id"], "digest": item["digest"], "version": item["version"], "decision": "approve"}))
            .collect();
        let stale = json!([{"id": late["id"], "digest": one["digest"], "version": 1, "decision": "approve"}]);
        let refused = ann.post("/v1/decisions", stale).await.expect(200);
        assert_eq!(refused["results"][0]["code"], "stale_digest", "the digest of another item is no yes");
        let answer = ann.post("/v1/decisions", json!(batch)).await.expect(200);
        assert!(answer["results"].as_array().unwrap().iter().all(|one| one["status"] == 200), "{answer}");
        let states = [&one, &two, &late].map(|request| at(request, ""));
        let mut seen = Vec::new();
        for path in &states {
            let record = ann.get(path).await.expect(200);
            assert_eq!(record.get("together"), None, "nothing waits with it any more");
            seen.push(record["state"].clone());
        }
        assert_eq!(seen, ["approved", "approved", "pending"]);
    });
}
