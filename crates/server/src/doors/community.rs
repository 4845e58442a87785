//! The routes of the approval gateway of google/adk-python-community, for its clients as they are: the decorator that asks
//! and polls, and the dashboard that lists and decides.

mod ask;
mod detail;
mod list;
mod record;
mod vote;

use std::sync::Arc;

use axum::{
    Router,
    extract::{Path, RawQuery, State as AxumState},
    response::{IntoResponse as _, Response},
    routing::{any, get, post},
};
use http::{HeaderValue, StatusCode, header};
use placet_core::{Actor, Request, RequestId, Role, door};
use serde_json::{Value, json};

use crate::{
    State,
    call::{Caller, JsonCall},
    doors::open::Decider,
    problem::Problem,
    v1,
};

use self::{
    detail::Refused,
    record::{Approval, View},
};

/// What this door is called in policies and on requests.
const SOURCE: &str = door::COMMUNITY;

/// Most requests of one client's id that are looked at.
const OF_ID: u32 = 50;

pub(super) fn routes() -> Router<State> {
    Router::new()
        .route("/approvals", any(with_slash))
        .route("/approvals/", post(create))
        .route("/approvals/pending", get(list::pending))
        .route("/approvals/audit", get(list::audit))
        .route("/approvals/{id}", get(read))
        .route("/approvals/{id}/decide", post(decide))
        .route("/health", get(health))
}

/// The original's framework sends callers on to the address with the slash.
async fn with_slash(RawQuery(query): RawQuery) -> Response {
    let place = query.map_or_else(|| "/approvals/".to_owned(), |query| format!("/approvals/?{query}"));
    let place = HeaderValue::from_str(&place).unwrap_or(HeaderValue::from_static("/approvals/"));
    (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, place)]).into_response()
}

async fn health() -> Response {
    v1::json(StatusCode::OK, &json!({"status": "ok"}))
}

/// An agent asks.
async fn create(
    AxumState(state): AxumState<State>,
    sent: Result<JsonCall<Value, Caller>, Problem>,
) -> Result<Response, Refused> {
    let JsonCall { who: Caller(actor), parts, body } = sent?;
    let asked = ask::AskBody::read(body)?;
    let idempotency = asked.idempotency(&parts.headers, &actor)?;
    let submitted = state
        .gate
        .submit_from(SOURCE, &actor, asked.create, idempotency)
        .await
        .map_err(|error| v1::refuse(&state, error))?;
    let status = if submitted.replayed { StatusCode::OK } else { StatusCode::CREATED };
    Ok(v1::json(status, &Approval::of(&submitted.request, View::Agent, state.gate.now())))
}

/// One request: what its agent polls.
async fn read(
    AxumState(state): AxumState<State>,
    who: Result<Decider, Problem>,
    Path(id): Path<String>,
) -> Result<Response, Refused> {
    let Decider(actor) = who?;
    let request = find(&state, &actor, &id).await?;
    Ok(v1::json(StatusCode::OK, &Approval::of(&request, View::of(&actor), state.gate.now())))
}

/// A reviewer decides.
async fn decide(
    AxumState(state): AxumState<State>,
    Path(id): Path<String>,
    sent: Result<JsonCall<Value, Decider>, Problem>,
) -> Result<Response, Refused> {
    let JsonCall { who: Decider(actor), body, .. } = sent?;
    let said = vote::VoteBody::read(body)?;
    if actor.role == Role::Agent {
        return Err(Problem::new(
            StatusCode::FORBIDDEN,
            "forbidden",
            "deciding needs a reviewer's key: send `Authorization: Bearer plk_reviewer_…`",
        )
        .into());
    }
    let request = find(&state, &actor, &id).await?;
    let request = vote::cast(&state, &actor, &request, said).await?;
    Ok(v1::json(StatusCode::OK, &Approval::of(&request, View::Reviewer, state.gate.now())))
}

/// The request of this id: ours, or the one that its client chose.
async fn find(state: &State, actor: &Actor, id: &str) -> Result<Arc<Request>, Problem> {
    let refuse = |error| v1::refuse(state, error);
    if let Ok(id) = id.parse::<RequestId>() {
        let request = state.gate.get(actor, id).await.map_err(refuse)?;
        // What came in by another door has nothing that this one could show.
        return if request.came_by(SOURCE) { Ok(request) } else { Err(Problem::not_found()) };
    }
    let found = state.gate.group(actor, SOURCE, id, OF_ID).await.map_err(refuse)?;
    let Some(newest) = found.first().cloned() else { return Err(Problem::not_found()) };
    if found.iter().any(|request| request.agent != newest.agent) {
        let detail = "Several agents chose this id: use the one that Placet gave, as its own pages show it.";
        return Err(Problem::new(StatusCode::CONFLICT, "ambiguous_id", detail));
    }
    Ok(newest)
}
