//! Store and gate on a database of their own, with a clock that tests move, and the actors that use them.

use std::{
    collections::HashMap,
    path::PathBuf,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
};

use placet_core::{Actor, Create, DecisionWord, KeyId, Request, RequestId, Role};
use placet_gate::{Decision, Gate, GateError, NewEvent, NewKey, PersonSpec, SeenEvent, Settings, Submitted};
use placet_store::{Store, StoreError};
use serde_json::{Map, Value, json};

use crate::{Backend, FakeClock, Place, SeededEntropy, found};

/// The policy of a kit unless a test puts another: a person must see everything.
pub const HOLD_EVERYTHING: &str = r#"version = 1

[[rule]]
name = "hold-everything"
effect = "hold"
kind = ["action", "plan", "input", "confirmation"]
reason = "every request waits for a person"
"#;

/// The secret of the first admin.
pub const BOOTSTRAP: &str = "bootstrap-secret-of-the-first-admin-in-tests";

/// How a kit is started.
#[derive(Debug)]
pub struct Setup {
    /// Where.
    pub place: Arc<Place>,
    /// When.
    pub clock: Arc<FakeClock>,
    /// The gate's settings.
    pub settings: Settings,
    /// Channels that deliver every change.
    pub channels: Vec<String>,
    /// Where acknowledged entries are remembered outside the database.
    pub state: Option<PathBuf>,
}

impl Setup {
    /// The default one, on a new place.
    pub async fn new(backend: Backend) -> Self {
        Self {
            place: Arc::new(Place::new(backend).await),
            clock: Arc::new(FakeClock::new()),
            settings: Settings { policy: HOLD_EVERYTHING.to_owned(), ..Settings::default() },
            channels: Vec::new(),
            state: None,
        }
    }

    /// Opens store and gate.
    pub async fn start(self) -> Kit {
        let gate = self.open().await.expect("the store opens");
        gate.bootstrap(BOOTSTRAP.to_owned()).await.expect("the first admin can be made");
        let admin = gate
            .authenticate(BOOTSTRAP)
            .await
            .expect("keys can be read")
            .expect("the first admin's key works");
        Kit { setup: self, gate: Some(gate), admin, tokens: Mutex::default() }
    }

    async fn open(&self) -> Result<Gate, StoreError> {
        let mut options = self.place.options(self.clock.clone());
        options.channels.clone_from(&self.channels);
        options.state.clone_from(&self.state);
        let store = Store::open(options).await?;
        let entropy = Arc::new(SeededEntropy::default());
        let gate = Gate::start(Arc::new(store), entropy, self.settings.clone()).await;
        Ok(gate.expect("the gate starts on an open store"))
    }
}

/// Store, gate and their actors. End with [`Kit::finish`], which checks what must hold after every test.
#[derive(Debug)]
pub struct Kit {
    setup: Setup,
    // None only while it is being reopened.
    gate: Option<Gate>,
    admin: Actor,
    tokens: Mutex<HashMap<KeyId, String>>,
}

impl Kit {
    /// Usual settings.
    pub async fn start(backend: Backend) -> Self {
        Setup::new(backend).await.start().await
    }

    /// With changed settings.
    pub async fn with(backend: Backend, change: impl FnOnce(&mut Settings)) -> Self {
        let mut setup = Setup::new(backend).await;
        change(&mut setup.settings);
        setup.start().await
    }

    /// Another server on the same Postgres, with the same clock.
    pub async fn another_node(&self) -> Self {
        let setup = Setup {
            place: self.setup.place.clone(),
            clock: self.setup.clock.clone(),
            settings: self.setup.settings.clone(),
            channels: self.setup.channels.clone(),
            state: self.setup.state.clone(),
        };
        setup.start().await
    }

    /// Makes a change, and then commits a call of another node that was judged before it learned of the change. Both
    /// wait for the database while the call is judged, and the change is first. On Postgres.
    pub fn overtaking<A, B>(
        &self,
        change: impl Future<Output = A>,
        call: impl Future<Output = B>,
    ) -> impl Future<Output = (A, B)> {
        self.overtaken(Box::pin(change), Box::pin(call))
    }

    async fn overtaken<A, B>(
        &self,
        mut change: Pin<Box<impl Future<Output = A>>>,
        mut call: Pin<Box<impl Future<Output = B>>>,
    ) -> (A, B) {
        let held = self.place().hold().await;
        tokio::select! {
            _ = &mut change => panic!("the change was committed while the database was held"),
            () = self.place().held_up(1) => {}
        }
        tokio::select! {
            _ = &mut call => panic!("the call was committed while the database was held"),
            () = self.place().held_up(2) => {}
        }
        drop(held);
        tokio::join!(change, call)
    }

    /// Closes store and gate and opens them again in the same place, at the same time.
    pub async fn restart(&mut self) {
        self.restart_after(async || ()).await;
    }

    /// The same, with something done while the database is closed.
    pub async fn restart_after<T>(&mut self, meanwhile: impl AsyncFnOnce() -> T) -> T {
        self.gate().close().await;
        self.gate = None;
        let done = meanwhile().await;
        let what = "the old store to be let go: drop clones of the gate before a restart";
        let opened = found(what, async || match self.setup.open().await {
            Ok(gate) => Some(gate),
            // A cancelled call may still hold the old store.
            Err(StoreError::Locked(_)) => None,
            Err(error) => panic!("the store does not open again: {error}"),
        });
        let gate = opened.await;
        self.gate = Some(gate);
        done
    }

    /// The gate.
    pub fn gate(&self) -> &Gate {
        self.gate.as_ref().expect("the gate is open between calls")
    }

    /// The store underneath.
    pub fn store(&self) -> &Store {
        self.gate().store()
    }

    /// The clock.
    pub fn clock(&self) -> &Arc<FakeClock> {
        &self.setup.clock
    }

    /// Where the data is.
    pub fn place(&self) -> &Arc<Place> {
        &self.setup.place
    }

    /// Which database.
    pub fn backend(&self) -> Backend {
        self.setup.place.backend()
    }

    /// The first admin.
    pub fn admin(&self) -> &Actor {
        &self.admin
    }

    /// Puts another policy in force, as the first admin.
    pub async fn put_policy(&self, text: &str) -> String {
        match self.gate().put_policy(&self.admin, text, "test", None).await {
            Ok(put) => put.hash,
            Err(error) => panic!("the policy cannot be put: {error}"),
        }
    }

    /// Makes a key.
    pub async fn key(&self, role: Role, name: &str, owner: Option<&str>) -> Actor {
        let new = NewKey { role, name: name.to_owned(), owner: owner.map(str::to_owned) };
        let made = self.gate().create_key(&self.admin, new, None).await.expect("the key can be made");
        let secret = made.secret.expect("a new key is shown");
        let actor =
            self.gate().authenticate(&secret).await.expect("keys can be read").expect("a new key works");
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner).insert(made.id, secret);
        actor
    }

    /// The secret of a key that this kit made.
    pub fn token(&self, actor: &Actor) -> String {
        if *actor == self.admin {
            return BOOTSTRAP.to_owned();
        }
        let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        actor.key.and_then(|key| tokens.get(&key).cloned()).expect("a key that this kit made")
    }

    /// An agent.
    pub async fn agent(&self, name: &str) -> Actor {
        self.key(Role::Agent, name, None).await
    }

    /// An agent with an owner.
    pub async fn agent_of(&self, name: &str, owner: &str) -> Actor {
        self.key(Role::Agent, name, Some(owner)).await
    }

    /// A reviewer of no team.
    pub async fn reviewer(&self, name: &str) -> Actor {
        self.key(Role::Reviewer, name, None).await
    }

    /// The same person in a session whose browser signed the call.
    pub fn bound(actor: &Actor) -> Actor {
        Actor { auth: placet_core::Auth::Bound, ..actor.clone() }
    }

    /// The step-up code for such a person.
    pub fn code(&self, actor: &Actor, request: &Request) -> String {
        self.gate().step_up_code(&Self::bound(actor), request).expect("a code")
    }

    /// A reviewer of these teams.
    pub async fn reviewer_in(&self, name: &str, teams: &[&str]) -> Actor {
        let actor = self.reviewer(name).await;
        let teams = teams.iter().map(|team| (*team).to_owned()).collect();
        let person = PersonSpec { roles: [Role::Reviewer].into(), teams };
        self.gate()
            .put_person(&self.admin, name.to_owned(), person, None)
            .await
            .expect("the person can be put");
        actor
    }

    /// Somebody who reads.
    pub async fn auditor(&self, name: &str) -> Actor {
        self.key(Role::Auditor, name, None).await
    }

    /// Stops an actor's key.
    pub async fn revoke_key(&self, actor: &Actor) {
        let key = actor.key.expect("an actor with a key");
        self.gate().revoke_key(&self.admin, key, false).await.expect("the key can be revoked");
    }

    /// Asks, with the body of a create call.
    pub async fn create(&self, agent: &Actor, body: Value) -> Result<Submitted, GateError> {
        self.gate().submit(agent, create(body), None).await
    }

    /// Asks for an action that a person must approve.
    pub async fn ask(&self, agent: &Actor) -> Arc<Request> {
        self.create(agent, action()).await.expect("an ordinary action can be asked for").request
    }

    /// Asks for an ordinary action through a door.
    pub async fn ask_from(&self, source: &str, agent: &Actor) -> Arc<Request> {
        let asked = self.gate().submit_from(source, agent, create(action()), None).await;
        asked.expect("an ordinary action can be asked for").request
    }

    /// Creates a request by an event whose answer goes to this address, as the reviewer sees it.
    pub async fn ask_in_an_event(&self, agent: &Actor, reviewer: &Actor, url: &str) -> SeenEvent {
        let body = json!({"kind": "confirmation", "session": "s", "message": "May I?", "context": {"answer_to": url}});
        let event = NewEvent {
            body: json!({"session_id": "s"}).to_string().into(),
            source_app: "app".to_owned(),
            session_id: "s".to_owned(),
            hook_event_type: "HumanInTheLoop".to_owned(),
            timestamp: 1,
        };
        let told = self.gate().tell_and_ask(agent, create(body), event, None).await;
        let told = told.expect("an ordinary question can be asked");
        self.gate().event(reviewer, told.id).await.expect("a reviewer sees it")
    }

    /// Asks for an action and has it approved.
    pub async fn approved(&self, agent: &Actor, reviewer: &Actor) -> Arc<Request> {
        let request = self.ask(agent).await;
        self.approve(reviewer, &request).await.expect("an ordinary action can be approved")
    }

    /// Approves what is on the record.
    pub async fn approve(&self, reviewer: &Actor, request: &Request) -> Result<Arc<Request>, GateError> {
        self.gate().decide(reviewer, Decision::on(request, DecisionWord::Approve)).await
    }

    /// Denies it.
    pub async fn deny(&self, reviewer: &Actor, request: &Request) -> Result<Arc<Request>, GateError> {
        let decision =
            Decision { reason: Some("not today".to_owned()), ..Decision::on(request, DecisionWord::Deny) };
        self.gate().decide(reviewer, decision).await
    }

    /// Approves with other arguments.
    pub async fn edit(
        &self,
        reviewer: &Actor,
        request: &Request,
        arguments: Value,
    ) -> Result<Arc<Request>, GateError> {
        let decision =
            Decision { arguments: Some(object(arguments)), ..Decision::on(request, DecisionWord::Edit) };
        self.gate().decide(reviewer, decision).await
    }

    /// Answers a question.
    pub async fn answer(
        &self,
        reviewer: &Actor,
        request: &Request,
        answer: Value,
    ) -> Result<Arc<Request>, GateError> {
        let decision = Decision { answer: Some(answer), ..Decision::on(request, DecisionWord::Respond) };
        self.gate().decide(reviewer, decision).await
    }

    /// The record as it stands.
    pub async fn read(&self, id: RequestId) -> Request {
        let found = self.store().get(id).await.expect("records can be read").expect("the request exists");
        Arc::unwrap_or_clone(found)
    }

    /// Closes everything, and checks what must hold after every test: no waiter is left, the chain verifies, and the
    /// tables agree with the ledger.
    pub async fn finish(mut self) {
        let gate = self.gate.take().expect("the gate is open between calls");
        assert_eq!(gate.waiting(), 0, "a waiter was left behind");
        gate.close().await;
        drop(gate);
        if let Err(error) = self.setup.place.verify().await {
            panic!("what the test left behind does not verify: {error}");
        }
    }

    /// Closes everything without the checks, for tests that have broken something on purpose.
    pub async fn abandon(mut self) {
        if let Some(gate) = self.gate.take() {
            gate.close().await;
        }
    }
}

impl Drop for Kit {
    fn drop(&mut self) {
        assert!(self.gate.is_none() || std::thread::panicking(), "a kit must end with `finish` or `abandon`");
    }
}

/// The body of a create call, as a type.
fn create(body: Value) -> Create {
    serde_json::from_value(body).expect("the body of a create call")
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("expected an object, not {other}"),
    }
}

/// An ordinary action.
fn action() -> Value {
    json!({"kind": "action", "session": "s", "tool": "delete_files", "arguments": {"files": ["report.md"]}})
}

impl Kit {
    /// A decision on the record as it was read. Tests can change it before they send it.
    pub fn decision(request: &Request, word: DecisionWord) -> Decision {
        Decision::on(request, word)
    }

    /// The body of a create call, as a type.
    pub fn body(value: Value) -> Create {
        create(value)
    }
}
