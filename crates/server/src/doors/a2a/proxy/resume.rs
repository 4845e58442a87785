//! The channel that brings agents behind us the answers to their pauses: one complete answer, when every item is decided, and once.
//!
//! Every decision on an item raises a delivery in its own transaction; the last one finds the pause complete.

use std::{sync::Arc, time::Duration};

use placet_core::{AnswerBack, Request, State as Life, Time};
use placet_gate::{Attempt, AttemptResult, Channel, ChannelLimits, Delivery, Due, GateError};

use super::{super::task::Lineage, agent::Agent, exchange::Exchange, hold, kept};
use crate::State;

/// How many answers are sent at once.
const AT_ONCE: usize = 256;
/// How long this node alone may bring an answer: longer than the agent may take to say that it has it.
const LEASE: Duration = Duration::from_mins(1);

/// The channel that brings agents behind us the answers that they wait for.
#[derive(Debug, Clone)]
pub struct Resumes(State);

impl Resumes {
    /// For the agents of a server.
    pub fn of(state: &State) -> Self {
        Self(state.clone())
    }
}

impl Channel for Resumes {
    fn name(&self) -> &'static str {
        AnswerBack::Resume.channel()
    }

    fn limits(&self) -> ChannelLimits {
        ChannelLimits { at_once: AT_ONCE, lease: LEASE }
    }

    /// Sends the answer if the pause is complete.
    fn deliver<'a>(&'a self, due: &'a Due) -> Attempt<'a> {
        Box::pin(async {
            let result = attempt(&self.0, &due.delivery).await;
            result.unwrap_or_else(|error| AttemptResult::Failed(error.to_string()))
        })
    }
}

async fn attempt(state: &State, delivery: &Delivery) -> Result<AttemptResult, GateError> {
    let refused = |why: &str| Ok(AttemptResult::Refused(why.to_owned()));
    let request = match delivery.request() {
        Some(id) => state.gate.store().get(id).await?,
        None => None,
    };
    let Some(request) = request else {
        return refused("the request is gone");
    };
    let Some(lineage) = Lineage::of(&request) else {
        return refused("what was asked was erased");
    };
    let Some(agent) = state.proxy.agent(&lineage.namespace, &lineage.agent) else {
        // The operator may put it back.
        return Ok(AttemptResult::Failed(format!(
            "there is no agent {}/{}",
            lineage.namespace, lineage.agent
        )));
    };
    answer(state, agent, &lineage.task, request.group.as_deref(), delivery.attempts).await
}

/// Looks whether a pause that nobody tells of any more can be answered: its delivery was given up, or met another pause.
pub(super) async fn catch_up(state: &State, agent: Arc<Agent>, task: &str) -> Result<(), GateError> {
    if let AttemptResult::Failed(why) = answer(state, agent, task, None, 0).await? {
        tracing::debug!(task, why, "an answer could not be sent");
    }
    Ok(())
}

/// Answers the pause of a task, if it is this one and every item of it is decided.
async fn answer(
    state: &State,
    agent: Arc<Agent>,
    task: &str,
    group: Option<&str>,
    attempts: u32,
) -> Result<AttemptResult, GateError> {
    // A slow attempt must not meet its own repetition.
    let Some(_turn) = state.proxy.turn_soon(&kept::key(&agent, task)).await else {
        return Ok(AttemptResult::Failed("the answer is being sent".to_owned()));
    };
    let Some(kept) = kept::load(&state.gate, &agent, task).await? else {
        return Ok(AttemptResult::Refused("the task is not remembered".to_owned()));
    };
    let open = kept.facts.open_pause().map(|pause| pause.group.as_str());
    if open.is_none() || group.is_some_and(|group| open != Some(group)) {
        // Answered, stale or lost: all were told already.
        return Ok(AttemptResult::Delivered);
    }
    let mut requests = hold::requests(state, &kept).await?;
    let items = requests.first().and_then(|request| Lineage::of(request)).map(|lineage| lineage.items);
    let now = state.gate.now();
    let whole = items == Some(requests.len());
    if !whole || requests.iter().any(|request| request.state_at(now) == Life::Pending) {
        // The last decision has a delivery of its own.
        return Ok(AttemptResult::Delivered);
    }
    if is_late(&requests, now, state.gate.settings().claim_window) {
        hold::withdraw(state, &kept, "approved, and the agent could not be told in time").await?;
        requests = hold::requests(state, &kept).await?;
    }
    Exchange { state, agent, kept, requests, attempts }.run().await
}

/// Whether the last item was decided so long ago that a yes is not meant any more: the agent was away. What was claimed for an
/// answer that may have left stays as it is.
fn is_late(requests: &[Arc<Request>], now: Time, window: Duration) -> bool {
    let decided = requests.iter().map(|request| match &request.decision {
        Some(decision) => decision.at,
        None => request.expires_at,
    });
    decided.max().is_some_and(|last| now > last.plus(window))
}
