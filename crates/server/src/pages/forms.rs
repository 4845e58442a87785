//! Forms that pages of ours send: bounded, and read as plain pairs.

use axum::{
    body::{Body, to_bytes},
    extract::{Form, FromRequest as _},
    http::request::Parts,
};
use http::{Request, StatusCode};

use crate::{State, problem::Problem};

/// Largest form, in bytes. The longest answer fits, whatever its characters.
const MOST: usize = 256 * 1024;

/// What was filled in.
#[derive(Debug)]
pub(super) struct Filled(Vec<(String, String)>);

impl Filled {
    /// Reads a form.
    pub(super) async fn read(parts: &Parts, body: Body, state: &State) -> Result<Self, Problem> {
        let bytes = tokio::time::timeout(state.settings.body_timeout, to_bytes(body, MOST))
            .await
            .map_err(|_| {
                Problem::new(StatusCode::REQUEST_TIMEOUT, "timeout", "the form took too long to arrive")
            })?
            .map_err(|_| Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", "the form is too large"))?;
        let mut again = Request::new(Body::from(bytes));
        *again.method_mut() = parts.method.clone();
        *again.headers_mut() = parts.headers.clone();
        match Form::<Vec<(String, String)>>::from_request(again, &()).await {
            Ok(Form(pairs)) => Ok(Self(pairs)),
            Err(_) => Err(Problem::unprocessable("invalid", "", "that is not a form of this page")),
        }
    }

    /// One field; empty when it was left out or left empty.
    pub(super) fn one(&self, name: &str) -> &str {
        self.0.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// Every value of a field.
    pub(super) fn all(&self, name: &'static str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(field, _)| field == name).map(|(_, value)| value.as_str())
    }
}

/// An address of ours to go to, and nobody else's.
pub(super) fn next(text: &str) -> &str {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/_-.?=&%".contains(&byte);
    let ours =
        text.starts_with('/') && !text.starts_with("//") && text.bytes().all(plain) && text.len() <= 500;
    if ours { text } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_leads_on_only_to_pages_of_ours() {
        for good in ["/", "/r/req_06g", "/queue?state=pending&risk=high"] {
            assert_eq!(next(good), good);
        }
        for bad in [
            "",
            "//evil.example",
            "https://evil.example",
            "/\\evil.example",
            "r/x",
            "/\tx",
            "javascript:1",
            "/@x",
        ] {
            assert_eq!(next(bad), "/", "{bad}");
        }
    }
}
