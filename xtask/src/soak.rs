//! `cargo xtask soak-tests`: the tests of one commit again and again, some of them on a busy machine.
//!
//! A test that fails once in many runs is a bug with a cause. Every result is kept, so that a stop loses none.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::{Value, json};

use crate::junit::TestOutcome;
use crate::process::{Workspace, elapsed, note, say};
use crate::results::says;
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
}

/// What is run again and again.
const REPEATED: [Step; 3] = [Step::Postgres, Step::Tests, Step::Browser];

pub(crate) fn run(workspace: &Workspace, args: &SoakArgs) -> Result<ExitCode> {
    let changes = says(workspace, "git", &["status", "--porcelain", "--untracked-files=no"])?;
    ensure!(
        changes.is_empty(),
        "commit first: the runs are of one commit, and these files differ:\n{changes}"
    );
    ensure!(args.runs > 0 && args.busy_every > 0, "`--runs` and `--busy-every` are at least 1");
    let commit = says(workspace, "git", &["rev-parse", "--short=10", "HEAD"])?;
    let folder = workspace.target.join("soak").join(&commit);
    note(format!("{} runs of {commit}; results are in {}", args.runs, folder.display()));
    let prepared = choose(false, &REPEATED, None, &REPEATED);
    ensure!(all_passed(&execute(workspace, &prepared, &folder.join("build"))?), "the build failed");
    for number in 1..=args.runs {
        let file = folder.join(format!("{number:02}.json"));
        if file.is_file() {
            continue;
        }
        let loops = if number % args.busy_every == 0 { args.loops } else { 0 };
        note(format!("run {number} of {}, with {loops} busy loops", args.runs));
        let begin = Instant::now();
        let busy = BusyLoops::start(loops)?;
        let finished = execute(workspace, &REPEATED, &folder.join(format!("{number:02}")))?;
        drop(busy);
        let result = json!({
            "run": number,
            "busy_loops": loops,
            "seconds": begin.elapsed().as_secs(),
            "tests": finished.iter().map(|step| step.tests.len()).sum::<usize>(),
            "failed": failures(&finished),
        });
        fs::write(&file, format!("{result:#}\n"))
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    let results = read(&folder, args.runs)?;
    say(format!("\n{}", table(&commit, &results)));
    let clean = results.iter().all(|result| result["failed"].as_array().is_some_and(Vec::is_empty));
    Ok(if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
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

/// The names of the tests that failed, or of the step where no test did.
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

fn read(folder: &Path, runs: u32) -> Result<Vec<Value>> {
    let files = (1..=runs).map(|number| folder.join(format!("{number:02}.json")));
    let read = |file: PathBuf| Ok(serde_json::from_slice(&fs::read(&file)?)?);
    files.map(read).collect()
}

/// The runs as a table for `docs/testing.md`.
fn table(commit: &str, results: &[Value]) -> String {
    let mut lines = vec![
        format!("| run of {commit} | busy loops | tests | time | failed |"),
        "| ---: | ---: | ---: | ---: | --- |".into(),
    ];
    for result in results {
        let seconds = std::time::Duration::from_secs(result["seconds"].as_u64().unwrap_or_default());
        let failed: Vec<&str> =
            result["failed"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let failed = if failed.is_empty() { "none".to_owned() } else { failed.join("; ") };
        lines.push(format!(
            "| {} | {} | {} | {} | {failed} |",
            result["run"],
            result["busy_loops"],
            result["tests"],
            elapsed(seconds)
        ));
    }
    lines.join("\n")
}

/// Programs that do nothing but use a processor; ended by their process ids when dropped.
struct BusyLoops(Vec<Child>);

impl BusyLoops {
    fn start(count: u32) -> Result<Self> {
        let mut loops = Self(Vec::new());
        for _ in 0..count {
            // Its input is our pipe. When that closes, however we end, the watcher inside ends the loop.
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
    fn the_table_names_what_failed_in_each_run() {
        let results = [
            json!({"run": 1, "busy_loops": 0, "seconds": 61, "tests": 9, "failed": []}),
            json!({"run": 2, "busy_loops": 4, "seconds": 120, "tests": 9, "failed": ["tests: a", "browser: b"]}),
        ];
        let table = table("abc", &results);
        assert!(table.contains("\n| 1 | 0 | 9 | 1 min 01 s | none |\n"), "{table}");
        assert!(table.ends_with("| 2 | 4 | 9 | 2 min 00 s | tests: a; browser: b |"), "{table}");
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
