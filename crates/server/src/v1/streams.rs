//! What SSE and WebSocket share: where a stream begins, what its events say, who has a seat.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use http::{HeaderMap, StatusCode};
use placet_core::{Actor, Row, Time};
use placet_gate::{Feed, Gate, GateError, News};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    State,
    problem::Problem,
    v1::{listed, refuse, requests::View},
};

/// Where a stream begins.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct StreamParams {
    /// After this event id (or the `seq` of a list). The header `Last-Event-ID` says the same and counts more: a reader
    /// that connects again to the address it began with sends what it heard last in the header.
    pub(crate) after: Option<String>,
    /// `row` for one line of each request instead of the record.
    #[param(inline)]
    pub(crate) view: Option<View>,
}

/// One event: what happened, and the record as it stands.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StreamEvent<'a> {
    /// Opaque; send it back as `Last-Event-ID` to continue after it.
    pub(crate) id: String,
    /// `request.created`, `request.decided` and so on.
    #[serde(rename = "type")]
    pub(crate) kind: &'a str,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) at: Time,
    /// The current record; not with `view=row`.
    #[schema(value_type = Option<placet_core::Record>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) record: Option<placet_core::RecordView<'a>>,
    /// The current line, with `view=row`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request: Option<Box<Row>>,
}

/// A stream's place in the ledger.
pub(crate) struct Position {
    pub(crate) feed: Feed,
    pub(crate) epoch: String,
    /// The cursor that was asked for is unknown: the reader must list again.
    pub(crate) reset: bool,
    pub(crate) view: View,
    _seat: Seat,
}

impl Position {
    /// Opens a stream for this caller.
    pub(crate) async fn open(
        state: &State,
        actor: &Actor,
        headers: &HeaderMap,
        params: &StreamParams,
    ) -> Result<Self, Problem> {
        let seat = state.streams.take(&actor.name)?;
        let (epoch, head) = state.gate.store().head().await.map_err(|error| refuse(state, error.into()))?;
        let header = headers.get("last-event-id").and_then(|id| id.to_str().ok());
        let asked = header
            .filter(|asked| !asked.is_empty())
            .or(params.after.as_deref())
            .filter(|asked| !asked.is_empty());
        let (after, reset) = match asked {
            None => (head, false),
            Some(asked) => match place(asked, &epoch).filter(|seq| *seq <= head) {
                Some(seq) => (seq, false),
                None => (head, true),
            },
        };
        let feed = state.gate.feed(Some(after)).await.map_err(|error| refuse(state, error))?;
        // What happened to the key up to here is known now; what happens after it comes with the feed.
        state.gate.store().refresh_directory().await.map_err(|error| refuse(state, error.into()))?;
        if !state.gate.still_works(actor) {
            return Err(refuse(state, GateError::KeyRevoked));
        }
        Ok(Self { feed, epoch, reset, view: params.view.unwrap_or_default(), _seat: seat })
    }

    /// The id of the last event that was seen, filtered out or not.
    pub(crate) fn id(&self) -> String {
        format!("{}.{}", self.epoch, self.feed.cursor())
    }
}

/// `epoch.seq` of this epoch, or a plain `seq`.
fn place(asked: &str, epoch: &str) -> Option<u64> {
    match asked.split_once('.') {
        Some((theirs, seq)) if theirs == epoch => seq.parse().ok(),
        Some(_) => None,
        None => asked.parse().ok(),
    }
}

/// Whether the reader's key works after this entry.
pub(crate) async fn still_works(state: &State, actor: &Actor, news: &News) -> bool {
    // An entry about keys can be read from the database before this node has taken note of it, and comes only once.
    let known = news.admin.is_none() || state.gate.store().refresh_directory().await.is_ok();
    known && state.gate.still_works(actor)
}

/// The event of a piece of news, if this caller may see it.
pub(crate) fn event<'a>(state: &State, actor: &Actor, how: View, news: &'a News) -> Option<StreamEvent<'a>> {
    let request = news.request.as_deref()?;
    Gate::may_see(actor, request).then(|| {
        let (record, row) = match how {
            View::Record => (Some(listed(state, actor, request)), None),
            View::Row => (None, Some(Box::new(state.gate.row(actor, request)))),
        };
        let id = format!("{}.{}", news.epoch, news.seq);
        StreamEvent { id, kind: news.name, at: news.at, record, request: row }
    })
}

/// How many streams each principal has open.
#[derive(Debug)]
pub(crate) struct StreamSeats {
    taken: Arc<Mutex<HashMap<String, usize>>>,
    per_principal: usize,
}

impl StreamSeats {
    pub(crate) fn new(per_principal: usize) -> Self {
        Self { taken: Arc::default(), per_principal }
    }

    pub(crate) fn take(&self, principal: &str) -> Result<Seat, Problem> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let mine = taken.entry(principal.to_owned()).or_default();
        if *mine >= self.per_principal {
            return Err(Problem::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too_many_streams",
                "too many streams are open: close some first",
            )
            .retry_after(1));
        }
        *mine += 1;
        Ok(Seat { taken: self.taken.clone(), principal: principal.to_owned() })
    }
}

/// One open stream; given back when dropped.
pub(crate) struct Seat {
    taken: Arc<Mutex<HashMap<String, usize>>>,
    principal: String,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mine) = taken.get_mut(&self.principal) {
            *mine = mine.saturating_sub(1);
            if *mine == 0 {
                taken.remove(&self.principal);
            }
        }
    }
}
