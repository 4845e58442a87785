//! Pages for people: the dashboard's files, and what the server draws itself so that it works without any script.

mod assets;
mod headers;
mod html;

use axum::{
    extract::Request,
    response::{IntoResponse as _, Response},
};
use http::{Method, StatusCode};

use crate::problem::Problem;

/// Whatever no route took: a file of the dashboard, one of its addresses, or nothing.
pub(crate) async fn fallback(request: Request) -> Response {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Problem::not_found().into_response();
    }
    let path = request.uri().path();
    if let Some(file) = assets::file(path, request.headers()) {
        return file;
    }
    if !assets::is_page(path) {
        return Problem::not_found().into_response();
    }
    assets::index(request.headers()).unwrap_or_else(|| headers::page(StatusCode::OK, html::not_built()))
}

/// The look of the pages that the server draws.
pub(crate) async fn style() -> Response {
    assets::text("text/css; charset=utf-8", include_str!("pages/style.css"))
}
