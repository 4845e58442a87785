//! The reading side: a bounded pool of connections. One statement sees one moment; where several must, they share one.

use std::{collections::HashMap, sync::Arc, time::Duration};

use deadpool_postgres::{
    Client as Pooled, Hook, HookError, Manager, ManagerConfig, Pool, RecyclingMethod, Runtime,
};
use placet_core::{Digest, Directory, Grant, Key, Request, RequestId, SessionId, State, Time};
use placet_ledger::{Entry, Head};
use tokio_postgres::{
    Client, NoTls, Row,
    types::{ToSql, Type},
};

use super::{
    NODES, config, known, plain,
    session::{self, CONNECT, Statement, failed, number, pipeline, read, request, requests, simple},
};
use crate::{
    EndedAtUpgrade, EndedGrant, Figure, Filter, GrantUse, LedgerRow, Listed, PolicyVersion, StoreError,
    StoredSession, Waiting,
    backend::HeadRow,
    figures::figure,
    migrations::{BOUND, CREDENTIALS, FREEZES, LISTS, POLICY, SIGN_IN},
    policies,
    read::{Between, Bind, groups_sql, list_sql, page},
    rows::{self, bytes32, int, parse},
    sessions::{self, FROZEN, LINKS, PASSWORDS, SESSIONS, SESSIONS_BEFORE, UNCONFIRMED, VOIDED},
    tail::News,
    verify::TableRow,
};

/// How many connections read at once.
const CONNECTIONS: usize = 8;
/// How long a read waits for its turn.
const TURN: Duration = Duration::from_secs(5);
/// How long a read may take from then on; the server gives up a little earlier.
const READ: Duration = Duration::from_secs(15);
/// A connection that was not used for this long is tried before it is used again.
const STALE: Duration = Duration::from_secs(1);

/// Every read finds its rows by an index and in its order. A plan made while the tables were empty would scan them
/// and stay in use while they grow.
pub(super) const BY_INDEX: &str =
    "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off";

/// The states that have deadlines.
const LIVE: [State; 3] = [State::Pending, State::Approved, State::Claimed];

/// A bounded pool of reading connections.
#[derive(Debug)]
pub(crate) struct PostgresReaders {
    pool: Pool,
}

impl PostgresReaders {
    /// Makes the pool; it connects when it is first used.
    pub(crate) fn connect(url: &str) -> Result<Self, StoreError> {
        let fast = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let pool = Pool::builder(Manager::from_config(config(url)?, NoTls, fast))
            .max_size(CONNECTIONS)
            .wait_timeout(Some(TURN))
            .create_timeout(Some(CONNECT))
            .recycle_timeout(Some(Duration::from_secs(2)))
            .runtime(Runtime::Tokio1)
            .post_create(Hook::async_fn(|client, _| {
                Box::pin(async move { set_up(client).await.map_err(HookError::Backend) })
            }))
            // A connection that died while it was idle must not fail the next read.
            .pre_recycle(Hook::async_fn(|client, metrics| {
                Box::pin(async move {
                    if metrics.last_used() < STALE {
                        return Ok(());
                    }
                    client.batch_execute("").await.map_err(HookError::Backend)
                })
            }))
            .build()
            .map_err(|error| StoreError::Database(error.to_string()))?;
        Ok(Self { pool })
    }

    pub(super) async fn client(&self) -> Result<Pooled, StoreError> {
        Ok(self.pool.get().await?)
    }

    /// One prepared statement.
    pub(super) async fn query(
        &self,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, StoreError> {
        let client = self.client().await?;
        within(async {
            let statement = client.prepare_cached(sql).await?;
            client.query(&statement, params).await
        })
        .await
    }

    pub(crate) async fn get(&self, id: RequestId) -> Result<Option<Arc<Request>>, StoreError> {
        let rows = self
            .query(requests!("(SELECT seq, meta FROM requests WHERE id = $1) r"), &[&id.to_string()])
            .await?;
        Ok(rows.first().map(request).transpose()?.map(Arc::new))
    }

    pub(crate) async fn head(&self) -> Result<HeadRow, StoreError> {
        let head = "SELECT epoch, seq, hash, principals_seq, (SELECT max(version) FROM placet_format) FROM head WHERE one = 1";
        let rows = self.query(head, &[]).await?;
        let row = one(&rows)?;
        known(read(row, 4)?)?;
        session::head(row)
    }

    pub(crate) async fn head_and(&self, known: Option<&Head>) -> Result<(Head, Option<Digest>), StoreError> {
        let client = self.client().await?;
        session::history(&client, known).await
    }

    /// Whether another node than this one is connected to the database.
    pub(crate) async fn others(&self, mark: u32) -> Result<bool, StoreError> {
        let others = "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND classid = $1::oid AND objid <> $2::oid AND objsubid = 2
                          AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))";
        read(one(&self.query(others, &[&NODES.cast_unsigned(), &mark]).await?)?, 0)
    }

    pub(crate) async fn next_deadline(&self) -> Result<Option<Time>, StoreError> {
        let nearest = "SELECT min(first.deadline) FROM unnest($1::text[]) AS s (state), LATERAL (
                           SELECT deadline FROM requests r WHERE r.state = s.state AND deadline IS NOT NULL ORDER BY deadline LIMIT 1) first";
        let rows = self.query(nearest, &[&live()]).await?;
        Ok(read::<Option<i64>>(one(&rows)?, 0)?.map(Time::from_micros))
    }

    pub(crate) async fn due(&self, now: Time, limit: u32) -> Result<Vec<RequestId>, StoreError> {
        let due = "SELECT due.id FROM unnest($1::text[]) AS s (state), LATERAL (
                       SELECT id FROM requests r WHERE r.state = s.state AND deadline IS NOT NULL AND deadline <= $2 ORDER BY deadline LIMIT $3) due";
        let rows = self.query(due, &[&live(), &now.micros(), &i64::from(limit)]).await?;
        rows.iter().map(|row| parse(read(row, 0)?)).collect()
    }

    pub(crate) async fn directory(&self) -> Result<(u64, Directory), StoreError> {
        let format = self.format().await?;
        let client = self.client().await?;
        // A database of an earlier format can still be verified: what it does not have reads as nothing.
        let since = |first: i64, sql: &'static str| if format >= first { sql } else { NOTHING };
        let statements = [
            HEAD,
            PRINCIPALS,
            if format >= CREDENTIALS { KEYS } else { KEYS_BEFORE },
            since(POLICY, POLICY_IN_FORCE),
            since(POLICY, GRANTS),
            if format >= BOUND { SESSIONS } else { since(SIGN_IN, SESSIONS_BEFORE) },
            since(SIGN_IN, LINKS),
            since(SIGN_IN, PASSWORDS),
            since(CREDENTIALS, VOIDED),
            since(FREEZES, FROZEN),
            UNCONFIRMED,
        ];
        let statements = statements.map(|sql| typed(&client, sql, vec![])).into();
        let [heads, rows @ ..]: [Vec<Row>; 11] = snapshot(&client, statements).await?;
        Ok((session::head(one(&heads)?)?.principals_seq, directory(&rows)?))
    }

    async fn format(&self) -> Result<i64, StoreError> {
        let rows = self.query("SELECT max(version) FROM placet_format", &[]).await?;
        // NULL where the tables are still to be made.
        Ok(read::<Option<i64>>(one(&rows)?, 0)?.unwrap_or(0))
    }

    /// Whether the tables of policies are there: a database of the first format can still be verified.
    async fn knows_policies(&self) -> Result<bool, StoreError> {
        Ok(self.format().await? >= POLICY)
    }

    pub(crate) async fn session(&self, secret: [u8; 32]) -> Result<Option<StoredSession>, StoreError> {
        let find = format!("{SESSION} WHERE secret = $1 UNION ALL {SESSION} WHERE previous = $1 LIMIT 1");
        let rows = self.query(&find, &[&&secret[..]]).await?;
        rows.first().map(stored).transpose()
    }

    pub(crate) async fn sessions_of(&self, name: &str) -> Result<Vec<StoredSession>, StoreError> {
        let find = format!("{SESSION} WHERE name = $1 ORDER BY created_at DESC, id DESC");
        self.query(&find, &[&name]).await?.iter().map(stored).collect()
    }

    pub(crate) async fn old_sessions(
        &self,
        now: Time,
        idle_since: Time,
        limit: u32,
    ) -> Result<Vec<SessionId>, StoreError> {
        let find = "SELECT id FROM sessions WHERE expires_at <= $1 OR last_seen_at <= $2 LIMIT $3";
        let rows = self.query(find, &[&now.micros(), &idle_since.micros(), &i64::from(limit)]).await?;
        rows.iter().map(|row| parse(read(row, 0)?)).collect()
    }

    /// The first request that this entry or a later one made, and when.
    pub(crate) async fn made_after(&self, seq: u64) -> Result<Option<(u64, Time)>, StoreError> {
        let first = "SELECT seq, created_at FROM requests WHERE seq >= $1 ORDER BY seq LIMIT 1";
        let rows = self.query(first, &[&int(seq)]).await?;
        rows.first().map(|row| Ok((number(row, 0)?, Time::from_micros(read(row, 1)?)))).transpose()
    }

    pub(crate) async fn entries_of(&self, request: u64, limit: u32) -> Result<Vec<LedgerRow>, StoreError> {
        let entries = "SELECT seq, entry, hash FROM ledger WHERE seq = $1
             UNION ALL SELECT seq, entry, hash FROM ledger WHERE request = $1 AND request <> seq ORDER BY 1 LIMIT $2";
        let rows = self.query(entries, &[&int(request), &i64::from(limit)]).await?;
        rows.iter().map(ledger_row).collect()
    }

    pub(crate) async fn figures(
        &self,
        from: u64,
        before: u64,
        limit: u32,
    ) -> Result<Vec<Figure>, StoreError> {
        let page = "SELECT seq, changed_at, meta FROM requests WHERE seq >= $1 AND seq < $2 ORDER BY seq DESC LIMIT $3";
        let rows = self.query(page, &[&int(from), &int(before), &i64::from(limit)]).await?;
        rows.iter().map(|row| figure(number(row, 0)?, read(row, 1)?, read(row, 2)?)).collect()
    }

    pub(crate) async fn waiting(&self, now: Time) -> Result<Vec<Waiting>, StoreError> {
        let counts = "SELECT risk, count(*), min(created_at) FROM requests
             WHERE state = 'pending' AND deadline IS NOT NULL AND deadline > $1 GROUP BY risk";
        let rows = self.query(counts, &[&now.micros()]).await?;
        rows.iter()
            .map(|row| {
                let oldest = Time::from_micros(read(row, 2)?);
                Ok(Waiting { risk: parse(read(row, 0)?)?, count: number(row, 1)?, oldest })
            })
            .collect()
    }

    pub(crate) async fn list(
        &self,
        filter: &Filter,
        between: Between,
        limit: u32,
        now: Time,
    ) -> Result<Listed, StoreError> {
        let (sql, binds) = list_sql("seq, meta", filter, between, limit + 1, now, '$', "ILIKE");
        let pending = filter.by_deadline();
        let sql = requests!("({}) r").replacen("{}", &sql, 1);
        let client = self.client().await?;
        let [heads, rows] =
            snapshot(&client, vec![typed(&client, HEAD, vec![]), typed(&client, &sql, params(binds))])
                .await?;
        let mut items =
            rows.iter().map(|row| Ok(Arc::new(request(row)?))).collect::<Result<Vec<_>, StoreError>>()?;
        // A join keeps the order of what it joins only by habit.
        if pending {
            items.sort_by_key(|request| (request.deadline(), request.seq));
        } else {
            items.sort_by_key(|request| std::cmp::Reverse(request.seq));
        }
        let head = session::head(one(&heads)?)?.head;
        Ok(page(items, limit, pending, head.seq, head.epoch))
    }

    /// How many groups there are among the newest requests of a list.
    pub(crate) async fn groups(
        &self,
        filter: &Filter,
        between: Between,
        newest: u32,
        now: Time,
    ) -> Result<u64, StoreError> {
        let (sql, binds) = groups_sql(filter, between, newest, now, '$', "ILIKE");
        let client = self.client().await?;
        let rows = within(typed(&client, &sql, params(binds))).await?;
        number(one(&rows)?, 0)
    }

    pub(crate) async fn ledger(&self, after: u64, limit: u32) -> Result<Vec<LedgerRow>, StoreError> {
        let rows = self
            .query(
                "SELECT seq, entry, hash FROM ledger WHERE seq > $1 ORDER BY seq LIMIT $2",
                &[&int(after), &i64::from(limit)],
            )
            .await?;
        rows.iter().map(ledger_row).collect()
    }

    pub(crate) async fn news(&self, after: u64, limit: u32) -> Result<Vec<News>, StoreError> {
        // Each request once, however many entries are about it.
        const REQUESTS: &str = requests!(
            "(SELECT DISTINCT request FROM (SELECT request FROM ledger WHERE seq > $1 ORDER BY seq LIMIT $2) l WHERE request IS NOT NULL) n
             JOIN requests r ON r.seq = n.request"
        );
        const ENTRIES: &str = "SELECT entry, hash FROM ledger WHERE seq > $1 ORDER BY seq LIMIT $2";
        let client = self.client().await?;
        let (after, limit) = (int(after), i64::from(limit));
        let params =
            || vec![(Box::new(after) as Param<'_>, Type::INT8), (Box::new(limit) as Param<'_>, Type::INT8)];
        let [entries, requests] =
            snapshot(&client, vec![typed(&client, ENTRIES, params()), typed(&client, REQUESTS, params())])
                .await?;
        let requests = requests.iter().map(|row| request(row).map(|request| (request.id, Arc::new(request))));
        let requests = requests.collect::<Result<HashMap<_, _>, _>>()?;
        entries
            .iter()
            .map(|row| {
                let entry: Entry = serde_json::from_str(read(row, 0)?)?;
                let request = entry.request.and_then(|id| requests.get(&id).cloned());
                Ok(News::new(entry, Digest::new(bytes32(read(row, 1)?)?), request, false))
            })
            .collect()
    }

    pub(crate) async fn tables_page(&self, after: u64, limit: u32) -> Result<Vec<TableRow>, StoreError> {
        let source = if self.format().await? < LISTS { SOURCE_BEFORE } else { "source" };
        let page = format!(
            "SELECT seq, version, state, meta, id, kind, agent, session, tool, risk, grp, created_at, deadline, {source}
             FROM requests WHERE seq > $1 ORDER BY seq LIMIT $2"
        );
        let rows = self.query(&page, &[&int(after), &i64::from(limit)]).await?;
        rows.iter()
            .map(|row| {
                Ok(TableRow {
                    seq: number(row, 0)?,
                    version: number(row, 1)?,
                    state: read(row, 2)?,
                    meta: read(row, 3)?,
                    id: read(row, 4)?,
                    kind: read(row, 5)?,
                    agent: read(row, 6)?,
                    session: read(row, 7)?,
                    tool: read(row, 8)?,
                    risk: read(row, 9)?,
                    group: read(row, 10)?,
                    created_at: read(row, 11)?,
                    deadline: read(row, 12)?,
                    source: read(row, 13)?,
                })
            })
            .collect()
    }

    /// Who decided which request, in pages. None in a database of an earlier format.
    pub(crate) async fn decided_by(
        &self,
        after: &(String, u64),
        limit: u32,
    ) -> Result<Option<Vec<(String, u64)>>, StoreError> {
        if self.format().await? < LISTS {
            return Ok(None);
        }
        let page = "SELECT name, request FROM decided_by WHERE (name, request) > ($1, $2) ORDER BY name, request LIMIT $3";
        let rows = self.query(page, &[&after.0, &int(after.1), &i64::from(limit)]).await?;
        rows.iter().map(|row| Ok((read(row, 0)?, number(row, 1)?))).collect::<Result<_, _>>().map(Some)
    }

    pub(crate) async fn history(&self, after: u64, limit: u32) -> Result<Vec<Arc<Request>>, StoreError> {
        let page = requests!("(SELECT seq, meta FROM requests WHERE seq > $1 ORDER BY seq LIMIT $2) r");
        let rows = self.query(page, &[&int(after), &i64::from(limit)]).await?;
        let mut items = rows
            .iter()
            .map(|row| Ok(Arc::new(request(row)?)))
            .collect::<Result<Vec<Arc<Request>>, StoreError>>()?;
        // A join keeps the order of what it joins only by habit.
        items.sort_by_key(|request| request.seq);
        Ok(items)
    }

    pub(crate) async fn policy_text(&self, hash: &str) -> Result<Option<Arc<str>>, StoreError> {
        let find = "SELECT text FROM policies WHERE hash = $1 ORDER BY seq DESC LIMIT 1";
        let rows = self.query(find, &[&hash]).await?;
        rows.first().map(|row| Ok(read::<&str>(row, 0)?.into())).transpose()
    }

    pub(crate) async fn policies(&self, limit: u32) -> Result<Vec<PolicyVersion>, StoreError> {
        if !self.knows_policies().await? {
            return Ok(Vec::new());
        }
        let find = "SELECT seq, hash, source, who, at FROM policies ORDER BY seq DESC LIMIT $1";
        let rows = self.query(find, &[&i64::from(limit)]).await?;
        rows.iter()
            .map(|row| {
                Ok(PolicyVersion {
                    seq: number(row, 0)?,
                    hash: read(row, 1)?,
                    source: read(row, 2)?,
                    by: read(row, 3)?,
                    at: Time::from_micros(read(row, 4)?),
                })
            })
            .collect()
    }

    pub(crate) async fn grants(&self) -> Result<Vec<GrantUse>, StoreError> {
        if !self.knows_policies().await? {
            return Ok(Vec::new());
        }
        let find = "SELECT data, used FROM grants WHERE ended_at IS NULL ORDER BY id";
        let rows = self.query(find, &[]).await?;
        rows.iter()
            .map(|row| {
                let grant: Grant = serde_json::from_str(read(row, 0)?)?;
                Ok(GrantUse { grant: Arc::new(grant), used: number(row, 1)? })
            })
            .collect()
    }

    pub(crate) async fn ended_at_upgrade(&self) -> Result<EndedAtUpgrade, StoreError> {
        let rows = self.query(policies::ENDED, &[]).await?;
        let grants = rows.iter().map(|row| EndedGrant::read(read(row, 0)?, number(row, 1)?, read(row, 2)?));
        let grants = grants.collect::<Result<_, _>>()?;
        let rows = self.query(policies::DROPPED, &[]).await?;
        // Nothing is written down where nothing was dropped.
        let trust = rows.first().map_or(Ok(0), |row| parse(read(row, 0)?))?;
        Ok(EndedAtUpgrade { grants, trust })
    }

    pub(crate) async fn payloads_of(&self, after: u64, upto: u64) -> Result<Vec<(u64, String)>, StoreError> {
        let rows = self
            .query(
                "SELECT seq, body FROM payloads WHERE seq > $1 AND seq <= $2 ORDER BY seq",
                &[&int(after), &int(upto)],
            )
            .await?;
        rows.iter().map(|row| Ok((number(row, 0)?, read(row, 1)?))).collect()
    }

    pub(crate) async fn tallies(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let rows =
            self.query("SELECT agent, pending FROM tallies WHERE pending <> 0 ORDER BY agent", &[]).await?;
        rows.iter().map(|row| Ok((read(row, 0)?, number(row, 1)?))).collect()
    }
}

fn ledger_row(row: &Row) -> Result<LedgerRow, StoreError> {
    let hash = Digest::new(bytes32(read(row, 2)?)?);
    Ok(LedgerRow { seq: number(row, 0)?, text: read(row, 1)?, hash })
}

async fn set_up(client: &Client) -> Result<(), tokio_postgres::Error> {
    let rest = "SET statement_timeout = '10s'; SET idle_in_transaction_session_timeout = '10s'; SET default_transaction_read_only = on";
    client.batch_execute(&format!("{BY_INDEX}; {rest}")).await
}

/// Bounds a read: a server that stands still must not keep its readers.
pub(super) async fn within<T>(
    read: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, StoreError> {
    match tokio::time::timeout(READ, read).await {
        Ok(done) => done.map_err(failed),
        Err(_) => Err(StoreError::Unavailable(format!("no answer to a read within {} s", READ.as_secs()))),
    }
}

/// A parameter that travels with its statement.
pub(super) type Param<'a> = Box<dyn ToSql + Sync + Send + 'a>;

/// The values of a list's query.
pub(super) fn params(binds: Vec<Bind>) -> Vec<(Param<'static>, Type)> {
    let param = |bind| match bind {
        Bind::Text(text) => (Box::new(plain(&text).into_owned()) as Param<'static>, Type::TEXT),
        Bind::Int(int) => (Box::new(int) as Param<'static>, Type::INT8),
    };
    binds.into_iter().map(param).collect()
}

/// A statement that is planned for this one time.
pub(super) fn typed<'a>(client: &'a Client, sql: &'a str, params: Vec<(Param<'a>, Type)>) -> Statement<'a> {
    Box::pin(async move {
        let params: Vec<(&(dyn ToSql + Sync), Type)> =
            params.iter().map(|(value, kind)| (&**value as &(dyn ToSql + Sync), kind.clone())).collect();
        client.query_typed(sql, &params).await
    })
}

/// Several reads of one moment, in one round trip. They are sent together with the end of their transaction, so a
/// reader that goes away half-way leaves a clean connection.
pub(super) async fn snapshot<const N: usize>(
    client: &Client,
    reads: Vec<Statement<'_>>,
) -> Result<[Vec<Row>; N], StoreError> {
    let mut statements = vec![simple(client, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")];
    statements.extend(reads);
    statements.push(simple(client, "COMMIT"));
    let mut rows = within(async { pipeline(statements).await.rows() }).await?;
    rows.pop();
    rows.remove(0);
    rows.try_into().map_err(|_| StoreError::Damaged("a read has the wrong number of answers".to_owned()))
}

fn live() -> Vec<&'static str> {
    LIVE.iter().map(|state| state.as_str()).collect()
}

pub(super) fn one(rows: &[Row]) -> Result<&Row, StoreError> {
    rows.first().ok_or_else(|| StoreError::Damaged("the head of the ledger is missing".to_owned()))
}

const HEAD: &str = "SELECT epoch, seq, hash, principals_seq FROM head WHERE one = 1";
const PRINCIPALS: &str = "SELECT name, kind, data FROM principals";
const KEYS: &str = "SELECT id, role, name, secret, created_at, revoked_at, owner FROM keys";
/// The same of a database that is read before it is upgraded: the entries that made the keys name the owners.
const KEYS_BEFORE: &str =
    "SELECT keys.id, role, name, secret, created_at, revoked_at, made.owner FROM keys LEFT JOIN
    (SELECT entry::jsonb -> 'data' ->> 'id' AS id, entry::jsonb -> 'data' ->> 'owner' AS owner
     FROM ledger WHERE entry LIKE '%\"type\":\"key.created\"%') AS made ON made.id = keys.id";

/// The door of a request in a database that is read before it is upgraded, as its migration would find it.
const SOURCE_BEFORE: &str = r"replace(meta, E'\\u0000', E'\\u0001')::jsonb ->> 'source'";

const POLICY_IN_FORCE: &str = "SELECT hash FROM policies ORDER BY seq DESC LIMIT 1";
const GRANTS: &str = "SELECT data, digest, pattern FROM grants WHERE ended_at IS NULL";

/// No row at all.
const NOTHING: &str = "SELECT WHERE false";

const SESSION: &str = "SELECT id, name, via, created_at, expires_at, bound, secret, rotated_at, last_seen_at, user_agent FROM sessions";

fn session_columns(row: &Row) -> Result<sessions::SessionColumns, StoreError> {
    Ok((read(row, 0)?, read(row, 1)?, read(row, 2)?, read(row, 3)?, read(row, 4)?, read(row, 5)?))
}

fn stored(row: &Row) -> Result<StoredSession, StoreError> {
    Ok(StoredSession {
        session: sessions::session(session_columns(row)?)?,
        key: sessions::key(read(row, 5)?)?,
        secret: bytes32(read(row, 6)?)?,
        rotated_at: Time::from_micros(read(row, 7)?),
        last_seen_at: Time::from_micros(read(row, 8)?),
        user_agent: read(row, 9)?,
    })
}

/// What the directory is read with, in the order of [`directory`].
pub(super) const DIRECTORY: [&str; 10] =
    [PRINCIPALS, KEYS, POLICY_IN_FORCE, GRANTS, SESSIONS, LINKS, PASSWORDS, VOIDED, FROZEN, UNCONFIRMED];

/// The directory from the rows of [`DIRECTORY`].
pub(super) fn directory(rows: &[Vec<Row>; 10]) -> Result<Directory, StoreError> {
    let [principals, keys, policy, grants, signed_in, links, passwords, voided, frozen, unconfirmed] = rows;
    let principals = principals.iter().map(|row| Ok((read(row, 0)?, read(row, 1)?, read(row, 2)?)));
    let keys = keys.iter().map(|row| {
        let key = Key {
            id: parse(read(row, 0)?)?,
            role: parse(read(row, 1)?)?,
            name: read(row, 2)?,
            created_at: Time::from_micros(read(row, 4)?),
            revoked_at: read::<Option<i64>>(row, 5)?.map(Time::from_micros),
            owner: read(row, 6)?,
        };
        Ok((key, read(row, 3)?))
    });
    let mut directory = rows::directory(
        principals.collect::<Result<Vec<_>, StoreError>>()?,
        keys.collect::<Result<Vec<_>, StoreError>>()?,
    )?;
    let policy = policy.first().map(|row| read(row, 0)).transpose()?;
    let grants = grants.iter().map(|row| Ok((read(row, 0)?, read(row, 1)?, read(row, 2)?)));
    policies::attach(&mut directory, policy, grants.collect::<Result<Vec<_>, StoreError>>()?)?;
    let links = links.iter().map(|row| Ok((read(row, 0)?, read(row, 1)?, read(row, 2)?)));
    let passwords = passwords.iter().map(|row| Ok((read(row, 0)?, read(row, 1)?)));
    sessions::attach(
        &mut directory,
        signed_in.iter().map(session_columns).collect::<Result<Vec<_>, StoreError>>()?,
        links.collect::<Result<Vec<_>, StoreError>>()?,
        passwords.collect::<Result<Vec<_>, StoreError>>()?,
    )?;
    let voided = voided.iter().map(|row| Ok((read(row, 0)?, read(row, 1)?, read(row, 2)?)));
    sessions::attach_voided(&mut directory, voided.collect::<Result<Vec<_>, StoreError>>()?)?;
    let frozen = frozen.iter().map(|row| read(row, 0));
    sessions::attach_freezes(&mut directory, frozen.collect::<Result<Vec<_>, StoreError>>()?)?;
    let unconfirmed = unconfirmed.first().map(|row| read(row, 0)).transpose()?;
    sessions::attach_unconfirmed(&mut directory, unconfirmed)?;
    Ok(directory)
}
