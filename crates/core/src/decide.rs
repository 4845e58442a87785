//! Counting votes: who may say what about which digest, and when enough have said it.

use std::collections::BTreeSet;

use crate::{
    Actor, AdminEvent, Applied, Auth, Body, Context, Decide, DecisionWord, Effect, Event, Invalid, Needs,
    OPEN_REVIEWER, Payload, ProposalContent, ProposalMeta, Refusal, Request, Role, State, StepDecision, Vote,
    Written,
    answer::check_answer,
    apply::{may, passed, too_late},
    event::is_open_door,
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
    if let Some(event) = passed(request, cx.now) {
        // Either it is over, or other people are asked now: this vote was for another question.
        let late = request.state_at(cx.now) == State::Expired;
        return Applied::overdue(event, if late { Refusal::Expired } else { Refusal::StaleVersion });
    }
    match check(request, decide, actor, cx).and_then(|()| remembered(request, decide, actor, cx)) {
        Ok(granted) => {
            Applied { granted, ..Applied::done(count(request, decide, actor, cx), written(decide)) }
        }
        Err(refusal) => Applied::refused(refusal),
    }
}

/// The standing yes that comes with this vote, which by itself is enough.
fn remembered(
    request: &Request,
    decide: &Decide,
    actor: &Actor,
    cx: &Context<'_>,
) -> Result<Option<Box<AdminEvent>>, Refusal> {
    let Some(new) = &decide.remember else { return Ok(None) };
    if actor.auth == Auth::Open {
        return Err(Invalid::new("/remember", "a standing approval is given by somebody with a name").into());
    }
    let command = request.remember(new, decide, &actor.name, cx)?;
    let event = cx.directory.apply(&command, cx.now);
    event.map(|event| Some(Box::new(event))).map_err(|no| Invalid::new("/remember", no.to_string()).into())
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
    // An open door decides what came in by doors of its kind, and nothing else.
    let elsewhere = actor.auth == Auth::Open && !is_open_door(&request.source);
    if elsewhere || !request.needs.eligible(&actor.name, cx.directory) {
        return Err(Refusal::NotEligible);
    }
    if decide.word == DecisionWord::Deny {
        return Ok(());
    }
    // Whoever brings a replacement makes a new thing to vote on; whoever brings none speaks of what is there.
    let author = request.proposal.as_ref().filter(|_| decide.proposal.is_none());
    let behind = request.behind(author.map(|proposal| proposal.by.as_str()));
    if request.needs.four_eyes && behind.bars(&actor.name, cx) {
        return Err(Refusal::SelfApproval);
    }
    match &request.needs.step_up {
        Some(step_up) if !proved(&request.needs, actor.auth) => Err(Refusal::StepUpRequired(step_up.clone())),
        _ => ruled(decide, cx),
    }
}

/// Whether a vote of this strength counts here. Fail closed: a step-up we do not know is one that nobody has passed.
fn proved(needs: &Needs, auth: Auth) -> bool {
    match needs.step_up.as_deref() {
        None => true,
        Some("code") => auth >= Auth::Code,
        Some(_) => false,
    }
}

/// An edit needs policy's word on what would run, by the policy that is in force at commit.
fn ruled(decide: &Decide, cx: &Context<'_>) -> Result<(), Refusal> {
    let Some((content, _)) = &decide.proposal else { return Ok(()) };
    let edited = |step: &StepDecision| step.decision == DecisionWord::Edit;
    let changes = content.arguments.is_some() || content.steps.iter().flatten().any(edited);
    match &decide.ruling {
        None if changes => Err(Refusal::PolicyChanged),
        Some(ruling) if cx.directory.policy.as_ref().is_some_and(|now| *now != ruling.verdict.policy) => {
            Err(Refusal::PolicyChanged)
        }
        Some(ruling) if ruling.verdict.effect == Effect::Deny => Err(Refusal::PolicyDenied {
            rule: ruling.verdict.rule.clone(),
            reasons: ruling.verdict.reasons.clone(),
        }),
        None | Some(_) => Ok(()),
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

/// Who stands behind a request, and with four eyes cannot approve it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Behind<'a> {
    pub(crate) agent: &'a str,
    pub(crate) on_behalf_of: Option<&'a str>,
    /// The author of the replacement that is voted on.
    pub(crate) author: Option<&'a str>,
}

impl Behind<'_> {
    fn bars(&self, name: &str, cx: &Context<'_>) -> bool {
        // Nobody in particular may well be the one who asks.
        name == OPEN_REVIEWER
            || cx.directory.owner(self.agent) == Some(name)
            || self.on_behalf_of == Some(name)
            || self.author == Some(name)
    }

    /// Whether this person's yes counts.
    fn counts(&self, needs: &Needs, name: &str, cx: &Context<'_>) -> bool {
        needs.eligible(name, cx.directory) && !(needs.four_eyes && self.bars(name, cx))
    }

    /// Whether the yes of these people is enough, as roles, teams and owners are now.
    pub(crate) fn enough(&self, needs: &Needs, approvers: &BTreeSet<&str>, cx: &Context<'_>) -> bool {
        let least = if needs.four_eyes && cx.directory.owner(self.agent).is_none() { 2 } else { 1 };
        approvers.iter().all(|name| self.counts(needs, name, cx)) && needs.met(approvers, least, cx.directory)
    }
}

impl Request {
    pub(crate) fn behind<'a>(&'a self, author: Option<&'a str>) -> Behind<'a> {
        Behind { agent: &self.agent, on_behalf_of: self.on_behalf_of.as_deref(), author }
    }
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
        ruling: decide.ruling.clone(),
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
    // What is needed never falls; where policy asks more for the replacement, this vote is counted by that.
    let ruling = proposal.as_ref().and_then(|proposal| proposal.ruling.as_ref());
    let needs = ruling.map_or_else(|| request.needs.clone(), |ruling| request.needs.raised(&ruling.needs));
    let behind = request.behind(author);
    let approvers = approvers(&needs, behind, earlier, &vote, cx);
    if !behind.enough(&needs, &approvers, cx) {
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

/// The people whose yes to this digest counts now: roles, teams, four eyes and strength of proof are looked at afresh.
fn approvers<'a>(
    needs: &Needs,
    behind: Behind<'_>,
    earlier: &'a [Vote],
    vote: &'a Vote,
    cx: &Context<'_>,
) -> BTreeSet<&'a str> {
    earlier
        .iter()
        .filter(|earlier| earlier.by != vote.by)
        .chain([vote])
        .filter(|counted| counted.vote != DecisionWord::Deny && counted.digest == vote.digest)
        .filter(|counted| proved(needs, counted.auth))
        .map(|vote| vote.by.as_str())
        .filter(|name| behind.counts(needs, name, cx))
        .collect()
}

fn written(decide: &Decide) -> Written {
    let proposal = decide.proposal.as_ref().map(|(content, _)| content.clone());
    Written::later(Payload {
        proposal,
        reason: decide.reason.clone(),
        claimed: decide.claimed.clone(),
        ..Payload::default()
    })
}
