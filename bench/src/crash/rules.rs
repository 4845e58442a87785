//! The rules that every record must keep, given what was asked for, shown before and executed.

use serde_json::{Value, json};

use super::digest::of_action;
use crate::node::life::{may_follow, was_claimed};

/// A command that was sent about a request; it may or may not have happened.
#[derive(Debug)]
pub(super) struct Intent {
    pub(super) verb: String,
    pub(super) who: String,
    pub(super) body: Value,
}

/// One permit that was granted and used.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Effect {
    pub(super) permit: String,
    pub(super) claimant: Option<String>,
    pub(super) arguments: Value,
    pub(super) digest: String,
}

/// Everything known about one request.
#[derive(Debug, Default)]
pub(super) struct RequestHistory {
    /// The newest record that was shown.
    pub(super) last: Value,
    pub(super) intents: Vec<Intent>,
    pub(super) effects: Vec<Effect>,
    /// A report was sent: from then on the same claimant need not get its permit again.
    pub(super) reported: bool,
}

impl RequestHistory {
    /// Whether this claimant was given the permit.
    pub(super) fn holds(&self, claimant: Option<&Value>) -> bool {
        let claimant = claimant.and_then(Value::as_str);
        claimant.is_some() && self.effects.iter().any(|effect| effect.claimant.as_deref() == claimant)
    }
}

pub(super) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn version(record: &Value) -> i64 {
    record.get("version").and_then(Value::as_i64).unwrap_or(0)
}

pub(super) fn decision(record: &Value) -> Option<&Value> {
    record.get("decision").filter(|decision| !decision.is_null())
}

/// A reader sees a passed deadline before the timer has recorded it: the same version, one state further.
fn overdue(version: &str, seen: &str) -> bool {
    matches!((version, seen), ("pending", "expired") | ("approved", "lapsed") | ("claimed", "unknown"))
}

/// A later record of a request agrees with an earlier one.
pub(super) fn stable(before: &Value, now: &Value, wrong: &mut Vec<String>) {
    let (older, newer) = if version(now) >= version(before) { (before, now) } else { (now, before) };
    let (was, is) = (text(older, "state"), text(newer, "state"));
    let same_version = version(older) == version(newer);
    if same_version && was != is && !overdue(was, is) && !overdue(is, was) {
        wrong.push(format!("version {} was shown as {was} and as {is}", version(newer)));
    } else if !same_version && !may_follow(was, is) {
        wrong.push(format!("{was} at version {}, then {is} at version {}", version(older), version(newer)));
    }
    for name in ["digest", "arguments", "nonce", "created_at", "agent"] {
        if older.get(name) != newer.get(name) {
            wrong.push(format!("`{name}` changed from {:?} to {:?}", older.get(name), newer.get(name)));
        }
    }
    if let Some(first) = decision(older)
        && decision(newer) != Some(first)
    {
        wrong.push(format!("decided as {first}, now {:?}", decision(newer)));
    }
}

/// Everything on the record was asked for.
pub(super) fn origin(known: &RequestHistory, record: &Value, claims: bool, wrong: &mut Vec<String>) {
    let state = text(record, "state");
    let asked = |verb: &'static str| known.intents.iter().filter(move |intent| intent.verb == verb);
    if let Some(decision) = decision(record) {
        let word = text(decision, "decision");
        let maker = asked("decision").find(|intent| {
            let by = decision
                .get("by")
                .and_then(Value::as_array)
                .is_some_and(|by| by.contains(&json!(intent.who)));
            let same = text(&intent.body, "decision") == word
                && intent.body.get("arguments").unwrap_or(&Value::Null)
                    == decision.get("arguments").unwrap_or(&Value::Null);
            by && same && intent.body.get("digest") == record.get("digest")
        });
        if maker.is_none() {
            wrong.push(format!("nobody made this decision: {decision}"));
        }
        let ran =
            decision.get("arguments").filter(|edited| !edited.is_null()).or_else(|| record.get("arguments"));
        let expected = ran.and_then(|ran| of_action(record, ran)).unwrap_or_default();
        if expected != text(decision, "digest") {
            wrong.push(format!("decided on {}, but those bytes give {expected}", text(decision, "digest")));
        }
        if text(decision, "at") > text(record, "expires_at") {
            wrong.push(format!(
                "decided at {}, after its deadline {}",
                text(decision, "at"),
                text(record, "expires_at")
            ));
        }
    }
    let decided = decision(record).map(|decision| text(decision, "decision"));
    let fits = match state {
        "pending" | "expired" => decided.is_none(),
        "denied" => decided == Some("deny"),
        "cancelled" => asked("cancel").next().is_some() && decided != Some("deny"),
        "approved" => matches!(decided, Some("approve" | "edit")),
        "revoked" => matches!(decided, Some("approve" | "edit")) && asked("revoke").next().is_some(),
        "claimed" | "succeeded" | "failed" => {
            let claimed = claims || asked("claim").next().is_some();
            let reported =
                state == "claimed" || asked("outcome").any(|intent| text(&intent.body, "status") == state);
            matches!(decided, Some("approve" | "edit")) && claimed && reported
        }
        // Their deadlines are a quarter of an hour away and more.
        _ => false,
    };
    if !fits {
        wrong.push(format!("`{state}` with the decision {decided:?}, which nobody asked for"));
    }
}

/// What was executed is what was decided, and it was approved.
pub(super) fn executed(id: &str, record: &Value, effect: &Effect, wrong: &mut Vec<String>) {
    if !was_claimed(text(record, "state")) {
        wrong.push(format!("{id} was executed, but its record says {}", text(record, "state")));
    }
    let Some(decision) = decision(record) else {
        return wrong.push(format!("{id} was executed without a decision"));
    };
    let decided =
        decision.get("arguments").filter(|edited| !edited.is_null()).or_else(|| record.get("arguments"));
    if decided != Some(&effect.arguments) {
        wrong.push(format!("{id}: decided {decided:?}, executed {}", effect.arguments));
    }
    let expected = of_action(record, &effect.arguments).unwrap_or_default();
    if text(decision, "digest") != effect.digest || expected != effect.digest {
        wrong.push(format!(
            "{id}: decided on {}, executed under {}, bytes give {expected}",
            text(decision, "digest"),
            effect.digest
        ));
    }
}
