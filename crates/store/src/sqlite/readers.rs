//! Read-only connections of the embedded database. Single rows are read in place; longer reads leave the runtime alone.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use placet_core::{Digest, Directory, Grant, Key, Request, RequestId, SessionId, State, Time};
use placet_ledger::{Entry, Head};
use rusqlite::{Connection, OptionalExtension as _, Row, params_from_iter, types::ToSql};
use tokio::sync::Semaphore;

use super::{Recent, number};
use crate::{
    EndedAtUpgrade, EndedGrant, Figure, Filter, GrantUse, LedgerRow, Listed, PolicyVersion, StoreError,
    StoredSession, Waiting,
    backend::HeadRow,
    figures::figure,
    migrations::{BOUND, CREDENTIALS, FREEZES, LISTS, POLICY, SIGN_IN},
    policies,
    read::{Between, Bind, groups_sql, list_sql, page},
    rows::{self, bytes32, int, parse},
    sessions,
    tail::News,
    verify::TableRow,
};

/// How many connections read at once.
const CONNECTIONS: usize = 4;

/// A bounded pool of reading connections.
#[derive(Debug)]
pub(crate) struct SqliteReaders {
    pool: Arc<Pool>,
    // Only beside the writer of this process. A reader of another server's file has none.
    recent: Option<Arc<Recent>>,
}

#[derive(Debug)]
struct Pool {
    path: PathBuf,
    // A std mutex: held to push or pop a connection, never while it is used.
    idle: Mutex<Vec<Connection>>,
    // Bounds how many are in use; a read beyond that waits its turn.
    turns: Semaphore,
}

impl Pool {
    fn with<T>(&self, body: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => super::open_read_only(&self.path)?,
        };
        let result = body(&connection);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        result
    }
}

/// Values as the database takes them.
pub(super) fn values(binds: &[Bind]) -> impl Iterator<Item = &dyn ToSql> {
    binds.iter().map(|bind| match bind {
        Bind::Text(text) => text as &dyn ToSql,
        Bind::Int(int) => int,
    })
}

impl SqliteReaders {
    pub(crate) fn new(path: &Path, recent: Option<Arc<Recent>>) -> Self {
        let pool = Pool { path: path.to_owned(), idle: Mutex::default(), turns: Semaphore::new(CONNECTIONS) };
        Self { pool: Arc::new(pool), recent }
    }

    /// A short read, a few pages at most: cheaper in place than on another thread.
    pub(super) async fn short<T>(
        &self,
        body: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let _turn = self.pool.turns.acquire().await.map_err(|_| StoreError::Busy)?;
        self.pool.with(body)
    }

    /// A long read, on a thread that may wait for the disk.
    pub(super) async fn long<T: Send + 'static>(
        &self,
        body: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let _turn = self.pool.turns.acquire().await.map_err(|_| StoreError::Busy)?;
        let pool = self.pool.clone();
        let read = tokio::task::spawn_blocking(move || pool.with(body));
        read.await.map_err(|error| StoreError::Database(format!("a read was cut short: {error}")))?
    }

    pub(crate) async fn get(&self, id: RequestId) -> Result<Option<Arc<Request>>, StoreError> {
        if let Some(request) = self.recent.as_ref().and_then(|recent| recent.get(id)) {
            return Ok(Some(request));
        }
        Ok(self.short(|db| get(db, id)).await?.map(Arc::new))
    }

    pub(crate) async fn head(&self) -> Result<HeadRow, StoreError> {
        self.short(head).await
    }

    pub(crate) async fn head_and(&self, known: Option<&Head>) -> Result<(Head, Option<Digest>), StoreError> {
        let seq = known.map_or(0, |known| known.seq);
        self.short(move |db| Ok((head(db)?.head, hash_of(db, seq)?))).await
    }

    pub(crate) async fn next_deadline(&self) -> Result<Option<Time>, StoreError> {
        self.short(|db| {
            let mut earliest: Option<i64> = None;
            for state in LIVE {
                let found: Option<i64> = db
                    .prepare_cached(
                        "SELECT min(deadline) FROM requests WHERE state = ?1 AND deadline IS NOT NULL",
                    )?
                    .query_row([state.as_str()], |row| row.get(0))?;
                earliest = earliest.into_iter().chain(found).min();
            }
            Ok(earliest.map(Time::from_micros))
        })
        .await
    }

    pub(crate) async fn due(&self, now: Time, limit: u32) -> Result<Vec<RequestId>, StoreError> {
        self.short(|db| {
            let mut due = Vec::new();
            for state in LIVE {
                let mut find = db.prepare_cached(
                    "SELECT id FROM requests WHERE state = ?1 AND deadline IS NOT NULL AND deadline <= ?2 ORDER BY deadline LIMIT ?3",
                )?;
                let ids = find.query_map(rusqlite::params![state.as_str(), now.micros(), limit], |row| row.get::<_, String>(0))?;
                for id in ids {
                    due.push(parse(&id?)?);
                }
            }
            Ok(due)
        })
        .await
    }

    pub(crate) async fn directory(&self) -> Result<(u64, Directory), StoreError> {
        self.long(|db| snapshot(db, |db| Ok((head(db)?.principals_seq, directory(db)?)))).await
    }

    pub(crate) async fn list(
        &self,
        filter: &Filter,
        between: Between,
        limit: u32,
        now: Time,
    ) -> Result<Listed, StoreError> {
        let (sql, binds) = list_sql("seq, meta", filter, between, limit + 1, now, '?', "LIKE");
        let pending = filter.by_deadline();
        self.long(move |db| {
            snapshot(db, |db| {
                let head = head(db)?.head;
                let mut find = db.prepare_cached(&sql)?;
                let rows = find.query_map(params_from_iter(values(&binds)), |row| {
                    Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
                })?;
                let items = rows
                    .map(|row| {
                        let (seq, meta) = row?;
                        Ok(Arc::new(rows::request(&meta, payloads(db, seq)?)?))
                    })
                    .collect::<Result<Vec<_>, StoreError>>()?;
                Ok(page(items, limit, pending, head.seq, head.epoch))
            })
        })
        .await
    }

    /// How many groups there are among the newest requests of a list.
    pub(crate) async fn groups(
        &self,
        filter: &Filter,
        between: Between,
        newest: u32,
        now: Time,
    ) -> Result<u64, StoreError> {
        let (sql, binds) = groups_sql(filter, between, newest, now, '?', "LIKE");
        self.long(move |db| {
            let mut count = db.prepare_cached(&sql)?;
            Ok(count.query_row(params_from_iter(values(&binds)), |row| number(row, 0))?)
        })
        .await
    }

    /// The first request that this entry or a later one made, and when.
    pub(crate) async fn made_after(&self, seq: u64) -> Result<Option<(u64, Time)>, StoreError> {
        self.short(|db| {
            let mut find = db.prepare_cached(
                "SELECT seq, created_at FROM requests WHERE seq >= ?1 ORDER BY seq LIMIT 1",
            )?;
            let row = |row: &Row<'_>| Ok((number(row, 0)?, Time::from_micros(row.get(1)?)));
            Ok(find.query_row([int(seq)], row).optional()?)
        })
        .await
    }

    pub(crate) async fn entries_of(&self, request: u64, limit: u32) -> Result<Vec<LedgerRow>, StoreError> {
        self.long(move |db| {
            let mut find = db.prepare_cached(
                "SELECT seq, entry, hash FROM ledger WHERE seq = ?1
                 UNION ALL SELECT seq, entry, hash FROM ledger WHERE request = ?1 AND request <> seq ORDER BY 1 LIMIT ?2",
            )?;
            rows_of(find.query(rusqlite::params![int(request), limit])?)
        })
        .await
    }

    pub(crate) async fn figures(
        &self,
        from: u64,
        before: u64,
        limit: u32,
    ) -> Result<Vec<Figure>, StoreError> {
        self.long(move |db| {
            let mut find = db.prepare_cached(
                "SELECT seq, changed_at, meta FROM requests WHERE seq >= ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3",
            )?;
            let rows = find.query_map(rusqlite::params![int(from), int(before), limit], |row| {
                Ok((number(row, 0)?, row.get(1)?, row.get::<_, String>(2)?))
            })?;
            rows.map(|row| {
                let (seq, changed_at, meta) = row?;
                figure(seq, changed_at, &meta)
            })
            .collect()
        })
        .await
    }

    pub(crate) async fn waiting(&self, now: Time) -> Result<Vec<Waiting>, StoreError> {
        self.long(move |db| {
            let mut find = db.prepare_cached(
                "SELECT risk, count(*), min(created_at) FROM requests
                 WHERE state = 'pending' AND deadline IS NOT NULL AND deadline > ?1 GROUP BY risk",
            )?;
            let rows = find.query_map([now.micros()], |row| {
                Ok((row.get::<_, String>(0)?, number(row, 1)?, row.get(2)?))
            })?;
            rows.map(|row| {
                let (risk, count, oldest) = row?;
                Ok(Waiting { risk: parse(&risk)?, count, oldest: Time::from_micros(oldest) })
            })
            .collect()
        })
        .await
    }

    pub(crate) async fn ledger(&self, after: u64, limit: u32) -> Result<Vec<LedgerRow>, StoreError> {
        self.long(move |db| ledger(db, after, limit)).await
    }

    pub(crate) async fn news(&self, after: u64, limit: u32) -> Result<Vec<News>, StoreError> {
        self.long(move |db| {
            snapshot(db, |db| {
                ledger(db, after, limit)?
                    .into_iter()
                    .map(|row| {
                        let entry: Entry = serde_json::from_str(&row.text)?;
                        let request =
                            entry.request.map(|id| get(db, id)).transpose()?.flatten().map(Arc::new);
                        Ok(News::new(entry, row.hash, request, false))
                    })
                    .collect()
            })
        })
        .await
    }

    pub(crate) async fn tables_page(&self, after: u64, limit: u32) -> Result<Vec<TableRow>, StoreError> {
        self.long(move |db| {
            let source =
                if super::format(db)? < LISTS { "json_extract(meta, '$.source')" } else { "source" };
            let mut find = db.prepare_cached(&format!(
                "SELECT seq, version, state, meta, id, kind, agent, session, tool, risk, grp, created_at, deadline, {source}
                 FROM requests WHERE seq > ?1 ORDER BY seq LIMIT ?2",
            ))?;
            let rows = find.query_map(rusqlite::params![int(after), limit], |row| {
                Ok(TableRow {
                    seq: number(row, 0)?,
                    version: row.get(1)?,
                    state: row.get(2)?,
                    meta: row.get(3)?,
                    id: row.get(4)?,
                    kind: row.get(5)?,
                    agent: row.get(6)?,
                    session: row.get(7)?,
                    tool: row.get(8)?,
                    risk: row.get(9)?,
                    group: row.get(10)?,
                    created_at: row.get(11)?,
                    deadline: row.get(12)?,
                    source: row.get(13)?,
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
    }

    /// Who decided which request, in pages. None in a database of an earlier format.
    pub(crate) async fn decided_by(
        &self,
        after: &(String, u64),
        limit: u32,
    ) -> Result<Option<Vec<(String, u64)>>, StoreError> {
        let (name, request) = (after.0.clone(), int(after.1));
        self.long(move |db| {
            if super::format(db)? < LISTS {
                return Ok(None);
            }
            let mut find = db.prepare_cached(
                "SELECT name, request FROM decided_by WHERE (name, request) > (?1, ?2) ORDER BY name, request LIMIT ?3",
            )?;
            let rows = find.query_map(rusqlite::params![name, request, limit], |row| {
                Ok((row.get(0)?, number(row, 1)?))
            })?;
            Ok(Some(rows.collect::<Result<_, _>>()?))
        })
        .await
    }

    pub(crate) async fn payloads_of(&self, after: u64, upto: u64) -> Result<Vec<(u64, String)>, StoreError> {
        self.long(move |db| {
            let mut find = db
                .prepare_cached("SELECT seq, body FROM payloads WHERE seq > ?1 AND seq <= ?2 ORDER BY seq")?;
            let rows = find.query_map([int(after), int(upto)], |row| Ok((number(row, 0)?, row.get(1)?)))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
    }

    pub(crate) async fn history(&self, after: u64, limit: u32) -> Result<Vec<Arc<Request>>, StoreError> {
        self.long(move |db| {
            snapshot(db, |db| {
                let mut find =
                    db.prepare_cached("SELECT seq, meta FROM requests WHERE seq > ?1 ORDER BY seq LIMIT ?2")?;
                let rows = find.query_map(rusqlite::params![int(after), limit], |row| {
                    Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
                })?;
                rows.map(|row| {
                    let (seq, meta) = row?;
                    Ok(Arc::new(rows::request(&meta, payloads(db, seq)?)?))
                })
                .collect()
            })
        })
        .await
    }

    pub(crate) async fn policy_text(&self, hash: &str) -> Result<Option<Arc<str>>, StoreError> {
        let hash = hash.to_owned();
        self.long(move |db| {
            let text: Option<String> = db
                .prepare_cached("SELECT text FROM policies WHERE hash = ?1 ORDER BY seq DESC LIMIT 1")?
                .query_row([hash], |row| row.get(0))
                .optional()?;
            Ok(text.map(Into::into))
        })
        .await
    }

    pub(crate) async fn policies(&self, limit: u32) -> Result<Vec<PolicyVersion>, StoreError> {
        self.long(move |db| {
            if super::format(db)? < POLICY {
                return Ok(Vec::new());
            }
            let mut find = db.prepare_cached(
                "SELECT seq, hash, source, who, at FROM policies ORDER BY seq DESC LIMIT ?1",
            )?;
            let rows = find.query_map([limit], |row| {
                Ok(PolicyVersion {
                    seq: number(row, 0)?,
                    hash: row.get(1)?,
                    source: row.get(2)?,
                    by: row.get(3)?,
                    at: Time::from_micros(row.get(4)?),
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
    }

    pub(crate) async fn grants(&self) -> Result<Vec<GrantUse>, StoreError> {
        self.long(|db| {
            if super::format(db)? < POLICY {
                return Ok(Vec::new());
            }
            let mut find =
                db.prepare_cached("SELECT data, used FROM grants WHERE ended_at IS NULL ORDER BY id")?;
            let rows = find.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?;
            rows.map(|row| {
                let (data, used) = row?;
                Ok(GrantUse { grant: Arc::new(serde_json::from_str::<Grant>(&data)?), used })
            })
            .collect()
        })
        .await
    }

    pub(crate) async fn ended_at_upgrade(&self) -> Result<EndedAtUpgrade, StoreError> {
        self.long(|db| {
            let mut find = db.prepare_cached(policies::ENDED)?;
            let rows = find.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?, row.get(2)?)))?;
            let grants = rows.map(|row| {
                let (data, used, at) = row?;
                EndedGrant::read(&data, used, at)
            });
            let grants = grants.collect::<Result<_, _>>()?;
            let dropped: Option<String> =
                db.prepare_cached(policies::DROPPED)?.query_row([], |row| row.get(0)).optional()?;
            // Nothing is written down where nothing was dropped.
            Ok(EndedAtUpgrade { grants, trust: dropped.map_or(Ok(0), |count| parse(&count))? })
        })
        .await
    }

    pub(crate) async fn session(&self, secret: [u8; 32]) -> Result<Option<StoredSession>, StoreError> {
        self.short(|db| {
            let found = db
                .prepare_cached(&format!(
                    "{SESSION} WHERE secret = ?1 UNION ALL {SESSION} WHERE previous = ?1 LIMIT 1"
                ))?
                .query_row([&secret[..]], session_columns)
                .optional()?;
            found.map(session).transpose()
        })
        .await
    }

    pub(crate) async fn sessions_of(&self, name: &str) -> Result<Vec<StoredSession>, StoreError> {
        self.short(|db| {
            let mut find =
                db.prepare_cached(&format!("{SESSION} WHERE name = ?1 ORDER BY created_at DESC, id DESC"))?;
            let rows = find.query_map([name], session_columns)?;
            rows.map(|row| session(row?)).collect()
        })
        .await
    }

    pub(crate) async fn old_sessions(
        &self,
        now: Time,
        idle_since: Time,
        limit: u32,
    ) -> Result<Vec<SessionId>, StoreError> {
        self.short(|db| {
            let mut find = db.prepare_cached(
                "SELECT id FROM sessions WHERE expires_at <= ?1 OR last_seen_at <= ?2 LIMIT ?3",
            )?;
            let ids = find.query_map(rusqlite::params![now.micros(), idle_since.micros(), limit], |row| {
                row.get::<_, String>(0)
            })?;
            ids.map(|id| parse(&id?)).collect()
        })
        .await
    }

    pub(crate) async fn tallies(&self) -> Result<Vec<(String, u64)>, StoreError> {
        self.long(|db| {
            let mut find =
                db.prepare_cached("SELECT agent, pending FROM tallies WHERE pending <> 0 ORDER BY agent")?;
            let rows = find.query_map([], |row| Ok((row.get(0)?, number(row, 1)?)))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
    }
}

/// The states that have deadlines.
const LIVE: [State; 3] = [State::Pending, State::Approved, State::Claimed];

/// Several reads of one moment.
pub(super) fn snapshot<T>(
    db: &Connection,
    body: impl FnOnce(&Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    db.execute_batch("BEGIN")?;
    let result = body(db);
    db.execute_batch("COMMIT")?;
    result
}

/// The end of the ledger. Databases of every format have this much.
pub(super) fn head(db: &Connection) -> Result<HeadRow, StoreError> {
    let mut find = db.prepare_cached("SELECT epoch, seq, hash, principals_seq FROM head WHERE one = 1")?;
    Ok(find.query_row([], head_row)?)
}

fn head_row(row: &Row<'_>) -> rusqlite::Result<HeadRow> {
    let head = Head { epoch: row.get(0)?, seq: number(row, 1)?, hash: Digest::new(row.get(2)?) };
    Ok(HeadRow { head, principals_seq: number(row, 3)? })
}

/// The end of the ledger, and when it was written.
pub(super) fn head_at(db: &Connection) -> Result<(HeadRow, Time), StoreError> {
    let mut find =
        db.prepare_cached("SELECT epoch, seq, hash, principals_seq, at FROM head WHERE one = 1")?;
    Ok(find.query_row([], |row| Ok((head_row(row)?, Time::from_micros(row.get(4)?))))?)
}

/// The hash of an entry.
pub(super) fn hash_of(db: &Connection, seq: u64) -> Result<Option<Digest>, StoreError> {
    let mut find = db.prepare_cached("SELECT hash FROM ledger WHERE seq = ?1")?;
    let hash: Option<Vec<u8>> = find.query_row([int(seq)], |row| row.get(0)).optional()?;
    hash.map(|hash| Ok(Digest::new(bytes32(&hash)?))).transpose()
}

pub(super) fn get(db: &Connection, id: RequestId) -> Result<Option<Request>, StoreError> {
    let row: Option<(i64, String)> = db
        .prepare_cached("SELECT seq, meta FROM requests WHERE id = ?1")?
        .query_row([id.to_string()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    row.map(|(seq, meta)| rows::request(&meta, payloads(db, seq)?)).transpose()
}

/// Read after the row, perhaps one commit later: a payload that the row does not know of is left alone.
fn payloads(db: &Connection, seq: i64) -> Result<Vec<(u32, String)>, StoreError> {
    let mut find = db.prepare_cached(
        "SELECT version, body FROM payloads WHERE seq = ?1
         UNION ALL SELECT version, body FROM payloads WHERE request = ?1 AND version > 1 ORDER BY 1",
    )?;
    let rows = find.query_map([seq], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Requests that still have a deadline, of one agent or of all.
pub(super) fn live(db: &Connection, agent: Option<&str>) -> Result<Vec<Arc<Request>>, StoreError> {
    let mut find =
        db.prepare_cached("SELECT seq, meta FROM requests WHERE deadline IS NOT NULL AND (?1 IS NULL OR agent = ?1) ORDER BY seq")?;
    let rows = find.query_map([agent], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))?;
    rows.map(|row| {
        let (seq, meta) = row?;
        Ok(Arc::new(rows::request(&meta, payloads(db, seq)?)?))
    })
    .collect()
}

pub(super) fn directory(db: &Connection) -> Result<Directory, StoreError> {
    let mut find = db.prepare_cached("SELECT name, kind, data FROM principals")?;
    let principals = find
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<Vec<_>, _>>()?;
    let known = super::format(db)? >= CREDENTIALS;
    let mut find = db.prepare_cached(if known { KEYS } else { KEYS_BEFORE })?;
    let keys = find.query_map([], |row| {
        Ok((
            row.get::<_, String>(0)?,
            row.get::<_, String>(1)?,
            row.get(2)?,
            row.get(3)?,
            row.get::<_, i64>(4)?,
            row.get::<_, Option<i64>>(5)?,
            row.get(6)?,
        ))
    })?;
    let keys = keys
        .map(|row| {
            let (id, role, name, secret, created, revoked, owner) = row?;
            let key = Key {
                id: parse(&id)?,
                role: parse(&role)?,
                name,
                created_at: Time::from_micros(created),
                revoked_at: revoked.map(Time::from_micros),
                owner,
            };
            Ok((key, secret))
        })
        .collect::<Result<Vec<(Key, Vec<u8>)>, StoreError>>()?;
    let mut directory = rows::directory(principals, keys)?;
    if super::format(db)? >= POLICY {
        let policy = db
            .prepare_cached("SELECT hash FROM policies ORDER BY seq DESC LIMIT 1")?
            .query_row([], |row| row.get(0))
            .optional()?;
        let mut find =
            db.prepare_cached("SELECT data, digest, pattern FROM grants WHERE ended_at IS NULL")?;
        let grants = find
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            .collect::<Result<Vec<_>, _>>()?;
        policies::attach(&mut directory, policy, grants)?;
    }
    if super::format(db)? >= SIGN_IN {
        let known = super::format(db)? >= BOUND;
        let mut find =
            db.prepare_cached(if known { sessions::SESSIONS } else { sessions::SESSIONS_BEFORE })?;
        let signed_in = find
            .query_map([], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
            })?
            .collect::<Result<Vec<_>, _>>()?;
        let mut find = db.prepare_cached(sessions::LINKS)?;
        let links = find
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            .collect::<Result<Vec<_>, _>>()?;
        let mut find = db.prepare_cached(sessions::PASSWORDS)?;
        let passwords =
            find.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<Vec<_>, _>>()?;
        sessions::attach(&mut directory, signed_in, links, passwords)?;
    }
    if known {
        let mut find = db.prepare_cached(sessions::VOIDED)?;
        let voided = find.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        sessions::attach_voided(&mut directory, voided.collect::<Result<Vec<_>, _>>()?)?;
    }
    if super::format(db)? >= FREEZES {
        let mut find = db.prepare_cached(sessions::FROZEN)?;
        let frozen = find.query_map([], |row| row.get(0))?.collect::<Result<Vec<_>, _>>()?;
        sessions::attach_freezes(&mut directory, frozen)?;
    }
    let mut find = db.prepare_cached(sessions::UNCONFIRMED)?;
    let unconfirmed = find.query_row([], |row| row.get(0)).optional()?;
    sessions::attach_unconfirmed(&mut directory, unconfirmed)?;
    Ok(directory)
}

const KEYS: &str = "SELECT id, role, name, secret, created_at, revoked_at, owner FROM keys";
/// The same of a database that is read before it is upgraded: the entries that made the keys name the owners.
const KEYS_BEFORE: &str =
    "SELECT keys.id, role, name, secret, created_at, revoked_at, made.owner FROM keys LEFT JOIN
    (SELECT json_extract(entry, '$.data.id') AS id, json_extract(entry, '$.data.owner') AS owner
     FROM ledger WHERE entry LIKE '%\"type\":\"key.created\"%') AS made ON made.id = keys.id";

const SESSION: &str = "SELECT id, name, via, created_at, expires_at, bound, secret, rotated_at, last_seen_at, user_agent FROM sessions";

type StoredColumns = (sessions::SessionColumns, Vec<u8>, i64, i64, String);

fn session_columns(row: &rusqlite::Row<'_>) -> rusqlite::Result<StoredColumns> {
    let session = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?);
    Ok((session, row.get(6)?, row.get(7)?, row.get(8)?, row.get(9)?))
}

fn session(columns: StoredColumns) -> Result<StoredSession, StoreError> {
    let (session, secret, rotated_at, last_seen_at, user_agent) = columns;
    Ok(StoredSession {
        key: sessions::key(session.5.as_deref())?,
        session: sessions::session(session)?,
        secret: bytes32(&secret)?,
        rotated_at: Time::from_micros(rotated_at),
        last_seen_at: Time::from_micros(last_seen_at),
        user_agent,
    })
}

fn ledger(db: &Connection, after: u64, limit: u32) -> Result<Vec<LedgerRow>, StoreError> {
    let mut find =
        db.prepare_cached("SELECT seq, entry, hash FROM ledger WHERE seq > ?1 ORDER BY seq LIMIT ?2")?;
    rows_of(find.query(rusqlite::params![int(after), limit])?)
}

fn rows_of(mut rows: rusqlite::Rows<'_>) -> Result<Vec<LedgerRow>, StoreError> {
    let mut out = Vec::new();
    while let Some(row) = rows.next()? {
        let hash: Vec<u8> = row.get(2)?;
        out.push(LedgerRow { seq: number(row, 0)?, text: row.get(1)?, hash: Digest::new(bytes32(&hash)?) });
    }
    Ok(out)
}
