//! Signing in without any script. Opening a link only shows a button, so that whoever looks into messages uses nothing up.

use axum::{
    body::Body,
    extract::{Path, Query, State as AxumState},
    response::{IntoResponse as _, Redirect, Response},
};
use http::{Request, StatusCode, header};
use maud::{Markup, html};
use placet_gate::OpenedSession;
use serde::Deserialize;

use super::{
    forms::{Filled, next},
    headers,
    html::layout,
};
use crate::{
    State,
    problem::Problem,
    session::{set_cookie, with_link, with_password},
};

/// Where to go afterwards.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Onward {
    #[serde(default)]
    next: String,
}

/// The page with name and password.
pub(crate) async fn form(Query(onward): Query<Onward>) -> Response {
    headers::page(StatusCode::OK, page(next(&onward.next), None))
}

fn page(next: &str, wrong: Option<&str>) -> Markup {
    let body = html! {
        h1 { "Sign in" }
        @if let Some(wrong) = wrong { div.note.bad role="alert" { (wrong) } }
        section {
            form method="post" action="/sign-in" {
                input type="hidden" name="next" value=(next);
                label for="name" { "Name" }
                input #name name="name" autocomplete="username" autocapitalize="off" spellcheck="false" required;
                label for="password" { "Password" }
                input #password name="password" type="password" autocomplete="current-password" required;
                button.yes type="submit" { "Sign in" }
            }
        }
        p { "No password yet? An administrator makes you a one-time link: " code { "placet person link NAME" } }
    };
    layout("Sign in", &body)
}

/// Signs in with name and password.
pub(crate) async fn submit(AxumState(state): AxumState<State>, request: Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    let form = match Filled::read(&parts, body, &state).await {
        Ok(form) => form,
        Err(problem) => return refused("/", &problem),
    };
    let next = next(form.one("next"));
    match with_password(&parts, &state, form.one("name"), form.one("password")).await {
        Ok(opened) => welcome(&opened, next),
        Err(problem) => refused(next, &problem),
    }
}

fn refused(next: &str, problem: &Problem) -> Response {
    headers::page(problem.status(), page(next, Some(problem.detail())))
}

fn welcome(opened: &OpenedSession, next: &str) -> Response {
    let mut answer = Redirect::to(next).into_response();
    answer.headers_mut().insert(header::SET_COOKIE, set_cookie(&opened.secret));
    answer
}

/// The page of a one-time link: a button, and nothing else happens.
pub(crate) async fn link(Path(token): Path<String>) -> Response {
    headers::page(StatusCode::OK, link_page(&token, None))
}

fn link_page(token: &str, wrong: Option<&str>) -> Markup {
    let body = html! {
        h1 { "Sign in" }
        @if let Some(wrong) = wrong {
            div.note.bad role="alert" { (wrong) }
            p { a href="/sign-in" { "Sign in with a password" } }
        } @else {
            section {
                p { "This link signs you in once, in this browser." }
                form method="post" action=(format!("/sign-in/{token}")) {
                    button.yes type="submit" autofocus { "Sign in" }
                }
            }
        }
    };
    layout("Sign in", &body)
}

/// Uses a one-time link.
pub(crate) async fn use_link(
    AxumState(state): AxumState<State>,
    Path(token): Path<String>,
    request: Request<Body>,
) -> Response {
    let (parts, _) = request.into_parts();
    match with_link(&parts, &state, &token).await {
        Ok(opened) => welcome(&opened, "/"),
        Err(problem) => headers::page(problem.status(), link_page(&token, Some(problem.detail()))),
    }
}
