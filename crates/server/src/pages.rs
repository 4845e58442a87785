//! Pages for people: the dashboard's files, and what the server draws itself so that it works without any script.

mod assets;
mod card;
mod decide;
mod forms;
mod headers;
mod html;
mod request;
mod sign_in;

use axum::{
    Router,
    extract::Request,
    response::{IntoResponse as _, Response},
    routing::get,
};
use http::{Method, StatusCode};

use crate::{State, problem::Problem};

/// The pages that the server draws.
pub(crate) fn routes() -> Router<State> {
    Router::new()
        .route("/pages.css", get(style))
        .route("/sign-in", get(sign_in::form).post(sign_in::without_script))
        .route("/sign-in.js", get(sign_in::script))
        .route("/sign-in/{token}", get(sign_in::link).post(sign_in::without_script))
        .route("/open.js", get(decide::script))
        .route("/r/{id}", get(decide::look).post(decide::read))
        .route("/r/{id}/decision", axum::routing::post(decide::submit))
}

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
async fn style() -> Response {
    assets::text("text/css; charset=utf-8", include_str!("pages/style.css"))
}
