//! Calls that come too late, too early, twice, or from the wrong hands.

use std::time::Duration;

use placet_testkit::both;
use serde_json::json;

use crate::support::{
    action_with, approved, ask, assert_problem, at, decide, head, merged, on_sqlite, vote, vote_on_card,
};

both! {
    async fn a_second_decision_gets_the_final_record(server: Server) {
        let (bot, ann, bob) = (server.agent("bot").await, server.reviewer("ann").await, server.reviewer("bob").await);
        let record = ask(&bot).await;
        decide(&ann, &record, "approve").await.expect(200);
        let before = head(server).await;
        for reviewer in [&ann, &bob] {
            for word in ["approve", "deny"] {
                let answer = decide(reviewer, &record, word).await;
                assert_problem(&answer, 409, "already_decided", None);
                assert_eq!(answer.body["record"]["state"], "approved");
                assert_eq!(answer.body["record"]["decision"]["by"], json!(["ann"]));
            }
        }
        assert_eq!(head(server).await, before);
    }

    async fn a_decision_after_expiry_gets_the_final_record(server: Server) {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let record = bot.post("/v1/requests", action_with(json!({"expires_in": "1s"}))).await.expect(201);
        server.kit.clock().advance(Duration::from_secs(1));
        let answer = decide(&ann, &record, "approve").await;
        assert_problem(&answer, 409, "expired", None);
        assert_eq!(answer.body["record"]["state"], "expired");
        assert_eq!(bot.get(&at(&record, "")).await.expect(200)["state"], "expired");
        assert_problem(&decide(&ann, &record, "deny").await, 409, "expired", None);
    }

    async fn a_decision_after_cancel_gets_the_final_record(server: Server) {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let record = ask(&bot).await;
        assert_eq!(bot.post(&at(&record, "/cancel"), json!({"reason": "changed my mind"})).await.expect(200)["state"], "cancelled");
        let answer = decide(&ann, &record, "approve").await;
        assert_problem(&answer, 409, "cancelled", None);
        assert_eq!(answer.body["record"]["state"], "cancelled");
        assert_problem(&bot.post(&at(&record, "/cancel"), json!({})).await, 409, "cancelled", None);
        assert_problem(&bot.post(&at(&record, "/claim"), json!({})).await, 409, "not_approved", None);
    }
}

#[test]
fn a_decision_on_another_digest_or_an_old_version_is_stale() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let (record, other) = (ask(&bot).await, ask(&bot).await);
        let before = head(server).await;
        let foreign = merged(vote(&record, "approve"), json!({"digest": other["digest"]}));
        let answer = ann.post(&at(&record, "/decision"), foreign).await;
        assert_problem(&answer, 409, "stale_digest", None);
        assert_eq!(answer.body["record"]["digest"], record["digest"]);
        for version in [0, 2, u32::MAX] {
            let body = merged(vote(&record, "approve"), json!({"version": version}));
            assert_problem(&ann.post(&at(&record, "/decision"), body).await, 409, "stale_version", None);
        }
        assert_eq!(head(server).await, before);
        assert_eq!(bot.get(&at(&record, "")).await.expect(200)["state"], "pending");
    });
}

#[test]
fn a_vote_on_what_stood_before_an_edit_is_stale() {
    let two = serde_json::from_value(
        json!({"any": [{"all": [{"people": 2, "team": null}]}], "four_eyes": false, "step_up": null}),
    );
    crate::support::with_gate(
        |gate| gate.needs = two.expect("needs"),
        async |server| {
            let (bot, ann, bob) =
                (server.agent("bot").await, server.reviewer("ann").await, server.reviewer("bob").await);
            let record = ask(&bot).await;
            let edit = merged(vote(&record, "edit"), json!({"arguments": {"files": ["draft.md"]}}));
            let edited = ann.post(&at(&record, "/decision"), edit).await.expect(200);
            assert_eq!((&edited["state"], &edited["proposal"]["by"]), (&json!("pending"), &json!("ann")));
            assert_problem(&decide(&bob, &record, "approve").await, 409, "stale_digest", None);
            // The right digest with the version from before the edit is stale as well.
            let old = merged(vote(&edited, "approve"), json!({"version": record["version"]}));
            assert_problem(&bob.post(&at(&record, "/decision"), old).await, 409, "stale_version", None);
            let done = decide(&bob, &edited, "approve").await.expect(200);
            assert_eq!((&done["state"], &done["decision"]["decision"]), (&json!("approved"), &json!("edit")));
            let claimed = bot.post(&at(&record, "/claim"), json!({})).await.expect(200);
            assert_eq!(claimed["arguments"], json!({"files": ["draft.md"]}));
            assert_eq!(claimed["digest"], done["decision"]["digest"]);
        },
    );
}

#[test]
fn an_edit_cannot_change_the_tool_nor_break_the_given_schema() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let schema = json!({"type": "object", "properties": {"files": {"type": "array", "items": {"type": "string"}}}, "required": ["files"], "additionalProperties": false});
        let record =
            bot.post("/v1/requests", action_with(json!({"arguments_schema": schema}))).await.expect(201);
        let before = head(server).await;
        let edit = |more| merged(vote(&record, "edit"), more);
        let cases = [
            (edit(json!({"arguments": {"files": ["a"]}, "tool": "format_disk"})), "/tool"),
            (edit(json!({"arguments": {"files": [1]}})), "/arguments/files/0"),
            (edit(json!({"arguments": {}})), "/arguments"),
            (edit(json!({"arguments": {"files": ["a"], "force": true}})), "/arguments"),
            (edit(json!({"arguments": "a"})), "/arguments"),
            (edit(json!({})), "/arguments"),
            (edit(json!({"arguments": {"files": ["a"]}, "answer": 1})), "/answer"),
        ];
        for (body, pointer) in cases {
            assert_problem(&ann.post(&at(&record, "/decision"), body).await, 422, "invalid", Some(pointer));
        }
        assert_eq!(head(server).await, before);
        let edited = ann
            .post(&at(&record, "/decision"), edit(json!({"arguments": {"files": ["draft.md"]}})))
            .await
            .expect(200);
        assert_eq!(edited["tool"], "delete_files");
        assert_eq!(
            edited["arguments"],
            json!({"files": ["report.md"]}),
            "the record keeps what was proposed"
        );
        assert_eq!(edited["decision"]["arguments"], json!({"files": ["draft.md"]}));
    });
}

#[test]
fn a_word_that_the_agent_did_not_offer_is_refused() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let record = bot.post("/v1/requests", action_with(json!({"allowed": ["approve"]}))).await.expect(201);
        assert_eq!(record["allowed"], json!(["approve", "deny"]), "a no is always possible");
        let edit = merged(vote(&record, "edit"), json!({"arguments": {}}));
        assert_problem(&ann.post(&at(&record, "/decision"), edit).await, 422, "invalid", Some("/decision"));
        assert_eq!(decide(&ann, &record, "deny").await.expect(200)["state"], "denied");
    });
}

#[test]
fn four_eyes_and_teams_are_kept_over_http() {
    let needs = serde_json::from_value(
        json!({"any": [{"all": [{"people": 1, "team": "ops"}]}], "four_eyes": true, "step_up": null}),
    );
    crate::support::with_gate(
        |gate| gate.needs = needs.expect("needs"),
        async |server| {
            let kit = &server.kit;
            let owner = server.actor(&kit.reviewer_in("owner", &["ops"]).await);
            let mate = server.actor(&kit.reviewer_in("mate", &["ops"]).await);
            let other = server.actor(&kit.reviewer_in("other", &["sales"]).await);
            let bot = server.actor(&kit.agent_of("bot", "owner").await);
            let record = ask(&bot).await;
            assert_problem(&decide(&owner, &record, "approve").await, 403, "self_approval", None);
            assert_problem(&decide(&other, &record, "approve").await, 403, "not_eligible", None);
            assert_eq!(decide(&mate, &record, "approve").await.expect(200)["state"], "approved");
            let record = ask(&bot).await;
            assert_eq!(
                decide(&owner, &record, "deny").await.expect(200)["state"],
                "denied",
                "an owner can always deny"
            );
        },
    );
}

#[test]
fn a_step_up_needs_the_code_that_is_shown() {
    let needs = serde_json::from_value(
        json!({"any": [{"all": [{"people": 1, "team": null}]}], "four_eyes": false, "step_up": "code"}),
    );
    crate::support::with_gate(
        |gate| gate.needs = needs.expect("needs"),
        async |server| {
            let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
            let record = ask(&bot).await;
            assert!(record.get("display").is_none(), "the agent is not shown the code");
            assert_problem(&decide(&ann, &record, "approve").await, 403, "step_up_required", None);
            let ann = crate::browser::signed_in(server, "ann", &["reviewer"]).await.page();
            let shown = ann.get(&at(&record, "")).await.expect(200);
            let code = shown["display"]["code"].clone();
            let wrong = if code == "000000" { "000001" } else { "000000" };
            let with = |code| merged(vote_on_card(&shown, "approve"), json!({"step_up": {"code": code}}));
            assert_problem(
                &ann.post(&at(&record, "/decision"), with(json!(wrong))).await,
                422,
                "invalid",
                Some("/step_up/code"),
            );
            let done = ann.post(&at(&record, "/decision"), with(code)).await.expect(200);
            assert_eq!((&done["state"], &done["votes"][0]["auth"]), (&json!("approved"), &json!("code")));
        },
    );
}

#[test]
fn revoke_reassign_and_resolve_are_refused_where_they_do_not_fit() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let record = ask(&bot).await;
        assert_problem(&ann.post(&at(&record, "/revoke"), json!({})).await, 409, "not_approved", None);
        let settle = json!({"status": "succeeded", "reason": "I saw it"});
        assert_problem(&ann.post(&at(&record, "/resolve"), settle.clone()).await, 409, "not_unknown", None);
        decide(&ann, &record, "approve").await.expect(200);
        assert_problem(
            &ann.post(&at(&record, "/reassign"), json!({"to": ["ann"]})).await,
            409,
            "already_decided",
            None,
        );
        assert_eq!(
            ann.post(&at(&record, "/revoke"), json!({"reason": "wait"})).await.expect(200)["state"],
            "revoked"
        );
        assert_problem(&ann.post(&at(&record, "/revoke"), json!({})).await, 409, "revoked", None);
        assert_problem(&bot.post(&at(&record, "/claim"), json!({})).await, 409, "not_approved", None);
        let claimed = approved(&bot, &ann).await;
        bot.post(&at(&claimed, "/claim"), json!({})).await.expect(200);
        assert_problem(&ann.post(&at(&claimed, "/revoke"), json!({})).await, 409, "already_claimed", None);
        assert_problem(&bot.post(&at(&claimed, "/cancel"), json!({})).await, 409, "already_claimed", None);
        server.kit.clock().advance(Duration::from_hours(1));
        let settled = ann.post(&at(&claimed, "/resolve"), settle).await.expect(200);
        assert_eq!(
            (&settled["state"], &settled["outcome"]["resolved_by"]),
            (&json!("succeeded"), &json!("ann"))
        );
    });
}
