//! Looking at one request and deciding it, by plain links and forms. Only a signed-in POST from our own page decides.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Path, State as AxumState},
    response::{IntoResponse as _, Redirect, Response},
};
use http::{Request as Call, StatusCode, request::Parts};
use maud::html;
use placet_core::{DecisionWord, InputType, Request, RequestId, Role, StepUp};
use placet_gate::{Decision, SignedIn};
use placet_ledger::ijson::{self, Limits};
use serde_json::Value;

use super::{
    forms::Filled,
    headers,
    html::layout,
    request::{Notice, Sight, Viewer, draw, question},
};
use crate::{
    State,
    problem::Problem,
    session::{check_form, signed_in},
};

/// The page of one request.
pub(crate) async fn look(
    AxumState(state): AxumState<State>,
    Path(id): Path<String>,
    call: Call<Body>,
) -> Response {
    let (parts, _) = call.into_parts();
    let seen = async {
        let who = who(&parts, &state).await?;
        let request = found(&state, &who, &id).await?;
        Ok::<_, Stop>((who, request))
    };
    match seen.await {
        Ok((who, request)) => page(&state, &who, &request, StatusCode::OK, None),
        Err(stop) => stop.answer(&id),
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
        let who = who(&parts, &state).await?;
        let form = Filled::read(&parts, body, &state).await?;
        check_form(&parts, &who, form.one("csrf"))?;
        let request = found(&state, &who, &id).await?;
        Ok::<_, Stop>((who, form, request))
    };
    let (who, form, request) = match seen.await {
        Ok(seen) => seen,
        Err(stop) => return stop.answer(&id),
    };
    let decided = async {
        let decision = decision(&request, &form)?;
        state.gate.decide(&who.actor, decision).await.map_err(|error| Problem::gate(error, state.gate.now()))
    };
    match decided.await {
        // Shown by a GET of its own: loading the page again decides nothing.
        Ok(_) => Redirect::to(&format!("/r/{}", request.id)).into_response(),
        Err(problem) => {
            let now = found(&state, &who, &id).await.unwrap_or(request);
            let notice = Notice(format!("Nothing was decided: {}", problem.detail()));
            page(&state, &who, &now, problem.status(), Some(&notice))
        }
    }
}

/// Why there is no page to show.
enum Stop {
    /// Nobody is signed in.
    Stranger,
    Problem(Problem),
}

impl From<Problem> for Stop {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl Stop {
    fn answer(self, id: &str) -> Response {
        match self {
            // The same for every address: what exists is not discussed with strangers.
            Self::Stranger => Redirect::to(&format!("/sign-in?next=/r/{}", plain(id))).into_response(),
            Self::Problem(problem) => {
                let body = html! { h1 { "Nothing to show" } p { (problem.detail()) } p { a href="/" { "To the dashboard" } } };
                headers::page(problem.status(), layout("Nothing to show", &body))
            }
        }
    }
}

/// An identifier for an address; anything else is left out.
fn plain(id: &str) -> &str {
    let fits = id.len() <= 64 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if fits { id } else { "" }
}

async fn who(parts: &Parts, state: &State) -> Result<SignedIn, Stop> {
    let who = signed_in(parts, state).await?.ok_or(Stop::Stranger)?;
    crate::call::within_rate(state, &who.actor)?;
    Ok(who)
}

async fn found(state: &State, who: &SignedIn, id: &str) -> Result<Arc<Request>, Problem> {
    let id: RequestId = id.parse().map_err(|_| Problem::not_found())?;
    state.gate.get(&who.actor, id).await.map_err(|error| Problem::gate(error, state.gate.now()))
}

fn page(
    state: &State,
    who: &SignedIn,
    request: &Request,
    status: StatusCode,
    notice: Option<&Notice>,
) -> Response {
    let display = state.gate.display(request);
    let sight = Sight { request, display: display.as_ref(), now: state.gate.now() };
    let viewer = Viewer {
        name: who.name.clone(),
        csrf: who.csrf.clone(),
        reviewer: who.roles.contains(&Role::Reviewer),
    };
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
    let display = Some(form.one("display")).filter(|text| !text.is_empty()).map(str::parse).transpose();
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
        step_up: text("code").filter(|_| word != DecisionWord::Deny).map(|code| StepUp { code }),
        display: display.map_err(|_| wrong("display", "that is not a form of this page"))?,
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
