//! The same idempotency key gives the same result, whatever happened in between.

use placet_testkit::both;
use serde_json::json;
use tokio::task::JoinSet;

use crate::support::{
    action, action_with, approved, ask, assert_problem, at, decide, first_pending, head, merged, on_sqlite,
    soon, vote,
};

both! {
    async fn a_replayed_create_answers_the_same_request_as_it_stands(server: Server) {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let keyed = bot.key("k-1");
        let first = keyed.post("/v1/requests", action()).await.expect(201);
        let before = head(server).await;
        assert_eq!(keyed.post("/v1/requests", action()).await.expect(200), first);
        // The canonical body is compared: another order and other spaces are the same body.
        let shuffled = r#"{ "tool":"delete_files", "arguments":{"files":["report.md"]}, "session":"s-1", "kind":"action" }"#;
        assert_eq!(keyed.post_bytes("/v1/requests", shuffled).await.expect(200)["id"], first["id"]);
        assert_eq!(head(server).await, before);
        let other = keyed.post("/v1/requests", action_with(json!({"session": "s-2"}))).await;
        assert_problem(&other, 409, "idempotency_key_reused", None);
        decide(&ann, &first, "approve").await.expect(200);
        let replayed = keyed.post("/v1/requests", action()).await.expect(200);
        assert_eq!((&replayed["id"], &replayed["state"]), (&first["id"], &json!("approved")));
        assert!(replayed.get("permit").is_none(), "a replay alone never returns a permit");
    }

    async fn of_32_concurrent_twins_one_makes_the_request(server: Server) {
        let bot = server.agent("bot").await;
        let before = head(server).await;
        let mut twins = JoinSet::new();
        for _ in 0..32 {
            let keyed = bot.key("twins");
            twins.spawn(async move { keyed.post("/v1/requests", action()).await });
        }
        let answers = twins.join_all().await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
        assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 31);
        assert!(answers.iter().all(|answer| answer.body["id"] == answers[0].body["id"]));
        assert_eq!(head(server).await, before + 1);
    }
}

#[test]
fn a_key_belongs_to_one_principal_and_one_path() {
    on_sqlite(async |server| {
        let (bot, other) = (server.agent("bot").await, server.agent("other").await);
        let mine = bot.key("same").post("/v1/requests", action()).await.expect(201);
        let theirs = other.key("same").post("/v1/requests", action()).await.expect(201);
        assert_ne!(mine["id"], theirs["id"]);
        bot.key("same").post(&at(&mine, "/cancel"), json!({})).await.expect(200);
    });
}

#[test]
fn refusals_are_not_remembered() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let keyed = bot.key("k");
        assert_eq!(keyed.post("/v1/requests", json!({"kind": "action"})).await.status, 422);
        let record = keyed.post("/v1/requests", action()).await.expect(201);
        let claim = bot.key("claim");
        assert_problem(&claim.post(&at(&record, "/claim"), json!({})).await, 409, "not_approved", None);
        decide(&ann, &record, "approve").await.expect(200);
        claim.post(&at(&record, "/claim"), json!({})).await.expect(200);
    });
}

#[test]
fn every_post_can_be_repeated_with_its_key() {
    on_sqlite(async |server| {
        let (bot, ann, admin) = (server.agent("bot").await, server.reviewer("ann").await, server.admin());
        let record = ask(&bot).await;
        let reassign = json!({"to": ["ann"]});
        ann.key("r").post(&at(&record, "/reassign"), reassign.clone()).await.expect(200);
        let before = head(server).await;
        ann.key("r").post(&at(&record, "/reassign"), reassign).await.expect(200);
        assert_eq!(head(server).await, before, "the second reassign is the first one");
        let fresh = bot.get(&at(&record, "")).await.expect(200);
        let decided = ann.key("d").post(&at(&record, "/decision"), vote(&fresh, "approve")).await.expect(200);
        assert_eq!(
            ann.key("d").post(&at(&record, "/decision"), vote(&fresh, "approve")).await.expect(200)["version"],
            decided["version"]
        );
        assert_problem(
            &ann.key("d").post(&at(&record, "/decision"), vote(&fresh, "deny")).await,
            409,
            "idempotency_key_reused",
            None,
        );
        let claimed = bot.key("c").post(&at(&record, "/claim"), json!({})).await.expect(200);
        assert_eq!(
            bot.key("c").post(&at(&record, "/claim"), json!({})).await.expect(200),
            claimed,
            "a lost answer can be asked for again"
        );
        assert_problem(
            &bot.key("other").post(&at(&record, "/claim"), json!({})).await,
            409,
            "already_claimed",
            None,
        );
        let report = json!({"permit": claimed["permit"], "status": "succeeded"});
        bot.key("o").post(&at(&record, "/outcome"), report.clone()).await.expect(200);
        bot.key("o").post(&at(&record, "/outcome"), report).await.expect(200);
        let key = json!({"role": "agent", "name": "second"});
        let made = admin.key("k").post("/v1/keys", key.clone()).await.expect(201);
        let again = admin.key("k").post("/v1/keys", key).await.expect(200);
        assert_eq!((&again["id"], &again["key"]), (&made["id"], &json!(null)), "a key is shown once");
        let batch = |record: &serde_json::Value| {
            json!([merged(vote(record, "approve"), json!({"id": record["id"]}))])
        };
        let more = ask(&bot).await;
        ann.key("b").post("/v1/decisions", batch(&more)).await.expect(200);
        let again = ann.key("b").post("/v1/decisions", batch(&more)).await.expect(200);
        assert_eq!(again["results"][0]["status"], 200);
    });
}

#[test]
fn keys_that_are_no_keys_are_refused() {
    on_sqlite(async |server| {
        let bot = server.agent("bot").await;
        let before = head(server).await;
        for key in ["", &"k".repeat(256), "caf\u{e9}"] {
            let answer = bot.key(key).post("/v1/requests", action()).await;
            assert_problem(&answer, 422, "invalid", None);
        }
        assert_eq!(head(server).await, before);
        bot.key(&"k".repeat(255)).post("/v1/requests", action()).await.expect(201);
    });
}

#[test]
fn a_create_can_wait_and_claim_in_one_call() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let mut asking = JoinSet::new();
        let caller = bot.key("once").with("placet-claimant", "a secret of this worker");
        asking.spawn({
            let caller = caller.clone();
            async move { caller.post("/v1/requests?wait=60s&claim=true", action()).await }
        });
        let pending = first_pending(&ann).await;
        decide(&ann, &pending, "approve").await.expect(200);
        let answered = soon("the end of the create", asking.join_next())
            .await
            .expect("one call")
            .expect("it ends well")
            .expect(201);
        assert_eq!(answered["state"], "claimed");
        let permit = answered["permit"].as_str().expect("a permit").to_owned();
        // Without `claim` a replay shows no permit; with it, only to the same claimant.
        assert!(bot.key("once").post("/v1/requests", action()).await.expect(200).get("permit").is_none());
        assert!(caller.post("/v1/requests", action()).await.expect(200).get("permit").is_none());
        assert_eq!(caller.post("/v1/requests?claim=true", action()).await.expect(200)["permit"], permit);
        let thief = bot.key("once").with("placet-claimant", "a secret of another worker");
        let refused = thief.post("/v1/requests?claim=true", action()).await.expect(200);
        assert_eq!((&refused["state"], refused.get("permit")), (&json!("claimed"), None));
        assert!(
            bot.key("once")
                .post("/v1/requests?claim=true", action())
                .await
                .expect(200)
                .get("permit")
                .is_none()
        );
        bot.post(&at(&pending, "/outcome"), json!({"permit": permit, "status": "succeeded"}))
            .await
            .expect(200);
    });
}

#[test]
fn a_create_that_was_not_approved_in_time_has_no_permit() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let waited = soon("the end of a short wait", bot.post("/v1/requests?wait=50ms&claim=true", action()))
            .await
            .expect(201);
        assert_eq!((&waited["state"], waited.get("permit")), (&json!("pending"), None));
        let keyed = bot.key("denied");
        let record = keyed.post("/v1/requests", action()).await.expect(201);
        decide(&ann, &record, "deny").await.expect(200);
        let denied = keyed.post("/v1/requests?wait=60s&claim=true", action()).await.expect(200);
        assert_eq!((&denied["state"], denied.get("permit")), (&json!("denied"), None));
        let keyed = bot.key("yes");
        let record = keyed.post("/v1/requests?claim=true", action()).await.expect(201);
        assert_eq!(record["state"], "pending");
        decide(&ann, &record, "approve").await.expect(200);
        let late = keyed.post("/v1/requests?claim=true", action()).await.expect(200);
        assert!(late["permit"].as_str().is_some_and(|permit| permit.starts_with("prm_")));
    });
}

#[test]
fn a_claimant_in_a_header_is_checked_before_anything_is_written() {
    on_sqlite(async |server| {
        let bot = server.agent("bot").await;
        let before = head(server).await;
        for claimant in ["", "short", &"x".repeat(257), "caf\u{e9} caf\u{e9} caf\u{e9} caf\u{e9}"] {
            let answer =
                bot.clone().with("placet-claimant", claimant).post("/v1/requests?claim=true", action()).await;
            assert_problem(&answer, 422, "invalid", None);
        }
        assert_eq!(head(server).await, before);
    });
}

#[test]
fn a_replay_after_the_claim_still_names_the_final_state() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let record = approved(&bot, &ann).await;
        let claimed = bot.post(&at(&record, "/claim"), json!({})).await.expect(200);
        bot.post(&at(&record, "/outcome"), json!({"permit": claimed["permit"], "status": "failed"}))
            .await
            .expect(200);
        let waited =
            soon("a wait without a reason to wait", bot.get(&at(&record, "?wait=60s"))).await.expect(200);
        assert_eq!(waited["state"], "failed");
    });
}
