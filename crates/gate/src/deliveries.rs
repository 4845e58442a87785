//! The outbox as its workers see it: what this node just wrote, what is due, and how an attempt went.

use std::{pin::Pin, time::Duration};

use placet_store::{AttemptResult, Delivery, Done, Work};

use crate::{Gate, GateError};

/// Whoever brings agents behind us the answers they wait for.
pub trait Resume: std::fmt::Debug + Send + Sync {
    /// One attempt.
    fn resume<'a>(&'a self, delivery: &'a Delivery) -> Attempt<'a>;
}

/// How an attempt went, when it is over.
pub type Attempt<'a> = Pin<Box<dyn Future<Output = AttemptResult> + Send + 'a>>;

impl Gate {
    /// Takes deliveries that are due and that nobody has, if there are any.
    pub async fn lease_deliveries(&self, limit: u32, until: Duration) -> Result<Vec<Delivery>, GateError> {
        // A look costs nothing; a lease is a transaction.
        if !self.store.deliveries_due(self.now()).await? {
            return Ok(Vec::new());
        }
        let owner = self.store.owner().to_owned();
        match self.store.run(Work::Lease { owner, limit, until }).await? {
            Done::Leased(deliveries) => Ok(deliveries),
            _ => Err(placet_store::StoreError::Unknown.into()),
        }
    }

    /// Says how a delivery went that this node has.
    pub async fn attempted(&self, delivery: &Delivery, result: AttemptResult) -> Result<(), GateError> {
        let owner = self.store.owner().to_owned();
        self.store.run(Work::Attempt { id: delivery.id, owner, result }).await?;
        Ok(())
    }
}
