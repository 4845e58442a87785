//! Reading events: the newest, one, and what they can be filtered by.

use axum::{
    extract::{Path, RawQuery, State as AxumState},
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, header};
use placet_core::{Request, State as Life};
use placet_gate::{RecentEvents, SeenEvent, StoredEvent, event_status};
use serde_json::json as value;

use super::Fault;
use crate::{State, call::Caller, problem::Problem};

/// How many events are told unless somebody asks for fewer or more, and at most.
pub(super) const USUAL: u32 = 300;
const MOST: u32 = 1000;
/// How many bytes of events are told at most. Requests that wait are told whatever their size.
const BYTES: usize = 16 * 1024 * 1024;

/// An event as JSON, with where its request stands.
pub(super) fn text(state: &State, event: &StoredEvent, request: Option<&Request>) -> String {
    match (event.request, request) {
        (None, _) => event.json(""),
        (Some(id), Some(request)) => {
            let status = event_status(request, state.gate.now());
            event.json(&format!("\"humanInTheLoopStatus\":{status},\"placetRequest\":\"{id}\""))
        }
        (Some(_), None) => event.json("\"humanInTheLoopStatus\":{\"status\":\"error\"}"),
    }
}

/// JSON that is already text.
pub(super) fn json(text: String) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], text).into_response()
}

/// The texts of events in order, within a bound: the oldest are left out first, those that wait never.
pub(super) fn texts(state: &State, recent: &RecentEvents) -> Vec<String> {
    let mut room = BYTES;
    let now = state.gate.now();
    let mut texts: Vec<String> = Vec::with_capacity(recent.events.len());
    for SeenEvent { event, request } in recent.events.iter().rev() {
        let waits = request.as_ref().is_some_and(|request| request.state_at(now) == Life::Pending);
        let size = event.body.len() + 64;
        if waits || size <= room {
            texts.push(text(state, event, request.as_deref()));
        }
        room = room.saturating_sub(size);
    }
    texts.reverse();
    texts
}

/// `GET /events/recent?limit=N`.
pub(super) async fn recent(
    AxumState(state): AxumState<State>,
    caller: Result<Caller, Problem>,
    RawQuery(query): RawQuery,
) -> Result<Response, Fault> {
    let Caller(actor) = caller?;
    let query = query.unwrap_or_default();
    let asked = query.split('&').find_map(|pair| pair.strip_prefix("limit=")).filter(|text| !text.is_empty());
    let limit = match asked {
        None => USUAL,
        // Less than nothing meant everything; there is a bound now.
        Some(text) => match text.parse::<i64>() {
            Ok(limit) if limit < 0 => MOST,
            Ok(limit) => u32::try_from(limit).unwrap_or(MOST).min(MOST),
            Err(_) => return Err(Fault::bad("limit: expected a number")),
        },
    };
    let recent = state.gate.recent_events(&actor, limit).await.map_err(|error| Fault::gate(&state, error))?;
    let texts = if limit == 0 { Vec::new() } else { texts(&state, &recent) };
    Ok(json(format!("[{}]", texts.join(","))))
}

/// `GET /events/filter-options`.
pub(super) async fn filter_options(
    AxumState(state): AxumState<State>,
    caller: Result<Caller, Problem>,
) -> Result<Response, Fault> {
    let Caller(actor) = caller?;
    let words = state.gate.event_words(&actor).await.map_err(|error| Fault::gate(&state, error))?;
    let options = value!({
        "source_apps": words.source_apps,
        "session_ids": words.session_ids,
        "hook_event_types": words.hook_event_types,
    });
    Ok(json(options.to_string()))
}

/// The number in an address; whatever is none answers like an unknown one.
pub(super) fn number(text: &str) -> Result<u64, Fault> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits).ok_or_else(Fault::not_found)
}

/// `GET /events/{n}`: one event as it stands. With this an agent fetches its answer when it could not be called.
pub(super) async fn one(
    AxumState(state): AxumState<State>,
    caller: Result<Caller, Problem>,
    Path(id): Path<String>,
) -> Result<Response, Fault> {
    let Caller(actor) = caller?;
    let seen = state.gate.event(&actor, number(&id)?).await.map_err(|error| Fault::gate(&state, error))?;
    Ok(json(text(&state, &seen.event, seen.request.as_deref())))
}
