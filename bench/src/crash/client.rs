//! The callers: agents that ask, claim, report and cancel, reviewers that decide, and waiters that outlive the
//! server.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use super::board::{Board, Item, Target, UnansweredCall};
use super::lines::{Line, Oracle};
use crate::node::http::{Http, NoAnswer};
use crate::node::rng::Rng;

const IN_TIME: Duration = Duration::from_secs(20);

/// Shared by all callers of one data folder.
#[derive(Debug)]
pub(super) struct World<'a> {
    pub(super) addr: SocketAddr,
    pub(super) oracle: &'a Oracle,
    pub(super) board: &'a Mutex<Board>,
    /// Operations, request numbers and secrets are numbered over the whole run.
    pub(super) counter: &'a AtomicU64,
    pub(super) stop: &'a AtomicBool,
}

/// One caller with its credential.
#[derive(Debug)]
pub(super) struct Caller<'a> {
    pub(super) world: &'a World<'a>,
    pub(super) name: String,
    http: Http,
    pub(super) rng: Rng,
}

/// The outcome of an operation.
enum Outcome {
    /// It was answered, or there was nothing to ask.
    Answered,
    /// The server is gone, so the caller ends.
    Gone,
}

impl<'a> Caller<'a> {
    pub(super) fn new(world: &'a World<'a>, name: &str, key: &str, rng: Rng) -> Self {
        Self { world, name: name.to_owned(), http: Http::new(world.addr, key), rng }
    }

    fn board(&self) -> MutexGuard<'a, Board> {
        self.world.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self) -> u64 {
        self.world.counter.fetch_add(1, Ordering::Relaxed)
    }

    /// Notes the intent, sends, notes the answer. An operation without an answer is kept for a retry.
    fn send(&mut self, one: UnansweredCall) -> Result<Outcome> {
        let op = self.count();
        let body = one.body.clone();
        self.world.oracle.note(&match &one.target {
            Target::Create(claims) => {
                Line::Create { op, agent: one.who.clone(), key: one.key.clone(), body, claims: *claims }
            }
            Target::Act { id, verb } => {
                Line::Act { op, id: id.clone(), verb: verb.clone(), who: one.who.clone(), body }
            }
        })?;
        match self.http.post(&one.path, Some(&one.key), &one.body, IN_TIME) {
            Ok(answer) => {
                let shown = answer.json().unwrap_or_else(|_| json!({"not_json": answer.text()}));
                self.world.oracle.note(&Line::Answer { op, status: answer.status, body: shown.clone() })?;
                if answer.status < 300 {
                    self.board().learn(&shown);
                    self.granted(&one, &shown)?;
                } else if let Some(record) = shown.get("record") {
                    self.board().learn(record);
                }
                Ok(Outcome::Answered)
            }
            Err(NoAnswer::Maybe(error)) if error.kind() == std::io::ErrorKind::TimedOut => {
                let what = format!("{} (operation {op}) got no answer from a living server", one.path);
                self.world.oracle.note(&Line::Wrong { what })?;
                Ok(Outcome::Gone)
            }
            Err(_) => {
                self.board().unanswered.push(one);
                Ok(Outcome::Gone)
            }
        }
    }

    fn act(&mut self, item: &Item, verb: &str, body: Value) -> Result<Outcome> {
        let one = UnansweredCall {
            who: self.name.clone(),
            path: format!("/v1/requests/{}/{verb}", item.id),
            key: format!("k{}", self.count()),
            body,
            target: Target::Act { id: item.id.clone(), verb: verb.to_owned() },
        };
        self.send(one)
    }

    /// An agent that works until the server is gone.
    pub(super) fn agent(&mut self) -> Result<()> {
        while !self.world.stop.load(Ordering::Relaxed) {
            let retry = if self.rng.percent(40) { self.board().take_unanswered(&self.name) } else { None };
            let me = self.name.clone();
            let mine = |item: &Item, state: &str| item.agent == me && item.state == state;
            let choice = self.rng.below(100);
            let board = self.board();
            let outcome = if let Some(one) = retry {
                drop(board);
                self.send(one)?
            } else if choice < 45 && board.creates_left > 0 {
                drop(board);
                self.create(false)?
            } else if choice < 70 {
                let item = board.pick(&mut self.rng, |item| {
                    mine(item, "approved") || (mine(item, "claimed") && item.permit.is_some())
                });
                drop(board);
                self.claim(item)?
            } else if choice < 85 {
                let item = board.pick(&mut self.rng, |item| mine(item, "claimed") && item.permit.is_some());
                drop(board);
                self.report(item)?
            } else if choice < 91 {
                let item = board.pick(&mut self.rng, |item| mine(item, "pending") || mine(item, "approved"));
                drop(board);
                match item {
                    Some(item) => self.act(&item, "cancel", json!({}))?,
                    None => idle(),
                }
            } else {
                // Must never be granted; the oracle knows that.
                let item = board.pick(&mut self.rng, |item| {
                    item.agent == me && !matches!(item.state.as_str(), "approved" | "claimed")
                });
                drop(board);
                self.claim(item)?
            };
            if matches!(outcome, Outcome::Gone) {
                break;
            }
        }
        Ok(())
    }

    fn create(&mut self, claims: bool) -> Result<Outcome> {
        let n = self.count();
        let expires = if self.rng.percent(6) { "1s" } else { "1h" };
        let body = json!({"kind": "action", "tool": format!("shop/buy_{}", n % 7), "session": format!("s-{}", n % 11),
            "arguments": {"n": n, "items": ["a", n % 5], "deep": {"z": null, "a": true}}, "summary": format!("number {n}"),
            "context": {"call_id": format!("c-{n}")}, "expires_in": expires});
        {
            let mut board = self.board();
            board.creates_left = board.creates_left.saturating_sub(1);
        }
        let path = if claims { "/v1/requests?wait=10s&claim=true" } else { "/v1/requests" };
        let key = format!("k{}", self.count());
        let one = UnansweredCall {
            who: self.name.clone(),
            path: path.into(),
            key,
            body,
            target: Target::Create(claims),
        };
        self.send(one)
    }

    fn claim(&mut self, item: Option<Item>) -> Result<Outcome> {
        let Some(item) = item else { return Ok(idle()) };
        // Mostly the secret of the first claim, so that lost answers are asked for again. Sometimes another, so that
        // claimants race.
        let claimant = match &item.claimant {
            Some(claimant) if self.rng.percent(70) => claimant.clone(),
            _ => format!("claimant-{}-0123456789abcdef", self.count()),
        };
        if let Some(item) = self.board().get_mut(&item.id) {
            item.claimant.get_or_insert_with(|| claimant.clone());
        }
        self.act(&item, "claim", json!({"claimant": claimant}))
    }

    /// A permit in an answer is used at once: the effect is noted.
    fn granted(&self, one: &UnansweredCall, body: &Value) -> Result<()> {
        let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let permit = text("permit");
        if permit.is_empty() {
            return Ok(());
        }
        let id = match &one.target {
            Target::Act { id, .. } => id.clone(),
            Target::Create(_) => text("id"),
        };
        let claimant = one.body.get("claimant").and_then(Value::as_str).map(str::to_owned);
        let (arguments, digest) = match body.get("decision").filter(|decision| !decision.is_null()) {
            // Claimed in the create: the answer is the record with the permit.
            Some(decision) => {
                let edited = decision.get("arguments").filter(|arguments| !arguments.is_null());
                (
                    edited.or_else(|| body.get("arguments")),
                    decision.get("digest").and_then(Value::as_str).unwrap_or_default().to_owned(),
                )
            }
            None => (body.get("arguments"), text("digest")),
        };
        let arguments = arguments.cloned().unwrap_or(Value::Null);
        if let Some(item) = self.board().get_mut(&id) {
            item.permit = Some(permit.clone());
            item.claimant.clone_from(&claimant);
            if item.state == "approved" {
                item.state = "claimed".into();
            }
        }
        self.world.oracle.note(&Line::Effect { id, permit, claimant, arguments, digest })
    }

    fn report(&mut self, item: Option<Item>) -> Result<Outcome> {
        let Some(item) = item else { return Ok(idle()) };
        let status = if self.rng.percent(75) { "succeeded" } else { "failed" };
        self.act(&item, "outcome", json!({"permit": item.permit, "status": status}))
    }

    /// A reviewer that works until the server is gone.
    pub(super) fn reviewer(&mut self) -> Result<()> {
        let mut after = 0;
        while !self.world.stop.load(Ordering::Relaxed) {
            let retry = if self.rng.percent(40) { self.board().take_unanswered(&self.name) } else { None };
            let choice = self.rng.below(100);
            let outcome = if let Some(one) = retry {
                self.send(one)?
            } else if choice < 68 {
                let item = self.board().pick(&mut self.rng, |item| item.state == "pending");
                self.decide(item)?
            } else if choice < 75 {
                let item = self.board().pick(&mut self.rng, |item| item.state == "approved");
                match item {
                    Some(item) => self.act(&item, "revoke", json!({"reason": "taken back"}))?,
                    None => idle(),
                }
            } else if choice < 83 {
                // Decided already: the answer must be 409, and nothing may change.
                let item = self.board().pick(&mut self.rng, |item| item.state != "pending");
                self.decide(item)?
            } else if choice < 92 {
                self.look(&mut after)?
            } else {
                self.list()
            };
            if matches!(outcome, Outcome::Gone) {
                break;
            }
        }
        Ok(())
    }

    fn decide(&mut self, item: Option<Item>) -> Result<Outcome> {
        let Some(item) = item else { return Ok(idle()) };
        let mut body = json!({"digest": item.digest, "version": item.version});
        let word = match self.rng.below(100) {
            0..55 => "approve",
            55..70 => {
                body["arguments"] = json!({"n": item.number, "items": ["edited"], "by": self.name});
                "edit"
            }
            _ => {
                body["reason"] = json!("not this one");
                "deny"
            }
        };
        body["decision"] = json!(word);
        self.act(&item, "decision", body)
    }

    /// Decides a page of what is still pending. False when there is nothing. Used at the end of a life.
    pub(super) fn decide_all(&mut self) -> Result<bool> {
        let answer = self.http.get("/v1/requests?state=pending&limit=50", IN_TIME)?;
        let page = answer.json()?;
        let pending: Vec<Value> = page.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
        for record in &pending {
            let id = record.get("id").and_then(Value::as_str).unwrap_or_default();
            let item = {
                let mut board = self.board();
                board.learn(record);
                board.get_mut(id).cloned()
            };
            self.decide(item)?;
        }
        Ok(!pending.is_empty())
    }

    /// Repeats every operation without an answer. Used at the end of a life.
    pub(super) fn settle(&mut self) -> Result<()> {
        loop {
            let Some(mut one) = self.board().take_unanswered(&self.name) else { return Ok(()) };
            // No reviewer is active now, so waiting would be useless. The query is not part of the key.
            one.path = one.path.replace("wait=10s&", "");
            self.send(one)?;
        }
    }

    /// Reads the ledger's tail: what a reader saw must survive any kill.
    fn look(&mut self, after: &mut u64) -> Result<Outcome> {
        let Ok(answer) = self.http.get(&format!("/v1/ledger?after={after}"), IN_TIME) else {
            return Ok(Outcome::Gone);
        };
        if let Ok(page) = answer.json() {
            *after = super::chain::last(&page).unwrap_or(*after);
            self.world.oracle.note(&Line::Ledger { page })?;
        }
        Ok(Outcome::Answered)
    }

    fn list(&mut self) -> Outcome {
        let Ok(answer) = self.http.get("/v1/requests?state=pending&limit=50", IN_TIME) else {
            return Outcome::Gone;
        };
        if let Ok(page) = answer.json() {
            let mut board = self.board();
            for record in page.get("items").and_then(Value::as_array).into_iter().flatten() {
                board.learn(record);
            }
        }
        Outcome::Answered
    }

    /// A waiter until the server is gone: waits for one request, across kills, until it has learned the outcome, then
    /// takes another. Sometimes it creates and waits in one call.
    pub(super) fn waiter(&mut self, waiting: &mut Option<(u64, String)>) -> Result<()> {
        while !self.world.stop.load(Ordering::Relaxed) {
            if waiting.is_none() && self.rng.percent(15) && self.board().creates_left > 0 {
                if matches!(self.create(true)?, Outcome::Gone) {
                    return Ok(());
                }
            } else if waiting.is_some() || self.take(waiting)? {
                if matches!(self.park(waiting)?, Outcome::Gone) {
                    return Ok(());
                }
            } else {
                idle();
            }
        }
        Ok(())
    }

    /// Waits until the outcome is known. Used at the end of a life.
    pub(super) fn wait_out(&mut self, waiting: &mut Option<(u64, String)>) -> Result<()> {
        while waiting.is_some() && !matches!(self.park(waiting)?, Outcome::Gone) {}
        Ok(())
    }

    /// Chooses a request without a waiter.
    fn take(&mut self, waiting: &mut Option<(u64, String)>) -> Result<bool> {
        let item = {
            let mut board = self.board();
            let me = &self.name;
            let fits = |item: &Item| item.agent == *me && item.state == "pending" && !item.waited;
            let item = board.pick(&mut self.rng, fits);
            if let Some(item) = item.as_ref().and_then(|item| board.get_mut(&item.id)) {
                item.waited = true;
            }
            item
        };
        let Some(item) = item else { return Ok(false) };
        let waiter = self.count();
        self.world.oracle.note(&Line::Waits { waiter, id: item.id.clone() })?;
        *waiting = Some((waiter, item.id));
        Ok(true)
    }

    fn park(&mut self, waiting: &mut Option<(u64, String)>) -> Result<Outcome> {
        let Some((waiter, id)) = waiting.clone() else { return Ok(idle()) };
        let Ok(answer) = self.http.get(&format!("/v1/requests/{id}?wait=10s"), IN_TIME) else {
            return Ok(Outcome::Gone);
        };
        let record = answer.json().unwrap_or_else(|_| json!({"not_json": answer.text()}));
        if answer.status == 503
            || (answer.status == 200 && record.get("state").and_then(Value::as_str) == Some("pending"))
        {
            return Ok(Outcome::Answered);
        }
        if answer.status == 200 {
            self.world.oracle.note(&Line::Learned { waiter, record: record.clone() })?;
            self.board().learn(&record);
        } else {
            let what = format!("the waiter for {id} was answered {}: {}", answer.status, answer.text());
            self.world.oracle.note(&Line::Wrong { what })?;
        }
        *waiting = None;
        Ok(Outcome::Answered)
    }
}

/// Nothing to do just now.
fn idle() -> Outcome {
    std::thread::sleep(Duration::from_millis(2));
    Outcome::Answered
}
