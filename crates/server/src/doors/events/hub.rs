//! One reader of events and answers for the whole node: makes every frame once, for all streams.

use std::time::Duration;

use axum::extract::ws::Utf8Bytes;
use placet_core::door::EVENTS;
use placet_gate::{EventTail, GateError, News, SeenEvent, StoreError};
use tokio::sync::broadcast;

use super::read;
use crate::State;

/// How many frames a slow stream may lag behind before it must connect again. Each may be a mebibyte.
const MEMORY: usize = 256;

/// What streams are told.
#[derive(Debug, Clone)]
pub(crate) enum StreamNews {
    /// A new event.
    Created {
        /// Its number.
        id: u64,
        /// The frame.
        frame: Utf8Bytes,
    },
    /// An answer to an event.
    Answered {
        /// The event's number.
        id: u64,
        /// The frame.
        frame: Utf8Bytes,
    },
    /// Keys or people changed: is the reader still welcome?
    Changed,
    /// Something may have been missed: connect again.
    Lost,
}

/// Where streams hear of news.
#[derive(Debug)]
pub(crate) struct EventStreams(broadcast::Sender<StreamNews>);

impl Default for EventStreams {
    fn default() -> Self {
        Self(broadcast::channel(MEMORY).0)
    }
}

impl EventStreams {
    pub(super) fn subscribe(&self) -> broadcast::Receiver<StreamNews> {
        self.0.subscribe()
    }

    fn tell(&self, told: StreamNews) {
        // Nobody is listening: nobody to tell.
        let _ = self.0.send(told);
    }

    fn has_readers(&self) -> bool {
        self.0.receiver_count() > 0
    }
}

/// Follows events and answers until the server closes.
pub(crate) async fn follow(state: State) {
    loop {
        let followed = tokio::select! {
            followed = both(&state) => followed,
            () = state.closing.cancelled() => return,
        };
        match followed {
            Err(GateError::Closing) => return,
            Err(GateError::Store(StoreError::HistoryLost(_))) => {
                return state.event_streams.tell(StreamNews::Lost);
            }
            Err(error) => tracing::warn!(%error, "events cannot be followed; trying again"),
            Ok(()) => {}
        }
        state.event_streams.tell(StreamNews::Lost);
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

async fn both(state: &State) -> Result<(), GateError> {
    let (mut events, mut answers) = (state.gate.event_tail().await?, state.gate.door_feed().await?);
    loop {
        tokio::select! {
            event = events.next() => created(state, &event?),
            news = answers.next() => answered(state, &mut events, &news?).await?,
        }
    }
}

fn created(state: &State, seen: &SeenEvent) {
    if state.event_streams.has_readers() {
        let data = read::text(state, &seen.event, seen.request.as_deref());
        state.event_streams.tell(StreamNews::Created { id: seen.event.id, frame: frame(&data) });
    }
}

fn frame(data: &str) -> Utf8Bytes {
    format!("{{\"type\":\"event\",\"data\":{data}}}").into()
}

/// An answer to a question that came through this door, given anywhere. Other changes are not told on this stream.
async fn answered(state: &State, events: &mut EventTail, news: &News) -> Result<(), GateError> {
    if news.admin.is_some() {
        state.event_streams.tell(StreamNews::Changed);
    }
    let Some(request) = &news.request else { return Ok(()) };
    if news.name != "request.decided" || !request.came_by(EVENTS) || !state.event_streams.has_readers() {
        return Ok(());
    }
    let Some(event) = state.gate.event_of(request).await? else { return Ok(()) };
    // The question is told before its answer.
    while events.cursor() < event.id {
        let next = events.next().await?;
        created(state, &next);
    }
    let data = read::text(state, &event, Some(request));
    state.event_streams.tell(StreamNews::Answered { id: event.id, frame: frame(&data) });
    Ok(())
}
