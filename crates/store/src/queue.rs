//! The writer's bounded queue: an urgent lane, and a lane for new requests that is fair per principal.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use crate::work::{Job, Lane};

/// Most commands in one batch.
pub(crate) const BATCH_JOBS: usize = 256;
/// Most bytes in one batch, roughly.
pub(crate) const BATCH_BYTES: usize = 4 * 1024 * 1024;

/// Bounds of the lanes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) urgent: usize,
    pub(crate) submit: usize,
    pub(crate) submit_per_principal: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { urgent: 8192, submit: 8192, submit_per_principal: 4096 }
    }
}

/// Two lanes, and the bell that wakes the writer.
#[derive(Debug)]
pub(crate) struct Queue {
    bounds: Bounds,
    // A std mutex: held for a few pushes and pops, never across an await.
    lanes: Mutex<Lanes>,
    // Rung after every push; the writer is the only one who waits for it.
    bell: Notify,
}

#[derive(Debug, Default)]
struct Lanes {
    urgent: VecDeque<Job>,
    // Each principal's own queue, and the order in which they take turns. A principal is in `turns` exactly when
    // its queue is not empty.
    submit: HashMap<String, VecDeque<Job>>,
    turns: VecDeque<String>,
    submit_count: usize,
    closed: bool,
}

impl Queue {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self { bounds, lanes: Mutex::default(), bell: Notify::new() }
    }

    fn lanes(&self) -> MutexGuard<'_, Lanes> {
        // A panic while holding the lock leaves plain queues behind, which are still good.
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a job in its lane. `false` when the lane is full or the store has stopped; the job is dropped then.
    #[must_use]
    pub(crate) fn push(&self, job: Job) -> bool {
        let mut lanes = self.lanes();
        if lanes.closed {
            return false;
        }
        match job.work.lane() {
            (Lane::Urgent, _) => {
                if lanes.urgent.len() >= self.bounds.urgent {
                    return false;
                }
                lanes.urgent.push_back(job);
            }
            (Lane::Submit, principal) => {
                let waiting = lanes.submit.get(principal).map_or(0, VecDeque::len);
                if lanes.submit_count >= self.bounds.submit || waiting >= self.bounds.submit_per_principal {
                    return false;
                }
                let principal = principal.to_owned();
                if waiting == 0 {
                    lanes.turns.push_back(principal.clone());
                }
                lanes.submit.entry(principal).or_default().push_back(job);
                lanes.submit_count += 1;
            }
        }
        drop(lanes);
        self.bell.notify_one();
        true
    }

    /// No more jobs; what is queued is still written.
    pub(crate) fn close(&self) {
        self.lanes().closed = true;
        self.bell.notify_one();
    }

    /// How many jobs wait.
    pub(crate) fn len(&self) -> usize {
        let lanes = self.lanes();
        lanes.urgent.len() + lanes.submit_count
    }

    /// Everything that queued up, within the limits of a batch; `None` once closed and empty.
    pub(crate) async fn next_batch(&self) -> Option<Vec<Job>> {
        loop {
            let notified = self.bell.notified();
            {
                let mut lanes = self.lanes();
                let batch = lanes.take();
                if !batch.is_empty() {
                    return Some(batch);
                }
                if lanes.closed {
                    return None;
                }
            }
            notified.await;
        }
    }
}

impl Lanes {
    fn take(&mut self) -> Vec<Job> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while batch.len() < BATCH_JOBS && bytes < BATCH_BYTES {
            // Urgent work first, always: a reviewer never waits behind a flood of new requests.
            let next = match self.urgent.front() {
                Some(job) if job.work.alone() && !batch.is_empty() => break,
                Some(_) => self.urgent.pop_front(),
                None => self.next_submit(),
            };
            let Some(job) = next else { break };
            bytes += job.weight;
            let alone = job.work.alone();
            batch.push(job);
            if alone {
                break;
            }
        }
        batch
    }

    /// One job of the principal whose turn it is.
    fn next_submit(&mut self) -> Option<Job> {
        let principal = self.turns.pop_front()?;
        let queue = self.submit.get_mut(&principal)?;
        let job = queue.pop_front()?;
        self.submit_count -= 1;
        if queue.is_empty() {
            self.submit.remove(&principal);
        } else {
            self.turns.push_back(principal);
        }
        Some(job)
    }
}
