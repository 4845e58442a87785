//! The serializer behind [`super::canonical`]: writes members as they come and sorts them when an object
//! closes.

use std::fmt::{self, Write as _};

use serde::ser::{self, Serialize};

use super::CanonicalError;
use super::key::KeyWriter;
use super::number::write_double;
use crate::ijson::{MAX_DEPTH, MAX_SAFE_INTEGER, plain_prefix, safe_integer};

type WriteResult = Result<(), CanonicalError>;

/// The text so far, and what is needed to sort the objects that are still open.
pub(super) struct Writer {
    out: String,
    depth: usize,
    /// The members of all open objects, innermost last: one stack instead of a list per object, so that
    /// an object costs no allocation of its own.
    members: Vec<Member>,
    /// The unescaped keys of those members, end to end.
    keys: String,
    /// Holds an object while its members are put in order.
    scratch: String,
}

/// Where one member of an open object stands; ends are where the next begins.
#[derive(Clone, Copy)]
struct Member {
    key_from: usize,
    key_to: usize,
    text_from: usize,
    text_to: usize,
}

impl Writer {
    /// With room for an ordinary ledger entry: growing to it bit by bit costs as much as writing it.
    pub(super) fn new() -> Self {
        Self {
            out: String::with_capacity(1_280),
            depth: 0,
            members: Vec::with_capacity(48),
            keys: String::with_capacity(384),
            scratch: String::new(),
        }
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    fn integer(&mut self, integer: i64) -> WriteResult {
        if integer.unsigned_abs() > MAX_SAFE_INTEGER {
            return Err(CanonicalError::IntegerRange);
        }
        write!(self.out, "{integer}").map_err(ser::Error::custom)
    }

    fn double(&mut self, double: f64) -> WriteResult {
        if !double.is_finite() {
            return Err(CanonicalError::NotFinite);
        }
        match safe_integer(double) {
            Ok(Some(integer)) => self.integer(integer),
            Ok(None) => {
                write_double(&mut self.out, double);
                Ok(())
            }
            Err(_) => Err(CanonicalError::IntegerRange),
        }
    }

    fn open(&mut self, bracket: char) -> WriteResult {
        if self.depth >= MAX_DEPTH {
            return Err(CanonicalError::TooDeep);
        }
        self.depth += 1;
        self.out.push(bracket);
        Ok(())
    }

    fn close(&mut self, bracket: char) {
        self.depth -= 1;
        self.out.push(bracket);
    }

    fn begin_list(&mut self) -> Result<List<'_>, CanonicalError> {
        self.open('[')?;
        Ok(List { writer: self, empty: true, wrapped: false })
    }

    fn begin_object(&mut self) -> Result<Object<'_>, CanonicalError> {
        self.open('{')?;
        Ok(Object {
            first_member: self.members.len(),
            first_key: self.keys.len(),
            first_byte: self.out.len(),
            wrapped: false,
            writer: self,
        })
    }

    /// Opens the one-member object that names a variant, `{"variant":`; closed by `close`.
    fn begin_variant(&mut self, variant: &str) -> WriteResult {
        self.open('{')?;
        write_text(&mut self.out, variant)?;
        self.out.push(':');
        Ok(())
    }

    fn key_of(&self, member: Member) -> &str {
        self.keys.get(member.key_from..member.key_to).unwrap_or_default()
    }

    /// Puts the members of the innermost object in the order of their keys' UTF-16 units, which is what
    /// RFC 8785 asks for; it differs from the order of the UTF-8 bytes above U+D7FF.
    fn sort_members(&mut self, first_member: usize, first_byte: usize) -> WriteResult {
        let members = self.members.get(first_member..).unwrap_or_default();
        // Derived structs in alphabetical order and `serde_json` maps are nearly always sorted already.
        if members.is_sorted_by(|a, b| utf16_order(self.key_of(*a), self.key_of(*b)).is_lt()) {
            return Ok(());
        }
        let mut sorted = members.to_vec();
        sorted.sort_unstable_by(|a, b| utf16_order(self.key_of(*a), self.key_of(*b)));
        for (a, b) in sorted.iter().zip(sorted.iter().skip(1)) {
            if self.key_of(*a) == self.key_of(*b) {
                return Err(CanonicalError::DuplicateKey(self.key_of(*a).to_owned()));
            }
        }
        self.scratch.clear();
        self.scratch.reserve(self.out.len().saturating_sub(first_byte));
        for member in sorted {
            if !self.scratch.is_empty() {
                self.scratch.push(',');
            }
            let text = self.out.get(member.text_from..member.text_to);
            self.scratch.push_str(text.ok_or_else(lost)?);
        }
        self.out.truncate(first_byte);
        self.out.push_str(&self.scratch);
        Ok(())
    }
}

/// The order of UTF-16 units. It is the order of the bytes, except that the characters from U+E000 to U+FFFF (first
/// byte 0xEE or 0xEF) come after those beyond, whose units are surrogates. If one first byte is lower, both orders agree.
fn utf16_order(a: &str, b: &str) -> std::cmp::Ordering {
    let differing = a.bytes().zip(b.bytes()).find(|(a, b)| a != b);
    match differing {
        Some((a_byte, b_byte)) if a_byte.min(b_byte) >= 0xEE => a.encode_utf16().cmp(b.encode_utf16()),
        Some((a, b)) => a.cmp(&b),
        None => a.len().cmp(&b.len()),
    }
}

/// Appends a string in quotes, with the escapes of RFC 8785, section 3.2.2.2, and no others.
fn write_text(out: &mut String, text: &str) -> WriteResult {
    out.push('"');
    let mut rest = text;
    loop {
        let plain = plain_prefix(rest.as_bytes());
        let (plain, special) = rest.split_at_checked(plain).ok_or_else(lost)?;
        out.push_str(plain);
        let mut characters = special.chars();
        match characters.next() {
            None => break,
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\u{8}') => out.push_str("\\b"),
            Some('\t') => out.push_str("\\t"),
            Some('\n') => out.push_str("\\n"),
            Some('\u{c}') => out.push_str("\\f"),
            Some('\r') => out.push_str("\\r"),
            Some(control) => {
                let code = u32::from(control);
                out.push_str(if code < 0x10 { "\\u000" } else { "\\u001" });
                out.extend(char::from_digit(code & 0xF, 16));
            }
        }
        rest = characters.as_str();
    }
    out.push('"');
    Ok(())
}

/// Text is cut only where whole pieces of it meet, so a cut cannot miss; were one to, nothing is written.
fn lost() -> CanonicalError {
    CanonicalError::Value("a piece of its text was lost".to_owned())
}

/// An array being written.
pub(super) struct List<'a> {
    writer: &'a mut Writer,
    empty: bool,
    /// Inside the object that names a variant.
    wrapped: bool,
}

impl List<'_> {
    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> WriteResult {
        if !self.empty {
            self.writer.out.push(',');
        }
        self.empty = false;
        value.serialize(&mut *self.writer)
    }

    fn finish(self) {
        self.writer.close(']');
        if self.wrapped {
            self.writer.close('}');
        }
    }
}

/// An object being written.
pub(super) struct Object<'a> {
    writer: &'a mut Writer,
    /// Where this object's part of the shared stacks begins.
    first_member: usize,
    first_key: usize,
    first_byte: usize,
    wrapped: bool,
}

impl Object<'_> {
    fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> WriteResult {
        let writer = &mut *self.writer;
        let key_from = writer.keys.len();
        key.serialize(KeyWriter(&mut writer.keys))?;
        if writer.members.len() > self.first_member {
            writer.out.push(',');
        }
        let text_from = writer.out.len();
        let key = writer.keys.get(key_from..).ok_or_else(lost)?;
        write_text(&mut writer.out, key)?;
        writer.out.push(':');
        writer.members.push(Member { key_from, key_to: writer.keys.len(), text_from, text_to: text_from });
        Ok(())
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> WriteResult {
        value.serialize(&mut *self.writer)?;
        // Objects inside the value have taken their own members off the stack again.
        let end = self.writer.out.len();
        if let Some(member) = self.writer.members.last_mut() {
            member.text_to = end;
        }
        Ok(())
    }

    fn finish(self) -> WriteResult {
        self.writer.sort_members(self.first_member, self.first_byte)?;
        self.writer.members.truncate(self.first_member);
        self.writer.keys.truncate(self.first_key);
        self.writer.close('}');
        if self.wrapped {
            self.writer.close('}');
        }
        Ok(())
    }
}

/// Integers of every width, refused beyond ±(2^53−1).
macro_rules! integers {
    ($($method:ident: $type:ty),*) => {
        $(fn $method(self, value: $type) -> WriteResult {
            self.integer(i64::try_from(value).map_err(|_| CanonicalError::IntegerRange)?)
        })*
    };
}

impl<'a> ser::Serializer for &'a mut Writer {
    type Ok = ();
    type Error = CanonicalError;
    type SerializeSeq = List<'a>;
    type SerializeTuple = List<'a>;
    type SerializeTupleStruct = List<'a>;
    type SerializeTupleVariant = List<'a>;
    type SerializeMap = Object<'a>;
    type SerializeStruct = Object<'a>;
    type SerializeStructVariant = Object<'a>;

    integers!(serialize_u64: u64, serialize_i128: i128, serialize_u128: u128);

    fn serialize_i8(self, value: i8) -> WriteResult {
        self.integer(value.into())
    }

    fn serialize_i16(self, value: i16) -> WriteResult {
        self.integer(value.into())
    }

    fn serialize_i32(self, value: i32) -> WriteResult {
        self.integer(value.into())
    }

    fn serialize_i64(self, value: i64) -> WriteResult {
        self.integer(value)
    }

    fn serialize_u8(self, value: u8) -> WriteResult {
        self.integer(value.into())
    }

    fn serialize_u16(self, value: u16) -> WriteResult {
        self.integer(value.into())
    }

    fn serialize_u32(self, value: u32) -> WriteResult {
        self.integer(value.into())
    }

    fn serialize_f32(self, value: f32) -> WriteResult {
        self.double(value.into())
    }

    fn serialize_f64(self, value: f64) -> WriteResult {
        self.double(value)
    }

    fn serialize_bool(self, value: bool) -> WriteResult {
        self.out.push_str(if value { "true" } else { "false" });
        Ok(())
    }

    fn serialize_char(self, value: char) -> WriteResult {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> WriteResult {
        write_text(&mut self.out, value)
    }

    /// What needs no escapes is written in place.
    fn collect_str<T: fmt::Display + ?Sized>(self, value: &T) -> WriteResult {
        let before = self.out.len();
        write!(self.out, "\"{value}").map_err(ser::Error::custom)?;
        let text = self.out.get(before + 1..).ok_or_else(lost)?;
        if plain_prefix(text.as_bytes()) == text.len() {
            self.out.push('"');
            return Ok(());
        }
        let text = text.to_owned();
        self.out.truncate(before);
        write_text(&mut self.out, &text)
    }

    fn serialize_bytes(self, value: &[u8]) -> WriteResult {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> WriteResult {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> WriteResult {
        value.serialize(self)
    }

    fn serialize_unit(self) -> WriteResult {
        self.out.push_str("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> WriteResult {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _name: &'static str, _index: u32, variant: &'static str) -> WriteResult {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _name: &'static str, value: &T) -> WriteResult {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> WriteResult {
        self.begin_variant(variant)?;
        value.serialize(&mut *self)?;
        self.close('}');
        Ok(())
    }

    fn serialize_seq(self, _length: Option<usize>) -> Result<List<'a>, CanonicalError> {
        self.begin_list()
    }

    fn serialize_tuple(self, _length: usize) -> Result<List<'a>, CanonicalError> {
        self.begin_list()
    }

    fn serialize_tuple_struct(self, _name: &'static str, _length: usize) -> Result<List<'a>, CanonicalError> {
        self.begin_list()
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<List<'a>, CanonicalError> {
        self.begin_variant(variant)?;
        let mut list = self.begin_list()?;
        list.wrapped = true;
        Ok(list)
    }

    fn serialize_map(self, _length: Option<usize>) -> Result<Object<'a>, CanonicalError> {
        self.begin_object()
    }

    fn serialize_struct(self, _name: &'static str, _length: usize) -> Result<Object<'a>, CanonicalError> {
        self.begin_object()
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Object<'a>, CanonicalError> {
        self.begin_variant(variant)?;
        let mut object = self.begin_object()?;
        object.wrapped = true;
        Ok(object)
    }
}

/// The four traits of serde that all mean "an array".
macro_rules! lists {
    ($($trait:ident: $method:ident),*) => {
        $(impl ser::$trait for List<'_> {
            type Ok = ();
            type Error = CanonicalError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> WriteResult {
                self.element(value)
            }

            fn end(self) -> WriteResult {
                self.finish();
                Ok(())
            }
        })*
    };
}

lists!(
    SerializeSeq: serialize_element,
    SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field
);

impl ser::SerializeMap for Object<'_> {
    type Ok = ();
    type Error = CanonicalError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> WriteResult {
        self.key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> WriteResult {
        self.value(value)
    }

    fn end(self) -> WriteResult {
        self.finish()
    }
}

/// The two traits of serde that mean "an object with known keys".
macro_rules! structs {
    ($($trait:ident),*) => {
        $(impl ser::$trait for Object<'_> {
            type Ok = ();
            type Error = CanonicalError;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> WriteResult {
                self.key(key)?;
                self.value(value)
            }

            fn end(self) -> WriteResult {
                self.finish()
            }
        })*
    };
}

structs!(SerializeStruct, SerializeStructVariant);
