//! No address takes everything: connections, unknown keys, and whose word counts for who calls.

use std::sync::atomic::{AtomicU32, Ordering};

use placet_server::{ListenLimits, Proxies, ProxyHeader, Settings};
use placet_testkit::{Backend, Http, Kit, Server, both};
use serde_json::json;
use tokio::{io::AsyncReadExt as _, net::TcpStream};

use crate::{
    browser::use_link,
    support::{action, assert_problem, soon, until_so, with_settings},
};

#[test]
fn one_address_cannot_hold_every_connection() {
    placet_testkit::block_on(async {
        let kit = Kit::start(Backend::Sqlite).await;
        let limits = ListenLimits { connections: 8, ..ListenLimits::default() };
        let server = Server::limited(kit, Settings::default(), limits).await;
        let mut held = Vec::new();
        for _ in 0..6 {
            held.push(TcpStream::connect(server.authority()).await.expect("the server accepts"));
        }
        // Whatever comes after three quarters of all is closed at once, also over the other address.
        let port = server.authority().rsplit_once(':').expect("a port").1;
        for host in ["127.0.0.1", "[::1]"] {
            let Ok(mut more) = TcpStream::connect(format!("{host}:{port}")).await else { continue };
            let ended = soon("the end of one too many", more.read(&mut [0; 1])).await;
            assert!(matches!(ended, Ok(0) | Err(_)), "{host}: {ended:?}");
        }
        drop(held);
        until_so("the seats that were given back", async || {
            let Ok(stream) = TcpStream::connect(server.authority()).await else { return false };
            let mut first = [0; 1];
            let closed = tokio::time::timeout(std::time::Duration::from_millis(50), stream.peek(&mut first));
            closed.await.is_err()
        })
        .await;
        server.finish().await;
    });
}

#[test]
fn a_trusted_proxy_may_hold_more_connections_than_others() {
    placet_testkit::block_on(async {
        let kit = Kit::start(Backend::Sqlite).await;
        let proxies = Proxies::new(["127.0.0.1"], ProxyHeader::XForwardedFor).expect("an address");
        let limits = ListenLimits { connections: 8, ..ListenLimits::default() };
        let server = Server::limited(kit, Settings { proxies, ..Settings::default() }, limits).await;
        let mut held = Vec::new();
        for _ in 0..7 {
            held.push(TcpStream::connect(server.authority()).await.expect("the server accepts"));
        }
        server.nobody().get("/healthz").await.expect(200);
        drop(held);
        server.finish().await;
    });
}

/// Unknown keys that were shown stay counted, however slow the machine is.
fn no_refill(settings: &mut Settings) {
    settings.timing.unknown_refill = std::time::Duration::from_hours(1);
}

#[test]
fn what_a_trusted_proxy_says_of_the_caller_counts_and_nobody_else_is_believed() {
    let trusted = |settings: &mut Settings| {
        no_refill(settings);
        settings.proxies = Proxies::new(["127.0.0.1"], ProxyHeader::XForwardedFor).expect("an address");
    };
    // Unknown keys are limited by address, which shows whom a call counts for.
    // A key that was shown before costs nothing again, so each is another one.
    let shown = AtomicU32::new(0);
    let exhausted = async |caller: &Http| {
        for _ in 0..=200 {
            let token = format!("plk_agent_{}", shown.fetch_add(1, Ordering::Relaxed));
            let answer = Http { token: Some(token), ..caller.clone() }.get("/v1/stats").await;
            if answer.status == 429 {
                return;
            }
            assert_eq!(answer.status, 401);
        }
        panic!("201 unknown keys in a row are not too many");
    };
    let is_limited = async |caller: &Http| {
        let answer =
            Http { token: Some("plk_agent_another".to_owned()), ..caller.clone() }.get("/v1/stats").await;
        answer.status == 429
    };
    with_settings(trusted, async |server| {
        let from = |address: &str| server.nobody().with("x-forwarded-for", address);
        exhausted(&from("203.0.113.7")).await;
        assert!(!is_limited(&from("203.0.113.8")).await, "another caller behind the same proxy");
        exhausted(&from("203.0.113.7, 10.0.0.1")).await;
        // A caller that writes the header itself is still the address that the proxy added.
        exhausted(&from("198.51.100.1, 203.0.113.7")).await;
        let ready = server.nobody().get("/readyz").await.expect(200);
        assert_eq!(ready["warnings"], json!([]));
        assert_eq!(
            from("127.0.0.1").get("/readyz").await.status,
            403,
            "a proxied call is never this machine's own"
        );
    });
    with_settings(no_refill, async |server| {
        let from = |address: &str| server.nobody().with("x-forwarded-for", address);
        exhausted(&from("203.0.113.7")).await;
        assert!(
            is_limited(&from("203.0.113.8")).await,
            "nobody is believed, so both are this connection's address"
        );
        // The operator is told.
        let ready = server.nobody().get("/readyz").await.expect(200);
        let warning = ready["warnings"][0].as_str().expect("a warning");
        assert!(warning.contains("127.0.0.1") && warning.contains("server.trusted_proxies"), "{warning}");
    });
}

both! {
    async fn unknown_keys_are_refused_without_a_look_each_and_a_new_key_works_at_once(server: Server) {
        let unknown = server.http(Some("plk_agent_nobody"));
        for _ in 0..300 {
            assert_problem(&unknown.get("/v1/stats").await, 401, "unauthorized", None);
        }
        let looks = server.kit.gate().key_looks();
        assert!(looks <= 5, "{looks} looks for one unknown key");
        let bot = server.agent("bot").await;
        bot.post("/v1/requests", action()).await.expect(201);
        assert_problem(&unknown.get("/v1/stats").await, 401, "unauthorized", None);
    }
}

#[test]
fn unknown_keys_of_one_address_are_limited_and_known_ones_are_not() {
    with_settings(no_refill, async |server| {
        let bot = server.agent("bot").await;
        let mut refused = None;
        for n in 0..=200 {
            let answer = server.http(Some(&format!("plk_agent_{n}"))).get("/v1/stats").await;
            if answer.status == 429 {
                refused = Some(answer);
                break;
            }
        }
        assert_problem(&refused.expect("201 are too many"), 429, "rate_limited", None);
        // So are links that nobody made; those that somebody did work.
        let admin = server.admin();
        admin.put("/v1/people/ann", json!({"roles": ["reviewer"], "teams": []})).await.expect(200);
        let link = admin.post("/v1/people/ann/link", json!({})).await.expect(201);
        let token = link["url"].as_str().and_then(|url| url.strip_prefix("/sign-in/")).expect("a link");
        let mut limited = false;
        for n in 0..=200 {
            limited |= use_link(&server.nobody(), &format!("nobody-{n}")).await.status == 429;
            if limited {
                break;
            }
        }
        assert!(limited, "201 are too many");
        use_link(&server.nobody(), token).await.expect(200);
        bot.post("/v1/requests", action()).await.expect(201);
    });
}
