//! Deciding, one by one or many at once, and what else a reviewer may do.

use std::sync::Arc;

use placet_core::{
    Actor, Auth, Body, Command, Decide, DecisionWord, Digest, Invalid, ProposalContent, Reassign, Refusal,
    ReportStatus, Request, RequestId, Resolve, Revoke, Role, Ruling, State, StepDecision, StepUp,
    UnverifiedReviewer, Viewed,
};
use placet_ledger::{display_digest, edit_digest, proposal_digest};
use placet_store::{CommandUnit, Idempotency, Outcome, planted};
use serde_json::{Map, Value};

use crate::{Gate, GateError, Remember, gate::about, permit::code_matches, schema::check_arguments};

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
    /// A standing approval to be given with it.
    pub remember: Option<Remember>,
    /// A proof of presence.
    pub step_up: Option<StepUp>,
    /// Digest of the card that was shown.
    pub view: Option<Digest>,
    /// Digest of the text that was shown, from clients of earlier versions.
    pub display: Option<Digest>,
    /// Whether it came by a door, whose clients show something of their own. Without this, a yes from a sign-in session
    /// says what was shown.
    pub by_door: bool,
    /// What the client of a door without keys said about it.
    pub claimed: Option<UnverifiedReviewer>,
    /// Its idempotency key.
    pub idempotency: Option<Idempotency>,
}

impl Decision {
    /// A word on the request as it stands, and nothing more: what a door says.
    pub fn on(request: &Request, word: DecisionWord) -> Self {
        Self {
            id: request.id,
            word,
            digest: request.current_digest(),
            version: request.version,
            reason: None,
            arguments: None,
            answer: None,
            steps: None,
            remember: None,
            step_up: None,
            view: None,
            display: None,
            by_door: true,
            claimed: None,
            idempotency: None,
        }
    }
}

/// Longest reason, in bytes.
const REASON: usize = 8_192;
/// How often a vote is judged again because the policy changed in that moment.
const JUDGED: u32 = 8;

impl Gate {
    /// Casts one vote.
    pub async fn decide(&self, actor: &Actor, decision: Decision) -> Result<Arc<Request>, GateError> {
        about(decision.id);
        let actor = &*self.acting(actor, &[Role::Reviewer])?;
        let idempotency = decision.idempotency;
        for _ in 0..JUDGED {
            let (voter, command) = self.vote(actor, decision.clone()).await?;
            match self.command(&voter, command, idempotency).await {
                // Another policy came into force between the question and the commit: ask that one.
                Err(GateError::Refused { refusal: Refusal::PolicyChanged, .. }) => {
                    self.store.refresh_directory().await?;
                }
                done => return done?.request.ok_or_else(GateError::not_found),
            }
        }
        Err(placet_store::StoreError::Busy.into())
    }

    /// Casts several votes in one transaction; atomic ones all count or none does.
    pub async fn decide_many(
        &self,
        actor: &Actor,
        decisions: Vec<Decision>,
        atomic: bool,
    ) -> Result<Vec<Outcome>, GateError> {
        let actor = &*self.acting(actor, &[Role::Reviewer])?;
        // The strength of proof is the actor's, so votes with and without a code cannot share a transaction.
        let mut outcomes: Vec<Option<Outcome>> = vec![None; decisions.len()];
        let mut ready: Vec<(usize, Actor, Command, Option<Idempotency>)> = Vec::new();
        for (index, decision) in decisions.into_iter().enumerate() {
            let idempotency = decision.idempotency;
            match self.vote(actor, decision).await {
                Ok((actor, command)) => ready.push((index, actor, command, idempotency)),
                Err(GateError::Refused { refusal, request }) => {
                    outcomes[index] =
                        Some(Outcome { answer: Err(refusal), request, replayed: false, changed: false });
                }
                Err(error) => return Err(error),
            }
        }
        if atomic
            && (outcomes.iter().any(Option::is_some)
                || ready.iter().any(|(_, voter, ..)| voter.auth != ready[0].1.auth))
        {
            let innocent =
                Outcome { answer: Err(Refusal::NotApplied), request: None, replayed: false, changed: false };
            return Ok(outcomes
                .into_iter()
                .map(|outcome| outcome.unwrap_or_else(|| innocent.clone()))
                .collect());
        }
        for auth in [Auth::Open, Auth::Token, Auth::Session, Auth::Bound, Auth::Code] {
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
            let answers = self.store.commands(CommandUnit { actor: voter, commands, atomic }).await?;
            for (index, outcome) in places.into_iter().zip(answers) {
                outcomes[index] = Some(outcome);
            }
        }
        outcomes
            .into_iter()
            .map(|outcome| outcome.ok_or_else(|| placet_store::StoreError::Unknown.into()))
            .collect()
    }

    /// The command of a vote, with the digest that its replacement gives and what policy says of it.
    pub(crate) async fn vote(
        &self,
        actor: &Actor,
        decision: Decision,
    ) -> Result<(Actor, Command), GateError> {
        if decision.reason.as_ref().is_some_and(|reason| reason.len() > REASON) {
            return Err(Invalid::new("/reason", format!("the reason is longer than {REASON} bytes")).into());
        }
        for text in decision.claimed.iter().flat_map(|claimed| [&claimed.reviewer, &claimed.escalated_to]) {
            if text.as_ref().is_some_and(|text| text.len() > UnverifiedReviewer::MOST) {
                let most = format!("longer than {} bytes", UnverifiedReviewer::MOST);
                return Err(Invalid::new("/claimed", most).into());
            }
        }
        let viewed = self.viewed(actor, &decision).await?;
        let mut actor = actor.clone();
        if let Some(step_up) = &decision.step_up {
            // A caller without a name cannot prove presence. And a program can copy a code: only a
            // person's own browser can show that it read one.
            match actor.auth {
                Auth::Open => {
                    return Err(GateError::Refused { refusal: Refusal::Unauthorized, request: None });
                }
                Auth::Bound => {}
                _ if planted("keys-step-up") => {}
                Auth::Token | Auth::Session | Auth::Code => {
                    let request = Some(self.seen(&actor, decision.id).await?);
                    let refusal = Refusal::StepUpRequired("code".to_owned());
                    return Err(GateError::Refused { refusal, request });
                }
            }
            if !code_matches(&self.store.secret(), decision.digest, &step_up.code) {
                return Err(
                    Invalid::new("/step_up/code", "that is not the code shown with this request").into()
                );
            }
            actor.auth = Auth::Code;
        }
        let content =
            ProposalContent { arguments: decision.arguments, answer: decision.answer, steps: decision.steps };
        let (proposal, ruling) = if content == ProposalContent::default() {
            (None, None)
        } else {
            // Boxed, as below: rare, and too large to be carried through every plain yes.
            let (digest, ruling) = Box::pin(self.proposal(&actor, decision.id, &content)).await?;
            (Some((content, digest)), ruling)
        };
        let remember = match &decision.remember {
            None => None,
            Some(remember) => {
                let request = self.seen(&actor, decision.id).await?;
                Some(Box::pin(self.new_grant(&request, remember)).await?)
            }
        };
        let decide = Decide {
            id: decision.id,
            word: decision.word,
            digest: decision.digest,
            version: decision.version,
            reason: decision.reason,
            proposal,
            ruling,
            remember,
            claimed: decision.claimed,
            view: decision.view,
            display: decision.display,
            viewed,
        };
        Ok((actor, Command::Decide(Box::new(decide))))
    }

    /// Whether a yes was made from what it would run. A digest says what that is: with the same digest, the card is the
    /// same. So the answer is about the digest of the vote, and the transaction checks that this is still the current one.
    async fn viewed(&self, actor: &Actor, decision: &Decision) -> Result<Viewed, GateError> {
        if decision.word == DecisionWord::Deny {
            return Ok(Viewed::Unsaid);
        }
        if decision.view.is_none() && decision.display.is_none() {
            // A program shows what it likes; a page in a browser shows the card.
            let by_session = actor.session.is_some() || actor.auth >= Auth::Session;
            return Ok(if by_session && !decision.by_door { Viewed::Missing } else { Viewed::Unsaid });
        }
        let request = self.seen(actor, decision.id).await?;
        let is = |given: Option<Digest>, now: &dyn Fn() -> Option<Digest>| {
            given.is_none_or(|given| now() == Some(given))
        };
        let current = request.current_digest() == decision.digest
            && is(decision.view, &|| self.card(&request).map(|card| card.digest))
            && is(decision.display, &|| display_digest(&request.display_fields()).ok());
        Ok(if current || planted("any-view-will-do") { Viewed::Current } else { Viewed::Stale })
    }

    /// The digest of a replacement, and what policy says of it. Reads only what never changes about a request, so it
    /// needs no transaction; whether that policy is still in force is checked at commit.
    async fn proposal(
        &self,
        actor: &Actor,
        id: RequestId,
        proposal: &ProposalContent,
    ) -> Result<(Digest, Option<Box<Ruling>>), GateError> {
        let request = self.seen(actor, id).await?;
        let Some(content) = request.content.clone() else {
            return Err(Invalid::new("", "the content of the request was erased").into());
        };
        let digest = match (&content.body, &proposal.arguments) {
            (Body::Action(action), Some(arguments)) => {
                check_arguments(action.arguments_schema.as_ref(), arguments)?;
                edit_digest(&request, &content, arguments)?
            }
            _ => proposal_digest(request.digest, proposal)?,
        };
        Ok((digest, self.ruling(&request, &content, proposal).await?))
    }

    /// Takes an unclaimed approval back.
    pub async fn revoke(
        &self,
        actor: &Actor,
        id: RequestId,
        reason: Option<String>,
        idempotency: Option<Idempotency>,
    ) -> Result<Arc<Request>, GateError> {
        about(id);
        let actor = &*self.acting(actor, &[Role::Reviewer])?;
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
        about(id);
        let actor = &*self.acting(actor, &[Role::Reviewer])?;
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
        about(id);
        let actor = &*self.acting(actor, &[Role::Reviewer])?;
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
