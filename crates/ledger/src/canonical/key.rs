//! Map keys: text, or an integer written as text; anything else is refused.

use std::fmt::Write as _;

use serde::ser::{self, Impossible, Serialize};

use super::CanonicalError;

type WriteResult = Result<(), CanonicalError>;

/// Appends one unescaped key.
pub(super) struct KeyWriter<'a>(pub(super) &'a mut String);

macro_rules! integers {
    ($($method:ident: $type:ty),*) => {
        $(fn $method(self, value: $type) -> WriteResult {
            write!(self.0, "{value}").map_err(ser::Error::custom)
        })*
    };
}

macro_rules! refused {
    ($($method:ident($($argument:ty),*) -> $result:ty;)*) => {
        $(fn $method(self $(, _: $argument)*) -> Result<$result, CanonicalError> {
            Err(CanonicalError::KeyNotText)
        })*
    };
}

type Unsupported = Impossible<(), CanonicalError>;

impl ser::Serializer for KeyWriter<'_> {
    type Ok = ();
    type Error = CanonicalError;
    type SerializeSeq = Unsupported;
    type SerializeTuple = Unsupported;
    type SerializeTupleStruct = Unsupported;
    type SerializeTupleVariant = Unsupported;
    type SerializeMap = Unsupported;
    type SerializeStruct = Unsupported;
    type SerializeStructVariant = Unsupported;

    fn serialize_str(self, value: &str) -> WriteResult {
        self.0.push_str(value);
        Ok(())
    }

    fn serialize_char(self, value: char) -> WriteResult {
        self.0.push(value);
        Ok(())
    }

    fn serialize_unit_variant(self, _name: &'static str, _index: u32, variant: &'static str) -> WriteResult {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _name: &'static str, value: &T) -> WriteResult {
        value.serialize(self)
    }

    integers!(
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128
    );

    refused! {
        serialize_bool(bool) -> ();
        serialize_f32(f32) -> ();
        serialize_f64(f64) -> ();
        serialize_bytes(&[u8]) -> ();
        serialize_none() -> ();
        serialize_unit() -> ();
        serialize_unit_struct(&'static str) -> ();
        serialize_seq(Option<usize>) -> Unsupported;
        serialize_tuple(usize) -> Unsupported;
        serialize_tuple_struct(&'static str, usize) -> Unsupported;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Unsupported;
        serialize_map(Option<usize>) -> Unsupported;
        serialize_struct(&'static str, usize) -> Unsupported;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Unsupported;
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _value: &T) -> WriteResult {
        Err(CanonicalError::KeyNotText)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _value: &T,
    ) -> WriteResult {
        Err(CanonicalError::KeyNotText)
    }
}
