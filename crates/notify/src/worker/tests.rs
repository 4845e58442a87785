use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::StreamExt as _;
use placet_core::{Actor, AnswerBack, door};
use placet_egress::{Rules, Sockets};
use placet_gate::{Attempt, ChannelLimits, Feed, SeenEvent};
use placet_testkit::{Kit, both, until};
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

    async fn what_is_leased_before_the_worker_knows_that_the_last_attempt_ended_is_attempted_too(kit) {
        let stuck = Stuck::default();
        let worker = Deliveries::new(kit.gate().clone(), [Arc::new(stuck.clone()) as Arc<dyn Channel>]);
        let mut calls = Calls::default();
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let made = kit.ask_from(&door::behind("demo", "ops"), &bot).await;
        kit.approve(&ann, &made).await.unwrap();
        // An older attempt at this row is recorded, and its end is not taken up yet.
        let row = (AnswerBack::Resume.channel().to_owned(), made.id.to_string());
        calls.under_way.insert(row.clone(), UnderWay { wanted: 1, line: None, next: None });
        kit.clock().advance(Duration::from_secs(6));
        worker.left_over(&mut calls).await.unwrap();
        assert_eq!(stuck.0.load(Ordering::SeqCst), 0, "not beside the other");
        calls.over(&EndedCall::Attempt(row.clone()));
        worker.go_on(&mut calls).await;
        assert!(calls.under_way.contains_key(&row));
        until("the attempt", async || stuck.0.load(Ordering::SeqCst) == 1).await;
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
