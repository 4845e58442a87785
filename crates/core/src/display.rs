//! The exact text to show for everything an agent wrote: no character that hides, reorders or imitates gets through.

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Body, Digest, ProposalContent, Request, answer::escape};

/// What a page shows of a request, made by the server from the stored bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Display {
    /// Digest of the fields; goes into the vote of whoever was shown them.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub digest: Digest,
    /// Every value the agent wrote, in a fixed order.
    pub fields: Vec<DisplayField>,
    /// The short code to type for a step-up, only where one is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// One value the agent wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DisplayField {
    /// Where it stands on the record, as a JSON pointer whose own text is safe to show.
    pub pointer: String,
    /// The text to show, exactly.
    pub text: String,
}

/// Everything that was written and will be decided on, safe to show: a replacement on the table first, then what the
/// agent wrote. Empty once the content was erased.
pub(crate) fn fields(request: &Request) -> Vec<DisplayField> {
    let mut out = Vec::new();
    let Some(content) = &request.content else { return out };
    if let Some(proposal) = request.proposal.as_ref().and_then(|proposal| proposal.content.as_deref()) {
        replacement(&mut out, "/proposal", proposal);
    }
    if let Some(decided) = request.decision.as_ref().and_then(|decision| decision.content.as_deref()) {
        replacement(&mut out, "/decision", decided);
    }
    text(&mut out, "/session", &request.session);
    match &content.body {
        Body::Action(action) => {
            text(&mut out, "/tool", &action.tool);
            object(&mut out, "/arguments", &action.arguments);
        }
        Body::Plan(plan) => {
            text(&mut out, "/title", &plan.title);
            for (index, step) in plan.steps.iter().enumerate() {
                text(&mut out, &format!("/steps/{index}/id"), &step.id);
                text(&mut out, &format!("/steps/{index}/action"), &step.action);
                text(&mut out, &format!("/steps/{index}/description"), &step.description);
                if let Some(arguments) = &step.arguments {
                    object(&mut out, &format!("/steps/{index}/arguments"), arguments);
                }
            }
            if let Some(estimate) = &plan.estimated_duration {
                text(&mut out, "/estimated_duration", estimate);
            }
        }
        Body::Input(input) => {
            text(&mut out, "/question", &input.question);
            for (index, option) in input.input.options.iter().flatten().enumerate() {
                text(&mut out, &format!("/input/options/{index}"), option);
            }
            if let Some(default) = &input.default {
                value(&mut out, "/default", default);
            }
        }
        Body::Confirmation(confirmation) => {
            text(&mut out, "/message", &confirmation.message);
            if let Some(details) = &confirmation.details {
                text(&mut out, "/details", details);
            }
            text(&mut out, "/confirm_label", &confirmation.confirm_label);
            text(&mut out, "/cancel_label", &confirmation.cancel_label);
        }
    }
    object(&mut out, "/context", &content.context);
    if let Some(group) = &request.group {
        text(&mut out, "/group", group);
    }
    if let Some(summary) = &content.summary {
        text(&mut out, "/summary", summary);
    }
    out
}

fn replacement(out: &mut Vec<DisplayField>, at: &str, content: &ProposalContent) {
    if let Some(arguments) = &content.arguments {
        object(out, &format!("{at}/arguments"), arguments);
    }
    if let Some(answer) = &content.answer {
        value(out, &format!("{at}/answer"), answer);
    }
    for (index, step) in content.steps.iter().flatten().enumerate() {
        text(out, &format!("{at}/steps/{index}/id"), &step.id);
        text(out, &format!("{at}/steps/{index}/decision"), step.decision.as_str());
        if let Some(arguments) = &step.arguments {
            object(out, &format!("{at}/steps/{index}/arguments"), arguments);
        }
    }
}

fn text(out: &mut Vec<DisplayField>, pointer: &str, text: &str) {
    out.push(DisplayField { pointer: pointer.to_owned(), text: show(text) });
}

fn object(out: &mut Vec<DisplayField>, pointer: &str, object: &Map<String, Value>) {
    if object.is_empty() {
        out.push(DisplayField { pointer: pointer.to_owned(), text: "{}".to_owned() });
    }
    for (key, inner) in object {
        value(out, &format!("{pointer}/{}", show(&escape(key))), inner);
    }
}

/// A JSON value as its own literal: text in quotes, numbers as their bytes.
fn value(out: &mut Vec<DisplayField>, pointer: &str, value_: &Value) {
    match value_ {
        Value::Object(inner) => object(out, pointer, inner),
        Value::Array(items) if items.is_empty() => {
            out.push(DisplayField { pointer: pointer.to_owned(), text: "[]".to_owned() });
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                value(out, &format!("{pointer}/{index}"), item);
            }
        }
        Value::String(string) => out.push(DisplayField {
            pointer: pointer.to_owned(),
            text: format!("\"{}\"", show(string).replace('"', "\\\"")),
        }),
        other => out.push(DisplayField { pointer: pointer.to_owned(), text: other.to_string() }),
    }
}

/// Text with every character that could hide, reorder or pass for a space drawn as a visible escape. Injective:
/// a backslash in the text is doubled, so no text can imitate another one's escapes.
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

/// Whether a character has a shape of its own and keeps its place.
fn visible(character: char) -> bool {
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
