//! What a message asks the approval desk for, in every dialect that agents ask in.
//!
//! A message becomes one [`Asking`]: one item, or one for each call that an agent paused on. What nobody here can read asks
//! for nothing; what is half readable is refused by its place, because a guess could show people something else than what
//! will run.

pub(crate) mod agentkit;
pub(crate) mod agentstack;
pub(crate) mod digested;
mod kagent;
mod own;
mod said;

use placet_core::Create;
use serde_json::{Map, Value};

pub use said::{ItemAnswer, said};

use crate::{Content, Fault, Message};

/// Most items that one message may ask for.
pub const ITEMS: usize = 50;

/// The language a request was put in; the answer goes back in the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Our own extension.
    Own,
    /// The data part of AgentKit, flat or as its types are encoded.
    AgentKit,
    /// kagent's extension, `hitl/v1`.
    Kagent,
    /// The extension of BeeAI's agentstack.
    Agentstack,
    /// The extension of the Rust crates at a2a-rust.com.
    Digested,
}

/// The address of our own extension.
pub const OWN: &str = "urn:placet:a2a:approval:v1";
/// The address of kagent's extension.
pub const KAGENT: &str = "https://kagent.dev/extensions/hitl/v1";
/// The address of agentstack's extension.
pub const AGENTSTACK: &str = "https://a2a-extensions.agentstack.beeai.dev/interactions/approval/v1";
/// The address that agentstack's extension moved to.
pub const KAGENTI: &str = "https://a2a-extensions.adk.kagenti.dev/interactions/approval/v1";
/// The address of the extension of a2a-rust.com, and the key it puts its words under.
pub const DIGESTED: &str = "https://a2a-rust.com/extensions/approval/v1";
/// The key that the extension of a2a-rust.com puts its words under.
pub const DIGESTED_KEY: &str = "a2a-rust.com/approval";

impl Dialect {
    /// As records and documents spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Own => "placet",
            Self::AgentKit => "agentkit",
            Self::Kagent => "kagent",
            Self::Agentstack => "agentstack",
            Self::Digested => "a2a-rust",
        }
    }

    /// The dialect of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::Own, Self::AgentKit, Self::Kagent, Self::Agentstack, Self::Digested]
            .into_iter()
            .find(|dialect| dialect.as_str() == name)
    }
}

/// What a message asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Asking {
    /// In which language.
    pub dialect: Dialect,
    /// One for each thing to be decided, in the order of the message.
    pub items: Vec<Item>,
    /// The key the asker chose against asking twice, if it chose one.
    pub key: Option<String>,
}

/// One thing to be decided.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// What the asker calls it; decisions are told under this name.
    pub id: Option<String>,
    /// As a request, without session, group and lineage: those are the door's to say.
    pub create: Create,
}

/// What the message asks for; nothing if there is no request in it.
pub fn read(message: &Message) -> Result<Option<Asking>, Fault> {
    if let Some(words) = message.metadata.get(OWN) {
        return own::read(words, "message.metadata").map(Some);
    }
    if let Some(words) = message.metadata.get(KAGENT) {
        return kagent::read(words);
    }
    if let Some(words) = message.metadata.get(AGENTSTACK).or_else(|| message.metadata.get(KAGENTI)) {
        return agentstack::read(words).map(Some);
    }
    if let Some(words) = message.metadata.get(DIGESTED_KEY).or_else(|| message.metadata.get(DIGESTED)) {
        let data = message.parts.iter().find_map(|part| match &part.content {
            Content::Data(data) => Some(data.clone()),
            _ => None,
        });
        return digested::read(words, self::words(message), data).map(Some);
    }
    let mut found = None;
    for (index, part) in message.parts.iter().enumerate() {
        let Content::Data(Value::Object(data)) = &part.content else { continue };
        let place = format!("message.parts[{index}].data");
        let read = match data.get("type").and_then(Value::as_str) {
            Some("placet_request") => own::read(&Value::Object(data.clone()), &place)?,
            Some("tool_approval_request") => match kagent::read(&Value::Object(data.clone()))? {
                Some(asking) => asking,
                None => continue,
            },
            _ => match agentkit::read(data, &place)? {
                Some(asking) => asking,
                None => continue,
            },
        };
        if found.replace(read).is_some() {
            return Err(Fault::InvalidParams(
                "a message asks for one thing: it has two parts with a request".to_owned(),
            ));
        }
    }
    Ok(found)
}

/// Whether a part is one of AgentKit's, whose messages have no ids of their own.
pub(crate) fn is_agentkit(part: &crate::Part) -> bool {
    let Content::Data(Value::Object(data)) = &part.content else { return false };
    let said = data.get("type").and_then(Value::as_str);
    said.is_some_and(|said| agentkit::TYPES.contains(&said))
}

/// The text a person reads first: the message's own words.
pub(crate) fn words(message: &Message) -> Option<String> {
    let texts = message.parts.iter().filter_map(|part| match &part.content {
        Content::Text(text) if !text.trim().is_empty() => Some(text.as_str()),
        _ => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    (!text.is_empty()).then_some(text)
}

/// A name as tools may be called: what does not fit becomes an underscore, so that a name with spaces is still shown.
pub(crate) fn tool(name: &str) -> String {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "_./:-".contains(letter);
    let name: String = name.chars().take(200).map(|letter| if fits(letter) { letter } else { '_' }).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

/// An object, or nothing; anything else is refused.
pub(crate) fn object(value: Option<&Value>, place: &str) -> Result<Map<String, Value>, Fault> {
    match value {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(object)) => Ok(object.clone()),
        Some(_) => Err(Fault::InvalidParams(format!("`{place}` is not an object"))),
    }
}

#[cfg(test)]
mod tests;
