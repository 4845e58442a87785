//! Deciding, one by one or many at once, and what else a reviewer may do.

use std::sync::Arc;

use placet_core::{
    Actor, Auth, Body, Command, Decide, DecisionWord, Digest, Invalid, ProposalContent, Reassign, Refusal,
    ReportStatus, Request, RequestId, Resolve, Revoke, Role, State, StepDecision, StepUp,
};
use placet_ledger::{edit_digest, proposal_digest};
use placet_store::{Idempotency, Outcome, Work};
use serde_json::{Map, Value};

use crate::{Gate, GateError, gate::require, permit::code_matches, schema::check_arguments};

/// What a reviewer says, on the digest and version they saw.
#[derive(Debug, Clone)]
pub struct Decision {
    /// On which request.
    pub id: RequestId,
    /// What.
    pub word: DecisionWord,
    /// The digest they saw.
    pub digest: Digest,
    /// The version they saw.
    pub version: u32,
    /// Why.
    pub reason: Option<String>,
    /// Whole replacement arguments, with `edit`.
    pub arguments: Option<Map<String, Value>>,
    /// The answer, with `respond`.
    pub answer: Option<Value>,
    /// A decision for every step, in the order approved.
    pub steps: Option<Vec<StepDecision>>,
    /// A standing yes; there are none yet.
    pub remember: Option<Remember>,
    /// A proof of presence.
    pub step_up: Option<StepUp>,
    /// Digest of the text that was shown.
    pub display: Option<Digest>,
    /// Its idempotency key.
    pub idempotency: Option<Idempotency>,
}

/// The scope of a standing yes.
pub type Remember = Map<String, Value>;

/// Longest reason, in bytes.
const REASON: usize = 8_192;

impl Gate {
    /// Casts one vote.
    pub async fn decide(&self, actor: &Actor, decision: Decision) -> Result<Arc<Request>, GateError> {
        require(actor, &[Role::Reviewer])?;
        let idempotency = decision.idempotency;
        let (actor, command) = self.vote(actor, decision).await?;
        let outcome = self.command(&actor, command, idempotency).await?;
        outcome.request.ok_or_else(GateError::not_found)
    }

    /// Casts several votes in one transaction; atomic ones all count or none does.
    pub async fn decide_many(
        &self,
        actor: &Actor,
        decisions: Vec<Decision>,
        atomic: bool,
    ) -> Result<Vec<Outcome>, GateError> {
        require(actor, &[Role::Reviewer])?;
        // The strength of proof is the actor's, so votes with and without a code cannot share a transaction.
        let mut outcomes: Vec<Option<Outcome>> = vec![None; decisions.len()];
        let mut ready: Vec<(usize, Actor, Command, Option<Idempotency>)> = Vec::new();
        for (index, decision) in decisions.into_iter().enumerate() {
            let idempotency = decision.idempotency;
            match self.vote(actor, decision).await {
                Ok((actor, command)) => ready.push((index, actor, command, idempotency)),
                Err(GateError::Refused { refusal, request }) => {
                    outcomes[index] = Some(Outcome { answer: Err(refusal), request, replayed: false });
                }
                Err(error) => return Err(error),
            }
        }
        if atomic
            && (outcomes.iter().any(Option::is_some)
                || ready.iter().any(|(_, voter, ..)| voter.auth != ready[0].1.auth))
        {
            let refusal = Refusal::Invalid(Invalid::new(
                "",
                "not applied: another decision of the same atomic batch was refused",
            ));
            return Ok(outcomes
                .into_iter()
                .map(|outcome| {
                    outcome.unwrap_or(Outcome {
                        answer: Err(refusal.clone()),
                        request: None,
                        replayed: false,
                    })
                })
                .collect());
        }
        for auth in [Auth::Open, Auth::Token, Auth::Session, Auth::Code] {
            let (mut places, mut commands) = (Vec::new(), Vec::new());
            for (index, _, command, idempotency) in ready.extract_if(.., |(_, voter, ..)| voter.auth == auth)
            {
                places.push(index);
                commands.push((command, idempotency));
            }
            if commands.is_empty() {
                continue;
            }
            let voter = Actor { auth, ..actor.clone() };
            let done = self.commands(Work::Commands { actor: voter, commands, atomic }).await?;
            for (index, outcome) in places.into_iter().zip(done) {
                outcomes[index] = Some(outcome);
            }
        }
        outcomes
            .into_iter()
            .map(|outcome| outcome.ok_or_else(|| placet_store::StoreError::Unknown.into()))
            .collect()
    }

    /// The command of a vote, with the digest that its replacement gives.
    async fn vote(&self, actor: &Actor, decision: Decision) -> Result<(Actor, Command), GateError> {
        if decision.remember.is_some() {
            return Err(Invalid::new(
                "/remember",
                "standing approvals are not available yet: decide this request alone",
            )
            .into());
        }
        if decision.reason.as_ref().is_some_and(|reason| reason.len() > REASON) {
            return Err(Invalid::new("/reason", format!("the reason is longer than {REASON} bytes")).into());
        }
        let mut actor = actor.clone();
        if let Some(step_up) = &decision.step_up {
            if !code_matches(&self.store.secret(), decision.digest, &step_up.code) {
                return Err(
                    Invalid::new("/step_up/code", "that is not the code shown with this request").into()
                );
            }
            actor.auth = Auth::Code;
        }
        let content =
            ProposalContent { arguments: decision.arguments, answer: decision.answer, steps: decision.steps };
        let proposal = if content == ProposalContent::default() {
            None
        } else {
            let digest = self.proposal(&actor, decision.id, &content).await?;
            Some((content, digest))
        };
        let decide = Decide {
            id: decision.id,
            word: decision.word,
            digest: decision.digest,
            version: decision.version,
            reason: decision.reason,
            proposal,
            display: decision.display,
        };
        Ok((actor, Command::Decide(Box::new(decide))))
    }

    /// The digest of a replacement. Reads only what never changes about a request, so it needs no transaction.
    async fn proposal(
        &self,
        actor: &Actor,
        id: RequestId,
        proposal: &ProposalContent,
    ) -> Result<Digest, GateError> {
        let request = self.get(actor, id).await?;
        let Some(content) = request.content.clone() else {
            return Err(Invalid::new("", "the content of the request was erased").into());
        };
        match (&content.body, &proposal.arguments) {
            (Body::Action(action), Some(arguments)) => {
                check_arguments(action.arguments_schema.as_ref(), arguments)?;
                Ok(edit_digest(&request, &content, arguments)?)
            }
            _ => Ok(proposal_digest(request.digest, proposal)?),
        }
    }

    /// Takes an unclaimed approval back.
    pub async fn revoke(
        &self,
        actor: &Actor,
        id: RequestId,
        reason: Option<String>,
        idempotency: Option<Idempotency>,
    ) -> Result<Arc<Request>, GateError> {
        require(actor, &[Role::Reviewer])?;
        let outcome = self.command(actor, Command::Revoke(Revoke { id, reason }), idempotency).await?;
        outcome.request.ok_or_else(GateError::not_found)
    }

    /// Changes who is asked, never what is needed.
    pub async fn reassign(
        &self,
        actor: &Actor,
        id: RequestId,
        to: Vec<String>,
        reason: Option<String>,
        idempotency: Option<Idempotency>,
    ) -> Result<Arc<Request>, GateError> {
        require(actor, &[Role::Reviewer])?;
        if to.is_empty() || to.len() > 50 {
            return Err(Invalid::new("/to", "name 1 to 50 reviewers or teams (`team:NAME`)").into());
        }
        let outcome =
            self.command(actor, Command::Reassign(Reassign { id, to, reason }), idempotency).await?;
        outcome.request.ok_or_else(GateError::not_found)
    }

    /// Settles an unknown outcome.
    pub async fn resolve(
        &self,
        actor: &Actor,
        id: RequestId,
        status: ReportStatus,
        reason: String,
        idempotency: Option<Idempotency>,
    ) -> Result<Arc<Request>, GateError> {
        require(actor, &[Role::Reviewer])?;
        if reason.trim().is_empty() || reason.len() > REASON {
            return Err(
                Invalid::new("/reason", format!("say how you know: text of 1 to {REASON} bytes")).into()
            );
        }
        let command = Command::Resolve(Resolve { id, status, reason });
        let mut resolved = self.command(actor, command.clone(), idempotency).await;
        // The deadline for reporting had passed and took effect with this refusal: now the outcome is unknown.
        if let Err(GateError::Refused { refusal: Refusal::NotUnknown, request: Some(request) }) = &resolved
            && request.state == State::Unknown
        {
            resolved = self.command(actor, command, idempotency).await;
        }
        resolved?.request.ok_or_else(GateError::not_found)
    }
}
