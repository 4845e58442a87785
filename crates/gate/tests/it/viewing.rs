//! The card that a yes is made from: whole, and the one that is current when the vote counts.

use std::collections::BTreeSet;

use placet_core::{
    Actor, AllOf, Auth, Card, DecisionWord, Digest, Needs, Refusal, Request, RequestId, Seat, State,
};
use placet_gate::{Decision, GateError};
use placet_testkit::{Kit, both};
use serde_json::json;

use crate::{pointer, refusal};

fn card(kit: &Kit, request: &Request) -> Card {
    kit.gate().card(request).expect("every request has a card")
}

/// A decision as a page sends it, made from the card with this digest.
fn shown(request: &Request, word: DecisionWord, view: Option<Digest>) -> Decision {
    Decision { view, by_door: false, ..Decision::on(request, word) }
}

fn two() -> Needs {
    Needs { any: vec![AllOf { all: vec![Seat { people: 2, team: None }] }], four_eyes: false, step_up: None }
}

/// The votes on the table, and the version.
async fn standing(kit: &Kit, id: RequestId) -> (usize, u32) {
    let request = kit.read(id).await;
    (request.votes.len(), request.version)
}

both! {
    async fn the_card_has_every_leaf_and_the_record_of_a_restarted_server_has_the_same(kit) {
        let bot = kit.agent("bot").await;
        let body = json!({"kind": "action", "session": "s", "tool": "pay", "on_behalf_of": "ann", "group": "g", "summary": "w",
            "arguments": {"amount": 5, "currency": "EUR", "to": "ACME", "lines": [{"a": 1}, {"a": 2}], "x": {"0": [], "a/b": ["~"]}},
            "context": {"cwd": "/srv", "turn": 3}});
        let request = kit.create(&bot, body).await.unwrap().request;
        let card = card(kit, &request);
        let listed = card.rest.iter().map(|field| field.pointer.as_str());
        let all: Vec<&str> = card.sections.iter().flat_map(|section| section.pointers.iter().map(String::as_str)).chain(listed).collect();
        let expected = ["/session", "/on_behalf_of", "/tool", "/context/cwd", "/context/turn", "/arguments/amount", "/arguments/currency",
            "/arguments/to", "/arguments/lines/0/a", "/arguments/lines/1/a", "/arguments/x/0", "/arguments/x/a~1b/0"];
        assert_eq!(all.len(), expected.len(), "{all:?}");
        assert_eq!(all.into_iter().collect::<BTreeSet<_>>(), BTreeSet::from(expected));
        let line = kit.gate().card_line(&request);
        assert_eq!((line.sentence, line.hidden), (card.sentence.clone(), 12));
        kit.restart().await;
        assert_eq!(kit.gate().card(&kit.read(request.id).await), Some(card));
    }

    async fn a_yes_made_from_another_card_is_refused_with_the_record_and_changes_nothing(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let question = json!({"kind": "input", "session": "s", "question": "Why?", "input": {"type": "text"}, "required": true});
        let (asked, other, question) = (kit.ask(&bot).await, kit.ask(&bot).await, kit.create(&bot, question).await.unwrap().request);
        let old = card(kit, &asked).digest;
        // The same call in another session is another card.
        let body = json!({"kind": "action", "session": "t", "tool": "delete_files", "arguments": {"files": ["report.md"]}});
        let elsewhere = card(kit, &kit.create(&bot, body).await.unwrap().request).digest;
        assert_ne!(elsewhere, old);
        for wrong in [elsewhere, Digest::new([9; 32])] {
            let edit = Decision { arguments: Some(serde_json::Map::new()), ..shown(&asked, DecisionWord::Edit, Some(wrong)) };
            let respond = Decision { answer: Some(json!("because")), ..shown(&question, DecisionWord::Respond, Some(wrong)) };
            for decision in [shown(&asked, DecisionWord::Approve, Some(wrong)), edit, respond] {
                let (id, before) = (decision.id, standing(kit, decision.id).await);
                let Err(GateError::Refused { refusal, request: Some(now) }) = kit.gate().decide(&ann, decision).await else { panic!("refused") };
                assert_eq!((refusal, now.id), (Refusal::StaleDisplay, id));
                assert_eq!(standing(kit, id).await, before);
            }
        }
        assert_eq!(kit.gate().decide(&ann, shown(&asked, DecisionWord::Approve, Some(old))).await.unwrap().state, State::Approved);
        let edit = Decision { arguments: Some(serde_json::Map::new()), ..shown(&other, DecisionWord::Edit, Some(card(kit, &other).digest)) };
        assert_eq!(kit.gate().decide(&ann, edit).await.unwrap().state, State::Approved, "an edit is made from what the person saw");
        let view = Some(card(kit, &question).digest);
        let respond = Decision { answer: Some(json!("because")), ..shown(&question, DecisionWord::Respond, view) };
        assert_eq!(kit.gate().decide(&ann, respond).await.unwrap().votes[0].view, view, "the ledger keeps what was shown");
        // A no is never held up by what was shown.
        let last = kit.ask(&bot).await;
        assert_eq!(kit.gate().decide(&ann, shown(&last, DecisionWord::Deny, Some(elsewhere))).await.unwrap().state, State::Denied);
    }

    async fn a_yes_from_a_session_says_what_was_shown_and_a_key_or_a_door_need_not(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let request = kit.ask(&bot).await;
        for auth in [Auth::Session, Auth::Bound, Auth::Code] {
            let person = Actor { auth, ..ann.clone() };
            assert_eq!(pointer(kit.gate().decide(&person, shown(&request, DecisionWord::Approve, None)).await), "/view", "{auth:?}");
            let batch = vec![shown(&request, DecisionWord::Approve, None)];
            let outcome = kit.gate().decide_many(&person, batch, false).await.unwrap().remove(0);
            assert!(matches!(outcome.answer, Err(Refusal::Invalid(_))), "{:?}", outcome.answer);
            // Saying what a yes would do shows nothing yet.
            kit.gate().preview(&person, shown(&request, DecisionWord::Approve, None)).await.unwrap();
        }
        assert_eq!(kit.read(request.id).await.version, 1);
        // Pages of earlier versions say it in the old way.
        let display = kit.gate().display(&request).unwrap().digest;
        let old = |display| Decision { display: Some(display), ..shown(&request, DecisionWord::Approve, None) };
        assert_eq!(refusal(kit.gate().decide(&Kit::bound(&ann), old(Digest::new([7; 32]))).await), Refusal::StaleDisplay);
        // One that is right does not make up for one that is wrong.
        let both = Decision { view: Some(Digest::new([7; 32])), ..old(display) };
        assert_eq!(refusal(kit.gate().decide(&Kit::bound(&ann), both).await), Refusal::StaleDisplay);
        assert_eq!(kit.gate().decide(&Kit::bound(&ann), old(display)).await.unwrap().state, State::Approved);
        for actor in [ann.clone(), Kit::bound(&ann)] {
            let denied = shown(kit.ask(&bot).await.as_ref(), DecisionWord::Deny, None);
            assert_eq!(kit.gate().decide(&actor, denied).await.unwrap().state, State::Denied);
        }
        let by_key = shown(kit.ask(&bot).await.as_ref(), DecisionWord::Approve, None);
        assert_eq!(kit.gate().decide(&ann, by_key).await.unwrap().state, State::Approved);
        let by_door = Decision::on(kit.ask(&bot).await.as_ref(), DecisionWord::Approve);
        assert_eq!(kit.gate().decide(&Kit::bound(&ann), by_door).await.unwrap().state, State::Approved);
    }

    async fn a_replacement_between_the_look_and_the_yes_makes_the_look_worthless(backend: Backend) {
        let kit = Kit::with(backend, |settings| settings.needs = two()).await;
        let (bot, ann, bob, carl) = (kit.agent("bot").await, kit.reviewer("ann").await, kit.reviewer("bob").await, kit.reviewer("carl").await);
        let request = kit.ask(&bot).await;
        let before = card(&kit, &request).digest;
        let edited = kit.edit(&bob, &request, json!({"files": ["secret.md"]})).await.unwrap();
        let after = card(&kit, &edited).digest;
        // What was shown, with the digest of what is there now: no page sends that by itself.
        for (base, view, why) in [
            (&request, before, Refusal::StaleDigest),
            (&request, after, Refusal::StaleDigest),
            (&edited, before, Refusal::StaleDisplay),
        ] {
            assert_eq!(refusal(kit.gate().decide(&carl, shown(base, DecisionWord::Approve, Some(view))).await), why);
        }
        // The first arguments once more, as a replacement: its digest is that of the request, and its card is another one.
        let back = kit.edit(&bob, &edited, json!({"files": ["report.md"]})).await.unwrap();
        assert_eq!(back.current_digest(), request.digest);
        let again = Decision { version: back.version, ..shown(&request, DecisionWord::Approve, Some(before)) };
        assert_eq!(refusal(kit.gate().decide(&carl, again).await), Refusal::StaleDisplay);
        assert_eq!(kit.read(request.id).await.votes.len(), 1, "bob's own");
        let seen = shown(&back, DecisionWord::Approve, Some(card(&kit, &back).digest));
        assert_eq!(kit.gate().decide(&ann, seen).await.unwrap().state, State::Approved);
        kit.finish().await;
    }

    async fn a_vote_in_flight_never_counts_for_a_replacement_that_it_did_not_show(backend: Backend) {
        let kit = Kit::with(backend, |settings| settings.needs = two()).await;
        let (bot, ann, bob) = (kit.agent("bot").await, kit.reviewer("ann").await, kit.reviewer("bob").await);
        for _ in 0..20 {
            let request = kit.ask(&bot).await;
            let view = card(&kit, &request).digest;
            let gate = kit.gate();
            let (yes, _) = tokio::join!(
                gate.decide(&ann, shown(&request, DecisionWord::Approve, Some(view))),
                kit.edit(&bob, &request, json!({"files": ["secret.md"]})),
            );
            let now = kit.read(request.id).await;
            let of_ann = now.votes.iter().find(|vote| vote.by == "ann");
            match yes {
                Ok(_) => assert!(of_ann.is_none_or(|vote| vote.digest == request.digest), "it stands for what was shown alone"),
                Err(error) => assert!(["stale_digest", "stale_version", "stale_display"].contains(&refusal::<()>(Err(error)).code())),
            }
            assert_eq!(now.state, State::Pending, "two different things were approved, each once");
        }
        kit.finish().await;
    }

    async fn each_vote_of_a_batch_is_made_from_its_own_card(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let (one, two, three) = (kit.ask(&bot).await, kit.ask(&bot).await, kit.create(&bot, json!({"kind": "action", "session": "t", "tool": "t", "arguments": {}})).await.unwrap().request);
        let right = |request: &Request| shown(request, DecisionWord::Approve, Some(card(kit, request).digest));
        let wrong = shown(&two, DecisionWord::Approve, Some(card(kit, &three).digest));
        let batch = || vec![right(&one), wrong.clone(), right(&three)];
        let codes = |outcomes: Vec<placet_gate::Outcome>| outcomes.into_iter().map(|outcome| outcome.answer.map_or_else(|no| no.code(), |()| "")).collect::<Vec<_>>();
        assert_eq!(codes(kit.gate().decide_many(&ann, batch(), true).await.unwrap()), ["not_applied", "stale_display", "not_applied"]);
        assert_eq!(codes(kit.gate().decide_many(&ann, batch(), false).await.unwrap()), ["", "stale_display", ""]);
        assert_eq!(kit.read(two.id).await.state, State::Pending);
    }

    async fn a_repeated_call_is_answered_again_although_the_card_is_another_one_by_now(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let request = kit.ask(&bot).await;
        let idempotency = Some(placet_gate::Idempotency { scope: [1; 32], body: [2; 32] });
        let decision = Decision { idempotency, arguments: Some(serde_json::Map::new()), ..shown(&request, DecisionWord::Edit, Some(card(kit, &request).digest)) };
        let first = kit.gate().decide(&ann, decision.clone()).await.unwrap();
        let again = kit.gate().decide(&ann, decision).await.unwrap();
        assert_eq!((first.version, first.state), (again.version, again.state));
    }
}
