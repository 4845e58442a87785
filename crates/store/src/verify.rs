//! Verification: the chain holds, what was written has its digests, and the tables are what the ledger says.

use std::collections::{HashMap, HashSet};

use placet_core::{AdminEvent, Directory, Event, EventPayload, GrantId, Request, RequestId, Time, evolve};
use placet_ledger::{BadEntry, Chain, Data, Entry, hash, payload_digest};

use crate::{PolicyVersion, Store, StoreError, read::Readers, rows};

/// A row of the requests table, as it is stored.
#[derive(Debug)]
pub(crate) struct TableRow {
    pub(crate) seq: u64,
    pub(crate) version: u32,
    pub(crate) state: String,
    pub(crate) meta: String,
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) agent: String,
    pub(crate) session: String,
    pub(crate) tool: Option<String>,
    pub(crate) risk: String,
    pub(crate) group: Option<String>,
    pub(crate) created_at: i64,
    pub(crate) deadline: Option<i64>,
    pub(crate) source: Option<String>,
}

impl TableRow {
    /// The first column that is not what the ledger says. Lists go by these columns.
    fn wrong_column(&self, request: &Request) -> Option<&'static str> {
        // One of the databases cannot store the character zero and keeps a sign for it instead.
        let same = |stored: Option<&str>, is: Option<&str>| {
            stored == is || stored == is.map(|text| text.replace('\0', "\u{2400}")).as_deref()
        };
        let columns = [
            ("id", self.id == request.id.to_string()),
            ("kind", self.kind == request.kind.as_str()),
            ("agent", same(Some(&self.agent), Some(&request.agent))),
            ("session", same(Some(&self.session), Some(&request.session))),
            ("tool", same(self.tool.as_deref(), request.tool.as_deref())),
            ("risk", self.risk == request.risk.as_str()),
            ("grp", same(self.group.as_deref(), request.group.as_deref())),
            ("created_at", self.created_at == request.created_at.micros()),
            ("deadline", self.deadline == request.deadline().map(Time::micros)),
            ("source", same(self.source.as_deref(), request.door().written())),
        ];
        columns.into_iter().find(|(_, good)| !good).map(|(column, _)| column)
    }
}

/// What was found to be good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Entries in the chain.
    pub entries: u64,
    /// Requests that equal their rebuilt state.
    pub requests: u64,
    /// Payloads that are there and match.
    pub payloads: u64,
    /// Payloads that were erased; the chain still holds.
    pub erased: u64,
    /// The current epoch.
    pub epoch: String,
    /// Hash of the last entry.
    pub head: placet_core::Digest,
    /// When the last entry was made.
    pub at: Time,
    /// The first entries that are older than the one before them without an accepted clock.
    pub older: Vec<u64>,
}

/// Most entries that are named for being older than the one before.
const OLDER: usize = 20;

/// What was found to be bad, first of all.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The chain is broken here.
    #[error(transparent)]
    Bad(#[from] BadEntry),
    /// A table is not what the ledger says.
    #[error("the tables differ from the ledger: {0}")]
    Differs(String),
    /// The database could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How far verification has come.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Entries checked.
    pub done: u64,
    /// Entries there are.
    pub of: u64,
}

/// Entries read at a time.
const PAGE: u32 = 1000;

impl Store {
    /// Checks everything, from the first entry to the last one there is at the start.
    pub async fn verify(&self, progress: impl FnMut(Progress) + Send) -> Result<Verified, VerifyError> {
        verify(self.readers(), progress).await
    }
}

/// Checks a database: chain, payloads, and that state rebuilt from them equals the tables.
pub(crate) async fn verify(
    readers: &Readers,
    mut progress: impl FnMut(Progress) + Send,
) -> Result<Verified, VerifyError> {
    let head = readers.head().await?;
    let mut chain = Chain::default();
    let mut rebuilt = Rebuilt::default();
    let (mut done, mut at, mut older) = (0, Time::default(), Vec::new());
    while done < head.head.seq {
        let limit = PAGE.min(u32::try_from(head.head.seq - done).unwrap_or(PAGE));
        let page = readers.ledger(done, limit).await?;
        let Some(last) = page.last() else {
            return Err(BadEntry {
                seq: done + 1,
                what: format!("it is missing, though the head says there are {}", head.head.seq),
            }
            .into());
        };
        let mut payloads: HashMap<u64, String> =
            readers.payloads_of(done, last.seq).await?.into_iter().collect();
        let mut next = done + 1;
        done = last.seq;
        for row in page {
            if row.seq > next {
                return Err(BadEntry {
                    seq: next,
                    what: format!("it is missing; the next one there is {}", row.seq),
                }
                .into());
            }
            next = row.seq + 1;
            let entry = chain.check(row.seq, &row.text, &row.hash)?;
            let accepted = matches!(entry.data, Data::Admin(AdminEvent::ClockAccepted { .. }));
            if entry.at < at && !accepted && older.len() < OLDER {
                older.push(entry.seq);
            }
            at = entry.at;
            rebuilt.take(&entry, payloads.remove(&row.seq))?;
        }
        if let Some(seq) = payloads.keys().min() {
            return Err(VerifyError::Differs(format!("there is a payload for entry {seq}, which has none")));
        }
        progress(Progress { done, of: head.head.seq });
    }
    if chain.head() != head.head {
        return Err(VerifyError::Differs(format!(
            "the head says it ends with {}, the entries with {}",
            head.head.hash,
            chain.head().hash
        )));
    }
    let requests = rebuilt.compare(readers, head.head.seq).await?;
    Ok(Verified {
        entries: done,
        requests,
        payloads: rebuilt.payloads,
        erased: rebuilt.erased,
        epoch: head.head.epoch,
        head: head.head.hash,
        at,
        older,
    })
}

/// State rebuilt from entries and payloads.
#[derive(Debug, Default)]
struct Rebuilt {
    requests: HashMap<RequestId, Request>,
    // Outlives the content in `requests`, which is dropped as soon as it was hashed.
    nonces: HashMap<RequestId, String>,
    directory: Directory,
    policies: Vec<PolicyVersion>,
    uses: HashMap<GrantId, u32>,
    payloads: u64,
    erased: u64,
}

impl Rebuilt {
    fn take(&mut self, entry: &Entry, payload: Option<String>) -> Result<(), VerifyError> {
        let bad = |what: String| VerifyError::Bad(BadEntry { seq: entry.seq, what });
        let (id, event) = match (&entry.data, entry.request) {
            (Data::Admin(event), None) => {
                if let AdminEvent::PolicyPut { hash, source } = event {
                    self.policies.push(PolicyVersion {
                        seq: entry.seq,
                        hash: hash.clone(),
                        source: source.clone(),
                        by: entry.by.name.clone(),
                        at: entry.at,
                    });
                }
                self.directory.evolve(event, entry.at, None);
                return Ok(());
            }
            (Data::Request(event), Some(id)) => (id, event),
            _ => {
                return Err(bad(
                    "it is about a request and says not which, or the other way round".to_owned()
                ));
            }
        };
        let before = self.requests.remove(&id);
        if let Event::Created(created) = event
            && let Some(grant) = created.grant
        {
            *self.uses.entry(grant).or_default() += 1;
        }
        let kind = match (event, &before) {
            (Event::Created(created), _) => created.kind,
            (_, Some(request)) => request.kind,
            _ => return Err(bad(format!("it is about {id}, which was never created"))),
        };
        let written = match &payload {
            None => EventPayload::Nothing,
            Some(body) => rows::written(kind, body)?,
        };
        if let EventPayload::Content(content) = &written {
            self.nonces.insert(id, content.nonce.clone());
        }
        match (&payload, entry.payload) {
            (Some(body), Some(digest)) => {
                let nonce = self.nonces.get(&id).map_or("", String::as_str);
                if payload_digest(nonce, body) != digest {
                    return Err(bad("what was written with it was changed".to_owned()));
                }
                self.payloads += 1;
            }
            (None, Some(_)) => self.erased += 1,
            (Some(_), None) => return Err(bad("it has a payload that it does not know of".to_owned())),
            (None, None) => {}
        }
        let mut request = evolve(before, id, entry.seq, entry.at, &entry.by.name, event, &written)
            .map_err(|error| bad(error.to_string()))?;
        if entry.version != Some(request.version) {
            return Err(bad(format!("it should make version {} of {id}", request.version)));
        }
        request.content = None;
        self.requests.insert(id, request);
        Ok(())
    }

    /// Compares with the tables; a server may have written more since, which is left alone.
    async fn compare(&mut self, readers: &Readers, upto: u64) -> Result<u64, VerifyError> {
        let differs = |what: String| Err(VerifyError::Differs(what));
        let mut by_seq: HashMap<u64, Request> =
            self.requests.drain().map(|(_, request)| (request.seq, request)).collect();
        let mut deciders: HashSet<(String, u64)> = HashSet::new();
        for request in by_seq.values() {
            let names = request.decision.iter().flat_map(|decision| &decision.by);
            deciders.extend(names.map(|name| (name.clone(), request.seq)));
        }
        let mut pending: HashMap<String, u64> = HashMap::new();
        let (mut after, mut requests) = (0, 0);
        loop {
            let page = readers.tables_page(after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = last.seq;
            // Read after the page: whatever is newer in it was committed before, so the head has moved on by now.
            let moved_on = readers.head().await?.head.seq > upto;
            for row in page.into_iter().filter(|row| row.seq <= upto) {
                let Some(expected) = by_seq.remove(&row.seq) else {
                    return differs(format!("there is a request for entry {}, which created none", row.seq));
                };
                if row.version > expected.version && moved_on {
                    continue;
                }
                let stored: Request = serde_json::from_str(&row.meta).map_err(StoreError::from)?;
                // Through the stored form, so that content (which is not part of it) does not count.
                let expected_meta = serde_json::to_value(&expected).map_err(StoreError::from)?;
                let stored_meta = serde_json::to_value(&stored).map_err(StoreError::from)?;
                if expected_meta != stored_meta
                    || row.version != expected.version
                    || row.state != expected.state.as_str()
                {
                    return differs(format!(
                        "{} is stored as {} version {}, the ledger says {} version {}",
                        expected.id, row.state, row.version, expected.state, expected.version
                    ));
                }
                if let Some(column) = row.wrong_column(&expected) {
                    return differs(format!(
                        "the column `{column}` of {} is not what the ledger says",
                        expected.id
                    ));
                }
                if expected.state == placet_core::State::Pending {
                    *pending.entry(expected.agent.clone()).or_default() += 1;
                }
                requests += 1;
            }
        }
        if let Some(missing) = by_seq.values().next() {
            return differs(format!("{} is not in the table of requests", missing.id));
        }
        let unexpected = compare_deciders(readers, deciders, upto).await?;
        let (_, mut directory) = readers.directory().await?;
        let tallies = readers.tallies().await?;
        let (mut policies, grants) = (readers.policies(u32::MAX).await?, readers.grants().await?);
        for version in &policies {
            let Some(text) = readers.policy_text(&version.hash).await? else {
                return differs(format!("the text of the policy {} is missing", version.hash));
            };
            if hash("placet/policy/v1", &[text.as_bytes()]).to_string() != version.hash {
                return differs(format!("the text of the policy {} was changed", version.hash));
            }
        }
        if readers.head().await?.head.seq > upto {
            return Ok(requests);
        }
        if let Some((name, request)) = unexpected {
            return differs(format!(
                "`{name}` stands for a decision on the request of entry {request} that the ledger does not have"
            ));
        }
        // A reminder, which databases of earlier formats do not have.
        (directory.unconfirmed, self.directory.unconfirmed) = (None, None);
        directory.by_secret.clear();
        directory.grant_keys.clear();
        directory.by_link.clear();
        for hash in directory.passwords.values_mut() {
            *hash = "".into();
        }
        if directory != self.directory {
            return differs(
                "keys, people, sign-ins, policy or standing approvals are not what the ledger says"
                    .to_owned(),
            );
        }
        policies.reverse();
        if policies != self.policies {
            return differs("the policies that were put are not those that the ledger says".to_owned());
        }
        let used = |id: &GrantId| self.uses.get(id).copied().unwrap_or(0);
        if let Some(wrong) = grants.iter().find(|row| row.used != used(&row.grant.id)) {
            return differs(format!("the uses of {} are counted wrong", wrong.grant.id));
        }
        let stored: HashMap<String, u64> = tallies.into_iter().collect();
        if stored != pending {
            return differs("the counts of pending requests are wrong".to_owned());
        }
        Ok(requests)
    }
}

/// Compares the table of deciders with the ledger. Returns the first row that the ledger does not have, which a decision after
/// `upto` explains.
async fn compare_deciders(
    readers: &Readers,
    mut expected: HashSet<(String, u64)>,
    upto: u64,
) -> Result<Option<(String, u64)>, VerifyError> {
    let (mut after, mut unexpected) = ((String::new(), 0), None);
    loop {
        // A database of an earlier format has no such table.
        let Some(page) = readers.decided_by(&after, PAGE).await? else { return Ok(None) };
        let Some(last) = page.last() else { break };
        after = last.clone();
        for row in page.into_iter().filter(|(_, request)| *request <= upto) {
            if !expected.remove(&row) {
                unexpected.get_or_insert(row);
            }
        }
    }
    match expected.into_iter().next() {
        Some((name, request)) => Err(VerifyError::Differs(format!(
            "`{name}` decided on the request of entry {request}, and the table of deciders does not have it"
        ))),
        None => Ok(unexpected),
    }
}
