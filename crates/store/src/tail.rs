//! The ordered tail: every committed entry once, in order, from any cursor, on every node.

use std::sync::Arc;

use placet_core::{AdminEvent, Digest, Request, Time};
use placet_ledger::{Data, Entry};

use crate::{
    StoreError,
    follow::{Follower, Hint, Numbered},
    read::Readers,
};

/// One committed entry, with the request as it stands after it (or later, when read back from the database).
#[derive(Debug, Clone)]
pub struct News {
    /// The life of the database it belongs to.
    pub epoch: Arc<str>,
    /// Its number.
    pub seq: u64,
    /// Its hash.
    pub hash: Digest,
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
    pub(crate) fn new(entry: Entry, hash: Digest, request: Option<Arc<Request>>, own: bool) -> Self {
        let name = entry.data.name();
        let admin = match entry.data {
            Data::Admin(event) => Some(event),
            Data::Request(_) => None,
        };
        Self { epoch: entry.epoch.into(), seq: entry.seq, hash, at: entry.at, name, request, admin, own }
    }
}

/// What one commit of this node brought.
pub(crate) type CommittedNews = Arc<[News]>;

impl Numbered for News {
    const PAGE: u32 = 256;

    fn number(&self) -> u64 {
        self.seq
    }

    fn hinted(hint: Hint) -> u64 {
        hint.upto
    }

    fn after(
        readers: &Readers,
        number: u64,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<Self>, StoreError>> + Send {
        readers.news(number, limit)
    }
}

/// A reader of the ledger, and how far it has come.
#[derive(Debug)]
pub struct Tail(pub(crate) Follower<News>);

impl Tail {
    /// The last entry that was handed out.
    pub fn cursor(&self) -> u64 {
        self.0.cursor()
    }

    /// The next entry. Waits until there is one.
    ///
    /// Cancel safe: an entry is handed out or still ready.
    pub async fn next(&mut self) -> Result<News, StoreError> {
        self.0.next().await
    }
}
