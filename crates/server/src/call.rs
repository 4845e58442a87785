//! One call: who makes it, what its strict JSON body says, and its idempotency key.

use std::net::IpAddr;

use axum::{
    body::Body,
    extract::{FromRequest, FromRequestParts, Path, Query},
    http::request::Parts,
};
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use placet_core::{Actor, Auth, Role};
use placet_gate::{Idempotency, KeyLook};
use placet_ledger::{
    canonical,
    ijson::{self, Limits},
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::Segment;
use sha2::{Digest as _, Sha256};

use crate::{State, guard::Peer, problem::Problem, proof::BrowserProof, session, strict::Strict, unsent};

/// An authenticated caller within its rate limit.
#[derive(Debug, Clone)]
pub(crate) struct Caller(pub(crate) Actor);

impl FromRequestParts<State> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, Problem> {
        let actor = authenticate(parts, state).await?;
        within_rate(state, &actor)?;
        Ok(Self(actor))
    }
}

/// Refuses a call that is one too many for its principal, or whose principal leaves too many answers unread.
pub(crate) fn within_rate(state: &State, actor: &Actor) -> Result<(), Problem> {
    if state.rate.allows(&actor.name) {
        return unsent::admit(&state.unsent, &actor.name);
    }
    let detail = format!("more than {} calls a second: slow down", state.settings.requests_per_second);
    Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", detail).retry_after(1))
}

pub(crate) async fn authenticate(parts: &Parts, state: &State) -> Result<Actor, Problem> {
    let actor = identify(parts, state).await?;
    called_by(&actor);
    Ok(actor)
}

/// Says in the span of this call who makes it.
pub(crate) fn called_by(actor: &Actor) {
    tracing::Span::current().record("principal", actor.name.as_str());
}

async fn identify(parts: &Parts, state: &State) -> Result<Actor, Problem> {
    let (headers, peer) = (&parts.headers, parts.extensions.get::<Peer>().copied());
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        if let Some(signed_in) = session::signed_in(parts) {
            session::check_call(parts, &signed_in)?;
            return Ok(signed_in.actor);
        }
        // Our own API knows sessions: whoever shows half of one is told so. At the other doors it counts as nothing.
        if session::has_cookie(headers) && parts.uri.path().starts_with("/v1/") {
            return Err(session::unproved());
        }
        if state.settings.dev && is_local(headers, peer) {
            return Ok(Actor {
                name: "local".to_owned(),
                role: Role::Agent,
                key: None,
                session: None,
                auth: Auth::Open,
            });
        }
        if session::has_cookie(headers) {
            return Err(session::unproved());
        }
        return Err(Problem::unauthorized("a key is needed: send `Authorization: Bearer plk_…`"));
    };
    let token = value.to_str().ok().and_then(|value| value.split_once(' '));
    let Some((_, token)) = token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")) else {
        return Err(Problem::unauthorized("expected `Authorization: Bearer plk_…`"));
    };
    let token = token.trim();
    let actor = match state.gate.look_up(token) {
        KeyLook::Known(actor) => Some(actor),
        KeyLook::Unknown => None,
        KeyLook::New => {
            unknown(state, peer.map(|peer| peer.0.ip()))?;
            let found = state.gate.authenticate(token).await;
            found.map_err(|error| Problem::gate(error, state.gate.now()))?
        }
    };
    actor.ok_or_else(|| Problem::unauthorized("the key is unknown or was revoked"))
}

/// Refuses a credential that this node does not know if its address showed too many of those.
pub(crate) fn unknown(state: &State, peer: Option<IpAddr>) -> Result<(), Problem> {
    if state.unknown_keys.allows(peer) {
        return Ok(());
    }
    let detail = "too many unknown keys or links from this address: wait a little";
    Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", detail).retry_after(1))
}

/// From this machine itself, not through a proxy on it.
pub(crate) fn is_local(headers: &HeaderMap, peer: Option<Peer>) -> bool {
    let proxied =
        ["forwarded", "x-forwarded-for", "x-real-ip", "via"].iter().any(|name| headers.contains_key(*name));
    !proxied && peer.is_some_and(|peer| peer.0.ip().is_loopback())
}

/// A caller and its body, read strictly.
#[derive(Debug)]
pub(crate) struct Call<T> {
    pub(crate) actor: Actor,
    pub(crate) body: T,
    pub(crate) idempotency: Option<Idempotency>,
}

impl<T: DeserializeOwned> FromRequest<State> for Call<T> {
    type Rejection = Problem;

    async fn from_request(request: Request<Body>, state: &State) -> Result<Self, Problem> {
        let (mut parts, body) = request.into_parts();
        let Caller(actor) = Caller::from_request_parts(&mut parts, state).await?;
        let (bytes, value) = json_body(&parts.headers, body, state).await?;
        let idempotency = once(&parts, &actor, &value)?;
        Ok(Self { actor, body: fitted(&bytes, value)?, idempotency })
    }
}

/// A body as bytes and as a value, not yet fitted to what is expected.
async fn json_body(headers: &HeaderMap, body: Body, state: &State) -> Result<(Bytes, Value), Problem> {
    media_type(headers)?;
    let limits = Limits::default();
    let bytes = read(body, &limits, state).await?;
    // Nothing at all is an empty object: several calls have only optional fields.
    let value =
        if bytes.is_empty() { Value::Object(serde_json::Map::new()) } else { ijson::parse(&bytes, &limits)? };
    Ok((bytes, value))
}

fn fitted<T: DeserializeOwned>(bytes: &Bytes, value: Value) -> Result<T, Problem> {
    match T::deserialize(Strict(value)) {
        Ok(body) => Ok(body),
        // Read again, slowly, to say where it does not fit: keeping track all the time costs as much as reading.
        Err(_) if bytes.is_empty() => typed(Value::Object(serde_json::Map::new())),
        Err(_) => typed(ijson::parse(bytes, &Limits::default())?),
    }
}

/// Anybody, before they are known.
#[derive(Debug)]
pub(crate) struct Anybody;

impl FromRequestParts<State> for Anybody {
    type Rejection = Problem;

    async fn from_request_parts(_: &mut Parts, _: &State) -> Result<Self, Problem> {
        Ok(Self)
    }
}

/// What somebody sent: who it is, the head of the call, and its body, read strictly.
pub(crate) struct JsonCall<T, W = Anybody> {
    pub(crate) who: W,
    pub(crate) parts: Parts,
    pub(crate) body: T,
}

impl<T, W> FromRequest<State> for JsonCall<T, W>
where
    T: DeserializeOwned,
    W: FromRequestParts<State, Rejection = Problem> + Send,
{
    type Rejection = Problem;

    async fn from_request(request: Request<Body>, state: &State) -> Result<Self, Problem> {
        let (mut parts, body) = request.into_parts();
        let who = W::from_request_parts(&mut parts, state).await?;
        let (bytes, value) = json_body(&parts.headers, body, state).await?;
        Ok(Self { who, body: fitted(&bytes, value)?, parts })
    }
}

pub(crate) fn media_type(headers: &HeaderMap) -> Result<(), Problem> {
    let Some(value) = headers.get(header::CONTENT_TYPE) else { return Ok(()) };
    let essence = value.to_str().unwrap_or("").split(';').next().unwrap_or("").trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "unsupported_media_type",
        "send JSON, with `Content-Type: application/json`",
    ))
}

pub(crate) async fn read(body: Body, limits: &Limits, state: &State) -> Result<Bytes, Problem> {
    let collected =
        tokio::time::timeout(state.settings.body_timeout, Limited::new(body, limits.bytes).collect()).await;
    match collected {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Problem::unprocessable(
            "too_large",
            "",
            format!("the body is larger than {} bytes", limits.bytes),
        )),
        Ok(Err(_)) => {
            Err(Problem::new(StatusCode::BAD_REQUEST, "truncated", "the body ended before it was complete"))
        }
        Err(_) => {
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "body_timeout", "the body took too long to arrive"))
        }
    }
}

/// Reads a value into a type; what does not fit is named by a JSON pointer.
pub(crate) fn typed<T: DeserializeOwned>(value: Value) -> Result<T, Problem> {
    serde_path_to_error::deserialize(Strict(value)).map_err(|error| {
        let escaped = |segment: &str| format!("/{}", segment.replace('~', "~0").replace('/', "~1"));
        let mut pointer: String = error
            .path()
            .iter()
            .map(|segment| match segment {
                Segment::Seq { index } => format!("/{index}"),
                Segment::Map { key } => escaped(key),
                Segment::Enum { variant } => escaped(variant),
                Segment::Unknown => String::new(),
            })
            .collect();
        let detail = error.inner().to_string();
        // The library names a missing or unknown field in words; programs want it in the pointer.
        let starts = ["missing field `", "unknown field `"];
        let field =
            starts.iter().find_map(|start| detail.strip_prefix(start)?.split('`').next()).map(escaped);
        if let Some(field) = field.filter(|field| !pointer.ends_with(field)) {
            pointer.push_str(&field);
        }
        Problem::unprocessable("invalid", pointer, detail)
    })
}

/// The idempotency key of a call: bound to who, where, and the canonical body.
pub(crate) fn idempotency(
    headers: &HeaderMap,
    actor: &Actor,
    path: &str,
    body: &Value,
) -> Result<Option<Idempotency>, Problem> {
    let Some(key) = headers.get("idempotency-key") else { return Ok(None) };
    let key = key.to_str().ok().filter(|key| (1..=255).contains(&key.len()));
    let Some(key) = key else {
        return Err(Problem::unprocessable(
            "invalid",
            "",
            "`Idempotency-Key` must be 1 to 255 visible ASCII characters",
        ));
    };
    keyed_by(&[actor.name.as_str(), path, key], body).map(Some)
}

/// The same; without one of its own, a call that its browser signed has its signature: a copy of it makes nothing again.
pub(crate) fn once(parts: &Parts, actor: &Actor, body: &Value) -> Result<Option<Idempotency>, Problem> {
    if let Some(named) = idempotency(&parts.headers, actor, parts.uri.path(), body)? {
        return Ok(Some(named));
    }
    let Some(once) = parts.extensions.get::<BrowserProof>().and_then(BrowserProof::once) else {
        return Ok(None);
    };
    keyed_by(&[actor.name.as_str(), parts.uri.path(), "signed", &once], body).map(Some)
}

fn keyed_by(parts: &[&str], body: &Value) -> Result<Idempotency, Problem> {
    let body = canonical(body).map_err(|error| Problem::unprocessable("invalid", "", error.to_string()))?;
    Ok(Idempotency { scope: scope(parts), body: Sha256::digest(&body).into() })
}

/// SHA-256 over parts that cannot run into each other.
pub(crate) fn scope(parts: &[&str]) -> [u8; 32] {
    let mut scope = Sha256::new();
    for part in parts {
        scope.update((part.len() as u64).to_be_bytes());
        scope.update(part);
    }
    scope.finalize().into()
}

/// A claimant's secret must be worth guessing at.
pub(crate) fn check_claimant(claimant: Option<&str>, pointer: &str) -> Result<(), Problem> {
    if claimant.is_some_and(|claimant| !(16..=256).contains(&claimant.len())) {
        return Err(Problem::unprocessable(
            "invalid",
            pointer,
            "a claimant is a random secret of 16 to 256 bytes",
        ));
    }
    Ok(())
}

/// A query string, read strictly.
#[derive(Debug)]
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<State> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &State) -> Result<Self, Problem> {
        let Query(query) = Query::<T>::try_from_uri(&parts.uri).map_err(|error| {
            let source =
                std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
            Problem::unprocessable("invalid_query", "", format!("the query does not fit: {source}"))
        })?;
        Ok(Self(query))
    }
}

/// An identifier in the path. A malformed one is answered like an unknown one, and only to callers who are known.
#[derive(Debug)]
pub(crate) struct Id<T>(Option<T>);

impl<T> Id<T> {
    /// The identifier, if it is one.
    pub(crate) fn get(self) -> Result<T, Problem> {
        self.0.ok_or_else(Problem::not_found)
    }
}

impl<T: std::str::FromStr + Send> FromRequestParts<State> for Id<T> {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, Self::Rejection> {
        let text = Path::<String>::from_request_parts(parts, state).await;
        Ok(Self(text.ok().and_then(|Path(text)| text.parse().ok())))
    }
}

/// A duration such as `25s`, bounded.
pub(crate) fn duration(text: &str, most: std::time::Duration) -> Result<std::time::Duration, Problem> {
    let wrong = || Problem::unprocessable("invalid_query", "", "`wait` must be a duration such as `25s`");
    let span: jiff::SignedDuration = text.parse().map_err(|_| wrong())?;
    Ok(std::time::Duration::try_from(span).map_err(|_| wrong())?.min(most))
}
