//! A stream's view of the tail: catches up from the database, then follows the hub, and never misses an entry.

use std::{collections::VecDeque, sync::Arc};

use placet_store::{News, Store};
use tokio::sync::broadcast;

use crate::GateError;

/// Entries read back at a time.
const PAGE: u32 = 128;

/// A position in the ledger that moves forward one entry at a time.
#[derive(Debug)]
pub struct Feed {
    store: Arc<Store>,
    live: broadcast::Receiver<News>,
    cursor: u64,
    behind: bool,
    ready: VecDeque<News>,
}

impl Feed {
    pub(crate) fn new(store: Arc<Store>, live: broadcast::Receiver<News>, cursor: u64) -> Self {
        Self { store, live, cursor, behind: true, ready: VecDeque::new() }
    }

    /// The last entry that was handed out.
    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// The next entry. Waits until there is one. Cancel safe.
    pub async fn next(&mut self) -> Result<News, GateError> {
        loop {
            if let Some(news) = self.ready.pop_front() {
                self.cursor = news.seq;
                return Ok(news);
            }
            if self.behind {
                let page = self.store.news(self.cursor, PAGE).await?;
                self.behind = page.len() == PAGE as usize;
                self.ready.extend(page);
                continue;
            }
            let live = tokio::select! {
                live = self.live.recv() => live,
                // What comes next may never come: the reader is to know.
                error = self.store.until_lost() => return Err(error.into()),
            };
            match live {
                Ok(news) if news.seq <= self.cursor => {}
                Ok(news) if news.seq == self.cursor + 1 => self.ready.push_back(news),
                // A hole, or a reader that was too slow for the hub's memory: the database knows.
                Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => self.behind = true,
                Err(broadcast::error::RecvError::Closed) => return Err(GateError::Closing),
            }
        }
    }
}
