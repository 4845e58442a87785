//! Counting votes: who may say what about which digest, and when enough have said it.

use std::collections::BTreeSet;

use crate::{
    Actor, Applied, Auth, Body, Context, Decide, DecisionWord, Event, Invalid, Payload, ProposalContent,
    ProposalMeta, Refusal, Request, Role, State, StepDecision, Vote, Written,
    answer::check_answer,
    apply::{may, too_late},
    plan::check_steps,
};

/// Applies one vote.
pub(crate) fn decide(request: &Request, decide: &Decide, actor: &Actor, cx: &Context<'_>) -> Applied {
    if !may(actor, Role::Reviewer, cx) {
        return Applied::refused(Refusal::Unauthorized);
    }
    if request.state != State::Pending {
        return Applied::refused(too_late(request.state));
    }
    if let Some(state) = request.overdue(cx.now) {
        return Applied::overdue(state, Refusal::Expired);
    }
    match check(request, decide, actor, cx) {
        Ok(()) => Applied::done(count(request, decide, actor, cx), written(decide)),
        Err(refusal) => Applied::refused(refusal),
    }
}

/// Everything that can be wrong with one vote.
fn check(request: &Request, decide: &Decide, actor: &Actor, cx: &Context<'_>) -> Result<(), Refusal> {
    if decide.digest != request.current_digest() {
        return Err(Refusal::StaleDigest);
    }
    if decide.version < request.material || decide.version > request.version {
        return Err(Refusal::StaleVersion);
    }
    offered(request, decide)?;
    if !request.needs.eligible(&actor.name, cx.directory) {
        return Err(Refusal::NotEligible);
    }
    if decide.word == DecisionWord::Deny {
        return Ok(());
    }
    if request.needs.four_eyes && stands_behind(request, &actor.name, cx) {
        return Err(Refusal::SelfApproval);
    }
    let author = request.proposal.as_ref().map(|proposal| proposal.by.as_str());
    if request.needs.four_eyes && decide.proposal.is_none() && author == Some(actor.name.as_str()) {
        return Err(Refusal::SelfApproval);
    }
    match &request.needs.step_up {
        // Fail closed: a step-up we do not know is one that nobody has passed.
        Some(step_up) if step_up != "code" || actor.auth < Auth::Code => {
            Err(Refusal::StepUpRequired(step_up.clone()))
        }
        _ => Ok(()),
    }
}

/// Whether the word is offered here, and what comes with it fits.
fn offered(request: &Request, decide: &Decide) -> Result<(), Invalid> {
    use DecisionWord::{Approve, Deny, Edit, Respond};
    // A proposal is approved with `approve`, also where the agent offers only `respond`; a new one is not.
    let seconding = decide.word == Approve && decide.proposal.is_none() && request.proposal.is_some();
    if decide.word != Deny && !seconding && !request.allowed.contains(&decide.word) {
        return Err(Invalid::new("/decision", format!("`{}` is not offered for this request", decide.word)));
    }
    let nothing = ProposalContent::default();
    let given = decide.proposal.as_ref().map_or(&nothing, |(content, _)| content);
    let body = request.content.as_ref().map(|content| &content.body);
    if decide.proposal.is_some() && *given == nothing {
        // Its digest would stand for nothing that anybody could be shown.
        return Err(Invalid::new("", "the replacement is empty"));
    }
    let erased = || Err(Invalid::new("", "the content was erased: it can only be denied"));
    if decide.word != Deny && request.proposal.as_ref().is_some_and(|proposal| proposal.content.is_none()) {
        return erased();
    }
    let extra = |field: &str| {
        Err(Invalid::new(format!("/{field}"), format!("`{field}` does not go with `{}` here", decide.word)))
    };
    match (decide.word, body) {
        (Approve | Edit | Respond, None) => erased(),
        (Edit, Some(Body::Action(_))) => {
            if given.arguments.is_none() {
                return Err(Invalid::new("/arguments", "an edit needs the whole replacement arguments"));
            }
            if given.answer.is_some() {
                return extra("answer");
            }
            if given.steps.is_some() { extra("steps") } else { Ok(()) }
        }
        (Approve | Edit, Some(Body::Plan(plan))) => {
            if given.arguments.is_some() {
                return extra("arguments");
            }
            if given.answer.is_some() {
                return extra("answer");
            }
            let edited = |step: &StepDecision| step.decision == Edit;
            match &given.steps {
                Some(steps) if !request.allowed.contains(&Edit) && steps.iter().any(edited) => {
                    Err(Invalid::new(
                        "/steps",
                        "`edit` is not offered for this request: approve or deny the steps",
                    ))
                }
                Some(steps) => check_steps(plan, steps, "/steps"),
                None if decide.word == Edit => {
                    Err(Invalid::new("/steps", "editing a plan needs a decision for every step"))
                }
                None => Ok(()),
            }
        }
        (Respond, Some(body)) => {
            if given.arguments.is_some() {
                return extra("arguments");
            }
            if given.steps.is_some() {
                return extra("steps");
            }
            let Some(answer) = &given.answer else {
                return Err(Invalid::new("/answer", "`respond` needs an answer"));
            };
            match body {
                Body::Input(input) => check_answer(input, answer, "/answer"),
                _ => Ok(()),
            }
        }
        (Approve | Edit, Some(_)) | (Deny, _) => {
            if given.arguments.is_some() {
                return extra("arguments");
            }
            if given.answer.is_some() {
                return extra("answer");
            }
            if given.steps.is_some() { extra("steps") } else { Ok(()) }
        }
    }
}

/// Four eyes: the agent's owner and the person it acts for.
fn stands_behind(request: &Request, name: &str, cx: &Context<'_>) -> bool {
    cx.directory.owner(&request.agent) == Some(name) || request.on_behalf_of.as_deref() == Some(name)
}

/// The event of a vote that passed the checks: the last one needed, or one of several.
fn count(request: &Request, decide: &Decide, actor: &Actor, cx: &Context<'_>) -> Event {
    let digest = decide.proposal.as_ref().map_or_else(|| request.current_digest(), |(_, digest)| *digest);
    let vote = Vote {
        by: actor.name.clone(),
        vote: decide.word,
        digest,
        at: cx.now,
        auth: actor.auth,
        display: decide.display,
    };
    let proposal = decide.proposal.as_ref().map(|(_, digest)| ProposalMeta {
        by: actor.name.clone(),
        word: decide.word,
        digest: *digest,
    });
    if decide.word == DecisionWord::Deny {
        return Event::Decided {
            vote,
            proposal: None,
            decision: DecisionWord::Deny,
            by: vec![actor.name.clone()],
            digest,
            state: State::Denied,
            claim_by: None,
        };
    }
    let author = proposal
        .as_ref()
        .map(|proposal| proposal.by.as_str())
        .or_else(|| request.proposal.as_ref().map(|proposal| proposal.by.as_str()));
    // A replacement voids every vote before it, also where it has the digest that they were about.
    let earlier = if proposal.is_some() { &[] } else { request.votes.as_slice() };
    let approvers = approvers(request, earlier, &vote, author, cx);
    let least = if request.needs.four_eyes && cx.directory.owner(&request.agent).is_none() { 2 } else { 1 };
    if !request.needs.met(&approvers, least, cx.directory) {
        return Event::Voted { vote, proposal };
    }
    let word = match (&proposal, &request.proposal) {
        (Some(proposal), _) => proposal.word,
        (None, Some(proposal)) => proposal.word,
        (None, None) => DecisionWord::Approve,
    };
    let state = if word == DecisionWord::Respond { State::Answered } else { State::Approved };
    let claim_by = (state == State::Approved && request.permit).then(|| cx.now.plus(request.claim_window));
    let by = approvers.iter().map(|name| (*name).to_owned()).collect();
    Event::Decided { vote, proposal, decision: word, by, digest, state, claim_by }
}

/// The people whose yes to this digest counts now: roles, teams and four eyes are looked up afresh.
fn approvers<'a>(
    request: &Request,
    earlier: &'a [Vote],
    vote: &'a Vote,
    author: Option<&str>,
    cx: &Context<'_>,
) -> BTreeSet<&'a str> {
    earlier
        .iter()
        .filter(|earlier| earlier.by != vote.by)
        .chain([vote])
        .filter(|counted| counted.vote != DecisionWord::Deny && counted.digest == vote.digest)
        .map(|vote| vote.by.as_str())
        .filter(|name| request.needs.eligible(name, cx.directory))
        .filter(|name| {
            !request.needs.four_eyes || (author != Some(name) && !stands_behind(request, name, cx))
        })
        .collect()
}

fn written(decide: &Decide) -> Written {
    let proposal = decide.proposal.as_ref().map(|(content, _)| content.clone());
    Written::later(Payload { proposal, reason: decide.reason.clone(), ..Payload::default() })
}
