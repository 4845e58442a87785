//! The two names that fields of the protocol go by: `taskId`, and `task_id` as protocol buffers and Python have it.
//!
//! Readers of both versions take both, so a message with `task_id` is a message on that task, whoever carries it there.

use serde_json::{Map, Value};

use crate::Fault;

/// The fields whose other name is taken for the same.
const FIELDS: [&str; 15] = [
    "acceptedOutputModes",
    "contextId",
    "historyLength",
    "includeArtifacts",
    "mediaType",
    "messageId",
    "pageSize",
    "pageToken",
    "pushNotificationConfig",
    "pushNotificationConfigId",
    "referenceTaskIds",
    "returnImmediately",
    "statusTimestampAfter",
    "taskId",
    "taskPushNotificationConfig",
];

/// Fields of one word.
const PLAIN: [&str; 14] = [
    "blocking",
    "configuration",
    "data",
    "extensions",
    "file",
    "id",
    "kind",
    "message",
    "metadata",
    "parts",
    "role",
    "tenant",
    "text",
    "url",
];

/// Gives the fields of the parameters their one name. What callers put into data and metadata stays as it is.
pub fn one_name(params: &mut Value) -> Result<(), Fault> {
    let Value::Object(params) = params else { return Ok(()) };
    rename(params, "params")?;
    for name in ["message", "configuration", "pushNotificationConfig"] {
        let Some(Value::Object(inner)) = params.get_mut(name) else { continue };
        let place = format!("params.{name}");
        rename(inner, &place)?;
        if let Some(Value::Array(parts)) = inner.get_mut("parts") {
            for part in parts.iter_mut().filter_map(Value::as_object_mut) {
                rename(part, &format!("{place}.parts"))?;
            }
        }
    }
    Ok(())
}

fn rename(object: &mut Map<String, Value>, place: &str) -> Result<(), Fault> {
    for name in FIELDS {
        let Some(value) = object.remove(&snake(name)) else { continue };
        if object.insert(name.to_owned(), value).is_some() {
            let why = format!("`{place}.{name}` is there twice, once as `{}`", snake(name));
            return Err(Fault::InvalidParams(why));
        }
    }
    // Some readers do not look at upper and lower case. What they would read and we would not is refused.
    for key in object.keys() {
        let folded: String =
            key.chars().filter(|letter| *letter != '_').flat_map(char::to_lowercase).collect();
        let known = FIELDS.iter().chain(&PLAIN).find(|name| name.to_lowercase() == folded);
        if let Some(name) = known.filter(|name| *name != key) {
            return Err(Fault::InvalidParams(format!("`{place}.{key}` is spelled `{name}`")));
        }
    }
    Ok(())
}

/// `taskId` as `task_id`.
fn snake(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_is_known_by_either_name_and_data_is_left_alone() {
        let mut params = json!({
            "task_id": "t", "page_size": 3,
            "message": {"task_id": "t", "context_id": "c", "message_id": "m", "metadata": {"task_id": 1},
                "parts": [{"data": {"task_id": 2}, "media_type": "x/y"}, "odd"]},
            "configuration": {"history_length": 0, "other_thing": 1},
        });
        one_name(&mut params).unwrap();
        assert_eq!(
            params,
            json!({
                "taskId": "t", "pageSize": 3,
                "message": {"taskId": "t", "contextId": "c", "messageId": "m", "metadata": {"task_id": 1},
                    "parts": [{"data": {"task_id": 2}, "mediaType": "x/y"}, "odd"]},
                "configuration": {"historyLength": 0, "other_thing": 1},
            })
        );
    }

    #[test]
    fn both_names_at_once_are_refused() {
        let mut params = json!({"message": {"taskId": "a", "task_id": "b"}});
        let fault = one_name(&mut params).unwrap_err();
        assert_eq!(fault.message(), "`params.message.taskId` is there twice, once as `task_id`");
    }
}
