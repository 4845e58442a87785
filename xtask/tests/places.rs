//! The lists in CONTRIBUTING.md: a channel and a word of decision stand in every place that their list names.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
}

fn read(place: &str) -> String {
    fs::read_to_string(root().join(place)).unwrap_or_else(|error| panic!("cannot read {place}: {error}"))
}

/// The section of CONTRIBUTING.md below this heading.
fn section(heading: &str) -> String {
    let text = read("CONTRIBUTING.md");
    let (_, rest) = text.split_once(&format!("\n## {heading}\n")).expect("the heading is there");
    rest.split("\n## ").next().unwrap_or_default().to_owned()
}

/// The source files below a folder, less those with tests alone.
fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

/// The types that implement `Channel` in code that ships.
fn channels(text: &str) -> Vec<String> {
    let shipped = text.split("#[cfg(test)]").next().unwrap_or_default();
    let name = |line: &str| {
        let (before, after) = line.split_once(" Channel for ")?;
        let name = after.split(|sign: char| !sign.is_alphanumeric()).next()?;
        before.starts_with("impl").then(|| name.to_owned())
    };
    shipped.lines().filter_map(name).collect()
}

/// Where channels are given to the worker: in the product, and in the tests' server.
const WORKERS: [&str; 2] = ["crates/placet/src/serve.rs", "crates/testkit/src/server.rs"];

#[test]
fn each_channel_is_given_to_the_worker_of_the_product_and_of_the_tests() {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join("crates")).expect("a folder") {
        let sources = entry.expect("an entry").path().join("src");
        let mut files = Vec::new();
        if sources.is_dir() {
            rust_files(&sources, &mut files);
        }
        for file in files {
            found.extend(channels(&fs::read_to_string(file).expect("it can be read")));
        }
    }
    assert!(found.len() >= 2, "{found:?}");
    let list = section("Adding a channel");
    for place in WORKERS {
        assert!(list.contains(place), "the list of places does not name {place}");
        let text = read(place);
        for channel in &found {
            assert!(text.contains(&format!("{channel}::")), "{place} does not run the channel `{channel}`");
        }
    }
}

#[test]
fn a_channel_is_found_where_it_is_implemented() {
    let text = "impl Channel for Callbacks {\nimpl<T: Send> Channel for Posts<T> {\n// a Channel for Nothing\n\
                #[cfg(test)]\nimpl Channel for Stuck {\n";
    assert_eq!(channels(text), ["Callbacks", "Posts"]);
}

/// The words that `words.rs` declares: the name of the variant, and the word on the wire.
fn words(text: &str) -> Vec<(String, String)> {
    let (_, rest) = text.split_once("    DecisionWord {\n").expect("the words of decisions");
    let variant = |line: &str| {
        let (variant, word) = line.trim().strip_suffix("\",")?.split_once(" = \"")?;
        Some((variant.to_owned(), word.to_owned()))
    };
    rest.lines().take_while(|line| line.trim() != "}").filter_map(variant).collect()
}

/// Places that must know each word: how the list names them, the file, and the text that shows it.
/// `VARIANT` and `WORD` stand for the word in question.
const KNOWING: [(&str, &str, &str); 7] = [
    ("`leads` in `evolve.rs`", "crates/core/src/evolve.rs", "DecisionWord::VARIANT"),
    ("crates/core/tests/life", "crates/core/tests/life/edges.rs", "DecisionWord::VARIANT"),
    ("cargo xtask openapi", "api/openapi.json", "\"WORD\""),
    ("npm run types", "sdk/typescript/src/api.ts", "\"WORD\""),
    ("sdk/python/src/placet/words.py", "sdk/python/src/placet/words.py", "\"WORD\""),
    ("web/src/pages/queue", "web/src/pages/queue/drafts.ts", "\"WORD\""),
    ("tests/contract", "tests/contract/scenarios/decisions.json", "\"decision\": \"WORD\""),
];

#[test]
fn each_word_of_decision_stands_in_every_place_of_its_list() {
    let list = section("Adding a word of decision");
    let words = words(&read("crates/core/src/words.rs"));
    assert!(words.len() >= 4, "{words:?}");
    for (named, file, shown) in KNOWING {
        assert!(list.contains(named), "the list of places does not name {named}");
        let text = read(file);
        for (variant, word) in &words {
            let shown = shown.replace("VARIANT", variant).replace("WORD", word);
            assert!(text.contains(&shown), "{file} does not know the decision `{word}`: no {shown} in it");
        }
    }
}
