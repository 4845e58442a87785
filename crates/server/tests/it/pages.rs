//! Pages for people, as a browser gets them.

mod found;
mod refused;

use bytes::Bytes;
use http::Method;
use placet_server::Unbound;
use placet_testkit::{Answer, Http, Server};
use serde_json::{Value, json};

use crate::{
    browser::{PASSWORD, signed_in, with_password},
    support::{action, on_sqlite, with_settings},
};

/// A server whose pages take a password from whoever runs no script.
fn with_forms<F: AsyncFnOnce(&mut Server)>(body: F) {
    with_settings(|settings| settings.unbound = Unbound::Password, body);
}

#[test]
fn the_dashboards_addresses_answer_with_a_page_that_may_run_only_our_own_files() {
    on_sqlite(async |server| {
        for path in ["/", "/queue", "/history", "/policy", "/insights", "/people", "/settings", "/ledger"] {
            let answer = server.nobody().get(path).await;
            assert_eq!(answer.status, 200, "{path}");
            assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
            let policy = answer.header("content-security-policy").unwrap_or_default();
            for part in [
                "default-src 'none'",
                "script-src 'self'",
                "frame-ancestors 'none'",
                "form-action 'self'",
                "require-trusted-types-for 'script'",
            ] {
                assert!(policy.contains(part), "{path}: {policy}");
            }
            assert!(!policy.contains("unsafe"), "{path}: {policy}");
            assert_eq!(answer.header("x-frame-options"), Some("DENY"), "{path}");
            assert_eq!(answer.header("referrer-policy"), Some("same-origin"), "{path}");
            assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        }
    });
}

#[test]
fn addresses_that_are_nobodys_answer_like_every_unknown_one() {
    on_sqlite(async |server| {
        for path in [
            "/index.html",
            "/queues",
            "/v1/nothing",
            "/.env",
            "/assets/none.js",
            "/assets/..%2f..%2fCargo.toml",
        ] {
            let answer = server.nobody().get(path).await;
            assert_eq!(answer.status, 404, "{path}");
            assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{path}");
        }
    });
}

/// A browser that runs no script, and whoever sits in front of it with a password.
struct Browser {
    http: Http,
    name: String,
}

impl Browser {
    async fn of(server: &Server, name: &str, roles: &[&str]) -> Self {
        with_password(server, name, roles).await;
        // What was said in the moment of the change may have been said with the one before.
        server.kit.clock().advance(std::time::Duration::from_secs(1));
        let http = server.nobody().with("origin", &server.url()).with("sec-fetch-site", "same-origin");
        Self { http, name: name.to_owned() }
    }

    fn who(&self) -> [(&str, &str); 2] {
        [("name", &self.name), ("password", PASSWORD)]
    }

    async fn look(&self, path: &str) -> String {
        let answer = self.send(path, &self.who()).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body.as_str().expect("a page").to_owned()
    }

    async fn send(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let form: Vec<String> =
            fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let form = form.join("&");
        self.http
            .clone()
            .with("content-type", "application/x-www-form-urlencoded")
            .post_bytes(path, form)
            .await
    }

    /// Fills in the form of a page and presses a button.
    async fn decide(&self, page: &str, path: &str, more: &[(&str, &str)]) -> Answer {
        let mut fields = vec![];
        for name in ["digest", "version", "view"] {
            fields.push((name, hidden(page, name)));
        }
        let mut fields: Vec<(&str, &str)> =
            fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        fields.extend(self.who());
        fields.extend(more);
        self.send(&format!("{path}/decision"), &fields).await
    }
}

fn encoded(text: &str) -> String {
    text.bytes().flat_map(|byte| ['%', hex(byte >> 4), hex(byte & 15)]).collect()
}

fn hex(digit: u8) -> char {
    char::from_digit(digit.into(), 16).expect("a digit")
}

/// The value of a hidden field.
fn hidden(page: &str, name: &str) -> String {
    let start = format!("name=\"{name}\" value=\"");
    let rest = page.split(&start).nth(1).unwrap_or_else(|| panic!("no field {name} in {page}"));
    rest.split('"').next().unwrap_or_default().to_owned()
}

async fn asked(server: &Server, body: Value) -> (String, Value) {
    let record = server.agent("bot").await.post("/v1/requests", body).await.expect(201);
    (record["url"].as_str().expect("an address").to_owned(), record)
}

async fn state_of(server: &Server, record: &Value) -> Value {
    let path = format!("/v1/requests/{}", record["id"].as_str().expect("an id"));
    server.reviewer("looker").await.get(&path).await.expect(200)
}

#[test]
fn a_person_decides_by_plain_forms() {
    with_forms(async |server| {
        let ann = Browser::of(server, "ann", &["reviewer"]).await;
        for (word, state) in [("approve", "approved"), ("deny", "denied")] {
            let (path, record) = asked(server, action()).await;
            let page = ann.look(&path).await;
            assert!(page.contains("delete_files") && page.contains("report.md"), "{page}");
            let answer = ann.decide(&page, &path, &[("decision", word), ("reason", "seen\r\nit")]).await;
            assert_eq!(answer.status, 200, "{}", answer.body);
            let now = state_of(server, &record).await;
            assert_eq!(now["state"], state);
            assert_eq!(now["decision"]["reason"], "seen\nit");
            assert_eq!(now["votes"][0]["auth"], "session");
            // Pressing the button of the old page again changes nothing and says what happened.
            let again = ann.decide(&page, &path, &[("decision", "approve")]).await;
            assert_eq!(again.status, 409);
            assert!(again.body.as_str().is_some_and(|page| page.contains("Nothing was decided")));
        }
    });
}

#[test]
fn every_kind_of_question_is_answered_by_plain_forms() {
    with_forms(async |server| {
        let ann = Browser::of(server, "ann", &["reviewer"]).await;
        let ask = |input: Value| json!({"kind": "input", "session": "s", "question": "which?", "input": input, "required": true});
        for (input, filled, expected) in [
            (json!({"type": "text"}), vec![("answer", "two\r\nlines <b>")], json!("two\nlines <b>")),
            (json!({"type": "number", "min": 1, "max": 9}), vec![("answer", " 4.5 ")], json!(4.5)),
            (json!({"type": "choice", "options": ["a", "<i>b"]}), vec![("answer", "1")], json!("<i>b")),
            (
                json!({"type": "multi_choice", "options": ["a", "b", "c"]}),
                vec![("answer", "0"), ("answer", "2")],
                json!(["a", "c"]),
            ),
            (json!({"type": "date"}), vec![("answer", "2026-11-15")], json!("2026-11-15")),
        ] {
            let (path, record) = asked(server, ask(input.clone())).await;
            let page = ann.look(&path).await;
            let mut fields = vec![("decision", "respond")];
            fields.extend(filled);
            let answer = ann.decide(&page, &path, &fields).await;
            assert_eq!(answer.status, 200, "{input}: {}", answer.body);
            assert_eq!(state_of(server, &record).await["decision"]["answer"], expected, "{input}");
        }
        let (path, record) = asked(server, ask(json!({"type": "number", "max": 9}))).await;
        let page = ann.look(&path).await;
        for wrong in ["10", "four", "", "1e999"] {
            let answer = ann.decide(&page, &path, &[("decision", "respond"), ("answer", wrong)]).await;
            assert_eq!(answer.status, 422, "{wrong}");
        }
        assert_eq!(state_of(server, &record).await["state"], "pending");
    });
}

#[test]
fn a_page_shows_and_decides_nothing_without_the_password_of_that_very_moment() {
    with_forms(async |server| {
        let (path, record) = asked(server, action()).await;
        let ann = Browser::of(server, "ann", &["reviewer"]).await;
        let page = ann.look(&path).await;
        let signed_in = signed_in(server, "ann", &["reviewer"]).await;
        let empty = server.nobody().get("/r/req_00000000000000000000000000").await;
        for caller in [server.nobody(), signed_in.bare(), signed_in.stolen(), signed_in.page()] {
            for method in [Method::GET, Method::HEAD] {
                let form = format!("{path}/decision?decision=approve");
                assert_eq!(caller.send(method, &form, Bytes::new()).await.status, 405);
            }
            let looked = caller.get(&path).await;
            assert_eq!((looked.status, shape(&looked)), (200, shape(&empty)), "the same for every address");
            let form = caller.with("content-type", "application/x-www-form-urlencoded");
            let body = format!("decision=approve&version=1&digest={}", hidden(&page, "digest"));
            for path in [path.clone(), format!("{path}/decision")] {
                let answer = form.post_bytes(&path, body.clone()).await;
                assert!([401, 403].contains(&answer.status), "{path}: {} {}", answer.status, answer.body);
                assert!(!answer.body.to_string().contains("delete_files"), "{}", answer.body);
            }
        }
        for (name, password) in
            [("ann", "wrong password"), ("ann", ""), ("nobody", PASSWORD), ("bot", PASSWORD)]
        {
            let fields = [("name", name), ("password", password), ("decision", "approve")];
            for path in [path.clone(), format!("{path}/decision")] {
                let answer = ann.send(&path, &fields).await;
                assert_eq!(answer.status, 401, "{name}");
                assert!(!answer.body.to_string().contains("delete_files"), "{}", answer.body);
            }
        }
        assert_eq!(state_of(server, &record).await["version"], 1);
    });
}

#[test]
fn without_the_setting_pages_lead_to_the_dashboard_and_take_no_password() {
    on_sqlite(async |server| {
        let (path, record) = asked(server, action()).await;
        let ann = Browser::of(server, "ann", &["reviewer"]).await;
        let page = server.nobody().get(&path).await.expect(200);
        let page = page.as_str().expect("a page");
        assert!(page.contains(&format!("/queue?r={}", record["id"].as_str().expect("an id"))), "{page}");
        assert!(!page.contains("password"), "{page}");
        let compared = server.kit.gate().passwords_compared();
        for path in [path.clone(), format!("{path}/decision")] {
            assert_eq!(ann.send(&path, &ann.who()).await.status, 403, "{path}");
        }
        for form in ["/sign-in", "/sign-in/abc"] {
            let answer = ann.send(form, &ann.who()).await;
            assert_eq!((answer.status, answer.header("set-cookie")), (403, None), "{form}");
        }
        assert_eq!(server.kit.gate().passwords_compared(), compared, "nobody guesses here");
    });
}

/// What a page looks like, whatever the address.
fn shape(answer: &Answer) -> String {
    let page = answer.body.as_str().unwrap_or_default();
    let id = page.split("/queue?r=").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
    page.replace(id, "ID")
}

#[test]
fn a_step_up_is_not_given_by_a_plain_form() {
    with_forms(async |server| {
        let policy = "version = 1\n[needs.code]\npeople = 1\nstep_up = \"code\"\n[[rule]]\nname = \"all\"\neffect = \"hold\"\nneeds = \"code\"\n";
        server.kit.put_policy(policy).await;
        let ann = Browser::of(server, "ann", &["reviewer"]).await;
        let (path, record) = asked(server, action()).await;
        let page = ann.look(&path).await;
        let bound = signed_in(server, "ben", &["reviewer"]).await;
        let read = bound.page().get(&format!("/v1{}", path.replace("/r/", "/requests/"))).await.expect(200);
        let code = read["display"]["code"].as_str().expect("a code").to_owned();
        assert!(!page.contains(&code), "{page}");
        let answer = ann.decide(&page, &path, &[("decision", "approve"), ("code", &code)]).await;
        assert!([403, 422].contains(&answer.status), "{} {}", answer.status, answer.body);
        assert_eq!(ann.decide(&page, &path, &[("decision", "approve")]).await.status, 403);
        assert_eq!(state_of(server, &record).await["version"], 1);
        assert_eq!(ann.decide(&page, &path, &[("decision", "deny")]).await.status, 200);
    });
}

#[test]
fn a_form_of_another_site_decides_nothing() {
    with_forms(async |server| {
        let (path, record) = asked(server, action()).await;
        let ann = Browser::of(server, "ann", &["reviewer"]).await;
        let page = ann.look(&path).await;
        let others = |name: &str, value: &str| {
            let mut http = ann.http.clone();
            http.headers.retain(|(header, _)| header != name);
            if !value.is_empty() {
                http.headers.push((name.to_owned(), value.to_owned()));
            }
            Browser { http, name: ann.name.clone() }
        };
        for browser in [
            others("origin", "http://localhost:1"),
            others("origin", "null"),
            others("origin", ""),
            others("sec-fetch-site", "cross-site"),
            others("sec-fetch-site", "same-site"),
        ] {
            assert_eq!(browser.decide(&page, &path, &[("decision", "approve")]).await.status, 403);
        }
        assert_eq!(state_of(server, &record).await["version"], 1);
    });
}

#[test]
fn what_an_agent_writes_stays_text_on_the_page() {
    with_forms(async |server| {
        let ann = Browser::of(server, "ann", &["reviewer"]).await;
        let evil = "\"><script>alert(1)</script>\u{202e}gpj.exe\u{200b}\u{1b}[31m";
        let (path, _) = asked(
            server,
            json!({"kind": "action", "session": evil, "tool": "x", "arguments": {evil: evil}, "summary": evil}),
        )
        .await;
        let page = ann.look(&path).await;
        assert!(!page.contains("<script"), "{page}");
        for hidden in ['\u{202e}', '\u{200b}', '\u{1b}'] {
            assert!(!page.contains(hidden), "{hidden:?}");
        }
        assert!(page.contains("&lt;script&gt;"), "{page}");
        let claim = page.find("What the agent says").expect("the agent's words are there");
        assert!(page.find("Exactly what was asked").is_some_and(|exact| exact < claim), "facts come first");
    });
}

#[test]
fn the_page_has_every_leaf_marks_claims_and_leads_to_the_request_in_the_dashboard() {
    with_forms(async |server| {
        let ann = Browser::of(server, "ann", &["reviewer"]).await;
        let arguments = json!({"command": "git pull || true", "description": "true", "timeout": null});
        let body = json!({"kind": "action", "session": "s", "tool": "Bash", "arguments": arguments,
            "context": {"cwd": "/srv/claimed"}});
        let (path, record) = asked(server, body).await;
        let page = ann.look(&path).await;
        for part in ["/arguments/command", "/arguments/description", "/arguments/timeout", ">null<"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(
            page.contains("folder, as the agent says</dt><dd class=\"exact\">/srv/claimed</dd>"),
            "{page}"
        );
        let link = format!("href=\"/queue?r={}\"", record["id"].as_str().unwrap());
        assert!(page.contains(&link), "{page}");
        let keys = json!({"kind": "action", "session": "s", "tool": "x", "arguments": {"a": {"0": "x"}, "b": ["x"]}});
        let page = ann.look(&asked(server, keys).await.0).await;
        assert!(page.contains("/arguments/a/&quot;0&quot;") && page.contains("/arguments/b/0"), "{page}");
    });
}

#[test]
fn a_replacement_on_the_table_is_shown_as_what_a_yes_would_run() {
    with_forms(async |server| {
        let policy = "version = 1\n[needs.two]\npeople = 2\n[[rule]]\nname = \"all\"\neffect = \"hold\"\nneeds = \"two\"\n";
        server.kit.put_policy(policy).await;
        let ann = Browser::of(server, "ann", &["reviewer"]).await;
        let (path, record) = asked(server, action()).await;
        let edit = json!({"decision": "edit", "digest": record["digest"], "version": record["version"],
            "arguments": {"files": ["mallory.md"]}});
        let decision = format!("/v1/requests/{}/decision", record["id"].as_str().unwrap());
        server.reviewer("bob").await.post(&decision, edit).await.expect(200);
        let page = ann.look(&path).await;
        assert!(!page.contains("Exactly what was asked"), "{page}");
        let runs = page.split("Exactly what a yes would run").nth(1).expect("a part of its own");
        let (runs, asked) = runs.split_once("What was asked before it was replaced").expect("then the rest");
        assert!(runs.contains("mallory.md") && !runs.contains("report.md") && runs.contains("bob"), "{runs}");
        assert!(asked.contains("report.md"), "{asked}");
    });
}

#[test]
fn somebody_who_is_no_reviewer_sees_no_buttons_and_cannot_decide() {
    with_forms(async |server| {
        let (path, record) = asked(server, action()).await;
        let ann = Browser::of(server, "ann", &["reviewer"]).await;
        let page = ann.look(&path).await;
        let eve = Browser::of(server, "eve", &["auditor"]).await;
        let hers = eve.look(&path).await;
        assert!(!hers.contains("<button"), "{hers}");
        assert_eq!(eve.decide(&page, &path, &[("decision", "approve")]).await.status, 403);
        assert_eq!(state_of(server, &record).await["version"], 1);
    });
}
