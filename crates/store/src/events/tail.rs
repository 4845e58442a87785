//! Every event once, in order, on every node: this node's own from memory, what others wrote from the database.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use tokio::sync::{broadcast, watch};

use super::SeenEvent;
use crate::{StoreError, read::Readers, tail::Hint};

/// What one commit of this node brought.
pub(crate) type EventsCommitted = Arc<[SeenEvent]>;

/// Where a tail hears of commits: of this node, and of others.
pub(crate) type EventHandover = (broadcast::Receiver<EventsCommitted>, watch::Receiver<Hint>);

/// How far a reader of events has come.
#[derive(Debug)]
pub struct EventTail {
    cursor: u64,
    own: broadcast::Receiver<EventsCommitted>,
    // Raised by another node's NOTIFY; a hint to look, never more.
    hint: watch::Receiver<Hint>,
    noticed: u64,
    readers: Arc<Readers>,
    poll: Option<Duration>,
    ready: VecDeque<SeenEvent>,
    // There may be events that only the database knows. Set before any await.
    behind: bool,
}

/// Events read back at a time.
const PAGE: u32 = 64;

impl EventTail {
    pub(crate) fn new(
        cursor: u64,
        own: broadcast::Receiver<EventsCommitted>,
        hint: watch::Receiver<Hint>,
        readers: Arc<Readers>,
        poll: Option<Duration>,
    ) -> Self {
        Self { cursor, own, hint, noticed: 0, readers, poll, ready: VecDeque::new(), behind: true }
    }

    /// The last event that was handed out.
    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// The next event. Waits until there is one. Cancel safe: an event is handed out or still ready.
    pub async fn next(&mut self) -> Result<SeenEvent, StoreError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.cursor = event.event.id;
                return Ok(event);
            }
            self.fill().await?;
        }
    }

    async fn fill(&mut self) -> Result<(), StoreError> {
        if self.behind {
            let page = self.readers.events_after(self.cursor, PAGE).await?;
            // A full page means that there is more.
            self.behind = page.len() == PAGE as usize;
            self.ready.extend(page);
            return Ok(());
        }
        let poll = self.poll;
        let pause = async move {
            match poll {
                Some(gap) => tokio::time::sleep(gap).await,
                None => std::future::pending().await,
            }
        };
        let closed = || Err(StoreError::Stopped("the store was closed".to_owned()));
        tokio::select! {
            biased;
            own = self.own.recv() => match own {
                Ok(committed) => self.take(&committed),
                Err(broadcast::error::RecvError::Lagged(_)) => self.behind = true,
                Err(broadcast::error::RecvError::Closed) => return closed(),
            },
            changed = self.hint.changed() => match changed {
                Ok(()) => {
                    let hint = *self.hint.borrow_and_update();
                    self.behind = hint.events > self.cursor || hint.connections != self.noticed;
                    self.noticed = hint.connections;
                }
                Err(_) => return closed(),
            },
            () = pause => self.behind = true,
        }
        Ok(())
    }

    fn take(&mut self, committed: &EventsCommitted) {
        match (committed.first(), committed.last()) {
            (Some(first), _) if first.event.id == self.cursor + 1 => {
                self.ready.extend(committed.iter().cloned());
            }
            // Already read from the database.
            (_, Some(last)) if last.event.id <= self.cursor => {}
            _ => self.behind = true,
        }
    }
}
