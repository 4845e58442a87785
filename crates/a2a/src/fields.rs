//! Reading fields of JSON objects, with faults that name the place.

use serde_json::{Map, Value};

use crate::Fault;

/// An object and the place it was found at, for the sentence that says what is wrong.
#[derive(Clone)]
pub(crate) struct Fields<'a> {
    object: &'a Map<String, Value>,
    place: String,
}

impl<'a> Fields<'a> {
    /// The value at `place` as an object.
    pub(crate) fn of(value: Option<&'a Value>, place: &str) -> Result<Self, Fault> {
        match value {
            Some(Value::Object(object)) => Ok(Self { object, place: place.to_owned() }),
            Some(_) => Err(Fault::InvalidParams(format!("`{place}` is not an object"))),
            None => Err(Fault::InvalidParams(format!("`{place}` is missing"))),
        }
    }

    /// An object that is known to be one.
    pub(crate) fn whole(object: &'a Map<String, Value>, place: &str) -> Self {
        Self { object, place: place.to_owned() }
    }

    /// Where it was found.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// Where one of its fields is.
    pub(crate) fn at(&self, name: &str) -> String {
        format!("{}.{name}", self.place)
    }

    fn wrong(&self, name: &str, wanted: &str) -> Fault {
        Fault::InvalidParams(format!("`{}` is not {wanted}", self.at(name)))
    }

    /// A field, if it is there and not null.
    pub(crate) fn get(&self, name: &str) -> Option<&'a Value> {
        self.object.get(name).filter(|value| !value.is_null())
    }

    /// An object below this one, if it is there.
    pub(crate) fn below(&self, name: &str) -> Result<Option<Fields<'a>>, Fault> {
        self.get(name).map(|value| Fields::of(Some(value), &self.at(name))).transpose()
    }

    /// An object below this one, which must be there.
    pub(crate) fn needed(&self, name: &str) -> Result<Fields<'a>, Fault> {
        Fields::of(self.get(name), &self.at(name))
    }

    pub(crate) fn text(&self, name: &str) -> Result<Option<&'a str>, Fault> {
        self.get(name).map(|value| value.as_str().ok_or_else(|| self.wrong(name, "text"))).transpose()
    }

    /// Text that must be there and not be empty.
    pub(crate) fn word(&self, name: &str) -> Result<&'a str, Fault> {
        match self.text(name)? {
            Some(text) if !text.is_empty() => Ok(text),
            _ => Err(Fault::InvalidParams(format!("`{}` is missing or empty", self.at(name)))),
        }
    }

    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, Fault> {
        self.get(name)
            .map(|value| value.as_bool().ok_or_else(|| self.wrong(name, "true or false")))
            .transpose()
    }

    /// A count: an integer from 0.
    pub(crate) fn count(&self, name: &str) -> Result<Option<u32>, Fault> {
        let read = |value: &Value| value.as_u64().and_then(|count| u32::try_from(count).ok());
        self.get(name).map(|value| read(value).ok_or_else(|| self.wrong(name, "a count from 0"))).transpose()
    }

    pub(crate) fn list(&self, name: &str) -> Result<&'a [Value], Fault> {
        match self.get(name) {
            None => Ok(&[]),
            Some(Value::Array(list)) => Ok(list),
            Some(_) => Err(self.wrong(name, "a list")),
        }
    }

    /// The objects of a list, each with its place.
    pub(crate) fn objects(&self, name: &str) -> Result<Vec<Fields<'a>>, Fault> {
        let items = self.list(name)?.iter().enumerate();
        items.map(|(index, item)| Fields::of(Some(item), &format!("{}[{index}]", self.at(name)))).collect()
    }

    pub(crate) fn words(&self, name: &str) -> Result<Vec<String>, Fault> {
        let read = |value: &Value| value.as_str().map(str::to_owned);
        self.list(name)?
            .iter()
            .map(|item| read(item).ok_or_else(|| self.wrong(name, "a list of texts")))
            .collect()
    }

    pub(crate) fn map(&self, name: &str) -> Result<Map<String, Value>, Fault> {
        match self.get(name) {
            None => Ok(Map::new()),
            Some(Value::Object(map)) => Ok(map.clone()),
            Some(_) => Err(self.wrong(name, "an object")),
        }
    }

    /// All of it.
    pub(crate) fn map_all(&self) -> Map<String, Value> {
        self.object.clone()
    }

    /// A fault about one field.
    pub(crate) fn fault(&self, name: &str, why: &str) -> Fault {
        Fault::InvalidParams(format!("`{}` {why}", self.at(name)))
    }
}
