//! Events of the observability door: numbered, kept whole, written with the requests they make, deleted when old.

use std::{sync::Arc, time::Duration};

use placet_core::{Actor, AnswerBack, Command, DecisionWord, Refusal, Submit, door::EVENTS};
use placet_store::{
    ANSWER_TO, AttemptResult, Channels, Clock as _, Delivery, DocumentOutcome, EventUnit, Idempotency,
    NewDocument, NewEvent, SeenEvent, StoreError, backup, restore,
};
use placet_testkit::{Backend, Place, block_on, both, soon, submit};
use serde_json::json;

use crate::shop::{Shop, ann, bot, decide};

fn event(app: &str, session: &str, timestamp: i64) -> NewEvent {
    let body = json!({"source_app": app, "session_id": session, "hook_event_type": "Stop", "payload": {"zero": "\u{0}"}, "extra": [1]});
    NewEvent {
        body: body.to_string().into(),
        source_app: app.to_owned(),
        session_id: session.to_owned(),
        hook_event_type: "Stop".to_owned(),
        timestamp,
    }
}

fn plain(app: &str) -> EventUnit {
    EventUnit { actor: bot("bot"), event: event(app, "s", 0), ask: None, idempotency: None }
}

async fn tell(shop: &Shop, app: &str) -> u64 {
    shop.store.add_event(plain(app)).await.unwrap().id.unwrap()
}

/// A request of this door, with somewhere to send its answer to.
fn question(shop: &Shop, agent: &Actor) -> Command {
    let body = json!({"kind": "confirmation", "session": "s", "message": "may I?", "context": {ANSWER_TO: "ws://localhost:9"}});
    match submit(agent, shop.clock.now(), body) {
        Command::Submit(made) => Command::Submit(Box::new(Submit { source: EVENTS.to_owned(), ..*made })),
        other => panic!("{other:?}"),
    }
}

async fn ask(shop: &Shop) -> (u64, Arc<placet_core::Request>) {
    let (actor, command) = (bot("bot"), question(shop, &bot("bot")));
    let unit = EventUnit { actor, event: event("app", "s", 0), ask: Some(command), idempotency: None };
    let done = shop.store.add_event(unit).await.unwrap();
    (done.id.unwrap(), done.outcome.unwrap().request.unwrap())
}

fn ids(events: &[SeenEvent]) -> Vec<u64> {
    events.iter().map(|seen| seen.event.id).collect()
}

async fn prune(shop: &Shop, keep: u64, age: Duration) -> u64 {
    let before =
        placet_core::Time::from_micros(shop.clock.now().micros() - i64::try_from(age.as_micros()).unwrap());
    shop.store.prune_events(keep, before).await.unwrap()
}

const LONG: Duration = Duration::from_hours(24 * 365);

both! {
    async fn events_are_numbered_one_after_the_other_and_kept_whole_across_a_restart(backend: Backend) {
        let shop = Shop::open(backend).await;
        let events = (0..40).map(|n| shop.store.add_event(plain(&format!("app-{n}"))));
        let done = shop.queue_all(events).await;
        let given: Vec<_> = done.into_iter().map(|done| done.unwrap().id.unwrap()).collect();
        assert_eq!(given, (1..=40).collect::<Vec<_>>());
        let shop = shop.reopen().await;
        assert_eq!(tell(&shop, "later").await, 41);
        let seen = shop.store.event(7).await.unwrap().unwrap();
        assert_eq!(*seen.event.body, *event("app-6", "s", 0).body);
        assert_eq!((seen.event.agent.as_str(), seen.event.received_at), ("bot", shop.clock.now()));
        assert!(shop.store.event(42).await.unwrap().is_none());
        assert_eq!(shop.store.head().await.unwrap().1, shop.ledger().await.len() as u64, "events are not in the ledger");
        shop.finish().await;
    }

    async fn times_that_agents_claim_hide_nothing(backend: Backend) {
        let shop = Shop::open(backend).await;
        for timestamp in [i64::MAX, 5, i64::MIN, 0] {
            let unit = EventUnit { actor: bot("bot"), event: event("a", "s", timestamp), ask: None, idempotency: None };
            shop.store.add_event(unit).await.unwrap();
        }
        let recent = shop.store.recent_events(2).await.unwrap();
        assert_eq!((ids(&recent.events), recent.last), (vec![3, 4], 4));
        shop.finish().await;
    }

    async fn an_event_and_the_request_it_makes_are_one_transaction(backend: Backend) {
        let shop = Shop::open(backend).await;
        let (id, request) = ask(&shop).await;
        let seen = shop.store.event(id).await.unwrap().unwrap();
        assert_eq!(seen.event.request, Some(request.id));
        assert_eq!(seen.request.unwrap().id, request.id);
        assert_eq!(shop.store.event_of(request.id).await.unwrap().unwrap().id, id);
        // A refused request leaves no event.
        let command = match question(&shop, &bot("bot")) {
            Command::Submit(made) => Command::Submit(Box::new(Submit { pending_cap: 1, ..*made })),
            other => panic!("{other:?}"),
        };
        let unit = EventUnit { actor: bot("bot"), event: event("a", "s", 0), ask: Some(command), idempotency: None };
        let done = shop.store.add_event(unit).await.unwrap();
        assert_eq!((done.id, done.outcome.unwrap().answer), (None, Err(Refusal::PendingCap(1))));
        assert_eq!(shop.store.last_event().await.unwrap(), id);
        shop.finish().await;
    }

    async fn the_same_key_gives_the_same_event(backend: Backend) {
        let shop = Shop::open(backend).await;
        let add = |body: u8, ask: Option<Command>| {
            let idempotency = Some(Idempotency { scope: [u8::from(ask.is_some()); 32], body: [body; 32] });
            shop.store.add_event(EventUnit { actor: bot("bot"), event: event("a", "s", 0), ask, idempotency })
        };
        let done = shop.queue_all([shop.store.add_event(plain("x")), add(1, None), add(1, None)]).await;
        let given: Vec<_> = done.into_iter().map(Result::unwrap).map(|done| (done.id, done.replayed)).collect();
        assert_eq!(given, [(Some(1), false), (Some(2), false), (Some(2), true)]);
        assert!(matches!(add(2, None).await, Err(StoreError::KeyReused)));
        let first = add(1, Some(question(&shop, &bot("bot")))).await.unwrap();
        let again = add(1, Some(question(&shop, &bot("bot")))).await.unwrap();
        assert_eq!((first.id, again.id, again.replayed), (Some(3), None, true));
        assert_eq!(first.outcome.unwrap().request.unwrap().id, again.outcome.unwrap().request.unwrap().id);
        assert_eq!(shop.store.last_event().await.unwrap(), 3);
        shop.finish().await;
    }

    async fn waiting_requests_are_always_among_the_recent_ones_and_never_deleted(backend: Backend) {
        let shop = Shop::open(backend).await;
        let (first, request) = ask(&shop).await;
        for _ in 0..20 {
            tell(&shop, "noise").await;
        }
        let recent = shop.store.recent_events(3).await.unwrap();
        assert_eq!(ids(&recent.events), [first, 19, 20, 21]);
        assert_eq!(prune(&shop, 2, LONG).await, 18);
        assert_eq!(ids(&shop.store.recent_events(100).await.unwrap().events), [first, 20, 21]);
        shop.done(&ann(), decide(&request, DecisionWord::Approve)).await;
        assert_eq!(prune(&shop, 2, LONG).await, 1);
        assert_eq!(ids(&shop.store.recent_events(100).await.unwrap().events), [20, 21]);
        // By age everything goes but the newest, so that no number is given twice.
        shop.clock.advance(Duration::from_mins(1));
        assert_eq!(prune(&shop, 100, Duration::from_secs(30)).await, 1);
        assert_eq!(prune(&shop, 100, Duration::from_secs(30)).await, 0);
        assert_eq!(tell(&shop, "noise").await, 22);
        shop.finish().await;
    }

    async fn words_to_filter_by_are_known_without_looking_at_events_and_go_with_them(backend: Backend) {
        let shop = Shop::open(backend).await;
        for n in 0..320 {
            let unit = EventUnit { actor: bot("bot"), event: event("b", &format!("s-{n:03}"), 0), ask: None, idempotency: None };
            shop.store.add_event(unit).await.unwrap();
        }
        tell(&shop, "a").await;
        let words = shop.store.event_words().await.unwrap();
        assert_eq!((words.source_apps, words.hook_event_types), (vec!["a".to_owned(), "b".to_owned()], vec!["Stop".to_owned()]));
        assert_eq!((words.session_ids.len(), words.session_ids[0].as_str(), words.session_ids[299].as_str()), (300, "s-319", "s-020"));
        // A thousand events later the old ones, and their words, are gone.
        for _ in 0..3 {
            shop.queue_all((0..400).map(|_| shop.store.add_event(plain("c")))).await;
        }
        while prune(&shop, 5, LONG).await > 0 {}
        let words = shop.store.event_words().await.unwrap();
        assert_eq!((words.source_apps, words.session_ids), (vec!["c".to_owned()], vec!["s".to_owned()]));
        shop.finish().await;
    }

    async fn a_tail_of_events_hands_out_each_once_in_order(backend: Backend) {
        let shop = Shop::open(backend).await;
        tell(&shop, "before").await;
        let mut tail = shop.store.event_tail().await.unwrap();
        // More than the memory between writer and tail holds.
        for _ in 0..100 {
            tell(&shop, "now").await;
        }
        let mut heard = Vec::new();
        while heard.len() < 100 {
            heard.push(tail.next().await.unwrap().event.id);
        }
        assert_eq!(heard, (2..=101).collect::<Vec<_>>());
        assert_eq!(tail.cursor(), 101);
        shop.finish().await;
    }

    async fn only_an_answer_that_its_agent_waits_for_is_delivered_and_its_writer_has_it(backend: Backend) {
        let shop = Shop::open(backend).await;
        let mut tail = shop.store.tail(None).await.unwrap();
        let (_, expires) = ask(&shop).await;
        let (_, answered) = ask(&shop).await;
        let last = shop.ask(&bot("bot")).await;
        // Caught up: what comes next comes from memory.
        while tail.next().await.unwrap().seq < last.seq {}
        shop.done(&ann(), decide(&answered, DecisionWord::Deny)).await;
        let rows = shop.place.rows("SELECT channel, subject, lease_owner FROM outbox").await;
        let owner = shop.store.owner().to_owned();
        assert_eq!(rows, [[json!(AnswerBack::Callback.channel()), json!(answered.id.to_string()), json!(owner)]]);
        let news = loop {
            let news = tail.next().await.unwrap();
            if news.name == "request.decided" {
                break news;
            }
        };
        let delivery = Delivery::of_answer(&news).unwrap();
        assert!(news.own);
        // Others have to wait; the writer need not lease it.
        let lease = async |owner: &str| {
            shop.store.lease(owner, Channels::Others(vec![]), 9, Duration::from_secs(20)).await.unwrap()
        };
        assert!(lease("other").await.is_empty());
        assert!(!shop.store.deliveries_due(shop.clock.now(), Channels::Others(Vec::new())).await.unwrap());
        shop.clock.advance(Duration::from_secs(5));
        assert!(shop.store.deliveries_due(shop.clock.now(), Channels::Others(Vec::new())).await.unwrap());
        let leased = lease("other").await;
        assert_eq!((&leased[0], leased[0].request()), (&delivery, Some(answered.id)));
        shop.store.record_attempt(delivery.clone(), "other", AttemptResult::Delivered).await.unwrap();
        // A deadline is no answer.
        shop.clock.advance(Duration::from_mins(10));
        shop.done(&Actor::system(), crate::shop::expire(expires.id)).await;
        assert_eq!(shop.place.rows("SELECT 1 FROM outbox").await.len(), 1);
        shop.finish().await;
    }

    async fn a_document_has_its_name_to_itself_and_there_are_not_too_many_of_a_kind(backend: Backend) {
        let shop = Shop::open(backend).await;
        let add = async |kind, name: &str| {
            let document = NewDocument { kind, name: name.to_owned(), body: json!({"name": name}).to_string().into() };
            shop.store.add_document(document, 2).await.unwrap()
        };
        assert_eq!(add("events.theme", "b").await, DocumentOutcome::Stored);
        assert_eq!(add("events.theme", "b").await, DocumentOutcome::NameTaken);
        assert_eq!(add("door.other", "b").await, DocumentOutcome::Stored);
        shop.clock.tick();
        assert_eq!(add("events.theme", "a").await, DocumentOutcome::Stored);
        assert_eq!(add("events.theme", "c").await, DocumentOutcome::TooMany);
        let themes = [r#"{"name":"b"}"#, r#"{"name":"a"}"#];
        assert_eq!(shop.store.documents("events.theme").await.unwrap(), themes);
        let head = shop.store.head().await.unwrap().1;
        assert_eq!(head, shop.ledger().await.len() as u64, "documents are not in the ledger");
        // A backup carries them.
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("backup.db");
        backup(&shop.place.location(), &file).await.unwrap();
        for to in Backend::ALL {
            let into = Place::new(to).await;
            restore(&file, &into.location(), shop.clock.clone(), |_| {}).await.unwrap();
            let store = placet_store::Store::open(into.options(shop.clock.clone())).await.unwrap();
            assert_eq!(store.documents("events.theme").await.unwrap(), themes);
            store.close().await;
        }
        shop.finish().await;
    }

    async fn events_travel_in_backups(backend: Backend) {
        let shop = Shop::open(backend).await;
        let (id, request) = ask(&shop).await;
        tell(&shop, "plain").await;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("backup.db");
        backup(&shop.place.location(), &file).await.unwrap();
        let into = Place::new(backend).await;
        restore(&file, &into.location(), shop.clock.clone(), |_| {}).await.unwrap();
        let options = into.options(shop.clock.clone());
        let store = placet_store::Store::open(options).await.unwrap();
        let seen = store.event(id).await.unwrap().unwrap();
        assert_eq!(seen.event.request, Some(request.id));
        assert_eq!(seen.request.unwrap().state, placet_core::State::Cancelled, "a restore ends what waited");
        assert_eq!(store.event_words().await.unwrap().source_apps, ["app", "plain"]);
        assert_eq!(store.last_event().await.unwrap(), 2);
        store.close().await;
        shop.finish().await;
    }
}

#[test]
fn another_node_hears_of_events_and_continues_their_numbers() {
    block_on(async {
        let shop = Shop::open(Backend::Postgres).await;
        let node = shop.another_node().await;
        let mut tail = node.store.event_tail().await.unwrap();
        assert_eq!((tell(&shop, "a").await, tell(&node, "b").await, tell(&shop, "c").await), (1, 2, 3));
        for expected in 1..=3 {
            let next = soon("the next event", tail.next()).await.unwrap();
            assert_eq!(next.event.id, expected);
        }
        node.store.close().await;
        shop.finish().await;
    });
}

#[test]
fn after_a_restart_a_folders_deliveries_are_due_at_once() {
    block_on(async {
        let shop = Shop::open(Backend::Sqlite).await;
        let (_, request) = ask(&shop).await;
        shop.done(&ann(), decide(&request, DecisionWord::Approve)).await;
        assert!(!shop.store.deliveries_due(shop.clock.now(), Channels::Others(Vec::new())).await.unwrap());
        let shop = shop.reopen().await;
        assert!(shop.store.deliveries_due(shop.clock.now(), Channels::Others(Vec::new())).await.unwrap());
        shop.finish().await;
    });
}
