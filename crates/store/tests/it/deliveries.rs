//! The outbox: written with the change it tells of, leased to one worker at a time, retried, given up in the end.

use std::time::Duration;

use placet_core::{DecisionWord, Refusal};
use placet_store::{AttemptResult, Channels, Delivery};
use placet_testkit::{Backend, block_on, both};

use crate::shop::{Shop, ann, bot, decide};

const LEASE: Duration = Duration::from_secs(30);

async fn lease(shop: &Shop, owner: &str, limit: u32) -> Vec<Delivery> {
    lease_of(shop, owner, Channels::Others(Vec::new()), limit).await
}

async fn lease_of(shop: &Shop, owner: &str, channels: Channels, limit: u32) -> Vec<Delivery> {
    shop.store.lease(owner, channels, limit, LEASE).await.unwrap()
}

async fn attempt(shop: &Shop, owner: &str, delivery: &Delivery, result: AttemptResult) {
    shop.store.record_attempt(delivery.clone(), owner, result).await.unwrap();
}

fn failed() -> AttemptResult {
    AttemptResult::Failed("connection refused".to_owned())
}

async fn states(shop: &Shop) -> Vec<String> {
    let rows = shop.place.rows("SELECT state FROM outbox ORDER BY wanted, channel").await;
    rows.iter().map(|row| row[0].as_str().unwrap().to_owned()).collect()
}

both! {
    async fn every_change_is_written_down_for_every_channel_in_its_own_transaction(backend: Backend) {
        let shop = Shop::telling(backend, &["slack", "mail"]).await;
        let agent = bot("bot");
        let request = shop.ask(&agent).await;
        let mut wrong = request.as_ref().clone();
        wrong.version = 7;
        let refused = shop.give(&ann(), decide(&wrong, DecisionWord::Deny), None).await.unwrap();
        assert_eq!(refused.answer, Err(Refusal::StaleVersion));
        shop.done(&ann(), decide(&request, DecisionWord::Deny)).await;
        let leased = lease(&shop, "w1", 100).await;
        let mut wanted: Vec<_> = leased.iter().map(|delivery| (delivery.channel.as_str(), delivery.request(), delivery.wanted)).collect();
        wanted.sort_unstable();
        // Both changes raised the same two rows: what is told is how the request is now.
        let decided = request.seq + 1;
        assert_eq!(wanted, [("mail", Some(request.id), decided), ("slack", Some(request.id), decided)]);
        shop.finish().await;
    }

    async fn deliveries_are_leased_by_channel_and_those_of_no_known_one_apart(backend: Backend) {
        let shop = Shop::telling(backend, &["slack", "mail", "gone"]).await;
        shop.ask(&bot("bot")).await;
        shop.ask(&bot("bot")).await;
        let names = |leased: &[Delivery]| {
            let mut names = leased.iter().map(|delivery| delivery.channel.clone()).collect::<Vec<_>>();
            names.sort_unstable();
            names
        };
        let these = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let mail = lease_of(&shop, "w", Channels::These(these(&["mail"])), 1).await;
        assert_eq!(names(&mail), ["mail"]);
        let others = lease_of(&shop, "w", Channels::Others(these(&["mail", "slack"])), 100).await;
        assert_eq!(names(&others), ["gone", "gone"]);
        let both = lease_of(&shop, "w", Channels::These(these(&["mail", "slack"])), 100).await;
        assert_eq!(names(&both), ["mail", "slack", "slack"]);
        assert!(lease_of(&shop, "w", Channels::These(Vec::new()), 100).await.is_empty());
        shop.finish().await;
    }

    async fn a_leased_delivery_is_nobody_elses_until_the_lease_ends(backend: Backend) {
        let shop = Shop::telling(backend, &["slack"]).await;
        for _ in 0..5 {
            shop.ask(&bot("bot")).await;
        }
        let (mine, theirs) = (lease(&shop, "w1", 3).await, lease(&shop, "w2", 100).await);
        assert_eq!((mine.len(), theirs.len()), (3, 2));
        assert!(mine.iter().all(|delivery| !theirs.contains(delivery)));
        assert!(lease(&shop, "w3", 100).await.is_empty());
        shop.clock.advance(LEASE);
        assert_eq!(lease(&shop, "w3", 100).await.len(), 5);
        // Whoever lost the lease has nothing to say any more.
        attempt(&shop, "w1", &mine[0], AttemptResult::Delivered).await;
        assert_eq!(states(&shop).await, ["waiting"; 5]);
        attempt(&shop, "w3", &mine[0], AttemptResult::Delivered).await;
        assert_eq!(states(&shop).await.iter().filter(|state| *state == "delivered").count(), 1);
        shop.finish().await;
    }

    async fn a_failed_delivery_is_tried_again_with_growing_gaps_of_at_most_five_seconds_at_first(backend: Backend) {
        let shop = Shop::telling(backend, &["slack"]).await;
        shop.ask(&bot("bot")).await;
        for (attempts, gap) in [1, 2, 5, 5, 5].into_iter().enumerate() {
            let leased = lease(&shop, "w", 10).await;
            assert_eq!(leased.iter().map(|delivery| delivery.attempts as usize).collect::<Vec<_>>(), [attempts]);
            attempt(&shop, "w", &leased[0], failed()).await;
            shop.clock.advance(Duration::from_micros(gap * 1_000_000 - 1));
            assert!(lease(&shop, "w", 10).await.is_empty(), "before {gap} s");
            shop.clock.advance(Duration::from_micros(1));
        }
        assert_eq!(shop.place.value("SELECT last_error FROM outbox").await, "connection refused");
        shop.finish().await;
    }

    async fn news_of_a_pending_request_is_given_up_at_its_deadline(backend: Backend) {
        let shop = Shop::telling(backend, &["slack"]).await;
        shop.ask(&bot("bot")).await;
        shop.clock.advance(Duration::from_secs(299));
        let leased = lease(&shop, "w", 10).await;
        attempt(&shop, "w", &leased[0], failed()).await;
        // One more second would be the deadline itself.
        assert_eq!(states(&shop).await, ["waiting"]);
        shop.clock.advance(Duration::from_secs(1));
        let leased = lease(&shop, "w", 10).await;
        attempt(&shop, "w", &leased[0], failed()).await;
        assert_eq!(states(&shop).await, ["dead"]);
        shop.clock.advance(Duration::from_hours(1));
        assert!(lease(&shop, "w", 10).await.is_empty());
        shop.finish().await;
    }

    async fn a_delivered_or_refused_delivery_is_over(backend: Backend) {
        let shop = Shop::telling(backend, &["slack"]).await;
        shop.ask(&bot("bot")).await;
        shop.ask(&bot("bot")).await;
        let leased = lease(&shop, "w", 10).await;
        attempt(&shop, "w", &leased[0], AttemptResult::Delivered).await;
        attempt(&shop, "w", &leased[1], AttemptResult::Refused("no such channel".to_owned())).await;
        assert_eq!(states(&shop).await, ["delivered", "dead"]);
        shop.clock.advance(Duration::from_hours(1));
        assert!(lease(&shop, "w", 10).await.is_empty());
        shop.finish().await;
    }

    async fn waiting_deliveries_outlive_a_restart(backend: Backend) {
        let shop = Shop::telling(backend, &["slack"]).await;
        shop.ask(&bot("bot")).await;
        let leased = lease(&shop, "w", 10).await;
        let shop = shop.reopen().await;
        shop.clock.advance(LEASE);
        assert_eq!(lease(&shop, "w after the restart", 10).await, leased);
        shop.finish().await;
    }
}

#[test]
fn two_nodes_never_lease_the_same_delivery() {
    block_on(async {
        let shop = Shop::telling(Backend::Postgres, &["a", "b", "c", "d"]).await;
        for _ in 0..25 {
            shop.ask(&bot("bot")).await;
        }
        let node = shop.another_node().await;
        let take = async |shop: &Shop, owner: &str| {
            let mut all = Vec::new();
            loop {
                let some = lease(shop, owner, 3).await;
                if some.is_empty() {
                    return all;
                }
                all.extend(some);
            }
        };
        let (one, two) = tokio::join!(take(&shop, "one"), take(&node, "two"));
        let mut ids: Vec<_> =
            one.iter().chain(&two).map(|delivery| (&delivery.channel, &delivery.subject)).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!((ids.len(), one.len() + two.len()), (100, 100));
        node.store.close().await;
        shop.finish().await;
    });
}
