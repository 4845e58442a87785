//! Keys: made, listed without their secrets, revoked.

use axum::{
    extract::State as AxumState,
    response::{IntoResponse as _, Response},
};
use http::StatusCode;
use placet_core::{KeyId, Role, Time};
use placet_gate::NewKey;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    State,
    call::{Call, Caller, Id, Params},
    problem::{Problem, ProblemDocument},
    v1::{forms::Name, json, refuse},
};

/// A key to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateKey {
    role: Role,
    /// Whose it is. A second key for a name is rotation.
    #[schema(value_type = Name)]
    name: String,
    /// agent: the person who answers for it.
    #[serde(default)]
    #[schema(value_type = Option<Name>)]
    owner: Option<String>,
}

/// A new key. `key` is shown this once.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct NewKeyRecord {
    id: KeyId,
    role: Role,
    name: String,
    /// Null when an idempotency key says that it was shown before.
    #[schema(required = true)]
    key: Option<String>,
}

/// A key without its secret.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct KeyRecord {
    id: KeyId,
    role: Role,
    name: String,
    #[schema(required = true)]
    owner: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Time,
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    revoked_at: Option<Time>,
}

/// All keys.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct KeyList {
    items: Vec<KeyRecord>,
}

/// Make a key.
#[utoipa::path(post, path = "/v1/keys", operation_id = "create_key", tag = "admin", request_body = CreateKey, responses(
    (status = 201, description = "the key, shown once", body = NewKeyRecord),
    (status = 200, description = "made before with this idempotency key: without the key itself", body = NewKeyRecord),
    (status = 409, description = "the name belongs to another kind of principal", body = ProblemDocument),
    (status = 422, description = "the name or the owner does not fit", body = ProblemDocument),
))]
pub(crate) async fn create(
    AxumState(state): AxumState<State>,
    call: Call<CreateKey>,
) -> Result<Response, Problem> {
    let CreateKey { role, name, owner } = call.body;
    let new = NewKey { role, name: name.clone(), owner };
    let made = state
        .gate
        .create_key(&call.actor, new, call.idempotency)
        .await
        .map_err(|error| refuse(&state, error))?;
    let status = if made.secret.is_some() { StatusCode::CREATED } else { StatusCode::OK };
    Ok(json(status, &NewKeyRecord { id: made.id, role, name, key: made.secret }))
}

/// List keys, without their secrets.
#[utoipa::path(get, path = "/v1/keys", operation_id = "list_keys", tag = "admin", responses((status = 200, description = "all keys", body = KeyList)))]
pub(crate) async fn list(
    AxumState(state): AxumState<State>,
    Caller(actor): Caller,
) -> Result<Response, Problem> {
    let directory = state.gate.directory(&actor).await.map_err(|error| refuse(&state, error))?;
    let mut items: Vec<KeyRecord> = directory
        .keys
        .values()
        .map(|key| KeyRecord {
            id: key.id,
            role: key.role,
            name: key.name.clone(),
            owner: directory.owner(&key.name).filter(|_| key.role == Role::Agent).map(str::to_owned),
            created_at: key.created_at,
            revoked_at: key.revoked_at,
        })
        .collect();
    // Ids that are made in one millisecond have no order of their own.
    items.sort_by_key(|key| (key.created_at, key.id));
    Ok(json(StatusCode::OK, &KeyList { items }))
}

/// What happens to what was said with a credential that goes.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct KeepParams {
    /// Keep live votes and standing approvals that were given with it, as after a rotation. Without it they are void.
    pub(crate) keep_votes: Option<bool>,
}

/// Revoke a key at once, waits in flight included. Live votes and standing approvals given with it are void.
#[utoipa::path(delete, path = "/v1/keys/{id}", operation_id = "revoke_key", tag = "admin", params(("id" = inline(KeyId), Path), KeepParams), responses(
    (status = 204, description = "it no longer works"),
    (status = 404, description = "no such key, or revoked before", body = ProblemDocument),
    (status = 409, description = "it is the last admin key", body = ProblemDocument),
))]
pub(crate) async fn revoke(
    AxumState(state): AxumState<State>,
    Caller(actor): Caller,
    params: Result<Params<KeepParams>, Problem>,
    id: Id<KeyId>,
) -> Result<Response, Problem> {
    let keep = params?.0.keep_votes == Some(true);
    state.gate.revoke_key(&actor, id.get()?, keep).await.map_err(|error| refuse(&state, error))?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
