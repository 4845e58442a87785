//! Commit subjects: imperative, at most 72 characters. Checked from the commit on that introduced the rule.

use anyhow::{Result, bail};

use crate::process::{Workspace, note};
use crate::results::says;

/// The last commit before the check; earlier subjects stay as they are.
const SINCE: &str = "fa7929a87387";

const LONGEST: usize = 72;

/// Imperative verbs that end like another form.
const VERBS: [&str; 12] = [
    "bring", "embed", "exceed", "feed", "need", "proceed", "seed", "shed", "speed", "spread", "succeed",
    "string",
];

/// Fails with every subject that breaks the rule.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let range = format!("{SINCE}..HEAD");
    let Ok(log) = says(workspace, "git", &["log", "--no-merges", "--format=%h%x09%s", &range]) else {
        note(format!("NOT CHECKED: {SINCE} is not in this history; fetch all of it"));
        return Ok(());
    };
    let wrong: Vec<String> = log
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .filter_map(|(commit, subject)| fault(subject).map(|why| format!("{commit} {why}: {subject}")))
        .collect();
    note(format!("{} subjects read", log.lines().count()));
    if wrong.is_empty() {
        return Ok(());
    }
    bail!(
        "these commit subjects break the rule (imperative, at most {LONGEST} characters):\n   {}",
        wrong.join("\n   ")
    )
}

/// What is wrong with a subject.
fn fault(subject: &str) -> Option<&'static str> {
    let first = subject.split([' ', ':']).next().unwrap_or_default();
    let verb = first.to_lowercase();
    if subject.chars().count() > LONGEST {
        Some("is longer than 72 characters")
    } else if subject.ends_with('.') {
        Some("ends with a full stop")
    } else if !first.starts_with(char::is_uppercase) {
        Some("does not begin with a capital letter")
    } else if subject.starts_with(&format!("{first}:")) {
        Some("begins with an area, not with a verb")
    } else if (verb.ends_with("ed") || verb.ends_with("ing")) && !VERBS.contains(&verb.as_str()) {
        Some("does not begin with an imperative verb")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_a_short_imperative_sentence() {
        assert_eq!(fault("Close idle egress connections after 1.5 s"), None);
        assert_eq!(fault("Embed the dashboard in the test binary"), None);
        assert_eq!(fault("Closed idle connections"), Some("does not begin with an imperative verb"));
        assert_eq!(fault("Closing idle connections"), Some("does not begin with an imperative verb"));
        assert_eq!(fault("Egress: close idle connections"), Some("begins with an area, not with a verb"));
        assert_eq!(fault("close idle connections"), Some("does not begin with a capital letter"));
        assert_eq!(fault("Close idle connections."), Some("ends with a full stop"));
        assert_eq!(fault(&format!("Close {}", "x".repeat(70))), Some("is longer than 72 characters"));
    }
}
