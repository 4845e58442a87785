//! Closing in two stages: waits and streams end first, calls in flight finish, and nothing new is let in.

use std::time::Duration;

use placet_testkit::{Backend, Server};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
    time::Instant,
};

use crate::{
    support::{Socket, Sse, action, ask, at, on_sqlite, soon, until_closed},
    waits::parked,
};

#[test]
fn closing_answers_parked_waits_first_and_refuses_new_connections_while_calls_finish() {
    placet_testkit::block_on(async {
        let mut server = Server::start(Backend::Sqlite).await;
        let bot = server.agent("bot").await;
        let record = ask(&bot).await;
        let mut calls = JoinSet::new();
        let (caller, path) = (bot.clone(), at(&record, "?wait=60s"));
        calls.spawn(async move { (caller.get(&path).await, "wait") });
        parked(&server, 1).await;
        // Creates that cannot be written yet are in flight while the server closes: one with the writer, one behind it.
        let held = server.kit.place().hold().await;
        for _ in 0..2 {
            let caller = bot.clone();
            calls.spawn(async move { (caller.post("/v1/requests", action()).await, "create") });
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        soon(async {
            while server.kit.store().queued() == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        let authority = server.authority().to_owned();
        let ((), ()) = tokio::join!(server.stop(), async {
            let (answer, which) = soon(calls.join_next()).await.expect("three calls").expect("it ends well");
            assert_eq!(which, "wait");
            assert_eq!(answer.expect(200)["state"], "pending");
            assert!(TcpStream::connect(&authority).await.is_err(), "a closing server accepts no connection");
            drop(held);
            for (answer, _) in soon(calls.join_all()).await {
                assert_eq!(answer.header("connection"), Some("close"));
                answer.expect(201);
            }
        });
        server.finish().await;
    });
}

#[test]
fn closing_ends_streams_and_tells_sockets_where_to_go_on() {
    placet_testkit::block_on(async {
        let mut server = Server::start(Backend::Sqlite).await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let mut events = Sse::open(&ann, None).await.greeted().await;
        let mut socket = Socket::open(&ann, "/v1/ws").await;
        ask(&bot).await;
        let last = events.next().await.expect("an event").id;
        assert_eq!(socket.next().await.expect("an event").id, last);
        let ((), ()) = tokio::join!(server.stop(), async {
            assert!(events.next().await.is_none(), "the stream ends");
            assert_eq!(events.last_id, last);
            let frame = socket.next().await.expect_err("the socket ends").expect("with a reason");
            assert_eq!((u16::from(frame.code), frame.reason.as_str()), (1013, last.as_str()));
        });
        server.finish().await;
    });
}

#[test]
fn a_wait_that_begins_while_the_server_closes_is_answered_at_once() {
    on_sqlite(async |server| {
        let bot = server.agent("bot").await;
        let record = ask(&bot).await;
        server.state().begin_closing();
        let begun = Instant::now();
        assert_eq!(bot.get(&at(&record, "?wait=30s")).await.expect(200)["state"], "pending");
        assert_eq!(bot.post("/v1/requests?wait=30s", action()).await.expect(201)["state"], "pending");
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        let ready = server.nobody().get("/readyz").await;
        assert_eq!((ready.status, &ready.body["reason"]), (503, &json!("closing")));
        server.nobody().get("/healthz").await.expect(200);
    });
}

#[test]
fn connections_that_do_nothing_do_not_delay_closing() {
    placet_testkit::block_on(async {
        let mut server = Server::start(Backend::Sqlite).await;
        let mut idle = Vec::new();
        for _ in 0..20 {
            idle.push(TcpStream::connect(server.authority()).await.expect("the server accepts"));
        }
        server.nobody().get("/healthz").await.expect(200);
        let begun = Instant::now();
        server.stop().await;
        assert!(begun.elapsed() < Duration::from_secs(3), "closing took {:?}", begun.elapsed());
        server.finish().await;
    });
}

#[test]
fn a_call_that_never_ends_is_cut_after_the_grace() {
    placet_testkit::block_on(async {
        let mut server = Server::start(Backend::Sqlite).await;
        let bot = server.agent("bot").await;
        let token = bot.token.as_ref().expect("a token");
        let head = format!(
            "POST /v1/requests HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n"
        );
        let mut stream = TcpStream::connect(server.authority()).await.expect("the server accepts");
        stream.write_all(head.as_bytes()).await.expect("the start can be sent");
        // The server says so once it reads the body: the call is being served, however busy this machine is.
        let mut told = [0; 25];
        soon(stream.read_exact(&mut told)).await.expect("the server asks for the body");
        assert_eq!(told, *b"HTTP/1.1 100 Continue\r\n\r\n");
        let begun = Instant::now();
        server.stop().await;
        let took = begun.elapsed();
        assert!(took >= Duration::from_secs(4) && took < Duration::from_secs(9), "closing took {took:?}");
        // The connection is gone without an answer, long before the time for a body is up.
        assert_eq!(until_closed(&mut stream).await, "");
        assert!(begun.elapsed() < Duration::from_secs(9), "it was cut after {:?}", begun.elapsed());
        server.finish().await;
    });
}
