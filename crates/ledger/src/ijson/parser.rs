//! The recursive descent over the grammar of RFC 8259.

use serde_json::map::Entry;
use serde_json::{Map, Value};

use super::error::{Fault, JsonError, Trace};
use super::{Limits, MAX_DEPTH};

pub(super) type Parsed<T> = Result<T, Trace>;

/// One document being read.
///
/// INVARIANT: `at` never passes the end of `text`, and stands on a character boundary whenever a slice
/// is cut, because slices are cut only at ASCII bytes.
pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    /// Arrays and objects open at this moment.
    depth: usize,
    max_depth: usize,
    /// Values begun so far.
    nodes: usize,
    max_nodes: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, limits: &Limits) -> Self {
        Self {
            text,
            at: 0,
            depth: 0,
            max_depth: limits.depth.min(MAX_DEPTH),
            nodes: 0,
            max_nodes: limits.nodes,
        }
    }

    /// Reads the whole text as one document.
    pub(super) fn document(mut self) -> Result<Value, JsonError> {
        self.skip_space();
        if self.peek().is_none() {
            return Err(JsonError::at_root(Fault::Empty, self.at));
        }
        let value = self.value().map_err(Trace::into_error)?;
        self.skip_space();
        match self.peek() {
            None => Ok(value),
            Some(_) => Err(JsonError::at_root(Fault::TrailingBytes, self.at)),
        }
    }

    fn value(&mut self) -> Parsed<Value> {
        let Some(first) = self.peek() else {
            return Err(self.fault(Fault::Truncated));
        };
        // Counted before anything is allocated for the value.
        if self.nodes >= self.max_nodes {
            return Err(self.fault(Fault::TooManyNodes(self.max_nodes)));
        }
        self.nodes += 1;
        match first {
            b'"' => {
                self.at += 1;
                self.string().map(Value::String)
            }
            b'{' => self.object(),
            b'[' => self.array(),
            b'-' | b'0'..=b'9' => self.number().map(Value::Number),
            b't' => self.literal(b"true", Value::Bool(true)),
            b'f' => self.literal(b"false", Value::Bool(false)),
            b'n' => self.literal(b"null", Value::Null),
            _ => Err(self.syntax("a value")),
        }
    }

    fn array(&mut self) -> Parsed<Value> {
        self.open()?;
        let mut items = Vec::new();
        self.skip_space();
        if self.eat(b']') {
            self.depth -= 1;
            return Ok(Value::Array(items));
        }
        loop {
            let item = self.value().map_err(|trace| trace.within_index(items.len()))?;
            items.push(item);
            if self.more(b']', "`,` or `]` after an element")? {
                continue;
            }
            return Ok(Value::Array(items));
        }
    }

    fn object(&mut self) -> Parsed<Value> {
        self.open()?;
        let mut members = Map::new();
        self.skip_space();
        if self.eat(b'}') {
            self.depth -= 1;
            return Ok(Value::Object(members));
        }
        loop {
            let key_at = self.at;
            if !self.eat(b'"') {
                return Err(self.expected("a key in double quotes"));
            }
            let key = self.string()?;
            // Keys are compared after unescaping, and before the second value is read: `a` and `\u0061`
            // are the same key to every reader.
            match members.entry(key) {
                Entry::Occupied(first) => {
                    return Err(Trace::new(Fault::DuplicateKey, key_at).within_key(first.key()));
                }
                Entry::Vacant(place) => {
                    let value = match self.member() {
                        Ok(value) => value,
                        Err(trace) => return Err(trace.within_key(place.key())),
                    };
                    place.insert(value);
                }
            }
            if self.more(b'}', "`,` or `}` after a member")? {
                continue;
            }
            return Ok(Value::Object(members));
        }
    }

    /// The colon and the value after a key.
    fn member(&mut self) -> Parsed<Value> {
        self.skip_space();
        if !self.eat(b':') {
            return Err(self.expected("`:` after a key"));
        }
        self.skip_space();
        self.value()
    }

    /// Steps over an opening bracket, unless it is one too many.
    fn open(&mut self) -> Parsed<()> {
        if self.depth >= self.max_depth {
            return Err(self.fault(Fault::TooDeep(self.max_depth)));
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    /// After an element or a member: true at a comma, false at the closing bracket.
    fn more(&mut self, close: u8, expected: &'static str) -> Parsed<bool> {
        self.skip_space();
        if self.eat(b',') {
            self.skip_space();
            Ok(true)
        } else if self.eat(close) {
            self.depth -= 1;
            Ok(false)
        } else {
            Err(self.expected(expected))
        }
    }

    fn literal(&mut self, word: &'static [u8], value: Value) -> Parsed<Value> {
        for &letter in word {
            if !self.eat(letter) {
                return Err(self.expected("`true`, `false` or `null`"));
            }
        }
        Ok(value)
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.at += 1;
        }
        found
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// A fault at the byte where the reader stands.
    pub(super) fn fault(&self, fault: Fault) -> Trace {
        Trace::new(fault, self.at)
    }

    fn syntax(&self, expected: &'static str) -> Trace {
        self.fault(Fault::Syntax(expected))
    }

    /// Something is missing here: either the text ended, or another byte stands in its place.
    pub(super) fn expected(&self, what: &'static str) -> Trace {
        match self.peek() {
            None => self.fault(Fault::Truncated),
            Some(_) => self.syntax(what),
        }
    }
}
