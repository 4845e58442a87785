//! Several calls at the same instant: one decision, one claim, one request.

use std::{collections::BTreeSet, sync::Arc};

use placet_core::{Actor, DecisionWord, Refusal, Request, State};
use placet_gate::{Gate, GateError};
use placet_testkit::{Backend, Kit, block_on, both, idempotency};
use tokio::task::JoinSet;

use crate::refusal;

type Decided = Result<Arc<Request>, GateError>;

/// Two people, opposite ways, at once; each on the gate given. Returns what both got.
async fn opposed(
    gates: [&Gate; 2],
    people: [&Actor; 2],
    request: &Request,
    yes_first: bool,
) -> Vec<(DecisionWord, Decided)> {
    let mut both = JoinSet::new();
    let words = if yes_first {
        [DecisionWord::Approve, DecisionWord::Deny]
    } else {
        [DecisionWord::Deny, DecisionWord::Approve]
    };
    for ((word, gate), person) in words.into_iter().zip(gates).zip(people) {
        let (gate, person, decision) = (gate.clone(), person.clone(), Kit::decision(request, word));
        both.spawn(async move { (word, gate.decide(&person, decision).await) });
    }
    both.join_all().await
}

/// Exactly one of them decided, and the other was told so, with the record as it is and stays.
async fn one_won(kit: &Kit, request: &Request, said: Vec<(DecisionWord, Decided)>) {
    let (won, lost): (Vec<_>, Vec<_>) = said.into_iter().partition(|(_, decided)| decided.is_ok());
    assert_eq!((won.len(), lost.len()), (1, 1), "{won:?} {lost:?}");
    let (word, decided) = won.into_iter().next().unwrap();
    let decided = decided.unwrap();
    assert_eq!(decided.state, if word == DecisionWord::Approve { State::Approved } else { State::Denied });
    match lost.into_iter().next().unwrap().1 {
        Err(GateError::Refused { refusal: Refusal::AlreadyDecided, request: Some(record) }) => {
            assert_eq!(*record, *decided);
        }
        other => panic!("{other:?}"),
    }
    let kept = kit.read(request.id).await;
    assert_eq!((kept.state, kept.version, kept.votes.len()), (decided.state, 2, 1));
}

both! {
    async fn two_reviewers_at_the_same_instant_make_one_decision(backend: Backend) {
        let rounds = if backend == Backend::Sqlite { 1000 } else { 100 };
        let kit = Kit::with(backend, |settings| settings.pending_per_agent = rounds).await;
        let (bot, ann, bob) = (kit.agent("bot").await, kit.reviewer("ann").await, kit.reviewer("bob").await);
        let requests = futures_util::future::join_all((0..rounds).map(|_| kit.ask(&bot))).await;
        // Many rounds side by side: some pairs share a transaction, some do not.
        for chunk in requests.chunks(20) {
            let rounds = chunk.iter().enumerate().map(|(index, request)| opposed([kit.gate(); 2], [&ann, &bob], request, index % 2 == 0));
            for (request, said) in chunk.iter().zip(futures_util::future::join_all(rounds).await) {
                one_won(&kit, request, said).await;
            }
        }
        kit.finish().await;
    }

    async fn sixty_four_claims_at_once_give_one_permit(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        for _ in 0..3 {
            let id = kit.approved(&bot, &ann).await.id;
            let mut claims = JoinSet::new();
            for number in 0..64 {
                let (gate, bot) = (kit.gate().clone(), bot.clone());
                claims.spawn(async move { gate.claim(&bot, id, Some(&format!("claimant-{number}")), None).await });
            }
            let (got, refused): (Vec<_>, Vec<_>) = claims.join_all().await.into_iter().partition(Result::is_ok);
            assert_eq!((got.len(), refused.len()), (1, 63));
            assert!(refused.into_iter().all(|refused| refusal(refused) == Refusal::AlreadyClaimed));
            assert_eq!(kit.read(id).await.version, 3);
        }
    }

    async fn the_same_claimant_gets_the_same_permit_however_often_it_asks(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let id = kit.approved(&bot, &ann).await.id;
        let mut claims = JoinSet::new();
        for _ in 0..64 {
            let (gate, bot) = (kit.gate().clone(), bot.clone());
            claims.spawn(async move { gate.claim(&bot, id, Some("the one"), None).await.unwrap().permit });
        }
        let permits: BTreeSet<String> = claims.join_all().await.into_iter().collect();
        assert_eq!(permits.len(), 1);
        assert_eq!(kit.read(id).await.version, 3);
        assert_eq!(refusal(kit.gate().claim(&bot, id, None, None).await), Refusal::AlreadyClaimed);
    }

    async fn a_claim_and_a_change_of_mind_at_once_have_one_winner(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        for round in 0..30 {
            let request = kit.approved(&bot, &ann).await;
            let (gate, id) = (kit.gate(), request.id);
            let claim = gate.claim(&bot, id, None, None);
            let (claimed, taken_back) = if round % 2 == 0 {
                let (claimed, taken_back) = tokio::join!(claim, gate.revoke(&ann, id, None, None));
                (claimed.is_ok(), taken_back.is_ok())
            } else {
                let (taken_back, claimed) = tokio::join!(gate.cancel(&bot, id, None, None), claim);
                (claimed.is_ok(), taken_back.is_ok())
            };
            assert_ne!(claimed, taken_back);
            assert_eq!(kit.read(id).await.state == State::Claimed, claimed);
        }
    }

    async fn twins_with_one_idempotency_key_make_one_request(kit) {
        let bot = kit.agent("bot").await;
        let mut twins = JoinSet::new();
        for _ in 0..32 {
            let (gate, bot) = (kit.gate().clone(), bot.clone());
            let body = serde_json::json!({"kind": "action", "session": "s", "tool": "t", "arguments": {}});
            twins.spawn(async move { gate.submit(&bot, Kit::body(body), Some(idempotency("twin", "body"))).await.unwrap() });
        }
        let made = twins.join_all().await;
        assert_eq!(made.iter().map(|made| made.request.id).collect::<BTreeSet<_>>().len(), 1);
        assert_eq!(made.iter().filter(|made| !made.replayed).count(), 1);
    }
}

#[test]
fn two_nodes_at_the_same_instant_never_disagree() {
    block_on(async {
        let kit = Kit::start(Backend::Postgres).await;
        let node = kit.another_node().await;
        let (bot, ann, bob) = (kit.agent("bot").await, kit.reviewer("ann").await, kit.reviewer("bob").await);
        for round in 0..60 {
            let request = kit.ask(&bot).await;
            let said = opposed([kit.gate(), node.gate()], [&ann, &bob], &request, round % 2 == 0).await;
            one_won(&kit, &request, said).await;
            assert_eq!(node.read(request.id).await, kit.read(request.id).await);
        }
        for _ in 0..20 {
            let request = node.approved(&bot, &ann).await;
            let (here, there) = tokio::join!(
                kit.gate().claim(&bot, request.id, Some("a"), None),
                node.gate().claim(&bot, request.id, Some("b"), None)
            );
            assert_ne!(here.is_ok(), there.is_ok());
        }
        node.finish().await;
        kit.finish().await;
    });
}
