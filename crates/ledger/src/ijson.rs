//! The strict reader for JSON that strangers send: every accepted document means the same to every reader.
//!
//! The grammar is RFC 8259, narrowed by the rules of I-JSON (RFC 7493) that parsers disagree about: no
//! duplicate keys, no lone surrogates, no number that a double cannot hold. Noncharacters such as U+FFFF
//! are accepted, because every reader sees the same text in them and RFC 8785 gives them one form.
//!
//! INVARIANT: the canonical form of every accepted document is accepted again, and gives the same value.
//! What a person saw, what the digest covers and what a later verifier reads can therefore not differ.

mod error;
mod number;
mod parser;
mod text;

use serde_json::Value;

pub use self::error::JsonError;
pub(crate) use self::number::{MAX_SAFE_INTEGER, safe_integer};
pub(crate) use self::text::plain_prefix;

use self::error::Fault;
use self::parser::Parser;

/// The deepest nesting anything in this crate reads or writes, whatever [`Limits::depth`] says: the
/// recursion of the reader and of the writer is bounded by it.
pub(crate) const MAX_DEPTH: usize = 256;

/// How much of a document is read before it is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of the whole text, white space included.
    pub bytes: usize,
    /// Most arrays and objects open at once; never more than 256, whatever is asked for.
    pub depth: usize,
    /// Most values, counting the root, every element and every member's value (a key is no value).
    pub nodes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 256 * 1024, depth: 64, nodes: 10_000 }
    }
}

/// Reads one document, or says what is wrong with it, where, and what to send instead.
///
/// Numbers come out in one shape per value: whatever is integral within ±(2^53−1), `1.0` and `-0`
/// included, is an integer, everything else is a double.
pub fn parse(text: &[u8], limits: &Limits) -> Result<Value, JsonError> {
    if text.len() > limits.bytes {
        return Err(JsonError::at_root(Fault::TooLarge(limits.bytes), limits.bytes));
    }
    // The two UTF-16 marks are not UTF-8 either, but "byte-order mark" is the helpful name for them.
    if text.starts_with(b"\xEF\xBB\xBF") || text.starts_with(b"\xFF\xFE") || text.starts_with(b"\xFE\xFF") {
        return Err(JsonError::at_root(Fault::ByteOrderMark, 0));
    }
    // One pass over the whole text is faster than checking string by string, and lets the parser cut
    // slices at ASCII bytes without asking again.
    let text = match std::str::from_utf8(text) {
        Ok(text) => text,
        Err(error) => return Err(not_utf8(text, error.valid_up_to(), limits)),
    };
    Parser::new(text, limits).document()
}

/// Locates a byte that is not UTF-8: the good text before it is read only to learn where it stops.
fn not_utf8(text: &[u8], offset: usize, limits: &Limits) -> JsonError {
    let before = text.get(..offset).and_then(|good| std::str::from_utf8(good).ok()).unwrap_or_default();
    let pointer = match Parser::new(before, limits).document() {
        Err(error) if error.code() == Fault::Truncated.code() => error.pointer().to_owned(),
        _ => String::new(),
    };
    JsonError::new(Fault::NotUtf8, offset, pointer)
}

#[cfg(test)]
mod tests;
