//! Reading bodies of this door: bounded, and taken apart without building what nobody looks at.

use std::fmt;

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::Fault;
use crate::{State, problem::Problem};

/// Deepest nesting of a body: readers in other languages recurse.
const DEEPEST: usize = 64;
/// Most fields of an event.
const FIELDS: usize = 256;
/// Bodies above this share a budget, so that many large ones at once cannot fill the memory.
const SMALL: usize = 64 * 1024;
/// What of a body that is too large is read and thrown away, so that its sender hears why.
const DISCARD: usize = 128 * 1024 * 1024;

/// The whole body, if it is not too large.
pub(super) async fn read(
    headers: &HeaderMap,
    body: Body,
    most: usize,
    state: &State,
) -> Result<Bytes, Fault> {
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let expected = announced.unwrap_or(most);
    let timeout = state.settings.body_timeout;
    if expected > most {
        // A sender that is cut off half-way would only see a broken connection.
        let _ = tokio::time::timeout(timeout, discard(body)).await;
        return Err(too_large(most));
    }
    let _budget = if expected > SMALL {
        let kibibytes = u32::try_from(expected.div_ceil(1024)).unwrap_or(u32::MAX);
        Some(state.event_bytes.acquire_many(kibibytes).await.map_err(|_| Fault::invalid())?)
    } else {
        None
    };
    match tokio::time::timeout(timeout, Limited::new(body, most).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large(most)),
        Ok(Err(_)) => Err(Fault::invalid()),
        Err(_) => Err(Problem::new(
            http::StatusCode::REQUEST_TIMEOUT,
            "body_timeout",
            "the body took too long to arrive",
        )
        .into()),
    }
}

fn too_large(most: usize) -> Fault {
    Fault::too_large(format!("the body is larger than {most} bytes"))
}

async fn discard(body: Body) {
    let mut body = Limited::new(body, DISCARD);
    while let Some(Ok(_)) = body.frame().await {}
}

/// The fields of a JSON object, each as it was written. Of two with one name the last counts, as everywhere.
#[derive(Debug, Default)]
pub(super) struct Fields<'a>(pub(super) Vec<(String, &'a RawValue)>);

impl<'a> Fields<'a> {
    /// Takes an object apart. `None` if this is JSON, but no object.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Option<Self>, Fault> {
        if too_deep(bytes) {
            return Err(Fault::bad(format!("the body is nested deeper than {DEEPEST}")));
        }
        let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
        if first != Some(&b'{') {
            let value: &RawValue = serde_json::from_slice(bytes).map_err(|_| Fault::invalid())?;
            return if value.get() == "null" { Err(Fault::invalid()) } else { Ok(None) };
        }
        let fields: Self = serde_json::from_slice(bytes).map_err(|_| Fault::invalid())?;
        Ok(Some(fields))
    }

    /// A field, unless it is absent or null.
    pub(super) fn get(&self, name: &str) -> Option<&'a RawValue> {
        let (_, value) = self.0.iter().find(|(field, _)| field == name)?;
        Some(*value).filter(|value| value.get() != "null")
    }
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields: Vec<(String, &'de RawValue)> = Vec::with_capacity(12);
                while let Some((name, value)) = map.next_entry::<String, &'de RawValue>()? {
                    if let Some(slot) = fields.iter_mut().find(|(field, _)| *field == name) {
                        slot.1 = value;
                    } else if fields.len() < FIELDS {
                        fields.push((name, value));
                    } else {
                        return Err(serde::de::Error::custom("too many fields"));
                    }
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// Whether brackets are nested too deep, without reading anything else.
fn too_deep(bytes: &[u8]) -> bool {
    let (mut depth, mut text, mut escaped) = (0_usize, false, false);
    for byte in bytes {
        match (text, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => text = !text,
            (false, b'{' | b'[') => {
                depth += 1;
                if depth > DEEPEST {
                    return true;
                }
            }
            (false, b'}' | b']') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_text_are_not_nesting() {
        let text = format!(r#"{{"a":"{}\"{}"}}"#, "[".repeat(100), "{".repeat(100));
        assert!(!too_deep(text.as_bytes()));
        assert!(too_deep("[".repeat(65).as_bytes()));
        assert!(!too_deep("[]".repeat(100).as_bytes()));
    }

    #[test]
    fn the_last_of_two_fields_counts_and_what_is_no_object_is_told_apart() {
        let fields = Fields::parse(br#"{"a":1,"b":null,"a": [2, 3]}"#).unwrap().unwrap();
        assert_eq!(fields.get("a").map(RawValue::get), Some("[2, 3]"));
        assert!(fields.get("b").is_none() && fields.get("c").is_none());
        assert!(Fields::parse(b"[]").unwrap().is_none());
        for bad in ["", "null", "{", "{\"a\":1}x", "{\"a\":}", "nope"] {
            assert!(Fields::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
