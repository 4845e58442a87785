//! Events of the observability door. They are numbered, and some of them are questions to a person.

mod tail;
mod words;

use std::sync::Arc;

use placet_core::{Actor, Command, Request, RequestId, Time};
pub use tail::EventTail;
pub(crate) use tail::EventsCommitted;
pub(crate) use words::{MARK_EVERY, WordRow, Words};

use crate::{Idempotency, Outcome, Store, StoreError};

/// An event as it came in.
#[derive(Debug, Clone)]
pub struct NewEvent {
    /// The whole event as a JSON object that is not empty, without `id`.
    pub body: Arc<str>,
    /// What events can be filtered by.
    pub source_app: String,
    /// The agent's session.
    pub session_id: String,
    /// What kind of event.
    pub hook_event_type: String,
    /// When it happened, says the agent: milliseconds. Nothing is ordered by it.
    pub timestamp: i64,
}

/// An event to be stored, and the request that it makes, in one transaction.
#[derive(Debug)]
pub struct EventUnit {
    /// Who tells it.
    pub actor: Actor,
    /// The event.
    pub event: NewEvent,
    /// The request that it makes. If that is refused, the event is not stored.
    pub ask: Option<Command>,
    /// Its idempotency key.
    pub idempotency: Option<Idempotency>,
}

/// The result of storing an event.
#[derive(Debug, Clone)]
pub struct EventOutcome {
    /// Its number; none when it was refused, or when a request answers that was made before with the same key.
    pub id: Option<u64>,
    /// Whether an idempotency key answered.
    pub replayed: bool,
    /// The result of making the request.
    pub outcome: Option<Outcome>,
}

/// An event as it is stored.
#[derive(Debug, Clone)]
pub struct StoredEvent {
    /// Its number: one more than the one before.
    pub id: u64,
    /// When it came in.
    pub received_at: Time,
    /// Who told it.
    pub agent: String,
    /// The request it made.
    pub request: Option<RequestId>,
    /// The whole event as a JSON object that is not empty, without `id`.
    pub body: Arc<str>,
}

impl StoredEvent {
    /// The event as JSON, with its number, and with more fields if there are some: `"name":value,…`.
    pub fn json(&self, more: &str) -> String {
        // INVARIANT: a stored body begins with `{` and has at least one field.
        let fields = self.body.strip_prefix('{').unwrap_or("}");
        let comma = if more.is_empty() { "" } else { "," };
        format!("{{\"id\":{}{comma}{more},{fields}", self.id)
    }
}

/// An event and the request it made, as both stand.
#[derive(Debug, Clone)]
pub struct SeenEvent {
    /// The event.
    pub event: StoredEvent,
    /// The request it made.
    pub request: Option<Arc<Request>>,
}

/// The newest events, and those whose requests still wait.
#[derive(Debug, Clone)]
pub struct RecentEvents {
    /// In the order they came in.
    pub events: Vec<SeenEvent>,
    /// The newest event there was: everything up to it was looked at.
    pub last: u64,
}

/// What events can be filtered by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventWords {
    /// Every application, in order.
    pub source_apps: Vec<String>,
    /// Sessions, the last ones in order first.
    pub session_ids: Vec<String>,
    /// Every kind of event, in order.
    pub hook_event_types: Vec<String>,
}

/// An event to be written.
#[derive(Debug)]
pub(crate) struct EventRow {
    pub(crate) id: u64,
    pub(crate) at: Time,
    pub(crate) agent: String,
    pub(crate) request: Option<Arc<Request>>,
    pub(crate) source_app: String,
    pub(crate) session_id: String,
    pub(crate) hook_event_type: String,
    pub(crate) timestamp: i64,
    pub(crate) body: Arc<str>,
}

impl EventRow {
    /// The event as tails hand it out once it is committed.
    pub(crate) fn seen(&self) -> SeenEvent {
        SeenEvent {
            event: StoredEvent {
                id: self.id,
                received_at: self.at,
                agent: self.agent.clone(),
                request: self.request.as_ref().map(|request| request.id),
                body: self.body.clone(),
            },
            request: self.request.clone(),
        }
    }
}

/// Most words of each kind, and most sessions, in one answer.
pub(crate) const WORDS: u32 = 1000;
pub(crate) const SESSIONS: u32 = 300;
/// Most events with waiting requests that are listed beside the newest events.
pub(crate) const WAITING: u32 = 2000;
/// How many of the oldest events are looked at in one go when old ones are deleted.
pub(crate) const PRUNED: u32 = 1000;

impl Store {
    /// The newest events in order, and all whose requests wait.
    pub async fn recent_events(&self, limit: u32) -> Result<RecentEvents, StoreError> {
        self.readers().recent_events(limit).await
    }

    /// One event.
    pub async fn event(&self, id: u64) -> Result<Option<SeenEvent>, StoreError> {
        self.readers().event(id).await
    }

    /// The event that made a request.
    pub async fn event_of(&self, request: RequestId) -> Result<Option<StoredEvent>, StoreError> {
        self.readers().event_of(request).await
    }

    /// Events after a number, with their requests as they stand now.
    pub async fn events_after(&self, id: u64, limit: u32) -> Result<Vec<SeenEvent>, StoreError> {
        self.readers().events_after(id, limit).await
    }

    /// The number of the newest event.
    pub async fn last_event(&self) -> Result<u64, StoreError> {
        self.readers().last_event().await
    }

    /// What events can be filtered by.
    pub async fn event_words(&self) -> Result<EventWords, StoreError> {
        self.readers().event_words().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_its_stored_fields_and_its_number() {
        let event = StoredEvent {
            id: 7,
            received_at: Time::default(),
            agent: "bot".to_owned(),
            request: None,
            body: r#"{"source_app":"a","payload":{}}"#.into(),
        };
        assert_eq!(event.json(""), r#"{"id":7,"source_app":"a","payload":{}}"#);
        assert_eq!(event.json(r#""x":1"#), r#"{"id":7,"x":1,"source_app":"a","payload":{}}"#);
    }
}
