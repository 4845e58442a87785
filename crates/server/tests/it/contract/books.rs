//! What pages, keys, people and health answer.

use serde_json::json;

use super::{redacted, whole};
use crate::support::{action, ask, at, on_sqlite};

#[test]
fn pages_of_requests_and_of_the_ledger() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let record = ask(&bot).await;
        bot.post(&at(&record, "/cancel"), json!({"reason": "no longer needed"})).await.expect(200);
        let mut page = ann.get("/v1/requests?limit=1").await.expect(200);
        assert_eq!(page["items"][0]["state"], "cancelled");
        page["items"] = json!([]);
        let epoch = page["event_id"]
            .as_str()
            .and_then(|id| id.split_once('.'))
            .map(|(epoch, _)| epoch.to_owned())
            .expect("epoch.seq");
        assert_eq!(page["event_id"], format!("{epoch}.{}", page["seq"]));
        page["event_id"] = json!("[event]");
        shape!(page, @r#"
        {
          "event_id": "[event]",
          "items": [],
          "next_cursor": null,
          "seq": 6
        }
        "#);
        let text = ann.get("/v1/ledger?after=1&limit=10").await.expect(200).to_string();
        shape!(serde_json::from_str(&text.replace(&epoch, "[epoch]")).expect("JSON"), @r#"
        {
          "items": [
            {
              "entry": {
                "at": "[time]",
                "by": {
                  "auth": "token",
                  "name": "placet",
                  "role": "admin"
                },
                "data": {
                  "id": "[key id]",
                  "name": "bootstrap",
                  "owner": null,
                  "role": "admin",
                  "type": "key.created"
                },
                "epoch": "[epoch]",
                "prev": "[digest]",
                "seq": 2,
                "v": 1
              },
              "hash": "[digest]",
              "seq": 2
            },
            {
              "entry": {
                "at": "[time]",
                "by": {
                  "auth": "token",
                  "key": "[key id]",
                  "name": "bootstrap",
                  "role": "admin"
                },
                "data": {
                  "id": "[key id]",
                  "name": "bot",
                  "owner": null,
                  "role": "agent",
                  "type": "key.created"
                },
                "epoch": "[epoch]",
                "prev": "[digest]",
                "seq": 3,
                "v": 1
              },
              "hash": "[digest]",
              "seq": 3
            },
            {
              "entry": {
                "at": "[time]",
                "by": {
                  "auth": "token",
                  "key": "[key id]",
                  "name": "bootstrap",
                  "role": "admin"
                },
                "data": {
                  "id": "[key id]",
                  "name": "ann",
                  "owner": null,
                  "role": "reviewer",
                  "type": "key.created"
                },
                "epoch": "[epoch]",
                "prev": "[digest]",
                "seq": 4,
                "v": 1
              },
              "hash": "[digest]",
              "seq": 4
            },
            {
              "entry": {
                "at": "[time]",
                "by": {
                  "auth": "token",
                  "key": "[key id]",
                  "name": "bot",
                  "role": "agent"
                },
                "data": {
                  "agent": "bot",
                  "allowed": [
                    "approve",
                    "edit",
                    "deny"
                  ],
                  "claim_by": null,
                  "claim_window": {
                    "nanos": 0,
                    "secs": 900
                  },
                  "created_at": "[time]",
                  "digest": "[digest]",
                  "expires_at": "[time]",
                  "group": null,
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
                  "on_behalf_of": null,
                  "permit": true,
                  "report_window": {
                    "nanos": 0,
                    "secs": 3600
                  },
                  "risk": "medium",
                  "session": "s-1",
                  "state": "pending",
                  "tool": "delete_files",
                  "type": "request.created",
                  "verdict": {
                    "effect": "hold",
                    "policy": "[digest]",
                    "reasons": [
                      "rule `hold-everything`: every request waits for a person"
                    ],
                    "rule": "hold-everything"
                  }
                },
                "epoch": "[epoch]",
                "payload": "[digest]",
                "prev": "[digest]",
                "request": "[request]",
                "seq": 5,
                "v": 1,
                "version": 1
              },
              "hash": "[digest]",
              "seq": 5
            },
            {
              "entry": {
                "at": "[time]",
                "by": {
                  "auth": "token",
                  "key": "[key id]",
                  "name": "bot",
                  "role": "agent"
                },
                "data": {
                  "type": "request.cancelled"
                },
                "epoch": "[epoch]",
                "payload": "[digest]",
                "prev": "[digest]",
                "request": "[request]",
                "seq": 6,
                "v": 1,
                "version": 2
              },
              "hash": "[digest]",
              "seq": 6
            }
          ],
          "next_after": null
        }
        "#);
    });
}

#[test]
fn keys_and_people_as_an_admin_sees_them() {
    on_sqlite(async |server| {
        let admin = server.admin();
        server.kit.clock().tick();
        admin
            .post("/v1/people", json!({"name": "ann", "roles": ["reviewer", "auditor"], "teams": ["ops"]}))
            .await
            .expect(201);
        let made = admin.post("/v1/keys", json!({"role": "agent", "name": "bot", "owner": "ann"})).await;
        shape!(whole(&made), @r#"
        {
          "body": {
            "id": "[key id]",
            "key": "plk_agent_[secret]",
            "name": "bot",
            "role": "agent"
          },
          "headers": {
            "cache-control": "no-store",
            "content-type": "application/json"
          },
          "status": 201
        }
        "#);
        shape!(admin.get("/v1/keys").await.expect(200), @r#"
        {
          "items": [
            {
              "created_at": "[time]",
              "id": "[key id]",
              "name": "bootstrap",
              "owner": null,
              "revoked_at": null,
              "role": "admin"
            },
            {
              "created_at": "[time]",
              "id": "[key id]",
              "name": "bot",
              "owner": "ann",
              "revoked_at": null,
              "role": "agent"
            }
          ]
        }
        "#);
        shape!(admin.get("/v1/people").await.expect(200), @r#"
        {
          "items": [
            {
              "name": "ann",
              "roles": [
                "reviewer",
                "auditor"
              ],
              "teams": [
                "ops"
              ]
            },
            {
              "name": "bootstrap",
              "roles": [
                "admin"
              ],
              "teams": []
            }
          ]
        }
        "#);
        shape!(whole(&admin.post("/v1/keys", json!({"role": "agent", "name": "ann"})).await), @r#"
        {
          "body": {
            "code": "other_kind",
            "detail": "`ann` is already the name of another kind of principal",
            "status": 409,
            "title": "Conflict",
            "type": "urn:placet:problem:other_kind"
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
fn health_says_what_an_answer_is_worth() {
    on_sqlite(async |server| {
        let nobody = server.nobody();
        shape!(nobody.get("/healthz").await.expect(200), @r#"
        {
          "status": "ok",
          "version": "0.2.0"
        }
        "#);
        let mut ready = nobody.get("/readyz").await.expect(200);
        assert!(ready["epoch"].is_string());
        ready["epoch"] = json!("[epoch]");
        shape!(ready, @r#"
        {
          "code": null,
          "database": "sqlite",
          "durability": "WAL, synchronous=FULL: survives a crash and a power cut",
          "epoch": "[epoch]",
          "ready": true,
          "reason": null,
          "seq": 2,
          "warnings": []
        }
        "#);
        let answer = server.agent("bot").await.post("/v1/requests", action()).await;
        assert_eq!(answer.header("content-type"), Some("application/json"));
    });
}
