//! The part of a batch that is about events of the observability door.

use super::Batch;
use crate::{
    EventOutcome, EventUnit, StoreError,
    events::EventRow,
    rows::{AnswerRow, parse},
};

impl Batch {
    /// Takes an event, and makes its request if it has one. A refused request leaves no event behind.
    pub(crate) fn event(&mut self, unit: &EventUnit) -> Result<EventOutcome, StoreError> {
        let EventUnit { actor, event, ask, idempotency } = unit;
        let outcome = match ask {
            Some(command) => Some(self.command(actor, command, idempotency.as_ref())?),
            None => None,
        };
        let replayed = outcome.as_ref().is_some_and(|outcome| outcome.replayed);
        let refused = outcome.as_ref().is_some_and(|outcome| outcome.answer.is_err());
        // The key may have been revoked since it was checked at the door.
        let revoked = actor.key.is_some_and(|key| self.directory.live_key(key).is_none());
        if replayed || refused || revoked {
            return Ok(EventOutcome { id: None, replayed, outcome });
        }
        if let (None, Some(idempotency)) = (ask, idempotency) {
            if let Some(known) = self.answers.get(&idempotency.scope) {
                if known.body != idempotency.body {
                    return Err(StoreError::KeyReused);
                }
                let id = known.answer.as_deref().map(parse::<u64>).transpose()?;
                return Ok(EventOutcome { id, replayed: true, outcome: None });
            }
            self.remember(AnswerRow {
                scope: idempotency.scope,
                body: idempotency.body,
                request: None,
                answer: Some((self.last_event + 1).to_string()),
                stored: false,
            });
        }
        self.last_event += 1;
        self.events.push(EventRow {
            id: self.last_event,
            at: self.now,
            agent: actor.name.clone(),
            request: outcome.as_ref().and_then(|outcome| outcome.request.clone()),
            source_app: event.source_app.clone(),
            session_id: event.session_id.clone(),
            hook_event_type: event.hook_event_type.clone(),
            timestamp: event.timestamp,
            body: event.body.clone(),
        });
        Ok(EventOutcome { id: Some(self.last_event), replayed: false, outcome })
    }
}
