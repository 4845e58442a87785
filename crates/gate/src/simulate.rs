//! What-if: a candidate policy over all requests on record, or live beside the policy in force without effect.

use std::sync::{Arc, Mutex, PoisonError};

use placet_core::{Actor, Directory, Effect, Request, Role, Time};
use placet_policy::{Comparison, Outcome, Recorded, Report};

use crate::{
    Gate, GateError,
    judge::{call_of, confined, place},
    policies::{LoadedPolicy, off_thread},
};

/// How far a simulation has come, in entries of the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimulationProgress {
    /// Looked at so far.
    pub done: u64,
    /// There were when it began.
    pub of: u64,
    /// Requests among them.
    pub requests: u64,
}

/// A candidate that is evaluated on live requests without effect, and its results so far.
#[derive(Debug, Clone)]
pub struct Shadow {
    /// Its hash.
    pub hash: String,
    /// Since when.
    pub since: Time,
    /// Who set it.
    pub by: String,
    /// What it would have done with the requests since then.
    pub report: Report,
}

/// The gate's state of a candidate.
#[derive(Debug)]
pub(crate) struct ShadowState {
    version: Arc<LoadedPolicy>,
    since: Time,
    by: String,
    comparison: Comparison,
}

/// The candidate, if there is one. A std mutex: held for one evaluation, never across an await.
pub(crate) type ShadowSlot = Mutex<Option<ShadowState>>;

/// Requests read at a time.
const PAGE: u32 = 500;

/// The outcome of a policy for a request on record. Erased requests cannot be judged.
pub(crate) fn judged(version: &LoadedPolicy, directory: &Directory, request: &Request) -> Option<Outcome> {
    let content = request.content.as_ref()?;
    let place = place(&request.source, &request.agent, &content.context, directory);
    let call = call_of(request, content, &content.body, request.created_at)
        .at(place)
        .covered(directory.covered(&request.agent));
    Some(confined(version.evaluate(&call), &call, directory))
}

/// Compares a request on record with the candidate's outcome, and returns that outcome.
pub(crate) fn compare(
    comparison: &mut Comparison,
    version: &LoadedPolicy,
    directory: &Directory,
    request: &Request,
) -> Option<Outcome> {
    let outcome = judged(version, directory, request)?;
    let decided = request.decision.as_ref().filter(|decision| !decision.by.is_empty());
    // Policy would have held what a grant or trust let through.
    let stood =
        request.verdict.effect == Effect::Allow && (request.grant.is_some() || request.trust.is_some());
    // A replacement may have raised the risk. Here the original request is judged.
    let replaced =
        request.proposal.is_some() || decided.is_some_and(|decision| decision.content_version.is_some());
    let recorded = Recorded {
        id: &request.id.to_string(),
        agent: &request.agent,
        tool: request.tool.as_deref(),
        effect: if stood { Effect::Hold } else { request.verdict.effect },
        confine: request.verdict.confine,
        rule: if request.grant.is_some() { &outcome.rule } else { &request.verdict.rule },
        risk: if replaced { outcome.risk } else { request.risk },
        decision: decided.map(|decision| decision.word),
        seconds: decided.map(|decision| decision.at.since(request.created_at).as_secs_f64()),
    };
    comparison.add(&recorded, &outcome);
    Some(outcome)
}

impl Gate {
    /// What a candidate would have done with all requests on record. Reads pages, judges on a thread for slow work,
    /// and ends when it is dropped.
    pub async fn simulate(
        &self,
        actor: &Actor,
        text: &str,
        mut progress: impl FnMut(SimulationProgress) + Send,
    ) -> Result<Report, GateError> {
        self.acting(actor, &[Role::Reviewer, Role::Admin, Role::Auditor])?;
        let version = self.parse(text).await?;
        let (_, of) = self.store.head().await?;
        let mut comparison = Comparison::new();
        let (mut after, mut requests) = (0, 0);
        loop {
            let page = self.store.history(after, PAGE).await?;
            let Some(last) = page.last().map(|request| request.seq) else { break };
            after = last;
            let (version, directory) = (version.clone(), self.store.directory());
            let judged = off_thread(move || {
                let mut part = Comparison::new();
                for request in page.iter().filter(|request| request.seq <= of) {
                    compare(&mut part, &version, &directory, request);
                }
                (part, page.len() as u64)
            });
            let (part, count) = judged.await?;
            comparison.merge(part);
            requests += count;
            progress(SimulationProgress { done: after.min(of), of, requests });
            if after >= of {
                break;
            }
            if self.cancel.is_cancelled() {
                return Err(GateError::Closing);
            }
        }
        Ok(comparison.report())
    }

    /// Sets a candidate that is evaluated beside the policy in force, without effect, on this node; or none.
    pub async fn set_shadow(&self, actor: &Actor, text: Option<&str>) -> Result<(), GateError> {
        let actor = &*self.acting(actor, &[Role::Admin])?;
        let shadowing = match text {
            None => None,
            Some(text) => Some(ShadowState {
                version: self.parse(text).await?,
                since: self.now(),
                by: actor.name.clone(),
                comparison: Comparison::new(),
            }),
        };
        *self.shadow.lock().unwrap_or_else(PoisonError::into_inner) = shadowing;
        Ok(())
    }

    /// The candidate of this node with its results, if there is one.
    pub fn shadow(&self, actor: &Actor) -> Result<Option<Shadow>, GateError> {
        self.acting(actor, &[Role::Reviewer, Role::Admin, Role::Auditor])?;
        let slot = self.shadow.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(slot.as_ref().map(|shadowing| Shadow {
            hash: shadowing.version.hash().to_owned(),
            since: shadowing.since,
            by: shadowing.by.clone(),
            report: shadowing.comparison.report(),
        }))
    }

    /// Evaluates the candidate, if there is one, for a new request. Takes microseconds, after the commit.
    pub(crate) fn look_at(&self, request: &Request) {
        let mut slot = self.shadow.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ShadowState { version, comparison, .. }) = slot.as_mut() {
            compare(comparison, version, &self.store.directory(), request);
        }
    }
}
