//! Other products' approval settings as policies: the meaning their author wanted, the holes closed, and every tightening said.

mod agentkit;
mod deepagents;
mod kagent;
mod yaml;

use std::fmt::Write as _;

use serde::Serialize;

pub use agentkit::agentkit;
pub use deepagents::deepagents;
pub use kagent::kagent;

use crate::{Policy, PolicyErrors, call::tool_shaped, shell::escaped};

/// Largest file that is imported, in bytes.
const FILE: usize = 1024 * 1024;

/// A policy made from something else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Imported {
    /// The policy file. It parses.
    pub text: String,
    /// What is stricter than it was, and why; and what could not be taken over.
    pub notes: Vec<Note>,
}

/// One thing that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    /// The setting it comes from.
    pub from: String,
    /// What became of it.
    pub message: String,
    /// Why.
    pub why: String,
}

/// Why nothing was made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The text is not what it should be.
    #[error("{message}; {fix}")]
    Unreadable {
        /// What is wrong.
        message: String,
        /// What to do.
        fix: String,
    },
    /// What was made of it is no good policy.
    #[error("the imported policy has problems: {0}")]
    Policy(PolicyErrors),
}

fn unreadable(message: impl Into<String>, fix: impl Into<String>) -> ImportError {
    ImportError::Unreadable { message: message.into(), fix: fix.into() }
}

fn check_size(text: &str) -> Result<(), ImportError> {
    if text.len() > FILE {
        Err(unreadable("the file is larger than 1 MiB", "give the part that holds the settings"))
    } else {
        Ok(())
    }
}

/// A policy being written.
struct Writer {
    text: String,
    notes: Vec<Note>,
}

/// One rule being written.
struct NewRule {
    name: String,
    effect: &'static str,
    reason: &'static str,
    lines: Vec<String>,
    arguments: Vec<(String, String)>,
}

impl Writer {
    fn new(from: &str) -> Self {
        let text = format!(
            "# Imported from {from}. Unknown tools wait for a person; read the notes of the import before use.\nversion = 1\n"
        );
        Self { text, notes: Vec::new() }
    }

    fn note(&mut self, from: &str, message: impl Into<String>, why: impl Into<String>) {
        self.notes.push(Note { from: from.to_owned(), message: message.into(), why: why.into() });
    }

    fn rule(&mut self, rule: &NewRule) {
        let _ = write!(
            self.text,
            "\n[[rule]]\nname = {}\neffect = \"{}\"\nreason = {}\n",
            quoted(&rule.name),
            rule.effect,
            quoted(rule.reason)
        );
        for line in &rule.lines {
            let _ = writeln!(self.text, "{line}");
        }
        if !rule.arguments.is_empty() {
            self.text.push_str("[rule.args]\n");
            for (path, matcher) in &rule.arguments {
                let _ = writeln!(self.text, "{} = {matcher}", quoted(path));
            }
        }
    }

    /// Tools that a policy can name; the others are noted.
    fn tools(&mut self, from: &str, names: Vec<String>) -> Vec<String> {
        let mut tools: Vec<String> = Vec::new();
        for name in names {
            if !tool_shaped(&name) {
                self.note(
                    from,
                    format!("`{}` was left out, so it waits", escaped(&name)),
                    "no tool can have this name here, and a name is not taken for a pattern",
                );
            } else if !tools.contains(&name) {
                tools.push(name);
            }
        }
        tools
    }

    fn finish(self) -> Result<Imported, ImportError> {
        Policy::parse(&self.text).map_err(ImportError::Policy)?;
        Ok(Imported { text: self.text, notes: self.notes })
    }
}

impl NewRule {
    fn new(name: impl Into<String>, effect: &'static str, reason: &'static str) -> Self {
        Self { name: name.into(), effect, reason, lines: Vec::new(), arguments: Vec::new() }
    }

    fn line(mut self, key: &str, value: impl AsRef<str>) -> Self {
        self.lines.push(format!("{key} = {}", value.as_ref()));
        self
    }

    fn tools(self, tools: &[String]) -> Self {
        self.line("tool", list(tools))
    }

    fn argument(mut self, path: &str, matcher: impl Into<String>) -> Self {
        self.arguments.push((path.to_owned(), matcher.into()));
        self
    }
}

/// A text as TOML writes it.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn list(texts: &[String]) -> String {
    format!("[{}]", texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", "))
}

/// A name that rules may have, made from any name.
fn rule_name(prefix: &str, name: &str) -> String {
    let plain: String = name
        .chars()
        .take(60)
        .map(|letter| if letter.is_ascii_alphanumeric() || "._-".contains(letter) { letter } else { '-' })
        .collect();
    format!("{prefix}-{plain}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_any_letters_becomes_a_name_of_a_rule() {
        assert_eq!(rule_name("tools-1", "k8s_agent.v-2"), "tools-1-k8s_agent.v-2");
        assert_eq!(rule_name("x", "a/b c\u{f6}"), "x-a-b-c-");
        assert_eq!(rule_name("x", &"a".repeat(70)), format!("x-{}", "a".repeat(60)));
    }

    #[test]
    fn a_file_may_have_a_mebibyte() {
        assert!(check_size(&"x".repeat(FILE)).is_ok());
        for length in [FILE + 1, 2 * FILE] {
            let text = "x".repeat(length);
            for error in [agentkit(&text), deepagents(&text), kagent(&text)].map(Result::unwrap_err) {
                assert!(error.to_string().contains("larger than 1 MiB"), "{error}");
            }
        }
    }
}
