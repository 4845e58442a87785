//! Every event once, in order, on every node.

use std::sync::Arc;

use super::SeenEvent;
use crate::{
    StoreError,
    follow::{Follower, Hint, Numbered},
    read::Readers,
};

/// What one commit of this node brought.
pub(crate) type EventsCommitted = Arc<[SeenEvent]>;

impl Numbered for SeenEvent {
    // Each may be a mebibyte.
    const PAGE: u32 = 64;

    fn number(&self) -> u64 {
        self.event.id
    }

    fn hinted(hint: Hint) -> u64 {
        hint.events
    }

    fn after(
        readers: &Readers,
        number: u64,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<Self>, StoreError>> + Send {
        readers.events_after(number, limit)
    }
}

/// A reader of events, and how far it has come.
#[derive(Debug)]
pub struct EventTail(pub(crate) Follower<SeenEvent>);

impl EventTail {
    /// The last event that was handed out.
    pub fn cursor(&self) -> u64 {
        self.0.cursor()
    }

    /// The next event. Waits until there is one. Cancel safe: an event is handed out or still ready.
    pub async fn next(&mut self) -> Result<SeenEvent, StoreError> {
        self.0.next().await
    }
}
