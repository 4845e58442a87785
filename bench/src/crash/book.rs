//! The oracle's book: intents, answers, executions, and every rule that a record must keep.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::digest::of_action;
use super::lines::{Line, Rare};
use super::rules::{Effect, Intent, RequestHistory, decision, executed, origin, stable, text, version};

/// A create that was sent.
#[derive(Debug)]
struct Create {
    agent: String,
    key: String,
    body: Value,
    claims: bool,
    id: Option<String>,
    answered: bool,
    /// It was answered 201: a second 201 would be a second request.
    made: bool,
}

/// The kind of an operation.
#[derive(Debug, Clone)]
enum Op {
    Create(i64),
    Act {
        id: String,
        verb: String,
        body: Value,
        /// Whether the claimant already held the permit when it asked. An earlier attempt may be refused, and be
        /// answered only after another caller got the permit with the same secret.
        held: bool,
    },
}

/// Everything the oracle knows about one data folder.
#[derive(Debug, Default)]
pub(super) struct Book {
    ops: HashMap<u64, Op>,
    /// Creates by the unique number in their arguments.
    creates: BTreeMap<i64, Create>,
    /// By agent and idempotency key.
    keys: HashMap<(String, String), i64>,
    pub(super) requests: BTreeMap<String, RequestHistory>,
    /// The waiters, what they wait for, and the number of kills before they began.
    waiting: BTreeMap<u64, (String, u32)>,
    pub(super) violations: Vec<String>,
    /// How many of the violations are lost acknowledgements.
    pub(super) lost: usize,
    pub(super) answers: u64,
    pub(super) effects: u64,
    pub(super) learned: u64,
    pub(super) rare: Rare,
    kills: u32,
}

/// The unique number that the load puts into every request's arguments.
pub(super) fn marker(arguments: Option<&Value>) -> Option<i64> {
    arguments?.get("n")?.as_i64()
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
                self.creates.entry(n).or_insert(Create {
                    agent,
                    key,
                    body,
                    claims,
                    id: None,
                    answered: false,
                    made: false,
                });
            }
            Line::Act { op, id, verb, who, body } => {
                let known = self.requests.entry(id.clone()).or_default();
                let held = verb == "claim" && known.holds(body.get("claimant"));
                self.ops.insert(op, Op::Act { id, verb: verb.clone(), body: body.clone(), held });
                known.reported |= verb == "outcome";
                known.intents.push(Intent { verb, who, body });
            }
            Line::Answer { op, status, body } => self.answer(op, status, &body),
            Line::Wrong { what } => self.wrong(what),
            Line::Effect { id, permit, claimant, arguments, digest } => {
                self.effects += 1;
                self.effect(&id, Effect { permit, claimant, arguments, digest });
            }
            Line::Waits { waiter, id } => {
                self.waiting.insert(waiter, (id, self.kills));
            }
            Line::Learned { waiter, record } => {
                self.learned += 1;
                let (expected, since) = self.waiting.remove(&waiter).unzip();
                self.rare.across += u64::from(since.is_some_and(|kills| kills < self.kills));
                if expected.as_deref() != Some(text(&record, "id")) {
                    self.wrong(format!(
                        "waiter {waiter} asked about {expected:?} and was told about {}",
                        text(&record, "id")
                    ));
                }
                if text(&record, "state") == "pending" {
                    self.wrong(format!(
                        "waiter {waiter} was let go while {} is pending",
                        text(&record, "id")
                    ));
                }
                self.observe(&record, "a waiter");
            }
            Line::Killed { .. } => self.kills += 1,
            Line::Life { .. } | Line::Ledger { .. } | Line::Judge { .. } => {}
        }
    }

    fn answer(&mut self, op: u64, status: u16, body: &Value) {
        self.answers += 1;
        let Some(what) = self.ops.get(&op).cloned() else {
            return self.wrong(format!("an answer to operation {op}, which was never sent"));
        };
        if !matches!(status, 200 | 201 | 409 | 503) {
            return self.wrong(format!("{what:?} was answered {status}: {body}"));
        }
        match what {
            Op::Create(n) if status < 300 => {
                let id = text(body, "id").to_owned();
                let Some(create) = self.creates.get_mut(&n) else { return };
                self.rare.found += u64::from(status == 200 && !create.answered);
                create.answered = true;
                let before = create.id.get_or_insert_with(|| id.clone()).clone();
                let twice = status == 201 && std::mem::replace(&mut create.made, true);
                let key = format!("agent {}, key {}", create.agent, create.key);
                if before != id || twice {
                    self.wrong(format!(
                        "one idempotency key, two requests: {before} and {id} ({status}; {key})"
                    ));
                }
                self.observe(body, "the answer to a create");
            }
            Op::Create(n) => {
                if status == 409 {
                    self.wrong(format!("create {n} was refused: {body}"));
                }
            }
            Op::Act { id, verb, held, .. } if verb == "claim" => {
                let reported = self.requests.get(&id).is_some_and(|known| known.reported);
                if status == 409 && held && !reported {
                    self.wrong(format!("{id}: the claimant that holds the permit was refused it: {body}"));
                }
            }
            Op::Act { id, verb, body: sent, .. } => self.acted(&id, &verb, &sent, status, body),
        }
    }

    fn acted(&mut self, id: &str, verb: &str, sent: &Value, status: u16, body: &Value) {
        if status >= 300 {
            return;
        }
        self.observe(body, &format!("the answer to {verb}"));
        let state = text(body, "state");
        let fits = match verb {
            "decision" => {
                decision(body).is_some_and(|decision| text(decision, "decision") == text(sent, "decision"))
            }
            "cancel" => state == "cancelled",
            "revoke" => state == "revoked",
            "outcome" => state == text(sent, "status"),
            _ => true,
        };
        if !fits {
            self.wrong(format!(
                "{id}: {verb} {sent} was answered with a record that does not show it: {body}"
            ));
        }
    }

    fn effect(&mut self, id: &str, effect: Effect) {
        let known = self.requests.entry(id.to_owned()).or_default();
        if let Some(first) = known.effects.first() {
            if *first == effect {
                self.rare.again += 1;
            } else {
                let words = format!("{id} was executed twice: {first:?} and {effect:?}");
                self.wrong(words);
            }
            return;
        }
        known.effects.push(effect);
    }

    /// Checks a record that was shown against everything before it.
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
        let claims = marker(record.get("arguments"))
            .and_then(|n| self.creates.get(&n))
            .is_some_and(|create| create.claims);
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
                wrong.push(format!(
                    "`{name}` was sent as {:?} and stands as {:?}",
                    create.body.get(name),
                    record.get(name)
                ));
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

    /// After a restart, without load: these are all the records.
    pub(super) fn settle(&mut self, records: &BTreeMap<String, Value>, end: bool) {
        for record in records.values() {
            self.observe(record, "read back");
        }
        let expired = records.values().filter(|record| text(record, "state") == "expired").count();
        self.rare.expired = expired as u64;
        let mut wrong = Vec::new();
        let mut lost = 0;
        for (id, known) in &self.requests {
            if known.last.is_null() {
                continue;
            }
            let Some(record) = records.get(id) else {
                lost += 1;
                wrong.push(format!(
                    "{id} was acknowledged at version {} ({}) and is gone",
                    version(&known.last),
                    text(&known.last, "state")
                ));
                continue;
            };
            if version(record) < version(&known.last) {
                lost += 1;
                wrong.push(format!(
                    "{id} was acknowledged at version {} ({}) and is back at version {} ({})",
                    version(&known.last),
                    text(&known.last, "state"),
                    version(record),
                    text(record, "state")
                ));
            }
            for effect in &known.effects {
                executed(id, record, effect, &mut wrong);
            }
        }
        for (waiter, (id, _)) in self.waiting.iter().filter(|_| end) {
            wrong.push(format!("waiter {waiter} never learned the outcome of {id}"));
        }
        self.lost += lost;
        self.violations.extend(wrong);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::super::digest::of_action;
    use super::super::lines::Line;
    use super::Book;

    /// The server's record of number 7 in this state.
    fn record(version: i64, state: &str, decision: Option<&str>) -> Value {
        let mut record = json!({"id": "req_7", "version": version, "state": state, "kind": "action", "agent": "bot", "session": "s",
            "tool": "t", "arguments": {"n": 7}, "summary": "x", "context": {}, "on_behalf_of": null, "nonce": "o",
            "created_at": "2026-01-01T00:00:00Z", "expires_at": "2026-01-01T01:00:00Z", "decision": null});
        let digest = of_action(&record, &json!({"n": 7})).unwrap();
        record["digest"] = json!(digest);
        if let Some(word) = decision {
            record["decision"] = json!({"decision": word, "by": ["ann"], "digest": digest, "arguments": null, "at": "2026-01-01T00:01:00Z"});
        }
        record
    }

    fn create(book: &mut Book, op: u64, status: u16) {
        let body =
            json!({"kind": "action", "tool": "t", "session": "s", "summary": "x", "arguments": {"n": 7}});
        book.note(Line::Create { op, agent: "bot".into(), key: "k".into(), body, claims: false });
        book.note(Line::Answer { op, status, body: record(1, "pending", None) });
    }

    fn act(book: &mut Book, op: u64, verb: &str, who: &str, body: Value) {
        book.note(Line::Act { op, id: "req_7".into(), verb: verb.into(), who: who.into(), body });
    }

    fn decide(book: &mut Book, op: u64, word: &str) {
        let digest = record(1, "pending", None)["digest"].clone();
        act(book, op, "decision", "ann", json!({"decision": word, "digest": digest, "version": 1}));
    }

    /// A book in which number 7 was approved and acknowledged.
    fn approved() -> Book {
        let mut book = Book::default();
        create(&mut book, 1, 201);
        decide(&mut book, 2, "approve");
        book.note(Line::Answer { op: 2, status: 200, body: record(2, "approved", Some("approve")) });
        book
    }

    fn effect(permit: &str) -> Line {
        let digest = record(1, "pending", None)["digest"].as_str().unwrap().to_owned();
        Line::Effect {
            id: "req_7".into(),
            permit: permit.into(),
            claimant: Some("c".into()),
            arguments: json!({"n": 7}),
            digest,
        }
    }

    fn settle(book: &mut Book, found: Option<Value>) -> Vec<String> {
        let records =
            found.map(|record| ("req_7".to_owned(), record)).into_iter().collect::<BTreeMap<_, _>>();
        book.settle(&records, true);
        std::mem::take(&mut book.violations)
    }

    #[test]
    fn an_honest_life_breaks_no_rule() {
        let mut book = approved();
        act(&mut book, 3, "claim", "bot", json!({"claimant": "c"}));
        book.note(effect("p"));
        book.note(effect("p"));
        act(&mut book, 4, "outcome", "bot", json!({"permit": "p", "status": "succeeded"}));
        assert_eq!(settle(&mut book, Some(record(4, "succeeded", Some("approve")))), Vec::<String>::new());
    }

    #[test]
    fn an_acknowledged_request_that_is_gone_or_older_is_a_violation() {
        assert_eq!(settle(&mut approved(), None).len(), 1);
        assert!(!settle(&mut approved(), Some(record(1, "pending", None))).is_empty());
    }

    #[test]
    fn an_unanswered_decision_may_have_happened_or_not_but_one_nobody_sent_may_not() {
        for (found, honest) in [
            (record(1, "pending", None), true),
            (record(2, "denied", Some("deny")), true),
            (record(2, "approved", Some("approve")), false),
        ] {
            let mut book = Book::default();
            create(&mut book, 1, 201);
            decide(&mut book, 2, "deny");
            assert_eq!(settle(&mut book, Some(found)).is_empty(), honest);
        }
    }

    #[test]
    fn a_decision_that_changes_is_a_violation_even_if_both_were_sent() {
        let mut book = approved();
        decide(&mut book, 3, "deny");
        assert!(!settle(&mut book, Some(record(3, "denied", Some("deny")))).is_empty());
    }

    #[test]
    fn two_permits_for_one_request_are_two_executions() {
        let mut book = approved();
        act(&mut book, 3, "claim", "bot", json!({"claimant": "c"}));
        book.note(effect("p"));
        book.note(effect("q"));
        assert_eq!(settle(&mut book, Some(record(3, "claimed", Some("approve")))).len(), 1);
    }

    #[test]
    fn an_effect_without_a_claim_on_the_record_or_with_other_arguments_is_a_violation() {
        let mut book = approved();
        book.note(effect("p"));
        assert!(!settle(&mut book, Some(record(2, "approved", Some("approve")))).is_empty());
        let mut book = approved();
        act(&mut book, 3, "claim", "bot", json!({"claimant": "c"}));
        let Line::Effect { id, permit, claimant, digest, .. } = effect("p") else { unreachable!() };
        book.note(Line::Effect { id, permit, claimant, digest, arguments: json!({"n": 7, "more": 1}) });
        assert!(!settle(&mut book, Some(record(3, "claimed", Some("approve")))).is_empty());
    }

    #[test]
    fn the_holder_of_a_permit_that_is_refused_it_again_is_noticed() {
        let mut book = approved();
        act(&mut book, 3, "claim", "bot", json!({"claimant": "c"}));
        book.note(effect("p"));
        act(&mut book, 4, "claim", "bot", json!({"claimant": "c"}));
        book.note(Line::Answer { op: 4, status: 409, body: json!({"code": "already_claimed"}) });
        assert_eq!(book.violations.len(), 1);
    }

    #[test]
    fn a_refusal_of_somebody_who_asked_before_the_permit_was_given_may_be_heard_of_later() {
        let mut book = approved();
        act(&mut book, 3, "claim", "bot", json!({"claimant": "c"}));
        act(&mut book, 4, "claim", "bot", json!({"claimant": "c"}));
        book.note(effect("p"));
        book.note(Line::Answer { op: 3, status: 409, body: json!({"code": "not_approved"}) });
        assert_eq!(book.violations, Vec::<String>::new());
    }

    #[test]
    fn a_key_that_makes_two_requests_is_noticed() {
        let mut book = Book::default();
        create(&mut book, 1, 201);
        create(&mut book, 2, 200);
        assert!(book.violations.is_empty(), "a replay is not");
        create(&mut book, 3, 201);
        assert_eq!(book.violations.len(), 1);
    }

    #[test]
    fn changed_bytes_under_an_old_digest_and_a_digest_of_other_bytes_are_noticed() {
        let mut book = Book::default();
        create(&mut book, 1, 201);
        let mut changed = record(1, "pending", None);
        changed["session"] = json!("another");
        assert!(!settle(&mut book, Some(changed)).is_empty());
        let mut changed = record(1, "pending", None);
        changed["digest"] = json!("sha256:00");
        assert!(!settle(&mut book, Some(changed)).is_empty());
    }

    #[test]
    fn a_waiter_that_never_learns_is_noticed_at_the_end() {
        let mut book = approved();
        book.note(Line::Waits { waiter: 9, id: "req_7".into() });
        assert_eq!(settle(&mut book, Some(record(2, "approved", Some("approve")))).len(), 1);
        book.note(Line::Learned { waiter: 9, record: record(2, "approved", Some("approve")) });
        assert!(settle(&mut book, Some(record(2, "approved", Some("approve")))).is_empty());
    }

    #[test]
    fn an_unexpected_status_is_a_violation() {
        let mut book = Book::default();
        create(&mut book, 1, 201);
        decide(&mut book, 2, "approve");
        book.note(Line::Answer { op: 2, status: 404, body: json!({}) });
        assert_eq!(book.violations.len(), 1);
    }
}
