//! A store without a gate: nothing happens here that a test did not ask for.

use std::{sync::Arc, time::Duration};

use placet_core::{
    Actor, AdminCommand, Auth, Cancel, Claim, Command, Decide, DecisionWord, Digest, Expire, Report,
    ReportStatus, Request, RequestId, Role,
};
use placet_store::{
    AdminOutcome, Clock as _, CommandUnit, Idempotency, LedgerRow, Options, Outcome, Store, StoreError,
};
use placet_testkit::{Backend, FakeClock, Place, one, submit, until};
use serde_json::{Value, json};

/// An open store, its clock and its place.
pub(crate) struct Shop {
    pub(crate) place: Arc<Place>,
    pub(crate) clock: Arc<FakeClock>,
    pub(crate) store: Arc<Store>,
}

impl Shop {
    /// With the reviewers `ann` and `bob`, and agents that need no key.
    pub(crate) async fn open(backend: Backend) -> Self {
        Self::telling(backend, &[]).await
    }

    /// The same, with channels that are told of every change.
    pub(crate) async fn telling(backend: Backend, channels: &[&str]) -> Self {
        let channels = channels.iter().map(|channel| (*channel).to_owned()).collect();
        Self::with(backend, |options| options.channels = channels).await
    }

    /// The same, with changed options.
    pub(crate) async fn with(backend: Backend, change: impl FnOnce(&mut Options)) -> Self {
        let (place, clock) = (Arc::new(Place::new(backend).await), Arc::new(FakeClock::new()));
        let mut options = place.options(clock.clone());
        change(&mut options);
        let store = Arc::new(Store::open(options).await.unwrap());
        let shop = Self { place, clock, store };
        for name in ["ann", "bob"] {
            shop.admin(AdminCommand::PutPerson {
                name: name.to_owned(),
                roles: [Role::Reviewer].into(),
                teams: [].into(),
            })
            .await;
        }
        shop
    }

    /// Another server on the same database. It never looks by itself, so it learns of commits by being told alone.
    pub(crate) async fn another_node(&self) -> Self {
        let mut options = self.place.options(self.clock.clone());
        options.safety_poll = Duration::from_hours(1);
        let store = Store::open(options).await.unwrap();
        Self { place: self.place.clone(), clock: self.clock.clone(), store: Arc::new(store) }
    }

    /// Closes the store and opens it again.
    pub(crate) async fn reopen(self) -> Self {
        let Self { place, clock, store } = self;
        store.close().await;
        drop(Arc::into_inner(store).expect("nobody else holds the store"));
        let store = Store::open(place.options(clock.clone())).await.unwrap();
        Self { place, clock, store: Arc::new(store) }
    }

    /// Closes the store; what is left must verify.
    pub(crate) async fn finish(self) {
        self.store.close().await;
        self.place.verify().await.unwrap();
    }

    pub(crate) async fn admin(&self, command: AdminCommand) {
        let outcome = self.store.admin(Actor::system(), command, None).await.unwrap();
        assert_eq!(outcome, AdminOutcome::Applied);
    }

    /// A new request, not yet given to the store.
    pub(crate) fn new_request(&self, agent: &Actor) -> Command {
        submit(agent, self.clock.now(), action("delete_files"))
    }

    /// One command that must be applied.
    pub(crate) async fn done(&self, actor: &Actor, command: Command) -> Arc<Request> {
        let outcome = self.give(actor, command, None).await.unwrap();
        assert_eq!(outcome.answer, Ok(()));
        outcome.request.unwrap()
    }

    pub(crate) async fn give(
        &self,
        actor: &Actor,
        command: Command,
        idempotency: Option<Idempotency>,
    ) -> Result<Outcome, StoreError> {
        one(&self.store, actor, command, idempotency).await
    }

    pub(crate) async fn ask(&self, agent: &Actor) -> Arc<Request> {
        self.done(agent, self.new_request(agent)).await
    }

    pub(crate) async fn approved(&self, agent: &Actor) -> Arc<Request> {
        let request = self.ask(agent).await;
        self.done(&ann(), decide(&request, DecisionWord::Approve)).await
    }

    pub(crate) async fn claimed(&self, agent: &Actor) -> Arc<Request> {
        let request = self.approved(agent).await;
        self.done(agent, claim(request.id, 1)).await
    }

    pub(crate) async fn read(&self, id: RequestId) -> Request {
        Arc::unwrap_or_clone(self.store.get(id).await.unwrap().unwrap())
    }

    /// The whole ledger.
    pub(crate) async fn ledger(&self) -> Vec<LedgerRow> {
        let mut rows: Vec<LedgerRow> = Vec::new();
        loop {
            let page = self.store.ledger(rows.last().map_or(0, |row| row.seq), 1000).await.unwrap();
            if page.is_empty() {
                return rows;
            }
            rows.extend(page);
        }
    }

    /// Queues units, in order, while the writer is kept from writing: the first is in its hands, the others wait together.
    pub(crate) async fn queue_up(&self, units: Vec<CommandUnit>) -> Vec<Result<Vec<Outcome>, StoreError>> {
        self.queue_all(units.into_iter().map(|unit| self.store.commands(unit))).await
    }

    /// The same for any work of the writer.
    pub(crate) async fn queue_all<F: Future>(&self, units: impl IntoIterator<Item = F>) -> Vec<F::Output> {
        let held = self.place.hold().await;
        let mut running: Vec<_> = Vec::new();
        for unit in units {
            let mut run = Box::pin(unit);
            // A unit enters the queue when it is first polled.
            assert!(futures_util::poll!(&mut run).is_pending());
            if running.is_empty() {
                until("the writer to take the first unit", async || self.store.queued() == 0).await;
            }
            running.push(run);
        }
        assert_eq!(self.store.queued(), running.len() - 1);
        drop(held);
        futures_util::future::join_all(running).await
    }
}

pub(crate) fn action(tool: &str) -> Value {
    json!({"kind": "action", "session": "s", "tool": tool, "arguments": {"files": ["report.md"]}})
}

/// An agent on this machine, which needs no key.
pub(crate) fn bot(name: &str) -> Actor {
    Actor { name: name.to_owned(), role: Role::Agent, key: None, session: None, auth: Auth::Open }
}

pub(crate) fn person(name: &str) -> Actor {
    Actor { name: name.to_owned(), role: Role::Reviewer, key: None, session: None, auth: Auth::Session }
}

pub(crate) fn ann() -> Actor {
    person("ann")
}

pub(crate) fn decide(request: &Request, word: DecisionWord) -> Command {
    Command::Decide(Box::new(Decide {
        id: request.id,
        word,
        digest: request.current_digest(),
        version: request.version,
        reason: Some("because".to_owned()),
        proposal: None,
        ruling: None,
        remember: None,
        claimed: None,
        view: None,
        display: None,
        viewed: placet_core::Viewed::Unsaid,
    }))
}

pub(crate) fn claim(id: RequestId, permit: u8) -> Command {
    Command::Claim(Claim { id, permit: Digest::new([permit; 32]), claimant: None, confines: false })
}

pub(crate) fn report(id: RequestId, permit: u8) -> Command {
    Command::Report(Report {
        id,
        permit: Digest::new([permit; 32]),
        status: ReportStatus::Succeeded,
        result_digest: None,
        note: Some("done".to_owned()),
        unconfined: false,
    })
}

pub(crate) fn cancel(id: RequestId) -> Command {
    Command::Cancel(Cancel { id, reason: None })
}

pub(crate) fn expire(id: RequestId) -> Command {
    Command::Expire(Expire { id })
}

/// What an entry says.
pub(crate) fn entry(row: &LedgerRow) -> Value {
    serde_json::from_str(&row.text).unwrap()
}
