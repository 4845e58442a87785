//! The one sequence of bytes for a value (RFC 8785), which is what digests are taken over.
//!
//! Our own writer rather than the `serde_json_canonicalizer` crate, for two reasons. Below the top level
//! that crate writes a NaN as `null`, and anywhere an integer beyond ±(2^53−1) as its neighbour, so that
//! different values share a digest. And it costs six times as much for an ordinary request, because it
//! buffers every member and reads every key back to sort it. It stays as a witness in the tests.
//!
//! INVARIANT: whatever is written here is accepted by [`crate::ijson::parse`] (given the limits) and
//! reads back as the same value. What has no such form is an error, never an approximation.

mod key;
mod number;
mod writer;

use serde::Serialize;
use thiserror::Error;

use crate::ijson::{MAX_DEPTH, MAX_SAFE_INTEGER};

use self::writer::Writer;

/// Why a value has no canonical form.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CanonicalError {
    /// A NaN or an infinity.
    #[error("a number is not finite; JSON has no form for it")]
    NotFinite,
    /// An integer, or a double that is written like one, that readers may take for its neighbour.
    #[error(
        "an integer is beyond ±{MAX_SAFE_INTEGER}, where readers disagree on its value; write it as a string"
    )]
    IntegerRange,
    /// A map key that is neither text nor an integer.
    #[error("a map key is not text; JSON objects have string keys only")]
    KeyNotText,
    /// One key twice in one object.
    #[error("the key {0:?} occurs twice in one object; write each key once")]
    DuplicateKey(String),
    /// Nested beyond what any reader of ours accepts.
    #[error("the value is nested deeper than {MAX_DEPTH} levels; flatten it")]
    TooDeep,
    /// The value's own serialization failed.
    #[error("the value cannot be written: {0}")]
    Value(String),
}

impl serde::ser::Error for CanonicalError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::Value(message.to_string())
    }
}

/// The canonical bytes of a value; always UTF-8.
pub fn canonical<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, CanonicalError> {
    canonical_string(value).map(String::into_bytes)
}

/// The canonical form of a value as text.
pub fn canonical_string<T: Serialize + ?Sized>(value: &T) -> Result<String, CanonicalError> {
    let mut writer = Writer::new();
    value.serialize(&mut writer)?;
    Ok(writer.finish())
}

#[cfg(test)]
mod tests;
