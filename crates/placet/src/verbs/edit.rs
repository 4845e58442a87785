//! Replacement arguments, from the command line or an editor, checked before they are sent.

use std::process::Command;

use anyhow::Context as _;
use placet_core::{Record, show};
use serde_json::{Map, Value};

use super::object_argument;
use crate::{
    exit::usage,
    output::{literal, pretty},
};

/// The arguments to edit: those of the proposal, or the agent's own.
pub(crate) fn current(record: &Record) -> anyhow::Result<&Map<String, Value>> {
    let proposed = record.proposal.as_ref().and_then(|proposal| proposal.arguments.as_ref());
    proposed.or(record.arguments.as_ref()).ok_or_else(|| {
        usage("only an action has arguments to edit; approve a plan with --only or --steps, answer a question with `placet answer`")
    })
}

/// Opens the person's editor on the arguments and reads the saved file. None if nothing changed.
pub(crate) fn in_editor(record: &Record) -> anyhow::Result<Option<Map<String, Value>>> {
    let before = current(record)?;
    let folder = tempfile::Builder::new().prefix("placet-edit-").tempdir().context("no temporary folder")?;
    let path = folder.path().join("arguments.json");
    std::fs::write(&path, pretty(before) + "\n").context("the temporary file")?;
    let editor = ["VISUAL", "EDITOR"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|editor| !editor.is_empty()));
    let editor = editor.unwrap_or_else(|| "vi".to_owned());
    // Editors may have options ("code --wait"), so a shell splits the words. The path is a separate parameter.
    let status = Command::new("sh").args(["-c", &format!("{editor} \"$1\""), "placet"]).arg(&path).status();
    let status = status.with_context(|| format!("the editor `{editor}` did not start"))?;
    if !status.success() {
        anyhow::bail!("the editor `{editor}` ended with {status}: nothing was sent");
    }
    let after = object_argument("the edited arguments", &format!("@{}", path.display()))?;
    Ok((after != *before).then_some(after))
}

/// What an edit changes, line by line: from, to.
pub(crate) fn changes(before: &Map<String, Value>, after: &Map<String, Value>) -> Vec<String> {
    let text = literal;
    let mut lines = Vec::new();
    for (key, value) in before {
        match after.get(key) {
            None => lines.push(format!("- {}: {}", show(key), text(value))),
            Some(new) if new != value => {
                lines.push(format!("~ {}: {} -> {}", show(key), text(value), text(new)));
            }
            Some(_) => {}
        }
    }
    let added = after.iter().filter(|(key, _)| !before.contains_key(*key));
    lines.extend(added.map(|(key, value)| format!("+ {}: {}", show(key), text(value))));
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn changes_name_what_goes_what_comes_and_what_differs() {
        let map = |value: Value| value.as_object().cloned().unwrap();
        let before = map(json!({"a": 1, "b": "x", "c": true}));
        let after = map(json!({"a": 1, "b": "y\u{202e}", "d": []}));
        assert_eq!(changes(&before, &after), ["~ b: \"x\" -> \"y\\u{202e}\"", "- c: true", "+ d: []"]);
    }
}
