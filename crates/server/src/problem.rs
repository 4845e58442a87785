//! Errors as RFC 9457 problem documents with a stable `code`.

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use placet_core::{AdminRefusal, Invalid, Refusal, Request, Time};
use placet_gate::{GateError, StoreError};
use placet_ledger::ijson::JsonError;
use serde::Serialize;

/// Why a call was not answered with what it asked for.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    code: &'static str,
    detail: String,
    pointer: Option<String>,
    record: Option<(Arc<Request>, Time)>,
    // Boxed: every fallible call carries room for this, and hardly any needs it.
    problems: Option<Box<serde_json::Value>>,
    decide_url: Option<Box<str>>,
    retry_after: Option<u32>,
}

/// The document on the wire.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct ProblemDocument {
    /// A name for this kind of problem.
    #[serde(rename = "type")]
    #[schema(example = "urn:placet:problem:already_decided")]
    kind: String,
    /// The status in words.
    title: String,
    /// The HTTP status.
    status: u16,
    /// What happened and what to do.
    detail: String,
    /// Stable; programs look at this.
    #[schema(example = "already_decided")]
    code: String,
    /// JSON pointer to the field that does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pointer: Option<String>,
    /// How things stand, where the caller may see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<placet_core::Record>)]
    record: Option<serde_json::Value>,
    /// bad_policy: everything that is wrong with it, each with `line`, `column`, `rule`, `message` and `fix`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    problems: Option<serde_json::Value>,
    /// step_up_required: where a person decides it, in their own browser.
    #[serde(skip_serializing_if = "Option::is_none")]
    decide_url: Option<String>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self {
            status,
            code,
            detail: detail.into(),
            pointer: None,
            record: None,
            problems: None,
            decide_url: None,
            retry_after: None,
        }
    }

    pub(crate) fn unprocessable(
        code: &'static str,
        pointer: impl Into<String>,
        detail: impl Into<String>,
    ) -> Self {
        Self { pointer: Some(pointer.into()), ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, detail) }
    }

    pub(crate) fn unauthorized(detail: &str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
    }

    pub(crate) fn not_found() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "not_found",
            "there is nothing here for you: unknown, foreign and malformed ids look alike",
        )
    }

    pub(crate) fn retry_after(self, seconds: u32) -> Self {
        Self { retry_after: Some(seconds), ..self }
    }

    /// The same problem inside a larger body.
    pub(crate) fn under(self, prefix: &str) -> Self {
        Self { pointer: self.pointer.map(|pointer| format!("{prefix}{pointer}")), ..self }
    }

    pub(crate) const fn code(&self) -> &'static str {
        self.code
    }

    /// What happened and what to do, in words.
    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    /// JSON pointer to what does not fit, if that can be said.
    pub(crate) fn pointer(&self) -> Option<&str> {
        self.pointer.as_deref()
    }

    pub(crate) const fn status(&self) -> StatusCode {
        self.status
    }

    /// The document as a value, for answers that carry several.
    pub(crate) fn document(&self) -> ProblemDocument {
        ProblemDocument {
            kind: format!("urn:placet:problem:{}", self.code),
            title: self.status.canonical_reason().unwrap_or("Error").to_owned(),
            status: self.status.as_u16(),
            detail: self.detail.clone(),
            code: self.code.to_owned(),
            pointer: self.pointer.clone(),
            record: self
                .record
                .as_ref()
                .and_then(|(request, now)| serde_json::to_value(request.view(*now)).ok()),
            problems: self.problems.as_deref().cloned(),
            decide_url: self.decide_url.as_deref().map(str::to_owned),
        }
    }

    /// A refusal, with the record where that helps the caller.
    pub(crate) fn refusal(refusal: &Refusal, request: Option<Arc<Request>>, now: Time) -> Self {
        let status = match refusal {
            Refusal::NotFound => return Self::not_found(),
            Refusal::Invalid(Invalid { pointer, message }) => {
                return Self::unprocessable("invalid", pointer, message);
            }
            Refusal::Unauthorized => {
                return Self::unauthorized(
                    "the key was revoked, the session is over, or the person lost the role",
                );
            }
            Refusal::SelfApproval
            | Refusal::PolicyDenied { .. }
            | Refusal::StepUpRequired(_)
            | Refusal::NotEligible
            | Refusal::NotOwner(_)
            | Refusal::WrongPermit => StatusCode::FORBIDDEN,
            Refusal::PendingCap(_) => StatusCode::TOO_MANY_REQUESTS,
            Refusal::Frozen { .. } => StatusCode::LOCKED,
            Refusal::ClockBehind => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::CONFLICT,
        };
        let step_up = matches!(refusal, Refusal::StepUpRequired(_));
        let decide_url =
            request.as_ref().filter(|_| step_up).map(|request| format!("/r/{}", request.id).into());
        let record = request.filter(|_| status == StatusCode::CONFLICT).map(|request| (request, now));
        Self { record, decide_url, ..Self::new(status, refusal.code(), refusal.to_string()) }
    }

    /// An error of the gate.
    pub(crate) fn gate(error: GateError, now: Time) -> Self {
        match error {
            GateError::Refused { refusal, request } => Self::refusal(&refusal, request, now),
            GateError::Admin(refusal) => Self::admin(&refusal),
            GateError::BadPolicy(ref errors) => Self {
                problems: serde_json::to_value(&errors.problems).ok().map(Box::new),
                ..Self::unprocessable("bad_policy", "/policy", error.to_string())
            },
            GateError::Forbidden(_) => Self::new(StatusCode::FORBIDDEN, "forbidden", error.to_string()),
            GateError::AboutAnother => Self::new(StatusCode::FORBIDDEN, "about_another", error.to_string()),
            GateError::KeyRevoked => Self::unauthorized("the key was revoked, or the session is over"),
            GateError::TooManyWaits => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_waits", error.to_string()).retry_after(1)
            }
            GateError::Closing => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "closing", error.to_string()).retry_after(1)
            }
            GateError::Store(error) => Self::store(&error),
        }
    }

    fn admin(refusal: &AdminRefusal) -> Self {
        let detail = refusal.to_string();
        match refusal {
            AdminRefusal::BadName { field } => Self::unprocessable("invalid", format!("/{field}"), detail),
            AdminRefusal::Reserved(_) => Self::unprocessable("invalid", "/name", detail),
            AdminRefusal::OwnerOfPerson => Self::unprocessable("invalid", "/owner", detail),
            AdminRefusal::NoRoles | AdminRefusal::AgentRole => {
                Self::unprocessable("invalid", "/roles", detail)
            }
            AdminRefusal::NoKey
            | AdminRefusal::NoPerson
            | AdminRefusal::NoGrant
            | AdminRefusal::NoFreeze
            | AdminRefusal::NoAgent
            | AdminRefusal::NoSession => Self::not_found(),
            AdminRefusal::BadLink => Self::new(StatusCode::UNAUTHORIZED, "bad_link", detail),
            AdminRefusal::BadCredentials => Self::new(StatusCode::UNAUTHORIZED, "bad_credentials", detail),
            AdminRefusal::TooManySessions(_) => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_sessions", detail)
            }
            AdminRefusal::StalePolicy { .. } => Self::new(StatusCode::CONFLICT, "stale_policy", detail),
            AdminRefusal::TooManyGrants(_) => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_grants", detail)
            }
            AdminRefusal::NothingToConfirm => Self::new(StatusCode::CONFLICT, "nothing_to_confirm", detail),
            AdminRefusal::ClockBehind => Self::new(StatusCode::SERVICE_UNAVAILABLE, "clock_behind", detail),
            AdminRefusal::BadRoot { .. } | AdminRefusal::TooManyRoots(_) => {
                Self::unprocessable("invalid", "/roots", detail)
            }
            AdminRefusal::BadReport { field, .. } => {
                Self::unprocessable("invalid", format!("/{field}"), detail)
            }
            AdminRefusal::TooManyParts(_) => Self::unprocessable("invalid", "/parts", detail),
            AdminRefusal::TooManyReports(_) => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_reports", detail)
            }
            AdminRefusal::TooManyTeams(_) => Self::unprocessable("invalid", "/teams", detail),
            AdminRefusal::BadTool => Self::unprocessable("invalid", "/tool", detail),
            AdminRefusal::BadReason(_) => Self::unprocessable("invalid", "/reason", detail),
            AdminRefusal::TooManyFreezes(_) => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_freezes", detail)
            }
            AdminRefusal::LooksLike { .. } => Self::new(StatusCode::CONFLICT, "looks_like", detail),
            AdminRefusal::OtherKind(_) => Self::new(StatusCode::CONFLICT, "other_kind", detail),
            AdminRefusal::LastAdmin => Self::new(StatusCode::CONFLICT, "last_admin", detail),
            AdminRefusal::SecretInUse => Self::new(StatusCode::CONFLICT, "secret_in_use", detail),
            AdminRefusal::TooMany(_) => Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many", detail),
        }
    }

    fn store(error: &StoreError) -> Self {
        let unavailable =
            |code| Self::new(StatusCode::SERVICE_UNAVAILABLE, code, error.to_string()).retry_after(1);
        match error {
            StoreError::Busy => unavailable("busy"),
            StoreError::KeyReused => Self::new(
                StatusCode::CONFLICT,
                "idempotency_key_reused",
                "this idempotency key was used before with another body: use a new key for a new request",
            ),
            StoreError::Full => {
                Self::new(StatusCode::INSUFFICIENT_STORAGE, "disk_full", error.to_string()).retry_after(5)
            }
            StoreError::Unknown => unavailable("outcome_unknown"),
            StoreError::Stopped(_) => unavailable("stopped"),
            StoreError::HistoryLost(_) => unavailable("history_lost"),
            StoreError::Unavailable(_) => unavailable("database_unavailable"),
            other => {
                // What the database says may hold data; it belongs in the log, not on the wire.
                tracing::error!(error = %other, "the store failed");
                Self::new(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "internal",
                    "the server failed; nothing was approved",
                )
            }
        }
    }
}

impl From<JsonError> for Problem {
    fn from(error: JsonError) -> Self {
        Self::unprocessable(error.code(), error.pointer(), error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        // Writing a problem document cannot fail: it is text and numbers, and a record that was read from JSON.
        let body = serde_json::to_vec(&self.document()).unwrap_or_default();
        self.told("application/problem+json", body)
    }
}

impl Problem {
    /// The answer, in the words of a door that has its own.
    pub(crate) fn told(&self, media_type: &'static str, body: Vec<u8>) -> Response {
        let mut response = (self.status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response.extensions_mut().insert(ProblemCode(self.code));
        response
    }
}

/// The code of a problem, for the access log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProblemCode(pub(crate) &'static str);
