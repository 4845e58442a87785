//! The desk's tasks, as the ledger tells of them, and a look now and then at what is left to be told.

use placet_a2a::Version;
use placet_core::{Actor, Auth, Role};
use placet_gate::{GateError, News, Note};

use super::{Change, changed, of_task, tell::left_over, wish::Wish, wishes};
use crate::{
    State,
    doors::a2a::desk::{self, SOURCE},
};

/// Tells of the desk's tasks, and of whatever is left to be told, until the server closes.
pub(crate) async fn run(state: State) {
    loop {
        let followed = tokio::select! {
            followed = follow(&state) => followed,
            () = state.closing.cancelled() => return,
        };
        match followed {
            Ok(()) | Err(GateError::Closing) => return,
            Err(error) => tracing::warn!(%error, "tasks cannot be followed; trying again"),
        }
        tokio::time::sleep(state.settings.timing.push_look).await;
    }
}

async fn follow(state: &State) -> Result<(), GateError> {
    // From before everything is looked at, so that nothing falls between the two.
    let mut feed = state.gate.door_feed().await?;
    missed(state).await?;
    let often = state.settings.timing.push_look;
    let mut look = tokio::time::interval(often);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            news = feed.next() => heard(state, &news?).await?,
            _ = look.tick() => {
                let began = tokio::time::Instant::now();
                left_over(state).await?;
                // Where much is left over, looking at it must not become the main work.
                look.reset_after(often.max(began.elapsed() * 10));
            }
        }
    }
}

/// Tells what the desk's tasks went through while nobody looked.
async fn missed(state: &State) -> Result<(), GateError> {
    let mut after = None;
    loop {
        let (notes, next) = wishes(state, None, after.as_deref()).await?;
        for note in &notes {
            of_desk(state, note).await?;
        }
        match next {
            Some(_) => after = next,
            None => return Ok(()),
        }
    }
}

async fn of_desk(state: &State, note: &Note) -> Result<(), GateError> {
    match note.scope.strip_prefix(&desk_key("")) {
        Some(task) if Wish::of(note).is_some_and(|wish| !wish.is_over()) => {
            desk_changed(state, task, &note.owner).await
        }
        _ => Ok(()),
    }
}

/// An entry of the ledger: of a task of the desk, or of something else.
async fn heard(state: &State, news: &News) -> Result<(), GateError> {
    let request = news.request.as_ref().filter(|request| request.came_by(SOURCE));
    match request.and_then(|request| Some((request.group.as_ref()?, &request.agent))) {
        Some((task, agent)) => desk_changed(state, task, agent).await,
        None => Ok(()),
    }
}

/// What the desk's task is called among all tasks of all agents.
pub(in crate::doors::a2a) fn desk_key(task: &str) -> String {
    format!("placet/desk/{task}")
}

/// Tells of a task of the desk as it now is.
pub(in crate::doors::a2a) async fn desk_changed(
    state: &State,
    task: &str,
    owner: &str,
) -> Result<(), GateError> {
    let key = desk_key(task);
    if of_task(state, &key).await?.is_empty() {
        return Ok(());
    }
    let actor =
        Actor { name: owner.to_owned(), role: Role::Agent, key: None, session: None, auth: Auth::Open };
    let Some((task, _)) = desk::read(state, &actor, task).await? else { return Ok(()) };
    let written = |version: Version| version.task(&task, None);
    let (generation, ended) = (task.generation, task.status.state.is_terminal());
    changed(state, Change { key: &key, generation, ended, task: &written }).await
}
