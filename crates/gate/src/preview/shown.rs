//! Which values a preview shows whole, so that every other one is listed beside it.
//!
//! A reader of a call names the values that its preview shows whole. A value counts only if the preview really has
//! its text, once per place: two equal values need two places in the preview.

use std::collections::HashMap;

use placet_core::{DiffLine, Preview};
use serde_json::Value;

/// A value that the preview should show whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShownValue {
    /// Its place below the arguments.
    pub(super) pointer: String,
    /// Its text as it is drawn.
    pub(super) drawn: String,
}

impl ShownValue {
    /// The same, below another place.
    pub(super) fn under(mut self, base: &str) -> Self {
        self.pointer.insert_str(0, base);
        self
    }

    /// Whether all of it is visible without quotes: spaces at an end are not.
    pub(super) fn is_readable(&self) -> bool {
        !self.drawn.is_empty()
            && !self.drawn.starts_with(' ')
            && !self.drawn.ends_with(' ')
            && !self.drawn.contains(" \\n")
    }
}

/// The places that the preview really shows whole, each under `base`.
pub(super) fn verified(preview: &Preview, values: &[ShownValue], base: &str) -> Vec<String> {
    let mut texts = texts(preview);
    let mut held = |value: &&ShownValue| match texts.get_mut(&value.drawn) {
        Some(left) if *left > 0 && value.is_readable() => {
            *left -= 1;
            true
        }
        _ => false,
    };
    values.iter().filter(|value| held(value)).map(|value| format!("{base}{}", value.pointer)).collect()
}

/// Every text of a preview, with its count.
fn texts(preview: &Preview) -> HashMap<String, usize> {
    let mut out = HashMap::new();
    let mut add = |text: String| *out.entry(text).or_insert(0_usize) += 1;
    match preview {
        Preview::Diff { truncated: true, .. } | Preview::Json | Preview::Plan { .. } => {}
        Preview::Diff { path, lines, .. } => {
            add(path.clone());
            sides(lines).into_iter().for_each(add);
        }
        Preview::Shell { command, cwd, .. } => {
            add(command.clone());
            cwd.iter().cloned().for_each(add);
        }
        Preview::Sql { statement, .. } => add(statement.clone()),
        other => {
            if let Ok(value) = serde_json::to_value(other) {
                leaves(&value, &mut add);
            }
        }
    }
    out
}

fn leaves(value: &Value, add: &mut impl FnMut(String)) {
    match value {
        Value::String(text) => add(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| leaves(item, add)),
        Value::Object(map) => {
            map.iter().filter(|(key, _)| *key != "type").for_each(|(_, value)| leaves(value, add));
        }
        _ => {}
    }
}

/// Removed and added text, part by part, as one text each; and all of it as one text, which is what a patch is.
fn sides(lines: &[DiffLine]) -> Vec<String> {
    let mut out = Vec::new();
    let mut put = |texts: Vec<String>, open: bool| {
        if texts.is_empty() {
            return;
        }
        let text = texts.join("\\n");
        // The preview does not show whether a text ends with a line end. The reader of the call knows.
        if !open {
            out.push(format!("{text}\\n"));
        }
        out.push(text);
    };
    for part in lines.split(|line| line.op == "@") {
        for side in ["-", "+"] {
            let own = part.iter().filter(|line| line.op == " " || line.op == side);
            put(own.map(|line| line.text.clone()).collect(), part.iter().any(|line| line.op == "\\"));
        }
    }
    let whole = lines.iter().filter(|line| line.op != "\\").map(|line| match line.op.as_str() {
        "@" => line.text.clone(),
        op => format!("{op}{}", line.text),
    });
    put(whole.collect(), lines.last().is_some_and(|line| line.op == "\\"));
    out
}
