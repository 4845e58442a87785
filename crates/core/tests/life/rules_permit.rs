//! The rules about permits and deadlines, one by one: claimed once, in time, reported, or settled by a person.

use placet_core::{Actor, Auth, Cancel, Command, Effect, Kind, ReportStatus, Revoke, Role, State, Time};

use crate::{
    scene::{RuleResult, Scene, agent_of, one, two},
    script::seconds,
};

fn approved() -> Scene {
    let mut scene = Scene::held(one());
    scene.approve("bob").unwrap();
    scene
}

fn claimed() -> Scene {
    let mut scene = approved();
    scene.claim().unwrap();
    scene
}

#[test]
fn without_a_permit_approved_is_final() {
    let bare = Scene::asked(Kind::Action, one(), Effect::Hold, |submit| submit.terms.permit = false);
    for mut scene in [bare, Scene::of(Kind::Plan, one()), Scene::of(Kind::Confirmation, one())] {
        scene.approve("bob").unwrap();
        assert!(scene.request.is_final());
        assert_eq!((scene.request.claim_by, scene.request.deadline()), (None, None));
        assert_eq!(scene.claim(), Err("not_approved"));
        assert_eq!(scene.revoke("bob"), Err("not_approved"));
        assert_eq!(scene.cancel(), Err("already_decided"));
        assert_eq!(scene.request.state_at(Time::from_micros(i64::MAX)), State::Approved);
        scene.wait(1_000_000);
        assert_eq!((scene.expire(), scene.happened, scene.state()), (Ok(()), None, State::Approved));
    }
}

#[test]
fn only_an_action_has_a_permit() {
    for kind in [Kind::Plan, Kind::Input, Kind::Confirmation] {
        let scene = Scene::asked(kind, one(), Effect::Hold, |submit| submit.terms.permit = true);
        assert!(!scene.request.permit, "{kind}");
    }
}

#[test]
fn what_policy_allows_is_claimed_like_anything_else_and_what_it_denies_never() {
    let mut allowed = Scene::asked(Kind::Action, one(), Effect::Allow, |_| {});
    assert_eq!(allowed.request.claim_by, Some(allowed.now.plus(seconds(5))));
    assert!(allowed.request.decision.as_ref().unwrap().by.is_empty());
    let mut late = allowed.clone();
    assert_eq!(allowed.claim(), Ok(()));
    assert_eq!(late.wait(5).claim(), Err("lapsed"));
    let mut denied = Scene::asked(Kind::Action, one(), Effect::Deny, |_| {});
    assert_eq!((denied.state(), denied.request.is_final()), (State::Denied, true));
    assert_eq!(denied.claim(), Err("not_approved"));
    assert_eq!(denied.approve("bob"), Err("already_decided"));
}

#[test]
fn a_permit_is_claimed_once_and_the_same_claimant_may_ask_again_until_it_reports() {
    let mut scene = claimed();
    for _ in 0..2 {
        assert_eq!((scene.claim(), scene.happened), (Ok(()), None));
    }
    for claimant in [None, Some("you")] {
        assert_eq!(scene.give(&scene.claim_command(claimant), &scene.agent()), Err("already_claimed"));
    }
    let other = match scene.claim_command(Some("me")) {
        Command::Claim(claim) => {
            Command::Claim(placet_core::Claim { permit: scene.secret("another permit"), ..claim })
        }
        _ => unreachable!("a claim"),
    };
    assert_eq!(scene.give(&other, &scene.agent()), Err("already_claimed"));
    scene.report(ReportStatus::Succeeded).unwrap();
    assert_eq!(scene.claim(), Err("already_claimed"));
    let mut nameless = approved();
    let command = nameless.claim_command(None);
    assert_eq!(nameless.give(&command, &nameless.agent()), Ok(()));
    assert_eq!(
        nameless.give(&command, &nameless.agent()),
        Err("already_claimed"),
        "nothing tells it from another"
    );
}

#[test]
fn nothing_but_a_standing_approval_can_be_claimed() {
    for mut scene in Scene::in_every_state() {
        let state = scene.state();
        let expected: RuleResult = match state {
            State::Approved | State::Claimed | State::Unknown => Ok(()),
            State::Succeeded | State::Failed => Err("already_claimed"),
            State::Lapsed => Err("lapsed"),
            _ => Err("not_approved"),
        };
        assert_eq!(scene.claim(), expected, "{state}");
        assert_eq!(scene.happened.is_some(), state == State::Approved, "{state}");
    }
}

#[test]
fn deciding_and_claiming_end_with_the_very_moment_of_the_deadline() {
    let last = |deadline: Time| Time::from_micros(deadline.micros() - 1);
    let mut scene = Scene::held(one());
    let expires_at = scene.request.expires_at;
    let mut late = scene.clone();
    late.now = expires_at;
    assert_eq!(
        (late.approve("bob"), late.happened, late.state()),
        (Err("expired"), Some("request.expired"), State::Expired)
    );
    scene.now = last(expires_at);
    scene.approve("bob").unwrap();
    let claim_by = scene.request.claim_by.unwrap();
    let mut late = scene.clone();
    late.now = claim_by;
    assert_eq!(
        (late.claim(), late.happened, late.state()),
        (Err("lapsed"), Some("request.lapsed"), State::Lapsed)
    );
    scene.now = last(claim_by);
    assert_eq!(scene.claim(), Ok(()));
}

#[test]
fn a_deny_is_too_late_after_the_deadline_as_well() {
    let mut scene = Scene::held(one());
    assert_eq!(scene.wait(300).deny("bob"), Err("expired"));
    assert_eq!(scene.state(), State::Expired);
}

#[test]
fn only_the_agent_that_asked_can_claim_report_or_cancel() {
    let imp = |scene: &Scene| agent_of(&scene.world, "imp");
    let mut scene = approved();
    let claim = scene.claim_command(Some("me"));
    assert_eq!(scene.give(&claim, &imp(&scene)), Err("not_found"));
    scene.claim().unwrap();
    let report = scene.report_command("permit", ReportStatus::Succeeded);
    assert_eq!(scene.give(&report, &imp(&scene)), Err("not_found"));
    let mut pending = Scene::held(one());
    let cancel = Command::Cancel(Cancel { id: pending.request.id, reason: None });
    assert_eq!(pending.give(&cancel, &imp(&pending)), Err("not_found"));
    for who in [pending.reviewer("ann"), Actor { key: None, ..pending.agent() }] {
        for command in [&claim, &report, &cancel] {
            assert_eq!(pending.give(command, &who), Err("unauthorized"), "{who:?}");
        }
    }
    let agent = pending.agent();
    pending.world.revoke_key(agent.key.unwrap());
    assert_eq!(pending.cancel(), Err("unauthorized"));
}

#[test]
fn an_agent_without_a_key_exists_in_development_only() {
    let mut scene = approved();
    let open = Actor { key: None, auth: Auth::Open, ..scene.agent() };
    let session = Actor { key: None, auth: Auth::Session, ..scene.agent() };
    let command = scene.claim_command(None);
    assert_eq!(scene.give(&command, &session), Err("unauthorized"));
    assert_eq!(scene.give(&command, &open), Ok(()));
}

#[test]
fn a_report_needs_the_permit_counts_late_and_stands() {
    let mut scene = approved();
    assert_eq!(scene.report(ReportStatus::Succeeded), Err("not_claimed"));
    scene.claim().unwrap();
    assert_eq!(
        scene.give(&scene.report_command("guess", ReportStatus::Failed), &scene.agent()),
        Err("wrong_permit")
    );
    let mut noticed = scene.clone();
    noticed.wait(5).expire().unwrap();
    assert_eq!(noticed.state(), State::Unknown);
    scene.wait(5);
    for mut late in [scene, noticed] {
        assert_eq!(late.report(ReportStatus::Failed), Ok(()));
        assert_eq!(
            (late.state(), late.request.outcome.as_ref().unwrap().note.as_deref()),
            (State::Failed, Some("done"))
        );
        assert_eq!((late.report(ReportStatus::Failed), late.happened), (Ok(()), None));
        assert_eq!(late.report(ReportStatus::Succeeded), Err("already_reported"));
        assert_eq!(late.resolve("bob", ReportStatus::Succeeded), Err("not_unknown"));
    }
}

#[test]
fn an_unknown_outcome_stays_unknown_until_a_reviewer_settles_it() {
    let mut scene = claimed();
    assert_eq!(scene.resolve("bob", ReportStatus::Failed), Err("not_unknown"));
    scene.wait(5).expire().unwrap();
    assert_eq!(scene.wait(1_000_000).expire(), Ok(()));
    assert_eq!((scene.state(), scene.happened), (State::Unknown, None));
    scene.resolve("bob", ReportStatus::Failed).unwrap();
    let outcome = scene.request.outcome.as_ref().unwrap();
    assert_eq!((scene.state(), outcome.resolved_by.as_deref()), (State::Failed, Some("bob")));
    assert_eq!(outcome.note.as_deref(), Some("looked at the disk"));
}

#[test]
fn taking_back_and_withdrawing_follow_the_picture() {
    for scene in Scene::in_every_state() {
        let state = scene.state();
        let (mut revoke, mut cancel) = (scene.clone(), scene);
        let expected: RuleResult = match state {
            State::Approved => Ok(()),
            State::Claimed | State::Unknown | State::Succeeded | State::Failed => Err("already_claimed"),
            State::Revoked => Err("revoked"),
            State::Lapsed => Err("lapsed"),
            _ => Err("not_approved"),
        };
        assert_eq!(revoke.revoke("cyd"), expected, "revoke in {state}");
        assert_eq!(revoke.state() == State::Revoked, matches!(state, State::Approved | State::Revoked));
        let expected: RuleResult = match state {
            State::Pending | State::Approved => Ok(()),
            State::Claimed | State::Unknown => Err("already_claimed"),
            State::Expired => Err("expired"),
            State::Lapsed => Err("lapsed"),
            State::Cancelled => Err("cancelled"),
            _ => Err("already_decided"),
        };
        assert_eq!(cancel.cancel(), expected, "cancel in {state}");
    }
}

#[test]
fn placet_itself_may_withdraw_and_take_back_and_nobody_can_pass_for_it() {
    let mut scene = Scene::held(one());
    let cancel = Command::Cancel(Cancel { id: scene.request.id, reason: None });
    let revoke = Command::Revoke(Revoke { id: scene.request.id, reason: None });
    let key = scene.world.key_of("dan", Role::Admin);
    for impostor in [
        Actor { key, ..Actor::system() },
        Actor { auth: Auth::Session, ..Actor::system() },
        Actor { name: "dan".to_owned(), ..Actor::system() },
    ] {
        assert_eq!(scene.give(&cancel, &impostor), Err("unauthorized"));
        assert_eq!(approved().give(&revoke, &impostor), Err("unauthorized"));
    }
    assert_eq!(scene.give(&cancel, &Actor::system()), Ok(()));
    assert_eq!(approved().give(&revoke, &Actor::system()), Ok(()));
}

#[test]
fn reassigning_changes_who_is_asked_and_never_what_is_needed() {
    let mut scene = Scene::held(two());
    for nobody in [&["eve"][..], &["team:none"], &["bob", "bot"]] {
        assert_eq!(scene.reassign("bob", nobody), Err("invalid"), "{nobody:?}");
    }
    scene.reassign("bob", &["team:red", "dan"]).unwrap();
    assert_eq!((scene.request.asked.len(), &scene.request.needs), (2, &two()));
    scene.approve("bob").unwrap();
    scene.approve("ann").unwrap();
    assert_eq!(scene.state(), State::Approved, "who was not asked may still vote");
}

type Give = fn(&mut Scene) -> RuleResult;

/// The commands of people and agents, each by an actor who may give it.
const EVERYTHING: [(&str, Give); 9] = [
    ("approve", |scene| scene.approve("bob")),
    ("deny", |scene| scene.deny("cyd")),
    ("edit", |scene| scene.edit("bob", 1)),
    ("claim", Scene::claim),
    ("report", |scene| scene.report(ReportStatus::Succeeded)),
    ("cancel", Scene::cancel),
    ("revoke", |scene| scene.revoke("bob")),
    ("reassign", |scene| scene.reassign("bob", &["cyd"])),
    ("resolve", |scene| scene.resolve("bob", ReportStatus::Failed)),
];

#[test]
fn a_passed_deadline_means_the_same_whether_or_not_the_timer_came_by() {
    for mut unnoticed in Scene::in_every_state() {
        unnoticed.wait(1_000);
        let mut noticed = unnoticed.clone();
        noticed.expire().unwrap();
        assert_eq!(noticed.state(), unnoticed.request.state_at(unnoticed.now), "a reader sees the same");
        for (name, give) in EVERYTHING {
            let (mut early, mut late) = (unnoticed.clone(), noticed.clone());
            let (said, expected) = (give(&mut early), give(&mut late));
            if name == "resolve" && unnoticed.state() == State::Claimed {
                // One command is one entry: the first finds out that it is unknown, the second settles it.
                assert_eq!((said, early.state()), (Err("not_unknown"), State::Unknown));
                assert_eq!(give(&mut early), Ok(()));
                continue;
            }
            assert_eq!(said, expected, "{name} in {}", unnoticed.state());
            if name != "claim" || unnoticed.state() != State::Claimed {
                assert_eq!(
                    early.state(),
                    late.state(),
                    "{name} in {}: whoever notices lets it take effect",
                    unnoticed.state()
                );
            }
        }
    }
}

#[test]
fn a_stranger_does_not_make_a_deadline_take_effect() {
    let mut scene = Scene::held(one());
    scene.wait(300);
    let imp = agent_of(&scene.world, "imp");
    assert_eq!(scene.give(&scene.claim_command(None), &imp), Err("not_found"));
    assert_eq!(scene.happened, None);
    scene.lose_role("bob");
    assert_eq!((scene.approve("bob"), scene.happened), (Err("unauthorized"), None));
}

#[test]
fn reads_never_show_a_state_past_its_deadline() {
    for scene in Scene::in_every_state() {
        let far = Time::from_micros(i64::MAX);
        let expected = match scene.state() {
            State::Pending => State::Expired,
            State::Approved => State::Lapsed,
            State::Claimed => State::Unknown,
            other => other,
        };
        assert_eq!(scene.request.state_at(far), expected);
        assert_eq!(scene.request.state_at(scene.now), scene.state());
        let record = serde_json::to_value(scene.request.view(far)).unwrap();
        assert_eq!(record["state"], expected.as_str());
    }
}

#[test]
fn an_erased_replacement_never_falls_back_to_what_it_replaced() {
    let mut scene = Scene::held(one());
    scene.edit("bob", 1).unwrap();
    scene.request.decision.as_mut().unwrap().content = None;
    assert_eq!(scene.request.effective_arguments(), None);
    assert_eq!((scene.claim(), scene.happened, scene.state()), (Err("not_approved"), None, State::Approved));
}

#[test]
fn an_approval_whose_content_was_erased_cannot_be_claimed() {
    let mut scene = approved();
    let mut erased = scene.clone();
    erased.request.content = None;
    let said = (erased.claim(), erased.happened, erased.state());
    assert_eq!(said, (Err("not_approved"), None, State::Approved));
    assert_eq!(scene.claim(), Ok(()));
}

#[test]
fn the_cap_counts_pending_requests_only() {
    let ask = |effect| {
        Scene::asked_by("bot", Kind::Action, one(), effect, |submit| submit.pending_cap = 0)
            .map(|scene| scene.state())
    };
    assert_eq!(ask(Effect::Hold), Err("pending_cap"));
    assert_eq!(ask(Effect::Allow), Ok(State::Approved));
    assert_eq!(ask(Effect::Deny), Ok(State::Denied));
}

#[test]
fn only_an_agent_asks() {
    let ask = |name: &str| {
        Scene::asked_by(name, Kind::Action, one(), Effect::Hold, |_| {}).map(|scene| scene.request.agent)
    };
    assert_eq!(ask("bot"), Ok("bot".to_owned()));
    assert_eq!(ask("bob"), Err("unauthorized"));
    assert_eq!(ask("nobody"), Err("unauthorized"));
}
