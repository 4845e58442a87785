//! What must hold after every command: the library and the model agree, and the invariants stand by themselves.

use placet_core::{Command, DecisionWord, Event, Request, State, Time};
use proptest::prelude::*;

use crate::{
    model::Story,
    play::{Checked, Line},
    script::{digest_of, digest_with},
};

/// Every fact the library keeps is the one the model works out of the story.
pub(crate) fn agree(request: &Request, story: &Story, now: Time) -> Checked {
    prop_assert_eq!(request.state, story.state());
    prop_assert_eq!(request.state_at(now), story.seen(now));
    prop_assert!(request.state_at(now) != State::Pending || now < request.asked_at(now).1);
    let shown = serde_json::to_value(request.view(now)).expect("plain data");
    prop_assert!(
        shown["state"] != "pending" || shown["expires_at"].as_str() > Some(now.to_string().as_str())
    );
    prop_assert_eq!(request.version, story.version());
    prop_assert_eq!(request.material, story.changed_at());
    prop_assert_eq!(request.is_final(), story.is_final());
    prop_assert_eq!(request.deadline(), story.deadline());
    prop_assert_eq!(request.expires_at, story.expires_at());
    prop_assert_eq!(request.claim_by, story.claim_by());
    prop_assert_eq!(request.report_by, story.report_by());
    prop_assert_eq!(&request.asked, &story.asked_by_name());
    prop_assert_eq!(request.permit, story.has_permit());

    let votes: Vec<_> = request
        .votes
        .iter()
        .map(|v| (v.by.clone(), v.vote, v.digest, v.at, v.auth, (v.view, v.display)))
        .collect();
    let expected: Vec<_> = story
        .live_votes()
        .into_iter()
        .map(|(index, ballot)| {
            let digest = ballot.brings.as_ref().map_or(ballot.saw, |(_, digest)| *digest);
            (
                ballot.by.clone(),
                ballot.word,
                digest,
                story.log[index].at,
                ballot.auth,
                (ballot.view, ballot.display),
            )
        })
        .collect();
    prop_assert_eq!(votes, expected);

    let decision = story.decision();
    prop_assert_eq!(request.decision.is_some(), decision.is_some());
    if let (Some(actual), Some(expected)) = (&request.decision, &decision) {
        prop_assert_eq!(actual.word, expected.word);
        prop_assert_eq!(&actual.by, &expected.by);
        prop_assert_eq!(actual.digest, expected.digest);
        prop_assert_eq!(actual.at, expected.at);
        prop_assert_eq!(&actual.reason, &expected.reason);
        prop_assert_eq!(actual.content.as_deref(), expected.content.as_ref());
    }
    let on_the_table = story.latest_replacement().filter(|_| decision.is_none());
    prop_assert_eq!(request.proposal.is_some(), on_the_table.is_some());
    if let (Some(actual), Some((index, expected))) = (&request.proposal, on_the_table) {
        prop_assert_eq!(
            (&actual.by, actual.word, actual.at),
            (&expected.by, expected.word, story.log[index].at)
        );
        prop_assert_eq!(actual.content.as_deref(), expected.brings.as_ref().map(|(content, _)| content));
        prop_assert_eq!(Some(actual.digest), expected.brings.as_ref().map(|(_, digest)| *digest));
    }
    let claim = request.claim.as_ref().map(|claim| (claim.at, claim.permit, claim.claimant));
    prop_assert_eq!(claim, story.held());
    let outcome = request.outcome.clone().map(|outcome| {
        (outcome.status, outcome.result_digest, outcome.at, outcome.resolved_by, outcome.note)
    });
    prop_assert_eq!(outcome, story.outcome());
    prop_assert_eq!(request.effective_arguments().cloned(), story.arguments());
    untouched(request, story)
}

/// What was asked and what policy said of it never change; what is needed changes only as the story says.
fn untouched(request: &Request, story: &Story) -> Checked {
    let asked = &story.asked;
    prop_assert_eq!(
        (&request.needs, &request.verdict, request.risk),
        (&story.needs(), &asked.verdict, story.risk())
    );
    prop_assert_eq!((request.digest, request.id, &request.agent), (asked.digest, asked.id, &story.agent));
    prop_assert_eq!(&request.allowed, &story.offered());
    prop_assert_eq!(request.escalation.len(), asked.escalation.len() - story.escalations());
    prop_assert_eq!(request.content.as_deref(), Some(&*asked.content));
    Ok(())
}

/// The invariants of one step, without asking the model.
pub(crate) fn one_step(before: &Request, after: &Request, line: &Line, command: &Command) -> Checked {
    // 1: one decision, kept.
    if before.decision.is_some() {
        prop_assert_eq!(&after.decision, &before.decision);
    }
    prop_assert_eq!(
        matches!(line.event, Event::Decided { .. }),
        before.decision.is_none() && after.decision.is_some()
    );
    // 3 and 4: claimed once, and only from an approval that stands.
    if let Event::Claimed { .. } = line.event {
        prop_assert!(before.claim.is_none());
        prop_assert_eq!(before.state, State::Approved);
        let word = before.decision.as_ref().map(|decision| decision.word);
        prop_assert!(matches!(word, Some(DecisionWord::Approve | DecisionWord::Edit)));
        // 9: not past its deadline.
        prop_assert!(before.claim_by.is_some_and(|deadline| line.at < deadline));
    } else {
        prop_assert_eq!(&after.claim, &before.claim);
    }
    // 6: one entry, one version.
    prop_assert_eq!(after.version, before.version + 1);
    if let (Event::Decided { vote, .. }, Command::Decide(decide)) = (&line.event, command) {
        let decision = after.decision.as_ref().expect("checked above");
        // 9: not past its deadline.
        prop_assert!(line.at < before.expires_at);
        // 5: what was shown is what was decided, and what will run.
        prop_assert_eq!(decide.digest, before.current_digest());
        prop_assert!(decide.version >= before.material && decide.version <= before.version);
        prop_assert_eq!(vote.digest, decision.digest);
        if decide.proposal.is_none() {
            prop_assert_eq!(decision.digest, decide.digest);
        }
        if matches!(decision.word, DecisionWord::Approve | DecisionWord::Edit) {
            let shown = match (&decision.content, after.effective_arguments()) {
                (None, _) => before.digest,
                (Some(_), Some(arguments)) => {
                    digest_of(after.id, &serde_json::Value::Object(arguments.clone()))
                }
                (Some(content), None) => digest_with(after.id, content),
            };
            prop_assert_eq!(decision.digest, shown);
        }
    }
    // Risk, four eyes and step-up never fall, in escalations and edits too.
    prop_assert!(after.risk >= before.risk);
    prop_assert!(after.needs.four_eyes || !before.needs.four_eyes);
    prop_assert!(after.needs.step_up.is_some() || before.needs.step_up.is_none());
    if let Event::Escalated { expires_at, .. } = line.event {
        prop_assert!(line.at >= before.expires_at && expires_at > before.expires_at);
        prop_assert_eq!((after.state, after.material), (State::Pending, after.version));
    } else if !matches!(command, Command::Decide(_)) {
        prop_assert_eq!(&after.needs, &before.needs);
    }
    // Four eyes and step-up hold for every name under a yes.
    if let Event::Decided { vote, decision, by, .. } = &line.event
        && *decision != DecisionWord::Deny
    {
        prop_assert!(!by.is_empty());
        prop_assert!(after.needs.step_up.is_none() || vote.auth == placet_core::Auth::Code);
        if after.needs.four_eyes {
            prop_assert!(by.iter().all(|name| Some(name) != before.on_behalf_of.as_ref()));
            let author = before.proposal.as_ref().map(|proposal| &proposal.by);
            let seconded = !matches!(command, Command::Decide(decide) if decide.proposal.is_some());
            prop_assert!(!seconded || by.iter().all(|name| Some(name) != author));
        }
    }
    Ok(())
}
