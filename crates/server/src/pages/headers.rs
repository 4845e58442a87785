//! What every page tells the browser: run only our own files, frame nothing, send nothing elsewhere.

use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use maud::Markup;

/// The one policy of trusted types lets the dashboard register its worker, from its one address.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types placet-worker";
const PERMISSIONS: &str = "camera=(), microphone=(), geolocation=(), payment=(), usb=(), serial=(), hid=(), clipboard-read=(), display-capture=()";

/// The headers of a page.
pub(super) fn protect(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("permissions-policy"), PERMISSIONS),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// A page that the server drew.
pub(super) fn page(status: StatusCode, page: Markup) -> Response {
    let kind = [(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"))];
    let mut answer = (status, kind, page.into_string()).into_response();
    protect(answer.headers_mut());
    answer
}
