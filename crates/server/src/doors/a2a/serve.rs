//! One call to the desk or to an agent behind us, whichever binding it came by.

use std::sync::Arc;

use axum::response::Response;
use http::{HeaderMap, StatusCode};
use placet_a2a::{
    Fault, ListTasks, Operation, PushConfig, PushName, Send, SetPush, Task, TaskName, Update, Version,
};
use placet_core::{Actor, door};
use serde_json::{Value, json, value::RawValue};

use super::{
    desk,
    list::{self, Listed},
    proxy::{self, Agent},
    push::{self, TaskRef},
    stream::{self, Wrap},
};
use crate::State;

/// What a call is answered with.
pub(super) enum Answer {
    /// One document.
    Document(Value),
    /// One document whose text is passed on as it came.
    Raw(Box<RawValue>),
    /// A stream, already on its way.
    Stream(Response),
}

/// Whom a call is for.
#[derive(Debug, Clone)]
pub(super) enum Host {
    /// The approval desk.
    Desk,
    /// An agent behind us.
    Agent(Arc<Agent>),
}

impl Host {
    /// Whom a path names.
    pub(super) fn of(state: &State, path: &str) -> Result<Self, Fault> {
        let mut parts = path.strip_prefix("/a2a/").unwrap_or_default().split('/');
        match (parts.next(), parts.next()) {
            (Some("desk"), _) | (Some("v1"), Some("desk")) => Ok(Self::Desk),
            (Some(namespace), Some(agent)) => {
                state.proxy.agent(namespace, agent).map(Self::Agent).ok_or_else(|| {
                    Fault::NoAgent(format!("/a2a/{namespace}/{agent}").chars().take(80).collect())
                })
            }
            _ => Err(Fault::NoAgent(path.chars().take(80).collect())),
        }
    }
}

/// One call, whichever binding it came by.
#[derive(Debug)]
pub(super) struct A2aCall<'a> {
    /// Who calls.
    pub(super) actor: &'a Actor,
    /// What is wanted.
    pub(super) operation: Operation,
    /// In which version.
    pub(super) version: Version,
    /// With what.
    pub(super) params: &'a Value,
    /// What streams of JSON-RPC repeat.
    pub(super) id: Option<Value>,
    /// The headers of the call.
    pub(super) headers: &'a HeaderMap,
}

/// Carries out a call.
pub(super) async fn serve(state: &State, host: &Host, call: A2aCall<'_>) -> Result<Answer, Fault> {
    match host {
        Host::Desk => at_desk(state, call).await,
        Host::Agent(agent) => proxy::serve(state, agent, call).await,
    }
}

async fn at_desk(state: &State, call: A2aCall<'_>) -> Result<Answer, Fault> {
    let A2aCall { actor, operation, version, params, id, headers: _ } = call;
    let wrap = Wrap { version, id };
    match operation {
        Operation::Send => {
            let send = Send::read(version, params)?;
            let update = say(state, actor, version, &send).await?;
            Ok(Answer::Document(version.update(&update, send.history)))
        }
        Operation::Stream => {
            let send = Send::read(version, params)?;
            let opened = stream::open(state, actor).await?;
            Ok(Answer::Stream(match say(state, actor, version, &send).await? {
                Update::Task(task) => stream::follow(state, actor.clone(), opened, task, wrap),
                other => stream::single(&wrap, &other),
            }))
        }
        Operation::Get => {
            let wanted = TaskName::read(params)?;
            let (task, requests) = desk::find(state, actor, &wanted.id).await?;
            for request in &requests {
                state.gate.asked(actor, request);
            }
            Ok(Answer::Document(version.task(&task, wanted.history)))
        }
        Operation::Cancel => {
            let task = desk::cancel(state, actor, &TaskName::read(params)?.id).await?;
            Ok(Answer::Document(version.task(&task, None)))
        }
        Operation::Subscribe => {
            let opened = stream::open(state, actor).await?;
            let (task, _) = desk::find(state, actor, &TaskName::read(params)?.id).await?;
            if task.status.state.is_terminal() {
                let why = format!("task `{}` has ended: read it with GetTask", task.id);
                return Err(Fault::Unsupported(why));
            }
            Ok(Answer::Stream(stream::follow(state, actor.clone(), opened, task, wrap)))
        }
        Operation::List => {
            let wanted = ListTasks::read(params)?;
            let Listed { mut tasks, next, total } = list::list(state, actor, &wanted).await?;
            if !wanted.artifacts {
                for task in &mut tasks {
                    task.artifacts.clear();
                }
            }
            let shown: Vec<Value> = tasks.iter().map(|task| version.task(task, wanted.history)).collect();
            Ok(Answer::Document(json!({
                "tasks": shown, "nextPageToken": next.unwrap_or_default(),
                "pageSize": shown.len(), "totalSize": total,
            })))
        }
        Operation::PushSet => {
            let SetPush { task, config } = SetPush::read(version, params)?;
            push::check(state, actor, &config)?;
            let (task, _) = desk::find(state, actor, &task).await?;
            Ok(Answer::Document(set_push(state, actor, version, &task, &config).await?))
        }
        Operation::PushGet | Operation::PushList | Operation::PushDelete => {
            let name = PushName::read(version, params)?;
            let (task, _) = desk::find(state, actor, &name.task).await?;
            let key = door::desk_task(&task.id);
            Ok(Answer::Document(match operation {
                Operation::PushGet => {
                    push::get(state, actor, (&key, &task.id), version, name.config.as_deref()).await?
                }
                Operation::PushList => push::list(state, actor, &key, version).await?,
                _ => push::delete(state, actor, &key, version, name.one(version)?).await?,
            }))
        }
        Operation::Card => Err(Fault::NoExtendedCard),
    }
}

/// Sends a message to the desk, and stores the push notification config that came with it.
async fn say(state: &State, actor: &Actor, version: Version, send: &Send) -> Result<Update, Fault> {
    if let Some(config) = &send.push {
        push::check(state, actor, config)?;
    }
    let update = desk::send(state, actor, send).await?;
    if let (Some(config), Update::Task(task)) = (&send.push, &update) {
        set_push(state, actor, version, task, config).await?;
    }
    Ok(update)
}

/// Stores a push notification config for a task of the desk. What happened since the task was read is posted.
async fn set_push(
    state: &State,
    actor: &Actor,
    version: Version,
    task: &Task,
    config: &PushConfig,
) -> Result<Value, Fault> {
    let (key, ended) = (door::desk_task(&task.id), task.status.state.is_terminal());
    let about = TaskRef { key: &key, id: &task.id, generation: task.generation, ended, is_read_again: true };
    push::set(state, actor, about, version, config).await
}

/// The status of HTTP for a fault.
pub(super) fn status(fault: &Fault) -> StatusCode {
    StatusCode::from_u16(fault.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
