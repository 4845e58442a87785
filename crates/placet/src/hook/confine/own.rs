//! The agent's own rules. They are matched against what the agent runs, which is not what it asked for once it is handed a run of
//! `placet run`. So where the person has any rule that refuses or asks about commands, nothing is handed over.

mod gemini;
mod opencode;

use std::{
    env, fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use placet_hooks::{Agent, Call};
use serde_json::Value;

/// Words of the command line that bring rules along.
const BRING_RULES: [&str; 4] =
    ["--disallowedTools", "--disallowed-tools", "--settings", "--permission-prompt-tool"];
/// The same for Codex.
const CODEX_BRINGS: [&str; 2] = ["--config=rules", "--rules"];
/// What a rule of Codex says of commands that it does not let through.
const CODEX_DECISIONS: [&str; 2] = ["forbidden", "prompt"];
/// Largest settings that are read.
const LARGEST: u64 = 4 << 20;

/// Whether the agent may have a rule of its own about commands. Whatever cannot be read may hold one.
pub(super) fn may_restrict(agent: Agent, call: &Call, line: &[String]) -> bool {
    match agent {
        Agent::ClaudeCode => {
            line.iter().any(|word| BRING_RULES.iter().any(|known| word.starts_with(known)))
                || files(call).iter().any(|file| restricts(file))
        }
        Agent::Codex => {
            line.iter().any(|word| CODEX_BRINGS.iter().any(|known| word.starts_with(known)))
                || codex_files(call).iter().any(|file| codex_restricts(file))
        }
        // Where their rules are is not known here.
        Agent::Cursor | Agent::Copilot => true,
        Agent::Gemini => gemini::may_restrict(call, line),
        Agent::OpenCode => opencode::may_restrict(call),
    }
}

/// What a variable names.
fn folder(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The folder of the call and those above it.
fn above(call: &Call) -> impl Iterator<Item = PathBuf> {
    let said = call.context.get("cwd").and_then(Value::as_str).map(PathBuf::from);
    said.into_iter().flat_map(|said| said.ancestors().map(Path::to_path_buf).collect::<Vec<_>>())
}

/// A file that may hold rules.
enum RuleFile {
    Nothing,
    Text(String),
    Unreadable,
}

fn small(file: &Path) -> RuleFile {
    match fs::metadata(file) {
        // A link to nothing is not known.
        Err(_) if file.symlink_metadata().is_ok() => RuleFile::Unreadable,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            RuleFile::Nothing
        }
        Err(_) => RuleFile::Unreadable,
        Ok(data) if data.len() > LARGEST => RuleFile::Unreadable,
        Ok(_) => fs::read_to_string(file).map_or(RuleFile::Unreadable, RuleFile::Text),
    }
}

/// What is in a folder; nothing if it is not there.
fn listed(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(Vec::new())
        }
        entries => entries?.map(|entry| Ok(entry?.path())).collect(),
    }
}

/// Where Claude Code reads settings from.
fn files(call: &Call) -> Vec<PathBuf> {
    let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let mut files = vec![PathBuf::from("/etc/claude-code/managed-settings.json")];
    if let Ok(more) = fs::read_dir("/etc/claude-code/managed-settings.d") {
        files.extend(more.filter_map(Result::ok).map(|entry| entry.path()));
    }
    let user = folder("CLAUDE_CONFIG_DIR").or_else(|| folder("HOME").map(|home| home.join(".claude")));
    files.extend(user.map(|user| user.join("settings.json")));
    let said = call.context.get("cwd").and_then(Value::as_str).map(PathBuf::from);
    for start in [folder("CLAUDE_PROJECT_DIR"), said].into_iter().flatten() {
        for above in start.ancestors() {
            files.extend(
                ["settings.json", "settings.local.json"].map(|name| above.join(".claude").join(name)),
            );
        }
    }
    files
}

/// Where Codex reads rules from, and what an administrator may require.
fn codex_files(call: &Call) -> Vec<PathBuf> {
    let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let mut folders = vec![PathBuf::from("/etc/codex")];
    folders.extend(folder("CODEX_HOME").or_else(|| folder("HOME").map(|home| home.join(".codex"))));
    let said = call.context.get("cwd").and_then(Value::as_str).map(PathBuf::from);
    folders.extend(said.iter().flat_map(|start| start.ancestors()).map(|above| above.join(".codex")));
    let mut files =
        vec![PathBuf::from("/etc/codex/requirements.toml"), PathBuf::from("/etc/codex/managed_config.toml")];
    for folder in folders {
        match fs::read_dir(folder.join("rules")) {
            Ok(entries) => files.extend(entries.filter_map(Result::ok).map(|entry| entry.path())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            // Whatever cannot be read may hold a rule.
            Err(_) => files.push(folder.join("rules")),
        }
    }
    files
}

/// Whether this file has a rule that refuses or asks, or cannot be read. Rules that only allow restrict nothing.
fn codex_restricts(file: &Path) -> bool {
    let Ok(data) = fs::metadata(file) else { return file.symlink_metadata().is_ok() };
    if data.len() > LARGEST {
        return true;
    }
    fs::read_to_string(file).map_or(true, |text| CODEX_DECISIONS.iter().any(|word| text.contains(word)))
}

/// Whether this file has a rule that refuses or asks about commands, or cannot be read.
fn restricts(file: &Path) -> bool {
    let Ok(data) = fs::metadata(file) else { return file.symlink_metadata().is_ok() };
    if data.len() > LARGEST {
        return true;
    }
    let Some(settings) = fs::read(file).ok().and_then(|text| serde_json::from_slice::<Value>(&text).ok())
    else {
        return true;
    };
    let rules = |list: &str| settings.get("permissions").and_then(|rules| rules.get(list)).cloned();
    [rules("deny"), rules("ask")].into_iter().flatten().any(|list| match list {
        Value::Array(list) => list.iter().any(|rule| rule.as_str().is_none_or(about_commands)),
        _ => true,
    })
}

/// Rules about files count as well: Claude Code holds them against what commands name.
fn about_commands(rule: &str) -> bool {
    const OTHERS: [&str; 5] = ["WebFetch", "WebSearch", "Task", "Agent", "Skill"];
    let tool = rule.trim().split('(').next().unwrap_or_default().trim();
    !(OTHERS.contains(&tool) || tool.starts_with("mcp__"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_codex_restrict_if_they_forbid_ask_or_cannot_be_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("default.rules");
        assert!(!codex_restricts(&file), "it is not there");
        for (text, wanted) in [
            ("prefix_rule(pattern=[\"ls\"], decision=\"allow\")", false),
            ("prefix_rule(pattern=[\"rm\"], decision=\"forbidden\")", true),
            ("prefix_rule(pattern=[\"git\", \"push\"], decision=\"prompt\")", true),
        ] {
            fs::write(&file, text).expect("written");
            assert_eq!(codex_restricts(&file), wanted, "{text}");
        }
        fs::write(&file, [0xff, 0xfe]).expect("written");
        assert!(codex_restricts(&file));
    }

    #[test]
    fn a_rule_about_commands_or_a_file_that_cannot_be_read_restricts() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("settings.json");
        assert!(!restricts(&file), "it is not there");
        for (text, wanted) in [
            ("{}", false),
            (r#"{"permissions": {"allow": ["Bash(ls:*)"]}}"#, false),
            (r#"{"permissions": {"deny": ["WebFetch", "mcp__github"], "ask": ["Skill"]}}"#, false),
            (r#"{"permissions": {"deny": ["Read(./private/**)"]}}"#, true),
            (r#"{"permissions": {"ask": ["Edit"]}}"#, true),
            (r#"{"permissions": {"deny": ["Bash(rm:*)"]}}"#, true),
            (r#"{"permissions": {"ask": ["Bash"]}}"#, true),
            (r#"{"permissions": {"deny": ["*"]}}"#, true),
            (r#"{"permissions": {"deny": "Bash"}}"#, true),
            (r#"{"permissions": {"deny": [5]}}"#, true),
            ("{", true),
        ] {
            fs::write(&file, text).expect("written");
            assert_eq!(restricts(&file), wanted, "{text}");
        }
    }
}
