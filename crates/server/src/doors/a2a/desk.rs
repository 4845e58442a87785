//! The approval desk: an agent whose only skill is to ask people.
//!
//! A task of the desk is one group of requests; nothing else is stored. Its id comes from who asked and what, so a message
//! that is sent twice asks once.

use std::sync::Arc;

use data_encoding::HEXLOWER;
use placet_a2a::{
    Fault, Message, Part, Role as Speaker, Send, Task, Update,
    desk::{self, Asking, ITEMS},
};
use placet_core::{Actor, Request, Role, State as Life, door};
use placet_gate::{GateError, Idempotency};
use placet_ledger::{canonical, canonical_string};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{
    answer,
    task::{FIELD, Lineage, task},
};
use crate::{State, call::scope, v1};

/// What this door is called in policies and on requests.
pub(super) const SOURCE: &str = door::DESK;

/// What a message without a request is answered with.
const HOW: &str = "This desk asks people. Send a data part such as {\"type\": \"approval_request\", \"action\": \
    \"delete_files\", \"args\": {\"files\": [\"report.md\"]}, \"summary\": \"why\", \"risk\": \"high\"}, or the extension \
    urn:placet:a2a:approval:v1 with {\"request\": {\"kind\": \"action\", …}}.";

/// Says something to the desk: a request, or a word on one that waits.
pub(super) async fn send(state: &State, actor: &Actor, send: &Send) -> Result<Update, Fault> {
    let message = &send.message;
    if let Some(id) = &message.task {
        let (task, requests) = find(state, actor, id).await?;
        if message.context.as_ref().is_some_and(|context| *context != task.context) {
            let why = format!("task `{id}` belongs to another conversation than `message.contextId` says");
            return Err(Fault::InvalidParams(why));
        }
        if task.status.state.is_terminal() {
            return Err(Fault::Unsupported(format!(
                "task `{id}` has ended: nothing can be said to it any more"
            )));
        }
        answer::cast(state, actor, message, &requests).await?;
        return Ok(Update::Task(find(state, actor, id).await?.0));
    }
    if actor.role != Role::Agent {
        return Err(Fault::Forbidden("only agents ask: send the key of an agent".to_owned()));
    }
    match desk::read(message)? {
        Some(asking) => Ok(Update::Task(ask(state, actor, message, asking).await?)),
        None => Ok(Update::Message(Message {
            id: format!("{}-how", message.id),
            // A client that goes on in this conversation names it, so it has a name from the start.
            context: Some(
                message.context.clone().unwrap_or_else(|| format!("context-{}", state.gate.secret_token())),
            ),
            task: None,
            role: Speaker::Agent,
            parts: vec![Part::text(HOW)],
            metadata: serde_json::Map::new(),
            extensions: Vec::new(),
            reference_tasks: Vec::new(),
        })),
    }
}

/// Makes the requests of a new task. Made again with the same message, they are the same ones.
pub(super) async fn ask(
    state: &State,
    actor: &Actor,
    message: &Message,
    asking: Asking,
) -> Result<Task, Fault> {
    let wrong = |error: String| Fault::InvalidParams(format!("the request does not fit: {error}"));
    let bodies = asking.items.iter().map(|item| serde_json::to_value(&item.create));
    let bodies: Vec<Value> = bodies.collect::<Result<_, _>>().map_err(|error| wrong(error.to_string()))?;
    // Without an id nobody can tell a message that is sent again from another one: so it is another one, and asks again.
    let named = if message.id.is_empty() { state.gate.secret_token() } else { message.id.clone() };
    // With a key of the asker's the key is what counts, and another body under it is refused; otherwise the message and
    // what it says: ids of messages alone are used twice by some clients.
    let said = match &asking.key {
        Some(key) => json!({"key": key}),
        None => json!({"message": named, "context": message.context, "bodies": bodies}),
    };
    let said = canonical_string(&said).map_err(|error| wrong(error.to_string()))?;
    let digest = scope(&["a2a/desk", &actor.name, &said]);
    let id = format!("task-{}", HEXLOWER.encode(digest.get(..16).unwrap_or_default()));
    let context =
        message.context.clone().unwrap_or_else(|| format!("context-{}", id.trim_start_matches("task-")));
    let items = asking.items.len();
    if items > 1 && withdrawn(state, actor, &id, items).await? {
        let why =
            "this message was refused half-way before, and what it had asked was withdrawn: send another one";
        return Err(Fault::Unsupported(why.to_owned()));
    }
    let mut requests = Vec::with_capacity(items);
    for (item, (asked, body)) in asking.items.into_iter().zip(bodies).enumerate() {
        let lineage = Lineage {
            namespace: "placet".to_owned(),
            agent: "desk".to_owned(),
            task: id.clone(),
            context: context.clone(),
            message: named.clone(),
            dialect: asking.dialect.as_str().to_owned(),
            item,
            items,
            id: asked.id,
        };
        let mut create = asked.create;
        create.session.clone_from(&context);
        create.group = Some(id.clone());
        // The protocol has no claim. Whoever wants a permit says so, and claims it by the id of the request.
        create.permit = Some(create.permit.unwrap_or(false));
        create.context.get_or_insert_with(serde_json::Map::new).insert(FIELD.to_owned(), lineage.write());
        let body = canonical(&body).map_err(|error| wrong(error.to_string()))?;
        let idempotency = Idempotency {
            scope: scope(&["a2a/item", &actor.name, &id, &item.to_string()]),
            body: Sha256::digest(&body).into(),
        };
        match state.gate.submit_from(SOURCE, actor, create, Some(idempotency)).await {
            Ok(submitted) => requests.push(submitted.request),
            Err(error) => {
                // Whoever hears of a refusal takes nothing for asked, so nobody is left to decide a part of it.
                withdraw(state, actor, &requests, "another item of the same message was refused").await;
                return Err(fault(state, error));
            }
        }
    }
    task(&requests, state.settings.desk, &|request| state.gate.card(request), state.gate.now())
        .ok_or_else(|| Fault::Internal("the task cannot be read back".to_owned()))
}

/// Whether an earlier attempt to ask this was refused after some of its items, and those were withdrawn.
async fn withdrawn(state: &State, actor: &Actor, id: &str, items: usize) -> Result<bool, Fault> {
    let found = read(state, actor, id).await.map_err(|error| fault(state, error))?;
    Ok(found.is_some_and(|(_, requests)| {
        requests.len() < items && requests.iter().all(|request| request.state == Life::Cancelled)
    }))
}

/// Withdraws what can be: what was decided meanwhile is decided.
async fn withdraw(state: &State, actor: &Actor, requests: &[Arc<Request>], why: &str) {
    for request in requests {
        match state.gate.cancel(actor, request.id, Some(why.to_owned()), None).await {
            Ok(_) | Err(GateError::Refused { .. }) => {}
            Err(error) => tracing::warn!(%error, request = %request.id, "an item could not be withdrawn"),
        }
    }
}

/// A task that this caller may see, and its requests.
pub(super) async fn find(state: &State, actor: &Actor, id: &str) -> Result<(Task, Vec<Arc<Request>>), Fault> {
    let missing = || Fault::TaskNotFound(id.chars().take(80).collect());
    read(state, actor, id).await.map_err(|error| fault(state, error))?.ok_or_else(missing)
}

/// The same, where a failure is nobody's to be told.
pub(super) async fn read(
    state: &State,
    actor: &Actor,
    id: &str,
) -> Result<Option<(Task, Vec<Arc<Request>>)>, GateError> {
    let most = u32::try_from(ITEMS).unwrap_or(u32::MAX);
    let mut requests = state.gate.group(actor, SOURCE, id, most).await?;
    requests.retain(|request| Lineage::of(request).is_some_and(|found| found.task == id));
    let cards = |request: &Request| state.gate.card(request);
    let task = task(&requests, state.settings.desk, &cards, state.gate.now());
    Ok(task.map(|task| (task, requests)))
}

/// Withdraws a task: what waits, and what was approved and not claimed.
pub(super) async fn cancel(state: &State, actor: &Actor, id: &str) -> Result<Task, Fault> {
    let (found, requests) = find(state, actor, id).await?;
    if actor.role != Role::Agent {
        return Err(Fault::Forbidden("only the agent that asked can withdraw".to_owned()));
    }
    if found.status.state.is_terminal() {
        return Err(Fault::NotCancelable(format!("task `{id}` has ended and cannot be withdrawn any more")));
    }
    let now = state.gate.now();
    for request in requests.iter().filter(|request| request.state_at(now) == Life::Pending) {
        let reason = Some("withdrawn by CancelTask".to_owned());
        match state.gate.cancel(actor, request.id, reason, None).await {
            // Decided in that moment: then it is decided.
            Ok(_) | Err(GateError::Refused { .. }) => {}
            Err(error) => return Err(fault(state, error)),
        }
    }
    Ok(find(state, actor, id).await?.0)
}

/// A refusal of the gate in the protocol's words.
pub(super) fn fault(state: &State, error: GateError) -> Fault {
    super::problem(v1::refuse(state, error))
}
