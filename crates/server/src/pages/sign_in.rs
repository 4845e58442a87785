//! Signing in. Opening a link only shows a button, so that whoever looks into messages uses nothing up. A small script makes
//! the key that the browser signs its calls with; without it there is no session.

use axum::{
    extract::{Path, Query},
    response::Response,
};
use http::StatusCode;
use maud::{Markup, html};
use serde::Deserialize;

use super::{assets, forms::next, headers, html::layout};

/// Where to go afterwards.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Onward {
    #[serde(default)]
    next: String,
}

/// The page with name and password.
pub(crate) async fn form(Query(onward): Query<Onward>) -> Response {
    let body = html! {
        h1 { "Sign in" }
        (note())
        section {
            form method="post" data-sign-in {
                input type="hidden" name="next" value=(next(&onward.next));
                label for="name" { "Name" }
                input #name name="name" autocomplete="username" autocapitalize="off" spellcheck="false" required;
                label for="password" { "Password" }
                input #password name="password" type="password" autocomplete="current-password" required;
                button.yes type="submit" { "Sign in" }
            }
        }
        p { "No password yet? An administrator makes you a one-time link: " code { "placet person link NAME" } }
    };
    headers::page(StatusCode::OK, layout("Sign in", &body))
}

/// The page of a one-time link: a button, and nothing else happens.
pub(crate) async fn link(Path(token): Path<String>) -> Response {
    let body = html! {
        h1 { "Sign in" }
        (note())
        section {
            p { "This link signs you in once, in this browser." }
            form method="post" data-sign-in data-token=(token) {
                input type="hidden" name="next" value="/";
                button.yes type="submit" autofocus { "Sign in" }
            }
        }
        p { a href="/sign-in" { "Sign in with a password" } }
    };
    headers::page(StatusCode::OK, layout("Sign in", &body))
}

/// Where the script says what went wrong, and what whoever runs no script reads.
fn note() -> Markup {
    html! {
        div.note.bad role="alert" data-note hidden {}
        noscript { div.note.bad { "Signing in needs a script of this page: your browser proves with a key of its own that it is you." } }
        script type="module" src="/sign-in.js" {}
    }
}

/// A form that was sent without the script. Nothing happens, and the password goes nowhere.
pub(crate) async fn without_script() -> Response {
    let body = html! {
        h1 { "Nobody was signed in" }
        p { "Signing in needs a script of this page: your browser proves with a key of its own that it is you." }
        p { a href="/sign-in" { "Try again" } }
    };
    headers::page(StatusCode::FORBIDDEN, layout("Nobody was signed in", &body))
}

/// The script.
pub(crate) async fn script() -> Response {
    assets::text("text/javascript; charset=utf-8", include_str!("sign-in.js"))
}
