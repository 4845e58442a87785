//! Weak keys: whoever forgot what it asked finds it again while it is open, and never gets anything else by it.

use std::time::Duration;

use placet_core::{Actor, Command, DecisionWord, Refusal, Request, Revoke, State, Submit, WeakKey};
use placet_store::{Clock as _, StoreError};
use placet_testkit::{both, idempotency, submit, unit, weak_key};
use serde_json::json;

use crate::shop::{Shop, ann, bot, cancel, claim, decide, expire};

/// A new request under a weak key.
fn weak(command: Command, key: WeakKey) -> Command {
    match command {
        Command::Submit(made) => Command::Submit(Box::new(Submit { weak: Some(key), ..*made })),
        other => panic!("{other:?}"),
    }
}

/// Asks under a weak key and an idempotency key; the request, and whether it was there before.
async fn ask(shop: &Shop, agent: &Actor, key: WeakKey, strong: &str) -> (std::sync::Arc<Request>, bool) {
    let command = weak(shop.new_request(agent), key);
    let outcome = shop.give(agent, command, Some(idempotency(strong, strong))).await.unwrap();
    assert_eq!(outcome.answer, Ok(()));
    assert_eq!(outcome.changed, !outcome.replayed);
    (outcome.request.unwrap(), outcome.replayed)
}

both! {
    async fn what_is_pending_is_found_again_after_a_restart_and_remembers_the_new_key(backend: Backend) {
        let shop = Shop::open(backend).await;
        let (agent, key) = (bot("bot"), weak_key("w", "same"));
        let (first, found) = ask(&shop, &agent, key, "one").await;
        assert!(!found);
        let before = shop.ledger().await.len();
        let shop = shop.reopen().await;
        let (again, found) = ask(&shop, &agent, key, "two").await;
        assert_eq!((again.id, found, again.version), (first.id, true, 1));
        assert_eq!(shop.ledger().await.len(), before, "finding something changes nothing");
        // The new idempotency key now stands for that request for good, decided or not, weak key or not.
        shop.done(&ann(), decide(&first, DecisionWord::Deny)).await;
        let shop = shop.reopen().await;
        let replayed = shop.give(&agent, shop.new_request(&agent), Some(idempotency("two", "two"))).await.unwrap();
        assert!(replayed.replayed);
        assert_eq!(replayed.request.unwrap().id, first.id);
        let other_body = shop.give(&agent, shop.new_request(&agent), Some(idempotency("two", "else"))).await;
        assert!(matches!(other_body, Err(StoreError::KeyReused)));
        shop.finish().await;
    }

    async fn an_approval_is_found_until_it_is_claimed_and_serves_one_run(backend: Backend) {
        let shop = Shop::open(backend).await;
        let (agent, key) = (bot("bot"), weak_key("w", "same"));
        let (first, _) = ask(&shop, &agent, key, "one").await;
        shop.done(&ann(), decide(&first, DecisionWord::Approve)).await;
        let (second, found) = ask(&shop, &agent, key, "two").await;
        assert_eq!((second.id, second.state, found), (first.id, State::Approved, true));
        let (third, _) = ask(&shop, &agent, key, "three").await;
        assert_eq!(third.id, first.id);
        // Two found it; one of them runs.
        shop.done(&agent, claim(first.id, 1)).await;
        let late = shop.give(&agent, claim(first.id, 2), None).await.unwrap();
        assert_eq!(late.answer, Err(Refusal::AlreadyClaimed));
        let (fresh, found) = ask(&shop, &agent, key, "four").await;
        assert!(!found && fresh.id != first.id);
        assert_eq!(fresh.state, State::Pending);
        // From here on the weak key stands for the new one.
        assert_eq!(ask(&shop, &agent, key, "five").await.0.id, fresh.id);
        shop.finish().await;
    }

    async fn what_is_over_is_never_found(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        let over: [(&str, State); 6] = [
            ("denied", State::Denied), ("cancelled", State::Cancelled), ("revoked", State::Revoked),
            ("expired", State::Expired), ("lapsed", State::Lapsed), ("claimed", State::Claimed),
        ];
        for (name, state) in over {
            let key = weak_key(name, "same");
            let (first, _) = ask(&shop, &agent, key, name).await;
            match state {
                State::Denied => drop(shop.done(&ann(), decide(&first, DecisionWord::Deny)).await),
                State::Cancelled => drop(shop.done(&agent, cancel(first.id)).await),
                // Nobody came by to write it down: what counts is the time.
                State::Expired => shop.clock.advance(Duration::from_mins(6)),
                _ => drop(shop.done(&ann(), decide(&first, DecisionWord::Approve)).await),
            }
            match state {
                State::Revoked => drop(shop.done(&ann(), Command::Revoke(Revoke { id: first.id, reason: None })).await),
                State::Lapsed => shop.clock.advance(Duration::from_mins(16)),
                State::Claimed => drop(shop.done(&agent, claim(first.id, 1)).await),
                _ => {}
            }
            assert_eq!(shop.read(first.id).await.state_at(shop.clock.now()), state);
            let (fresh, found) = ask(&shop, &agent, key, &format!("{name} again")).await;
            assert_eq!((found, fresh.id != first.id, fresh.state), (false, true, State::Pending), "{name}");
            // Written down or not.
            if matches!(state, State::Expired | State::Lapsed) {
                shop.done(&Actor::system(), expire(first.id)).await;
                assert_eq!(shop.read(first.id).await.state, state);
            }
            let (again, found) = ask(&shop, &agent, key, &format!("{name} once more")).await;
            assert_eq!((again.id, found), (fresh.id, true), "{name}");
        }
        shop.finish().await;
    }

    async fn another_agent_or_another_body_is_another_request(backend: Backend) {
        let shop = Shop::open(backend).await;
        let (agent, other) = (bot("bot"), bot("other"));
        let (first, _) = ask(&shop, &agent, weak_key("w", "same"), "one").await;
        // The scope of a weak key names its agent. Even if it did not, a request of somebody else would not be found.
        let (theirs, found) = ask(&shop, &other, weak_key("w", "same"), "two").await;
        assert_eq!((found, theirs.agent.as_str()), (false, "other"));
        let (mine, found) = ask(&shop, &agent, weak_key("w", "same"), "three").await;
        assert!(!found && mine.id != first.id);
        let (changed, found) = ask(&shop, &agent, weak_key("w", "changed"), "four").await;
        assert!(!found && changed.id != mine.id);
        assert_eq!(shop.read(mine.id).await.state, State::Pending, "what is no longer found still stands");
        shop.finish().await;
    }

    async fn an_approval_without_a_permit_is_final_and_never_found(backend: Backend) {
        let shop = Shop::open(backend).await;
        let (agent, key) = (bot("bot"), weak_key("w", "same"));
        let body = json!({"kind": "action", "session": "s", "tool": "t", "arguments": {}, "permit": false});
        let make = || weak(submit(&agent, shop.clock.now(), body.clone()), key);
        let first = shop.done(&agent, make()).await;
        assert!(shop.give(&agent, make(), None).await.unwrap().replayed, "while it waits it is found");
        shop.done(&ann(), decide(&first, DecisionWord::Approve)).await;
        let fresh = shop.give(&agent, make(), None).await.unwrap();
        assert!(!fresh.replayed);
        assert_ne!(fresh.request.unwrap().id, first.id);
        shop.finish().await;
    }

    async fn twins_in_one_batch_find_each_other(backend: Backend) {
        let shop = Shop::open(backend).await;
        let (agent, key) = (bot("bot"), weak_key("w", "same"));
        let first = shop.ask(&agent).await;
        let mut units = vec![unit(&agent, cancel(first.id), None)];
        for n in 0..20 {
            let strong = format!("k{n}");
            units.push(unit(&agent, weak(shop.new_request(&agent), key), Some(idempotency(&strong, "body"))));
        }
        units.push(unit(&agent, weak(shop.new_request(&agent), weak_key("w", "else")), Some(idempotency("e", "body"))));
        units.push(unit(&agent, weak(shop.new_request(&agent), key), Some(idempotency("back", "body"))));
        let results = shop.queue_up(units).await;
        let outcomes: Vec<_> = results.into_iter().skip(1).map(|done| done.unwrap().remove(0)).collect();
        let id = |n: usize| outcomes[n].request.as_ref().unwrap().id;
        assert!((0..20).all(|n| id(n) == id(0)));
        assert_eq!(outcomes[..20].iter().filter(|outcome| !outcome.replayed).count(), 1);
        // Another body moved the key away, and the next one that asks for the first body is a new request.
        assert!(!outcomes[20].replayed && !outcomes[21].replayed);
        assert_eq!(shop.place.value("SELECT count(*) FROM requests").await, "4");
        for n in 0..20 {
            let strong = Some(idempotency(&format!("k{n}"), "body"));
            let again = shop.give(&agent, shop.new_request(&agent), strong).await.unwrap();
            assert_eq!((again.request.unwrap().id, again.replayed), (id(0), true), "every twin's key is remembered");
        }
        shop.finish().await;
    }

    async fn a_known_idempotency_key_goes_before_a_weak_one(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        let (first, _) = ask(&shop, &agent, weak_key("w1", "same"), "one").await;
        let (second, _) = ask(&shop, &agent, weak_key("w2", "same"), "two").await;
        assert_ne!(first.id, second.id);
        let (again, found) = ask(&shop, &agent, weak_key("w2", "same"), "one").await;
        assert_eq!((again.id, found), (first.id, true));
        // And with another body it is refused before anything is looked for.
        let command = weak(shop.new_request(&agent), weak_key("w2", "same"));
        let reused = shop.give(&agent, command, Some(idempotency("one", "another"))).await;
        assert!(matches!(reused, Err(StoreError::KeyReused)));
        shop.finish().await;
    }

    async fn a_refused_request_moves_no_weak_key(backend: Backend) {
        let shop = Shop::open(backend).await;
        let (agent, key) = (bot("bot"), weak_key("w", "same"));
        let full = |command| match weak(command, key) {
            Command::Submit(made) => Command::Submit(Box::new(Submit { pending_cap: 1, ..*made })),
            other => panic!("{other:?}"),
        };
        let first = shop.done(&agent, full(shop.new_request(&agent))).await;
        let found = shop.give(&agent, full(shop.new_request(&agent)), None).await.unwrap();
        assert_eq!((found.request.unwrap().id, found.replayed), (first.id, true), "finding one makes none");
        shop.done(&ann(), decide(&first, DecisionWord::Deny)).await;
        shop.ask(&agent).await;
        let refused = shop.give(&agent, full(shop.new_request(&agent)), Some(idempotency("k", "b"))).await.unwrap();
        assert_eq!(refused.answer, Err(Refusal::PendingCap(1)));
        assert_eq!(shop.place.value("SELECT count(*) FROM idempotency").await, "1");
        shop.finish().await;
    }

    async fn weak_keys_are_kept_while_their_request_is_open_and_forgotten_like_the_others(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        let (open, _) = ask(&shop, &agent, weak_key("open", "same"), "one").await;
        let (done, _) = ask(&shop, &agent, weak_key("done", "same"), "two").await;
        shop.done(&agent, cancel(done.id)).await;
        shop.clock.advance(Duration::from_mins(1));
        let before = placet_core::Time::from_micros(shop.clock.now().micros() - 30_000_000);
        shop.store.prune(before).await.unwrap();
        assert_eq!(shop.place.value("SELECT count(*) FROM idempotency").await, "2");
        assert_eq!(ask(&shop, &agent, weak_key("open", "same"), "three").await.0.id, open.id);
        let (fresh, found) = ask(&shop, &agent, weak_key("done", "same"), "four").await;
        assert!(!found && fresh.id != done.id);
        // A key that points elsewhere is as young as what it points at.
        shop.done(&agent, cancel(fresh.id)).await;
        let (last, _) = ask(&shop, &agent, weak_key("done", "same"), "five").await;
        shop.store.prune(before).await.unwrap();
        assert_eq!(ask(&shop, &agent, weak_key("done", "same"), "six").await.0.id, last.id);
        shop.finish().await;
    }
}
