//! Applies a command to a request: at most one event, and an answer. Knows no clock and no database.

use crate::{
    Action, Actor, AdminEvent, Auth, Body, Cancel, Claim, Command, Created, DecisionWord, Directory, Door,
    Effect, Escalation, Event, EventPayload, Grant, GrantId, Kind, OPEN_REVIEWER, Payload, Reassign, Refusal,
    Report, Request, Resolve, Revoke, Role, State, Submit, Time, Verdict,
    decide::decide,
    grant::{granted, may_stand},
};

/// The state that a command is checked against, read inside the transaction that stores its result.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The time that deadlines are compared with.
    pub now: Time,
    /// Whether the clock is behind the ledger, so that deadlines cannot be judged.
    pub behind: bool,
    /// Who exists and may do what, now.
    pub directory: &'a Directory,
    /// How many pending requests the submitting agent has.
    pub pending: u64,
    /// How many approvals count towards the trust that a new request may use.
    pub trust: u32,
    /// How often the grants that a new request names were used.
    pub used: &'a [(GrantId, u32)],
}

impl<'a> Context<'a> {
    /// Without the parts that only a new request needs.
    pub const fn new(now: Time, directory: &'a Directory) -> Self {
        Self { now, behind: false, directory, pending: 0, trust: 0, used: &[] }
    }
}

/// What a command did.
#[derive(Debug, Clone, PartialEq)]
pub struct Applied {
    /// The one change, if there is one. A refused command may still let a deadline take effect.
    pub change: Option<Change>,
    /// Whether the command was carried out.
    pub answer: Result<(), Refusal>,
    /// The grant that was given with a vote or revoked with an approval: an entry of its own in the same transaction.
    pub grant: Option<Box<AdminEvent>>,
}

/// One event and its payload.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// What happened.
    pub event: Event,
    /// What was written with it.
    pub written: EventPayload,
}

impl Applied {
    pub(crate) fn done(event: Event, written: EventPayload) -> Self {
        Self { change: Some(Change { event, written }), answer: Ok(()), grant: None }
    }

    pub(crate) fn refused(refusal: impl Into<Refusal>) -> Self {
        Self { change: None, answer: Err(refusal.into()), grant: None }
    }

    /// The same answer again, without a new event.
    fn repeated() -> Self {
        Self { change: None, answer: Ok(()), grant: None }
    }

    /// The deadline has passed: the expiry is recorded, and the command is refused.
    pub(crate) fn overdue(event: Event, refusal: Refusal) -> Self {
        Self {
            change: Some(Change { event, written: EventPayload::Nothing }),
            answer: Err(refusal),
            grant: None,
        }
    }
}

/// The event of a deadline that has passed.
pub(crate) fn passed(request: &Request, now: Time) -> Option<Event> {
    let next = request.escalation.first();
    Some(match (request.overdue(now)?, next) {
        (State::Lapsed, _) => Event::Lapsed {},
        (State::Unknown, _) => Event::Unknown {},
        // Counted from the deadline, not from now: a late timer must make no difference.
        (State::Pending, Some(next)) => Event::Escalated {
            needs: next.needs.clone(),
            expires_at: request.expires_at.plus(next.expires_in),
            before: Some(Box::new(request.needs.clone())),
        },
        _ => Event::Expired {},
    })
}

/// Applies a command to its request (`None` when there is none).
pub fn apply(request: Option<&Request>, command: &Command, actor: &Actor, cx: &Context<'_>) -> Applied {
    if let Command::Submit(submit) = command {
        return self::submit(submit, actor, cx);
    }
    let Some(request) = request else { return Applied::refused(Refusal::NotFound) };
    let applied = match command {
        Command::Submit(_) => Applied::refused(Refusal::NotFound),
        Command::Decide(command) => decide(request, command, actor, cx),
        Command::Claim(command) => claim(request, command, actor, cx),
        Command::Report(command) => report(request, command, actor, cx),
        Command::Cancel(command) => cancel(request, command, actor, cx),
        Command::Revoke(command) => revoke(request, command, actor, cx),
        Command::Reassign(command) => reassign(request, command, actor, cx),
        Command::Resolve(command) => resolve(request, command, actor, cx),
        Command::Expire(_) => match passed(request, cx.now) {
            Some(event) => Applied::done(event, EventPayload::Nothing),
            None => Applied::repeated(),
        },
    };
    noticed(applied, request, cx.now)
}

/// A refused command records a deadline that has passed, whatever the reason of the refusal. Strangers do not see it.
fn noticed(applied: Applied, request: &Request, now: Time) -> Applied {
    match (applied, passed(request, now)) {
        (Applied { change: None, answer: Err(refusal), .. }, Some(event))
            if !matches!(refusal, Refusal::NotFound | Refusal::Unauthorized) =>
        {
            Applied::overdue(event, refusal)
        }
        (applied, _) => applied,
    }
}

/// Whether the actor may act in this role now: its key was not revoked, its session is not over, its person still has the
/// role.
pub(crate) fn may(actor: &Actor, role: Role, cx: &Context<'_>) -> bool {
    if actor.role != role {
        return false;
    }
    // The open reviewer proves nothing.
    if actor.name == OPEN_REVIEWER && actor.auth != Auth::Open {
        return false;
    }
    match (actor.key, actor.session) {
        (Some(key), None) => {
            cx.directory.live_key(key).is_some_and(|key| key.role == role && key.name == actor.name)
        }
        (None, Some(_)) => cx.directory.signed_in(actor, cx.now),
        // Exactly one credential: a call with two has proved neither.
        (Some(_), Some(_)) => false,
        // Without both, the actor is the development agent, the open reviewer (only while a door is open), or a
        // person that the program itself vouches for.
        (None, None) => match (role, actor.auth) {
            (Role::Agent, Auth::Open) => actor.name != OPEN_REVIEWER,
            (Role::Reviewer, Auth::Open) => {
                actor.name == OPEN_REVIEWER && cx.directory.person(OPEN_REVIEWER, role).is_some()
            }
            (Role::Agent, _) | (_, Auth::Open) => false,
            (role, _) => cx.directory.person(&actor.name, role).is_some(),
        },
    }
}

fn is_system(actor: &Actor) -> bool {
    *actor == Actor::system()
}

fn submit(submit: &Submit, actor: &Actor, cx: &Context<'_>) -> Applied {
    if !may(actor, Role::Agent, cx) {
        return Applied::refused(Refusal::Unauthorized);
    }
    if cx.directory.policy.as_ref().is_some_and(|active| *active != submit.verdict.policy) {
        return Applied::refused(Refusal::PolicyChanged);
    }
    // A folder was opened or closed since policy was evaluated.
    if Door::named(&submit.source).resolves_paths() && submit.roots != cx.directory.roots(&actor.name) {
        return Applied::refused(Refusal::PolicyChanged);
    }
    // The agent's reports changed since policy was evaluated.
    if submit.covered != cx.directory.covered(&actor.name) {
        return Applied::refused(Refusal::PolicyChanged);
    }
    // The agent is no longer marked for it, or the request came by a door that cannot confine.
    if submit.verdict.confine.is_some() && !cx.directory.confines(&actor.name, &submit.source) {
        return Applied::refused(Refusal::PolicyChanged);
    }
    let (terms, body) = (&submit.terms, &submit.content.body);
    let kind = body.kind();
    let (verdict, grant) = standing(submit, &actor.name, cx);
    // While it is frozen nothing passes by itself: neither by policy nor by what somebody said in advance.
    let (verdict, grant) = match cx.directory.frozen(&actor.name, body.tool()) {
        Some(freeze) if verdict.effect == Effect::Allow => (freeze.holds(verdict), None),
        None if cx.behind && verdict.effect == Effect::Allow => (held_by_clock(verdict), None),
        _ => (verdict, grant),
    };
    let state = match (verdict.effect, kind) {
        (Effect::Deny, _) => State::Denied,
        // A question is for a person; policy cannot answer it.
        (Effect::Allow, Kind::Input) | (Effect::Hold, _) => State::Pending,
        (Effect::Allow, _) => State::Approved,
    };
    if state == State::Pending && cx.pending >= submit.pending_cap {
        return Applied::refused(Refusal::PendingCap(submit.pending_cap));
    }
    // Only an action has a permit, whatever the terms say.
    let permit = terms.permit && kind == Kind::Action;
    let claim_by = (state == State::Approved && permit).then(|| cx.now.plus(submit.claim_window));
    let tool = match body {
        Body::Action(Action { tool, .. }) => Some(tool.clone()),
        _ => None,
    };
    let event = Event::Created(Box::new(Created {
        kind,
        agent: actor.name.clone(),
        session: terms.session.clone(),
        tool,
        group: terms.group.clone(),
        on_behalf_of: terms.on_behalf_of.clone(),
        risk: submit.risk,
        verdict,
        needs: submit.needs.clone(),
        allowed: offered(&terms.allowed, submit.decisions.as_deref()),
        permit,
        digest: submit.digest,
        created_at: submit.created_at,
        expires_at: cx.now.plus(terms.expires_in),
        claim_window: submit.claim_window,
        report_window: submit.report_window,
        state,
        claim_by,
        source: submit.source.clone(),
        claimed: terms.risk,
        escalation: Escalation::chain(&submit.needs, &submit.escalation),
        trust: submit.trust.as_ref().map(|offer| offer.terms.clone()),
        grant: grant.map(|grant| grant.id),
        granted_by: grant.map(|grant| grant.by.clone()),
    }));
    Applied::done(event, EventPayload::Content(submit.content.clone()))
}

/// While the clock is behind, deadlines cannot be judged, so nothing passes without a person.
fn held_by_clock(verdict: Verdict) -> Verdict {
    let reason = Refusal::ClockBehind.to_string();
    Verdict {
        effect: Effect::Hold,
        confine: None,
        rule: "clock_behind".to_owned(),
        policy: verdict.policy,
        reasons: std::iter::once(reason).chain(verdict.reasons).collect(),
    }
}

/// The decisions that both the agent and policy offer, and always a deny.
fn offered(asked: &[DecisionWord], policy: Option<&[DecisionWord]>) -> Vec<DecisionWord> {
    let offers =
        |word: &DecisionWord| *word == DecisionWord::Deny || policy.is_none_or(|words| words.contains(word));
    asked.iter().copied().filter(offers).collect()
}

/// The verdict of policy, unless a grant or earned trust lets the request pass.
fn standing<'a>(submit: &Submit, agent: &str, cx: &Context<'a>) -> (Verdict, Option<&'a Grant>) {
    let said = &submit.verdict;
    if said.effect != Effect::Hold || !may_stand(submit.content.body.kind(), submit.risk) {
        return (said.clone(), None);
    }
    let allow = |rule: String, reason: String| Verdict {
        effect: Effect::Allow,
        confine: None,
        rule,
        policy: said.policy.clone(),
        reasons: std::iter::once(reason).chain(said.reasons.iter().cloned()).collect(),
    };
    if let Some((grant, used)) = granted(submit, agent, cx) {
        let reason = format!(
            "`{}` said yes to this in advance: use {} of {}, until {}",
            grant.by,
            used.saturating_add(1),
            grant.uses,
            grant.expires_at
        );
        return (allow(format!("grant:{}", grant.id), reason), Some(grant));
    }
    match &submit.trust {
        Some(offer) if offer.usable && cx.trust >= offer.terms.after.max(1) => {
            let reason = format!(
                "trusted: people approved the same {} times, and {} are enough",
                cx.trust, offer.terms.after
            );
            (allow(said.rule.clone(), reason), None)
        }
        _ => (said.clone(), None),
    }
}

/// The refusal for a request that is past the state this command needs.
pub(crate) const fn too_late(state: State) -> Refusal {
    match state {
        State::Expired => Refusal::Expired,
        State::Cancelled => Refusal::Cancelled,
        _ => Refusal::AlreadyDecided,
    }
}

fn claim(request: &Request, claim: &Claim, actor: &Actor, cx: &Context<'_>) -> Applied {
    if !may(actor, Role::Agent, cx) {
        return Applied::refused(Refusal::Unauthorized);
    }
    if request.agent != actor.name {
        return Applied::refused(Refusal::NotFound);
    }
    // Also when the answer to a claim was lost: what has not started to run must not start now.
    if matches!(request.state, State::Approved | State::Claimed | State::Unknown) {
        if let Some(freeze) = cx.directory.frozen(&request.agent, request.tool.as_deref()) {
            return Applied::refused(freeze.refusal());
        }
        if cx.behind {
            return Applied::refused(Refusal::ClockBehind);
        }
        let confines = claim.confines && cx.directory.confines(&request.agent, &request.source);
        if request.verdict.confine.is_some() && !confines {
            return Applied::refused(Refusal::Unconfined);
        }
    }
    match (request.state, &request.claim) {
        (State::Approved, _) if request.permit => match passed(request, cx.now) {
            Some(event) => Applied::overdue(event, Refusal::Lapsed),
            // Erased content cannot be executed as it was approved.
            None if request.effective_arguments().is_none() => Applied::refused(Refusal::NotApproved),
            None => Applied::done(
                Event::Claimed {
                    permit: claim.permit,
                    claimant: claim.claimant,
                    report_by: cx.now.plus(request.report_window),
                },
                EventPayload::Nothing,
            ),
        },
        // A lost response: the same claimant gets the same permit until it reports, even late.
        (State::Claimed | State::Unknown, Some(held))
            if held.claimant.is_some() && held.claimant == claim.claimant && held.permit == claim.permit =>
        {
            Applied::repeated()
        }
        (State::Claimed | State::Unknown | State::Succeeded | State::Failed, _) => {
            Applied::refused(Refusal::AlreadyClaimed)
        }
        (State::Lapsed, _) => Applied::refused(Refusal::Lapsed),
        _ => Applied::refused(Refusal::NotApproved),
    }
}

fn report(request: &Request, report: &Report, actor: &Actor, cx: &Context<'_>) -> Applied {
    if !may(actor, Role::Agent, cx) {
        return Applied::refused(Refusal::Unauthorized);
    }
    if request.agent != actor.name {
        return Applied::refused(Refusal::NotFound);
    }
    let Some(claim) = &request.claim else { return Applied::refused(Refusal::NotClaimed) };
    if claim.permit != report.permit {
        return Applied::refused(Refusal::WrongPermit);
    }
    let same = request.outcome.as_ref().is_some_and(|known| {
        known.status == report.status
            && (known.resolved_by.is_some() || known.result_digest == report.result_digest)
    });
    match request.state {
        // A late report still tells the outcome. The deadline only bounds the wait for it.
        State::Claimed | State::Unknown => {
            let done = Applied::done(
                Event::Reported { status: report.status, result_digest: report.result_digest.clone() },
                EventPayload::later(Payload { note: report.note.clone(), ..Payload::default() }),
            );
            Applied { grant: alarm(request, report).map(Box::new), ..done }
        }
        // The same report again: its answer was lost, or a reviewer resolved it the same way.
        State::Succeeded | State::Failed if same => Applied::repeated(),
        _ => Applied::refused(Refusal::AlreadyReported),
    }
}

/// A call that was to run confined probably did not. Its agent is held from now on.
fn alarm(request: &Request, report: &Report) -> Option<AdminEvent> {
    let alarming = report.unconfined && request.verdict.confine.is_some();
    alarming.then(|| AdminEvent::ConfinePut {
        agent: request.agent.clone(),
        confine: false,
        request: Some(request.id),
    })
}

fn because(reason: Option<&String>) -> EventPayload {
    EventPayload::later(Payload { reason: reason.cloned(), ..Payload::default() })
}

fn cancel(request: &Request, cancel: &Cancel, actor: &Actor, cx: &Context<'_>) -> Applied {
    if !is_system(actor) {
        if !may(actor, Role::Agent, cx) {
            return Applied::refused(Refusal::Unauthorized);
        }
        if request.agent != actor.name {
            return Applied::refused(Refusal::NotFound);
        }
    }
    // `noticed` records a deadline that leads to a refusal.
    match request.state_at(cx.now) {
        State::Pending => Applied::done(Event::Cancelled {}, because(cancel.reason.as_ref())),
        State::Approved if request.permit => {
            Applied::done(Event::Cancelled {}, because(cancel.reason.as_ref()))
        }
        // Past its deadline for reporting it still counts as claimed.
        State::Claimed | State::Unknown => Applied::refused(Refusal::AlreadyClaimed),
        State::Lapsed => Applied::refused(Refusal::Lapsed),
        state => Applied::refused(too_late(state)),
    }
}

fn revoke(request: &Request, revoke: &Revoke, actor: &Actor, cx: &Context<'_>) -> Applied {
    if !is_system(actor) && !may(actor, Role::Reviewer, cx) {
        return Applied::refused(Refusal::Unauthorized);
    }
    let given_with_it = cx.directory.grant_of(request.id);
    let refusal = match request.state_at(cx.now) {
        State::Approved if request.permit => {
            // Revoking the approval also revokes the grant that was given with it.
            let grant = given_with_it.map(|id| Box::new(AdminEvent::GrantRevoked { id, why: None }));
            return Applied { grant, ..Applied::done(Event::Revoked {}, because(revoke.reason.as_ref())) };
        }
        State::Claimed | State::Unknown | State::Succeeded | State::Failed => Refusal::AlreadyClaimed,
        State::Revoked => Refusal::Revoked,
        State::Lapsed => Refusal::Lapsed,
        _ => Refusal::NotApproved,
    };
    // The caller must know that the grant stays.
    Applied::refused(match given_with_it {
        Some(grant) => Refusal::GrantStays { refusal: Box::new(refusal), grant },
        None => refusal,
    })
}

fn reassign(request: &Request, reassign: &Reassign, actor: &Actor, cx: &Context<'_>) -> Applied {
    if !may(actor, Role::Reviewer, cx) {
        return Applied::refused(Refusal::Unauthorized);
    }
    if let Some(index) = reassign.to.iter().position(|who| !known(who, cx.directory)) {
        return Applied::refused(crate::Invalid::new(
            format!("/to/{index}"),
            "expected a reviewer's name, or `team:` and the name of a team that has reviewers",
        ));
    }
    match request.state_at(cx.now) {
        State::Pending => {
            Applied::done(Event::Reassigned { to: reassign.to.clone() }, because(reassign.reason.as_ref()))
        }
        state => Applied::refused(too_late(state)),
    }
}

/// Whether a person or a team with reviewers has this name.
fn known(who: &str, directory: &Directory) -> bool {
    match who.strip_prefix("team:") {
        Some(team) => directory
            .people
            .values()
            .any(|person| person.roles.contains(&Role::Reviewer) && person.teams.contains(team)),
        None => directory.person(who, Role::Reviewer).is_some(),
    }
}

fn resolve(request: &Request, resolve: &Resolve, actor: &Actor, cx: &Context<'_>) -> Applied {
    if !may(actor, Role::Reviewer, cx) {
        return Applied::refused(Refusal::Unauthorized);
    }
    match request.state {
        State::Unknown => Applied::done(
            Event::Resolved { status: resolve.status },
            EventPayload::later(Payload { reason: Some(resolve.reason.clone()), ..Payload::default() }),
        ),
        _ => Applied::refused(Refusal::NotUnknown),
    }
}
