//! Group commit: what queues together is written together, in order, and nobody's refusal is anybody else's problem.

use std::{collections::BTreeSet, time::Duration};

use placet_core::{DecisionWord, Refusal, State};
use placet_store::CommandUnit;
use placet_testkit::{both, unit};
use tokio::task::JoinSet;

use crate::shop::{Shop, ann, bot, cancel, claim, decide, entry, expire, person, report};

both! {
    async fn what_queues_while_a_commit_is_written_goes_into_the_next_one(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        let before = shop.ledger().await.len();
        shop.clock.tick();
        // One in the writer's hands, 299 behind it, at most 256 in one transaction: three commits.
        let units = (0..300).map(|_| unit(&agent, shop.new_request(&agent), None)).collect();
        for done in shop.queue_up(units).await {
            assert_eq!(done.unwrap()[0].answer, Ok(()));
        }
        let ledger = shop.ledger().await;
        let times: BTreeSet<String> = ledger[before..].iter().map(|row| entry(row)["at"].to_string()).collect();
        assert_eq!(ledger.len() - before, 300);
        assert_eq!(times.len(), 3);
        shop.finish().await;
    }

    async fn sequence_numbers_have_no_gap_and_no_repetition_under_concurrency(backend: Backend) {
        let shop = Shop::open(backend).await;
        let mut running = JoinSet::new();
        for index in 0..400 {
            let agent = bot(&format!("bot-{}", index % 7));
            let unit = unit(&agent, shop.new_request(&agent), None);
            let store = shop.store.clone();
            running.spawn(async move { store.commands(unit).await.unwrap().remove(0).request.unwrap().seq });
        }
        let seqs: BTreeSet<u64> = running.join_all().await.into_iter().collect();
        assert_eq!(seqs.len(), 400);
        let ledger = shop.ledger().await;
        let expected: Vec<u64> = (1..=ledger.len() as u64).collect();
        assert_eq!(ledger.iter().map(|row| row.seq).collect::<Vec<_>>(), expected);
        assert_eq!(shop.store.head().await.unwrap().1, ledger.len() as u64);
        shop.finish().await;
    }

    async fn later_commands_of_a_batch_see_what_earlier_ones_did(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        let (first, request) = (shop.ask(&agent).await, shop.ask(&agent).await);
        shop.clock.tick();
        let units = vec![
            unit(&agent, cancel(first.id), None),
            unit(&ann(), decide(&request, DecisionWord::Approve), None),
            unit(&agent, claim(request.id, 1), None),
            unit(&agent, claim(request.id, 2), None),
            unit(&agent, report(request.id, 1), None),
        ];
        let outcomes: Vec<_> = shop.queue_up(units).await.into_iter().map(|done| done.unwrap().remove(0)).collect();
        let states: Vec<_> = outcomes.iter().map(|outcome| outcome.request.as_ref().unwrap().state).collect();
        assert_eq!(states, [State::Cancelled, State::Approved, State::Claimed, State::Claimed, State::Succeeded]);
        assert_eq!(outcomes[3].answer, Err(Refusal::AlreadyClaimed));
        assert_eq!(outcomes[4].request.as_ref().unwrap().version, 4);
        // All of it in one transaction, and one row at the end of it.
        let ledger = shop.ledger().await;
        let times: BTreeSet<String> = ledger[ledger.len() - 3..].iter().map(|row| entry(row)["at"].to_string()).collect();
        assert_eq!(times.len(), 1);
        assert_eq!(shop.read(request.id).await.state, State::Succeeded);
        shop.finish().await;
    }

    async fn a_request_may_be_made_and_ended_in_one_unit(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        let new = shop.new_request(&agent);
        let id = new.request();
        let unit = CommandUnit { actor: agent, commands: vec![(new, None), (cancel(id), None)], atomic: false };
        shop.store.commands(unit).await.unwrap();
        let request = shop.read(id).await;
        assert_eq!((request.state, request.version), (State::Cancelled, 2));
        shop.finish().await;
    }

    async fn a_refusal_is_a_value_and_leaves_its_neighbours_alone(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        let (first, request, other) = (shop.ask(&agent).await, shop.ask(&agent).await, shop.ask(&agent).await);
        let before = shop.ledger().await.len();
        let mut wrong = request.as_ref().clone();
        wrong.digest = other.digest;
        let units = vec![
            unit(&agent, cancel(first.id), None),
            unit(&ann(), decide(&wrong, DecisionWord::Approve), None),
            unit(&bot("stranger"), cancel(request.id), None),
            unit(&person("nobody"), decide(&request, DecisionWord::Approve), None),
            unit(&ann(), decide(&request, DecisionWord::Approve), None),
            unit(&ann(), decide(&other, DecisionWord::Deny), None),
        ];
        let outcomes: Vec<_> = shop.queue_up(units).await.into_iter().map(|done| done.unwrap().remove(0)).collect();
        let answers: Vec<_> = outcomes.iter().map(|outcome| outcome.answer.clone()).collect();
        assert_eq!(
            answers,
            [Ok(()), Err(Refusal::StaleDigest), Err(Refusal::NotFound), Err(Refusal::Unauthorized), Ok(()), Ok(())]
        );
        assert!(outcomes[2].request.is_none(), "a stranger learns nothing");
        assert_eq!(shop.ledger().await.len() - before, 3);
        assert_eq!(shop.read(request.id).await.state, State::Approved);
        assert_eq!(shop.read(other.id).await.state, State::Denied);
        shop.finish().await;
    }

    async fn an_atomic_unit_is_applied_whole_or_not_at_all(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        let (one, two, three) = (shop.ask(&agent).await, shop.ask(&agent).await, shop.ask(&agent).await);
        shop.done(&ann(), decide(&two, DecisionWord::Deny)).await;
        let before = shop.ledger().await.len();
        let unit = |atomic, requests: [&placet_core::Request; 3]| CommandUnit {
            actor: ann(),
            commands: requests.iter().map(|request| (decide(request, DecisionWord::Deny), None)).collect(),
            atomic,
        };
        let outcomes = shop.store.commands(unit(true, [&one, &two, &three])).await.unwrap();
        assert_eq!(outcomes[1].answer, Err(Refusal::AlreadyDecided));
        assert_eq!(outcomes[0].request.as_ref().unwrap().state, State::Pending);
        assert_eq!(shop.ledger().await.len(), before);
        assert_eq!(shop.read(one.id).await.state, State::Pending);
        assert_eq!(shop.read(three.id).await.state, State::Pending);
        // The same, one by one.
        shop.store.commands(unit(false, [&one, &two, &three])).await.unwrap();
        assert_eq!(shop.ledger().await.len(), before + 2);
        assert_eq!(shop.read(three.id).await.state, State::Denied);
        shop.finish().await;
    }

    async fn an_atomic_unit_that_was_taken_back_does_not_disturb_its_batch(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        let requests = [shop.ask(&agent).await, shop.ask(&agent).await, shop.ask(&agent).await];
        let first = shop.ask(&agent).await;
        let both = |word| {
            let commands = [&requests[0], &requests[1]].map(|request| (decide(request, word), None)).into();
            CommandUnit { actor: ann(), commands, atomic: true }
        };
        let units = vec![
            unit(&agent, cancel(first.id), None),
            unit(&ann(), decide(&requests[1], DecisionWord::Deny), None),
            both(DecisionWord::Approve),
            unit(&ann(), decide(&requests[2], DecisionWord::Approve), None),
            unit(&ann(), decide(&requests[0], DecisionWord::Approve), None),
        ];
        let results: Vec<_> = shop.queue_up(units).await.into_iter().map(|done| done.unwrap()).collect();
        assert_eq!(results[2][1].answer, Err(Refusal::AlreadyDecided));
        assert_eq!(results[4][0].answer, Ok(()));
        for (request, state) in requests.iter().zip([State::Approved, State::Denied, State::Approved]) {
            assert_eq!(shop.read(request.id).await.state, state);
        }
        shop.finish().await;
    }

    async fn a_passed_deadline_takes_effect_inside_the_command_that_finds_it(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        let pending = shop.ask(&agent).await;
        let (approved, claimed) = (shop.approved(&agent).await, shop.claimed(&agent).await);
        shop.clock.advance(Duration::from_mins(5));
        let late = shop.give(&ann(), decide(&pending, DecisionWord::Approve), None).await.unwrap();
        assert_eq!(late.answer, Err(Refusal::Expired));
        assert_eq!(late.request.unwrap().state, State::Expired);
        assert_eq!(shop.read(pending.id).await.state, State::Expired);
        // Decided a moment before is decided.
        assert_eq!(shop.read(approved.id).await.state, State::Approved);
        shop.clock.advance(Duration::from_mins(10));
        let late = shop.give(&agent, claim(approved.id, 1), None).await.unwrap();
        assert_eq!(late.answer, Err(Refusal::Lapsed));
        assert_eq!(shop.read(approved.id).await.state, State::Lapsed);
        shop.clock.advance(Duration::from_mins(45));
        shop.done(&placet_core::Actor::system(), expire(claimed.id)).await;
        assert_eq!(shop.read(claimed.id).await.state, State::Unknown);
        // A late report still tells the truth.
        assert_eq!(shop.done(&agent, report(claimed.id, 1)).await.state, State::Succeeded);
        shop.finish().await;
    }
}
