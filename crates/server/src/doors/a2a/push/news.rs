//! What is posted when a task changed: the whole task, as its receiver's version writes it.

use std::time::Duration;

use placet_a2a::{AgentTask, TaskState};
use placet_core::{Actor, Auth, Role, door};
use placet_gate::{
    Attempt, AttemptResult, Delivery, GateError, Note, NoteChange, NoteExpected, Post, PostSource, Posting,
};
use serde_json::Value;

use super::{KIND, config::StoredConfig};
use crate::{State, doors::a2a::desk};

/// Largest task that is posted whole.
const LARGEST: usize = 512 * 1024;

/// News of A2A tasks, for the channel that posts it.
#[derive(Debug, Clone)]
pub struct TaskNews(State);

impl TaskNews {
    /// Of the desk's tasks, and of those of the agents behind this server.
    pub fn of(state: &State) -> Self {
        Self(state.clone())
    }

    async fn message(&self, delivery: &Delivery) -> Result<Result<Post, AttemptResult>, GateError> {
        let gone = |what: &str| Ok(Err(AttemptResult::Refused(format!("{what} is gone"))));
        let Some((note, config)) = self.config(delivery).await? else { return gone("its config") };
        if config.ended {
            return Ok(Err(AttemptResult::Delivered));
        }
        if let Some(body) = &delivery.body {
            if delivery.wanted <= config.known {
                return Ok(Err(AttemptResult::Delivered));
            }
            let task: Value = serde_json::from_str(body).unwrap_or_default();
            let state = AgentTask::of(&task).and_then(|seen| seen.state);
            return Ok(Ok(config.post(task, state.is_some_and(TaskState::is_terminal))));
        }
        let Some(id) = note.scope.strip_prefix(&door::desk_task("")) else { return gone("its task") };
        let owner =
            Actor { name: note.owner.clone(), role: Role::Agent, key: None, session: None, auth: Auth::Open };
        let Some((task, _)) = desk::read(&self.0, &owner, id).await? else { return gone("its task") };
        if task.generation <= config.known {
            return Ok(Err(AttemptResult::Delivered));
        }
        let written = trimmed(config.version().task(&task, None));
        Ok(Ok(config.post(written, task.status.state.is_terminal())))
    }

    async fn config(&self, delivery: &Delivery) -> Result<Option<(Note, StoredConfig)>, GateError> {
        let note = self.0.gate.note(KIND, &delivery.subject).await?;
        Ok(note.and_then(|note| Some((StoredConfig::of(&note)?, note))).map(|(config, note)| (note, config)))
    }

    /// Keeps the config for some time from now, and what was posted if it was the end. Nothing if it was deleted meanwhile.
    /// One that was replaced meanwhile has not heard of it: it is posted again.
    async fn keep(&self, delivery: &Delivery, post: &Post) -> Result<AttemptResult, GateError> {
        while let Some((there, mut config)) = self.config(delivery).await? {
            if !config.sends(post) {
                return Ok(AttemptResult::Failed("its config was replaced meanwhile".to_owned()));
            }
            config.ended |= post.last;
            let note = config.note(&self.0.gate, &there.scope, &there.owner);
            let change = NoteChange::Put { note, expected: NoteExpected::Version(there.version) };
            if self.0.gate.change_notes(vec![change]).await?.is_ok() {
                break;
            }
        }
        Ok(AttemptResult::Delivered)
    }
}

impl PostSource for TaskNews {
    fn name(&self) -> &'static str {
        door::PUSH
    }

    fn timeout(&self) -> Duration {
        self.0.settings.timing.push_timeout
    }

    fn post<'a>(&'a self, delivery: &'a Delivery) -> Posting<'a> {
        Box::pin(async {
            let message = self.message(delivery).await;
            message.unwrap_or_else(|error| Err(AttemptResult::Failed(error.to_string())))
        })
    }

    fn posted<'a>(&'a self, delivery: &'a Delivery, post: &'a Post) -> Attempt<'a> {
        Box::pin(async {
            let kept = self.keep(delivery, post).await;
            kept.unwrap_or_else(|error| AttemptResult::Failed(error.to_string()))
        })
    }
}

/// A task that fits into a message. What is left out of a large one can be read.
pub(in crate::doors::a2a) fn trimmed(mut task: Value) -> Value {
    let is_large = |task: &Value| serde_json::to_vec(task).is_ok_and(|text| text.len() > LARGEST);
    for name in ["history", "artifacts", "metadata"] {
        if !is_large(&task) {
            return task;
        }
        if let Some(fields) = task.as_object_mut() {
            fields.remove(name);
        }
    }
    if let Some(fields) = task.as_object_mut().filter(|fields| is_large(&Value::Object((*fields).clone()))) {
        fields.retain(|name, _| ["id", "contextId", "kind", "status"].contains(&name.as_str()));
        if let Some(Value::Object(status)) = fields.get_mut("status") {
            status.retain(|name, _| ["state", "timestamp"].contains(&name.as_str()));
        }
    }
    task
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_task_that_is_too_large_is_cut_down_to_what_says_how_it_stands() {
        let large = "x".repeat(LARGEST);
        let task = |history: &str, message: &str| json!({"id": "t", "contextId": "c", "history": history, "artifacts": [], "other": 1, "status": {"state": "failed", "message": message}});
        assert_eq!(trimmed(task("a", "b")), task("a", "b"));
        assert_eq!(trimmed(task(&large, "b")).as_object().unwrap().len(), 5);
        let least = json!({"id": "t", "contextId": "c", "status": {"state": "failed"}});
        assert_eq!(trimmed(task("a", &large)), least);
    }
}
