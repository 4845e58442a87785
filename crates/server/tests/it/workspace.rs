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
            json!({"name": "bot", "owner": null, "roots": ["/srv/app"], "covered": "unknown", "coverage": []})
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
