//! Push notifications of tasks of agents behind us. Placet posts them: an agent would tell of its pauses as they are.

use std::sync::Arc;

use placet_a2a::{Fault, Operation, PushConfig, PushName, SetPush, Version};
use placet_core::{Actor, door};
use placet_gate::{NoteChange, Raise};
use serde_json::Value;

use super::{
    super::{
        desk::fault,
        push::{self, TaskRef},
        serve::{A2aCall, Answer},
    },
    agent::Agent,
    forward::find,
    kept::{self, KnownTask, TaskRecord},
    reader::{self, Source},
    snapshot::{Snapshot, snapshot},
};
use crate::State;

/// Has those who follow a task told how it is seen now. The same state is told once.
pub(super) async fn announce(
    state: &State,
    agent: &Agent,
    kept: &mut KnownTask,
    shown: &Snapshot,
) -> Result<(), Fault> {
    if !kept.facts.push {
        return Ok(());
    }
    let wrong = |error| fault(state, error);
    let now = shown.task.get("status").cloned().unwrap_or_default();
    // Texts change while people decide; what is told of is where the task stands.
    let now = format!("{} {}", now.get("state").and_then(Value::as_str).unwrap_or_default(), shown.waits);
    let change = |facts: &mut TaskRecord| {
        let news = facts.announced != now;
        if news {
            facts.announced.clone_from(&now);
            facts.generation += 1;
        }
        news
    };
    // In one transaction: a state that counts as announced is in the outbox.
    let news = |scope: String, facts: &TaskRecord| raise(scope, facts.generation, shown);
    kept::update_and_raise(&state.gate, agent, kept, change, Some(&news)).await.map_err(wrong)?;
    Ok(())
}

/// Stores a push notification config for a task.
pub(super) async fn set(
    state: &State,
    agent: &Arc<Agent>,
    actor: &Actor,
    mut kept: KnownTask,
    version: Version,
    config: &PushConfig,
) -> Result<Value, Fault> {
    let marked =
        kept::update(&state.gate, agent, &mut kept, |facts| !std::mem::replace(&mut facts.push, true));
    marked.await.map_err(|error| fault(state, error))?;
    let ended = kept.facts.ended || kept.facts.lost.is_some();
    let key = kept::key(agent, &kept.id);
    let generation = kept.facts.generation;
    let about = TaskRef { key: &key, id: &kept.id, generation, ended, is_read_again: false };
    let set = push::set(state, actor, about, version, config).await?;
    // What happened since it was read is told as well.
    let shown = snapshot(state, agent, &mut kept, None).await?;
    // It may have been announced before the config was stored. Followers that have heard of it ignore this.
    let wrong = |error| fault(state, error);
    if let Some(fresh) = kept::load(&state.gate, agent, &kept.id).await.map_err(wrong)? {
        let news = raise(key, fresh.facts.generation, &shown);
        let _ = state.gate.change_notes(vec![news]).await.map_err(wrong)?;
    }
    Ok(set)
}

fn raise(scope: String, generation: u64, shown: &Snapshot) -> NoteChange {
    let body = Some(push::trimmed(shown.task.clone()).to_string().into());
    NoteChange::Raise(Raise { channel: door::PUSH, scope, wanted: generation, body })
}

/// Makes sure that a task that is followed is read.
pub(super) fn keep_up(state: &State, agent: &Arc<Agent>, kept: KnownTask) {
    if !kept.facts.ended && kept.facts.lost.is_none() && kept.facts.open_pause().is_none() {
        reader::read(state, agent, kept, Source::Ask, false);
    }
}

/// The calls about push notification configs.
pub(super) async fn serve(state: &State, agent: &Arc<Agent>, call: &A2aCall<'_>) -> Result<Answer, Fault> {
    let (actor, version) = (call.actor, call.version);
    if call.operation == Operation::PushSet {
        let SetPush { task, config } = SetPush::read(version, call.params)?;
        push::check(state, actor, &config)?;
        let kept = find(state, agent, actor, &task, version).await?;
        let config = set(state, agent, actor, kept, version, &config).await?;
        keep_up(state, agent, find(state, agent, actor, &task, version).await?);
        return Ok(Answer::Document(config));
    }
    let name = PushName::read(version, call.params)?;
    let kept = find(state, agent, actor, &name.task, version).await?;
    let key = kept::key(agent, &kept.id);
    Ok(Answer::Document(match call.operation {
        Operation::PushGet => {
            push::get(state, actor, (&key, &kept.id), version, name.config.as_deref()).await?
        }
        Operation::PushList => push::list(state, actor, &key, version).await?,
        _ => push::delete(state, actor, &key, version, name.one(version)?).await?,
    }))
}
