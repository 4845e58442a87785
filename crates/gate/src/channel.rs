//! Channels: the ways by which deliveries reach people and programs. Each has a name, limits of its own, and one way to deliver. The
//! worker that runs them, the retries and the leases are the same for all.

use std::{pin::Pin, sync::Arc, time::Duration};

use placet_core::Request;
use placet_store::{AttemptResult, Channels, Delivery};
use tokio::sync::oneshot;

use crate::{Gate, GateError, UpcomingAnswer};

/// A way by which deliveries arrive.
pub trait Channel: std::fmt::Debug + Send + Sync {
    /// Its name in the outbox.
    fn name(&self) -> &'static str;

    /// How much of it runs at once, and how long one attempt may take.
    fn limits(&self) -> ChannelLimits;

    /// One attempt. It may be repeated: a delivery arrives at least once.
    fn deliver<'a>(&'a self, due: &'a Due) -> Attempt<'a>;

    /// Connects while an answer is being committed, so that the answer need not wait for it. `None` where that is of no use, or where
    /// there is no room.
    fn get_ready(&self, coming: UpcomingAnswer, told: oneshot::Receiver<Due>) -> Option<Line> {
        let _ = (coming, told);
        None
    }
}

/// A door whose followers have news posted to them over HTTP. It says what is posted where; the channel posts it.
pub trait PostSource: std::fmt::Debug + Send + Sync {
    /// The name of the channel in the outbox.
    fn name(&self) -> &'static str;

    /// How long a receiver may take.
    fn timeout(&self) -> Duration;

    /// What is posted for a delivery; or how the attempt went, if nothing is.
    fn post<'a>(&'a self, delivery: &'a Delivery) -> Posting<'a>;

    /// Remembers that the receiver took this. Only then it is recorded as delivered.
    fn posted<'a>(&'a self, delivery: &'a Delivery, post: &'a Post) -> Attempt<'a>;
}

/// A message to one address.
#[derive(Clone)]
pub struct Post {
    /// Where it goes.
    pub url: String,
    /// Headers besides the usual ones. Their values are secrets.
    pub headers: Vec<(&'static str, String)>,
    /// What the body is.
    pub media: &'static str,
    /// The body.
    pub body: String,
    /// Whether nothing comes after it.
    pub last: bool,
}

// Headers and addresses hold secrets of whoever named them: they stay out of logs.
impl std::fmt::Debug for Post {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Post").field("media", &self.media).field("last", &self.last).finish_non_exhaustive()
    }
}

/// What is posted, once that is known.
pub type Posting<'a> = Pin<Box<dyn Future<Output = Result<Post, AttemptResult>> + Send + 'a>>;

/// What one channel may use. Channels do not take each other's turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelLimits {
    /// How many attempts are made at once. What comes beyond that waits in the outbox.
    pub at_once: usize,
    /// How long this node alone may attempt a delivery that it leased: longer than an attempt usually takes.
    pub lease: Duration,
}

/// A delivery that is due.
#[derive(Debug)]
pub struct Due {
    /// The delivery.
    pub delivery: Delivery,
    /// The request with its answer, if it is known already.
    pub request: Option<Arc<Request>>,
}

/// An attempt to deliver: it ends with how it went.
pub type Attempt<'a> = Pin<Box<dyn Future<Output = AttemptResult> + Send + 'a>>;

/// A connection for one answer: it ends with the delivery and how that went. `None` if it was not needed, or if the worker did not hand
/// it the delivery, which then stays in the outbox.
pub type Line = Pin<Box<dyn Future<Output = Option<(Delivery, AttemptResult)>> + Send>>;

impl Gate {
    /// Returns when this node has raised deliveries that nobody leased yet, so that the worker looks at once.
    pub async fn deliveries_raised(&self) {
        self.raised.notified().await;
    }

    /// Whether any delivery of these channels is due that nobody has. A look costs little; a lease is a transaction.
    pub async fn is_delivery_due(&self, channels: Channels) -> Result<bool, GateError> {
        Ok(self.store.deliveries_due(self.now(), channels).await?)
    }

    /// Leases deliveries of these channels that are due and that nobody has.
    pub async fn lease_deliveries(
        &self,
        channels: Channels,
        limit: u32,
        lease: Duration,
    ) -> Result<Vec<Delivery>, GateError> {
        Ok(self.store.lease(self.store.owner(), channels, limit, lease).await?)
    }

    /// Records how an attempt of this node went.
    pub async fn attempted(&self, delivery: &Delivery, result: AttemptResult) -> Result<(), GateError> {
        Ok(self.store.record_attempt(delivery.clone(), self.store.owner(), result).await?)
    }
}
