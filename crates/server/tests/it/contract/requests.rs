//! What making, showing, deciding and running a request answers.

use serde_json::{Value, json};

use super::{redacted, whole};
use crate::support::{action_with, at, merged, on_sqlite, vote};

#[test]
fn a_create_answers_the_whole_record() {
    on_sqlite(async |server| {
        let bot = server.agent("bot").await;
        let body = action_with(json!({
            "summary": "clean up", "risk": "high", "context": {"cwd": "/srv"}, "arguments_schema": {"type": "object"},
            "allowed": ["approve", "deny"], "expires_in": "10m", "on_behalf_of": "ann", "group": "g-1", "permit": true
        }));
        shape!(whole(&bot.post("/v1/requests", body).await), @r#"
        {
          "body": {
            "agent": "bot",
            "allowed": [
              "approve",
              "deny"
            ],
            "arguments": {
              "files": [
                "report.md"
              ]
            },
            "arguments_schema": {
              "type": "object"
            },
            "asked": [],
            "claim": null,
            "claim_by": null,
            "claimable": true,
            "context": {
              "cwd": "/srv"
            },
            "created_at": "[time]",
            "decision": null,
            "digest": "[digest]",
            "expires_at": "[time]",
            "group": "g-1",
            "id": "[request]",
            "kind": "action",
            "needs": {
              "any": [
                {
                  "all": [
                    {
                      "people": 1,
                      "team": null
                    }
                  ]
                }
              ],
              "four_eyes": false,
              "step_up": null
            },
            "nonce": "[nonce]",
            "on_behalf_of": "ann",
            "outcome": null,
            "proposal": null,
            "report_by": null,
            "risk": "high",
            "session": "s-1",
            "state": "pending",
            "summary": "clean up",
            "tool": "delete_files",
            "url": "/r/[request]",
            "verdict": {
              "effect": "hold",
              "policy": "[digest]",
              "reasons": [
                "rule `hold-everything`: every request waits for a person",
                "the agent says the risk is high"
              ],
              "rule": "hold-everything"
            },
            "version": 1,
            "votes": []
          },
          "headers": {
            "cache-control": "no-store",
            "content-type": "application/json"
          },
          "status": 201
        }
        "#);
    });
}

#[test]
fn the_other_kinds_answer_their_own_fields() {
    on_sqlite(async |server| {
        let bot = server.agent("bot").await;
        let own = |record: &Value, fields: &[&str]| -> Value {
            fields
                .iter()
                .map(|field| ((*field).to_owned(), record[*field].clone()))
                .collect::<serde_json::Map<_, _>>()
                .into()
        };
        let step = json!({"id": "a", "action": "run", "description": "runs", "arguments": {"n": 1}, "optional": true});
        let plan = json!({"kind": "plan", "session": "s", "title": "t", "steps": [step], "can_modify": true, "estimated_duration": "5 min"});
        let plan = bot.post("/v1/requests", plan).await.expect(201);
        shape!(own(&plan, &["kind", "title", "steps", "can_modify", "estimated_duration", "allowed", "claimable", "tool", "arguments"]), @r#"
        {
          "allowed": [
            "approve",
            "edit",
            "deny"
          ],
          "arguments": null,
          "can_modify": true,
          "claimable": false,
          "estimated_duration": "5 min",
          "kind": "plan",
          "steps": [
            {
              "action": "run",
              "arguments": {
                "n": 1
              },
              "description": "runs",
              "id": "a",
              "optional": true
            }
          ],
          "title": "t",
          "tool": null
        }
        "#);
        let input = json!({"kind": "input", "session": "s", "question": "how many?", "input": {"type": "number", "min": 1, "max": 5}, "required": false, "default": 2});
        let input = bot.post("/v1/requests", input).await.expect(201);
        shape!(own(&input, &["kind", "question", "input", "required", "default", "allowed", "claimable"]), @r#"
        {
          "allowed": [
            "respond",
            "deny"
          ],
          "claimable": false,
          "default": 2,
          "input": {
            "max": 5,
            "min": 1,
            "type": "number"
          },
          "kind": "input",
          "question": "how many?",
          "required": false
        }
        "#);
        let confirmation = bot
            .post("/v1/requests", json!({"kind": "confirmation", "session": "s", "message": "go?"}))
            .await
            .expect(201);
        shape!(own(&confirmation, &["kind", "message", "details", "confirm_label", "cancel_label", "allowed", "claimable"]), @r#"
        {
          "allowed": [
            "approve",
            "deny"
          ],
          "cancel_label": "Cancel",
          "claimable": false,
          "confirm_label": "Confirm",
          "details": null,
          "kind": "confirmation",
          "message": "go?"
        }
        "#);
    });
}

#[test]
fn a_reviewer_is_shown_the_exact_text_and_decides_on_its_digest() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let record = bot
            .post("/v1/requests", action_with(json!({"summary": "a\u{202e}b", "arguments": {"n": 1.50}})))
            .await
            .expect(201);
        let shown = ann.get(&at(&record, "")).await;
        shape!(json!({"status": shown.status, "display": shown.body["display"]}), @r#"
        {
          "display": {
            "digest": "[digest]",
            "effect": "Call delete_files with n 1.5",
            "fields": [
              {
                "pointer": "/session",
                "text": "s-1"
              },
              {
                "pointer": "/tool",
                "text": "delete_files"
              },
              {
                "pointer": "/arguments/n",
                "text": "1.5"
              },
              {
                "pointer": "/context",
                "text": "{}"
              },
              {
                "pointer": "/summary",
                "text": "a\\u{202e}b"
              }
            ],
            "preview": {
              "type": "json"
            },
            "shown": [],
            "warnings": [
              {
                "code": "hidden_characters",
                "pointer": "/summary",
                "text": "There are characters that do not show, or move others: \\u{202e} is the first."
              }
            ]
          },
          "status": 200
        }
        "#);
        let edit = merged(
            vote(&record, "edit"),
            json!({"arguments": {"n": 2}, "reason": "less", "display": shown.body["display"]["digest"]}),
        );
        let decided = ann.post(&at(&record, "/decision"), edit).await;
        shape!(json!({"status": decided.status, "state": decided.body["state"], "votes": decided.body["votes"], "decision": decided.body["decision"], "claim_by": decided.body["claim_by"]}), @r#"
        {
          "claim_by": "[time]",
          "decision": {
            "answer": null,
            "arguments": {
              "n": 2
            },
            "at": "[time]",
            "by": [
              "ann"
            ],
            "decision": "edit",
            "digest": "[digest]",
            "reason": "less",
            "steps": null
          },
          "state": "approved",
          "status": 200,
          "votes": [
            {
              "at": "[time]",
              "auth": "token",
              "by": "ann",
              "digest": "[digest]",
              "vote": "edit"
            }
          ]
        }
        "#);
        let claimed = bot.post(&at(&record, "/claim"), json!({})).await;
        shape!(whole(&claimed), @r#"
        {
          "body": {
            "arguments": {
              "n": 2
            },
            "digest": "[digest]",
            "permit": "[permit]",
            "report_by": "[time]"
          },
          "headers": {
            "cache-control": "no-store",
            "content-type": "application/json"
          },
          "status": 200
        }
        "#);
        let report = json!({"permit": claimed.body["permit"], "status": "succeeded", "result_digest": "sha256:00", "note": "ok"});
        let reported = bot.post(&at(&record, "/outcome"), report).await;
        shape!(json!({"status": reported.status, "state": reported.body["state"], "claim": reported.body["claim"], "outcome": reported.body["outcome"]}), @r#"
        {
          "claim": {
            "at": "[time]",
            "by": "bot"
          },
          "outcome": {
            "at": "[time]",
            "note": "ok",
            "resolved_by": null,
            "result_digest": "[digest]",
            "status": "succeeded"
          },
          "state": "succeeded",
          "status": 200
        }
        "#);
    });
}
