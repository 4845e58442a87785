//! Who waits: agents that are connected or ask again, on this node; who could decide; how long a yes is kept.

use std::time::Duration;

use placet_core::{Actor, AllOf, Needs, Request, Role, Seat, Waiting};
use placet_gate::{PersonSpec, Until};
use placet_testkit::{Backend, Kit, block_on, both, until};
use serde_json::json;

use crate::{outcome, parked};

const LONG: Duration = Duration::from_mins(1);
/// How long an agent that asked counts as waiting.
const RECENT: Duration = Duration::from_secs(10);

async fn waiting(kit: &Kit, request: &Request) -> Waiting {
    kit.gate().who_waits(&kit.read(request.id).await).await.expect("it is pending")
}

async fn attached(kit: &Kit, request: &Request) -> Option<bool> {
    waiting(kit, request).await.attached
}

/// A request, long after the start.
async fn asked(kit: &Kit) -> (Actor, Actor, std::sync::Arc<Request>) {
    let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
    let request = kit.ask(&bot).await;
    kit.clock().advance(RECENT);
    (bot, ann, request)
}

fn two_people() -> Needs {
    Needs { any: vec![AllOf { all: vec![Seat { people: 2, team: None }] }], ..Needs::default() }
}

both! {
    async fn an_agent_is_attached_while_it_waits_and_not_after_it_hung_up(kit) {
        let (bot, ann, request) = asked(kit).await;
        let now = waiting(kit, &request).await;
        assert_eq!(now, Waiting { attached: Some(false), brought: false, told: Vec::new(), nobody: false,
            kept_until: Some(kit.gate().now().plus(request.claim_window)) });
        let watched = parked(kit.gate(), &ann, request.id, Until::Decided, LONG).await;
        assert_eq!(attached(kit, &request).await, Some(false), "a person only watches");
        for round in 0..2 {
            let wait = parked(kit.gate(), &bot, request.id, Until::Decided, LONG).await;
            assert_eq!(attached(kit, &request).await, Some(true), "round {round}");
            drop(wait);
            assert_eq!(attached(kit, &request).await, Some(false), "it hung up in round {round}");
        }
        let other = kit.ask(&bot).await;
        let wait = parked(kit.gate(), &bot, other.id, Until::Decided, LONG).await;
        assert_eq!(attached(kit, &request).await, Some(false), "it waits for something else");
        drop((wait, watched));
        let decided = kit.approve(&ann, &request).await.unwrap();
        assert_eq!(kit.gate().who_waits(&decided).await, None);
    }

    async fn an_agent_between_two_polls_is_attached_for_ten_seconds(kit) {
        let (bot, _, request) = asked(kit).await;
        let short = Duration::from_millis(20);
        assert!(!kit.gate().wait(&bot, request.id, Until::Decided, short).await.unwrap().met);
        assert_eq!(attached(kit, &request).await, Some(true));
        kit.clock().advance(RECENT.saturating_sub(short));
        assert_eq!(attached(kit, &request).await, Some(true));
        kit.clock().advance(short);
        assert_eq!(attached(kit, &request).await, Some(false));
        // A plain read of its own counts as well, and one of a person does not.
        kit.gate().get(&bot, request.id).await.unwrap();
        assert_eq!(attached(kit, &request).await, Some(true));
        // It connects and hangs up: now it is gone.
        drop(parked(kit.gate(), &bot, request.id, Until::Decided, LONG).await);
        assert_eq!(attached(kit, &request).await, Some(false));
    }

    async fn a_vote_that_does_not_decide_leaves_the_agent_attached(backend: Backend) {
        let kit = Kit::with(backend, |settings| settings.needs = two_people()).await;
        let (bot, ann, request) = asked(&kit).await;
        kit.reviewer("bob").await;
        let wait = parked(kit.gate(), &bot, request.id, Until::NotVersion(1), LONG).await;
        kit.approve(&ann, &request).await.unwrap();
        assert!(outcome(kit.gate(), &bot, wait).await.unwrap().met);
        assert_eq!(attached(&kit, &request).await, Some(true), "it was told of the vote, and asks again");
        kit.clock().advance(RECENT);
        assert_eq!(attached(&kit, &request).await, Some(false));
        kit.finish().await;
    }

    async fn an_agent_with_a_stream_is_attached_to_all_its_requests_until_it_closes(kit) {
        let (bot, ann, request) = asked(kit).await;
        let other = kit.agent("other").await;
        assert!(kit.gate().follow(&ann, None).is_none());
        let theirs = kit.gate().follow(&other, None);
        assert_eq!(attached(kit, &request).await, Some(false), "a stream of another agent");
        let (first, second) = (kit.gate().follow(&bot, None), kit.gate().follow(&bot, None));
        assert_eq!(attached(kit, &request).await, Some(true));
        drop(first);
        assert_eq!(attached(kit, &request).await, Some(true));
        drop((second, theirs));
        assert_eq!(attached(kit, &request).await, Some(false));
    }

    async fn after_a_restart_it_is_unknown_until_agents_had_time_to_come_back(kit) {
        let (bot, _, request) = asked(kit).await;
        let wait = parked(kit.gate(), &bot, request.id, Until::Decided, LONG).await;
        assert_eq!(attached(kit, &request).await, Some(true));
        drop(wait);
        kit.restart().await;
        assert_eq!(attached(kit, &request).await, None);
        let wait = parked(kit.gate(), &bot, request.id, Until::Decided, LONG).await;
        assert_eq!(attached(kit, &request).await, Some(true));
        kit.clock().advance(RECENT);
        drop(wait);
        // On Postgres, the connection of the time before may still be closing.
        until("nobody to be attached", async || attached(kit, &request).await == Some(false)).await;
    }

    async fn an_answer_that_is_brought_needs_no_connection(kit) {
        let (bot, ann, _) = asked(kit).await;
        let event = kit.ask_in_an_event(&bot, &ann, "ws://127.0.0.1:1/answer").await;
        let behind = kit.ask_from("a2a/demo/ops", &bot).await;
        for request in [&*event.request.expect("it asked"), &*behind] {
            let now = waiting(kit, request).await;
            assert_eq!((now.attached, now.brought), (None, true), "{}", request.source);
        }
    }

    async fn nobody_is_said_when_all_who_count_are_not_enough(backend: Backend) {
        let kit = Kit::with(backend, |settings| settings.needs = Needs { four_eyes: true, ..two_people() }).await;
        let bot = kit.agent_of("bot", "ann").await;
        let request = kit.ask(&bot).await;
        assert!(waiting(&kit, &request).await.nobody, "there are no people");
        kit.reviewer("ann").await;
        kit.reviewer("bob").await;
        assert!(waiting(&kit, &request).await.nobody, "ann owns the agent, and bob alone is too few");
        kit.auditor("eve").await;
        assert!(waiting(&kit, &request).await.nobody, "eve only reads");
        kit.reviewer("cid").await;
        assert!(!waiting(&kit, &request).await.nobody);
        // The author of the proposal cannot approve it.
        let bob = kit.key(Role::Reviewer, "bob", None).await;
        kit.edit(&bob, &request, json!({"files": ["x"]})).await.unwrap();
        assert!(waiting(&kit, &request).await.nobody, "only cid is left");
        kit.reviewer("dan").await;
        assert!(!waiting(&kit, &request).await.nobody);
        let auditor = PersonSpec { roles: [Role::Auditor].into(), teams: Default::default() };
        kit.gate().put_person(kit.admin(), "dan".to_owned(), auditor, None).await.unwrap();
        assert!(waiting(&kit, &request).await.nobody, "dan may not decide any more");
        kit.finish().await;
    }

    async fn a_yes_that_gives_no_permit_has_no_time_to_be_kept(kit) {
        let bot = kit.agent("bot").await;
        let question = json!({"kind": "confirmation", "session": "s", "message": "May I?"});
        let request = kit.create(&bot, question).await.unwrap().request;
        assert_eq!(waiting(kit, &request).await.kept_until, None);
    }
}

#[test]
fn another_node_may_hold_the_connection_and_then_it_is_unknown() {
    block_on(async {
        let kit = Kit::start(Backend::Postgres).await;
        let node = kit.another_node().await;
        let (bot, _, request) = asked(&kit).await;
        let wait = parked(node.gate(), &bot, request.id, Until::Decided, LONG).await;
        assert_eq!(attached(&node, &request).await, Some(true));
        // The nodes learn of each other when they begin to listen.
        until("the other node to be seen", async || attached(&kit, &request).await.is_none()).await;
        drop(wait);
        assert_eq!(attached(&kit, &request).await, None, "the other node could hold another one");
        node.finish().await;
        until("the other node to be gone", async || attached(&kit, &request).await == Some(false)).await;
        kit.finish().await;
    });
}
