//! What the main calls answer, whole: status, the headers that matter, and every field of the body.

use std::time::Duration;

use placet_testkit::Answer;
use serde_json::{Value, json};

use crate::support::{action_with, ask, at, decide, on_sqlite};

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

/// The value without what differs from run to run, by what it looks like.
fn redacted(value: Value) -> Value {
    let shape = match value {
        Value::Array(items) => return items.into_iter().map(redacted).collect(),
        Value::Object(fields) => {
            return fields
                .into_iter()
                .map(|(name, value)| (name, redacted(value)))
                .collect::<serde_json::Map<_, _>>()
                .into();
        }
        Value::String(ref text) => match text.as_str() {
            text if text.starts_with("req_") => "[request]",
            text if text.starts_with("key_") => "[key id]",
            text if text.starts_with("/r/req_") => "/r/[request]",
            text if text.starts_with("sha256:") => "[digest]",
            text if text.starts_with("prm_") => "[permit]",
            text if text.starts_with("plk_agent_") => "plk_agent_[secret]",
            text if text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) => "[nonce]",
            text if text.len() >= 20 && text.ends_with('Z') && text.starts_with("20") => "[time]",
            _ => return value,
        },
        plain => return plain,
    };
    shape.into()
}

macro_rules! shape {
    ($value:expr, @$snapshot:literal) => {
        insta::assert_json_snapshot!(redacted($value), @$snapshot)
    };
}

mod books;
mod requests;

#[test]
fn problems_say_what_happened_and_what_to_do() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let record = ask(&bot).await;
        shape!(whole(&server.nobody().get(&at(&record, "")).await), @r#"
        {
          "body": {
            "code": "unauthorized",
            "detail": "a key is needed: send `Authorization: Bearer plk_…`",
            "status": 401,
            "title": "Unauthorized",
            "type": "urn:placet:problem:unauthorized"
          },
          "headers": {
            "cache-control": "no-store",
            "content-type": "application/problem+json",
            "www-authenticate": "Bearer"
          },
          "status": 401
        }
        "#);
        shape!(whole(&bot.get("/v1/requests/nonsense").await), @r#"
        {
          "body": {
            "code": "not_found",
            "detail": "there is nothing here for you: unknown, foreign and malformed ids look alike",
            "status": 404,
            "title": "Not Found",
            "type": "urn:placet:problem:not_found"
          },
          "headers": {
            "cache-control": "no-store",
            "content-type": "application/problem+json"
          },
          "status": 404
        }
        "#);
        shape!(whole(&decide(&bot, &record, "approve").await), @r#"
        {
          "body": {
            "code": "forbidden",
            "detail": "the role `agent` cannot do this",
            "status": 403,
            "title": "Forbidden",
            "type": "urn:placet:problem:forbidden"
          },
          "headers": {
            "cache-control": "no-store",
            "content-type": "application/problem+json"
          },
          "status": 403
        }
        "#);
        shape!(whole(&bot.post("/v1/requests", action_with(json!({"state": "approved"}))).await), @r#"
        {
          "body": {
            "code": "invalid",
            "detail": "unknown field `state`, expected one of `kind`, `session`, `summary`, `risk`, `context`, `allowed`, `expires_in`, `on_behalf_of`, `group`, `permit`, `tool`, `arguments`, `arguments_schema`, `title`, `steps`, `can_modify`, `estimated_duration`, `question`, `input`, `required`, `default`, `message`, `details`, `confirm_label`, `cancel_label`",
            "pointer": "/state",
            "status": 422,
            "title": "Unprocessable Entity",
            "type": "urn:placet:problem:invalid"
          },
          "headers": {
            "cache-control": "no-store",
            "content-type": "application/problem+json"
          },
          "status": 422
        }
        "#);
        shape!(whole(&bot.post_bytes("/v1/requests", r#"{"kind":"action","kind":"plan"}"#).await), @r#"
        {
          "body": {
            "code": "duplicate_key",
            "detail": "a key occurs twice in one object; send each key once (byte 17)",
            "pointer": "/kind",
            "status": 422,
            "title": "Unprocessable Entity",
            "type": "urn:placet:problem:duplicate_key"
          },
          "headers": {
            "cache-control": "no-store",
            "content-type": "application/problem+json"
          },
          "status": 422
        }
        "#);
        decide(&ann, &record, "approve").await.expect(200);
        let late = decide(&ann, &record, "deny").await;
        let mut late = whole(&late);
        let record = late["body"]["record"].take();
        assert_eq!(record["state"], "approved");
        shape!(late, @r#"
        {
          "body": {
            "code": "already_decided",
            "detail": "the request is already decided",
            "record": null,
            "status": 409,
            "title": "Conflict",
            "type": "urn:placet:problem:already_decided"
          },
          "headers": {
            "cache-control": "no-store",
            "content-type": "application/problem+json"
          },
          "status": 409
        }
        "#);
    });
}

#[test]
fn revoke_reassign_and_resolve_answer_the_record() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let record = ask(&bot).await;
        let asked = ann
            .post(&at(&record, "/reassign"), json!({"to": ["ann"], "reason": "she knows"}))
            .await
            .expect(200);
        assert_eq!(
            (&asked["asked"], &asked["needs"]),
            (&json!(["ann"]), &record["needs"]),
            "what is needed stays"
        );
        let approved = decide(&ann, &asked, "approve").await.expect(200);
        let revoked = ann.post(&at(&approved, "/revoke"), json!({"reason": "wait"})).await.expect(200);
        assert_eq!((&revoked["state"], &revoked["version"]), (&json!("revoked"), &json!(4)));
        let second = crate::support::approved(&bot, &ann).await;
        bot.post(&at(&second, "/claim"), json!({})).await.expect(200);
        server.kit.clock().advance(Duration::from_hours(1));
        let settled = ann
            .post(&at(&second, "/resolve"), json!({"status": "failed", "reason": "I looked"}))
            .await
            .expect(200);
        shape!(json!({"state": settled["state"], "outcome": settled["outcome"]}), @r#"
        {
          "outcome": {
            "at": "[time]",
            "note": "I looked",
            "resolved_by": "ann",
            "result_digest": null,
            "status": "failed"
          },
          "state": "failed"
        }
        "#);
    });
}
