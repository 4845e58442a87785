//! Draws every text that an agent wrote, so that no character can hide, reorder or imitate.

use std::{fmt::Write, ops::ControlFlow};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Body, Content, Digest, Preview, ProposalContent, Request, Warning, answer::escape};

/// What a page shows of a request, made by the server from the stored bytes. Every text in it can be shown as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Display {
    /// Digest of the fields. The vote of a person who saw them carries it.
    pub digest: Digest,
    /// Every value the agent wrote, in a fixed order.
    pub fields: Vec<DisplayField>,
    /// The short code to type for a step-up, only where one is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// One sentence about what will happen, of at most 200 characters. Made from the tool and the arguments that will
    /// run, never from the agent's words.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub effect: String,
    /// A preview in the form that suits the call. It adds to the fields and never replaces them.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub preview: Preview,
    /// Pointers of the fields whose whole value can be read in the preview. All other fields of the body and of a
    /// replacement must be listed beside it. Empty from older servers: then all fields are listed.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub shown: Vec<String>,
    /// What to look at twice.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub warnings: Vec<Warning>,
}

/// One value the agent wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DisplayField {
    /// Where it stands on the record, as a JSON pointer whose own text is safe to show.
    pub pointer: String,
    /// The text to show, exactly.
    pub text: String,
    /// Parts of the pointer, counted from 0, that are keys of an object although they read like places in a list. Only
    /// where there are any, so that `{"a":["x"]}` and `{"a":{"0":"x"}}` neither look nor hash alike.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub keys: Vec<usize>,
}

impl DisplayField {
    /// The value at the end of a path, drawn. A key is no value.
    pub fn of(way: &[Segment<'_>], leaf: Leaf<'_>) -> Option<Self> {
        let text = match leaf {
            Leaf::Key(_) => return None,
            Leaf::Text(text) => show(text),
            Leaf::String(text) => quoted(text),
            Leaf::Literal(value) => value.to_string(),
            Leaf::Empty => "{}".to_owned(),
        };
        Some(Self { pointer: pointer(way), text, keys: numeric_keys(way) })
    }

    /// The pointer for people: a key that looks like a list index stands in quotes, and so does one that begins
    /// like that.
    pub fn place(&self) -> String {
        let mut out = String::new();
        for (at, part) in self.pointer.split('/').skip(1).enumerate() {
            out.push('/');
            if self.keys.contains(&at) || part.starts_with('"') {
                // Writing to a string cannot fail.
                let _ = write!(out, "\"{}\"", part.replace('"', "\\\""));
            } else {
                out.push_str(part);
            }
        }
        out
    }
}

/// Drawn text in quotes, as it stands in JSON.
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", show(text).replace('"', "\\\""))
}

/// The parts that are object keys but look like list indexes.
fn numeric_keys(way: &[Segment<'_>]) -> Vec<usize> {
    let numeric = |segment: &Segment<'_>| matches!(segment, Segment::Key(key) if !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit()));
    way.iter().enumerate().filter(|(_, segment)| numeric(segment)).map(|(at, _)| at).collect()
}

/// One step of the way to a written value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segment<'a> {
    /// A field of the record.
    Field(&'static str),
    /// A key that somebody wrote.
    Key(&'a str),
    /// A place in a list.
    Index(usize),
}

/// The value at the end of the path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Leaf<'a> {
    /// The last segment is a key that somebody wrote; its value comes next.
    Key(&'a str),
    /// Text of the record itself.
    Text(&'a str),
    /// Text inside JSON, shown in quotes.
    String(&'a str),
    /// A number, a truth value, nothing, or an empty list or object.
    Literal(&'a Value),
    /// An empty object.
    Empty,
}

/// The path as a JSON pointer that is safe to show.
pub fn pointer(way: &[Segment<'_>]) -> String {
    let mut out = String::new();
    for segment in way {
        out.push('/');
        match segment {
            Segment::Field(name) => out.push_str(name),
            Segment::Key(key) => out.push_str(&show(&escape(key))),
            Segment::Index(index) => {
                // Writing to a string cannot fail.
                let _ = write!(out, "{index}");
            }
        }
    }
    out
}

/// Every value that will be decided on, safe to show: a proposed replacement first, then what the agent wrote. Empty
/// after erasure.
pub(crate) fn fields(request: &Request) -> Vec<DisplayField> {
    let mut out = Vec::new();
    let _ = walk(request, &mut |way, leaf| {
        out.extend(DisplayField::of(way, leaf));
        ControlFlow::Continue(())
    });
    out
}

/// The callback for each value. It can stop the walk.
type Visitor<'v, 'a> = &'v mut dyn FnMut(&[Segment<'a>], Leaf<'a>) -> ControlFlow<()>;

/// Visits every value that was written, in the order in which it is shown.
pub(crate) fn walk<'a>(request: &'a Request, visit: Visitor<'_, 'a>) -> ControlFlow<()> {
    let Some(content) = &request.content else { return ControlFlow::Continue(()) };
    let mut walk = Walk { way: Vec::new(), visit };
    if let Some(proposal) = request.proposal.as_ref().and_then(|proposal| proposal.content.as_deref()) {
        walk.under("proposal", |walk| walk.replacement(proposal))?;
    }
    if let Some(decided) = request.decision.as_ref().and_then(|decision| decision.content.as_deref()) {
        walk.under("decision", |walk| walk.replacement(decided))?;
    }
    walk.text("session", &request.session)?;
    walk.body(&content.body)?;
    walk.under("context", |walk| walk.object(&content.context))?;
    for (field, text) in [("group", &request.group), ("on_behalf_of", &request.on_behalf_of)] {
        if let Some(text) = text {
            walk.text(field, text)?;
        }
    }
    walk.rest(content)
}

struct Walk<'v, 'a> {
    way: Vec<Segment<'a>>,
    visit: Visitor<'v, 'a>,
}

impl<'a> Walk<'_, 'a> {
    fn step(
        &mut self,
        segment: Segment<'a>,
        inside: impl FnOnce(&mut Self) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.way.push(segment);
        let flow = inside(self);
        self.way.pop();
        flow
    }

    fn under(
        &mut self,
        field: &'static str,
        inside: impl FnOnce(&mut Self) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.step(Segment::Field(field), inside)
    }

    fn leaf(&mut self, leaf: Leaf<'a>) -> ControlFlow<()> {
        (self.visit)(&self.way, leaf)
    }

    fn text(&mut self, field: &'static str, text: &'a str) -> ControlFlow<()> {
        self.under(field, |walk| walk.leaf(Leaf::Text(text)))
    }

    fn body(&mut self, body: &'a Body) -> ControlFlow<()> {
        match body {
            Body::Action(action) => {
                self.text("tool", &action.tool)?;
                self.under("arguments", |walk| walk.object(&action.arguments))
            }
            Body::Plan(plan) => {
                self.text("title", &plan.title)?;
                self.under("steps", |walk| {
                    for (index, step) in plan.steps.iter().enumerate() {
                        walk.step(Segment::Index(index), |walk| {
                            walk.text("id", &step.id)?;
                            walk.text("action", &step.action)?;
                            walk.text("description", &step.description)?;
                            match &step.arguments {
                                Some(arguments) => walk.under("arguments", |walk| walk.object(arguments)),
                                None => ControlFlow::Continue(()),
                            }
                        })?;
                    }
                    ControlFlow::Continue(())
                })?;
                match &plan.estimated_duration {
                    Some(estimate) => self.text("estimated_duration", estimate),
                    None => ControlFlow::Continue(()),
                }
            }
            Body::Input(input) => {
                self.text("question", &input.question)?;
                self.under("input", |walk| {
                    walk.under("options", |walk| {
                        for (index, option) in input.input.options.iter().flatten().enumerate() {
                            walk.step(Segment::Index(index), |walk| walk.leaf(Leaf::Text(option)))?;
                        }
                        ControlFlow::Continue(())
                    })
                })?;
                match &input.default {
                    Some(default) => self.under("default", |walk| walk.value(default)),
                    None => ControlFlow::Continue(()),
                }
            }
            Body::Confirmation(confirmation) => {
                self.text("message", &confirmation.message)?;
                if let Some(details) = &confirmation.details {
                    self.text("details", details)?;
                }
                self.text("confirm_label", &confirmation.confirm_label)?;
                self.text("cancel_label", &confirmation.cancel_label)
            }
        }
    }

    /// The fields that matter least for what will happen: the agent's words, and its schema for edits.
    fn rest(&mut self, content: &'a Content) -> ControlFlow<()> {
        if let Some(summary) = &content.summary {
            self.text("summary", summary)?;
        }
        match &content.body {
            Body::Action(action) => match &action.arguments_schema {
                Some(schema) => self.under("arguments_schema", |walk| walk.value(schema)),
                None => ControlFlow::Continue(()),
            },
            _ => ControlFlow::Continue(()),
        }
    }

    fn replacement(&mut self, content: &'a ProposalContent) -> ControlFlow<()> {
        if let Some(arguments) = &content.arguments {
            self.under("arguments", |walk| walk.object(arguments))?;
        }
        if let Some(answer) = &content.answer {
            self.under("answer", |walk| walk.value(answer))?;
        }
        self.under("steps", |walk| {
            for (index, step) in content.steps.iter().flatten().enumerate() {
                walk.step(Segment::Index(index), |walk| {
                    walk.text("id", &step.id)?;
                    walk.text("decision", step.decision.as_str())?;
                    match &step.arguments {
                        Some(arguments) => walk.under("arguments", |walk| walk.object(arguments)),
                        None => ControlFlow::Continue(()),
                    }
                })?;
            }
            ControlFlow::Continue(())
        })
    }

    fn object(&mut self, object: &'a Map<String, Value>) -> ControlFlow<()> {
        if object.is_empty() {
            return self.leaf(Leaf::Empty);
        }
        for (key, inner) in object {
            self.step(Segment::Key(key), |walk| {
                walk.leaf(Leaf::Key(key))?;
                walk.value(inner)
            })?;
        }
        ControlFlow::Continue(())
    }

    /// A JSON value as its own literal: text in quotes, numbers as their bytes.
    fn value(&mut self, value: &'a Value) -> ControlFlow<()> {
        match value {
            Value::Object(inner) => self.object(inner),
            Value::Array(items) if !items.is_empty() => {
                for (index, item) in items.iter().enumerate() {
                    self.step(Segment::Index(index), |walk| walk.value(item))?;
                }
                ControlFlow::Continue(())
            }
            Value::String(string) => self.leaf(Leaf::String(string)),
            other => self.leaf(Leaf::Literal(other)),
        }
    }
}

/// Draws every character that could hide, reorder or pass for a space as a visible escape. Injective: a backslash in
/// the text is doubled, so no text can imitate an escape.
pub fn show(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            plain if visible(plain) => out.push(plain),
            hidden => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{{{:04x}}}", u32::from(hidden));
            }
        }
    }
    out
}

/// Whether a character is visible and keeps its place in every text that is shown.
pub fn visible(character: char) -> bool {
    let hidden = matches!(u32::from(character),
        0x00..=0x1f | 0x7f..=0xa0 // controls, and the space that is not one
        | 0xad | 0x34f | 0x61c // soft hyphen, joiner, Arabic letter mark
        | 0x115f | 0x1160 | 0x17b4 | 0x17b5 | 0x3164 | 0xffa0 // fillers
        | 0x1680 | 0x180b..=0x180f // Ogham space, Mongolian selectors
        | 0x2000..=0x200f // spaces, zero widths, direction marks
        | 0x2028..=0x202f // separators, embeddings, overrides
        | 0x205f..=0x206f // spaces, invisible operators, isolates
        | 0x2800 | 0x3000 // blank Braille pattern, ideographic space
        | 0xd800..=0xf8ff // private use (surrogates cannot occur)
        | 0xfdd0..=0xfdef | 0xfe00..=0xfe0f | 0xfeff | 0xfff0..=0xfffb // non-characters, selectors, byte-order mark, annotations
        | 0x1_3430..=0x1_345f | 0x1_bca0..=0x1_bca3 | 0x1_d159 | 0x1_d173..=0x1_d17a // format controls
        | 0xe_0000..=0x10_ffff // tags, selectors, private planes
    );
    !hidden && (u32::from(character) & 0xfffe) != 0xfffe
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hidden_and_reordering_characters_are_drawn() {
        assert_eq!(show("pay\u{202e}001\u{200b}"), "pay\\u{202e}001\\u{200b}");
        assert_eq!(show("a\nb\tc\u{1b}[31m"), "a\\nb\\tc\\u{001b}[31m");
        assert_eq!(show("tag\u{e0041}"), "tag\\u{e0041}");
        assert_eq!(show("grün, 漢字, ok 🙂"), "grün, 漢字, ok 🙂");
    }

    #[test]
    fn every_control_bidi_and_zero_width_character_is_drawn() {
        for code in (0..0x20)
            .chain(0x7f..0xa0)
            .chain([0x61c, 0x200b, 0x200c, 0x200d, 0x200e, 0x200f, 0x2060, 0xfeff, 0xad])
            .chain(0x202a..0x202f)
            .chain(0x2066..0x206a)
        {
            let character = char::from_u32(code).unwrap();
            assert!(!show(&character.to_string()).contains(character), "{code:x}");
        }
    }

    #[test]
    fn a_key_that_reads_like_a_place_in_a_list_is_told_from_one() {
        let field = |keys: &[usize], pointer: &str| {
            DisplayField { pointer: pointer.to_owned(), text: String::new(), keys: keys.to_vec() }.place()
        };
        assert_eq!(field(&[], "/arguments/a/0"), "/arguments/a/0");
        assert_eq!(field(&[2], "/arguments/a/0"), "/arguments/a/\"0\"");
        assert_eq!(field(&[], "/arguments/a/\"0\""), "/arguments/a/\"\\\"0\\\"\"");
    }

    proptest! {
        #[test]
        fn two_different_texts_never_look_alike(a in ".{0,12}", b in ".{0,12}") {
            prop_assert_eq!(show(&a) == show(&b), a == b);
        }

        #[test]
        fn nothing_hidden_survives(text in any::<String>()) {
            prop_assert!(show(&text).chars().all(visible));
        }
    }
}
