//! Asking and waiting across outages, which never count as an approval.

use std::time::Duration;

use placet_client::{BatchItem, Claimant, Client, CreateOptions, Decide, Error};
use placet_core::{Create, Kind, Record, State};
use serde_json::json;

use crate::{
    fake::{Fake, ID, Reply, digest, record},
    soon,
};

fn create() -> Create {
    Create::new(Kind::Action, "s")
}

#[tokio::test]
async fn a_lost_answer_is_asked_for_again_with_the_same_idempotency_key() {
    let fake = Fake::start(|number, _| match number {
        0 => Reply::Lost,
        1 => Reply::With(503, "retry-after", "0", json!({"code": "busy"})),
        _ => Reply::Json(201, record("pending", 1)),
    })
    .await;
    let made = fake.client().create(&create(), CreateOptions::default()).await.unwrap();
    assert_eq!(made.state, State::Pending);
    let keys: Vec<_> = fake.calls().into_iter().map(|call| call.key.unwrap()).collect();
    assert_eq!(keys.len(), 3);
    assert!(keys.iter().all(|key| *key == keys[0] && key.len() >= 32), "{keys:?}");
}

#[tokio::test]
async fn two_creates_have_two_keys_and_a_given_key_is_used() {
    let fake = Fake::start(|_, _| Reply::Json(201, record("pending", 1))).await;
    let given = CreateOptions {
        idempotency_key: Some("mine".to_owned()),
        weak_key: None,
        resolved: false,
        claim: Some(Claimant::new().unwrap()),
        wait: Some(Duration::from_secs(90)),
    };
    fake.client().create(&create(), CreateOptions::default()).await.unwrap();
    fake.client().create(&create(), given).await.unwrap();
    let calls = fake.calls();
    assert_ne!(calls[0].key, calls[1].key);
    assert_eq!(calls[1].key.as_deref(), Some("mine"));
    assert_eq!(calls[1].line, "POST /v1/requests?wait=25s&claim=true");
}

#[tokio::test]
async fn a_wait_goes_on_across_a_restart_of_the_server() {
    let first = Fake::start(
        |number, _| if number == 0 { Reply::Json(200, record("pending", 1)) } else { Reply::Lost },
    )
    .await;
    let (client, address) = (first.client(), first.address);
    let restart = async {
        soon("a call that is lost", first.called(2)).await;
        first.stop().await;
        Fake::start_at(address, |_, _| Reply::Json(200, record("approved", 2))).await
    };
    let id = ID.parse().unwrap();
    let (decided, second) =
        soon("the decision", async { tokio::join!(client.wait_decided(id, None), restart) }).await;
    assert_eq!(decided.unwrap().state, State::Approved);
    assert_eq!(second.calls()[0].line, format!("GET /v1/requests/{ID}?wait=25s&version=1"));
}

#[tokio::test]
async fn an_outage_beyond_the_budget_fails_closed() {
    let fake = Fake::start(|_, _| Reply::Lost).await;
    let client = fake.client().with_outage_budget(Duration::from_millis(600));
    let error = client.wait_decided(ID.parse().unwrap(), None).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
    assert!(fake.calls().len() > 1, "it was tried more than once");
}

#[tokio::test]
async fn nobody_there_is_one_clear_error() {
    let client = Client::new("http://127.0.0.1:1", "").unwrap().with_outage_budget(Duration::ZERO);
    let error = client.get(ID.parse().unwrap()).await.unwrap_err().to_string();
    assert!(
        error.starts_with("cannot reach Placet at http://127.0.0.1:1: ") && error.contains("refused"),
        "{error}"
    );
}

#[tokio::test]
async fn the_callers_deadline_is_a_timeout_and_not_a_decision() {
    let fake = Fake::start(|_, _| Reply::Json(200, record("pending", 1))).await;
    let waited = fake.client().wait_decided(ID.parse().unwrap(), Some(Duration::from_millis(200))).await;
    assert!(matches!(waited, Err(Error::Timeout { state: "pending", .. })), "{waited:?}");
}

#[tokio::test]
async fn a_word_this_version_does_not_know_is_an_error() {
    for state in ["approved!", "Approved", "auto_approved"] {
        let fake = Fake::start(move |_, _| Reply::Json(200, record(state, 1))).await;
        let waited = fake.client().wait_decided(ID.parse().unwrap(), None).await;
        assert!(matches!(waited, Err(Error::Protocol { .. })), "{waited:?}");
    }
}

#[tokio::test]
async fn a_record_of_another_request_is_an_error() {
    let mut other = record("approved", 2);
    other["id"] = json!("req_0698d3r3kvtg0i8s0c1g60o300");
    let fake = Fake::start(move |_, _| Reply::Json(200, other.clone())).await;
    let waited = fake.client().wait_decided(ID.parse().unwrap(), None).await;
    assert!(matches!(waited, Err(Error::Protocol { .. })), "{waited:?}");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let fake = Fake::start(|_, _| Reply::With(302, "location", "http://127.0.0.1:1/evil", json!({}))).await;
    let error = fake.client().get(ID.parse().unwrap()).await.unwrap_err();
    assert!(matches!(error, Error::Protocol { .. }), "{error}");
    assert_eq!(fake.calls().len(), 1);
}

#[tokio::test]
async fn too_many_calls_are_tried_again_and_too_many_pending_are_not() {
    let problem = |code: &'static str| {
        move |number: usize, _: &_| match number {
            0 => Reply::With(429, "retry-after", "0", json!({"code": code, "detail": "slow down"})),
            _ => Reply::Json(201, record("pending", 1)),
        }
    };
    let limited = Fake::start(problem("rate_limited")).await;
    assert!(limited.client().create(&create(), CreateOptions::default()).await.is_ok());
    let capped = Fake::start(problem("pending_cap")).await;
    let error = capped.client().create(&create(), CreateOptions::default()).await.unwrap_err();
    assert_eq!((error.code(), capped.calls().len()), (Some("pending_cap"), 1));
}

#[tokio::test]
async fn a_refusal_carries_the_final_record() {
    let fake = Fake::start(|_, _| {
        Reply::Json(409, json!({"status": 409, "code": "already_decided", "detail": "late", "record": record("denied", 2)}))
    })
    .await;
    let seen: Record = serde_json::from_value(record("pending", 1)).unwrap();
    let error = fake.client().decide(seen.id, &Decide::approve(&seen)).await.unwrap_err();
    let problem = error.problem().unwrap();
    assert_eq!(problem.record.as_ref().map(|record| record.state), Some(State::Denied));
    assert_eq!(fake.calls()[0].body, json!({"decision": "approve", "digest": seen.digest, "version": 1}));
}

#[tokio::test]
async fn a_batch_without_a_result_for_every_id_is_an_error() {
    let seen: Record = serde_json::from_value(record("pending", 1)).unwrap();
    let items = [BatchItem { id: seen.id, decide: Decide::approve(&seen) }];
    let empty = Fake::start(|_, _| Reply::Json(200, json!([]))).await;
    assert!(matches!(empty.client().decide_batch(&items, true).await, Err(Error::Protocol { .. })));
    let whole = Fake::start(|_, _| {
        Reply::Json(200, json!([{"id": ID, "status": 200, "record": record("approved", 2)}]))
    })
    .await;
    let results = whole.client().decide_batch(&items, false).await.unwrap();
    assert_eq!(results[0].result.as_ref().unwrap().state, State::Approved);
    let refused = Fake::start(|_, _| {
        Reply::Json(200, json!([{"id": ID, "status": 409, "code": "expired", "detail": "late"}]))
    })
    .await;
    let results = refused.client().decide_batch(&items, false).await.unwrap();
    assert_eq!(results[0].result.as_ref().unwrap_err().code, "expired");
}

#[tokio::test]
async fn a_permit_whose_answer_was_lost_is_asked_for_again() {
    let fake = Fake::start(|number, _| match number {
        0 => Reply::Lost,
        1 => Reply::Json(200, record("claimed", 3)),
        _ => Reply::Json(
            200,
            json!({"permit": "p", "arguments": {}, "digest": digest('a'), "report_by": null}),
        ),
    })
    .await;
    let options = CreateOptions { claim: Some(Claimant::new().unwrap()), ..CreateOptions::default() };
    let made = fake.client().create(&create(), options).await.unwrap();
    assert_eq!(made.permit.as_deref(), Some("p"));
    let calls = fake.calls();
    assert_eq!(calls[0].claimant, calls[1].claimant);
    assert_eq!(calls[2].body["claimant"].as_str(), calls[0].claimant.as_deref());
}

#[tokio::test]
async fn a_refused_atomic_batch_still_has_its_results() {
    let seen: Record = serde_json::from_value(record("pending", 1)).unwrap();
    let items = [BatchItem { id: seen.id, decide: Decide::approve(&seen) }];
    let fake = Fake::start(|_, _| {
        let result = json!({"id": ID, "status": 409, "code": "expired",
            "problem": {"code": "expired", "detail": "late", "record": record("expired", 2)}});
        Reply::Json(409, json!({"results": [result], "applied": false}))
    })
    .await;
    let results = fake.client().decide_batch(&items, true).await.unwrap();
    let problem = results[0].result.as_ref().unwrap_err();
    assert_eq!(problem.record.as_ref().map(|record| record.state), Some(State::Expired));
}
