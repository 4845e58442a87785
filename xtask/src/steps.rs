//! Runs named steps one after the other, with a headline and a time for each, and sums them up.

use std::time::{Duration, Instant};

use anyhow::{Error, Result};

use crate::process::elapsed;

/// What became of the steps so far.
pub(crate) struct Steps {
    begin: Instant,
    total: usize,
    done: Vec<(&'static str, Outcome, Duration)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
}

impl Outcome {
    fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "FAILED",
        }
    }
}

impl Steps {
    pub(crate) fn new(total: usize) -> Self {
        Self { begin: Instant::now(), total, done: Vec::new() }
    }

    /// Runs one step; the caller stops at the first that fails.
    pub(crate) fn run(
        &mut self,
        name: &'static str,
        about: &str,
        step: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        println!("\n== [{}/{}] {name}: {about}", self.done.len() + 1, self.total);
        let begin = Instant::now();
        let result = step();
        let time = begin.elapsed();
        let outcome = if result.is_ok() { Outcome::Passed } else { Outcome::Failed };
        self.done.push((name, outcome, time));
        println!("== [{}/{}] {name}: {} in {}", self.done.len(), self.total, outcome.word(), elapsed(time));
        result
    }

    /// The table of steps and times; the last line counts them.
    pub(crate) fn summary(&self, failure: Option<&Error>) -> String {
        let row = |name: &str, word: &str, time| format!("   {name:<22} {word:<8} {:>12}", elapsed(time));
        let mut lines = vec![String::new()];
        lines.extend(self.done.iter().map(|(name, outcome, time)| row(name, outcome.word(), *time)));
        lines.push(row("all", "", self.begin.elapsed()));
        lines.push(String::new());
        if let (Some(error), Some((name, ..))) = (failure, self.done.last()) {
            let left = self.total - self.done.len();
            lines.push(format!("step `{name}` failed, {left} more did not run: {error:#}"));
        }
        let failed = self.done.iter().filter(|(_, outcome, _)| *outcome == Outcome::Failed).count();
        lines.push(format!("{} passed, {failed} failed", self.done.len() - failed));
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_the_summary_counts_the_steps() {
        let mut steps = Steps::new(3);
        steps.run("one", "first", || Ok(())).unwrap();
        let error = steps.run("two", "second", || anyhow::bail!("no luck")).unwrap_err();
        let summary = steps.summary(Some(&error));
        assert!(summary.contains("step `two` failed, 1 more did not run: no luck\n"), "{summary}");
        assert!(summary.ends_with("\n1 passed, 1 failed"), "{summary}");
    }
}
