//! Reads an answer from the command line, by the type of the question.

use std::path::Path;

use data_encoding::BASE64;
use placet_core::{FILE_BYTES, InputSpec, InputType, Record};
use serde_json::{Value, json};

use crate::exit::usage;

/// The answer to a question.
pub(crate) fn parse(record: &Record, values: &[String]) -> anyhow::Result<Value> {
    let Some(spec) = &record.input else {
        return Err(usage("the content of this request was erased: it can only be denied"));
    };
    match (spec.kind, values) {
        (InputType::MultiChoice, values) => multi(spec, values),
        (InputType::Text, values) => Ok(Value::String(values.join(" "))),
        (kind, [value]) => one(spec, kind, value),
        _ => Err(usage("this question takes one value: put it in quotes if it has spaces")),
    }
}

fn one(spec: &InputSpec, kind: InputType, value: &str) -> anyhow::Result<Value> {
    match kind {
        InputType::Number => {
            let parsed =
                placet_ledger::ijson::parse(value.as_bytes(), &placet_ledger::ijson::Limits::default());
            let number = parsed.ok().filter(Value::is_number);
            number.ok_or_else(|| usage(format!("`{value}` is not a number: write it like 42 or -0.5")))
        }
        InputType::Choice => choice(spec, value).map(Value::String),
        InputType::Date => {
            let date = value.parse::<jiff::civil::Date>().ok().filter(|_| value.len() == 10);
            date.map(|date| Value::String(date.to_string()))
                .ok_or_else(|| usage(format!("`{value}` is not a date: write it like 2026-11-15")))
        }
        InputType::File => file(value),
        InputType::Text | InputType::MultiChoice => Ok(Value::String(value.to_owned())),
    }
}

/// Options by their text or by their number. The text wins: an option may itself be a number.
fn choice(spec: &InputSpec, value: &str) -> anyhow::Result<String> {
    let options = spec.options.as_deref().unwrap_or_default();
    let by_number = || value.parse::<usize>().ok().and_then(|number| options.get(number.checked_sub(1)?));
    let found = options.iter().find(|option| *option == value).or_else(by_number);
    found.cloned().ok_or_else(|| {
        let names = options.iter().enumerate().map(|(index, option)| format!("{} {option}", index + 1));
        usage(format!("`{value}` is not one of the options: {}", names.collect::<Vec<_>>().join(", ")))
    })
}

fn multi(spec: &InputSpec, values: &[String]) -> anyhow::Result<Value> {
    let mut chosen = Vec::new();
    for value in values {
        // An option may contain commas itself: the whole text is tried before its parts.
        if let Ok(option) = choice(spec, value) {
            chosen.push(option);
            continue;
        }
        for part in value.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            chosen.push(choice(spec, part)?);
        }
    }
    Ok(json!(chosen))
}

fn file(value: &str) -> anyhow::Result<Value> {
    let path = value.strip_prefix('@').ok_or_else(|| usage("this question takes a file: write @PATH"))?;
    let bytes = std::fs::read(path).map_err(|error| usage(format!("cannot read {path}: {error}")))?;
    if bytes.len() > FILE_BYTES {
        return Err(usage(format!("{path} has {} bytes, and at most {FILE_BYTES} can be sent", bytes.len())));
    }
    let path = Path::new(path);
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| usage("the file's name is not text: rename it"))?;
    let media_type = match path.extension().and_then(|extension| extension.to_str()) {
        Some("txt" | "md" | "log") => "text/plain",
        Some("csv") => "text/csv",
        Some("json") => "application/json",
        Some("pdf") => "application/pdf",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        _ => "application/octet-stream",
    };
    Ok(json!({"name": name, "media_type": media_type, "content_base64": BASE64.encode(&bytes)}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;

    fn read(spec: Value, values: &[&str]) -> Result<Value, String> {
        let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        parse(&sample::input(spec), &values).map_err(|error| error.to_string())
    }

    #[test]
    fn every_type_is_read_its_own_way() {
        let options = json!({"type": "choice", "options": ["eu", "us", "3"]});
        let several = json!({"type": "multi_choice", "options": ["eu", "us", "a,b"]});
        assert_eq!(read(json!({"type": "text"}), &["use", "this"]), Ok(json!("use this")));
        assert_eq!(read(json!({"type": "number"}), &["-0.5"]), Ok(json!(-0.5)));
        assert_eq!(read(options.clone(), &["us"]), Ok(json!("us")));
        assert_eq!(read(options.clone(), &["1"]), Ok(json!("eu")));
        assert_eq!(read(options, &["3"]), Ok(json!("3")));
        assert_eq!(read(several.clone(), &["eu, us"]), Ok(json!(["eu", "us"])));
        assert_eq!(read(several, &["a,b", "2"]), Ok(json!(["a,b", "us"])));
        assert_eq!(read(json!({"type": "date"}), &["2026-11-15"]), Ok(json!("2026-11-15")));
    }

    #[test]
    fn a_file_is_read_and_encoded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("note.txt");
        std::fs::write(&path, "hi").unwrap();
        let answer = read(json!({"type": "file"}), &[&format!("@{}", path.display())]);
        assert_eq!(
            answer,
            Ok(json!({"name": "note.txt", "media_type": "text/plain", "content_base64": "aGk="}))
        );
    }

    #[test]
    fn what_does_not_fit_is_named_with_the_fix() {
        let options = json!({"type": "choice", "options": ["eu", "us"]});
        insta::assert_snapshot!(read(json!({"type": "number"}), &["ten"]).unwrap_err(), @"`ten` is not a number: write it like 42 or -0.5");
        insta::assert_snapshot!(read(options, &["asia"]).unwrap_err(), @"`asia` is not one of the options: 1 eu, 2 us");
        insta::assert_snapshot!(read(json!({"type": "date"}), &["15.11.2026"]).unwrap_err(), @"`15.11.2026` is not a date: write it like 2026-11-15");
        insta::assert_snapshot!(read(json!({"type": "file"}), &["note.txt"]).unwrap_err(), @"this question takes a file: write @PATH");
        insta::assert_snapshot!(read(json!({"type": "number"}), &["1", "2"]).unwrap_err(), @"this question takes one value: put it in quotes if it has spaces");
    }
}
