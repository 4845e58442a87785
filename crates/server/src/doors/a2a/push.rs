//! Push notifications: callers say where news of a task is posted to, and it is posted until it was taken or a day has passed.
//!
//! | part | what |
//! | --- | --- |
//! | `wish` | what is kept of a wish, and what follows from an attempt |
//! | `post` | one message to one address |
//! | `tell` | a task changed: who is told, by which node, and when again |
//! | `follow` | the desk's tasks, and what is left to be told |
//!
//! A wish is a note under the task it is about. Whoever changes a task says so with [`changed`].

mod follow;
mod post;
mod tell;
mod wish;

use data_encoding::HEXLOWER;
pub(crate) use follow::run;
pub(super) use follow::{desk_changed, desk_key};
use http::HeaderValue;
use placet_a2a::{Fault, PushConfig, Version};
use placet_core::{Actor, Role};
use placet_egress::{Http, Rules, Target};
use placet_gate::{GateError, NewNote, Note, NoteChange, NoteExpected, NoteFilter};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
pub(super) use tell::{Change, changed};
use tokio::sync::Semaphore;

use self::wish::Wish;
use super::desk::fault;
use crate::State;

/// What notes that are wishes are called.
const KIND: &str = "a2a.push";
/// How many wishes a task may have.
const MOST: usize = 10;
/// How many messages are on their way at once. What comes beyond that waits.
const AT_ONCE: usize = 64;

/// What is needed to post.
#[derive(Debug)]
pub(crate) struct Push {
    http: Option<Http>,
    turns: std::sync::Arc<Semaphore>,
}

impl Push {
    /// To where agents may be called back.
    pub(crate) fn new(rules: &Rules) -> Self {
        let http = Http::new(rules.clone());
        if let Err(error) = &http {
            tracing::error!(%error, "nothing can be posted: push notifications are refused");
        }
        Self { http: http.ok(), turns: std::sync::Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

/// A task that wishes are about: what it is called among all tasks of all agents, its own id, and where it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct About<'a> {
    pub(super) key: &'a str,
    pub(super) id: &'a str,
    pub(super) generation: u64,
    pub(super) ended: bool,
}

/// Whether a wish of this caller can be fulfilled. Asked before anything is done, and again with every connection.
pub(super) fn check(state: &State, actor: &Actor, config: &PushConfig) -> Result<(), Fault> {
    only_agents(actor)?;
    let http = state.push.http.as_ref().ok_or(Fault::NoPush)?;
    let target = Target::parse_web(&config.url).map_err(|why| config.fault(why))?;
    http.rules().check_host(&target).map_err(|why| config.fault(why))?;
    // Bytes that no header can have were refused when it was read; this is the last word.
    let sent = [&config.token, &config.credentials];
    if sent.into_iter().flatten().any(|text| HeaderValue::from_str(text).is_err()) {
        return Err(Fault::InvalidParams(
            "the token or the credentials cannot be sent in a header".to_owned(),
        ));
    }
    Ok(())
}

/// People see tasks of many agents; what agents want to be told is between them and their receivers.
fn only_agents(actor: &Actor) -> Result<(), Fault> {
    match actor.role {
        Role::Agent => Ok(()),
        _ => Err(Fault::Forbidden("only the agent whose task it is can have news of it posted".to_owned())),
    }
}

fn name(task: &str, id: &str) -> String {
    format!("{task}/{id}")
}

/// Keeps a wish, in place of one with the same id. The caller is the task's, and the wish was checked.
///
/// What the task goes through from `about` on is told, once the caller has said so with [`changed`]. A task that has ended by then is told at once: its end may have come
/// between the caller's two calls.
pub(super) async fn set(
    state: &State,
    actor: &Actor,
    about: About<'_>,
    version: Version,
    config: &PushConfig,
) -> Result<Value, Fault> {
    // The same address is the same wish, however often the call is repeated.
    let id = config.id.clone().unwrap_or_else(|| {
        let digest = Sha256::digest(&config.url);
        format!("push-{}", HEXLOWER.encode(digest.get(..8).unwrap_or_default()))
    });
    let wrong = |error: GateError| fault(state, error);
    let key = name(about.key, &id);
    for _ in 0..8 {
        let there = state.gate.note(KIND, &key).await.map_err(wrong)?;
        let known = there.as_ref().and_then(Wish::of);
        let told = match &known {
            Some(known) => known.told,
            None if about.ended => 0,
            None => about.generation,
        };
        let ended = known.as_ref().is_some_and(|known| known.ended);
        let wish = Wish::new(version, about.id, &id, config, told, ended);
        let expected = there.map_or(NoteExpected::Absent, |note| NoteExpected::Version(note.version));
        let note = wish.note(&state.gate, about.key, &actor.name);
        let change = NoteChange::Put { note, expected };
        let Ok(versions) = state.gate.change_notes(vec![change]).await.map_err(wrong)? else { continue };
        let all = of_task(state, about.key).await.map_err(wrong)?;
        if all.len() > MOST && known.is_none() {
            let version = versions.first().copied().unwrap_or_default();
            let gone = NoteChange::Delete { kind: KIND, key, version };
            let _ = state.gate.change_notes(vec![gone]).await.map_err(wrong)?;
            let why = format!("task `{}` has {MOST} push notification configs: delete one first", about.id);
            return Err(Fault::InvalidParams(why));
        }
        return Ok(wish.shown(version));
    }
    Err(Fault::Busy("others change the same push notification config: try again".to_owned()))
}

/// The wishes about a task.
async fn of_task(state: &State, task: &str) -> Result<Vec<Note>, GateError> {
    let filter = NoteFilter { scope: Some(task.to_owned()), ..NoteFilter::of(KIND) };
    Ok(state.gate.notes(&filter, None, 200).await?.notes)
}

/// Wishes in pages, all or those that have something to tell, and where the next page begins.
async fn wishes(
    state: &State,
    open: Option<bool>,
    after: Option<&str>,
) -> Result<(Vec<Note>, Option<String>), GateError> {
    let filter = NoteFilter { open, ..NoteFilter::of(KIND) };
    let page = state.gate.notes(&filter, after, 100).await?;
    Ok((page.notes, page.next))
}

/// One wish of a task that is the caller's: the one of this id, or the first.
pub(super) async fn get(
    state: &State,
    actor: &Actor,
    (key, task): (&str, &str),
    version: Version,
    id: Option<&str>,
) -> Result<Value, Fault> {
    only_agents(actor)?;
    let missing =
        || Fault::TaskNotFound(short(&format!("{task}/pushNotificationConfigs/{}", id.unwrap_or_default())));
    let note = match id {
        Some(id) => state.gate.note(KIND, &name(key, id)).await,
        None => of_task(state, key).await.map(|all| all.into_iter().next()),
    };
    let note = note.map_err(|error| fault(state, error))?.filter(|note| note.owner == actor.name);
    note.as_ref().and_then(Wish::of).map(|wish| wish.shown(version)).ok_or_else(missing)
}

/// All wishes of a task that is the caller's.
pub(super) async fn list(state: &State, actor: &Actor, key: &str, version: Version) -> Result<Value, Fault> {
    only_agents(actor)?;
    let all = of_task(state, key).await.map_err(|error| fault(state, error))?;
    let own = all.iter().filter(|note| note.owner == actor.name).filter_map(Wish::of);
    Ok(version.push_configs(own.map(|wish| wish.shown(version)).collect()))
}

/// Takes a wish back. One that is not there is gone already.
pub(super) async fn delete(
    state: &State,
    actor: &Actor,
    key: &str,
    version: Version,
    id: &str,
) -> Result<Value, Fault> {
    only_agents(actor)?;
    let (wrong, key) = (|error: GateError| fault(state, error), name(key, id));
    for _ in 0..8 {
        let there = state.gate.note(KIND, &key).await.map_err(wrong)?;
        let Some(note) = there.filter(|note| note.owner == actor.name) else {
            return Ok(version.push_deleted());
        };
        let gone = NoteChange::Delete { kind: KIND, key: key.clone(), version: note.version };
        if state.gate.change_notes(vec![gone]).await.map_err(wrong)?.is_ok() {
            return Ok(version.push_deleted());
        }
    }
    Err(Fault::Busy("others change the same push notification config: try again".to_owned()))
}

fn short(text: &str) -> String {
    text.chars().take(120).collect()
}

/// A note of a wish as it is to be stored.
fn noted(note: NewNote, version: u64) -> NoteChange {
    NoteChange::Put { note, expected: NoteExpected::Version(version) }
}
