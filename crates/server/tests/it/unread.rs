//! Readers over HTTP/2 that leave answers unread are bounded, and let go in time.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Empty};
use hyper::{body::Incoming, client::conn::http2::SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use placet_server::{ListenLimits, Settings};
use placet_testkit::{Backend, Http, Kit, Server};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
};

use crate::support::{FOREVER, Sse, action_with, ask, at, decide, soon, until_so};

/// Longer than a busy machine keeps a reader that does read from its turn.
const SHORT: Duration = Duration::from_secs(2);
/// What one principal, and one connection, may leave unread here.
const PRINCIPAL: usize = 2 * 1024 * 1024;
const CONNECTION: usize = 1024 * 1024;

async fn server(write_timeout: Duration) -> Server {
    let kit = Kit::start(Backend::Sqlite).await;
    let mut settings = Settings { slow_reader: FOREVER, requests_per_second: 0, ..Settings::default() };
    settings.timing.heartbeat = FOREVER;
    settings.unsent_per_principal = PRINCIPAL;
    let limits = ListenLimits { write_timeout, unsent_per_connection: CONNECTION, ..ListenLimits::default() };
    Server::limited(kit, settings, limits).await
}

/// A connection of HTTP/2 whose streams begin with this window. Windows grow only by what is read.
struct Connection {
    send: SendRequest<Empty<Bytes>>,
    driver: JoinSet<()>,
}

impl Connection {
    async fn open(server: &Server, window: u32) -> Self {
        let stream = TcpStream::connect(server.authority()).await.expect("the server accepts");
        let mut builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
        builder.initial_stream_window_size(window).initial_connection_window_size(64 * 1024 * 1024);
        let (send, connection) = builder.handshake(TokioIo::new(stream)).await.expect("it speaks HTTP/2");
        let mut driver = JoinSet::new();
        driver.spawn(async move { drop(connection.await) });
        Self { send, driver }
    }

    async fn get(&mut self, caller: &Http, path: &str) -> hyper::Result<Response<Incoming>> {
        let mut request = Request::get(format!("http://{}{path}", caller.authority));
        if let Some(token) = &caller.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(Empty::new()).expect("a request");
        soon("an answer over HTTP/2", self.send.send_request(request)).await
    }

    /// Returns when the server has closed it.
    async fn closed(mut self) {
        soon("the server to cut the connection", self.driver.join_next()).await;
    }
}

/// Returns when the server resets the stream of this answer.
async fn reset(mut answer: Response<Incoming>) {
    soon("a reset", async {
        while let Some(frame) = answer.body_mut().frame().await {
            if frame.is_err() {
                return;
            }
        }
        panic!("the whole answer came");
    })
    .await;
}

async fn json(answer: Response<Incoming>) -> Value {
    let body = soon("a body", answer.into_body().collect()).await.expect("the whole body").to_bytes();
    serde_json::from_slice(&body).expect("JSON")
}

/// A request whose record is a quarter of a megabyte.
async fn large(bot: &Http) -> Value {
    let body = action_with(json!({"arguments": {"text": "x".repeat(250_000)}}));
    bot.post("/v1/requests", body).await.expect(201)
}

#[test]
fn what_one_principal_leaves_unread_is_bounded_on_every_connection_and_in_all() {
    placet_testkit::block_on(async {
        let server = server(FOREVER).await;
        let (bot, other) = (server.agent("bot").await, server.agent("other").await);
        let (path, same) = (at(&large(&bot).await, ""), at(&large(&other).await, ""));
        let (mut kept, mut connections) = (Vec::new(), Vec::new());
        let (mut answered, mut refused, mut first) = (0, 0, 0);
        for index in 0..6 {
            let mut connection = Connection::open(&server, 0).await;
            for _ in 0..20 {
                let answer = connection.get(&bot, &path).await.expect("an answer");
                match answer.status().as_u16() {
                    200 => answered += 1,
                    429 => refused += 1,
                    status => panic!("{status}"),
                }
                kept.push(answer);
                assert!(server.state().unsent() <= PRINCIPAL, "{} bytes are kept", server.state().unsent());
            }
            if index == 0 {
                first = server.state().unsent();
            }
            connections.push(connection);
        }
        assert!(first > 0 && first <= CONNECTION, "{first} bytes are kept for one connection");
        assert!(answered >= 4 && refused > answered, "{answered} answered, {refused} refused");
        // A call that changes something is refused before it does, and says why.
        let before = crate::support::head(&server).await;
        let refusal = bot.post("/v1/requests", crate::support::action()).await;
        crate::support::assert_problem(&refusal, 429, "too_many_unread", None);
        assert_eq!(crate::support::head(&server).await, before);
        // Others are not concerned.
        let read = Connection::open(&server, 65_535).await.get(&other, &same).await.expect("an answer");
        assert_eq!(json(read).await["state"], "pending");
        // Whoever closes what they do not read may go on.
        drop((kept, connections));
        until_so("the end of what was not read", async || server.state().unsent() == 0).await;
        bot.get(&path).await.expect(200);
        server.finish().await;
    });
}

#[test]
fn a_stream_that_is_not_read_is_reset_and_others_on_its_connection_live() {
    placet_testkit::block_on(async {
        let server = server(SHORT).await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let (record, path) = (ask(&bot).await, at(&large(&bot).await, ""));
        let mut connection = Connection::open(&server, 65_535).await;
        // Both have nothing to say for longer than a reader may be deaf.
        let quiet = connection.get(&ann, "/v1/stream").await.expect("a stream");
        let mut parked = connection.send.clone();
        let token = bot.token.clone().expect("a token");
        let wait = Request::get(format!("http://{}{}", bot.authority, at(&record, "?wait=60s")));
        let wait = wait.header("authorization", format!("Bearer {token}"));
        let wait = wait.body(Empty::<Bytes>::new()).expect("a request");
        let mut waiting = JoinSet::new();
        waiting.spawn(async move { parked.send_request(wait).await });
        until_so("the wait", async || server.kit.gate().waiting() == 1).await;
        let deaf = connection.get(&bot, &path).await.expect("an answer");
        assert_eq!(deaf.status(), 200);
        until_so("the end of the deaf stream", async || server.state().unsent() == 0).await;
        reset(deaf).await;
        decide(&ann, &record, "approve").await.expect(200);
        let answer = soon("the wait", waiting.join_next()).await.expect("one wait").expect("it ends well");
        assert_eq!(json(answer.expect("an answer")).await["state"], "approved");
        let mut told = Vec::new();
        let mut quiet = quiet.into_body();
        while !String::from_utf8_lossy(&told).contains("request.decided") {
            let frame = soon("news on the quiet stream", quiet.frame()).await.expect("it goes on");
            told.extend(frame.expect("it goes on").into_data().expect("data"));
        }
        drop((quiet, connection));
        server.finish().await;
    });
}

#[test]
fn answers_and_event_streams_without_a_window_are_reset_however_short_they_are() {
    placet_testkit::block_on(async {
        let server = server(SHORT).await;
        let (bot, eve) = (server.agent("bot").await, server.auditor("eve").await);
        let (short, long) = (at(&ask(&bot).await, ""), at(&large(&bot).await, ""));
        let mut connection = Connection::open(&server, 0).await;
        let mut deaf = Vec::new();
        for (caller, path) in
            [(&bot, short.as_str()), (&bot, &long), (&eve, "/v1/stream"), (&bot, "/healthz")]
        {
            let answer = connection.get(caller, path).await.expect("an answer");
            assert_eq!(answer.status(), 200, "{path}");
            deaf.push(answer);
        }
        for answer in deaf {
            reset(answer).await;
        }
        assert_eq!(server.state().unsent(), 0);
        drop(connection);
        server.finish().await;
    });
}

#[test]
fn a_connection_whose_last_bytes_are_not_read_is_cut() {
    placet_testkit::block_on(async {
        let server = server(SHORT).await;
        let bot = server.agent("bot").await;
        let path = at(&ask(&bot).await, "");
        // One byte fits, so hyper is done with the stream; the rest of the answer waits in the connection.
        let mut connection = Connection::open(&server, 1).await;
        let answer = connection.get(&bot, &path).await.expect("an answer");
        assert_eq!(answer.status(), 200);
        assert!(server.state().unsent() > 0);
        connection.closed().await;
        until_so("the end of what was not read", async || server.state().unsent() == 0).await;
        server.finish().await;
    });
}

#[test]
fn long_answers_and_events_arrive_whole_over_small_windows() {
    placet_testkit::block_on(async {
        let server = server(FOREVER).await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let record = large(&bot).await;
        for window in [1_000, 16 * 1024, 65_535] {
            let mut connection = Connection::open(&server, window).await;
            let read = connection.get(&bot, &at(&record, "")).await.expect("an answer");
            assert_eq!(json(read).await["arguments"], record["arguments"], "{window}");
        }
        let mut events = Sse::open(&ann, None).await.greeted().await;
        let made = large(&bot).await;
        assert_eq!(events.next().await.expect("an event").data["record"]["arguments"], made["arguments"]);
        until_so("everything to be read", async || server.state().unsent() == 0).await;
        drop(events);
        server.finish().await;
    });
}

#[test]
fn a_connection_may_have_a_hundred_streams() {
    placet_testkit::block_on(async {
        let server = Server::start(Backend::Sqlite).await;
        let mut stream = TcpStream::connect(server.authority()).await.expect("the server accepts");
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.expect("a greeting");
        let mut head = [0; 9];
        soon("its settings", stream.read_exact(&mut head)).await.expect("a frame");
        assert_eq!(head[3], 4, "the first frame has the settings");
        let mut settings = vec![0; usize::from(head[2])];
        stream.read_exact(&mut settings).await.expect("the settings");
        let streams = settings.chunks(6).find(|setting| setting[..2] == [0, 3]).expect("a number of streams");
        assert_eq!(streams[2..], 100_u32.to_be_bytes());
        drop(stream);
        server.finish().await;
    });
}
