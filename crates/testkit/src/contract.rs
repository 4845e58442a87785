//! Checks every answer of a test against the OpenAPI document: it must list the status and the media type.

use std::sync::LazyLock;

use http::{Method, header, response::Parts};
use serde_json::Value;

static DOCUMENT: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(&placet_server::document()).expect("the document is JSON"));

/// Fails if the document does not list this answer. Paths outside the document are ignored.
#[track_caller]
pub(crate) fn holds(method: &Method, path: &str, answer: &Parts) {
    let path = path.split('?').next().unwrap_or_default();
    let Some(operation) = operation(method, path) else { return };
    let status = answer.status.as_str();
    let documented = &operation["responses"][status];
    assert!(documented.is_object(), "{method} {path} answers {status}, which its document does not know");
    let media =
        answer.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media = media.split(';').next().unwrap_or_default();
    let known = documented["content"].as_object();
    assert!(
        media.is_empty() || known.is_some_and(|known| known.contains_key(media)),
        "{method} {path} answers {status} with `{media}`, which its document does not know"
    );
}

/// The document's entry for a call. Paths without parameters come before those with parameters.
fn operation(method: &Method, path: &str) -> Option<&'static Value> {
    let paths = DOCUMENT["paths"].as_object()?;
    let found = paths
        .get(path)
        .or_else(|| paths.iter().find(|(template, _)| fits(template, path)).map(|(_, item)| item))?;
    found.get(method.as_str().to_lowercase())
}

fn fits(template: &str, path: &str) -> bool {
    let (mut wanted, mut given) = (template.split('/'), path.split('/'));
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return true,
            (Some(wanted), Some(given))
                if wanted == given || (wanted.starts_with('{') && !given.is_empty()) => {}
            _ => return false,
        }
    }
}
