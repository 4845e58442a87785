//! JSON-RPC over HTTP: one address for both versions.

use axum::{
    Router,
    body::Body,
    extract::{FromRequestParts as _, Query, State as AxumState},
    http::{Request, Uri, request::Parts},
    response::{IntoResponse as _, Response},
    routing::post,
};
use http::StatusCode;
use placet_a2a::{Call, Fault, Operation, Version, answer, refusal};
use placet_ledger::ijson::{self, Limits};
use serde::Serialize;
use serde_json::{Value, value::RawValue};

use super::{
    serve::{A2aCall, Answer, Host, serve, status},
    stream,
};
use crate::{State, call, v1};

pub(super) fn routes(root: &str) -> Router<State> {
    // With the slash and without: some clients put one at the end of every address.
    Router::new().route(root, post(handle)).route(&format!("{root}/"), post(handle))
}

/// The version a caller names, in a header or in the query.
pub(super) fn named(parts: &Parts) -> Option<String> {
    let said = parts.headers.get("a2a-version").and_then(|value| value.to_str().ok()).map(str::to_owned);
    let asked = || query(&parts.uri).into_iter().find(|(name, _)| name.eq_ignore_ascii_case("a2a-version"));
    said.or_else(|| asked().map(|(_, value)| value))
}

/// What the query says, in its order; one that cannot be read says nothing.
pub(super) fn query(uri: &Uri) -> Vec<(String, String)> {
    Query::try_from_uri(uri).map(|Query(pairs)| pairs).unwrap_or_default()
}

async fn handle(AxumState(state): AxumState<State>, request: Request<Body>) -> Response {
    let (mut parts, body) = request.into_parts();
    let named = named(&parts);
    let fallback = Version::named(named.as_deref()).unwrap_or(Version::V10);
    // Who is not known is told by HTTP, as the protocol has it.
    let actor = match call::Caller::from_request_parts(&mut parts, &state).await {
        Ok(call::Caller(actor)) => actor,
        Err(problem) => return refuse(&Value::Null, fallback, &super::problem(problem)),
    };
    let limits = Limits::default();
    let bytes = match call::media_type(&parts.headers) {
        Ok(()) => call::read(body, &limits, &state).await,
        Err(problem) => Err(problem),
    };
    let bytes = match bytes {
        Ok(bytes) => bytes,
        Err(problem) => return refuse(&Value::Null, fallback, &super::problem(problem)),
    };
    let body = match ijson::parse(&bytes, &limits) {
        Ok(body) => body,
        Err(error) => return refuse(&Value::Null, fallback, &Fault::Parse(error.to_string())),
    };
    let call = match Call::read(body, named.as_deref()) {
        Ok(call) => call,
        Err((id, version, fault)) => return refuse(&id, version, &fault),
    };
    let host = match Host::of(&state, parts.uri.path()) {
        Ok(host) => host,
        Err(fault) => return refuse(&call.id, call.version, &fault),
    };
    let asked = A2aCall {
        actor: &actor,
        operation: call.operation,
        version: call.version,
        params: &call.params,
        id: Some(call.id.clone()),
        headers: &parts.headers,
    };
    match serve(&state, &host, asked).await {
        Ok(Answer::Document(result)) => v1::json(StatusCode::OK, &answer(&call.id, result)),
        Ok(Answer::Raw(result)) => v1::json(StatusCode::OK, &raw_answer(&call.id, &result)),
        Ok(Answer::Stream(response)) => response,
        Err(fault) => {
            let refused = refuse(&call.id, call.version, &fault);
            let streams = matches!(call.operation, Operation::Stream | Operation::Subscribe);
            // A client of 0.3 that asks for a stream reads nothing else, so it gets one, with the refusal in it.
            if call.version == Version::V03 && streams && refused.status() == StatusCode::OK {
                return stream::refused(&refusal(&call.id, call.version, &fault));
            }
            refused
        }
    }
}

/// The envelope around a result that is passed on as it came.
fn raw_answer<'a>(id: &'a Value, result: &'a RawValue) -> RawAnswer<'a> {
    RawAnswer { jsonrpc: "2.0", id, result }
}

#[derive(Serialize)]
struct RawAnswer<'a> {
    jsonrpc: &'static str,
    id: &'a Value,
    result: &'a RawValue,
}

/// Faults are answers of JSON-RPC, so HTTP says 200; but for those about who calls, which HTTP has words for.
fn refuse(id: &Value, version: Version, fault: &Fault) -> Response {
    let code = match fault {
        Fault::Unauthenticated(_) | Fault::Forbidden(_) | Fault::Busy(_) | Fault::NoAgent(_) => status(fault),
        _ => StatusCode::OK,
    };
    v1::json(code, &refusal(id, version, fault)).into_response()
}
