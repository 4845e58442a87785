//! One message to one address.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use placet_egress::Http;

use super::wish::{Attempt, Pending, Wish};

/// Posts a state of a task. Redirects are not followed: wherever they lead to was not checked.
pub(super) async fn post(
    http: &Http,
    wish: &Wish,
    pending: &Pending,
    timeout: Duration,
) -> (Attempt, String) {
    let (body, media) = wish.version().pushed(pending.task.clone());
    let Some(headers) = headers(wish, media) else {
        return (Attempt::Refused, "its token or credentials cannot be sent in a header".to_owned());
    };
    match http.call(Method::POST, &wish.url, headers, Bytes::from(body.to_string()), timeout).await {
        Ok(answer) if answer.status().is_success() => (Attempt::Taken, String::new()),
        Ok(answer) if answer.status() == StatusCode::GONE => (Attempt::Refused, "it answers 410".to_owned()),
        Ok(answer) => (Attempt::Failed, format!("it answers {}", answer.status().as_u16())),
        // Addresses may have secrets in them, and what went wrong is logged.
        Err(error) => {
            let attempt = if error.is_final() { Attempt::Refused } else { Attempt::Failed };
            (attempt, error.to_string().replace(&wish.url, "its address"))
        }
    }
}

fn headers(wish: &Wish, media: &'static str) -> Option<HeaderMap> {
    const TOKEN: HeaderName = HeaderName::from_static("x-a2a-notification-token");
    let secret = |text: &str| {
        let mut value = HeaderValue::from_str(text).ok()?;
        value.set_sensitive(true);
        Some(value)
    };
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    headers
        .insert(header::USER_AGENT, HeaderValue::from_static(concat!("placet/", env!("CARGO_PKG_VERSION"))));
    if let Some(token) = &wish.token {
        headers.insert(TOKEN, secret(token)?);
    }
    // A scheme without credentials is what the receiver would take, and we have nothing to show.
    if let (Some(scheme), Some(credentials)) = (&wish.scheme, &wish.credentials) {
        headers.insert(header::AUTHORIZATION, secret(&format!("{scheme} {credentials}"))?);
    }
    Some(headers)
}
