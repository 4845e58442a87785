//! The votes of a stolen key become void with it, and so do those of a removed person.

use placet_core::{AllOf, Needs, Role, Seat, State};
use placet_gate::{Decision, PersonSpec};
use placet_testkit::{Kit, both};
use serde_json::json;

use crate::{policy::asked, refusal};

fn two(four_eyes: bool) -> Needs {
    let people = if four_eyes { 1 } else { 2 };
    Needs { any: vec![AllOf { all: vec![Seat { people, team: None }] }], four_eyes, step_up: None }
}

fn remembering(request: &placet_core::Request) -> Decision {
    let remember = serde_json::from_value(json!({"scope": "exact"})).unwrap();
    Decision { remember: Some(remember), ..Kit::decision(request, placet_core::DecisionWord::Approve) }
}

both! {
    async fn a_vote_of_a_revoked_key_counts_no_more_unless_the_admin_keeps_it(backend: Backend) {
        let mut kit = Kit::with(backend, |settings| settings.needs = two(false)).await;
        let (bot, ann, bob) = (kit.agent("bot").await, kit.reviewer("ann").await, kit.reviewer("bob").await);
        for keep in [true, false] {
            let thief = kit.key(Role::Reviewer, "ann", None).await;
            let request = kit.ask(&bot).await;
            kit.approve(&thief, &request).await.unwrap();
            kit.gate().revoke_key(kit.admin(), thief.key.unwrap(), keep).await.unwrap();
            // Another node, and this one after a restart, read it from the database.
            kit.restart().await;
            let shown = serde_json::to_value(kit.gate().view(&kit.read(request.id).await)).unwrap();
            let votes = shown["votes"].as_array().unwrap().len();
            assert_eq!(votes, usize::from(keep), "what counts no more is not shown as if it did");
            let after = kit.approve(&bob, &request).await.unwrap();
            assert_eq!(after.state == State::Approved, keep);
            let row = kit.gate().row(&bob, &after);
            if !keep {
                assert_eq!((row.votes.have, row.votes.need), (1, 2));
                assert_eq!(kit.approve(&ann, &after).await.unwrap().state, State::Approved, "ann herself can say it again");
            }
        }
        kit.finish().await;
    }

    async fn a_person_who_was_removed_and_made_again_does_not_get_the_vote_back(backend: Backend) {
        let mut kit = Kit::with(backend, |settings| settings.needs = two(false)).await;
        let (bot, ann, bob) = (kit.agent("bot").await, kit.reviewer("ann").await, kit.reviewer("bob").await);
        let request = kit.ask(&bot).await;
        kit.approve(&ann, &request).await.unwrap();
        kit.gate().remove_person(kit.admin(), "ann".to_owned()).await.unwrap();
        let again = PersonSpec { roles: [Role::Reviewer].into(), teams: [].into() };
        kit.gate().put_person(kit.admin(), "ann".to_owned(), again, None).await.unwrap();
        kit.restart().await;
        assert_eq!(kit.approve(&bob, &request).await.unwrap().state, State::Pending);
        kit.finish().await;
    }

    async fn a_standing_yes_ends_with_its_key_and_with_the_approval_it_came_with(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let passes = async |n: u32| asked(kit, &bot, "mail", json!({"n": n})).await.state == State::Approved;
        for n in 0..2 {
            let thief = kit.key(Role::Reviewer, "ann", None).await;
            let request = asked(kit, &bot, "mail", json!({"n": n})).await;
            kit.gate().decide(&thief, remembering(&request)).await.unwrap();
            assert!(passes(n).await);
            let keep = n == 0;
            kit.gate().revoke_key(kit.admin(), thief.key.unwrap(), keep).await.unwrap();
            assert_eq!(passes(n).await, keep, "unless it was a rotation");
        }
        let request = asked(kit, &bot, "mail", json!({"n": 7})).await;
        kit.gate().decide(&ann, remembering(&request)).await.unwrap();
        assert!(passes(7).await);
        let names = async || {
            let news = kit.store().news(0, 200).await.unwrap();
            news.iter().filter(|news| news.name == "grant.revoked").count()
        };
        assert_eq!(names().await, 0);
        kit.gate().revoke(&ann, request.id, None, None).await.unwrap();
        assert!(!passes(7).await, "taken back with the approval");
        assert_eq!(names().await, 1, "and ledgered");
        // Too late for the approval: the reviewer who revokes it is told that the grant stays.
        let request = asked(kit, &bot, "mail", json!({"n": 8})).await;
        kit.gate().decide(&ann, remembering(&request)).await.unwrap();
        kit.gate().claim(&bot, request.id, None, None).await.unwrap();
        let refused = crate::refusal(kit.gate().revoke(&ann, request.id, None, None).await);
        assert_eq!(refused.code(), "already_claimed");
        let grant = kit.gate().grants(&ann).await.unwrap().into_iter().find(|row| row.grant.request == request.id);
        assert!(refused.to_string().contains(&grant.expect("it stands").grant.id.to_string()), "{refused}");
    }

    async fn a_replacement_on_the_table_makes_a_request_another_call(backend: Backend) {
        let kit = Kit::with(backend, |settings| settings.needs = two(false)).await;
        let (bot, ann, bob) = (kit.agent("bot").await, kit.reviewer("ann").await, kit.reviewer("bob").await);
        let pay = async || asked(&kit, &bot, "pay", json!({"amount": 5})).await;
        let (one, other, third) = (pay().await, pay().await, pay().await);
        let same = |request: &placet_core::Request| kit.gate().same(request);
        assert!(same(&one).is_some() && same(&one) == same(&other));
        let edited = kit.edit(&bob, &other, json!({"amount": 9999, "to": "Mallory"})).await.unwrap();
        assert_eq!(same(&edited), None, "a yes to another must not be a yes to a replacement");
        let row = kit.gate().row(&ann, &edited);
        assert!(row.effect.contains("Mallory"), "{}", row.effect);
        // Neither with the arguments that were asked for, nor with those of another replacement.
        let mut now = third;
        for arguments in [json!({"amount": 5}), json!({"amount": 9999, "to": "Mallory"})] {
            now = kit.edit(&bob, &now, arguments).await.unwrap();
            assert_eq!((same(&now), kit.gate().row(&ann, &now).same), (None, None));
        }
        kit.finish().await;
    }

    async fn another_key_with_another_owner_lets_nobody_pass_four_eyes(backend: Backend) {
        let mut kit = Kit::with(backend, |settings| settings.needs = two(true)).await;
        let (ann, bob) = (kit.reviewer("ann").await, kit.reviewer("bob").await);
        let bot = kit.agent_of("bot", "ann").await;
        let request = kit.ask(&bot).await;
        kit.key(Role::Agent, "bot", Some("bob")).await;
        kit.restart().await;
        for owner in [&ann, &bob] {
            let refused = refusal(kit.approve(owner, &request).await);
            assert_eq!(refused.code(), "self_approval", "{}", owner.name);
        }
        let carl = kit.reviewer("carl").await;
        assert_eq!(kit.approve(&carl, &request).await.unwrap().state, State::Approved);
        kit.finish().await;
    }
}
