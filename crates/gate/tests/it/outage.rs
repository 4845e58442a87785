//! Postgres goes away and comes back: calls fail closed, nothing is lost, and what was pending is still pending.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use placet_core::State;
use placet_gate::{GateError, StoreError, Until};
use placet_testkit::{Backend, Kit, block_on, found, soon, until};
use serde_json::json;

/// Whether a call failed because of the database, without an approval or a deny.
fn outage<T: std::fmt::Debug>(result: &Result<T, GateError>) -> bool {
    match result {
        Err(GateError::Store(StoreError::Unavailable(_) | StoreError::Unknown)) => true,
        Ok(_) => false,
        Err(other) => panic!("{other:?}"),
    }
}

/// Calls until it works: broken idle connections are noticed one by one.
async fn again<T: std::fmt::Debug>(call: impl AsyncFn() -> Result<T, GateError>) -> T {
    found("the database to be used again", async || {
        let result = call().await;
        (!outage(&result)).then(|| result.unwrap())
    })
    .await
}

#[test]
fn while_the_database_is_away_every_call_fails_closed_and_afterwards_works_again() {
    block_on(async {
        let kit = Kit::start(Backend::Postgres).await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let (pending, approved) = (kit.ask(&bot).await, kit.approved(&bot, &ann).await);
        let (gate, agent, id) = (kit.gate().clone(), bot.clone(), pending.id);
        let mut waiting = tokio::task::JoinSet::new();
        // Waiters may also learn of the outage, and wait again.
        waiting.spawn(async move {
            loop {
                let waited = gate.wait(&agent, id, Until::Decided, Duration::from_secs(90)).await;
                if !outage(&waited) {
                    return waited.unwrap();
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        until("somebody who waits", async || kit.gate().waiting() > 0).await;
        let head = kit.store().head().await.unwrap();
        kit.place().postgres_away(true).await;
        let body = json!({"kind": "action", "session": "s", "tool": "t", "arguments": {}});
        assert!(outage(&kit.create(&bot, body).await));
        assert!(outage(&kit.approve(&ann, &pending).await));
        assert!(outage(&kit.gate().claim(&bot, approved.id, None, None).await));
        assert!(outage(&kit.gate().get(&bot, pending.id).await));
        assert!(outage(&kit.gate().sweep().await));
        // An unknown key is refused while the database cannot be read.
        assert!(outage(&kit.gate().authenticate("plk_agent_unknown").await));
        kit.place().postgres_away(false).await;
        let found = again(async || Ok(kit.store().head().await?)).await;
        assert_eq!(found, head, "nothing was written");
        assert_eq!(again(async || kit.approve(&ann, &pending).await).await.state, State::Approved);
        let waited = soon("the decision", waiting.join_next()).await.unwrap().unwrap();
        assert_eq!(waited.request.state, State::Approved);
        again(async || kit.gate().claim(&bot, approved.id, None, None).await).await;
        kit.finish().await;
    });
}

#[test]
fn connections_that_are_cut_in_the_middle_of_everything_lose_and_double_nothing() {
    block_on(async {
        let kit = Kit::start(Backend::Postgres).await;
        let bot = kit.agent("bot").await;
        let (mut sure, mut unsure) = (BTreeSet::new(), 0);
        let asked = AtomicUsize::new(0);
        let asking = async {
            for n in 0..150 {
                asked.store(n, Ordering::SeqCst);
                let body = json!({"kind": "action", "session": "s", "tool": "t", "arguments": {"n": n}});
                let made = kit.create(&bot, body).await;
                if outage(&made) {
                    unsure += 1;
                } else {
                    assert!(sure.insert(made.unwrap().request.id));
                }
            }
        };
        let cutting = async {
            for cut in 0..12 {
                // Spread over all the questions, however fast they are made.
                until("more questions", async || asked.load(Ordering::SeqCst) >= 5 + 12 * cut).await;
                kit.place().cut_connections().await;
            }
        };
        tokio::join!(asking, cutting);
        assert!(sure.len() > 50, "{} were made, {unsure} are unknown", sure.len());
        for id in &sure {
            let request = again(async || kit.gate().get(&bot, *id).await).await;
            assert_eq!(request.state, State::Pending, "what was acknowledged is there");
        }
        let stored = kit.place().value("SELECT count(*) FROM requests").await;
        let stored: usize = stored.as_str().unwrap().parse().unwrap();
        assert!(
            (sure.len()..=sure.len() + unsure).contains(&stored),
            "{stored} stored, {} sure, {unsure} unsure",
            sure.len()
        );
        kit.finish().await;
    });
}
