//! Following a task: its snapshot first, then every change, until it ends.

use std::time::Duration;

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use http::{HeaderValue, header};
use placet_a2a::{Fault, Task, Update, Version, answer, old_http};
use placet_core::Actor;
use placet_gate::Feed;
use serde_json::{Map, Value};

use super::desk::{fault, find};
use crate::{
    State,
    chunks::{self, ChunkSender},
    v1,
};

/// How often a quiet stream says that it is alive.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(15);

/// How events are wrapped: JSON-RPC repeats the id of the call, HTTP+JSON sends them bare.
#[derive(Debug, Clone)]
pub(super) struct Wrap {
    pub(super) version: Version,
    pub(super) id: Option<Value>,
}

impl Wrap {
    fn event(&self, update: &Update) -> Bytes {
        let event = self.version.update(update, None);
        let event = match &self.id {
            Some(id) => answer(id, event),
            None if self.version == Version::V03 => old_http::write_update(&event),
            None => event,
        };
        // JSON has no raw line breaks, so one data line is enough.
        Bytes::from(format!("data: {event}\n\n"))
    }
}

/// One event and the end: for what is no task.
pub(super) fn single(wrap: &Wrap, update: &Update) -> Response {
    respond(Body::from(wrap.event(update)))
}

/// One event and the end: for a call that is refused.
pub(super) fn refused(refusal: &Value) -> Response {
    respond(Body::from(format!("data: {refusal}\n\n")))
}

/// A place among the followers, and a view of the ledger from this moment on. Taken before the task is read, so that nothing
/// falls between the two.
pub(super) struct Opened {
    feed: Feed,
    seat: v1::Seat,
}

pub(super) async fn open(state: &State, actor: &Actor) -> Result<Opened, Fault> {
    let seat = state.streams.take(&actor.name).map_err(super::problem)?;
    let feed = state.gate.feed(None).await.map_err(|error| fault(state, error))?;
    Ok(Opened { feed, seat })
}

/// Follows a task from a snapshot that was read after `opened`.
pub(super) fn follow(state: &State, actor: Actor, opened: Opened, task: Task, wrap: Wrap) -> Response {
    let (send, body) = chunks::channel();
    state.tasks.spawn(produce(state.clone(), actor, opened, task, wrap, send));
    respond(body)
}

pub(super) fn respond(body: Body) -> Response {
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// Writes events until the task ends, the reader goes away or is too slow, or the server closes.
async fn produce(
    state: State,
    actor: Actor,
    mut opened: Opened,
    mut task: Task,
    wrap: Wrap,
    send: ChunkSender,
) {
    let slow = state.settings.slow_reader;
    let _following = state.gate.follow(&actor, Some(&task.id));
    if send.send(wrap.event(&Update::Task(task.clone())), slow).await.is_err() {
        return;
    }
    while !task.status.state.is_terminal() {
        let news = tokio::select! {
            news = opened.feed.next() => match news {
                Ok(news) => news,
                Err(_) => return,
            },
            () = tokio::time::sleep(HEARTBEAT) => {
                if !state.gate.still_works(&actor) || send.send(": alive\n\n".into(), slow).await.is_err() {
                    return;
                }
                continue;
            }
            () = send.closed() => return,
            () = state.closing.cancelled() => return,
        };
        if !v1::still_works(&state, &actor, &news).await {
            return;
        }
        let ours = news.request.as_ref().is_some_and(|request| request.group.as_deref() == Some(&task.id));
        if !ours {
            continue;
        }
        // The database knows all items of the task; the news is of one.
        let Ok((now, _)) = find(&state, &actor, &task.id).await else { return };
        if now.generation <= task.generation {
            continue;
        }
        for update in between(&task, &now) {
            if send.send(wrap.event(&update), slow).await.is_err() {
                return;
            }
        }
        task = now;
    }
    drop(opened.seat);
}

/// What happened between two snapshots: what the task brought forth, then where it stands.
fn between(before: &Task, after: &Task) -> Vec<Update> {
    let known = |id: &str| before.artifacts.iter().any(|artifact| artifact.id == id);
    let fresh = after.artifacts.iter().filter(|artifact| !known(&artifact.id));
    let mut updates: Vec<Update> = fresh
        .map(|artifact| Update::Artifact {
            task: after.id.clone(),
            context: after.context.clone(),
            artifact: artifact.clone(),
            append: false,
            last_chunk: true,
        })
        .collect();
    updates.push(Update::Status {
        task: after.id.clone(),
        context: after.context.clone(),
        status: after.status.clone(),
        last: after.status.state.is_terminal(),
        metadata: Map::new(),
    });
    updates
}
