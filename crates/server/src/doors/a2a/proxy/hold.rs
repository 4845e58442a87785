//! A pause of an agent becomes one group of requests, one for each call or question it waits for.

use std::sync::Arc;

use data_encoding::HEXLOWER;
use placet_a2a::{AgentTask, Fault, TaskState, pause};
use placet_core::{Create, Kind, Request, State as Life};
use placet_gate::{GateError, Idempotency};
use placet_ledger::canonical;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::{
    super::{
        desk::fault,
        task::{FIELD, Lineage},
    },
    agent::Agent,
    kept::{self, KnownTask},
    life::{NewPause, PauseTurn, Paused, Withdrawal},
    settings::{Generic, Mode},
};
use crate::{State, call::scope};

/// Largest pause that is kept.
const LARGEST: usize = 512 * 1024;

/// How what an agent says about its task is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum View {
    /// As it came.
    AsIs,
    /// At work: people decide, or their answer is on its way.
    Waiting,
    /// Withdrawn, because people did not answer its question; with the reason.
    Refused(String),
    /// Broken: nobody can go on with it.
    Broken(String),
}

/// Takes note of how a task stands, and asks people if it waits for them.
pub(super) async fn look(
    state: &State,
    agent: &Agent,
    kept: &mut KnownTask,
    seen: &AgentTask<'_>,
) -> Result<View, Fault> {
    let wrong = |error| fault(state, error);
    match seen.state {
        Some(end) if end.is_terminal() => {
            turn(state, agent, kept, &PauseTurn::Ended).await.map_err(wrong)?;
            let refused = kept.facts.refused.clone().filter(|_| end == TaskState::Canceled);
            Ok(refused.map_or(View::AsIs, View::Refused))
        }
        Some(TaskState::InputRequired | TaskState::AuthRequired) => {
            hold(state, agent, kept, seen.status).await
        }
        _ => Ok(View::AsIs),
    }
}

/// Takes a turn of the life cycle of a task's pause, and withdraws what people need not decide any more. `false` if the turn
/// does not apply.
pub(super) async fn turn(
    state: &State,
    agent: &Agent,
    kept: &mut KnownTask,
    turn: &PauseTurn,
) -> Result<bool, GateError> {
    let Ok(withdrawal) = kept::turn(&state.gate, agent, kept, turn).await? else { return Ok(false) };
    if let Some(Withdrawal { source, group, why }) = withdrawal {
        withdraw_group(state, kept, (&source, &group), &why).await?;
    }
    Ok(true)
}

/// Withdraws what is not final yet of the last pause.
pub(super) async fn withdraw(state: &State, kept: &KnownTask, why: &str) -> Result<(), GateError> {
    match &kept.facts.pause {
        Some(pause) => withdraw_group(state, kept, (&pause.source, &pause.group), why).await,
        None => Ok(()),
    }
}

async fn withdraw_group(
    state: &State,
    kept: &KnownTask,
    (source, group): (&str, &str),
    why: &str,
) -> Result<(), GateError> {
    for request in of_group(state, kept, source, group).await? {
        if matches!(request.state_at(state.gate.now()), Life::Pending | Life::Approved) {
            match state.gate.cancel(&kept.actor(), request.id, Some(why.to_owned()), None).await {
                // Decided or claimed in that moment, or final already.
                Ok(_) | Err(GateError::Refused { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// The requests of the last pause, in the order of its items.
pub(super) async fn requests(state: &State, kept: &KnownTask) -> Result<Vec<Arc<Request>>, GateError> {
    match &kept.facts.pause {
        Some(pause) => of_group(state, kept, &pause.source, &pause.group).await,
        None => Ok(Vec::new()),
    }
}

/// The requests that this door made for a pause. Its caller can make others under the same name, at another door: those are
/// not looked at.
async fn of_group(
    state: &State,
    kept: &KnownTask,
    source: &str,
    group: &str,
) -> Result<Vec<Arc<Request>>, GateError> {
    let most = u32::try_from(placet_a2a::desk::ITEMS).unwrap_or(u32::MAX);
    let mut found = state.gate.group(&kept.actor(), source, group, most).await?;
    found.sort_by_key(|request| Lineage::of(request).map(|lineage| lineage.item));
    Ok(found)
}

/// Asks people about a pause, once however often it is seen.
async fn hold(state: &State, agent: &Agent, kept: &mut KnownTask, status: &Value) -> Result<View, Fault> {
    let shown = match agent.settings.mode {
        Mode::Hold => View::Waiting,
        Mode::Mirror => View::AsIs,
    };
    let pause = match pause::detect(status) {
        Ok(Some(pause)) if status.to_string().len() <= LARGEST => Ok(pause),
        Ok(Some(_)) => Err(format!("it has more than {LARGEST} bytes")),
        Ok(None) => return Ok(View::AsIs),
        Err(why) => Err(why.message()),
    };
    let passed = |pause: &pause::Pause| {
        pause.dialect == pause::Dialect::Generic && agent.settings.generic == Generic::Pass
    };
    if pause.as_ref().is_ok_and(passed) {
        return Ok(View::AsIs);
    }
    // Before it is judged: what an agent says of a pause whose answer it has, or is about to get, is not what it will wait for.
    let (now, resend_after) = (state.gate.now().millis(), agent.settings.resend_after);
    let known = kept.facts.pause.as_ref();
    if known.is_some_and(|known| known.is_answered(status, pause.is_err(), now, resend_after)) {
        return Ok(shown);
    }
    let pause = match pause {
        Ok(pause) => pause,
        Err(why) => return broken(state, agent, kept, why, shown).await,
    };
    let print = pause.fingerprint();
    // The same pause again after it was given up for past: people are asked again, because what they said then was withdrawn.
    let same = kept.facts.pause.as_ref().filter(|known| known.print == print);
    // Unless the task was given up: then nobody is asked about it again.
    if let (Some(_), Some(why), None) = (same, &kept.facts.lost, kept.facts.open_pause()) {
        return Ok(View::Broken(why.clone()));
    }
    let round = same.map_or(0, |known| known.round + u32::from(known.is_over(now, resend_after)));
    let digest = scope(&["a2a/pause", &agent.name(), &kept.id, &print, &round.to_string()]);
    let group = format!("a2a-{}", HEXLOWER.encode(digest.get(..16).unwrap_or_default()));
    match kept.facts.pause.as_ref().filter(|known| known.group == group) {
        Some(known) if known.is_asked() => return Ok(shown),
        Some(_) => {}
        None => {
            let pause = NewPause {
                group: group.clone(),
                source: agent.settings.source(),
                print,
                round,
                status: status.clone(),
                secret: state.gate.secret_token(),
            };
            let seen = PauseTurn::Seen { known: kept.facts.pause.as_ref().map(Paused::standing), pause };
            turn(state, agent, kept, &seen).await.map_err(|error| fault(state, error))?;
            if kept.facts.pause.as_ref().is_none_or(|pause| pause.group != group) {
                return Ok(shown);
            }
        }
    }
    if let Err(error) = ask(state, agent, kept, &pause, &group).await {
        return match error {
            // What does not fit never will; everything else may be better in a moment, and is tried again.
            Fault::InvalidParams(why) | Fault::Unsupported(why) => {
                broken(state, agent, kept, why, shown).await
            }
            other => Err(other),
        };
    }
    let asked = PauseTurn::Asked { group };
    turn(state, agent, kept, &asked).await.map_err(|error| fault(state, error))?;
    Ok(shown)
}

/// A pause that nobody here can put to people: the task is given up, and never gone on with. Unless the pause moved on since
/// the agent was asked: then what it said is not of this moment.
async fn broken(
    state: &State,
    agent: &Agent,
    kept: &mut KnownTask,
    why: String,
    shown: View,
) -> Result<View, Fault> {
    let why = format!("its pause cannot be decided here: {why}");
    let known = kept.facts.pause.as_ref().map(Paused::standing);
    let broken = PauseTurn::Broken { known, why: why.clone() };
    if turn(state, agent, kept, &broken).await.map_err(|error| fault(state, error))? {
        tracing::warn!(agent = %agent.name(), task = %kept.id, why, "a task is given up");
    }
    Ok(kept.facts.lost.clone().map_or(shown, View::Broken))
}

async fn ask(
    state: &State,
    agent: &Agent,
    kept: &KnownTask,
    pause: &pause::Pause,
    group: &str,
) -> Result<(), Fault> {
    let (actor, source) = (kept.actor(), agent.settings.source());
    for (item, asked) in pause.items.iter().enumerate() {
        let lineage = Lineage {
            namespace: agent.settings.namespace.clone(),
            agent: agent.settings.agent.clone(),
            task: kept.id.clone(),
            context: kept.facts.context.clone(),
            message: pause.message_id().to_owned(),
            dialect: pause.dialect.as_str().to_owned(),
            item,
            items: pause.items.len(),
            id: Some(asked.id.clone()),
        };
        let create = create(&asked.create, agent, kept, group, &lineage);
        let wrong = |why: String| Fault::InvalidParams(format!("item {} of the pause: {why}", item + 1));
        // What the group's name stands for is the pause; words around it may change from one look to the next.
        let body = canonical(&json!([group, asked.id])).map_err(|error| wrong(error.to_string()))?;
        let idempotency = Idempotency {
            scope: scope(&["a2a/pause/item", &agent.name(), &kept.owner, group, &item.to_string()]),
            body: Sha256::digest(&body).into(),
        };
        let submitted = state.gate.submit_from(&source, &actor, create, Some(idempotency)).await;
        submitted.map_err(|error| fault(state, error))?;
    }
    Ok(())
}

fn create(asked: &Create, agent: &Agent, kept: &KnownTask, group: &str, lineage: &Lineage) -> Create {
    let mut create = asked.clone();
    create.session.clone_from(&kept.facts.context);
    create.group = Some(group.to_owned());
    // The answer is sent once, by whoever holds the permits.
    create.permit = (create.kind == Kind::Action).then_some(true);
    create.expires_in.clone_from(&agent.settings.expires_in);
    create.context.get_or_insert_with(Map::new).insert(FIELD.to_owned(), lineage.write());
    create
}
