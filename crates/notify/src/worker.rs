//! The worker that runs all channels: it hears of what was committed, leases what is left over in the outbox, and records how each
//! attempt went.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use futures_util::FutureExt as _;
use placet_core::{AnswerBack, RequestId};
use placet_gate::{AttemptResult, Channel, Channels, Delivery, Due, Gate, GateError, News, UpcomingAnswer};
use tokio::{
    sync::{Semaphore, mpsc, oneshot},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span, field};

/// How often the outbox is looked at, for retries and for deliveries of a node that is gone.
const LOOK: Duration = Duration::from_millis(250);
/// How long to wait before the ledger is followed again.
const AGAIN: Duration = Duration::from_secs(1);
/// Most deliveries that are taken from the outbox in one look, of each channel.
const TAKEN: usize = 64;
/// The same for channels that this server does not have: each is a transaction that only records that.
const STRANGERS: usize = 8;
const STRANGERS_LEASE: Duration = Duration::from_secs(20);
/// How long attempts in flight may take once the server stops.
const GRACE: Duration = Duration::from_secs(2);

/// The worker.
#[derive(Debug, Clone)]
pub struct Deliveries {
    gate: Gate,
    channels: Arc<[Served]>,
}

/// A channel, and the turns that it has.
#[derive(Debug, Clone)]
struct Served {
    channel: Arc<dyn Channel>,
    turns: Arc<Semaphore>,
}

/// What the worker has under way.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    running: JoinSet<EndedCall>,
    /// Who is connected already and waits for its answer.
    lines: HashMap<LineKey, (u64, oneshot::Sender<Due>)>,
    /// The rows whose attempts are made here. A lease may run out meanwhile: no second attempt begins here.
    under_way: HashMap<RowKey, UnderWay>,
    /// What was leased while an attempt at its row was under way, which has ended by now.
    again: Vec<Due>,
    /// How many lines there were.
    opened: u64,
}

/// A channel and a request: it has at most one line.
type LineKey = (&'static str, RequestId);
/// A channel and a subject: they have one row in the outbox.
type RowKey = (String, String);

/// An attempt that is under way.
#[derive(Debug)]
struct UnderWay {
    wanted: u64,
    /// Which line makes it, if one does.
    line: Option<u64>,
    /// Something newer of the same row. It was leased between the record of this attempt and its end.
    next: Option<Due>,
}

fn row_key(delivery: &Delivery) -> RowKey {
    (delivery.channel.clone(), delivery.subject.clone())
}

/// What ended.
#[derive(Debug)]
enum EndedCall {
    Attempt(RowKey),
    /// Which one: a line for the same answer may have begun meanwhile.
    Line(LineKey, u64),
}

impl Calls {
    /// Forgets what ended.
    fn over(&mut self, ended: &EndedCall) {
        match ended {
            EndedCall::Attempt(row) => {
                self.again.extend(self.under_way.remove(row).and_then(|attempt| attempt.next));
            }
            EndedCall::Line(key, number) => {
                let ended = self.under_way.extract_if(|_, attempt| attempt.line == Some(*number));
                self.again.extend(ended.filter_map(|(_, attempt)| attempt.next));
                if self.lines.get(key).is_some_and(|(line, _)| line == number) {
                    self.lines.remove(key);
                }
            }
        }
    }

    /// Waits for the next attempt or line to end; `None` when nothing is under way.
    pub(crate) async fn ended(&mut self) -> Option<()> {
        // Attempts do not panic: what they do is caught.
        if let Ok(ended) = self.running.join_next().await? {
            self.over(&ended);
        }
        Some(())
    }
}

impl Deliveries {
    /// For these channels.
    pub fn new(gate: Gate, channels: impl IntoIterator<Item = Arc<dyn Channel>>) -> Self {
        let served = |channel: Arc<dyn Channel>| {
            let turns = Arc::new(Semaphore::new(channel.limits().at_once));
            Served { channel, turns }
        };
        Self { gate, channels: channels.into_iter().map(served).collect() }
    }

    /// Runs until cancelled. What this node commits is delivered at once; the outbox is only looked at for what is left over.
    pub async fn run(self, cancel: CancellationToken) {
        let mut calls = Calls::default();
        let mut coming = self.gate.coming();
        loop {
            match self.follow(&mut coming, &mut calls, &cancel).await {
                Ok(()) | Err(GateError::Closing) => break,
                Err(error) => {
                    tracing::warn!(%error, "the ledger cannot be followed; trying again");
                    if cancel.run_until_cancelled(tokio::time::sleep(AGAIN)).await.is_none() {
                        break;
                    }
                }
            }
        }
        // What is not done by then stays in the outbox for the next start.
        calls.lines.clear();
        let _ = tokio::time::timeout(GRACE, async { while calls.ended().await.is_some() {} }).await;
    }

    async fn follow(
        &self,
        coming: &mut mpsc::Receiver<UpcomingAnswer>,
        calls: &mut Calls,
        cancel: &CancellationToken,
    ) -> Result<(), GateError> {
        let mut feed = self.gate.door_feed().await?;
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Ok(()),
                Some(coming) = coming.recv() => self.get_ready(coming, calls),
                news = feed.next() => {
                    let news = news?;
                    self.hear(&news, coming, calls).await;
                    if news.request.is_some_and(|request| request.followed().is_some()) {
                        look.reset_immediately();
                    }
                }
                () = self.gate.deliveries_raised() => look.reset_immediately(),
                Some(()) = calls.ended(), if !calls.running.is_empty() => self.go_on(calls).await,
                _ = look.tick() => {
                    if let Err(error) = self.left_over(calls).await {
                        tracing::warn!(%error, "the outbox cannot be read; trying again");
                    }
                }
            }
        }
    }

    /// News of the ledger. An answer's line is announced before the answer is committed, but the loop may see the commit
    /// first: without its line the answer would be sent twice, by a call and then by the line.
    pub(crate) async fn hear(
        &self,
        news: &News,
        coming: &mut mpsc::Receiver<UpcomingAnswer>,
        calls: &mut Calls,
    ) {
        while let Ok(coming) = coming.try_recv() {
            self.get_ready(coming, calls);
        }
        self.take(news, calls).await;
    }

    /// An answer that was just committed. The node that committed it has it from the start; which one that was is not
    /// always said, because what others hear of a commit can be quicker than its writer.
    ///
    /// What was read back from the database shows the request as it is now, so that entries before the answer look like it.
    /// Only the answer has a delivery.
    async fn take(&self, news: &News, calls: &mut Calls) {
        let Some(delivery) = Delivery::of_answer(news) else { return };
        // A row that is written once is the writer's. One that was raised may be another node's, which is still at an earlier end.
        let is_ours = news.own && delivery.channel == AnswerBack::Callback.channel();
        if is_ours || self.gate.store().holds(&delivery).await.unwrap_or(false) {
            self.give(Due { delivery, request: news.request.clone() }, calls);
        }
    }

    /// To the line that waits for this answer or has sent it already; otherwise to an attempt of its own.
    fn give(&self, due: Due, calls: &mut Calls) {
        let (row, wanted) = (row_key(&due.delivery), due.delivery.wanted);
        if let Some(attempt) = calls.under_way.get_mut(&row) {
            if wanted > attempt.wanted {
                attempt.next = Some(due);
            }
            return;
        }
        let Some(served) = self.channels.iter().find(|served| served.channel.name() == due.delivery.channel)
        else {
            return;
        };
        let key = due.delivery.request().map(|request| (served.channel.name(), request));
        let Some((number, line)) = key.and_then(|key| calls.lines.remove(&key)) else {
            return self.start(served, due, calls);
        };
        match line.send(due) {
            Ok(()) => {
                calls.under_way.insert(row, UnderWay { wanted, line: Some(number), next: None });
            }
            // It waits no more.
            Err(due) => self.start(served, due, calls),
        }
    }

    /// Begins what was leased while another attempt at its row was under way, if the lease outlived that attempt.
    async fn go_on(&self, calls: &mut Calls) {
        while let Some(due) = calls.again.pop() {
            if self.gate.store().holds(&due.delivery).await.unwrap_or(false) {
                self.give(due, calls);
            }
        }
    }

    /// What failed before and is due, or was left by a node that is gone.
    pub(crate) async fn left_over(&self, calls: &mut Calls) -> Result<(), GateError> {
        if !self.gate.is_delivery_due(Channels::Others(Vec::new())).await? {
            return Ok(());
        }
        for served in &*self.channels {
            let room = served.turns.available_permits().min(TAKEN);
            if room == 0 {
                continue;
            }
            let (channel, limits) = (served.channel.name(), served.channel.limits());
            let leased = self.lease(Channels::These(vec![channel.to_owned()]), room, limits.lease).await?;
            for delivery in leased {
                // A line whose news was missed may have sent this answer: it records that instead of a second attempt.
                let line = delivery.request().filter(|id| calls.lines.contains_key(&(channel, *id)));
                let request = match line {
                    Some(id) => self.gate.store().get(id).await?,
                    None => None,
                };
                self.give(Due { delivery, request }, calls);
            }
        }
        let known = self.channels.iter().map(|served| served.channel.name().to_owned()).collect();
        for delivery in self.lease(Channels::Others(known), STRANGERS, STRANGERS_LEASE).await? {
            // Another node may have the channel, or the next version. Otherwise the delivery is given up at its deadline.
            let why = format!("this server has no channel `{}`", delivery.channel);
            self.record(&delivery, AttemptResult::Failed(why)).await;
        }
        Ok(())
    }

    /// Takes deliveries that are due. Nothing is written where there are none: the writer has other work.
    async fn lease(
        &self,
        channels: Channels,
        limit: usize,
        lease: Duration,
    ) -> Result<Vec<Delivery>, GateError> {
        if !self.gate.is_delivery_due(channels.clone()).await? {
            return Ok(Vec::new());
        }
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        self.gate.lease_deliveries(channels, limit, lease).await
    }

    fn start(&self, served: &Served, due: Due, calls: &mut Calls) {
        // No turn: its lease runs out, and it is taken from the outbox later.
        let Ok(turn) = served.turns.clone().try_acquire_owned() else { return };
        let (this, channel, row) = (self.clone(), served.channel.clone(), row_key(&due.delivery));
        let wanted = due.delivery.wanted;
        calls.under_way.insert(row.clone(), UnderWay { wanted, line: None, next: None });
        let span = tracing::debug_span!("deliver", channel = channel.name(), subject = %due.delivery.subject, outcome = field::Empty);
        let attempt = async move {
            let result = caught(async { channel.deliver(&due).await }).await;
            let failed = || AttemptResult::Failed("a fault of this server ended the attempt".to_owned());
            caught(this.record(&due.delivery, result.unwrap_or_else(failed))).await;
            drop(turn);
            EndedCall::Attempt(row)
        };
        calls.running.spawn(attempt.instrument(span));
    }

    /// Lets the channel of an answer get ready for it, if there is room for that.
    pub(crate) fn get_ready(&self, coming: UpcomingAnswer, calls: &mut Calls) {
        let name = coming.request.door().answers_back().map(placet_core::AnswerBack::channel);
        let Some(served) = self.channels.iter().find(|served| Some(served.channel.name()) == name) else {
            return;
        };
        let key = (served.channel.name(), coming.request.id);
        if calls.lines.get(&key).is_some_and(|(_, line)| !line.is_closed()) {
            return;
        }
        let Ok(turn) = served.turns.clone().try_acquire_owned() else { return };
        let (line, told) = oneshot::channel();
        let ready = catch_unwind(AssertUnwindSafe(|| served.channel.get_ready(coming, told)));
        let Some(ready) = ready.ok().flatten() else { return };
        calls.opened += 1;
        let number = calls.opened;
        calls.lines.insert(key, (number, line));
        let this = self.clone();
        calls.running.spawn(async move {
            let done = async {
                if let Some((delivery, result)) = ready.await {
                    this.record(&delivery, result).await;
                }
            };
            caught(done).await;
            drop(turn);
            EndedCall::Line(key, number)
        });
    }

    /// Says how an attempt went, here and to the outbox.
    async fn record(&self, delivery: &Delivery, result: AttemptResult) {
        let channel = &delivery.channel;
        let outcome = match &result {
            AttemptResult::Delivered => "delivered",
            AttemptResult::Failed(why) => {
                tracing::debug!(subject = delivery.subject, channel, why, "not delivered; trying again");
                "failed"
            }
            AttemptResult::Refused(why) => {
                tracing::warn!(subject = delivery.subject, channel, why, "it cannot be delivered");
                "refused"
            }
        };
        Span::current().record("outcome", outcome);
        metrics::counter!("placet_deliveries_total", "channel" => self.label(channel), "outcome" => outcome)
            .increment(1);
        // If this record is lost, the delivery is made once more. An agent takes the first answer and ignores a second.
        if let Err(error) = self.gate.attempted(delivery, result).await {
            tracing::warn!(%error, subject = delivery.subject, channel, "an attempt could not be recorded");
        }
    }

    /// Few names: a channel that is not there is counted with all others that are not.
    fn label(&self, channel: &str) -> &'static str {
        let known = self.channels.iter().map(|served| served.channel.name());
        known.into_iter().find(|name| *name == channel).unwrap_or("unknown")
    }
}

/// The result of a future; `None` if it panics. The panic hook has logged it.
async fn caught<T>(future: impl Future<Output = T>) -> Option<T> {
    AssertUnwindSafe(future).catch_unwind().await.ok()
}

#[cfg(test)]
mod tests;
