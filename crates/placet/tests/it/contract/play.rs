//! Plays one scenario: its running holds, its results, and its server.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use placet_client::{
    AskOutcome, Claimant, Client, CreateOptions, Decide, Error, Gated, ListQuery, OnOutage, RunError,
};
use placet_core::{Create, DecisionWord, Record, RequestId, Role, State};
use placet_ledger::canonical_string;
use placet_testkit::BOOTSTRAP;
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::Instant};

use super::{
    machines::{Server, Stub},
    script::{Deciding, Expect, Hold, Keys, OneOrMore, Status, Step, create},
};

/// The limit for an expected event. It only ends a failing scenario.
const SOON: Duration = Duration::from_mins(1);
/// How long the server may be away by default. Longer than every wait here: a refusal that is mistaken for an outage
/// would not end in time.
const OUTAGE: Duration = Duration::from_mins(2);

pub(crate) struct Play {
    server: Server,
    stub: Option<Stub>,
    agent: String,
    ann: String,
    holds: HashMap<String, Holding>,
    asked: HashMap<String, RequestId>,
    permits: HashMap<String, String>,
}

/// A hold in the background.
struct Holding {
    task: JoinSet<Outcome>,
    ran: Arc<Mutex<Vec<Value>>>,
}

impl Holding {
    fn ran(&self) -> Vec<Value> {
        self.ran.lock().expect("not poisoned").clone()
    }
}

/// The client's result for a held call.
#[derive(Debug, Default)]
struct Outcome {
    status: String,
    edited: bool,
    reason: Option<String>,
    answer: Option<Value>,
}

impl Play {
    pub(crate) async fn begin(policy: Option<&str>) -> Self {
        let server = Server::start(policy.unwrap_or("version = 1\n"));
        let admin = Client::new(&server.url(), BOOTSTRAP).expect("a client");
        let key = async |role, name| admin.create_key(role, name, None).await.expect("a key").key;
        let (agent, ann) = (key(Role::Agent, "bot").await, key(Role::Reviewer, "ann").await);
        let (holds, asked, permits) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { server, stub: None, agent, ann, holds, asked, permits }
    }

    fn client(&self, token: &str) -> Client {
        Client::new(&self.server.url(), token).expect("a client")
    }

    pub(crate) async fn step(&mut self, step: Step) {
        match step {
            Step::Hold(hold) => self.hold(hold),
            Step::Ask { r#as, call, keys, refused } => {
                let made = self.client(&self.agent).create(&create(call), options(keys)).await;
                if let Some(record) = unless_refused(made, refused) {
                    self.asked.insert(r#as, record.id);
                }
            }
            Step::Claim { of, claimant, r#as, refused } => {
                let claim =
                    self.client(&self.agent).claim_as(self.asked[&of], &Claimant::from(claimant)).await;
                if let (Some(claimed), Some(name)) = (unless_refused(claim, refused), r#as) {
                    self.permits.insert(name, claimed.permit.reveal().to_owned());
                }
            }
            Step::Cancel { reason } => {
                let newest = self.newest().await.id;
                self.client(&self.agent)
                    .cancel(newest, reason.as_deref())
                    .await
                    .expect("it can be withdrawn");
            }
            Step::Pending { count } => drop(self.pending(None, count.unwrap_or(1)).await),
            Step::Decide(decision) => self.decide(decision).await,
            Step::Revoke {} => {
                let newest = self.newest().await.id;
                self.client(&self.ann).revoke(newest, None).await.expect("it can be taken back");
            }
            Step::Kill {} => self.server.kill(),
            Step::Start {} => self.server.up(),
            Step::Stub { routes, otherwise } => self.stub = Some(Stub::start(routes, otherwise).await),
            Step::Expect(expect) => self.expect(expect).await,
            Step::NotYet { of } => {
                let holding = self.holds.get_mut(&of).expect("a hold of this name");
                assert!(holding.task.try_join_next().is_none(), "{of} is over");
                assert_eq!(holding.ran(), Vec::<Value>::new());
            }
            Step::Record { is } => self.record(&is).await,
            Step::Requests { count } => assert_eq!(self.list(ListQuery::default()).await.len(), count),
            Step::Same { of: [one, two] } => {
                assert_eq!(self.asked.get(&one), self.asked.get(&two));
                assert_eq!(self.permits.get(&one), self.permits.get(&two));
                assert!(self.asked.contains_key(&one) || self.permits.contains_key(&one));
            }
            Step::Calls { method, path, count } => {
                assert_eq!(
                    self.stub.as_ref().expect("a stub").calls(&method, &path),
                    count,
                    "{method} {path}"
                );
            }
        }
    }

    fn hold(&mut self, hold: Hold) {
        let token = match hold.token.as_deref() {
            None => &self.agent,
            Some("ann") => &self.ann,
            Some(other) => other,
        };
        let url = match hold.at.as_deref() {
            None => self.server.url(),
            Some("stub") => self.stub.as_ref().expect("a stub").url.clone(),
            Some(other) => panic!("nothing is at {other}"),
        };
        let on_outage = match hold.on_outage.as_deref() {
            None | Some("deny") => OnOutage::Deny,
            Some("raise") => OnOutage::Raise,
            Some("pause") => OnOutage::Pause,
            Some(other) => panic!("unknown word {other}"),
        };
        let client = Client::new(&url, token)
            .expect("a client")
            .with_outage_budget(hold.outage_budget.map_or(OUTAGE, Duration::from_secs_f64))
            .with_on_outage(on_outage);
        let ran = Arc::default();
        let mut task = JoinSet::new();
        task.spawn(held(client, create(hold.call), options(hold.keys), hold.fails, Arc::clone(&ran)));
        let before = self.holds.insert(hold.r#as, Holding { task, ran });
        assert!(before.is_none(), "two holds of one name");
    }

    async fn list(&self, query: ListQuery) -> Vec<Record> {
        self.client(&self.ann).list(&query).await.expect("a list").items
    }

    async fn newest(&self) -> Record {
        self.list(ListQuery::default()).await.into_iter().next().expect("a request")
    }

    /// Waits until exactly this many are pending.
    async fn pending(&self, tool: Option<&str>, count: usize) -> Vec<Record> {
        let query =
            ListQuery { state: Some(State::Pending), tool: tool.map(str::to_owned), ..ListQuery::default() };
        let until = Instant::now() + SOON;
        loop {
            let found = self.list(query.clone()).await;
            assert!(found.len() <= count, "{} are pending, not {count}", found.len());
            if found.len() == count {
                return found;
            }
            assert!(Instant::now() < until, "{} are pending, not {count}", found.len());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn decide(&self, decision: Deciding) {
        let record = if decision.first {
            let query = ListQuery { state: Some(State::Pending), ..ListQuery::default() };
            let found = self.list(query).await.into_iter().min_by_key(|record| record.created_at);
            found.expect("something is pending")
        } else {
            self.pending(decision.tool.as_deref(), 1).await.remove(0)
        };
        let decide = match decision.decision {
            DecisionWord::Approve => Decide::approve(&record),
            DecisionWord::Edit => Decide::edit(&record, decision.arguments.expect("arguments of an edit")),
            DecisionWord::Deny => Decide::deny(&record, ""),
            DecisionWord::Respond => Decide::respond(&record, decision.answer.expect("an answer")),
        };
        let decide = decide.with_reason(decision.reason.unwrap_or_default());
        unless_refused(self.client(&self.ann).decide(record.id, &decide).await, decision.refused);
    }

    async fn expect(&mut self, expect: Expect) {
        let names = match expect.of {
            OneOrMore::One(name) => vec![name],
            OneOrMore::More(names) => names,
        };
        let (mut statuses, mut ran) = (Vec::new(), Vec::new());
        for name in &names {
            let mut holding = self.holds.remove(name).expect("a hold of this name");
            let ended = tokio::time::timeout(SOON, holding.task.join_next()).await;
            let outcome =
                ended.unwrap_or_else(|_| panic!("{name} goes on")).expect("one task").expect("it ends well");
            ran.extend(holding.ran());
            if let Some(edited) = expect.edited {
                assert_eq!(outcome.edited, edited, "{name}: {outcome:?}");
            }
            if let Some(reason) = &expect.reason {
                assert_eq!(outcome.reason.as_ref(), Some(reason), "{name}: {outcome:?}");
            }
            if let Some(answer) = &expect.answer {
                assert_eq!(form(outcome.answer.as_ref().unwrap_or(&Value::Null)), form(answer), "{name}");
            }
            statuses.push(outcome.status);
        }
        match expect.status {
            Status::Is(status) => assert_eq!(statuses, [status]),
            Status::OneOf { one_of } => {
                assert!(statuses.iter().all(|status| one_of.contains(status)), "{statuses:?}");
            }
            Status::Are(mut wanted) => {
                wanted.sort_unstable();
                statuses.sort_unstable();
                assert_eq!(statuses, wanted);
            }
        }
        let forms = |values: &[Value]| values.iter().map(form).collect::<Vec<_>>();
        assert_eq!(forms(&ran), forms(&expect.ran), "what ran");
    }

    async fn record(&self, is: &Value) {
        let until = Instant::now() + SOON;
        loop {
            let found = serde_json::to_value(self.newest().await).expect("a record");
            if fits(&found, is) {
                return;
            }
            assert!(Instant::now() < until, "the record is {found:#}, and should be {is}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Ask, wait, claim, run, report.
async fn held(
    client: Client,
    create: Create,
    options: CreateOptions,
    fails: Option<String>,
    ran: Arc<Mutex<Vec<Value>>>,
) -> Outcome {
    let word = |status: &str| Outcome { status: status.to_owned(), ..Outcome::default() };
    let record = match client.ask_with(&create, options).await {
        Ok(AskOutcome::Decided(record)) => *record,
        Ok(AskOutcome::Unreached { .. }) => return word("unreachable"),
        Err(error) => return word(refusal(&error)),
    };
    let decision = record.decision.clone();
    let run = async |arguments| {
        ran.lock().expect("not poisoned").push(Value::Object(arguments));
        fails.map_or_else(|| Ok(json!({"ok": true})), Err)
    };
    let status = match client.run_approved(record, run).await {
        Ok(Gated::Ran { .. }) | Err(RunError::Failed { .. } | RunError::Unreported { .. }) => "approved",
        Ok(Gated::Unreached { .. }) => "unreachable",
        Ok(Gated::Refused(record)) => match record.state {
            // The permit was claimed before, and its use is unknown here.
            State::Claimed | State::Succeeded | State::Failed | State::Unknown => "unknown",
            state => state.as_str(),
        },
        Err(RunError::NotRun(error)) => refusal(&error),
    };
    let mut outcome = word(status);
    if let Some(decision) = decision {
        outcome.edited = decision.decision == DecisionWord::Edit;
        (outcome.reason, outcome.answer) = (decision.reason, decision.answer);
    }
    outcome
}

fn refusal(error: &Error) -> &'static str {
    if error.code() == Some("already_claimed") { "unknown" } else { "error" }
}

fn options(keys: Keys) -> CreateOptions {
    CreateOptions { idempotency_key: keys.strong, weak_key: keys.weak, ..CreateOptions::default() }
}

/// The result of a call. None if it was refused as expected.
fn unless_refused<T: std::fmt::Debug>(result: Result<T, Error>, refused: Option<String>) -> Option<T> {
    match (result, refused) {
        (Ok(done), None) => Some(done),
        (Err(error), Some(code)) => {
            assert_eq!(error.code(), Some(code.as_str()), "{error}");
            None
        }
        (result, refused) => panic!("{result:?}, and it should be {refused:?}"),
    }
}

/// Numbers count by value.
fn form(value: &Value) -> String {
    canonical_string(value).expect("a canonical form")
}

/// In objects only the named fields count. Everything else must be equal.
fn fits(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (Value::Object(found), Value::Object(wanted)) => {
            wanted.iter().all(|(name, value)| found.get(name).is_some_and(|found| fits(found, value)))
        }
        (found, wanted) => form(found) == form(wanted),
    }
}
