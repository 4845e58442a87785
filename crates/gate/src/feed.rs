//! A stream's view of the tail: catches up from the database, then follows the hub, and never misses an entry.

use std::{collections::VecDeque, sync::Arc};

use placet_store::{Delivery, News, Store};
use tokio::sync::broadcast;

use crate::GateError;

/// Entries read per query.
const PAGE: u32 = 128;

/// A position in the ledger that advances one entry at a time.
#[derive(Debug)]
pub struct Feed {
    store: Arc<Store>,
    live: broadcast::Receiver<News>,
    cursor: u64,
    behind: bool,
    // Only entries that concern doors.
    sparse: bool,
    ready: VecDeque<News>,
}

/// Whether this entry concerns a door or the deliveries, not only streams. Most entries do not, and must not wake
/// them.
pub(crate) fn concerns_doors(news: &News) -> bool {
    let of_a_door = news.request.as_ref().is_some_and(|request| !request.door().is_plain());
    of_a_door || news.admin.is_some() || Delivery::of_answer(news).is_some()
}

impl Feed {
    pub(crate) fn new(store: Arc<Store>, live: broadcast::Receiver<News>, cursor: u64, sparse: bool) -> Self {
        Self { store, live, cursor, behind: true, sparse, ready: VecDeque::new() }
    }

    /// The last entry that was returned.
    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// The next entry. Waits for it. Cancel safe.
    pub async fn next(&mut self) -> Result<News, GateError> {
        loop {
            if let Some(news) = self.ready.pop_front() {
                self.cursor = news.seq;
                return Ok(news);
            }
            if self.behind {
                let page = self.store.news(self.cursor, PAGE).await?;
                self.behind = page.len() == PAGE as usize;
                let last = page.last().map_or(self.cursor, |news| news.seq);
                self.ready.extend(page.into_iter().filter(|news| !self.sparse || concerns_doors(news)));
                if self.ready.is_empty() {
                    self.cursor = last;
                }
                continue;
            }
            let live = tokio::select! {
                live = self.live.recv() => live,
                // The next entry may never come, so the reader must be told.
                error = self.store.until_lost() => return Err(error.into()),
            };
            match live {
                Ok(news) if news.seq <= self.cursor => {}
                Ok(news) if self.sparse || news.seq == self.cursor + 1 => self.ready.push_back(news),
                // A gap, or a reader that was too slow for the hub's buffer: read the database.
                Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => self.behind = true,
                Err(broadcast::error::RecvError::Closed) => return Err(GateError::Closing),
            }
        }
    }
}
