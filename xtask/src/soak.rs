//! `cargo xtask soak-tests`: runs the tests of one commit again and again, some of them on a busy machine.
//!
//! A test that fails once in many runs is a bug with a cause. Twenty runs take hours. Each result is written into a
//! table at once, and a later call, on this machine or another one, continues where the table ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::junit::TestOutcome;
use crate::process::{Workspace, elapsed, note, say};
use crate::results::{between, cell, says, with_between};
use crate::run::Run;
use crate::schedule::{self, Finished, Outcome};
use crate::test::{Step, choose};

#[derive(Args)]
pub(crate) struct SoakArgs {
    /// How many runs there are in all, those of earlier calls on this commit included
    #[arg(long, default_value_t = 20)]
    runs: u32,
    /// Every so many runs, one has busy loops beside it
    #[arg(long, default_value_t = 4)]
    busy_every: u32,
    /// How many busy loops
    #[arg(long, default_value_t = 4)]
    loops: u32,
    /// The file with the table of runs, also of another checkout: to go on with an older commit, call this in a clone of it
    #[arg(long, value_name = "FILE", default_value = "docs/testing.md")]
    table: PathBuf,
}

/// The marks before and after the table of runs.
const BEGIN: &str = "<!-- runs of `cargo xtask soak-tests`: written by it -->";
const END: &str = "<!-- end of runs -->";

/// What is run again and again.
const REPEATED: [Step; 3] = [Step::Postgres, Step::Tests, Step::Browser];

pub(crate) fn run(workspace: &Workspace, args: &SoakArgs) -> Result<ExitCode> {
    let file = workspace.root.join(&args.table);
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    between(&text, BEGIN, END).with_context(|| format!("{} cannot keep the runs", file.display()))?;
    let but = ["status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs/testing.md"];
    let changes = says(workspace, "git", &but)?;
    ensure!(
        changes.is_empty(),
        "commit first: the runs are of one commit, and these files differ:\n{changes}"
    );
    ensure!(args.runs > 0 && args.busy_every > 0, "`--runs` and `--busy-every` are at least 1");
    let commit = tested(workspace)?;
    let folder = workspace.target.join("soak").join(&commit);
    note(format!("{} runs of {commit}; the table is in {}", args.runs, file.display()));
    let prepared = choose(false, &REPEATED, None, &REPEATED);
    ensure!(all_passed(&execute(workspace, &prepared, &folder.join("build"))?), "the build failed");
    for number in 1..=args.runs {
        if rows(&fs::read_to_string(&file)?, &commit)?.iter().any(|row| is_run(row, number)) {
            continue;
        }
        let loops = if number % args.busy_every == 0 { args.loops } else { 0 };
        note(format!("run {number} of {}, with {loops} busy loops", args.runs));
        let begin = Instant::now();
        let busy = BusyLoops::start(loops)?;
        let finished = execute(workspace, &REPEATED, &folder.join(format!("{number:02}")))?;
        drop(busy);
        let date = says(workspace, "date", &["-u", "+%Y-%m-%d"])?;
        let tests = finished.iter().map(|step| step.tests.len()).sum();
        let row = row(number, loops, tests, begin.elapsed(), &failures(&finished), &date);
        // Read again: hours have passed, and the file may have changed.
        let text = with_run(&fs::read_to_string(&file)?, &commit, row)?;
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    let rows = rows(&fs::read_to_string(&file)?, &commit)?;
    say(format!("\n{HEAD}{}", rows.join("\n")));
    let clean = rows.iter().all(|row| cell(row, 4) == "none");
    Ok(if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The commit under test. Later commits that only write the table count as the same.
fn tested(workspace: &Workspace) -> Result<String> {
    let but = ["log", "-1", "--format=%h", "--abbrev=10", "--", ".", ":!docs/testing.md"];
    says(workspace, "git", &but)
}

fn execute(workspace: &Workspace, steps: &[Step], folder: &Path) -> Result<Vec<Finished>> {
    let planned: Vec<schedule::Step> = steps.iter().map(|step| step.planned()).collect();
    let run = Run::new(workspace, false, Vec::new());
    schedule::run(
        &planned,
        folder,
        |name, place| run.step(Step::named(name).context("no such step")?, place),
        |_| (),
    )
}

fn all_passed(finished: &[Finished]) -> bool {
    finished.iter().all(Finished::passed)
}

/// The names of the tests that failed, or of the step if it names no test.
fn failures(finished: &[Finished]) -> Vec<String> {
    let mut names = Vec::new();
    for step in finished {
        let failed = step.tests.iter().filter(|test| test.outcome == TestOutcome::Failed);
        let before = names.len();
        names.extend(failed.map(|test| format!("{}: {}", step.name, test.name)));
        if let (Outcome::Failed(why), true) = (&step.outcome, names.len() == before) {
            names.push(format!("{}: {why}", step.name));
        }
    }
    names
}

const HEAD: &str =
    "| run | busy loops | tests | time | failed | date |\n| ---: | ---: | ---: | ---: | --- | --- |\n";

/// Written before the table, so that rows of another commit are not mistaken for this one's.
fn heading(commit: &str) -> String {
    format!("Runs of {commit}:")
}

/// One run as a row of the table.
fn row(number: u32, loops: u32, tests: usize, time: Duration, failed: &[String], date: &str) -> String {
    // A sentence may contain the character that ends a cell.
    let failed =
        if failed.is_empty() { "none".to_owned() } else { failed.join("; ").replace(['|', '\n'], " ") };
    format!("| {number} | {loops} | {tests} | {} | {failed} | {date} |", elapsed(time))
}

fn is_run(row: &str, number: u32) -> bool {
    cell(row, 0) == number.to_string()
}

/// The rows of this commit.
fn rows(text: &str, commit: &str) -> Result<Vec<String>> {
    let inside = between(text, BEGIN, END)?;
    let Some(table) = inside.strip_prefix(&heading(commit)) else { return Ok(Vec::new()) };
    Ok(table.lines().filter(|line| line.starts_with("| ")).skip(2).map(str::to_owned).collect())
}

/// The text with one more run. Runs of another commit are dropped.
fn with_run(text: &str, commit: &str, row: String) -> Result<String> {
    let mut rows = rows(text, commit)?;
    rows.push(row);
    rows.sort_by_key(|row| cell(row, 0).parse::<u32>().unwrap_or(u32::MAX));
    with_between(text, BEGIN, END, &format!("{}\n\n{HEAD}{}", heading(commit), rows.join("\n")))
}

/// Programs that only use a processor. Ended by their process ids when dropped.
struct BusyLoops(Vec<Child>);

impl BusyLoops {
    fn start(count: u32) -> Result<Self> {
        let mut loops = Self(Vec::new());
        for _ in 0..count {
            // Its standard input is our pipe. When we end in any way, the pipe closes and the watcher inside ends the
            // loop.
            let script = "exec 3<&0; (read -r _ <&3; kill $$) & while :; do :; done";
            let child = Command::new("sh").args(["-c", script]).stdin(Stdio::piped()).spawn();
            loops.0.push(child.context("cannot start `sh`")?);
        }
        Ok(loops)
    }
}

impl Drop for BusyLoops {
    fn drop(&mut self) {
        for child in &mut self.0 {
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_one_commit_are_kept_in_order_and_those_of_another_make_room() {
        let text = format!("# Testing\n\n{BEGIN}\n{END}\n\nMore.\n");
        let time = Duration::from_secs(61);
        let bad = ["tests: a".to_owned(), "browser: b | c".to_owned()];
        let text = with_run(&text, "abc", row(2, 4, 9, time, &bad, "2026-01-02")).unwrap();
        let text = with_run(&text, "abc", row(1, 0, 9, time, &[], "2026-01-01")).unwrap();
        let expected = [
            "| 1 | 0 | 9 | 1 min 01 s | none | 2026-01-01 |",
            "| 2 | 4 | 9 | 1 min 01 s | tests: a; browser: b   c | 2026-01-02 |",
        ];
        assert_eq!(rows(&text, "abc").unwrap(), expected);
        assert!(is_run(expected[1], 2) && !is_run(expected[1], 1));
        assert!(text.starts_with("# Testing\n") && text.ends_with("\n\nMore.\n"), "{text}");
        assert!(rows(&text, "def").unwrap().is_empty());
        let text = with_run(&text, "def", row(1, 0, 9, time, &[], "2026-01-03")).unwrap();
        assert_eq!((rows(&text, "abc").unwrap().len(), rows(&text, "def").unwrap().len()), (0, 1));
        assert!(rows("# Testing", "abc").is_err());
    }

    #[test]
    fn busy_loops_end_with_the_run() {
        let busy = BusyLoops::start(1).unwrap();
        let id = busy.0[0].id();
        // It is running once it has used some processor time: field 14 of its `stat`, in hundredths of a second.
        let used =
            || fs::read_to_string(format!("/proc/{id}/stat")).unwrap().split(' ').nth(13).unwrap().to_owned();
        while used().parse::<u32>().unwrap() < 5 {
            std::thread::yield_now();
        }
        drop(busy);
        assert!(!Path::new(&format!("/proc/{id}")).exists());
    }
}
