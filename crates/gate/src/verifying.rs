//! Verification of the ledger on demand: one at a time, with progress and the last result.

use std::sync::{Arc, Mutex, PoisonError};

use placet_core::{Actor, Digest, Role, Time};
use placet_store::{Progress, VerifyError};
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore},
};

use crate::{Gate, GateError, policies::off_thread};

/// What a verification found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    /// Whether everything is correct.
    pub ok: bool,
    /// How many entries were checked.
    pub entries: u64,
    /// The hash of the last correct entry.
    pub head: Option<Digest>,
    /// The first error.
    pub problem: Option<String>,
    /// When it ended.
    pub at: Time,
}

/// The right to verify. Only one caller has it.
#[derive(Debug)]
pub struct Turn(#[expect(dead_code, reason = "held for its drop")] OwnedSemaphorePermit);

/// The gate's state of verification.
#[derive(Debug)]
pub(crate) struct Verifying {
    // One at a time, because each reads everything.
    turn: Arc<Semaphore>,
    // A std mutex: held to copy, never across an await.
    last: Mutex<Option<Verification>>,
}

impl Default for Verifying {
    fn default() -> Self {
        Self { turn: Arc::new(Semaphore::new(1)), last: Mutex::default() }
    }
}

impl Gate {
    /// The right to verify the ledger. None while another verification runs.
    pub fn verify_turn(&self, actor: &Actor) -> Result<Option<Turn>, GateError> {
        self.acting(actor, &[Role::Reviewer, Role::Auditor])?;
        Ok(self.verifying.turn.clone().try_acquire_owned().ok().map(Turn))
    }

    /// Checks everything, on its own thread. Dropped, it ends at the next page.
    pub async fn verify_ledger(
        &self,
        turn: Turn,
        mut progress: impl FnMut(Progress) + Send + 'static,
    ) -> Result<Verification, GateError> {
        let dropped = self.cancel.child_token();
        let guard = dropped.clone().drop_guard();
        let (store, handle) = (self.store.clone(), Handle::current());
        let found = off_thread(move || {
            // Kept until the work ends, even if the caller leaves.
            let _turn = turn;
            let mut done = 0;
            let verified = handle.block_on(async {
                tokio::select! {
                    verified = store.verify(|at| { done = at.done; progress(at); }) => Some(verified),
                    () = dropped.cancelled() => None,
                }
            });
            (verified, done)
        });
        let (verified, done) = found.await?;
        drop(guard);
        let at = self.now();
        let found = match verified.ok_or(GateError::Closing)? {
            Ok(good) => {
                Verification { ok: true, entries: good.entries, head: Some(good.head), problem: None, at }
            }
            // A failed read says nothing about the stored data.
            Err(VerifyError::Store(error)) => return Err(error.into()),
            Err(bad) => {
                Verification { ok: false, entries: done, head: None, problem: Some(bad.to_string()), at }
            }
        };
        *self.verifying.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(found.clone());
        Ok(found)
    }

    /// The number of ledger entries, the hash of the last one, and the result of this server's last verification.
    pub async fn ledger_status(
        &self,
        actor: &Actor,
    ) -> Result<(u64, Digest, Option<Verification>), GateError> {
        self.acting(actor, &[Role::Reviewer, Role::Auditor])?;
        let (entries, head) = self.store.ledger_head().await?;
        let last = self.verifying.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok((entries, head, last))
    }
}
