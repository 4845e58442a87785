//! Outages: not approved by default, an error on request, retries until the request's deadline, never an approval.

use std::{collections::HashMap, sync::Mutex, time::Duration};

use placet_client::{AskOutcome, Client, Error, Gated, OnOutage, RunError};
use placet_core::{Create, Kind, State};
use serde_json::{Map, Value, json};

use crate::{
    fake::{Call, Fake, ID, Reply, record},
    soon,
};

type Ran = Result<Map<String, Value>, String>;

const SHORT: Duration = Duration::from_millis(100);
/// This many failures exceed such a short budget: the first pause is at least 50 ms, the second 100 ms.
const BEYOND_THE_BUDGET: usize = 3;

fn create() -> Create {
    let mut create = Create::new(Kind::Action, "s");
    create.tool = Some("pay".to_owned());
    create.arguments = json!({"amount": 5}).as_object().cloned();
    create
}

fn last_part(call: &Call) -> String {
    call.line.split('?').next().unwrap().rsplit('/').next().unwrap().to_owned()
}

/// Pending, with so many seconds for deciding.
fn pending(seconds: u32) -> Value {
    let mut pending = record("pending", 1);
    pending["expires_at"] = json!(format!("2026-11-15T12:00:{seconds:02}Z"));
    pending
}

fn approved() -> Value {
    let mut approved = record("approved", 2);
    approved["decision"] = json!({"decision": "approve", "by": ["ann"], "reason": null, "arguments": null,
        "digest": approved["digest"], "answer": null, "steps": null, "at": "2026-11-15T12:00:01Z"});
    approved["claim_by"] = json!("2026-11-15T12:01:00Z");
    approved
}

/// Answers the first call of each kind in `answers`, and breaks off every other call.
async fn away_after(answers: &'static [&'static str]) -> Fake {
    Fake::start(move |_, call| match last_part(call).as_str() {
        "requests" if answers.contains(&"create") => Reply::Json(201, pending(1)),
        ID if answers.contains(&"get") => Reply::Json(200, approved()),
        _ => Reply::Lost,
    })
    .await
}

async fn run(client: &Client) -> Result<Gated<Map<String, Value>>, RunError<Map<String, Value>, String>> {
    client.run_gated(create(), async |_| -> Ran { panic!("it ran without a permit") }).await
}

#[tokio::test]
async fn an_outage_is_a_no_unless_said_otherwise_wherever_it_begins() {
    for (answers, known) in [(&[][..], false), (&["create"], true), (&["create", "get"], true)] {
        let fake = away_after(answers).await;
        let client = fake.client().with_outage_budget(SHORT);
        let gated = run(&client).await.unwrap();
        let Gated::Unreached { request, error } = gated else { panic!("{answers:?}: {gated:?}") };
        assert_eq!(request.is_some(), known, "{answers:?}");
        assert!(matches!(error, Error::Unreachable { .. }), "{error}");
        assert!(fake.calls().len() > 1, "it was tried more than once");
    }
}

#[tokio::test]
async fn an_outage_is_an_error_for_those_who_want_one() {
    for answers in [&[][..], &["create"], &["create", "get"]] {
        let fake = away_after(answers).await;
        let client = fake.client().with_outage_budget(SHORT).with_on_outage(OnOutage::Raise);
        let error = run(&client).await.unwrap_err();
        assert!(matches!(error, RunError::NotRun(Error::Unreachable { .. })), "{answers:?}: {error}");
    }
}

#[tokio::test]
async fn a_pause_ends_with_the_deadline_of_the_request_and_is_then_a_no() {
    let fake = away_after(&["create"]).await;
    let client = fake.client().with_outage_budget(SHORT).with_on_outage(OnOutage::Pause);
    let gated = soon("the deadline", run(&client)).await.unwrap();
    assert!(matches!(gated, Gated::Unreached { request: Some(_), .. }), "{gated:?}");
}

#[tokio::test]
async fn a_pause_before_the_request_is_taken_in_lasts_as_long_as_it_would_be_open() {
    let fake = Fake::start(|number, _| {
        if number < BEYOND_THE_BUDGET { Reply::Lost } else { Reply::Json(201, record("denied", 2)) }
    })
    .await;
    let client = fake.client().with_outage_budget(SHORT).with_on_outage(OnOutage::Pause);
    let mut create = create();
    create.expires_in = Some("1m".to_owned());
    let asked = soon("the answer", client.ask(&create)).await.unwrap();
    assert!(matches!(asked, AskOutcome::Decided(_)), "{asked:?}");
    let keys: Vec<_> = fake.calls().into_iter().filter_map(|call| call.key).collect();
    assert!(
        keys.len() == BEYOND_THE_BUDGET + 1 && keys.iter().all(|key| *key == keys[0]),
        "one request, however often it is sent"
    );

    let fake = Fake::start(|_, _| Reply::Lost).await;
    let client = fake.client().with_outage_budget(SHORT).with_on_outage(OnOutage::Pause);
    create.expires_in = Some("1s".to_owned());
    let asked = soon("the end of the time it would be open", client.ask(&create)).await.unwrap();
    assert!(matches!(asked, AskOutcome::Unreached { request: None, .. }), "{asked:?}");
}

#[tokio::test]
async fn a_server_that_comes_back_in_time_is_waited_for() {
    // Away for every kind of call that follows the first answer, each time for longer than the budget.
    let away =
        Mutex::new(HashMap::from([(ID, BEYOND_THE_BUDGET), ("claim", BEYOND_THE_BUDGET), ("outcome", 1)]));
    let fake = Fake::start(move |_, call| {
        let part = last_part(call);
        if let Some(left) = away.lock().unwrap().get_mut(part.as_str()).filter(|left| **left > 0) {
            *left -= 1;
            return Reply::Lost;
        }
        match part.as_str() {
            "requests" => Reply::Json(201, pending(59)),
            ID => Reply::Json(200, approved()),
            "claim" => Reply::Json(200, json!({"permit": "p", "arguments": {"amount": 5}, "digest": approved()["digest"], "report_by": "2026-11-15T13:00:00Z"})),
            "outcome" => Reply::Json(200, record("succeeded", 4)),
            other => panic!("unexpected call {other}"),
        }
    })
    .await;
    let client = fake.client().with_outage_budget(SHORT).with_on_outage(OnOutage::Pause);
    let running = client.run_gated(create(), async |arguments| Ran::Ok(arguments));
    let gated = soon("the server to come back", running).await.unwrap();
    assert!(matches!(gated, Gated::Ran { record, .. } if record.state == State::Succeeded));
}

#[tokio::test]
async fn a_server_that_is_there_and_busy_is_an_outage_and_one_that_refuses_is_not() {
    for (status, code, outage) in [
        (503, "busy", true),
        (429, "rate_limited", true),
        (429, "pending_cap", false),
        (422, "invalid", false),
    ] {
        let fake = Fake::start(move |_, _| {
            Reply::With(status, "retry-after", "0", json!({"status": status, "code": code, "detail": "no"}))
        })
        .await;
        let client = fake.client().with_outage_budget(SHORT);
        match client.ask(&create()).await {
            Ok(AskOutcome::Unreached { error, .. }) => {
                assert!(outage && error.code() == Some(code), "{code}");
            }
            Err(error) => assert!(!outage && error.code() == Some(code), "{code}: {error}"),
            Ok(AskOutcome::Decided(record)) => panic!("{code}: {record:?}"),
        }
    }
}

#[tokio::test]
async fn nonsense_is_an_error_in_every_mode_and_never_a_yes() {
    for mode in [OnOutage::Deny, OnOutage::Raise, OnOutage::Pause] {
        let fake = Fake::start(|_, _| Reply::Json(201, record("auto_approved", 1))).await;
        let error = run(&fake.client().with_on_outage(mode)).await.unwrap_err();
        assert!(matches!(error, RunError::NotRun(Error::Protocol { .. })), "{error}");
    }
}
