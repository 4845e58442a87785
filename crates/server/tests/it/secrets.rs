//! Secrets stay with those they were given to, and what agents write cannot forge a line in the log.

use std::{
    io,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use axum::{http::StatusCode, response::IntoResponse as _};
use placet_testkit::{BOOTSTRAP, Http, Server};
use serde_json::{Value, json};
use tracing_subscriber::fmt::MakeWriter;

use crate::{
    push::Receiver,
    support::{Socket, Sse, action, approved, assert_problem, at, decide, on_sqlite, vote},
    wire::get_over_http_2,
};

/// Everything that this process logs, at the finest level, dependencies included.
#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl io::Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Captured {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Captured {
    /// The one of this process; the runner gives every test a process of its own.
    fn begin() -> Self {
        static LOGS: OnceLock<Captured> = OnceLock::new();
        let logs = LOGS.get_or_init(|| {
            let logs = Self::default();
            // The WebSocket client of these tests runs in the same process and shows its own handshake.
            let format =
                tracing_subscriber::fmt().with_env_filter("trace,tungstenite::handshake::client=off");
            format
                .with_ansi(false)
                .with_writer(logs.clone())
                .try_init()
                .expect("nobody else installs a subscriber here");
            logs
        });
        logs.clone()
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

/// Every body that came back in the scenario, by who got it.
#[derive(Default)]
struct Heard(Vec<(&'static str, String)>);

impl Heard {
    fn add(&mut self, who: &'static str, body: &Value) {
        self.0.push((who, body.to_string()));
    }
}

const CLAIMANT: &str = "canary-claimant-0123456789abcdef";
const HEADER_CLAIMANT: &str = "canary-header-claimant-0123456789";

/// A whole life with everything that is secret in it, and all the ways in which it could come out. Gives the secrets.
async fn scenario(server: &Server, bot: &Http, ann: &Http, heard: &mut Heard) -> Vec<String> {
    let (admin, eve) = (server.admin(), server.auditor("eve").await);
    let mut secrets = vec![BOOTSTRAP.to_owned(), CLAIMANT.to_owned(), HEADER_CLAIMANT.to_owned()];
    secrets.extend([bot, ann, &eve].into_iter().map(|caller| caller.token.clone().expect("a token")));
    let made = admin.post("/v1/keys", json!({"role": "agent", "name": "second"})).await.expect(201);
    secrets.push(made["key"].as_str().expect("a key").to_owned());

    let begin = Sse::open(&eve, None).await.greeted().await.last_id;
    let record = approved(bot, ann).await;
    let claimed = bot.post(&at(&record, "/claim"), json!({"claimant": CLAIMANT})).await.expect(200);
    secrets.push(claimed["permit"].as_str().expect("a permit").to_owned());
    let keyed = bot.key("canary").with("placet-claimant", HEADER_CLAIMANT);
    let second = keyed.post("/v1/requests?claim=true", action()).await.expect(201);
    decide(ann, &second, "approve").await.expect(200);
    let claimed_at_once = keyed.post("/v1/requests?claim=true", action()).await.expect(200);
    secrets.push(claimed_at_once["permit"].as_str().expect("a permit").to_owned());

    // Refusals of calls that carry secrets.
    for (caller, path, body) in [
        (bot, at(&record, "/claim"), json!({"claimant": "another-claimant-0123456789"})),
        (bot, at(&second, "/outcome"), json!({"permit": claimed["permit"], "status": "failed"})),
        (bot, at(&record, "/outcome"), json!({"permit": claimed["permit"], "status": "done"})),
        (bot, at(&record, "/outcome"), json!({"permit": claimed["permit"], "status": "failed", "extra": 1})),
        (ann, at(&record, "/outcome"), json!({"permit": claimed["permit"], "status": "failed"})),
        (&admin, at(&record, "/outcome"), json!({"permit": claimed["permit"], "status": "failed"})),
    ] {
        let answer = caller.post(&path, body).await;
        assert!(answer.status >= 400);
        heard.add("problem", &answer.body);
    }
    for token in [
        format!("{}x", bot.token.as_deref().expect("a token")),
        made["key"].as_str().expect("a key")[..40].to_owned(),
    ] {
        let answer = server.http(Some(&token)).get(&at(&record, "")).await;
        assert_problem(&answer, 401, "unauthorized", None);
        heard.add("problem", &answer.body);
        secrets.push(token);
    }
    bot.post(&at(&record, "/outcome"), json!({"permit": claimed["permit"], "status": "succeeded"}))
        .await
        .expect(200);

    for (who, caller) in [("reviewer", ann), ("auditor", &eve)] {
        heard.add(who, &caller.get("/v1/ledger?limit=1000").await.expect(200));
        heard.add(who, &caller.get("/v1/requests?limit=500").await.expect(200));
        heard.add(who, &caller.get(&at(&record, "")).await.expect(200));
    }
    heard.add("agent", &bot.get(&at(&record, "")).await.expect(200));
    heard.add("agent", &get_over_http_2(bot, server.authority(), &at(&record, "")).await.1);
    heard.add("admin", &admin.get("/v1/keys").await.expect(200));
    heard.add("admin", &admin.get("/v1/people").await.expect(200));
    for (who, caller) in [("reviewer", ann), ("auditor", &eve), ("agent", bot)] {
        let mut events = Sse::open(caller, Some(&begin)).await;
        let mut socket = Socket::open(caller, &format!("/v1/ws?after={begin}")).await;
        let mut reported = false;
        while !reported {
            let event = events.next().await.expect("the life is on the stream");
            assert_eq!(socket.next().await.expect("and on the socket").data, event.data);
            reported = event.kind == "request.reported";
            heard.add(who, &event.data);
        }
    }
    secrets
}

#[test]
fn no_key_permit_or_claimant_appears_in_logs_problems_ledger_or_streams() {
    let logs = Captured::begin();
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let mut heard = Heard::default();
        let secrets = scenario(server, &bot, &ann, &mut heard).await;
        let logged = logs.text();
        assert!(logged.contains("/v1/requests/{id}/claim"), "the log has been captured");
        assert!(heard.0.len() > 20);
        for secret in &secrets {
            assert!(secret.len() >= 16);
            for (who, body) in &heard.0 {
                assert!(!body.contains(secret.as_str()), "{who} was told {secret}: {body}");
            }
            if let Some(place) = logged.find(secret.as_str()) {
                let line = logged[..place].rfind('\n').map_or(0, |end| end + 1);
                panic!("{secret} is in the log: {}", logged[line..].lines().next().unwrap_or_default());
            }
        }
    });
}

#[test]
fn what_push_notifications_are_shown_with_is_neither_logged_nor_told_back() {
    let logs = Captured::begin();
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await.with("a2a-version", "1.0"), server.reviewer("ann").await);
        let secrets = ["canary-token-0123456789", "canary-credentials-01234", "canary-in-the-address-01"];
        let rpc = async |method: &str, params: Value| {
            bot.post("/a2a/desk", json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
                .await
                .body
        };
        let mut receiver = Receiver::start().await;
        receiver.answer_next(StatusCode::INTERNAL_SERVER_ERROR.into_response());
        let shown = json!({"scheme": "Bearer", "credentials": secrets[1]});
        let mut heard = Vec::new();
        for (index, url) in [receiver.url(), "http://127.0.0.1:1/".to_owned()].into_iter().enumerate() {
            let wish = json!({"url": format!("{url}?key={}", secrets[2]), "token": secrets[0], "authentication": shown});
            let part = json!({"data": {"type": "approval_request", "action": "t", "args": {}}});
            let message = json!({"messageId": format!("m{index}"), "role": "ROLE_USER", "parts": [part]});
            let sent = rpc(
                "SendMessage",
                json!({"message": message, "configuration": {"taskPushNotificationConfig": wish}}),
            )
            .await;
            let task = &sent["result"]["task"]["id"];
            heard.push(rpc("ListTaskPushNotificationConfigs", json!({"taskId": task})).await);
            let mut bad = wish.clone();
            (bad["url"], bad["taskId"]) = (json!("http://10.0.0.1/"), task.clone());
            heard.push(rpc("CreateTaskPushNotificationConfig", bad).await);
            let waiting = ann.get("/v1/requests?state=pending").await.expect(200);
            decide(&ann, &waiting["items"][0], "approve").await.expect(200);
            heard.push(sent);
        }
        let posted = receiver.until_tried(server, 2).await;
        assert_eq!(posted.len(), 2);
        let logged = logs.text();
        assert!(logged.contains("not delivered; trying again"), "the log has been captured");
        for secret in secrets {
            // The address is told to whoever set it, and to nobody else.
            let told = heard.iter().map(Value::to_string).filter(|body| body.contains(secret)).count();
            assert_eq!(told, if secret == secrets[2] { 2 } else { 0 }, "{secret}");
            let line = logged.lines().find(|line| line.contains(secret));
            assert_eq!(line, None);
        }
    });
}

#[test]
fn control_characters_of_agents_never_reach_the_log() {
    let logs = Captured::begin();
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        // A line of its own, a colour, a bell, and text that runs backwards.
        let evil =
            "canary\r\n2026-11-15T00:00:00Z  INFO forged: approved\u{1b}[31m\u{7}\u{202e}\u{2028}\u{85}end";
        let step = json!({"id": evil, "action": evil, "description": evil, "arguments": {evil: evil}});
        let bodies = [
            json!({"kind": "action", "session": evil, "tool": "t", "arguments": {evil: evil}, "summary": evil, "context": {evil: evil}, "group": evil}),
            json!({"kind": "action", "session": evil, "tool": evil, "arguments": {}}),
            json!({"kind": evil, "session": evil}),
            json!({"kind": "action", "session": "s", "tool": "t", "arguments": {}, evil: evil}),
            json!({"kind": "action", "session": "s", "tool": "t", "arguments": {}, "expires_in": evil}),
            json!({"kind": "action", "session": "s", "tool": "t", "arguments": {}, "on_behalf_of": evil}),
            json!({"kind": "action", "session": "s", "tool": "t", "arguments": {}, "risk": evil, "allowed": [evil]}),
            json!({"kind": "action", "session": "s", "tool": "t", "arguments": {}, "arguments_schema": {"pattern": evil, "$ref": evil}}),
            json!({"kind": "plan", "session": evil, "title": evil, "steps": [step], "estimated_duration": evil}),
            json!({"kind": "input", "session": evil, "question": evil, "input": {"type": "choice", "options": [evil]}, "default": evil}),
            json!({"kind": "confirmation", "session": evil, "message": evil, "details": evil, "confirm_label": evil, "cancel_label": evil}),
        ];
        let mut made = 0;
        for body in bodies {
            let answer = bot.post("/v1/requests", body).await;
            if answer.status == 201 {
                made += 1;
                let shown = ann.get(&at(&answer.body, "")).await.expect(200);
                let hidden = |letter: char| letter.is_control() || "\u{202e}\u{2028}".contains(letter);
                for field in shown["display"]["fields"].as_array().expect("fields") {
                    let text = format!(
                        "{}{}",
                        field["pointer"].as_str().expect("a pointer"),
                        field["text"].as_str().expect("a text")
                    );
                    assert!(
                        !text.contains(hidden),
                        "what is shown has a character that hides or moves: {text:?}"
                    );
                }
                let mut no = vote(&answer.body, "deny");
                no["reason"] = json!(evil);
                ann.post(&at(&answer.body, "/decision"), no).await.expect(200);
            } else {
                assert_eq!(answer.status, 422, "{}", answer.body);
            }
        }
        assert_eq!(made, 4);
        for path in ["/v1/%0d%0aforged", "/v1/requests/%0d%0acanary", "/v1/requests?q=%0d%0acanary&state=%1b"]
        {
            assert!(ann.get(path).await.status >= 400);
        }
        bot.key("k\tcanary").post("/v1/requests", action()).await.expect(201);
        let record = approved(&bot, &ann).await;
        let claimed = bot.post(&at(&record, "/claim"), json!({})).await.expect(200);
        let report =
            json!({"permit": claimed["permit"], "status": "failed", "note": evil, "result_digest": evil});
        bot.post(&at(&record, "/outcome"), report).await.expect(200);
        // Nothing more is logged about calls once the server has closed its connections.
        server.stop().await;
        let logged = logs.text();
        assert!(logged.contains("status=422"), "the log has been captured");
        for line in logged.lines() {
            assert!(!line.contains("INFO forged"), "an agent wrote a line of the log: {line:?}");
            assert!(
                !line.chars().any(|letter| letter.is_control() || "\u{202e}\u{2028}".contains(letter)),
                "{line:?}"
            );
        }
    });
}
