//! What is kept of the tasks of agents behind us: whose they are, for whom they go on, and the pause that is being decided.
//!
//! None of it decides anything: decisions are requests. A change is made only to what was read, so that of two who act on the
//! same pause one finds out.

use std::{sync::Arc, time::Duration};

use placet_a2a::{Fault, Version};
use placet_core::{Actor, Auth, Role};
use placet_gate::{Gate, GateError, NewNote, Note, NoteChange, NoteExpected, NoteFilter};
use serde::{Deserialize, Serialize};

use super::{
    agent::{Agent, Calling, Identity},
    life::{self, NotNow, PauseTurn, Paused, Stage, Withdrawal},
};

/// The kinds of notes that hold tasks, and whose a conversation is.
pub(super) const TASK: &str = "a2a.task";
const CONTEXT: &str = "a2a.context";
/// How long a task is remembered after it last changed.
const REMEMBERED: Duration = Duration::from_hours(60 * 24);
/// How many open tasks of one conversation are looked at.
const TOGETHER: u32 = 20;

/// A task of an agent behind us.
#[derive(Debug, Clone)]
pub(super) struct KnownTask {
    /// Its id, which the agent chose.
    pub(super) id: String,
    /// Whose it is.
    pub(super) owner: String,
    /// The version of the note this was read from.
    at: u64,
    pub(super) facts: TaskRecord,
}

/// What is known of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct TaskRecord {
    version: String,
    pub(super) context: String,
    pub(super) identity: Identity,
    pub(super) extensions: Vec<String>,
    /// Whether nothing comes after it. Like `pause` and `lost`, changed in `life.rs` only.
    pub(super) ended: bool,
    /// The pause that is being decided, or was last.
    pub(super) pause: Option<Paused>,
    /// Why there is nothing to go on with any more.
    pub(super) lost: Option<String>,
    /// Why people did not answer its question, if it was withdrawn for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refused: Option<String>,
    /// Whether it has push notification configs, the state that was announced to them last, and how often that changed.
    #[serde(default)]
    pub(super) push: bool,
    #[serde(default, rename = "told")]
    pub(super) announced: String,
    #[serde(default)]
    pub(super) generation: u64,
}

impl TaskRecord {
    pub(super) fn version(&self) -> Version {
        if self.version == Version::V03.as_str() { Version::V03 } else { Version::V10 }
    }

    /// The pause that is not answered yet.
    pub(super) fn open_pause(&self) -> Option<&Paused> {
        self.pause.as_ref().filter(|pause| pause.is_open())
    }

    /// Whether people decide, or their answer is on its way. A task may have ended before we know that the answer arrived.
    pub(super) fn is_being_decided(&self) -> bool {
        self.open_pause().is_some() && !self.ended
    }
}

impl KnownTask {
    /// Its agent, acting through us for the one whose task it is.
    pub(super) fn actor(&self) -> Actor {
        Actor { name: self.owner.clone(), role: Role::Agent, key: None, session: None, auth: Auth::Open }
    }

    /// How often what is known of it has changed.
    pub(super) fn generation(&self) -> u64 {
        self.at
    }

    pub(super) fn read(note: &Note) -> Option<Self> {
        let (_, id) = split(&note.key)?;
        let facts = serde_json::from_str(&note.body).ok()?;
        Some(Self { id: id.to_owned(), owner: note.owner.clone(), at: note.version, facts })
    }
}

/// What a task is called among all tasks of all agents. Names of agents have no slash, so the third part is the id.
pub(super) fn key(agent: &Agent, id: &str) -> String {
    format!("{}/{id}", agent.name())
}

/// The agent and the id in such a name.
pub(super) fn split(key: &str) -> Option<((&str, &str), &str)> {
    let (namespace, rest) = key.split_once('/')?;
    let (agent, id) = rest.split_once('/')?;
    Some(((namespace, agent), id))
}

/// The task of this id, whoever's it is.
pub(super) async fn load(gate: &Gate, agent: &Agent, id: &str) -> Result<Option<KnownTask>, GateError> {
    // What is too long to be kept is nobody's.
    if id.len() > 512 {
        return Ok(None);
    }
    Ok(gate.note(TASK, &key(agent, id)).await?.as_ref().and_then(KnownTask::read))
}

/// Whether this caller may know of a task: its owner may, and people who review may.
pub(super) fn may_see(actor: &Actor, kept: &KnownTask) -> bool {
    match actor.role {
        Role::Agent => kept.owner == actor.name,
        Role::Reviewer | Role::Auditor => true,
        Role::Admin => false,
    }
}

/// A new task, and its conversation if that is new too.
#[derive(Debug)]
pub(super) struct Meeting<'a> {
    pub(super) owner: &'a str,
    pub(super) id: &'a str,
    pub(super) context: &'a str,
    /// For whom it was begun, and how.
    pub(super) calling: &'a Calling,
    /// The conversation it continues, if the caller named one that is known.
    pub(super) continues: Option<Conversation>,
    /// Whether the task has ended already.
    pub(super) ended: bool,
}

/// The task, which is remembered from now on. An agent that names a task or a conversation of somebody else is not
/// believed.
pub(super) async fn meet(
    gate: &Gate,
    agent: &Agent,
    met: &Meeting<'_>,
) -> Result<Result<KnownTask, Fault>, GateError> {
    let strange = || Fault::BadAgent("it answers with a task or a conversation of somebody else".to_owned());
    let facts = TaskRecord {
        version: met.calling.version.as_str().to_owned(),
        context: met.context.to_owned(),
        identity: met.calling.identity.clone(),
        extensions: met.calling.extensions.clone(),
        ended: met.ended,
        pause: None,
        lost: None,
        refused: None,
        push: false,
        announced: String::new(),
        generation: 0,
    };
    let mut kept = KnownTask { id: met.id.to_owned(), owner: met.owner.to_owned(), at: 0, facts };
    // Most tasks are new, and so are most conversations: written without a look, and looked at if that fails.
    let mut continues = met.continues.as_ref().map(|known| known.at);
    for _ in 0..8 {
        let expected = continues.map_or(NoteExpected::Absent, NoteExpected::Version);
        let changes =
            vec![put(gate, agent, &kept, NoteExpected::Absent), conversation(gate, agent, met, expected)];
        if let Ok(versions) = gate.change_notes(changes).await? {
            kept.at = versions.first().copied().unwrap_or(1);
            return Ok(Ok(kept));
        }
        if let Some(known) = load(gate, agent, met.id).await? {
            let same = known.owner == met.owner && known.facts.context == met.context;
            return Ok(if same { Ok(known) } else { Err(strange()) });
        }
        match known_conversation(gate, agent, met.context).await? {
            Some(known) if known.owner != met.owner => return Ok(Err(strange())),
            found => continues = found.map(|known| known.at),
        }
    }
    Ok(Err(Fault::Busy("others write to this conversation: try again".to_owned())))
}

/// Says whose a conversation is, for as long as a task of it is remembered.
fn conversation(gate: &Gate, agent: &Agent, met: &Meeting<'_>, expected: NoteExpected) -> NoteChange {
    NoteChange::Put {
        note: NewNote {
            kind: CONTEXT,
            key: key(agent, met.context),
            owner: met.owner.to_owned(),
            scope: agent.name(),
            open: false,
            keep_until: gate.now().plus(REMEMBERED),
            body: "{}".into(),
        },
        expected,
    }
}

/// A conversation that is known.
#[derive(Debug, Clone)]
pub(super) struct Conversation {
    /// Whose it is.
    pub(super) owner: String,
    /// The version of the note this was read from.
    at: u64,
}

/// Whose a conversation is, if it is known.
pub(super) async fn known_conversation(
    gate: &Gate,
    agent: &Agent,
    context: &str,
) -> Result<Option<Conversation>, GateError> {
    let note = gate.note(CONTEXT, &key(agent, context)).await?;
    Ok(note.map(|note| Conversation { owner: note.owner, at: note.version }))
}

/// The open tasks of a conversation; nothing if there are more than can be looked at.
pub(super) async fn open_in(
    gate: &Gate,
    agent: &Agent,
    context: &str,
) -> Result<Option<Vec<KnownTask>>, GateError> {
    let filter = NoteFilter { scope: Some(key(agent, context)), open: Some(true), ..NoteFilter::of(TASK) };
    let page = gate.notes(&filter, None, TOGETHER).await?;
    Ok(page.next.is_none().then(|| page.notes.iter().filter_map(KnownTask::read).collect()))
}

fn put(gate: &Gate, agent: &Agent, kept: &KnownTask, expected: NoteExpected) -> NoteChange {
    let failed = kept.facts.pause.as_ref().is_some_and(|pause| *pause.stage() == Stage::Failed);
    debug_assert!(!failed || kept.facts.lost.is_some(), "whoever sees that a pause failed sees why");
    let body = serde_json::to_string(&kept.facts).unwrap_or_default();
    NoteChange::Put {
        note: NewNote {
            kind: TASK,
            key: key(agent, &kept.id),
            owner: kept.owner.clone(),
            scope: key(agent, &kept.facts.context),
            open: !kept.facts.ended && kept.facts.lost.is_none(),
            keep_until: gate.now().plus(REMEMBERED),
            body: Arc::from(body),
        },
        expected,
    }
}

/// Writes what changed; `false` if somebody else changed it first, and then nothing is written.
pub(super) async fn save(gate: &Gate, agent: &Agent, kept: &mut KnownTask) -> Result<bool, GateError> {
    save_and_raise(gate, agent, kept, None).await
}

async fn save_and_raise(
    gate: &Gate,
    agent: &Agent,
    kept: &mut KnownTask,
    raise: Option<NoteChange>,
) -> Result<bool, GateError> {
    let mut changes = vec![put(gate, agent, kept, NoteExpected::Version(kept.at))];
    changes.extend(raise);
    match gate.change_notes(changes).await? {
        Ok(versions) => {
            kept.at = versions.first().copied().unwrap_or(kept.at + 1);
            Ok(true)
        }
        Err(_) => Ok(false),
    }
}

/// Changes a task until nobody else is faster. The change looks at what is there and may find nothing to do.
pub(super) async fn update(
    gate: &Gate,
    agent: &Agent,
    kept: &mut KnownTask,
    change: impl FnMut(&mut TaskRecord) -> bool,
) -> Result<bool, GateError> {
    update_and_raise(gate, agent, kept, change, None).await
}

/// What those who follow a task are to hear of a change: made from its name and what it is then.
pub(super) type News<'a> = &'a (dyn Fn(String, &TaskRecord) -> NoteChange + Sync);

/// The same, with news for those who follow the task.
pub(super) async fn update_and_raise(
    gate: &Gate,
    agent: &Agent,
    kept: &mut KnownTask,
    mut change: impl FnMut(&mut TaskRecord) -> bool,
    news: Option<News<'_>>,
) -> Result<bool, GateError> {
    for _ in 0..8 {
        let mut next = kept.clone();
        if !change(&mut next.facts) {
            return Ok(false);
        }
        let raise = news.map(|news| news(key(agent, &next.id), &next.facts));
        if save_and_raise(gate, agent, &mut next, raise).await? {
            *kept = next;
            return Ok(true);
        }
        match load(gate, agent, &kept.id).await? {
            Some(fresh) => *kept = fresh,
            None => return Ok(false),
        }
    }
    Ok(false)
}

/// Takes a turn of the life cycle of its pause, until nobody else is faster.
pub(super) async fn turn(
    gate: &Gate,
    agent: &Agent,
    kept: &mut KnownTask,
    turn: &PauseTurn,
) -> Result<Result<Option<Withdrawal>, NotNow>, GateError> {
    let mut taken = Err(NotNow);
    let saved = update(gate, agent, kept, |facts| {
        taken = life::turn(facts, turn);
        taken.is_ok()
    });
    Ok(if saved.await? { taken } else { Err(NotNow) })
}
