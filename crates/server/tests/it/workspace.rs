//! Folders that are open to agents, over HTTP.

use http::Method;
use placet_testkit::Http;
use serde_json::{Value, json};

use crate::support::on_sqlite;

const POLICY: &str =
    "version = 1\n[[rule]]\nname = 'r'\neffect = 'allow'\ntool = 'Read'\nunder = '@workspace'\n";

fn read(path: &str) -> Value {
    json!({"kind": "action", "tool": "Read", "arguments": {"file_path": path}, "session": "s",
           "context": {"cwd": "/srv/app", "paths": {path: path}}})
}

async fn said(agent: &Http, door: Option<&str>, path: &str) -> (u16, Value) {
    let agent = match door {
        Some(door) => agent.clone().with("Placet-Door", door),
        None => agent.clone(),
    };
    let answer = agent.send(Method::POST, "/v1/requests", read(path).to_string().into()).await;
    (answer.status, answer.body["state"].clone())
}

#[test]
fn what_the_hook_program_resolved_passes_and_what_others_claim_does_not() {
    on_sqlite(async |server| {
        let (root, bot) = (server.admin(), server.agent("bot").await);
        root.put("/v1/policy", json!({"policy": POLICY})).await.expect(200);
        let roots = "/v1/agents/bot/roots";
        let put = root.put(roots, json!({"roots": ["/srv/app/"]})).await.expect(200);
        assert_eq!(
            put,
            json!({"name": "bot", "owner": null, "roots": ["/srv/app"], "confine": false,
                   "covered": "unknown", "coverage": []})
        );
        let listed = root.get("/v1/agents").await.expect(200);
        assert!(listed["items"].as_array().unwrap().contains(&put), "{listed}");
        assert_eq!(said(&bot, Some("hook-program"), "/srv/app/x").await, (201, json!("approved")));
        assert_eq!(said(&bot, Some("hook-program"), "/srv/x").await, (201, json!("pending")));
        assert_eq!(said(&bot, None, "/srv/app/x").await, (201, json!("pending")));
        for other in ["rest", "hook", "", "Hook-Program", "a2a"] {
            assert_eq!(said(&bot, Some(other), "/srv/app/x").await.0, 422, "{other}");
        }
        for bad in
            [json!(["/"]), json!(["/home/ann"]), json!(["x"]), json!([5]), json!("/srv/app"), json!(null)]
        {
            assert_eq!(root.put(roots, json!({"roots": bad})).await.status, 422, "{bad}");
        }
        for who in [&bot, &server.reviewer("ann").await] {
            assert_eq!(who.put(roots, json!({"roots": ["/srv"]})).await.status, 403);
        }
        root.put(roots, json!({"roots": []})).await.expect(200);
        assert_eq!(said(&bot, Some("hook-program"), "/srv/app/x").await, (201, json!("pending")));
    });
}

const CONFINED: &str =
    "version = 1\n[[rule]]\nname = 'tests'\neffect = 'allow'\ntool = 'Bash'\nconfine = 'workspace'\n";

#[test]
fn a_confined_call_passes_for_a_marked_hook_program_and_its_claim_repeats_it() {
    on_sqlite(async |server| {
        let (root, bot) = (server.admin(), server.agent("bot").await);
        root.put("/v1/policy", json!({"policy": CONFINED})).await.expect(200);
        let hook = bot.clone().with("Placet-Door", "hook-program");
        let tests = json!({"kind": "action", "tool": "Bash", "arguments": {"command": "cargo test"}, "session": "s",
                           "context": {"cwd": "/srv/app", "confines": "workspace"}});
        let held = hook.post("/v1/requests", tests.clone()).await.expect(201);
        assert_eq!((&held["state"], &held["verdict"]["confine"]), (&json!("pending"), &Value::Null));
        let mark = "/v1/agents/bot/confine";
        for who in [&bot, &server.reviewer("ann").await] {
            assert_eq!(who.put(mark, json!({"confine": true})).await.status, 403);
        }
        for bad in [json!({}), json!({"confine": "workspace"}), json!({"confine": true, "more": 1})] {
            assert_eq!(root.put(mark, bad.clone()).await.status, 422, "{bad}");
        }
        assert_eq!(root.put(mark, json!({"confine": true})).await.expect(200)["confine"], true);
        let allowed = hook.post("/v1/requests", tests.clone()).await.expect(201);
        assert_eq!(allowed["verdict"]["confine"], "workspace");
        assert_eq!(allowed["verdict"]["effect"], "allow");
        let claim = format!("/v1/requests/{}/claim", allowed["id"].as_str().unwrap());
        let refused = bot.post(&claim, json!({})).await;
        assert_eq!((refused.status, &refused.body["code"]), (409, &json!("unconfined")));
        let claimed = hook.post(&claim, json!({})).await.expect(200);
        assert_eq!(claimed["confine"], "workspace");
        // Asked and claimed in one call.
        let at_once = hook.post("/v1/requests?claim=true", tests.clone()).await.expect(201);
        assert!(at_once["permit"].is_string() && at_once["verdict"]["confine"] == "workspace", "{at_once}");
        let other = bot.post("/v1/requests?claim=true", tests).await.expect(201);
        assert_eq!((&other["state"], &other["permit"]), (&json!("pending"), &Value::Null));
    });
}
