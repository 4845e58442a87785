//! Reads single fields of an agent's message: unknown fields are ignored, wrong ones are named.

use serde_json::{Map, Value};

use crate::Fault;

/// An object with fields by name.
pub(crate) struct Fields<'a>(pub(crate) &'a Map<String, Value>);

impl Fields<'_> {
    /// A text that may be missing or null. Anything else is a fault.
    pub(crate) fn text(&self, name: &'static str) -> Result<Option<String>, Fault> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(Fault::Field { name, expected: "text" }),
        }
    }

    /// A text that must be there.
    pub(crate) fn needed(&self, name: &'static str) -> Result<String, Fault> {
        self.text(name)?.filter(|text| !text.is_empty()).ok_or(Fault::Missing { name })
    }

    /// An object that must be there.
    pub(crate) fn object(&self, name: &'static str) -> Result<Map<String, Value>, Fault> {
        match self.0.get(name) {
            Some(Value::Object(object)) => Ok(object.clone()),
            None | Some(Value::Null) => Err(Fault::Missing { name }),
            Some(_) => Err(Fault::Field { name, expected: "an object" }),
        }
    }

    /// An object that must be there, either itself or as a text with its JSON.
    pub(crate) fn object_or_text(&self, name: &'static str) -> Result<Map<String, Value>, Fault> {
        let Some(Value::String(text)) = self.0.get(name) else { return self.object(name) };
        match crate::read::parse(text.as_bytes()) {
            Ok(Value::Object(object)) => Ok(object),
            _ => Err(Fault::Field { name, expected: "an object, or the JSON of one" }),
        }
    }

    /// Copies the texts that exist into the request's context.
    pub(crate) fn context(&self, names: &[(&str, &'static str)]) -> Result<Map<String, Value>, Fault> {
        let mut context = Map::new();
        for (ours, theirs) in names {
            if let Some(text) = self.text(theirs)?.filter(|text| !text.is_empty()) {
                context.insert((*ours).to_owned(), Value::String(text));
            }
        }
        Ok(context)
    }
}
