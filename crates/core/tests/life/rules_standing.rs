//! Escalation, edits that policy looks at, grants and trust: one by one.

use std::{sync::Arc, time::Duration};

use placet_core::{
    AdminCommand, AdminEvent, AdminRefusal, Applied, Command, Context, Decide, DecisionWord, Directory,
    Effect, Escalation, ExpectedPolicy, Grant, GrantId, GrantKey, Kind, Needs, NewGrant, ProposalContent,
    RequestId, Risk, Scope, State, Submit, Time, TrustOffer, TrustTerms, apply,
};

use crate::{
    scene::{Scene, agent_of, four_eyes, one, two},
    script::{arguments, create, needs, ruling, seconds, submit_of},
    world::{POLICY, World},
};

fn then(needs: Needs, time: u64) -> Escalation {
    Escalation { needs, expires_in: seconds(time) }
}

/// Five minutes for two people, then ten seconds for one of the blue team.
fn escalating() -> Scene {
    let blue = needs(&[&[(1, Some("blue"))]]);
    Scene::asked(Kind::Action, two(), Effect::Hold, |submit| submit.escalation = vec![then(blue, 10)])
}

#[test]
fn when_nobody_decides_in_time_somebody_else_is_asked_and_only_then_it_expires() {
    let mut scene = escalating();
    assert_eq!(scene.wait(300).expire(), Ok(()));
    assert_eq!((scene.happened, scene.state()), (Some("request.escalated"), State::Pending));
    assert_eq!(scene.request.needs, needs(&[&[(1, Some("blue"))]]));
    assert_eq!(scene.request.expires_at, scene.now.plus(seconds(10)));
    assert_eq!(scene.approve("ann"), Err("not_eligible"), "the red team is no longer asked");
    assert_eq!(scene.wait(10).expire(), Ok(()));
    assert_eq!((scene.happened, scene.state()), (Some("request.expired"), State::Expired));
}

#[test]
fn whoever_was_asked_first_can_still_say_no_and_no_longer_yes() {
    let red = needs(&[&[(1, Some("red"))]]);
    let blue = needs(&[&[(1, Some("blue"))]]);
    let mut scene = Scene::asked(Kind::Action, red, Effect::Hold, |submit| {
        submit.escalation = vec![then(blue.clone(), 10), then(needs(&[&[(1, Some("green"))]]), 10)];
    });
    scene.wait(310).expire().unwrap();
    scene.expire().unwrap();
    assert_eq!(scene.request.earlier.len(), 2);
    for name in ["ann", "bob"] {
        assert_eq!(scene.clone().approve(name), Err("not_eligible"), "{name}");
        let mut denied = scene.clone();
        assert_eq!(denied.cast(name, denied.ballot(DecisionWord::Deny)), Ok(()), "{name}");
        assert_eq!(denied.state(), State::Denied);
    }
    assert_eq!(
        scene.clone().cast("dan", scene.ballot(DecisionWord::Deny)),
        Err("not_eligible"),
        "never asked"
    );
}

#[test]
fn a_vote_for_the_question_before_is_stale_and_lets_the_escalation_happen() {
    let mut scene = escalating();
    let before = scene.ballot(DecisionWord::Approve);
    scene.wait(300);
    assert_eq!(scene.cast("bob", before.clone()), Err("stale_version"));
    assert_eq!(scene.happened, Some("request.escalated"));
    assert_eq!(scene.cast("bob", before), Err("stale_version"), "needs changed, so it has to be read again");
    assert_eq!(scene.approve("bob"), Ok(()));
    assert_eq!(scene.state(), State::Approved);
}

#[test]
fn votes_from_before_an_escalation_are_recounted_by_what_is_needed_now() {
    let mut scene = Scene::asked(Kind::Action, needs(&[&[(3, None)]]), Effect::Hold, |submit| {
        submit.escalation = vec![then(two(), 10)];
    });
    scene.approve("bob").unwrap();
    scene.wait(300).expire().unwrap();
    assert_eq!((scene.state(), scene.request.votes.len()), (State::Pending, 1), "time alone never approves");
    scene.approve("cyd").unwrap();
    assert_eq!(scene.request.decision.as_ref().unwrap().by, ["bob", "cyd"]);
    // A yes that was strong enough before is not, once a code is needed.
    let code = Needs { step_up: Some("code".to_owned()), ..two() };
    let mut scene = Scene::asked(Kind::Action, needs(&[&[(3, None)]]), Effect::Hold, |submit| {
        submit.escalation = vec![then(code, 10)];
    });
    let weak = placet_core::Actor { auth: placet_core::Auth::Token, ..scene.reviewer("bob") };
    scene.give(&Command::Decide(Box::new(scene.ballot(DecisionWord::Approve))), &weak).unwrap();
    scene.wait(300).expire().unwrap();
    scene.approve("cyd").unwrap();
    assert_eq!(scene.state(), State::Pending);
    scene.approve("dan").unwrap();
    assert_eq!(scene.request.decision.as_ref().unwrap().by, ["cyd", "dan"]);
}

#[test]
fn a_reader_sees_who_is_asked_now_whether_or_not_the_timer_came_by() {
    let mut scene = escalating();
    let late = scene.now.plus(seconds(305));
    let shown = serde_json::to_value(scene.request.view(late)).unwrap();
    assert_eq!((shown["state"].as_str(), shown["version"].as_u64()), (Some("pending"), Some(1)));
    assert_eq!(shown["needs"]["any"][0]["all"][0]["team"], "blue");
    assert_eq!(shown["expires_at"], scene.now.plus(seconds(310)).to_string());
    assert_eq!(scene.request.state_at(scene.now.plus(seconds(310))), State::Expired);
    // After a long silence everything takes effect, one entry after the other.
    scene.wait(1000);
    assert_eq!(scene.approve("bob"), Err("expired"));
    assert_eq!(scene.happened, Some("request.escalated"));
    assert_eq!(scene.approve("bob"), Err("expired"));
    assert_eq!((scene.happened, scene.state()), (Some("request.expired"), State::Expired));
}

#[test]
fn a_request_can_be_withdrawn_or_reassigned_between_deadline_and_escalation() {
    let mut scene = escalating();
    scene.wait(301);
    assert_eq!(scene.reassign("bob", &["cyd"]), Ok(()));
    assert_eq!(scene.cancel(), Ok(()));
    assert_eq!(scene.state(), State::Cancelled);
}

fn edit(scene: &mut Scene, name: &str, n: u8, needs: Needs) -> Result<(), &'static str> {
    let content = ProposalContent { arguments: Some(arguments(n)), ..ProposalContent::default() };
    let ballot = Decide { ruling: ruling(needs), ..scene.with(DecisionWord::Edit, content) };
    scene.cast(name, ballot)
}

#[test]
fn an_edit_that_policy_is_stricter_about_needs_more_and_never_less_again() {
    let mut scene = Scene::held(one());
    assert_eq!(edit(&mut scene, "bob", 1, two()), Ok(()));
    assert_eq!((scene.state(), &scene.request.needs), (State::Pending, &two()));
    // Back to what needed one: two it stays.
    assert_eq!(edit(&mut scene, "cyd", 0, one()), Ok(()));
    assert_eq!((scene.state(), &scene.request.needs), (State::Pending, &two()));
    scene.approve("dan").unwrap();
    assert_eq!(scene.request.decision.as_ref().unwrap().by, ["cyd", "dan"]);
}

#[test]
fn an_edit_that_raises_the_proof_is_taken_and_counts_only_with_the_proof() {
    let mut scene = Scene::held(one());
    let code = Needs { step_up: Some("code".to_owned()), ..one() };
    let content = ProposalContent { arguments: Some(arguments(1)), ..ProposalContent::default() };
    let ballot = Decide { ruling: ruling(code.clone()), ..scene.with(DecisionWord::Edit, content) };
    let weak = placet_core::Actor { auth: placet_core::Auth::Token, ..scene.reviewer("bob") };
    assert_eq!(scene.give(&Command::Decide(Box::new(ballot)), &weak), Ok(()));
    assert_eq!((scene.state(), scene.request.needs.step_up.as_deref()), (State::Pending, Some("code")));
    let again = Command::Decide(Box::new(scene.ballot(DecisionWord::Approve)));
    assert_eq!(scene.give(&again, &weak), Err("step_up_required"));
    assert_eq!(scene.approve("bob"), Ok(()), "with the code of what is on the table now");
    assert_eq!(scene.state(), State::Approved);
}

#[test]
fn an_edit_raises_what_is_needed_along_the_whole_escalation() {
    let mut scene = escalating();
    let finance = needs(&[&[(1, Some("red"))]]);
    edit(&mut scene, "bob", 1, finance.clone()).unwrap();
    scene.wait(300).expire().unwrap();
    assert_eq!(scene.request.needs, needs(&[&[(1, Some("blue"))]]).join(&finance));
    // One that needs nothing new leaves it alone.
    let mut scene = escalating();
    edit(&mut scene, "bob", 1, one()).unwrap();
    scene.wait(300).expire().unwrap();
    assert_eq!(scene.request.needs, needs(&[&[(1, Some("blue"))]]));
}

#[test]
fn an_edit_that_policy_denies_or_was_not_asked_about_is_refused() {
    let mut scene = Scene::held(one());
    let content = ProposalContent { arguments: Some(arguments(1)), ..ProposalContent::default() };
    let mut ballot = scene.with(DecisionWord::Edit, content);
    assert_eq!(scene.cast("bob", Decide { ruling: None, ..ballot.clone() }), Err("policy_changed"));
    scene.world.policy = Some("sha256:99");
    assert_eq!(scene.cast("bob", ballot.clone()), Err("policy_changed"));
    scene.world.policy = Some(POLICY);
    ballot.ruling.as_mut().unwrap().verdict.effect = Effect::Deny;
    assert_eq!(scene.cast("bob", ballot.clone()), Err("policy_denied"));
    assert_eq!((scene.request.version, scene.happened), (1, None));
    let applied = scene.try_out(&Command::Decide(Box::new(ballot)), &scene.reviewer("bob"));
    let said = applied.answer.unwrap_err().to_string();
    assert!(said.contains("`rule`") && said.contains("because"), "{said}");
}

#[test]
fn an_edit_may_raise_the_risk_and_never_lowers_it() {
    let mut scene = Scene::held(two());
    let content = |n| ProposalContent { arguments: Some(arguments(n)), ..ProposalContent::default() };
    for (n, risk) in [(1, Risk::Critical), (2, Risk::Low)] {
        let mut ballot = scene.with(DecisionWord::Edit, content(n));
        ballot.ruling.as_mut().unwrap().risk = risk;
        scene.cast("bob", ballot).unwrap();
        assert_eq!(scene.request.risk, Risk::Critical);
    }
}

#[test]
fn policy_narrows_what_is_offered_and_a_no_is_always_possible() {
    let mut scene = Scene::asked(Kind::Action, one(), Effect::Hold, |submit| {
        submit.decisions = Some(vec![DecisionWord::Approve]);
    });
    assert_eq!(scene.request.allowed, [DecisionWord::Approve, DecisionWord::Deny]);
    assert_eq!(edit(&mut scene, "bob", 1, one()), Err("invalid"));
    assert_eq!(scene.deny("bob"), Ok(()));
}

#[test]
fn a_verdict_of_a_policy_that_is_no_longer_in_force_is_not_taken() {
    let mut world = World::new();
    let now = Time::from_micros(1_794_700_000_000_000);
    let submit = submit_of(create(Kind::Action, 0), RequestId::new(1, [1; 10]), Effect::Allow, one(), now);
    let command = Command::Submit(Box::new(submit));
    for (policy, code) in [(None, None), (Some(POLICY), None), (Some("sha256:99"), Some("policy_changed"))] {
        world.policy = policy;
        let directory = world.directory();
        let applied = apply(None, &command, &agent_of(&world, "bot"), &Context::new(now, &directory));
        assert_eq!(applied.answer.err().map(|refusal| refusal.code()), code, "{policy:?}");
    }
}

const GRANT: u8 = 7;

fn grant_id(n: u8) -> GrantId {
    GrantId::new(1, [n; 10])
}

fn remember(uses: u32) -> NewGrant {
    NewGrant {
        id: grant_id(GRANT),
        scope: Scope::Exact { bound: true },
        uses,
        expires_in: seconds(60),
        key: Some(GrantKey::Same([1; 32])),
    }
}

fn remembering(scene: &Scene) -> Decide {
    Decide { remember: Some(Box::new(remember(3))), ..scene.ballot(DecisionWord::Approve) }
}

fn said(scene: &Scene, name: &str, ballot: Decide) -> Applied {
    scene.try_out(&Command::Decide(Box::new(ballot)), &scene.reviewer(name))
}

#[test]
fn a_yes_can_be_given_in_advance_with_the_vote_that_decides() {
    let scene = Scene::held(one());
    let applied = said(&scene, "bob", remembering(&scene));
    assert_eq!(applied.answer, Ok(()));
    let Some(AdminEvent::GrantCreated { grant }) = applied.grant.as_deref() else { panic!("{applied:?}") };
    assert_eq!(
        (grant.by.as_str(), grant.agent.as_str(), grant.tool.as_str()),
        ("bob", "bot", "delete_files")
    );
    assert_eq!((grant.policy.as_str(), grant.uses), (POLICY, 3));
    assert_eq!((grant.created_at, grant.expires_at), (scene.now, scene.now.plus(seconds(60))));
}

#[test]
fn a_yes_in_advance_lives_from_one_second_to_thirty_days() {
    let scene = Scene::held(one());
    for (expires_in, taken) in [
        (Duration::from_millis(999), false),
        (seconds(1), true),
        (seconds(2_592_000), true),
        (seconds(2_592_001), false),
    ] {
        let new = NewGrant { expires_in, ..remember(1) };
        let ballot = Decide { remember: Some(Box::new(new)), ..scene.ballot(DecisionWord::Approve) };
        assert_eq!(said(&scene, "bob", ballot).grant.is_some(), taken, "{expires_in:?}");
    }
}

#[test]
fn a_yes_in_advance_is_refused_where_one_yes_is_not_enough_or_every_call_must_be_seen() {
    let pointer = |scene: &Scene, name: &str, ballot: Decide| match said(scene, name, ballot) {
        Applied { answer: Err(placet_core::Refusal::Invalid(invalid)), change: None, grant: None } => {
            invalid.pointer
        }
        other => panic!("{other:?}"),
    };
    for strict in [two(), Needs { step_up: Some("code".to_owned()), ..one() }] {
        let scene = Scene::held(strict);
        assert_eq!(pointer(&scene, "bob", remembering(&scene)), "/remember");
    }
    let orphan = Scene::asked_by("imp", Kind::Action, four_eyes(one()), Effect::Hold, |_| {}).unwrap();
    assert_eq!(pointer(&orphan, "bob", remembering(&orphan)), "/remember", "two people, without an owner");
    for risk in [Risk::High, Risk::Critical] {
        let scene = Scene::asked(Kind::Action, one(), Effect::Hold, |submit| submit.risk = risk);
        assert_eq!(pointer(&scene, "bob", remembering(&scene)), "/remember");
    }
    let confirmation = Scene::of(Kind::Confirmation, one());
    assert_eq!(pointer(&confirmation, "bob", remembering(&confirmation)), "/remember");
    let mut scene = Scene::held(one());
    assert_eq!(
        pointer(&scene, "bob", Decide { word: DecisionWord::Deny, ..remembering(&scene) }),
        "/remember"
    );
    for uses in [0, Grant::MOST_USES + 1] {
        let ballot =
            Decide { remember: Some(Box::new(remember(uses))), ..scene.ballot(DecisionWord::Approve) };
        assert_eq!(pointer(&scene, "bob", ballot), "/remember/uses");
    }
    for expires_in in [Duration::ZERO, Grant::LONGEST + seconds(1)] {
        let new = NewGrant { expires_in, ..remember(1) };
        let ballot = Decide { remember: Some(Box::new(new)), ..scene.ballot(DecisionWord::Approve) };
        assert_eq!(pointer(&scene, "bob", ballot), "/remember/expires_in");
    }
    scene.world.policy = Some("sha256:99");
    assert_eq!(pointer(&scene, "bob", remembering(&scene)), "/remember", "given under another policy");
}

/// A world in which `bob` said yes in advance to `bot`.
fn granted_by(name: &str) -> (World, Directory, Submit, Time) {
    let world = World::new();
    let now = Time::from_micros(1_794_700_000_000_000);
    let mut directory = world.directory();
    let grant = Grant {
        id: grant_id(GRANT),
        by: name.to_owned(),
        agent: "bot".to_owned(),
        tool: "delete_files".to_owned(),
        policy: POLICY.to_owned(),
        scope: Scope::Session { session: "sess".to_owned() },
        uses: 2,
        created_at: now,
        expires_at: now.plus(seconds(60)),
        request: RequestId::new(1, [1; 10]),
        key: None,
        session: None,
    };
    directory.grants.insert(grant.id, Arc::new(grant));
    let mut submit = submit_of(create(Kind::Action, 0), RequestId::new(2, [2; 10]), Effect::Hold, one(), now);
    submit.grants = vec![grant_id(9), grant_id(GRANT)];
    (world, directory, submit, now)
}

/// The state, the rule and the grant that a request begins with.
fn begins(agent: &str, submit: &Submit, cx: &Context<'_>, world: &World) -> (State, String, Option<GrantId>) {
    let applied = apply(None, &Command::Submit(Box::new(submit.clone())), &agent_of(world, agent), cx);
    match applied.change.map(|change| change.event) {
        Some(placet_core::Event::Created(created)) => (created.state, created.verdict.rule, created.grant),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_yes_in_advance_lets_through_what_it_covers_and_is_named() {
    let (world, directory, submit, now) = granted_by("bob");
    let cx = Context { used: &[(grant_id(GRANT), 1)], ..Context::new(now, &directory) };
    let id = grant_id(GRANT);
    assert_eq!(begins("bot", &submit, &cx, &world), (State::Approved, format!("grant:{id}"), Some(id)));
    let applied = apply(None, &Command::Submit(Box::new(submit)), &agent_of(&world, "bot"), &cx);
    let change = applied.change.unwrap();
    let id = placet_core::RequestId::new(1, [1; 10]);
    let made = placet_core::evolve(None, id, 1, now, "bot", &change.event, &change.written).unwrap();
    let decision = serde_json::to_value(made.view(now)).unwrap()["decision"].clone();
    assert_eq!(decision["grant"], serde_json::json!({"id": grant_id(GRANT), "by": "bob"}));
    assert_eq!(decision["by"], serde_json::json!([]), "nobody looked at this call");
}

#[test]
fn scopes_and_terms_of_version_0_2_are_read_and_written_as_they_were() {
    let scope: Scope = serde_json::from_str(r#"{"type":"exact"}"#).unwrap();
    assert_eq!(scope, Scope::Exact { bound: false });
    assert_eq!(serde_json::to_string(&scope).unwrap(), r#"{"type":"exact"}"#);
    let bound = serde_json::to_string(&Scope::Exact { bound: true }).unwrap();
    assert_eq!(bound, r#"{"type":"exact","bound":true}"#);
    let text = r#"{"rule":"r","after":3}"#;
    let terms: TrustTerms = serde_json::from_str(text).unwrap();
    assert!(!terms.bound && terms.cosmetic.is_empty());
    assert_eq!(serde_json::to_string(&terms).unwrap(), text);
    let ended: AdminEvent =
        serde_json::from_str(r#"{"type":"grant.revoked","id":"grt_00000000000000000000000000"}"#).unwrap();
    assert!(matches!(ended, AdminEvent::GrantRevoked { why: None, .. }));
}

#[test]
fn a_yes_in_advance_counts_as_the_vote_of_whoever_gave_it_today_and_no_further() {
    let held = (State::Pending, "rule".to_owned(), None);
    let (world, directory, submit, now) = granted_by("bob");
    let cx = Context::new(now, &directory);
    let with = |change: &dyn Fn(&mut Submit)| {
        let mut submit = submit.clone();
        change(&mut submit);
        begins("bot", &submit, &cx, &world)
    };
    assert_eq!(with(&|submit| submit.grants.clear()), held);
    assert_eq!(with(&|submit| submit.terms.session = "other".to_owned()), held);
    assert_eq!(with(&|submit| submit.verdict.policy = "sha256:99".to_owned()), held);
    assert_eq!(with(&|submit| submit.risk = Risk::High), held);
    assert_eq!(with(&|submit| submit.needs = two()), held);
    assert_eq!(with(&|submit| submit.needs = needs(&[&[(1, Some("red"))]])), held, "bob is not of that team");
    assert_eq!(with(&|submit| submit.needs.step_up = Some("code".to_owned())), held);
    let denied = with(&|submit| submit.verdict.effect = Effect::Deny);
    assert_eq!(denied, (State::Denied, "rule".to_owned(), None), "a no of policy stands");
    let behind = with(&|submit| {
        submit.needs = four_eyes(one());
        submit.terms.on_behalf_of = Some("bob".to_owned());
    });
    assert_eq!(behind, held, "with four eyes nobody says yes to their own in advance");
    assert_eq!(begins("imp", &submit, &cx, &world), held, "another agent");
    let late = Context::new(now.plus(seconds(60)), &directory);
    assert_eq!(begins("bot", &submit, &late, &world), held);
    let spent = Context { used: &[(grant_id(GRANT), 2)], ..cx };
    assert_eq!(begins("bot", &submit, &spent, &world), held);
    let mut changed = World::new();
    changed.human_mut("bob").roles.clear();
    let mut without = changed.directory();
    without.grants.clone_from(&directory.grants);
    assert_eq!(begins("bot", &submit, &Context::new(now, &without), &world), held, "bob no longer reviews");
    let (world, directory, mut submit, now) = granted_by("ann");
    submit.needs = four_eyes(one());
    assert_eq!(begins("bot", &submit, &Context::new(now, &directory), &world), held, "ann owns the agent");
}

#[test]
fn trust_lets_through_after_enough_approvals_and_never_what_is_risky_or_denied() {
    let (world, directory, mut submit, now) = granted_by("bob");
    submit.grants.clear();
    let terms =
        TrustTerms { rule: "rule".to_owned(), after: 3, template: None, cosmetic: Vec::new(), bound: true };
    submit.trust = Some(TrustOffer { terms, key: [1; 32], usable: true });
    let with = |trust, submit: &Submit| {
        begins("bot", submit, &Context { trust, ..Context::new(now, &directory) }, &world).0
    };
    assert_eq!((with(2, &submit), with(3, &submit)), (State::Pending, State::Approved));
    let none = Submit { trust: None, ..submit.clone() };
    assert_eq!(with(100, &none), State::Pending);
    let risky = Submit { risk: Risk::High, ..submit.clone() };
    assert_eq!(with(100, &risky), State::Pending);
    submit.trust.as_mut().unwrap().usable = false;
    assert_eq!(with(100, &submit), State::Pending);
    submit.trust.as_mut().unwrap().usable = true;
    submit.trust.as_mut().unwrap().terms.after = 0;
    assert_eq!(with(0, &submit), State::Pending, "nothing is trusted without any approval");
    submit.verdict.effect = Effect::Deny;
    assert_eq!(with(100, &submit), State::Denied);
}

#[test]
fn another_policy_voids_what_was_said_under_the_one_before() {
    let (_, mut directory, _, now) = granted_by("bob");
    directory.grant_keys.insert(grant_id(GRANT), GrantKey::Same([1; 32]));
    let put = |directory: &Directory, hash: &str, expected| {
        let (hash, source) = (hash.to_owned(), "api".to_owned());
        directory
            .apply(&AdminCommand::PutPolicy { hash, text: "".into(), source, expected }, Time::from_micros(1))
    };
    let same = put(&directory, POLICY, ExpectedPolicy::BuiltIn).unwrap();
    directory.evolve(&same, now, None);
    assert_eq!((directory.grants.len(), directory.grant_keys.len()), (1, 1));
    // Two admins, one after the other: the second made theirs from what is no longer in force.
    let first = put(&directory, "sha256:01", ExpectedPolicy::Hash(POLICY.to_owned())).unwrap();
    directory.evolve(&first, now, None);
    for expected in [ExpectedPolicy::Hash(POLICY.to_owned()), ExpectedPolicy::BuiltIn] {
        let stale = AdminRefusal::StalePolicy { active: Some("sha256:01".to_owned()) };
        assert_eq!(put(&directory, "sha256:02", expected), Err(stale));
    }
    assert!(put(&directory, "sha256:02", ExpectedPolicy::Anything).is_ok());
    assert_eq!((directory.grants.len(), directory.grant_keys.len()), (0, 0));
}

#[test]
fn a_restore_and_the_end_of_its_giver_end_a_yes_in_advance() {
    for event in [
        AdminEvent::Restored { from: "e1".to_owned() },
        AdminEvent::PersonRemoved { name: "bob".to_owned(), voids: true },
    ] {
        let (_, mut directory, _, now) = granted_by("bob");
        directory.evolve(&event, now, None);
        assert!(directory.grants.is_empty(), "{event:?}");
    }
}

#[test]
fn an_agent_has_only_so_many_grants_and_expired_ones_make_room() {
    let (_, mut directory, _, now) = granted_by("bob");
    let original = (*directory.grants[&grant_id(GRANT)]).clone();
    let create = |directory: &mut Directory, n: u16, at: Time| {
        let id = GrantId::new(u64::from(n), [9; 10]);
        let grant = Grant { id, created_at: at, expires_at: at.plus(seconds(60)), ..original.clone() };
        let event = directory
            .apply(&AdminCommand::CreateGrant { grant: Box::new(grant), key: None }, Time::from_micros(1))?;
        directory.evolve(&event, at, None);
        Ok::<_, AdminRefusal>(())
    };
    for n in 1..200 {
        create(&mut directory, n, now).unwrap();
    }
    assert_eq!(create(&mut directory, 200, now), Err(AdminRefusal::TooManyGrants(200)));
    create(&mut directory, 200, now.plus(seconds(60))).unwrap();
    assert_eq!(directory.grants.len(), 1);
}
