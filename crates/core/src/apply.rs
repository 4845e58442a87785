//! What a command does to a request: at most one event, and an answer. Nothing here knows a clock or a database.

use crate::{
    Action, Actor, Auth, Body, Cancel, Claim, Command, Created, Directory, Effect, Event, Kind, Payload,
    Reassign, Refusal, Report, Request, Resolve, Revoke, Role, State, Submit, Time, Written, decide::decide,
};

/// What a command is checked against, read inside the transaction that will hold its result.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The time that rules over deadlines.
    pub now: Time,
    /// Who exists and may do what, now.
    pub directory: &'a Directory,
    /// How many pending requests the submitting agent has.
    pub pending: u64,
}

/// What a command did.
#[derive(Debug, Clone, PartialEq)]
pub struct Applied {
    /// The one change, if there is one. A refused command may still let a deadline take effect.
    pub change: Option<Change>,
    /// Whether the caller got what it wanted.
    pub answer: Result<(), Refusal>,
}

/// One event with what was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// What happened.
    pub event: Event,
    /// What was written with it.
    pub written: Written,
}

impl Applied {
    pub(crate) fn done(event: Event, written: Written) -> Self {
        Self { change: Some(Change { event, written }), answer: Ok(()) }
    }

    pub(crate) fn refused(refusal: impl Into<Refusal>) -> Self {
        Self { change: None, answer: Err(refusal.into()) }
    }

    /// The same answer again: nothing new happens.
    fn repeated() -> Self {
        Self { change: None, answer: Ok(()) }
    }

    /// The deadline has passed: it takes effect, and the command is refused.
    pub(crate) fn overdue(state: State, refusal: Refusal) -> Self {
        Self {
            change: Some(Change { event: overdue_event(state), written: Written::Nothing }),
            answer: Err(refusal),
        }
    }
}

fn overdue_event(state: State) -> Event {
    match state {
        State::Lapsed => Event::Lapsed {},
        State::Unknown => Event::Unknown {},
        _ => Event::Expired {},
    }
}

/// Applies a command to the request it speaks of (`None` when there is none).
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
        Command::Expire(_) => match request.overdue(cx.now) {
            Some(state) => Applied::done(overdue_event(state), Written::Nothing),
            None => Applied::repeated(),
        },
    };
    noticed(applied, request, cx.now)
}

/// A refused command that finds a deadline past lets it take effect, whatever it was refused for. Strangers notice nothing.
fn noticed(applied: Applied, request: &Request, now: Time) -> Applied {
    match (applied, request.overdue(now)) {
        (Applied { change: None, answer: Err(refusal) }, Some(state))
            if !matches!(refusal, Refusal::NotFound | Refusal::Unauthorized) =>
        {
            Applied::overdue(state, refusal)
        }
        (applied, _) => applied,
    }
}

/// Whether the actor may act in this role now: its key was not revoked, its person still has the role.
pub(crate) fn may(actor: &Actor, role: Role, cx: &Context<'_>) -> bool {
    if actor.role != role {
        return false;
    }
    match actor.key {
        Some(key) => cx.directory.live_key(key).is_some_and(|key| key.role == role && key.name == actor.name),
        // Without a key there is only the development agent, and a person signed in to the dashboard.
        None => match (role, actor.auth) {
            (Role::Agent, Auth::Open) => true,
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
    let spec = &submit.spec;
    let kind = spec.body.kind();
    let state = match (submit.verdict.effect, kind) {
        (Effect::Deny, _) => State::Denied,
        // A question is for a person; policy cannot answer it.
        (Effect::Allow, Kind::Input) | (Effect::Hold, _) => State::Pending,
        (Effect::Allow, _) => State::Approved,
    };
    if state == State::Pending && cx.pending >= submit.pending_cap {
        return Applied::refused(Refusal::PendingCap(submit.pending_cap));
    }
    // Only an action has a permit, whoever built the spec.
    let permit = spec.permit && kind == Kind::Action;
    let claim_by = (state == State::Approved && permit).then(|| cx.now.plus(submit.claim_window));
    let tool = match &spec.body {
        Body::Action(Action { tool, .. }) => Some(tool.clone()),
        _ => None,
    };
    let event = Event::Created(Box::new(Created {
        kind,
        agent: actor.name.clone(),
        session: spec.session.clone(),
        tool,
        group: spec.group.clone(),
        on_behalf_of: spec.on_behalf_of.clone(),
        risk: submit.risk,
        verdict: submit.verdict.clone(),
        needs: submit.needs.clone(),
        allowed: spec.allowed.clone(),
        permit,
        digest: submit.digest,
        created_at: submit.created_at,
        expires_at: cx.now.plus(spec.expires_in),
        claim_window: submit.claim_window,
        report_window: submit.report_window,
        state,
        claim_by,
    }));
    Applied::done(event, Written::Content(submit.content.clone()))
}

/// The refusal that fits a request which is past the point where this was possible.
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
    match (request.state, &request.claim) {
        (State::Approved, _) if request.permit => match request.overdue(cx.now) {
            Some(state) => Applied::overdue(state, Refusal::Lapsed),
            // Erased: there is nothing left that could be executed as it was approved.
            None if request.effective_arguments().is_none() => Applied::refused(Refusal::NotApproved),
            None => Applied::done(
                Event::Claimed {
                    permit: claim.permit,
                    claimant: claim.claimant,
                    report_by: cx.now.plus(request.report_window),
                },
                Written::Nothing,
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
        // A late report still tells the truth; the deadline only bounds how long we hope for it.
        State::Claimed | State::Unknown => Applied::done(
            Event::Reported { status: report.status, result_digest: report.result_digest.clone() },
            Written::later(Payload { note: report.note.clone(), ..Payload::default() }),
        ),
        // The same report again: its answer was lost, or a reviewer said the same before.
        State::Succeeded | State::Failed if same => Applied::repeated(),
        _ => Applied::refused(Refusal::AlreadyReported),
    }
}

fn because(reason: Option<&String>) -> Written {
    Written::later(Payload { reason: reason.cloned(), ..Payload::default() })
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
    match (request.state, request.overdue(cx.now)) {
        (State::Pending, Some(state)) => Applied::overdue(state, Refusal::Expired),
        (State::Approved, Some(state)) => Applied::overdue(state, Refusal::Lapsed),
        (State::Pending, None) => Applied::done(Event::Cancelled {}, because(cancel.reason.as_ref())),
        (State::Approved, None) if request.permit => {
            Applied::done(Event::Cancelled {}, because(cancel.reason.as_ref()))
        }
        (State::Claimed | State::Unknown, _) => Applied::refused(Refusal::AlreadyClaimed),
        (State::Lapsed, _) => Applied::refused(Refusal::Lapsed),
        (state, _) => Applied::refused(too_late(state)),
    }
}

fn revoke(request: &Request, revoke: &Revoke, actor: &Actor, cx: &Context<'_>) -> Applied {
    if !is_system(actor) && !may(actor, Role::Reviewer, cx) {
        return Applied::refused(Refusal::Unauthorized);
    }
    match (request.state, request.overdue(cx.now)) {
        (State::Approved, Some(state)) => Applied::overdue(state, Refusal::Lapsed),
        (State::Approved, None) if request.permit => {
            Applied::done(Event::Revoked {}, because(revoke.reason.as_ref()))
        }
        (State::Claimed | State::Unknown | State::Succeeded | State::Failed, _) => {
            Applied::refused(Refusal::AlreadyClaimed)
        }
        (State::Revoked, _) => Applied::refused(Refusal::Revoked),
        (State::Lapsed, _) => Applied::refused(Refusal::Lapsed),
        _ => Applied::refused(Refusal::NotApproved),
    }
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
    match (request.state, request.overdue(cx.now)) {
        (State::Pending, Some(state)) => Applied::overdue(state, Refusal::Expired),
        (State::Pending, None) => {
            Applied::done(Event::Reassigned { to: reassign.to.clone() }, because(reassign.reason.as_ref()))
        }
        (state, _) => Applied::refused(too_late(state)),
    }
}

/// Whether there is anybody behind this name.
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
            Written::later(Payload { reason: Some(resolve.reason.clone()), ..Payload::default() }),
        ),
        _ => Applied::refused(Refusal::NotUnknown),
    }
}
