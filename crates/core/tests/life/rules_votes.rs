//! The rules about votes, one by one: who may, what counts, what goes stale, what is void.

use placet_core::{
    Actor, Auth, Command, Decide, DecisionWord, Effect, Kind, Needs, ProposalContent, Role, State,
};
use serde_json::json;

use crate::{
    play::no_key,
    scene::{Scene, decided, four_eyes, one, two},
    script::{arguments, create, needs},
};

#[test]
fn one_person_is_enough_by_default() {
    let mut scene = Scene::held(one());
    assert_eq!(scene.approve("bob"), Ok(()));
    assert_eq!(scene.state(), State::Approved);
    assert_eq!(scene.deny("cyd"), Err("already_decided"));
}

#[test]
fn a_persons_second_vote_replaces_the_first_and_counts_once() {
    let mut scene = Scene::held(two());
    scene.approve("bob").unwrap();
    scene.approve("bob").unwrap();
    assert_eq!((scene.state(), scene.request.votes.len()), (State::Pending, 1));
    scene.approve("cyd").unwrap();
    assert_eq!(scene.request.decision.as_ref().unwrap().by, ["bob", "cyd"]);
}

#[test]
fn any_deny_by_an_eligible_person_decides_against() {
    let mut scene = Scene::held(needs(&[&[(3, None)]]));
    scene.approve("bob").unwrap();
    scene.approve("cyd").unwrap();
    scene.deny("dan").unwrap();
    assert_eq!(scene.state(), State::Denied);
    assert_eq!(scene.request.decision.as_ref().unwrap().by, ["dan"]);
}

#[test]
fn a_deny_by_somebody_who_is_not_asked_for_changes_nothing() {
    let mut scene = Scene::held(needs(&[&[(1, Some("red"))]]));
    assert_eq!(scene.deny("bob"), Err("not_eligible"));
    assert_eq!(scene.approve("bob"), Err("not_eligible"));
    assert_eq!((scene.state(), scene.happened), (State::Pending, None));
}

#[test]
fn a_deny_is_possible_whatever_is_offered_and_needs_no_step_up() {
    for allowed in [vec![DecisionWord::Approve], vec![DecisionWord::Deny], vec![]] {
        let strict = Needs { step_up: Some("passkey".to_owned()), ..one() };
        let mut scene =
            Scene::asked(Kind::Action, strict, Effect::Hold, |submit| submit.spec.allowed = allowed);
        let ballot = scene.ballot(DecisionWord::Deny);
        let weak = Actor { auth: Auth::Token, ..scene.reviewer("bob") };
        assert_eq!(scene.give(&Command::Decide(Box::new(ballot)), &weak), Ok(()));
        assert_eq!(scene.state(), State::Denied);
    }
}

#[test]
fn under_four_eyes_the_owner_and_the_person_behind_cannot_approve_and_can_always_deny() {
    for name in ["ann", "bob"] {
        let behind = |effect: &mut placet_core::Submit| effect.spec.on_behalf_of = Some("bob".to_owned());
        let mut scene = Scene::asked(Kind::Action, four_eyes(one()), Effect::Hold, behind);
        assert_eq!(scene.approve(name), Err("self_approval"), "{name}");
        assert_eq!(scene.edit(name, 1), Err("self_approval"), "{name}: an edit is a yes too");
        assert_eq!(scene.deny(name), Ok(()), "{name}");
        assert_eq!(scene.state(), State::Denied);
    }
    let mut without = Scene::held(one());
    assert_eq!(without.approve("ann"), Ok(()), "without four eyes an owner may approve");
}

#[test]
fn under_four_eyes_two_people_are_needed_where_no_owner_is_known() {
    let mut scene = Scene::asked_by("imp", Kind::Action, four_eyes(one()), Effect::Hold, |submit| {
        submit.spec.on_behalf_of = Some("dan".to_owned());
    })
    .unwrap();
    scene.approve("ann").unwrap();
    assert_eq!(scene.state(), State::Pending);
    assert_eq!(scene.approve("dan"), Err("self_approval"));
    scene.approve("bob").unwrap();
    assert_eq!(scene.state(), State::Approved);
    let mut known = Scene::held(four_eyes(one()));
    known.approve("bob").unwrap();
    assert_eq!(known.state(), State::Approved);
}

#[test]
fn an_earlier_yes_stops_counting_when_its_giver_becomes_the_owner() {
    let mut scene = Scene::held(four_eyes(two()));
    scene.approve("bob").unwrap();
    scene.world.set_owner("bot", Some("bob"));
    scene.approve("cyd").unwrap();
    assert_eq!(scene.state(), State::Pending);
    scene.approve("ann").unwrap();
    assert_eq!(scene.request.decision.as_ref().unwrap().by, ["ann", "cyd"]);
}

#[test]
fn an_edit_voids_earlier_votes_and_its_author_cannot_approve_it_under_four_eyes() {
    let mut scene = Scene::held(four_eyes(two()));
    scene.approve("bob").unwrap();
    scene.edit("cyd", 1).unwrap();
    assert_eq!(scene.request.votes.iter().map(|vote| vote.by.as_str()).collect::<Vec<_>>(), ["cyd"]);
    assert_eq!(scene.approve("cyd"), Err("self_approval"));
    scene.approve("bob").unwrap();
    assert_eq!(scene.state(), State::Pending, "the author's yes does not count, and two are needed");
    scene.approve("dan").unwrap();
    let decision = scene.request.decision.as_ref().unwrap();
    assert_eq!(
        (decision.word, decision.by.clone()),
        (DecisionWord::Edit, vec!["bob".to_owned(), "dan".to_owned()])
    );
    assert_eq!(scene.request.effective_arguments(), Some(&arguments(1)));
}

#[test]
fn an_edit_is_whole_leaves_the_tool_and_needs_no_fewer_people() {
    let mut scene = Scene::held(two());
    scene.edit("bob", 1).unwrap();
    assert_eq!((scene.state(), &scene.request.needs), (State::Pending, &two()));
    scene.approve("cyd").unwrap();
    assert_eq!(scene.request.effective_arguments(), Some(&arguments(1)));
    assert_eq!(scene.request.tool.as_deref(), Some("delete_files"));
    assert_eq!(
        scene.request.content.as_ref().unwrap().body.arguments(),
        Some(&arguments(0)),
        "what was proposed stays"
    );
}

#[test]
fn an_edit_to_the_very_same_arguments_voids_votes_like_any_other() {
    let mut scene = Scene::held(two());
    scene.approve("bob").unwrap();
    scene.edit("cyd", 0).unwrap();
    assert_eq!(scene.state(), State::Pending);
    assert_eq!(scene.request.votes.len(), 1);
}

#[test]
fn repeating_an_edit_does_not_turn_its_first_author_into_an_approver() {
    let mut scene = Scene::held(four_eyes(two()));
    scene.edit("bob", 1).unwrap();
    scene.approve("dan").unwrap();
    scene.edit("cyd", 1).unwrap();
    assert_eq!(scene.state(), State::Pending);
}

#[test]
fn another_persons_vote_or_a_reassignment_alone_does_not_make_mine_stale() {
    let mut scene = Scene::held(two());
    let mine = scene.ballot(DecisionWord::Approve);
    scene.approve("bob").unwrap();
    scene.reassign("bob", &["cyd"]).unwrap();
    assert_eq!(scene.request.version, 3);
    assert_eq!(scene.cast("cyd", mine), Ok(()));
    assert_eq!(scene.state(), State::Approved);
}

#[test]
fn a_vote_on_what_is_no_longer_on_the_table_is_stale() {
    let mut scene = Scene::held(two());
    let old = scene.ballot(DecisionWord::Approve);
    scene.edit("bob", 1).unwrap();
    assert_eq!(scene.cast("cyd", old.clone()), Err("stale_digest"));
    assert_eq!(scene.cast("cyd", Decide { word: DecisionWord::Deny, ..old.clone() }), Err("stale_digest"));
    let new = scene.ballot(DecisionWord::Approve);
    assert_eq!(scene.cast("cyd", Decide { version: old.version, ..new.clone() }), Err("stale_version"));
    assert_eq!(scene.cast("cyd", Decide { version: new.version + 1, ..new.clone() }), Err("stale_version"));
    assert_eq!(scene.cast("cyd", Decide { version: 0, ..new.clone() }), Err("stale_version"));
    assert_eq!(scene.cast("cyd", new), Ok(()));
}

#[test]
fn a_revoked_key_or_a_lost_role_is_refused_at_commit() {
    let mut scene = Scene::held(one());
    let bob = scene.reviewer("bob");
    scene.world.revoke_key(bob.key.unwrap());
    assert_eq!(scene.approve("bob"), Err("unauthorized"));
    scene.lose_role("cyd");
    assert_eq!(scene.approve("cyd"), Err("unauthorized"));
    assert_eq!(scene.deny("cyd"), Err("unauthorized"));
    assert_eq!(scene.happened, None);
}

#[test]
fn votes_of_people_who_lost_the_role_or_the_team_no_longer_count() {
    let mut role = Scene::held(two());
    role.approve("bob").unwrap();
    role.lose_role("bob");
    role.approve("cyd").unwrap();
    assert_eq!(role.state(), State::Pending);
    let mut team = Scene::held(needs(&[&[(1, Some("red")), (1, None)]]));
    team.approve("ann").unwrap();
    team.world.human_mut("ann").teams.clear();
    team.approve("bob").unwrap();
    assert_eq!(team.state(), State::Pending);
    team.approve("cyd").unwrap();
    assert_eq!(team.state(), State::Approved);
}

#[test]
fn only_a_reviewer_who_is_who_they_say_can_decide() {
    let scene = Scene::held(one());
    let good = scene.reviewer("bob");
    let strangers = [
        Actor { role: Role::Agent, ..scene.agent() },
        Actor { role: Role::Reviewer, ..scene.agent() },
        Actor { role: Role::Admin, key: scene.world.key_of("dan", Role::Admin), ..scene.reviewer("dan") },
        Actor { key: scene.world.key_of("dan", Role::Admin), ..scene.reviewer("dan") },
        Actor { key: scene.world.key_of("cyd", Role::Reviewer), ..good.clone() },
        Actor { key: Some(no_key()), ..good.clone() },
        Actor { key: None, auth: Auth::Open, ..good.clone() },
        Actor { name: "eve".to_owned(), key: None, ..good.clone() },
        Actor::system(),
    ];
    for word in [DecisionWord::Approve, DecisionWord::Deny] {
        let command = Command::Decide(Box::new(scene.ballot(word)));
        for stranger in &strangers {
            let applied = scene.try_out(&command, stranger);
            assert_eq!(applied.answer.unwrap_err().code(), "unauthorized", "{stranger:?}");
            assert_eq!(applied.change, None);
        }
        let signed_in = Actor { key: None, auth: Auth::Session, ..good.clone() };
        assert_eq!(scene.try_out(&command, &signed_in).answer, Ok(()));
    }
}

#[test]
fn a_step_up_needs_the_code_and_an_unknown_one_nobody_passes() {
    for (step_up, auth, expected) in [
        ("code", Auth::Token, Err("step_up_required")),
        ("code", Auth::Session, Err("step_up_required")),
        ("code", Auth::Code, Ok(())),
        ("passkey", Auth::Code, Err("step_up_required")),
    ] {
        let mut scene = Scene::held(Needs { step_up: Some(step_up.to_owned()), ..one() });
        let actor = Actor { auth, ..scene.reviewer("bob") };
        let ballot = scene.ballot(DecisionWord::Approve);
        assert_eq!(scene.give(&Command::Decide(Box::new(ballot)), &actor), expected, "{step_up} {auth:?}");
    }
}

#[test]
fn seats_of_one_alternative_go_to_different_people_and_any_alternative_will_do() {
    let either = || needs(&[&[(1, Some("red")), (1, Some("blue"))], &[(3, None)]]);
    let mut teams = Scene::held(either());
    teams.approve("cyd").unwrap();
    assert_eq!(teams.state(), State::Pending, "cyd is in both teams, and still one person");
    teams.approve("bob").unwrap();
    assert_eq!(teams.state(), State::Approved);
    let mut people = Scene::held(either());
    people.world.human_mut("cyd").teams.clear();
    for (name, state) in [("ann", State::Pending), ("dan", State::Pending), ("cyd", State::Approved)] {
        people.approve(name).unwrap();
        assert_eq!(people.state(), state, "{name}");
    }
}

#[test]
fn a_question_is_never_allowed_by_policy_and_takes_an_answer_that_fits() {
    let mut scene = Scene::asked(Kind::Input, one(), Effect::Allow, |_| {});
    assert_eq!((scene.state(), &scene.request.decision), (State::Pending, &None));
    assert_eq!(scene.approve("bob"), Err("invalid"));
    assert_eq!(scene.edit("bob", 1), Err("invalid"));
    assert_eq!(scene.respond("bob", json!(7)), Err("invalid"), "the question wants text");
    assert_eq!(scene.respond("bob", json!("red")), Ok(()));
    assert_eq!(scene.state(), State::Answered);
    let decision = scene.request.decision.as_ref().unwrap();
    assert_eq!(decision.content.as_ref().unwrap().answer, Some(json!("red")));
}

#[test]
fn an_answer_can_be_seconded_and_an_answer_of_nothing_is_kept_apart_from_no_answer() {
    let mut scene = Scene::of(Kind::Input, two());
    scene.respond("bob", json!(null)).unwrap();
    assert_eq!(scene.state(), State::Pending);
    scene.approve("cyd").unwrap();
    assert_eq!(scene.state(), State::Answered);
    let content = scene.request.decision.as_ref().unwrap().content.clone().unwrap();
    let text = serde_json::to_string(&*content).unwrap();
    assert_eq!(text, r#"{"answer":null}"#);
    assert_eq!(serde_json::from_str::<ProposalContent>(&text).unwrap(), *content);
}

#[test]
fn a_confirmation_takes_approve_or_deny_and_nothing_else() {
    let scene = Scene::of(Kind::Confirmation, one());
    for n in 0..3 {
        assert_eq!(scene.clone().edit("bob", n), Err("invalid"));
    }
    assert_eq!(scene.clone().respond("bob", json!("yes")), Err("invalid"));
    for (word, state) in [(DecisionWord::Approve, State::Approved), (DecisionWord::Deny, State::Denied)] {
        let mut scene = scene.clone();
        scene.cast("bob", scene.ballot(word)).unwrap();
        assert_eq!((scene.state(), scene.request.is_final()), (state, true));
    }
}

#[test]
fn a_plan_is_approved_step_by_step_in_the_order_given() {
    let swapped = json!([{"id":"b","decision":"approve"},{"id":"a","decision":"edit","arguments":{"x":1}}]);
    let mut scene = Scene::of(Kind::Plan, one());
    assert_eq!(
        scene.steps("bob", DecisionWord::Edit, json!([{"id":"a","decision":"approve"}])),
        Err("invalid")
    );
    assert_eq!(
        scene.cast("bob", scene.ballot(DecisionWord::Edit)),
        Err("invalid"),
        "an edit must say what it changes"
    );
    scene.steps("bob", DecisionWord::Approve, swapped.clone()).unwrap();
    let content = scene.request.decision.as_ref().unwrap().content.clone().unwrap();
    assert_eq!(serde_json::to_value(&content.steps).unwrap(), swapped);
    assert!(scene.request.is_final());

    let fixed = |submit: &mut placet_core::Submit| {
        submit.spec = create(Kind::Plan, 1).check(&placet_core::Limits::default()).unwrap();
        submit.content = std::sync::Arc::new(placet_core::Content {
            body: submit.spec.body.clone(),
            ..(*submit.content).clone()
        });
    };
    let mut scene = Scene::asked(Kind::Plan, one(), Effect::Hold, fixed);
    assert_eq!(scene.steps("bob", DecisionWord::Approve, swapped), Err("invalid"));
    scene.approve("bob").unwrap();
    assert_eq!(scene.state(), State::Approved);
}

#[test]
fn a_proposal_on_the_table_does_not_offer_words_that_the_agent_did_not() {
    let only_edit = |submit: &mut placet_core::Submit| {
        submit.spec.allowed = vec![DecisionWord::Edit, DecisionWord::Deny];
    };
    let mut scene = Scene::asked(Kind::Plan, two(), Effect::Hold, only_edit);
    let steps = json!([{"id":"a","decision":"approve"},{"id":"b","decision":"deny"}]);
    assert_eq!(scene.approve("bob"), Err("invalid"));
    scene.steps("bob", DecisionWord::Edit, steps.clone()).unwrap();
    assert_eq!(scene.steps("cyd", DecisionWord::Approve, steps), Err("invalid"));
    assert_eq!(scene.approve("cyd"), Ok(()), "seconding what is there is always possible");
    assert_eq!(scene.request.decision.as_ref().unwrap().word, DecisionWord::Edit);
}

#[test]
fn an_empty_or_misplaced_replacement_is_refused() {
    let scene = Scene::held(one());
    let empty = ProposalContent::default();
    let answer = ProposalContent { answer: Some(json!("x")), ..empty.clone() };
    let arguments = ProposalContent { arguments: Some(arguments(1)), ..empty.clone() };
    for (word, content) in [
        (DecisionWord::Approve, &empty),
        (DecisionWord::Deny, &empty),
        (DecisionWord::Edit, &empty),
        (DecisionWord::Approve, &arguments),
        (DecisionWord::Deny, &arguments),
        (DecisionWord::Edit, &answer),
    ] {
        let mut scene = scene.clone();
        assert_eq!(
            scene.cast("bob", scene.with(word, content.clone())),
            Err("invalid"),
            "{word} {content:?}"
        );
        assert_eq!(scene.happened, None);
    }
}

#[test]
fn erased_content_can_be_denied_and_nothing_else() {
    let mut scene = Scene::held(two());
    scene.edit("bob", 1).unwrap();
    let mut whole = scene.clone();
    whole.request.content = None;
    let mut proposal = scene.clone();
    proposal.request.proposal.as_mut().unwrap().content = None;
    for erased in [whole, proposal] {
        assert_eq!(erased.clone().approve("cyd"), Err("invalid"));
        assert_eq!(erased.clone().edit("cyd", 2), Err("invalid"));
        assert_eq!(erased.clone().deny("cyd"), Ok(()));
    }
}

#[test]
fn an_answer_to_an_action_ends_it_without_a_permit() {
    let offers = |submit: &mut placet_core::Submit| {
        submit.spec.allowed = vec![DecisionWord::Approve, DecisionWord::Respond, DecisionWord::Deny];
    };
    let mut scene = Scene::asked(Kind::Action, one(), Effect::Hold, offers);
    scene.respond("bob", json!("do it by hand")).unwrap();
    assert_eq!((scene.state(), scene.request.claim_by), (State::Answered, None));
    assert_eq!(scene.claim(), Err("not_approved"));
}

#[test]
fn the_deciding_vote_is_counted_and_named_in_the_event() {
    let mut scene = Scene::held(two());
    scene.approve("cyd").unwrap();
    let command = Command::Decide(Box::new(scene.ballot(DecisionWord::Approve)));
    let applied = scene.try_out(&command, &scene.reviewer("bob"));
    assert_eq!(decided(&applied), Some((DecisionWord::Approve, vec!["bob".to_owned(), "cyd".to_owned()])));
}
