//! Sections that the shape of values gives, whatever the tool: tables, trees, long texts, pictures and files.

use std::collections::HashSet;

use placet_core::{DisplayField, SectionBody, Segment, TreeNode, quoted, show};
use serde_json::{Map, Value};

use super::{Parts, below, bytes, is_readable};

/// Longest text, in characters, that is listed among others. A longer one, or one of several lines, has its own section.
const SHORT: usize = 160;
/// Most columns of a table.
const COLUMNS: usize = 12;

/// Draws what no section has yet of the arguments of a call.
pub(super) fn object(arguments: &Map<String, Value>, at: &str, parts: &mut Parts) {
    let mut walk = Walk {
        at,
        parts,
        way: Vec::new(),
        own: HashSet::new(),
        nodes: Vec::new(),
        shown: Vec::new(),
        open: Vec::new(),
    };
    walk.taken_out(arguments);
    for (key, value) in arguments {
        walk.way.push(Segment::Key(key));
        walk.top(value);
        walk.way.pop();
    }
    walk.finish();
}

/// Draws one value at a place below a pointer.
pub(super) fn draw<'a>(way: &[Segment<'a>], value: &'a Value, at: &str, parts: &mut Parts) {
    let mut walk = Walk {
        at,
        parts,
        way: way.to_vec(),
        own: HashSet::new(),
        nodes: Vec::new(),
        shown: Vec::new(),
        open: Vec::new(),
    };
    walk.top(value);
    walk.finish();
}

/// Whether a text has a section of its own.
pub(super) fn is_long(text: &str) -> bool {
    text.contains('\n') || text.chars().nth(SHORT).is_some()
}

struct Walk<'p, 'a> {
    at: &'p str,
    parts: &'p mut Parts,
    way: Vec<Segment<'a>>,
    /// Leaves that have a section of their own here.
    own: HashSet<String>,
    /// One tree of all nested values.
    nodes: Vec<TreeNode>,
    shown: Vec<String>,
    open: Vec<(String, SectionBody, Vec<String>)>,
}

impl<'a> Walk<'_, 'a> {
    fn here(&self) -> String {
        below(self.at, &self.way)
    }

    /// The place for people, without the pointer that it is below.
    fn title(&self) -> String {
        let field = DisplayField::of(&self.way, placet_core::Leaf::Empty);
        let place = field.map(|field| field.place()).unwrap_or_default();
        place.strip_prefix('/').unwrap_or_default().to_owned()
    }

    /// Whether a leaf is without a section.
    fn is_open(&self, pointer: &str) -> bool {
        self.parts.open.contains(pointer) && !self.own.contains(pointer)
    }

    fn own(&mut self, body: SectionBody, pointers: Vec<String>) {
        self.own.extend(pointers.iter().cloned());
        self.open.push((self.title(), body, pointers));
    }

    /// An argument: a single short value stays among the rest.
    fn top(&mut self, value: &'a Value) {
        match value {
            Value::String(text) => drop(self.long(text)),
            Value::Array(items) if !items.is_empty() => self.nested(value, 0),
            Value::Object(map) if !map.is_empty() => self.nested(value, 0),
            _ => {}
        }
    }

    /// A text that has a section of its own: a picture, or long.
    fn long(&mut self, text: &str) -> bool {
        let pointer = self.here();
        if !self.is_open(&pointer) {
            return true;
        }
        if let Some(picture) = bytes::Picture::of_url(text) {
            let (media_type, data) = (show(picture.media_type), show(picture.data));
            self.own(SectionBody::Image { media_type, bytes: picture.bytes, data }, vec![pointer]);
            return true;
        }
        let drawn = show(text);
        if is_long(text) && is_readable(&drawn) {
            self.own(SectionBody::Text { text: drawn }, vec![pointer]);
            return true;
        }
        false
    }

    fn nested(&mut self, value: &'a Value, depth: u32) {
        match value {
            Value::Array(items) if !items.is_empty() => {
                if !self.table(items) {
                    let each = items.iter().enumerate().map(|(index, item)| (Segment::Index(index), item));
                    self.inside(each, depth);
                }
            }
            Value::Object(map) if !map.is_empty() => {
                self.taken_out(map);
                self.inside(map.iter().map(|(key, value)| (Segment::Key(key), value)), depth);
            }
            Value::String(text) => {
                if !self.long(text) {
                    self.node(value, depth);
                }
            }
            _ => self.node(value, depth),
        }
    }

    /// The node of an object or a list, and what is in it. Without anything in it there is no node.
    fn inside(&mut self, each: impl Iterator<Item = (Segment<'a>, &'a Value)>, depth: u32) {
        let before = self.nodes.len();
        self.nodes.push(TreeNode { depth, key: self.key(), text: None });
        for (segment, value) in each {
            self.way.push(segment);
            self.nested(value, depth.saturating_add(1));
            self.way.pop();
        }
        if self.nodes.len() == before.saturating_add(1) {
            self.nodes.truncate(before);
        }
    }

    fn node(&mut self, value: &Value, depth: u32) {
        let pointer = self.here();
        if self.is_open(&pointer) {
            self.nodes.push(TreeNode { depth, key: self.key(), text: Some(cell(value)) });
            self.shown.push(pointer);
        }
    }

    /// The last part of the way. A key that reads like a number in a list stands in quotes.
    fn key(&self) -> String {
        match self.way.last() {
            Some(Segment::Key(key)) => {
                let drawn = show(key);
                let odd = drawn.is_empty()
                    || drawn.starts_with('"')
                    || drawn.bytes().all(|byte| byte.is_ascii_digit());
                if odd || !is_readable(&drawn) { quoted(key) } else { drawn }
            }
            Some(Segment::Index(index)) => index.to_string(),
            Some(Segment::Field(name)) => (*name).to_owned(),
            None => String::new(),
        }
    }

    /// Pictures and files among the values of an object.
    fn taken_out(&mut self, map: &'a Map<String, Value>) {
        let place = |key: &'a str| {
            let mut way = self.way.clone();
            way.push(Segment::Key(key));
            below(self.at, &way)
        };
        if let Some((key, type_key, picture)) = bytes::picture(map) {
            let pointers = vec![place(key), place(type_key)];
            if pointers.iter().all(|pointer| self.is_open(pointer)) {
                let (media_type, data) = (show(picture.media_type), show(picture.data));
                self.own(SectionBody::Image { media_type, bytes: picture.bytes, data }, pointers);
            }
        } else if let Some(file) = bytes::file(map) {
            let name = show(file.name.1);
            let media_type = file.media_type.map(|(_, media_type)| show(media_type));
            let mut pointers = vec![place(file.data.0)];
            if is_readable(&name) {
                pointers.push(place(file.name.0));
            }
            if let Some((key, _)) = file.media_type.filter(|(_, text)| is_readable(&show(text))) {
                pointers.push(place(key));
            }
            if pointers.iter().all(|pointer| self.is_open(pointer)) {
                let data = show(file.data.1);
                self.own(SectionBody::File { name, media_type, bytes: file.bytes, data }, pointers);
            }
        }
    }

    /// A list of objects with mostly the same single values.
    fn table(&mut self, items: &'a [Value]) -> bool {
        let rows: Option<Vec<&Map<String, Value>>> = items.iter().map(Value::as_object).collect();
        let Some(rows) = rows.filter(|rows| rows.len() >= 2) else { return false };
        let mut keys: Vec<&'a str> = Vec::new();
        for (key, value) in rows.iter().flat_map(|row| row.iter()) {
            let single = match value {
                Value::String(text) => !is_long(text),
                Value::Array(items) => items.is_empty(),
                Value::Object(map) => map.is_empty(),
                _ => true,
            };
            if !single || (!keys.contains(&key.as_str()) && keys.len() >= COLUMNS) {
                return false;
            }
            if !keys.contains(&key.as_str()) {
                keys.push(key);
            }
        }
        let cells: usize = rows.iter().map(|row| row.len()).sum();
        let full = rows.len().saturating_mul(keys.len());
        if keys.is_empty() || rows.iter().any(|row| row.is_empty()) || cells.saturating_mul(2) < full {
            return false;
        }
        let mut pointers = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            for key in row.keys() {
                let mut way = self.way.clone();
                way.extend([Segment::Index(index), Segment::Key(key)]);
                pointers.push(below(self.at, &way));
            }
        }
        if !pointers.iter().all(|pointer| self.is_open(pointer)) {
            return false;
        }
        let body = SectionBody::Table {
            columns: keys.iter().map(|key| show(key)).collect(),
            rows: rows.iter().map(|row| keys.iter().map(|key| row.get(*key).map(cell)).collect()).collect(),
        };
        self.own(body, pointers);
        true
    }

    fn finish(self) {
        let Self { parts, nodes, shown, open, .. } = self;
        if !shown.is_empty() {
            parts.add(None, SectionBody::Tree { nodes }, shown);
        }
        for (title, body, pointers) in open {
            parts.add(Some(title.as_str()).filter(|title| !title.is_empty()), body, pointers);
        }
    }
}

/// A single value in a table or a tree. A text stands in quotes if it could be taken for something else, or if it could
/// not all be seen.
fn cell(value: &Value) -> String {
    let Value::String(text) = value else { return value.to_string() };
    let drawn = show(text);
    let literal = ["true", "false", "null", "[]", "{}"].contains(&drawn.as_str());
    let number = drawn.parse::<f64>().is_ok();
    if literal || number || drawn.starts_with('"') || !is_readable(&drawn) { quoted(text) } else { drawn }
}
