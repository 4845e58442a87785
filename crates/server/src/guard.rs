//! The wall in front of every route: who may call us by which name, from which page, and what every answer says.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use axum::{
    extract::{MatchedPath, Request, State as AxumState},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use tokio::time::Instant;
use tracing::{Instrument as _, Span, field};

use crate::{
    State,
    doors::events,
    later,
    problem::{Problem, ProblemCode},
    session::Renewal,
};

/// Names under which this server may be called. A page under any other name (DNS rebinding) gets nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosts(Vec<String>);

impl Hosts {
    /// This machine's names for itself.
    pub fn loopback() -> Self {
        Self(["localhost", "127.0.0.1", "[::1]"].map(str::to_owned).to_vec())
    }

    /// These names as well, such as `placet.example.com`. Ports do not matter.
    #[must_use]
    pub fn and(mut self, more: impl IntoIterator<Item = String>) -> Self {
        self.0.extend(more.into_iter().map(|host| host.to_ascii_lowercase()));
        self
    }

    fn allows(&self, authority: &str) -> bool {
        let host = host_of(authority);
        self.0.iter().any(|allowed| allowed.eq_ignore_ascii_case(host))
    }

    /// `http://` or `https://`, an allowed host, and nothing after the port.
    fn allows_origin(&self, origin: &str) -> bool {
        let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        rest.is_some_and(|authority| !authority.contains(['/', '@', '?', '#']) && self.allows(authority))
    }
}

/// The host of `host:port`, `[v6]:port` or either without a port.
pub(crate) fn host_of(authority: &str) -> &str {
    if authority.starts_with('[') {
        return authority.split_inclusive(']').next().unwrap_or(authority);
    }
    authority.rsplit_once(':').map_or(authority, |(host, _)| host)
}

/// Who calls, as far as the connection and trusted proxies say.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// Checks the name and the page, then lets the call through; marks and counts the answer, now or when it comes.
pub(crate) async fn guard(AxumState(state): AxumState<State>, mut request: Request, next: Next) -> Response {
    let start = Instant::now();
    let renewal = Renewal::of(request.headers());
    if let Some(renewal) = renewal.clone() {
        request.extensions_mut().insert(renewal);
    }
    let route = request.extensions().get::<MatchedPath>().cloned();
    let from = request.extensions().get::<Peer>().map(|peer| peer.0.ip());
    let span = span(&request, route.as_ref());
    let mut response = match allowed(&state, request.uri(), request.headers()) {
        Ok(()) => next.run(request).instrument(span.clone()).await,
        Err(problem) => problem.into_response(),
    };
    match later::take(&mut response) {
        Some(pending) => later::later(async move {
            let response = pending.instrument(span.clone()).await;
            seal(&state, (route.as_ref(), from), renewal.as_ref(), (start, &span), response)
        }),
        None => seal(&state, (route.as_ref(), from), renewal.as_ref(), (start, &span), response),
    }
}

/// What everything that a call does is told of with. Who calls and which request it is about stand there once they are known.
fn span(request: &Request, route: Option<&MatchedPath>) -> Span {
    let traceparent = request.headers().get("traceparent").and_then(|value| value.to_str().ok());
    let is_one =
        |text: &&str| text.len() == 55 && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
    tracing::error_span!(
        "call",
        method = known(request.method()),
        route = pattern(route),
        // The trace of whoever calls.
        traceparent = traceparent.filter(is_one),
        principal = field::Empty,
        request = field::Empty,
        status = field::Empty,
        code = field::Empty,
    )
}

/// A method of HTTP's. Whoever calls can make up others, of any length.
fn known(method: &Method) -> &'static str {
    const METHODS: [&str; 9] =
        ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "CONNECT", "TRACE"];
    METHODS.into_iter().find(|known| *known == method.as_str()).unwrap_or("_OTHER")
}

/// The pattern, never the address itself: ids are not secrets, but they are not labels either.
fn pattern(route: Option<&MatchedPath>) -> &str {
    route.map_or("none", MatchedPath::as_str)
}

fn seal(
    state: &State,
    (route, from): (Option<&MatchedPath>, Option<IpAddr>),
    renewal: Option<&Renewal>,
    (start, span): (Instant, &Span),
    mut response: Response,
) -> Response {
    let headers = response.headers_mut();
    // The files of the dashboard say for themselves how long they may be kept.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Some(renewal) = renewal {
        renewal.put(headers);
    }
    if state.closing.is_cancelled() {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    span.in_scope(|| record(pattern(route), from, &response, start.elapsed()));
    response
}

/// Counts a call, and tells of it inside its span.
fn record(route: &str, from: Option<IpAddr>, response: &Response, took: Duration) {
    let from = from.map(field::display);
    let status = response.status();
    let code = response.extensions().get::<ProblemCode>().map(|code| code.0);
    metrics::counter!("placet_http_requests_total", "route" => route.to_owned(), "status" => status.as_str().to_owned()).increment(1);
    metrics::histogram!("placet_http_seconds", "route" => route.to_owned()).record(took.as_secs_f64());
    let span = Span::current();
    span.record("status", status.as_u16());
    if let Some(code) = code {
        span.record("code", code);
    }
    if status.is_server_error() {
        tracing::warn!(from, ?took, "call failed");
    } else {
        tracing::debug!(from, ?took, "call");
    }
}

fn allowed(state: &State, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let hosts = &state.settings.hosts;
    // HTTP/2 carries the name in the address, HTTP/1.1 in a header; all of them, if there are several, must be ours.
    let written = headers.get_all(header::HOST).iter().map(|host| host.to_str().unwrap_or(""));
    let mut named = uri.authority().map(http::uri::Authority::as_str).into_iter().chain(written).peekable();
    if named.peek().is_none() || !named.all(|authority| hosts.allows(authority)) {
        return Err(Problem::new(
            StatusCode::FORBIDDEN,
            "foreign_host",
            "this server is not called by that name: use a name listed in `server.hosts`",
        ));
    }
    // A door for other people's pages says itself which ones; everything else is for our own.
    let host = uri.authority().map(http::uri::Authority::as_str);
    let host = host.or_else(|| headers.get(header::HOST)?.to_str().ok());
    let door = events::is_ours(uri.path());
    let welcome = |origin: &str| {
        if door { events::allows_origin(state, origin, host) } else { hosts.allows_origin(origin) }
    };
    if !headers.get_all(header::ORIGIN).iter().all(|origin| origin.to_str().is_ok_and(welcome)) {
        return Err(Problem::new(
            StatusCode::FORBIDDEN,
            "foreign_origin",
            "pages of other sites cannot call this server",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_names_are_ours() {
        let hosts = Hosts::loopback().and(["placet.example.com".to_owned()]);
        for good in
            ["localhost", "localhost:4000", "127.0.0.1:1", "[::1]:4000", "[::1]", "PLACET.example.com"]
        {
            assert!(hosts.allows(good), "{good}");
        }
        for bad in [
            "",
            "evil.com",
            "localhost.evil.com",
            "127.0.0.1.evil.com:80",
            "127.0.0.2",
            "[::2]:4000",
            "localhost@evil.com",
        ] {
            assert!(!hosts.allows(bad), "{bad}");
        }
    }

    #[test]
    fn only_our_own_pages_are_ours() {
        let hosts = Hosts::loopback();
        for good in ["http://localhost:4000", "https://127.0.0.1", "http://[::1]:5173"] {
            assert!(hosts.allows_origin(good), "{good}");
        }
        for bad in [
            "null",
            "",
            "file://",
            "http://evil.com",
            "http://localhost.evil.com",
            "http://localhost@evil.com",
            "ftp://localhost",
            "http://localhost:4000/x",
        ] {
            assert!(!hosts.allows_origin(bad), "{bad}");
        }
    }
}
