//! Approve, claim, run, report: the function runs once, on what was approved, or not at all.

use std::sync::atomic::{AtomicUsize, Ordering};

use placet_client::{Gated, RunError};
use placet_core::{Create, Kind, State};
use serde_json::{Map, Value, json};

use crate::fake::{Call, Fake, ID, Reply, digest, digest_with, record};

fn edited() -> Value {
    let mut approved = record("approved", 2);
    approved["decision"] = json!({"decision": "edit", "by": ["ann"], "reason": null, "arguments": {"amount": 1},
        "digest": digest_with(&approved, &json!({"amount": 1})), "answer": null, "steps": null, "at": "2026-11-15T12:01:00Z"});
    approved
}

/// What a claim of [`edited`] answers.
fn claimed() -> Value {
    json!({"permit": "the-permit", "arguments": {"amount": 1}, "digest": edited()["decision"]["digest"],
        "report_by": "2026-11-15T13:00:00Z"})
}

fn server(
    claim: impl Fn(usize) -> Reply + Send + Sync + 'static,
) -> impl Fn(usize, &Call) -> Reply + Send + Sync + 'static {
    let claims = AtomicUsize::new(0);
    move |_, call| match call.line.split('?').next().unwrap().rsplit('/').next().unwrap() {
        "requests" => Reply::Json(201, edited()),
        "claim" => claim(claims.fetch_add(1, Ordering::SeqCst)),
        "outcome" => Reply::Json(200, record("succeeded", 4)),
        other => panic!("unexpected call {other}"),
    }
}

fn create() -> Create {
    let mut create = Create::new(Kind::Action, "s");
    create.tool = Some("pay".to_owned());
    create.arguments = json!({"amount": 5}).as_object().cloned();
    create
}

type Ran = Result<Map<String, Value>, String>;

#[tokio::test]
async fn what_runs_is_what_the_claim_returned_and_it_is_reported() {
    let fake = Fake::start(server(|_| Reply::Json(200, claimed()))).await;
    let gated = fake.client().run_gated(create(), async |arguments| Ran::Ok(arguments)).await.unwrap();
    let Gated::Ran { value, record } = gated else { panic!("it was approved") };
    assert_eq!(Value::Object(value), json!({"amount": 1}));
    assert_eq!(record.state, State::Succeeded);
    let report = fake.calls().pop().unwrap();
    assert_eq!(report.line, format!("POST /v1/requests/{ID}/outcome"));
    assert_eq!(report.body, json!({"permit": "the-permit", "status": "succeeded"}));
}

#[tokio::test]
async fn a_lost_claim_is_asked_for_again_as_the_same_claimant() {
    let fake =
        Fake::start(server(|number| if number == 0 { Reply::Lost } else { Reply::Json(200, claimed()) }))
            .await;
    fake.client().run_gated(create(), async |arguments| Ran::Ok(arguments)).await.unwrap();
    let claims: Vec<Value> =
        fake.calls().into_iter().filter(|call| call.line.ends_with("/claim")).map(|call| call.body).collect();
    assert_eq!(claims.len(), 2);
    assert!(claims[0]["claimant"].as_str().is_some_and(|secret| secret.len() >= 32));
    assert_eq!(claims[0], claims[1]);
}

#[tokio::test]
async fn a_failure_is_reported_as_failed() {
    let fake = Fake::start(server(|_| Reply::Json(200, claimed()))).await;
    let error =
        fake.client().run_gated(create(), async |_| Ran::Err("no money".to_owned())).await.unwrap_err();
    assert!(matches!(error, RunError::Failed { reported: Ok(_), .. }), "{error}");
    let report = fake.calls().pop().unwrap().body;
    assert_eq!(report, json!({"permit": "the-permit", "status": "failed", "note": "no money"}));
}

#[tokio::test]
async fn a_permit_for_something_else_is_not_used() {
    type Change = fn(&mut Value, &mut Value);
    let wrong: [(&str, Change); 9] = [
        ("another digest of the claim", |_, claim| claim["digest"] = json!(digest('c'))),
        ("other arguments of the claim", |_, claim| claim["arguments"] = json!({"amount": 9999})),
        ("no permit", |_, claim| claim["permit"] = json!("")),
        ("another tool", |record, _| record["tool"] = json!("pay_all")),
        ("other arguments than asked for", |record, _| record["arguments"] = json!({"amount": 1})),
        ("an answer instead of a yes", |record, _| record["decision"]["decision"] = json!("respond")),
        ("no decision", |record, _| record["decision"] = json!(null)),
        ("a changed context", |record, _| record["context"] = json!({"cwd": "/"})),
        ("a digest that does not fit both", |record, claim| {
            record["decision"]["digest"] = json!(digest('c'));
            claim["digest"] = json!(digest('c'));
        }),
    ];
    for (what, change) in wrong {
        let fake = Fake::start(move |_, call| {
            let (mut record, mut claim) = (edited(), claimed());
            change(&mut record, &mut claim);
            match call.line.split('?').next().unwrap().rsplit('/').next().unwrap() {
                "requests" => Reply::Json(201, record),
                "claim" => Reply::Json(200, claim),
                _ => Reply::Json(200, crate::fake::record("failed", 4)),
            }
        })
        .await;
        let ran = fake.client().run_gated(create(), async |_| -> Ran { panic!("it ran: {what}") }).await;
        assert!(matches!(ran, Err(RunError::NotRun(_))), "{what}: {ran:?}");
        assert_eq!(fake.calls().pop().unwrap().body["status"], json!("failed"), "{what}");
    }
}

#[tokio::test]
async fn nothing_but_an_approval_runs() {
    for state in ["denied", "expired", "cancelled", "lapsed", "revoked", "claimed", "succeeded"] {
        let fake = Fake::start(move |_, _| Reply::Json(201, record(state, 2))).await;
        let gated = fake.client().run_gated(create(), async |_| -> Ran { panic!("it ran") }).await.unwrap();
        assert!(matches!(gated, Gated::Refused(_)), "{state}");
        assert_eq!(fake.calls().len(), 1, "{state}");
    }
}

#[tokio::test]
async fn an_approval_taken_back_before_the_claim_is_a_refusal() {
    let fake = Fake::start(server(|_| {
        Reply::Json(409, json!({"code": "revoked", "detail": "taken back", "record": record("revoked", 3)}))
    }))
    .await;
    let gated = fake.client().run_gated(create(), async |_| -> Ran { panic!("it ran") }).await.unwrap();
    assert!(matches!(gated, Gated::Refused(record) if record.state == State::Revoked));
}
