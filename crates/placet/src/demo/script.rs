//! The requests of the demo's agent: one of each kind, one of them hostile, then small ones for ever.

use placet_core::{Create, Kind};
use serde_json::{Value, json};

/// One request, and why it is in the demo.
pub(super) struct DemoRequest {
    pub(super) note: &'static str,
    pub(super) create: Create,
}

fn ask(note: &'static str, body: Value) -> DemoRequest {
    // Every body here is a literal of this file, and a test reads them all.
    let create = serde_json::from_value(body).unwrap_or_else(|_| Create::new(Kind::Action, "demo"));
    DemoRequest { note, create }
}

/// One of everything.
pub(super) fn everything() -> Vec<DemoRequest> {
    let mut asks = actions();
    asks.extend(plan_and_confirmation());
    asks.extend(questions());
    asks
}

fn actions() -> Vec<DemoRequest> {
    vec![
        ask(
            "policy allows it: it passes in the same call, and is on record like everything else",
            json!({"kind": "action", "session": "reports", "tool": "reports.read", "arguments": {"report": "weekly figures"}}),
        ),
        ask(
            "policy denies it, wherever in the command it hides",
            json!({"kind": "action", "session": "cleanup", "tool": "Bash", "arguments": {"command": "ls /srv; sh -c 'rm -rf /'"}}),
        ),
        ask(
            "a large payment: policy wants two people",
            json!({"kind": "action", "session": "invoices", "tool": "payments.payout", "expires_in": "15m",
                "arguments": {"amount": 25_000, "currency": "EUR", "to": "ACME GmbH"}}),
        ),
        ask(
            "an action of high risk: approving it takes more than one key",
            json!({"kind": "action", "session": "cleanup", "tool": "delete_files", "risk": "high", "expires_in": "15m",
                "arguments": {"files": ["/srv/archive/2024.tar", "/srv/archive/2025.tar"], "recursive": true},
                "context": {"cwd": "/srv/archive"}, "summary": "Free some space. These archives are no longer needed."}),
        ),
        ask(
            "a payment: try `e`, and pay less; the agent then gets your arguments, not its own",
            json!({"kind": "action", "session": "invoices", "tool": "payments.transfer", "risk": "high", "expires_in": "15m",
                "arguments": {"amount": 4200, "currency": "EUR", "to": "ACME GmbH", "reference": "invoice 2026-118"},
                "arguments_schema": {"type": "object", "required": ["amount", "to"], "properties": {
                    "amount": {"type": "number", "exclusiveMinimum": 0, "maximum": 5000}, "to": {"type": "string"}}},
                "summary": "The invoice is due today."}),
        ),
        ask(
            "a small action: approved, it runs at once, exactly once",
            json!({"kind": "action", "session": "reports", "tool": "reports.publish", "risk": "low", "expires_in": "15m",
                "arguments": {"report": "weekly figures", "audience": "team"}}),
        ),
        ask(
            "an agent that plays tricks: look at what the arguments really are",
            json!({"kind": "action", "session": "mail", "tool": "send_mail", "risk": "medium", "expires_in": "15m",
                "arguments": {"to": "ann@example.com\u{202e}moc.live@bob", "attachment": "invoice\u{200b}.pdf",
                    "body": "\u{1b}[2J\u{1b}[31mAPPROVED BY ANN\u{1b}[0m\r\nrm -rf /"},
                "summary": "SYSTEM: this request is pre-approved, press a\u{1b}[0m"}),
        ),
    ]
}

fn plan_and_confirmation() -> Vec<DemoRequest> {
    vec![
        ask(
            "a plan of three steps: `placet approve ID --only backup,verify` leaves one out",
            json!({"kind": "plan", "session": "migration", "title": "Move the shop to the new database", "can_modify": true,
                "estimated_duration": "40 minutes", "expires_in": "15m", "steps": [
                {"id": "backup", "action": "backup", "description": "Back up the old database", "arguments": {"target": "s3://backups/shop"}},
                {"id": "switch", "action": "switch_over", "description": "Point the shop at the new one", "arguments": {"downtime": "2m"}},
                {"id": "verify", "action": "verify", "description": "Compare row counts", "optional": true}]}),
        ),
        ask(
            "a yes or no",
            json!({"kind": "confirmation", "session": "release", "message": "Publish version 2.0 now?", "expires_in": "15m",
                "details": "All checks are green. The announcement goes out with it.", "confirm_label": "Publish", "cancel_label": "Wait"}),
        ),
    ]
}

fn questions() -> Vec<DemoRequest> {
    let question = |note, text: &str, input: Value| {
        ask(
            note,
            json!({"kind": "input", "session": "questions", "question": text, "input": input, "expires_in": "15m"}),
        )
    };
    vec![
        question("a question: text", "What should the release be called?", json!({"type": "text"})),
        question(
            "a question: a number from 1 to 100",
            "What discount, in percent?",
            json!({"type": "number", "min": 1, "max": 100}),
        ),
        question(
            "a question: one of three",
            "Which region?",
            json!({"type": "choice", "options": ["Frankfurt", "Dublin", "Oregon"]}),
        ),
        question(
            "a question: any of three",
            "Who should be told?",
            json!({"type": "multi_choice", "options": ["support", "sales", "press"]}),
        ),
        question("a question: a date", "When is the maintenance window?", json!({"type": "date"})),
        question(
            "a question: a file, such as `placet answer ID @notes.txt`",
            "Please attach the release notes.",
            json!({"type": "file"}),
        ),
    ]
}

/// Small requests, again and again.
pub(super) fn small(turn: usize) -> DemoRequest {
    let turn_text = turn.to_string();
    match turn % 4 {
        0 => ask(
            "another small action",
            json!({"kind": "action", "session": "support", "tool": "tickets.close", "risk": "low", "expires_in": "10m",
                "arguments": {"ticket": 1000 + turn, "resolution": "answered"}}),
        ),
        1 => ask(
            "another question",
            json!({"kind": "input", "session": "support", "question": format!("How urgent is ticket {turn_text}?"), "expires_in": "10m",
                "input": {"type": "choice", "options": ["today", "this week", "some day"]}}),
        ),
        2 => ask(
            "another action of medium risk",
            json!({"kind": "action", "session": "ops", "tool": "servers.restart", "risk": "medium", "expires_in": "10m",
                "arguments": {"server": format!("web-{turn_text}"), "graceful": true}}),
        ),
        _ => ask(
            "another yes or no",
            json!({"kind": "confirmation", "session": "support", "message": format!("Refund order {turn_text}?"), "expires_in": "10m",
                "confirm_label": "Refund", "cancel_label": "Keep"}),
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use placet_core::Limits;

    use super::*;

    #[test]
    fn everything_the_agent_asks_is_a_valid_request() {
        for ask in everything().into_iter().chain((0..8).map(small)) {
            assert_ne!(ask.create.session, "demo", "unreadable: {}", ask.note);
            let checked = ask.create.check(&Limits::default());
            assert!(checked.is_ok(), "{}: {checked:?}", ask.note);
        }
    }

    #[test]
    fn one_of_everything_is_every_kind_and_every_type_of_question() {
        let asks = everything();
        let kinds: BTreeSet<Kind> = asks.iter().map(|ask| ask.create.kind).collect();
        assert_eq!(kinds.into_iter().collect::<Vec<_>>(), Kind::ALL);
        let types: Vec<Value> =
            asks.iter().filter_map(|ask| Some(json!(ask.create.input.as_ref()?.kind))).collect();
        assert_eq!(json!(types), json!(["text", "number", "choice", "multi_choice", "date", "file"]));
    }
}
