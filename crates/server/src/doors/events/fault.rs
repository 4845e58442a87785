//! Errors as clients of this protocol expect them: `{"error": "…"}`.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use placet_core::Refusal;
use placet_gate::GateError;
use serde_json::json;

use crate::{
    State,
    problem::{Problem, ProblemCode},
};

/// Why a call of this door was not answered with what it asked for.
#[derive(Debug)]
pub(super) struct Fault {
    status: StatusCode,
    code: &'static str,
    error: String,
    retry_after: bool,
}

impl Fault {
    fn new(status: StatusCode, code: &'static str, error: impl Into<String>) -> Self {
        Self { status, code, error: error.into(), retry_after: false }
    }

    /// What is there does not fit, and says where.
    pub(super) fn bad(error: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid", error)
    }

    /// Not JSON, or nothing that could be an event.
    pub(super) fn invalid() -> Self {
        Self::bad("Invalid request")
    }

    /// An event without what every event has.
    pub(super) fn missing() -> Self {
        Self::bad("Missing required fields")
    }

    pub(super) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", "Event not found")
    }

    pub(super) fn conflict(code: &'static str, error: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, error)
    }

    pub(super) fn too_large(error: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", error)
    }

    pub(super) fn forbidden(code: &'static str, error: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, code, error)
    }

    pub(super) fn method_not_allowed() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            "this address does not take that method",
        )
    }

    /// An error of the gate.
    pub(super) fn gate(state: &State, error: GateError) -> Self {
        match error {
            GateError::Refused { refusal: Refusal::NotFound, .. } => Self::not_found(),
            GateError::Refused { refusal: Refusal::Invalid(invalid), .. } => {
                let at = invalid.pointer.trim_start_matches('/').replace('/', ".");
                Self::bad(if at.is_empty() { invalid.message } else { format!("{at}: {}", invalid.message) })
            }
            error => Problem::gate(error, state.gate.now()).into(),
        }
    }
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Self {
        let busy =
            [StatusCode::SERVICE_UNAVAILABLE, StatusCode::TOO_MANY_REQUESTS].contains(&problem.status());
        let fault = Self::new(problem.status(), problem.code(), problem.detail());
        Self { retry_after: busy, ..fault }
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
        let mut response = (self.status, json, json!({"error": self.error}).to_string()).into_response();
        if self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response.extensions_mut().insert(ProblemCode(self.code));
        response
    }
}
