//! Requests as they were last committed, kept for a while: most reads follow soon after a write.
//!
//! Sound because one process has the file to itself: whatever is here is what the last commit wrote.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use placet_core::{Body, Request, RequestId};
use serde_json::{Map, Value};

/// Requests in each of the two generations.
const GENERATION: usize = 1024;

/// Two generations: what was not asked for while a whole generation passed is forgotten.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    // A std mutex: held for a map operation, never across an await.
    generations: Mutex<Generations>,
}

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<RequestId, Arc<Request>>,
    old: HashMap<RequestId, Arc<Request>>,
}

impl Recent {
    fn generations(&self) -> MutexGuard<'_, Generations> {
        self.generations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The request as it was last committed, if it is still here.
    pub(crate) fn get(&self, id: RequestId) -> Option<Arc<Request>> {
        let generations = self.generations();
        generations.young.get(&id).or_else(|| generations.old.get(&id)).cloned()
    }

    /// Takes over what a commit wrote. Only after the commit, and before anybody is answered.
    pub(crate) fn committed(&self, requests: impl Iterator<Item = Arc<Request>>) {
        let mut generations = self.generations();
        for request in requests {
            if !small(&request) {
                generations.young.remove(&request.id);
                generations.old.remove(&request.id);
                continue;
            }
            if generations.young.len() >= GENERATION {
                generations.old = std::mem::take(&mut generations.young);
            }
            generations.young.insert(request.id, request);
        }
    }
}

/// Largest content that is kept, in bytes of text: bounds the memory of all that is kept.
const SMALL: usize = 4096;

/// Whether a request is an action with little to it; nearly all are. The rest is read from the file.
fn small(request: &Request) -> bool {
    let mut left = SMALL;
    let Some(content) = &request.content else { return false };
    let Body::Action(action) = &content.body else { return false };
    let replaced = [
        request.proposal.as_ref().and_then(|proposal| proposal.content.as_ref()),
        request.decision.as_ref().and_then(|decision| decision.content.as_ref()),
    ];
    let texts = content.summary.as_ref().map_or(0, String::len) + request.votes.len() * 200;
    spend(texts, &mut left)
        && action.arguments_schema.is_none()
        && spend_map(&action.arguments, &mut left)
        && spend_map(&content.context, &mut left)
        && replaced.into_iter().flatten().all(|content| {
            content.answer.is_none() && content.arguments.as_ref().is_none_or(|map| spend_map(map, &mut left))
        })
}

fn spend(bytes: usize, left: &mut usize) -> bool {
    let enough = *left >= bytes;
    *left = left.saturating_sub(bytes);
    enough
}

fn spend_map(map: &Map<String, Value>, left: &mut usize) -> bool {
    map.iter().all(|(key, value)| spend(key.len() + 32, left) && spend_value(value, left))
}

fn spend_value(value: &Value, left: &mut usize) -> bool {
    match value {
        Value::String(text) => spend(text.len(), left),
        Value::Array(items) => items.iter().all(|item| spend(32, left) && spend_value(item, left)),
        Value::Object(map) => spend_map(map, left),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}
