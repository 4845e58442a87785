//! The HTTP hook of Claude Code: every call that arrives is answered with a decision.

use placet_testkit::{Http, both};
use serde_json::{Value, json};

use crate::support::{at, first_pending, merged, vote};

const HOOK: &str = "/v1/hooks/claude-code?wait=5m";

fn call(id: &str) -> Value {
    json!({
        "session_id": "s-1", "cwd": "/srv", "hook_event_name": "PreToolUse", "permission_mode": "default",
        "tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": id,
    })
}

/// What Claude Code reads in the answer: the decision, and the input to run with.
fn read(body: &Value) -> (&str, &Value) {
    let own = &body["hookSpecificOutput"];
    (own["permissionDecision"].as_str().unwrap_or(""), &own["updatedInput"])
}

async fn decided(ann: &Http, record: &Value, word: &str, more: Value) {
    ann.post(&at(record, "/decision"), merged(vote(record, word), more)).await.expect(200);
}

both! {
    async fn an_approved_call_runs_once_and_is_reported(server: Server) {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let (answer, record) = tokio::join!(bot.post(HOOK, call("t-1")), async {
            let record = first_pending(&ann).await;
            decided(&ann, &record, "approve", json!({})).await;
            record
        });
        assert_eq!(read(&answer.expect(200)), ("allow", &Value::Null));
        assert_eq!((&record["tool"], &record["context"]["call_id"]), (&json!("Bash"), &json!("t-1")));
        assert_eq!(read(&bot.post(HOOK, call("t-1")).await.expect(200)).0, "deny", "an approval is for one run");
        let mut after = call("t-1");
        after["hook_event_name"] = json!("PostToolUse");
        assert_eq!(bot.post(HOOK, after).await.expect(200), json!({}));
        let path = format!("/v1/requests/{}", record["id"].as_str().expect("an id"));
        assert_eq!(ann.get(&path).await.expect(200)["state"], "succeeded");
    }

    async fn an_edit_is_not_offered_and_a_denied_call_does_not_run(server: Server) {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let (answer, ()) = tokio::join!(bot.post(HOOK, call("t-1")), async {
            let record = first_pending(&ann).await;
            // Over HTTP nothing shows whether this version of the agent runs edited arguments.
            let edit = merged(vote(&record, "edit"), json!({"arguments": {"command": "make test"}}));
            ann.post(&at(&record, "/decision"), edit).await.expect(422);
            decided(&ann, &record, "approve", json!({})).await;
        });
        assert_eq!(read(&answer.expect(200)), ("allow", &Value::Null));
        let (answer, ()) = tokio::join!(bot.post(HOOK, call("t-2")), async {
            let record = first_pending(&ann).await;
            decided(&ann, &record, "deny", json!({"reason": "not now"})).await;
        });
        let body = answer.expect(200);
        assert_eq!(read(&body).0, "deny");
        assert!(body.to_string().contains("denied by ann: not now"), "{body}");
    }

    async fn whatever_arrives_is_answered_with_a_no(server: Server) {
        let bot = server.agent("bot").await;
        let denied = |answer: placet_testkit::Answer| {
            assert_eq!((answer.status, read(&answer.body).0), (200, "deny"), "{}", answer.body);
        };
        denied(server.nobody().post(HOOK, call("t-1")).await);
        denied(server.http(Some("plk_agent_wrong")).post(HOOK, call("t-1")).await);
        denied(server.reviewer("ann").await.post(HOOK, call("t-1")).await);
        denied(bot.post_bytes(HOOK, "{\"hook_event_name\":").await);
        denied(bot.post_bytes(HOOK, "").await);
        denied(bot.post(HOOK, json!({"hook_event_name": "BeforeEverything", "session_id": "s"})).await);
        denied(bot.post(HOOK, json!([1])).await);
        denied(bot.post("/v1/hooks/claude-code?wait=soon", call("t-1")).await);
        denied(bot.post("/v1/hooks/claude-code?mode=allow", call("t-1")).await);
        denied(bot.post("/v1/hooks/claude-code?wait=5m&mode=relay", call("t-1")).await);
        denied(bot.post("/v1/hooks/claude-code?wait=50ms", call("t-9")).await);
        let large = format!("{{\"a\":\"{}\"}}", "x".repeat(9 * 1024 * 1024));
        denied(bot.post_bytes(HOOK, large).await);
        let page = server.reviewer("ben").await.get("/v1/requests?state=pending").await.expect(200);
        assert_eq!(page["items"], json!([]), "what nobody waits for is withdrawn");
    }

    async fn a_relay_without_a_decision_leaves_it_to_the_terminal(server: Server) {
        let bot = server.agent("bot").await;
        let mut prompt = call("");
        prompt["hook_event_name"] = json!("PermissionRequest");
        let relay = "/v1/hooks/claude-code?mode=relay&wait=50ms";
        assert_eq!(bot.post(relay, prompt.clone()).await.expect(200), json!({}));
        let body = bot.post("/v1/hooks/claude-code?wait=50ms", prompt).await.expect(200);
        assert_eq!(body["hookSpecificOutput"]["decision"]["behavior"], "deny", "a gate decides");
    }

    async fn a_relay_is_withdrawn_when_the_terminal_was_quicker(server: Server) {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let mut prompt = call("");
        prompt["hook_event_name"] = json!("PermissionRequest");
        let mut ran = call("t-1");
        ran["hook_event_name"] = json!("PostToolUse");
        let mut other = ran.clone();
        other["tool_input"] = json!({"command": "something else"});
        let stop = json!({"hook_event_name": "Stop", "session_id": "s-1"});
        for news in [ran, stop] {
            let relay = "/v1/hooks/claude-code?mode=relay&wait=5m";
            let (answer, record) = tokio::join!(bot.post(relay, prompt.clone()), async {
                let record = first_pending(&ann).await;
                bot.post(HOOK, other.clone()).await.expect(200);
                assert_eq!(ann.get(&at(&record, "")).await.expect(200)["state"], "pending", "that was another call");
                bot.post(HOOK, news).await.expect(200);
                record
            });
            assert_eq!(answer.expect(200), json!({}), "no opinion");
            assert_eq!(ann.get(&at(&record, "")).await.expect(200)["state"], "cancelled");
        }
    }
}
