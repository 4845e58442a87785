//! What another agent answered, looked at without being rewritten: which task it is about and where that stands.
//!
//! A proxy passes on the bytes it got. These functions read a copy, and make the few objects that it says itself.

use serde_json::{Map, Value, json};

use crate::{Message, Status, TaskState, Version};

/// Longest id of a task or a conversation that is believed.
const LONGEST: usize = 512;

/// What an answer or an event is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AgentResult<'a> {
    /// A whole task.
    Task(AgentTask<'a>),
    /// A task stands elsewhere now.
    Status(AgentTask<'a>),
    /// A task brought forth something.
    Artifact {
        /// The task.
        id: &'a str,
        /// Its conversation.
        context: &'a str,
    },
    /// Words without a task.
    Message {
        /// The conversation, if it names one.
        context: Option<&'a str>,
    },
}

/// The task of an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AgentTask<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its conversation.
    pub context: &'a str,
    /// Where it stands; nothing for a word nobody knows.
    pub state: Option<TaskState>,
    /// The whole `status`.
    pub status: &'a Value,
    /// The whole task, or the whole event.
    pub object: &'a Value,
}

fn text<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object.get(name).and_then(Value::as_str).filter(|text| !text.is_empty() && text.len() <= LONGEST)
}

impl<'a> AgentTask<'a> {
    /// A bare task.
    #[must_use]
    pub fn of(object: &'a Value) -> Option<Self> {
        Self::named(object, "id")
    }

    fn named(object: &'a Value, id: &str) -> Option<Self> {
        let status = object.get("status")?;
        let state = status.get("state").and_then(Value::as_str)?;
        Some(Self {
            id: text(object, id)?,
            context: text(object, "contextId")?,
            state: TaskState::of_word(state),
            status,
            object,
        })
    }
}

impl<'a> AgentResult<'a> {
    /// What the result of a send, or an event of a stream, is in this version. What has no sense in it is nothing.
    #[must_use]
    pub fn of(version: Version, result: &'a Value) -> Option<Self> {
        let (word, object) = match version {
            Version::V03 => (result.get("kind")?.as_str()?, result),
            Version::V10 => {
                let fields = result.as_object()?;
                let one = fields.iter().find(|(name, value)| {
                    !value.is_null()
                        && ["task", "message", "statusUpdate", "artifactUpdate"].contains(&name.as_str())
                });
                let (name, object) = one?;
                (name.as_str(), object)
            }
        };
        match word {
            "task" => AgentTask::of(object).map(Self::Task),
            "message" => Some(Self::Message { context: text(object, "contextId") }),
            "status-update" | "statusUpdate" => AgentTask::named(object, "taskId").map(Self::Status),
            "artifact-update" | "artifactUpdate" => {
                Some(Self::Artifact { id: text(object, "taskId")?, context: text(object, "contextId")? })
            }
            _ => None,
        }
    }
}

impl Version {
    /// A task as the result of a send or the first event of a stream.
    #[must_use]
    pub fn as_update(self, task: Value) -> Value {
        match self {
            Self::V03 => task,
            Self::V10 => json!({"task": task}),
        }
    }

    /// A task with another status, everything else as it came.
    #[must_use]
    pub fn with_status(self, task: &Value, status: &Status) -> Value {
        let mut task = task.clone();
        if let Some(fields) = task.as_object_mut() {
            fields.insert("status".to_owned(), self.status(status));
        }
        task
    }

    /// The event that a task stands elsewhere now.
    #[must_use]
    pub fn status_event(self, task: &str, context: &str, status: Value, last: bool) -> Value {
        match self {
            Self::V03 => {
                json!({"kind": "status-update", "taskId": task, "contextId": context, "status": status, "final": last})
            }
            Self::V10 => {
                json!({"statusUpdate": {"taskId": task, "contextId": context, "status": status}})
            }
        }
    }

    /// A whole task as the events that lead to it: what it brought forth, then where it stands.
    #[must_use]
    pub fn spread(self, task: &AgentTask<'_>) -> Vec<Value> {
        let artifacts = task.object.get("artifacts").and_then(Value::as_array);
        let events = artifacts.into_iter().flatten().map(|artifact| {
            let mut event = json!({"taskId": task.id, "contextId": task.context, "artifact": artifact, "lastChunk": true});
            match (self, event.as_object_mut()) {
                (Self::V03, Some(fields)) => {
                    fields.insert("kind".to_owned(), json!("artifact-update"));
                    event
                }
                _ => json!({"artifactUpdate": event}),
            }
        });
        let last = task.state.is_some_and(TaskState::is_terminal);
        let mut events: Vec<Value> = events.collect();
        events.push(self.status_event(task.id, task.context, task.status.clone(), last));
        events
    }

    /// A task of which nothing is known but how it stands.
    #[must_use]
    pub fn bare_task(self, task: &str, context: &str, status: &Status) -> Value {
        let mut whole = json!({"id": task, "contextId": context, "status": self.status(status)});
        if let (Self::V03, Some(fields)) = (self, whole.as_object_mut()) {
            fields.insert("kind".to_owned(), json!("task"));
        }
        whole
    }
}

/// What a proxy says about a task in its own words.
#[must_use]
pub fn remark(id: String, task: &str, context: &str, parts: Vec<crate::Part>) -> Message {
    Message {
        id,
        context: Some(context.to_owned()),
        task: Some(task.to_owned()),
        role: crate::Role::Agent,
        parts,
        metadata: Map::new(),
        extensions: Vec::new(),
        reference_tasks: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_seen_alike() {
        let old = json!({"kind": "task", "id": "t", "contextId": "c", "status": {"state": "input-required"}});
        let new =
            json!({"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_INPUT_REQUIRED"}}});
        for (version, value) in [(Version::V03, &old), (Version::V10, &new)] {
            let Some(AgentResult::Task(task)) = AgentResult::of(version, value) else { panic!("{value}") };
            assert_eq!((task.id, task.context, task.state), ("t", "c", Some(TaskState::InputRequired)));
        }
        let old = json!({"kind": "status-update", "taskId": "t", "contextId": "c", "status": {"state": "completed"}, "final": true});
        let new = json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}}});
        for (version, value) in [(Version::V03, &old), (Version::V10, &new)] {
            let Some(AgentResult::Status(task)) = AgentResult::of(version, value) else { panic!("{value}") };
            assert_eq!((task.id, task.state), ("t", Some(TaskState::Completed)));
        }
    }

    #[test]
    fn an_unknown_state_is_no_state_and_an_answer_without_ids_is_nothing() {
        let odd = json!({"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_DONE"}}});
        let Some(AgentResult::Task(task)) = AgentResult::of(Version::V10, &odd) else { panic!() };
        assert_eq!(task.state, None);
        for nothing in [
            json!({}),
            json!([]),
            json!("<html>"),
            json!({"task": {"contextId": "c", "status": {"state": "x"}}}),
            json!({"task": {"id": "t", "status": {"state": "x"}}}),
            json!({"task": {"id": "t", "contextId": "c"}}),
            json!({"task": {"id": "x".repeat(600), "contextId": "c", "status": {"state": "x"}}}),
        ] {
            assert_eq!(AgentResult::of(Version::V10, &nothing), None, "{nothing}");
        }
    }

    #[test]
    fn a_task_is_spread_into_its_artifacts_and_its_end() {
        let task = json!({"kind": "task", "id": "t", "contextId": "c", "status": {"state": "completed"}, "artifacts": [{"artifactId": "a", "parts": []}]});
        let events = Version::V03.spread(&AgentTask::of(&task).unwrap());
        assert_eq!(events.len(), 2);
        assert_eq!(events[0]["kind"], "artifact-update");
        assert_eq!((&events[1]["kind"], &events[1]["final"]), (&json!("status-update"), &json!(true)));
    }
}
