//! Two people, two workers, many twins: whoever comes second learns what the first one did.

use std::sync::Arc;

use placet_testkit::{Answer, Backend, Http, Kit, Server};
use serde_json::{Value, json};
use tokio::{sync::Barrier, task::JoinSet};

use crate::support::{action, approved, ask, assert_problem, at, decide, on_sqlite, rounds, vote};

/// Both at the same instant.
async fn together(a: (&Http, Value), b: (&Http, Value), path: &str) -> [Answer; 2] {
    let barrier = Arc::new(Barrier::new(2));
    let mut tasks = JoinSet::new();
    for (index, (caller, body)) in [a, b].into_iter().enumerate() {
        let (barrier, caller, path) = (barrier.clone(), caller.clone(), path.to_owned());
        tasks.spawn(async move {
            barrier.wait().await;
            (index, caller.post(&path, body).await)
        });
    }
    let mut answers = tasks.join_all().await;
    answers.sort_by_key(|(index, _)| *index);
    answers.into_iter().map(|(_, answer)| answer).collect::<Vec<_>>().try_into().expect("two answers")
}

async fn opposite(bot: Http, ann: Http, bob: Http, rounds: usize) -> usize {
    let mut yes = 0;
    for round in 0..rounds {
        let record = ask(&bot).await;
        let (first, second) = if round % 2 == 0 { (&ann, &bob) } else { (&bob, &ann) };
        let [approved, denied] = together(
            (first, vote(&record, "approve")),
            (second, vote(&record, "deny")),
            &at(&record, "/decision"),
        )
        .await;
        let (won, lost, state) = if approved.status == 200 {
            (approved, denied, "approved")
        } else {
            (denied, approved, "denied")
        };
        assert_eq!((won.status, &won.body["state"]), (200, &json!(state)), "round {round}: {}", won.body);
        assert_problem(&lost, 409, "already_decided", None);
        let last = &lost.body["record"];
        assert_eq!(
            (&last["state"], &last["decision"], &last["version"]),
            (&won.body["state"], &won.body["decision"], &won.body["version"]),
            "round {round}"
        );
        let read = bot.get(&at(&record, "")).await.expect(200);
        assert_eq!(
            (&read["state"], &read["decision"]),
            (&won.body["state"], &won.body["decision"]),
            "round {round}"
        );
        yes += usize::from(state == "approved");
    }
    yes
}

async fn two_reviewers(backend: Backend, rounds: usize) {
    let lanes = 8;
    let server = Server::over(
        Kit::start(backend).await,
        placet_server::Settings { requests_per_second: 0, ..Default::default() },
    )
    .await;
    let (ann, bob) = (server.reviewer("ann").await, server.reviewer("bob").await);
    let mut tasks = JoinSet::new();
    for lane in 0..lanes {
        let bot = server.agent(&format!("bot-{lane}")).await;
        tasks.spawn(opposite(bot, ann.clone(), bob.clone(), rounds / lanes));
    }
    let yes: usize = tasks.join_all().await.into_iter().sum();
    assert!(
        yes > 0 && yes < rounds,
        "{yes} of {rounds} were approved: one side always wins, so nothing raced"
    );
    server.finish().await;
}

#[test]
fn of_two_opposite_decisions_at_the_same_instant_one_wins_on_sqlite() {
    placet_testkit::block_on(two_reviewers(Backend::Sqlite, rounds(160, 1_000)));
}

#[test]
fn of_two_opposite_decisions_at_the_same_instant_one_wins_on_postgres() {
    placet_testkit::block_on(two_reviewers(Backend::Postgres, rounds(80, 200)));
}

#[test]
fn of_two_claims_at_the_same_instant_one_wins() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        for _ in 0..50 {
            let record = approved(&bot, &ann).await;
            let answers = together((&bot, json!({})), (&bot, json!({})), &at(&record, "/claim")).await;
            let mut statuses = answers.iter().map(|answer| answer.status).collect::<Vec<_>>();
            statuses.sort_unstable();
            assert_eq!(statuses, [200, 409]);
        }
    });
}

#[test]
fn a_decision_and_a_cancel_at_the_same_instant_agree_on_the_end() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        for _ in 0..50 {
            let record = ask(&bot).await;
            let (path, cancel) = (at(&record, "/decision"), at(&record, "/cancel"));
            let (decided, cancelled) =
                tokio::join!(ann.post(&path, vote(&record, "deny")), bot.post(&cancel, json!({})));
            let state = bot.get(&at(&record, "")).await.expect(200)["state"].clone();
            match (decided.status, cancelled.status) {
                (200, 409) => assert_eq!(state, "denied"),
                (409, 200) => assert_eq!(state, "cancelled"),
                other => panic!("{other:?}"),
            }
        }
    });
}

#[test]
fn a_batch_decides_item_by_item_or_all_or_none() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let item = |record: &Value, word: &str| {
            let mut item = vote(record, word);
            item["id"] = record["id"].clone();
            item
        };
        let (a, b, c) = (ask(&bot).await, ask(&bot).await, ask(&bot).await);
        decide(&ann, &b, "deny").await.expect(200);
        let mixed = json!([item(&a, "approve"), item(&b, "approve"), {"id": "nonsense", "decision": "deny", "digest": a["digest"], "version": 1}]);
        let refused = ann.post("/v1/decisions?atomic=true", mixed.clone()).await.expect(409);
        assert_eq!(refused["applied"], false);
        assert!(
            refused["results"].as_array().expect("results").iter().all(|result| result["status"] != 200),
            "{refused}"
        );
        assert_eq!(
            bot.get(&at(&a, "")).await.expect(200)["state"],
            "pending",
            "none of an atomic batch is applied"
        );
        let atomic = ann
            .post("/v1/decisions?atomic=true", json!([item(&a, "approve"), item(&b, "approve")]))
            .await
            .expect(409);
        let codes: Vec<&str> = atomic["results"]
            .as_array()
            .expect("results")
            .iter()
            .filter_map(|result| result["code"].as_str())
            .collect();
        assert_eq!(codes, ["not_applied", "already_decided"]);
        let wrong = json!([
            item(&a, "approve"),
            crate::support::merged(item(&c, "edit"), json!({"arguments": {"files": []}, "answer": 1}))
        ]);
        let atomic = ann.post("/v1/decisions?atomic=true", wrong).await.expect(409);
        assert_eq!(
            (&atomic["results"][0]["code"], &atomic["results"][1]["status"]),
            (&json!("not_applied"), &json!(422)),
            "{atomic}"
        );
        let each = ann.post("/v1/decisions", mixed).await.expect(200);
        let statuses: Vec<u64> = each["results"]
            .as_array()
            .expect("results")
            .iter()
            .filter_map(|result| result["status"].as_u64())
            .collect();
        assert_eq!((statuses, &each["applied"]), (vec![200, 409, 404], &json!(true)));
        assert_eq!(each["results"][0]["record"]["state"], "approved");
        assert_eq!(each["results"][1]["problem"]["record"]["state"], "denied");
        let all = ann.post("/v1/decisions?atomic=true", json!([item(&c, "approve")])).await.expect(200);
        assert_eq!(
            (&all["applied"], &all["results"][0]["record"]["state"]),
            (&json!(true), &json!("approved"))
        );
        for (body, pointer) in [
            (json!([]), ""),
            (json!({}), ""),
            (json!([1]), "/0"),
            (json!([{"decision": "deny"}]), "/0/id"),
            (json!([item(&c, "approve"), item(&c, "deny")]), "/1/id"),
            (json!([{"id": c["id"], "decision": "deny", "version": 1}]), "/0/digest"),
            (json!([{"id": c["id"], "decision": "hm", "digest": c["digest"], "version": 1}]), "/0/decision"),
            (json!(vec![action(); 201]), ""),
        ] {
            assert_problem(&ann.post("/v1/decisions", body).await, 422, "invalid", Some(pointer));
        }
    });
}
