//! A person's session in a browser: its cookie, what proves that a call comes from our own page, and signing in.
//!
//! A cookie alone is nobody's: it goes to every port of its host. The browser proves each call with its own key (see
//! [`crate::proof`]); the call must also come from this very origin and carry the token that only pages of this session know.

use std::sync::{Arc, OnceLock};

use axum::{extract::FromRequestParts, http::request::Parts};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use placet_core::AdminRefusal;
pub(crate) use placet_gate::SignedIn;
use placet_gate::{Gate, GateError, OpenedSession};

use crate::{
    State,
    guard::Peer,
    problem::Problem,
    proof::{BrowserProof, PublicKey},
    sign_ins::Try,
};

/// The name of the cookie. The prefix makes browsers refuse it from other hosts, other paths and without `Secure`.
const COOKIE: &str = "__Host-placet";
/// The header in which a page sends the session's token.
const TOKEN: &str = "placet-csrf";
/// The header with what to sign next.
const NONCE: &str = "placet-nonce";

/// What the answer to a call by session brings: a new cookie if the session got another secret, and what to sign next.
#[derive(Debug, Clone, Default)]
pub(crate) struct Renewal(Arc<Brought>);

#[derive(Debug, Default)]
struct Brought {
    cookie: OnceLock<HeaderValue>,
    nonce: OnceLock<HeaderValue>,
}

impl Renewal {
    /// A place for one, if the call comes with a session's cookie at all.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        has_cookie(headers).then(Self::default)
    }

    /// Puts what there is on the answer, unless the answer has a cookie of its own.
    pub(crate) fn put(&self, headers: &mut HeaderMap) {
        if let Some(cookie) = self.0.cookie.get()
            && !headers.contains_key(header::SET_COOKIE)
        {
            headers.insert(header::SET_COOKIE, cookie.clone());
        }
        if let Some(nonce) = self.0.nonce.get() {
            headers.insert(NONCE, nonce.clone());
        }
    }

    /// What the browser is to sign its next call with.
    pub(crate) fn nonce(parts: &Parts, nonce: &str) {
        if let (Some(renewal), Ok(nonce)) = (parts.extensions.get::<Self>(), HeaderValue::from_str(nonce)) {
            let _ = renewal.0.nonce.set(nonce);
        }
    }
}

/// The values of our cookie, as they were sent.
fn secrets(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    // Cookies of others on this host may be no text at all.
    let pairs =
        headers.get_all(header::COOKIE).iter().flat_map(|value| value.as_bytes().split(|byte| *byte == b';'));
    let pairs = pairs.filter_map(|pair| std::str::from_utf8(pair).ok()?.trim().split_once('='));
    pairs.filter(|(name, _)| *name == COOKIE).map(|(_, value)| value)
}

/// Whether a call comes with a session's cookie and nothing that counts more.
pub(crate) fn has_cookie(headers: &HeaderMap) -> bool {
    !headers.contains_key(header::AUTHORIZATION) && secrets(headers).next().is_some()
}

/// Who is signed in, if anybody proved to be. A call with a key is that key's alone.
pub(crate) fn signed_in(parts: &Parts) -> Option<SignedIn> {
    let proved = parts.extensions.get::<BrowserProof>().filter(|_| has_cookie(&parts.headers));
    proved.map(|proved| proved.signed_in.clone())
}

/// The refusal of a call that comes with a cookie and nothing else.
pub(crate) fn unproved() -> Problem {
    let detail =
        "a cookie is not enough: the browser signs each call with its own key, in the header `Placet-Proof`";
    Problem::new(StatusCode::UNAUTHORIZED, "proof_needed", detail)
}

/// Whose cookie this is, if anybody's. Only what proves the call may ask; nothing is noted yet.
pub(crate) async fn of_cookie(parts: &Parts, state: &State) -> Result<Option<SignedIn>, Problem> {
    let Some(secret) = secret(parts) else { return Ok(None) };
    state.gate.session(secret).await.map_err(|error| Problem::gate(error, state.gate.now()))
}

/// Notes that a proved call uses its session.
pub(crate) async fn used(parts: &Parts, state: &State, signed_in: &mut SignedIn) {
    let Some(secret) = secret(parts) else { return };
    // A stream that stays open is no sign that anybody is there.
    let renewed = state.gate.use_session(signed_in, secret, !is_stream(parts)).await;
    if let (Some(renewed), Some(renewal)) = (renewed, parts.extensions.get::<Renewal>()) {
        let _ = renewal.0.cookie.set(set_cookie(&renewed));
    }
}

/// The secret of a call that is a session's and nothing that counts more.
fn secret(parts: &Parts) -> Option<&str> {
    let mut secrets = secrets(&parts.headers);
    match (has_cookie(&parts.headers), secrets.next(), secrets.next()) {
        (true, Some(secret), None) => Some(secret),
        // Two cookies of one name: somebody plays tricks.
        _ => None,
    }
}

fn is_stream(parts: &Parts) -> bool {
    matches!(parts.uri.path(), "/v1/stream" | "/v1/ws" | "/stream")
}

/// The header that gives a browser its session. It ends with the browser, or when the server says so.
pub(crate) fn set_cookie(secret: &str) -> HeaderValue {
    let cookie = format!("{COOKIE}={secret}; Path=/; Secure; HttpOnly; SameSite=Lax");
    // A secret is letters and digits; anything else would be no cookie at all.
    HeaderValue::from_str(&cookie).unwrap_or_else(|_| clear_cookie())
}

/// The header that takes it away.
pub(crate) fn clear_cookie() -> HeaderValue {
    HeaderValue::from_static("__Host-placet=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0")
}

fn forged(detail: &str) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, "csrf", detail)
}

/// Checks that a call by cookie was made by a page of ours, as far as its method needs that.
pub(crate) fn check_call(parts: &Parts, signed_in: &SignedIn) -> Result<(), Problem> {
    if [Method::GET, Method::HEAD].contains(&parts.method) {
        let typed_in = !is_stream(parts) && fetch_site(&parts.headers) == Site::Nobody;
        if !typed_in {
            check_site(&parts.headers)?;
        }
        return if ["/v1/ws", "/stream"].contains(&parts.uri.path()) { check_origin(parts) } else { Ok(()) };
    }
    let mut tokens = parts.headers.get_all(TOKEN).iter();
    let (Some(token), None) = (tokens.next(), tokens.next()) else {
        return Err(forged("send the `csrf` of GET /v1/session in the header `Placet-CSRF`"));
    };
    check_form(parts, signed_in, token.to_str().unwrap_or_default())
}

/// Whether a call comes from a page of this very origin, or from no page at all as far as one can tell.
pub(crate) fn is_own_page(parts: &Parts) -> bool {
    if parts.headers.contains_key(header::ORIGIN) {
        return check_origin(parts).is_ok();
    }
    fetch_site(&parts.headers) != Site::Other
}

/// Checks a form of ours, whose hidden field `csrf` holds the session's token.
pub(crate) fn check_form(parts: &Parts, signed_in: &SignedIn, csrf: &str) -> Result<(), Problem> {
    check_site(&parts.headers)?;
    check_origin(parts)?;
    if Gate::csrf_matches(signed_in, csrf) {
        Ok(())
    } else {
        Err(forged("that is not the token of this session: read GET /v1/session again"))
    }
}

/// Checks that a form was sent from a page of ours.
pub(crate) fn check_page(parts: &Parts) -> Result<(), Problem> {
    check_site(&parts.headers)?;
    check_origin(parts)
}

/// Checks a call that signs somebody in: there is no session yet, but no other site's page may make it. A client that
/// sends neither header is no browser.
fn check_sign_in(parts: &Parts) -> Result<(), Problem> {
    check_site(&parts.headers)?;
    if parts.headers.contains_key(header::ORIGIN) { check_origin(parts) } else { Ok(()) }
}

/// Who made the browser call, as far as the browser says.
#[derive(Debug, PartialEq, Eq)]
enum Site {
    /// It does not say.
    Unsaid,
    /// A page of this origin.
    Own,
    /// The person, by typing the address.
    Nobody,
    /// A page of another origin.
    Other,
}

fn fetch_site(headers: &HeaderMap) -> Site {
    let mut said = headers.get_all("sec-fetch-site").iter();
    match (said.next().map(HeaderValue::as_bytes), said.next()) {
        (None, _) => Site::Unsaid,
        (Some(b"same-origin"), None) => Site::Own,
        (Some(b"none"), None) => Site::Nobody,
        _ => Site::Other,
    }
}

fn check_site(headers: &HeaderMap) -> Result<(), Problem> {
    match fetch_site(headers) {
        Site::Unsaid | Site::Own => Ok(()),
        Site::Nobody | Site::Other => Err(forged("only pages of this server may make this call")),
    }
}

/// The page must be of this very origin: same scheme, host and port.
fn check_origin(parts: &Parts) -> Result<(), Problem> {
    let mut origins = parts.headers.get_all(header::ORIGIN).iter();
    let host = parts.uri.authority().map(http::uri::Authority::as_str);
    let host = host.or_else(|| parts.headers.get(header::HOST)?.to_str().ok());
    match (origins.next().and_then(|origin| origin.to_str().ok()), origins.next(), host) {
        (Some(origin), None, Some(host)) if is_own(origin, host) => Ok(()),
        _ => Err(forged("only pages of this server may make this call: `Origin` must be its own")),
    }
}

/// Whether an origin is that of the server called by this name. Other machines are served over TLS, by a proxy.
fn is_own(origin: &str, host: &str) -> bool {
    let (page, port) = match (origin.strip_prefix("https://"), origin.strip_prefix("http://")) {
        (Some(page), _) => (page, ":443"),
        (None, Some(page)) if is_loopback(page) => (page, ":80"),
        _ => return false,
    };
    let bare = |authority: &str| authority.strip_suffix(port).unwrap_or(authority).to_ascii_lowercase();
    !page.is_empty() && bare(page) == bare(host)
}

fn is_loopback(authority: &str) -> bool {
    let host = crate::guard::host_of(authority);
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// Signs in with name and password. Wrong ones make the next ones slower.
pub(crate) async fn with_password(
    parts: &Parts,
    state: &State,
    name: &str,
    password: &str,
    key: &PublicKey,
) -> Result<OpenedSession, Problem> {
    check_sign_in(parts)?;
    let point = key.point()?;
    let begun = state.sign_ins.begin(peer(parts), name).await?;
    let opened = state.gate.sign_in_with_password(name, password, user_agent(&parts.headers), point).await;
    looked_at(begun, &opened);
    opened.map_err(|error| Problem::gate(error, state.gate.now()))
}

/// Signs in with a one-time link.
pub(crate) async fn with_link(
    parts: &Parts,
    state: &State,
    token: &str,
    key: &PublicKey,
) -> Result<OpenedSession, Problem> {
    check_sign_in(parts)?;
    let point = key.point()?;
    // Links are too long to be guessed, so wrong passwords of others do not slow them down. One that this node does not
    // know costs a look at the database, as an unknown key does.
    if !state.gate.knows_link(token) {
        crate::call::unknown(state, peer(parts))?;
    }
    let opened = state.gate.sign_in_with_link(token, user_agent(&parts.headers), point).await;
    opened.map_err(|error| Problem::gate(error, state.gate.now()))
}

/// Tells a try what came of it.
pub(crate) fn looked_at<T>(begun: Try<'_>, outcome: &Result<T, GateError>) {
    match outcome {
        Ok(_) => begun.succeeded(),
        Err(GateError::Admin(AdminRefusal::BadCredentials)) => {}
        Err(_) => begun.forgive(),
    }
}

pub(crate) fn peer(parts: &Parts) -> Option<std::net::IpAddr> {
    parts.extensions.get::<Peer>().map(|peer| peer.0.ip())
}

fn user_agent(headers: &HeaderMap) -> &str {
    headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// The person of a session, for calls that keys cannot make.
#[derive(Debug)]
pub(crate) struct Person(pub(crate) SignedIn);

impl FromRequestParts<State> for Person {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, Problem> {
        let Some(signed_in) = signed_in(parts) else {
            let stranger = || Problem::unauthorized("nobody is signed in: sign in first");
            return Err(if has_cookie(&parts.headers) { unproved() } else { stranger() });
        };
        check_call(parts, &signed_in)?;
        crate::call::called_by(&signed_in.actor);
        crate::call::within_rate(state, &signed_in.actor)?;
        Ok(Self(signed_in))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_very_origin_is_ours() {
        for (origin, host) in [
            ("http://127.0.0.1:4000", "127.0.0.1:4000"),
            ("http://localhost:4000", "LOCALHOST:4000"),
            ("http://[::1]:4000", "[::1]:4000"),
            ("http://localhost", "localhost:80"),
            ("https://placet.example.com", "placet.example.com"),
            ("https://placet.example.com", "placet.example.com:443"),
            ("https://placet.example.com:8443", "placet.example.com:8443"),
        ] {
            assert!(is_own(origin, host), "{origin} {host}");
        }
        for (origin, host) in [
            ("null", "127.0.0.1:4000"),
            ("", ""),
            ("https://", ""),
            ("http://127.0.0.1:4001", "127.0.0.1:4000"),
            ("http://localhost:4000", "127.0.0.1:4000"),
            ("http://placet.example.com", "placet.example.com"),
            ("https://evil.example.com", "placet.example.com"),
            ("https://placet.example.com.evil", "placet.example.com"),
            ("https://placet.example.com:80", "placet.example.com"),
            ("file://", "127.0.0.1:4000"),
        ] {
            assert!(!is_own(origin, host), "{origin} {host}");
        }
    }

    #[test]
    fn the_cookie_is_found_among_others_and_counts_less_than_a_key() {
        let mut headers = HeaderMap::new();
        headers.append(header::COOKIE, HeaderValue::from_static("a=b; __Host-placet=one"));
        headers.append(header::COOKIE, HeaderValue::from_static("x__Host-placet=no; __host-placet=no"));
        headers.append(header::COOKIE, HeaderValue::from_bytes(b"x=\xe9; y=\xc3\xa9").expect("a header"));
        assert_eq!(secrets(&headers).collect::<Vec<_>>(), ["one"]);
        let odd = HeaderValue::from_bytes(b"x=\xe9; __Host-placet=two").expect("a header");
        assert_eq!(secrets(&HeaderMap::from_iter([(header::COOKIE, odd)])).collect::<Vec<_>>(), ["two"]);
        assert!(has_cookie(&headers));
        headers.insert(header::AUTHORIZATION, HeaderValue::from_static("Bearer x"));
        assert!(!has_cookie(&headers));
    }
}
