//! Long polls: they answer at once, when something happened, or when the time is up; and always with the record.

use std::time::Duration;

use placet_testkit::{Answer, Server, both};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::support::{
    FOREVER, action_with, ask, at, decide, on_sqlite, soon, until_so, with_gate, with_settings,
};

/// Waits until so many waits are parked.
pub(crate) async fn parked(server: &Server, count: usize) {
    until_so(&format!("{count} parked waits"), async || server.kit.gate().waiting() >= count).await;
}

/// A server whose waits end for every reason but their time.
fn patient<F: AsyncFnOnce(&mut Server)>(body: F) {
    with_settings(|settings| settings.wait_max = FOREVER, body);
}

/// The record that the next wait ends with.
async fn next(waits: &mut JoinSet<Answer>) -> Value {
    let ended = soon("the end of a wait", waits.join_next()).await;
    ended.expect("one more wait").expect("it ends well").expect(200)
}

both! {
    async fn a_wait_ends_when_the_request_is_decided(server: Server) {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let record = ask(&bot).await;
        let mut waits = JoinSet::new();
        for caller in [bot.clone(), ann.clone()] {
            let path = at(&record, "?wait=60s");
            waits.spawn(async move { caller.get(&path).await });
        }
        parked(server, 2).await;
        decide(&ann, &record, "approve").await.expect(200);
        for answer in soon("the end of both waits", waits.join_all()).await {
            assert_eq!(answer.expect(200)["state"], "approved");
        }
    }

    async fn two_hundred_parked_waits_are_all_answered(server: Server) {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let mut waits = JoinSet::new();
        let mut records = Vec::new();
        for index in 0..200 {
            if index % 10 == 0 {
                records.push(ask(&bot).await);
            }
            let (bot, path) = (bot.clone(), at(records.last().expect("a record"), "?wait=60s"));
            waits.spawn(async move { bot.get(&path).await });
        }
        parked(server, 200).await;
        for record in &records {
            decide(&ann, record, "deny").await.expect(200);
        }
        let answers = soon("the end of all waits", waits.join_all()).await;
        assert_eq!(answers.len(), 200);
        assert!(answers.into_iter().all(|answer| answer.expect(200)["state"] == "denied"));
        assert_eq!(server.kit.gate().waiting(), 0);
    }
}

#[test]
fn a_wait_for_what_is_decided_answers_at_once() {
    patient(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let record = ask(&bot).await;
        decide(&ann, &record, "deny").await.expect(200);
        for (query, field, value) in
            [("?wait=1h", "state", json!("denied")), ("?wait=1h&version=1", "version", json!(2))]
        {
            let answer = soon("a wait without a reason to wait", bot.get(&at(&record, query))).await;
            assert_eq!(answer.expect(200)[field], value, "{query}");
        }
    });
}

#[test]
fn a_wait_for_another_version_ends_with_the_first_change_and_one_without_with_the_decision() {
    patient(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let record = ask(&bot).await;
        let mut waits = JoinSet::new();
        for query in ["?wait=1h&version=1", "?wait=1h"] {
            let (caller, path) = (bot.clone(), at(&record, query));
            waits.spawn(async move { caller.get(&path).await });
        }
        parked(server, 2).await;
        let changed = ann.post(&at(&record, "/reassign"), json!({"to": ["ann"]})).await.expect(200);
        let answer = next(&mut waits).await;
        assert_eq!((&answer["state"], &answer["version"]), (&json!("pending"), &json!(2)));
        // Without a version, only the end of pending counts.
        decide(&ann, &changed, "deny").await.expect(200);
        let answer = next(&mut waits).await;
        assert_eq!((&answer["state"], &answer["version"]), (&json!("denied"), &json!(3)));
    });
}

#[test]
fn a_wait_that_ends_without_news_answers_the_pending_record() {
    with_settings(
        |settings| settings.wait_max = Duration::from_millis(300),
        async |server| {
            let bot = server.agent("bot").await;
            let record = ask(&bot).await;
            // The server's longest wait is shorter than what is asked for.
            let longest = soon("the server's longest wait", bot.get(&at(&record, "?wait=1h"))).await;
            // Only a read of one record says who waits.
            let without = |mut read: Value| {
                assert_eq!(read["waiting"]["attached"], true, "{read}");
                read.as_object_mut().expect("a record").remove("waiting");
                read
            };
            assert_eq!(without(longest.expect(200)), record);
            assert_eq!(without(bot.get(&at(&record, "?wait=0s")).await.expect(200)), record);
        },
    );
}

#[test]
fn a_wait_ends_when_the_deadline_passes() {
    on_sqlite(async |server| {
        let bot = server.agent("bot").await;
        let record = bot.post("/v1/requests", action_with(json!({"expires_in": "1s"}))).await.expect(201);
        let mut waits = JoinSet::new();
        let (caller, path) = (bot.clone(), at(&record, "?wait=60s"));
        waits.spawn(async move { caller.get(&path).await });
        parked(server, 1).await;
        server.kit.clock().advance(Duration::from_secs(1));
        assert_eq!(next(&mut waits).await["state"], "expired");
    });
}

#[test]
fn a_wait_whose_caller_went_away_is_forgotten() {
    on_sqlite(async |server| {
        let bot = server.agent("bot").await;
        let record = ask(&bot).await;
        let mut waits = JoinSet::new();
        for _ in 0..20 {
            let (bot, path) = (bot.clone(), at(&record, "?wait=60s"));
            waits.spawn(async move { bot.get(&path).await });
        }
        parked(server, 20).await;
        waits.shutdown().await;
        until_so("the waits to be forgotten", async || server.kit.gate().waiting() == 0).await;
    });
}

#[test]
fn waits_beyond_the_cap_of_a_principal_are_refused_and_others_are_not() {
    with_gate(
        |gate| gate.waits_per_principal = 2,
        async |server| {
            let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
            let record = ask(&bot).await;
            let mut waits = JoinSet::new();
            for _ in 0..2 {
                let (bot, path) = (bot.clone(), at(&record, "?wait=60s"));
                waits.spawn(async move { bot.get(&path).await });
            }
            parked(server, 2).await;
            let refused = bot.get(&at(&record, "?wait=60s")).await;
            crate::support::assert_problem(&refused, 429, "too_many_waits", None);
            assert_eq!(refused.header("retry-after"), Some("1"));
            bot.get(&at(&record, "")).await.expect(200);
            // A create that cannot wait was still made: its record must not be lost with the refusal.
            let made = bot.post("/v1/requests?wait=60s", crate::support::action()).await.expect(201);
            assert_eq!(made["state"], "pending");
            let (caller, path) = (ann.clone(), at(&record, "?wait=60s"));
            waits.spawn(async move { caller.get(&path).await });
            parked(server, 3).await;
            decide(&ann, &record, "approve").await.expect(200);
            assert!(
                soon("the end of all waits", waits.join_all())
                    .await
                    .into_iter()
                    .all(|answer| answer.expect(200)["state"] == "approved")
            );
            bot.get(&at(&made, "?wait=10ms")).await.expect(200);
        },
    );
}
