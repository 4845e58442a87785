//! Reading values into types without the library's leniency: an object is an object, never a list in the right order.

use serde::{
    Deserializer,
    de::{
        Error as _, IntoDeserializer, Unexpected, Visitor,
        value::{MapDeserializer, SeqDeserializer},
    },
    forward_to_deserialize_any,
};
use serde_json::{Error, Value};

/// A value to be read strictly, with everything inside it.
pub(crate) struct Strict(pub(crate) Value);

impl IntoDeserializer<'_, Error> for Strict {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Strict {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Array(items) => {
                let mut items = SeqDeserializer::new(items.into_iter().map(Strict));
                let read = visitor.visit_seq(&mut items)?;
                items.end()?;
                Ok(read)
            }
            Value::Object(fields) => {
                let mut fields =
                    MapDeserializer::new(fields.into_iter().map(|(name, value)| (name, Strict(value))));
                let read = visitor.visit_map(&mut fields)?;
                fields.end()?;
                Ok(read)
            }
            plain => plain.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        // The library would also take the fields as a list, by position and without their names.
        if self.0.is_array() {
            return Err(Error::invalid_type(Unexpected::Seq, &"an object"));
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.0.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map
        identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        inner: Option<Inner>,
        #[serde(default)]
        free: Option<Value>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        name: String,
        size: u32,
    }

    fn read(value: Value) -> Result<Outer, Error> {
        Outer::deserialize(Strict(value))
    }

    #[test]
    fn objects_are_read_and_free_values_are_kept() {
        let outer = read(json!({"inner": {"name": "a", "size": 2}, "free": [1, {"b": null}]})).unwrap();
        assert_eq!(
            outer,
            Outer {
                inner: Some(Inner { name: "a".to_owned(), size: 2 }),
                free: Some(json!([1, {"b": null}]))
            }
        );
        assert_eq!(read(json!({"inner": null})).unwrap(), Outer { inner: None, free: None });
    }

    #[test]
    fn a_list_is_not_an_object_at_any_depth() {
        for bad in [json!([null, null]), json!({"inner": ["a", 2]}), json!([["a", 2]])] {
            assert!(read(bad.clone()).unwrap_err().to_string().contains("expected an object"), "{bad}");
        }
    }
}
