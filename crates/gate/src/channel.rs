//! Channels: ways by which somebody is told. Each has a name, limits of its own, and one way to deliver; the worker that runs them, the
//! retries and the leases are the same for all.

use std::{pin::Pin, sync::Arc, time::Duration};

use placet_core::Request;
use placet_store::{AttemptResult, Channels, Delivery};
use tokio::sync::oneshot;

use crate::{Coming, Gate, GateError};

/// A way by which somebody is told.
pub trait Channel: std::fmt::Debug + Send + Sync {
    /// Its name in the outbox.
    fn name(&self) -> &'static str;

    /// How much of it runs at once, and how long one attempt may take.
    fn limits(&self) -> ChannelLimits;

    /// One attempt. It may be repeated: a delivery arrives at least once.
    fn deliver<'a>(&'a self, due: &'a Due) -> Attempt<'a>;

    /// Gets ready for an answer that is being committed, so that it need not wait for a connection. Nothing where that is of no use, or
    /// there is no room for it.
    fn get_ready(&self, coming: Coming, told: oneshot::Receiver<Due>) -> Option<Line> {
        let _ = (coming, told);
        None
    }
}

/// What one channel may use. Channels do not take each other's turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelLimits {
    /// How many attempts are made at once. What comes beyond that waits in the outbox.
    pub at_once: usize,
    /// How long a delivery that was taken from the outbox is no other node's: longer than an attempt usually takes.
    pub lease: Duration,
}

/// A delivery to be made, and what is known of it.
#[derive(Debug)]
pub struct Due {
    /// Which one.
    pub delivery: Delivery,
    /// The request with its answer, if it need not be read.
    pub request: Option<Arc<Request>>,
}

/// How an attempt went, when it is over.
pub type Attempt<'a> = Pin<Box<dyn Future<Output = AttemptResult> + Send + 'a>>;

/// Something that got ready for one answer: the delivery that it was told of, and how that went. Nothing if it was not needed, or if
/// nobody told it of the delivery; that one stays in the outbox.
pub type Line = Pin<Box<dyn Future<Output = Option<(Delivery, AttemptResult)>> + Send>>;

impl Gate {
    /// Whether any delivery of these channels is due that nobody has. A look costs little; a lease is a transaction.
    pub async fn is_delivery_due(&self, channels: Channels) -> Result<bool, GateError> {
        Ok(self.store.deliveries_due(self.now(), channels).await?)
    }

    /// Takes deliveries of these channels that are due and that nobody has.
    pub async fn lease_deliveries(
        &self,
        channels: Channels,
        limit: u32,
        lease: Duration,
    ) -> Result<Vec<Delivery>, GateError> {
        Ok(self.store.lease(self.store.owner(), channels, limit, lease).await?)
    }

    /// Says how a delivery went that this node has.
    pub async fn attempted(&self, delivery: &Delivery, result: AttemptResult) -> Result<(), GateError> {
        Ok(self.store.record_attempt(delivery.id, self.store.owner(), result).await?)
    }
}
