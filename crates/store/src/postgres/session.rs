//! Connections: opening them in bounded time, sending statements without waiting in between, reading columns.

use std::{future::Future, pin::Pin, time::Duration};

use futures_util::future::{MaybeDone, maybe_done};
use placet_core::{Digest, Request};
use placet_ledger::Head;
use tokio::{task::JoinSet, time::timeout};
use tokio_postgres::{
    Client, Config, Error, NoTls, Row,
    error::{Severity, SqlState},
    types::FromSql,
};

use crate::{
    StoreError,
    backend::HeadRow,
    rows::{self, bytes32, uint},
};

/// How long connecting may take, handshake included.
pub(super) const CONNECT: Duration = Duration::from_secs(3);

/// Reads one connection's answers for as long as this lives; dropping it closes the connection at once.
#[derive(Debug)]
pub(super) struct Driver {
    // Owned, so that it ends with its connection and never outlives it.
    _task: JoinSet<()>,
}

/// Connects, in bounded time.
pub(super) async fn connect(config: &Config) -> Result<(Client, Driver), StoreError> {
    let late = |_| StoreError::Unavailable(format!("no connection within {} s", CONNECT.as_secs()));
    let (client, connection) = timeout(CONNECT, config.connect(NoTls)).await.map_err(late)??;
    let mut task = JoinSet::new();
    task.spawn(async move {
        if let Err(error) = connection.await {
            tracing::warn!(%error, "a connection to the database ended");
        }
    });
    Ok((client, Driver { _task: task }))
}

/// A statement with its parameters, not yet sent: it is sent when it is first polled.
pub(super) type Statement<'a> = Pin<Box<dyn Future<Output = Result<Vec<Row>, Error>> + Send + 'a>>;

/// A statement without parameters or rows.
pub(super) fn simple<'a>(client: &'a Client, sql: &'a str) -> Statement<'a> {
    Box::pin(async move { client.batch_execute(sql).await.map(|()| Vec::new()) })
}

/// What came of a pipeline.
#[derive(Debug)]
pub(super) struct PipelineAnswers {
    /// The answers, in order.
    pub(super) answers: Vec<Result<Vec<Row>, Error>>,
    /// Whether every statement was sent. If not, the last answer says why.
    pub(super) all: bool,
}

impl PipelineAnswers {
    /// The rows of every statement, or the first error. A later statement of a failed transaction only says that.
    pub(super) fn rows(self) -> Result<Vec<Vec<Row>>, Error> {
        self.answers.into_iter().collect()
    }
}

/// Sends statements in order, in one round trip, then waits for all answers. If one cannot be sent, those after it
/// are not sent either: a COMMIT must not follow a transaction that lacks a part.
///
/// Dropped half-way, everything was sent or nothing: there is no wait between the statements.
pub(super) async fn pipeline(statements: Vec<Statement<'_>>) -> PipelineAnswers {
    let mut all = true;
    let mut sent = Vec::with_capacity(statements.len());
    for statement in statements {
        let mut statement = maybe_done(statement);
        // The first poll sends. No answer can be there yet, so an error means that it could not be sent.
        let _ = futures_util::poll!(&mut statement);
        all = !matches!(statement, MaybeDone::Done(Err(_)));
        sent.push(statement);
        if !all {
            break;
        }
    }
    let mut answers = Vec::with_capacity(sent.len());
    for mut statement in sent {
        (&mut statement).await;
        answers.extend(Pin::new(&mut statement).take_output());
    }
    PipelineAnswers { answers, all }
}

/// Whether a connection is of no more use after this error.
pub(super) fn broken(error: &Error) -> bool {
    match error.as_db_error() {
        Some(db) => matches!(db.parsed_severity(), Some(Severity::Fatal | Severity::Panic)),
        None => true,
    }
}

/// What an error means to the store.
pub(super) fn failed(error: Error) -> StoreError {
    match error.as_db_error() {
        // Raised by our own checks inside a transaction, and by Postgres for damaged pages.
        Some(db) if [SqlState::DATA_CORRUPTED, SqlState::INDEX_CORRUPTED].contains(db.code()) => {
            StoreError::Damaged(db.message().to_owned())
        }
        _ => error.into(),
    }
}

/// A column of a row.
pub(super) fn read<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T, StoreError> {
    row.try_get(column).map_err(|error| StoreError::Damaged(error.to_string()))
}

/// A column that holds a number and is never negative.
pub(super) fn number<T: TryFrom<i64>>(row: &Row, column: usize) -> Result<T, StoreError> {
    let value: i64 = read(row, column)?;
    let name = row.columns().get(column).map_or("?", tokio_postgres::Column::name);
    T::try_from(value).map_err(|_| {
        StoreError::Damaged(format!("the column `{name}` of a row holds {value}, which is out of range"))
    })
}

pub(super) fn head(row: &Row) -> Result<HeadRow, StoreError> {
    let hash = Digest::new(bytes32(read(row, 2)?)?);
    Ok(HeadRow {
        head: Head { epoch: read(row, 0)?, seq: number(row, 1)?, hash },
        principals_seq: number(row, 3)?,
    })
}

/// A hash that may be missing.
pub(super) fn digest(row: &Row, column: usize) -> Result<Option<Digest>, StoreError> {
    let hash: Option<&[u8]> = read(row, column)?;
    hash.map(|hash| Ok(Digest::new(bytes32(hash)?))).transpose()
}

/// Where the ledger ends, and the hash of an entry that should be in it. A standby is not asked: it follows as it can, and
/// nothing is written there.
pub(super) async fn history(
    client: &Client,
    known: Option<&Head>,
) -> Result<(Head, Option<Digest>), StoreError> {
    let seq = known.map_or(0, |known| rows::int(known.seq));
    let sql = "SELECT epoch, seq, hash, principals_seq, (SELECT l.hash FROM ledger l WHERE l.seq = $1), pg_is_in_recovery()
               FROM head WHERE one = 1";
    let row = client.query_opt(sql, &[&seq]).await?;
    let row = row.ok_or_else(|| StoreError::Damaged("the head of the ledger is missing".to_owned()))?;
    if read(&row, 5)? {
        return Err(StoreError::Unavailable("this is a standby of the database".to_owned()));
    }
    Ok((head(&row)?.head, digest(&row, 4)?))
}

/// A statement that reads requests with everything that was written to them, each in one row: `meta`, `versions`,
/// `bodies`. It names the requests `r`, and what it is given says which.
macro_rules! requests {
    ($which:expr) => {
        concat!(
            "SELECT r.meta, p.versions, p.bodies FROM ",
            $which,
            " LEFT JOIN LATERAL (
                 SELECT array_agg(w.version ORDER BY w.version) AS versions, array_agg(w.body ORDER BY w.version) AS bodies FROM (
                     SELECT version, body FROM payloads WHERE seq = r.seq
                     UNION ALL SELECT version, body FROM payloads WHERE request = r.seq AND version > 1) w
             ) p ON TRUE"
        )
    };
}
pub(super) use requests;

/// A row of such a statement.
pub(super) fn request(row: &Row) -> Result<Request, StoreError> {
    let (versions, bodies): (Option<Vec<i64>>, Option<Vec<String>>) = (read(row, 1)?, read(row, 2)?);
    // Both are NULL where nothing was written, or all of it was erased.
    let versions = versions.into_iter().flatten().map(uint).collect::<Result<Vec<u32>, _>>()?;
    rows::request(read(row, 0)?, versions.into_iter().zip(bodies.into_iter().flatten()))
}
