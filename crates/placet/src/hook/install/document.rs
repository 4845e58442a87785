//! JSON that keeps the order of its keys and its indentation, so that other people's settings change only where
//! needed.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, MapAccess, SeqAccess, Visitor},
    ser::{SerializeMap as _, SerializeSeq as _},
};
use serde_json::Number;

/// A JSON value whose objects keep their order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn number(number: u64) -> Self {
        Self::Number(number.into())
    }

    pub(crate) fn object<const N: usize>(members: [(&str, Json); N]) -> Self {
        Self::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Json> {
        let Self::Object(members) = self else { return None };
        members.iter().find_map(|(key, value)| (key == name).then_some(value))
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub(crate) fn as_list(&self) -> &[Json] {
        if let Self::List(list) = self { list } else { &[] }
    }

    /// A member of an object, created with `empty` if it is missing. None if this is no object.
    pub(crate) fn member(&mut self, name: &str, empty: Json) -> Option<&mut Json> {
        let Self::Object(members) = self else { return None };
        let at = members.iter().position(|(key, _)| key == name).unwrap_or_else(|| {
            members.push((name.to_owned(), empty));
            members.len() - 1
        });
        members.get_mut(at).map(|(_, value)| value)
    }

    /// Removes members that do not match.
    pub(crate) fn retain(&mut self, mut fits: impl FnMut(&str, &mut Json) -> bool) {
        if let Self::Object(members) = self {
            members.retain_mut(|(name, value)| fits(name, value));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Object(members) => members.is_empty(),
            Self::List(list) => list.is_empty(),
            _ => false,
        }
    }

    /// As text, indented like `like`.
    pub(crate) fn pretty(&self, like: &str) -> String {
        let indented = |line: &str| line.starts_with([' ', '\t']) && !line.trim().is_empty();
        let line = like.lines().find(|line| indented(line)).unwrap_or("  ");
        let indent: String = line.chars().take_while(|character| [' ', '\t'].contains(character)).collect();
        let mut text = Vec::new();
        let format = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
        let mut serializer = serde_json::Serializer::with_formatter(&mut text, format);
        // Writing to memory, from a type whose keys are texts, does not fail.
        let _ = self.serialize(&mut serializer);
        text.push(b'\n');
        String::from_utf8(text).unwrap_or_default()
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(number) => number.serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(list) => {
                let mut seq = serializer.serialize_seq(Some(list.len()))?;
                for item in list {
                    seq.serialize_element(item)?;
                }
                seq.end()
            }
            Self::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (name, value) in members {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Json;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }

            fn visit_unit<E>(self) -> Result<Json, E> {
                Ok(Json::Null)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
                Ok(Json::Bool(value))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
                Ok(Json::Number(value.into()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
                Ok(Json::Number(value.into()))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Json, E> {
                Number::from_f64(value)
                    .map(Json::Number)
                    .ok_or_else(|| E::custom("a number that is not finite"))
            }

            fn visit_str<E>(self, value: &str) -> Result<Json, E> {
                Ok(Json::Text(value.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = seq.next_element()? {
                    list.push(item);
                }
                Ok(Json::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
                let mut members: Vec<(String, Json)> = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, Json>()? {
                    // Readers differ on which one counts, so the meaning of such a file is unclear.
                    if members.iter().any(|(other, _)| *other == name) {
                        return Err(de::Error::custom(format!("the key `{name}` is there twice")));
                    }
                    members.push((name, value));
                }
                Ok(Json::Object(members))
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

/// The differences of two texts, line by line, with some lines around them.
pub(crate) fn diff(before: &str, after: &str) -> Vec<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    // Lengths of the longest common tail of every pair of positions.
    let width = new.len() + 1;
    let mut tails = vec![0_usize; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            tails[i * width + j] = if old[i] == new[j] {
                tails[(i + 1) * width + j + 1] + 1
            } else {
                tails[(i + 1) * width + j].max(tails[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push((' ', old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || (i < old.len() && tails[(i + 1) * width + j] >= tails[i * width + j + 1])
        {
            lines.push(('-', old[i]));
            i += 1;
        } else {
            lines.push(('+', new[j]));
            j += 1;
        }
    }
    let near = |at: usize| {
        let around = lines.iter().skip(at.saturating_sub(2)).take(at.min(2) + 3);
        around.into_iter().any(|(sign, _)| *sign != ' ')
    };
    let shown = lines.iter().enumerate().filter(|(at, _)| near(*at));
    shown.map(|(_, (sign, line))| format!("{sign} {line}").trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_written_as_it_was() {
        let text = "{\n    \"z\": [\n        1,\n        2.5,\n        null\n    ],\n    \"a\": {}\n}\n";
        let json: Json = serde_json::from_str(text).unwrap();
        assert_eq!(json.pretty(text), text);
    }

    #[test]
    fn a_key_that_is_there_twice_is_refused() {
        assert!(serde_json::from_str::<Json>("{\"a\":1,\"a\":2}").is_err());
    }

    #[test]
    fn a_diff_shows_what_changes_and_a_little_around_it() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n";
        let after = "1\n2\n3\n4\nx\n6\n7\n8\n";
        assert_eq!(diff(before, after), ["  3", "  4", "- 5", "+ x", "  6", "  7"]);
        assert!(diff(before, before).is_empty());
    }
}
