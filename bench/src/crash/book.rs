//! The oracle's book: what was intended, what was answered, what was executed, and every rule that a record must keep.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use super::digest::of_action;
use super::lines::Line;
use crate::node::life::{may_follow, was_claimed};

/// A command that was sent about a request; it may or may not have happened.
#[derive(Debug)]
struct Intent {
    verb: String,
    who: String,
    body: Value,
}

/// A create that was sent.
#[derive(Debug)]
struct Create {
    agent: String,
    key: String,
    body: Value,
    claims: bool,
    id: Option<String>,
    /// It was answered 201: a second 201 would be a second request.
    made: bool,
}

/// One permit that was granted and used.
#[derive(Debug, Clone, PartialEq)]
struct Effect {
    permit: String,
    claimant: Option<String>,
    arguments: Value,
    digest: String,
}

/// What is known of one request.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The newest record anybody was shown.
    last: Value,
    intents: Vec<Intent>,
    effects: Vec<Effect>,
    /// A report was sent: from then on the same claimant need not get its permit again.
    reported: bool,
}

/// What an operation was about.
#[derive(Debug, Clone)]
enum Op {
    Create(i64),
    Act { id: String, verb: String, body: Value },
}

/// Everything the oracle knows about one data folder.
#[derive(Debug, Default)]
pub(super) struct Book {
    ops: HashMap<u64, Op>,
    /// Creates by the unique number in their arguments.
    creates: BTreeMap<i64, Create>,
    /// By agent and idempotency key.
    keys: HashMap<(String, String), i64>,
    pub(super) requests: BTreeMap<String, Known>,
    waiting: BTreeMap<u64, String>,
    pub(super) violations: Vec<String>,
    pub(super) answers: u64,
    pub(super) effects: u64,
    pub(super) learned: u64,
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn version(record: &Value) -> i64 {
    record.get("version").and_then(Value::as_i64).unwrap_or(0)
}

fn decision(record: &Value) -> Option<&Value> {
    record.get("decision").filter(|decision| !decision.is_null())
}

/// The unique number that the load puts into every request's arguments.
pub(super) fn marker(arguments: Option<&Value>) -> Option<i64> {
    arguments?.get("n")?.as_i64()
}

/// A reader sees a passed deadline before the timer has written it down: the same version, one state further.
fn overdue(version: &str, seen: &str) -> bool {
    matches!((version, seen), ("pending", "expired") | ("approved", "lapsed") | ("claimed", "unknown"))
}

impl Book {
    fn wrong(&mut self, words: impl Into<String>) {
        self.violations.push(words.into());
    }

    /// Takes note of one line.
    pub(super) fn note(&mut self, line: Line) {
        match line {
            Line::Create { op, agent, key, body, claims } => {
                let Some(n) = marker(body.get("arguments")) else { return };
                self.ops.insert(op, Op::Create(n));
                self.keys.insert((agent.clone(), key.clone()), n);
                self.creates.entry(n).or_insert(Create { agent, key, body, claims, id: None, made: false });
            }
            Line::Act { op, id, verb, who, body } => {
                self.ops.insert(op, Op::Act { id: id.clone(), verb: verb.clone(), body: body.clone() });
                let known = self.requests.entry(id).or_default();
                known.reported |= verb == "outcome";
                known.intents.push(Intent { verb, who, body });
            }
            Line::Answer { op, status, body } => self.answer(op, status, &body),
            Line::Hung { op, what } => self.wrong(format!("operation {op} ({what}) got no answer from a living server")),
            Line::Effect { id, permit, claimant, arguments, digest } => {
                self.effects += 1;
                self.effect(&id, Effect { permit, claimant, arguments, digest });
            }
            Line::Waits { waiter, id } => {
                self.waiting.insert(waiter, id);
            }
            Line::Learned { waiter, record } => {
                self.learned += 1;
                let expected = self.waiting.remove(&waiter);
                if expected.as_deref() != Some(text(&record, "id")) {
                    self.wrong(format!("waiter {waiter} asked about {expected:?} and was told about {}", text(&record, "id")));
                }
                if text(&record, "state") == "pending" {
                    self.wrong(format!("waiter {waiter} was let go while {} is pending", text(&record, "id")));
                }
                self.observe(&record, "a waiter");
            }
            Line::Life { .. } | Line::Ledger { .. } | Line::Killed { .. } | Line::Judge { .. } => {}
        }
    }

    fn answer(&mut self, op: u64, status: u16, body: &Value) {
        self.answers += 1;
        let Some(what) = self.ops.get(&op).cloned() else { return self.wrong(format!("an answer to operation {op}, which was never sent")) };
        if !matches!(status, 200 | 201 | 409 | 503) {
            return self.wrong(format!("{what:?} was answered {status}: {body}"));
        }
        match what {
            Op::Create(n) if status < 300 => {
                let id = text(body, "id").to_owned();
                let Some(create) = self.creates.get_mut(&n) else { return };
                let before = create.id.get_or_insert_with(|| id.clone()).clone();
                let twice = status == 201 && std::mem::replace(&mut create.made, true);
                let key = format!("agent {}, key {}", create.agent, create.key);
                if before != id || twice {
                    self.wrong(format!("one idempotency key, two requests: {before} and {id} ({status}; {key})"));
                }
                self.observe(body, "the answer to a create");
            }
            Op::Create(n) => {
                if status == 409 {
                    self.wrong(format!("create {n} was refused: {body}"));
                }
            }
            Op::Act { id, verb, body: sent } => self.acted(&id, &verb, &sent, status, body),
        }
    }

    fn acted(&mut self, id: &str, verb: &str, sent: &Value, status: u16, body: &Value) {
        if verb == "claim" {
            let claimant = sent.get("claimant").and_then(Value::as_str);
            let Some(known) = self.requests.get(id) else { return };
            let mine = known.effects.iter().find(|effect| effect.claimant.is_some() && effect.claimant.as_deref() == claimant);
            if status == 409 && mine.is_some() && !known.reported {
                self.wrong(format!("{id}: the claimant that holds the permit was refused it: {body}"));
            }
            return;
        }
        if status >= 300 {
            return;
        }
        self.observe(body, &format!("the answer to {verb}"));
        let state = text(body, "state");
        let fits = match verb {
            "decision" => decision(body).is_some_and(|decision| text(decision, "decision") == text(sent, "decision")),
            "cancel" => state == "cancelled",
            "revoke" => state == "revoked",
            "outcome" => state == text(sent, "status"),
            _ => true,
        };
        if !fits {
            self.wrong(format!("{id}: {verb} {sent} was answered with a record that does not show it: {body}"));
        }
    }

    fn effect(&mut self, id: &str, effect: Effect) {
        let known = self.requests.entry(id.to_owned()).or_default();
        if let Some(first) = known.effects.first() {
            if *first != effect {
                let words = format!("{id} was executed twice: {first:?} and {effect:?}");
                self.wrong(words);
            }
            return;
        }
        known.effects.push(effect);
    }

    /// Checks one record that somebody was shown against everything before it.
    pub(super) fn observe(&mut self, record: &Value, whence: &str) {
        let id = text(record, "id").to_owned();
        let mut wrong: Vec<String> = Vec::new();
        self.content(record, &mut wrong);
        let known = self.requests.entry(id.clone()).or_default();
        if !known.last.is_null() {
            stable(&known.last, record, &mut wrong);
        }
        if known.last.is_null() || version(record) >= version(&known.last) {
            known.last = record.clone();
        }
        let claims = marker(record.get("arguments")).and_then(|n| self.creates.get(&n)).is_some_and(|create| create.claims);
        if let Some(known) = self.requests.get(&id) {
            origin(known, record, claims, &mut wrong);
        }
        self.violations.extend(wrong.into_iter().map(|words| format!("{id} ({whence}): {words}")));
    }

    /// The record is what the agent asked for, once, under its digest.
    fn content(&mut self, record: &Value, wrong: &mut Vec<String>) {
        let arguments = record.get("arguments").cloned().unwrap_or(Value::Null);
        let Some(create) = marker(Some(&arguments)).and_then(|n| self.creates.get_mut(&n)) else {
            return wrong.push(format!("nobody asked for this: {record}"));
        };
        let id = text(record, "id");
        let first = create.id.get_or_insert_with(|| id.to_owned());
        if first != id {
            wrong.push(format!("one create became two requests, {first} and this"));
        }
        for name in ["kind", "tool", "arguments", "session", "summary"] {
            if create.body.get(name) != record.get(name) {
                wrong.push(format!("`{name}` was sent as {:?} and stands as {:?}", create.body.get(name), record.get(name)));
            }
        }
        if create.agent != text(record, "agent") {
            wrong.push(format!("asked by {} and recorded for {}", create.agent, text(record, "agent")));
        }
        let expected = of_action(record, &arguments).unwrap_or_default();
        if expected != text(record, "digest") {
            wrong.push(format!("the digest is {}, but its bytes give {expected}", text(record, "digest")));
        }
    }

    /// After a restart, with nothing else going on: these are all the records there are.
    pub(super) fn settle(&mut self, records: &BTreeMap<String, Value>, end: bool) {
        for record in records.values() {
            self.observe(record, "read back");
        }
        let mut wrong = Vec::new();
        for (id, known) in &self.requests {
            if known.last.is_null() {
                continue;
            }
            let Some(record) = records.get(id) else {
                wrong.push(format!("{id} was acknowledged at version {} ({}) and is gone", version(&known.last), text(&known.last, "state")));
                continue;
            };
            if version(record) < version(&known.last) {
                wrong.push(format!(
                    "{id} was acknowledged at version {} ({}) and is back at version {} ({})",
                    version(&known.last), text(&known.last, "state"), version(record), text(record, "state")
                ));
            }
            for effect in &known.effects {
                executed(id, record, effect, &mut wrong);
            }
        }
        for (waiter, id) in self.waiting.iter().filter(|_| end) {
            wrong.push(format!("waiter {waiter} never learned the outcome of {id}"));
        }
        self.violations.extend(wrong);
    }
}

/// A later look at a request agrees with an earlier one.
fn stable(before: &Value, now: &Value, wrong: &mut Vec<String>) {
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

/// Everything on the record was asked for by somebody.
fn origin(known: &Known, record: &Value, claims: bool, wrong: &mut Vec<String>) {
    let state = text(record, "state");
    let asked = |verb: &str| known.intents.iter().filter(move |intent| intent.verb == verb);
    if let Some(decision) = decision(record) {
        let word = text(decision, "decision");
        let maker = asked("decision").find(|intent| {
            let by = decision.get("by").and_then(Value::as_array).is_some_and(|by| by.contains(&json!(intent.who)));
            let same = text(&intent.body, "decision") == word && intent.body.get("arguments").unwrap_or(&Value::Null) == decision.get("arguments").unwrap_or(&Value::Null);
            by && same && intent.body.get("digest") == record.get("digest")
        });
        if maker.is_none() {
            wrong.push(format!("nobody made this decision: {decision}"));
        }
        let ran = decision.get("arguments").filter(|edited| !edited.is_null()).or_else(|| record.get("arguments"));
        let expected = ran.and_then(|ran| of_action(record, ran)).unwrap_or_default();
        if expected != text(decision, "digest") {
            wrong.push(format!("decided on {}, but those bytes give {expected}", text(decision, "digest")));
        }
        if text(decision, "at") > text(record, "expires_at") {
            wrong.push(format!("decided at {}, after its deadline {}", text(decision, "at"), text(record, "expires_at")));
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
            let reported = state == "claimed" || asked("outcome").any(|intent| text(&intent.body, "status") == state);
            matches!(decided, Some("approve" | "edit")) && claimed && reported
        }
        // Their deadlines are a quarter of an hour away and more.
        _ => false,
    };
    if !fits {
        wrong.push(format!("`{state}` with the decision {decided:?}, which nobody asked for"));
    }
}

/// What was executed is what was decided, and was decided in favour.
fn executed(id: &str, record: &Value, effect: &Effect, wrong: &mut Vec<String>) {
    if !was_claimed(text(record, "state")) {
        wrong.push(format!("{id} was executed, but its record says {}", text(record, "state")));
    }
    let Some(decision) = decision(record) else {
        return wrong.push(format!("{id} was executed without a decision"));
    };
    let decided = decision.get("arguments").filter(|edited| !edited.is_null()).or_else(|| record.get("arguments"));
    if decided != Some(&effect.arguments) {
        wrong.push(format!("{id}: decided {decided:?}, executed {}", effect.arguments));
    }
    let expected = of_action(record, &effect.arguments).unwrap_or_default();
    if text(decision, "digest") != effect.digest || expected != effect.digest {
        wrong.push(format!("{id}: decided on {}, executed under {}, bytes give {expected}", text(decision, "digest"), effect.digest));
    }
}
