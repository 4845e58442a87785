//! Requests as they were last committed, kept for a while: most reads follow soon after a write.
//!
//! Sound because one process has the file to itself: whatever is here is what the last commit wrote.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use placet_core::{Request, RequestId};

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
            if generations.young.len() >= GENERATION {
                generations.old = std::mem::take(&mut generations.young);
            }
            generations.young.insert(request.id, request);
        }
    }
}
