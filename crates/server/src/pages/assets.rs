//! The dashboard's built files. They are part of the program if they were there when it was built.

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use data_encoding::BASE64URL_NOPAD;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use rust_embed::{Embed, EmbeddedFile};

use super::headers;

#[derive(Embed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct Dist;

/// First segments of the addresses that the dashboard draws itself.
const PAGES: [&str; 9] =
    ["", "queue", "history", "ledger", "policy", "insights", "session", "people", "settings"];

/// Whether the dashboard draws this address.
pub(super) fn is_page(path: &str) -> bool {
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    PAGES.contains(&first)
}

/// The dashboard's one page, if it was built.
pub(super) fn index(headers: &HeaderMap) -> Option<Response> {
    let mut answer = found("index.html", headers)?;
    headers::protect(answer.headers_mut());
    Some(answer)
}

/// One of the dashboard's files, if there is one of that name.
pub(super) fn file(path: &str, headers: &HeaderMap) -> Option<Response> {
    let name = path.strip_prefix('/').filter(|name| !name.is_empty() && *name != "index.html")?;
    // The compressed twins are not addresses of their own.
    if kind(name).is_none() || name.split('/').any(|part| part.starts_with('.')) {
        return None;
    }
    found(name, headers)
}

fn found(name: &str, headers: &HeaderMap) -> Option<Response> {
    let plain = Dist::get(name)?;
    let packed = accepts_brotli(headers).then(|| Dist::get(&format!("{name}.br"))).flatten();
    let (file, encoding) = match packed {
        Some(packed) => (packed, Some("br")),
        None => (plain, None),
    };
    let etag = etag(&file, encoding)?;
    let same = headers
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|known| known.trim().trim_start_matches("W/").as_bytes() == etag.as_bytes());
    let mut answer = if same {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let mut answer = Response::new(Body::from(file.data.into_owned()));
        let kind = HeaderValue::from_static(kind(name).unwrap_or("application/octet-stream"));
        answer.headers_mut().insert(header::CONTENT_TYPE, kind);
        if let Some(encoding) = encoding {
            answer.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
        }
        answer
    };
    // Names under `assets` carry a hash of what is in them, so they never change; everything else is asked for again.
    let keep = if name.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    let answer_headers = answer.headers_mut();
    answer_headers.insert(header::ETAG, etag);
    answer_headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(keep));
    answer_headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    Some(answer)
}

/// A text that is part of the program.
pub(super) fn text(kind: &'static str, text: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, text).into_response()
}

fn etag(file: &EmbeddedFile, encoding: Option<&str>) -> Option<HeaderValue> {
    let hash = file.metadata.sha256_hash();
    let short = BASE64URL_NOPAD.encode(hash.get(..18)?);
    HeaderValue::try_from(format!("\"{short}{}\"", encoding.unwrap_or_default())).ok()
}

fn accepts_brotli(headers: &HeaderMap) -> bool {
    let offers = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    offers.flat_map(|value| value.split(',')).any(|offer| {
        let mut parts = offer.split(';').map(str::trim);
        parts.next() == Some("br")
            && !parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    })
}

/// Only kinds of file that a build makes; anything else is not served.
fn kind(name: &str) -> Option<&'static str> {
    Some(match name.rsplit_once('.')?.1 {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "webmanifest" => "application/manifest+json",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepting(value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(value))])
    }

    #[test]
    fn brotli_is_used_only_where_it_is_wanted() {
        for good in ["br", "gzip, deflate, br", "gzip, br;q=0.8"] {
            assert!(accepts_brotli(&accepting(good)), "{good}");
        }
        for bad in ["", "gzip", "br;q=0", "brotli", "gzip, br; q=0.0"] {
            assert!(!accepts_brotli(&accepting(bad)), "{bad}");
        }
    }

    #[test]
    fn only_the_dashboards_own_addresses_are_pages() {
        for good in ["/", "/queue", "/queue/req_1", "/policy", "/settings"] {
            assert!(is_page(good), "{good}");
        }
        for bad in ["/v1", "/v1/requests", "/queues", "/r", "/.env", "/assets/x.js"] {
            assert!(!is_page(bad), "{bad}");
        }
    }

    #[test]
    fn nothing_outside_the_build_is_a_file() {
        for bad in
            ["/../Cargo.toml", "/.git/config", "/index.html", "/assets/index.js.br", "/x.rs", "//etc/passwd"]
        {
            assert!(file(bad, &HeaderMap::new()).is_none(), "{bad}");
        }
    }
}
