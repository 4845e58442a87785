//! Policies, grants and previews over the wire: what is sent, and how answers are read.

use std::collections::BTreeMap;

use placet_client::{Decide, Error, Remember};
use placet_core::{Create, Effect, Kind, Record};
use serde_json::{Value, json};

use crate::fake::{Fake, ID, Reply, digest, record};

const HASH: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

fn info(text: &str) -> Value {
    json!({"hash": HASH, "name": null, "source": "api", "at": "2026-11-15T12:00:00Z", "by": "ann", "text": text,
        "warnings": [], "findings": [{"severity": "error", "rule": "r", "message": "m", "fix": "f"}], "broken": null,
        "versions": [{"hash": HASH, "source": "api", "at": "2026-11-15T12:00:00Z", "by": "ann", "active": true}]})
}

fn report() -> Value {
    let example = json!({"id": ID, "agent": "bot", "tool": "pay", "before": "a", "after": "b"});
    json!({"denied_now_allowed": [example], "denied_now_allowed_count": 1,
        "changes": [{"from": "hold", "to": "allow", "count": 1, "examples": [example]}], "total": 3, "unchanged": 2,
        "risk_changed": 0, "rule_changed": 1, "prompts_saved": 1, "prompts_added": 0,
        "median_decision_seconds": 12.5, "human_minutes_saved": 0.2})
}

#[tokio::test]
async fn a_policy_is_read_and_put_with_what_it_was_made_from() {
    let fake = Fake::start(|_, call| match call.line.as_str() {
        "GET /v1/policy" => Reply::Json(200, info("version = 1")),
        _ => Reply::Json(200, json!({"hash": HASH, "changed": true, "warnings": [], "findings": []})),
    })
    .await;
    let policy = fake.client().policy().await.unwrap();
    assert!(policy.versions[0].active && policy.findings[0].severity == "error");
    let put = fake.client().put_policy("version = 1", Some(HASH), Some("put:x.toml")).await.unwrap();
    assert!(put.changed);
    let call = fake.calls().pop().unwrap();
    assert_eq!(call.line, "PUT /v1/policy");
    assert_eq!(call.body, json!({"policy": "version = 1", "expected": HASH, "source": "put:x.toml"}));
}

#[tokio::test]
async fn a_lost_answer_to_a_put_is_not_taken_for_somebody_elses_change() {
    let stale = || Reply::Json(409, json!({"status": 409, "code": "stale_policy", "detail": "another"}));
    for (in_force, fine) in [("mine", true), ("theirs", false)] {
        let fake = Fake::start(move |number, call| match (number, call.line.as_str()) {
            (0, _) => Reply::Lost,
            (_, "GET /v1/policy") => Reply::Json(200, info(in_force)),
            _ => stale(),
        })
        .await;
        let put = fake.client().put_policy("mine", Some("sha256:0"), None).await;
        assert_eq!(put.is_ok(), fine, "{put:?}");
    }
    let fake =
        Fake::start(
            move |_, call| {
                if call.line.starts_with("GET") { Reply::Json(200, info("mine")) } else { stale() }
            },
        )
        .await;
    let error = fake.client().put_policy("mine", Some("sha256:0"), None).await.unwrap_err();
    assert_eq!(error.code(), Some("stale_policy"), "without a lost answer it is somebody else's");
}

#[tokio::test]
async fn a_bad_policy_comes_back_with_all_its_problems() {
    let fake = Fake::start(|_, _| {
        let problem = json!({"line": 3, "column": 1, "rule": "r", "message": "m", "fix": "f"});
        Reply::Json(
            422,
            json!({"status": 422, "code": "bad_policy", "detail": "no", "problems": [problem, problem]}),
        )
    })
    .await;
    let error = fake.client().check_policy("x").await.unwrap_err();
    let problems = error.problem().unwrap().policy_problems();
    assert_eq!((problems.len(), problems[0].line, problems[0].rule.as_deref()), (2, 3, Some("r")));
}

#[tokio::test]
async fn a_simulation_tells_how_far_it_is_and_then_the_report() {
    let lines = format!(
        "{}\n{}\n{}\n",
        json!({"done": 1, "of": 9, "requests": 1}),
        json!({"done": 9, "of": 9, "requests": 3}),
        json!({"report": report()})
    );
    let fake = Fake::start(move |number, _| match number {
        0 => Reply::With(
            503,
            "retry-after",
            "0",
            json!({"status": 503, "code": "busy", "detail": "another runs"}),
        ),
        1 => Reply::Events(format!("{}\n", json!({"done": 1, "of": 9, "requests": 1}))),
        _ => Reply::Events(lines.clone()),
    })
    .await;
    let mut seen = Vec::new();
    let simulation = fake.client().simulate("version = 1", |at| seen.push(at.done)).await.unwrap();
    assert_eq!(seen, [1, 1, 9], "one that broke off begins again");
    assert_eq!((simulation.denied_now_allowed_count, simulation.changes[0].to), (1, Effect::Allow));
    assert_eq!(fake.calls()[2].line, "POST /v1/policy/simulate?progress=true");
}

#[tokio::test]
async fn a_simulation_that_fails_on_the_way_says_why() {
    let problem = json!({"problem": {"status": 500, "code": "internal", "detail": "it broke"}});
    let fake = Fake::start(move |_, _| Reply::Events(format!("{problem}\n"))).await;
    let error = fake.client().simulate("version = 1", |_| {}).await.unwrap_err();
    assert_eq!(error.code(), Some("internal"), "{error}");
    let fake = Fake::start(|_, _| Reply::Events("{\"what\": 1}\n".to_owned())).await;
    let error = fake.client().simulate("version = 1", |_| {}).await.unwrap_err();
    assert!(matches!(error, Error::Protocol { .. }), "{error}");
}

#[tokio::test]
async fn an_explanation_is_read_rule_by_rule() {
    let rule = json!({"rule": "r", "effect": "hold", "said": "matched", "by": "all", "detail": "every matcher agrees"});
    let outcome = json!({"effect": "hold", "rule": "r", "reasons": ["rule `r`: x"], "risk": "low",
        "needs": {"any": [{"all": [{"people": 1, "team": null}]}], "four_eyes": false, "step_up": null},
        "expires_in": "5m", "escalation": [], "claim_window": null, "decisions": null, "pending_cap": null, "trust": null});
    let answer = json!({"request": null, "explained": [{"policy": HASH, "outcome": outcome,
        "explanation": {"policy": HASH, "rules": [rule], "steps": [], "outcome": outcome}}]});
    let fake = Fake::start(move |_, _| Reply::Json(200, answer.clone())).await;
    let answer = fake.client().explain_create(&Create::new(Kind::Action, "s"), Some("bot")).await.unwrap();
    let explained = &answer.explained[0];
    assert_eq!(explained.explanation.as_ref().unwrap().rules[0].said, "matched");
    assert_eq!((explained.outcome.rule.as_str(), explained.outcome.expires_in.as_deref()), ("r", Some("5m")));
    assert_eq!(fake.calls()[0].body["agent"], json!("bot"));
    fake.client().explain(ID.parse().unwrap()).await.unwrap();
    assert_eq!(fake.calls()[1].body, json!({"id": ID}));
}

#[tokio::test]
async fn what_is_to_be_remembered_goes_with_the_decision() {
    let fake = Fake::start(|_, _| Reply::Json(200, record("approved", 2))).await;
    let seen: Record = serde_json::from_value(record("pending", 1)).unwrap();
    let pattern = BTreeMap::from([("amount".to_owned(), json!({"max": 5}))]);
    let remember = Remember::pattern(pattern).expires_in("8h").uses(3);
    fake.client().decide(seen.id, &Decide::approve(&seen).with_remember(remember)).await.unwrap();
    assert_eq!(
        fake.calls()[0].body["remember"],
        json!({"scope": "pattern", "arguments": {"amount": {"max": 5}}, "expires_in": "8h", "uses": 3})
    );
    fake.client().decide(seen.id, &Decide::approve(&seen).with_remember(Remember::exact())).await.unwrap();
    assert_eq!(fake.calls()[1].body["remember"], json!({"scope": "exact"}));
}

#[tokio::test]
async fn a_preview_asks_for_a_dry_run_and_grants_are_listed_and_taken_back() {
    let grant = json!({"id": "grt_0698d3r3kvtg0i8s0c1g60o30c", "by": "ann", "agent": "bot", "tool": "pay", "policy": HASH,
        "scope": {"type": "exact"}, "uses": 20, "created_at": "2026-11-15T12:00:00Z", "expires_at": "2026-11-15T20:00:00Z", "request": ID});
    let mut listed = grant.clone();
    listed["used"] = json!(2);
    listed["covers"] = json!("exactly this call");
    let fake = Fake::start(move |_, call| match call.line.split_whitespace().next().unwrap() {
        "GET" => Reply::Json(200, json!({"items": [listed.clone()]})),
        "DELETE" => Reply::Json(204, Value::Null),
        _ => Reply::Json(200, json!({"record": record("pending", 2), "decides": false, "stricter": true, "voided": ["ben"],
            "ruling": {"verdict": {"effect": "hold", "rule": "r", "policy": HASH, "reasons": []}, "risk": "high",
                "needs": {"any": [{"all": [{"people": 2, "team": null}]}], "four_eyes": false, "step_up": null}},
            "grant": grant, "covers": "x"})),
    })
    .await;
    let seen: Record = serde_json::from_value(record("pending", 1)).unwrap();
    let preview = fake.client().preview(seen.id, &Decide::approve(&seen)).await.unwrap();
    assert!(preview.stricter && preview.voided == ["ben"] && preview.ruling.is_some());
    assert_eq!(fake.calls()[0].line, format!("POST /v1/requests/{ID}/decision?dry_run=true"));
    let grants = fake.client().grants().await.unwrap();
    assert_eq!((grants[0].used, grants[0].covers.as_str()), (2, "exactly this call"));
    fake.client().revoke_grant(grants[0].grant.id).await.unwrap();
    assert!(fake.calls()[2].line.starts_with("DELETE /v1/grants/grt_"));
    assert_eq!(digest('a'), HASH);
}
