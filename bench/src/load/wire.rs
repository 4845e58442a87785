//! The bytes of every call: built once, patched where a number changes, read by key.

use std::io::Write as _;
use std::net::SocketAddr;

use anyhow::{Context as _, Result};

use super::conn::find;

/// Digits of the counters that make every body different.
const DIGITS: usize = 10;
const SLOT: &[u8; DIGITS] = b"##########";

/// The parts of a held request that a decision needs.
#[derive(Debug, Clone)]
pub struct HeldRequest {
    /// The request's id.
    pub id: String,
    /// Its digest, as shown.
    pub digest: String,
    /// Its version, as shown.
    pub version: u64,
}

impl HeldRequest {
    /// Reads the record of a create.
    pub fn read(record: &[u8]) -> Result<Self> {
        Ok(Self {
            id: text_after(record, b"\"id\":\"").context("the record has no id")?.to_owned(),
            digest: text_after(record, b"\"digest\":\"").context("the record has no digest")?.to_owned(),
            version: number_after(record, b"\"version\":").context("the record has no version")?,
        })
    }
}

/// Whether a record says that the request still waits for a person.
pub fn is_pending(record: &[u8]) -> bool {
    find(record, b"\"state\":\"pending\"").is_some()
}

/// The string that follows `key` (quotes included in the key) in compact JSON.
pub fn text_after<'a>(json: &'a [u8], key: &[u8]) -> Option<&'a str> {
    let start = find(json, key)? + key.len();
    let length = json[start..].iter().position(|byte| *byte == b'"')?;
    std::str::from_utf8(&json[start..start + length]).ok()
}

pub(crate) fn number_after(json: &[u8], key: &[u8]) -> Option<u64> {
    let start = find(json, key)? + key.len();
    let length = json[start..].iter().position(|byte| !byte.is_ascii_digit())?;
    std::str::from_utf8(&json[start..start + length]).ok()?.parse().ok()
}

/// The create body, about 600 bytes, as an agent would send it. `##########` marks a counter.
pub const CREATE_BODY: &str = concat!(
    r#"{"kind":"action","tool":"files.delete","arguments":{"files":["/srv/reports/2026/quarter-##########.md","#,
    r#""/srv/reports/2026/annex-a.md","/srv/reports/2026/annex-b.md"],"recursive":false,"#,
    r#""reason":"superseded by the signed version in the archive"},"session":"bench-##########","#,
    r#""summary":"Remove the draft reports that were replaced by the signed ones; the archive keeps a copy of each of them.","#,
    r#""risk":"high","context":{"cwd":"/srv/reports","call_id":"call-##########","invocation_id":"inv-7f3a9c51e0","#,
    r#""lineage":["planner","archivist"]},"allowed":["approve","edit","deny"],"expires_in":"6h"}"#
);

/// A create call whose counters are patched in place.
#[derive(Debug, Clone)]
pub struct Create {
    bytes: Vec<u8>,
    slots: Vec<usize>,
}

impl Create {
    /// The call for one agent on one server. `keyed` adds a different idempotency key each time.
    pub fn new(addr: SocketAddr, agent: &str, keyed: bool) -> Self {
        let key = if keyed { "idempotency-key: bench-##########\r\n" } else { "" };
        let bytes = post(addr, "/v1/requests", agent, key, CREATE_BODY.as_bytes());
        let mut slots = Vec::new();
        let mut from = 0;
        while let Some(at) = find(&bytes[from..], SLOT) {
            slots.push(from + at);
            from += at + DIGITS;
        }
        Self { bytes, slots }
    }

    /// The bytes of the `counter`-th create.
    pub fn fill(&mut self, counter: u64) -> &[u8] {
        let mut digits = [b'0'; DIGITS];
        let mut rest = counter;
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + u8::try_from(rest % 10).unwrap_or(0);
            rest /= 10;
        }
        for slot in &self.slots {
            self.bytes[*slot..*slot + DIGITS].copy_from_slice(&digits);
        }
        &self.bytes
    }
}

/// A JSON POST, whole.
pub fn post(addr: SocketAddr, path: &str, key: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "POST {path} HTTP/1.1\r\nhost: {addr}\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// A GET, whole.
pub fn get(addr: SocketAddr, path: &str, key: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: {addr}\r\nauthorization: Bearer {key}\r\n\r\n").into_bytes()
}

/// Path and query of a long poll on one request, as long as servers commonly allow.
pub fn wait_path(id: &str) -> String {
    format!("/v1/requests/{id}?wait=60s")
}

/// The approval of a held request.
pub fn approve(addr: SocketAddr, reviewer: &str, held: &HeldRequest) -> Vec<u8> {
    let mut body = Vec::with_capacity(160);
    // Writing to a Vec cannot fail.
    let _ = write!(body, r#"{{"decision":"approve","digest":"{}","version":{}}}"#, held.digest, held.version);
    post(addr, &format!("/v1/requests/{}/decision", held.id), reviewer, "", &body)
}

/// One batch that denies all of `held`.
pub fn deny_batch(addr: SocketAddr, reviewer: &str, held: &[HeldRequest]) -> Vec<u8> {
    let items: Vec<serde_json::Value> = held
        .iter()
        .map(|held| {
            serde_json::json!({"id": held.id, "digest": held.digest, "version": held.version,
                "decision": "deny", "reason": "not now"})
        })
        .collect();
    post(addr, "/v1/decisions", reviewer, "", serde_json::Value::from(items).to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addr() -> SocketAddr {
        ([127, 0, 0, 1], 1).into()
    }

    #[test]
    fn the_create_body_is_json_of_about_600_bytes() {
        let body = CREATE_BODY.replace("##########", "0000000001");
        assert!((560..=640).contains(&body.len()), "{}", body.len());
        let value: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!(value["session"], "bench-0000000001");
    }

    #[test]
    fn every_create_differs_from_the_one_before() {
        let mut create = Create::new(addr(), "k", true);
        let first = create.fill(41).to_vec();
        let second = String::from_utf8(create.fill(42).to_vec()).unwrap();
        assert_eq!(second.matches("0000000042").count(), 4);
        assert_eq!(first.len(), second.len());
    }

    #[test]
    fn a_record_gives_id_digest_and_version() {
        let held =
            HeldRequest::read(br#"{"id":"req_1","version":12,"state":"pending","digest":"sha256:ab"}"#)
                .unwrap();
        assert_eq!((held.id.as_str(), held.digest.as_str(), held.version), ("req_1", "sha256:ab", 12));
        assert!(HeldRequest::read(br#"{"version":1}"#).is_err());
    }
}
