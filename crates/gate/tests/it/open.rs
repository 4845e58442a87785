//! Deciding without a key, as the open reviewer, if the operator opened the doors for it.

use std::sync::Arc;

use placet_core::{
    Actor, AdminRefusal, AllOf, Auth, DecisionWord, Needs, OPEN_REVIEWER, Refusal, Request, Role, Seat,
    State, StepUp, UnverifiedReviewer,
};
use placet_gate::{Decision, GateError, NewKey, PersonSpec};
use placet_testkit::{Kit, both};
use serde_json::{Value, json};

use crate::{
    policy::{SHOP, call},
    refusal,
};

/// Asks through a door without keys.
async fn ask(kit: &Kit, agent: &Actor) -> Arc<Request> {
    ask_for(kit, agent, call("delete_files", json!({"files": ["report.md"]}))).await
}

async fn ask_for(kit: &Kit, agent: &Actor, body: Value) -> Arc<Request> {
    kit.gate().submit_from("community", agent, Kit::body(body), None).await.unwrap().request
}

fn open() -> Actor {
    Actor::open_reviewer()
}

/// The last entry of the ledger.
async fn last_entry(kit: &Kit) -> Value {
    let (_, head) = kit.store().head().await.unwrap();
    let rows = kit.store().ledger(head - 1, 1).await.unwrap();
    serde_json::from_str(&rows[0].text).unwrap()
}

fn needing(people: u32, four_eyes: bool, step_up: Option<&str>) -> Needs {
    let any = vec![AllOf { all: vec![Seat { people, team: None }] }];
    Needs { any, four_eyes, step_up: step_up.map(str::to_owned) }
}

#[track_caller]
fn admin_refusal<T: std::fmt::Debug>(result: Result<T, GateError>) -> AdminRefusal {
    match result {
        Err(GateError::Admin(refusal)) => refusal,
        other => panic!("expected a refusal, not {other:?}"),
    }
}

both! {
    async fn unless_the_doors_are_open_nobody_in_particular_decides(kit) {
        let bot = kit.agent("bot").await;
        let request = ask(kit, &bot).await;
        for word in [DecisionWord::Approve, DecisionWord::Deny] {
            let decision = Kit::decision(&request, word);
            assert_eq!(refusal(kit.gate().decide(&open(), decision).await), Refusal::Unauthorized);
        }
        let to = vec!["bob".to_owned()];
        assert_eq!(refusal(kit.gate().reassign(&open(), request.id, to, None, None).await), Refusal::Unauthorized);
        assert_eq!(kit.read(request.id).await.state, State::Pending);
    }

    async fn every_open_decision_is_marked_and_the_claimed_name_is_only_text(kit) {
        kit.gate().open_deciding(true).await.unwrap();
        let put = last_entry(kit).await;
        assert_eq!((put["data"]["type"].as_str(), put["data"]["name"].as_str()), (Some("person.put"), Some(OPEN_REVIEWER)));
        assert_eq!(put["by"]["name"], "placet");
        let before = kit.store().head().await.unwrap().1;
        kit.gate().open_deciding(true).await.unwrap();
        assert_eq!(kit.store().head().await.unwrap().1, before, "it is there already");
        let bot = kit.agent("bot").await;
        let request = ask(kit, &bot).await;
        let claimed = UnverifiedReviewer { reviewer: Some("ann".to_owned()), escalated_to: None };
        let decision = Decision { claimed: Some(claimed.clone()), ..Kit::decision(&request, DecisionWord::Approve) };
        kit.gate().decide(&open(), decision).await.unwrap();
        kit.restart().await;
        let decided = kit.read(request.id).await;
        assert_eq!((decided.state, decided.votes[0].auth), (State::Approved, Auth::Open));
        let outcome = decided.decision.as_ref().unwrap();
        assert_eq!((outcome.by.as_slice(), outcome.claimed.as_ref()), (&[OPEN_REVIEWER.to_owned()][..], Some(&claimed)));
        let entry = last_entry(kit).await;
        assert_eq!(entry["by"], json!({"name": OPEN_REVIEWER, "role": "reviewer", "auth": "open"}));
        assert_eq!(entry["data"]["vote"]["auth"], "open");
        assert!(!entry.to_string().contains("ann"), "what somebody typed is not in the entry: {entry}");
        let auditor = kit.auditor("aud").await;
        let told = kit.gate().history(&auditor, request.id).await.unwrap().entries.pop().unwrap();
        assert_eq!(told.text, "open-reviewer (without a key; said to be ann) approved it.");
    }

    async fn it_never_decides_what_came_in_by_any_other_door(kit) {
        kit.gate().open_deciding(true).await.unwrap();
        let bot = kit.agent("bot").await;
        for door in ["rest", "hook", "a-door-of-tomorrow"] {
            let body = Kit::body(call("delete_files", json!({"files": ["report.md"]})));
            let request = kit.gate().submit_from(door, &bot, body, None).await.unwrap().request;
            for word in [DecisionWord::Approve, DecisionWord::Deny] {
                let decision = Kit::decision(&request, word);
                let refused = refusal(kit.gate().decide(&open(), decision).await);
                assert_eq!(refused, Refusal::NotEligible, "{door}");
            }
            assert_eq!(kit.read(request.id).await.state, State::Pending);
        }
    }

    async fn it_counts_once_where_two_are_needed(backend: Backend) {
        let kit = Kit::with(backend, |settings| settings.needs = needing(2, false, None)).await;
        kit.gate().open_deciding(true).await.unwrap();
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let request = ask(&kit, &bot).await;
        for claimed in ["ann", "bob", "cyd"] {
            let claimed = Some(UnverifiedReviewer { reviewer: Some(claimed.to_owned()), escalated_to: None });
            let now = kit.read(request.id).await;
            let decision = Decision { claimed, ..Kit::decision(&now, DecisionWord::Approve) };
            let voted = kit.gate().decide(&open(), decision).await.unwrap();
            assert_eq!((voted.state, voted.votes.len()), (State::Pending, 1), "one person, whatever name it claims");
        }
        let now = kit.read(request.id).await;
        assert_eq!(kit.approve(&ann, &now).await.unwrap().state, State::Approved);
        kit.finish().await;
    }

    async fn its_votes_are_void_once_the_doors_are_closed(backend: Backend) {
        let mut kit = Kit::with(backend, |settings| settings.needs = needing(2, false, None)).await;
        kit.gate().open_deciding(true).await.unwrap();
        let (bot, ann, bob) = (kit.agent("bot").await, kit.reviewer("ann").await, kit.reviewer("bob").await);
        let request = ask(&kit, &bot).await;
        kit.approve(&open(), &request).await.unwrap();
        kit.restart().await;
        kit.gate().open_deciding(false).await.unwrap();
        assert_eq!(last_entry(&kit).await["data"]["type"], "person.removed");
        let now = kit.read(request.id).await;
        assert_eq!(refusal(kit.approve(&open(), &now).await), Refusal::Unauthorized);
        let voted = kit.approve(&ann, &now).await.unwrap();
        assert_eq!(voted.state, State::Pending, "the open vote no longer counts");
        let decided = kit.approve(&bob, &voted).await.unwrap();
        assert_eq!(decided.decision.as_ref().unwrap().by, ["ann", "bob"]);
        kit.finish().await;
    }

    async fn with_four_eyes_or_step_up_its_yes_never_counts_and_its_no_does(backend: Backend) {
        for (four_eyes, step_up) in [(true, None), (false, Some("code"))] {
            let kit = Kit::with(backend, |settings| settings.needs = needing(1, four_eyes, step_up)).await;
            kit.gate().open_deciding(true).await.unwrap();
            // The agent has an owner, so one other person would be enough.
            let (_, bot) = (kit.reviewer("ann").await, kit.agent_of("bot", "ann").await);
            let request = ask(&kit, &bot).await;
            let no = refusal(kit.approve(&open(), &request).await);
            let expected = step_up.map_or(Refusal::SelfApproval, |step_up| Refusal::StepUpRequired(step_up.to_owned()));
            assert_eq!(no, expected);
            if let Some(code) = kit.gate().display(&request).unwrap().code {
                let with_code = Decision { step_up: Some(StepUp { code }), ..Kit::decision(&request, DecisionWord::Approve) };
                assert_eq!(refusal(kit.gate().decide(&open(), with_code).await), Refusal::Unauthorized);
            }
            assert_eq!(kit.read(request.id).await.state, State::Pending);
            assert_eq!(kit.deny(&open(), &request).await.unwrap().state, State::Denied);
            kit.finish().await;
        }
    }

    async fn nobody_can_become_it_and_it_can_become_nothing_else(kit) {
        let reserved = AdminRefusal::Reserved(OPEN_REVIEWER.to_owned());
        let person = |roles: &[Role], teams: &[&str]| PersonSpec {
            roles: roles.iter().copied().collect(),
            teams: teams.iter().map(|team| (*team).to_owned()).collect(),
        };
        for there in [false, true] {
            kit.gate().open_deciding(there).await.unwrap();
            for role in [Role::Agent, Role::Reviewer, Role::Admin, Role::Auditor] {
                let new = NewKey { role, name: OPEN_REVIEWER.to_owned(), owner: None };
                assert_eq!(admin_refusal(kit.gate().create_key(kit.admin(), new, None).await), reserved);
            }
            let owned = NewKey { role: Role::Agent, name: "bot".to_owned(), owner: Some(OPEN_REVIEWER.to_owned()) };
            assert_eq!(admin_refusal(kit.gate().create_key(kit.admin(), owned, None).await), reserved);
            for person in [person(&[Role::Reviewer], &[]), person(&[Role::Admin], &[]), person(&[Role::Reviewer], &["finance"])] {
                let put = kit.gate().put_person(kit.admin(), OPEN_REVIEWER.to_owned(), person, None).await;
                assert_eq!(admin_refusal(put), reserved);
            }
        }
        assert_eq!(admin_refusal(kit.gate().create_link(kit.admin(), OPEN_REVIEWER, None).await), reserved);
        let bot = kit.agent("bot").await;
        let request = ask(kit, &bot).await;
        // Neither a stronger proof under its name, nor its credential under another.
        for actor in [
            Actor { auth: Auth::Token, ..open() },
            Actor { auth: Auth::Code, ..open() },
            Actor { name: "ann".to_owned(), ..open() },
            Actor { role: Role::Auditor, ..open() },
        ] {
            assert!(kit.approve(&actor, &request).await.is_err(), "{actor:?}");
        }
        let asks = Actor { role: Role::Agent, ..open() };
        assert_eq!(refusal(kit.create(&asks, call("x", json!({}))).await), Refusal::Unauthorized);
        // An admin can end it at any time.
        kit.gate().remove_person(kit.admin(), OPEN_REVIEWER.to_owned()).await.unwrap();
        assert_eq!(refusal(kit.approve(&open(), &request).await), Refusal::Unauthorized);
    }

    async fn it_gives_no_standing_approval_and_teaches_no_trust(kit) {
        kit.put_policy(SHOP).await;
        kit.gate().open_deciding(true).await.unwrap();
        let bot = kit.agent("bot").await;
        for _ in 0..4 {
            let mail = ask_for(kit, &bot, call("mail", json!({"to": "x"}))).await;
            assert_eq!(mail.state, State::Pending, "two yeses of somebody would have been enough");
            let remember = Some(serde_json::from_value(json!({"scope": "exact"})).unwrap());
            let remembering = Decision { remember, ..Kit::decision(&mail, DecisionWord::Approve) };
            assert!(matches!(refusal(kit.gate().decide(&open(), remembering).await), Refusal::Invalid(_)));
            kit.approve(&open(), &mail).await.unwrap();
        }
    }
}
