//! One call to the desk, whichever binding it came by.

use axum::response::Response;
use http::StatusCode;
use placet_a2a::{Fault, ListTasks, Operation, Send, TaskName, Update, Version};
use placet_core::Actor;
use serde_json::{Value, json};

use super::{
    desk,
    stream::{self, Wrap},
};
use crate::State;

/// What a call is answered with.
pub(super) enum Answer {
    /// One document.
    Document(Value),
    /// A stream, already on its way.
    Stream(Response),
}

/// Carries out a call. `id` is repeated in streams of JSON-RPC.
pub(super) async fn serve(
    state: &State,
    actor: &Actor,
    operation: Operation,
    version: Version,
    params: &Value,
    id: Option<Value>,
) -> Result<Answer, Fault> {
    let wrap = Wrap { version, id };
    match operation {
        Operation::Send => {
            let send = wanted(version, params)?;
            let update = desk::send(state, actor, &send).await?;
            Ok(Answer::Document(version.update(&update, send.history)))
        }
        Operation::Stream => {
            let send = wanted(version, params)?;
            let opened = stream::open(state, actor).await?;
            Ok(Answer::Stream(match desk::send(state, actor, &send).await? {
                Update::Task(task) => stream::follow(state, actor.clone(), opened, task, wrap),
                other => stream::single(&wrap, &other),
            }))
        }
        Operation::Get => {
            let wanted = TaskName::read(params)?;
            let (task, _) = desk::find(state, actor, &wanted.id).await?;
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
            let (mut tasks, next) = desk::list(state, actor, &wanted).await?;
            if !wanted.artifacts {
                for task in &mut tasks {
                    task.artifacts.clear();
                }
            }
            let shown: Vec<Value> = tasks.iter().map(|task| version.task(task, wanted.history)).collect();
            Ok(Answer::Document(json!({
                "tasks": shown, "nextPageToken": next.unwrap_or_default(),
                "pageSize": shown.len(), "totalSize": shown.len(),
            })))
        }
        Operation::PushSet | Operation::PushGet | Operation::PushList | Operation::PushDelete => {
            Err(Fault::NoPush)
        }
        Operation::Card => Err(Fault::NoExtendedCard),
    }
}

fn wanted(version: Version, params: &Value) -> Result<Send, Fault> {
    let send = Send::read(version, params)?;
    if send.wants_push { Err(Fault::NoPush) } else { Ok(send) }
}

/// The status of HTTP for a fault.
pub(super) fn status(fault: &Fault) -> StatusCode {
    StatusCode::from_u16(fault.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
