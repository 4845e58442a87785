//! The REST door: one file per group of operations, each with its documentation.

pub(crate) mod agents;
pub(crate) mod decisions;
pub(crate) mod export;
mod forms;
pub(crate) mod freeze;
pub(crate) mod grants;
pub(crate) mod history;
pub(crate) mod keys;
pub(crate) mod ledger;
pub(crate) mod me;
pub(crate) mod people;
pub(crate) mod permits;
pub(crate) mod policy;
pub(crate) mod requests;
pub(crate) mod reviews;
pub(crate) mod session;
pub(crate) mod stats;
pub(crate) mod stream;
mod streams;
pub(crate) mod suggest;
pub(crate) mod summary;
pub(crate) mod ws;

use std::borrow::Cow;

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use placet_core::{Actor, RecordCard, RecordView, Request, Role};
use serde::Serialize;
pub(crate) use streams::{Seat, StreamSeats, still_works};

use crate::{State, problem::Problem};

/// JSON as an answer.
pub(crate) fn json<T: Serialize + ?Sized>(status: StatusCode, body: &T) -> Response {
    // Room for an ordinary record: growing to it bit by bit costs as much as writing it.
    let mut bytes = Vec::with_capacity(2_048);
    match serde_json::to_writer(&mut bytes, body) {
        Ok(()) => (status, [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], bytes)
            .into_response(),
        Err(error) => {
            tracing::error!(%error, "an answer could not be written");
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the answer could not be written")
                .into_response()
        }
    }
}

/// The record of a request for this caller: reviewers also get the card and the exact text to show.
pub(crate) fn view<'a>(state: &State, actor: &Actor, request: &'a Request) -> RecordView<'a> {
    let mut view = listed(state, actor, request);
    if actor.role == Role::Reviewer {
        view.view = state.gate.card(request).map(|card| Cow::Owned(RecordCard::Whole(Box::new(card))));
    }
    view
}

/// The same in a list or a stream: of the card it has one line, and nothing is approved from that alone.
pub(crate) fn listed<'a>(state: &State, actor: &Actor, request: &'a Request) -> RecordView<'a> {
    let mut view = state.gate.view(request);
    if actor.role == Role::Reviewer {
        view.view = Some(Cow::Owned(RecordCard::Line(state.gate.card_line(request))));
        view.display = state.gate.display(request);
        view.same = state.gate.same(request);
    }
    view
}

/// The record as an answer.
pub(crate) fn record(state: &State, actor: &Actor, status: StatusCode, request: &Request) -> Response {
    json(status, &view(state, actor, request))
}

/// An error of the gate as a problem.
pub(crate) fn refuse(state: &State, error: placet_gate::GateError) -> Problem {
    Problem::gate(error, state.gate.now())
}
