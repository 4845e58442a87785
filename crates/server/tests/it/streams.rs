//! Server-sent events: no holes, no repetitions, only what the reader may see.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use placet_server::Settings;
use placet_testkit::{Http, Server, both};
use serde_json::json;
use tokio::task::JoinSet;

use crate::support::{Sse, approved, ask, at, decide, head, on_sqlite, until_so, with_settings};

/// Agents that ask, and a reviewer who decides some of it, until told to stop. Gives the ids that were made.
pub(crate) fn load(agents: Vec<Http>, reviewer: &Http, stop: &Arc<AtomicBool>) -> JoinSet<Vec<String>> {
    let mut tasks = JoinSet::new();
    for bot in agents {
        let (ann, stop) = (reviewer.clone(), stop.clone());
        tasks.spawn(async move {
            let mut made = Vec::new();
            while !stop.load(Ordering::SeqCst) && made.len() < 400 {
                let record = ask(&bot).await;
                made.push(record["id"].as_str().expect("an id").to_owned());
                if made.len() % 3 == 0 {
                    decide(&ann, &record, "deny").await.expect(200);
                }
            }
            made
        });
    }
    tasks
}

/// The places of all entries about requests after this one, as an auditor reads them.
pub(crate) async fn entries_after(auditor: &Http, mut after: u64) -> Vec<u64> {
    let mut seqs = Vec::new();
    loop {
        let page = auditor.get(&format!("/v1/ledger?after={after}&limit=1000")).await.expect(200);
        let items = page["items"].as_array().expect("items").clone();
        seqs.extend(
            items
                .iter()
                .filter(|item| item["entry"]["request"].is_string())
                .filter_map(|item| item["seq"].as_u64()),
        );
        match page["next_after"].as_u64() {
            Some(next) => after = next,
            None => return seqs,
        }
    }
}

/// Waits until the ledger has so many more entries.
async fn grown(server: &Server, entries: u64) {
    let wanted = head(server).await + entries;
    until_so("a ledger that grows", async || head(server).await >= wanted).await;
}

both! {
    async fn a_list_and_the_stream_after_it_have_no_hole(server: Server) {
        let ann = server.reviewer("ann").await;
        let agents = vec![server.agent("bot-1").await, server.agent("bot-2").await, server.agent("bot-3").await];
        let stop = Arc::new(AtomicBool::new(false));
        let writers = load(agents, &ann, &stop);
        let mut looks = Vec::new();
        for _ in 0..5 {
            grown(server, 12).await;
            let page = ann.get("/v1/requests?limit=500").await.expect(200);
            assert_eq!(page["event_id"].as_str().and_then(|id| id.split_once('.')).map(|(_, seq)| seq.to_owned()), Some(page["seq"].to_string()));
            let listed: BTreeSet<String> = page["items"].as_array().expect("items").iter().map(|item| item["id"].as_str().expect("an id").to_owned()).collect();
            let stream = Sse::open(&ann, page["event_id"].as_str()).await;
            looks.push((listed, stream));
        }
        stop.store(true, Ordering::SeqCst);
        let made: BTreeSet<String> = writers.join_all().await.into_iter().flatten().collect();
        assert!(made.len() > 20 && made.len() < 500, "{} requests were made", made.len());
        let last = head(server).await;
        for (mut known, mut stream) in looks {
            let mut seen = 0;
            while let Some(event) = stream.next().await {
                assert!(event.seq() > seen, "events come in order");
                seen = event.seq();
                if event.kind == "request.created" {
                    assert!(known.insert(event.request().to_owned()), "{} was both listed and streamed", event.request());
                }
                if seen == last {
                    break;
                }
            }
            assert_eq!(known, made);
        }
    }

    async fn twenty_reconnects_under_load_lose_and_repeat_nothing(server: Server) {
        let (ann, eve) = (server.reviewer("ann").await, server.auditor("eve").await);
        let agents = vec![server.agent("bot-1").await, server.agent("bot-2").await];
        let start = head(server).await;
        let mut stream = Sse::open(&eve, None).await.greeted().await;
        let mut cursor = stream.last_id.clone();
        let stop = Arc::new(AtomicBool::new(false));
        let writers = load(agents, &ann, &stop);
        let mut seen = Vec::new();
        for round in 0..20 {
            for _ in 0..=(round * 7 % 11) {
                let event = stream.next().await.expect("the stream goes on");
                cursor.clone_from(&event.id);
                seen.push(event.seq());
            }
            drop(stream);
            // Something is missed while nobody reads.
            grown(server, 1).await;
            stream = if round % 2 == 0 { Sse::open(&eve, Some(&cursor)).await } else { Sse::at(&eve, &format!("/v1/stream?after={cursor}")).await };
        }
        stop.store(true, Ordering::SeqCst);
        writers.join_all().await;
        let last = head(server).await;
        while seen.last() != Some(&last) {
            seen.push(stream.next().await.expect("the stream goes on").seq());
        }
        assert_eq!(seen, entries_after(&eve, start).await);
    }
}

#[test]
fn every_change_is_an_event_with_the_record_as_it_stands() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let mut stream = Sse::open(&ann, None).await.greeted().await;
        let record = approved(&bot, &ann).await;
        let claimed = bot.post(&at(&record, "/claim"), json!({})).await.expect(200);
        bot.post(&at(&record, "/outcome"), json!({"permit": claimed["permit"], "status": "succeeded"}))
            .await
            .expect(200);
        let other = ask(&bot).await;
        bot.post(&at(&other, "/cancel"), json!({})).await.expect(200);
        let late = ask(&bot).await;
        server.kit.clock().advance(Duration::from_secs(301));
        server.kit.gate().sweep().await.expect("deadlines take effect");
        let expected = [
            ("request.created", &record),
            ("request.decided", &record),
            ("request.claimed", &record),
            ("request.reported", &record),
            ("request.created", &other),
            ("request.cancelled", &other),
            ("request.created", &late),
            ("request.expired", &late),
        ];
        for (kind, record) in expected {
            let event = stream.next().await.expect("the stream goes on");
            assert_eq!((event.kind.as_str(), event.request()), (kind, record["id"].as_str().expect("an id")));
            assert_eq!(event.data["type"], kind);
            assert!(
                event.data["record"]["display"]["digest"].is_string(),
                "a reviewer is shown the exact text"
            );
            assert!(event.data["at"].is_string());
        }
    });
}

#[test]
fn an_unknown_cursor_or_one_of_another_epoch_gets_a_reset() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let here = Sse::open(&ann, None).await.greeted().await.last_id;
        let (epoch, seq) = here.split_once('.').expect("epoch.seq");
        for cursor in [
            format!("{epoch}.999999"),
            format!("x{epoch}.{seq}"),
            "nonsense".to_owned(),
            format!("{epoch}.-1"),
            "999999".to_owned(),
        ] {
            let mut stream = Sse::open(&ann, Some(&cursor)).await;
            let reset = stream.next().await.expect("an event");
            assert_eq!((reset.kind.as_str(), reset.id.as_str()), ("reset", here.as_str()), "{cursor}");
        }
        // A good one gets none, and the events after it.
        let mut stream = Sse::open(&ann, Some(&here)).await;
        ask(&bot).await;
        assert_eq!(stream.next().await.expect("an event").kind, "request.created");
        let mut plain = Sse::at(&ann, &format!("/v1/stream?after={seq}")).await;
        assert_eq!(plain.next().await.expect("an event").kind, "request.created");
    });
}

#[test]
fn what_the_reader_last_heard_counts_more_than_where_it_once_began() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let begin = Sse::open(&ann, None).await.greeted().await.last_id;
        let (_first, second) = (ask(&bot).await, ask(&bot).await);
        let path = format!("/v1/stream?after={begin}");
        let mut stream = Sse::at(&ann, &path).await;
        let heard = stream.next().await.expect("an event").id;
        drop(stream);
        // A browser connects again to the same address, with the header.
        let mut again = Sse::at(&ann.clone().with("last-event-id", &heard), &path).await;
        assert_eq!(again.next().await.expect("an event").request(), second["id"].as_str().expect("an id"));
    });
}

#[test]
fn an_agent_sees_only_its_own_requests() {
    on_sqlite(async |server| {
        let (bot, other, ann) =
            (server.agent("bot").await, server.agent("other").await, server.reviewer("ann").await);
        let begin = Sse::open(&bot, None).await.greeted().await.last_id;
        let mut live = Sse::open(&bot, None).await.greeted().await;
        for _ in 0..5 {
            approved(&other, &ann).await;
        }
        let mine = ask(&bot).await;
        for _ in 0..5 {
            ask(&other).await;
        }
        decide(&ann, &mine, "approve").await.expect(200);
        let mut replay = Sse::open(&bot, Some(&begin)).await;
        for stream in [&mut live, &mut replay] {
            for kind in ["request.created", "request.decided"] {
                let event = stream.next().await.expect("an event");
                assert_eq!(
                    (event.kind.as_str(), event.request()),
                    (kind, mine["id"].as_str().expect("an id"))
                );
                assert!(event.data["record"].get("display").is_none(), "the display is for reviewers");
            }
        }
    });
}

#[test]
fn a_quiet_stream_says_where_it_is_even_while_others_are_busy() {
    let often = |settings: &mut Settings| settings.timing.heartbeat = Duration::from_millis(300);
    with_settings(often, async |server| {
        let (bot, other) = (server.agent("bot").await, server.agent("other").await);
        let mut quiet = Sse::open(&bot, None).await.greeted().await;
        let begin: u64 =
            quiet.last_id.split_once('.').and_then(|(_, seq)| seq.parse().ok()).expect("epoch.seq");
        let mut busy = JoinSet::new();
        busy.spawn(async move {
            loop {
                ask(&other).await;
            }
        });
        // Sooner or later it moves the cursor past what the reader may not see.
        until_so("a heartbeat with a later place", async || {
            let heartbeat = quiet.block().await.expect("a heartbeat");
            assert!(heartbeat.iter().all(|(name, _)| name == "id"), "{heartbeat:?}");
            quiet.last_id.split_once('.').and_then(|(_, seq)| seq.parse().ok()) > Some(begin)
        })
        .await;
        busy.shutdown().await;
    });
}

#[test]
fn a_stream_follows_across_a_restart() {
    placet_testkit::block_on(async {
        let server = Server::start(placet_testkit::Backend::Sqlite).await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let mut stream = Sse::open(&ann, None).await.greeted().await;
        let first = ask(&bot).await;
        assert_eq!(stream.next().await.expect("an event").request(), first["id"].as_str().expect("an id"));
        let cursor = stream.last_id.clone();
        let second = ask(&bot).await;
        let server = server.restart().await;
        let ann = Http { authority: server.authority().to_owned(), ..ann };
        let mut stream = Sse::open(&ann, Some(&cursor)).await;
        assert_eq!(stream.next().await.expect("an event").request(), second["id"].as_str().expect("an id"));
        drop(stream);
        server.finish().await;
    });
}
