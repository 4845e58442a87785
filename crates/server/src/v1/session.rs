//! Signing in and out, one's own sessions, and one's password.

use std::collections::BTreeSet;

use axum::{
    extract::State as AxumState,
    response::{IntoResponse as _, Response},
};
use http::{StatusCode, header};
use placet_core::{Role, SessionId, Time, Via};
use placet_gate::{OpenedSession, TicketFor};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    State,
    call::{Caller, Id, JsonCall, Params},
    problem::{Problem, ProblemDocument},
    proof::PublicKey,
    session::{self, Person, SignedIn, clear_cookie, set_cookie},
    v1::{json, keys::KeepParams, refuse},
};

/// Who is signed in.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionRecord {
    name: String,
    /// All of the person's roles: each call uses the one it needs.
    #[schema(value_type = Vec<Role>)]
    roles: BTreeSet<Role>,
    #[schema(value_type = Vec<String>)]
    teams: BTreeSet<String>,
    session: CurrentSession,
    /// To be sent in the header `Placet-CSRF` with every POST, PUT and DELETE of this session.
    csrf: String,
    /// What to sign the next call with; every answer has a newer one in `Placet-Nonce`.
    nonce: String,
    has_password: bool,
    server: ServerFacts,
}

/// What a cookie alone is told.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BoundSession {
    /// Always true: the session is somebody's, and their browser must say so.
    bound: bool,
    /// What to sign the next call with.
    nonce: String,
}

/// This session.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CurrentSession {
    id: SessionId,
    #[schema(value_type = String, format = DateTime)]
    created_at: Time,
    #[schema(value_type = String, format = DateTime)]
    last_seen_at: Time,
    /// When it ends, whatever happens.
    #[schema(value_type = String, format = DateTime)]
    expires_at: Time,
    /// When it ends unless it is used.
    #[schema(value_type = String, format = DateTime)]
    idle_until: Time,
    via: Via,
}

/// What a page may want to say about the server.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ServerFacts {
    version: &'static str,
    dev: bool,
    /// `sqlite` or `postgres`.
    database: &'static str,
}

/// One of one's own sessions.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionItem {
    id: SessionId,
    #[schema(value_type = String, format = DateTime)]
    created_at: Time,
    /// To the minute.
    #[schema(value_type = String, format = DateTime)]
    last_seen_at: Time,
    #[schema(value_type = String, format = DateTime)]
    expires_at: Time,
    via: Via,
    /// Whether it is the session of this call.
    current: bool,
    /// What the browser says of itself, safe to show.
    user_agent: String,
}

/// One's own sessions.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionList {
    items: Vec<SessionItem>,
}

/// Name and password.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Credentials {
    name: String,
    password: String,
    /// The public part of a key that the browser made and keeps: it signs every call of the session.
    key: PublicKey,
}

/// A one-time link.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkToken {
    /// The last part of its address.
    token: String,
    /// The public part of a key that the browser made and keeps: it signs every call of the session.
    key: PublicKey,
}

/// A new password.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewPassword {
    /// The one there is; not needed by whoever has none, or came in by a link in the last 15 minutes.
    #[serde(default)]
    current: Option<String>,
    #[schema(min_length = 12, max_length = 1024)]
    new: String,
}

fn record(state: &State, signed_in: &SignedIn) -> SessionRecord {
    let session = &signed_in.session;
    SessionRecord {
        name: signed_in.name.clone(),
        roles: signed_in.roles.clone(),
        teams: signed_in.teams.clone(),
        session: CurrentSession {
            id: session.id,
            created_at: session.created_at,
            last_seen_at: signed_in.last_seen_at,
            expires_at: session.expires_at,
            idle_until: signed_in.idle_until,
            via: session.via,
        },
        csrf: signed_in.csrf.clone(),
        nonce: state.gate.nonces(session.id)[0].clone(),
        has_password: signed_in.has_password,
        server: ServerFacts {
            version: env!("CARGO_PKG_VERSION"),
            dev: state.settings.dev,
            database: state.gate.store().durability().database,
        },
    }
}

fn opened(state: &State, opened: &OpenedSession) -> Response {
    let mut response = json(StatusCode::OK, &record(state, &opened.signed_in));
    response.headers_mut().insert(header::SET_COOKIE, set_cookie(&opened.secret));
    response
}

/// Who is signed in here.
#[utoipa::path(get, path = "/v1/session", operation_id = "get_session", tag = "session", security(("session" = [])), responses(
    (status = 200, description = "the person, and the token that every change needs; to a cookie alone `{bound, nonce}` and nothing else", body = SessionRecord),
    (status = 401, description = "nobody is signed in", body = ProblemDocument),
))]
pub(crate) async fn get(
    AxumState(state): AxumState<State>,
    person: Result<Person, Problem>,
    request: axum::extract::Request,
) -> Result<Response, Problem> {
    let problem = match person {
        Ok(Person(signed_in)) => return Ok(json(StatusCode::OK, &record(&state, &signed_in))),
        Err(problem) => problem,
    };
    if problem.code() != "proof_needed" {
        return Err(problem);
    }
    let (parts, _) = request.into_parts();
    match session::of_cookie(&parts, &state).await? {
        Some(signed_in) => {
            let nonce = state.gate.nonces(signed_in.session.id)[0].clone();
            Ok(json(StatusCode::OK, &BoundSession { bound: true, nonce }))
        }
        None => Err(Problem::unauthorized("nobody is signed in: sign in first")),
    }
}

/// Sign in with name and password.
#[utoipa::path(post, path = "/v1/session", operation_id = "sign_in", tag = "session", security(()), request_body = Credentials, responses(
    (status = 200, description = "signed in: the cookie comes with it", body = SessionRecord),
    (status = 401, description = "bad_credentials: unknown, without a password and wrong are one answer", body = ProblemDocument),
    (status = 403, description = "csrf: made by a page of another site", body = ProblemDocument),
    (status = 422, description = "the body does not fit", body = ProblemDocument),
    (status = 429, description = "rate_limited: too many tries for this name or from this address", body = ProblemDocument),
))]
pub(crate) async fn sign_in(
    AxumState(state): AxumState<State>,
    sent: JsonCall<Credentials>,
) -> Result<Response, Problem> {
    let Credentials { name, password, key } = sent.body;
    Ok(opened(&state, &session::with_password(&sent.parts, &state, &name, &password, &key).await?))
}

/// Sign in with a one-time link, which is used up by it.
#[utoipa::path(post, path = "/v1/session/link", operation_id = "sign_in_with_link", tag = "session", security(()), request_body = LinkToken, responses(
    (status = 200, description = "signed in: the cookie comes with it", body = SessionRecord),
    (status = 401, description = "bad_link: used, expired and unknown are one answer", body = ProblemDocument),
    (status = 403, description = "csrf: made by a page of another site", body = ProblemDocument),
    (status = 422, description = "the body does not fit", body = ProblemDocument),
    (status = 429, description = "rate_limited: too many tries from this address", body = ProblemDocument),
))]
pub(crate) async fn sign_in_with_link(
    AxumState(state): AxumState<State>,
    sent: JsonCall<LinkToken>,
) -> Result<Response, Problem> {
    let LinkToken { token, key } = sent.body;
    Ok(opened(&state, &session::with_link(&sent.parts, &state, &token, &key).await?))
}

/// Sign out.
#[utoipa::path(delete, path = "/v1/session", operation_id = "sign_out", tag = "session", security(("session" = [])), responses(
    (status = 204, description = "the session is over, on every node, and the cookie is taken back"),
))]
pub(crate) async fn sign_out(
    AxumState(state): AxumState<State>,
    Person(signed_in): Person,
) -> Result<Response, Problem> {
    let ended = state.gate.end_session(&signed_in.actor, signed_in.session.id, true).await;
    ended.map_err(|error| refuse(&state, error))?;
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, clear_cookie())]).into_response())
}

/// A call that the browser cannot sign, announced.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TicketRecord {
    /// Works once, within 30 seconds, in this session.
    ticket: String,
    #[schema(value_type = String, format = DateTime)]
    expires_at: Time,
}

fn ticket(state: &State, signed_in: &SignedIn, what: TicketFor) -> Response {
    let made = state.gate.ticket(signed_in.session.id, what);
    json(StatusCode::CREATED, &TicketRecord { ticket: made.text, expires_at: made.expires_at })
}

/// A ticket for one WebSocket, which a browser cannot sign: the second `Sec-WebSocket-Protocol` of `/v1/ws` or `/stream`.
#[utoipa::path(post, path = "/v1/ws/ticket", operation_id = "create_ws_ticket", tag = "session", security(("session" = [])), responses(
    (status = 201, description = "the ticket", body = TicketRecord),
    (status = 401, description = "proof_needed: the call is not signed", body = ProblemDocument),
))]
pub(crate) async fn ws_ticket(AxumState(state): AxumState<State>, Person(signed_in): Person) -> Response {
    ticket(&state, &signed_in, TicketFor::Stream)
}

/// A ticket for one download, which a browser cannot sign: `ticket` of `/v1/requests/export`.
#[utoipa::path(post, path = "/v1/requests/export/ticket", operation_id = "create_export_ticket", tag = "session", security(("session" = [])), responses(
    (status = 201, description = "the ticket", body = TicketRecord),
    (status = 401, description = "proof_needed: the call is not signed", body = ProblemDocument),
))]
pub(crate) async fn export_ticket(AxumState(state): AxumState<State>, Person(signed_in): Person) -> Response {
    ticket(&state, &signed_in, TicketFor::Export)
}

/// List one's own sessions.
#[utoipa::path(get, path = "/v1/sessions", operation_id = "list_sessions", tag = "session", responses(
    (status = 200, description = "one's own sessions, the newest first", body = SessionList),
))]
pub(crate) async fn list(
    AxumState(state): AxumState<State>,
    Caller(actor): Caller,
) -> Result<Response, Problem> {
    let rows = state.gate.sessions(&actor).await.map_err(|error| refuse(&state, error))?;
    let items = rows.into_iter().map(|row| SessionItem {
        id: row.session.id,
        created_at: row.session.created_at,
        last_seen_at: row.last_seen_at,
        expires_at: row.session.expires_at,
        via: row.session.via,
        current: actor.session == Some(row.session.id),
        user_agent: row.user_agent,
    });
    Ok(json(StatusCode::OK, &SessionList { items: items.collect() }))
}

/// End a session at once, streams in flight included: one's own, or anybody's as an admin. Live votes and standing approvals
/// given in it are void, unless it is the session of the call itself.
#[utoipa::path(delete, path = "/v1/sessions/{id}", operation_id = "end_session", tag = "session", params(("id" = inline(SessionId), Path), KeepParams), responses(
    (status = 204, description = "it is over, on every node"),
    (status = 404, description = "unknown, over before, somebody else's or malformed", body = ProblemDocument),
))]
pub(crate) async fn end(
    AxumState(state): AxumState<State>,
    Caller(actor): Caller,
    params: Result<Params<KeepParams>, Problem>,
    id: Id<SessionId>,
) -> Result<Response, Problem> {
    let keep = params?.0.keep_votes == Some(true);
    state.gate.end_session(&actor, id.get()?, keep).await.map_err(|error| refuse(&state, error))?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Set one's password. One's other sessions end.
#[utoipa::path(put, path = "/v1/session/password", operation_id = "set_password", tag = "session", security(("session" = [])), request_body = NewPassword, responses(
    (status = 204, description = "set"),
    (status = 403, description = "bad_credentials: `current` is missing or wrong; or csrf", body = ProblemDocument),
    (status = 422, description = "too short or too long", body = ProblemDocument),
    (status = 429, description = "rate_limited: too many tries", body = ProblemDocument),
))]
pub(crate) async fn set_password(
    AxumState(state): AxumState<State>,
    sent: JsonCall<NewPassword, Person>,
) -> Result<Response, Problem> {
    let (Person(signed_in), NewPassword { current, new }) = (sent.who, sent.body);
    let begun = state.sign_ins.begin(session::peer(&sent.parts), &signed_in.name).await?;
    let set = state.gate.set_password(&signed_in, current.as_deref(), &new).await;
    session::looked_at(begun, &set);
    set.map_err(|error| {
        let problem = refuse(&state, error);
        // The session works: 401 would say that it does not.
        if problem.code() == "bad_credentials" {
            Problem::new(StatusCode::FORBIDDEN, "bad_credentials", "`current` is not the password there is")
        } else {
            problem
        }
    })?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
