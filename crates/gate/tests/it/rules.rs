//! What the gate adds to the life cycle: caps, schemas, digests of edits, four eyes, step-up codes, roles.

use placet_core::{Actor, AllOf, Auth, DecisionWord, Needs, Refusal, Seat, State, StepUp};
use placet_gate::{Decision, GateError, Until};
use placet_testkit::{Kit, both};
use serde_json::json;

use crate::{pointer, refusal};

fn needs(people: u32, four_eyes: bool, step_up: Option<&str>) -> Needs {
    Needs {
        any: vec![AllOf { all: vec![Seat { people, team: None }] }],
        four_eyes,
        step_up: step_up.map(str::to_owned),
    }
}

both! {
    async fn an_agent_may_have_only_so_many_pending_requests(backend: Backend) {
        let kit = Kit::with(backend, |settings| settings.pending_per_agent = 2).await;
        let (bot, other, ann) = (kit.agent("bot").await, kit.agent("other").await, kit.reviewer("ann").await);
        let first = kit.ask(&bot).await;
        kit.ask(&bot).await;
        let body = json!({"kind": "confirmation", "session": "s", "message": "?"});
        assert_eq!(refusal(kit.create(&bot, body.clone()).await), Refusal::PendingCap(2));
        kit.ask(&other).await;
        kit.deny(&ann, &first).await.unwrap();
        kit.create(&bot, body).await.unwrap();
        kit.finish().await;
    }

    async fn an_edit_has_a_digest_of_its_own_and_its_arguments_are_what_runs(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let request = kit.ask(&bot).await;
        let edited = kit.edit(&ann, &request, json!({"files": ["draft.md"]})).await.unwrap();
        let decision = edited.decision.as_ref().unwrap();
        assert_eq!((edited.state, decision.word), (State::Approved, DecisionWord::Edit));
        assert_ne!(decision.digest, request.digest);
        assert_eq!(edited.digest, request.digest);
        assert_eq!(edited.content.as_ref().unwrap().body.arguments(), json!({"files": ["report.md"]}).as_object());
        kit.restart().await;
        let claimed = kit.gate().claim(&bot, request.id, None, None).await.unwrap();
        assert_eq!(claimed.request.effective_arguments(), json!({"files": ["draft.md"]}).as_object());
        assert_eq!(claimed.request.effective_digest(), decision.digest);
    }

    async fn an_edit_must_fit_the_schema_that_the_agent_gave(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let schema = json!({"type": "object", "required": ["files"], "additionalProperties": false,
                            "properties": {"files": {"type": "array", "items": {"type": "string", "maxLength": 8}}}});
        let body = |schema| json!({"kind": "action", "session": "s", "tool": "t", "arguments": {"files": ["a"]}, "arguments_schema": schema});
        let request = kit.create(&bot, body(schema)).await.unwrap().request;
        assert_eq!(pointer(kit.edit(&ann, &request, json!({"files": ["a", "far too long"]})).await), "/arguments/files/1");
        assert_eq!(pointer(kit.edit(&ann, &request, json!({"files": ["a"], "force": true})).await), "/arguments");
        assert_eq!(kit.read(request.id).await.version, 1);
        kit.edit(&ann, &request, json!({"files": ["b"]})).await.unwrap();
        // An invalid schema, or one that would have to be fetched, is refused before a person is asked.
        for schema in [json!({"type": "no such type"}), json!({"$ref": "http://127.0.0.1:9/schema"})] {
            assert_eq!(pointer(kit.create(&bot, body(schema)).await), "/arguments_schema");
        }
    }

    async fn an_edit_voids_earlier_votes_and_is_voted_on_by_its_own_digest(backend: Backend) {
        let kit = Kit::with(backend, |settings| settings.needs = needs(2, false, None)).await;
        let (bot, ann, bob, carl) = (kit.agent("bot").await, kit.reviewer("ann").await, kit.reviewer("bob").await, kit.reviewer("carl").await);
        let request = kit.ask(&bot).await;
        kit.approve(&ann, &request).await.unwrap();
        let edited = kit.edit(&bob, &request, json!({"files": ["draft.md"]})).await.unwrap();
        assert_eq!(edited.state, State::Pending);
        assert_eq!(edited.votes.iter().map(|vote| vote.by.as_str()).collect::<Vec<_>>(), ["bob"]);
        // Ann cannot vote on what she saw before. Carl can vote on what is there now.
        assert_eq!(refusal(kit.approve(&ann, &request).await), Refusal::StaleDigest);
        let old_version = Decision { version: request.version, ..Kit::decision(&edited, DecisionWord::Approve) };
        assert_eq!(refusal(kit.gate().decide(&carl, old_version).await), Refusal::StaleVersion);
        let decided = kit.approve(&carl, &edited).await.unwrap();
        assert_eq!(decided.decision.as_ref().unwrap().by, ["bob", "carl"]);
        assert_eq!(decided.effective_arguments(), json!({"files": ["draft.md"]}).as_object());
        kit.finish().await;
    }

    async fn another_persons_vote_alone_does_not_make_mine_stale(backend: Backend) {
        let kit = Kit::with(backend, |settings| settings.needs = needs(2, false, None)).await;
        let (bot, ann, bob) = (kit.agent("bot").await, kit.reviewer("ann").await, kit.reviewer("bob").await);
        let request = kit.ask(&bot).await;
        kit.approve(&ann, &request).await.unwrap();
        assert_eq!(kit.approve(&bob, &request).await.unwrap().state, State::Approved);
        let request = kit.ask(&bot).await;
        let future = Decision { version: 9, ..Kit::decision(&request, DecisionWord::Approve) };
        assert_eq!(refusal(kit.gate().decide(&ann, future).await), Refusal::StaleVersion);
        kit.finish().await;
    }

    async fn with_four_eyes_nobody_approves_what_they_stand_behind(backend: Backend) {
        let kit = Kit::with(backend, |settings| settings.needs = needs(1, true, None)).await;
        let (ann, bob, carl) = (kit.reviewer("ann").await, kit.reviewer("bob").await, kit.reviewer("carl").await);
        let (owned, orphan) = (kit.agent_of("owned", "ann").await, kit.agent("orphan").await);
        // The owner may only deny.
        let request = kit.ask(&owned).await;
        assert_eq!(refusal(kit.approve(&ann, &request).await), Refusal::SelfApproval);
        assert_eq!(kit.approve(&bob, &request).await.unwrap().state, State::Approved);
        let request = kit.ask(&owned).await;
        assert_eq!(kit.deny(&ann, &request).await.unwrap().state, State::Denied);
        // So may the person it acts for.
        let body = json!({"kind": "action", "session": "s", "tool": "t", "arguments": {}, "on_behalf_of": "bob"});
        let request = kit.create(&owned, body).await.unwrap().request;
        assert_eq!(refusal(kit.approve(&bob, &request).await), Refusal::SelfApproval);
        // The author of an edit needs approval by another person.
        let request = kit.ask(&owned).await;
        let edited = kit.edit(&bob, &request, json!({"files": []})).await.unwrap();
        assert_eq!(edited.state, State::Pending);
        assert_eq!(refusal(kit.approve(&bob, &edited).await), Refusal::SelfApproval);
        assert_eq!(kit.approve(&carl, &edited).await.unwrap().state, State::Approved);
        // Without a known owner, two people are needed.
        let request = kit.ask(&orphan).await;
        assert_eq!(kit.approve(&ann, &request).await.unwrap().state, State::Pending);
        assert_eq!(kit.approve(&ann, &request).await.unwrap().state, State::Pending, "twice the same person is one");
        assert_eq!(kit.approve(&bob, &request).await.unwrap().state, State::Approved);
        kit.finish().await;
    }

    async fn seats_of_teams_are_filled_by_their_members_only(backend: Backend) {
        let seat = |team: &str| Seat { people: 1, team: Some(team.to_owned()) };
        let kit = Kit::with(backend, |settings| settings.needs.any = vec![AllOf { all: vec![seat("ops"), seat("law")] }]).await;
        let (ann, bob, carl) = (kit.reviewer_in("ann", &["ops", "law"]).await, kit.reviewer_in("bob", &["ops"]).await, kit.reviewer("carl").await);
        let bot = kit.agent("bot").await;
        let request = kit.ask(&bot).await;
        assert_eq!(refusal(kit.approve(&carl, &request).await), Refusal::NotEligible);
        assert_eq!(kit.approve(&ann, &request).await.unwrap().state, State::Pending);
        assert_eq!(kit.approve(&bob, &request).await.unwrap().state, State::Approved);
        kit.finish().await;
    }

    async fn a_step_up_needs_the_code_of_exactly_this_request(backend: Backend) {
        let kit = Kit::with(backend, |settings| settings.needs = needs(1, false, Some("code"))).await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let (request, other) = (kit.ask(&bot).await, kit.ask(&bot).await);
        let (code, other_code) = (kit.code(&ann, &request), kit.code(&ann, &other));
        // A list, a stream, a key: only the right caller sees it.
        assert_eq!(kit.gate().display(&request).unwrap().code, None);
        for auth in [Auth::Open, Auth::Token, Auth::Session] {
            let actor = Actor { auth, ..ann.clone() };
            assert_eq!(kit.gate().step_up_code(&actor, &request), None, "{auth:?}");
        }
        assert!(code.len() == 6 && code != other_code);
        let with = |code: &str| Decision { step_up: Some(StepUp { code: code.to_owned() }), ..Kit::decision(&request, DecisionWord::Approve) };
        assert_eq!(refusal(kit.approve(&ann, &request).await), Refusal::StepUpRequired("code".to_owned()));
        let bound = Kit::bound(&ann);
        assert_eq!(pointer(kit.gate().decide(&bound, with(&other_code)).await), "/step_up/code");
        assert_eq!(pointer(kit.gate().decide(&bound, with("")).await), "/step_up/code");
        // The right code from a caller who may have copied it.
        for auth in [Auth::Token, Auth::Session, Auth::Code] {
            let actor = Actor { auth, ..ann.clone() };
            assert_eq!(refusal(kit.gate().decide(&actor, with(&code)).await), Refusal::StepUpRequired("code".to_owned()), "{auth:?}");
        }
        assert_eq!(kit.read(request.id).await.version, 1);
        kit.finish().await;
    }

    async fn roles_bound_what_a_key_can_do(kit) {
        let (bot, ann, eve) = (kit.agent("bot").await, kit.reviewer("ann").await, kit.auditor("eve").await);
        let request = kit.ask(&bot).await;
        let body = || json!({"kind": "confirmation", "session": "s", "message": "?"});
        for actor in [&ann, &eve, kit.admin()] {
            assert!(matches!(kit.create(actor, body()).await, Err(GateError::Forbidden(_))));
            assert!(matches!(kit.gate().claim(actor, request.id, None, None).await, Err(GateError::Forbidden(_))));
        }
        for actor in [&bot, &eve, kit.admin()] {
            assert!(matches!(kit.approve(actor, &request).await, Err(GateError::Forbidden(_))));
            assert!(matches!(kit.gate().revoke(actor, request.id, None, None).await, Err(GateError::Forbidden(_))));
        }
        for actor in [&bot, &ann, &eve] {
            assert!(matches!(kit.gate().revoke_key(actor, ann.key.unwrap(), false).await, Err(GateError::Forbidden(_))));
            assert!(matches!(kit.gate().directory(actor).await, Err(GateError::Forbidden(_))));
        }
        assert!(matches!(kit.gate().ledger(&bot, 0, 1).await, Err(GateError::Forbidden(_))));
        assert_eq!(refusal(kit.gate().get(kit.admin(), request.id).await), Refusal::NotFound);
        assert!(kit.gate().get(&eve, request.id).await.is_ok());
        assert!(!kit.gate().wait(&eve, request.id, Until::Decided, std::time::Duration::ZERO).await.unwrap().met);
    }

    async fn a_reviewer_whose_key_was_revoked_decides_nothing(kit) {
        let (bot, ann, bob) = (kit.agent("bot").await, kit.reviewer("ann").await, kit.reviewer("bob").await);
        let request = kit.ask(&bot).await;
        kit.revoke_key(&ann).await;
        assert_eq!(refusal(kit.approve(&ann, &request).await), Refusal::Unauthorized);
        kit.gate().remove_person(kit.admin(), "bob".to_owned()).await.unwrap();
        assert_eq!(refusal(kit.deny(&bob, &request).await), Refusal::Unauthorized);
        assert_eq!(kit.read(request.id).await.version, 1);
        assert!(kit.gate().authenticate(&kit.token(&ann)).await.unwrap().is_none());
    }

    async fn reassigning_changes_who_is_asked_and_not_what_is_needed(kit) {
        let (bot, ann, bob) = (kit.agent("bot").await, kit.reviewer("ann").await, kit.reviewer_in("bob", &["ops"]).await);
        let request = kit.ask(&bot).await;
        let to = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(pointer(kit.gate().reassign(&ann, request.id, to(&["bob", "nobody"]), None, None).await), "/to/1");
        assert_eq!(pointer(kit.gate().reassign(&ann, request.id, to(&[]), None, None).await), "/to");
        let asked = kit.gate().reassign(&ann, request.id, to(&["team:ops"]), None, None).await.unwrap();
        assert_eq!((asked.asked.as_slice(), &asked.needs), (&["team:ops".to_owned()][..], &request.needs));
        // A reviewer who saw it before may still decide.
        assert_eq!(kit.approve(&bob, &request).await.unwrap().state, State::Approved);
    }
}

both! {
    async fn the_right_code_counts_as_a_stronger_proof(backend: Backend) {
        let mut kit = Kit::with(backend, |settings| settings.needs = needs(1, false, Some("code"))).await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let request = kit.ask(&bot).await;
        let code = kit.code(&ann, &request);
        kit.restart().await;
        // The code from before a restart is still valid.
        let with_code = Decision { step_up: Some(StepUp { code }), ..Kit::decision(&request, DecisionWord::Approve) };
        let approved = kit.gate().decide(&Kit::bound(&ann), with_code).await.unwrap();
        assert_eq!((approved.state, approved.votes[0].auth), (State::Approved, Auth::Code));
        // A no needs no proof.
        let request = kit.ask(&bot).await;
        assert_eq!(kit.deny(&ann, &request).await.unwrap().state, State::Denied);
        kit.finish().await;
    }
}
