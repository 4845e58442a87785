//! Which pages may use this door: its dashboard runs on an origin of its own, and others on this machine are not it.

use axum::{
    extract::{Request, State as AxumState},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use crate::State;

/// Whether an address belongs to this door.
pub(crate) fn is_ours(path: &str) -> bool {
    let under =
        |root: &str| path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    under("/events") || under("/stream") || under("/api/themes")
}

/// Whether a page of this origin may use this door: a listed one, or one of this very server.
pub(crate) fn allows_origin(state: &State, origin: &str, host: Option<&str>) -> bool {
    let own = |scheme: &str| {
        origin
            .strip_prefix(scheme)
            .is_some_and(|page| host.is_some_and(|host| host.eq_ignore_ascii_case(page)))
    };
    listed(state, origin) || own("http://") || own("https://")
}

fn listed(state: &State, origin: &str) -> bool {
    state.settings.door_origins.iter().any(|listed| listed.eq_ignore_ascii_case(origin))
}

/// Answers the question of a browser whether a page may call, and says so on every answer to such a page. The guard has
/// already refused pages that may not.
pub(super) async fn cors(AxumState(state): AxumState<State>, request: Request, next: Next) -> Response {
    let origin = request.headers().get(header::ORIGIN).cloned();
    let origin = origin.filter(|origin| origin.to_str().is_ok_and(|origin| listed(&state, origin)));
    let mut response = if request.method() == Method::OPTIONS {
        StatusCode::OK.into_response()
    } else {
        next.run(request).await
    };
    if let Some(origin) = origin {
        permit(response.headers_mut(), origin);
    }
    response
}

fn permit(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, OPTIONS"));
    let allowed = HeaderValue::from_static("Content-Type, Authorization, Idempotency-Key");
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
}
