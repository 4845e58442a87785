//! The worker that runs all channels: it hears of what was committed, takes from the outbox what is left over, and records how each
//! attempt went.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use futures_util::FutureExt as _;
use placet_core::{OutboxId, RequestId};
use placet_gate::{AttemptResult, Channel, Channels, Coming, Delivery, Due, Gate, GateError, News};
use tokio::{
    sync::{Semaphore, mpsc, oneshot},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span, field};

/// How often the outbox is looked at for what failed before, or what a node that is gone has left.
const LOOK: Duration = Duration::from_millis(250);
/// How long to wait before the ledger is followed again.
const AGAIN: Duration = Duration::from_secs(1);
/// Most deliveries that are taken from the outbox in one look, of each channel.
const TAKEN: usize = 64;
/// The same of channels that are not here: each is a transaction, and only to say so.
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
    running: JoinSet<Ended>,
    /// Who is connected already and waits for its answer.
    lines: HashMap<LineKey, (u64, oneshot::Sender<Due>)>,
    /// The deliveries whose attempts are made here, and by which line. A lease may run out meanwhile: nobody here begins a second
    /// attempt.
    under_way: HashMap<OutboxId, Option<u64>>,
    /// How many lines there were.
    opened: u64,
}

/// A channel and a request: it has at most one line.
type LineKey = (&'static str, RequestId);

/// What ended.
#[derive(Debug)]
enum Ended {
    Attempt(OutboxId),
    /// Which one: a line for the same answer may have begun meanwhile.
    Line(LineKey, u64),
}

impl Calls {
    /// Forgets what ended.
    fn over(&mut self, ended: &Ended) {
        match ended {
            Ended::Attempt(delivery) => {
                self.under_way.remove(delivery);
            }
            Ended::Line(key, number) => {
                self.under_way.retain(|_, line| line.as_ref() != Some(number));
                if self.lines.get(key).is_some_and(|(line, _)| line == number) {
                    self.lines.remove(key);
                }
            }
        }
    }

    /// The next thing that ends; `None` when nothing is under way.
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
        // Whatever is not done by then is in the outbox, and is done by whoever starts next.
        calls.lines.clear();
        let _ = tokio::time::timeout(GRACE, async { while calls.ended().await.is_some() {} }).await;
    }

    async fn follow(
        &self,
        coming: &mut mpsc::Receiver<Coming>,
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
                news = feed.next() => self.hear(&news?, coming, calls).await,
                Some(()) = calls.ended(), if !calls.running.is_empty() => {}
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
    pub(crate) async fn hear(&self, news: &News, coming: &mut mpsc::Receiver<Coming>, calls: &mut Calls) {
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
        if news.own || self.gate.store().holds(delivery.id).await.unwrap_or(false) {
            self.give(Due { delivery, request: news.request.clone() }, calls);
        }
    }

    /// To the line that waits for this answer or has sent it already; otherwise to an attempt of its own.
    fn give(&self, due: Due, calls: &mut Calls) {
        let id = due.delivery.id;
        if calls.under_way.contains_key(&id) {
            return;
        }
        let Some(served) = self.channels.iter().find(|served| served.channel.name() == due.delivery.channel)
        else {
            return;
        };
        let key = (served.channel.name(), due.delivery.request);
        let Some((number, line)) = calls.lines.remove(&key) else { return self.start(served, due, calls) };
        match line.send(due) {
            Ok(()) => {
                calls.under_way.insert(id, Some(number));
            }
            // It waits no more.
            Err(due) => self.start(served, due, calls),
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
                let has_line = calls.lines.contains_key(&(channel, delivery.request));
                let request = if has_line { self.gate.store().get(delivery.request).await? } else { None };
                self.give(Due { delivery, request }, calls);
            }
        }
        let known = self.channels.iter().map(|served| served.channel.name().to_owned()).collect();
        for delivery in self.lease(Channels::Others(known), STRANGERS, STRANGERS_LEASE).await? {
            // Another node may have it, or the next version. What nobody ever has is given up as everything is: in the end.
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
        let (this, channel, id) = (self.clone(), served.channel.clone(), due.delivery.id);
        let span = tracing::debug_span!("deliver", channel = channel.name(), told = %due.delivery.request, outcome = field::Empty);
        let attempt = async move {
            let result = caught(async { channel.deliver(&due).await }).await;
            let failed = || AttemptResult::Failed("a fault of this server ended the attempt".to_owned());
            caught(this.record(&due.delivery, result.unwrap_or_else(failed))).await;
            drop(turn);
            Ended::Attempt(id)
        };
        calls.under_way.insert(id, None);
        calls.running.spawn(attempt.instrument(span));
    }

    /// Lets the channel of an answer get ready for it, if there is room for that.
    pub(crate) fn get_ready(&self, coming: Coming, calls: &mut Calls) {
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
            Ended::Line(key, number)
        });
    }

    /// Says how an attempt went, here and to the outbox.
    async fn record(&self, delivery: &Delivery, result: AttemptResult) {
        let channel = &delivery.channel;
        let outcome = match &result {
            AttemptResult::Delivered => "delivered",
            AttemptResult::Failed(why) => {
                tracing::debug!(request = %delivery.request, channel, why, "not delivered; trying again");
                "failed"
            }
            AttemptResult::Refused(why) => {
                tracing::warn!(request = %delivery.request, channel, why, "it cannot be delivered");
                "refused"
            }
        };
        Span::current().record("outcome", outcome);
        metrics::counter!("placet_deliveries_total", "channel" => self.label(channel), "outcome" => outcome)
            .increment(1);
        // If this is lost, it is delivered once more: whoever waits takes the first, and is gone by then.
        if let Err(error) = self.gate.attempted(delivery, result).await {
            tracing::warn!(%error, request = %delivery.request, channel, "an attempt could not be recorded");
        }
    }

    /// Few names: a channel that is not there is counted with all others that are not.
    fn label(&self, channel: &str) -> &'static str {
        let known = self.channels.iter().map(|served| served.channel.name());
        known.into_iter().find(|name| *name == channel).unwrap_or("unknown")
    }
}

/// What a future gives; nothing if it panics, which has been said by then.
async fn caught<T>(future: impl Future<Output = T>) -> Option<T> {
    AssertUnwindSafe(future).catch_unwind().await.ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::StreamExt as _;
    use placet_core::{Actor, AnswerBack, door};
    use placet_egress::{Rules, Sockets};
    use placet_gate::{Attempt, ChannelLimits, Feed, SeenEvent};
    use placet_testkit::{Kit, both};
    use serde_json::{Value, json};
    use tokio::net::TcpListener;
    use tokio_tungstenite::{accept_async, tungstenite::Message};

    use super::*;
    use crate::Callbacks;

    /// An agent that counts the answers it gets, and closes after each.
    async fn agent() -> (String, Arc<AtomicUsize>, JoinSet<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}", listener.local_addr().unwrap());
        let (answers, mut task) = (Arc::new(AtomicUsize::new(0)), JoinSet::new());
        let count = answers.clone();
        task.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Ok(mut socket) = accept_async(stream).await else { continue };
                if let Some(Ok(Message::Text(_))) = socket.next().await {
                    count.fetch_add(1, Ordering::SeqCst);
                }
                let _ = socket.close(None).await;
                while let Some(Ok(_)) = socket.next().await {}
            }
        });
        (url, answers, task)
    }

    async fn asked(kit: &Kit, ann: &Actor, url: &str) -> SeenEvent {
        kit.ask_in_an_event(&kit.agent("bot").await, ann, url).await
    }

    /// The news of the answer. What was read back from the database shows requests as they are now: entries before the answer
    /// look like it.
    async fn answer(feed: &mut Feed) -> News {
        loop {
            let news = feed.next().await.unwrap();
            if news.name == "request.decided" && Delivery::of_answer(&news).is_some() {
                return news;
            }
        }
    }

    /// A channel with two turns, whose attempts never end. It counts them.
    #[derive(Debug, Clone, Default)]
    struct Stuck(Arc<AtomicUsize>);

    impl Channel for Stuck {
        fn name(&self) -> &'static str {
            AnswerBack::Resume.channel()
        }

        fn limits(&self) -> ChannelLimits {
            ChannelLimits { at_once: 2, lease: Duration::from_mins(1) }
        }

        fn deliver<'a>(&'a self, _: &'a Due) -> Attempt<'a> {
            self.0.fetch_add(1, Ordering::SeqCst);
            Box::pin(std::future::pending())
        }
    }

    /// A channel that is broken.
    #[derive(Debug)]
    struct Faulty;

    impl Channel for Faulty {
        fn name(&self) -> &'static str {
            AnswerBack::Resume.channel()
        }

        fn limits(&self) -> ChannelLimits {
            ChannelLimits { at_once: 2, lease: Duration::from_secs(5) }
        }

        fn deliver<'a>(&'a self, _: &'a Due) -> Attempt<'a> {
            Box::pin(async { panic!("a channel that is broken") })
        }
    }

    /// Before a minute is over, which only ends a test that fails.
    async fn soon<T>(future: impl Future<Output = T>) -> T {
        tokio::time::timeout(Duration::from_mins(1), future).await.expect("it ends")
    }

    fn worker(kit: &Kit) -> Deliveries {
        let callbacks = Callbacks::new(kit.gate().clone(), Sockets::new(Rules::default()));
        Deliveries::new(kit.gate().clone(), [Arc::new(callbacks) as Arc<dyn Channel>])
    }

    async fn ended(calls: &mut Calls) {
        while calls.ended().await.is_some() {}
    }

    async fn state(kit: &Kit) -> Value {
        kit.place().value("SELECT state FROM outbox").await
    }

    both! {
        async fn an_answer_whose_commit_is_seen_before_its_line_is_sent_once(kit) {
            let (url, answers, _task) = agent().await;
            let worker = worker(kit);
            let (mut coming, mut calls) = (kit.gate().coming(), Calls::default());
            let ann = kit.reviewer("ann").await;
            let seen = asked(kit, &ann, &url).await;
            let mut feed = kit.gate().feed(None).await.unwrap();
            let notice = kit.gate().answering(&seen).unwrap();
            notice.answered(&kit.approve(&ann, &seen.request.unwrap()).await.unwrap());
            // The loop looked for a line a moment before there was one, and sees the commit now.
            worker.hear(&answer(&mut feed).await, &mut coming, &mut calls).await;
            while let Ok(coming) = coming.try_recv() {
                worker.get_ready(coming, &mut calls);
            }
            ended(&mut calls).await;
            assert_eq!((answers.load(Ordering::SeqCst), state(kit).await), (1, json!("delivered")));
        }

        async fn an_entry_that_was_read_back_after_the_answer_is_not_taken_for_it(kit) {
            let (url, answers, _task) = agent().await;
            let worker = worker(kit);
            let (mut coming, mut calls) = (kit.gate().coming(), Calls::default());
            let ann = kit.reviewer("ann").await;
            let before = kit.store().head().await.unwrap().1;
            let seen = asked(kit, &ann, &url).await;
            let notice = kit.gate().answering(&seen).unwrap();
            worker.get_ready(coming.try_recv().unwrap(), &mut calls);
            notice.answered(&kit.approve(&ann, &seen.request.unwrap()).await.unwrap());
            // A feed that is behind reads the question from the database, with the answer that came after it.
            let mut feed = kit.gate().feed(Some(before)).await.unwrap();
            loop {
                let news = feed.next().await.unwrap();
                worker.hear(&news, &mut coming, &mut calls).await;
                if news.name == "request.decided" {
                    break;
                }
            }
            ended(&mut calls).await;
            assert_eq!((answers.load(Ordering::SeqCst), state(kit).await), (1, json!("delivered")));
        }

        async fn a_line_whose_news_was_missed_records_what_it_sent_when_the_outbox_brings_it(kit) {
            let (url, answers, _task) = agent().await;
            let worker = worker(kit);
            let (mut coming, mut calls) = (kit.gate().coming(), Calls::default());
            let ann = kit.reviewer("ann").await;
            let seen = asked(kit, &ann, &url).await;
            let notice = kit.gate().answering(&seen).unwrap();
            worker.get_ready(coming.try_recv().unwrap(), &mut calls);
            notice.answered(&kit.approve(&ann, &seen.request.unwrap()).await.unwrap());
            // Nobody hears of the commit: the first lease runs out, and the outbox has the delivery.
            kit.clock().advance(Duration::from_secs(6));
            worker.left_over(&mut calls).await.unwrap();
            ended(&mut calls).await;
            assert_eq!((answers.load(Ordering::SeqCst), state(kit).await), (1, json!("delivered")));
        }

        async fn a_channel_whose_attempts_never_end_takes_no_turn_of_another(kit) {
            let (url, answers, _task) = agent().await;
            let stuck = Stuck::default();
            let callbacks = Callbacks::new(kit.gate().clone(), Sockets::new(Rules::default()));
            let channels: [Arc<dyn Channel>; 2] = [Arc::new(stuck.clone()), Arc::new(callbacks)];
            let worker = Deliveries::new(kit.gate().clone(), channels);
            let (mut coming, mut calls) = (kit.gate().coming(), Calls::default());
            let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
            let mut feed = kit.gate().feed(None).await.unwrap();
            for _ in 0..3 {
                let made = kit.ask_from(&door::behind("demo", "ops"), &bot).await;
                kit.approve(&ann, &made).await.unwrap();
                worker.hear(&answer(&mut feed).await, &mut coming, &mut calls).await;
            }
            let seen = asked(kit, &ann, &url).await;
            kit.approve(&ann, &seen.request.unwrap()).await.unwrap();
            worker.hear(&answer(&mut feed).await, &mut coming, &mut calls).await;
            soon(calls.ended()).await.unwrap();
            assert_eq!(answers.load(Ordering::SeqCst), 1);
            // What had no turn stays in the outbox.
            kit.clock().advance(Duration::from_secs(6));
            worker.left_over(&mut calls).await.unwrap();
            assert_eq!(stuck.0.load(Ordering::SeqCst), 2, "as many as it has turns");
        }

        async fn an_attempt_that_outlives_its_lease_is_not_made_twice(kit) {
            let stuck = Stuck::default();
            let worker = Deliveries::new(kit.gate().clone(), [Arc::new(stuck.clone()) as Arc<dyn Channel>]);
            let mut calls = Calls::default();
            let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
            let made = kit.ask_from(&door::behind("demo", "ops"), &bot).await;
            kit.approve(&ann, &made).await.unwrap();
            for _ in 0..3 {
                kit.clock().advance(Duration::from_mins(2));
                worker.left_over(&mut calls).await.unwrap();
            }
            assert_eq!(stuck.0.load(Ordering::SeqCst), 1);
        }

        async fn an_attempt_that_panics_is_one_that_failed(kit) {
            let worker = Deliveries::new(kit.gate().clone(), [Arc::new(Faulty) as Arc<dyn Channel>]);
            let mut calls = Calls::default();
            let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
            let made = kit.ask_from(&door::behind("demo", "ops"), &bot).await;
            kit.approve(&ann, &made).await.unwrap();
            for _ in 0..2 {
                kit.clock().advance(Duration::from_secs(6));
                worker.left_over(&mut calls).await.unwrap();
                ended(&mut calls).await;
            }
            assert_eq!(state(kit).await, json!("waiting"));
            assert_eq!(kit.place().value("SELECT attempts FROM outbox").await, json!("2"));
        }

        async fn a_delivery_of_a_channel_that_is_not_there_waits_for_it_until_it_is_too_late(kit) {
            let nobody = Deliveries::new(kit.gate().clone(), []);
            let mut calls = Calls::default();
            let ann = kit.reviewer("ann").await;
            let seen = asked(kit, &ann, "ws://127.0.0.1:9").await;
            kit.approve(&ann, &seen.request.unwrap()).await.unwrap();
            kit.clock().advance(Duration::from_secs(6));
            nobody.left_over(&mut calls).await.unwrap();
            let why = kit.place().value("SELECT last_error FROM outbox").await;
            assert_eq!((state(kit).await, why), (json!("waiting"), json!("this server has no channel `callback`")));
            kit.clock().advance(Duration::from_hours(1));
            nobody.left_over(&mut calls).await.unwrap();
            assert_eq!(state(kit).await, json!("dead"));
        }
    }
}
