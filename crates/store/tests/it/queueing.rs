//! The queue is bounded and fair: a flood of new requests is refused, and never keeps a reviewer from deciding.

use std::{future::Future, pin::Pin, time::Duration};

use futures_util::FutureExt as _;
use placet_core::{Actor, DecisionWord};
use placet_store::{CommandUnit, Outcome, StoreError};
use placet_testkit::{both, idempotency, unit, until};

use crate::shop::{Shop, ann, bot, cancel, decide, entry, expire};

type Running<'a> = Vec<Pin<Box<dyn Future<Output = Result<Vec<Outcome>, StoreError>> + 'a>>>;

/// Puts a unit in the queue: it enters when it is first polled.
fn enter<'a>(shop: &'a Shop, running: &mut Running<'a>, unit: CommandUnit) {
    let mut run = Box::pin(shop.store.commands(unit));
    assert!((&mut run).now_or_never().is_none(), "it waits for the writer");
    running.push(run);
}

both! {
    async fn a_flood_of_new_requests_does_not_delay_a_decision(backend: Backend) {
        let shop = Shop::open(backend).await;
        let (flood, other) = (bot("flood"), bot("other"));
        let (waiting, first) = (shop.ask(&other).await, shop.ask(&other).await);
        let before = shop.ledger().await.len() as u64;
        let mut units = vec![unit(&other, cancel(first.id), None)];
        units.extend((0..600).map(|_| unit(&flood, shop.new_request(&flood), None)));
        units.push(unit(&ann(), decide(&waiting, DecisionWord::Approve), None));
        shop.queue_up(units).await;
        let ledger = shop.ledger().await;
        let decided = ledger.iter().find(|row| entry(row)["data"]["type"] == "request.decided").unwrap();
        // After the one that was already being written, and before all six hundred.
        assert_eq!(decided.seq, before + 2);
        shop.finish().await;
    }

    async fn agents_take_turns_however_much_one_of_them_asks(backend: Backend) {
        let shop = Shop::open(backend).await;
        let (flood, other) = (bot("flood"), bot("other"));
        let first = shop.ask(&other).await;
        let before = shop.ledger().await.len() as u64;
        let mut units = vec![unit(&other, cancel(first.id), None)];
        units.extend((0..500).map(|_| unit(&flood, shop.new_request(&flood), None)));
        units.extend((0..5).map(|_| unit(&other, shop.new_request(&other), None)));
        shop.queue_up(units).await;
        let ledger = shop.ledger().await;
        let others = ledger.iter().filter(|row| row.seq > before + 1 && entry(row)["by"]["name"] == "other");
        let places: Vec<u64> = others.map(|row| row.seq - before - 1).collect();
        assert_eq!(places, [2, 4, 6, 8, 10]);
        shop.finish().await;
    }

    async fn a_full_lane_answers_busy_at_once_and_the_other_lanes_stay_open(backend: Backend) {
        let shop = Shop::open(backend).await;
        let (flood, other) = (bot("flood"), bot("other"));
        let (first, waiting) = (shop.ask(&other).await, shop.ask(&other).await);
        let held = shop.place.hold().await;
        let mut running = Vec::new();
        enter(&shop, &mut running, unit(&other, cancel(first.id), None));
        until("the writer to take the first unit", async || shop.store.queued() == 0).await;
        // One idempotency key for all, so that the flood is cheap to write when the gates open.
        let (flooding, key) = (shop.new_request(&flood), Some(idempotency("flood", "body")));
        for _ in 0..4096 {
            enter(&shop, &mut running, unit(&flood, flooding.clone(), key));
        }
        for _ in 0..3 {
            let refused = shop.store.commands(unit(&flood, flooding.clone(), key)).await;
            assert!(matches!(refused, Err(StoreError::Busy)), "{refused:?}");
        }
        // Other agents still have room, and reviewers have a lane of their own.
        enter(&shop, &mut running, unit(&other, shop.new_request(&other), None));
        enter(&shop, &mut running, unit(&ann(), decide(&waiting, DecisionWord::Approve), None));
        assert_eq!(shop.store.queued(), 4098);
        drop(held);
        assert!(futures_util::future::join_all(running).await.iter().all(Result::is_ok));
        assert_eq!(shop.place.value("SELECT count(*) FROM requests").await, "4");
        shop.finish().await;
    }

    async fn the_lane_of_decisions_is_bounded_too(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        let request = shop.ask(&agent).await;
        let held = shop.place.hold().await;
        let mut running = Vec::new();
        enter(&shop, &mut running, unit(&agent, shop.new_request(&agent), None));
        until("the writer to take the first unit", async || shop.store.queued() == 0).await;
        for _ in 0..8192 {
            enter(&shop, &mut running, unit(&Actor::system(), expire(request.id), None));
        }
        let refused = shop.store.commands(unit(&ann(), decide(&request, DecisionWord::Approve), None)).await;
        assert!(matches!(refused, Err(StoreError::Busy)), "{refused:?}");
        drop(held);
        assert!(futures_util::future::join_all(running).await.iter().all(Result::is_ok));
        assert_eq!(shop.read(request.id).await.version, 1);
        shop.finish().await;
    }

    async fn a_writer_that_is_kept_out_for_long_fails_closed_and_then_works_again(backend: Backend) {
        let shop = Shop::with(backend, |options| options.lock_wait = Duration::from_millis(200)).await;
        let agent = bot("bot");
        let held = shop.place.hold().await;
        let error = shop.give(&agent, shop.new_request(&agent), None).await.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
        drop(held);
        shop.ask(&agent).await;
        assert_eq!(shop.place.value("SELECT count(*) FROM requests").await, "1");
        shop.finish().await;
    }
}
