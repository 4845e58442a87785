//! Both loopback addresses lead to the same server, and closing frees both.

use std::net::SocketAddr;

use placet_testkit::{Backend, Http, Server};
use tokio::net::{TcpListener, TcpStream};

use crate::support::action;

#[test]
fn closing_frees_both_loopback_addresses() {
    placet_testkit::block_on(async {
        // Without IPv6 there is one address only.
        if TcpListener::bind("[::1]:0").await.is_err() {
            return;
        }
        let mut server = Server::start(Backend::Sqlite).await;
        let bot = server.agent("bot").await;
        let first: SocketAddr = server.authority().parse().expect("an address");
        let second = SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], first.port()));
        let beside = Http { authority: second.to_string(), ..bot.clone() };
        let record = beside.post("/v1/requests", action()).await.expect(201);
        let id = record["id"].as_str().expect("an id");
        assert_eq!(bot.get(&format!("/v1/requests/{id}")).await.expect(200)["state"], "pending");
        server.stop().await;
        for address in [first, second] {
            assert!(TcpStream::connect(address).await.is_err(), "{address} is closed");
        }
        server.finish().await;
    });
}
