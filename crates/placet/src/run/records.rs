//! `placet run --records` and `--clear`: what a confined run left that keeps the next one from beginning. A person looks at it, and keeps
//! it or puts back what was there before.

use std::{
    io::Write as _,
    path::Path,
    process::ExitCode,
    time::{Duration, SystemTime},
};

use anyhow::Context as _;
use placet_confine::{Change, FileState, LeftRun, Problem, left_runs};

use crate::{
    cli::RunArgs,
    hook::records_folder,
    output::{safe, span},
    verbs::{ask, somebody_there},
};

mod diff;

/// Most lines of one difference that are shown.
const LINES: usize = 200;

/// What a person wants done with a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Keep,
    Restore,
    Leave,
}

/// Lists the records, or clears them.
pub(super) fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    // A command that runs confined does not see the records. This says so instead of showing none.
    if std::env::var_os("PLACET_CONFINED").is_some() {
        anyhow::bail!("a confined command cannot look at records of runs");
    }
    let given = match (args.keep, args.restore) {
        (true, _) => Some(Choice::Keep),
        (_, true) => Some(Choice::Restore),
        _ => None,
    };
    if args.clear.is_some() && given.is_none() && !somebody_there() {
        anyhow::bail!("`--clear` asks at a terminal, and here is none: say `--keep` or `--restore`");
    }
    let folder = records_folder().context("the folder with records of runs is not known")?;
    let mut runs = left_runs(&folder)?;
    if let Some(name) = args.clear.as_ref().filter(|name| !name.is_empty()) {
        runs.retain(|run| run.name() == *name);
        anyhow::ensure!(!runs.is_empty(), "there is no record `{}` in {}", safe(name), shown(&folder));
    }
    if runs.is_empty() {
        say(&format!("No record in {} keeps a confined run from beginning.", shown(&folder)));
    }
    let mut code = ExitCode::SUCCESS;
    for run in &runs {
        let changes = run.changes()?;
        show(run, &changes);
        if args.clear.is_none() {
            continue;
        }
        let choice = match given {
            Some(choice) => choice,
            None => choose(run)?,
        };
        let (done, what) = match choice {
            Choice::Keep => (run.keep(&changes), "Kept as it is."),
            Choice::Restore => (run.restore(&changes), "Put back."),
            Choice::Leave => (Ok(()), "Left as it is. No confined run begins there."),
        };
        match done {
            Ok(()) => say(what),
            Err(problem) => {
                code = super::refuse(&sentence(&problem));
            }
        }
    }
    Ok(code)
}

fn choose(run: &LeftRun) -> anyhow::Result<Choice> {
    let question = if run.is_readable() {
        "Keep what is there now [k], put back what was there before [p], or decide later [Enter]?"
    } else {
        "Clear it [k], or decide later [Enter]?"
    };
    Ok(match ask(question)?.as_str() {
        "k" | "K" | "keep" => Choice::Keep,
        "p" | "P" | "put back" if run.is_readable() => Choice::Restore,
        _ => Choice::Leave,
    })
}

/// Why it was not cleared.
fn sentence(problem: &Problem) -> String {
    match problem {
        Problem::Left { told, .. } => {
            format!("not everything could be put back, so the record stays: {}", safe(&told.join("; ")))
        }
        problem => format!("{}. The record stays", safe(&problem.to_string())),
    }
}

fn say(line: &str) {
    let _ = writeln!(anstream::stdout().lock(), "{line}");
}

fn show(run: &LeftRun, changes: &[Change]) {
    let folders: Vec<String> = run.folders().iter().map(|folder| shown(folder)).collect();
    let age = run.written().and_then(|at: SystemTime| at.elapsed().ok()).unwrap_or(Duration::ZERO);
    say(&format!("{}  {}  {} ago", safe(&run.name()), folders.join(" "), span(age)));
    if !run.is_readable() {
        say("  Another version of Placet wrote it, so what changed cannot be shown.");
        return;
    }
    if run.left().is_empty() {
        say("  The run was ended before it could be looked at what it left.");
    }
    for sentence in run.left() {
        say(&format!("  {}", safe(sentence)));
    }
    if changes.is_empty() {
        say("  What is protected is now as it was before the run.");
        return;
    }
    say("  What is protected and not as it was before the run:");
    for change in changes {
        for line in lines(change) {
            say(&format!("    {line}"));
        }
    }
}

fn shown(path: &Path) -> String {
    safe(&path.display().to_string())
}

/// Where no text is shown.
fn look_at(path: &Path) -> String {
    format!("  look at {} before you keep it", shown(path))
}

fn lines(change: &Change) -> Vec<String> {
    match change {
        Change::New { path, .. } => vec![format!("new: {}", shown(path)), look_at(path)],
        Change::Link { path, target, .. } => {
            vec![format!("replaced: {}, a link to {}", shown(path), shown(target)), look_at(path)]
        }
        Change::Other(sentence) => vec![safe(sentence)],
        Change::Replaced { path, before, now, state } => {
            let mut lines = vec![format!("replaced: {}", shown(path))];
            match (before, now) {
                (Some(before), Some(now)) if before == now => {
                    lines.push("  the same text".to_owned());
                }
                (Some(before), Some(now)) => {
                    let all = diff::diff(before, now);
                    let more = all.len().saturating_sub(LINES);
                    lines.extend(all.iter().take(LINES).map(|line| format!("  {}", safe(line))));
                    if more > 0 {
                        lines.push(format!("  and {more} more lines"));
                    }
                }
                (Some(_), None) => {
                    lines.push("  its text now cannot be shown; the one before can be put back".to_owned());
                }
                (None, _) => {
                    lines.push("  what was there before is not on record, and cannot be put back".to_owned());
                }
            }
            if now.is_none() {
                lines.push(look_at(path));
            }
            if state.as_ref().is_some_and(FileState::has_other_names) {
                lines.push("  it has other names (hard links), and can be changed by each".to_owned());
            }
            lines
        }
    }
}
