//! Clippy's findings in the build of the tests.

use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::process::{Workspace, say};

/// Fails if the build had findings. Cargo keeps them for each crate, so nothing is compiled again.
pub(crate) fn none(workspace: &Workspace, features: &[&str]) -> Result<()> {
    let mut cargo = workspace.linted(["test", "--no-run", "--workspace", "--message-format", "json"]);
    let output = cargo.args(features).stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    ensure!(output.status.success(), "the build failed: see the step `test-build`");
    let said = said(&String::from_utf8_lossy(&output.stdout));
    for text in &said {
        say(text);
    }
    ensure!(said.is_empty(), "{} warnings; `cargo xtask check --all` shows them again", said.len());
    Ok(())
}

/// The warnings and errors among cargo's messages, as they are shown to people, each once: a crate and its tests are two
/// builds of the same lines.
fn said(messages: &str) -> Vec<String> {
    let mut said = Vec::new();
    for message in messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let rendered = message["message"]["rendered"].as_str().unwrap_or_default();
        let new = !rendered.is_empty() && !said.iter().any(|known| known == rendered);
        if message["reason"] == "compiler-message" && new {
            said.push(rendered.to_owned());
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_told_once_and_other_messages_are_not() {
        let warning =
            r#"{"reason":"compiler-message","message":{"level":"warning","rendered":"warning: unused"}}"#;
        let artifact = r#"{"reason":"compiler-artifact","message":{"rendered":"not one"}}"#;
        let text = format!("{warning}\n{artifact}\nplain text\n{warning}\n");
        assert_eq!(said(&text), ["warning: unused"]);
        assert!(said(artifact).is_empty());
    }
}
