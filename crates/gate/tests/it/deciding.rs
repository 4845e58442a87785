//! Deciding many at once, one by one or all together, and deciding again.

use placet_core::{AllOf, DecisionWord, Needs, Refusal, Request, Seat, State, StepUp};
use placet_gate::Decision;
use placet_testkit::{Kit, both, idempotency};

use crate::refusal;

fn decide(request: &Request, word: DecisionWord) -> Decision {
    Kit::decision(request, word)
}

both! {
    async fn many_decisions_are_made_one_by_one_unless_they_are_atomic(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let mut requests = Vec::new();
        for _ in 0..4 {
            requests.push(kit.ask(&bot).await);
        }
        kit.deny(&ann, &requests[1]).await.unwrap();
        let all = |requests: &[std::sync::Arc<Request>]| requests.iter().map(|request| decide(request, DecisionWord::Approve)).collect::<Vec<_>>();
        let before = kit.store().head().await.unwrap().1;
        let outcomes = kit.gate().decide_many(&ann, all(&requests), true).await.unwrap();
        assert_eq!(outcomes[1].answer, Err(Refusal::AlreadyDecided));
        assert!([0, 2, 3].iter().all(|index| outcomes[*index].answer == Err(Refusal::NotApplied)));
        assert_eq!(kit.store().head().await.unwrap().1, before, "none of them counts");
        let outcomes = kit.gate().decide_many(&ann, all(&requests), false).await.unwrap();
        let applied: Vec<bool> = outcomes.iter().map(|outcome| outcome.answer.is_ok()).collect();
        assert_eq!(applied, [true, false, true, true]);
        assert_eq!(kit.store().head().await.unwrap().1, before + 3);
    }

    async fn an_atomic_batch_that_is_all_good_is_applied_whole(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let (one, two) = (kit.ask(&bot).await, kit.ask(&bot).await);
        let batch = vec![decide(&one, DecisionWord::Approve), decide(&two, DecisionWord::Deny)];
        let outcomes = kit.gate().decide_many(&ann, batch, true).await.unwrap();
        assert!(outcomes.iter().all(|outcome| outcome.answer.is_ok()));
        assert_eq!(kit.read(one.id).await.state, State::Approved);
        assert_eq!(kit.read(two.id).await.state, State::Denied);
    }

    async fn an_item_that_does_not_fit_refuses_an_atomic_batch_before_anything_is_written(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let (one, two) = (kit.ask(&bot).await, kit.ask(&bot).await);
        let remember = serde_json::from_value(serde_json::json!({"scope": "pattern"})).unwrap();
        let remember = Decision { remember: Some(remember), ..decide(&two, DecisionWord::Approve) };
        let batch = |atomic| kit.gate().decide_many(&ann, vec![decide(&one, DecisionWord::Approve), remember.clone()], atomic);
        let answers: Vec<_> = batch(true).await.unwrap().into_iter().map(|outcome| outcome.answer.unwrap_err().code()).collect();
        assert_eq!(answers, ["not_applied", "invalid"]);
        assert_eq!(kit.read(one.id).await.state, State::Pending);
        let outcomes = batch(false).await.unwrap();
        assert!(outcomes[0].answer.is_ok() && outcomes[1].answer.is_err());
        assert_eq!(kit.read(one.id).await.state, State::Approved);
    }

    async fn votes_with_and_without_a_code_may_share_a_batch(backend: Backend) {
        let any = vec![AllOf { all: vec![Seat { people: 1, team: None }] }];
        let kit = Kit::with(backend, |settings| settings.needs = Needs { any, four_eyes: false, step_up: Some("code".to_owned()) }).await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let requests = [kit.ask(&bot).await, kit.ask(&bot).await, kit.ask(&bot).await];
        let step_up = Some(StepUp { code: kit.code(&ann, &requests[1]) });
        let batch = vec![
            decide(&requests[0], DecisionWord::Approve),
            Decision { step_up, ..decide(&requests[1], DecisionWord::Approve) },
            decide(&requests[2], DecisionWord::Deny),
        ];
        let outcomes = kit.gate().decide_many(&Kit::bound(&ann), batch, false).await.unwrap();
        assert_eq!(outcomes[0].answer, Err(Refusal::StepUpRequired("code".to_owned())));
        let states: Vec<State> = outcomes.iter().map(|outcome| outcome.request.as_ref().unwrap().state).collect();
        assert_eq!(states, [State::Pending, State::Approved, State::Denied]);
        kit.finish().await;
    }

    async fn a_decision_given_twice_with_one_key_is_one_decision(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let request = kit.ask(&bot).await;
        let keyed = || Decision { idempotency: Some(idempotency("d", "approve")), ..decide(&request, DecisionWord::Approve) };
        let first = kit.gate().decide(&ann, keyed()).await.unwrap();
        kit.gate().claim(&bot, request.id, None, None).await.unwrap();
        // A retry after a lost answer: the record as it is, and nothing new.
        let again = kit.gate().decide(&ann, keyed()).await.unwrap();
        assert_eq!((again.state, again.version, again.votes.len()), (State::Claimed, first.version + 1, 1));
        assert_eq!(refusal(kit.gate().decide(&ann, decide(&request, DecisionWord::Approve)).await), Refusal::AlreadyDecided);
    }

    async fn a_later_vote_of_the_same_person_replaces_the_earlier_one(backend: Backend) {
        let any = vec![AllOf { all: vec![Seat { people: 2, team: None }] }];
        let kit = Kit::with(backend, |settings| settings.needs.any = any).await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let request = kit.ask(&bot).await;
        kit.approve(&ann, &request).await.unwrap();
        let denied = kit.deny(&ann, &request).await.unwrap();
        assert_eq!((denied.state, denied.votes.len()), (State::Denied, 1));
        kit.finish().await;
    }
}
