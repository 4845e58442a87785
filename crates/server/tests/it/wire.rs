//! The wire itself: clients that are slow, huge, broken or rude, and HTTP/2.

use std::{future::Future, time::Duration};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use placet_server::{ListenLimits, Settings};
use placet_testkit::{Backend, Http, Kit, Server};
use serde_json::Value;
use tokio::{io::AsyncWriteExt as _, net::TcpStream, task::JoinSet};

use crate::support::{action, ask, assert_problem, at, head, on_sqlite, raw, until_closed};

/// A server whose patience is short enough to watch it end.
async fn impatient() -> Server {
    let limits = ListenLimits { header_timeout: Duration::from_millis(200), ..ListenLimits::default() };
    let settings =
        Settings { body_timeout: Duration::from_millis(200), requests_per_second: 0, ..Settings::default() };
    Server::limited(Kit::start(Backend::Sqlite).await, settings, limits).await
}

/// What comes before a long wait ends that the server was asked for first. Both are timed by the same server: however
/// busy the machine is, what was to come a hundred times earlier comes first.
async fn before_the_wait<T>(server: &Server, what: &str, future: impl Future<Output = T>) -> T {
    let bot = server.agent("bot").await;
    let record = ask(&bot).await;
    let path = at(&record, "?wait=20s");
    tokio::select! {
        value = future => value,
        _ = bot.get(&path) => panic!("{what} outlasted a wait of 20 s"),
    }
}

#[test]
fn connections_that_never_finish_their_head_are_closed() {
    placet_testkit::block_on(async {
        let server = impatient().await;
        // Nothing at all, half of the HTTP/2 greeting, half a line, half a head, and silence after an answer.
        let whole = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
        for (what, start) in [
            ("nothing", ""),
            ("half a greeting", "PRI * HTTP/2.0\r\n"),
            ("half a line", "GET /heal"),
            ("half a head", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: "),
            ("nothing after an answer", whole),
        ] {
            let answer = before_the_wait(&server, what, raw(server.authority(), start.as_bytes())).await;
            assert_eq!(answer.starts_with("HTTP/1.1 200"), start == whole, "{what}: {answer}");
        }
        server.finish().await;
    });
}

#[test]
fn a_head_that_drips_byte_by_byte_is_closed() {
    placet_testkit::block_on(async {
        let server = impatient().await;
        let mut stream = TcpStream::connect(server.authority()).await.expect("the server accepts");
        before_the_wait(&server, "a dripping head", async {
            let head = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Padding: ";
            for byte in head.bytes().chain(std::iter::repeat(b'x')) {
                if stream.write_all(&[byte]).await.is_err() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        server.finish().await;
    });
}

#[test]
fn a_body_that_never_ends_is_answered_408() {
    placet_testkit::block_on(async {
        let server = impatient().await;
        let bot = server.agent("bot").await;
        let before = head(&server).await;
        let token = bot.token.as_ref().expect("a token");
        let start = format!(
            "POST /v1/requests HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{\"kind\":"
        );
        let answer = raw(server.authority(), start.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("body_timeout"), "{answer}");
        let chunked = start
            .replace("Content-Length: 1000", "Transfer-Encoding: chunked")
            .replace("{\"kind\":", "5\r\n{\"kin\r\n");
        let answer = raw(server.authority(), chunked.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("body_timeout"), "{answer}");
        assert_eq!(head(&server).await, before);
        server.finish().await;
    });
}

#[test]
fn a_body_that_breaks_off_writes_nothing() {
    on_sqlite(async |server| {
        let bot = server.agent("bot").await;
        let before = head(server).await;
        let token = bot.token.as_ref().expect("a token");
        let body = action().to_string();
        let start = format!(
            "POST /v1/requests HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len() + 1
        );
        let mut stream = TcpStream::connect(server.authority()).await.expect("the server accepts");
        stream.write_all(start.as_bytes()).await.expect("the start can be sent");
        stream.shutdown().await.expect("our half can be closed");
        let answer = until_closed(&mut stream).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{answer}");
        assert_eq!(head(server).await, before);
    });
}

#[test]
fn heads_that_are_too_large_are_refused() {
    on_sqlite(async |server| {
        let head = format!(
            "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Large: {}\r\n\r\n",
            "x".repeat(128 * 1024)
        );
        let mut stream = TcpStream::connect(server.authority()).await.expect("the server accepts");
        // It may hang up before it has read everything.
        let _ = stream.write_all(head.as_bytes()).await;
        let answer = until_closed(&mut stream).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
        let many = format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "X-Many: 1\r\n".repeat(500));
        let answer = raw(server.authority(), many.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
        let address =
            format!("GET /{} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "x".repeat(70_000));
        let mut stream = TcpStream::connect(server.authority()).await.expect("the server accepts");
        let _ = stream.write_all(address.as_bytes()).await;
        let answer = until_closed(&mut stream).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
        server.nobody().get("/healthz").await.expect(200);
    });
}

#[test]
fn garbage_after_a_call_is_not_taken_for_another_call() {
    on_sqlite(async |server| {
        let first = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
        for garbage in [
            "\0\0\0\0\r\n\r\n",
            "GARBAGE\r\n\r\n",
            "GET /healthz HTTP/9.9\r\nHost: localhost\r\n\r\n",
            "GET /healthz HTTP/1.1\r\nHost : localhost\r\n\r\n",
        ] {
            let answer = raw(server.authority(), format!("{first}{garbage}").as_bytes()).await;
            assert!(answer.starts_with("HTTP/1.1 200"), "{garbage:?}: {answer}");
            assert_eq!(answer.matches("HTTP/1.1 200").count(), 1, "{garbage:?}: {answer}");
            assert!(
                answer.contains("HTTP/1.1 400") || answer.matches("HTTP/1.1 ").count() == 1,
                "{garbage:?}: {answer}"
            );
        }
        // Two lengths, or a length and chunks: nobody may see another call in the rest.
        for lengths in [
            "Content-Length: 4\r\nContent-Length: 5",
            "Content-Length: 4\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity",
        ] {
            let smuggled = format!(
                "POST /healthz HTTP/1.1\r\nHost: localhost\r\n{lengths}\r\n\r\nabcdGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
            );
            let answer = raw(server.authority(), smuggled.as_bytes()).await;
            assert!(!answer.contains("HTTP/1.1 200"), "{lengths}: {answer}");
        }
    });
}

#[test]
fn two_calls_sent_together_are_answered_in_order() {
    on_sqlite(async |server| {
        let pair = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        let answer = raw(server.authority(), pair.as_bytes()).await;
        let (ok, missing) = (answer.find("HTTP/1.1 200"), answer.find("HTTP/1.1 404"));
        assert!(ok.is_some() && missing.is_some() && ok < missing, "{answer}");
    });
}

#[test]
fn a_body_that_was_not_asked_for_does_not_keep_a_refusal_away() {
    on_sqlite(async |server| {
        // Two megabytes from nobody: refused before they are read.
        let answer = server.nobody().post_bytes("/v1/requests", vec![b'x'; 2 << 20]).await;
        assert_problem(&answer, 401, "unauthorized", None);
    });
}

/// One call over HTTP/2, on a connection of its own.
pub(crate) async fn get_over_http_2(caller: &Http, authority: &str, path: &str) -> (u16, Value) {
    let stream = TcpStream::connect(&caller.authority).await.expect("the server accepts");
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .expect("HTTP/2");
    let mut driver = JoinSet::new();
    driver.spawn(async move { drop(connection.await) });
    let token = caller.token.as_ref().expect("a token");
    let request =
        Request::get(format!("http://{authority}{path}")).header("authorization", format!("Bearer {token}"));
    let response = sender
        .send_request(request.body(Full::<Bytes>::default()).expect("a request"))
        .await
        .expect("an answer");
    let status = response.status().as_u16();
    let bytes = response.into_body().collect().await.expect("a body").to_bytes();
    (status, serde_json::from_slice(&bytes).expect("JSON"))
}

#[test]
fn http_2_is_spoken_on_the_same_port_behind_the_same_wall() {
    on_sqlite(async |server| {
        let bot = server.agent("bot").await;
        let record = ask(&bot).await;
        let (status, body) = get_over_http_2(&bot, server.authority(), &at(&record, "")).await;
        assert_eq!((status, &body["id"]), (200, &record["id"]));
        let (status, body) = get_over_http_2(&bot, "evil.example", &at(&record, "")).await;
        assert_eq!((status, &body["code"]), (403, &"foreign_host".into()));
    });
}
