//! What a vote depends on: its key or session, the person behind the name, and the owner of the agent.

use placet_core::{AdminEvent, Directory, KeyId, Role, SessionEnd, SessionId, State, Vote};

use crate::{
    scene::{Scene, four_eyes, one},
    script::{needs, seconds},
    world::Human,
};

/// A request that two must agree to, with one yes of bob.
fn with_a_yes_of_bob() -> Scene {
    let mut scene = Scene::held(needs(&[&[(2, None)]]));
    scene.approve("bob").unwrap();
    scene
}

#[test]
fn a_vote_counts_no_more_once_its_key_was_voided() {
    let mut scene = with_a_yes_of_bob();
    let key = scene.request.votes[0].key.expect("cast with a key");
    assert_eq!(scene.clone().approve("cyd").map(|()| State::Approved), Ok(State::Approved));
    scene.world.revoke_key(key);
    scene.approve("cyd").unwrap();
    assert_eq!(scene.state(), State::Pending, "the yes of a stolen key is none");
    let tally = scene.request.tally(&scene.request.needs, &scene.world.directory());
    assert_eq!((tally.have, tally.need), (1, 2));
    scene.approve("dan").unwrap();
    assert_eq!(scene.request.decision.as_ref().unwrap().by, ["cyd", "dan"]);
}

#[test]
fn a_person_who_was_removed_and_made_again_does_not_get_the_old_vote_back() {
    let scene = with_a_yes_of_bob();
    let mut directory = scene.world.directory();
    let vote = &scene.request.votes[0];
    assert!(directory.stands(vote));
    let gone = AdminEvent::PersonRemoved { name: "bob".to_owned(), voids: true };
    directory.evolve(&gone, scene.now.plus(seconds(1)), None);
    let roles = [Role::Reviewer].into();
    let back =
        AdminEvent::PersonPut { name: "bob".to_owned(), roles, teams: std::collections::BTreeSet::new() };
    directory.evolve(&back, scene.now.plus(seconds(2)), None);
    assert!(!directory.stands(vote));
    let unsigned = Vote { key: None, session: None, ..vote.clone() };
    assert!(!directory.stands(&unsigned), "also a vote that does not say how it was cast");
    let newer = Vote { at: scene.now.plus(seconds(3)), key: None, ..vote.clone() };
    assert!(directory.stands(&newer));
}

#[test]
fn a_session_that_was_ended_from_elsewhere_takes_its_votes_along_and_one_that_was_signed_out_of_does_not() {
    let scene = with_a_yes_of_bob();
    let session = SessionId::new(1, [1; 10]);
    let vote = Vote { key: None, session: Some(session), ..scene.request.votes[0].clone() };
    for (why, voids) in [(SessionEnd::SignedOut, false), (SessionEnd::Revoked, true)] {
        let mut directory = scene.world.directory();
        directory.evolve(&AdminEvent::SessionEnded { id: session, why, voids }, scene.now, None);
        assert_eq!(directory.stands(&vote), !voids, "{why}");
    }
}

#[test]
fn a_vote_of_an_older_version_falls_with_any_key_of_its_person_that_is_voided_later() {
    let mut scene = with_a_yes_of_bob();
    let old = Vote { key: None, session: None, ..scene.request.votes[0].clone() };
    let mut directory = scene.world.directory();
    assert!(directory.stands(&old));
    let id = scene.request.votes[0].key.unwrap();
    directory.evolve(&AdminEvent::KeyRevoked { id, voids: false }, scene.wait(1).now, None);
    assert!(directory.stands(&old), "a rotation");
    directory.evolve(&AdminEvent::KeyRevoked { id, voids: true }, scene.now, None);
    assert!(!directory.stands(&old), "a theft");
}

#[test]
fn names_that_look_alike_are_one_person() {
    let mut scene = Scene::held(needs(&[&[(2, None)]]));
    scene.world.people.push(Human { name: "b0b", roles: [Role::Reviewer].into(), teams: ["red"].into() });
    scene.world.new_key("b0b", Role::Reviewer);
    scene.approve("bob").unwrap();
    scene.approve("b0b").unwrap();
    assert_eq!(scene.state(), State::Pending, "bob and b0b are one person");
    let tally = scene.request.tally(&scene.request.needs, &scene.world.directory());
    assert_eq!((tally.have, tally.need), (1, 2));
    scene.approve("cyd").unwrap();
    assert_eq!(scene.state(), State::Approved);

    let mut own = Scene::held(four_eyes(one()));
    own.world.people.push(Human { name: "Ann", roles: [Role::Reviewer].into(), teams: [].into() });
    own.world.new_key("Ann", Role::Reviewer);
    assert_eq!(own.approve("Ann"), Err("self_approval"), "ann owns the agent");
}

#[test]
fn whoever_owned_a_key_of_the_agent_while_it_waited_stands_behind_the_request() {
    let scene = Scene::held(four_eyes(one()));
    let asked = scene.request.created_at;
    let mut directory = scene.world.directory();
    let key = |n: u8, owner: &str| AdminEvent::KeyCreated {
        id: KeyId::new(900 + u64::from(n), [n; 10]),
        role: Role::Agent,
        name: "bot".to_owned(),
        owner: Some(owner.to_owned()),
    };
    directory.evolve(&key(1, "bob"), asked, None);
    directory.evolve(&key(2, "cyd"), asked.plus(seconds(1)), None);
    let owners =
        |directory: &Directory, since| directory.owners("bot", since).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(
        owners(&directory, asked),
        ["cyd", "bob", "cyd"],
        "another key does not let the former owner go"
    );
    let revoked = AdminEvent::KeyRevoked { id: KeyId::new(901, [1; 10]), voids: true };
    directory.evolve(&revoked, asked.plus(seconds(2)), None);
    assert_eq!(owners(&directory, asked), ["cyd", "bob", "cyd"], "it worked while this was asked");
    assert_eq!(
        owners(&directory, asked.plus(seconds(3))),
        ["cyd", "cyd"],
        "and does not count for later ones"
    );
}
