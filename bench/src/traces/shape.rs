//! The shape of a call, so that calls that ask for the same reason are counted together.

use placet_policy::shell;
use serde_json::{Map, Value};

/// The tool. For a command, its programs and the first plain word after each.
pub(super) fn of(tool: &str, input: &Map<String, Value>) -> String {
    let command = match input.get("command") {
        Some(Value::String(text)) => shell::analyse(text),
        Some(Value::Array(words)) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            shell::analyse_argv(&words)
        }
        _ => return tool.to_owned(),
    };
    let (parts, whole) = command.outline(4);
    let programs: Vec<String> = parts
        .iter()
        .map(|part| {
            let mut words = part.argv.iter();
            let program = words.next().map_or("", |word| word.rsplit('/').next().unwrap_or(word));
            let plain = |word: &&String| {
                word.chars().all(|c| c.is_ascii_alphanumeric() || "-_:".contains(c)) && word.len() < 20
            };
            match words.next().filter(plain) {
                Some(word) => format!("{program} {word}"),
                None => program.to_owned(),
            }
        })
        .collect();
    let opaque = if command.is_opaque() { "? " } else { "" };
    format!("{opaque}{}{}", programs.join(" | "), if whole { "" } else { " …" })
}
