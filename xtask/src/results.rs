//! The results of `cargo xtask test --all` in `docs/testing.md`, with commit and date, because it is run by hand.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process::{Workspace, elapsed, note};
use crate::schedule::{Finished, Outcome};

/// The marks before and after the table.
const BEGIN: &str = "<!-- results of `cargo xtask test --all`: written by it -->";
const END: &str = "<!-- end of results -->";

const HEAD: &str =
    "| step | result | tests | time | commit | date |\n| --- | --- | ---: | ---: | --- | --- |\n";

/// Results that are this many commits old say little about today's code.
const OLD: usize = 30;

fn file(workspace: &Workspace) -> PathBuf {
    workspace.root.join("docs/testing.md")
}

/// Replaces the last result of one step.
pub(crate) fn record(workspace: &Workspace, finished: &Finished) -> Result<()> {
    let text = fs::read_to_string(file(workspace)).context("cannot read docs/testing.md")?;
    let word = match &finished.outcome {
        Outcome::Passed => "passed",
        Outcome::Failed(_) => "FAILED",
        Outcome::NotRun(_) => "not run",
    };
    let tests = if finished.tests.is_empty() { String::new() } else { finished.tests.len().to_string() };
    let row = format!(
        "| {} | {word} | {tests} | {} | {} | {} |",
        finished.name,
        elapsed(finished.time),
        says(workspace, "git", &["rev-parse", "--short=10", "HEAD"])?,
        says(workspace, "date", &["-u", "+%Y-%m-%d"])?,
    );
    fs::write(file(workspace), with_row(&text, finished.name, &row)?).context("cannot write docs/testing.md")
}

/// Reports results that are too old. That is no error: a change is judged by what it must pass.
pub(crate) fn tell_age(workspace: &Workspace) -> Result<()> {
    let text = fs::read_to_string(file(workspace)).context("cannot read docs/testing.md")?;
    let rows: Vec<&str> = table(&text)?.lines().skip(2).collect();
    let mut old = Vec::new();
    for row in &rows {
        let (step, commit) = (cell(row, 0), cell(row, 4));
        let since = says(workspace, "git", &["rev-list", "--count", &format!("{commit}..HEAD")]);
        match since.ok().and_then(|count| count.parse::<usize>().ok()) {
            Some(count) if count <= OLD => {}
            Some(count) => old.push(format!("{step} ({count} commits ago)")),
            None => old.push(format!("{step} (at {commit}, which this history does not have)")),
        }
    }
    if rows.is_empty() {
        note("`cargo xtask test --all` has no results yet: run it");
    } else if old.is_empty() {
        note(format!("the results of `cargo xtask test --all` are at most {OLD} commits old"));
    } else {
        note(format!("OLD RESULTS of `cargo xtask test --all`, run it again: {}", old.join(", ")));
    }
    Ok(())
}

/// The text between the marks.
fn table(text: &str) -> Result<&str> {
    between(text, BEGIN, END)
}

/// The text between two marks.
pub(crate) fn between<'t>(text: &'t str, begin: &str, end: &str) -> Result<&'t str> {
    let found = text.split_once(begin).and_then(|(_, rest)| rest.split_once(end));
    found.map(|(inside, _)| inside.trim()).with_context(|| format!("the file has no `{begin}` with its end"))
}

/// The text with other content between two marks.
pub(crate) fn with_between(text: &str, begin: &str, end: &str, inside: &str) -> Result<String> {
    between(text, begin, end)?;
    let (before, rest) = text.split_once(begin).context("the first mark is gone")?;
    let (_, after) = rest.split_once(end).context("the second mark is gone")?;
    Ok(format!("{before}{begin}\n\n{inside}\n\n{end}{after}"))
}

/// The text with this row in place of the step's last one, or below the others.
fn with_row(text: &str, step: &str, row: &str) -> Result<String> {
    let mut rows: Vec<&str> = table(text)?.lines().skip(2).collect();
    match rows.iter().position(|old| cell(old, 0) == step) {
        Some(at) => rows[at] = row,
        None => rows.push(row),
    }
    with_between(text, BEGIN, END, &format!("{HEAD}{}", rows.join("\n")))
}

/// One cell of a row.
pub(crate) fn cell(row: &str, index: usize) -> &str {
    row.trim_matches('|').split('|').nth(index).unwrap_or_default().trim()
}

/// What a small program says.
pub(crate) fn says(workspace: &Workspace, program: &str, args: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(args)
        .current_dir(&workspace.root)
        .output()
        .with_context(|| format!("cannot start {program}"))?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{program} {}` failed: {}", args.join(" "), error.trim());
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_result_replaces_the_last_one_of_its_step_and_nothing_else() {
        let empty = format!("# Testing\n\n{BEGIN}\n{END}\n\nMore.\n");
        let one = with_row(&empty, "crash", "| crash | passed | | 9 min | aaa | 2026-01-01 |").unwrap();
        let two = with_row(&one, "python", "| python | passed | 9 | 1 min | aaa | 2026-01-01 |").unwrap();
        let three = with_row(&two, "crash", "| crash | FAILED | | 1 min | bbb | 2026-01-02 |").unwrap();
        let expected = format!(
            "# Testing\n\n{BEGIN}\n\n{HEAD}| crash | FAILED | | 1 min | bbb | 2026-01-02 |\n\
             | python | passed | 9 | 1 min | aaa | 2026-01-01 |\n\n{END}\n\nMore.\n"
        );
        assert_eq!(three, expected);
    }

    #[test]
    fn a_file_without_the_marks_is_not_written_over() {
        assert!(with_row("# Testing\n", "crash", "| crash |").is_err());
    }

    #[test]
    fn the_commit_of_a_row_is_found() {
        assert_eq!(cell("| crash | passed |  | 9 min | abc123 | 2026-01-01 |", 4), "abc123");
    }
}
