//! The parameters of the calls that send and list.

use serde_json::Value;

use crate::{Fault, Message, PushConfig, TaskState, Version, fields::Fields};

/// What a send carries.
#[derive(Debug, Clone, PartialEq)]
pub struct Send {
    /// What is said.
    pub message: Message,
    /// How much of the history to answer with; nothing means all.
    pub history: Option<u32>,
    /// Where news of the task is to be posted to.
    pub push: Option<PushConfig>,
}

impl Send {
    /// Reads the parameters.
    pub fn read(version: Version, params: &Value) -> Result<Self, Fault> {
        let fields = Fields::of(Some(params), "params")?;
        let message = version.read_message(fields.get("message"), "params.message")?;
        let Some(wanted) = fields.below("configuration")? else {
            return Ok(Self { message, history: None, push: None });
        };
        let push = PushConfig::inside(version, &wanted)?;
        Ok(Self { message, history: wanted.count("historyLength")?, push })
    }
}

/// Which task a call is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskName {
    /// Its id.
    pub id: String,
    /// How much of the history to answer with; nothing means all.
    pub history: Option<u32>,
}

impl TaskName {
    /// Reads the parameters.
    pub fn read(params: &Value) -> Result<Self, Fault> {
        let fields = Fields::of(Some(params), "params")?;
        Ok(Self { id: fields.word("id")?.to_owned(), history: fields.count("historyLength")? })
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

    #[test]
    fn a_wish_for_push_is_seen_under_the_name_each_version_gives_it() {
        let sent = |version: Version, configuration: Value| {
            let message = json!({"messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "a"}]});
            Send::read(version, &json!({"message": message, "configuration": configuration}))
                .map(|send| send.push.map(|push| push.url))
        };
        let wish = json!({"url": "http://localhost:1/"});
        let url = Ok(Some("http://localhost:1/".to_owned()));
        assert_eq!(sent(Version::V03, json!({"pushNotificationConfig": wish})), url);
        assert_eq!(sent(Version::V10, json!({"taskPushNotificationConfig": wish})), url);
        assert_eq!(sent(Version::V10, json!({"historyLength": 1})), Ok(None));
        let fault = sent(Version::V10, json!({"taskPushNotificationConfig": {}})).unwrap_err();
        assert!(fault.message().contains("`params.configuration.taskPushNotificationConfig.url`"));
    }

    #[test]
    fn a_task_is_named_by_text() {
        for params in
            [json!({}), json!({"id": ""}), json!({"id": 1}), json!({"id": "t", "historyLength": -1})]
        {
            assert_eq!(TaskName::read(&params).unwrap_err().code(), -32602, "{params}");
        }
    }

    #[test]
    fn empty_parameters_are_refused() {
        for version in [Version::V03, Version::V10] {
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
