//! What the main calls answer, whole: status, the headers that matter, and every field of the body.

use std::time::Duration;

use insta::internals::{Content, ContentPath};
use placet_testkit::Answer;
use serde_json::{Value, json};

use crate::support::{action, action_with, ask, at, decide, merged, on_sqlite, vote};

/// Status, headers that matter, and body.
fn whole(answer: &Answer) -> Value {
    let mut headers = serde_json::Map::new();
    for name in ["content-type", "cache-control", "retry-after", "www-authenticate", "allow"] {
        if let Some(value) = answer.header(name) {
            headers.insert(name.to_owned(), value.into());
        }
    }
    json!({"status": answer.status, "headers": headers, "body": answer.body})
}

/// What differs from run to run, by what it looks like.
fn redacted(value: Content, _: ContentPath<'_>) -> Content {
    let Some(text) = value.as_str() else { return value };
    let shape = match text {
        text if text.starts_with("req_") => "[request]",
        text if text.starts_with("key_") => "[key id]",
        text if text.starts_with("/r/req_") => "/r/[request]",
        text if text.starts_with("sha256:") => "[digest]",
        text if text.starts_with("prm_") => "[permit]",
        text if text.starts_with("plk_agent_") => "plk_agent_[secret]",
        text if text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) => "[nonce]",
        text if text.len() >= 20 && text.ends_with('Z') && text.starts_with("20") => "[time]",
        _ => return value,
    };
    shape.into()
}

macro_rules! shape {
    ($value:expr, @$snapshot:literal) => {
        insta::assert_json_snapshot!($value, {".**" => insta::dynamic_redaction(redacted)}, @$snapshot)
    };
}

#[test]
fn a_create_answers_the_whole_record() {
    on_sqlite(async |server| {
        let bot = server.agent("bot").await;
        let body = action_with(json!({
            "summary": "clean up", "risk": "high", "context": {"cwd": "/srv"}, "arguments_schema": {"type": "object"},
            "allowed": ["approve", "deny"], "expires_in": "10m", "on_behalf_of": "ann", "group": "g-1", "permit": true
        }));
        shape!(whole(&bot.post("/v1/requests", body).await), @"");
    });
}

#[test]
fn the_other_kinds_answer_their_own_fields() {
    on_sqlite(async |server| {
        let bot = server.agent("bot").await;
        let own = |record: &Value, fields: &[&str]| -> Value { fields.iter().map(|field| ((*field).to_owned(), record[*field].clone())).collect::<serde_json::Map<_, _>>().into() };
        let step = json!({"id": "a", "action": "run", "description": "runs", "arguments": {"n": 1}, "optional": true});
        let plan = json!({"kind": "plan", "session": "s", "title": "t", "steps": [step], "can_modify": true, "estimated_duration": "5 min"});
        let plan = bot.post("/v1/requests", plan).await.expect(201);
        shape!(own(&plan, &["kind", "title", "steps", "can_modify", "estimated_duration", "allowed", "claimable", "tool", "arguments"]), @"");
        let input = json!({"kind": "input", "session": "s", "question": "how many?", "input": {"type": "number", "min": 1, "max": 5}, "required": false, "default": 2});
        let input = bot.post("/v1/requests", input).await.expect(201);
        shape!(own(&input, &["kind", "question", "input", "required", "default", "allowed", "claimable"]), @"");
        let confirmation = bot.post("/v1/requests", json!({"kind": "confirmation", "session": "s", "message": "go?"})).await.expect(201);
        shape!(own(&confirmation, &["kind", "message", "details", "confirm_label", "cancel_label", "allowed", "claimable"]), @"");
    });
}

#[test]
fn a_reviewer_is_shown_the_exact_text_and_decides_on_its_digest() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let record = bot.post("/v1/requests", action_with(json!({"summary": "a\u{202e}b", "arguments": {"n": 1.50}}))).await.expect(201);
        let shown = ann.get(&at(&record, "")).await;
        shape!(json!({"status": shown.status, "display": shown.body["display"]}), @"");
        let edit = merged(vote(&record, "edit"), json!({"arguments": {"n": 2}, "reason": "less", "display": shown.body["display"]["digest"]}));
        let decided = ann.post(&at(&record, "/decision"), edit).await;
        shape!(json!({"status": decided.status, "state": decided.body["state"], "votes": decided.body["votes"], "decision": decided.body["decision"], "claim_by": decided.body["claim_by"]}), @"");
        let claimed = bot.post(&at(&record, "/claim"), json!({})).await;
        shape!(whole(&claimed), @"");
        let report = json!({"permit": claimed.body["permit"], "status": "succeeded", "result_digest": "sha256:00", "note": "ok"});
        let reported = bot.post(&at(&record, "/outcome"), report).await;
        shape!(json!({"status": reported.status, "state": reported.body["state"], "claim": reported.body["claim"], "outcome": reported.body["outcome"]}), @"");
    });
}

#[test]
fn problems_say_what_happened_and_what_to_do() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let record = ask(&bot).await;
        shape!(whole(&server.nobody().get(&at(&record, "")).await), @"");
        shape!(whole(&bot.get("/v1/requests/nonsense").await), @"");
        shape!(whole(&decide(&bot, &record, "approve").await), @"");
        shape!(whole(&bot.post("/v1/requests", action_with(json!({"state": "approved"}))).await), @"");
        shape!(whole(&bot.post_bytes("/v1/requests", r#"{"kind":"action","kind":"plan"}"#).await), @"");
        decide(&ann, &record, "approve").await.expect(200);
        let late = decide(&ann, &record, "deny").await;
        let mut late = whole(&late);
        let record = late["body"]["record"].take();
        assert_eq!(record["state"], "approved");
        shape!(late, @"");
    });
}

#[test]
fn pages_of_requests_and_of_the_ledger() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let record = ask(&bot).await;
        bot.post(&at(&record, "/cancel"), json!({"reason": "no longer needed"})).await.expect(200);
        let mut page = ann.get("/v1/requests?limit=1").await.expect(200);
        assert_eq!(page["items"][0]["state"], "cancelled");
        page["items"] = json!([]);
        assert!(page["event_id"].as_str().is_some_and(|id| id.ends_with(".5")));
        page["event_id"] = json!("[event]");
        shape!(page, @"");
        let mut ledger = ann.get("/v1/ledger?after=1&limit=4").await.expect(200);
        for item in ledger["items"].as_array_mut().expect("items") {
            assert!(item["entry"]["epoch"].is_string());
            item["entry"]["epoch"] = json!("[epoch]");
        }
        shape!(ledger, @"");
    });
}

#[test]
fn keys_and_people_as_an_admin_sees_them() {
    on_sqlite(async |server| {
        let admin = server.admin();
        admin.post("/v1/people", json!({"name": "ann", "roles": ["reviewer", "auditor"], "teams": ["ops"]})).await.expect(201);
        let made = admin.post("/v1/keys", json!({"role": "agent", "name": "bot", "owner": "ann"})).await;
        shape!(whole(&made), @"");
        shape!(admin.get("/v1/keys").await.expect(200), @"");
        shape!(admin.get("/v1/people").await.expect(200), @"");
        shape!(whole(&admin.post("/v1/keys", json!({"role": "agent", "name": "ann"})).await), @"");
    });
}

#[test]
fn revoke_reassign_and_resolve_answer_the_record() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let record = ask(&bot).await;
        let asked = ann.post(&at(&record, "/reassign"), json!({"to": ["ann"], "reason": "she knows"})).await.expect(200);
        assert_eq!((&asked["asked"], &asked["needs"]), (&json!(["ann"]), &record["needs"]), "what is needed stays");
        let approved = decide(&ann, &asked, "approve").await.expect(200);
        let revoked = ann.post(&at(&approved, "/revoke"), json!({"reason": "wait"})).await.expect(200);
        assert_eq!((&revoked["state"], &revoked["version"]), (&json!("revoked"), &json!(4)));
        let second = crate::support::approved(&bot, &ann).await;
        bot.post(&at(&second, "/claim"), json!({})).await.expect(200);
        server.kit.clock().advance(Duration::from_secs(3600));
        let settled = ann.post(&at(&second, "/resolve"), json!({"status": "failed", "reason": "I looked"})).await.expect(200);
        shape!(json!({"state": settled["state"], "outcome": settled["outcome"]}), @"");
    });
}

#[test]
fn health_says_what_an_answer_is_worth() {
    on_sqlite(async |server| {
        let nobody = server.nobody();
        shape!(nobody.get("/healthz").await.expect(200), @"");
        let mut ready = nobody.get("/readyz").await.expect(200);
        assert!(ready["epoch"].is_string());
        ready["epoch"] = json!("[epoch]");
        shape!(ready, @"");
        let answer = server.agent("bot").await.post("/v1/requests", action()).await;
        assert_eq!(answer.header("content-type"), Some("application/json"));
    });
}
