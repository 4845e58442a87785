//! `tests/vectors/json.json`: the corpus as data, for the readers of every language.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use data_encoding::BASE64;
use placet_ledger::canonical::{canonical, canonical_string};
use placet_ledger::ijson::{Limits, parse};
use serde_json::{Value, json};

use crate::corpus::{Case, Expected, corpus};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}

/// The file's text: one case per line, so that a change shows as one line.
fn as_file(cases: &[Case]) -> String {
    let mut file = String::from(
        "{\"about\":\"documents that a Placet reader accepts (verdict ok, canonical is the RFC 8785 form) or refuses (verdict is the code, pointer the place); the text is text_base64, or every part repeated\",\"cases\":[\n",
    );
    for (index, case) in cases.iter().enumerate() {
        let mut entry = json!({"name": case.name});
        match case.parts.as_slice() {
            [(text, 1)] => entry["text_base64"] = json!(BASE64.encode(text)),
            parts => {
                let part = |(piece, times): &(Vec<u8>, usize)| json!({"base64": BASE64.encode(piece), "times": times});
                entry["parts"] = parts.iter().map(part).collect();
            }
        }
        match &case.expected {
            Expected::Accepted(form) => {
                entry["verdict"] = json!("ok");
                if let Some(form) = form {
                    entry["canonical"] = json!(form);
                }
            }
            Expected::Refused { code, pointer } => {
                entry["verdict"] = json!(code);
                entry["pointer"] = json!(pointer);
            }
        }
        let end = if index + 1 == cases.len() { "" } else { "," };
        writeln!(file, "{entry}{end}").expect("writing to a string");
    }
    file.push_str("]}\n");
    file
}

fn from_file(entry: &Value) -> Case {
    let text = |value: &Value| BASE64.decode(value.as_str().expect("text").as_bytes()).expect("base64");
    let parts = match entry.get("text_base64") {
        Some(whole) => vec![(text(whole), 1)],
        None => entry["parts"]
            .as_array()
            .expect("parts")
            .iter()
            .map(|part| {
                (
                    text(&part["base64"]),
                    usize::try_from(part["times"].as_u64().expect("times")).expect("times"),
                )
            })
            .collect(),
    };
    let expected = match entry["verdict"].as_str().expect("a verdict") {
        "ok" => {
            Expected::Accepted(entry.get("canonical").map(|form| form.as_str().expect("text").to_owned()))
        }
        code => Expected::Refused {
            code: code.to_owned(),
            pointer: entry["pointer"].as_str().expect("a pointer").to_owned(),
        },
    };
    Case { name: entry["name"].as_str().expect("a name").to_owned(), parts, expected }
}

#[test]
fn the_file_is_the_corpus() {
    let path = folder().join("json.json");
    let expected = as_file(&corpus());
    if std::env::var_os("PLACET_BLESS").is_some() {
        std::fs::write(&path, &expected).expect("the file can be written");
    }
    let found = std::fs::read_to_string(&path).expect("the file is there");
    assert!(
        found == expected,
        "json.json is not what corpus.rs says; run this test with PLACET_BLESS=1 and review"
    );
}

#[test]
fn the_reader_gives_every_vector_its_verdict() {
    let file = std::fs::read(folder().join("json.json")).expect("the file is there");
    let file: Value = serde_json::from_slice(&file).expect("the file is JSON");
    let cases: Vec<Case> = file["cases"].as_array().expect("cases").iter().map(from_file).collect();
    assert!(cases.len() > 300, "{} cases", cases.len());
    let mut wrong = Vec::new();
    for case in &cases {
        let found = match parse(&case.text(), &Limits::default()) {
            Ok(value) => Expected::Accepted(canonical_string(&value).ok()),
            Err(error) => {
                Expected::Refused { code: error.code().to_owned(), pointer: error.pointer().to_owned() }
            }
        };
        let right = match (&case.expected, &found) {
            (Expected::Accepted(None), Expected::Accepted(Some(_))) => true,
            (expected, found) => expected == found,
        };
        if !right {
            wrong.push(format!("{}: expected {:?}, found {found:?}", case.name, case.expected));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_code_has_a_vector_and_no_name_occurs_twice() {
    let cases = corpus();
    let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names.len(), cases.len());
    let codes: BTreeSet<&str> = cases
        .iter()
        .filter_map(|case| match &case.expected {
            Expected::Refused { code, .. } => Some(code.as_str()),
            Expected::Accepted(_) => None,
        })
        .collect();
    let all = [
        "byte_order_mark",
        "duplicate_key",
        "empty",
        "integer_range",
        "lone_surrogate",
        "not_utf8",
        "number_range",
        "syntax",
        "too_deep",
        "too_large",
        "too_many_nodes",
        "trailing_bytes",
        "truncated",
    ];
    assert_eq!(codes.into_iter().collect::<Vec<_>>(), all);
}

#[test]
fn what_is_accepted_is_accepted_again_in_canonical_form_with_the_same_bytes() {
    for case in corpus() {
        let Ok(value) = parse(&case.text(), &Limits::default()) else { continue };
        let bytes = canonical(&value).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        let again =
            parse(&bytes, &Limits::default()).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        assert_eq!(again, value, "{}", case.name);
        assert_eq!(canonical(&again).expect("a form"), bytes, "{}", case.name);
    }
}

/// Runs a checker of another language over the file; a machine without that language says so and goes on.
fn witness(program: &str, script: &str) -> String {
    match Command::new(program).arg(folder().join(script)).arg(folder().join("json.json")).output() {
        Ok(output) => {
            let report = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success(), "{report}{}", String::from_utf8_lossy(&output.stderr));
            report
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => format!("skipped: no {program} here"),
        Err(error) => panic!("{program}: {error}"),
    }
}

#[test]
fn node_reads_the_accepted_vectors_to_the_same_canonical_bytes() {
    println!("{}", witness("node", "check.mjs"));
}

#[test]
fn python_reads_the_accepted_vectors_to_the_same_canonical_bytes() {
    println!("{}", witness("python3", "check.py"));
}
