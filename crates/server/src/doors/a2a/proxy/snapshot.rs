//! A task as its agent tells it now, and how its client sees it.

use placet_a2a::{AgentTask, Fault, Operation, Status, TaskState};
use serde_json::{Value, json, value::RawValue};

use super::{
    super::desk::fault,
    agent::{Agent, QUICK, Trouble},
    hold::{self, View, look},
    hub::{TaskEvent, Then},
    kept::{KnownTask, key},
    life::{Loss, PauseTurn},
    pushes,
    settings::Mode,
    show,
};
use crate::State;

/// Why a task that its agent has forgotten cannot go on.
pub(super) const UNKNOWN: &str = "the agent does not know it any more";

/// A task as its agent tells it now, and how its client sees it.
pub(super) struct Snapshot {
    /// The whole task, as shown.
    pub(super) task: Value,
    /// The answer as it came, if it can be shown as it came.
    pub(super) raw: Option<Box<RawValue>>,
    /// Where it stands, as shown.
    pub(super) state: Option<TaskState>,
    /// Whether people decide, or their answer is on its way.
    pub(super) waits: bool,
}

/// Asks the agent how a task stands. A task that the agent has lost is shown as broken, and remembered so.
pub(super) async fn snapshot(
    state: &State,
    agent: &Agent,
    kept: &mut KnownTask,
    history: Option<u32>,
) -> Result<Snapshot, Fault> {
    let shown = ask(state, agent, kept, history).await?;
    pushes::announce(state, agent, kept, &shown).await?;
    Ok(shown)
}

async fn ask(
    state: &State,
    agent: &Agent,
    kept: &mut KnownTask,
    history: Option<u32>,
) -> Result<Snapshot, Fault> {
    if let Some(why) = kept.facts.lost.clone() {
        return Ok(gone(state, kept, &why));
    }
    let raw = match fetch(agent, kept, history).await {
        Ok(raw) => raw,
        Err(trouble) if trouble.is_missing_task() => {
            lose(state, agent, kept, Loss::UpstreamLost, UNKNOWN).await?;
            return Ok(gone(state, kept, UNKNOWN));
        }
        // People decide whether or not the agent is there meanwhile.
        Err(_) if agent.settings.mode == Mode::Hold && kept.facts.is_being_decided() => {
            let status = waiting(state, kept).await?;
            return Ok(Snapshot { waits: true, ..bare(kept, &status) });
        }
        Err(trouble) => return Err(trouble.into()),
    };
    let value: Value = serde_json::from_str(raw.get()).unwrap_or_default();
    let seen = AgentTask::of(&value).filter(|seen| seen.id == kept.id);
    let seen =
        seen.ok_or_else(|| Fault::BadAgent("it answers with something that is not the task".to_owned()))?;
    let view = look(state, agent, kept, &seen).await?;
    shown(state, kept, &seen, Some(raw), view).await
}

/// Reads a task from its agent. One that it does not know is asked for twice: one of several copies of an agent may not have
/// heard of it yet, and a task is lost for good.
pub(super) async fn fetch(
    agent: &Agent,
    kept: &KnownTask,
    history: Option<u32>,
) -> Result<Box<RawValue>, Trouble> {
    let mut params = json!({"id": kept.id});
    if let (Some(history), Some(fields)) = (history, params.as_object_mut()) {
        fields.insert("historyLength".to_owned(), json!(history));
    }
    let calling = agent.calling(&kept.facts).await;
    let answered = agent.call(&calling, Operation::Get, &params, QUICK).await;
    if !answered.as_ref().is_err_and(Trouble::is_missing_task) {
        return answered;
    }
    tokio::time::sleep(agent.settings.ask_again_after).await;
    agent.call(&calling, Operation::Get, &params, QUICK).await
}

/// How a client sees a task that its agent told of.
pub(super) async fn shown(
    state: &State,
    kept: &KnownTask,
    seen: &AgentTask<'_>,
    raw: Option<Box<RawValue>>,
    view: View,
) -> Result<Snapshot, Fault> {
    match view {
        View::AsIs => {
            Ok(Snapshot { task: show::task(kept, seen, None), raw, state: seen.state, waits: false })
        }
        View::Waiting => {
            let status = waiting(state, kept).await?;
            let task = show::counted(kept, show::task(kept, seen, Some(&status)));
            Ok(Snapshot { task, raw: None, state: Some(status.state), waits: true })
        }
        View::Refused(why) => {
            let task = show::counted(kept, show::refused(kept, seen, &why));
            Ok(Snapshot { task, raw: None, state: seen.state, waits: false })
        }
        View::Broken(why) => Ok(gone(state, kept, &why)),
    }
}

/// What a client is told of the people who decide.
async fn waiting(state: &State, kept: &KnownTask) -> Result<Status, Fault> {
    let requests = hold::requests(state, kept).await.map_err(|error| fault(state, error))?;
    Ok(show::waiting(kept, &requests, &|request| state.gate.card(request), state.gate.now()))
}

fn gone(state: &State, kept: &KnownTask, why: &str) -> Snapshot {
    bare(kept, &show::broken(kept, why, state.gate.now()))
}

/// A task of which nothing but this is known.
fn bare(kept: &KnownTask, status: &Status) -> Snapshot {
    let task = kept.facts.version().bare_task(&kept.id, &kept.facts.context, status);
    Snapshot { task: show::counted(kept, task), raw: None, state: Some(status.state), waits: false }
}

/// Remembers that nobody can go on with a task, and tells whoever follows it. What was approved and not sent is not used.
pub(super) async fn lose(
    state: &State,
    agent: &Agent,
    kept: &mut KnownTask,
    loss: Loss,
    why: &str,
) -> Result<(), Fault> {
    let lost = PauseTurn::Lost { loss, why: why.to_owned() };
    hold::turn(state, agent, kept, &lost).await.map_err(|error| fault(state, error))?;
    let version = kept.facts.version();
    let status = version.status(&show::broken(kept, why, state.gate.now()));
    let event = version.status_event(&kept.id, &kept.facts.context, status, true);
    state
        .proxy
        .hub
        .tell(&key(agent, &kept.id), TaskEvent { text: event.to_string().into(), then: Then::End });
    Ok(())
}
