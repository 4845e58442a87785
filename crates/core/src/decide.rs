//! Counting votes: which votes count for which digest, and when there are enough.

use std::collections::BTreeSet;

use crate::{
    Actor, AdminEvent, AllOf, Applied, Auth, Body, Context, Decide, DecisionWord, Digest, Directory, Effect,
    Event, EventPayload, Invalid, Needs, OPEN_REVIEWER, Payload, ProposalContent, ProposalMeta, Refusal,
    Request, Role, State, StepDecision, Tally, Time, Viewed, Vote,
    answer::check_answer,
    apply::{may, passed, too_late},
    names::{alike, skeleton},
    opening::{is_yes, opened},
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
        // The request is decided, or other people are asked now: this vote was for another question.
        let late = request.state_at(cx.now) == State::Expired;
        return Applied::overdue(event, if late { Refusal::Expired } else { Refusal::StaleVersion });
    }
    match check(request, decide, actor, cx).and_then(|()| with_it(request, decide, actor, cx)) {
        Ok((grant, opened)) => {
            let event = count(request, decide, actor, cx);
            let opened = opened.filter(|_| is_yes(&event));
            Applied { grant: grant.or(opened), ..Applied::done(event, written(decide)) }
        }
        Err(refusal) => Applied::refused(refusal),
    }
}

type Entry = Option<Box<AdminEvent>>;

/// What a vote brings with it: a grant, and the folder that is opened if this vote decides.
fn with_it(
    request: &Request,
    decide: &Decide,
    actor: &Actor,
    cx: &Context<'_>,
) -> Result<(Entry, Entry), Refusal> {
    let opened = if decide.word == DecisionWord::Deny { None } else { opened(request, actor, cx)? };
    Ok((remembered(request, decide, actor, cx)?, opened))
}

/// The grant that comes with this vote. The vote must be enough by itself.
fn remembered(
    request: &Request,
    decide: &Decide,
    actor: &Actor,
    cx: &Context<'_>,
) -> Result<Option<Box<AdminEvent>>, Refusal> {
    let Some(new) = &decide.remember else { return Ok(None) };
    if actor.auth == Auth::Open {
        return Err(Invalid::new("/remember", "a grant needs a reviewer with a name").into());
    }
    let command = request.remember(new, decide, actor, cx)?;
    let event = cx.directory.apply(&command, cx.now);
    event.map(|event| Some(Box::new(event))).map_err(|no| Invalid::new("/remember", no.to_string()).into())
}

/// Checks one vote.
fn check(request: &Request, decide: &Decide, actor: &Actor, cx: &Context<'_>) -> Result<(), Refusal> {
    if decide.digest != request.current_digest() {
        return Err(Refusal::StaleDigest);
    }
    if decide.version < request.material || decide.version > request.version {
        return Err(Refusal::StaleVersion);
    }
    viewed(decide)?;
    offered(request, decide)?;
    // A reviewer of an open door decides only requests that came by such doors.
    let elsewhere = actor.auth == Auth::Open && !request.door().is_keyless();
    let asked = |needs: &Needs| needs.eligible(&actor.name, cx.directory);
    // Reviewers who were asked first can still deny after the request was escalated.
    let may_deny = || decide.word == DecisionWord::Deny && request.earlier.iter().any(asked);
    if elsewhere || !(asked(&request.needs) || may_deny()) {
        return Err(Refusal::NotEligible);
    }
    if decide.word == DecisionWord::Deny {
        return Ok(());
    }
    if let Some(freeze) = cx.directory.frozen(&request.agent, request.tool.as_deref()) {
        return Err(freeze.refusal());
    }
    if cx.behind {
        return Err(Refusal::ClockBehind);
    }
    if request.is_own(&actor.name, decide.proposal.is_some(), cx.directory) {
        return Err(Refusal::SelfApproval);
    }
    match &request.needs.step_up {
        Some(step_up) if !proved(&request.needs, actor.auth) => Err(Refusal::StepUpRequired(step_up.clone())),
        _ => ruled(decide, cx),
    }
}

/// A yes says what the person saw, and that must be what it would run. The digest of the vote is the current one here.
fn viewed(decide: &Decide) -> Result<(), Refusal> {
    match decide.viewed {
        _ if decide.word == DecisionWord::Deny => Ok(()),
        Viewed::Unsaid | Viewed::Current => Ok(()),
        Viewed::Stale => Err(Refusal::StaleDisplay),
        Viewed::Missing => {
            let what = "a yes from a sign-in session says what was shown: send the record's `view.digest`";
            Err(Invalid::new("/view", what).into())
        }
    }
}

/// Whether a vote of this strength counts here. Fail closed: an unknown step-up is never met.
fn proved(needs: &Needs, auth: Auth) -> bool {
    match needs.step_up.as_deref() {
        None => true,
        Some("code") => auth == Auth::Code,
        Some(_) => false,
    }
}

/// An edit needs the verdict of the policy that is in force at commit.
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

/// Whether the decision is offered here, and its fields fit.
fn offered(request: &Request, decide: &Decide) -> Result<(), Invalid> {
    use DecisionWord::{Approve, Deny, Edit, Respond};
    // `approve` accepts a proposal even where the agent offers only `respond`. A new replacement needs its own word.
    let seconding = decide.word == Approve && decide.proposal.is_none() && request.proposal.is_some();
    if decide.word != Deny && !seconding && !request.allowed.contains(&decide.word) {
        return Err(Invalid::new("/decision", format!("`{}` is not offered for this request", decide.word)));
    }
    let nothing = ProposalContent::default();
    let given = decide.proposal.as_ref().map_or(&nothing, |(content, _)| content);
    let body = request.content.as_ref().map(|content| &content.body);
    if decide.proposal.is_some() && *given == nothing {
        // Its digest would stand for content that cannot be shown.
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

/// The people who cannot approve a request under four eyes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BarredApprovers<'a> {
    pub(crate) agent: &'a str,
    /// When it was asked. Everybody who owned a key of the agent then or later is barred.
    pub(crate) since: Time,
    pub(crate) on_behalf_of: Option<&'a str>,
    /// The author of the replacement that is voted on.
    pub(crate) author: Option<&'a str>,
}

impl BarredApprovers<'_> {
    fn bars(&self, name: &str, directory: &Directory) -> bool {
        // The open reviewer may be the person who asks.
        name == OPEN_REVIEWER
            || directory.owners(self.agent, self.since).any(|owner| alike(owner, name))
            || [self.on_behalf_of, self.author].into_iter().flatten().any(|other| alike(other, name))
    }

    /// Whether this person's yes counts.
    fn counts(&self, needs: &Needs, name: &str, directory: &Directory) -> bool {
        needs.eligible(name, directory) && !(needs.four_eyes && self.bars(name, directory))
    }

    /// The fewest people who can be enough. Under four eyes, an agent without a known owner needs two.
    fn least(&self, needs: &Needs, directory: &Directory) -> usize {
        let unowned = || directory.owners(self.agent, self.since).next().is_none();
        if needs.four_eyes && unowned() { 2 } else { 1 }
    }

    /// Whether the approvals of these people are enough, by current roles, teams and owners.
    pub(crate) fn enough(&self, needs: &Needs, approvers: &BTreeSet<&str>, directory: &Directory) -> bool {
        approvers.iter().all(|name| self.counts(needs, name, directory))
            && needs.met(approvers, self.least(needs, directory), directory)
    }
}

impl Request {
    pub(crate) fn behind<'a>(&'a self, author: Option<&'a str>) -> BarredApprovers<'a> {
        BarredApprovers {
            agent: &self.agent,
            since: self.created_at,
            on_behalf_of: self.on_behalf_of.as_deref(),
            author,
        }
    }
}

/// The event of a valid vote: the deciding one, or one of several.
fn count(request: &Request, decide: &Decide, actor: &Actor, cx: &Context<'_>) -> Event {
    let digest = decide.proposal.as_ref().map_or_else(|| request.current_digest(), |(_, digest)| *digest);
    let vote = Vote {
        by: actor.name.clone(),
        vote: decide.word,
        digest,
        at: cx.now,
        auth: actor.auth,
        view: decide.view,
        display: decide.display,
        key: actor.key,
        session: actor.session,
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
    // A replacement voids every earlier vote, even votes on the same digest.
    let earlier = if proposal.is_some() { &[] } else { request.votes.as_slice() };
    // Needs never fall. If policy needs more for the replacement, this vote counts against the new needs.
    let ruling = proposal.as_ref().and_then(|proposal| proposal.ruling.as_ref());
    let needs = ruling.map_or_else(|| request.needs.clone(), |ruling| request.needs.raised(&ruling.needs));
    let behind = request.behind(author);
    let others = earlier.iter().filter(|earlier| earlier.by != vote.by);
    let approvers = approvers(&needs, behind, others.chain([&vote]), digest, cx.directory);
    if !behind.enough(&needs, &approvers, cx.directory) {
        return Event::Voted { vote, proposal };
    }
    let word = match (&proposal, &request.proposal) {
        (Some(proposal), _) => proposal.word,
        (None, Some(proposal)) => proposal.word,
        (None, None) => DecisionWord::Approve,
    };
    let state = word.state();
    let claim_by = (state == State::Approved && request.permit).then(|| cx.now.plus(request.claim_window));
    let by = approvers.iter().map(|name| (*name).to_owned()).collect();
    Event::Decided { vote, proposal, decision: word, by, digest, state, claim_by }
}

/// The people whose yes to this digest counts now: roles, teams, four eyes, strength of proof and the credentials that were
/// used are looked at afresh.
fn approvers<'a>(
    needs: &Needs,
    behind: BarredApprovers<'_>,
    votes: impl Iterator<Item = &'a Vote>,
    digest: Digest,
    directory: &Directory,
) -> BTreeSet<&'a str> {
    votes
        .filter(|vote| vote.vote.is_yes() && vote.digest == digest)
        .filter(|vote| proved(needs, vote.auth) && directory.stands(vote))
        .map(|vote| vote.by.as_str())
        .filter(|name| behind.counts(needs, name, directory))
        .collect()
}

impl Request {
    /// Whether four eyes refuse this person's yes. A vote with a replacement starts a new digest, so the author of the replacement
    /// before it does not count.
    fn is_own(&self, name: &str, replaced: bool, directory: &Directory) -> bool {
        let author = self.proposal.as_ref().filter(|_| !replaced);
        let behind = self.behind(author.map(|proposal| proposal.by.as_str()));
        self.needs.four_eyes && behind.bars(name, directory)
    }

    /// The refusal that a yes of this person would get, or None if it can count. Pages show it before the person tries. The vote
    /// itself is checked like every other.
    pub fn refused_yes(&self, name: &str, word: DecisionWord, directory: &Directory) -> Option<Refusal> {
        if !self.needs.eligible(name, directory) {
            return Some(Refusal::NotEligible);
        }
        if let Some(freeze) = directory.frozen(&self.agent, self.tool.as_deref()) {
            return Some(freeze.refusal());
        }
        if self.is_own(name, word != DecisionWord::Approve, directory) {
            return Some(Refusal::SelfApproval);
        }
        self.not_opener(name, directory)
    }

    /// The current count of votes, counted as a decision would count them.
    pub fn tally(&self, needs: &Needs, directory: &Directory) -> Tally {
        let behind = self.behind(self.proposal.as_ref().map(|proposal| proposal.by.as_str()));
        let approvers = approvers(needs, behind, self.votes.iter(), self.current_digest(), directory);
        let people: BTreeSet<String> = approvers.into_iter().map(skeleton).collect();
        let seats = |all: &AllOf| all.all.iter().fold(0_u32, |sum, seat| sum.saturating_add(seat.people));
        let fewest = needs.any.iter().map(seats).min().unwrap_or(1);
        let least = u32::try_from(behind.least(needs, directory)).unwrap_or(u32::MAX);
        Tally { have: u32::try_from(people.len()).unwrap_or(u32::MAX), need: fewest.max(least) }
    }
}

fn written(decide: &Decide) -> EventPayload {
    let proposal = decide.proposal.as_ref().map(|(content, _)| content.clone());
    EventPayload::later(Payload {
        proposal,
        reason: decide.reason.clone(),
        claimed: decide.claimed.clone(),
        ..Payload::default()
    })
}
