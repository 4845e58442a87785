//! The wall in front of every route: names, pages, proxies, and the open door of development.

use http::Method;
use placet_server::{Closing, Hosts, ListenLimits, Settings, State};
use placet_testkit::{Backend, Http, Kit, Server};
use serde_json::json;
use tokio::{net::TcpListener, sync::oneshot, task::JoinSet};

use crate::{
    openapi::operations,
    roles::NOWHERE,
    support::{action, assert_problem, head, on_sqlite, raw, with_settings},
};

async fn call(caller: &Http, method: &Method, path: &str) -> placet_testkit::Answer {
    let path = path.replace("{id}", NOWHERE).replace("{name}", "x");
    caller.send(method.clone(), &path, if *method == Method::GET { "".into() } else { "{}".into() }).await
}

#[test]
fn a_foreign_host_is_refused_on_every_route() {
    on_sqlite(async |server| {
        let admin = server.admin();
        let before = head(server).await;
        for operation in operations() {
            for host in
                ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "127.0.0.2", ""]
            {
                let answer =
                    call(&admin.clone().with("host", host), &operation.method, &operation.path).await;
                assert_eq!(
                    (answer.status, answer.code()),
                    (403, "foreign_host"),
                    "{} at {host:?}",
                    operation.name()
                );
            }
        }
        assert_eq!(head(server).await, before);
        for host in ["localhost", "localhost:1", "127.0.0.1:80", "[::1]:4000", "LOCALHOST"] {
            assert_eq!(admin.clone().with("host", host).get("/v1/keys").await.status, 200, "{host}");
        }
        let unknown = admin.clone().with("host", "evil.example").get("/nowhere").await;
        assert_problem(&unknown, 403, "foreign_host", None);
    });
}

#[test]
fn a_foreign_or_null_origin_is_refused_on_every_route() {
    on_sqlite(async |server| {
        let admin = server.admin();
        let before = head(server).await;
        for operation in operations() {
            for origin in ["https://evil.example", "null", "http://localhost.evil.example", "file://", ""] {
                let answer =
                    call(&admin.clone().with("origin", origin), &operation.method, &operation.path).await;
                assert_eq!(
                    (answer.status, answer.code()),
                    (403, "foreign_origin"),
                    "{} from {origin:?}",
                    operation.name()
                );
            }
        }
        assert_eq!(head(server).await, before);
        let own = format!("http://{}", server.authority());
        let answer = admin.with("origin", &own).get("/v1/keys").await;
        assert_eq!(answer.status, 200);
        assert_eq!(
            answer.header("access-control-allow-origin"),
            None,
            "no page of another site is ever let in"
        );
    });
}

#[test]
fn names_that_the_operator_lists_are_ours_too() {
    let hosts = Hosts::loopback().and(["Placet.Example.com".to_owned()]);
    with_settings(
        |settings| settings.hosts = hosts,
        async |server| {
            let admin = server.admin();
            assert_eq!(admin.clone().with("host", "placet.example.com").get("/v1/keys").await.status, 200);
            let page = admin.with("host", "placet.example.com").with("origin", "https://placet.example.com");
            assert_eq!(page.get("/v1/keys").await.status, 200);
        },
    );
}

#[test]
fn http_1_0_without_a_host_and_two_hosts_are_refused() {
    on_sqlite(async |server| {
        let authority = server.authority().to_owned();
        let answer = raw(&authority, b"GET /healthz HTTP/1.0\r\n\r\n").await;
        assert!(answer.contains("403") && answer.contains("foreign_host"), "{answer}");
        let answer = raw(&authority, b"GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 40"), "{answer}");
        for hosts in ["Host: localhost\r\nHost: evil.example", "Host: evil.example\r\nHost: localhost"] {
            let answer = raw(
                &authority,
                format!("GET /healthz HTTP/1.1\r\n{hosts}\r\nConnection: close\r\n\r\n").as_bytes(),
            )
            .await;
            assert!(answer.contains("foreign_host"), "{hosts}: {answer}");
        }
        let answer = raw(
            &authority,
            b"GET http://evil.example/healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        )
        .await;
        assert!(answer.contains("foreign_host"), "{answer}");
        let origins = "Origin: http://localhost\r\nOrigin: http://evil.example";
        let answer = raw(
            &authority,
            format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\n{origins}\r\nConnection: close\r\n\r\n")
                .as_bytes(),
        )
        .await;
        assert!(answer.contains("foreign_origin"), "{answer}");
    });
}

#[test]
fn other_media_types_and_methods_are_refused() {
    on_sqlite(async |server| {
        let bot = server.agent("bot").await;
        let before = head(server).await;
        for media_type in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "application/jsonp",
            "json",
            "",
        ] {
            let answer = bot.clone().with("content-type", media_type).post("/v1/requests", action()).await;
            assert_problem(&answer, 415, "unsupported_media_type", None);
        }
        assert_eq!(head(server).await, before);
        let charset = bot.clone().with("content-type", "Application/JSON; charset=utf-8");
        charset.post("/v1/requests", action()).await.expect(201);
        for (method, path, allowed) in [
            ("DELETE", "/v1/requests", "GET,HEAD,POST"),
            ("PATCH", "/v1/ledger", "GET,HEAD"),
            ("POST", "/healthz", "GET,HEAD"),
        ] {
            let answer = bot.send(method.parse().expect("a method"), path, "".into()).await;
            assert_problem(&answer, 405, "method_not_allowed", None);
            let mut said: Vec<&str> =
                answer.header("allow").unwrap_or("").split(',').map(str::trim).collect();
            said.sort_unstable();
            assert_eq!(said.join(","), allowed, "{method} {path}");
        }
    });
}

#[test]
fn every_answer_is_marked_as_private_and_not_to_be_guessed_at() {
    on_sqlite(async |server| {
        let admin = server.admin();
        for path in ["/v1/keys", "/healthz", "/readyz", "/openapi.json", "/nowhere"] {
            let answer = admin.get(path).await;
            assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
            assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        }
    });
}

#[test]
fn in_development_a_local_agent_needs_no_key_and_can_only_ask() {
    placet_testkit::block_on(async {
        let settings = Settings { dev: true, requests_per_second: 0, ..Settings::default() };
        let server = Server::over(Kit::start(Backend::Sqlite).await, settings).await;
        let local = server.nobody();
        let record = local.post("/v1/requests", action()).await.expect(201);
        assert_eq!(record["agent"], "local");
        let vote = json!({"decision": "approve", "digest": record["digest"], "version": 1});
        let path = format!("/v1/requests/{}/decision", record["id"].as_str().expect("an id"));
        assert_problem(&local.post(&path, vote).await, 403, "forbidden", None);
        assert_eq!(local.get("/v1/keys").await.status, 403);
        assert_eq!(local.get("/v1/ledger").await.status, 403);
        // A wrong key is not the same as none, and a proxy on this machine is not this machine.
        assert_eq!(server.http(Some("plk_agent_wrong")).post("/v1/requests", action()).await.status, 401);
        for header in ["forwarded", "x-forwarded-for", "x-real-ip", "via"] {
            let proxied = local.clone().with(header, "for=203.0.113.7");
            assert_eq!(proxied.post("/v1/requests", action()).await.status, 401, "{header}");
        }
        assert_eq!(
            local.clone().with("origin", "https://evil.example").post("/v1/requests", action()).await.status,
            403
        );
        server.finish().await;
    });
}

#[test]
fn figures_are_for_this_machine_unless_the_operator_opens_them() {
    on_sqlite(async |server| {
        let proxied = server.nobody().with("x-forwarded-for", "203.0.113.7");
        for path in ["/readyz", "/metrics"] {
            assert_problem(&proxied.get(path).await, 403, "forbidden", None);
        }
        proxied.get("/healthz").await.expect(200);
    });
    with_settings(
        |settings| settings.public_health = true,
        async |server| {
            server.nobody().with("x-forwarded-for", "203.0.113.7").get("/readyz").await.expect(200);
        },
    );
}

#[test]
fn metrics_name_routes_by_their_pattern_and_hold_no_id() {
    let metrics = metrics_exporter_prometheus::PrometheusBuilder::new()
        .install_recorder()
        .expect("the only recorder of this process");
    placet_testkit::block_on(async {
        // The kit's servers have no recorder, so this one stands beside them over the same gate.
        let beside = Server::start(Backend::Sqlite).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port is free");
        let authority = listener.local_addr().expect("an address").to_string();
        let state = State::new(beside.kit.gate().clone(), Settings::default(), Some(metrics));
        let (stop, stopped) = oneshot::channel::<()>();
        let mut serving = JoinSet::new();
        serving.spawn(placet_server::run(
            listener,
            state,
            ListenLimits::default(),
            Closing::default(),
            async move { drop(stopped.await) },
        ));
        let nobody = Http { authority, token: None, headers: Vec::new(), signer: None };
        let bot = Http { authority: nobody.authority.clone(), ..beside.agent("bot").await };
        let record = bot.post("/v1/requests", action()).await.expect(201);
        let id = record["id"].as_str().expect("an id");
        bot.get(&format!("/v1/requests/{id}")).await.expect(200);
        bot.get(&format!("/elsewhere/{id}")).await.expect(404);
        let text = nobody.get("/metrics").await.expect(200).as_str().expect("text").to_owned();
        for line in [
            r#"placet_http_requests_total{route="/v1/requests/{id}",status="200"} 1"#,
            r#"placet_http_requests_total{route="/v1/requests",status="201"} 1"#,
            r#"placet_http_requests_total{route="none",status="404"} 1"#,
            "placet_waiters 0",
        ] {
            assert!(text.contains(line), "{line} is missing in {text}");
        }
        assert!(!text.contains("req_") && !text.contains("plk_"));
        stop.send(()).expect("it runs until now");
        serving.join_all().await;
        beside.finish().await;
    });
}
