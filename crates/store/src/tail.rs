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
}

impl News {
    pub(crate) fn new(entry: Entry, request: Option<Arc<Request>>) -> Self {
        let name = entry.data.name();
        let admin = match entry.data {
            Data::Admin(event) => Some(event),
            Data::Request(_) => None,
        };
        Self { epoch: entry.epoch.into(), seq: entry.seq, at: entry.at, name, request, admin }
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
    hint: watch::Receiver<u64>,
    readers: Arc<Readers>,
    poll: Option<Duration>,
    ready: VecDeque<News>,
}

/// Entries read back at a time.
const PAGE: u32 = 256;

impl Tail {
    pub(crate) fn new(
        cursor: u64,
        own: broadcast::Receiver<Committed>,
        hint: watch::Receiver<u64>,
        readers: Arc<Readers>,
        poll: Option<Duration>,
    ) -> Self {
        Self { cursor, own, hint, readers, poll, ready: VecDeque::new() }
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

    /// An entry that is ready now, without waiting.
    pub fn try_next(&mut self) -> Option<News> {
        let news = self.ready.pop_front()?;
        self.cursor = news.seq;
        Some(news)
    }

    async fn fill(&mut self) -> Result<(), StoreError> {
        let poll = self.poll;
        let pause = async move {
            match poll {
                Some(gap) => tokio::time::sleep(gap).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            own = self.own.recv() => match own {
                Ok(committed) => self.take(&committed).await,
                Err(broadcast::error::RecvError::Lagged(_)) => self.read().await,
                Err(broadcast::error::RecvError::Closed) => Err(StoreError::Stopped("the store was closed".to_owned())),
            },
            changed = self.hint.changed() => match changed {
                Ok(()) => self.read().await,
                Err(_) => Err(StoreError::Stopped("the store was closed".to_owned())),
            },
            () = pause => self.read().await,
        }
    }

    async fn take(&mut self, committed: &Committed) -> Result<(), StoreError> {
        match committed.first() {
            Some(first) if first.seq == self.cursor + 1 => self.ready.extend(committed.iter().cloned()),
            // Already read from the database.
            Some(_) if committed.last().is_some_and(|last| last.seq <= self.cursor) => {}
            Some(_) => self.read().await?,
            None => {}
        }
        Ok(())
    }

    async fn read(&mut self) -> Result<(), StoreError> {
        self.ready.extend(self.readers.news(self.cursor, PAGE).await?);
        // A full page means that there is more; look again at once instead of waiting for a bell.
        if self.ready.len() == PAGE as usize {
            self.own = self.own.resubscribe();
            self.hint.mark_changed();
        }
        Ok(())
    }
}
