//! The documentation is true: every policy in it is valid, every command prints what the page says, the reference is
//! current.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use placet_policy::Policy;

use super::server::{placet, text};
use crate::program::binary;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// A fenced block: its language, the file it stands for, the line it begins on, its text.
struct Block {
    language: String,
    name: String,
    line: usize,
    text: String,
}

fn blocks(document: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (number, line) in document.lines().enumerate() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(_), Some(block)) => blocks.push(block),
            (Some(info), None) => {
                let (language, name) = info.trim().split_once(' ').unwrap_or((info.trim(), ""));
                let (language, name) = (language.to_owned(), name.to_owned());
                open = Some(Block { language, name, line: number + 2, text: String::new() });
            }
            (None, Some(mut block)) => {
                block.text.push_str(line);
                block.text.push('\n');
                open = Some(block);
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block that never ends");
    blocks
}

#[test]
fn the_reference_is_current() {
    let file = root().join("docs/policy-reference.md");
    let now = placet_policy::reference();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&file, &now).expect("the reference can be written");
    }
    let then = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        then == now,
        "docs/policy-reference.md is not current: run `UPDATE=1 cargo test -p placet --test it reference`"
    );
}

#[test]
fn every_policy_in_the_documentation_is_good() {
    let mut seen = 0;
    for file in [
        "docs/policy.md",
        "docs/operators.md",
        "docs/reviewers.md",
        "docs/agents.md",
        "README.md",
        "examples/policies/README.md",
    ] {
        for block in blocks(&read(file))
            .iter()
            .filter(|block| block.language == "toml" && block.text.contains("version = 1"))
        {
            let at = format!("{file}:{}", block.line);
            let policy = Policy::parse(&block.text).unwrap_or_else(|errors| panic!("{at}: {errors}"));
            assert!(policy.warnings().is_empty(), "{at}: {:?}", policy.warnings());
            seen += 1;
        }
    }
    assert!(seen >= 6, "only {seen} policies were found");
}

#[test]
fn the_guide_starts_with_five_lines_and_ends_with_two_people() {
    let document = read("docs/policy.md");
    let policies: Vec<Block> =
        blocks(&document).into_iter().filter(|block| block.language == "toml").collect();
    let lines = policies.first().unwrap().text.lines().filter(|line| !line.trim().is_empty()).count();
    assert_eq!(lines, 5);
    let last = &policies.last().unwrap().text;
    assert!(last.contains("people = 2") && last.contains("payments/"), "{last}");
}

#[test]
fn every_command_of_the_guide_prints_what_it_says() {
    assert!(run_commands_of("docs/policy.md") >= 15);
    assert!(run_commands_of("README.md") >= 2);
}

/// Runs every command of a page in one folder, in order, and compares its output with the page.
fn run_commands_of(file: &str) -> usize {
    let folder = tempfile::tempdir().expect("a folder");
    // The page says `placet`, whatever the name of the tested file is.
    let programs = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink(binary(), programs.path().join("placet")).expect("a link");
    let path = format!("{}:{}", programs.path().display(), std::env::var("PATH").unwrap_or_default());
    let mut ran = 0;
    for block in blocks(&read(file)) {
        match block.language.as_str() {
            _ if !block.name.is_empty() => {
                std::fs::write(folder.path().join(&block.name), &block.text).unwrap();
            }
            "console" => {
                for (command, expected) in commands(&block.text) {
                    let mut shell = Command::new("sh");
                    shell.args(["-c", &format!("{command} 2>&1")]).current_dir(folder.path());
                    shell.env("PATH", &path).env("NO_COLOR", "1").env("PLACET_URL", "http://127.0.0.1:1");
                    shell.env_remove("PLACET_TOKEN").env_remove("PLACET_DATABASE");
                    let output = shell.output().expect("sh runs");
                    let said = text(&output.stdout);
                    assert!(
                        fits(&said, &expected),
                        "{file}:{}: `{command}` printed\n{said}\nand not\n{expected}",
                        block.line
                    );
                    ran += 1;
                }
            }
            _ => {}
        }
    }
    ran
}

/// The commands of a block, each with the lines after it.
fn commands(block: &str) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    for line in block.lines() {
        match line.strip_prefix("$ ") {
            Some(command) => commands.push((command.to_owned(), String::new())),
            None => {
                if let Some((_, expected)) = commands.last_mut() {
                    expected.push_str(line);
                    expected.push('\n');
                }
            }
        }
    }
    commands
}

/// Whether a text is as expected: `…` matches anything within a line, and alone on a line any lines.
fn fits(said: &str, expected: &str) -> bool {
    let (said, expected): (Vec<&str>, Vec<&str>) =
        (said.trim_end().lines().collect(), expected.trim_end().lines().collect());
    lines_fit(&said, &expected)
}

fn lines_fit(said: &[&str], expected: &[&str]) -> bool {
    match (said, expected) {
        (_, ["…", rest @ ..]) => (0..=said.len()).any(|skipped| lines_fit(&said[skipped..], rest)),
        ([], []) => true,
        ([line, said @ ..], [wanted, expected @ ..]) => {
            line_fits(line.trim_end(), wanted.trim_end()) && lines_fit(said, expected)
        }
        _ => false,
    }
}

fn line_fits(line: &str, wanted: &str) -> bool {
    let mut parts = wanted.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let mut open = false;
    for part in parts {
        open = part.is_empty();
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.is_empty() || open
}

#[test]
fn every_example_policy_is_good_and_the_example_runs() {
    let folder = root().join("examples/policies");
    let mut seen = 0;
    for entry in std::fs::read_dir(&folder).expect("the examples") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let output = placet(&["policy", "check"]).arg(&path).output().expect("it runs");
            assert!(
                output.status.success() && !text(&output.stderr).contains("warning:"),
                "{}: {}",
                path.display(),
                text(&output.stderr)
            );
            seen += 1;
        }
    }
    assert!(seen >= 3, "only {seen} examples were found");
    let output =
        Command::new(folder.join("try.sh")).env("PLACET_BIN", binary()).env_remove("PLACET_TOKEN").output();
    let output = output.expect("the example runs");
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    assert!(text(&output.stdout).contains("a no needs no step-up"), "{}", text(&output.stdout));
}
