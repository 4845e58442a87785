//! Sessions as agents write them: one JSON object per line.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde_json::{Map, Value};

use super::specstory;

/// One session, or the part of it that one file holds.
pub(super) struct Session {
    pub(super) id: String,
    /// The folder of its first call.
    pub(super) root: String,
    pub(super) calls: Vec<RecordedCall>,
}

/// One call that a model made.
pub(super) struct RecordedCall {
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) input: Map<String, Value>,
    /// Where the agent was.
    pub(super) folder: String,
    /// When, in seconds since 1970; zero if the file does not say.
    pub(super) at: u64,
}

/// Passes on every session below a folder, in the order of the file names.
pub(super) fn sessions(folder: &Path, see: &mut impl FnMut(Session)) -> Result<()> {
    let mut files = Vec::new();
    list(folder, &mut files)?;
    files.sort();
    for file in files {
        if file.extension().is_some_and(|end| end == "md") {
            let text = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
            specstory::session(&file, &String::from_utf8_lossy(&text)).into_iter().for_each(&mut *see);
        } else {
            one_file(&file)?.into_iter().for_each(&mut *see);
        }
    }
    Ok(())
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries = folder.read_dir().with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, entry.path());
        if kind.is_dir() && entry.file_name() != ".git" {
            list(&path, files)?;
        } else if kind.is_file() && (path.extension().is_some_and(|end| end == "jsonl") || is_history(&path))
        {
            files.push(path);
        }
    }
    Ok(())
}

/// A file of `.specstory/history`.
fn is_history(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "md")
        && path.parent().is_some_and(|folder| folder.ends_with(".specstory/history"))
}

/// The sessions of one file. Lines that are not JSON are skipped: some files are cut off.
fn one_file(file: &Path) -> Result<Vec<Session>> {
    let open = File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut found: BTreeMap<String, Session> = BTreeMap::new();
    let mut codex: Option<(String, String)> = None;
    for line in BufReader::new(open).split(b'\n') {
        let Ok(Value::Object(line)) = serde_json::from_slice(&line?) else { continue };
        if let Some(meta) = meta_of_codex(&line) {
            codex = Some(meta);
        }
        let made = match &codex {
            Some((id, folder)) => call_of_codex(&line, folder).map(|made| (id.clone(), vec![made])),
            None => calls_of_claude(&line),
        };
        let Some((id, made)) = made else { continue };
        let Some(first) = made.first() else { continue };
        let root = first.folder.clone();
        found.entry(id.clone()).or_insert_with(|| Session { id, root, calls: Vec::new() }).calls.extend(made);
    }
    Ok(found.into_values().collect())
}

/// The calls in an assistant's message of Claude Code.
fn calls_of_claude(line: &Map<String, Value>) -> Option<(String, Vec<RecordedCall>)> {
    if text(line, "type")? != "assistant" {
        return None;
    }
    let (session, folder) = (text(line, "sessionId")?, text(line, "cwd")?);
    let at = text(line, "timestamp").and_then(seconds).unwrap_or(0);
    let parts = line.get("message")?.get("content")?.as_array()?;
    let calls = parts.iter().filter_map(Value::as_object).filter_map(|part| {
        (text(part, "type")? == "tool_use").then_some(())?;
        Some(RecordedCall {
            id: text(part, "id")?.to_owned(),
            tool: text(part, "name")?.to_owned(),
            input: part.get("input")?.as_object()?.clone(),
            folder: folder.to_owned(),
            at,
        })
    });
    Some((session.to_owned(), calls.collect()))
}

/// The id and the folder of a rollout of Codex.
fn meta_of_codex(line: &Map<String, Value>) -> Option<(String, String)> {
    if text(line, "type")? != "session_meta" {
        return None;
    }
    let meta = line.get("payload")?.as_object()?;
    Some((text(meta, "id")?.to_owned(), text(meta, "cwd")?.to_owned()))
}

fn call_of_codex(line: &Map<String, Value>, folder: &str) -> Option<RecordedCall> {
    if text(line, "type")? != "response_item" {
        return None;
    }
    let payload = line.get("payload")?.as_object()?;
    let input = match text(payload, "type")? {
        "function_call" => serde_json::from_str(text(payload, "arguments")?).ok()?,
        "custom_tool_call" => {
            Map::from_iter([("input".to_owned(), Value::String(text(payload, "input")?.to_owned()))])
        }
        _ => return None,
    };
    Some(RecordedCall {
        id: text(payload, "call_id")?.to_owned(),
        tool: text(payload, "name")?.to_owned(),
        input,
        folder: folder.to_owned(),
        at: text(line, "timestamp").and_then(seconds).unwrap_or(0),
    })
}

fn text<'a>(object: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    object.get(key)?.as_str()
}

/// `2026-02-12T15:09:12.987Z` in seconds. Only differences within a day or so matter.
pub(super) fn seconds(stamp: &str) -> Option<u64> {
    let number = |from: usize, to: usize| stamp.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    // Days from civil, with March as the first month.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_both_agents_are_found_and_everything_else_is_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("a");
        std::fs::create_dir(&below).unwrap();
        let claude = r#"{"type":"user","sessionId":"s1","cwd":"/w","message":{"content":"hi"}}
not json
{"type":"assistant","sessionId":"s1","cwd":"/w","timestamp":"2026-02-12T15:09:12.987Z","message":{"content":[{"type":"text","text":"x"},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]}}
{"type":"assistant","sessionId":"s1","cwd":"/w/sub","message":{"content":[{"type":"tool_use","id":"t2","name":"Read","input":{"file_path":"x"}}]}}
"#;
        let codex = r#"{"type":"session_meta","payload":{"id":"c1","cwd":"/c"}}
{"type":"response_item","timestamp":"2026-02-12T15:09:13Z","payload":{"type":"function_call","name":"shell","call_id":"f1","arguments":"{\"command\":[\"ls\"]}"}}
{"type":"response_item","payload":{"type":"message","content":[]}}
"#;
        std::fs::write(below.join("1.jsonl"), claude).unwrap();
        std::fs::write(below.join("2.jsonl"), codex).unwrap();
        std::fs::write(below.join("3.txt"), claude).unwrap();
        let mut found = Vec::new();
        sessions(folder.path(), &mut |session| {
            for made in &session.calls {
                found.push(format!(
                    "{} {} {} {} {}",
                    session.id, session.root, made.id, made.tool, made.folder
                ));
            }
        })
        .unwrap();
        assert_eq!(found, ["s1 /w t1 Bash /w", "s1 /w t2 Read /w/sub", "c1 /c f1 shell /c"]);
    }

    #[test]
    fn times_are_as_far_apart_as_they_were() {
        let at = |stamp: &str| seconds(stamp).unwrap();
        assert_eq!(at("2026-03-01T00:00:01Z") - at("2026-02-28T23:59:59.5Z"), 2);
        assert_eq!(at("2024-03-01T00:00:00Z") - at("2024-02-28T00:00:00Z"), 2 * 86_400);
        assert_eq!(at("2026-01-01T00:00:00Z") - at("2025-12-31T00:00:00Z"), 86_400);
        assert_eq!(seconds("soon"), None);
    }
}
