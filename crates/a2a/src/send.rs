//! The parameters of the calls that send and list.

use serde_json::{Map, Value};

use crate::{Fault, Message, PushConfig, TaskState, Version, fields::Fields};

/// What a send carries.
#[derive(Debug, Clone, PartialEq)]
pub struct Send {
    /// What is said.
    pub message: Message,
    /// Whether to answer before the task has ended or waits.
    pub at_once: bool,
    /// How much of the history to answer with; nothing means all.
    pub history: Option<u32>,
    /// Where to post news of the task.
    pub push: Option<PushConfig>,
    /// Whatever the caller added to the call.
    pub metadata: Map<String, Value>,
}

impl Send {
    /// Reads the parameters.
    pub fn read(version: Version, params: &Value) -> Result<Self, Fault> {
        let fields = Fields::of(Some(params), "params")?;
        let message = version.read_message(fields.get("message"), "params.message")?;
        let configuration = fields.below("configuration")?;
        let (mut at_once, mut history, mut push) = (false, None, None);
        if let Some(wanted) = configuration {
            at_once = match version {
                Version::V03 => wanted.flag("blocking")?.is_some_and(|blocking| !blocking),
                Version::V10 => wanted.flag("returnImmediately")?.unwrap_or(false),
            };
            history = wanted.count("historyLength")?;
            let name = match version {
                Version::V03 => "pushNotificationConfig",
                Version::V10 => "taskPushNotificationConfig",
            };
            push = wanted.below(name)?.map(|wish| PushConfig::read(&wish)).transpose()?;
        }
        Ok(Self { message, at_once, history, push, metadata: fields.map("metadata")? })
    }
}

/// Which tasks to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListTasks {
    /// Of this conversation.
    pub context: Option<String>,
    /// In this state.
    pub state: Option<TaskState>,
    /// At most this many; 1 to 100.
    pub page_size: u32,
    /// Where the last page ended.
    pub page_token: Option<String>,
    /// How much of each history.
    pub history: Option<u32>,
    /// Changed after this time.
    pub after: Option<String>,
    /// With what they brought forth.
    pub artifacts: bool,
}

impl ListTasks {
    /// Page size unless said otherwise.
    pub const PAGE: u32 = 50;
    /// Largest page.
    pub const PAGE_MAX: u32 = 100;

    /// Reads the parameters.
    pub fn read(params: &Value) -> Result<Self, Fault> {
        let fields = Fields::of(Some(params), "params")?;
        let text =
            |name| Ok::<_, Fault>(fields.text(name)?.filter(|text| !text.is_empty()).map(str::to_owned));
        let state = match text("status")?.as_deref() {
            None | Some("TASK_STATE_UNSPECIFIED") => None,
            Some(word) => Some(
                TaskState::of_word(word)
                    .ok_or_else(|| fields.fault("status", "is not the name of a state"))?,
            ),
        };
        let page_size = fields.count("pageSize")?.unwrap_or(Self::PAGE);
        if !(1..=Self::PAGE_MAX).contains(&page_size) {
            return Err(fields.fault("pageSize", "is not between 1 and 100"));
        }
        Ok(Self {
            context: text("contextId")?,
            state,
            page_size,
            page_token: text("pageToken")?,
            history: fields.count("historyLength")?,
            after: text("statusTimestampAfter")?,
            artifacts: fields.flag("includeArtifacts")?.unwrap_or(false),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sent(version: Version, configuration: &Value) -> Send {
        let message = json!({"messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "a"}]});
        Send::read(version, &json!({"message": message, "configuration": configuration})).unwrap()
    }

    #[test]
    fn not_to_block_and_to_return_at_once_are_the_same_wish() {
        assert!(!sent(Version::V03, &json!({})).at_once);
        assert!(!sent(Version::V03, &json!({"blocking": true})).at_once);
        assert!(sent(Version::V03, &json!({"blocking": false})).at_once);
    }

    #[test]
    fn empty_parameters_are_refused() {
        for version in Version::ALL {
            assert_eq!(Send::read(version, &json!({})).unwrap_err().code(), -32602);
        }
    }

    #[test]
    fn pages_are_bounded() {
        assert_eq!(ListTasks::read(&json!({})).unwrap().page_size, 50);
        for size in [json!(0), json!(101), json!(-1), json!("5"), json!(1.5)] {
            assert_eq!(ListTasks::read(&json!({"pageSize": size})).unwrap_err().code(), -32602, "{size}");
        }
        assert_eq!(ListTasks::read(&json!({"status": "done"})).unwrap_err().code(), -32602);
    }
}
