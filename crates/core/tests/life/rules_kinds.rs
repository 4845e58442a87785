//! The rules of the four kinds: which words each takes, and what goes with them.

use placet_core::{DecisionWord, Effect, Kind, ProposalContent, State};
use serde_json::json;

use crate::{
    scene::{Scene, one, two},
    script::{arguments, create},
};

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
        let spec = create(Kind::Plan, 1).check(&placet_core::Limits::default()).unwrap();
        submit.terms = spec.terms;
        std::sync::Arc::make_mut(&mut submit.content).body = spec.body;
    };
    let mut scene = Scene::asked(Kind::Plan, one(), Effect::Hold, fixed);
    assert_eq!(scene.steps("bob", DecisionWord::Approve, swapped), Err("invalid"));
    scene.approve("bob").unwrap();
    assert_eq!(scene.state(), State::Approved);
}

#[test]
fn a_proposal_on_the_table_does_not_offer_words_that_the_agent_did_not() {
    let only_edit = |submit: &mut placet_core::Submit| {
        submit.terms.allowed = vec![DecisionWord::Edit, DecisionWord::Deny];
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
        submit.terms.allowed = vec![DecisionWord::Approve, DecisionWord::Respond, DecisionWord::Deny];
    };
    let mut scene = Scene::asked(Kind::Action, one(), Effect::Hold, offers);
    scene.respond("bob", json!("do it by hand")).unwrap();
    assert_eq!((scene.state(), scene.request.claim_by), (State::Answered, None));
    assert_eq!(scene.claim(), Err("not_approved"));
}
