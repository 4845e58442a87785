//! `POST /events`: an event, stored; and, if it asks a person, a request made of it in the same transaction.

use axum::{
    body::Body,
    extract::{FromRequestParts as _, State as AxumState},
    response::Response,
};
use data_encoding::HEXLOWER;
use http::Request;
use placet_core::Actor;
use placet_gate::{AcceptedEvent, StoredEvent};
use sha2::{Digest as _, Sha256};

use super::{Fault, body, hitl, read, shape::Event};
use crate::{
    State,
    call::{Caller, idempotency},
};

/// Takes an event. The answer is the event as it was sent, with its number, its time and its status.
pub(super) async fn post(
    AxumState(state): AxumState<State>,
    request: Request<Body>,
) -> Result<Response, Fault> {
    let (mut parts, sent) = request.into_parts();
    let Caller(actor) = Caller::from_request_parts(&mut parts, &state).await?;
    let bytes = body::read(&parts.headers, sent, state.settings.events.body_max, &state).await?;
    let event = Event::parse(&bytes, state.gate.now().millis())?;
    // The same bytes with the same key are the same event.
    let idempotency = if parts.headers.contains_key("idempotency-key") {
        let digest = HEXLOWER.encode(&Sha256::digest(&bytes));
        idempotency(&parts.headers, &actor, parts.uri.path(), &digest.into())?
    } else {
        None
    };
    let text = event.body.clone();
    let told = match event.asked {
        None => state.gate.tell(&actor, event.into_new(), idempotency).await,
        Some(asked) => {
            let create = hitl::create(&state, &event, asked)?;
            state.gate.tell_and_ask(&actor, create, event.into_new(), idempotency).await
        }
    };
    let told = told.map_err(|error| Fault::gate(&state, error))?;
    if told.replayed {
        return replayed(&state, &actor, &told).await;
    }
    let stored = StoredEvent {
        id: told.id,
        received_at: state.gate.now(),
        agent: actor.name,
        request: told.request.as_ref().map(|request| request.id),
        body: text,
    };
    Ok(read::json(read::text(&state, &stored, told.request.as_deref())))
}

/// The event that was stored before with the same key, as it stands now.
async fn replayed(state: &State, actor: &Actor, told: &AcceptedEvent) -> Result<Response, Fault> {
    let seen = state.gate.event(actor, told.id).await.map_err(|error| Fault::gate(state, error))?;
    Ok(read::json(read::text(state, &seen.event, seen.request.as_deref())))
}
