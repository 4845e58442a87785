//! Closing in two stages: waits and streams end first, calls in flight finish, and nothing new is let in.

use std::time::Duration;

use placet_server::{Closing, ListenLimits, Settings, State};
use placet_testkit::{BOOTSTRAP, Backend, Http, Kit, Server};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinSet,
};

use crate::{
    support::{FOREVER, Socket, Sse, action, ask, at, soon, until_closed, until_so, with_settings},
    waits::parked,
};

/// A server that is alone with its connections, and closes within a grace of the test's choice. Bodies may take for ever.
struct Alone {
    kit: Kit,
    nobody: Http,
    stop: oneshot::Sender<()>,
    running: JoinSet<std::io::Result<()>>,
}

impl Alone {
    async fn start(grace: Duration) -> Self {
        let kit = Kit::start(Backend::Sqlite).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let authority = listener.local_addr().expect("an address").to_string();
        let settings = Settings { body_timeout: FOREVER, ..Settings::default() };
        let state = State::new(kit.gate().clone(), settings, None);
        let (stop, stopped) = oneshot::channel::<()>();
        let mut running = JoinSet::new();
        running.spawn(placet_server::run(
            listener,
            state,
            ListenLimits { header_timeout: FOREVER, ..ListenLimits::default() },
            Closing { grace },
            async {
                let _ = stopped.await;
            },
        ));
        Self {
            kit,
            nobody: Http { authority, token: None, headers: Vec::new(), signer: None },
            stop,
            running,
        }
    }

    /// Closes it, and waits until it has closed.
    async fn stop(mut self) {
        self.stop.send(()).expect("the server runs");
        let ended = soon("the server to close", self.running.join_next()).await;
        ended.expect("one server").expect("it ends well").expect("it ran");
        self.kit.finish().await;
    }
}

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
        until_so("a create behind the one that the writer has", async || {
            let caller = bot.clone();
            calls.spawn(async move { (caller.post("/v1/requests", action()).await, "create") });
            tokio::time::sleep(Duration::from_millis(20)).await;
            server.kit.store().queued() > 0
        })
        .await;
        let authority = server.authority().to_owned();
        let ((), ()) = tokio::join!(server.stop(), async {
            let (answer, which) = soon("the end of the wait", calls.join_next())
                .await
                .expect("three calls")
                .expect("it ends well");
            assert_eq!(which, "wait");
            assert_eq!(answer.expect(200)["state"], "pending");
            assert!(TcpStream::connect(&authority).await.is_err(), "a closing server accepts no connection");
            drop(held);
            for (answer, _) in soon("the creates", calls.join_all()).await {
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
    let patient = |settings: &mut Settings| settings.wait_max = FOREVER;
    with_settings(patient, async |server| {
        let bot = server.agent("bot").await;
        let record = ask(&bot).await;
        server.state().begin_closing();
        let read = soon("a read that need not wait", bot.get(&at(&record, "?wait=1h"))).await;
        assert_eq!(read.expect(200)["state"], "pending");
        let made = soon("a create that need not wait", bot.post("/v1/requests?wait=1h", action())).await;
        assert_eq!(made.expect(201)["state"], "pending");
        let ready = server.nobody().get("/readyz").await;
        assert_eq!((ready.status, &ready.body["reason"]), (503, &json!("closing")));
        server.nobody().get("/healthz").await.expect(200);
    });
}

#[test]
fn connections_that_do_nothing_do_not_delay_closing() {
    placet_testkit::block_on(async {
        let alone = Alone::start(FOREVER).await;
        let mut idle = Vec::new();
        for _ in 0..20 {
            idle.push(TcpStream::connect(&alone.nobody.authority).await.expect("the server accepts"));
        }
        alone.nobody.get("/healthz").await.expect(200);
        // Whatever waits for these waits for ever.
        alone.stop().await;
    });
}

#[test]
fn a_call_that_never_ends_is_cut_after_the_grace() {
    placet_testkit::block_on(async {
        let alone = Alone::start(Duration::from_millis(200)).await;
        let token = BOOTSTRAP;
        let head = format!(
            "POST /v1/requests HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n"
        );
        let mut stream = TcpStream::connect(&alone.nobody.authority).await.expect("the server accepts");
        stream.write_all(head.as_bytes()).await.expect("the start can be sent");
        // The server says so once it reads the body: the call is being served, however busy this machine is.
        let mut told = [0; 25];
        soon("the word to go on", stream.read_exact(&mut told)).await.expect("the server asks for the body");
        assert_eq!(told, *b"HTTP/1.1 100 Continue\r\n\r\n");
        alone.stop().await;
        // The connection is gone without an answer: the time for a body is not up yet.
        assert_eq!(until_closed(&mut stream).await, "");
    });
}
