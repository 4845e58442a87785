//! Policy over the wire: read, checked, put, tried; standing approvals; and decisions that are only tried.

use placet_testkit::{Server, both};
use serde_json::{Value, json};

use crate::support::{action_with, assert_problem, at, decide, on_sqlite, vote};

const POLICY: &str = r#"
version = 1
name = "shop"

[[rule]]
name = "reads"
effect = "allow"
tool = "read_*"
risk = "low"

[[rule]]
name = "payments"
effect = "hold"
tool = "pay"
risk = "medium"
reason = "money leaves the house"

[[rule]]
name = "large"
effect = "hold"
tool = "pay"
risk = "high"
needs = { people = 2 }
[rule.args]
"amount" = { above = 1000 }

[[rule]]
name = "never"
effect = "deny"
tool = "drop_database"
reason = "nobody drops the database from here"
"#;

async fn put(server: &Server, text: &str) -> String {
    let put = server.admin().put("/v1/policy", json!({ "policy": text })).await.expect(200);
    put["hash"].as_str().expect("a hash").to_owned()
}

fn call(tool: &str, arguments: Value) -> Value {
    action_with(json!({"tool": tool, "arguments": arguments}))
}

both! {
    async fn what_policy_allows_is_approved_in_the_same_call_and_recorded(server: Server) {
        let hash = put(server, POLICY).await;
        let bot = server.agent("bot").await;
        let record = bot.post("/v1/requests", call("read_file", json!({"path": "a"}))).await.expect(201);
        assert_eq!((&record["state"], &record["verdict"]["effect"]), (&json!("approved"), &json!("allow")));
        assert_eq!((&record["verdict"]["rule"], &record["verdict"]["policy"]), (&json!("reads"), &json!(hash)));
        let claimed = bot.post("/v1/requests?claim=true", call("read_file", json!({"path": "b"}))).await.expect(201);
        assert!(claimed["permit"].as_str().is_some_and(|permit| permit.starts_with("prm_")));
        let denied = bot.post("/v1/requests", call("drop_database", json!({}))).await.expect(201);
        assert_eq!(denied["state"], "denied");
        let held = bot.post("/v1/requests", call("unheard_of", json!({}))).await.expect(201);
        assert_eq!((&held["state"], &held["verdict"]["rule"]), (&json!("pending"), &json!("default")));
    }

    async fn two_admins_who_save_at_once_are_told_and_nothing_is_lost(server: Server) {
        let first = put(server, POLICY).await;
        let (left, right) = (format!("{POLICY}\n# left"), format!("{POLICY}\n# right"));
        let admin = server.admin();
        let (left, right) = tokio::join!(
            admin.put("/v1/policy", json!({"policy": left, "expected": first})),
            admin.put("/v1/policy", json!({"policy": right, "expected": first})),
        );
        let mut codes = [left.status, right.status];
        codes.sort_unstable();
        assert_eq!(codes, [200, 409]);
        let (won, lost) = if left.status == 200 { (left, right) } else { (right, left) };
        assert_problem(&lost, 409, "stale_policy", None);
        let now = server.admin().get("/v1/policy").await.expect(200);
        assert_eq!(now["hash"], won.body["hash"]);
        let versions: Vec<&Value> = now["versions"].as_array().expect("versions").iter().filter(|put| put["active"] == true).collect();
        assert_eq!(versions.len(), 1);
        assert_eq!(versions[0]["hash"], now["hash"]);
    }

    async fn a_standing_approval_is_given_used_listed_and_taken_back(server: Server) {
        put(server, POLICY).await;
        let (bot, ann, bob) = (server.agent("bot").await, server.reviewer("ann").await, server.reviewer("bob").await);
        let asked = bot.post("/v1/requests", call("pay", json!({"amount": 5, "to": "x"}))).await.expect(201);
        let mut yes = vote(&asked, "approve");
        yes["remember"] = json!({"scope": "exact", "uses": 2, "expires_in": "1h"});
        let tried = ann.post(&at(&asked, "/decision?dry_run=true"), yes.clone()).await.expect(200);
        assert!(tried["covers"].as_str().is_some_and(|covers| covers.contains("pay")), "{tried}");
        assert_eq!(ann.get(&at(&asked, "")).await.expect(200)["state"], "pending");
        ann.post(&at(&asked, "/decision"), yes).await.expect(200);
        for _ in 0..2 {
            let again = bot.post("/v1/requests", call("pay", json!({"amount": 5, "to": "x"}))).await.expect(201);
            assert_eq!(again["state"], "approved", "{again}");
            assert!(again["verdict"]["rule"].as_str().is_some_and(|rule| rule.starts_with("grant:")), "{again}");
        }
        let used_up = bot.post("/v1/requests", call("pay", json!({"amount": 5, "to": "x"}))).await.expect(201);
        assert_eq!(used_up["state"], "pending");
        let other = bot.post("/v1/requests", call("pay", json!({"amount": 5, "to": "y"}))).await.expect(201);
        assert_eq!(other["state"], "pending");
        let grants = ann.get("/v1/grants").await.expect(200);
        assert_eq!(grants["ended_at_upgrade"], json!({"items": [], "trust": 0}));
        assert_eq!((&grants["items"][0]["used"], &grants["items"][0]["by"]), (&json!(2), &json!("ann")));
        assert_eq!(bob.get("/v1/grants").await.expect(200)["items"], json!([]));
        let id = grants["items"][0]["id"].as_str().expect("an id").to_owned();
        assert_problem(&bob.delete(&format!("/v1/grants/{id}")).await, 404, "not_found", None);
        assert_eq!(ann.delete(&format!("/v1/grants/{id}")).await.status, 204);
        assert_eq!(ann.get("/v1/grants").await.expect(200)["items"], json!([]));
        assert_problem(&ann.delete(&format!("/v1/grants/{id}")).await, 404, "not_found", None);
    }

    async fn a_simulation_names_first_what_a_person_denied_and_it_would_allow(server: Server) {
        put(server, POLICY).await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let denied = bot.post("/v1/requests", call("pay", json!({"amount": 7}))).await.expect(201);
        decide(&ann, &denied, "deny").await.expect(200);
        bot.post("/v1/requests", call("read_file", json!({}))).await.expect(201);
        let same = ann.post("/v1/policy/simulate", json!({ "policy": POLICY })).await.expect(200);
        assert_eq!((&same["changes"], &same["total"]), (&json!([]), &json!(2)), "{same}");
        let loose = POLICY.replacen("effect = \"hold\"\ntool = \"pay\"\nrisk = \"medium\"", "effect = \"allow\"\ntool = \"pay\"\nrisk = \"low\"", 1);
        let report = ann.post("/v1/policy/simulate", json!({ "policy": loose })).await.expect(200);
        assert_eq!(report["denied_now_allowed"][0]["id"], denied["id"], "{report}");
        assert_eq!((&report["prompts_saved"], &report["prompts_added"]), (&json!(1), &json!(0)));
        assert_eq!(server.admin().get("/v1/policy").await.expect(200)["name"], "shop");
    }
}

#[test]
fn a_policy_with_mistakes_is_refused_with_all_of_them_and_the_old_one_stays() {
    on_sqlite(async |server| {
        let hash = put(server, POLICY).await;
        let bad = "version = 1\n[[rule]]\nname = \"a\"\neffect = \"allow\"\ntool = \"x\"\ncolour = \"red\"\n[[rule]]\nname = \"a\"\neffect = \"maybe\"\n";
        for (method, path) in [
            ("put", "/v1/policy"),
            ("post", "/v1/policy/check"),
            ("post", "/v1/policy/simulate"),
            ("put", "/v1/policy/shadow"),
        ] {
            let body = json!({ "policy": bad });
            let admin = server.admin();
            let answer =
                if method == "put" { admin.put(path, body).await } else { admin.post(path, body).await };
            assert_problem(&answer, 422, "bad_policy", Some("/policy"));
            let problems = answer.body["problems"].as_array().expect("problems");
            assert!(problems.len() >= 3, "{problems:?}");
            assert!(problems.iter().all(|problem| problem["line"].as_u64().is_some_and(|line| line > 0)));
            assert!(
                problems.iter().any(|problem| problem["line"] == 6 && problem["rule"] == "a"),
                "{problems:?}"
            );
        }
        let now = server.admin().get("/v1/policy").await;
        assert_eq!(now.header("etag"), Some(format!("\"{hash}\"").as_str()));
        assert_eq!(now.expect(200)["hash"], hash);
    });
}

#[test]
fn a_policy_can_be_put_as_toml_with_if_match() {
    on_sqlite(async |server| {
        let first = put(server, POLICY).await;
        let admin = server.admin().with("content-type", "application/toml");
        let text = format!("{POLICY}\n# another\n");
        let stale = admin.clone().with("if-match", "\"sha256:00\"");
        let answer = stale.send(http::Method::PUT, "/v1/policy", text.clone().into()).await;
        assert_problem(&answer, 409, "stale_policy", None);
        let fresh = admin.with("if-match", &format!("\"{first}\""));
        let put = fresh.send(http::Method::PUT, "/v1/policy", text.into()).await.expect(200);
        assert_eq!(put["changed"], true);
        let old = server.admin().get(&format!("/v1/policy/{first}")).await.expect(200);
        assert_eq!(old["text"], POLICY);
        assert_problem(&server.admin().get("/v1/policy/sha256:00").await, 404, "not_found", None);
    });
}

#[test]
fn policies_belong_to_admins_are_read_by_people_and_hidden_from_agents() {
    on_sqlite(async |server| {
        put(server, POLICY).await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        ann.get("/v1/policy").await.expect(200);
        for answer in [
            ann.put("/v1/policy", json!({ "policy": POLICY })).await,
            ann.put("/v1/policy/shadow", json!({ "policy": POLICY })).await,
            bot.get("/v1/policy").await,
            bot.get("/v1/grants").await,
            bot.post("/v1/policy/check", json!({ "policy": POLICY })).await,
            bot.post("/v1/policy/simulate", json!({ "policy": POLICY })).await,
            bot.post("/v1/policy/explain", json!({"request": call("pay", json!({}))})).await,
        ] {
            assert_problem(&answer, 403, "forbidden", None);
        }
    });
}

#[test]
fn an_edit_that_makes_it_stricter_is_shown_before_and_needs_more_after() {
    on_sqlite(async |server| {
        put(server, POLICY).await;
        let (bot, ann, bob) =
            (server.agent("bot").await, server.reviewer("ann").await, server.reviewer("bob").await);
        let asked = bot.post("/v1/requests", call("pay", json!({"amount": 5}))).await.expect(201);
        let mut edit = vote(&asked, "edit");
        edit["arguments"] = json!({"amount": 5000});
        let tried = ann.post(&at(&asked, "/decision?dry_run=true"), edit.clone()).await.expect(200);
        assert_eq!((&tried["decides"], &tried["stricter"]), (&json!(false), &json!(true)), "{tried}");
        assert_eq!(tried["ruling"]["verdict"]["rule"], "payments");
        assert_eq!(tried["record"]["needs"]["any"][0]["all"][0]["people"], 2, "{tried}");
        assert_eq!(ann.get(&at(&asked, "")).await.expect(200)["version"], asked["version"]);
        let voted = ann.post(&at(&asked, "/decision"), edit).await.expect(200);
        assert_eq!((&voted["state"], &voted["risk"]), (&json!("pending"), &json!("high")));
        let voted = bob.get(&at(&asked, "")).await.expect(200);
        let done = decide(&bob, &voted, "approve").await.expect(200);
        assert_eq!(done["state"], "approved");
    });
}

#[test]
fn explaining_says_which_rules_matched() {
    on_sqlite(async |server| {
        put(server, POLICY).await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let asked = bot.post("/v1/requests", call("pay", json!({"amount": 5000}))).await.expect(201);
        let explained = ann.post("/v1/policy/explain", json!({"id": asked["id"]})).await.expect(200);
        assert_eq!(explained["request"]["id"], asked["id"]);
        let said = &explained["explained"][0];
        assert_eq!((&said["outcome"]["effect"], &said["outcome"]["risk"]), (&json!("hold"), &json!("high")));
        let rules = said["explanation"]["rules"].as_array().expect("rules");
        assert_eq!(rules.len(), 4);
        let what_if = ann
            .post("/v1/policy/explain", json!({"request": call("drop_database", json!({}))}))
            .await
            .expect(200);
        assert_eq!(what_if["explained"][0]["outcome"]["effect"], "deny");
        assert_problem(&ann.post("/v1/policy/explain", json!({})).await, 422, "invalid", Some("/id"));
        assert_problem(&ann.post("/v1/policy/explain", json!({"id": "req_x"})).await, 404, "not_found", None);
    });
}

#[test]
fn a_shadow_policy_counts_without_effect() {
    on_sqlite(async |server| {
        put(server, POLICY).await;
        let bot = server.agent("bot").await;
        assert_problem(&server.admin().get("/v1/policy/shadow").await, 404, "not_found", None);
        let strict = "version = 1\nname = \"strict\"\n";
        assert_eq!(server.admin().put("/v1/policy/shadow", json!({ "policy": strict })).await.status, 204);
        let record = bot.post("/v1/requests", call("read_file", json!({}))).await.expect(201);
        assert_eq!(record["state"], "approved");
        let shadow = server.admin().get("/v1/policy/shadow").await.expect(200);
        assert_eq!(
            (&shadow["report"]["total"], &shadow["report"]["prompts_added"]),
            (&json!(1), &json!(1)),
            "{shadow}"
        );
        assert_eq!(server.admin().delete("/v1/policy/shadow").await.status, 204);
        assert_problem(&server.admin().get("/v1/policy/shadow").await, 404, "not_found", None);
    });
}

#[test]
fn a_long_simulation_tells_how_far_it_is_and_ends_with_the_report() {
    on_sqlite(async |server| {
        put(server, POLICY).await;
        let bot = server.agent("bot").await;
        for index in 0..20 {
            bot.post("/v1/requests", call("read_file", json!({"n": index}))).await.expect(201);
        }
        let answer =
            server.admin().post("/v1/policy/simulate?progress=true", json!({ "policy": POLICY })).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
        let text = answer.body.as_str().expect("lines").to_owned();
        let last: Value = serde_json::from_str(text.lines().last().expect("a line")).expect("JSON");
        assert_eq!(last["report"]["total"], 20, "{text}");
    });
}

#[test]
fn identical_pending_requests_carry_the_same_mark_for_reviewers_only() {
    on_sqlite(async |server| {
        put(server, POLICY).await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let mut marks = Vec::new();
        for arguments in [
            json!({"to": "x", "amount": 1}),
            json!({"amount": 1, "to": "x"}),
            json!({"amount": 2, "to": "x"}),
        ] {
            let record = bot.post("/v1/requests", call("pay", arguments)).await.expect(201);
            assert!(record.get("same").is_none());
            marks.push(ann.get(&at(&record, "")).await.expect(200)["same"].clone());
        }
        assert!(marks[0].is_string() && marks[0] == marks[1] && marks[1] != marks[2], "{marks:?}");
    });
}
