//! A look at every open task now and then, and at all of them when the server starts: what was missed is found, and what went
//! on elsewhere is known.

use std::{collections::HashMap, sync::Arc};

use placet_gate::{GateError, NoteFilter};
use tokio_util::sync::CancellationToken;

use super::{
    agent::Agent,
    hold,
    kept::{self, KnownTask},
    life::{PauseTurn, Paused, Stage},
    reader::{self, Source},
    resume,
    snapshot::snapshot,
};
use crate::State;

/// How many tasks are looked at together.
const PAGE: u32 = 100;
const AT_ONCE: usize = 8;

/// Looks after the tasks of agents behind us until it is cancelled.
pub(crate) async fn run(state: State, cancel: CancellationToken) {
    if state.proxy.is_empty() {
        return;
    }
    let mut tick = tokio::time::interval(state.settings.timing.task_look);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = tick.tick() => round(&state, &cancel).await,
            () = cancel.cancelled() => return,
        }
    }
}

async fn round(state: &State, cancel: &CancellationToken) {
    let open = match open(state).await {
        Ok(open) => open,
        Err(error) => {
            tracing::warn!(%error, "open tasks cannot be read; trying again");
            return;
        }
    };
    // Each agent for itself: one that hangs holds up its own tasks only.
    let looks = open.into_values().map(|(agent, tasks)| async move {
        let ahead = state.proxy.turn(format!("watch/{}", agent.name()));
        if ahead.is_none() {
            return;
        }
        for some in tasks.chunks(AT_ONCE) {
            if cancel.is_cancelled() {
                return;
            }
            futures_util::future::join_all(some.iter().map(|kept| one(state, agent.clone(), kept.clone())))
                .await;
        }
    });
    let all = futures_util::future::join_all(looks);
    // The next round finds those who are not done still at it, and leaves them alone.
    tokio::select! {
        _ = all => {}
        () = cancel.cancelled() => {}
    }
}

type Open = HashMap<String, (Arc<Agent>, Vec<KnownTask>)>;

/// Every open task, by its agent.
async fn open(state: &State) -> Result<Open, GateError> {
    let filter = NoteFilter { open: Some(true), ..NoteFilter::of(kept::TASK) };
    let mut open = Open::new();
    let mut after: Option<String> = None;
    loop {
        let page = state.gate.notes(&filter, after.as_deref(), PAGE).await?;
        for note in &page.notes {
            let named = kept::split(&note.key);
            let agent = named.and_then(|((namespace, agent), _)| state.proxy.agent(namespace, agent));
            if let Some((agent, kept)) = agent.zip(KnownTask::read(note)) {
                open.entry(agent.name()).or_insert_with(|| (agent, Vec::new())).1.push(kept);
            }
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(open),
        }
    }
}

/// One task: a pause that nobody was asked about is asked now, a pause that is over is withdrawn, and a task at work has a
/// reader as long as somebody follows it.
async fn one(state: &State, agent: Arc<Agent>, mut kept: KnownTask) {
    let read = state.proxy.hub.is_read(&kept::key(&agent, &kept.id));
    if kept.facts.open_pause().is_some() {
        if let Err(error) = resume::catch_up(state, agent.clone(), &kept.id).await {
            tracing::warn!(%error, agent = %agent.name(), task = %kept.id, "a pause could not be looked at");
            return;
        }
        match kept::load(&state.gate, &agent, &kept.id).await {
            Ok(Some(now)) => kept = now,
            _ => return,
        }
    }
    if read || matches!(kept.facts.open_pause().map(Paused::stage), Some(Stage::Resuming { .. })) {
        return;
    }
    let before = kept.facts.pause.as_ref().map(|pause| (pause.group.clone(), pause.stage().clone()));
    let shown = match snapshot(state, &agent, &mut kept, Some(0)).await {
        Ok(shown) => shown,
        Err(why) => {
            tracing::debug!(agent = %agent.name(), task = %kept.id, why = why.message(), "a task could not be read");
            return;
        }
    };
    let over = shown.state.is_some_and(|state| !state.is_interrupted()) && !shown.waits;
    if let Some((group, Stage::Held)) = before
        && over
        && kept.facts.lost.is_none()
    {
        // The agent went on without the decision that people were asked for.
        if let Err(error) = hold::turn(state, &agent, &mut kept, &PauseTurn::WentOn { group }).await {
            tracing::warn!(%error, agent = %agent.name(), task = %kept.id, "a pause that is over could not be withdrawn");
        }
    }
    let follows = kept.facts.open_pause().is_none() && !kept.facts.ended && kept.facts.lost.is_none();
    if follows && state.proxy.hub.is_followed(&kept::key(&agent, &kept.id)) {
        reader::read(state, &agent, kept, Source::Ask, false);
    }
}
