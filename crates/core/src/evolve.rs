//! Applies events to a request. The only place that writes state, for live commands and for rebuilds.

use std::sync::Arc;

use crate::{
    ClaimState, Created, Decision, DecisionWord, Digest, Effect, Escalation, Event, EventPayload, Kind,
    OutcomeState, Proposal, ProposalMeta, ReportStatus, Request, RequestId, Ruling, State, Time, Vote,
};

/// An event that does not fit the state before it: the ledger was changed, or the code is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvolveError {
    /// A request can be created only once.
    #[error("{0} is created twice")]
    CreatedTwice(RequestId),
    /// An event about a request that was never created.
    #[error("{event} about {id}, which was never created")]
    Missing {
        /// The request.
        id: RequestId,
        /// What happened.
        event: &'static str,
    },
    /// The life cycle has no such edge. For a new request: no such beginning.
    #[error("{event} cannot happen to {id} in the state {state}")]
    NoEdge {
        /// The request.
        id: RequestId,
        /// What happened.
        event: &'static str,
        /// Where it stood.
        state: State,
    },
}

/// The request after one more event, which is the ledger entry `seq` made at `at`.
pub fn evolve(
    before: Option<Request>,
    id: RequestId,
    seq: u64,
    at: Time,
    by: &str,
    event: &Event,
    written: &EventPayload,
) -> Result<Request, EvolveError> {
    if let Event::Created(created) = event {
        return match before {
            None if begins(created) => Ok(create(id, seq, at, created, written)),
            None => Err(EvolveError::NoEdge { id, event: event.name(), state: created.state }),
            Some(_) => Err(EvolveError::CreatedTwice(id)),
        };
    }
    let mut request = before.ok_or(EvolveError::Missing { id, event: event.name() })?;
    if !edge(&request, event) {
        return Err(EvolveError::NoEdge { id, event: event.name(), state: request.state });
    }
    request.version += 1;
    match event {
        Event::Created(_) => {}
        Event::Voted { vote, proposal } => cast(&mut request, vote, proposal.as_ref(), at, written),
        Event::Decided { vote, proposal, decision, by, digest, state, claim_by } => {
            cast(&mut request, vote, proposal.as_ref(), at, written);
            let approved =
                request.proposal.take().filter(|proposal| decision.is_yes() && proposal.digest == *digest);
            request.decision = Some(Decision {
                word: *decision,
                by: by.clone(),
                digest: *digest,
                at,
                version: request.version,
                content_version: approved.as_ref().map(|proposal| proposal.version),
                content: approved.and_then(|proposal| proposal.content),
                reason: written.reason(),
                claimed: written.claimed(),
            });
            request.claim_by = *claim_by;
            enter(&mut request, *state);
        }
        Event::Claimed { permit, claimant, report_by } => {
            request.claim = Some(ClaimState { at, permit: *permit, claimant: *claimant });
            request.report_by = Some(*report_by);
            enter(&mut request, State::Claimed);
        }
        Event::Reported { status, result_digest } => {
            let note = match written {
                EventPayload::Later(payload) => payload.note.clone(),
                _ => None,
            };
            settle(
                &mut request,
                *status,
                OutcomeState {
                    status: *status,
                    result_digest: result_digest.clone(),
                    at,
                    resolved_by: None,
                    version: 0,
                    note,
                },
            );
        }
        Event::Resolved { status } => {
            let outcome = OutcomeState {
                status: *status,
                result_digest: None,
                at,
                resolved_by: Some(by.to_owned()),
                version: 0,
                note: written.reason(),
            };
            settle(&mut request, *status, outcome);
        }
        Event::Cancelled {} => enter(&mut request, State::Cancelled),
        Event::Revoked {} => enter(&mut request, State::Revoked),
        Event::Reassigned { to } => request.asked.clone_from(to),
        Event::Escalated { needs, expires_at, before } => {
            request.escalation.remove(0);
            request.earlier.extend(before.as_deref().cloned());
            request.needs.clone_from(needs);
            request.expires_at = *expires_at;
            request.material = request.version;
        }
        Event::Expired {} => enter(&mut request, State::Expired),
        Event::Lapsed {} => enter(&mut request, State::Lapsed),
        Event::Unknown {} => enter(&mut request, State::Unknown),
    }
    Ok(request)
}

/// INVARIANT: these are the edges of the life cycle, and no other edge exists.
fn edge(request: &Request, event: &Event) -> bool {
    let claimable = request.state == State::Approved && request.permit;
    match event {
        Event::Created(_) => false,
        Event::Voted { .. } | Event::Reassigned { .. } => request.state == State::Pending,
        // A request does not expire while there are more people to ask.
        Event::Escalated { needs, expires_at, before } => {
            request.state == State::Pending
                && before.as_deref().is_none_or(|before| *before == request.needs)
                && request.escalation.first().is_some_and(|next| {
                    next.needs == *needs && request.expires_at.plus(next.expires_in) == *expires_at
                })
        }
        Event::Expired {} => request.state == State::Pending && request.escalation.is_empty(),
        Event::Decided { decision, state, .. } => {
            request.state == State::Pending && leads(request.kind, *decision, *state)
        }
        Event::Claimed { .. } | Event::Revoked {} | Event::Lapsed {} => claimable,
        Event::Cancelled {} => request.state == State::Pending || claimable,
        Event::Reported { .. } => matches!(request.state, State::Claimed | State::Unknown),
        // Possible only after lost history: a permit may exist that the ledger does not know.
        Event::Unknown {} => request.state == State::Claimed || claimable,
        Event::Resolved { .. } => request.state == State::Unknown,
    }
}

/// Whether a request can begin like this. Policy decides it, and can never allow a question.
fn begins(created: &Created) -> bool {
    match created.state {
        State::Pending => {
            created.verdict.effect == Effect::Hold
                || (created.verdict.effect == Effect::Allow && created.kind == Kind::Input)
        }
        State::Approved => created.verdict.effect == Effect::Allow && created.kind != Kind::Input,
        State::Denied => created.verdict.effect == Effect::Deny,
        _ => false,
    }
}

/// Whether this decision on a request of this kind leads to this state.
fn leads(kind: Kind, decision: DecisionWord, state: State) -> bool {
    let fits = match decision {
        DecisionWord::Deny => true,
        DecisionWord::Respond => matches!(kind, Kind::Action | Kind::Input),
        DecisionWord::Approve => kind != Kind::Input,
        DecisionWord::Edit => matches!(kind, Kind::Action | Kind::Plan),
    };
    fits && state == decision.state()
}

fn create(id: RequestId, seq: u64, at: Time, created: &Created, written: &EventPayload) -> Request {
    let created = created.clone();
    let decision = decided_by_policy(created.state, created.digest, at, created.verdict.effect);
    let content = match written {
        EventPayload::Content(content) => Some(content.clone()),
        _ => None,
    };
    Request {
        id,
        seq,
        version: 1,
        material: 1,
        state: created.state,
        kind: created.kind,
        agent: created.agent,
        session: created.session,
        tool: created.tool,
        group: created.group,
        on_behalf_of: created.on_behalf_of,
        risk: created.risk,
        verdict: created.verdict,
        needs: created.needs,
        allowed: created.allowed,
        permit: created.permit,
        digest: created.digest,
        votes: Vec::new(),
        proposal: None,
        decision,
        asked: Vec::new(),
        created_at: created.created_at,
        expires_at: created.expires_at,
        claim_window: created.claim_window,
        report_window: created.report_window,
        claim_by: created.claim_by,
        report_by: None,
        claim: None,
        outcome: None,
        source: created.source,
        claimed: created.claimed,
        escalation: created.escalation,
        earlier: Vec::new(),
        trust: created.trust,
        grant: created.grant,
        granted_by: created.granted_by,
        content,
    }
}

fn decided_by_policy(state: State, digest: Digest, at: Time, effect: Effect) -> Option<Decision> {
    let word = match (state, effect) {
        (State::Approved, Effect::Allow) => DecisionWord::Approve,
        (State::Denied, Effect::Deny) => DecisionWord::Deny,
        _ => return None,
    };
    Some(Decision {
        word,
        by: Vec::new(),
        digest,
        at,
        version: 1,
        content_version: None,
        content: None,
        reason: None,
        claimed: None,
    })
}

/// One live vote per person. A replacement voids every vote before it.
fn cast(
    request: &mut Request,
    vote: &Vote,
    proposal: Option<&ProposalMeta>,
    at: Time,
    written: &EventPayload,
) {
    if let Some(ProposalMeta { by, word, digest, ruling }) = proposal {
        if let Some(ruling) = ruling {
            raise(request, ruling);
        }
        let content = match written {
            EventPayload::Later(payload) => payload.proposal.clone().map(Arc::new),
            _ => None,
        };
        request.votes.clear();
        request.material = request.version;
        request.proposal = Some(Proposal {
            by: by.clone(),
            word: *word,
            digest: *digest,
            at,
            version: request.version,
            content,
        });
    }
    request.votes.retain(|earlier| earlier.by != vote.by);
    request.votes.push(vote.clone());
}

/// INVARIANT: risk and needs never fall. What a replacement needs, every later escalation needs too.
fn raise(request: &mut Request, ruling: &Ruling) {
    request.risk = request.risk.max(ruling.risk);
    let needs = request.needs.raised(&ruling.needs);
    if needs == request.needs {
        return;
    }
    request.needs = needs;
    let raised = |next: &Escalation| Escalation {
        needs: next.needs.raised(&ruling.needs),
        expires_in: next.expires_in,
    };
    request.escalation = request.escalation.iter().map(raised).collect();
}

fn settle(request: &mut Request, status: ReportStatus, outcome: OutcomeState) {
    request.outcome = Some(OutcomeState { version: request.version, ..outcome });
    enter(
        request,
        match status {
            ReportStatus::Succeeded => State::Succeeded,
            ReportStatus::Failed => State::Failed,
        },
    );
}

fn enter(request: &mut Request, state: State) {
    request.state = state;
    request.material = request.version;
}

/// Adds a stored payload to a stored request.
pub fn attach(request: &mut Request, version: u32, written: &EventPayload) {
    match written {
        EventPayload::Nothing => {}
        EventPayload::Content(content) => request.content = Some(content.clone()),
        EventPayload::Later(payload) => {
            let shared = payload.proposal.clone().map(Arc::new);
            if let Some(proposal) = request.proposal.as_mut().filter(|proposal| proposal.version == version) {
                proposal.content.clone_from(&shared);
            }
            if let Some(decision) = &mut request.decision {
                if decision.content_version == Some(version) {
                    decision.content = shared;
                }
                if decision.version == version {
                    decision.reason.clone_from(&payload.reason);
                    decision.claimed.clone_from(&payload.claimed);
                }
            }
            if let Some(outcome) = request.outcome.as_mut().filter(|outcome| outcome.version == version) {
                outcome.note = payload.note.clone().or_else(|| payload.reason.clone());
            }
        }
    }
}
