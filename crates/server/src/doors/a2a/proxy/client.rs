//! The stream of one client: the task as it stands, and then everything that is told of it.

use std::sync::Arc;

use axum::{body::Body, response::Response};
use bytes::Bytes;
use placet_a2a::{Version, old_http};
use placet_core::Actor;
use serde_json::{Value, value::RawValue};

use super::{
    super::stream::{HEARTBEAT, respond},
    agent::Agent,
    hub::{Following, TaskEvent, Then},
    kept::{self, KnownTask, key},
    reader::{self, Source},
    snapshot::snapshot,
};
use crate::{
    State,
    chunks::{self, ChunkSender},
    v1,
};

/// The stream of one client.
pub(super) struct Client {
    pub(super) state: State,
    pub(super) actor: Actor,
    pub(super) agent: Arc<Agent>,
    pub(super) kept: KnownTask,
    pub(super) following: Following,
    pub(super) version: Version,
    pub(super) id: Option<Value>,
    /// Whether it follows the task to its end, across pauses that are its own to answer.
    pub(super) to_the_end: bool,
    /// Whether the last thing it heard of is such a pause.
    pub(super) paused: bool,
    /// Its place among the streams of its principal, given back at the end.
    pub(super) _seat: v1::Seat,
}

impl Client {
    /// Answers with the task as it stands, if there is one to begin with, and then with everything that happens to it.
    pub(super) fn respond(self, first: Option<Value>) -> Response {
        let (send, body) = chunks::channel();
        let state = self.state.clone();
        state.tasks.spawn(self.produce(first, send));
        respond(body)
    }

    async fn produce(mut self, first: Option<Value>, send: ChunkSender) {
        let slow = self.state.settings.slow_reader;
        if let Some(first) = first
            && send.send(event(self.version, self.id.as_ref(), &first.to_string()), slow).await.is_err()
        {
            return;
        }
        let mut beat = tokio::time::interval(HEARTBEAT);
        beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        beat.tick().await;
        let mut check = tokio::time::interval(self.state.settings.timing.follow_check);
        check.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                told = self.following.next() => {
                    let told = match told {
                        Some(told) => told,
                        None => match self.caught_up().await {
                            Some(told) => told,
                            None => return,
                        },
                    };
                    let event = event(self.version, self.id.as_ref(), &told.text);
                    let over = told.then == Then::End || (told.then == Then::Pause && !self.to_the_end);
                    if send.send(event, slow).await.is_err() || over {
                        return;
                    }
                    self.paused = told.then == Then::Pause;
                }
                _ = beat.tick() => {
                    if !self.state.gate.still_works(&self.actor) || send.send(": alive\n\n".into(), slow).await.is_err() {
                        return;
                    }
                }
                _ = check.tick() => self.make_sure().await,
                () = send.closed() => return,
                () = self.state.closing.cancelled() => return,
            }
        }
    }

    /// The task as it stands, for a client that was too slow for all that happened to it.
    async fn caught_up(&mut self) -> Option<TaskEvent> {
        let shown = snapshot(&self.state, &self.agent, &mut self.kept, None).await.ok()?;
        let text = self.version.as_update(shown.task).to_string();
        Some(TaskEvent { text: text.into(), then: Then::after(shown.state) })
    }

    /// Becomes the reader if nobody on this node reads the task and it is not waiting for people: it went on elsewhere, or
    /// whoever read it is gone.
    async fn make_sure(&mut self) {
        if self.state.proxy.hub.is_read(&key(&self.agent, &self.kept.id)) {
            return;
        }
        let Ok(Some(mut kept)) = kept::load(&self.state.gate, &self.agent, &self.kept.id).await else {
            return;
        };
        if self.paused {
            // Whoever reads a paused task would tell of the same pause again.
            let Ok(shown) = snapshot(&self.state, &self.agent, &mut kept, Some(0)).await else { return };
            if Then::after(shown.state) == Then::Pause {
                return;
            }
        }
        if kept.facts.open_pause().is_none() {
            reader::read(&self.state, &self.agent, kept, Source::Ask, false);
        }
    }
}

/// One event. Line breaks between the fields of a document mean nothing, and would end the event.
fn event(version: Version, id: Option<&Value>, result: &str) -> Bytes {
    let result = result.replace(['\n', '\r'], " ");
    Bytes::from(match (id, version) {
        (Some(id), _) => format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n\n"),
        (None, Version::V10) => format!("data: {result}\n\n"),
        (None, Version::V03) => {
            let update: Value = serde_json::from_str(&result).unwrap_or_default();
            format!("data: {}\n\n", old_http::write_update(&update))
        }
    })
}

/// A stream of one event, for an answer that is no task.
pub(super) fn single(version: Version, id: Option<&Value>, result: &RawValue) -> Response {
    respond(Body::from(event(version, id, result.get())))
}
