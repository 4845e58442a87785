//! Calling agents back: the answer goes to the address they wait at, at once, and again until it arrives or is too late.

use std::{collections::HashMap, sync::Arc, time::Duration};

use placet_core::{AnswerBack, Request, RequestId};
use placet_egress::{EgressError, Sockets};
use placet_gate::{
    AttemptResult, Coming, Delivery, Gate, GateError, News, Resume, StoreError, StoredEvent,
};
use serde_json::Value;
use tokio::{
    sync::{Semaphore, mpsc, oneshot},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use crate::{frame::frame, line};

/// How many calls are made at once. What comes beyond that waits in the outbox.
const AT_ONCE: usize = 256;
/// How many connections may be open for answers that are not committed yet.
const AHEAD: usize = 64;
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
    pub(crate) gate: Gate,
    pub(crate) sockets: Sockets,
    resume: Option<Arc<dyn Resume>>,
    turns: Arc<Semaphore>,
    ahead: Arc<Semaphore>,
    pub(crate) patience: Duration,
}

/// A delivery to be made, and what is known of it.
#[derive(Debug)]
pub(crate) struct Due {
    pub(crate) delivery: Delivery,
    /// The request with its answer, if it need not be read.
    pub(crate) request: Option<Arc<Request>>,
}

/// What the worker has under way.
#[derive(Debug, Default)]
struct Calls {
    running: JoinSet<Option<RequestId>>,
    /// Who is connected already and waits for its answer: at most one for each request.
    lines: HashMap<RequestId, oneshot::Sender<Due>>,
}

impl Callbacks {
    /// For the agents of a gate.
    pub fn new(gate: Gate, sockets: Sockets) -> Self {
        let (turns, ahead) = (Arc::new(Semaphore::new(AT_ONCE)), Arc::new(Semaphore::new(AHEAD)));
        Self { gate, sockets, resume: None, turns, ahead, patience: line::PATIENCE }
    }

    /// With somebody who brings answers to agents behind us.
    #[must_use]
    pub fn with_resume(mut self, resume: Arc<dyn Resume>) -> Self {
        self.resume = Some(resume);
        self
    }

    /// With how long a connection waits for its answer.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Runs until cancelled. Answers of this node are called back as soon as they are committed; the outbox is only
    /// looked at for what is left over.
    pub async fn run(self, cancel: CancellationToken) {
        let mut calls = Calls::default();
        let mut coming = self.gate.coming();
        loop {
            match self.follow(&mut coming, &mut calls, &cancel).await {
                Ok(()) | Err(GateError::Closing) => break,
                Err(error) => {
                    tracing::warn!(%error, "the ledger cannot be followed; trying again");
                    tokio::time::sleep(LOOK).await;
                }
            }
        }
        // Whatever is not done by then is in the outbox, and is done by whoever starts next.
        calls.lines.clear();
        let _ =
            tokio::time::timeout(GRACE, async { while calls.running.join_next().await.is_some() {} }).await;
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
                Some(ended) = calls.running.join_next(), if !calls.running.is_empty() => {
                    let request = ended.ok().flatten();
                    if let Some(request) = request.filter(|id| calls.lines.get(id).is_some_and(oneshot::Sender::is_closed)) {
                        calls.lines.remove(&request);
                    }
                }
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
    async fn hear(&self, news: &News, coming: &mut mpsc::Receiver<Coming>, calls: &mut Calls) {
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

    /// To the line that waits for this answer or has sent it already; otherwise to a call of its own.
    fn give(&self, due: Due, calls: &mut Calls) {
        let left = match calls.lines.remove(&due.delivery.request) {
            Some(line) => line.send(due).err(),
            None => Some(due),
        };
        if let Some(due) = left {
            self.start(due, calls);
        }
    }

    /// What failed before and is due, or was left by a node that is gone.
    async fn left_over(&self, calls: &mut Calls) -> Result<(), GateError> {
        let room = u32::try_from(self.turns.available_permits()).unwrap_or(u32::MAX);
        if room == 0 {
            return Ok(());
        }
        for delivery in self.gate.lease_deliveries(room.min(64), LEASE).await? {
            // A line whose news was missed may have sent this answer: it records that instead of a second call.
            let has_line = calls.lines.contains_key(&delivery.request);
            let request = if has_line { self.gate.store().get(delivery.request).await? } else { None };
            self.give(Due { delivery, request }, calls);
        }
        Ok(())
    }

    fn start(&self, due: Due, calls: &mut Calls) {
        // No turn: its lease runs out, and it is taken from the outbox later.
        let Ok(turn) = self.turns.clone().try_acquire_owned() else { return };
        let this = self.clone();
        calls.running.spawn(async move {
            let result = this.call(&due).await;
            this.record(&due.delivery, result).await;
            drop(turn);
            None
        });
    }

    /// Connects to where an answer will be expected, if there is room for that.
    fn get_ready(&self, coming: Coming, calls: &mut Calls) {
        let id = coming.request.id;
        let open = calls.lines.get(&id).is_some_and(|line| !line.is_closed());
        let room =
            self.ahead.clone().try_acquire_owned().ok().zip(self.turns.clone().try_acquire_owned().ok());
        let Some((ahead, turn)) = room.filter(|_| !open) else { return };
        let (line, told) = oneshot::channel();
        calls.lines.insert(id, line);
        let this = self.clone();
        calls.running.spawn(async move {
            line::hold(&this, coming, told, ahead).await;
            drop(turn);
            Some(id)
        });
    }

    /// One attempt.
    async fn call(&self, due: &Due) -> AttemptResult {
        if let (true, Some(resume)) = (due.delivery.channel == AnswerBack::Resume.channel(), &self.resume) {
            return resume.resume(&due.delivery).await;
        }
        if due.delivery.channel != AnswerBack::Callback.channel() {
            return AttemptResult::Refused(format!("there is no channel `{}`", due.delivery.channel));
        }
        let found = async {
            let id = due.delivery.request;
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
            Ok(said) => said,
            Err(result) => return result,
        };
        result(self.sockets.send_text(url, &text).await)
    }

    /// Where the answer goes, and what is said there; or why nothing is.
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

    /// Says how an attempt went, here and to the outbox.
    pub(crate) async fn record(&self, delivery: &Delivery, result: AttemptResult) {
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
        if let Err(error) = self.gate.attempted(delivery, result).await {
            tracing::warn!(%error, request = %delivery.request, "an attempt could not be recorded");
        }
    }
}

pub(crate) fn result(sent: Result<(), EgressError>) -> AttemptResult {
    match sent {
        Ok(()) => AttemptResult::Delivered,
        Err(error) if error.is_final() => AttemptResult::Refused(error.to_string()),
        Err(error) => AttemptResult::Failed(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::StreamExt as _;
    use placet_core::Actor;
    use placet_egress::Rules;
    use placet_gate::{Feed, SeenEvent};
    use placet_testkit::{Kit, both};
    use serde_json::json;
    use tokio::net::TcpListener;
    use tokio_tungstenite::{accept_async, tungstenite::Message};

    use super::*;

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

    /// The news of the answer.
    async fn answer(feed: &mut Feed) -> News {
        loop {
            let news = feed.next().await.unwrap();
            if Delivery::of_answer(&news).is_some() {
                return news;
            }
        }
    }

    async fn ended(calls: &mut Calls) {
        while calls.running.join_next().await.is_some() {}
    }

    async fn state(kit: &Kit) -> Value {
        kit.place().value("SELECT state FROM outbox").await
    }

    both! {
        async fn an_answer_whose_commit_is_seen_before_its_line_is_sent_once(kit) {
            let (url, answers, _task) = agent().await;
            let callbacks = Callbacks::new(kit.gate().clone(), Sockets::new(Rules::default()));
            let (mut coming, mut calls) = (kit.gate().coming(), Calls::default());
            let ann = kit.reviewer("ann").await;
            let seen = asked(kit, &ann, &url).await;
            let mut feed = kit.gate().feed(None).await.unwrap();
            let notice = kit.gate().answering(&seen).unwrap();
            notice.answered(&kit.approve(&ann, &seen.request.unwrap()).await.unwrap());
            // The loop looked for a line a moment before there was one, and sees the commit now.
            callbacks.hear(&answer(&mut feed).await, &mut coming, &mut calls).await;
            while let Ok(coming) = coming.try_recv() {
                callbacks.get_ready(coming, &mut calls);
            }
            ended(&mut calls).await;
            assert_eq!((answers.load(Ordering::SeqCst), state(kit).await), (1, json!("delivered")));
        }

        async fn an_entry_that_was_read_back_after_the_answer_is_not_taken_for_it(kit) {
            let (url, answers, _task) = agent().await;
            let callbacks = Callbacks::new(kit.gate().clone(), Sockets::new(Rules::default()));
            let (mut coming, mut calls) = (kit.gate().coming(), Calls::default());
            let ann = kit.reviewer("ann").await;
            let before = kit.store().head().await.unwrap().1;
            let seen = asked(kit, &ann, &url).await;
            let notice = kit.gate().answering(&seen).unwrap();
            callbacks.get_ready(coming.try_recv().unwrap(), &mut calls);
            notice.answered(&kit.approve(&ann, &seen.request.unwrap()).await.unwrap());
            // A feed that is behind reads the question from the database, with the answer that came after it.
            let mut feed = kit.gate().feed(Some(before)).await.unwrap();
            loop {
                let news = feed.next().await.unwrap();
                callbacks.hear(&news, &mut coming, &mut calls).await;
                if news.name == "request.decided" {
                    break;
                }
            }
            ended(&mut calls).await;
            assert_eq!((answers.load(Ordering::SeqCst), state(kit).await), (1, json!("delivered")));
        }

        async fn a_line_whose_news_was_missed_records_what_it_sent_when_the_outbox_brings_it(kit) {
            let (url, answers, _task) = agent().await;
            let callbacks = Callbacks::new(kit.gate().clone(), Sockets::new(Rules::default()));
            let (mut coming, mut calls) = (kit.gate().coming(), Calls::default());
            let ann = kit.reviewer("ann").await;
            let seen = asked(kit, &ann, &url).await;
            let notice = kit.gate().answering(&seen).unwrap();
            callbacks.get_ready(coming.try_recv().unwrap(), &mut calls);
            notice.answered(&kit.approve(&ann, &seen.request.unwrap()).await.unwrap());
            // Nobody hears of the commit: the first lease runs out, and the outbox has the delivery.
            kit.clock().advance(Duration::from_secs(6));
            callbacks.left_over(&mut calls).await.unwrap();
            ended(&mut calls).await;
            assert_eq!((answers.load(Ordering::SeqCst), state(kit).await), (1, json!("delivered")));
        }
    }
}
