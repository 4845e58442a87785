//! The desk's card: what it is and where it is reached, for readers of both versions or of 1.0 alone.

use std::sync::OnceLock;

use axum::response::{IntoResponse as _, Response};
use data_encoding::HEXLOWER;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use jiff::{Timestamp, fmt::rfc2822::DateTimePrinter};
use placet_a2a::{Version, desk};
use placet_core::Time;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Which readers a card is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flavour {
    /// Both: the fields of 1.0 and those that 0.3 wants.
    Hybrid,
    /// 1.0 and nothing else, for readers who refuse what they do not know.
    Pure,
}

impl Flavour {
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Hybrid => "/a2a/desk",
            Self::Pure => "/a2a/v1/desk",
        }
    }
}

/// An address of ours under the name the caller used.
pub(super) fn address(headers: &HeaderMap, path: &str) -> String {
    // The guard has refused calls to names that are not ours.
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("127.0.0.1:4000");
    let scheme = headers.get("x-forwarded-proto").and_then(|scheme| scheme.to_str().ok());
    let scheme = if scheme == Some("https") { "https" } else { "http" };
    format!("{scheme}://{host}{path}")
}

/// The desk's card.
fn card(flavour: Flavour, headers: &HeaderMap) -> Value {
    let url = address(headers, flavour.path());
    let interface = |binding: &str, version: Version| json!({"url": url, "protocolBinding": binding, "protocolVersion": version.as_str()});
    let mut interfaces = vec![interface("JSONRPC", Version::V10), interface("HTTP+JSON", Version::V10)];
    let extension =
        |uri: &str, description: &str| json!({"uri": uri, "description": description, "required": false});
    let mut card = json!({
        "name": "Placet approval desk",
        "description": "Asks people. Send what is about to be done; the task ends when the right person has said yes or no. \
            This is the desk of its host and no other agent: agents that run behind this Placet have cards of their own, \
            below /a2a/NAMESPACE/AGENT.",
        "version": env!("CARGO_PKG_VERSION"),
        "capabilities": {
            "streaming": true,
            "pushNotifications": true,
            "extendedAgentCard": false,
            "extensions": [
                extension(desk::OWN, "The body of POST /v1/requests as a message."),
                extension(desk::KAGENT, "Tool approval requests of kagent."),
                extension(desk::AGENTSTACK, "Approval interactions of agentstack."),
                extension(desk::DIGESTED, "Approvals bound to a digest."),
            ],
        },
        "defaultInputModes": ["application/json", "text/plain"],
        "defaultOutputModes": ["application/json", "text/plain"],
        "skills": [{
            "id": "approve",
            "name": "Ask a person",
            "description": "Holds an action, a plan, a question or a confirmation until a person has decided.",
            "tags": ["approval", "human-in-the-loop"],
        }],
        "securitySchemes": {"key": {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "plk_agent_…"}}},
        "securityRequirements": [{"schemes": {"key": {"list": []}}}],
    });
    if flavour == Flavour::Hybrid
        && let Some(fields) = card.as_object_mut()
    {
        interfaces.extend([interface("JSONRPC", Version::V03), interface("HTTP+JSON", Version::V03)]);
        fields.insert("url".to_owned(), json!(url));
        fields.insert("preferredTransport".to_owned(), json!("JSONRPC"));
        fields.insert("protocolVersion".to_owned(), json!("0.3.0"));
        fields.insert("additionalInterfaces".to_owned(), json!([{"url": url, "transport": "HTTP+JSON"}]));
        fields.insert("supportsAuthenticatedExtendedCard".to_owned(), json!(false));
        // Each version has its own spelling of a scheme; a reader finds its own and passes over the other.
        fields.insert(
            "securitySchemes".to_owned(),
            json!({"key": {"type": "http", "scheme": "bearer", "httpAuthSecurityScheme": {"scheme": "Bearer"}}}),
        );
        fields.insert("security".to_owned(), json!([{"key": []}]));
    }
    if let Some(fields) = card.as_object_mut() {
        fields.insert("supportedInterfaces".to_owned(), json!(interfaces));
    }
    card
}

/// The desk's card as an answer.
pub(super) fn answer(flavour: Flavour, headers: &HeaderMap, now: Time) -> Response {
    /// The desk's card changes with the program only, so it is as old as the first time that this one showed it.
    static SINCE: OnceLock<Time> = OnceLock::new();
    send(&card(flavour, headers), headers, *SINCE.get_or_init(|| now))
}

/// A card as an answer that may be kept for a while. It is as old as the first time that it was shown.
pub(super) fn send(card: &Value, headers: &HeaderMap, since: Time) -> Response {
    let body = card.to_string();
    let tag = format!("\"{}\"", HEXLOWER.encode(Sha256::digest(&body).get(..16).unwrap_or_default()));
    if headers.get(header::IF_NONE_MATCH).is_some_and(|seen| seen.as_bytes() == tag.as_bytes()) {
        return StatusCode::NOT_MODIFIED.into_response();
    }
    let mut response = ([(header::CONTENT_TYPE, "application/json")], body).into_response();
    let fields = response.headers_mut();
    fields.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=60"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        fields.insert(header::ETAG, tag);
    }
    let since = Timestamp::from_microsecond(since.micros()).unwrap_or_default();
    let since = DateTimePrinter::new().timestamp_to_rfc9110_string(&since).ok();
    if let Some(since) = since.and_then(|since| HeaderValue::from_str(&since).ok()) {
        fields.insert(header::LAST_MODIFIED, since);
    }
    response
}
