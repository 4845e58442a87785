//! The end of a run: the slowest tests, the failures, a table of steps, and the total.

use std::time::Duration;

use crate::junit::{TestCase, TestOutcome};
use crate::process::elapsed;
use crate::schedule::{Finished, Outcome};

/// How many of the slowest tests are shown.
const SLOWEST: usize = 20;

impl Finished {
    pub(crate) fn passed(&self) -> bool {
        self.outcome == Outcome::Passed
    }

    /// Tests that passed and failed. A step without named tests counts as one test, and so does a failure without a
    /// named test.
    pub(crate) fn count(&self) -> (usize, usize) {
        let of = |outcome| self.tests.iter().filter(|test| test.outcome == outcome).count();
        let (passed, failed) = (of(TestOutcome::Passed), of(TestOutcome::Failed));
        match &self.outcome {
            Outcome::Passed if self.tests.is_empty() => (1, 0),
            Outcome::Passed => (passed, failed),
            Outcome::Failed(_) => (passed, failed.max(1)),
            Outcome::NotRun(_) => (0, 1),
        }
    }

    fn word(&self) -> String {
        match &self.outcome {
            Outcome::Passed => "passed".to_owned(),
            Outcome::Failed(_) => "FAILED".to_owned(),
            Outcome::NotRun(need) => format!("not run ({need})"),
        }
    }
}

/// The summary at the end. The last line is `N passed, N failed`.
pub(crate) fn summary(finished: &[Finished], whole: Duration) -> String {
    let mut lines = vec![String::new()];
    lines.extend(slowest(finished));
    lines.extend(failures(finished));
    lines.push(format!("   {:<22} {:>8} {:>14}", "step", "tests", "time"));
    for step in finished {
        let tests = if step.tests.is_empty() { String::new() } else { step.tests.len().to_string() };
        lines.push(format!("   {:<22} {tests:>8} {:>14}   {}", step.name, elapsed(step.time), step.word()));
    }
    let sum: Duration = finished.iter().map(|step| step.time).sum();
    lines.push(format!(
        "   {:<22} {:>8} {:>14}   steps one by one: {}",
        "all",
        "",
        elapsed(whole),
        elapsed(sum)
    ));
    lines.push(String::new());
    let counts = finished.iter().map(Finished::count);
    let (passed, failed) = counts.fold((0, 0), |sum, step| (sum.0 + step.0, sum.1 + step.1));
    lines.push(format!("{passed} passed, {failed} failed"));
    lines.join("\n")
}

fn slowest(finished: &[Finished]) -> Vec<String> {
    let mut all: Vec<(&str, &TestCase)> =
        finished.iter().flat_map(|step| step.tests.iter().map(|test| (step.name, test))).collect();
    if all.is_empty() {
        return Vec::new();
    }
    all.sort_by_key(|(_, test)| std::cmp::Reverse(test.time));
    let sum: Duration = all.iter().map(|(_, test)| test.time).sum();
    let mut lines = vec![format!(
        "   the slowest {} of {} tests, which take {} one by one:",
        SLOWEST.min(all.len()),
        all.len(),
        elapsed(sum)
    )];
    for (step, test) in all.iter().take(SLOWEST) {
        lines.push(format!("   {:>12}  {step}: {}", elapsed(test.time), test.name));
    }
    lines.push(String::new());
    lines
}

fn failures(finished: &[Finished]) -> Vec<String> {
    let mut lines = Vec::new();
    for step in finished {
        let Outcome::Failed(why) = &step.outcome else { continue };
        lines.push(format!("   step `{}` failed: {why}", step.name));
        let failed = step.tests.iter().filter(|test| test.outcome == TestOutcome::Failed);
        lines.extend(failed.map(|test| format!("      {}", test.name)));
    }
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(name: &str, outcome: TestOutcome, seconds: u64) -> TestCase {
        TestCase { name: name.to_owned(), outcome, time: Duration::from_secs(seconds) }
    }

    fn step(name: &'static str, outcome: Outcome, tests: Vec<TestCase>) -> Finished {
        Finished { name, outcome, time: Duration::from_secs(61), tests }
    }

    #[test]
    fn the_last_line_counts_tests_and_steps_without_tests() {
        let finished = [
            step("fmt", Outcome::Passed, Vec::new()),
            step(
                "tests",
                Outcome::Failed("see above".to_owned()),
                vec![test("a", TestOutcome::Passed, 1), test("b", TestOutcome::Failed, 2)],
            ),
            step("clippy", Outcome::Failed("warnings".to_owned()), Vec::new()),
            step("browser", Outcome::NotRun("release"), Vec::new()),
        ];
        let summary = summary(&finished, Duration::from_secs(100));
        assert!(summary.ends_with("\n2 passed, 3 failed"), "{summary}");
        assert!(summary.contains("step `tests` failed: see above\n      b\n"), "{summary}");
        assert!(summary.contains("not run (release)"), "{summary}");
    }

    #[test]
    fn a_failure_outside_of_every_test_is_counted() {
        let passed = vec![test("a", TestOutcome::Passed, 1)];
        assert_eq!(step("tests", Outcome::Failed("a leak".to_owned()), passed).count(), (1, 1));
    }

    #[test]
    fn the_slowest_tests_come_first_and_there_are_twenty() {
        let tests = (1..=30).map(|seconds| test(&format!("t{seconds}"), TestOutcome::Passed, seconds));
        let lines = slowest(&[step("tests", Outcome::Passed, tests.collect())]);
        assert_eq!(lines.len(), 22);
        assert!(lines[1].ends_with("tests: t30"), "{}", lines[1]);
    }
}
