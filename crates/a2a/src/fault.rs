//! What can be wrong with a call, as both versions and both bindings say it.

use serde_json::{Value, json};

use crate::Version;

/// Why a call is refused. The sentence names what is wrong and the fix; the code is the protocol's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The body is no JSON document.
    Parse(String),
    /// No request of JSON-RPC.
    InvalidRequest(String),
    /// A method nobody has.
    MethodNotFound(String),
    /// Parameters that do not fit.
    InvalidParams(String),
    /// Our own failure.
    Internal(String),
    /// No such task, or none of this caller's: both look the same.
    TaskNotFound(String),
    /// The task has ended, or cannot be withdrawn any more.
    NotCancelable(String),
    /// This agent posts no news.
    NoPush,
    /// The operation is not possible here or now.
    Unsupported(String),
    /// A media type this agent does not take.
    ContentType(String),
    /// There is no card beyond the public one.
    NoExtendedCard,
    /// A version this agent does not speak.
    VersionNotSupported(String),
    /// No key, or one that does not work.
    Unauthenticated(String),
    /// A key that may not do this.
    Forbidden(String),
    /// Too much at once: try again later.
    Busy(String),
    /// There is no agent at this address.
    NoAgent(String),
    /// The agent behind a proxy cannot be reached, or answers something that is no answer.
    BadAgent(String),
    /// The agent behind a proxy refuses: its own error object, as it came.
    Told(Value),
}

impl Fault {
    /// The code of JSON-RPC.
    #[must_use]
    pub fn code(&self) -> i64 {
        match self {
            Self::Parse(_) => -32700,
            Self::InvalidRequest(_) => -32600,
            Self::MethodNotFound(_) => -32601,
            Self::InvalidParams(_) => -32602,
            Self::Internal(_) | Self::Busy(_) => -32603,
            Self::TaskNotFound(_) => -32001,
            Self::NotCancelable(_) => -32002,
            Self::NoPush => -32003,
            Self::Unsupported(_) => -32004,
            Self::ContentType(_) => -32005,
            Self::BadAgent(_) => -32006,
            Self::NoExtendedCard => -32007,
            Self::VersionNotSupported(_) => -32009,
            // The protocol leaves these to HTTP; inside a stream or a batch they still need a number of ours.
            Self::Unauthenticated(_) => -32041,
            Self::Forbidden(_) => -32043,
            Self::NoAgent(_) => -32044,
            Self::Told(error) => error.get("code").and_then(Value::as_i64).unwrap_or(-32603),
        }
    }

    /// The status of HTTP, for the binding that has one.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::TaskNotFound(_) | Self::MethodNotFound(_) | Self::NoAgent(_) => 404,
            Self::BadAgent(_) => 502,
            Self::Told(_) => match self.code() {
                -32001 | -32601 => 404,
                -32002 => 409,
                -32005 => 415,
                -32006 => 502,
                -32603 => 500,
                _ => 400,
            },
            Self::NotCancelable(_) => 409,
            Self::ContentType(_) => 415,
            Self::Internal(_) => 500,
            Self::Unauthenticated(_) => 401,
            Self::Forbidden(_) => 403,
            Self::Busy(_) => 503,
            _ => 400,
        }
    }

    /// The word of `google.rpc.ErrorInfo`.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Parse(_) => "PARSE_ERROR",
            Self::InvalidRequest(_) => "INVALID_REQUEST",
            Self::MethodNotFound(_) => "METHOD_NOT_FOUND",
            Self::InvalidParams(_) => "INVALID_PARAMS",
            Self::Internal(_) => "INTERNAL",
            Self::TaskNotFound(_) => "TASK_NOT_FOUND",
            Self::NotCancelable(_) => "TASK_NOT_CANCELABLE",
            Self::NoPush => "PUSH_NOTIFICATION_NOT_SUPPORTED",
            Self::Unsupported(_) => "UNSUPPORTED_OPERATION",
            Self::ContentType(_) => "CONTENT_TYPE_NOT_SUPPORTED",
            Self::NoExtendedCard => "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
            Self::VersionNotSupported(_) => "VERSION_NOT_SUPPORTED",
            Self::Unauthenticated(_) => "UNAUTHENTICATED",
            Self::Forbidden(_) => "PERMISSION_DENIED",
            Self::Busy(_) => "UNAVAILABLE",
            Self::NoAgent(_) => "NOT_FOUND",
            Self::BadAgent(_) => "INVALID_AGENT_RESPONSE",
            Self::Told(_) => "AGENT_REFUSED",
        }
    }

    /// The word of `google.rpc.Code` that goes with the status.
    fn canonical(&self) -> &'static str {
        match self {
            Self::TaskNotFound(_) | Self::NoAgent(_) => "NOT_FOUND",
            Self::NotCancelable(_) | Self::Unsupported(_) | Self::NoExtendedCard => "FAILED_PRECONDITION",
            Self::NoPush | Self::VersionNotSupported(_) | Self::MethodNotFound(_) => "UNIMPLEMENTED",
            Self::Internal(_) => "INTERNAL",
            Self::Unauthenticated(_) => "UNAUTHENTICATED",
            Self::Forbidden(_) => "PERMISSION_DENIED",
            Self::Busy(_) | Self::BadAgent(_) => "UNAVAILABLE",
            _ => "INVALID_ARGUMENT",
        }
    }

    /// One sentence for whoever reads it.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::Parse(why) => format!("the body is not one JSON document: {why}"),
            Self::InvalidRequest(why) => format!("not a request of JSON-RPC 2.0: {why}"),
            Self::MethodNotFound(name) => format!("there is no method `{name}`"),
            Self::InvalidParams(why) | Self::Unsupported(why) | Self::NotCancelable(why) => why.clone(),
            Self::Internal(why) | Self::Unauthenticated(why) | Self::Forbidden(why) | Self::Busy(why) => {
                why.clone()
            }
            Self::TaskNotFound(id) => format!("there is no task `{id}` of yours"),
            Self::NoAgent(path) => format!("there is no agent at `{path}`"),
            Self::BadAgent(why) => format!("the agent behind this address cannot be used: {why}"),
            Self::Told(error) => {
                error.get("message").and_then(Value::as_str).unwrap_or("the agent refuses").to_owned()
            }
            Self::NoPush => "this agent posts no notifications".to_owned(),
            Self::ContentType(why) => format!("the media type is not supported: {why}"),
            Self::NoExtendedCard => "this agent has no card beyond its public one".to_owned(),
            Self::VersionNotSupported(said) => {
                format!("the version `{said}` is not supported: send `A2A-Version: 1.0`, or none for 0.3")
            }
        }
    }

    /// The error object of JSON-RPC.
    #[must_use]
    pub fn rpc(&self, version: Version) -> Value {
        if let Self::Told(error) = self {
            return error.clone();
        }
        let mut error = json!({"code": self.code(), "message": self.message()});
        if version == Version::V10
            && let Some(error) = error.as_object_mut()
        {
            error.insert("data".to_owned(), json!([self.info()]));
        }
        error
    }

    /// The body of HTTP+JSON.
    #[must_use]
    pub fn http(&self, version: Version) -> Value {
        match version {
            Version::V10 => json!({"error": {
                "code": self.status(),
                "status": self.canonical(),
                "message": self.message(),
                "details": [self.info()],
            }}),
            Version::V03 => self.rpc(version),
        }
    }

    fn info(&self) -> Value {
        json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": self.reason(),
            "domain": "a2a-protocol.org",
        })
    }
}
