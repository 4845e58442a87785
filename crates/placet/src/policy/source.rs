//! Where a policy comes from: a file, a preset, standard input; and how its errors are shown.

use std::{
    fs::File,
    io::{self, Read as _},
};

use placet_client::PolicyProblem;
use placet_policy::{Policy, Problem};

use crate::exit::{BadPolicy, usage};

/// A policy has at most 1 MiB. One byte more is enough to see that it is larger.
const LONGEST: u64 = 1024 * 1024 + 1;

/// The text of a policy and its label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    /// As it was typed.
    pub(crate) label: String,
    /// The text.
    pub(crate) text: String,
}

impl Source {
    /// Reads the named policy: `preset:NAME`, `preset:NAME+SWITCH`, `-`, or a file.
    pub(crate) fn read(name: &str) -> anyhow::Result<Self> {
        if let Some(preset) = name.strip_prefix("preset:") {
            let text = placet_policy::preset_as_named(preset).map_err(usage)?;
            return Ok(Self { label: name.to_owned(), text });
        }
        let (label, read) = match name {
            "-" => ("standard input", bounded(io::stdin().lock())),
            name => (name, File::open(name).and_then(bounded)),
        };
        let bytes = read.map_err(|error| usage(format!("cannot read the policy {label}: {error}")))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            usage(format!("{label} is not UTF-8 text (byte {})", error.utf8_error().valid_up_to()))
        })?;
        Ok(Self { label: label.to_owned(), text })
    }

    /// Parses it, or reports all errors.
    pub(crate) fn parse(&self) -> anyhow::Result<Policy> {
        Policy::parse(&self.text).map_err(|errors| {
            let problems = errors.problems.iter().map(problem).collect();
            BadPolicy { label: self.label.clone(), problems }.into()
        })
    }
}

fn bounded(from: impl io::Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// An error in the format of the wire.
pub(super) fn problem(problem: &Problem) -> PolicyProblem {
    PolicyProblem {
        line: problem.line,
        column: problem.column,
        rule: problem.rule.clone(),
        message: problem.message.clone(),
        fix: problem.fix.clone(),
    }
}

/// A warning about a policy on one line.
pub(crate) fn warning(label: &str, warning: &PolicyProblem) -> String {
    let PolicyProblem { line, column, rule, message, fix } = warning;
    let rule = rule.as_deref().map(|rule| format!("rule {rule}: ")).unwrap_or_default();
    format!("{label}:{line}:{column}: warning: {rule}{message}; fix: {fix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_a_file_and_nonsense_are_told_apart() {
        assert_eq!(Source::read("preset:default").unwrap().text, placet_policy::preset("default").unwrap());
        let error = Source::read("preset:defualt").unwrap_err().to_string();
        assert!(error.contains("default, coding-agent"), "{error}");
        let error = Source::read("/nowhere/policy.toml").unwrap_err().to_string();
        assert!(error.starts_with("cannot read the policy /nowhere/policy.toml: No such file"), "{error}");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("p.toml");
        std::fs::write(&file, b"version = 1\n\xff").unwrap();
        let error = Source::read(file.to_str().unwrap()).unwrap_err().to_string();
        assert!(error.ends_with("is not UTF-8 text (byte 12)"), "{error}");
    }

    #[test]
    fn a_file_that_never_ends_is_read_up_to_the_limit() {
        let error = Source::read("/dev/zero").unwrap().parse().unwrap_err().to_string();
        assert!(error.contains("/dev/zero"), "{error}");
    }
}
