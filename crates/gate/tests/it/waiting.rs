//! Waiting: every waiter learns the outcome, on whichever node it was decided, and every wait is bounded.

use std::time::Duration;

use placet_core::{AllOf, Needs, Refusal, Seat, State};
use placet_gate::{GateError, Until, WaitResult};
use placet_testkit::{Backend, Kit, block_on, both, soon};
use tokio::task::JoinSet;

use crate::{outcome, parked, refusal};

const LONG: Duration = Duration::from_mins(1);

type Waits = JoinSet<Result<WaitResult, GateError>>;

/// Waits in its own task, and is parked when this returns.
async fn park(
    waits: &mut Waits,
    kit: &Kit,
    actor: &placet_core::Actor,
    id: placet_core::RequestId,
    until: Until,
) {
    let parked = parked(kit.gate(), actor, id, until, LONG).await;
    let (gate, actor) = (kit.gate().clone(), actor.clone());
    waits.spawn(async move { outcome(&gate, &actor, parked).await });
}

async fn ended(waits: &mut Waits) -> Result<WaitResult, GateError> {
    soon("the end of a wait", waits.join_next()).await.expect("a wait is open").unwrap()
}

fn two_people() -> Needs {
    Needs { any: vec![AllOf { all: vec![Seat { people: 2, team: None }] }], ..Needs::default() }
}

both! {
    async fn a_decision_wakes_everybody_who_waits(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let (request, other) = (kit.ask(&bot).await, kit.ask(&bot).await);
        let (mut waits, mut others) = (Waits::new(), Waits::new());
        for actor in [&bot, &ann] {
            park(&mut waits, kit, actor, request.id, Until::Decided).await;
        }
        park(&mut others, kit, &bot, other.id, Until::Decided).await;
        kit.approve(&ann, &request).await.unwrap();
        for _ in 0..2 {
            let waited = ended(&mut waits).await.unwrap();
            assert_eq!((waited.met, waited.request.state), (true, State::Approved));
        }
        assert_eq!(kit.gate().waiting(), 1, "the other request is still waited for");
        kit.deny(&ann, &other).await.unwrap();
        assert_eq!(ended(&mut others).await.unwrap().request.state, State::Denied);
    }

    async fn a_wait_for_a_version_ends_with_the_next_one_and_a_wait_for_a_decision_does_not(backend: Backend) {
        let kit = Kit::with(backend, |settings| settings.needs = two_people()).await;
        let (bot, ann, bob) = (kit.agent("bot").await, kit.reviewer("ann").await, kit.reviewer("bob").await);
        let request = kit.ask(&bot).await;
        let (mut version, mut decided) = (Waits::new(), Waits::new());
        park(&mut version, &kit, &bot, request.id, Until::NotVersion(1)).await;
        park(&mut decided, &kit, &bot, request.id, Until::Decided).await;
        kit.approve(&ann, &request).await.unwrap();
        let waited = ended(&mut version).await.unwrap();
        assert_eq!((waited.met, waited.request.version, waited.request.state), (true, 2, State::Pending));
        assert_eq!(kit.gate().waiting(), 1);
        kit.approve(&bob, &request).await.unwrap();
        assert_eq!(ended(&mut decided).await.unwrap().request.state, State::Approved);
        // A version that is past is answered at once.
        assert!(kit.gate().wait(&bot, request.id, Until::NotVersion(2), LONG).await.unwrap().met);
        kit.finish().await;
    }

    async fn a_wait_ends_when_its_time_is_up_with_the_record_as_it_stands(kit) {
        let bot = kit.agent("bot").await;
        let request = kit.ask(&bot).await;
        let waited = soon("the end of its time", kit.gate().wait(&bot, request.id, Until::Decided, Duration::from_millis(50))).await.unwrap();
        assert_eq!((waited.met, waited.request.state), (false, State::Pending));
        assert_eq!(kit.gate().waiting(), 0);
    }

    async fn a_revoked_key_ends_its_waits_and_only_those(kit) {
        let (bot, again) = (kit.agent("bot").await, kit.agent("bot").await);
        let request = kit.ask(&bot).await;
        let (mut first, mut second) = (Waits::new(), Waits::new());
        park(&mut first, kit, &bot, request.id, Until::Decided).await;
        park(&mut second, kit, &again, request.id, Until::Decided).await;
        kit.revoke_key(&bot).await;
        assert!(matches!(ended(&mut first).await, Err(GateError::KeyRevoked)));
        assert_eq!(kit.gate().waiting(), 1);
        // The last key: the request is cancelled with it, and the wait ends either way.
        kit.revoke_key(&again).await;
        let last = ended(&mut second).await;
        assert!(matches!(&last, Err(GateError::KeyRevoked)) || last.unwrap().request.state == State::Cancelled);
    }

    async fn a_key_that_was_revoked_before_cannot_begin_to_wait(kit) {
        let (bot, _again) = (kit.agent("bot").await, kit.agent("bot").await);
        let request = kit.ask(&bot).await;
        kit.revoke_key(&bot).await;
        let waited = soon("the refusal", kit.gate().wait(&bot, request.id, Until::Decided, LONG)).await;
        assert!(matches!(waited, Err(GateError::KeyRevoked)), "{waited:?}");
    }

    async fn open_waits_are_bounded_per_principal_and_in_all_and_seats_are_given_back(backend: Backend) {
        let kit = Kit::with(backend, |settings| (settings.waits_per_principal, settings.waits) = (2, 3)).await;
        let (bot, ann, bob) = (kit.agent("bot").await, kit.reviewer("ann").await, kit.reviewer("bob").await);
        let request = kit.ask(&bot).await;
        let mut waits = Waits::new();
        park(&mut waits, &kit, &bot, request.id, Until::Decided).await;
        park(&mut waits, &kit, &bot, request.id, Until::Decided).await;
        let (gate, id) = (kit.gate(), request.id);
        let full = async |actor| matches!(soon("the refusal", gate.wait(actor, id, Until::Decided, LONG)).await, Err(GateError::TooManyWaits));
        assert!(full(&bot).await, "a third of one principal");
        park(&mut waits, &kit, &ann, request.id, Until::Decided).await;
        assert!(full(&bob).await, "a fourth in all");
        // A caller that leaves frees its slot.
        waits.abort_all();
        while waits.join_next().await.is_some() {}
        assert_eq!(kit.gate().waiting(), 0);
        park(&mut waits, &kit, &bob, request.id, Until::Decided).await;
        kit.deny(&ann, &request).await.unwrap();
        assert!(ended(&mut waits).await.unwrap().met);
        kit.finish().await;
    }

    async fn nobody_waits_for_what_they_may_not_see(kit) {
        let (bot, other) = (kit.agent("bot").await, kit.agent("other").await);
        let request = kit.ask(&bot).await;
        assert_eq!(refusal(kit.gate().wait(&other, request.id, Until::Decided, LONG).await), Refusal::NotFound);
        assert_eq!(refusal(kit.gate().wait(kit.admin(), request.id, Until::Decided, LONG).await), Refusal::NotFound);
        let nowhere = placet_core::RequestId::new(1, [1; 10]);
        assert_eq!(refusal(kit.gate().wait(&bot, nowhere, Until::Decided, LONG).await), Refusal::NotFound);
    }

    async fn a_waiter_is_sent_away_by_a_restart_and_learns_the_outcome_after_it(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let request = kit.ask(&bot).await;
        let mut waits = Waits::new();
        park(&mut waits, kit, &bot, request.id, Until::Decided).await;
        kit.gate().end_waits();
        assert!(matches!(ended(&mut waits).await, Err(GateError::Closing)));
        kit.restart().await;
        park(&mut waits, kit, &bot, request.id, Until::Decided).await;
        kit.approve(&ann, &request).await.unwrap();
        assert_eq!(ended(&mut waits).await.unwrap().request.state, State::Approved);
    }

    async fn no_wake_is_lost_between_looking_and_waiting(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let mut waits = Waits::new();
        for _ in 0..100 {
            let request = kit.ask(&bot).await;
            let (gate, bot, id) = (kit.gate().clone(), bot.clone(), request.id);
            waits.spawn(async move { gate.wait(&bot, id, Until::Decided, LONG).await });
            kit.deny(&ann, &request).await.unwrap();
        }
        for _ in 0..100 {
            assert!(ended(&mut waits).await.unwrap().met);
        }
    }
}

#[test]
fn a_waiter_on_one_node_learns_what_was_decided_on_the_other() {
    block_on(async {
        let kit = Kit::start(Backend::Postgres).await;
        let node = kit.another_node().await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        for (here, there) in [(&kit, &node), (&node, &kit), (&kit, &node)] {
            let request = here.ask(&bot).await;
            let mut waits = Waits::new();
            park(&mut waits, here, &bot, request.id, Until::Decided).await;
            there.approve(&ann, &request).await.unwrap();
            assert_eq!(ended(&mut waits).await.unwrap().request.state, State::Approved);
        }
        node.finish().await;
        kit.finish().await;
    });
}

#[test]
fn a_key_revoked_on_one_node_ends_its_waits_on_the_other() {
    block_on(async {
        let kit = Kit::start(Backend::Postgres).await;
        let node = kit.another_node().await;
        let (bot, _again) = (kit.agent("bot").await, kit.agent("bot").await);
        let request = kit.ask(&bot).await;
        let mut waits = Waits::new();
        park(&mut waits, &node, &bot, request.id, Until::Decided).await;
        kit.revoke_key(&bot).await;
        let waited = ended(&mut waits).await;
        assert!(matches!(waited, Err(GateError::KeyRevoked)), "{waited:?}");
        node.finish().await;
        kit.finish().await;
    });
}
