//! Sessions of Claude Code as SpecStory writes them: Markdown, one file per session, with each call in its own
//! element.
//!
//! The folder of a session is not in the file. It is the project that holds `.specstory`, under the path that most
//! files of the session share. Calls without a file name in the text, such as failed edits, are left out.

use std::{collections::BTreeMap, path::Path};

use serde_json::{Map, Value, json};

use super::read::{RecordedCall, Session, seconds};

const HEAD: &str = "<!-- Claude Code Session ";
const CALL: &str = "<tool-use data-tool-type=\"";
const END: &str = "</details></tool-use>";

/// The session in such a file. None in other Markdown.
pub(super) fn session(file: &Path, text: &str) -> Option<Session> {
    let id = text.lines().find_map(|line| line.strip_prefix(HEAD))?.split(' ').next()?;
    let root = root(file, text)?;
    let mut calls = Vec::new();
    let mut at = 0;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        at = stamp(line).unwrap_or(at);
        let Some(tool) = tool(line) else { continue };
        let body: Vec<&str> = lines.by_ref().take_while(|line| *line != END).skip(1).collect();
        let Some(input) = input(tool, &body) else { continue };
        let number = calls.len();
        calls.push(RecordedCall {
            id: format!("{id}/{number}"),
            tool: tool.to_owned(),
            input,
            folder: root.clone(),
            at,
        });
    }
    Some(Session { id: id.to_owned(), root, calls })
}

/// The tool of a call that begins on this line.
fn tool(line: &str) -> Option<&str> {
    let rest = line.strip_prefix(CALL)?.split_once("data-tool-name=\"")?.1;
    Some(rest.split_once("\"><details>")?.0)
}

/// The time of a message: `_**Agent (claude-opus-4-6 2026-02-23 17:00:25Z)**_`.
fn stamp(line: &str) -> Option<u64> {
    let inside = line.strip_prefix("_**")?.strip_suffix(")**_")?;
    let from = inside.len().checked_sub("2026-02-23 17:00:25Z".len())?;
    seconds(inside.get(from..)?)
}

/// What the call said, as the agent's own interface names it.
fn input(tool: &str, body: &[&str]) -> Option<Map<String, Value>> {
    let first = || body.iter().find(|line| !line.is_empty()).copied();
    let value = match tool {
        "Bash" => json!({ "command": command(body)? }),
        "Read" | "WebFetch" | "WebSearch" => {
            let key = match tool {
                "Read" => "file_path",
                "WebFetch" => "url",
                _ => "query",
            };
            json!({ key: quoted(first()?).next()? })
        }
        "Edit" | "Write" | "NotebookEdit" => json!({ "file_path": written(body)? }),
        "Grep" | "Glob" => {
            let line = first()?;
            let mut texts = quoted(line);
            if line.trim_start().starts_with("path ") {
                json!({ "path": texts.next()?, "pattern": texts.next()? })
            } else {
                json!({ "pattern": texts.next()? })
            }
        }
        "Task" | "Agent" => json!({ "description": first()?, "prompt": "" }),
        "TodoWrite" | "TaskCreate" | "TaskUpdate" | "TaskList" | "TaskGet" | "TaskOutput" | "BashOutput"
        | "EnterPlanMode" | "ExitPlanMode" | "AskUserQuestion" => json!({}),
        // For other tools the text does not say enough.
        _ => json!({ "input": first().unwrap_or_default() }),
    };
    value.as_object().cloned()
}

/// `` `cmd` `` on a line of its own, or a block.
fn command(body: &[&str]) -> Option<String> {
    let line = |line: &&&str| line.len() > 2 && line.starts_with('`') && !line.starts_with("```");
    let begin = body.iter().position(|line| *line == "```bash");
    let inline = body.iter().position(|text| line(&text));
    match (begin, inline) {
        (Some(begin), inline) if inline.is_none_or(|inline| begin < inline) => {
            let lines: Vec<&str> =
                body.get(begin + 1..)?.iter().take_while(|line| **line != "```").copied().collect();
            Some(lines.join("\n"))
        }
        (_, Some(inline)) => Some(body[inline].trim_end_matches('`').trim_start_matches('`').to_owned()),
        _ => None,
    }
}

/// The text between backquotes.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// The file that an edit names in its result.
fn written<'b>(body: &[&'b str]) -> Option<&'b str> {
    body.iter().find_map(|line| {
        let edited = line.strip_prefix("The file ").and_then(|rest| rest.split_once(" has been updated"));
        let created = line.strip_prefix("File created successfully at: ");
        edited.map(|(path, _)| path).or(created).filter(|path| path.starts_with('/'))
    })
}

/// The folder of the project, under the path that most files of the session share.
fn root(file: &Path, text: &str) -> Option<String> {
    let history = file.ancestors().find(|above| above.ends_with(".specstory"))?;
    let name = history.parent()?.file_name()?.to_str()?;
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    let end = format!("/{name}");
    for (at, _) in text.match_indices("/Users/").chain(text.match_indices("/home/")) {
        let plain = |sign: char| sign.is_alphanumeric() || "/._-+@".contains(sign);
        let path = text[at..].split(|sign| !plain(sign)).next().unwrap_or_default();
        let ends = path.match_indices(&end).map(|(from, _)| from + end.len());
        let whole = ends.filter(|end| path[*end..].is_empty() || path[*end..].starts_with('/')).last();
        if let Some(root) = whole.and_then(|end| path.get(..end)) {
            *found.entry(root).or_default() += 1;
        }
    }
    let most = found.into_iter().max_by_key(|(_, times)| *times).map(|(root, _)| root.to_owned());
    Some(most.unwrap_or_else(|| format!("/project/{name}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_in_markdown_has_its_calls_its_times_and_its_folder() {
        let text = "<!-- Claude Code Session s-1 (2026-02-23 16:00:00Z) -->\n\n\
            _**Agent (claude-opus-4-6 2026-02-23 17:00:13Z)**_\n\n\
            <tool-use data-tool-type=\"shell\" data-tool-name=\"Bash\"><details>\n<summary>Tool use: **Bash**</summary>\nRun\n\n`go test ./... 2>&1`\n\n```text\nok\n```\n</details></tool-use>\n\n\
            _**Agent (claude-opus-4-6 2026-02-23 17:00:25Z)**_\n\n\
            <tool-use data-tool-type=\"shell\" data-tool-name=\"Bash\"><details>\n<summary>Tool use: **Bash**</summary>\nLook\n\n```bash\ncd /Users/a/x/app\nls\n```\n</details></tool-use>\n\
            <tool-use data-tool-type=\"write\" data-tool-name=\"Edit\"><details>\n<summary>Tool use: **Edit**</summary>\n\n```text\nThe file /Users/a/x/app/a.go has been updated.\n```\n</details></tool-use>\n\
            <tool-use data-tool-type=\"write\" data-tool-name=\"Edit\"><details>\n<summary>Tool use: **Edit**</summary>\n\n```text\nno\n```\n</details></tool-use>\n\
            <tool-use data-tool-type=\"search\" data-tool-name=\"Grep\"><details>\n<summary>Tool use: **Grep**</summary>\n path `./` pattern `x`\n</details></tool-use>\n\
            1→<tool-use data-tool-type=\"shell\" data-tool-name=\"Bash\"><details>\n";
        let found = session(Path::new("/c/app/.specstory/history/a.md"), text).unwrap();
        assert_eq!((found.id.as_str(), found.root.as_str()), ("s-1", "/Users/a/x/app"));
        let calls: Vec<Value> = found.calls.iter().map(|made| json!([made.tool, made.input])).collect();
        assert_eq!(
            calls,
            [
                json!(["Bash", {"command": "go test ./... 2>&1"}]),
                json!(["Bash", {"command": "cd /Users/a/x/app\nls"}]),
                json!(["Edit", {"file_path": "/Users/a/x/app/a.go"}]),
                json!(["Grep", {"path": "./", "pattern": "x"}]),
            ]
        );
        assert_eq!(found.calls[1].at - found.calls[0].at, 12);
        assert!(session(Path::new("/c/README.md"), "# Readme").is_none());
    }
}
