//! Deadlines: nothing is approved or claimed past its own, whether or not the timer came by, and a restart forgets none.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use placet_core::{Actor, Refusal, ReportStatus, RequestId, State, Time};
use placet_gate::{Clock, Filter, Gate, Settings, Until};
use placet_testkit::{Backend, FakeClock, Kit, Place, SeededEntropy, block_on, both, found, soon, until};
use serde_json::json;

use crate::{outcome, parked, record, refusal};

const MINUTE: Duration = Duration::from_mins(1);

/// What the timer has made of a request, without anybody asking it to.
async fn tidied(kit: &Kit, id: RequestId) -> State {
    found("the timer", async || {
        let request = kit.read(id).await;
        request.overdue(kit.gate().now()).is_none().then_some(request.state)
    })
    .await
}

both! {
    async fn a_decision_at_the_deadline_is_too_late_and_commits_the_expiry(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let (early, late) = (kit.ask(&bot).await, kit.ask(&bot).await);
        kit.clock().advance(Duration::from_micros(300_000_000 - 1));
        kit.approve(&ann, &early).await.unwrap();
        kit.clock().advance(Duration::from_micros(1));
        let refused = kit.approve(&ann, &late).await;
        assert_eq!(refusal(refused.clone()), Refusal::Expired);
        assert_eq!(record(refused).state, State::Expired);
        assert_eq!(kit.read(late.id).await.state, State::Expired);
        assert_eq!(refusal(kit.gate().claim(&bot, late.id, None, None).await), Refusal::NotApproved);
    }

    async fn no_read_shows_a_request_as_pending_past_its_deadline(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let request = kit.ask(&bot).await;
        let pending = Filter { state: Some(State::Pending), ..Filter::default() };
        assert_eq!(kit.gate().list(&ann, &pending, 10).await.unwrap().items.len(), 1);
        kit.clock().advance(5 * MINUTE);
        let now = kit.gate().now();
        assert_eq!(kit.gate().get(&bot, request.id).await.unwrap().state_at(now), State::Expired);
        assert!(kit.gate().list(&ann, &pending, 10).await.unwrap().items.is_empty());
        let waited = soon("an answer at once", kit.gate().wait(&bot, request.id, Until::Decided, 10 * MINUTE)).await;
        assert!(waited.unwrap().met);
    }

    async fn the_timer_ends_what_nobody_touches_and_wakes_who_waits(kit) {
        let bot = kit.agent("bot").await;
        // A stream that has caught up is told after the waiters are: the news of the request wakes nobody any more.
        let mut feed = kit.gate().feed(None).await.unwrap();
        kit.ask(&bot).await;
        soon("the entry before", feed.next()).await.unwrap();
        let request = kit.ask(&bot).await;
        soon("the entry of the request", feed.next()).await.unwrap();
        let waiting = parked(kit.gate(), &bot, request.id, Until::Decided, 10 * MINUTE).await;
        kit.clock().advance(5 * MINUTE);
        let waited = soon("the timer", outcome(kit.gate(), &bot, waiting)).await.unwrap();
        assert_eq!((waited.met, waited.request.state), (true, State::Expired));
        assert_eq!(tidied(kit, request.id).await, State::Expired);
    }

    async fn an_approval_lapses_and_a_claim_becomes_unknown(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let (unclaimed, also, unreported) = (kit.approved(&bot, &ann).await, kit.approved(&bot, &ann).await, kit.approved(&bot, &ann).await);
        let claimed = kit.gate().claim(&bot, unreported.id, None, None).await.unwrap();
        kit.clock().advance(15 * MINUTE);
        assert_eq!(refusal(kit.gate().claim(&bot, unclaimed.id, None, None).await), Refusal::Lapsed);
        assert_eq!(refusal(kit.gate().revoke(&ann, also.id, None, None).await), Refusal::Lapsed);
        assert_eq!(kit.read(also.id).await.state, State::Lapsed);
        assert_eq!(kit.read(unreported.id).await.state, State::Claimed);
        kit.clock().advance(45 * MINUTE);
        assert_eq!(tidied(kit, unreported.id).await, State::Unknown);
        // Late, but true: the holder of the permit may still report.
        let done = kit.gate().report(&bot, unreported.id, &claimed.permit, ReportStatus::Succeeded, None, None, None).await.unwrap();
        assert_eq!(done.state, State::Succeeded);
    }

    async fn an_unknown_outcome_is_settled_by_a_reviewer_with_a_reason_and_only_once(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let request = kit.approved(&bot, &ann).await;
        kit.gate().claim(&bot, request.id, None, None).await.unwrap();
        let (gate, id) = (kit.gate(), request.id);
        let resolve = async |reason: &str| gate.resolve(&ann, id, ReportStatus::Failed, reason.to_owned(), None).await;
        assert_eq!(refusal(resolve("early").await), Refusal::NotUnknown);
        kit.clock().advance(60 * MINUTE);
        kit.gate().sweep().await.unwrap();
        assert!(matches!(refusal(resolve("  ").await), Refusal::Invalid(_)));
        let resolved = resolve("the files are still there").await.unwrap();
        assert_eq!(resolved.state, State::Failed);
        assert_eq!(resolved.outcome.as_ref().unwrap().resolved_by.as_deref(), Some("ann"));
        assert_eq!(refusal(resolve("again").await), Refusal::NotUnknown);
    }

    async fn a_restart_forgets_no_deadline(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let (pending, approved, claimed) = (kit.ask(&bot).await, kit.approved(&bot, &ann).await, kit.approved(&bot, &ann).await);
        kit.gate().claim(&bot, claimed.id, None, None).await.unwrap();
        kit.restart().await;
        assert_eq!(kit.gate().sweep().await.unwrap(), 0);
        kit.clock().advance(60 * MINUTE);
        for (request, state) in [(&pending, State::Expired), (&approved, State::Lapsed), (&claimed, State::Unknown)] {
            assert_eq!(tidied(kit, request.id).await, state);
        }
    }

    async fn a_deadline_that_passes_while_nobody_runs_takes_effect_at_the_start(kit) {
        let bot = kit.agent("bot").await;
        let request = kit.ask(&bot).await;
        kit.gate().close().await;
        kit.clock().advance(5 * MINUTE);
        kit.restart().await;
        assert_eq!(tidied(kit, request.id).await, State::Expired);
    }

    async fn a_restart_forgets_no_permit(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let (approved, claimed) = (kit.approved(&bot, &ann).await, kit.approved(&bot, &ann).await);
        let before = kit.gate().claim(&bot, claimed.id, Some("in memory"), None).await.unwrap();
        kit.restart().await;
        // The response was lost with the old server: the same claimant gets the same permit, nobody else one.
        let again = kit.gate().claim(&bot, claimed.id, Some("in memory"), None).await.unwrap();
        assert_eq!(again.permit, before.permit);
        assert_eq!(refusal(kit.gate().claim(&bot, claimed.id, Some("other"), None).await), Refusal::AlreadyClaimed);
        kit.gate().report(&bot, claimed.id, &before.permit, ReportStatus::Succeeded, None, None, None).await.unwrap();
        assert_eq!(refusal(kit.gate().claim(&bot, claimed.id, Some("in memory"), None).await), Refusal::AlreadyClaimed);
        kit.gate().claim(&bot, approved.id, None, None).await.unwrap();
    }

    async fn a_sweep_ends_more_than_one_transaction_holds(backend: Backend) {
        let kit = Kit::with(backend, |settings| settings.pending_per_agent = 1000).await;
        let bot = kit.agent("bot").await;
        let asking = (0..300).map(|_| kit.ask(&bot));
        futures_util::future::join_all(asking).await;
        kit.clock().advance(5 * MINUTE);
        kit.gate().sweep().await.unwrap();
        let expired = kit.place().value("SELECT count(*) FROM requests WHERE state = 'expired'").await;
        assert_eq!(expired, "300");
        kit.finish().await;
    }

    async fn each_request_has_the_deadlines_it_was_made_with(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let body = json!({"kind": "action", "session": "s", "tool": "t", "arguments": {}, "expires_in": "90s"});
        let request = kit.create(&bot, body).await.unwrap().request;
        assert_eq!(request.expires_at.since(kit.gate().now()), Duration::from_secs(90));
        let approved = kit.approve(&ann, &request).await.unwrap();
        assert_eq!(approved.claim_by.unwrap().since(kit.gate().now()), 15 * MINUTE);
        let claimed = kit.gate().claim(&bot, request.id, None, None).await.unwrap();
        assert_eq!(claimed.request.report_by.unwrap().since(kit.gate().now()), 60 * MINUTE);
    }
}

/// A server whose clock runs ahead of the database's.
struct Ahead {
    clock: FakeClock,
    transactions: AtomicUsize,
}

impl Clock for Ahead {
    fn now(&self) -> Time {
        self.clock.now().plus(10 * MINUTE)
    }

    fn monotonic(&self) -> Duration {
        self.clock.monotonic()
    }

    fn over_database(&self, _database: Time) -> Time {
        self.transactions.fetch_add(1, Ordering::SeqCst);
        self.clock.now()
    }
}

#[test]
fn a_server_whose_clock_runs_ahead_expires_nothing_early() {
    block_on(async {
        let place = Place::new(Backend::Postgres).await;
        let clock = Arc::new(Ahead { clock: FakeClock::new(), transactions: AtomicUsize::new(0) });
        let store = placet_store::Store::open(place.options(clock.clone())).await.unwrap();
        let gate = Gate::start(Arc::new(store), Arc::new(SeededEntropy::default()), Settings::default())
            .await
            .unwrap();
        let bot = Actor {
            name: "local".to_owned(),
            role: placet_core::Role::Agent,
            key: None,
            session: None,
            auth: placet_core::Auth::Open,
        };
        let body = json!({"kind": "action", "session": "s", "tool": "t", "arguments": {}});
        let request = gate.submit(&bot, Kit::body(body), None).await.unwrap().request;
        let looked = || clock.transactions.load(Ordering::SeqCst);
        let before = looked();
        until("a look at a deadline that has not passed", async || looked() > before).await;
        assert_eq!(gate.sweep().await.unwrap(), 0);
        assert_eq!(gate.get(&bot, request.id).await.unwrap().state, State::Pending);
        clock.clock.advance(5 * MINUTE);
        until("the timer", async || gate.get(&bot, request.id).await.unwrap().state != State::Pending).await;
        gate.close().await;
    });
}
