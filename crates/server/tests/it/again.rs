//! `Placet-Weak-Key`: an agent that was restarted finds what it asked for, as long as that is open.

use placet_testkit::{Http, Server, both};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    support::{action, action_with, assert_problem, at, decide, head, merged, on_sqlite, soon},
    waits::parked,
};

/// The same caller as a process that has just started: a weak key it can compute again, an idempotency key it cannot.
fn restarted(bot: &Http, strong: &str) -> Http {
    bot.key(strong).with("placet-weak-key", "w1:session-1/delete_files/0")
}

both! {
    async fn a_restarted_agent_finds_what_it_asked_for_and_runs_it_once(backend: Backend) {
        let server = Server::start(backend).await;
        let (bot, ann) = (server.kit.agent("bot").await, server.kit.reviewer("ann").await);
        let first = restarted(&server.actor(&bot), "one").post("/v1/requests", action()).await.expect(201);
        // Both restart: the agent, and the server.
        let server = server.restart().await;
        let entries = head(&server).await;
        let (bot, ann) = (server.actor(&bot), server.actor(&ann));
        let found = restarted(&bot, "two").post("/v1/requests", action()).await.expect(200);
        assert_eq!((&found["id"], &found["state"]), (&first["id"], &json!("pending")));
        assert_eq!(head(&server).await, entries, "no second request, and nothing else either");
        decide(&ann, &first, "approve").await.expect(200);
        let claiming = restarted(&bot, "three").with("placet-claimant", "the process that runs it");
        let claimed = claiming.post("/v1/requests?claim=true", action()).await.expect(200);
        assert_eq!((&claimed["id"], &claimed["state"]), (&first["id"], &json!("claimed")));
        assert!(claimed["permit"].is_string());
        // Claimed is used up: whoever asks now asks anew, and the keys from before stand for the old one without a permit.
        let anew = restarted(&bot, "four").with("placet-claimant", "a process that came later");
        let anew = anew.post("/v1/requests?claim=true", action()).await.expect(201);
        assert_eq!((anew["id"] == first["id"], &anew["state"]), (false, &json!("pending")));
        for strong in ["one", "two", "three"] {
            let replayed = bot.key(strong).post("/v1/requests", action()).await.expect(200);
            assert_eq!((&replayed["id"], replayed.get("permit")), (&first["id"], None), "{strong}");
        }
        server.finish().await;
    }

    async fn of_32_processes_that_start_at_once_one_makes_the_request(server: Server) {
        let bot = server.agent("bot").await;
        let before = head(server).await;
        let mut processes = JoinSet::new();
        for n in 0..32 {
            let process = restarted(&bot, &format!("random-{n}"));
            processes.spawn(async move { process.post("/v1/requests", action()).await });
        }
        let answers = processes.join_all().await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
        assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 31);
        assert!(answers.iter().all(|answer| answer.body["id"] == answers[0].body["id"]));
        assert_eq!(head(server).await, before + 1);
    }

    async fn of_16_that_find_one_approval_one_gets_the_permit(server: Server) {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let first = restarted(&bot, "first").post("/v1/requests", action()).await.expect(201);
        let mut processes = JoinSet::new();
        for n in 0..16 {
            let process = restarted(&bot, &format!("random-{n}")).with("placet-claimant", &format!("a secret of process {n:02}"));
            processes.spawn(async move { process.post("/v1/requests?wait=60s&claim=true", action()).await });
        }
        parked(server, 16).await;
        decide(&ann, &first, "approve").await.expect(200);
        let answers = soon("all sixteen", processes.join_all()).await;
        assert!(answers.iter().all(|answer| answer.status == 200 && answer.body["id"] == first["id"]));
        assert_eq!(answers.iter().filter(|answer| answer.body["permit"].is_string()).count(), 1);
    }
}

#[test]
fn only_what_the_agent_says_about_it_may_differ() {
    on_sqlite(async |server| {
        let bot = server.agent("bot").await;
        let full = action_with(
            json!({"summary": "one", "context": {"call": 1}, "group": "g1", "risk": "medium",
            "allowed": ["approve", "deny"], "expires_in": "5m", "on_behalf_of": "carl", "permit": true, "arguments_schema": {}}),
        );
        let first = restarted(&bot, "first").post("/v1/requests", full.clone()).await.expect(201);
        let said = [
            json!({"summary": "other words"}),
            json!({"summary": null}),
            json!({"context": {"call": 2}}),
            json!({"group": "g2"}),
        ];
        for (n, more) in said.into_iter().enumerate() {
            let found =
                restarted(&bot, &format!("s{n}")).post("/v1/requests", merged(full.clone(), more)).await;
            assert_eq!(found.expect(200)["id"], first["id"]);
        }
        let asked = [
            json!({"arguments": {"files": ["other.md"]}}),
            json!({"tool": "delete_file"}),
            json!({"session": "s-2"}),
            json!({"risk": "critical"}),
            json!({"risk": "low"}),
            json!({"risk": null}),
            json!({"allowed": ["approve", "edit", "deny"]}),
            json!({"expires_in": "1h"}),
            json!({"on_behalf_of": "dora"}),
            json!({"on_behalf_of": null}),
            json!({"permit": false}),
            json!({"arguments_schema": {"type": "object"}}),
        ];
        for (n, more) in asked.into_iter().enumerate() {
            let body = merged(full.clone(), more);
            let made = restarted(&bot, &format!("a{n}")).post("/v1/requests", body.clone()).await;
            assert_eq!(made.status, 201, "{body}");
        }
    });
}

#[test]
fn an_approval_for_one_user_is_never_found_by_another() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let of = |context: Value| action_with(json!({"context": context}));
        let alice = json!({"user": "alice", "tenant": "t", "app": "a", "cwd": "/srv", "lineage": ["planner"], "turn": "1", "call": 1});
        let first = restarted(&bot, "first").post("/v1/requests", of(alice.clone())).await.expect(201);
        decide(&ann, &first, "approve").await.expect(200);
        let others = ["user", "tenant", "app", "cwd", "lineage", "turn"].into_iter().flat_map(|field| {
            let mut absent = alice.clone();
            absent.as_object_mut().unwrap().remove(field);
            let with = |value: Value| merged(alice.clone(), json!({field: value}));
            [absent, with(json!("mallory")), with(json!("")), with(json!([])), with(json!(["planner", "x"]))]
        });
        for (n, other) in others.chain([json!({"call": 1})]).enumerate() {
            let asks = restarted(&bot, &format!("other-{n}"));
            let made = asks.post("/v1/requests?claim=true", of(other.clone())).await.expect(201);
            assert_ne!(made["id"], first["id"], "{other}");
            assert_eq!((&made["state"], made.get("permit")), (&json!("pending"), None), "{other}");
        }
        // All of them under one key, and each still finds what is its own.
        let again = merged(alice, json!({"call": 2, "anything": "else"}));
        let again = restarted(&bot, "second").post("/v1/requests?claim=true", of(again)).await.expect(200);
        assert_eq!((&again["id"], &again["state"]), (&first["id"], &json!("claimed")));
    });
}

#[test]
fn every_kind_is_found_while_it_waits_and_none_without_a_permit_afterwards() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let kinds = [
            (
                json!({"kind": "confirmation", "session": "s", "message": "Sure?"}),
                json!({"decision": "approve"}),
            ),
            (
                json!({"kind": "input", "session": "s", "question": "Which?", "input": {"type": "text"}}),
                json!({"decision": "respond", "answer": "this"}),
            ),
            (
                json!({"kind": "plan", "session": "s", "title": "t", "steps": [{"id": "a", "action": "x", "description": ""}]}),
                json!({"decision": "approve"}),
            ),
            (action_with(json!({"permit": false})), json!({"decision": "approve"})),
        ];
        for (n, (body, decision)) in kinds.into_iter().enumerate() {
            let ask =
                async |k: u32| restarted(&bot, &format!("{n}-{k}")).post("/v1/requests", body.clone()).await;
            let first = ask(1).await.expect(201);
            assert_eq!(ask(2).await.expect(200)["id"], first["id"]);
            let vote = merged(json!({"digest": first["digest"], "version": 1}), decision);
            ann.post(&at(&first, "/decision"), vote).await.expect(200);
            assert_ne!(ask(3).await.expect(201)["id"], first["id"], "{body}");
        }
    });
}

#[test]
fn an_approval_by_policy_is_found_until_it_is_claimed() {
    on_sqlite(async |server| {
        let bot = server.agent("bot").await;
        server
            .kit
            .put_policy("version = 1\n[[rule]]\nname = \"all\"\neffect = \"allow\"\nkind = [\"action\"]\n")
            .await;
        let first = restarted(&bot, "one").post("/v1/requests", action()).await.expect(201);
        assert_eq!(first["state"], "approved");
        // Crashed before the claim, and started again: the approval is not wasted.
        let again = restarted(&bot, "two").post("/v1/requests?claim=true", action()).await.expect(200);
        assert_eq!((&again["id"], again["permit"].is_string()), (&first["id"], true));
        assert_ne!(
            restarted(&bot, "three").post("/v1/requests", action()).await.expect(201)["id"],
            first["id"]
        );
    });
}

#[test]
fn a_weak_key_is_one_agents_and_ends_with_it() {
    on_sqlite(async |server| {
        let (actor, other) = (server.kit.agent("bot").await, server.agent("other").await);
        let bot = server.actor(&actor);
        let mine = restarted(&bot, "one").post("/v1/requests", action()).await.expect(201);
        let theirs = restarted(&other, "one").post("/v1/requests", action()).await.expect(201);
        assert_eq!((&theirs["agent"], theirs["id"] == mine["id"]), (&json!("other"), false));
        // A second key of the same agent is rotation.
        let second = server.agent("bot").await;
        assert_eq!(
            restarted(&second, "two").post("/v1/requests", action()).await.expect(200)["id"],
            mine["id"]
        );
        server.kit.revoke_key(&actor).await;
        assert_problem(
            &restarted(&bot, "three").post("/v1/requests", action()).await,
            401,
            "unauthorized",
            None,
        );
        assert_eq!(
            restarted(&second, "four").post("/v1/requests", action()).await.expect(200)["id"],
            mine["id"]
        );
    });
}

#[test]
fn a_weak_key_is_not_an_idempotency_key() {
    on_sqlite(async |server| {
        let bot = server.agent("bot").await;
        let weak = |key: &str| bot.clone().with("placet-weak-key", key);
        let strong = bot.key("k").post("/v1/requests", action()).await.expect(201);
        let by_weak = weak("k").post("/v1/requests", action()).await.expect(201);
        assert_ne!(strong["id"], by_weak["id"]);
        // Without an idempotency key it works alone, and another body is no conflict.
        assert_eq!(weak("k").post("/v1/requests", action()).await.expect(200)["id"], by_weak["id"]);
        weak("k").post("/v1/requests", action_with(json!({"session": "s-2"}))).await.expect(201);
        // It means nothing to the other calls.
        weak("k").post(&at(&by_weak, "/cancel"), json!({})).await.expect(200);
    });
}

#[test]
fn weak_keys_that_are_no_keys_are_refused() {
    on_sqlite(async |server| {
        let bot = server.agent("bot").await;
        let before = head(server).await;
        for key in ["", &"k".repeat(256), "caf\u{e9}", "two words", "tab\tbed"] {
            let answer = bot.clone().with("placet-weak-key", key).post("/v1/requests", action()).await;
            assert_problem(&answer, 422, "invalid", None);
            assert!(answer.body["detail"].as_str().is_some_and(|detail| detail.contains("Placet-Weak-Key")));
        }
        assert_eq!(head(server).await, before);
        let longest = bot.clone().with("placet-weak-key", &"k".repeat(255));
        let made: Value = longest.post("/v1/requests", action()).await.expect(201);
        assert_eq!(longest.post("/v1/requests", action()).await.expect(200)["id"], made["id"]);
    });
}
