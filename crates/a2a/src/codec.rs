//! Tasks, messages and events as the JSON of either version.
//!
//! The shapes are the same but for `kind`, the spelling of states and roles, and parts; those are decided in one place each.

use serde_json::{Map, Value, json};

use crate::{
    Artifact, Content, Fault, Message, Part, Role, Status, Task, TaskState, Update, Version, desk,
    fields::Fields,
};

/// The states by the names both versions give them.
const STATES: [(TaskState, &str, &str); 8] = [
    (TaskState::Submitted, "submitted", "TASK_STATE_SUBMITTED"),
    (TaskState::Working, "working", "TASK_STATE_WORKING"),
    (TaskState::InputRequired, "input-required", "TASK_STATE_INPUT_REQUIRED"),
    (TaskState::AuthRequired, "auth-required", "TASK_STATE_AUTH_REQUIRED"),
    (TaskState::Completed, "completed", "TASK_STATE_COMPLETED"),
    (TaskState::Canceled, "canceled", "TASK_STATE_CANCELED"),
    (TaskState::Failed, "failed", "TASK_STATE_FAILED"),
    (TaskState::Rejected, "rejected", "TASK_STATE_REJECTED"),
];

impl TaskState {
    /// As a version spells it.
    #[must_use]
    pub fn spelled(self, version: Version) -> &'static str {
        let found = STATES.iter().find(|(state, ..)| *state == self);
        found.map_or("", |(_, old, new)| if version == Version::V03 { old } else { new })
    }

    /// The state a word of either version names. An unknown word is none: nobody may take it for an end.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        STATES.iter().find(|(_, old, new)| *old == word || *new == word).map(|(state, ..)| *state)
    }
}

impl Role {
    fn spelled(self, version: Version) -> &'static str {
        match (self, version) {
            (Self::User, Version::V03) => "user",
            (Self::User, Version::V10) => "ROLE_USER",
            (Self::Agent, Version::V03) => "agent",
            (Self::Agent, Version::V10) => "ROLE_AGENT",
        }
    }
}

impl Version {
    /// Reads a message, as `place` in the faults.
    pub fn read_message(self, value: Option<&Value>, place: &str) -> Result<Message, Fault> {
        let fields = Fields::of(value, place)?;
        let role = match fields.word("role")? {
            "user" | "ROLE_USER" => Role::User,
            "agent" | "ROLE_AGENT" => Role::Agent,
            _ => return Err(fields.fault("role", "is neither the user's nor the agent's")),
        };
        let parts = fields.objects("parts")?;
        let metadata = fields.map("metadata")?;
        // Some extensions speak in the metadata alone; a message that says nothing at all is a mistake.
        if parts.is_empty() && metadata.is_empty() {
            return Err(fields.fault("parts", "is missing or empty"));
        }
        let parts: Vec<Part> = parts.iter().map(|part| self.read_part(part)).collect::<Result<_, _>>()?;
        // AgentKit does without an id for its messages.
        let id = match given(fields.text("messageId")?) {
            Some(id) => id,
            None if parts.iter().any(desk::is_agentkit) => String::new(),
            None => fields.word("messageId")?.to_owned(),
        };
        Ok(Message {
            id,
            context: given(fields.text("contextId")?),
            task: given(fields.text("taskId")?),
            role,
            parts,
            metadata,
            extensions: fields.words("extensions")?,
            reference_tasks: fields.words("referenceTaskIds")?,
        })
    }

    /// Reads a part: of 0.3 by its `kind`, of 1.0 by the one field that it has.
    fn read_part(self, fields: &Fields<'_>) -> Result<Part, Fault> {
        let metadata = fields.map("metadata")?;
        if self == Version::V03 {
            let (content, filename, media_type) = match fields.word("kind")? {
                "text" => (Content::Text(fields.text("text")?.unwrap_or("").to_owned()), None, None),
                "data" => (Content::Data(Value::Object(fields.needed("data")?.map_all())), None, None),
                "file" => {
                    let file = fields.needed("file")?;
                    let content = match (file.text("uri")?, file.text("bytes")?) {
                        (Some(uri), None) => Content::Url(uri.to_owned()),
                        (None, Some(bytes)) => Content::Raw(bytes.to_owned()),
                        _ => return Err(fields.fault("file", "has neither `uri` nor `bytes`, or both")),
                    };
                    (content, given(file.text("name")?), given(file.text("mimeType")?))
                }
                _ => return Err(fields.fault("kind", "is none of text, data and file")),
            };
            return Ok(Part { content, metadata, filename, media_type });
        }
        let mut found = Vec::new();
        if let Some(text) = fields.text("text")? {
            found.push(Content::Text(text.to_owned()));
        }
        if let Some(raw) = fields.text("raw")? {
            found.push(Content::Raw(raw.to_owned()));
        }
        if let Some(url) = fields.text("url")? {
            found.push(Content::Url(url.to_owned()));
        }
        if let Some(data) = fields.get("data") {
            found.push(Content::Data(data.clone()));
        }
        let (Some(content), None) = (found.pop(), found.pop()) else {
            return Err(
                fields.fault("text", "or one of `data`, `raw` and `url` must be there, and only one of them")
            );
        };
        let (filename, media_type) = (given(fields.text("filename")?), given(fields.text("mediaType")?));
        Ok(Part { content, metadata, filename, media_type })
    }

    /// Writes a message.
    #[must_use]
    pub fn message(self, message: &Message) -> Value {
        let mut out = Out::new(self, "message");
        out.text("messageId", &message.id);
        out.maybe("contextId", message.context.as_deref());
        out.maybe("taskId", message.task.as_deref());
        out.put("role", message.role.spelled(self));
        out.put("parts", self.parts(&message.parts));
        out.filled("metadata", &message.metadata);
        out.listed("extensions", &message.extensions);
        out.listed("referenceTaskIds", &message.reference_tasks);
        out.done()
    }

    fn parts(self, parts: &[Part]) -> Vec<Value> {
        parts.iter().map(|part| self.part(part)).collect()
    }

    fn part(self, part: &Part) -> Value {
        let mut out = Out(Map::new());
        if self == Version::V10 {
            match &part.content {
                Content::Text(text) => out.text("text", text),
                Content::Data(data) => out.put("data", data.clone()),
                Content::Raw(raw) => out.text("raw", raw),
                Content::Url(url) => out.text("url", url),
            }
            out.maybe("filename", part.filename.as_deref());
            out.maybe("mediaType", part.media_type.as_deref());
        } else {
            match &part.content {
                Content::Text(text) => {
                    out.put("kind", "text");
                    out.text("text", text);
                }
                Content::Data(data) => {
                    out.put("kind", "data");
                    // 0.3 knows objects only.
                    out.put("data", if data.is_object() { data.clone() } else { json!({"value": data}) });
                }
                Content::Raw(content) | Content::Url(content) => {
                    let name = if matches!(part.content, Content::Raw(_)) { "bytes" } else { "uri" };
                    let mut file = Out(Map::new());
                    file.text(name, content);
                    file.maybe("name", part.filename.as_deref());
                    file.maybe("mimeType", part.media_type.as_deref());
                    out.put("kind", "file");
                    out.put("file", file.done());
                }
            }
        }
        out.filled("metadata", &part.metadata);
        out.done()
    }

    /// Writes a task with this much of its history, or all of it.
    #[must_use]
    pub fn task(self, task: &Task, history: Option<u32>) -> Value {
        let mut out = Out::new(self, "task");
        out.text("id", &task.id);
        out.text("contextId", &task.context);
        out.put("status", self.status(&task.status));
        if !task.artifacts.is_empty() {
            out.put(
                "artifacts",
                task.artifacts.iter().map(|artifact| self.artifact(artifact)).collect::<Vec<_>>(),
            );
        }
        let keep = history.map_or(usize::MAX, |count| usize::try_from(count).unwrap_or(usize::MAX));
        let newest = task.history.iter().skip(task.history.len().saturating_sub(keep));
        let newest: Vec<Value> = newest.map(|message| self.message(message)).collect();
        // Whoever asks for some of it in 0.3 looks for the field, whatever is in it.
        if !newest.is_empty() || (self == Version::V03 && history.is_some_and(|count| count > 0)) {
            out.put("history", newest);
        }
        out.filled("metadata", &task.metadata);
        out.done()
    }

    /// Where a task stands.
    #[must_use]
    pub fn status(self, status: &Status) -> Value {
        let mut out = Out(Map::new());
        out.put("state", status.state.spelled(self));
        if let Some(message) = &status.message {
            out.put("message", self.message(message));
        }
        out.maybe("timestamp", status.at.as_deref());
        out.done()
    }

    /// Writes an artifact.
    fn artifact(self, artifact: &Artifact) -> Value {
        let mut out = Out(Map::new());
        out.text("artifactId", &artifact.id);
        out.maybe("name", artifact.name.as_deref());
        out.maybe("description", artifact.description.as_deref());
        out.put("parts", self.parts(&artifact.parts));
        out.filled("metadata", &artifact.metadata);
        out.listed("extensions", &artifact.extensions);
        out.done()
    }

    /// Writes what a send or one event of a stream answers: 1.0 says in a wrapper what it is, 0.3 by `kind`.
    #[must_use]
    pub fn update(self, update: &Update, history: Option<u32>) -> Value {
        let (name, inner) = match update {
            Update::Task(task) => ("task", self.task(task, history)),
            Update::Message(message) => ("message", self.message(message)),
            Update::Status { task, context, status, last, metadata } => {
                let mut out = Out::new(self, "status-update");
                out.text("taskId", task);
                out.text("contextId", context);
                out.put("status", self.status(status));
                if self == Version::V03 {
                    out.put("final", *last);
                }
                out.filled("metadata", metadata);
                ("statusUpdate", out.done())
            }
            Update::Artifact { task, context, artifact, append, last_chunk } => {
                let mut out = Out::new(self, "artifact-update");
                out.text("taskId", task);
                out.text("contextId", context);
                out.put("artifact", self.artifact(artifact));
                out.put("append", *append);
                out.put("lastChunk", *last_chunk);
                ("artifactUpdate", out.done())
            }
        };
        if self == Version::V03 { inner } else { json!({ name: inner }) }
    }
}

/// Text that was given: empty text means none, as protocol buffers have it.
fn given(text: Option<&str>) -> Option<String> {
    text.filter(|text| !text.is_empty()).map(str::to_owned)
}

/// An object that is being written.
struct Out(Map<String, Value>);

impl Out {
    /// An object that 0.3 names by its `kind`.
    fn new(version: Version, kind: &str) -> Self {
        let mut out = Self(Map::new());
        if version == Version::V03 {
            out.put("kind", kind);
        }
        out
    }

    fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    fn text(&mut self, name: &str, value: &str) {
        self.put(name, value);
    }

    fn maybe(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.text(name, value);
        }
    }

    fn filled(&mut self, name: &str, map: &Map<String, Value>) {
        if !map.is_empty() {
            self.put(name, map.clone());
        }
    }

    fn listed(&mut self, name: &str, words: &[String]) {
        if !words.is_empty() {
            self.put(name, words.to_vec());
        }
    }

    fn done(self) -> Value {
        Value::Object(self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(parts: Vec<Part>) -> Message {
        Message {
            id: "m1".to_owned(),
            context: Some("c1".to_owned()),
            task: Some("t1".to_owned()),
            role: Role::User,
            parts,
            metadata: Map::new(),
            extensions: Vec::new(),
            reference_tasks: Vec::new(),
        }
    }

    fn content() -> impl Strategy<Value = Content> {
        prop_oneof![
            ".{0,8}".prop_map(Content::Text),
            (-9_007_199_254_740_991_i64..=9_007_199_254_740_991)
                .prop_map(|number| Content::Data(json!({"n": number}))),
            "[A-Za-z0-9+/]{0,8}".prop_map(Content::Raw),
            "https://[a-z]{1,8}/".prop_map(Content::Url),
        ]
    }

    proptest! {
        #[test]
        fn a_message_comes_back_from_either_version_as_it_was_and_integers_stay_integers(
            contents in proptest::collection::vec(content(), 1..4),
            new in any::<bool>(),
        ) {
            let version = if new { Version::V10 } else { Version::V03 };
            let said = message(contents.into_iter().map(Part::of).collect());
            let wire = serde_json::from_str::<Value>(&version.message(&said).to_string()).unwrap();
            prop_assert_eq!(version.read_message(Some(&wire), "message").unwrap(), said);
        }
    }

    #[test]
    fn the_same_task_reads_as_each_version_wants_it() {
        let task = Task {
            id: "t1".to_owned(),
            context: "c1".to_owned(),
            status: Status {
                state: TaskState::InputRequired,
                message: Some(message(vec![Part::text("yes?")])),
                at: None,
            },
            artifacts: Vec::new(),
            history: vec![message(vec![Part::data(json!({"a": 1}))])],
            metadata: Map::new(),
            generation: 1,
        };
        let said = |kind: Value, role: &str, part: Value| {
            let mut said =
                json!({"messageId": "m1", "contextId": "c1", "taskId": "t1", "role": role, "parts": [part]});
            if !kind.is_null() {
                said["kind"] = kind;
            }
            said
        };
        let old = json!({
            "kind": "task", "id": "t1", "contextId": "c1",
            "status": {"state": "input-required", "message": said(json!("message"), "user", json!({"kind": "text", "text": "yes?"}))},
            "history": [said(json!("message"), "user", json!({"kind": "data", "data": {"a": 1}}))],
        });
        assert_eq!(Version::V03.update(&Update::Task(task.clone()), None), old);
        let new = json!({"task": {
            "id": "t1", "contextId": "c1",
            "status": {"state": "TASK_STATE_INPUT_REQUIRED", "message": said(Value::Null, "ROLE_USER", json!({"text": "yes?"}))},
        }});
        assert_eq!(Version::V10.update(&Update::Task(task.clone()), Some(0)), new);
        let silent = Task { history: Vec::new(), ..task };
        assert_eq!(Version::V03.task(&silent, Some(1))["history"], json!([]));
        assert_eq!(Version::V10.task(&silent, Some(1)).get("history"), None);
    }

    #[test]
    fn a_part_of_1_0_with_two_contents_or_none_is_refused_by_its_place() {
        for part in [json!({}), json!({"text": "a", "url": "b"})] {
            let wire = json!({"messageId": "m", "role": "ROLE_USER", "parts": [part]});
            let fault = Version::V10.read_message(Some(&wire), "message").unwrap_err();
            assert!(fault.message().starts_with("`message.parts[0].text` or one of"), "{}", fault.message());
        }
    }

    #[test]
    fn every_state_is_known_by_both_its_names_and_an_unknown_word_is_none() {
        for (state, old, new) in STATES {
            assert_eq!((TaskState::of_word(old), TaskState::of_word(new)), (Some(state), Some(state)));
            assert_eq!((state.spelled(Version::V03), state.spelled(Version::V10)), (old, new));
        }
        assert_eq!(TaskState::of_word("unknown"), None);
        assert_eq!(TaskState::of_word("TASK_STATE_UNSPECIFIED"), None);
    }
}
