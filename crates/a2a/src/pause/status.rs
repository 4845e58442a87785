//! The status of a task as it came, in the JSON of either version.

use data_encoding::HEXLOWER;
use serde_json::{Map, Number, Value};
use sha2::{Digest, Sha256};

use crate::{Fault, TaskState, fields::Fields};

/// A status that waits for somebody.
pub(super) struct Status<'a> {
    /// Whether it waits for something out of band.
    pub(super) auth: bool,
    /// Whether it spells the state as 1.0 and the parts as 0.3 does.
    pub(super) mixed: bool,
    /// The id of its message; empty if it has none.
    pub(super) id: &'a str,
    /// Where extensions put their words.
    pub(super) metadata: Map<String, Value>,
    /// The parts of its message.
    pub(super) parts: Vec<Piece<'a>>,
}

/// One part of the message, by what it holds.
pub(super) struct Piece<'a> {
    pub(super) held: Held<'a>,
    pub(super) metadata: Map<String, Value>,
}

pub(super) enum Held<'a> {
    Text(&'a str),
    Data(Fields<'a>),
    /// A file, or data that is no object: nothing here asks with those.
    Other,
}

impl<'a> Status<'a> {
    /// Reads a status; nothing if the task does not wait.
    pub(super) fn read(status: &'a Value) -> Result<Option<Self>, Fault> {
        let fields = Fields::of(Some(status), "status")?;
        let state = fields.text("state")?.and_then(TaskState::of_word);
        if !state.is_some_and(TaskState::is_interrupted) {
            return Ok(None);
        }
        let auth = state == Some(TaskState::AuthRequired);
        let Some(message) = fields.below("message")? else {
            return Ok(Some(Self { auth, mixed: false, id: "", metadata: Map::new(), parts: Vec::new() }));
        };
        let parts = message.objects("parts")?;
        let new = fields.text("state")?.is_some_and(|state| state.starts_with("TASK_STATE_"));
        let mixed = new && parts.iter().any(|part| part.get("kind").is_some());
        let parts = parts.iter().map(Piece::read).collect::<Result<_, _>>()?;
        let id = message.text("messageId")?.unwrap_or("");
        Ok(Some(Self { auth, mixed, id, metadata: message.map("metadata")?, parts }))
    }

    /// The objects among the parts.
    pub(super) fn data(&self) -> impl Iterator<Item = (&Fields<'a>, &Map<String, Value>)> {
        self.parts.iter().filter_map(|part| match &part.held {
            Held::Data(data) => Some((data, &part.metadata)),
            _ => None,
        })
    }

    /// What it says in plain words.
    pub(super) fn words(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part.held {
            Held::Text(text) if !text.trim().is_empty() => Some(text),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

impl<'a> Piece<'a> {
    fn read(fields: &Fields<'a>) -> Result<Self, Fault> {
        let held = match (fields.get("data"), fields.get("text")) {
            (Some(Value::Object(_)), None) => Held::Data(fields.needed("data")?),
            (None, Some(Value::String(text))) => Held::Text(text),
            _ => Held::Other,
        };
        Ok(Self { held, metadata: fields.map("metadata")? })
    }
}

/// The same JSON with every whole number spelled one way: `3.0` on one path and `3` on another are the same number.
pub(super) fn plain(value: Value) -> Value {
    match value {
        Value::Array(list) => Value::Array(list.into_iter().map(plain).collect()),
        Value::Object(map) => {
            Value::Object(map.into_iter().map(|(name, value)| (name, plain(value))).collect())
        }
        Value::Number(number) => Value::Number(whole(&number).unwrap_or(number)),
        other => other,
    }
}

/// A float that is a whole number, as one.
fn whole(number: &Number) -> Option<Number> {
    let float = number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0)?;
    // Beyond this, floats leave out integers.
    #[expect(clippy::cast_possible_truncation, reason = "whole, and far from the bounds")]
    (float.abs() < 9_007_199_254_740_992.0).then(|| Number::from(float as i64))
}

/// The SHA-256 of JSON text; objects are written in the order of their names.
pub(super) fn digest(value: &Value) -> String {
    HEXLOWER.encode(&Sha256::digest(value.to_string().as_bytes()))
}
