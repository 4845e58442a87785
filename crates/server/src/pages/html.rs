//! What the pages that the server draws have in common. Text is always escaped: `maud` leaves no other way.

use maud::{DOCTYPE, Markup, html};

/// A whole page.
pub(super) fn layout(title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="robots" content="noindex, nofollow";
                meta name="color-scheme" content="light dark";
                title { (title) " · Placet" }
                link rel="stylesheet" href="/pages.css";
                link rel="icon" href="data:,";
            }
            body {
                header { a.brand href="/" { "Placet" } }
                main { (body) }
            }
        }
    }
}

/// What stands where the dashboard would be.
pub(super) fn not_built() -> Markup {
    let body = html! {
        h1 { "The dashboard is not part of this program" }
        p { "The service runs, and everything else works: the REST calls, the command line, and the page of every single request at " code { "/r/ID" } "." }
        p { "To have the dashboard as well, build it and then the program again (this needs Node 20 or newer):" }
        pre { "cargo xtask web\ncargo build --release" }
        p { "or do all of it, with an agent to try it on, in one command:" }
        pre { "cargo xtask demo" }
        p { a href="/sign-in" { "Sign in" } " · " a href="/openapi.json" { "OpenAPI document" } }
    };
    layout("Dashboard", &body)
}
