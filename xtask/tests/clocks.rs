//! No test judges by the clock: a busy machine would fail it, and a slow product could pass it. `cargo xtask bench`
//! and the step `measure` judge speed. A test waits for the thing it needs; its timeout only ends a failing test.

use std::fs;
use std::path::{Path, PathBuf};

/// Code that measures how long something took. A timeout compares two moments and uses none of these words.
const RUST: &[&str] =
    &[".elapsed()", "Instant::now() -", "duration_since(", "timeout(Duration::from_millis("];
const SCRIPT: &[&str] = &["now() -"];
const PYTHON: &[&str] = &["monotonic() -", "time.time() -", "perf_counter("];

/// Folders with tests.
const SCOPES: [(&str, &str, &[&str]); 9] = [
    ("crates", "rs", RUST),
    ("bench/tests", "rs", RUST),
    ("xtask/src", "rs", RUST),
    ("web/tests", "mjs", SCRIPT),
    ("web/src", "test.ts", SCRIPT),
    ("web/src", "test.tsx", SCRIPT),
    ("tests/agents", "mjs", SCRIPT),
    ("sdk/typescript/tests", "ts", SCRIPT),
    ("sdk/python/tests", "py", PYTHON),
];

/// Files that may measure, each with its reason.
const ALLOWED: [(&str, &str); 8] = [
    ("crates/ledger/tests/json/speed.rs", "a measurement that only the step `measure` runs"),
    ("crates/policy/tests/policy/hostile.rs", "a measurement that only the step `measure` runs"),
    ("crates/policy/tests/shell/fuzz.rs", "a measurement that only the step `measure` runs"),
    ("crates/placet/tests/it/program.rs", "the bound of a wait, a minute"),
    ("sdk/python/tests/support/rounds.py", "learns how long a round takes, to kill in the middle of one"),
    (
        "sdk/python/tests/langchain/test_rounds.py",
        "learns how long a resume takes, to kill in the middle of one",
    ),
    (
        "sdk/typescript/tests/adapters/resume-rounds.test.ts",
        "learns how long a resume takes, to kill in the middle of one",
    ),
    ("web/tests/measure.mjs", "a measurement that only the step `measure` runs"),
];

/// Folders with other people's code and build results.
const FOREIGN: [&str; 5] = ["node_modules", "target", "dist", "build", "__pycache__"];

fn files(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() && !FOREIGN.iter().any(|foreign| name == *foreign) {
            files(&path, extension, found);
        } else if name.to_string_lossy().ends_with(&format!(".{extension}")) {
            found.push(path);
        }
    }
}

/// The test part of a file: all of it, or in Rust sources what follows `#[cfg(test)]`. With its first line.
fn tested<'a>(path: &str, text: &'a str) -> (usize, &'a str) {
    let file = Path::new(path).file_stem().unwrap_or_default().to_string_lossy();
    let rust = Path::new(path).extension().is_some_and(|extension| extension == "rs");
    let is_test = !rust || path.contains("/tests/") || file == "tests" || file.ends_with("_tests");
    if is_test {
        return (1, text);
    }
    text.split_once("#[cfg(test)]\nmod tests {")
        .map_or((1, ""), |(before, rest)| (before.lines().count() + 2, rest))
}

/// Every place in one file that reads a clock, as `file:line: what`.
fn clocks(path: &str, text: &str, words: &[&str]) -> Vec<String> {
    let (first, text) = tested(path, text);
    let mut found = Vec::new();
    for (number, line) in (first..).zip(text.lines()) {
        let code = line.trim_start();
        if ["//", "#", "*"].iter().any(|comment| code.starts_with(comment)) {
            continue;
        }
        found.extend(
            words.iter().filter(|word| code.contains(**word)).map(|word| format!("{path}:{number}: {word}")),
        );
    }
    found
}

#[test]
fn no_test_judges_by_the_clock() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let (mut read, mut wrong) = (0, Vec::new());
    for (folder, extension, words) in SCOPES {
        let mut paths = Vec::new();
        files(&root.join(folder), extension, &mut paths);
        for path in paths {
            let name = path.strip_prefix(root).expect("a file of ours").to_string_lossy().into_owned();
            read += 1;
            if !ALLOWED.iter().any(|(allowed, _)| *allowed == name) {
                let text = fs::read_to_string(&path).expect("a readable source");
                wrong.extend(clocks(&name, &text, words));
            }
        }
    }
    assert!(read > 500, "only {read} files were found");
    assert!(
        wrong.is_empty(),
        "these tests read a clock; wait for the thing itself, or measure in `bench`:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn every_exception_is_still_needed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    for (path, reason) in ALLOWED {
        let text = fs::read_to_string(root.join(path)).expect("the file is there");
        let words =
            SCOPES.iter().filter(|(folder, ..)| path.starts_with(folder)).flat_map(|(.., words)| *words);
        let words: Vec<&str> = words.copied().collect();
        assert!(!clocks(path, &text, &words).is_empty(), "{path} reads no clock any more ({reason})");
    }
}

#[test]
fn a_clock_in_the_tests_of_a_source_file_is_found_and_one_in_the_product_is_not() {
    let text = "fn a() { Instant::now(); }\n\n#[cfg(test)]\nmod tests {\n    // Instant::now(\n    assert!(begun.elapsed() < LONG);\n}\n";
    let words = [".elapsed()", "Instant::now("];
    assert_eq!(clocks("crates/core/src/a.rs", text, &words), ["crates/core/src/a.rs:6: .elapsed()"]);
    assert_eq!(clocks("crates/core/tests/a.rs", text, &words).len(), 2);
}
