//! The approval desk: an agent whose only skill is to ask people.
//!
//! A task of the desk is one group of requests; nothing else is stored. Its id comes from who asked and what, so a message
//! that is sent twice asks once.

use std::sync::Arc;

use data_encoding::HEXLOWER;
use placet_a2a::{
    Fault, ListTasks, Message, Part, Role as Speaker, Send, Task, Update,
    desk::{self, Asking, ITEMS},
};
use placet_core::{Actor, Request, Role, State as Life};
use placet_gate::{Filter, GateError, Idempotency};
use placet_ledger::{canonical, canonical_string};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{
    answer,
    task::{FIELD, Lineage, task},
};
use crate::{State, call::scope, v1};

/// What this door is called in policies and on requests.
pub(super) const SOURCE: &str = "a2a";

/// Requests looked at together, and how many times, for one page of tasks.
const PAGE: u32 = 200;
const PAGES: usize = 10;

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
            context: message.context.clone(),
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
async fn ask(state: &State, actor: &Actor, message: &Message, asking: Asking) -> Result<Task, Fault> {
    let wrong = |error: String| Fault::InvalidParams(format!("the request does not fit: {error}"));
    let bodies = asking.items.iter().map(|item| serde_json::to_value(&item.create));
    let bodies: Vec<Value> = bodies.collect::<Result<_, _>>().map_err(|error| wrong(error.to_string()))?;
    // With a key of the asker's the key is what counts, and another body under it is refused; otherwise the message and
    // what it says: ids of messages alone are used twice by some clients.
    let said = match &asking.key {
        Some(key) => json!({"key": key}),
        None => json!({"message": message.id, "context": message.context, "bodies": bodies}),
    };
    let said = canonical_string(&said).map_err(|error| wrong(error.to_string()))?;
    let digest = scope(&["a2a/desk", &actor.name, &said]);
    let id = format!("task-{}", HEXLOWER.encode(digest.get(..16).unwrap_or_default()));
    let context =
        message.context.clone().unwrap_or_else(|| format!("context-{}", id.trim_start_matches("task-")));
    let items = asking.items.len();
    let mut requests = Vec::with_capacity(items);
    for (item, (asked, body)) in asking.items.into_iter().zip(bodies).enumerate() {
        let lineage = Lineage {
            task: id.clone(),
            context: context.clone(),
            message: message.id.clone(),
            dialect: asking.dialect,
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
        let submitted = state.gate.submit_from(SOURCE, actor, create, Some(idempotency)).await;
        requests.push(submitted.map_err(|error| fault(state, error))?.request);
    }
    task(&requests, state.settings.desk, state.gate.now())
        .ok_or_else(|| Fault::Internal("the task cannot be read back".to_owned()))
}

/// A task that this caller may see, and its requests.
pub(super) async fn find(state: &State, actor: &Actor, id: &str) -> Result<(Task, Vec<Arc<Request>>), Fault> {
    let missing = || Fault::TaskNotFound(id.chars().take(80).collect());
    let most = u32::try_from(ITEMS).unwrap_or(u32::MAX);
    let mut requests = state.gate.group(actor, id, most).await.map_err(|error| fault(state, error))?;
    requests.retain(|request| {
        request.source == SOURCE && Lineage::of(request).is_some_and(|found| found.task == id)
    });
    let task = task(&requests, state.settings.desk, state.gate.now()).ok_or_else(missing)?;
    Ok((task, requests))
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

/// The caller's tasks, the newest first, and where the next page begins.
pub(super) async fn list(
    state: &State,
    actor: &Actor,
    wanted: &ListTasks,
) -> Result<(Vec<Task>, Option<String>), Fault> {
    let after = match &wanted.page_token {
        None => None,
        Some(token) => {
            let seq = token
                .parse()
                .map_err(|_| Fault::InvalidParams("`params.pageToken` is not one of ours".to_owned()))?;
            Some(placet_gate::Order { deadline: None, seq })
        }
    };
    let mut filter = Filter {
        session: wanted.context.clone(),
        source: Some(SOURCE.to_owned()),
        newest: true,
        after,
        ..Filter::default()
    };
    let most = usize::try_from(wanted.page_size).unwrap_or(usize::MAX);
    let mut tasks = Vec::new();
    // Every page has an end, however few of the requests are what is looked for.
    for _ in 0..PAGES {
        let page =
            state.gate.visible(actor, filter.clone(), PAGE).await.map_err(|error| fault(state, error))?;
        for request in &page.items {
            // The first item stands for its task.
            let Some(lineage) = Lineage::of(request).filter(|lineage| lineage.item == 0) else { continue };
            let Ok((task, _)) = find(state, actor, &lineage.task).await else { continue };
            let fits = wanted.state.is_none_or(|state| task.status.state == state)
                && wanted.after.as_ref().is_none_or(|after| task.status.at.as_ref() > Some(after));
            if fits {
                tasks.push(task);
            }
            if tasks.len() == most {
                let seq = request.seq;
                return Ok((tasks, Some(seq.to_string())));
            }
        }
        match page.next {
            Some(next) => filter.after = Some(next),
            None => return Ok((tasks, None)),
        }
    }
    Ok((tasks, filter.after.map(|order| order.seq.to_string())))
}

/// A refusal of the gate in the protocol's words.
pub(super) fn fault(state: &State, error: GateError) -> Fault {
    super::problem(v1::refuse(state, error))
}
