//! Everything but an approved, claimed request for this very call blocks, in every dialect.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{call, edit, record};
use crate::{Agent, Answer, ApprovedCall, Effect, Event, Mode, blocked, effect, render};

#[test]
fn a_refusal_and_a_failure_block_in_every_dialect() {
    for event in Event::ALL {
        for answer in [
            Answer::Deny("no".to_owned()),
            Answer::Deny(String::new()),
            Answer::Block("cannot reach the server".to_owned()),
            Answer::Block(" ".to_owned()),
            Answer::Pass(None),
            Answer::Pass(Some("why".to_owned())),
        ] {
            let output = render(&call(event), Mode::Gate, &answer);
            assert_eq!(effect(event, &output), Effect::Blocked, "{event:?} {answer:?} {output:?}");
            assert!(!output.stderr.trim().is_empty(), "{event:?}: silence is taken for consent");
        }
    }
}

#[test]
fn what_is_not_even_a_call_blocks_whichever_event_it_was() {
    for event in Event::ALL {
        // The installed hook says which event it is for where it must.
        let hint = (event == Event::ClaudePermissionRequest).then_some(event.as_str());
        let output = blocked(event.agent(), hint, Mode::Gate, "not JSON");
        assert_eq!(effect(event, &output), Effect::Blocked, "{event:?} {output:?}");
    }
}

#[test]
fn a_relay_leaves_failures_to_the_person_at_the_terminal_and_never_says_yes() {
    for event in [Event::ClaudePermissionRequest, Event::CodexPermissionRequest] {
        for why in [None, Some("cannot reach the server".to_owned())] {
            let output = render(&call(event), Mode::Relay, &Answer::Pass(why));
            assert_eq!(effect(event, &output), Effect::Undecided, "{event:?}");
        }
        assert_eq!(effect(event, &blocked(event.agent(), None, Mode::Relay, "junk")), Effect::Undecided);
        let output = render(&call(event), Mode::Relay, &Answer::Deny("no".to_owned()));
        assert_eq!(effect(event, &output), Effect::Blocked);
    }
    // No person is asked at the terminal there, so nothing is left to one.
    let output = render(&call(Event::ClaudePreToolUse), Mode::Relay, &Answer::Pass(None));
    assert_eq!(effect(Event::ClaudePreToolUse, &output), Effect::Blocked);
}

#[test]
fn copilot_is_never_sent_an_exit_code_that_lets_the_call_through() {
    for event in Event::ALL.into_iter().filter(|event| event.agent() == Agent::Copilot) {
        assert_eq!(render(&call(event), Mode::Gate, &Answer::Block("no".to_owned())).code, 0);
    }
    assert_eq!(blocked(Agent::Copilot, None, Mode::Gate, "no").code, 0);
}

#[test]
fn a_yes_needs_a_claimed_record_of_exactly_this_call() {
    let call = call(Event::ClaudePreToolUse);
    let good = record(&call, json!({}));
    let check = |record: &placet_core::Record, permit, claimed: &Map<String, Value>| {
        ApprovedCall::check(&call, record, permit, claimed, Some(good.digest))
    };
    let permit = Some("prm_1");
    assert!(check(&good, permit, &call.input).is_ok());
    assert!(check(&good, None, &call.input).is_err(), "not claimed");
    assert!(check(&good, Some(""), &call.input).is_err(), "not claimed");
    let other = Map::from_iter([("command".to_owned(), json!("rm -rf /"))]);
    assert!(check(&good, permit, &other).is_err(), "other arguments than those approved");
    let wrong = [
        json!({"tool": "Read"}),
        json!({"arguments": other}),
        json!({"arguments": null}),
        json!({"kind": "confirmation"}),
        json!({"decision": null}),
        json!({"decision": {"decision": "deny", "by": ["ann"], "reason": null, "arguments": null,
            "digest": good.digest, "answer": null, "steps": null, "at": "2026-11-15T12:00:01Z"}}),
        json!({"decision": {"decision": "approve", "by": ["ann"], "reason": null, "arguments": null,
            "digest": format!("sha256:{}", "c".repeat(64)), "answer": null, "steps": null,
            "at": "2026-11-15T12:00:01Z"}}),
    ];
    for changes in wrong {
        assert!(check(&record(&call, changes.clone()), permit, &call.input).is_err(), "{changes}");
    }
    // An edit of another call that comes out as this one is not an approval of this one.
    let foreign = record(&call, json!({"arguments": other, "decision": edit(&call, &call.input)}));
    assert!(check(&foreign, permit, &call.input).is_err());
    for state in placet_core::State::ALL {
        let yes = check(&record(&call, json!({ "state": state })), permit, &call.input).is_ok();
        let expected = matches!(state, placet_core::State::Approved | placet_core::State::Claimed);
        assert_eq!(yes, expected, "{state}");
    }
}

proptest! {
    /// The text of a reason never turns a deny into anything else.
    #[test]
    fn no_reason_makes_a_no_a_yes(which in 0..Event::ALL.len(), reason in "\\PC{0,200}|[\\x00-\\x7f]{0,200}", failed: bool) {
        let event = Event::ALL[which];
        let answer = if failed { Answer::Block(reason.clone()) } else { Answer::Deny(reason.clone()) };
        prop_assert_eq!(effect(event, &render(&call(event), Mode::Gate, &answer)), Effect::Blocked);
        let hint = (event == Event::ClaudePermissionRequest).then_some("PermissionRequest");
        prop_assert_eq!(effect(event, &blocked(event.agent(), hint, Mode::Gate, &reason)), Effect::Blocked);
    }

    /// Whatever a server answers: an allow comes only from a claimed approval of exactly this call, and runs what was
    /// approved.
    #[test]
    fn no_record_makes_a_yes_but_a_claimed_approval_of_this_call(
        state in proptest::sample::select(placet_core::State::ALL),
        word in proptest::option::of(proptest::sample::select(placet_core::DecisionWord::ALL)),
        claimed_here: bool, same_tool: bool, same_arguments: bool, replaced in proptest::option::of("[ab]"),
        given in "[ab]", same_digest: bool, which in 0..Event::ALL.len(),
    ) {
        let call = call(Event::ALL[which]);
        let as_command = |text: &str| Map::from_iter([("command".to_owned(), json!(text))]);
        let edited = replaced.as_deref().map(as_command);
        let claimed = if edited.is_some() { as_command(&given) } else { call.input.clone() };
        let decision = word.map(|word| {
            let mut decision = edit(&call, edited.as_ref().unwrap_or(&call.input));
            decision["decision"] = json!(word);
            decision["arguments"] = json!(edited);
            decision
        });
        let said = record(&call, json!({
            "state": state,
            "tool": if same_tool { call.tool.as_str() } else { "other" },
            "arguments": if same_arguments { call.input.clone() } else { as_command("other") },
            "decision": decision,
        }));
        let decided = said.decision.as_ref().map_or(said.digest, |decision| decision.digest);
        let digest = if same_digest { decided } else { placet_core::Digest::new([9; 32]) };
        let permit = claimed_here.then_some("prm_1");
        if let Ok(yes) = ApprovedCall::check(&call, &said, permit, &claimed, Some(digest)) {
            prop_assert!(matches!(state, placet_core::State::Approved | placet_core::State::Claimed));
            prop_assert!(claimed_here && same_tool && same_arguments && same_digest);
            prop_assert!(matches!(word, Some(placet_core::DecisionWord::Approve | placet_core::DecisionWord::Edit)));
            prop_assert_eq!(yes.arguments(), edited.as_ref().unwrap_or(&call.input));
            match effect(call.event, &render(&call, Mode::Gate, &Answer::Allow(yes.clone()))) {
                Effect::Runs(None) => prop_assert_eq!(yes.arguments(), &call.input),
                // What Gemini lays over the old arguments leaves none of them in place.
                Effect::Runs(Some(input)) => prop_assert_eq!(&input, yes.arguments()),
                other => prop_assert_eq!(other, Effect::Blocked),
            }
        }
    }
}
