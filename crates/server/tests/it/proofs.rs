//! A session belongs to the browser that opened it: every call is signed with a key that never leaves it, and the cookie,
//! which goes to every port of its host, is nobody's.

use bytes::Bytes;
use data_encoding::BASE64URL_NOPAD;
use http::Method;
use placet_server::Settings;
use placet_testkit::{Answer, Backend, Http, Server, Signer, block_on, both, said};
use serde_json::{Value, json};

use crate::{
    browser::{Browser, cookie, signed_in, use_link, with_password},
    openapi::{Operation, operations},
    support::{
        Socket, action, ask, assert_problem, at, decide_on_card, head, on_sqlite, vote, vote_on_card,
        with_settings,
    },
};

/// A call with exactly these words in its proof.
fn forged(browser: &Browser, proof: &str) -> Http {
    browser.stolen().with("placet-proof", proof)
}

both! {
    async fn a_proof_of_anything_but_this_very_call_is_refused(server: Server) {
        let bot = server.agent("bot").await;
        let ann = signed_in(server, "ann", &["reviewer"]).await;
        let ben = signed_in(server, "ben", &["reviewer"]).await;
        let record = ask(&bot).await;
        let path = at(&record, "/decision");
        let seen = ann.page().get(&at(&record, "")).await.expect(200);
        let body = Bytes::from(vote_on_card(&seen, "approve").to_string());
        let (session, nonce) = (ann.signer.session(), ann.signer.nonce());
        let right = said("POST", &path, &body, &session, &nonce);
        let other_body = vote(&record, "deny").to_string();
        let words = [
            ("another method", said("PUT", &path, &body, &session, &nonce)),
            ("a method in lower case", said("post", &path, &body, &session, &nonce)),
            ("another path", said("POST", &format!("{path}/"), &body, &session, &nonce)),
            ("a query", said("POST", &format!("{path}?a=1"), &body, &session, &nonce)),
            ("another body", said("POST", &path, other_body.as_bytes(), &session, &nonce)),
            ("no body", said("POST", &path, b"", &session, &nonce)),
            ("another session", said("POST", &path, &body, &ben.signer.session(), &nonce)),
            ("another session's nonce", said("POST", &path, &body, &session, &ben.signer.nonce())),
            ("no nonce", said("POST", &path, &body, &session, "")),
            ("another domain", right.replace("placet/proof/v1", "placet/proof/v2")),
            ("one line more", format!("{right}\n")),
        ];
        let before = head(server).await;
        let refused = async |what: &str, http: Http| {
            let answer = http.send(Method::POST, &path, body.clone()).await;
            assert!(["proof_nonce", "proof_needed"].contains(&answer.code()), "{what}: {} {}", answer.status, answer.body);
            assert_eq!(answer.status, 401, "{what}");
            assert_eq!(answer.header("placet-nonce"), Some(nonce.as_str()), "{what}: what to sign with");
            assert_eq!(cookie(&answer), None, "{what}");
        };
        for (what, words) in words {
            refused(what, forged(&ann, &ann.signer.proof_of(&words))).await;
        }
        refused("another key", forged(&ann, &ben.signer.proof_of(&right))).await;
        refused("a key of one's own", forged(&ann, &Signer::default().proof_of(&right))).await;
        let signed = ann.signer.sign(&right);
        let text = BASE64URL_NOPAD.encode(&signed);
        let padded = data_encoding::BASE64URL.encode(&signed);
        let der = BASE64URL_NOPAD.encode(&der(&signed));
        let zeros = BASE64URL_NOPAD.encode(&[0; 64]);
        for wrong in [
            "", "v1.", "v1", &text, &format!("v2.{text}"), &format!("V1.{text}"), &format!("v1.{padded}"),
            &format!("v1.{text}A"), &format!("v1.{}", &text[..text.len() - 2]), &format!("v1.{der}"), &format!("v1.{zeros}"),
            &format!("v1.{text}, v1.{text}"), &format!("v1. {text}"),
        ] {
            refused(&format!("the header {wrong:?}"), forged(&ann, wrong)).await;
        }
        let good = format!("v1.{text}");
        refused("two headers", forged(&ann, &good).with("placet-proof", &good)).await;
        refused("a good one after a bad one", forged(&ann, "v1.x").with("placet-proof", &good)).await;
        assert_eq!(head(server).await, before, "nothing happened");
        let decided = forged(&ann, &good).send(Method::POST, &path, body).await.expect(200);
        assert_eq!((&decided["state"], &decided["votes"][0]["auth"]), (&json!("approved"), &json!("bound")));
    }

    async fn a_nonce_works_for_its_window_and_the_next(server: Server) {
        let ann = signed_in(server, "ann", &["reviewer"]).await;
        let (session, first) = (ann.signer.session(), ann.signer.nonce());
        let with = |nonce: &str| {
            let words = said("GET", "/v1/sessions", b"", &session, nonce);
            let caller = forged(&ann, &ann.signer.proof_of(&words));
            async move { caller.get("/v1/sessions").await }
        };
        assert_eq!(with(&first).await.status, 200);
        server.kit.clock().advance(std::time::Duration::from_mins(5));
        let next = with(&first).await;
        assert_eq!(next.status, 200, "the one before still counts");
        let second = next.header("placet-nonce").expect("a newer one").to_owned();
        assert_ne!(second, first);
        server.kit.clock().advance(std::time::Duration::from_mins(5));
        let late = with(&first).await;
        assert_problem(&late, 401, "proof_nonce", None);
        let third = late.header("placet-nonce").expect("a newer one").to_owned();
        assert_eq!((with(&second).await.status, with(&third).await.status), (200, 200));
        // The client of the tests, like the dashboard, signs again by itself.
        server.kit.clock().advance(std::time::Duration::from_mins(30));
        assert_eq!(ann.page().get("/v1/sessions").await.status, 200);
    }

    async fn a_copy_of_a_signed_call_makes_nothing_a_second_time(server: Server) {
        let root = signed_in(server, "root", &["admin", "reviewer"]).await;
        crate::browser::person(server, "ann", &["reviewer"]).await;
        for (path, body) in [
            ("/v1/keys", json!({"role": "agent", "name": "bot"}).to_string()),
            ("/v1/people/ann/link", String::new()),
        ] {
            let words = said("POST", path, body.as_bytes(), &root.signer.session(), &root.signer.nonce());
            let signed = root.signer.sign(&words);
            let copies = [signed.clone(), turned_round(&signed)];
            let before = head(server).await;
            let first = forged(&root, &format!("v1.{}", BASE64URL_NOPAD.encode(&signed)));
            first.send(Method::POST, path, body.clone().into()).await.expect(201);
            let after = head(server).await;
            assert_ne!(before, after);
            for copy in copies {
                let copy = forged(&root, &format!("v1.{}", BASE64URL_NOPAD.encode(&copy)));
                let named = copy.key("thief").send(Method::POST, path, body.clone().into()).await;
                assert_eq!((named.status, named.code()), (401, "proof_nonce"), "{}", named.body);
                let again = copy.send(Method::POST, path, body.clone().into()).await;
                assert_eq!(again.status, 200, "{path}: {}", again.body);
                assert!(again.body["key"].is_null() && again.body["url"].is_null(), "{}", again.body);
            }
            assert_eq!(head(server).await, after, "{path}");
            // The same call meant again is signed anew.
            root.page().send(Method::POST, path, body.into()).await.expect(201);
        }
    }
}

both! {
    async fn a_copy_of_a_signed_change_does_not_undo_what_came_after(server: Server) {
        let root = signed_in(server, "root", &["admin", "reviewer"]).await;
        let freeze = Copied::of(&root, Method::POST, "/v1/freeze", &json!({"all": true, "reason": "stop"}));
        let made = freeze.send(0, None).await.expect(201);
        let lifted = root.page().delete(&format!("/v1/freeze/{}", made["id"].as_str().expect("an id"))).await;
        assert!(lifted.status < 300, "{}", lifted.body);
        let person = Copied::of(&root, Method::PUT, "/v1/people/ann", &json!({"roles": ["admin"]}));
        person.send(0, None).await.expect(200);
        root.page().put("/v1/people/ann", json!({"roles": ["auditor"]})).await.expect(200);
        let password = Copied::of(&root, Method::PUT, "/v1/session/password", &json!({"new": "the first password"}));
        assert_eq!(password.send(0, None).await.status, 204);
        assert_eq!(root.page().put("/v1/session/password", json!({"new": "the second password"})).await.status, 204);
        let key = Copied::of(&root, Method::POST, "/v1/keys", &json!({"role": "agent", "name": "bot"}));
        key.send(0, Some("mine")).await.expect(201);
        let before = head(server).await;
        for copy in [0, 1] {
            for named in [Some("thief"), None, Some("mine")] {
                for (what, call) in [("freeze", &freeze), ("person", &person), ("password", &password)] {
                    let answer = call.send(copy, named).await;
                    assert_eq!((answer.status, answer.code()), (401, "proof_nonce"), "{what}: {}", answer.body);
                }
                let answer = key.send(copy, named).await;
                assert_eq!((answer.status, answer.code()), (401, "proof_nonce"), "key: {}", answer.body);
            }
        }
        assert_eq!(head(server).await, before, "nothing happened");
        let words = said("GET", "/v1/stream", b"", &root.signer.session(), &root.signer.nonce());
        let copy = forged(&root, &root.signer.proof_of(&words));
        assert_eq!(copy.lines("/v1/stream").await.status, 200);
        assert_eq!(copy.lines("/v1/stream").await.status, 401);
        assert_eq!(root.page().lines("/v1/stream").await.status, 200);
    }
}

/// A signed call that somebody has a copy of.
struct Copied {
    browser: Browser,
    method: Method,
    path: String,
    body: String,
    proofs: [String; 2],
}

impl Copied {
    fn of(browser: &Browser, method: Method, path: &str, body: &Value) -> Self {
        let (browser, body) = (browser.clone(), body.to_string());
        let (session, nonce) = (browser.signer.session(), browser.signer.nonce());
        let signed = browser.signer.sign(&said(method.as_str(), path, body.as_bytes(), &session, &nonce));
        let proofs = [signed.clone(), turned_round(&signed)];
        let proofs = proofs.map(|proof| format!("v1.{}", BASE64URL_NOPAD.encode(&proof)));
        Self { browser, method, path: path.to_owned(), body, proofs }
    }

    async fn send(&self, proof: usize, key: Option<&str>) -> Answer {
        let mut caller = forged(&self.browser, &self.proofs[proof]);
        if let Some(key) = key {
            caller = caller.key(key);
        }
        caller.send(self.method.clone(), &self.path, self.body.clone().into()).await
    }
}

#[test]
fn a_cookie_with_wrong_proofs_is_slowed_down_and_its_bodies_are_not_kept() {
    with_settings(
        |settings| settings.timing.unknown_refill = std::time::Duration::from_hours(1),
        async |server| {
            let ann = signed_in(server, "ann", &["reviewer"]).await;
            let large = Bytes::from(vec![b' '; 1 << 20]);
            let junk = forged(&ann, "junk").send(Method::POST, "/events", large.slice(..100)).await;
            assert_eq!((junk.status, junk.code()), (401, "proof_needed"));
            let wrong = forged(&ann, &Signer::default().proof_of("x"));
            let answer = wrong.send(Method::POST, "/events", large).await;
            assert_eq!((answer.status, answer.code()), (422, "too_large"));
            let mut limited = false;
            for _ in 0..=200 {
                limited = wrong.get("/v1/requests").await.status == 429;
                if limited {
                    break;
                }
            }
            assert!(limited, "201 are too many");
            assert_eq!(ann.page().get("/v1/requests").await.status, 200, "the person goes on");
        },
    );
}

/// The other signature that fits the same words: whoever has one can work it out without the key.
fn turned_round(signature: &[u8]) -> Vec<u8> {
    // The order of P-256.
    const ORDER: [u8; 32] = [
        0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc, 0xe6, 0xfa,
        0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
    ];
    let mut out = signature.to_vec();
    let mut borrow = 0_i16;
    for place in (0..32).rev() {
        let digit = i16::from(ORDER[place]) - i16::from(signature[32 + place]) - borrow;
        borrow = i16::from(digit < 0);
        out[32 + place] = u8::try_from(digit.rem_euclid(256)).expect("a byte");
    }
    out
}

/// The same signature as ASN.1, which other libraries make.
fn der(signature: &[u8]) -> Vec<u8> {
    let integer = |half: &[u8]| {
        let mut digits: Vec<u8> = half.iter().copied().skip_while(|digit| *digit == 0).collect();
        if digits.first().is_none_or(|first| *first >= 0x80) {
            digits.insert(0, 0);
        }
        [vec![2, u8::try_from(digits.len()).expect("short")], digits].concat()
    };
    let both = [integer(&signature[..32]), integer(&signature[32..])].concat();
    [vec![0x30, u8::try_from(both.len()).expect("short")], both].concat()
}

/// Every operation of the API document, with something in place of its parameters.
fn routes(record: &Value, session: &str) -> Vec<(Method, String)> {
    let id = record["id"].as_str().expect("an id");
    let routes = operations().into_iter().map(|Operation { method, path, .. }| {
        let path = path
            .replace("/requests/{id}", &format!("/requests/{id}"))
            .replace("/sessions/{id}", &format!("/sessions/{session}"))
            .replace("{name}", "ann")
            .replace("{id}", "0")
            .replace("{hash}", "0");
        assert!(!path.contains('{'), "{path}");
        (method, path)
    });
    routes.collect()
}

/// Signing in, and what strangers may read.
fn is_for_everybody(method: &Method, path: &str) -> bool {
    let open = ["/healthz", "/readyz", "/metrics", "/openapi.json"];
    open.contains(&path) || (*method == Method::POST && ["/v1/session", "/v1/session/link"].contains(&path))
}

fn with_the_cookie_alone(dev: bool) {
    with_settings(
        move |settings: &mut Settings| settings.dev = dev,
        async |server| {
            let bot = server.agent("bot").await;
            let ann = with_password(server, "ann", &["reviewer", "admin", "auditor"]).await;
            let record = ask(&bot).await;
            let session = ann.id().await;
            let before = head(server).await;
            let mut seen = 0;
            for (method, path) in routes(&record, &session) {
                if is_for_everybody(&method, &path) {
                    continue;
                }
                for thief in [ann.bare(), ann.stolen()] {
                    let body = match (&method, path.ends_with("/decision")) {
                        (&Method::GET, _) => String::new(),
                        (_, true) => vote(&record, "approve").to_string(),
                        _ => action().to_string(),
                    };
                    let answer = thief.send(method.clone(), &path, body.into()).await;
                    assert_eq!(cookie(&answer), None, "{method} {path}");
                    seen += 1;
                    if (&method, path.as_str()) == (&Method::GET, "/v1/session") {
                        let names: Vec<&str> =
                            answer.body.as_object().expect("an object").keys().map(String::as_str).collect();
                        assert_eq!((answer.status, names), (200, vec!["bound", "nonce"]), "{}", answer.body);
                    } else {
                        assert_problem(&answer, 401, "proof_needed", None);
                    }
                }
            }
            assert!(seen > 80, "{seen} calls");
            let stream = ann.stolen().lines("/v1/stream").await;
            assert_eq!(stream.status, 401);
            for path in ["/v1/ws", "/stream"] {
                let opened = Socket::try_open(&ann.stolen(), path).await;
                assert_eq!(opened.is_ok(), dev && path == "/stream", "{path}");
            }
            for path in ["/events/recent", "/events/filter-options", "/approvals/pending", "/a2a/v1/tasks"] {
                let (thief, nobody) = (ann.stolen().get(path).await, server.nobody().get(path).await);
                assert_eq!(thief.status, nobody.status, "{path}");
                assert!(thief.status == 401 || thief.body == nobody.body, "{path}: {}", thief.body);
            }
            let looked = ann.stolen().get(&format!("/r/{}", record["id"].as_str().expect("an id"))).await;
            assert!(!looked.body.to_string().contains("delete_files"), "{}", looked.body);
            assert_eq!(head(server).await, before, "nothing happened");
            // With the signature the same doors open.
            for path in ["/events/recent", "/approvals/pending"] {
                assert_eq!(ann.page().get(path).await.status, 200, "{path}");
            }
            assert_eq!(
                decide_on_card(&ann.page(), &record, "approve").await.expect(200)["state"],
                "approved"
            );
        },
    );
}

#[test]
fn with_the_cookie_alone_every_route_gives_nothing_and_changes_nothing() {
    with_the_cookie_alone(false);
}

#[test]
fn with_the_cookie_alone_nothing_is_given_where_agents_need_no_key_either() {
    with_the_cookie_alone(true);
}

both! {
    async fn a_ticket_opens_one_stream_of_its_own_session_within_thirty_seconds(server: Server) {
        let ann = signed_in(server, "ann", &["reviewer"]).await;
        let ben = signed_in(server, "ben", &["reviewer"]).await;
        let ticket = async |browser: &Browser, path: &str| {
            let made = browser.page().post(path, Value::Null).await.expect(201);
            made["ticket"].as_str().expect("a ticket").to_owned()
        };
        let open = async |browser: &Browser, path: &str, ticket: &str| {
            let caller = browser.stolen().with("sec-websocket-protocol", &format!("placet, {ticket}"));
            Socket::try_open(&caller, path).await.is_ok()
        };
        for path in ["/v1/ws", "/stream"] {
            let first = ticket(&ann, "/v1/ws/ticket").await;
            assert!(!open(&ben, path, &first).await, "another session's");
            assert!(open(&ann, path, &first).await, "{path}");
            assert!(!open(&ann, path, &first).await, "once");
            let late = ticket(&ann, "/v1/ws/ticket").await;
            server.kit.clock().advance(std::time::Duration::from_secs(30));
            assert!(!open(&ann, path, &late).await, "late");
            let wrong = ticket(&ann, "/v1/requests/export/ticket").await;
            assert!(!open(&ann, path, &wrong).await, "for something else");
            let mut bent = ticket(&ann, "/v1/ws/ticket").await;
            bent.replace_range(10..11, if bent.as_bytes()[10] == b'0' { "1" } else { "0" });
            assert!(!open(&ann, path, &bent).await, "bent");
            assert!(!open(&ann, path, "plt_").await && !open(&ann, path, "plt_x").await, "no ticket at all");
        }
        let foreign = ann.bare().with("origin", "http://127.0.0.1:1").with("sec-websocket-protocol", &format!("placet, {}", ticket(&ann, "/v1/ws/ticket").await));
        assert!(Socket::try_open(&foreign, "/v1/ws").await.is_err(), "from another origin");
    }

    async fn a_ticket_downloads_one_export(server: Server) {
        let bot = server.agent("bot").await;
        let ann = signed_in(server, "ann", &["reviewer"]).await;
        let ben = signed_in(server, "ben", &["reviewer"]).await;
        ask(&bot).await;
        let made = ann.page().post("/v1/requests/export/ticket", Value::Null).await.expect(201);
        let path = format!("/v1/requests/export?format=jsonl&ticket={}", made["ticket"].as_str().expect("a ticket"));
        let link = |browser: &Browser| browser.bare().with("sec-fetch-site", "same-origin");
        assert_problem(&link(&ben).get(&path).await, 401, "proof_needed", None);
        assert_problem(&server.nobody().get(&path).await, 401, "unauthorized", None);
        let got: Answer = link(&ann).get(&path).await;
        assert_eq!(got.status, 200, "{}", got.body);
        assert!(got.body.to_string().contains("delete_files"));
        assert_problem(&link(&ann).get(&path).await, 401, "proof_needed", None);
        // By signature, and by key, as before.
        assert_eq!(ann.page().get("/v1/requests/export").await.status, 200);
        assert_eq!(server.reviewer("cat").await.get("/v1/requests/export").await.status, 200);
    }

    async fn the_code_of_a_step_up_is_shown_to_a_persons_own_browser_alone(server: Server) {
        let policy = "version = 1\n[needs.code]\npeople = 1\nstep_up = \"code\"\n[[rule]]\nname = \"all\"\neffect = \"hold\"\nneeds = \"code\"\n";
        server.kit.put_policy(policy).await;
        let bot = server.agent("bot").await;
        let ann = signed_in(server, "ann", &["reviewer"]).await;
        let record = ask(&bot).await;
        let detail = ann.page().get(&at(&record, "")).await.expect(200);
        let code = detail["display"]["code"].as_str().expect("a code").to_owned();
        let ben = server.reviewer("ben").await;
        for (what, seen) in [
            ("a key's read", ben.get(&at(&record, "")).await.expect(200)),
            ("a list", ann.page().get("/v1/requests").await.expect(200)),
            ("a key's list", ben.get("/v1/requests").await.expect(200)),
            ("the history", ann.page().get(&at(&record, "/history")).await.expect(200)),
            ("an agent's read", bot.get(&at(&record, "")).await.expect(200)),
        ] {
            assert!(!seen.to_string().contains(&code), "{what}");
        }
        let mut events = crate::support::Sse::open(&ann.page(), Some("0")).await;
        let told = events.block().await.expect("something");
        assert!(!told.iter().any(|(_, value)| value.contains(&code)), "{told:?}");
        let mut with_code = vote_on_card(&detail, "approve");
        with_code["step_up"] = json!({ "code": code });
        let refused = ben.post(&at(&record, "/decision"), with_code.clone()).await;
        assert_problem(&refused, 403, "step_up_required", None);
        assert_eq!(refused.body["decide_url"], record["url"]);
        let refused = ben.post(&at(&record, "/decision"), vote(&record, "approve")).await;
        assert_problem(&refused, 403, "step_up_required", None);
        assert_eq!(refused.body["decide_url"], record["url"]);
        assert_eq!(decide_on_card(&ann.page(), &record, "approve").await.code(), "step_up_required");
        let decided = ann.page().post(&at(&record, "/decision"), with_code).await.expect(200);
        assert_eq!((&decided["state"], &decided["votes"][0]["auth"]), (&json!("approved"), &json!("code")));
    }
}

#[test]
fn a_key_that_is_no_point_of_the_curve_signs_nobody_in_for_good() {
    on_sqlite(async |server| {
        crate::browser::person(server, "ann", &["reviewer"]).await;
        let token = crate::browser::token(server, "ann").await;
        let good = Signer::default().key();
        let with = |x: Value, y: Value| json!({"token": token, "key": {"x": x, "y": y}});
        for (body, pointer) in [
            (json!({ "token": token }), "/key"),
            (json!({"token": token, "key": {}}), "/key/x"),
            (with(json!(""), good["y"].clone()), "/key/x"),
            (with(good["x"].clone(), json!("AAAA")), "/key/y"),
            (with(good["x"].clone(), json!(format!("{}=", good["y"].as_str().expect("text")))), "/key/y"),
            (with(good["x"].clone(), good["x"].clone()), "/key"),
            (with(json!(BASE64URL_NOPAD.encode(&[0; 32])), json!(BASE64URL_NOPAD.encode(&[0; 32]))), "/key"),
        ] {
            let answer = server.nobody().post("/v1/session/link", body.clone()).await;
            assert_problem(&answer, 422, "invalid", Some(pointer));
        }
        // The link is still good.
        use_link(&server.nobody(), &token).await.expect(200);
    });
}

#[test]
fn a_cookie_that_another_port_set_signs_the_person_out_and_nothing_more() {
    on_sqlite(async |server| {
        let ann = signed_in(server, "ann", &["reviewer"]).await;
        let mallory = signed_in(server, "mallory", &["reviewer"]).await;
        // Ann's page goes on signing with her key; the cookie is mallory's.
        let tossed = Browser { cookie: mallory.cookie.clone(), ..ann.clone() };
        let answer = tossed.page().get("/v1/requests").await;
        assert_eq!((answer.status, answer.code()), (401, "proof_nonce"));
        // The session itself is as it was: with its own cookie the page goes on.
        assert_eq!(ann.page().get("/v1/requests").await.status, 200);
    });
}

#[test]
fn a_proof_and_a_ticket_of_one_node_work_on_the_other_and_a_ticket_only_once() {
    block_on(async {
        let one = Server::start(Backend::Postgres).await;
        let two = one.kit.another_node().await;
        let two = Server::over(two, Settings { requests_per_second: 0, ..Settings::default() }).await;
        let ann = signed_in(&one, "ann", &["reviewer"]).await;
        let there = Browser { anybody: two.nobody(), origin: two.url(), ..ann.clone() };
        assert_eq!(there.page().get("/v1/requests").await.status, 200);
        let made = ann.page().post("/v1/ws/ticket", Value::Null).await.expect(201);
        let offered = format!("placet, {}", made["ticket"].as_str().expect("a ticket"));
        let open = async |browser: &Browser| {
            let caller = browser.stolen().with("sec-websocket-protocol", &offered);
            Socket::try_open(&caller, "/v1/ws").await.is_ok()
        };
        assert!(open(&there).await);
        assert!(!open(&ann).await && !open(&there).await);
        two.finish().await;
        one.finish().await;
    });
}
