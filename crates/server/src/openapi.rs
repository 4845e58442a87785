//! Every route with its documentation, and the OpenAPI 3.1 document made from them.

use axum::response::Response;
use http::StatusCode;
use utoipa::{
    Modify, OpenApi,
    openapi::security::{Http, HttpAuthScheme, SecurityScheme},
};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{State, health, v1};

#[derive(OpenApi)]
#[openapi(
    info(title = "Placet", description = "Holds what an AI agent is about to do until the right person has said yes, lets exactly that happen once, and can prove it afterwards."),
    modifiers(&Key),
    security(("key" = [])),
    tags(
        (name = "requests", description = "What agents ask, and how they wait"),
        (name = "decisions", description = "What reviewers say"),
        (name = "permits", description = "The single-use right to execute"),
        (name = "streams", description = "News as it happens"),
        (name = "ledger", description = "The append-only record"),
        (name = "admin", description = "Keys and people"),
        (name = "health", description = "For operators"),
    )
)]
struct Document;

struct Key;

impl Modify for Key {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let components = document.components.get_or_insert_default();
        let mut scheme = Http::new(HttpAuthScheme::Bearer);
        scheme.description = Some("A key: `plk_<role>_<secret>`".to_owned());
        components.add_security_scheme("key", SecurityScheme::Http(scheme));
    }
}

/// All routes.
pub(crate) fn routes() -> OpenApiRouter<State> {
    OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(v1::requests::create, v1::requests::list))
        .routes(routes!(v1::requests::get))
        .routes(routes!(v1::decisions::decide))
        .routes(routes!(v1::decisions::decide_many))
        .routes(routes!(v1::permits::claim))
        .routes(routes!(v1::permits::report))
        .routes(routes!(v1::reviews::cancel))
        .routes(routes!(v1::reviews::revoke))
        .routes(routes!(v1::reviews::reassign))
        .routes(routes!(v1::reviews::resolve))
        .routes(routes!(v1::stream::stream))
        .routes(routes!(v1::ws::ws))
        .routes(routes!(v1::ledger::list))
        .routes(routes!(v1::keys::create, v1::keys::list))
        .routes(routes!(v1::keys::revoke))
        .routes(routes!(v1::people::create, v1::people::list))
        .routes(routes!(v1::people::put, v1::people::remove))
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(health::metrics))
        .routes(routes!(openapi))
}

/// The OpenAPI document as pretty JSON, as it stands in `api/openapi.json`.
pub fn document() -> String {
    let (_, document) = routes().split_for_parts();
    let mut text = document.to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

/// This document.
#[utoipa::path(get, path = "/openapi.json", tag = "health", responses((status = 200, description = "OpenAPI 3.1", body = Object)))]
async fn openapi() -> Response {
    static TEXT: std::sync::OnceLock<serde_json::Value> = std::sync::OnceLock::new();
    let document = TEXT.get_or_init(|| serde_json::from_str(&document()).unwrap_or_default());
    v1::json(StatusCode::OK, document)
}
