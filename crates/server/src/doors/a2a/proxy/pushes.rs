//! News of tasks of agents behind us, posted by us: an agent would tell of its pauses as they are.

use std::sync::Arc;

use placet_a2a::{Fault, Operation, PushConfig, PushName, SetPush, TaskState, Version};
use placet_core::Actor;
use serde_json::Value;

use super::{
    super::{
        desk::fault,
        push::{self, About, Change},
        serve::{Answer, Asked},
    },
    agent::Agent,
    forward::find,
    kept::{self, Kept},
    reader::{self, Source},
    snapshot::{Snapshot, snapshot},
};
use crate::State;

/// Tells whoever wishes it how a task is seen now. Said twice, it is told once.
pub(super) async fn announce(
    state: &State,
    agent: &Agent,
    kept: &mut Kept,
    shown: &Snapshot,
) -> Result<(), Fault> {
    if !kept.facts.push {
        return Ok(());
    }
    let wrong = |error| fault(state, error);
    let now = shown.task.get("status").cloned().unwrap_or_default();
    // Texts change while people decide; what is told of is where the task stands.
    let now = format!("{} {}", now.get("state").and_then(Value::as_str).unwrap_or_default(), shown.waits);
    kept::update(&state.gate, agent, kept, |facts| {
        let news = facts.told != now;
        if news {
            facts.told.clone_from(&now);
            facts.generation += 1;
        }
        news
    })
    .await
    .map_err(wrong)?;
    let change = Change {
        key: &kept::key(agent, &kept.id),
        generation: kept.facts.generation,
        ended: shown.state.is_some_and(TaskState::is_terminal),
        task: &|_| shown.task.clone(),
    };
    push::changed(state, change).await.map_err(wrong)
}

/// Keeps a wish about a task.
pub(super) async fn wish(
    state: &State,
    agent: &Arc<Agent>,
    actor: &Actor,
    mut kept: Kept,
    version: Version,
    config: &PushConfig,
) -> Result<Value, Fault> {
    let marked =
        kept::update(&state.gate, agent, &mut kept, |facts| !std::mem::replace(&mut facts.push, true));
    marked.await.map_err(|error| fault(state, error))?;
    let ended = kept.facts.ended || kept.facts.lost.is_some();
    let key = kept::key(agent, &kept.id);
    let about = About { key: &key, id: &kept.id, generation: kept.facts.generation, ended };
    let set = push::set(state, actor, about, version, config).await?;
    // What happened since it was read is told as well.
    snapshot(state, agent, &mut kept, None).await?;
    Ok(set)
}

/// Makes sure that somebody reads a task that somebody wishes to be told of.
pub(super) fn keep_up(state: &State, agent: &Arc<Agent>, kept: Kept) {
    if !kept.facts.ended && kept.facts.lost.is_none() && kept.facts.open_pause().is_none() {
        reader::read(state, agent, kept, Source::Ask, false);
    }
}

/// The calls about wishes.
pub(super) async fn serve(state: &State, agent: &Arc<Agent>, asked: &Asked<'_>) -> Result<Answer, Fault> {
    let (actor, version) = (asked.actor, asked.version);
    if asked.operation == Operation::PushSet {
        let SetPush { task, config } = SetPush::read(version, asked.params)?;
        push::check(state, actor, &config)?;
        let kept = find(state, agent, actor, &task, version).await?;
        let set = wish(state, agent, actor, kept, version, &config).await?;
        keep_up(state, agent, find(state, agent, actor, &task, version).await?);
        return Ok(Answer::Document(set));
    }
    let name = PushName::read(version, asked.params)?;
    let kept = find(state, agent, actor, &name.task, version).await?;
    let key = kept::key(agent, &kept.id);
    Ok(Answer::Document(match asked.operation {
        Operation::PushGet => {
            push::get(state, actor, (&key, &kept.id), version, name.config.as_deref()).await?
        }
        Operation::PushList => push::list(state, actor, &key, version).await?,
        _ => push::delete(state, actor, &key, version, name.one(version)?).await?,
    }))
}
