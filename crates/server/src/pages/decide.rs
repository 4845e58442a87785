//! Looking at one request and deciding it without any script. A cookie proves nothing, so every look and every decision
//! comes with the person's password; by default there is only the way to the dashboard.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Path, State as AxumState},
    response::Response,
};
use http::{Request as Call, StatusCode, request::Parts};
use maud::{Markup, html};
use placet_core::{Actor, DecisionWord, InputType, Request, RequestId};
use placet_gate::Decision;
use placet_ledger::ijson::{self, Limits};
use serde_json::Value;

use super::{
    assets,
    forms::Filled,
    headers,
    html::layout,
    request::{Notice, Sight, Viewer, draw, question},
};
use crate::{State, problem::Problem, session, state::Unbound};

/// The page of one request. A browser that follows a link proves nothing, so there is nothing on it yet: it leads to the
/// dashboard, and asks for a password where pages without scripts are allowed.
pub(crate) async fn look(AxumState(state): AxumState<State>, Path(id): Path<String>) -> Response {
    shell(&state, &id, StatusCode::OK, None)
}

fn shell(state: &State, id: &str, status: StatusCode, notice: Option<&str>) -> Response {
    let id = plain(id);
    let body = html! {
        h1 { "A request waits for a decision" }
        @if let Some(notice) = notice { div.note.bad role="alert" { (notice) } }
        p { a data-open href=(format!("/queue?r={id}")) { "Open it in the dashboard" } }
        @if state.settings.unbound == Unbound::Off { script type="module" src="/open.js" {} }
        @if state.settings.unbound == Unbound::Password {
            h2 { "Without scripts" }
            section {
                form method="post" action=(format!("/r/{id}")) {
                    p { "This page shows and decides nothing without your password, each time." }
                    (who_fields(""))
                    button type="submit" { "Show it" }
                }
            }
        }
    };
    headers::page(status, layout("A request", &body))
}

/// The script that opens the dashboard.
pub(crate) async fn script() -> Response {
    assets::text("text/javascript; charset=utf-8", include_str!("open.js"))
}

/// Name and password, which every form without a session needs.
pub(super) fn who_fields(name: &str) -> Markup {
    html! {
        label for="name" { "Name" }
        input #name name="name" value=(name) autocomplete="username" autocapitalize="off" spellcheck="false" required;
        label for="password" { "Password" }
        input #password name="password" type="password" autocomplete="current-password" required;
    }
}

/// Shows a request to whoever said their password.
pub(crate) async fn read(
    AxumState(state): AxumState<State>,
    Path(id): Path<String>,
    call: Call<Body>,
) -> Response {
    let (parts, body) = call.into_parts();
    let seen = async {
        let form = Filled::read(&parts, body, &state).await?;
        let who = by_password(&parts, &state, &form).await?;
        let request = found(&state, &who, &id).await?;
        Ok::<_, Problem>((who, request))
    };
    match seen.await {
        Ok((who, request)) => page(&state, &who, &request, StatusCode::OK, None),
        Err(problem) => shell(&state, &id, problem.status(), Some(problem.detail())),
    }
}

/// What a form asked for.
pub(crate) async fn submit(
    AxumState(state): AxumState<State>,
    Path(id): Path<String>,
    call: Call<Body>,
) -> Response {
    let (parts, body) = call.into_parts();
    let seen = async {
        let form = Filled::read(&parts, body, &state).await?;
        let who = by_password(&parts, &state, &form).await?;
        let request = found(&state, &who, &id).await?;
        Ok::<_, Problem>((who, form, request))
    };
    let (who, form, request) = match seen.await {
        Ok(seen) => seen,
        Err(problem) => return shell(&state, &id, problem.status(), Some(problem.detail())),
    };
    let decided = async {
        let decision = decision(&request, &form)?;
        state.gate.decide(&who, decision).await.map_err(|error| Problem::gate(error, state.gate.now()))
    };
    match decided.await {
        // By another page: loading this one again would ask for the password, and decide nothing.
        Ok(decided) => page(&state, &who, &decided, StatusCode::OK, None),
        Err(problem) => {
            let now = found(&state, &who, &id).await.unwrap_or(request);
            let notice = Notice(format!("Nothing was decided: {}", problem.detail()));
            page(&state, &who, &now, problem.status(), Some(&notice))
        }
    }
}

/// Whoever said their password in this very form, where that is allowed. As slow as signing in.
async fn by_password(parts: &Parts, state: &State, form: &Filled) -> Result<Actor, Problem> {
    if state.settings.unbound != Unbound::Password {
        let detail = "requests are read and decided in the dashboard: `sessions.unbound` is `off` here";
        return Err(Problem::new(StatusCode::FORBIDDEN, "script_needed", detail));
    }
    session::check_page(parts)?;
    let begun = state.sign_ins.begin(session::peer(parts), form.one("name")).await?;
    let who = state.gate.by_password(form.one("name"), form.one("password")).await;
    session::looked_at(begun, &who);
    let who = who.map_err(|error| Problem::gate(error, state.gate.now()))?;
    crate::call::within_rate(state, &who)?;
    Ok(who)
}

/// An identifier for an address; anything else is left out.
fn plain(id: &str) -> &str {
    let fits = id.len() <= 64 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if fits { id } else { "" }
}

async fn found(state: &State, who: &Actor, id: &str) -> Result<Arc<Request>, Problem> {
    let id: RequestId = id.parse().map_err(|_| Problem::not_found())?;
    state.gate.get(who, id).await.map_err(|error| Problem::gate(error, state.gate.now()))
}

fn page(
    state: &State,
    who: &Actor,
    request: &Request,
    status: StatusCode,
    notice: Option<&Notice>,
) -> Response {
    state.gate.opened(who, request);
    let display = state.gate.display(request);
    let sight = Sight { request, display: display.as_ref(), now: state.gate.now() };
    let viewer = Viewer { name: who.name.clone(), directory: state.gate.store().directory() };
    headers::page(status, draw(&sight, &viewer, notice))
}

/// The vote that a form asks for, on the digest and version that its page showed.
fn decision(request: &Request, form: &Filled) -> Result<Decision, Problem> {
    let wrong = |field: &str, detail: &str| Problem::unprocessable("invalid", format!("/{field}"), detail);
    let word: DecisionWord = form
        .one("decision")
        .parse()
        .ok()
        .filter(|word| *word != DecisionWord::Edit)
        .ok_or_else(|| wrong("decision", "choose one of the buttons"))?;
    let digest =
        form.one("digest").parse().map_err(|_| wrong("digest", "that is not a form of this page"))?;
    let version =
        form.one("version").parse().map_err(|_| wrong("version", "that is not a form of this page"))?;
    // What the page showed: the card, or on a page of an earlier version the fields.
    let shown = |name: &str| {
        let digest = Some(form.one(name)).filter(|text| !text.is_empty()).map(str::parse).transpose();
        digest.map_err(|_| wrong(name, "that is not a form of this page"))
    };
    let answer = if word == DecisionWord::Respond { Some(answer(request, form)?) } else { None };
    let text = |name: &str| Some(form.one(name).trim().replace("\r\n", "\n")).filter(|text| !text.is_empty());
    Ok(Decision {
        id: request.id,
        word,
        digest,
        version,
        reason: text("reason"),
        arguments: None,
        answer,
        steps: None,
        remember: None,
        step_up: None,
        view: shown("view")?,
        display: shown("display")?,
        by_door: false,
        claimed: None,
        idempotency: None,
    })
}

/// The answer that was filled in, as the question wants it. The gate checks whether it fits.
fn answer(request: &Request, form: &Filled) -> Result<Value, Problem> {
    let wrong = |detail: &str| Problem::unprocessable("invalid", "/answer", detail);
    let input = question(request).ok_or_else(|| wrong("this request asks for no answer"))?;
    let options = input.input.options.as_deref().unwrap_or_default();
    let option = |text: &str| -> Result<Value, Problem> {
        let chosen = text.parse::<usize>().ok().and_then(|index| options.get(index));
        chosen.cloned().map(Value::String).ok_or_else(|| wrong("choose one of the options"))
    };
    let text = form.one("answer").replace("\r\n", "\n");
    if text.is_empty() && input.input.kind != InputType::MultiChoice {
        return Ok(Value::Null);
    }
    match input.input.kind {
        InputType::Text | InputType::Date => Ok(Value::String(text)),
        InputType::Number => match ijson::parse(text.trim().as_bytes(), &Limits::default()) {
            Ok(number) if number.is_number() => Ok(number),
            _ => Err(wrong("write the answer as a number, such as 12 or 0.5")),
        },
        InputType::Choice => option(&text),
        InputType::MultiChoice => form.all("answer").map(option).collect::<Result<_, _>>().map(Value::Array),
        InputType::File => Err(wrong("a file is sent from the dashboard")),
    }
}
