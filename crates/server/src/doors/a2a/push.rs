//! Push notifications: callers say where news of a task is posted to, and the channel `a2a.push` posts it.
//!
//! | part | what |
//! | --- | --- |
//! | `config` | what is kept of a push notification config |
//! | `news` | what the channel posts |
//!
//! A config is a note under the task that it is about, and follows it: who changes the task raises the outbox rows of its followers in
//! the same transaction.

mod config;
mod news;

use data_encoding::HEXLOWER;
use http::HeaderValue;
pub use news::TaskNews;
pub(super) use news::trimmed;
use placet_a2a::{Fault, PushConfig, Version};
use placet_core::{Actor, Role, door};
use placet_egress::{Http, Rules, Target};
use placet_gate::{GateError, Note, NoteChange, NoteExpected, NoteFilter, Raise};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use self::config::StoredConfig;
use super::desk::fault;
use crate::State;

/// The kind of the notes that are push notification configs.
const KIND: &str = door::PUSH;
/// How many configs a task may have.
const MOST: usize = 10;

/// The client that posts, for the channel and for checks of addresses.
pub(crate) fn client(rules: &Rules) -> Option<Http> {
    let http = Http::new(rules.clone());
    if let Err(error) = &http {
        tracing::error!(%error, "nothing can be posted: push notifications are refused");
    }
    http.ok()
}

/// The task that a config is about.
#[derive(Debug, Clone, Copy)]
pub(super) struct TaskRef<'a> {
    /// Its name among the tasks of all agents.
    pub(super) key: &'a str,
    /// Its own id.
    pub(super) id: &'a str,
    /// The generation that its owner knows.
    pub(super) generation: u64,
    /// Whether it has ended.
    pub(super) ended: bool,
    /// Whether deliveries read it again. Otherwise news brings what is posted.
    pub(super) is_read_again: bool,
}

/// Whether news can be posted for this caller. Checked before anything is done, and again with every connection.
pub(super) fn check(state: &State, actor: &Actor, config: &PushConfig) -> Result<(), Fault> {
    only_agents(actor)?;
    let http = state.push.as_ref().ok_or(Fault::NoPush)?;
    let target = Target::parse_web(&config.url).map_err(|why| config.fault(why))?;
    http.rules().check_host(&target).map_err(|why| config.fault(why))?;
    // Bytes that no header can have were refused when it was read; this is the last check.
    let sent = [&config.token, &config.credentials];
    if sent.into_iter().flatten().any(|text| HeaderValue::from_str(text).is_err()) {
        return Err(Fault::InvalidParams(
            "the token or the credentials cannot be sent in a header".to_owned(),
        ));
    }
    Ok(())
}

/// People see tasks of many agents; where agents have news posted to is between them and their receivers.
fn only_agents(actor: &Actor) -> Result<(), Fault> {
    match actor.role {
        Role::Agent => Ok(()),
        _ => Err(Fault::Forbidden("only the agent whose task it is can have news of it posted".to_owned())),
    }
}

fn name(task: &str, id: &str) -> String {
    format!("{task}/{id}")
}

/// Stores a config, in place of one with the same id. The caller owns the task, and the config was checked.
///
/// What happens to the task from now on is posted, and also what happened since `task` was read. If it has ended, the end is posted: it may have
/// come between the caller's two calls.
pub(super) async fn set(
    state: &State,
    actor: &Actor,
    task: TaskRef<'_>,
    version: Version,
    config: &PushConfig,
) -> Result<Value, Fault> {
    // The same address is the same config, however often the call is repeated.
    let id = config.id.clone().unwrap_or_else(|| {
        let digest = Sha256::digest(&config.url);
        format!("push-{}", HEXLOWER.encode(digest.get(..8).unwrap_or_default()))
    });
    let wrong = |error: GateError| fault(state, error);
    let key = name(task.key, &id);
    for _ in 0..8 {
        let there = state.gate.note(KIND, &key).await.map_err(wrong)?;
        let stored = there.as_ref().and_then(StoredConfig::of);
        let known = match &stored {
            Some(stored) => stored.known,
            None if task.ended => 0,
            None => task.generation,
        };
        let mut new = StoredConfig::new(version, task.id, &id, config, known);
        new.ended = stored.as_ref().is_some_and(|stored| stored.ended);
        let expected = there.map_or(NoteExpected::Absent, |note| NoteExpected::Version(note.version));
        let put = NoteChange::Put { note: new.note(&state.gate, task.key, &actor.name), expected };
        // It is looked at once at least: the task may have changed before anything followed it.
        let look = Raise { channel: KIND, scope: task.key.to_owned(), wanted: 1, body: None };
        // Set again, what it was not told yet is retried from the beginning.
        let mut changes = vec![put, NoteChange::Retry { kind: KIND, key: key.clone() }];
        changes.extend(task.is_read_again.then_some(NoteChange::Raise(look)));
        let Ok(versions) = state.gate.change_notes(changes).await.map_err(wrong)? else { continue };
        let all = of_task(state, task.key).await.map_err(wrong)?;
        if all.len() > MOST && stored.is_none() {
            let version = versions.first().copied().unwrap_or_default();
            let gone = NoteChange::Delete { kind: KIND, key, version };
            let _ = state.gate.change_notes(vec![gone]).await.map_err(wrong)?;
            let why = format!("task `{}` has {MOST} push notification configs: delete one first", task.id);
            return Err(Fault::InvalidParams(why));
        }
        return Ok(new.shown(version));
    }
    Err(Fault::Busy("others change the same push notification config: try again".to_owned()))
}

/// The configs of a task.
async fn of_task(state: &State, task: &str) -> Result<Vec<Note>, GateError> {
    let filter = NoteFilter { scope: Some(task.to_owned()), ..NoteFilter::of(KIND) };
    Ok(state.gate.notes(&filter, None, 200).await?.notes)
}

/// One config of a task of the caller: the one of this id, or the first.
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
    note.as_ref().and_then(StoredConfig::of).map(|config| config.shown(version)).ok_or_else(missing)
}

/// All configs of a task of the caller.
pub(super) async fn list(state: &State, actor: &Actor, key: &str, version: Version) -> Result<Value, Fault> {
    only_agents(actor)?;
    let all = of_task(state, key).await.map_err(|error| fault(state, error))?;
    let own = all.iter().filter(|note| note.owner == actor.name).filter_map(StoredConfig::of);
    Ok(version.push_configs(own.map(|config| config.shown(version)).collect()))
}

/// Deletes a config, and what it still had to tell. One that is not there is gone already.
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
