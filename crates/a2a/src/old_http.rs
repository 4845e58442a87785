//! HTTP+JSON of 0.3, which is the JSON of that version's protocol buffers: `content` for `parts`, `ROLE_USER` for `user`,
//! a wrapper for `kind`.
//!
//! Everything else speaks of 0.3 as its JSON-RPC does. What is written here has the fields of the protocol buffers and no
//! others, because readers of those refuse what they do not know.

use serde_json::{Map, Value, json};

use crate::{Fault, Operation, TaskState, Version, fields::Fields};

/// The parameters of a call as those of JSON-RPC.
pub fn read_params(operation: Operation, mut params: Value) -> Result<Value, Fault> {
    let Some(fields) = params.as_object_mut() else { return Ok(params) };
    match operation {
        Operation::Send | Operation::Stream => {
            if let Some(message) = fields.get("message") {
                let read = message_in(&Fields::of(Some(message), "params.message")?)?;
                fields.insert("message".to_owned(), read);
            }
            if let Some(wanted) = fields.get_mut("configuration").and_then(Value::as_object_mut) {
                if let Some(push) = either(wanted, "pushNotification", "push_notification")? {
                    wanted.insert("pushNotificationConfig".to_owned(), push);
                }
                // Protocol buffers leave out what is false, and JSON-RPC takes what is left out for true.
                wanted.entry("blocking").or_insert(json!(false));
            }
        }
        Operation::PushSet => {
            // Python puts the wish into `config`, TypeScript does not.
            if let Some(Value::Object(mut inner)) = fields.remove("config") {
                let push = either(&mut inner, "pushNotificationConfig", "push_notification_config")?;
                fields.insert("pushNotificationConfig".to_owned(), push.unwrap_or_default());
            }
            let id = either(fields, "configId", "config_id")?;
            if let (Some(id), Some(push)) = (id, fields.get_mut("pushNotificationConfig")) {
                let unnamed = push.get("id").and_then(Value::as_str).is_none_or(str::is_empty);
                if let (true, Some(push)) = (unnamed, push.as_object_mut()) {
                    push.insert("id".to_owned(), id);
                }
            }
        }
        _ => {}
    }
    Ok(params)
}

/// Takes out a field by the one name or the other, and refuses both at once.
fn either(object: &mut Map<String, Value>, name: &str, other: &str) -> Result<Option<Value>, Fault> {
    match (object.remove(name), object.remove(other)) {
        (Some(_), Some(_)) => {
            Err(Fault::InvalidParams(format!("`{name}` is there twice, once as `{other}`")))
        }
        (one, two) => Ok(one.or(two).filter(|value| !value.is_null())),
    }
}

fn message_in(fields: &Fields<'_>) -> Result<Value, Fault> {
    let role = match fields.word("role")? {
        "ROLE_USER" | "user" => "user",
        "ROLE_AGENT" | "agent" => "agent",
        _ => return Err(fields.fault("role", "is neither ROLE_USER nor ROLE_AGENT")),
    };
    if fields.get("parts").is_some() {
        return Err(fields.fault("parts", "is `content` in HTTP+JSON of 0.3"));
    }
    let parts: Vec<Value> = fields.objects("content")?.iter().map(part_in).collect::<Result<_, _>>()?;
    let mut out = Map::from_iter([
        ("kind".to_owned(), json!("message")),
        ("role".to_owned(), json!(role)),
        ("parts".to_owned(), json!(parts)),
    ]);
    for name in ["messageId", "contextId", "taskId"] {
        if let Some(text) = fields.text(name)?.filter(|text| !text.is_empty()) {
            out.insert(name.to_owned(), json!(text));
        }
    }
    let (metadata, extensions) = (fields.map("metadata")?, fields.words("extensions")?);
    if !metadata.is_empty() {
        out.insert("metadata".to_owned(), Value::Object(metadata));
    }
    if !extensions.is_empty() {
        out.insert("extensions".to_owned(), json!(extensions));
    }
    Ok(Value::Object(out))
}

fn part_in(fields: &Fields<'_>) -> Result<Value, Fault> {
    let mut out = match (fields.text("text")?, fields.below("file")?, fields.below("data")?) {
        (Some(text), None, None) => json!({"kind": "text", "text": text}),
        (None, None, Some(data)) => {
            let data = data.needed("data")?.map_all();
            json!({"kind": "data", "data": data})
        }
        (None, Some(file), None) => {
            let named = |name, other| Ok::<_, Fault>(file.text(name)?.or(file.text(other)?));
            let mut read = Map::new();
            match (named("fileWithUri", "file_with_uri")?, named("fileWithBytes", "file_with_bytes")?) {
                (Some(uri), None) => read.insert("uri".to_owned(), json!(uri)),
                (None, Some(bytes)) => read.insert("bytes".to_owned(), json!(bytes)),
                _ => {
                    return Err(
                        fields.fault("file", "has neither `fileWithUri` nor `fileWithBytes`, or both")
                    );
                }
            };
            for (name, text) in [("mimeType", named("mimeType", "mime_type")?), ("name", file.text("name")?)]
            {
                if let Some(text) = text.filter(|text| !text.is_empty()) {
                    read.insert(name.to_owned(), json!(text));
                }
            }
            json!({"kind": "file", "file": read})
        }
        _ => {
            return Err(
                fields.fault("text", "or one of `file` and `data` must be there, and only one of them")
            );
        }
    };
    let metadata = fields.map("metadata")?;
    if let (false, Some(out)) = (metadata.is_empty(), out.as_object_mut()) {
        out.insert("metadata".to_owned(), Value::Object(metadata));
    }
    Ok(out)
}

/// The result of a call, from what JSON-RPC of 0.3 would answer.
#[must_use]
pub fn write_result(operation: Operation, result: &Value) -> Value {
    match operation {
        Operation::Send | Operation::Stream | Operation::Subscribe => write_update(result),
        Operation::Get | Operation::Cancel => task(result),
        Operation::List => {
            let mut page = result.clone();
            if let Some(tasks) = page.get_mut("tasks").and_then(Value::as_array_mut) {
                for one in tasks {
                    *one = task(one);
                }
            }
            page
        }
        Operation::PushSet | Operation::PushGet => push(result),
        Operation::PushList => {
            let all = result.as_array().into_iter().flatten().map(push);
            json!({"configs": all.collect::<Vec<_>>()})
        }
        Operation::PushDelete => json!({}),
        Operation::Card => result.clone(),
    }
}

/// The result of a send or an event of a stream: what `kind` says stands in a wrapper here.
#[must_use]
pub fn write_update(update: &Value) -> Value {
    match update.get("kind").and_then(Value::as_str) {
        Some("task") => json!({"task": task(update)}),
        Some("message") => json!({"message": message(update)}),
        Some("status-update") => {
            let mut out = written(update, &["taskId", "contextId", "final"]);
            out.with("status", status);
            json!({"statusUpdate": out.done()})
        }
        Some("artifact-update") => {
            let mut out = written(update, &["taskId", "contextId", "append", "lastChunk"]);
            out.with("artifact", artifact);
            json!({"artifactUpdate": out.done()})
        }
        // A word of nobody's, which is nobody's to translate.
        _ => update.clone(),
    }
}

/// An object that is being written from another.
struct Writer<'a> {
    from: &'a Value,
    out: Map<String, Value>,
}

impl Writer<'_> {
    /// A text or a flag, under the same name.
    fn plain(&mut self, name: &str) {
        if let Some(value @ (Value::String(_) | Value::Bool(_))) = self.from.get(name) {
            self.out.insert(name.to_owned(), value.clone());
        }
    }

    fn with(&mut self, name: &str, write: impl Fn(&Value) -> Value) {
        if let Some(value) = self.from.get(name).filter(|value| value.is_object()) {
            self.out.insert(name.to_owned(), write(value));
        }
    }

    fn each(&mut self, name: &str, to: &str, write: impl Fn(&Value) -> Value) {
        if let Some(list) = self.from.get(name).and_then(Value::as_array).filter(|list| !list.is_empty()) {
            self.out.insert(to.to_owned(), list.iter().map(write).collect());
        }
    }

    /// What the caller put there, which stays as it is, and the list of extensions.
    fn done(mut self) -> Value {
        self.with("metadata", Value::clone);
        self.each("extensions", "extensions", |word| json!(word.as_str().unwrap_or_default()));
        Value::Object(self.out)
    }
}

fn written<'a>(from: &'a Value, names: &[&str]) -> Writer<'a> {
    let mut out = Writer { from, out: Map::new() };
    for name in names {
        out.plain(name);
    }
    out
}

fn task(from: &Value) -> Value {
    let mut out = written(from, &["id", "contextId"]);
    out.with("status", status);
    out.each("artifacts", "artifacts", artifact);
    out.each("history", "history", message);
    out.done()
}

fn status(from: &Value) -> Value {
    let mut out = Writer { from, out: Map::new() };
    let word = from.get("state").and_then(Value::as_str).unwrap_or_default();
    let state = match TaskState::of_word(word) {
        // The one word that 1.0 spells another way.
        Some(TaskState::Canceled) => "TASK_STATE_CANCELLED",
        Some(state) => state.spelled(Version::V10),
        None => "TASK_STATE_UNSPECIFIED",
    };
    out.out.insert("state".to_owned(), json!(state));
    out.with("message", message);
    if let Some(at) = from.get("timestamp").and_then(Value::as_str).and_then(instant) {
        out.out.insert("timestamp".to_owned(), json!(at));
    }
    Value::Object(out.out)
}

/// A time as protocol buffers read it: with its zone. Some agents leave it out and mean UTC.
fn instant(text: &str) -> Option<String> {
    let (date, time) = text.split_once(['T', ' '])?;
    let zoned = time.ends_with(['Z', 'z']) || time.contains(['+', '-']);
    let digits = |text: &str| text.bytes().filter(u8::is_ascii_digit).count();
    let plain = date.len() == 10 && digits(date) == 8 && digits(time) >= 6;
    plain.then(|| format!("{date}T{}{}", time.replace('z', "Z"), if zoned { "" } else { "Z" }))
}

fn message(from: &Value) -> Value {
    let mut out = written(from, &["messageId", "contextId", "taskId"]);
    let agent = from.get("role").and_then(Value::as_str) == Some("agent");
    out.out.insert("role".to_owned(), json!(if agent { "ROLE_AGENT" } else { "ROLE_USER" }));
    out.each("parts", "content", part);
    out.done()
}

fn artifact(from: &Value) -> Value {
    let mut out = written(from, &["artifactId", "name", "description"]);
    out.each("parts", "parts", part);
    out.done()
}

fn part(from: &Value) -> Value {
    let mut out = Writer { from, out: Map::new() };
    match from.get("kind").and_then(Value::as_str) {
        Some("data") => out.with("data", |data| json!({"data": data})),
        Some("file") => out.with("file", |file| {
            let mut inner = written(file, &["mimeType", "name"]);
            for (name, to) in [("uri", "fileWithUri"), ("bytes", "fileWithBytes")] {
                if let Some(Value::String(text)) = file.get(name) {
                    inner.out.insert(to.to_owned(), json!(text));
                }
            }
            Value::Object(inner.out)
        }),
        _ => out.plain("text"),
    }
    out.done()
}

fn push(from: &Value) -> Value {
    let config = from.get("pushNotificationConfig").unwrap_or(&Value::Null);
    let text =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let name = format!("tasks/{}/pushNotificationConfigs/{}", text(from, "taskId"), text(config, "id"));
    json!({"name": name, "pushNotificationConfig": config})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_either_official_client_becomes_one_of_json_rpc() {
        let python = json!({
            "message": {"messageId": "m", "role": "ROLE_USER", "metadata": {"a": 1}, "extensions": ["urn:x"], "content": [
                {"text": "hi"},
                {"data": {"data": {"n": 1}}, "metadata": {"b": 2}},
                {"file": {"fileWithUri": "https://x/", "mimeType": "a/b", "name": "f"}},
                {"file": {"file_with_bytes": "dGNr"}},
            ]},
            "configuration": {"pushNotification": {"url": "https://y/"}},
        });
        let wanted = json!({
            "message": {"kind": "message", "messageId": "m", "role": "user", "metadata": {"a": 1}, "extensions": ["urn:x"], "parts": [
                {"kind": "text", "text": "hi"},
                {"kind": "data", "data": {"n": 1}, "metadata": {"b": 2}},
                {"kind": "file", "file": {"uri": "https://x/", "mimeType": "a/b", "name": "f"}},
                {"kind": "file", "file": {"bytes": "dGNr"}},
            ]},
            "configuration": {"pushNotificationConfig": {"url": "https://y/"}, "blocking": false},
        });
        assert_eq!(read_params(Operation::Send, python).unwrap(), wanted);
        // TypeScript writes empty texts out; they mean none.
        let empty = json!({"message": {"messageId": "m", "role": "ROLE_AGENT", "taskId": "", "contextId": "", "content": []}});
        let wanted = json!({"message": {"kind": "message", "messageId": "m", "role": "agent", "parts": []}});
        assert_eq!(read_params(Operation::Stream, empty).unwrap(), wanted);
    }

    #[test]
    fn what_another_reader_could_take_for_another_message_is_refused() {
        for (message, why) in [
            (json!({"role": "ROLE_USER", "parts": [{"kind": "text", "text": "x"}]}), "is `content` in"),
            (json!({"role": "ROLE_ROOT", "content": []}), "neither ROLE_USER"),
            (json!({"content": []}), "`params.message.role` is missing"),
            (json!({"role": "ROLE_USER", "content": [{}]}), "content[0].text` or one of"),
            (json!({"role": "ROLE_USER", "content": [{"text": "a", "data": {"data": {}}}]}), "only one"),
            (
                json!({"role": "ROLE_USER", "content": [{"data": {"n": 1}}]}),
                "content[0].data.data` is missing",
            ),
            (json!({"role": "ROLE_USER", "content": [{"file": {"name": "f"}}]}), "neither `fileWithUri`"),
        ] {
            let fault = read_params(Operation::Send, json!({"message": message})).unwrap_err();
            assert!(fault.message().contains(why), "{}", fault.message());
        }
        let twice = json!({"message": {"role": "ROLE_USER", "content": []}, "configuration": {"pushNotification": {}, "push_notification": {}}});
        assert!(read_params(Operation::Send, twice).is_err());
    }

    #[test]
    fn a_wish_is_read_from_both_clients() {
        let push = json!({"id": "c", "url": "https://y/"});
        let python = json!({"taskId": "t", "parent": "tasks/t", "configId": "c", "config": {"name": "n", "pushNotificationConfig": {"url": "https://y/"}}});
        let typescript = json!({"taskId": "t", "name": "n", "pushNotificationConfig": push});
        for params in [python, typescript] {
            let read = read_params(Operation::PushSet, params).unwrap();
            assert_eq!(read["pushNotificationConfig"], push);
        }
        let told = json!({"taskId": "t", "pushNotificationConfig": push});
        let wanted = json!({"name": "tasks/t/pushNotificationConfigs/c", "pushNotificationConfig": push});
        assert_eq!(write_result(Operation::PushSet, &told), wanted);
        assert_eq!(write_result(Operation::PushList, &json!([told])), json!({"configs": [wanted]}));
        assert_eq!(write_result(Operation::PushDelete, &Value::Null), json!({}));
    }

    #[test]
    fn a_task_has_the_fields_of_the_protocol_buffers_and_no_others() {
        let said = json!({"kind": "message", "messageId": "m", "role": "agent", "referenceTaskIds": ["r"], "parts": [{"kind": "text", "text": "x"}]});
        let from = json!({
            "kind": "task", "id": "t", "contextId": "c", "odd": 1, "metadata": {"kind": "mine"},
            "status": {"state": "canceled", "timestamp": "2026-01-02T03:04:05.123456", "message": said},
            "history": [said],
            "artifacts": [{"artifactId": "a", "parts": [{"kind": "data", "data": {"kind": "text"}}, {"kind": "file", "file": {"bytes": "dGNr", "mimeType": "a/b"}}]}],
        });
        let message = json!({"messageId": "m", "role": "ROLE_AGENT", "content": [{"text": "x"}]});
        let wanted = json!({
            "id": "t", "contextId": "c", "metadata": {"kind": "mine"},
            "status": {"state": "TASK_STATE_CANCELLED", "timestamp": "2026-01-02T03:04:05.123456Z", "message": message},
            "history": [message],
            "artifacts": [{"artifactId": "a", "parts": [{"data": {"data": {"kind": "text"}}}, {"file": {"fileWithBytes": "dGNr", "mimeType": "a/b"}}]}],
        });
        assert_eq!(write_result(Operation::Get, &from), wanted);
        assert_eq!(write_update(&from), json!({"task": wanted}));
        assert_eq!(
            write_result(Operation::List, &json!({"tasks": [from], "totalSize": 1}))["tasks"],
            json!([wanted])
        );
    }

    #[test]
    fn events_are_named_by_their_wrapper() {
        let moved = json!({"kind": "status-update", "taskId": "t", "contextId": "c", "final": true, "status": {"state": "completed"}});
        let wanted = json!({"statusUpdate": {"taskId": "t", "contextId": "c", "final": true, "status": {"state": "TASK_STATE_COMPLETED"}}});
        assert_eq!(write_update(&moved), wanted);
        let made = json!({"kind": "artifact-update", "taskId": "t", "contextId": "c", "lastChunk": true, "artifact": {"artifactId": "a", "parts": []}});
        let wanted = json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "lastChunk": true, "artifact": {"artifactId": "a"}}});
        assert_eq!(write_update(&made), wanted);
    }

    #[test]
    fn times_are_written_with_a_zone_or_not_at_all() {
        for (text, wanted) in [
            ("2026-01-02T03:04:05Z", Some("2026-01-02T03:04:05Z")),
            ("2026-01-02T03:04:05+02:00", Some("2026-01-02T03:04:05+02:00")),
            ("2026-01-02 03:04:05", Some("2026-01-02T03:04:05Z")),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(instant(text).as_deref(), wanted, "{text}");
        }
    }
}
