//! The rules about votes, one by one: who may, what counts, what goes stale, what is void.

use placet_core::{
    Actor, Auth, Command, Decide, DecisionWord, Digest, Effect, Kind, Needs, ProposalContent, Role, State,
    Viewed,
};

use crate::{
    play::no_key,
    scene::{Scene, decided, four_eyes, one, two},
    script::{arguments, needs},
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
            Scene::asked(Kind::Action, strict, Effect::Hold, |submit| submit.terms.allowed = allowed);
        let ballot = scene.ballot(DecisionWord::Deny);
        let weak = Actor { auth: Auth::Token, ..scene.reviewer("bob") };
        assert_eq!(scene.give(&Command::Decide(Box::new(ballot)), &weak), Ok(()));
        assert_eq!(scene.state(), State::Denied);
    }
}

#[test]
fn under_four_eyes_the_owner_and_the_person_behind_cannot_approve_and_can_always_deny() {
    for name in ["ann", "bob"] {
        let behind = |effect: &mut placet_core::Submit| effect.terms.on_behalf_of = Some("bob".to_owned());
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
        submit.terms.on_behalf_of = Some("dan".to_owned());
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
fn a_yes_counts_only_for_what_was_shown_and_a_no_always() {
    for (viewed, answer) in [
        (Viewed::Stale, Err("stale_display")),
        (Viewed::Missing, Err("invalid")),
        (Viewed::Current, Ok(())),
        (Viewed::Unsaid, Ok(())),
    ] {
        let mut scene = Scene::held(one());
        let edit = ProposalContent { arguments: Some(arguments(1)), ..ProposalContent::default() };
        let edit = Decide { viewed, ..scene.with(DecisionWord::Edit, edit) };
        let yes = Decide { viewed, ..scene.ballot(DecisionWord::Approve) };
        // What is on the table comes first: with another digest, what was shown is about something else.
        let old = Decide { digest: Digest::new([9; 32]), ..yes.clone() };
        assert_eq!(scene.cast("bob", old), Err("stale_digest"), "{viewed:?}");
        if answer.is_err() {
            assert_eq!(scene.cast("bob", edit), answer, "{viewed:?}");
        }
        assert_eq!(scene.cast("bob", yes), answer, "{viewed:?}");
        if answer.is_err() {
            let no = Decide { viewed, ..scene.ballot(DecisionWord::Deny) };
            assert_eq!(scene.cast("bob", no), Ok(()), "{viewed:?}");
        }
    }
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
fn the_deciding_vote_is_counted_and_named_in_the_event() {
    let mut scene = Scene::held(two());
    scene.approve("cyd").unwrap();
    let command = Command::Decide(Box::new(scene.ballot(DecisionWord::Approve)));
    let applied = scene.try_out(&command, &scene.reviewer("bob"));
    assert_eq!(decided(&applied), Some((DecisionWord::Approve, vec!["bob".to_owned(), "cyd".to_owned()])));
}

#[test]
fn a_yes_to_something_else_and_a_no_never_count_as_a_yes_whatever_is_stored() {
    let mut scene = Scene::held(two());
    scene.approve("bob").unwrap();
    let mut other_digest = scene.clone();
    other_digest.request.votes[0].digest = other_digest.secret("another request");
    let mut stored_no = scene.clone();
    stored_no.request.votes[0].vote = DecisionWord::Deny;
    for mut scene in [other_digest, stored_no] {
        scene.approve("cyd").unwrap();
        assert_eq!(scene.state(), State::Pending);
    }
}
