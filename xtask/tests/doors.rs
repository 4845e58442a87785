//! `crates/core/src/door.rs` declares what each door does. No other file compares names of doors.

use std::fs;
use std::path::{Path, PathBuf};

/// The one file that knows the names.
const DECLARED: &str = "crates/core/src/door.rs";
/// Where a caller says that it is the hook program.
const SAID_HERE: [&str; 1] = ["crates/server/src/v1/requests.rs"];
const NAMES: [&str; 7] = ["rest", "hook-program", "hook", "community", "events", "a2a", "a2a/"];
const CONSTANTS: [&str; 7] = ["REST", "HOOK_PROGRAM", "HOOK", "COMMUNITY", "EVENTS", "DESK", "SOURCE"];

/// Whether a line of code asks for a door by its name.
fn compares(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    let words = |sign: char| !(sign.is_alphanumeric() || sign == '_');
    let has = |word: &str| code.split(words).any(|part| part == word);
    let quoted = NAMES
        .iter()
        .any(|name| ['"', '\''].iter().any(|quote| code.contains(&format!("{quote}{name}{quote}"))));
    let about = ["source", "door"].iter().any(|word| has(word));
    let asks = ["==", "!=", "matches!", "starts_with", "startsWith", "strip_prefix", "case ", "=>"]
        .iter()
        .any(|sign| code.contains(sign));
    let named = CONSTANTS.iter().any(|name| has(name));
    asks && ((quoted && about) || (named && (about || has("channel"))))
}

fn code(folder: &Path, ends: &[&str], found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            code(&path, ends, found);
        } else if ends.iter().any(|end| path.to_string_lossy().ends_with(end)) {
            found.push(path);
        }
    }
}

#[test]
fn no_file_but_one_compares_the_names_of_doors() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let mut files = Vec::new();
    for entry in fs::read_dir(root.join("crates")).expect("a folder") {
        let sources = entry.expect("an entry").path().join("src");
        if sources.is_dir() {
            code(&sources, &[".rs"], &mut files);
        }
    }
    code(&root.join("web/src"), &[".ts", ".tsx"], &mut files);
    let mut wrong = Vec::new();
    for file in &files {
        let name = file.strip_prefix(root).expect("a path below").to_string_lossy().into_owned();
        let is_test =
            ["/tests", "_tests.rs", ".test.ts", "fixtures.ts"].iter().any(|part| name.contains(part));
        if name == DECLARED || SAID_HERE.contains(&name.as_str()) || is_test {
            continue;
        }
        let text = fs::read_to_string(file).expect("it can be read");
        let shipped = text.split("#[cfg(test)]").next().unwrap_or_default();
        let lines = shipped.lines().zip(1..).filter(|(line, _)| compares(line));
        wrong.extend(lines.map(|(line, number)| format!("{name}:{number}: {}", line.trim())));
    }
    assert!(files.len() > 300, "only {} files were looked at", files.len());
    assert!(wrong.is_empty(), "ask the door instead:\n{}", wrong.join("\n"));
}

#[test]
fn a_line_that_asks_for_a_door_by_its_name_is_found() {
    for line in [
        r#"if request.source == "events" {"#,
        r#"matches!(record.source.as_deref(), Some("hook"))"#,
        r#"let behind = source.strip_prefix("a2a/");"#,
        "request.source != EVENTS",
        r#"return record.source === "hook-program";"#,
        r#"  if (source?.startsWith("a2a/")) {"#,
        "found.filter(|request| request.source == SOURCE)",
    ] {
        assert!(compares(line), "{line}");
    }
    for line in [
        r#"Create::new(Kind::Action, "a2a");"#,
        "source: Some(SOURCE.to_owned()),",
        "state.gate.submit_from(door::HOOK, actor, create)",
        "other.door() == request.door()",
        r#"// source == "events""#,
    ] {
        assert!(!compares(line), "{line}");
    }
}

/// The names of doors in `door.rs`, with the constants that hold them. Names of channels have a dot.
fn declared(root: &Path) -> Vec<(String, String)> {
    let text = fs::read_to_string(root.join(DECLARED)).expect("it can be read");
    let constant = |line: &str| {
        let (constant, rest) = line.strip_prefix("pub const ")?.split_once(": &str = \"")?;
        Some((constant.to_owned(), rest.split('"').next()?.to_owned()))
    };
    text.lines().filter_map(constant).filter(|(_, name)| !name.contains('.')).collect()
}

#[test]
fn each_declared_door_is_opened_by_a_module_and_stands_in_the_docs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let mut files = Vec::new();
    for folder in ["crates/server/src", "crates/gate/src"] {
        code(&root.join(folder), &[".rs"], &mut files);
    }
    let texts: Vec<String> =
        files.iter().map(|file| fs::read_to_string(file).expect("it can be read")).collect();
    let docs = fs::read_to_string(root.join("docs/policy.md")).expect("it can be read");
    let doors = declared(root);
    assert!(doors.len() >= 6, "{doors:?}");
    for (constant, name) in doors {
        let opened = texts.iter().any(|text| {
            text.contains(&format!("door::{constant}")) || text.contains(&format!("Ok({constant})"))
        });
        assert!(opened, "no module opens the door `{name}`");
        assert!(
            docs.contains(&format!("| `{name}` |")),
            "the table of doors in docs/policy.md has no `{name}`"
        );
    }
}
