//! Followers of the ledger and of events: each item once, in order, from any cursor, on every node. Commits of this node
//! arrive in memory. What a follower missed is read from the database: commits of other nodes, or items it was too slow for.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use tokio::sync::{broadcast, watch};

use crate::{StoreError, history::until_lost, read::Readers};

/// What was heard of other nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Hint {
    /// There are entries up to this one.
    pub(crate) upto: u64,
    /// There are events up to this one.
    pub(crate) events: u64,
    /// One more with every new connection: something may have been missed before it.
    pub(crate) connections: u64,
}

/// What can be followed: numbered without gaps in the order of commits, and read back by number.
pub(crate) trait Numbered: Clone + Send + Sync {
    /// How many are read back at a time.
    const PAGE: u32;

    fn number(&self) -> u64;

    /// Up to which number there is something, as far as was heard of other nodes.
    fn hinted(hint: Hint) -> u64;

    fn after(
        readers: &Readers,
        number: u64,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<Self>, StoreError>> + Send;
}

/// How far a reader has come.
#[derive(Debug)]
pub(crate) struct Follower<T> {
    cursor: u64,
    own: broadcast::Receiver<Arc<[T]>>,
    // Raised by another node's NOTIFY; a hint to look, never more.
    hint: watch::Receiver<Hint>,
    // The last new connection of the listener that was noticed.
    noticed: u64,
    readers: Arc<Readers>,
    // A reader must not wait for entries that are never going to come.
    lost: watch::Receiver<Option<String>>,
    poll: Option<Duration>,
    ready: VecDeque<T>,
    // There may be something that only the database knows. Set before any await, so that nothing is lost when a
    // reader gives up in between.
    behind: bool,
}

impl<T: Numbered> Follower<T> {
    pub(crate) fn new(
        cursor: u64,
        own: broadcast::Receiver<Arc<[T]>>,
        hint: watch::Receiver<Hint>,
        readers: Arc<Readers>,
        lost: watch::Receiver<Option<String>>,
        poll: Option<Duration>,
    ) -> Self {
        // Look once at the beginning: a cursor from earlier may be far behind.
        Self { cursor, own, hint, noticed: 0, readers, lost, poll, ready: VecDeque::new(), behind: true }
    }

    /// The number of what was handed out last.
    pub(crate) fn cursor(&self) -> u64 {
        self.cursor
    }

    /// What comes next. Waits until there is something. Cancel safe: it is handed out or still ready.
    pub(crate) async fn next(&mut self) -> Result<T, StoreError> {
        loop {
            if let Some(next) = self.ready.pop_front() {
                self.cursor = next.number();
                return Ok(next);
            }
            self.fill().await?;
        }
    }

    async fn fill(&mut self) -> Result<(), StoreError> {
        if self.behind {
            let page = T::after(&self.readers, self.cursor, T::PAGE).await?;
            // A full page means that there is more.
            self.behind = page.len() == T::PAGE as usize;
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
            error = until_lost(&mut self.lost) => return Err(error),
            own = self.own.recv() => match own {
                Ok(committed) => self.take(&committed),
                Err(broadcast::error::RecvError::Lagged(_)) => self.behind = true,
                Err(broadcast::error::RecvError::Closed) => return closed(),
            },
            changed = self.hint.changed() => match changed {
                Ok(()) => {
                    let hint = *self.hint.borrow_and_update();
                    self.behind = T::hinted(hint) > self.cursor || hint.connections != self.noticed;
                    self.noticed = hint.connections;
                }
                Err(_) => return closed(),
            },
            () = pause => self.behind = true,
        }
        Ok(())
    }

    fn take(&mut self, committed: &[T]) {
        match (committed.first(), committed.last()) {
            (Some(first), _) if first.number() == self.cursor + 1 => {
                self.ready.extend(committed.iter().cloned());
            }
            // Already read from the database.
            (_, Some(last)) if last.number() <= self.cursor => {}
            _ => self.behind = true,
        }
    }
}
