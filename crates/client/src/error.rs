//! Errors of calls to Placet. None of them ever means an approval.

use std::{fmt, time::Duration};

use placet_core::{Record, RequestId};
use serde_json::Value;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server refused, and gave the reason.
    #[error(transparent)]
    Problem(Box<Problem>),
    /// The server could not be reached, for the whole outage budget.
    #[error("cannot reach Placet at {url}: {reason}")]
    Unreachable {
        /// Where it was expected.
        url: String,
        /// The last network error.
        reason: String,
        /// How long it was tried.
        tried: Duration,
    },
    /// The caller's own deadline passed while the request was open. Not a decision.
    #[error("{id} was still {state} when the wait ended")]
    Timeout {
        /// Which request.
        id: RequestId,
        /// The state when it was last read.
        state: &'static str,
    },
    /// The answer is not valid: too large, not JSON, or with a word that this version does not know.
    #[error("the answer from {url} cannot be used: {reason}")]
    Protocol {
        /// Who answered.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The client has a wrong setting.
    #[error("{0}")]
    Config(String),
}

impl Error {
    /// The refusal's stable code, if the server refused.
    pub fn code(&self) -> Option<&str> {
        self.problem().map(|problem| problem.code.as_str())
    }

    /// The refusal, if the server refused.
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Problem(problem) => Some(problem),
            _ => None,
        }
    }
}

/// A refusal: the parts of an RFC 9457 problem document that Placet uses.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// The stable code, such as `already_decided`. `http_NNN` if the answer had none.
    pub code: String,
    /// One sentence: what happened and what to do.
    pub detail: String,
    /// JSON pointer to the invalid field.
    pub pointer: Option<String>,
    /// The request, if the refusal is about its state.
    pub record: Option<Box<Record>>,
    /// The whole document. Null if the answer was none.
    pub document: Value,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)?;
        if let Some(pointer) = self.pointer.as_deref().filter(|pointer| !pointer.is_empty()) {
            write!(f, " (at `{pointer}`)")?;
        }
        write!(f, " [{}]", self.code)
    }
}

impl std::error::Error for Problem {}

impl Problem {
    /// Reads a refusal. Whatever the body holds, the result is a refusal.
    pub(crate) fn read(status: u16, body: &[u8]) -> Self {
        Self::from_value(status, serde_json::from_slice(body).unwrap_or(Value::Null))
    }

    pub(crate) fn from_value(status: u16, document: Value) -> Self {
        let text = |field: &str| document.get(field).and_then(Value::as_str).map(str::to_owned);
        let detail = text("detail").or_else(|| text("title"));
        Self {
            status,
            code: text("code").unwrap_or_else(|| format!("http_{status}")),
            detail: detail.unwrap_or_else(|| format!("the server answered {status}")),
            pointer: text("pointer"),
            record: document.get("record").and_then(|record| serde_json::from_value(record.clone()).ok()),
            document,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_document_is_read_field_by_field() {
        let body = br#"{"type":"about:blank","title":"Unprocessable","status":422,"code":"invalid",
            "detail":"the kind `action` needs `tool`","pointer":"/tool"}"#;
        let problem = Problem::read(422, body);
        assert_eq!(problem.to_string(), "the kind `action` needs `tool` (at `/tool`) [invalid]");
    }

    #[test]
    fn a_refusal_without_a_document_is_still_a_refusal() {
        let problem = Problem::read(502, b"<html>Bad Gateway</html>");
        assert_eq!((problem.code.as_str(), problem.detail.as_str()), ("http_502", "the server answered 502"));
    }
}
