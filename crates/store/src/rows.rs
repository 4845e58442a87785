//! Rows as both databases store them, and the way between them and the plain data of `core`.

use std::sync::Arc;

use placet_core::{
    Agent, Digest, Directory, EventPayload, Key, Kind, Payload, Person, Request, RequestId, Time, attach,
};
use serde::Serialize;

use crate::StoreError;

/// A request as it stands.
#[derive(Debug)]
pub(crate) struct RequestRow {
    pub(crate) request: Arc<Request>,
    pub(crate) new: bool,
    pub(crate) meta: String,
}

impl RequestRow {
    pub(crate) fn new(request: Arc<Request>, new: bool) -> Result<Self, StoreError> {
        // Room for an ordinary request: growing to it bit by bit costs as much as writing it.
        let mut meta = Vec::with_capacity(1_280);
        serde_json::to_writer(&mut meta, &*request)?;
        let meta = String::from_utf8(meta).map_err(|error| StoreError::Damaged(error.to_string()))?;
        Ok(Self { request, new, meta })
    }
}

/// What was written with an entry.
#[derive(Debug)]
pub(crate) struct PayloadRow {
    pub(crate) seq: u64,
    pub(crate) request: u64,
    pub(crate) version: u32,
    pub(crate) body: Arc<str>,
}

/// One ledger entry.
#[derive(Debug)]
pub(crate) struct EntryRow {
    pub(crate) seq: u64,
    pub(crate) request: Option<u64>,
    pub(crate) text: String,
    pub(crate) hash: Digest,
}

/// What an idempotency key answers.
#[derive(Debug, Clone)]
pub(crate) struct AnswerRow {
    pub(crate) scope: [u8; 32],
    pub(crate) body: [u8; 32],
    pub(crate) request: Option<(u64, RequestId)>,
    /// The identifier of a key that was made.
    pub(crate) answer: Option<String>,
    /// Whether the table has a row for this scope, which this one replaces. Only a weak key ever points elsewhere.
    pub(crate) stored: bool,
}

/// A key and the hash of its secret.
#[derive(Debug)]
pub(crate) struct KeyRow {
    pub(crate) key: Arc<Key>,
    /// Known only when the key is new; a revocation leaves it as it is.
    pub(crate) secret: Option<[u8; 32]>,
}

/// An agent or a person.
#[derive(Debug)]
pub(crate) struct PrincipalRow {
    pub(crate) name: String,
    pub(crate) data: PrincipalData,
}

/// What is stored of a principal.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum PrincipalData {
    Person(Person),
    Agent(Agent),
}

impl PrincipalData {
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Agent(_) => "agent",
            Self::Person(_) => "person",
        }
    }

    pub(crate) fn text(&self) -> Result<String, StoreError> {
        Ok(serde_json::to_string(self)?)
    }
}

/// News of one subject for one channel: it raises the row of the two, or makes it.
#[derive(Debug)]
pub(crate) struct OutboxRow {
    pub(crate) channel: String,
    pub(crate) subject: String,
    pub(crate) wanted: u64,
    pub(crate) next_at: Time,
    pub(crate) give_up_at: Time,
    /// Who has it from the start, and until when.
    pub(crate) lease: Option<(Arc<str>, Time)>,
}

/// Puts a stored request and its payloads together again.
pub(crate) fn request(
    meta: &str,
    payloads: impl IntoIterator<Item = (u32, String)>,
) -> Result<Request, StoreError> {
    let mut request: Request = serde_json::from_str(meta)?;
    for (version, body) in payloads {
        let written = written(request.kind, &body)?;
        attach(&mut request, version, &written);
    }
    Ok(request)
}

/// Reads a stored payload.
pub(crate) fn written(kind: Kind, body: &str) -> Result<EventPayload, StoreError> {
    let payload: Payload = serde_json::from_str(body)?;
    Ok(EventPayload::from_payload(kind, payload)?)
}

/// Builds the directory from stored principals and keys.
pub(crate) fn directory(
    principals: impl IntoIterator<Item = (String, String, String)>,
    keys: impl IntoIterator<Item = (Key, Vec<u8>)>,
) -> Result<Directory, StoreError> {
    let mut directory = Directory::default();
    for (name, kind, data) in principals {
        if kind == "agent" {
            directory.agents.insert(name, serde_json::from_str(&data)?);
        } else {
            directory.people.insert(name, serde_json::from_str(&data)?);
        }
    }
    for (key, secret) in keys {
        directory.by_secret.insert(bytes32(&secret)?, key.id);
        directory.insert_key(key);
    }
    Ok(directory)
}

/// Thirty-two bytes from a column.
pub(crate) fn bytes32(bytes: &[u8]) -> Result<[u8; 32], StoreError> {
    bytes
        .try_into()
        .map_err(|_| StoreError::Damaged(format!("a hash has {} bytes instead of 32", bytes.len())))
}

/// A word, identifier or number from a column.
pub(crate) fn parse<T: std::str::FromStr>(text: &str) -> Result<T, StoreError> {
    text.parse()
        .map_err(|_| StoreError::Damaged(format!("`{}` is not a value of its column", text.escape_debug())))
}

/// A number for a column. The largest one stands for all beyond it: a cursor that a caller made up finds nothing there.
pub(crate) fn int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A number from a column that is never negative.
pub(crate) fn uint<T: TryFrom<i64>>(value: i64) -> Result<T, StoreError> {
    T::try_from(value).map_err(|_| StoreError::Damaged(format!("{value} is out of the range of its column")))
}
