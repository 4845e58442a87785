//! Claiming and reporting: once, by the owner, in time.

use std::time::Duration;

use placet_testkit::both;
use serde_json::json;

use crate::support::{action, action_with, approved, ask, assert_problem, at, decide, on_sqlite};

both! {
    async fn a_permit_is_claimed_once_and_reported(server: Server) {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let record = approved(&bot, &ann).await;
        let claimed = bot.post(&at(&record, "/claim"), json!({})).await.expect(200);
        assert_eq!(claimed["arguments"], action()["arguments"]);
        assert_eq!(claimed["digest"], record["digest"]);
        assert!(claimed["permit"].as_str().is_some_and(|permit| permit.starts_with("prm_")));
        let again = bot.post(&at(&record, "/claim"), json!({})).await;
        assert_problem(&again, 409, "already_claimed", None);
        assert_eq!(again.body["record"]["state"], "claimed");
        assert!(!again.body.to_string().contains("prm_"));
        let report = json!({"permit": claimed["permit"], "status": "succeeded", "result_digest": "sha256:ab", "note": "done"});
        let reported = bot.post(&at(&record, "/outcome"), report.clone()).await.expect(200);
        assert_eq!((&reported["state"], &reported["outcome"]["note"]), (&json!("succeeded"), &json!("done")));
        assert_eq!(bot.post(&at(&record, "/outcome"), report).await.expect(200)["version"], reported["version"], "the same report again is the same answer");
        let other = json!({"permit": claimed["permit"], "status": "failed"});
        assert_problem(&bot.post(&at(&record, "/outcome"), other).await, 409, "already_reported", None);
    }

    async fn a_claim_after_the_deadline_has_lapsed(server: Server) {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let record = approved(&bot, &ann).await;
        server.kit.clock().advance(Duration::from_mins(15));
        let answer = bot.post(&at(&record, "/claim"), json!({})).await;
        assert_problem(&answer, 409, "lapsed", None);
        assert_eq!(answer.body["record"]["state"], "lapsed");
        assert_problem(&bot.post(&at(&record, "/claim"), json!({})).await, 409, "lapsed", None);
    }

    async fn the_same_claimant_gets_the_same_permit_and_nobody_else_does(server: Server) {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let record = approved(&bot, &ann).await;
        let mine = json!({"claimant": "a secret that stays in memory"});
        let first = bot.post(&at(&record, "/claim"), mine.clone()).await.expect(200);
        let again = bot.post(&at(&record, "/claim"), mine.clone()).await.expect(200);
        assert_eq!(first, again);
        let theirs = json!({"claimant": "another secret of another worker"});
        assert_problem(&bot.post(&at(&record, "/claim"), theirs).await, 409, "already_claimed", None);
        assert_problem(&bot.post(&at(&record, "/claim"), json!({})).await, 409, "already_claimed", None);
        bot.post(&at(&record, "/outcome"), json!({"permit": first["permit"], "status": "failed"})).await.expect(200);
        assert_problem(&bot.post(&at(&record, "/claim"), mine).await, 409, "already_claimed", None);
    }
}

#[test]
fn another_agent_can_neither_read_claim_report_nor_cancel() {
    on_sqlite(async |server| {
        let (bot, ann, thief) =
            (server.agent("bot").await, server.reviewer("ann").await, server.agent("thief").await);
        let record = approved(&bot, &ann).await;
        assert_problem(&thief.get(&at(&record, "")).await, 404, "not_found", None);
        assert_problem(&thief.post(&at(&record, "/claim"), json!({})).await, 404, "not_found", None);
        assert_problem(&thief.post(&at(&record, "/cancel"), json!({})).await, 404, "not_found", None);
        let claimed = bot.post(&at(&record, "/claim"), json!({})).await.expect(200);
        let report = json!({"permit": claimed["permit"], "status": "succeeded"});
        assert_problem(&thief.post(&at(&record, "/outcome"), report).await, 404, "not_found", None);
        assert_eq!(bot.get(&at(&record, "")).await.expect(200)["state"], "claimed");
    });
}

#[test]
fn what_is_not_approved_has_no_permit() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let pending = ask(&bot).await;
        let answer = bot.post(&at(&pending, "/claim"), json!({})).await;
        assert_problem(&answer, 409, "not_approved", None);
        assert_eq!(answer.body["record"]["state"], "pending");
        let denied = ask(&bot).await;
        decide(&ann, &denied, "deny").await.expect(200);
        assert_problem(&bot.post(&at(&denied, "/claim"), json!({})).await, 409, "not_approved", None);
        let without = bot.post("/v1/requests", action_with(json!({"permit": false}))).await.expect(201);
        assert_eq!(without["claimable"], false);
        decide(&ann, &without, "approve").await.expect(200);
        assert_problem(&bot.post(&at(&without, "/claim"), json!({})).await, 409, "not_approved", None);
    });
}

#[test]
fn a_wrong_permit_reports_nothing() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let (record, other) = (approved(&bot, &ann).await, approved(&bot, &ann).await);
        let report = |permit| json!({"permit": permit, "status": "succeeded"});
        assert_problem(
            &bot.post(&at(&record, "/outcome"), report(json!("prm_x"))).await,
            409,
            "not_claimed",
            None,
        );
        bot.post(&at(&record, "/claim"), json!({})).await.expect(200);
        let foreign = bot.post(&at(&other, "/claim"), json!({})).await.expect(200);
        assert_problem(
            &bot.post(&at(&record, "/outcome"), report(foreign["permit"].clone())).await,
            403,
            "wrong_permit",
            None,
        );
        assert_problem(
            &bot.post(&at(&record, "/outcome"), report(json!(""))).await,
            403,
            "wrong_permit",
            None,
        );
        assert_eq!(bot.get(&at(&record, "")).await.expect(200)["state"], "claimed");
    });
}

#[test]
fn a_report_that_comes_late_still_counts() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let record = approved(&bot, &ann).await;
        let claimed = bot.post(&at(&record, "/claim"), json!({})).await.expect(200);
        server.kit.clock().advance(Duration::from_hours(1));
        assert_eq!(bot.get(&at(&record, "")).await.expect(200)["state"], "unknown");
        let report = json!({"permit": claimed["permit"], "status": "failed"});
        assert_eq!(bot.post(&at(&record, "/outcome"), report).await.expect(200)["state"], "failed");
    });
}
