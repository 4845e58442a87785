//! What-if for one request: what policy would do and why, and what a decision would do.

use std::sync::Arc;

use placet_core::{
    Actor, AdminEvent, Context, Create, Directory, Grant, Request, RequestId, Role, Ruling, State, apply,
    evolve,
};
use placet_policy::{Call, Explanation, Outcome};

use crate::{
    Decision, Gate, GateError, GrantPreview,
    judge::{call_of, call_of_new, confined, place},
    policies::{LoadedPolicy, doubted},
};

/// The outcome of one policy for one call, and why.
#[derive(Debug, Clone)]
pub struct CallExplanation {
    /// The policy's hash.
    pub policy: String,
    /// What it says.
    pub outcome: Outcome,
    /// The result of every rule. None if the policy cannot be used.
    pub explanation: Option<Explanation>,
}

/// What a decision would do. Nothing is written.
#[derive(Debug, Clone)]
pub struct Preview {
    /// The request after it.
    pub request: Arc<Request>,
    /// Whether this vote would decide.
    pub decides: bool,
    /// The verdict of policy on the replacement.
    pub ruling: Option<Ruling>,
    /// Whether the needs or the risk would be higher than now.
    pub stricter: bool,
    /// Whose votes would be void.
    pub voided: Vec<String>,
    /// The grant that would come with it, and its scope in words.
    pub grant: Option<(Grant, String)>,
    /// For a remembered command: the calls that it would have let pass.
    pub would: Option<GrantPreview>,
}

fn explained(version: &LoadedPolicy, call: &Call<'_>, directory: &Directory) -> CallExplanation {
    let explanation = version.good().map(|policy| policy.explain(call));
    let outcome = match &explanation {
        Some(explanation) => doubted(explanation.outcome.clone(), call),
        None => version.evaluate(call),
    };
    let outcome = confined(outcome, call, directory);
    CallExplanation { policy: version.hash().to_owned(), outcome, explanation }
}

impl Gate {
    /// The outcome of the policy in force for a recorded request, and of the request's own policy if that is another
    /// one.
    pub async fn explain(
        &self,
        actor: &Actor,
        id: RequestId,
    ) -> Result<(Arc<Request>, Vec<CallExplanation>), GateError> {
        let actor = &*self.acting(actor, &[Role::Reviewer, Role::Auditor])?;
        let request = self.get(actor, id).await?;
        let Some(content) = request.content.clone() else {
            return Err(placet_core::Invalid::new("", "the content of the request was erased").into());
        };
        let directory = self.store.directory();
        let place = place(&request.source, &request.agent, &content.context, &directory);
        let call = call_of(&request, &content, &content.body, request.created_at)
            .at(place)
            .covered(directory.covered(&request.agent));
        let in_force = self.in_force().await?;
        let mut said = vec![explained(&in_force, &call, &directory)];
        if in_force.hash() != request.verdict.policy {
            said.push(explained(&*self.version(&request.verdict.policy).await?, &call, &directory));
        }
        Ok((request, said))
    }

    /// The outcome of the policy in force for a request that does not exist.
    pub async fn explain_create(
        &self,
        actor: &Actor,
        agent: &str,
        source: &str,
        create: Create,
    ) -> Result<CallExplanation, GateError> {
        self.acting(actor, &[Role::Reviewer, Role::Admin, Role::Auditor])?;
        let spec = create.check(&self.settings.limits)?;
        let directory = self.store.directory();
        let call = call_of_new(&spec.body, &spec.context, &spec.terms, (agent, source), self.now());
        let call = call.covered(directory.covered(agent));
        Ok(explained(&*self.in_force().await?, &call, &directory))
    }

    /// What a decision would do, without doing it: whether it decides, what an edit would need, and which votes it
    /// voids.
    pub async fn preview(&self, actor: &Actor, decision: Decision) -> Result<Preview, GateError> {
        let actor = &*self.acting(actor, &[Role::Reviewer])?;
        let id = decision.id;
        // Nothing is written, so nothing needs to have been shown.
        let decision = Decision { by_door: true, ..decision };
        let (voter, command) = self.vote(actor, decision).await?;
        let before = self.get(actor, id).await?;
        let (directory, now) = (self.store.directory(), self.now());
        let applied = apply(Some(&before), &command, &voter, &Context::new(now, &directory));
        if let Err(refusal) = applied.answer {
            return Err(GateError::Refused { refusal, request: Some(before) });
        }
        let change = applied.change.ok_or(placet_store::StoreError::Unknown)?;
        let seq = before.seq;
        let after =
            evolve(Some((*before).clone()), id, seq, now, &voter.name, &change.event, &change.written)
                .map_err(|error| placet_store::StoreError::Damaged(error.to_string()))?;
        let counts = |request: &Request, name: &str| request.votes.iter().any(|vote| vote.by == name);
        let voided = before.votes.iter().map(|vote| vote.by.clone());
        let ruling = match &command {
            placet_core::Command::Decide(decide) => decide.ruling.as_deref().cloned(),
            _ => None,
        };
        let mut would = None;
        let grant = match (applied.grant.map(|event| *event), &command) {
            (Some(AdminEvent::GrantCreated { grant }), placet_core::Command::Decide(decide)) => {
                let key = decide.remember.as_ref().and_then(|new| new.key.as_ref());
                let covers = self.covers(&grant, key).await?;
                would = self.would_cover(&grant, key).await?;
                Some((*grant, covers))
            }
            _ => None,
        };
        Ok(Preview {
            decides: after.state != State::Pending,
            stricter: after.needs != before.needs || after.risk != before.risk,
            voided: voided.filter(|name| !counts(&after, name)).collect(),
            request: Arc::new(after),
            ruling,
            grant,
            would,
        })
    }
}
