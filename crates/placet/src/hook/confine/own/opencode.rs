//! Rules of OpenCode: `permission` in its configuration and in the agents that a user wrote.

use std::{
    env,
    path::{Path, PathBuf},
};

use placet_hooks::Call;
use serde_json::Value;

use super::{RuleFile, above, folder, listed, small};

/// What brings rules along that are in no file that is known here.
const BRING_RULES: [&str; 4] =
    ["OPENCODE_PERMISSION", "OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "OPENCODE_TEST_MANAGED_CONFIG_DIR"];
/// A configuration of its own.
const CONTENT: &str = "OPENCODE_CONFIG_CONTENT";
/// What a rule says of calls that it does not let through.
const DECISIONS: [&str; 2] = ["deny", "ask"];
const NAMES: [&str; 3] = ["opencode.json", "opencode.jsonc", "config.json"];

/// Whether the user may have a rule of their own about commands.
pub(super) fn may_restrict(call: &Call) -> bool {
    let home = folder("HOME");
    let user = folder("XDG_CONFIG_HOME").or_else(|| home.as_ref().map(|home| home.join(".config")));
    let mut places: Vec<PathBuf> = vec![PathBuf::from("/etc/opencode")];
    places.extend(user.map(|user| user.join("opencode")));
    places.extend(home.map(|home| home.join(".opencode")));
    places.extend(above(call).flat_map(|above| [above.join(".opencode"), above]));
    BRING_RULES.iter().any(|name| env::var_os(name).is_some_and(|value| !value.is_empty()))
        || env::var_os(CONTENT).is_some_and(|text| text.to_str().is_none_or(holds_rules))
        || places.iter().any(|place| NAMES.iter().any(|name| restricts(&place.join(name))))
        || places
            .iter()
            .flat_map(|place| ["agent", "agents", "mode", "modes"].map(|name| place.join(name)))
            .any(|folder| agents(&folder))
}

/// Whether this configuration has a rule that refuses or asks, or cannot be read. The one that the installer writes does not
/// count: the plugin took it back, or this would not be asked.
fn restricts(file: &Path) -> bool {
    match small(file) {
        RuleFile::Nothing => false,
        RuleFile::Text(text) => holds_rules(&text),
        RuleFile::Unreadable => true,
    }
}

fn holds_rules(text: &str) -> bool {
    let Ok(mut config) = serde_json::from_str::<Value>(text) else {
        // With comments in it: whatever looks like a rule may be one.
        return DECISIONS.iter().any(|word| text.contains(word));
    };
    if let Some(Value::Object(rules)) = config.get_mut("permission") {
        rules.remove("**");
    }
    let agents = ["agent", "mode"].iter().filter_map(|name| config.get(*name)?.as_object());
    agents
        .flat_map(|agents| agents.values())
        .chain([&config])
        .any(|of| of.get("permission").is_some_and(decides))
}

/// Whether a no or a question is anywhere in it.
fn decides(rules: &Value) -> bool {
    match rules {
        Value::String(word) => DECISIONS.contains(&&**word),
        Value::Object(rules) => rules.values().any(decides),
        _ => true,
    }
}

/// Whether an agent in this folder has rules.
fn agents(folder: &Path) -> bool {
    let Ok(files) = listed(folder) else { return true };
    files.iter().any(|file| match small(file) {
        RuleFile::Nothing => false,
        RuleFile::Text(text) => text.contains("permission"),
        // Agents may lie in folders.
        RuleFile::Unreadable => true,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn rules_that_refuse_or_ask_restrict_and_the_lock_of_the_installer_does_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("opencode.json");
        assert!(!restricts(&file), "it is not there");
        for (text, wanted) in [
            ("{}", false),
            (r#"{"permission": "allow"}"#, false),
            (r#"{"permission": {"**": "deny"}}"#, false),
            (r#"{"permission": {"**": "deny", "bash": {"git push": "allow"}}}"#, false),
            (r#"{"permission": {"**": "deny", "bash": {"rm *": "deny"}}}"#, true),
            (r#"{"permission": {"bash": "ask"}}"#, true),
            (r#"{"permission": "ask"}"#, true),
            (r#"{"permission": {"bash": {"**": "deny"}}}"#, true),
            (r#"{"agent": {"build": {"permission": {"bash": "deny"}}}}"#, true),
            (r#"{"agent": {"build": {"permission": {"bash": "allow"}}}}"#, false),
            (r#"{"permission": ["x"]}"#, true),
            ("{ // \"ask\"\n}", true),
            ("{ // plain\n}", false),
        ] {
            fs::write(&file, text).expect("written");
            assert_eq!(restricts(&file), wanted, "{text}");
        }
    }

    #[test]
    fn an_agent_with_permissions_of_its_own_restricts() {
        let folder = tempfile::tempdir().expect("a folder");
        let all = folder.path().join("agent");
        assert!(!agents(&all), "it is not there");
        fs::create_dir(&all).expect("made");
        fs::write(all.join("one.md"), "---\ndescription: x\n---\n").expect("written");
        assert!(!agents(&all));
        fs::write(all.join("two.md"), "---\npermission:\n  bash: deny\n---\n").expect("written");
        assert!(agents(&all));
    }
}
