//! The ordered tail: every committed entry once, in order, from any cursor, on every node.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use placet_core::{AdminEvent, Request, Time};
use placet_ledger::{Data, Entry};
use tokio::sync::{broadcast, watch};

use crate::{StoreError, read::Readers};

/// One committed entry, with the request as it stands after it (or later, when read back from the database).
#[derive(Debug, Clone)]
pub struct News {
    /// The life of the database it belongs to.
    pub epoch: Arc<str>,
    /// Its number.
    pub seq: u64,
    /// When.
    pub at: Time,
    /// What happened: `request.created` and so on.
    pub name: &'static str,
    /// The request.
    pub request: Option<Arc<Request>>,
    /// What happened to keys and people.
    pub admin: Option<AdminEvent>,
    /// Whether this node committed it and tells it for the first time.
    pub own: bool,
}

impl News {
    pub(crate) fn new(entry: Entry, request: Option<Arc<Request>>, own: bool) -> Self {
        let name = entry.data.name();
        let admin = match entry.data {
            Data::Admin(event) => Some(event),
            Data::Request(_) => None,
        };
        Self { epoch: entry.epoch.into(), seq: entry.seq, at: entry.at, name, request, admin, own }
    }
}

/// What one commit of this node brought.
pub(crate) type Committed = Arc<[News]>;

/// How far a reader has come. Entries of this node's own commits are handed over in memory; whatever was missed
/// (another node's commits, a lagging reader) is read from the database, which is the truth.
#[derive(Debug)]
pub struct Tail {
    cursor: u64,
    own: broadcast::Receiver<Committed>,
    // Raised by another node's NOTIFY; a hint to look, never more.
    hint: watch::Receiver<Hint>,
    // The last new connection of the listener that was noticed.
    noticed: u64,
    readers: Arc<Readers>,
    poll: Option<Duration>,
    ready: VecDeque<News>,
    // There may be entries that only the database knows. Set before any await, so that nothing is lost when a
    // reader gives up in between.
    behind: bool,
}

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

/// Entries read back at a time.
const PAGE: u32 = 256;

impl Tail {
    pub(crate) fn new(
        cursor: u64,
        own: broadcast::Receiver<Committed>,
        hint: watch::Receiver<Hint>,
        readers: Arc<Readers>,
        poll: Option<Duration>,
    ) -> Self {
        // Look once at the beginning: a cursor from earlier may be far behind.
        Self { cursor, own, hint, noticed: 0, readers, poll, ready: VecDeque::new(), behind: true }
    }

    /// The last entry that was handed out.
    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// The next entry. Waits until there is one.
    ///
    /// Cancel safe: an entry is handed out or still ready.
    pub async fn next(&mut self) -> Result<News, StoreError> {
        loop {
            if let Some(news) = self.ready.pop_front() {
                self.cursor = news.seq;
                return Ok(news);
            }
            self.fill().await?;
        }
    }

    async fn fill(&mut self) -> Result<(), StoreError> {
        if self.behind {
            let page = self.readers.news(self.cursor, PAGE).await?;
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
                    self.behind = hint.upto > self.cursor || hint.connections != self.noticed;
                    self.noticed = hint.connections;
                }
                Err(_) => return closed(),
            },
            () = pause => self.behind = true,
        }
        Ok(())
    }

    fn take(&mut self, committed: &Committed) {
        match (committed.first(), committed.last()) {
            (Some(first), _) if first.seq == self.cursor + 1 => self.ready.extend(committed.iter().cloned()),
            // Already read from the database.
            (_, Some(last)) if last.seq <= self.cursor => {}
            _ => self.behind = true,
        }
    }
}
