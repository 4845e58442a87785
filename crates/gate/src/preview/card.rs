//! What the card takes from the recognised calls: the typed preview, the values that it really shows, and what the
//! preview alone does not say.

use placet_core::Preview;
use serde_json::{Map, Value};

use super::{
    args::{Args, Name},
    call::{effect_of_step, recognise},
    diff::Change,
    out::Message,
    shown,
};

/// What a step does, from action and arguments alone.
pub(crate) fn step_effect(action: &str, arguments: Option<&Map<String, Value>>) -> String {
    effect_of_step(action, arguments)
}

/// A recognised call, for its sections.
pub(crate) struct CardCall {
    pub(crate) preview: Preview,
    /// The leaves that the preview shows whole, as pointers below `at`.
    pub(crate) shown: Vec<String>,
    /// How the lines of a diff came about.
    pub(crate) lines: LineSource,
    /// A message in a chat: to whom, and the text, each with its pointer.
    pub(crate) chat: Option<[(String, String); 2]>,
}

/// How the lines of a diff came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineSource {
    /// Texts that replace others. Where they stand in the file is not known.
    Edit,
    /// The whole new text of a file.
    Write(&'static str),
    /// A patch, which says what happens to which lines.
    Patch,
}

/// Recognises a call whose arguments stand at a pointer.
pub(crate) fn recognised(
    tool: &str,
    arguments: &Map<String, Value>,
    stated_cwd: Option<&str>,
    at: &str,
) -> Option<CardCall> {
    let (preview, values) = recognise(tool, arguments)?.preview(stated_cwd);
    let shown = shown::verified(&preview, &values, at);
    let chat = if matches!(preview, Preview::Json) { chat(tool, arguments, at) } else { None };
    Some(CardCall { preview, shown, lines: lines(tool, arguments), chat })
}

fn lines(tool: &str, arguments: &Map<String, Value>) -> LineSource {
    let name = Name::new(tool);
    match Change::read(&name, &mut Args::new(arguments)) {
        Some(Change::Write { .. }) if name.one_of(&["create_file"]) => LineSource::Write("create"),
        Some(Change::Write { .. }) if name.one_of(&["overwrite_file"]) => LineSource::Write("overwrite"),
        // Whether there is such a file is not known.
        Some(Change::Write { .. }) => LineSource::Write("change"),
        Some(Change::Patch { .. }) => LineSource::Patch,
        _ => LineSource::Edit,
    }
}

/// A message to a channel or a person. With an argument that is not understood, it is no message for certain.
fn chat(tool: &str, arguments: &Map<String, Value>, at: &str) -> Option<[(String, String); 2]> {
    let mut args = Args::new(arguments);
    Message::read(&Name::new(tool), &mut args)?;
    if !args.unknown().is_empty() {
        return None;
    }
    let mut whole = args.whole.into_iter().map(|value| (format!("{at}{}", value.pointer), value.drawn));
    Some([whole.next()?, whole.next()?])
}
