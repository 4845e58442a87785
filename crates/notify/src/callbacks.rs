//! The channel that calls agents back: the answer goes to the address they wait at, at once, and again until it arrives or is too late.

use std::{sync::Arc, time::Duration};

use placet_core::{AnswerBack, Request};
use placet_egress::{EgressError, Sockets};
use placet_gate::{
    Attempt, AttemptResult, Channel, ChannelLimits, Delivery, Due, Gate, Line, StoreError, StoredEvent,
    UpcomingAnswer,
};
use serde_json::Value;
use tokio::sync::{Semaphore, oneshot};

use crate::{frame::frame, line};

/// How many calls are made at once. What comes beyond that waits in the outbox.
const AT_ONCE: usize = 256;
/// How many connections may be open for answers that are not committed yet.
const AHEAD: usize = 64;
/// How long this node alone may attempt a delivery that it leased.
const LEASE: Duration = Duration::from_secs(20);
/// How long after the deadline an answer is still sent: the agent's own clock began a little later than ours.
const LATE: Duration = Duration::from_secs(5);

/// The channel.
#[derive(Debug, Clone)]
pub struct Callbacks {
    pub(crate) gate: Gate,
    pub(crate) sockets: Sockets,
    ahead: Arc<Semaphore>,
    pub(crate) patience: Duration,
}

impl Callbacks {
    /// For the agents of a gate.
    pub fn new(gate: Gate, sockets: Sockets) -> Self {
        Self { gate, sockets, ahead: Arc::new(Semaphore::new(AHEAD)), patience: line::PATIENCE }
    }

    /// With how long a connection waits for its answer.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    async fn call(&self, due: &Due) -> AttemptResult {
        let found = async {
            let Some(id) = due.delivery.request() else { return Ok(None) };
            let request = match &due.request {
                Some(request) => Some(request.clone()),
                None => self.gate.store().get(id).await?,
            };
            Ok::<_, StoreError>(request.zip(self.gate.store().event_of(id).await?))
        };
        let (request, event) = match found.await {
            Ok(Some(found)) => found,
            Ok(None) => return AttemptResult::Refused("the event that asked is gone".to_owned()),
            Err(error) => return AttemptResult::Failed(error.to_string()),
        };
        let (url, text) = match self.text(&request, &event) {
            Ok(message) => message,
            Err(result) => return result,
        };
        result(self.sockets.send_text(url, &text).await)
    }

    /// The address, and the text that is sent there; or why nothing is sent.
    pub(crate) fn text<'r>(
        &self,
        request: &'r Request,
        event: &StoredEvent,
    ) -> Result<(&'r str, String), AttemptResult> {
        let refused = |why: &str| AttemptResult::Refused(why.to_owned());
        if self.gate.now() > request.expires_at.plus(LATE) {
            return Err(refused("too late: the agent's own deadline has passed"));
        }
        let url = Delivery::address(request).and_then(Value::as_str);
        url.zip(frame(request, event)).ok_or_else(|| refused("what was asked or answered was erased"))
    }
}

impl Channel for Callbacks {
    fn name(&self) -> &'static str {
        AnswerBack::Callback.channel()
    }

    fn limits(&self) -> ChannelLimits {
        ChannelLimits { at_once: AT_ONCE, lease: LEASE }
    }

    fn deliver<'a>(&'a self, due: &'a Due) -> Attempt<'a> {
        Box::pin(self.call(due))
    }

    fn get_ready(&self, coming: UpcomingAnswer, told: oneshot::Receiver<Due>) -> Option<Line> {
        let ahead = self.ahead.clone().try_acquire_owned().ok()?;
        Some(Box::pin(line::hold(self.clone(), coming, told, ahead)))
    }
}

pub(crate) fn result(sent: Result<(), EgressError>) -> AttemptResult {
    match sent {
        Ok(()) => AttemptResult::Delivered,
        Err(error) if error.is_final() => AttemptResult::Refused(error.to_string()),
        Err(error) => AttemptResult::Failed(error.to_string()),
    }
}
