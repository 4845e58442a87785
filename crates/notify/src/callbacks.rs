//! Calling agents back: the answer goes to the address they wait at, at once, and again until it arrives or is too late.

use std::{sync::Arc, time::Duration};

use placet_egress::Sockets;
use placet_gate::{ANSWER_TO, AttemptResult, CALLBACK, Delivery, Gate, GateError, News};
use tokio::{sync::Semaphore, task::JoinSet};
use tokio_util::sync::CancellationToken;

use crate::frame::frame;

/// How many calls are made at once. What comes beyond that waits in the outbox.
const AT_ONCE: usize = 256;
/// How often the outbox is looked at for what failed before, or what a node that is gone has left.
const LOOK: Duration = Duration::from_millis(250);
/// How long a delivery that was taken from the outbox is nobody else's.
const LEASE: Duration = Duration::from_secs(20);
/// How long after the deadline an answer is still sent: the agent's own clock began a little later than ours.
const LATE: Duration = Duration::from_secs(5);
/// How long calls in flight may take once the server stops.
const GRACE: Duration = Duration::from_secs(2);

/// The worker that calls agents back.
#[derive(Debug, Clone)]
pub struct Callbacks {
    gate: Gate,
    sockets: Sockets,
    turns: Arc<Semaphore>,
}

impl Callbacks {
    /// For the agents of a gate.
    pub fn new(gate: Gate, sockets: Sockets) -> Self {
        Self { gate, sockets, turns: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// Runs until cancelled. Answers of this node are called back as soon as they are committed; the outbox is only
    /// looked at for what is left over.
    pub async fn run(self, cancel: CancellationToken) {
        let mut calls = JoinSet::new();
        loop {
            match self.follow(&mut calls, &cancel).await {
                Ok(()) | Err(GateError::Closing) => break,
                Err(error) => {
                    tracing::warn!(%error, "the ledger cannot be followed; trying again");
                    tokio::time::sleep(LOOK).await;
                }
            }
        }
        // Whatever is not done by then is in the outbox, and is done by whoever starts next.
        let _ = tokio::time::timeout(GRACE, async { while calls.join_next().await.is_some() {} }).await;
    }

    async fn follow(&self, calls: &mut JoinSet<()>, cancel: &CancellationToken) -> Result<(), GateError> {
        let mut feed = self.gate.feed(None).await?;
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Ok(()),
                news = feed.next() => self.take(&news?, calls),
                Some(_) = calls.join_next(), if !calls.is_empty() => {}
                _ = look.tick() => {
                    if let Err(error) = self.left_over(calls).await {
                        tracing::warn!(%error, "the outbox cannot be read; trying again");
                    }
                }
            }
        }
    }

    /// An answer that was just committed. The node that committed it has it from the start; which one that was is not
    /// always said, because what others hear of a commit can be quicker than its writer.
    fn take(&self, news: &News, calls: &mut JoinSet<()>) {
        if let Some(delivery) = Delivery::of_answer(news) {
            self.start(delivery, news.own, calls);
        }
    }

    /// What failed before and is due, or was left by a node that is gone.
    async fn left_over(&self, calls: &mut JoinSet<()>) -> Result<(), GateError> {
        let room = u32::try_from(self.turns.available_permits()).unwrap_or(u32::MAX);
        if room == 0 {
            return Ok(());
        }
        for delivery in self.gate.lease_deliveries(room.min(64), LEASE).await? {
            self.start(delivery, true, calls);
        }
        Ok(())
    }

    fn start(&self, delivery: Delivery, ours: bool, calls: &mut JoinSet<()>) {
        // No turn: its lease runs out, and it is taken from the outbox later.
        let Ok(turn) = self.turns.clone().try_acquire_owned() else { return };
        let this = self.clone();
        calls.spawn(async move {
            if !ours && !this.gate.store().holds(delivery.id).await.unwrap_or(false) {
                return;
            }
            let result = this.call(&delivery).await;
            let outcome = match &result {
                AttemptResult::Delivered => "delivered",
                AttemptResult::Failed(why) => {
                    tracing::debug!(request = %delivery.request, why, "an answer was not taken; trying again");
                    "failed"
                }
                AttemptResult::Refused(why) => {
                    tracing::warn!(request = %delivery.request, why, "an answer cannot be delivered");
                    "refused"
                }
            };
            metrics::counter!("placet_callbacks_total", "outcome" => outcome).increment(1);
            // If this is lost, the answer is sent once more: agents take the first and are gone by then.
            if let Err(error) = this.gate.attempted(&delivery, result).await {
                tracing::warn!(%error, request = %delivery.request, "an attempt could not be recorded");
            }
            drop(turn);
        });
    }

    /// One attempt.
    async fn call(&self, delivery: &Delivery) -> AttemptResult {
        if delivery.channel != CALLBACK {
            return AttemptResult::Refused(format!("there is no channel `{}`", delivery.channel));
        }
        let found = async {
            let Some(request) = self.gate.store().get(delivery.request).await? else { return Ok(None) };
            let event = self.gate.store().event_of(delivery.request).await?;
            Ok::<_, placet_gate::StoreError>(event.map(|event| (request, event)))
        };
        let (request, event) = match found.await {
            Ok(Some(found)) => found,
            Ok(None) => return AttemptResult::Refused("the event that asked is gone".to_owned()),
            Err(error) => return AttemptResult::Failed(error.to_string()),
        };
        if self.gate.now() > request.expires_at.plus(LATE) {
            return AttemptResult::Refused("too late: the agent's own deadline has passed".to_owned());
        }
        let context = request.content.as_ref().map(|content| &content.context);
        let url = context.and_then(|context| context.get(ANSWER_TO)).and_then(|url| url.as_str());
        let (Some(url), Some(text)) = (url, frame(&request, &event)) else {
            return AttemptResult::Refused("what was asked or answered was erased".to_owned());
        };
        match self.sockets.send_text(url, &text).await {
            Ok(()) => AttemptResult::Delivered,
            Err(error) if error.is_final() => AttemptResult::Refused(error.to_string()),
            Err(error) => AttemptResult::Failed(error.to_string()),
        }
    }
}
