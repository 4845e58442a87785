//! The lines that the page "Connect an agent" hands out, run by a shell against the real program.

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
};

use placet_testkit::Program;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::program::binary;

/// The file that the page draws.
const SNIPPETS: &str = include_str!("../../../../web/src/pages/connect/snippets.json");

#[derive(Deserialize)]
struct Snippet {
    id: String,
    agent: String,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    language: String,
    code: Vec<String>,
    #[serde(default)]
    installs: bool,
    #[serde(default)]
    starts: bool,
}

impl Step {
    fn filled(&self, url: &str, key: &str) -> String {
        self.code.join("\n").replace("{{url}}", url).replace("{{key}}", key)
    }
}

/// Runs lines as a person who pastes them, with this home, in this folder.
fn paste(lines: &str, folder: &Path) -> Output {
    let bin = Path::new(binary()).parent().expect("a folder");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("a path"));
    Command::new("bash")
        .args(["-ec", lines])
        .current_dir(folder)
        .env_clear()
        .env("PATH", path)
        .env("HOME", folder)
        .stdin(Stdio::null())
        .output()
        .expect("a shell")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_shell_lines_of_every_agent_work_as_they_are_copied() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Program::serve(binary(), &folder.path().join("data"), |_| {});
    let snippets: Vec<Snippet> = serde_json::from_str(SNIPPETS).expect("the snippets");
    let mut ran = Vec::new();
    for Snippet { id, agent, steps } in &snippets {
        let home = folder.path().join(id);
        fs::create_dir_all(home.join(".git")).expect("a project");
        let key = server.key("agent", agent);
        for step in steps.iter().filter(|step| step.language == "shell" && !step.installs && !step.starts) {
            let lines = step.filled(&server.url, &key);
            let pasted = paste(&lines, &home);
            assert!(pasted.status.success(), "{id}: {lines}\n{}", text(&pasted.stderr));
            ran.push((id.as_str(), text(&pasted.stdout), home.clone()));
        }
    }
    assert_eq!(ran.len(), snippets.len(), "each has one part that a shell runs");
    for (id, said, home) in ran {
        match id {
            "claude-code" => installed(&home.join(".claude/settings.local.json")),
            "codex" => installed(&home.join(".codex/hooks.json")),
            "gemini" => installed(&home.join(".gemini/settings.json")),
            "curl" => {
                let asked: Value = serde_json::from_str(&said).expect("a record");
                assert_eq!((&asked["state"], &asked["tool"]), (&json!("pending"), &json!("delete_files")));
            }
            "a2a" => {
                let answer: Value = serde_json::from_str(&said).expect("an answer");
                let state = &answer["result"]["task"]["status"]["state"];
                assert_eq!(state, &json!("TASK_STATE_INPUT_REQUIRED"), "{answer}");
            }
            // These set the environment of a program.
            _ => assert_eq!(said, "", "{id}"),
        }
    }
}

/// The agent's settings run Placet.
#[track_caller]
fn installed(file: &Path) {
    let settings = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    assert!(settings.contains("placet") && settings.contains("hook"), "{settings}");
}
