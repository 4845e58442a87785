//! HTTP+JSON: the addresses of 1.0, and with `/v1` before them those of 0.3.

use std::collections::HashMap;

use axum::{
    Router,
    body::Body,
    extract::{FromRequestParts as _, Path, State as AxumState},
    http::{Method, Request},
    response::Response,
    routing::{any, get, post},
};
use http::{HeaderValue, StatusCode, header};
use placet_a2a::{Fault, Operation, Version, old_http, one_name};
use placet_ledger::ijson::{self, Limits};
use serde_json::{Map, Value, json};

use super::{
    rpc,
    serve::{A2aCall, Answer, Host, serve, status},
};
use crate::{State, call, v1};

/// What the address names; that of an agent behind us names the agent too.
type Named = Path<HashMap<String, String>>;

pub(super) fn routes(root: &str) -> Router<State> {
    let mut routes = Router::new();
    for (prefix, version) in [("", Version::V10), ("/v1", Version::V03)] {
        let at = |path: &str| format!("{root}{prefix}{path}");
        let whole = move |operation| {
            move |state: AxumState<State>, request: Request<Body>| {
                handle(state, request, operation, version, Map::new())
            }
        };
        routes = routes
            .route(&at("/message:send"), post(whole(Operation::Send)))
            .route(&at("/message:stream"), post(whole(Operation::Stream)))
            .route(&at("/tasks"), get(whole(Operation::List)))
            .route(
                &at(if version == Version::V10 { "/extendedAgentCard" } else { "/card" }),
                get(whole(Operation::Card)),
            )
            .route(
                &at("/tasks/{task}"),
                any(move |state: AxumState<State>, Path(named): Named, request: Request<Body>| {
                    one(state, named.get("task").cloned().unwrap_or_default(), request, version)
                }),
            )
            .route(
                &at("/tasks/{task}/pushNotificationConfigs"),
                any(move |state: AxumState<State>, Path(named): Named, request: Request<Body>| {
                    pushing(state, named, request, version)
                }),
            )
            .route(
                &at("/tasks/{task}/pushNotificationConfigs/{config}"),
                any(move |state: AxumState<State>, Path(named): Named, request: Request<Body>| {
                    pushing(state, named, request, version)
                }),
            );
    }
    routes
}

/// `/tasks/{id}/pushNotificationConfigs` and one of them.
async fn pushing(
    state: AxumState<State>,
    named: HashMap<String, String>,
    request: Request<Body>,
    version: Version,
) -> Response {
    let operation = match (request.method(), named.contains_key("config")) {
        (&Method::POST, false) => Operation::PushSet,
        (&Method::GET, false) => Operation::PushList,
        (&Method::GET, true) => Operation::PushGet,
        (&Method::DELETE, true) => Operation::PushDelete,
        _ => {
            let what = format!("{} /tasks/{{id}}/pushNotificationConfigs", request.method());
            return refuse(version, &Fault::MethodNotFound(what), None);
        }
    };
    // By the names that the same calls of JSON-RPC have.
    let (task, config) = match (version, operation) {
        (Version::V10, _) => ("taskId", "id"),
        (Version::V03, Operation::PushSet) => ("taskId", ""),
        (Version::V03, _) => ("id", "pushNotificationConfigId"),
    };
    let named = [(task, named.get("task")), (config, named.get("config"))];
    let named =
        named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value?)))).collect();
    handle(state, request, operation, version, named).await
}

/// `/tasks/{id}`, `/tasks/{id}:cancel` and `/tasks/{id}:subscribe`, which the protocol has as GET here and as POST there.
async fn one(state: AxumState<State>, task: String, request: Request<Body>, version: Version) -> Response {
    let (id, verb) = task.split_once(':').unwrap_or((&task, ""));
    let operation = match (request.method(), verb) {
        (&Method::GET, "") => Operation::Get,
        (&Method::POST, "cancel") => Operation::Cancel,
        (&Method::GET | &Method::POST, "subscribe") => Operation::Subscribe,
        _ => {
            let what = format!("{} /tasks/{{id}}:{verb}", request.method());
            return refuse(version, &Fault::MethodNotFound(what.chars().take(80).collect()), None);
        }
    };
    let named = Map::from_iter([("id".to_owned(), json!(id))]);
    handle(state, request, operation, version, named).await
}

async fn handle(
    AxumState(state): AxumState<State>,
    request: Request<Body>,
    operation: Operation,
    version: Version,
    mut params: Map<String, Value>,
) -> Response {
    let (mut parts, body) = request.into_parts();
    // Answered in the type that was asked in.
    let media = parts.headers.get(header::CONTENT_TYPE).cloned();
    let named = rpc::named(&parts);
    // The address says the version; a header that says another is a mistake of the caller's.
    let said = match (named.as_deref(), version) {
        (None | Some(""), _) => Ok(version),
        (Some(text), _) => Version::named(Some(text)),
    };
    match said {
        Ok(said) if said == version => {}
        Ok(said) => {
            let why = format!("{} at an address of {}", said.as_str(), version.as_str());
            return refuse(version, &Fault::VersionNotSupported(why), media);
        }
        Err(fault) => return refuse(version, &fault, media),
    }
    let actor = match call::Caller::from_request_parts(&mut parts, &state).await {
        Ok(call::Caller(actor)) => actor,
        Err(problem) => return refuse(version, &super::problem(problem), media),
    };
    match read(&state, &parts, body).await {
        // What the address names counts, whatever else is said.
        Ok(more) => params = more.into_iter().chain(params).collect(),
        Err(fault) => return refuse(version, &fault, media),
    }
    let host = match Host::of(&state, parts.uri.path()) {
        Ok(host) => host,
        Err(fault) => return refuse(version, &fault, media),
    };
    let mut params = Value::Object(params);
    if let Err(fault) = one_name(&mut params) {
        return refuse(version, &fault, media);
    }
    if version == Version::V03 {
        params = match old_http::read_params(operation, params) {
            Ok(params) => params,
            Err(fault) => return refuse(version, &fault, media),
        };
    }
    let asked =
        A2aCall { actor: &actor, operation, version, params: &params, id: None, headers: &parts.headers };
    match serve(&state, &host, asked).await {
        Ok(Answer::Document(result)) if version == Version::V03 => {
            typed(v1::json(StatusCode::OK, &old_http::write_result(operation, &result)), media)
        }
        Ok(Answer::Raw(result)) if version == Version::V03 => {
            let result: Value = serde_json::from_str(result.get()).unwrap_or_default();
            typed(v1::json(StatusCode::OK, &old_http::write_result(operation, &result)), media)
        }
        Ok(Answer::Document(result)) => typed(v1::json(StatusCode::OK, &result), media),
        Ok(Answer::Raw(result)) => typed(v1::json(StatusCode::OK, &result), media),
        Ok(Answer::Stream(response)) => response,
        Err(fault) => refuse(version, &fault, media),
    }
}

/// The parameters: the body, or the query, whose numbers and flags are spelled as text.
async fn read(
    state: &State,
    parts: &axum::http::request::Parts,
    body: Body,
) -> Result<Map<String, Value>, Fault> {
    if parts.method == Method::GET {
        let value = |name: &str, text: String| match name {
            "historyLength" | "pageSize" => {
                text.parse::<i64>().map_or_else(|_| json!(text), |count| json!(count))
            }
            "includeArtifacts" => text.parse::<bool>().map_or_else(|_| json!(text), |flag| json!(flag)),
            _ => json!(text),
        };
        let pairs = rpc::query(&parts.uri).into_iter();
        return Ok(pairs
            .map(|(name, text)| {
                let value = value(&name, text);
                (name, value)
            })
            .collect());
    }
    let media =
        parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = media.split(';').next().unwrap_or_default().trim();
    if !["", "application/json", "application/a2a+json"].contains(&essence) {
        return Err(Fault::ContentType(format!(
            "`{essence}`: send application/json or application/a2a+json"
        )));
    }
    let limits = Limits::default();
    let bytes = call::read(body, &limits, state).await.map_err(super::problem)?;
    if bytes.is_empty() {
        return Ok(Map::new());
    }
    match ijson::parse(&bytes, &limits) {
        Ok(Value::Object(body)) => Ok(body),
        Ok(_) => Err(Fault::InvalidParams("the body is not an object".to_owned())),
        Err(error) => Err(Fault::Parse(error.to_string())),
    }
}

fn refuse(version: Version, fault: &Fault, media: Option<HeaderValue>) -> Response {
    typed(v1::json(status(fault), &fault.http(version)), media)
}

fn typed(mut response: Response, media: Option<HeaderValue>) -> Response {
    let ours = media.filter(|media| media.as_bytes().starts_with(b"application/a2a+json"));
    let ours = ours.unwrap_or(HeaderValue::from_static("application/json"));
    response.headers_mut().insert(header::CONTENT_TYPE, ours);
    response
}
