//! The calls of clients, passed on to the agent they are for.

use std::sync::Arc;

use placet_a2a::{AgentTask, Fault, ListTasks, Operation, PushConfig, TaskName, TaskState, Version, desk};
use placet_core::{Actor, Role};
use placet_gate::NoteFilter;
use serde_json::{Value, json, value::RawValue};
use tracing::Instrument as _;

use super::{
    super::{
        answer,
        desk::fault,
        push,
        serve::{A2aCall, Answer},
    },
    agent::{Agent, Calling, QUICK},
    client::{self, Client},
    hold,
    hub::Then,
    kept::{self, Conversation, KnownTask},
    life::Loss,
    pushes,
    sending::{Sending, StreamStart},
    settings::Mode,
    snapshot::{self, Snapshot, snapshot},
};
use crate::State;

/// How many tasks of a page are read at once.
const AT_ONCE: usize = 8;

/// Carries out a call to an agent behind us.
pub(in super::super) async fn serve(
    state: &State,
    agent: &Arc<Agent>,
    call: A2aCall<'_>,
) -> Result<Answer, Fault> {
    admit(agent, call.actor)?;
    let card = agent.card().await?;
    if !card.versions.contains(&call.version) {
        let speaks: Vec<&str> = card.versions.iter().map(|version| version.as_str()).collect();
        let why = format!("{} (this agent speaks {})", call.version.as_str(), speaks.join(" and "));
        return Err(Fault::VersionNotSupported(why));
    }
    match call.operation {
        Operation::Send | Operation::Stream => send(state, agent, call).await,
        Operation::Get => {
            let wanted = TaskName::read(call.params)?;
            let mut kept = find(state, agent, call.actor, &wanted.id, call.version).await?;
            Ok(document(snapshot(state, agent, &mut kept, wanted.history).await?))
        }
        Operation::Cancel => cancel(state, agent, call).await,
        Operation::Subscribe => subscribe(state, agent, call).await,
        Operation::List => list(state, agent, call).await,
        Operation::PushSet | Operation::PushGet | Operation::PushList | Operation::PushDelete => {
            pushes::serve(state, agent, &call).await
        }
        Operation::Card => Err(Fault::NoExtendedCard),
    }
}

fn document(shown: Snapshot) -> Answer {
    match shown.raw {
        Some(raw) => Answer::Raw(raw),
        None => Answer::Document(shown.task),
    }
}

/// Whether this caller may use the agent at all.
fn admit(agent: &Agent, actor: &Actor) -> Result<(), Fault> {
    let listed = agent.settings.callers.as_ref().is_none_or(|callers| callers.contains(&actor.name));
    match actor.role {
        Role::Agent if !listed => {
            Err(Fault::Forbidden(format!("`{}` is not one of those who may call this agent", actor.name)))
        }
        Role::Agent | Role::Reviewer | Role::Auditor => Ok(()),
        Role::Admin => Err(Fault::Forbidden("only agents and reviewers call agents".to_owned())),
    }
}

/// A task that this caller may know of. One that was begun in another version goes on in that.
pub(super) async fn find(
    state: &State,
    agent: &Agent,
    actor: &Actor,
    id: &str,
    version: Version,
) -> Result<KnownTask, Fault> {
    let kept = kept::load(&state.gate, agent, id).await.map_err(|error| fault(state, error))?;
    let kept = kept
        .filter(|kept| kept::may_see(actor, kept))
        .ok_or_else(|| Fault::TaskNotFound(id.chars().take(80).collect()))?;
    let began = kept.facts.version();
    if began != version {
        let why = format!("{} for a task that was begun in {}", version.as_str(), began.as_str());
        return Err(Fault::VersionNotSupported(why));
    }
    Ok(kept)
}

/// What a message names.
struct Named {
    task: Option<String>,
    context: Option<String>,
}

fn named(params: &Value) -> Result<Named, Fault> {
    let message = params.get("message").filter(|message| message.is_object());
    let message = message.ok_or_else(|| Fault::InvalidParams("`params.message` is missing".to_owned()))?;
    let text = |name: &str| match message.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
        Some(_) => Err(Fault::InvalidParams(format!("`params.message.{name}` is not text"))),
    };
    Ok(Named { task: text("taskId")?, context: text("contextId")? })
}

async fn send(state: &State, agent: &Arc<Agent>, call: A2aCall<'_>) -> Result<Answer, Fault> {
    let named = named(call.params)?;
    let mut params = call.params.clone();
    let push = take_push(state, &call, &mut params)?;
    let mut continues = None;
    let known = if let Some(id) = &named.task {
        let mut kept = find(state, agent, call.actor, id, call.version).await?;
        // As the task stands now: it may have paused since anybody looked.
        let open = !kept.facts.ended && kept.facts.lost.is_none();
        let waits = open && kept.facts.open_pause().is_none() && is_waiting(state, agent, &mut kept).await?;
        if let Some(done) = on_task(state, agent, &call, &named, kept.clone()).await? {
            return Ok(done);
        }
        if waits {
            return Err(Fault::Unsupported(PENDING.to_owned()));
        }
        // An agent that is told the task alone makes up another conversation, and the task fails.
        if let Some(message) = params.get_mut("message").and_then(Value::as_object_mut) {
            message.insert("contextId".to_owned(), json!(kept.facts.context));
        }
        Some(kept)
    } else {
        if call.actor.role != Role::Agent {
            return Err(Fault::Forbidden("only agents begin tasks: send the key of an agent".to_owned()));
        }
        if let Some(context) = &named.context {
            continues = in_context(state, agent, call.actor, context).await?;
        }
        None
    };
    undecided(&call)?;
    let identity = match &known {
        Some(kept) => kept.facts.identity.clone(),
        None => agent.identity(call.headers, &call.actor.name),
    };
    let extensions = agent.extensions(&wanted_extensions(&call)).await;
    let calling = Calling { version: call.version, identity, extensions };
    // In a task of its own: what was sent goes on, whether or not its sender stays to hear of it.
    let sending = Sending {
        state: state.clone(),
        agent: agent.clone(),
        actor: call.actor.clone(),
        calling,
        params,
        known,
        push,
        continues,
    };
    if call.operation == Operation::Send {
        let done = state.tasks.spawn(sending.once().in_current_span()).await;
        return done.map_err(|_| Fault::Internal("the call came to an end without an answer".to_owned()))?;
    }
    let seat = state.streams.take(&call.actor.name).map_err(super::super::problem)?;
    let (version, id, actor) = (call.version, call.id.clone(), call.actor.clone());
    let begun = state.tasks.spawn(sending.streamed().in_current_span()).await;
    let begun =
        begun.map_err(|_| Fault::Internal("the call came to an end without an answer".to_owned()))??;
    Ok(Answer::Stream(match begun {
        StreamStart::Message(raw) => client::single(version, id.as_ref(), &raw),
        StreamStart::Task(kept, following) => {
            let client = Client {
                state: state.clone(),
                actor,
                agent: agent.clone(),
                kept: *kept,
                following,
                version,
                id,
                to_the_end: false,
                paused: false,
                _seat: seat,
            };
            client.respond(None)
        }
    }))
}

/// What a message about a task that waits for people is answered with.
const PENDING: &str = "approval pending: people decide in Placet, and the task goes on by itself";

/// Whether a task waits for people now, as its agent tells it. Questions that are the client's own do not count.
async fn is_waiting(state: &State, agent: &Agent, kept: &mut KnownTask) -> Result<bool, Fault> {
    let shown = snapshot(state, agent, kept, Some(0)).await?;
    Ok(shown.waits || kept.facts.open_pause().is_some())
}

/// A message about a task that is there: refused while people decide, unless it decides, and the one who says it may.
async fn on_task(
    state: &State,
    agent: &Agent,
    call: &A2aCall<'_>,
    named: &Named,
    mut kept: KnownTask,
) -> Result<Option<Answer>, Fault> {
    if named.context.as_ref().is_some_and(|context| *context != kept.facts.context) {
        let why = format!("task `{}` belongs to another conversation than `message.contextId` says", kept.id);
        return Err(Fault::InvalidParams(why));
    }
    if kept.facts.ended || kept.facts.lost.is_some() {
        return Err(Fault::Unsupported(format!(
            "task `{}` has ended: nothing can be said to it any more",
            kept.id
        )));
    }
    if kept.facts.open_pause().is_none() {
        return match call.actor.role {
            Role::Agent => Ok(None),
            _ => Err(Fault::Unsupported("nothing in this task waits for a decision".to_owned())),
        };
    }
    if agent.settings.mode == Mode::Hold || call.actor.role != Role::Reviewer {
        return Err(Fault::Unsupported(PENDING.to_owned()));
    }
    let message = call.version.read_message(call.params.get("message"), "params.message")?;
    if desk::said(&message)?.is_empty() {
        return Err(Fault::Unsupported(PENDING.to_owned()));
    }
    let requests = hold::requests(state, &kept).await.map_err(|error| fault(state, error))?;
    answer::cast(state, call.actor, &message, &requests).await?;
    let shown = snapshot(state, agent, &mut kept, None).await?;
    let task = call.version.as_update(shown.task);
    if call.operation == Operation::Send {
        return Ok(Some(Answer::Document(task)));
    }
    let text = RawValue::from_string(task.to_string());
    let text = text.map_err(|error| Fault::Internal(error.to_string()))?;
    Ok(Some(Answer::Stream(client::single(call.version, call.id.as_ref(), &text))))
}

/// Refuses a message that decides: agents take such words wherever they stand, whether or not anybody saw the pause.
fn undecided(call: &A2aCall<'_>) -> Result<(), Fault> {
    let message = call.version.read_message(call.params.get("message"), "params.message")?;
    match desk::said(&message) {
        Ok(said) if said.is_empty() => Ok(()),
        _ => Err(Fault::Unsupported(
            "decisions are made in Placet, and not by messages to the agent".to_owned(),
        )),
    }
}

/// A new task in a conversation: it must not be somebody else's, and must not disturb a task that waits. Returns the
/// conversation if it is known.
async fn in_context(
    state: &State,
    agent: &Agent,
    actor: &Actor,
    context: &str,
) -> Result<Option<Conversation>, Fault> {
    let wrong = |error| fault(state, error);
    if context.len() > 512 {
        return Err(Fault::InvalidParams("`params.message.contextId` is too long".to_owned()));
    }
    let known = kept::known_conversation(&state.gate, agent, context).await.map_err(wrong)?;
    if known.as_ref().is_some_and(|known| known.owner != actor.name) {
        return Err(Fault::InvalidParams(
            "`params.message.contextId` is not a conversation of yours".to_owned(),
        ));
    }
    let Some(open) = kept::open_in(&state.gate, agent, context).await.map_err(wrong)? else {
        let why = "too many tasks of this conversation are open: end some of them first";
        return Err(Fault::Unsupported(why.to_owned()));
    };
    let mut paused = false;
    for mut kept in open {
        paused |= kept.facts.open_pause().is_some() || is_waiting(state, agent, &mut kept).await?;
    }
    if paused {
        return Err(Fault::Unsupported(
            "approval pending: a task of this conversation waits for people, and another message could undo it"
                .to_owned(),
        ));
    }
    Ok(known)
}

/// Takes a wish to be told out of a message: news of a task comes from us, the agent would tell of pauses as they are.
fn take_push(state: &State, call: &A2aCall<'_>, params: &mut Value) -> Result<Option<PushConfig>, Fault> {
    let push = PushConfig::of_send(call.version, params)?;
    if let Some(push) = &push {
        push::check(state, call.actor, push)?;
    }
    if let Some(configuration) = params.get_mut("configuration").and_then(Value::as_object_mut) {
        for name in ["pushNotificationConfig", "taskPushNotificationConfig"] {
            configuration.remove(name);
        }
    }
    Ok(push)
}

/// The extensions that the client names.
fn wanted_extensions(call: &A2aCall<'_>) -> Vec<String> {
    let headers = ["a2a-extensions", "x-a2a-extensions"].into_iter();
    let values = headers.flat_map(|name| call.headers.get_all(name)).filter_map(|value| value.to_str().ok());
    let uris = values.flat_map(|value| value.split(',')).map(str::trim).filter(|uri| !uri.is_empty());
    uris.take(32).map(str::to_owned).collect()
}

async fn subscribe(state: &State, agent: &Arc<Agent>, call: A2aCall<'_>) -> Result<Answer, Fault> {
    let id = TaskName::read(call.params)?.id;
    let mut kept = find(state, agent, call.actor, &id, call.version).await?;
    let seat = state.streams.take(&call.actor.name).map_err(super::super::problem)?;
    // Before the task is read, so that nothing falls between.
    let following = state.proxy.hub.follow(&kept::key(agent, &kept.id));
    let shown = snapshot(state, agent, &mut kept, None).await?;
    if shown.state.is_some_and(TaskState::is_terminal) {
        return Err(Fault::Unsupported(format!("task `{}` has ended: read it with GetTask", kept.id)));
    }
    let (version, actor) = (call.version, call.actor.clone());
    let client = Client {
        state: state.clone(),
        actor,
        agent: agent.clone(),
        kept,
        following,
        version,
        id: call.id,
        // Streams of 0.3 end where the client has to say something.
        to_the_end: version == Version::V10,
        paused: Then::after(shown.state) == Then::Pause,
        _seat: seat,
    };
    Ok(Answer::Stream(client.respond(Some(version.as_update(shown.task)))))
}

/// Withdraws a task: at the agent, and what waits for people here.
async fn cancel(state: &State, agent: &Arc<Agent>, call: A2aCall<'_>) -> Result<Answer, Fault> {
    let id = TaskName::read(call.params)?.id;
    let mut kept = find(state, agent, call.actor, &id, call.version).await?;
    if call.actor.role != Role::Agent {
        return Err(Fault::Forbidden("only the agent that asked can withdraw".to_owned()));
    }
    if kept.facts.ended || kept.facts.lost.is_some() {
        return Err(Fault::NotCancelable(format!("task `{id}` has ended and cannot be withdrawn any more")));
    }
    let calling = agent.calling(&kept.facts).await;
    let answered = agent.call(&calling, Operation::Cancel, &json!({"id": kept.id}), QUICK).await;
    match &answered {
        Ok(raw) => {
            let value: Value = serde_json::from_str(raw.get()).unwrap_or_default();
            if let Some(seen) = AgentTask::of(&value).filter(|seen| seen.id == kept.id) {
                hold::look(state, agent, &mut kept, &seen).await?;
            }
        }
        Err(trouble) if trouble.is_missing_task() => {
            snapshot::lose(state, agent, &mut kept, Loss::UpstreamLost, snapshot::UNKNOWN).await?;
        }
        Err(_) => {}
    }
    // Whatever the agent made of it, what its caller took back is not approved any more.
    let withdrawn = hold::withdraw(state, &kept, "withdrawn by CancelTask").await;
    withdrawn.map_err(|error| fault(state, error))?;
    Ok(Answer::Raw(answered?))
}

/// The caller's tasks at this agent, the last changed first.
async fn list(state: &State, agent: &Arc<Agent>, call: A2aCall<'_>) -> Result<Answer, Fault> {
    let wanted = ListTasks::read(call.params)?;
    let scope = wanted.context.as_ref().map(|context| kept::key(agent, context));
    let filter = NoteFilter {
        owner: (call.actor.role == Role::Agent).then(|| call.actor.name.clone()),
        scope,
        under: Some(agent.name()),
        ..NoteFilter::of(kept::TASK)
    };
    let page = state.gate.notes(&filter, wanted.page_token.as_deref(), wanted.page_size).await;
    let page = page.map_err(|error| fault(state, error))?;
    let kept = page.notes.iter().filter_map(KnownTask::read);
    let kept: Vec<KnownTask> = kept.filter(|kept| kept.facts.version() == call.version).collect();
    let mut tasks = Vec::new();
    for some in kept.chunks(AT_ONCE) {
        let reads = some.iter().cloned().map(|mut kept| async move {
            snapshot(state, agent, &mut kept, wanted.history.or(Some(0))).await
        });
        for shown in futures_util::future::join_all(reads).await {
            // One that cannot be read now does not hide the others.
            let Ok(shown) = shown else { continue };
            if wanted.state.is_none_or(|state| shown.state == Some(state)) {
                tasks.push(trimmed(shown.task, wanted.artifacts));
            }
        }
    }
    // Where tasks stand is known by asking for each: on more than one page nobody knows how many stand so.
    let total = if wanted.page_token.is_none() && page.next.is_none() {
        tasks.len() as u64
    } else {
        state.gate.count_notes(&filter).await.map_err(|error| fault(state, error))?
    };
    Ok(Answer::Document(json!({
        "tasks": tasks, "nextPageToken": page.next.unwrap_or_default(),
        "pageSize": tasks.len(), "totalSize": total,
    })))
}

fn trimmed(mut task: Value, artifacts: bool) -> Value {
    if let (false, Some(fields)) = (artifacts, task.as_object_mut()) {
        fields.remove("artifacts");
    }
    task
}
