//! What is wrong, in the words of the original: a `detail` that is a sentence, or a list of fields that do not fit.

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde_json::{Value, json};

use crate::problem::Problem;

/// Why a call was not answered with what it asked for.
#[derive(Debug)]
pub(super) enum Refused {
    /// One reason.
    Problem(Problem),
    /// Fields that do not fit.
    Fields(Vec<Value>),
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

/// One field that does not fit, as the original's framework writes it, without repeating what was sent.
pub(super) fn field(kind: &str, name: &str, message: &str) -> Value {
    json!({"type": kind, "loc": ["body", name], "msg": message})
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let (problem, detail) = match self {
            Self::Problem(problem) => {
                let detail = detail(&problem);
                (problem, detail)
            }
            Self::Fields(fields) => {
                (Problem::unprocessable("invalid", "", "the body does not fit"), Value::Array(fields))
            }
        };
        problem.told("application/json", json!({"detail": detail}).to_string().into_bytes())
    }
}

fn detail(problem: &Problem) -> Value {
    match (problem.status(), problem.code()) {
        (StatusCode::NOT_FOUND, _) => "Approval request not found.".into(),
        (StatusCode::CONFLICT, "already_decided" | "expired" | "cancelled") => {
            "Request already resolved.".into()
        }
        (StatusCode::CONFLICT, "idempotency_key_reused") => {
            "This id was used before, for another request: choose a new one.".into()
        }
        (StatusCode::UNPROCESSABLE_ENTITY, code) => {
            let place = problem.pointer().unwrap_or_default().split('/').filter(|part| !part.is_empty());
            let place: Vec<Value> =
                std::iter::once("body").chain(place.map(theirs)).map(Value::from).collect();
            json!([{"type": code, "loc": place, "msg": problem.detail()}])
        }
        _ => problem.detail().into(),
    }
}

/// A field of ours by the name that these clients have for it.
fn theirs(name: &str) -> &str {
    match name {
        "session" => "session_id",
        "tool" => "tool_name",
        "summary" => "message",
        "arguments" => "payload",
        "group" => "id",
        other => other,
    }
}
