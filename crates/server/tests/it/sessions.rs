//! People who sign in from a browser: links, passwords, the cookie, and calls that only pages of ours can make.

use std::time::Duration;

use http::Method;
use placet_server::Settings;
use placet_testkit::{Answer, Backend, Http, Kit, Server, Signer, block_on, both};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    browser::{Browser, PASSWORD, cookie, person, signed_in, token, use_link, use_password, with_password},
    support::{
        Socket, Sse, ask, assert_problem, at, decide, decide_on_card, head, on_sqlite, soon, until_so, vote,
        with_settings, without_heartbeats,
    },
    waits::parked,
};

async fn try_password(server: &Server, name: &str, password: &str) -> Answer {
    use_password(&server.nobody(), name, password).await
}

fn advance(server: &Server, by: Duration) {
    server.kit.clock().advance(by);
}

/// What is wrong, then token, origin and site as they are sent, and the code of the refusal.
type Forged<'a> = (&'a str, Option<&'a str>, Option<&'a str>, Option<&'a str>, &'a str);

/// The entries of the ledger, oldest first.
async fn entries(server: &Server) -> Vec<Value> {
    let auditor = server.auditor("reader").await;
    let page = auditor.get("/v1/ledger?limit=1000").await.expect(200);
    let items = page["items"].as_array().expect("items").iter();
    items.map(|item| item["entry"].clone()).collect()
}

both! {
    async fn a_link_signs_in_once_and_never_by_a_get(server: Server) {
        person(server, "ann", &["reviewer"]).await;
        let token = token(server, "ann").await;
        for path in [format!("/sign-in/{token}"), format!("/v1/session/link?token={token}")] {
            for method in [Method::GET, Method::HEAD] {
                let before = head(server).await;
                let looked = server.nobody().send(method, &path, "".into()).await;
                assert_eq!(cookie(&looked), None, "{path}");
                assert_eq!(head(server).await, before, "{path}");
            }
        }
        let ann = Browser::by_link(server, &server.nobody(), &token).await;
        let body = ann.page().get("/v1/session").await.expect(200);
        assert_eq!((&body["name"], &body["roles"], &body["has_password"]), (&json!("ann"), &json!(["reviewer"]), &json!(false)));
        assert_eq!(body["session"]["via"], "link");

        let again = use_link(&server.nobody(), &token).await;
        assert_problem(&again, 401, "bad_link", None);
        assert_eq!(cookie(&again), None);
        let unknown = use_link(&server.nobody(), "x").await;
        assert_eq!(unknown.body, again.body);
        let late = self::token(server, "ann").await;
        advance(server, Duration::from_mins(15));
        let late = use_link(&server.nobody(), &late).await;
        assert_eq!((late.status, &late.body), (401, &again.body));
    }
}

#[test]
fn of_two_calls_with_one_link_one_signs_in() {
    on_sqlite(async |server| {
        person(server, "ann", &["reviewer"]).await;
        let token = token(server, "ann").await;
        let mut calls = JoinSet::new();
        for _ in 0..8 {
            let (nobody, token) = (server.nobody(), token.clone());
            calls.spawn(async move { use_link(&nobody, &token).await.status });
        }
        let mut said = calls.join_all().await;
        said.sort_unstable();
        assert_eq!(said, [200, 401, 401, 401, 401, 401, 401, 401]);
    });
}

#[test]
fn the_cookie_is_for_this_host_alone_and_hidden_from_scripts() {
    on_sqlite(async |server| {
        let token = {
            person(server, "ann", &["auditor"]).await;
            token(server, "ann").await
        };
        let signer = Signer::default();
        let body = json!({"token": token, "key": signer.key()});
        let answer = server.nobody().post("/v1/session/link", body).await;
        let set = answer.header("set-cookie").expect("a cookie").to_owned();
        let (pair, attributes) = set.split_once("; ").expect("attributes");
        assert_eq!(attributes, "Path=/; Secure; HttpOnly; SameSite=Lax");
        let secret = pair.strip_prefix("__Host-placet=").expect("its name");
        assert_eq!(secret.len(), 52, "256 bits in base32");
        assert_eq!(answer.headers.get_all("set-cookie").iter().count(), 1);
        assert!(!answer.body.to_string().contains(secret));
        let ann = signed_in(server, "ann", &["auditor"]).await;
        let out = ann.page().delete("/v1/session").await;
        assert_eq!(out.status, 204);
        assert_eq!(
            out.header("set-cookie"),
            Some("__Host-placet=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0")
        );
        assert_problem(&ann.page().get("/v1/session").await, 401, "unauthorized", None);
    });
}

#[test]
fn a_wrong_password_an_unknown_name_and_no_password_are_one_answer() {
    on_sqlite(async |server| {
        with_password(server, "ann", &["reviewer"]).await;
        person(server, "bob", &["reviewer"]).await;
        server.agent("bot").await;
        let wrong = try_password(server, "ann", "incorrect horse battery").await;
        assert_problem(&wrong, 401, "bad_credentials", None);
        let names = |answer: &Answer| answer.headers.keys().map(ToString::to_string).collect::<Vec<_>>();
        let long = "x".repeat(4000);
        for (name, password) in [
            ("bob", PASSWORD),
            ("nobody", PASSWORD),
            ("bot", PASSWORD),
            ("ann", ""),
            ("", ""),
            ("ann\0", PASSWORD),
            (&long, PASSWORD),
        ] {
            let compared = server.kit.gate().passwords_compared();
            let answer = try_password(server, name, password).await;
            assert_eq!((answer.status, &answer.body), (401, &wrong.body), "{name}");
            assert_eq!(names(&answer), names(&wrong), "{name}");
            assert_eq!(
                server.kit.gate().passwords_compared(),
                compared + 1,
                "{name}: a name that cannot sign in takes as long"
            );
        }
        let ann = Browser::by_password(server, "ann", PASSWORD).await;
        assert_eq!(ann.page().get("/v1/session").await.expect(200)["session"]["via"], "password");
    });
}

/// A server on which waiting after wrong passwords takes no time to speak of.
fn with_short_waits<F: AsyncFnOnce(&mut Server)>(body: F) {
    with_settings(|settings| settings.timing.sign_in_step = Duration::from_millis(1), body);
}

#[test]
fn after_many_wrong_passwords_the_right_one_and_links_still_work() {
    with_short_waits(async |server| {
        with_password(server, "ann", &["reviewer"]).await;
        with_password(server, "ben", &["reviewer"]).await;
        for n in 0..30 {
            let name = ["ann", "nobody", &format!("name-{n}")][n % 3].to_owned();
            assert_eq!(try_password(server, &name, "incorrect horse battery").await.status, 401);
        }
        try_password(server, "ann", PASSWORD).await.expect(200);
        try_password(server, "ben", PASSWORD).await.expect(200);
        let token = token(server, "ann").await;
        use_link(&server.nobody(), &token).await.expect(200);
    });
}

#[test]
fn a_flood_of_wrong_passwords_is_bounded_and_does_not_keep_the_right_one_out() {
    with_short_waits(async |server| {
        with_password(server, "ann", &["reviewer"]).await;
        let nobody = server.nobody();
        let mut flood = JoinSet::new();
        let wrong =
            async move |nobody: Http| use_password(&nobody, "ann", "incorrect horse battery").await.status;
        for _ in 0..20 {
            flood.spawn(wrong(nobody.clone()));
        }
        let mut refused = 0;
        until_so("the right password to get in", async || {
            while let Some(status) = flood.try_join_next() {
                let status = status.expect("it ends well");
                assert!([401, 429, 503].contains(&status), "{status}");
                refused += usize::from(status == 429);
                flood.spawn(wrong(nobody.clone()));
            }
            try_password(server, "ann", PASSWORD).await.status == 200
        })
        .await;
        for status in flood.join_all().await {
            refused += usize::from(status == 429);
        }
        assert!(refused > 0, "only so many tries of one name from one address are under way");
    });
}

both! {
    async fn the_secret_changes_every_hour_and_the_old_one_works_a_minute_more(server: Server) {
        let ann = signed_in(server, "ann", &["reviewer"]).await;
        advance(server, Duration::from_mins(59));
        let early = ann.page().get("/v1/session").await;
        assert_eq!((early.status, cookie(&early)), (200, None));
        advance(server, Duration::from_mins(1));
        let turned = ann.page().get("/v1/sessions").await;
        let new = cookie(&turned).expect("another cookie");
        assert_ne!(new, ann.cookie);
        assert!(turned.header("set-cookie").is_some_and(|set| set.ends_with("; Path=/; Secure; HttpOnly; SameSite=Lax")));
        // Calls that were under way, and one whose answer was lost.
        let bare = ann.signed();
        let (first, second) = tokio::join!(bare.get("/v1/sessions"), bare.get("/v1/session"));
        for answer in [first, second] {
            assert_eq!((answer.status, cookie(&answer)), (200, Some(new.clone())));
        }
        let renewed = Browser { cookie: new, ..ann.clone() };
        let answer = renewed.page().put("/v1/session/password", json!({ "new": PASSWORD })).await;
        assert_eq!((answer.status, cookie(&answer)), (204, None), "the token of the page stays");
        advance(server, Duration::from_mins(1));
        assert_eq!(ann.signed().get("/v1/session").await.status, 401);
        assert_eq!(renewed.signed().get("/v1/session").await.status, 200);
    }

    async fn a_session_ends_when_it_is_not_used_and_at_the_latest_after_a_week(server: Server) {
        let idle = signed_in(server, "idle", &["reviewer"]).await;
        let mut busy = signed_in(server, "busy", &["reviewer"]).await;
        let begun = server.kit.clock().clone();
        let hours = Duration::from_hours(11);
        for _ in 0..15 {
            begun.advance(hours);
            let answer = busy.page().get("/v1/session").await;
            busy.cookie = cookie(&answer).unwrap_or(busy.cookie);
            answer.expect(200);
        }
        assert_eq!(idle.signed().get("/v1/session").await.status, 401);
        begun.advance(Duration::from_hours(3));
        assert_eq!(busy.signed().get("/v1/session").await.status, 401, "168 hours are over");
        server.kit.gate().sweep().await.expect("old sessions can be ended");
        let ended: Vec<Value> = entries(server).await.into_iter().filter(|entry| entry["data"]["type"] == "session.ended").collect();
        assert_eq!(ended.len(), 2);
        for entry in ended {
            assert_eq!((&entry["data"]["why"], &entry["by"]["name"]), (&json!("expired"), &json!("placet")));
        }
    }
}

#[test]
fn a_change_by_cookie_needs_the_token_and_this_very_origin() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, signed_in(server, "ann", &["reviewer"]).await);
        let bob = signed_in(server, "bob", &["reviewer"]).await;
        let record = ask(&bot).await;
        let own = server.url();
        let other_port =
            format!("http://127.0.0.1:{}", if server.authority().ends_with(":1") { 2 } else { 1 });
        let other_name = own.replace("127.0.0.1", "localhost");
        let (csrf, foreign) = (Some(ann.csrf.as_str()), Some(bob.csrf.as_str()));
        let same = Some("same-origin");
        let origin = Some(own.as_str());
        let cases: [Forged<'_>; 16] = [
            ("no token", None, origin, same, "csrf"),
            ("an empty token", Some(""), origin, same, "csrf"),
            ("a wrong token", Some("0123"), origin, same, "csrf"),
            ("another session's token", foreign, origin, same, "csrf"),
            ("no origin", csrf, None, same, "csrf"),
            ("no origin, nothing said", csrf, None, None, "csrf"),
            ("another port", csrf, Some(&other_port), same, "csrf"),
            ("another name of ours", csrf, Some(&other_name), same, "csrf"),
            ("another scheme", csrf, Some("https://127.0.0.1"), same, "csrf"),
            ("a foreign origin", csrf, Some("https://evil.example"), same, "foreign_origin"),
            ("a null origin", csrf, Some("null"), same, "foreign_origin"),
            ("cross-site", csrf, origin, Some("cross-site"), "csrf"),
            ("same-site", csrf, origin, Some("same-site"), "csrf"),
            ("none", csrf, origin, Some("none"), "csrf"),
            ("nonsense", csrf, origin, Some("Same-Origin"), "csrf"),
            ("nothing at all", None, None, None, "csrf"),
        ];
        let before = head(server).await;
        let id = ann.id().await;
        let calls = [
            (Method::POST, at(&record, "/decision"), vote(&record, "approve")),
            (Method::POST, "/v1/decisions".to_owned(), json!([])),
            (Method::PUT, "/v1/session/password".to_owned(), json!({ "new": PASSWORD })),
            (Method::DELETE, "/v1/session".to_owned(), Value::Null),
            (Method::DELETE, format!("/v1/sessions/{id}"), Value::Null),
        ];
        for (what, token, origin, site, code) in cases {
            let mut caller = ann.signed();
            for (name, value) in [("placet-csrf", token), ("origin", origin), ("sec-fetch-site", site)] {
                if let Some(value) = value {
                    caller = caller.with(name, value);
                }
            }
            for (method, path, body) in &calls {
                let body = if body.is_null() { String::new() } else { body.to_string() };
                let answer = caller.send(method.clone(), path, body.into()).await;
                assert_eq!((answer.status, answer.code()), (403, code), "{what}: {method} {path}");
            }
        }
        let twice = ann.page().with("placet-csrf", &ann.csrf);
        assert_eq!(decide(&twice, &record, "approve").await.code(), "csrf", "two tokens");
        assert_eq!(head(server).await, before, "nothing happened");
        // A browser that does not say who made the call still says from where.
        let silent = ann.signed().with("placet-csrf", &ann.csrf).with("origin", &own);
        let decided = decide_on_card(&silent, &record, "approve").await.expect(200);
        assert_eq!(decided["state"], "approved");
    });
}

#[test]
fn other_sites_can_neither_read_by_cookie_nor_open_streams_nor_sign_anybody_in() {
    on_sqlite(async |server| {
        let ann = signed_in(server, "ann", &["reviewer"]).await;
        let site = |value: &str| ann.signed().with("sec-fetch-site", value);
        for other in ["cross-site", "same-site"] {
            assert_eq!(site(other).get("/v1/requests").await.code(), "csrf", "{other}");
            assert_eq!(site(other).get("/v1/session").await.code(), "csrf", "{other}");
            assert_eq!(soon("an answer", site(other).lines("/v1/stream")).await.status, 403, "{other}");
        }
        // Somebody who types the address of a list reads it; nobody types the address of a stream.
        assert_eq!(site("none").get("/v1/requests").await.status, 200);
        assert_eq!(soon("an answer", site("none").lines("/v1/stream")).await.status, 403);
        assert_eq!(soon("an answer", site("same-origin").lines("/v1/stream")).await.status, 200);
        assert_eq!(soon("an answer", ann.signed().lines("/v1/stream")).await.status, 200);
        for wrong in [ann.signed(), ann.signed().with("origin", "http://127.0.0.1:1")] {
            let refused = wrong.get("/v1/ws").await;
            assert_eq!((refused.status, refused.code()), (403, "csrf"));
        }
        Socket::open(&ann.page(), "/v1/ws").await;

        let token = token(server, "ann").await;
        let nobody = server.nobody();
        for forged in [
            nobody.clone().with("sec-fetch-site", "cross-site"),
            nobody.clone().with("sec-fetch-site", "same-site"),
            nobody.clone().with("origin", "http://127.0.0.1:1"),
        ] {
            let answer = use_link(&forged, &token).await;
            assert_eq!((answer.status, answer.code()), (403, "csrf"));
            let answer = use_password(&forged, "ann", PASSWORD).await;
            assert_eq!((answer.status, answer.code()), (403, "csrf"));
        }
        let page = nobody.with("origin", &ann.origin).with("sec-fetch-site", "same-origin");
        use_link(&page, &token).await.expect(200);
    });
}

#[test]
fn an_ended_session_ends_its_waits_and_streams_at_once() {
    // The end of the session is all that can end them.
    without_heartbeats(async |server| {
        let bot = server.agent("bot").await;
        let ann = signed_in(server, "ann", &["reviewer"]).await;
        let record = ask(&bot).await;
        let mut waits = JoinSet::new();
        let (caller, path) = (ann.page(), at(&record, "?wait=5m"));
        waits.spawn(async move { caller.get(&path).await });
        let mut events = Sse::open(&ann.page(), None).await.greeted().await;
        let mut socket = Socket::open(&ann.page(), "/v1/ws").await;
        parked(server, 1).await;
        let revoked = server.admin().delete(&format!("/v1/sessions/{}", ann.id().await)).await;
        assert_eq!(revoked.status, 204);
        let answer =
            soon("the end of the wait", waits.join_next()).await.expect("a wait").expect("it ends well");
        assert_problem(&answer, 401, "unauthorized", None);
        assert!(events.next().await.is_none(), "the stream ends");
        let closed = socket.next().await.expect_err("the socket ends").expect("with a reason");
        assert_eq!(u16::from(closed.code), 1008);
        assert_eq!(ann.page().get("/v1/requests").await.status, 401);
        let entry = entries(server).await.into_iter().rfind(|entry| entry["data"]["type"] == "session.ended");
        assert_eq!(entry.expect("an entry")["data"]["why"], "revoked");
    });
}

#[test]
fn an_agent_never_becomes_a_session_and_a_key_counts_more_than_a_cookie() {
    on_sqlite(async |server| {
        let bot = server.agent("bot").await;
        let link = server.admin().post("/v1/people/bot/link", json!({})).await;
        assert_problem(&link, 404, "not_found", None);
        let key = bot.token.clone().expect("a key");
        let as_cookie = server.nobody().with("cookie", &format!("__Host-placet={key}"));
        assert_eq!(as_cookie.get("/v1/requests").await.status, 401);
        assert_problem(&try_password(server, "bot", &key).await, 401, "bad_credentials", None);

        let ann = signed_in(server, "ann", &["reviewer", "admin"]).await;
        let both = bot.clone().with("cookie", &ann.cookie);
        assert_eq!(both.get("/v1/requests").await.code(), "forbidden", "the agent's key is what counts");
        assert_eq!(both.get("/v1/session").await.status, 401, "a key is not signed in");
        let nonsense = server.http(Some("plk_reviewer_wrong")).with("cookie", &ann.cookie);
        assert_eq!(nonsense.get("/v1/requests").await.status, 401);
        // A session cannot ask: that is for programs.
        let asked = ann.page().post("/v1/requests", crate::support::action()).await;
        assert_eq!((asked.status, asked.code()), (403, "forbidden"));
        let two = ann.bare().with("cookie", "__Host-placet=x");
        assert_eq!(two.get("/v1/session").await.status, 401, "two cookies of one name");
    });
}

#[test]
fn a_session_uses_the_role_that_a_call_needs_as_long_as_the_person_has_it() {
    on_sqlite(async |server| {
        let bot = server.agent("bot").await;
        let ann = signed_in(server, "ann", &["admin", "auditor"]).await;
        let record = ask(&bot).await;
        let refused = decide(&ann.page(), &record, "approve").await;
        assert_eq!((refused.status, refused.code()), (403, "forbidden"), "{}", refused.body);
        ann.page().get("/v1/requests").await.expect(200);
        ann.page().post("/v1/keys", json!({"role": "agent", "name": "other"})).await.expect(201);
        person(server, "ann", &["admin", "reviewer"]).await;
        let decided = decide_on_card(&ann.page(), &record, "approve").await.expect(200);
        assert_eq!(decided["votes"][0]["auth"], "bound");
        let session = ann.id().await;
        let made: Vec<Value> = entries(server).await;
        let by = |name: &str| {
            let entry = made.iter().rfind(|entry| entry["data"]["type"] == name).expect(name);
            json!([entry["by"]["name"], entry["by"]["role"], entry["by"]["auth"], entry["by"]["session"]])
        };
        assert_eq!(by("request.decided"), json!(["ann", "reviewer", "bound", session]));
        person(server, "ann", &["auditor"]).await;
        assert_eq!(decide(&ann.page(), &ask(&bot).await, "approve").await.code(), "forbidden");
        assert_eq!(ann.page().get("/v1/keys").await.code(), "forbidden");
        assert_eq!(server.admin().delete("/v1/people/ann").await.status, 204);
        assert_eq!(ann.page().get("/v1/session").await.status, 401);
        let entry = entries(server).await.into_iter().rfind(|entry| entry["data"]["type"] == "session.ended");
        assert_eq!(entry.expect("an entry")["data"]["why"], "person_removed");
    });
}

#[test]
fn a_new_password_ends_the_other_sessions_and_needs_the_old_one() {
    on_sqlite(async |server| {
        let first = signed_in(server, "ann", &["reviewer"]).await;
        let second = signed_in(server, "ann", &["reviewer"]).await;
        let set = |browser: &Browser, body: Value| {
            let page = browser.page();
            async move { page.put("/v1/session/password", body).await }
        };
        assert_problem(&set(&second, json!({"new": "short"})).await, 422, "invalid", Some("/new"));
        assert_problem(&set(&second, json!({"new": "x".repeat(1025)})).await, 422, "invalid", Some("/new"));
        assert_eq!(first.page().get("/v1/session").await.status, 200, "nothing happened yet");
        assert_eq!(set(&second, json!({ "new": PASSWORD })).await.status, 204);
        assert_eq!(first.page().get("/v1/session").await.status, 401);
        assert_eq!(second.page().get("/v1/session").await.expect(200)["has_password"], true);

        let third = Browser::by_password(server, "ann", PASSWORD).await;
        let other = "another long password";
        for body in [json!({ "new": other }), json!({"current": "wrong", "new": other})] {
            assert_problem(&set(&third, body).await, 403, "bad_credentials", None);
        }
        // Whoever has just come in by a link may have forgotten it; later they are asked.
        advance(server, Duration::from_mins(15));
        assert_problem(&set(&second, json!({ "new": other })).await, 403, "bad_credentials", None);
        assert_eq!(set(&third, json!({"current": PASSWORD, "new": other})).await.status, 204);
        assert_eq!(second.page().get("/v1/session").await.status, 401);
        assert_eq!(try_password(server, "ann", PASSWORD).await.status, 401);
        assert_eq!(try_password(server, "ann", other).await.status, 200);
        let ledger = entries(server).await;
        assert!(!json!(ledger).to_string().contains("argon2"), "no hash of a password is in the ledger");
        assert_eq!(ledger.iter().filter(|entry| entry["data"]["type"] == "person.password_set").count(), 2);
    });
}

#[test]
fn people_see_and_end_their_own_sessions_and_admins_end_any() {
    on_sqlite(async |server| {
        person(server, "ann", &["reviewer"]).await;
        let token = token(server, "ann").await;
        let agent = server.nobody().with("user-agent", &format!("Mozilla/5.0 \u{202e}{}", "x".repeat(400)));
        let phone = Browser::by_link(server, &agent, &token).await;
        let desk = signed_in(server, "ann", &["reviewer"]).await;
        let bob = signed_in(server, "bob", &["reviewer", "auditor"]).await;
        let listed = desk.page().get("/v1/sessions").await.expect(200);
        let items = listed["items"].as_array().expect("items");
        assert_eq!(items.len(), 2);
        let current: Vec<&Value> = items.iter().filter(|item| item["current"] == true).collect();
        assert_eq!(current.len(), 1);
        assert_eq!(current[0]["id"], desk.id().await.as_str());
        let other = items.iter().find(|item| item["current"] == false).expect("the other");
        let said = other["user_agent"].as_str().expect("text");
        assert!(said.chars().count() < 300 && !said.contains('\u{202e}'), "{said}");

        let path = format!("/v1/sessions/{}", phone.id().await);
        assert_problem(&bob.page().delete(&path).await, 404, "not_found", None);
        assert_eq!(phone.page().get("/v1/session").await.status, 200);
        assert_eq!(desk.page().delete(&path).await.status, 204);
        assert_problem(&desk.page().delete(&path).await, 404, "not_found", None);
        assert_eq!(phone.page().get("/v1/session").await.status, 401);
        let path = format!("/v1/sessions/{}", desk.id().await);
        let root = signed_in(server, "root", &["admin"]).await;
        assert_eq!(root.page().delete(&path).await.status, 204);
        assert_eq!(desk.page().get("/v1/session").await.status, 401);
        assert_eq!(
            bob.page().get("/v1/sessions").await.expect(200)["items"].as_array().map(Vec::len),
            Some(1)
        );
    });
}

#[test]
fn where_agents_come_in_without_a_key_a_dead_session_does_not() {
    with_settings(
        |settings: &mut Settings| settings.dev = true,
        async |server| {
            let ann = signed_in(server, "ann", &["reviewer"]).await;
            assert_eq!(ann.page().get("/v1/session").await.expect(200)["server"]["dev"], true);
            assert_eq!(ann.page().delete("/v1/session").await.status, 204);
            for path in ["/v1/session", "/v1/sessions", "/v1/requests"] {
                assert_problem(&ann.page().get(path).await, 401, "unauthorized", None);
            }
            assert_eq!(server.nobody().get("/v1/session").await.status, 401);
            let asked = ann.page().post("/v1/requests", crate::support::action()).await;
            assert_eq!(asked.status, 401, "{}", asked.body);
        },
    );
}

#[test]
fn a_session_of_one_node_works_and_ends_on_the_other() {
    block_on(async {
        let one = Server::start(Backend::Postgres).await;
        let two = one.kit.another_node().await;
        let two = Server::over(two, Settings { requests_per_second: 0, ..Settings::default() }).await;
        let ann = signed_in(&one, "ann", &["reviewer"]).await;
        let there = Browser { anybody: two.nobody(), origin: two.url(), ..ann.clone() };
        assert_eq!(there.page().get("/v1/session").await.expect(200)["csrf"], ann.csrf.as_str());
        let mut events = Sse::open(&there.page(), None).await.greeted().await;
        // A link of one node signs in on the other, once.
        let link = token(&one, "ann").await;
        use_link(&two.nobody(), &link).await.expect(200);
        assert_eq!(use_link(&one.nobody(), &link).await.status, 401);
        assert_eq!(ann.page().delete("/v1/session").await.status, 204);
        assert!(events.next().await.is_none(), "its stream on the other node ends");
        assert_eq!(there.page().get("/v1/session").await.status, 401);
        two.finish().await;
        one.finish().await;
    });
}

#[test]
fn a_session_outlives_a_restart() {
    block_on(async {
        let server = Server::over(Kit::start(Backend::Sqlite).await, Settings::default()).await;
        let ann = signed_in(&server, "ann", &["reviewer"]).await;
        let server = server.restart().await;
        let again = Browser { anybody: server.nobody(), origin: server.url(), ..ann };
        assert_eq!(again.page().get("/v1/session").await.status, 200);
        server.finish().await;
    });
}
