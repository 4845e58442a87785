//! One model of tasks and messages, which both versions are read into and written from.

use serde_json::{Map, Value};

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskState {
    /// Taken in.
    Submitted,
    /// Being worked on.
    Working,
    /// Waits for a message.
    InputRequired,
    /// Waits for something out of band.
    AuthRequired,
    /// Done.
    Completed,
    /// Withdrawn.
    Canceled,
    /// Broken.
    Failed,
    /// Refused.
    Rejected,
}

impl TaskState {
    /// Whether nothing comes after it.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Canceled | Self::Failed | Self::Rejected)
    }

    /// Whether it waits for somebody.
    #[must_use]
    pub fn is_interrupted(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The caller.
    User,
    /// The agent that was called.
    Agent,
}

/// What a part holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Text.
    Text(String),
    /// Any JSON; 0.3 knows objects only.
    Data(Value),
    /// Bytes, in base64 as they came.
    Raw(String),
    /// The address of a file.
    Url(String),
}

/// One part of a message or an artifact.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// What it holds.
    pub content: Content,
    /// Whatever the writer added.
    pub metadata: Map<String, Value>,
    /// The name of a file.
    pub filename: Option<String>,
    /// The media type.
    pub media_type: Option<String>,
}

impl Part {
    /// Text and nothing else.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::of(Content::Text(text.into()))
    }

    /// Data and nothing else.
    #[must_use]
    pub fn data(data: Value) -> Self {
        Self::of(Content::Data(data))
    }

    /// A part without metadata, name and type.
    #[must_use]
    pub fn of(content: Content) -> Self {
        Self { content, metadata: Map::new(), filename: None, media_type: None }
    }
}

/// What one side says to the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Its id, which its writer chose; empty if it came without one.
    pub id: String,
    /// The conversation it belongs to.
    pub context: Option<String>,
    /// The task it belongs to.
    pub task: Option<String>,
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub parts: Vec<Part>,
    /// Whatever the writer added; extensions put their words here, under their address.
    pub metadata: Map<String, Value>,
    /// The addresses of the extensions it uses.
    pub extensions: Vec<String>,
    /// Other tasks it speaks of.
    pub reference_tasks: Vec<String>,
}

/// Where a task stands, since when, and what was said about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// Where it stands.
    pub state: TaskState,
    /// What the agent says about it.
    pub message: Option<Message>,
    /// Since when, as RFC 3339.
    pub at: Option<String>,
}

/// Something a task brought forth.
#[derive(Debug, Clone, PartialEq)]
pub struct Artifact {
    /// Its id, unique in the task.
    pub id: String,
    /// Its name.
    pub name: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// What it holds.
    pub parts: Vec<Part>,
    /// Whatever the writer added.
    pub metadata: Map<String, Value>,
    /// The addresses of the extensions it uses.
    pub extensions: Vec<String>,
}

/// One piece of work.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// Its id, which the agent chose.
    pub id: String,
    /// The conversation it belongs to.
    pub context: String,
    /// Where it stands.
    pub status: Status,
    /// What it brought forth.
    pub artifacts: Vec<Artifact>,
    /// What was said.
    pub history: Vec<Message>,
    /// Whatever the agent added.
    pub metadata: Map<String, Value>,
    /// Grows with every change; the protocol gets a word for it with 1.1.
    pub generation: u64,
}

/// One event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// The task as it stands.
    Task(Task),
    /// An answer without a task.
    Message(Message),
    /// The task stands elsewhere now.
    Status {
        /// The task.
        task: String,
        /// Its conversation.
        context: String,
        /// Where it stands.
        status: Status,
        /// Whether the stream ends here; 0.3 says so.
        last: bool,
        /// Whatever the agent added.
        metadata: Map<String, Value>,
    },
    /// The task brought forth something, or more of it.
    Artifact {
        /// The task.
        task: String,
        /// Its conversation.
        context: String,
        /// What it brought forth.
        artifact: Artifact,
        /// Whether the parts go to the end of what was sent before under this id.
        append: bool,
        /// Whether this is all of it.
        last_chunk: bool,
    },
}
