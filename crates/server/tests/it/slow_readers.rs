//! Readers that stop reading are let go, and cost nobody else anything.

use std::time::Duration;

use placet_server::{ListenLimits, Settings};
use placet_testkit::{Backend, Http, Kit, Server};
use serde_json::json;
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpSocket, TcpStream},
};

use crate::support::{Sse, action_with, soon, until_closed};

/// So many large requests that no buffer on the way can hold their events.
const LARGE: usize = 60;

async fn server() -> Server {
    let kit = Kit::start(Backend::Sqlite).await;
    let settings = Settings {
        slow_reader: Duration::from_millis(300),
        streams_per_principal: 2,
        requests_per_second: 0,
        ..Settings::default()
    };
    let limits = ListenLimits { write_timeout: Duration::from_millis(500), ..ListenLimits::default() };
    Server::limited(kit, settings, limits).await
}

/// Opens a stream by hand, over a connection that takes little, and never reads from it.
async fn deaf(caller: &Http, head: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(8 * 1024).expect("a small buffer");
    let mut stream =
        socket.connect(caller.authority.parse().expect("an address")).await.expect("the server accepts");
    let token = caller.token.as_ref().expect("a token");
    let head = format!("GET {head} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n");
    stream.write_all(head.as_bytes()).await.expect("the head can be sent");
    stream
}

async fn flood(bot: &Http) -> usize {
    let mut bytes = 0;
    for index in 0..LARGE {
        let body = action_with(json!({"arguments": {"index": index, "text": "x".repeat(200_000)}}));
        bytes += body.to_string().len();
        bot.post("/v1/requests", body).await.expect(201);
    }
    bytes
}

/// Waits until the deaf reader's seat is free again, which is when the server let it go.
async fn let_go(caller: &Http) {
    soon(async {
        while caller.lines("/v1/stream").await.status != 200 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

#[test]
fn a_stream_that_is_not_read_is_let_go_and_others_miss_nothing() {
    placet_testkit::block_on(async {
        let server = server().await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let mut slow = deaf(&ann, "/v1/stream").await;
        slow.write_all(b"\r\n").await.expect("the head can be sent");
        let mut good = Sse::open(&ann, None).await.greeted().await;
        soon(async {
            while ann.lines("/v1/stream").await.status != 429 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        let (bytes, ()) = tokio::join!(flood(&bot), async {
            for index in 0..LARGE {
                let event = good.next().await.expect("the good reader's stream goes on");
                assert_eq!(event.data["record"]["arguments"]["index"], index);
            }
        });
        let_go(&ann).await;
        let received = until_closed(&mut slow).await.len();
        // What was on the way is there; the rest was never kept for it.
        assert!(
            received > 0 && received < bytes / 2,
            "{received} of {bytes} bytes were kept for a reader that does not read"
        );
        drop(good);
        server.finish().await;
    });
}

#[test]
fn a_socket_that_is_not_read_is_let_go() {
    placet_testkit::block_on(async {
        let server = server().await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let mut slow = deaf(&ann, "/v1/ws").await;
        let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
        slow.write_all(upgrade.as_bytes()).await.expect("the head can be sent");
        let good = Sse::open(&ann, None).await.greeted().await;
        let bytes = flood(&bot).await;
        let_go(&ann).await;
        let received = until_closed(&mut slow).await.len();
        assert!(
            received > 0 && received < bytes / 2,
            "{received} of {bytes} bytes were kept for a reader that does not read"
        );
        drop(good);
        server.finish().await;
    });
}
