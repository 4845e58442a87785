//! People: their roles and teams.

use std::collections::BTreeSet;

use axum::{
    extract::State as AxumState,
    response::{IntoResponse as _, Response},
};
use http::{StatusCode, request::Parts};
use placet_core::{Role, Time};
use placet_gate::PersonSpec;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    State,
    call::{Call, Caller, Id, once},
    problem::{Problem, ProblemDocument},
    v1::{forms::Name, json, refuse},
};

/// A person.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PersonRecord {
    #[schema(value_type = Name)]
    name: String,
    /// What the person may do: `reviewer`, `admin`, `auditor`.
    #[schema(value_type = Vec<Role>, min_items = 1)]
    roles: BTreeSet<Role>,
    /// Where the person belongs.
    #[serde(default)]
    #[schema(value_type = Vec<Name>, max_items = 100)]
    teams: BTreeSet<String>,
}

/// Roles and teams, all of them.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PersonBody {
    #[schema(value_type = Vec<Role>, min_items = 1)]
    roles: BTreeSet<Role>,
    #[serde(default)]
    #[schema(value_type = Vec<Name>, max_items = 100)]
    teams: BTreeSet<String>,
}

/// A link with which a person signs in once. Shown this once.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LinkRecord {
    /// Its address on this server: `/sign-in/TOKEN`. Null when an idempotency key says that it was shown before.
    #[schema(required = true)]
    url: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    expires_at: Time,
}

/// Everybody.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PersonList {
    items: Vec<PersonRecord>,
}

/// Add a person, or set their roles and teams.
#[utoipa::path(post, path = "/v1/people", operation_id = "create_person", tag = "admin", request_body = PersonRecord, responses(
    (status = 201, description = "the person", body = PersonRecord),
    (status = 409, description = "the name belongs to an agent, or nobody could administer any more", body = ProblemDocument),
))]
pub(crate) async fn create(
    AxumState(state): AxumState<State>,
    call: Call<PersonRecord>,
) -> Result<Response, Problem> {
    let PersonRecord { name, roles, teams } = call.body;
    let person = PersonSpec { roles: roles.clone(), teams: teams.clone() };
    state
        .gate
        .put_person(&call.actor, name.clone(), person, call.idempotency)
        .await
        .map_err(|error| refuse(&state, error))?;
    Ok(json(StatusCode::CREATED, &PersonRecord { name, roles, teams }))
}

/// List people.
#[utoipa::path(get, path = "/v1/people", operation_id = "list_people", tag = "admin", responses((status = 200, description = "everybody", body = PersonList)))]
pub(crate) async fn list(
    AxumState(state): AxumState<State>,
    Caller(actor): Caller,
) -> Result<Response, Problem> {
    let directory = state.gate.directory(&actor).await.map_err(|error| refuse(&state, error))?;
    let items = directory
        .people
        .iter()
        .map(|(name, person)| PersonRecord {
            name: name.clone(),
            roles: person.roles.clone(),
            teams: person.teams.clone(),
        })
        .collect();
    Ok(json(StatusCode::OK, &PersonList { items }))
}

/// Set a person's roles and teams.
#[utoipa::path(put, path = "/v1/people/{name}", operation_id = "put_person", tag = "admin", params(("name" = inline(Name), Path)), request_body = PersonBody, responses(
    (status = 200, description = "the person", body = PersonRecord),
    (status = 409, description = "the name belongs to an agent, or nobody could administer any more", body = ProblemDocument),
))]
pub(crate) async fn put(
    AxumState(state): AxumState<State>,
    name: Id<String>,
    call: Call<PersonBody>,
) -> Result<Response, Problem> {
    let name = name.get()?;
    let PersonBody { roles, teams } = call.body;
    let person = PersonSpec { roles: roles.clone(), teams: teams.clone() };
    state
        .gate
        .put_person(&call.actor, name.clone(), person, call.idempotency)
        .await
        .map_err(|error| refuse(&state, error))?;
    Ok(json(StatusCode::OK, &PersonRecord { name, roles, teams }))
}

/// Make a link with which a person signs in once, within 15 minutes. The one before stops working.
#[utoipa::path(post, path = "/v1/people/{name}/link", operation_id = "create_link", tag = "admin", params(("name" = inline(Name), Path)), responses(
    (status = 201, description = "the link, shown once", body = LinkRecord),
    (status = 200, description = "made before with this idempotency key: without the link itself", body = LinkRecord),
    (status = 404, description = "nobody of that name", body = ProblemDocument),
))]
pub(crate) async fn link(
    AxumState(state): AxumState<State>,
    Caller(actor): Caller,
    name: Id<String>,
    parts: Parts,
) -> Result<Response, Problem> {
    let idempotency = once(&parts, &actor, &Value::Null)?;
    let made = state.gate.create_link(&actor, &name.get()?, idempotency).await;
    let made = made.map_err(|error| refuse(&state, error))?;
    let status = if made.token.is_some() { StatusCode::CREATED } else { StatusCode::OK };
    let url = made.token.map(|token| format!("/sign-in/{token}"));
    Ok(json(status, &LinkRecord { url, expires_at: made.expires_at }))
}

/// Remove a person; their keys and sessions stop at once.
#[utoipa::path(delete, path = "/v1/people/{name}", operation_id = "remove_person", tag = "admin", params(("name" = inline(Name), Path)), responses(
    (status = 204, description = "gone"),
    (status = 404, description = "nobody of that name", body = ProblemDocument),
    (status = 409, description = "nobody could administer any more", body = ProblemDocument),
))]
pub(crate) async fn remove(
    AxumState(state): AxumState<State>,
    Caller(actor): Caller,
    name: Id<String>,
) -> Result<Response, Problem> {
    state.gate.remove_person(&actor, name.get()?).await.map_err(|error| refuse(&state, error))?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
