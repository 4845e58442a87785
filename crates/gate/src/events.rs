//! Events of the observability door: telling them, asking with them, reading them, and what an answer looks like to the
//! agent that asked.

use std::sync::Arc;

use placet_core::{
    Actor, Auth, Body, Command, Create, DecisionWord, Refusal, Request, Role, State, Time, door,
};
use placet_store::{
    DocumentOutcome, EventOutcome, EventTail, EventUnit, EventWords, Idempotency, NewDocument, NewEvent,
    Outcome, RecentEvents, SeenEvent, StoreError, StoredEvent,
};
use serde_json::{Map, Value, json};

use crate::{Gate, GateError, submit::Keys};

/// How long events are kept.
#[derive(Debug, Clone, Copy)]
pub struct EventRetention {
    /// At most so many.
    pub keep: u64,
    /// At most so long.
    pub keep_for: std::time::Duration,
}

impl Default for EventRetention {
    fn default() -> Self {
        Self { keep: 100_000, keep_for: std::time::Duration::from_hours(30 * 24) }
    }
}

/// An event that is stored, and the request it made.
#[derive(Debug, Clone)]
pub struct AcceptedEvent {
    /// Its number.
    pub id: u64,
    /// The request it made.
    pub request: Option<Arc<Request>>,
    /// Whether an idempotency key answered: it was stored before.
    pub replayed: bool,
}

impl Gate {
    /// Stores an event. Answers when it is durable.
    pub async fn tell(
        &self,
        actor: &Actor,
        event: NewEvent,
        idempotency: Option<Idempotency>,
    ) -> Result<AcceptedEvent, GateError> {
        let actor = self.acting(actor, &[Role::Agent])?.into_owned();
        let outcome = self.store.add_event(EventUnit { actor, event, ask: None, idempotency }).await?;
        let id = outcome.id.ok_or_else(|| GateError::refused(Refusal::Unauthorized))?;
        Ok(AcceptedEvent { id, request: None, replayed: outcome.replayed })
    }

    /// Stores an event that asks a person, and the request it makes, in one transaction.
    pub async fn tell_and_ask(
        &self,
        actor: &Actor,
        create: Create,
        event: NewEvent,
        idempotency: Option<Idempotency>,
    ) -> Result<AcceptedEvent, GateError> {
        let keys = Keys { idempotency, weak: None };
        let (submitted, id) = self.submit_with(door::EVENTS, actor, create, Some(event), keys).await?;
        let id = match id {
            Some(id) => id,
            // Made before with the same key: the event is there, unless it is so old that it was deleted.
            None => self.store.event_of(submitted.request.id).await?.ok_or_else(GateError::not_found)?.id,
        };
        Ok(AcceptedEvent { id, request: Some(submitted.request), replayed: submitted.replayed })
    }

    /// The command of a new request together with its event.
    pub(crate) async fn event_command(
        &self,
        actor: &Actor,
        event: NewEvent,
        command: Command,
        idempotency: Option<Idempotency>,
    ) -> Result<(Outcome, Option<u64>), GateError> {
        let unit = EventUnit { actor: actor.clone(), event, ask: Some(command), idempotency };
        let EventOutcome { id, outcome, .. } = self.store.add_event(unit).await?;
        let outcome = outcome.ok_or(StoreError::Unknown)?;
        match outcome.answer {
            Ok(()) => Ok((outcome, id)),
            Err(refusal) => Err(GateError::Refused { refusal, request: outcome.request }),
        }
    }

    /// Whether this caller may read all events: people who review or audit, and programs on this machine where agents
    /// need no key.
    pub fn reads_events(&self, actor: &Actor) -> Result<(), GateError> {
        if actor.auth == Auth::Open {
            return Ok(());
        }
        self.acting(actor, &[Role::Reviewer, Role::Auditor]).map(|_| ())
    }

    /// The newest events, and all whose requests wait.
    pub async fn recent_events(&self, actor: &Actor, limit: u32) -> Result<RecentEvents, GateError> {
        self.reads_events(actor)?;
        Ok(self.store.recent_events(limit).await?)
    }

    /// One event. An agent sees its own; unknown and foreign numbers answer alike.
    pub async fn event(&self, actor: &Actor, id: u64) -> Result<SeenEvent, GateError> {
        let own = actor.role == Role::Agent && actor.session.is_none();
        if !own {
            self.reads_events(actor)?;
        }
        let all = actor.auth == Auth::Open || !own;
        let found = self.store.event(id).await?;
        found.filter(|seen| all || seen.event.agent == actor.name).ok_or_else(GateError::not_found)
    }

    /// The event that made a request.
    pub async fn event_of(&self, request: &Request) -> Result<Option<StoredEvent>, GateError> {
        Ok(self.store.event_of(request.id).await?)
    }

    /// What events can be filtered by.
    pub async fn event_words(&self, actor: &Actor) -> Result<EventWords, GateError> {
        self.reads_events(actor)?;
        Ok(self.store.event_words().await?)
    }

    /// Follows events from now on.
    pub async fn event_tail(&self) -> Result<EventTail, GateError> {
        Ok(self.store.event_tail().await?)
    }

    /// All documents of a kind, as JSON: what the dashboard keeps here, such as its colour themes.
    pub async fn event_documents(&self, actor: &Actor, kind: &'static str) -> Result<Vec<String>, GateError> {
        self.reads_events(actor)?;
        Ok(self.store.documents(kind).await?)
    }

    /// Stores a document of the dashboard, unless there are as many as there may be.
    pub async fn add_event_document(
        &self,
        actor: &Actor,
        document: NewDocument,
        most: u32,
    ) -> Result<DocumentOutcome, GateError> {
        self.reads_events(actor)?;
        Ok(self.store.add_document(document, most).await?)
    }

    /// Deletes old events until those that are left may stay. Returns how many went.
    pub async fn prune_events(&self) -> Result<u64, GateError> {
        Ok(prune(&self.store, self.settings.events, self.now()).await?)
    }
}

/// Deletes old events, a bounded number in each transaction.
pub(crate) async fn prune(
    store: &placet_store::Store,
    retention: EventRetention,
    now: Time,
) -> Result<u64, StoreError> {
    let age = i64::try_from(retention.keep_for.as_micros()).unwrap_or(i64::MAX);
    let before = Time::from_micros(now.micros().saturating_sub(age));
    let mut all = 0;
    loop {
        match store.prune_events(retention.keep, before).await? {
            0 => return Ok(all),
            some => all += some,
        }
    }
}

/// What a person said, in the words of the agent that asked: `permission`, `response` or `choice`, when and who. `None`
/// as long as nobody, and no policy, has said anything.
pub fn answer(request: &Request) -> Option<Map<String, Value>> {
    let decision = request.decision.as_ref()?;
    let body = &request.content.as_ref()?.body;
    let said = decision.content.as_ref().and_then(|content| content.answer.clone());
    let (name, value) = match (body, request.state) {
        (Body::Confirmation(_), State::Approved) => ("permission", Value::Bool(true)),
        (Body::Confirmation(_), State::Denied) => ("permission", Value::Bool(false)),
        (Body::Input(input), State::Answered | State::Denied) => {
            let name = if input.input.options.is_some() { "choice" } else { "response" };
            (name, said.filter(|_| request.state == State::Answered).unwrap_or(Value::Null))
        }
        _ => return None,
    };
    let mut answer = Map::new();
    answer.insert(name.to_owned(), value);
    answer.insert("respondedAt".to_owned(), decision.at.millis().into());
    let by = if decision.by.is_empty() { "policy".to_owned() } else { decision.by.join(", ") };
    answer.insert("respondedBy".to_owned(), by.into());
    if decision.word == DecisionWord::Deny {
        answer.insert("denied".to_owned(), true.into());
        if let Some(reason) = &decision.reason {
            answer.insert("reason".to_owned(), reason.as_str().into());
        }
    }
    Some(answer)
}

/// Where a request stands, in the words of the observability dashboard.
pub fn status(request: &Request, now: Time) -> Value {
    match request.state_at(now) {
        State::Pending => json!({"status": "pending"}),
        State::Expired => json!({"status": "timeout"}),
        state => match answer(request) {
            Some(answer) => {
                json!({"status": "responded", "respondedAt": answer["respondedAt"], "response": answer})
            }
            None => json!({"status": "error", "reason": state.as_str()}),
        },
    }
}
