//! The same stream over a WebSocket.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::{SinkExt as _, StreamExt as _};
use placet_server::Settings;
use serde_json::json;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::{
    streams::{entries_after, load},
    support::{Socket, ask, assert_problem, at, decide, head, on_sqlite, soon, with_settings},
};

#[test]
fn a_socket_carries_the_same_events() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let mut socket = Socket::open(&ann, "/v1/ws").await;
        // The place is taken when the handshake is answered, so nothing after it is missed.
        let record = ask(&bot).await;
        let decided = decide(&ann, &record, "deny").await.expect(200);
        let created = socket.next().await.expect("an event");
        assert_eq!(
            (created.kind.as_str(), created.request()),
            ("request.created", record["id"].as_str().expect("an id"))
        );
        let event = socket.next().await.expect("an event");
        assert_eq!(
            (event.kind.as_str(), &event.data["record"]["decision"]),
            ("request.decided", &decided["decision"])
        );
        let mut again = Socket::open(&ann, &format!("/v1/ws?after={}", created.id)).await;
        assert_eq!(again.next().await.expect("an event").id, event.id);
        let mut header = Socket::open(&ann.clone().with("last-event-id", &created.id), "/v1/ws").await;
        assert_eq!(header.next().await.expect("an event").id, event.id);
        let mut lost = Socket::open(&ann, "/v1/ws?after=elsewhere.5").await;
        let reset = lost.next().await.expect("an event");
        assert_eq!((reset.kind.as_str(), reset.id.as_str()), ("reset", event.id.as_str()));
    });
}

#[test]
fn twenty_reconnects_of_a_socket_under_load_lose_and_repeat_nothing() {
    on_sqlite(async |server| {
        let (ann, eve) = (server.reviewer("ann").await, server.auditor("eve").await);
        let agents = vec![server.agent("bot-1").await, server.agent("bot-2").await];
        let start = head(server).await;
        let mut cursor = start.to_string();
        let stop = Arc::new(AtomicBool::new(false));
        let writers = load(agents, &ann, &stop);
        let mut seen = Vec::new();
        for round in 0..20 {
            let mut socket = Socket::open(&eve, &format!("/v1/ws?after={cursor}")).await;
            for _ in 0..=(round * 5 % 7) {
                let event = socket.next().await.expect("the stream goes on");
                cursor.clone_from(&event.id);
                seen.push(event.seq());
            }
        }
        stop.store(true, Ordering::SeqCst);
        writers.join_all().await;
        let last = head(server).await;
        let mut socket = Socket::open(&eve, &format!("/v1/ws?after={cursor}")).await;
        while seen.last() != Some(&last) {
            seen.push(socket.next().await.expect("the stream goes on").seq());
        }
        assert_eq!(seen, entries_after(&eve, start).await);
    });
}

#[test]
fn an_agents_socket_sees_only_its_own_requests() {
    on_sqlite(async |server| {
        let (bot, other) = (server.agent("bot").await, server.agent("other").await);
        let mut socket = Socket::open(&bot, "/v1/ws").await;
        ask(&other).await;
        let mine = ask(&bot).await;
        let event = socket.next().await.expect("an event");
        assert_eq!(event.request(), mine["id"].as_str().expect("an id"));
        assert!(event.data["record"].get("display").is_none());
    });
}

#[test]
fn a_socket_needs_a_key_and_our_own_page() {
    on_sqlite(async |server| {
        let ann = server.reviewer("ann").await;
        let status = |opened: Result<Socket, Error>| match opened.err() {
            Some(Error::Http(response)) => response.status().as_u16(),
            other => panic!("{other:?}"),
        };
        assert_eq!(status(Socket::try_open(&server.nobody(), "/v1/ws").await), 401);
        assert_eq!(
            status(Socket::try_open(&ann.clone().with("origin", "https://evil.example"), "/v1/ws").await),
            403
        );
        assert_eq!(status(Socket::try_open(&ann.clone().with("host", "evil.example"), "/v1/ws").await), 403);
        let plain = ann.get("/v1/ws").await;
        assert_problem(&plain, 400, "not_a_websocket", None);
    });
}

#[test]
fn a_socket_answers_pings_and_ignores_what_readers_say() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let mut socket = Socket::open(&ann, "/v1/ws").await;
        socket.0.send(Message::text("{\"decision\":\"approve\"}")).await.expect("sent");
        socket.0.send(Message::Ping(b"still there?".as_slice().into())).await.expect("sent");
        let pong = soon("a pong", socket.0.next()).await.expect("an answer").expect("a good one");
        assert_eq!(pong, Message::Pong(b"still there?".as_slice().into()));
        let record = ask(&bot).await;
        assert_eq!(socket.next().await.expect("an event").request(), record["id"].as_str().expect("an id"));
        assert_eq!(bot.get(&at(&record, "")).await.expect(200)["state"], json!("pending"));
        // More than a reader ever needs to say ends the connection, not the server.
        let _ = socket.0.send(Message::text("x".repeat(100_000))).await;
        soon("the end of the socket", async { while let Some(Ok(_)) = socket.0.next().await {} }).await;
        ask(&bot).await;
    });
}

#[test]
fn a_quiet_socket_is_pinged_with_its_cursor() {
    let often = |settings: &mut Settings| settings.timing.heartbeat = Duration::from_millis(100);
    with_settings(often, async |server| {
        let ann = server.reviewer("ann").await;
        let mut socket = Socket::open(&ann, "/v1/ws").await;
        let head = head(server).await;
        let ping = soon("a ping", socket.0.next()).await.expect("a ping").expect("a good one");
        let Message::Ping(cursor) = ping else { panic!("{ping:?}") };
        assert!(String::from_utf8_lossy(&cursor).ends_with(&format!(".{head}")), "{cursor:?}");
    });
}
