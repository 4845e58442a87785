//! The scripted reviewer of `placet demo --auto`: decides everything, each kind in its own way.

use std::time::Duration;

use placet_client::{Client, Decide, ListQuery};
use placet_core::{DecisionWord, InputType, Kind, Record, State, StepDecision};
use serde_json::{Value, json};

/// Decides for ever; the caller ends it.
pub(super) async fn review(client: Client) {
    let query = ListQuery { state: Some(State::Pending), limit: Some(50), ..ListQuery::default() };
    loop {
        // A failure here shows in the agent's output, which then does not finish.
        if let Ok(page) = client.list(&query).await {
            for record in page.items {
                let _ = client.decide(record.id, &decision(&record)).await;
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The second of two people: approves only what the first one has approved.
pub(super) async fn second(client: Client) {
    let query = ListQuery { state: Some(State::Pending), limit: Some(50), ..ListQuery::default() };
    loop {
        if let Ok(page) = client.list(&query).await {
            for record in page.items.iter().filter(|record| !record.votes.is_empty()) {
                let decide = Decide::approve(record).with_reason("I have seen it, too");
                let _ = client.decide(record.id, &decide).await;
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The answers of a sensible person.
fn decision(record: &Record) -> Decide {
    match record.kind {
        Kind::Input => Decide::respond(record, answer(record)),
        Kind::Confirmation => Decide::approve(record),
        Kind::Plan => {
            let steps = record.steps.iter().flatten().map(|step| StepDecision {
                id: step.id.clone(),
                decision: if step.optional == Some(true) {
                    DecisionWord::Deny
                } else {
                    DecisionWord::Approve
                },
                arguments: None,
            });
            Decide::steps(record, steps.collect()).with_reason("verifying can wait")
        }
        Kind::Action => action(record),
    }
}

fn action(record: &Record) -> Decide {
    let mut arguments = record.arguments.clone().unwrap_or_default();
    match record.tool.as_deref() {
        Some("payments.transfer") => {
            arguments.insert("amount".to_owned(), json!(42));
            Decide::edit(record, arguments).with_reason("pay the deposit only")
        }
        Some("send_mail") => Decide::deny(record, "the address is not what it looks like"),
        _ => Decide::approve(record),
    }
}

fn answer(record: &Record) -> Value {
    let Some(input) = &record.input else { return Value::Null };
    let options = input.options.as_deref().unwrap_or_default();
    match input.kind {
        InputType::Text => json!("Aurora"),
        InputType::Number => json!(10),
        InputType::Choice => json!(options.first()),
        InputType::MultiChoice => json!(options.iter().take(2).collect::<Vec<_>>()),
        InputType::Date => json!("2026-12-01"),
        InputType::File => {
            json!({"name": "notes.txt", "media_type": "text/plain", "content_base64": "SGVsbG8uCg=="})
        }
    }
}
