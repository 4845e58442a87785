//! What can be wrong with a document, and where.

use thiserror::Error;

use super::number::MAX_SAFE_INTEGER;

/// Why a document was refused: a stable code, the place, and a sentence that names the fix.
///
/// The sentence contains nothing of the document itself, so it may be logged and shown as it is.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{fault} (byte {offset})")]
pub struct JsonError {
    fault: Fault,
    offset: usize,
    pointer: String,
}

impl JsonError {
    pub(super) fn new(fault: Fault, offset: usize, pointer: String) -> Self {
        Self { fault, offset, pointer }
    }

    pub(super) fn at_root(fault: Fault, offset: usize) -> Self {
        Self::new(fault, offset, String::new())
    }

    /// The stable word for this kind of fault, such as `duplicate_key`.
    pub fn code(&self) -> &'static str {
        self.fault.code()
    }

    /// The RFC 6901 pointer to the value at fault, or to the innermost value that holds it; `""` is the
    /// root. It repeats keys of the document, so it is as untrusted, and can be about as long.
    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    /// The byte of the text where the fault was seen.
    pub fn offset(&self) -> usize {
        self.offset
    }
}

/// The kinds of fault; the codes are part of the contract with clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(super) enum Fault {
    #[error("the text is not UTF-8; encode it as UTF-8")]
    NotUtf8,
    #[error("the text begins with a byte-order mark; send UTF-8 without one")]
    ByteOrderMark,
    #[error("the text is not JSON here; expected {0}")]
    Syntax(&'static str),
    #[error("there is more text after the end of the document; send exactly one JSON document")]
    TrailingBytes,
    #[error("the text ends before the document does; send the whole document")]
    Truncated,
    #[error("a key occurs twice in one object; send each key once")]
    DuplicateKey,
    #[error("an escape is one half of a surrogate pair; send both halves, or the character itself")]
    LoneSurrogate,
    #[error("a number is too large for a double; send it as a string")]
    NumberRange,
    #[error(
        "an integer is beyond ±{MAX_SAFE_INTEGER}, where readers disagree on its value; send it as a string"
    )]
    IntegerRange,
    #[error("the document is nested deeper than {0} levels; flatten it")]
    TooDeep(usize),
    #[error("the text is longer than {0} bytes; send less, or a reference to the content")]
    TooLarge(usize),
    #[error("the document holds more than {0} values; send fewer, or a reference to the content")]
    TooManyNodes(usize),
    #[error("the text is empty; send one JSON document")]
    Empty,
}

impl Fault {
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::NotUtf8 => "not_utf8",
            Self::ByteOrderMark => "byte_order_mark",
            Self::Syntax(_) => "syntax",
            Self::TrailingBytes => "trailing_bytes",
            Self::Truncated => "truncated",
            Self::DuplicateKey => "duplicate_key",
            Self::LoneSurrogate => "lone_surrogate",
            Self::NumberRange => "number_range",
            Self::IntegerRange => "integer_range",
            Self::TooDeep(_) => "too_deep",
            Self::TooLarge(_) => "too_large",
            Self::TooManyNodes(_) => "too_many_nodes",
            Self::Empty => "empty",
        }
    }
}

/// A fault on its way out of the recursion: each container adds its own step as the error passes, so a
/// document without faults never pays for a path.
///
/// Boxed, so that the results passed up for every value stay small.
#[derive(Debug)]
pub(super) struct Trace(Box<Route>);

#[derive(Debug)]
struct Route {
    fault: Fault,
    offset: usize,
    /// Innermost step first.
    steps: Vec<String>,
}

impl Trace {
    pub(super) fn new(fault: Fault, offset: usize) -> Self {
        Self(Box::new(Route { fault, offset, steps: Vec::new() }))
    }

    pub(super) fn within_index(mut self, index: usize) -> Self {
        self.0.steps.push(index.to_string());
        self
    }

    pub(super) fn within_key(mut self, key: &str) -> Self {
        self.0.steps.push(key.to_owned());
        self
    }

    pub(super) fn into_error(self) -> JsonError {
        let mut pointer = String::new();
        for step in self.0.steps.iter().rev() {
            pointer.push('/');
            for character in step.chars() {
                match character {
                    '~' => pointer.push_str("~0"),
                    '/' => pointer.push_str("~1"),
                    other => pointer.push(other),
                }
            }
        }
        JsonError::new(self.0.fault, self.0.offset, pointer)
    }
}
