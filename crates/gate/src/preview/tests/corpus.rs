//! Calls as agents make them, each with the sentence that a reviewer reads. The files are read line by line by people;
//! `UPDATE=1` writes the sentences anew.

use std::{collections::BTreeSet, fs, path::Path};

use placet_core::show;
use serde_json::{Map, Value};

use super::{
    super::{deed::shapes, effect_of, shell::templates},
    texts,
};

/// A call of the corpus.
pub(super) struct Call {
    pub(super) family: String,
    pub(super) tool: String,
    pub(super) arguments: Map<String, Value>,
    pub(super) said: String,
}

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/preview/tests/corpus")
}

/// Every call of the corpus: a line with the tool and its arguments, and a line with the sentence.
pub(super) fn calls() -> Vec<Call> {
    let mut files: Vec<_> = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut out = Vec::new();
    for file in files {
        let family = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(&file).unwrap();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(said) = line.strip_prefix("= ") {
                let call: &mut Call = out.last_mut().expect("a sentence stands below its call");
                said.clone_into(&mut call.said);
                continue;
            }
            let (tool, arguments) = line.split_once(' ').expect("a tool and its arguments");
            let arguments = serde_json::from_str(arguments).unwrap_or_else(|error| panic!("{line}: {error}"));
            let (family, tool) = (family.clone(), tool.to_owned());
            out.push(Call { family, tool, arguments, said: String::new() });
        }
    }
    out
}

#[test]
fn every_call_of_the_corpus_reads_as_it_was_reviewed() {
    if std::env::var_os("UPDATE").is_some() {
        return write();
    }
    let calls = calls();
    let tools: BTreeSet<&str> = calls.iter().map(|call| call.tool.as_str()).collect();
    assert!(calls.len() >= 300 && tools.len() >= 40, "{} calls of {} tools", calls.len(), tools.len());
    let wrong: Vec<String> = calls
        .iter()
        .map(|call| (call, effect_of(&call.tool, &call.arguments)))
        .filter(|(call, said)| call.said != *said)
        .map(|(call, said)| {
            format!("{} {:?}\n  reads {said}\n  not   {}", call.tool, call.arguments, call.said)
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Writes what is said below each call.
fn write() {
    for entry in fs::read_dir(folder()).unwrap() {
        let file = entry.unwrap().path();
        let mut out = String::new();
        for line in fs::read_to_string(&file).unwrap().lines().filter(|line| !line.starts_with("= ")) {
            out.push_str(line);
            out.push('\n');
            if let (false, Some((tool, arguments))) = (line.starts_with('#'), line.split_once(' ')) {
                let said = effect_of(tool, &serde_json::from_str(arguments).unwrap());
                out.extend(["= ", &said, "\n"]);
            }
        }
        fs::write(file, out).unwrap();
    }
}

/// Words that sentences have of their own, beside those of the templates. Everything else must come from the call.
const OWN: &str = include_str!("words.txt");

static OWN_WORDS: std::sync::OnceLock<BTreeSet<String>> = std::sync::OnceLock::new();

fn own() -> BTreeSet<String> {
    let templates = shapes().map(|shape| shape.says).chain(templates());
    let bare = templates.map(|says| {
        says.split('{').map(|part| part.rsplit('}').next().unwrap_or(part)).collect::<Vec<_>>().join(" ")
    });
    let all = bare.collect::<Vec<_>>().join(" ") + " " + OWN;
    all.split([' ', '\n', '[', ']', ',', ':'])
        .map(str::to_lowercase)
        .filter(|word| !word.is_empty())
        .collect()
}

/// What of a sentence neither is a word of ours nor occurs in the call.
pub(super) fn unfounded(tool: &str, arguments: &Map<String, Value>, said: &str) -> Vec<String> {
    let mut written = vec![tool.to_owned()];
    texts(&Value::Object(arguments.clone()), &mut written);
    numbers(&Value::Object(arguments.clone()), &mut written);
    let drawn: Vec<String> = written.iter().map(|text| show(text)).collect();
    let haystack = format!("{} {}", drawn.join(" "), drawn.join(" ").to_lowercase());
    // Words of a shell lose their quotes, and amounts are grouped.
    let bare: String = haystack.chars().filter(|c| !"'\"\\,.".contains(*c)).collect();
    let upper = bare.to_uppercase();
    let own = OWN_WORDS.get_or_init(own);
    let mut out = Vec::new();
    let words: Vec<&str> = said.split([' ', '…', '(', ')', '[', ']', '{', '}', '"', ';']).collect();
    for (index, word) in words.iter().enumerate() {
        let word = word.trim_matches([',', ':', '\'']);
        let plain: String = word.chars().filter(|c| !"'\"\\,.".contains(*c)).collect();
        let counted = plain.bytes().all(|byte| byte.is_ascii_digit())
            && words.get(index + 1).is_some_and(|next| COUNTED.contains(&next.trim_matches([',', ':'])));
        let before = index.checked_sub(1).map_or("", |at| words[at]);
        // `replace 1 line with 1`, `1 of 2`, `DELETE (2)`.
        let closes = plain.bytes().all(|byte| byte.is_ascii_digit())
            && (["with", "of"].contains(&before) || said.contains(&format!("({plain})")));
        let here =
            |text: &str| bare.contains(text) || upper.contains(text) || bare.contains(&text.to_lowercase());
        let from_call = closes || here(&plain) || plain.split('/').all(here);
        if !plain.is_empty() && !own.contains(word.to_lowercase().as_str()) && !from_call && !counted {
            out.push(word.to_owned());
        }
    }
    out
}

/// What is counted.
const COUNTED: &[&str] = &[
    "SQL",
    "attachment",
    "attachments",
    "commands",
    "file",
    "files",
    "folder",
    "folders",
    "hidden",
    "line",
    "lines",
    "more",
    "places",
    "value",
    "values",
    "with",
    "of",
    "everywhere",
    "dropping",
    "adding",
];

fn numbers(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| numbers(item, out)),
        Value::Object(map) => map.values().for_each(|item| numbers(item, out)),
        Value::String(_) => {}
        other => out.push(other.to_string()),
    }
}

#[test]
fn no_sentence_says_what_the_arguments_do_not() {
    let mut wrong = Vec::new();
    for call in calls() {
        let found = unfounded(&call.tool, &call.arguments, &effect_of(&call.tool, &call.arguments));
        if !found.is_empty() {
            wrong.push(format!("{:?} in `{}`", found, call.said));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether a sentence counts arguments instead of naming them.
pub(super) fn counts_arguments(said: &str) -> bool {
    let words: Vec<&str> = said.split(' ').collect();
    words.windows(3).any(|three| {
        matches!(three, ["with", number, what] if number.parse::<usize>().is_ok() && what.starts_with("argument"))
    })
}

#[test]
fn no_sentence_counts_arguments_instead_of_naming_them() {
    assert!(counts_arguments("Call x with 2 arguments"));
    for call in calls() {
        let said = effect_of(&call.tool, &call.arguments);
        assert!(!counts_arguments(&said) && said.chars().count() <= 200, "{said}");
    }
}
