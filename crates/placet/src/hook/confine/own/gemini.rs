//! Rules of Gemini CLI: in its settings, in its policy files, and in extensions.

use std::path::{Path, PathBuf};

use placet_hooks::Call;
use serde_json::Value;

use super::{RuleFile, above, folder, listed, small};

/// Words of the command line that bring rules along.
const BRING_RULES: [&str; 5] =
    ["--policy", "--admin-policy", "--allowed-tools", "--allowedTools", "--exclude-tools"];
/// Settings that refuse tools, ask about them, or name files that do.
const RESTRICTING: [&str; 8] = [
    "/tools/exclude",
    "/tools/core",
    "/tools/confirmationRequired",
    "/excludeTools",
    "/coreTools",
    "/policyPaths",
    "/adminPolicyPaths",
    "/security/disableYoloMode",
];
/// Settings that list tools that pass. Those with a narrower form refuse the rest of the tool.
const ALLOWING: [&str; 2] = ["/tools/allowed", "/allowedTools"];
/// What a policy file says of calls that it does not let through.
const DECISIONS: [&str; 3] = ["deny", "ask_user", "safety_checker"];

/// Whether the user may have a rule of their own about commands.
pub(super) fn may_restrict(call: &Call, line: &[String]) -> bool {
    let home = folder("GEMINI_CLI_HOME").or_else(|| folder("HOME")).map(|home| home.join(".gemini"));
    let places: Vec<PathBuf> =
        home.iter().cloned().chain(above(call).map(|above| above.join(".gemini"))).collect();
    let system = PathBuf::from("/etc/gemini-cli");
    let mut settings = vec![system.join("settings.json"), system.join("system-defaults.json")];
    settings.extend(
        ["GEMINI_CLI_SYSTEM_SETTINGS_PATH", "GEMINI_CLI_SYSTEM_DEFAULTS_PATH"]
            .iter()
            .filter_map(|name| folder(name)),
    );
    settings.extend(places.iter().map(|place| place.join("settings.json")));
    line.iter().any(|word| BRING_RULES.iter().any(|known| word.starts_with(known)))
        || settings.iter().any(|file| restricts(file))
        || places.iter().chain([&system]).any(|place| policies(&place.join("policies")))
        || places.iter().any(|place| extensions(&place.join("extensions")))
}

/// Whether these settings refuse tools or ask about them, or cannot be read.
fn restricts(file: &Path) -> bool {
    let text = match small(file) {
        RuleFile::Nothing => return false,
        RuleFile::Text(text) => text,
        RuleFile::Unreadable => return true,
    };
    let Ok(settings) = serde_json::from_str::<Value>(&text) else { return true };
    let there = |name: &&str| settings.pointer(name).is_some_and(|value| !is_empty(value));
    let narrow = |name: &&str| match settings.pointer(name) {
        None => false,
        Some(Value::Array(tools)) => {
            tools.iter().any(|tool| tool.as_str().is_none_or(|tool| tool.contains('(')))
        }
        Some(_) => true,
    };
    RESTRICTING.iter().any(there) || ALLOWING.iter().any(narrow)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

/// Whether a file in this folder has a rule that does more than allow.
fn policies(folder: &Path) -> bool {
    let Ok(files) = listed(folder) else { return true };
    files.iter().any(|file| match small(file) {
        RuleFile::Nothing => false,
        RuleFile::Text(text) => DECISIONS.iter().any(|word| text.contains(word)),
        RuleFile::Unreadable => true,
    })
}

/// Whether an extension takes tools away, or brings policies.
fn extensions(folder: &Path) -> bool {
    let Ok(all) = listed(folder) else { return true };
    all.iter().filter(|extension| extension.is_dir()).any(|extension| {
        let manifest = match small(&extension.join("gemini-extension.json")) {
            RuleFile::Nothing => false,
            RuleFile::Text(text) => text.contains("excludeTools"),
            RuleFile::Unreadable => true,
        };
        manifest || policies(&extension.join("policies"))
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn settings_that_refuse_or_ask_restrict_and_those_that_only_allow_do_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("settings.json");
        assert!(!restricts(&file), "it is not there");
        for (text, wanted) in [
            ("{}", false),
            (r#"{"tools": {"exclude": [], "allowed": ["run_shell_command"]}}"#, false),
            (r#"{"hooks": {"BeforeTool": []}, "security": {"auth": {}}}"#, false),
            (r#"{"tools": {"exclude": ["run_shell_command"]}}"#, true),
            (r#"{"tools": {"core": ["read_file"]}}"#, true),
            (r#"{"tools": {"confirmationRequired": ["run_shell_command"]}}"#, true),
            (r#"{"tools": {"allowed": ["run_shell_command(git)"]}}"#, true),
            (r#"{"allowedTools": ["ShellTool(git)"]}"#, true),
            (r#"{"excludeTools": ["x"]}"#, true),
            (r#"{"policyPaths": ["/x"]}"#, true),
            ("{ // a comment\n}", true),
        ] {
            fs::write(&file, text).expect("written");
            assert_eq!(restricts(&file), wanted, "{text}");
        }
    }

    #[test]
    fn policies_and_extensions_restrict_if_they_do_more_than_allow() {
        let folder = tempfile::tempdir().expect("a folder");
        let (rules, more) = (folder.path().join("policies"), folder.path().join("extensions"));
        assert!(!policies(&rules) && !extensions(&more), "they are not there");
        fs::create_dir_all(&rules).expect("made");
        fs::create_dir_all(more.join("one")).expect("made");
        fs::write(rules.join("auto-saved.toml"), "[[rule]]\ndecision = \"allow\"\n").expect("written");
        fs::write(more.join("one/gemini-extension.json"), r#"{"name": "one"}"#).expect("written");
        assert!(!policies(&rules) && !extensions(&more));
        fs::write(rules.join("mine.toml"), "[[rule]]\ndecision = \"ask_user\"\n").expect("written");
        fs::write(more.join("one/gemini-extension.json"), r#"{"excludeTools": ["x"]}"#).expect("written");
        assert!(policies(&rules) && extensions(&more));
    }
}
