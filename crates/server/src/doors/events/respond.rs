//! `POST /events/{n}/respond`: a person's answer, as a decision on the request that the event made.

use axum::{
    body::Body,
    extract::{FromRequestParts as _, Path, State as AxumState},
    response::Response,
};
use http::{Request, request::Parts};
use placet_core::{Actor, Body as Asked, DecisionWord, Refusal, Role};
use placet_gate::{Decision, GateError};
use serde_json::Value;

use super::{
    Fault,
    body::{self, Fields},
    read,
};
use crate::{State, doors::open::Decider};

/// Takes an answer. What the page sends along (`hookEvent`, `respondedAt`) is not believed: the store knows.
pub(super) async fn respond(
    AxumState(state): AxumState<State>,
    Path(id): Path<String>,
    request: Request<Body>,
) -> Result<Response, Fault> {
    let (mut parts, sent) = request.into_parts();
    let actor = reviewer(&mut parts, &state).await?;
    let bytes = body::read(&parts.headers, sent, state.settings.events.body_max, &state).await?;
    let fields = Fields::parse(&bytes)?.ok_or_else(Fault::invalid)?;
    let id = read::number(&id)?;
    let seen = state.gate.event(&actor, id).await.map_err(|error| Fault::gate(&state, error))?;
    let Some(request) = &seen.request else {
        return Err(Fault::conflict("not_a_question", "this event asks nothing"));
    };
    let Some(content) = &request.content else {
        return Err(Fault::conflict("erased", "what was asked was erased"));
    };
    let (word, answer) = match &content.body {
        Asked::Confirmation(_) => match field(&fields, "permission") {
            Some(Value::Bool(true)) => (DecisionWord::Approve, None),
            Some(Value::Bool(false)) => (DecisionWord::Deny, None),
            _ => return Err(Fault::bad("permission: expected true or false")),
        },
        Asked::Input(input) => {
            let name = if input.input.options.is_some() { "choice" } else { "response" };
            match field(&fields, name) {
                Some(Value::String(text)) => (DecisionWord::Respond, Some(Value::String(text))),
                _ => return Err(Fault::bad(format!("{name}: expected text"))),
            }
        }
        _ => return Err(Fault::conflict("not_a_question", "this event asks nothing")),
    };
    // The protocol does not say what was shown. What is asked never changes; a second person's proposal does, and is then
    // decided on as it stands.
    let decision = Decision { answer, ..Decision::on(request, word) };
    // The agent is connected to while the answer is committed.
    let notice = state.gate.answering(&seen);
    let decided = state.gate.decide(&actor, decision).await.map_err(|error| refused(&state, error))?;
    if let Some(notice) = notice {
        notice.answered(&decided);
        // The agent first: whoever answered waits for nothing that matters.
        tokio::task::yield_now().await;
    }
    Ok(read::json(read::text(&state, &seen.event, Some(&decided))))
}

/// Who answers.
async fn reviewer(parts: &mut Parts, state: &State) -> Result<Actor, Fault> {
    let Decider(actor) = Decider::from_request_parts(parts, state).await?;
    if actor.role == Role::Agent && actor.session.is_none() {
        return Err(Fault::forbidden(
            "forbidden",
            "an agent cannot answer: send a reviewer's key, or start with --dev and --set doors.open_decide=true",
        ));
    }
    Ok(actor)
}

fn field(fields: &Fields<'_>, name: &str) -> Option<Value> {
    serde_json::from_str(fields.get(name)?.get()).ok()
}

fn refused(state: &State, error: GateError) -> Fault {
    match error {
        GateError::Refused { refusal: Refusal::AlreadyDecided, .. } => {
            Fault::conflict("already_decided", "Already answered")
        }
        GateError::Refused { refusal: refusal @ (Refusal::Expired | Refusal::Cancelled), .. } => {
            Fault::conflict(refusal.code(), refusal.to_string())
        }
        error => Fault::gate(state, error),
    }
}
