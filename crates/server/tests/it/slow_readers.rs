//! Readers that stop reading are let go, and cost nobody else anything.

use std::time::Duration;

use placet_server::{ListenLimits, Settings};
use placet_testkit::{Backend, Http, Kit, Server};
use serde_json::json;
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpSocket, TcpStream},
};

use crate::support::{FOREVER, Sse, action_with, until_closed, until_so};

/// So many large requests that no buffer on the way can hold their events.
const LARGE: usize = 80;

/// Longer than a busy machine keeps a reader that does read from its turn.
const SHORT: Duration = Duration::from_secs(2);

/// A server whose streams, or whose connections, have little patience. There are two seats for each principal.
async fn server(slow_reader: Duration, write_timeout: Duration) -> Server {
    let kit = Kit::start(Backend::Sqlite).await;
    let settings =
        Settings { slow_reader, streams_per_principal: 2, requests_per_second: 0, ..Settings::default() };
    Server::limited(kit, settings, ListenLimits { write_timeout, ..ListenLimits::default() }).await
}

/// Opens a stream by hand, over a connection that takes little, and never reads from it. It has its seat when this
/// returns: the first line of the answer was looked at where it lies.
async fn deaf(caller: &Http, path: &str, headers: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(8 * 1024).expect("a small buffer");
    let mut stream =
        socket.connect(caller.authority.parse().expect("an address")).await.expect("the server accepts");
    let token = caller.token.as_ref().expect("a token");
    let head =
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n{headers}\r\n");
    stream.write_all(head.as_bytes()).await.expect("the head can be sent");
    let mut first = [0; 12];
    until_so("the first line of an answer", async || {
        stream.peek(&mut first).await.expect("the server answers") == first.len()
    })
    .await;
    let status = &first[9..];
    assert!(status == b"200" || status == b"101", "{}", String::from_utf8_lossy(&first));
    stream
}

async fn flood(bot: &Http) -> usize {
    let mut bytes = 0;
    for index in 0..LARGE {
        let body = action_with(json!({"arguments": {"index": index, "text": "x".repeat(250_000)}}));
        bytes += body.to_string().len();
        bot.post("/v1/requests", body).await.expect(201);
    }
    bytes
}

/// Waits until the deaf reader's seat is free again, which is when the server let it go.
async fn let_go(caller: &Http) {
    until_so("a deaf reader's seat", async || caller.lines("/v1/stream").await.status == 200).await;
}

/// One reader is deaf, another one of the same principal is not; one of the two limits is short.
async fn beside_a_good_reader(path: &str, headers: &str, slow_reader: Duration, write_timeout: Duration) {
    let server = server(slow_reader, write_timeout).await;
    let (bot, eve) = (server.agent("bot").await, server.auditor("eve").await);
    let mut slow = deaf(&eve, path, headers).await;
    let mut good = Sse::open(&eve, None).await.greeted().await;
    assert_eq!(eve.lines("/v1/stream").await.status, 429, "both seats are taken");
    let (bytes, ()) = tokio::join!(flood(&bot), async {
        for index in 0..LARGE {
            let event = good.next().await.expect("the good reader's stream goes on");
            assert_eq!(event.data["record"]["arguments"]["index"], index);
        }
    });
    let_go(&eve).await;
    let received = until_closed(&mut slow).await.len();
    // What was on the way is there; the rest was never kept for it.
    assert!(
        received > 0 && received < bytes / 2,
        "{received} of {bytes} bytes were kept for a reader that does not read"
    );
    drop(good);
    server.finish().await;
}

#[test]
fn a_stream_that_is_not_read_is_let_go_and_others_miss_nothing() {
    placet_testkit::block_on(beside_a_good_reader("/v1/stream", "Connection: close\r\n", SHORT, FOREVER));
}

#[test]
fn a_connection_that_is_not_read_is_let_go_and_others_miss_nothing() {
    placet_testkit::block_on(beside_a_good_reader("/v1/stream", "Connection: close\r\n", FOREVER, SHORT));
}

#[test]
fn a_socket_that_is_not_read_is_let_go_and_others_miss_nothing() {
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
    placet_testkit::block_on(beside_a_good_reader("/v1/ws", upgrade, SHORT, FOREVER));
}
