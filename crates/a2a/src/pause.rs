//! The pauses of other people's agents: what waits for a word, and the one complete answer in the agent's own language.
//!
//! [`detect`] reads the `status` of a task and finds what waits, in every dialect that agents pause in. [`Pause::answer`]
//! writes the message that goes back. It covers every item or is not written at all: agents take a missing word for a yes,
//! for a failure or for chatter, and none of those is what a person decided.

mod adk;
mod agentkit;
mod call;
mod confirmation;
mod extension;
mod generic;
mod hitl;
mod kagent;
mod status;
mod tool_approval;

use std::fmt::{self, Display};

use placet_core::{Create, DecisionWord, Kind};
use serde_json::{Map, Value, json};

use crate::{
    Fault, Message, Part, Role, Version,
    desk::{ItemAnswer, KAGENT},
};

pub(crate) use call::questions;
use call::{Call, Word};
use status::Status;

/// A pause of an agent: what waits, and how its answer is spelled.
#[derive(Debug, Clone, PartialEq)]
pub struct Pause {
    /// In which language it asks.
    pub dialect: Dialect,
    /// One for each thing to be decided, in the order of the message; never empty.
    pub items: Vec<Item>,
    /// The id of the status message it was read from; a new pause has a new message.
    message: String,
    form: Form,
}

/// One thing to be decided.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// What the agent calls it, unique in the pause. A question is named by its call and its place, such as `call-1#0`.
    pub id: String,
    /// As a request, an action or an input, without group and lineage of the task: those are the door's to say.
    pub create: Create,
}

/// The language of a pause; its answer goes back in the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// kagent's extension, `hitl/v1`.
    Hitl,
    /// The extension of BeeAI's agentstack.
    Agentstack,
    /// The extension of the Rust crates at a2a-rust.com.
    Digested,
    /// `adk_request_confirmation`: google-adk, and the releases of kagent, which spell the answer another way.
    Confirmation,
    /// kagent's first proposal: `interrupt_type: tool_approval`.
    ToolApproval,
    /// The data part of AgentKit.
    AgentKit,
    /// Plain words. Only a person can answer them, and nothing may answer in their place.
    Generic,
}

/// What was decided of one item.
#[derive(Debug, Clone, PartialEq)]
pub enum Decided {
    /// It may happen.
    Approved,
    /// It may not.
    Rejected {
        /// Why, for the agent to read.
        reason: Option<String>,
    },
    /// The answer to a question.
    Answered(Value),
}

/// How the answer is spelled, and what it needs.
#[derive(Debug, Clone, PartialEq)]
enum Form {
    Hitl(Vec<Call>),
    Agentstack {
        key: String,
    },
    Digested {
        key: String,
        id: String,
        digest: String,
    },
    Kagent(Vec<Call>),
    Adk(Vec<Call>),
    ToolApproval(Vec<Call>),
    AgentKit {
        ids: Vec<Option<String>>,
        /// Whether the agent spells states as 1.0 and parts as 0.3 does.
        mixed: bool,
    },
    Generic,
}

/// The body of an answer.
#[derive(Debug, Default)]
struct Reply {
    parts: Vec<Part>,
    metadata: Map<String, Value>,
    extensions: Vec<String>,
}

/// Why there is no answer to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incomplete {
    /// Not one decision for each item.
    Count {
        /// How many items wait.
        items: usize,
        /// How many decisions were given.
        decisions: usize,
    },
    /// An answer to what is no question, or a yes to what is one.
    Misfit {
        /// The item.
        item: String,
    },
    /// The id of the message, of its task or of its conversation is empty.
    Nameless,
    /// Plain words have no word for a no: cancel the task instead.
    NoRefusal,
}

impl Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count { items, decisions } => {
                write!(f, "the pause has {items} items and {decisions} decisions: decide each of them once")
            }
            Self::Misfit { item } => {
                write!(
                    f,
                    "the decision on `{item}` does not fit: answer questions, approve or reject the rest"
                )
            }
            Self::Nameless => f.write_str("an answer needs the ids of its message, its task and its context"),
            Self::NoRefusal => f.write_str("a question in plain words cannot be refused: cancel the task"),
        }
    }
}

impl std::error::Error for Incomplete {}

impl Dialect {
    const ALL: [Self; 7] = [
        Self::Hitl,
        Self::Agentstack,
        Self::Digested,
        Self::Confirmation,
        Self::ToolApproval,
        Self::AgentKit,
        Self::Generic,
    ];

    /// As records and documents spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hitl => "hitl",
            Self::Agentstack => "agentstack",
            Self::Digested => "a2a-rust",
            Self::Confirmation => "confirmation",
            Self::ToolApproval => "tool_approval",
            Self::AgentKit => "agentkit",
            Self::Generic => "generic",
        }
    }

    /// The dialect of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.as_str() == name)
    }
}

/// What waits in this `status` of a task or of an update, in the JSON of either version; nothing if the task is not paused.
///
/// A pause that is only half readable is a fault that names the place: a person would decide on something else than what runs.
pub fn detect(status: &Value) -> Result<Option<Pause>, Fault> {
    let Some(status) = Status::read(status)? else { return Ok(None) };
    let (form, items) = if let Some(words) = status.metadata.get(KAGENT) {
        hitl::read(words)?
    } else if let Some(found) = extension::agentstack(&status)? {
        found
    } else if let Some(found) = extension::digested(&status)? {
        found
    } else if let Some(found) = confirmation::read(&status)? {
        found
    } else if let Some(found) = tool_approval::read(&status)? {
        found
    } else if let Some(found) = agentkit::read(&status)? {
        found
    } else {
        (Form::Generic, vec![generic::item(&status)])
    };
    if items.is_empty() || items.len() > crate::desk::ITEMS {
        return Err(Fault::InvalidParams(format!(
            "`status.message` pauses on {} items; a pause has 1 to {}",
            items.len(),
            crate::desk::ITEMS
        )));
    }
    for (index, item) in items.iter().enumerate() {
        if item.id.is_empty() || items.iter().take(index).any(|earlier| earlier.id == item.id) {
            return Err(Fault::InvalidParams(format!(
                "`status.message` pauses twice on the id `{}`, or on an empty one",
                item.id
            )));
        }
    }
    Ok(Some(Pause { dialect: form.dialect(), items, message: status.id.to_owned(), form }))
}

impl Form {
    fn dialect(&self) -> Dialect {
        match self {
            Self::Hitl(_) => Dialect::Hitl,
            Self::Agentstack { .. } => Dialect::Agentstack,
            Self::Digested { .. } => Dialect::Digested,
            Self::Kagent(_) | Self::Adk(_) => Dialect::Confirmation,
            Self::ToolApproval(_) => Dialect::ToolApproval,
            Self::AgentKit { .. } => Dialect::AgentKit,
            Self::Generic => Dialect::Generic,
        }
    }
}

impl Pause {
    /// The id of the status message it was read from.
    #[must_use]
    pub fn message_id(&self) -> &str {
        &self.message
    }

    /// The whole message that answers this pause, in the shapes of `version`. There is no answer to some of it.
    pub fn answer(
        &self,
        version: Version,
        message_id: &str,
        task: &str,
        context: &str,
        decisions: &[Decided],
    ) -> Result<Value, Incomplete> {
        if [message_id, task, context].contains(&"") {
            return Err(Incomplete::Nameless);
        }
        let decisions = self.settled(decisions)?;
        let reply = match &self.form {
            Form::Hitl(calls) => hitl::reply(calls, &Word::each(calls, &decisions)),
            Form::Agentstack { key } => extension::agentstack_reply(key, &decisions),
            Form::Digested { key, id, digest } => extension::digested_reply(key, id, digest, &decisions),
            Form::Kagent(calls) => kagent::reply(calls, &Word::each(calls, &decisions)),
            Form::Adk(calls) => adk::reply(calls, &Word::each(calls, &decisions)),
            Form::ToolApproval(calls) => tool_approval::reply(calls, &Word::each(calls, &decisions)),
            Form::AgentKit { ids, .. } => agentkit::reply(ids, &decisions),
            Form::Generic => generic::reply(&decisions)?,
        };
        let message = Message {
            id: message_id.to_owned(),
            context: Some(context.to_owned()),
            task: Some(task.to_owned()),
            role: Role::User,
            parts: reply.parts,
            metadata: reply.metadata,
            extensions: reply.extensions,
            reference_tasks: Vec::new(),
        };
        if !matches!(self.form, Form::AgentKit { mixed: true, .. }) {
            return Ok(version.message(&message));
        }
        let mut answer = Version::V03.message(&message);
        if let Some(answer) = answer.as_object_mut() {
            answer.insert("task_id".to_owned(), Value::from(task));
        }
        Ok(answer)
    }

    /// What the answer will say of each item. Where a dialect cannot say yes to one and no to another, the yes becomes a
    /// no with the reason: an approved item may be refused here, a rejected one is never let through.
    pub fn settled(&self, decisions: &[Decided]) -> Result<Vec<Decided>, Incomplete> {
        if decisions.len() != self.items.len() {
            return Err(Incomplete::Count { items: self.items.len(), decisions: decisions.len() });
        }
        for (item, decided) in self.items.iter().zip(decisions) {
            let fits = match decided {
                Decided::Approved => item.create.kind != Kind::Input,
                Decided::Answered(_) => item.create.kind == Kind::Input,
                Decided::Rejected { .. } => true,
            };
            if !fits {
                return Err(Incomplete::Misfit { item: item.id.clone() });
            }
        }
        Ok(match &self.form {
            Form::Kagent(calls) => {
                Word::items(calls, kagent::settle(calls, Word::each(calls, decisions)), decisions)
            }
            Form::ToolApproval(calls) => {
                Word::items(calls, tool_approval::settle(Word::each(calls, decisions)), decisions)
            }
            Form::Adk(calls) | Form::Hitl(calls) => {
                Word::items(calls, Word::each(calls, decisions), decisions)
            }
            Form::Agentstack { .. } | Form::Digested { .. } | Form::AgentKit { .. } | Form::Generic => {
                decisions.to_vec()
            }
        })
    }

    /// What a client's words decide of this pause: one decision for each item, or a fault. A word that no answer can carry,
    /// a word on something else, and silence on one item are refused.
    pub fn decided(&self, said: &[ItemAnswer]) -> Result<Vec<Decided>, Fault> {
        if let Some(stranger) = said.iter().find(|said| !self.items.iter().any(|item| item.is_meant(said))) {
            let name = stranger.item.as_deref().unwrap_or("");
            return Err(Fault::InvalidParams(format!("nothing named `{name}` waits in this task")));
        }
        self.items.iter().map(|item| item.decided(said)).collect()
    }

    /// A name for this pause: the same when the same pause is read again, another when anything in it is another,
    /// its arguments included.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let items = self.items.iter().map(|item| {
            let create = &item.create;
            let said = [&create.tool, &create.question, &create.message, &create.details];
            let shown = [&create.arguments, &create.context].map(|map| status::plain(json!(map)));
            json!([item.id, said, shown])
        });
        let all = json!([self.dialect.as_str(), self.message, items.collect::<Vec<_>>()]);
        status::digest(&all)
    }
}

impl Item {
    /// Whether a word is about this item: by its id, by the other ids that its call has, or about all that wait.
    fn is_meant(&self, said: &ItemAnswer) -> bool {
        let Some(name) = said.item.as_deref() else { return true };
        let known = |field: &str| self.create.context.as_ref()?.get(field)?.as_str();
        let mut names =
            [Some(self.id.as_str()), known("call_id"), known("confirmation_id")].into_iter().flatten();
        match self.id.split_once('#').filter(|_| self.create.kind == Kind::Input) {
            // The older answers of kagent name a question by its place alone; a no to the call is a no to each of them.
            Some((_, place)) if said.word == DecisionWord::Respond => {
                name == self.id
                    || name.split_once('#').is_some_and(|(call, at)| {
                        at == place && (call.is_empty() || names.any(|known| known == call))
                    })
            }
            Some((call, _)) => name == call || names.any(|known| known == name),
            None => names.any(|known| known == name),
        }
    }

    fn decided(&self, said: &[ItemAnswer]) -> Result<Decided, Fault> {
        let fault = |why: &str| Fault::InvalidParams(format!("`{}` {why}", self.id));
        let mut words = said.iter().filter(|said| self.is_meant(said));
        let (Some(word), None) = (words.next(), words.next()) else {
            return Err(fault(
                "is decided twice or not at all: an answer decides everything that waits, once",
            ));
        };
        let question = self.create.kind == Kind::Input;
        match (word.word, &word.answer) {
            (DecisionWord::Approve, _) if !question => Ok(Decided::Approved),
            (DecisionWord::Respond, Some(answer)) if question => Ok(Decided::Answered(answer.clone())),
            (DecisionWord::Deny, _) => Ok(Decided::Rejected { reason: word.reason.clone() }),
            _ => Err(fault("cannot be decided that way: answer questions, approve or reject the rest")),
        }
    }
}

#[cfg(test)]
mod property;
#[cfg(test)]
mod tests;
