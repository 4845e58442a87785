//! Idempotency: the same key gives the same result, in the same transaction as the command it belongs to.

use std::time::Duration;

use placet_core::{Actor, AdminCommand, DecisionWord, KeyId, Refusal, Role, State};
use placet_store::{AdminOutcome, Clock as _, CommandUnit, StoreError};
use placet_testkit::{both, idempotency, unit};

use crate::shop::{Shop, ann, bot, cancel, claim, decide};

both! {
    async fn a_repeated_create_answers_with_the_request_as_it_stands_now(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        let key = idempotency("k", "body");
        let first = shop.give(&agent, shop.new_request(&agent), Some(key)).await.unwrap();
        assert!(!first.replayed);
        let request = first.request.unwrap();
        shop.done(&ann(), decide(&request, DecisionWord::Approve)).await;
        let again = shop.give(&agent, shop.new_request(&agent), Some(key)).await.unwrap();
        assert!(again.replayed);
        let again = again.request.unwrap();
        assert_eq!((again.id, again.state), (request.id, State::Approved));
        assert_eq!(shop.place.value("SELECT count(*) FROM requests").await, "1");
        // After a restart as well.
        let shop = shop.reopen().await;
        let again = shop.give(&agent, shop.new_request(&agent), Some(key)).await.unwrap();
        assert_eq!(again.request.unwrap().id, request.id);
        shop.finish().await;
    }

    async fn the_same_key_with_another_body_is_refused_and_does_nothing(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        shop.give(&agent, shop.new_request(&agent), Some(idempotency("k", "body"))).await.unwrap();
        let before = shop.ledger().await.len();
        let error = shop.give(&agent, shop.new_request(&agent), Some(idempotency("k", "another"))).await.unwrap_err();
        assert!(matches!(error, StoreError::KeyReused), "{error:?}");
        assert_eq!(shop.ledger().await.len(), before);
        shop.finish().await;
    }

    async fn twins_at_the_same_moment_make_one_request(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        let first = shop.ask(&agent).await;
        let mut units = vec![unit(&agent, cancel(first.id), None)];
        units.extend((0..20).map(|_| unit(&agent, shop.new_request(&agent), Some(idempotency("twin", "body")))));
        units.push(unit(&agent, shop.new_request(&agent), Some(idempotency("twin", "another body"))));
        let mut results = shop.queue_up(units).await;
        assert!(matches!(results.pop(), Some(Err(StoreError::KeyReused))));
        let outcomes: Vec<_> = results.into_iter().skip(1).map(|done| done.unwrap().remove(0)).collect();
        let ids: std::collections::BTreeSet<_> = outcomes.iter().map(|outcome| outcome.request.as_ref().unwrap().id).collect();
        assert_eq!(ids.len(), 1);
        assert_eq!(outcomes.iter().filter(|outcome| !outcome.replayed).count(), 1);
        assert_eq!(shop.place.value("SELECT count(*) FROM requests").await, "2");
        shop.finish().await;
    }

    async fn a_refusal_is_not_remembered(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        let request = shop.ask(&agent).await;
        let key = Some(idempotency("claim", "body"));
        let early = shop.give(&agent, claim(request.id, 1), key).await.unwrap();
        assert_eq!(early.answer, Err(Refusal::NotApproved));
        shop.done(&ann(), decide(&request, DecisionWord::Approve)).await;
        let now = shop.give(&agent, claim(request.id, 1), key).await.unwrap();
        assert_eq!((now.answer, now.replayed), (Ok(()), false));
        let again = shop.give(&agent, claim(request.id, 1), key).await.unwrap();
        assert_eq!((again.answer, again.replayed), (Ok(()), true));
        assert_eq!(again.request.unwrap().version, 3);
        shop.finish().await;
    }

    async fn a_unit_that_was_taken_back_is_not_remembered_either(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        let (open, decided) = (shop.ask(&agent).await, shop.ask(&agent).await);
        shop.done(&ann(), decide(&decided, DecisionWord::Deny)).await;
        let key = |name| Some(idempotency(name, "body"));
        let commands = vec![(decide(&open, DecisionWord::Approve), key("one")), (decide(&decided, DecisionWord::Approve), key("two"))];
        shop.store.commands(CommandUnit { actor: ann(), commands, atomic: true }).await.unwrap();
        assert_eq!(shop.place.value("SELECT count(*) FROM idempotency").await, "0");
        let now = shop.give(&ann(), decide(&open, DecisionWord::Approve), key("one")).await.unwrap();
        assert_eq!((now.answer, now.replayed), (Ok(()), false));
        shop.finish().await;
    }

    async fn a_repeated_key_command_names_the_key_and_makes_no_second_one(backend: Backend) {
        let shop = Shop::open(backend).await;
        let make = |n: u8, body: &str| {
            let command = AdminCommand::CreateKey {
                id: KeyId::new(1, [n; 10]),
                role: Role::Agent,
                name: "bot".to_owned(),
                owner: None,
                secret: [n; 32],
            };
            shop.store.admin(Actor::system(), command, Some(idempotency("key", body)))
        };
        assert_eq!(make(1, "body").await.unwrap(), AdminOutcome::Applied);
        assert_eq!(make(2, "body").await.unwrap(), AdminOutcome::Replayed(Some(KeyId::new(1, [1; 10]))));
        assert!(matches!(make(3, "other").await, Err(StoreError::KeyReused)));
        assert_eq!(shop.place.value("SELECT count(*) FROM keys").await, "1");
        shop.finish().await;
    }

    async fn answers_are_forgotten_only_when_old_and_their_request_is_final(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        let key = |name| Some(idempotency(name, "body"));
        let open = shop.give(&agent, shop.new_request(&agent), key("open")).await.unwrap().request.unwrap();
        let done = shop.give(&agent, shop.new_request(&agent), key("done")).await.unwrap().request.unwrap();
        shop.done(&agent, cancel(done.id)).await;
        shop.clock.advance(Duration::from_mins(1));
        let fresh = shop.give(&agent, shop.new_request(&agent), key("fresh")).await.unwrap().request.unwrap();
        shop.done(&agent, cancel(fresh.id)).await;
        let before = placet_core::Time::from_micros(shop.clock.now().micros() - 30_000_000);
        shop.store.prune(before).await.unwrap();
        for (name, id, replayed) in [("open", open.id, true), ("fresh", fresh.id, true), ("done", done.id, false)] {
            let again = shop.give(&agent, shop.new_request(&agent), key(name)).await.unwrap();
            assert_eq!((again.request.unwrap().id == id, again.replayed), (replayed, replayed), "{name}");
        }
        shop.finish().await;
    }
}
