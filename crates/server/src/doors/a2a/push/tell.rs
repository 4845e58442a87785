//! A task changed: what is to be told is written down first and posted then, by one node at a time.
//!
//! INVARIANT: `told` moves only after the receiver took that generation or a later one, and what is posted is what was newest
//! when it was taken up. So the end of a task is told at least once, and nothing older after it.

use std::time::Duration;

use placet_a2a::Version;
use placet_gate::{GateError, Note};
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;

use super::{
    KIND, noted, of_task,
    post::post,
    wish::{Attempt, Wish},
    wishes,
};
use crate::State;

/// Largest task that is posted whole.
const LARGEST: usize = 512 * 1024;
/// How long a message on its way may take once the server stops.
const GRACE: Duration = Duration::from_secs(2);

/// A state of a task.
pub(in crate::doors::a2a) struct Change<'a> {
    /// What the task is called among all tasks of all agents: the scope of its wishes.
    pub(in crate::doors::a2a) key: &'a str,
    /// Grows with every change of the task.
    pub(in crate::doors::a2a) generation: u64,
    /// Whether nothing comes after it.
    pub(in crate::doors::a2a) ended: bool,
    /// The whole task, as a version writes it.
    pub(in crate::doors::a2a) task: &'a (dyn Fn(Version) -> Value + Sync),
}

/// Has everybody told who wishes so: at once if that is possible, and otherwise as soon as it is. When this returns, it is not
/// forgotten any more.
pub(in crate::doors::a2a) async fn changed(state: &State, change: Change<'_>) -> Result<(), GateError> {
    for note in of_task(state, change.key).await? {
        match expect(state, &change, note).await {
            // Too much is waiting to be told already. That is this caller's loss and nobody else's.
            Err(GateError::Refused { refusal, .. }) => {
                tracing::warn!(task = change.key, why = %refusal, "a push notification cannot be kept");
            }
            done => done?,
        }
    }
    Ok(())
}

/// Writes down that one wish has news, and takes it up if there is a turn.
async fn expect(state: &State, change: &Change<'_>, mut note: Note) -> Result<(), GateError> {
    loop {
        let Some(mut wish) = Wish::of(&note).filter(|wish| wish.is_news(change.generation)) else {
            return Ok(());
        };
        let now = state.gate.now();
        let task = trimmed((change.task)(wish.version()));
        wish.expect(change.generation, change.ended, task, now);
        let turn = turn(state).filter(|_| take(state, &mut wish));
        if let Some(version) = save(state, &note, &wish).await? {
            if let Some(turn) = turn {
                start(state, Note { version, ..note }, wish, turn);
            }
            return Ok(());
        }
        match state.gate.note(KIND, &note.key).await? {
            Some(now) => note = now,
            None => return Ok(()),
        }
    }
}

/// A task that fits into a note. What is left out of a large one can be read.
fn trimmed(mut task: Value) -> Value {
    if let Value::Object(fields) = &mut task {
        for name in ["history", "artifacts"] {
            if serde_json::to_vec(fields).is_ok_and(|text| text.len() > LARGEST) {
                fields.remove(name);
            }
        }
    }
    task
}

fn turn(state: &State) -> Option<OwnedSemaphorePermit> {
    state.push.turns.clone().try_acquire_owned().ok()
}

/// Whether this node posts next.
fn take(state: &State, wish: &mut Wish) -> bool {
    let store = state.gate.store();
    !state.closing.is_cancelled() && wish.lease(store.owner(), !store.is_shared(), state.gate.now())
}

/// Writes a wish in place of what was read; nothing if somebody else wrote meanwhile.
async fn save(state: &State, read: &Note, wish: &Wish) -> Result<Option<u64>, GateError> {
    let note = wish.note(&state.gate, &read.scope, &read.owner);
    let done = state.gate.change_notes(vec![noted(note, read.version)]).await?;
    Ok(done.ok().and_then(|versions| versions.first().copied()))
}

fn start(state: &State, note: Note, wish: Wish, turn: OwnedSemaphorePermit) {
    let own = state.clone();
    state.tasks.spawn(async move {
        if let Err(error) = deliver(&own, note, wish).await {
            // Its lease runs out, and it is posted once more.
            tracing::warn!(%error, "what became of a push notification could not be recorded");
        }
        drop(turn);
    });
}

/// Posts what a wish of this node has pending, and what comes up meanwhile.
async fn deliver(state: &State, mut note: Note, mut wish: Wish) -> Result<(), GateError> {
    let Some(http) = &state.push.http else { return Ok(()) };
    let by = state.gate.store().owner();
    while let Some(pending) = wish.pending.clone() {
        let late = async {
            state.closing.cancelled().await;
            tokio::time::sleep(GRACE).await;
        };
        let (attempt, why) = tokio::select! {
            done = post(http, &wish, &pending, state.settings.timing.push_timeout) => done,
            () = late => (Attempt::Failed, "the server stops".to_owned()),
        };
        count(&note, attempt, &why);
        // Until it is written: others may have written something newer.
        let next = loop {
            let gave_up = wish.attempted(by, pending.generation, pending.ended, attempt, state.gate.now());
            if gave_up {
                tracing::warn!(
                    task = note.scope,
                    why,
                    "a push notification was not taken for a day and is given up"
                );
            }
            let next = attempt == Attempt::Taken && wish.pending.is_some() && take(state, &mut wish);
            if let Some(version) = save(state, &note, &wish).await? {
                note.version = version;
                break next;
            }
            // Taken back meanwhile, or there is something newer.
            let Some(now) = state.gate.note(KIND, &note.key).await? else { return Ok(()) };
            let Some(read) = Wish::of(&now) else { return Ok(()) };
            (note, wish) = (now, read);
        };
        if !next {
            return Ok(());
        }
    }
    Ok(())
}

fn count(note: &Note, attempt: Attempt, why: &str) {
    let outcome = match attempt {
        Attempt::Taken => "taken",
        Attempt::Failed => {
            tracing::debug!(task = note.scope, why, "a push notification was not taken; trying again");
            "failed"
        }
        Attempt::Refused => {
            tracing::warn!(task = note.scope, why, "a push notification cannot be posted");
            "refused"
        }
    };
    metrics::counter!("placet_pushes_total", "outcome" => outcome).increment(1);
}

/// Takes up whatever is due and nobody has.
pub(super) async fn left_over(state: &State) -> Result<(), GateError> {
    let mut after = None;
    loop {
        let (notes, next) = wishes(state, Some(true), after.as_deref()).await?;
        for note in notes {
            again(state, note).await?;
        }
        match next {
            Some(_) => after = next,
            None => return Ok(()),
        }
    }
}

/// Takes up what failed before and is due, or what a node that is gone has left.
async fn again(state: &State, note: Note) -> Result<(), GateError> {
    let Some(turn) = turn(state) else { return Ok(()) };
    let Some(mut wish) = Wish::of(&note) else { return Ok(()) };
    if !take(state, &mut wish) {
        return Ok(());
    }
    // Another node was faster: then it has it.
    if let Some(version) = save(state, &note, &wish).await? {
        start(state, Note { version, ..note }, wish, turn);
    }
    Ok(())
}
