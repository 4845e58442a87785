//! A message on a waiting task: a decision if a reviewer says it, and chatter otherwise.

use std::sync::Arc;

use placet_a2a::{
    Fault, Message,
    desk::{ItemAnswer, said},
};
use placet_core::{Actor, DecisionWord, Request, Role, State as Life};
use placet_gate::Decision;

use super::{desk::fault, task::Lineage};
use crate::State;

/// Casts the votes that the message holds. The agent that asked, and every other agent, can say what it likes: its words
/// change nothing, and the task goes on waiting.
pub(super) async fn cast(
    state: &State,
    actor: &Actor,
    message: &Message,
    requests: &[Arc<Request>],
) -> Result<(), Fault> {
    if actor.role == Role::Agent {
        return Ok(());
    }
    // Read whole before the first vote is cast: half a message decides nothing.
    let mut votes = Vec::new();
    for said in said(message)? {
        let now = state.gate.now();
        let waiting = requests.iter().filter(|request| request.state_at(now) == Life::Pending);
        let meant: Vec<&Arc<Request>> = waiting.filter(|request| means(&said, request)).collect();
        if meant.is_empty() {
            let which = said.item.as_deref().unwrap_or("any item");
            return Err(Fault::InvalidParams(format!("nothing called `{which}` waits in this task")));
        }
        for request in meant {
            votes.push(decision(&said, request)?);
        }
    }
    for vote in votes {
        state.gate.decide(actor, vote).await.map_err(|error| fault(state, error))?;
    }
    Ok(())
}

/// Whether a word is about this item: it names it, its call, or nothing at all.
fn means(said: &ItemAnswer, request: &Request) -> bool {
    let Some(item) = &said.item else { return true };
    let context = request.content.as_ref().map(|content| &content.context);
    let called = |name: &str| context.and_then(|context| context.get(name)?.as_str()) == Some(item);
    *item == request.id.to_string()
        || Lineage::of(request).and_then(|lineage| lineage.id).as_ref() == Some(item)
        || called("call_id")
        || called("confirmation_id")
}

fn decision(said: &ItemAnswer, request: &Request) -> Result<Decision, Fault> {
    // Most of these clients send no digest of what they saw, so they can say yes only to what was asked in the first place.
    if said.digest.is_none() && said.word != DecisionWord::Deny && request.proposal.is_some() {
        let why = "somebody proposed other arguments meanwhile: send the `digest` that you saw";
        return Err(Fault::Unsupported(why.to_owned()));
    }
    let seen = Decision::on(request, said.word);
    let digest = match &said.digest {
        None => seen.digest,
        Some(text) => {
            text.parse().map_err(|_| Fault::InvalidParams("`digest` is not one of ours".to_owned()))?
        }
    };
    Ok(Decision {
        digest,
        version: said.version.unwrap_or(seen.version),
        reason: said.reason.clone(),
        arguments: said.arguments.clone(),
        answer: said.answer.clone(),
        ..seen
    })
}
