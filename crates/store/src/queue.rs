//! The writer's bounded queue: an urgent lane, and a lane for new requests that is fair per principal.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use crate::job::{BatchJob, Job, TableJob};

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

/// The work of one transaction.
#[derive(Debug)]
pub(crate) enum Transaction {
    /// Units that share it, in order.
    Batch(Vec<BatchJob>),
    /// One unit on a table beside the ledger.
    Table(TableJob),
}

#[derive(Debug, Default)]
struct Lanes {
    urgent: VecDeque<Job>,
    // Each principal's own queue, and the order in which they take turns. A principal is in `turns` exactly when
    // its queue is not empty.
    submit: HashMap<String, VecDeque<BatchJob>>,
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
        let has_room = match job {
            Job::Batch(job) => match job.submitter().map(str::to_owned) {
                Some(principal) => lanes.push_submit(principal, job, self.bounds),
                None => lanes.push_urgent(Job::Batch(job), self.bounds),
            },
            Job::Table(_) => lanes.push_urgent(job, self.bounds),
        };
        if !has_room {
            return false;
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

    /// The work of the next transaction: what has queued, within the limits of a batch. `None` once closed and empty.
    pub(crate) async fn next(&self) -> Option<Transaction> {
        loop {
            let notified = self.bell.notified();
            {
                let mut lanes = self.lanes();
                if let Some(transaction) = lanes.take() {
                    return Some(transaction);
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
    fn push_urgent(&mut self, job: Job, bounds: Bounds) -> bool {
        let has_room = self.urgent.len() < bounds.urgent;
        if has_room {
            self.urgent.push_back(job);
        }
        has_room
    }

    fn push_submit(&mut self, principal: String, job: BatchJob, bounds: Bounds) -> bool {
        let waiting = self.submit.get(&principal).map_or(0, VecDeque::len);
        if self.submit_count >= bounds.submit || waiting >= bounds.submit_per_principal {
            return false;
        }
        if waiting == 0 {
            self.turns.push_back(principal.clone());
        }
        self.submit.entry(principal).or_default().push_back(job);
        self.submit_count += 1;
        true
    }

    fn take(&mut self) -> Option<Transaction> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while batch.len() < BATCH_JOBS && bytes < BATCH_BYTES {
            // Urgent work always goes first: a reviewer never waits behind a flood of new requests.
            let job = match self.urgent.pop_front() {
                None => match self.next_submit() {
                    Some(job) => job,
                    None => break,
                },
                Some(Job::Batch(job)) if batch.is_empty() || !job.is_alone() => job,
                Some(Job::Table(job)) if batch.is_empty() => return Some(Transaction::Table(job)),
                // It has to wait for a transaction of its own.
                Some(job) => {
                    self.urgent.push_front(job);
                    break;
                }
            };
            bytes += job.weight();
            let is_alone = job.is_alone();
            batch.push(job);
            if is_alone {
                break;
            }
        }
        (!batch.is_empty()).then_some(Transaction::Batch(batch))
    }

    /// One job of the principal whose turn it is.
    fn next_submit(&mut self) -> Option<BatchJob> {
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
