//! Reading: records, lists, ledger pages and due deadlines, from either database.

use std::{sync::Arc, time::Duration};

use placet_core::{Directory, Door, Request, RequestId, Risk, SessionId, State, Time};
use tracing::Instrument as _;

use crate::{
    Channels, Delivery, EndedAtUpgrade, EventWords, Figure, GrantUse, Note, NoteFilter, NotePage, NotePlace,
    PolicyVersion, RecentEvents, SeenEvent, StoreError, StoredEvent, StoredSession, Waiting,
    postgres::PostgresReaders, sqlite::SqliteReaders, tail::News,
};

/// Which requests a list shows. Everything given must match.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// In this state.
    pub state: Option<State>,
    /// Of this agent.
    pub agent: Option<String>,
    /// With this tool.
    pub tool: Option<String>,
    /// Of this session.
    pub session: Option<String>,
    /// Of this risk.
    pub risk: Option<Risk>,
    /// Of this group.
    pub group: Option<String>,
    /// With this text in id, agent, tool, session or group.
    pub q: Option<String>,
    /// Made at this time or later.
    pub since: Option<Time>,
    /// Made before this time.
    pub until: Option<Time>,
    /// Decided by this person, alone or with others.
    pub by: Option<String>,
    /// Decided: neither pending nor over without a decision.
    pub decided: bool,
    /// That came in by this door.
    pub source: Option<String>,
    /// The newest first, also where the nearest deadline would come first.
    pub newest: bool,
    /// Not older than this entry.
    pub not_before: Option<u64>,
    /// After this place, from an earlier page.
    pub after: Option<Order>,
}

impl Filter {
    /// Whether the nearest deadline comes first: in the list of pending requests, unless told otherwise.
    pub(crate) fn by_deadline(&self) -> bool {
        self.state == Some(State::Pending) && !self.newest
    }
}

/// A place in a list: pending requests are ordered by deadline, others by age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// The deadline, in the list of pending requests.
    pub deadline: Option<Time>,
    /// The number of the entry that created the request.
    pub seq: u64,
}

/// A page of a list.
#[derive(Debug)]
pub struct Listed {
    /// The requests.
    pub items: Vec<Arc<Request>>,
    /// Where the next page begins, if there is one.
    pub next: Option<Order>,
    /// The last entry that this page has seen: a stream from here misses nothing.
    pub seq: u64,
    /// And its epoch.
    pub epoch: String,
}

/// The entries that a read looks at.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Between {
    pub(crate) from: Option<u64>,
    pub(crate) to: Option<u64>,
}

/// How far the clocks of servers, or one clock that was set back, may be apart.
const SLACK: Duration = Duration::from_hours(1);

pub(crate) fn earlier(time: Time, by: Duration) -> Time {
    Time::from_micros(time.micros().saturating_sub(i64::try_from(by.as_micros()).unwrap_or(i64::MAX)))
}

/// A stored ledger entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerRow {
    /// Its number.
    pub seq: u64,
    /// The canonical text.
    pub text: String,
    /// Its hash.
    pub hash: placet_core::Digest,
}

impl LedgerRow {
    /// When it was made.
    pub(crate) fn at(&self) -> Result<placet_core::Time, StoreError> {
        #[derive(serde::Deserialize)]
        struct When {
            at: placet_core::Time,
        }
        Ok(serde_json::from_str::<When>(&self.text)?.at)
    }
}

/// The reading side of either database.
#[derive(Debug)]
pub(crate) enum Readers {
    Sqlite(SqliteReaders),
    Postgres(PostgresReaders),
}

macro_rules! both {
    ($self:ident, $readers:ident => $again:ident.$read:ident($($arguments:tt)*)) => {{
        let span = tracing::debug_span!("read", work = stringify!($read));
        match $self {
            Readers::Sqlite($readers) => $again.$read($($arguments)*).instrument(span).await,
            Readers::Postgres($readers) => $again.$read($($arguments)*).instrument(span).await,
        }
    }};
}

impl Readers {
    /// Where the ledger ends, and the hash of an entry that should be in it.
    pub(crate) async fn head_and(
        &self,
        known: Option<&placet_ledger::Head>,
    ) -> Result<(placet_ledger::Head, Option<placet_core::Digest>), StoreError> {
        both!(self, readers => readers.head_and(known))
    }

    pub(crate) async fn get(&self, id: RequestId) -> Result<Option<Arc<Request>>, StoreError> {
        both!(self, readers => readers.get(id))
    }

    pub(crate) async fn list(&self, filter: &Filter, limit: u32, now: Time) -> Result<Listed, StoreError> {
        let between = self.between(filter).await?;
        both!(self, readers => readers.list(filter, between, limit, now))
    }

    pub(crate) async fn groups(&self, filter: &Filter, newest: u32, now: Time) -> Result<u64, StoreError> {
        let between = self.between(filter).await?;
        both!(self, readers => readers.groups(filter, between, newest, now))
    }

    /// The entries that a filter's times lie between. Times are asked for exactly as well; this only keeps a read from
    /// looking at the whole table.
    async fn between(&self, filter: &Filter) -> Result<Between, StoreError> {
        let from = match filter.since {
            Some(since) => Some(self.first_since(earlier(since, SLACK)).await?),
            None => None,
        };
        let to = match filter.until {
            Some(until) => Some(self.first_since(until.plus(SLACK)).await?),
            None => None,
        };
        Ok(Between { from: from.max(filter.not_before), to })
    }

    /// The first entry that made a request at this time or later. Requests are made in the order of their entries, give
    /// or take the clocks of several servers: halving finds it without an index that every new request would pay for.
    pub(crate) async fn first_since(&self, time: Time) -> Result<u64, StoreError> {
        let (mut low, mut high) = (0, self.head().await?.head.seq.saturating_add(1));
        while low < high {
            let middle = low + (high - low) / 2;
            match both!(self, readers => readers.made_after(middle))? {
                Some((seq, at)) if at < time => low = seq.saturating_add(1),
                _ => high = middle,
            }
        }
        Ok(low)
    }

    pub(crate) async fn entries_of(&self, request: u64, limit: u32) -> Result<Vec<LedgerRow>, StoreError> {
        both!(self, readers => readers.entries_of(request, limit))
    }

    pub(crate) async fn figures(
        &self,
        from: u64,
        before: u64,
        limit: u32,
    ) -> Result<Vec<Figure>, StoreError> {
        both!(self, readers => readers.figures(from, before, limit))
    }

    pub(crate) async fn waiting(&self, now: Time) -> Result<Vec<Waiting>, StoreError> {
        both!(self, readers => readers.waiting(now))
    }

    pub(crate) async fn ledger(&self, after: u64, limit: u32) -> Result<Vec<LedgerRow>, StoreError> {
        both!(self, readers => readers.ledger(after, limit))
    }

    pub(crate) async fn news(&self, after: u64, limit: u32) -> Result<Vec<News>, StoreError> {
        both!(self, readers => readers.news(after, limit))
    }

    pub(crate) async fn due(&self, now: Time, limit: u32) -> Result<Vec<RequestId>, StoreError> {
        both!(self, readers => readers.due(now, limit))
    }

    pub(crate) async fn next_deadline(&self) -> Result<Option<Time>, StoreError> {
        both!(self, readers => readers.next_deadline())
    }

    pub(crate) async fn directory(&self) -> Result<(u64, Directory), StoreError> {
        both!(self, readers => readers.directory())
    }

    pub(crate) async fn head(&self) -> Result<crate::backend::HeadRow, StoreError> {
        both!(self, readers => readers.head())
    }

    pub(crate) async fn tables_page(
        &self,
        after: u64,
        limit: u32,
    ) -> Result<Vec<crate::verify::TableRow>, StoreError> {
        both!(self, readers => readers.tables_page(after, limit))
    }

    pub(crate) async fn decided_by(
        &self,
        after: &(String, u64),
        limit: u32,
    ) -> Result<Option<Vec<(String, u64)>>, StoreError> {
        both!(self, readers => readers.decided_by(after, limit))
    }

    pub(crate) async fn payloads_of(&self, after: u64, upto: u64) -> Result<Vec<(u64, String)>, StoreError> {
        both!(self, readers => readers.payloads_of(after, upto))
    }

    pub(crate) async fn history(&self, after: u64, limit: u32) -> Result<Vec<Arc<Request>>, StoreError> {
        both!(self, readers => readers.history(after, limit))
    }

    pub(crate) async fn policy_text(&self, hash: &str) -> Result<Option<Arc<str>>, StoreError> {
        both!(self, readers => readers.policy_text(hash))
    }

    pub(crate) async fn policies(&self, limit: u32) -> Result<Vec<PolicyVersion>, StoreError> {
        both!(self, readers => readers.policies(limit))
    }

    pub(crate) async fn grants(&self) -> Result<Vec<GrantUse>, StoreError> {
        both!(self, readers => readers.grants())
    }

    pub(crate) async fn ended_at_upgrade(&self) -> Result<EndedAtUpgrade, StoreError> {
        both!(self, readers => readers.ended_at_upgrade())
    }

    pub(crate) async fn session(&self, secret: [u8; 32]) -> Result<Option<StoredSession>, StoreError> {
        both!(self, readers => readers.session(secret))
    }

    pub(crate) async fn sessions_of(&self, name: &str) -> Result<Vec<StoredSession>, StoreError> {
        both!(self, readers => readers.sessions_of(name))
    }

    pub(crate) async fn old_sessions(
        &self,
        now: Time,
        idle_since: Time,
        limit: u32,
    ) -> Result<Vec<SessionId>, StoreError> {
        both!(self, readers => readers.old_sessions(now, idle_since, limit))
    }

    pub(crate) async fn recent_events(&self, limit: u32) -> Result<RecentEvents, StoreError> {
        both!(self, readers => readers.recent_events(limit))
    }

    pub(crate) async fn event(&self, id: u64) -> Result<Option<SeenEvent>, StoreError> {
        both!(self, readers => readers.event(id))
    }

    pub(crate) async fn event_of(&self, request: RequestId) -> Result<Option<StoredEvent>, StoreError> {
        both!(self, readers => readers.event_of(request))
    }

    pub(crate) async fn events_after(&self, id: u64, limit: u32) -> Result<Vec<SeenEvent>, StoreError> {
        both!(self, readers => readers.events_after(id, limit))
    }

    pub(crate) async fn last_event(&self) -> Result<u64, StoreError> {
        both!(self, readers => readers.last_event())
    }

    pub(crate) async fn event_words(&self) -> Result<EventWords, StoreError> {
        both!(self, readers => readers.event_words())
    }

    pub(crate) async fn documents(&self, kind: &'static str) -> Result<Vec<String>, StoreError> {
        both!(self, readers => readers.documents(kind))
    }

    pub(crate) async fn note(&self, kind: &str, key: &str) -> Result<Option<Note>, StoreError> {
        both!(self, readers => readers.note(kind, key))
    }

    pub(crate) async fn notes(
        &self,
        filter: &NoteFilter,
        after: Option<&NotePlace>,
        limit: u32,
    ) -> Result<NotePage, StoreError> {
        both!(self, readers => readers.notes(filter, after, limit))
    }

    pub(crate) async fn count_notes(&self, filter: &NoteFilter) -> Result<u64, StoreError> {
        both!(self, readers => readers.count_notes(filter))
    }

    pub(crate) async fn holds(&self, delivery: &Delivery, owner: &str) -> Result<bool, StoreError> {
        both!(self, readers => readers.holds(delivery, owner))
    }

    pub(crate) async fn deliveries_due(&self, now: Time, channels: &Channels) -> Result<bool, StoreError> {
        both!(self, readers => readers.deliveries_due(now, channels))
    }

    pub(crate) async fn tallies(&self) -> Result<Vec<(String, u64)>, StoreError> {
        both!(self, readers => readers.tallies())
    }
}

/// A value in a query.
#[derive(Debug, Clone)]
pub(crate) enum Bind {
    Text(String),
    Int(i64),
}

/// The query that counts the groups among the newest requests of a list.
pub(crate) fn groups_sql(
    filter: &Filter,
    between: Between,
    newest: u32,
    now: Time,
    mark: char,
    like: &str,
) -> (String, Vec<Bind>) {
    let (list, binds) = list_sql("grp", filter, between, newest, now, mark, like);
    (format!("SELECT count(DISTINCT r.grp) FROM ({list}) r"), binds)
}

/// The query of a list, in the placeholder style of one database.
pub(crate) fn list_sql(
    columns: &str,
    filter: &Filter,
    between: Between,
    limit: u32,
    now: Time,
    mark: char,
    like: &str,
) -> (String, Vec<Bind>) {
    // What one person decided is found by the table of deciders, which is in the order of the list.
    let (from, seq_column) = match &filter.by {
        Some(_) => ("decided_by JOIN requests ON seq = request", "request"),
        None => ("requests", "seq"),
    };
    let mut binds = Vec::new();
    let mut clauses = Vec::new();
    let mut put = |bind: Bind| {
        binds.push(bind);
        format!("{mark}{}", binds.len())
    };
    let pending = filter.state == Some(State::Pending);
    let equal = [
        ("state", filter.state.map(|state| state.as_str().to_owned())),
        ("agent", filter.agent.clone()),
        ("tool", filter.tool.clone()),
        ("session", filter.session.clone()),
        ("risk", filter.risk.map(|risk| risk.as_str().to_owned())),
        ("grp", filter.group.clone()),
    ];
    for (column, value) in equal {
        if let Some(value) = value {
            clauses.push(format!("{column} = {}", put(Bind::Text(value))));
        }
    }
    if pending {
        // Never `pending` past its deadline, whether or not the timer came by.
        clauses.push(format!("deadline > {}", put(Bind::Int(now.micros()))));
    }
    for (column, sign, value) in [
        ("created_at", ">=", filter.since.map(Time::micros)),
        ("created_at", "<", filter.until.map(Time::micros)),
        (seq_column, ">=", between.from.map(crate::rows::int)),
        (seq_column, "<", between.to.map(crate::rows::int)),
    ] {
        if let Some(value) = value {
            clauses.push(format!("{column} {sign} {}", put(Bind::Int(value))));
        }
    }
    if filter.decided {
        clauses.push("state NOT IN ('pending', 'expired', 'cancelled')".to_owned());
    }
    if let Some(by) = &filter.by {
        clauses.push(format!("name = {}", put(Bind::Text(by.clone()))));
    }
    if let Some(source) = &filter.source {
        clauses.push(match Door::named(source).written() {
            Some(source) => format!("source = {}", put(Bind::Text(source.to_owned()))),
            None => "source IS NULL".to_owned(),
        });
    }
    if let Some(q) = &filter.q {
        let pattern = format!("%{}%", q.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_"));
        let any = ["id", "agent", "tool", "session", "grp"].map(|column| {
            let place = put(Bind::Text(pattern.clone()));
            format!("{column} {like} {place} ESCAPE '\\'")
        });
        clauses.push(format!("({})", any.join(" OR ")));
    }
    match (filter.after, filter.by_deadline()) {
        (Some(Order { deadline: Some(deadline), seq }), true) => {
            let (deadline, seq) = (put(Bind::Int(deadline.micros())), put(Bind::Int(crate::rows::int(seq))));
            clauses.push(format!("(deadline, seq) > ({deadline}, {seq})"));
        }
        (Some(Order { seq, .. }), false) => {
            clauses.push(format!("{seq_column} < {}", put(Bind::Int(crate::rows::int(seq)))));
        }
        _ => {}
    }
    let clauses = if clauses.is_empty() { "TRUE".to_owned() } else { clauses.join(" AND ") };
    let order = if filter.by_deadline() { "deadline, seq".to_owned() } else { format!("{seq_column} DESC") };
    (format!("SELECT {columns} FROM {from} WHERE {clauses} ORDER BY {order} LIMIT {limit}"), binds)
}

/// Cuts a page that was read with one row too many, and says where the next one begins.
pub(crate) fn page(
    mut items: Vec<Arc<Request>>,
    limit: u32,
    pending: bool,
    seq: u64,
    epoch: String,
) -> Listed {
    let more = items.len() > limit as usize;
    items.truncate(limit as usize);
    let next = items
        .last()
        .filter(|_| more)
        .map(|last| Order { deadline: last.deadline().filter(|_| pending), seq: last.seq });
    Listed { items, next, seq, epoch }
}
