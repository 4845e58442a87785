//! A changed clock: time never runs backwards, and while the clock is behind the ledger nothing is approved or
//! claimed.

use std::{sync::Arc, time::Duration};

use placet_core::{Refusal, State, Time};
use placet_gate::{Clock, Gate, GateError, Settings};
use placet_testkit::{Backend, FakeClock, Kit, SeededEntropy, block_on, both};
use serde_json::json;

use crate::{
    policy::{SHOP, asked},
    refusal,
};

const HOUR: Duration = Duration::from_hours(1);
const MINUTE: Duration = Duration::from_mins(1);

fn is_behind<T: std::fmt::Debug>(result: Result<T, GateError>) -> bool {
    matches!(refusal(result), Refusal::ClockBehind)
}

both! {
    async fn what_had_expired_is_not_approved_after_a_restart_with_the_clock_set_back(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let request = kit.ask(&bot).await;
        kit.clock().advance(10 * MINUTE);
        // Another event, so that the ledger knows the later time.
        kit.ask(&bot).await;
        kit.clock().set_back(HOUR);
        kit.restart().await;
        let refused = refusal(kit.approve(&ann, &request).await);
        assert!(matches!(refused, Refusal::Expired), "{refused:?}");
        assert_eq!(kit.read(request.id).await.state, State::Expired);
        // Later events are never older than earlier ones.
        kit.ask(&bot).await;
        let verified = kit.store().verify(|_| {}).await.unwrap();
        assert_eq!(verified.older, [] as [u64; 0]);
    }

    async fn while_the_clock_is_behind_nothing_passes_and_everything_can_be_read_and_denied(kit) {
        kit.put_policy(SHOP).await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let (approved, pending) = (asked(kit, &bot, "frobnicate", json!({"to": "x"})).await, asked(kit, &bot, "frobnicate", json!({"to": "y"})).await);
        let approved = kit.approve(&ann, &approved).await.unwrap();
        kit.clock().set_back(Duration::from_millis(2_001));
        let before = kit.gate().now();
        assert!(kit.store().time().read().behind.is_some());
        assert!(is_behind(kit.approve(&ann, &pending).await));
        assert!(is_behind(kit.gate().claim(&bot, approved.id, None, None).await));
        let read = asked(kit, &bot, "read_file", json!({"path": "/a"})).await;
        assert_eq!((read.state, read.verdict.rule.as_str()), (State::Pending, "clock_behind"));
        assert_eq!(kit.deny(&ann, &pending).await.unwrap().state, State::Denied);
        assert!(kit.gate().now() >= before, "time does not run back");
        // The clock is corrected: everything continues.
        kit.clock().set_forward(Duration::from_millis(2_001));
        kit.gate().claim(&bot, approved.id, None, None).await.unwrap();
        assert_eq!(kit.store().verify(|_| {}).await.unwrap().older, [] as [u64; 0]);
    }

    async fn two_seconds_are_absorbed_and_nothing_is_older_than_what_came_before(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let request = kit.ask(&bot).await;
        kit.clock().set_back(Duration::from_secs(2));
        let approved = kit.approve(&ann, &request).await.unwrap();
        assert!(approved.decision.as_ref().unwrap().at >= request.created_at);
        kit.gate().claim(&bot, request.id, None, None).await.unwrap();
        assert_eq!(kit.store().verify(|_| {}).await.unwrap().older, [] as [u64; 0]);
    }

    async fn a_clock_that_is_set_back_while_nobody_writes_saves_nothing(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let request = kit.ask(&bot).await;
        kit.clock().advance(4 * MINUTE);
        kit.clock().set_back(HOUR);
        kit.clock().advance(2 * MINUTE);
        // Six minutes have passed, whatever the clock says.
        assert_eq!(kit.gate().get(&bot, request.id).await.unwrap().state_at(kit.gate().now()), State::Expired);
        assert!(matches!(refusal(kit.approve(&ann, &request).await), Refusal::Expired));
    }

    async fn a_ledger_ahead_of_the_clock_is_accepted_by_a_person_and_what_had_expired_stays_so(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let early = kit.ask(&bot).await;
        kit.clock().set_forward(HOUR);
        let late = kit.ask(&bot).await;
        kit.clock().set_back(HOUR);
        let (location, clock) = (kit.place().location(), kit.clock().clone());
        let accepted = kit.restart_after(async || {
            let accepted = placet_store::accept_clock(&location, clock.clone()).await.unwrap();
            assert_eq!(placet_store::accept_clock(&location, clock.clone()).await.unwrap(), None, "once is enough");
            accepted.expect("the clock is behind")
        }).await;
        assert_eq!(accepted.from.since(accepted.to), HOUR);
        assert_eq!(kit.store().time().read().behind, None);
        assert_eq!(kit.read(early.id).await.state, State::Expired, "by the ledger's time it had");
        assert_eq!(kit.approve(&ann, &late).await.unwrap().state, State::Approved);
        let names: Vec<_> = kit.store().news(0, 200).await.unwrap().iter().map(|news| news.name).collect();
        assert!(names.contains(&"clock.accepted"), "{names:?}");
        assert_eq!(kit.store().verify(|_| {}).await.unwrap().older, [] as [u64; 0], "that entry alone may be older");
    }
}

/// A node with its own clock, on a database with a correct one.
struct Node {
    database: Arc<FakeClock>,
    own: FakeClock,
}

impl Clock for Node {
    fn now(&self) -> Time {
        self.own.now()
    }

    fn monotonic(&self) -> Duration {
        self.own.monotonic()
    }

    fn over_database(&self, _database: Time) -> Time {
        self.database.now()
    }
}

#[test]
fn one_of_two_nodes_with_its_clock_set_back_approves_nothing_and_the_other_goes_on() {
    block_on(async {
        let kit = Kit::start(Backend::Postgres).await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let request = kit.ask(&bot).await;
        let node = Arc::new(Node { database: kit.clock().clone(), own: FakeClock::new() });
        node.own.set_back(HOUR);
        let store = placet_store::Store::open(kit.place().options(node.clone())).await.unwrap();
        let gate = Gate::start(Arc::new(store), Arc::new(SeededEntropy::default()), Settings::default())
            .await
            .unwrap();
        let decision = placet_gate::Decision::on(&request, placet_core::DecisionWord::Approve);
        assert!(is_behind(gate.decide(&ann, decision).await));
        assert!(gate.store().time().read().behind.is_some());
        assert_eq!(kit.approve(&ann, &request).await.unwrap().state, State::Approved);
        gate.close().await;
        kit.finish().await;
    });
}
