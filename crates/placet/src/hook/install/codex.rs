//! Codex's own configuration. Codex runs a hook only if its hash is recorded as trusted, and otherwise skips it
//! silently. It asks no hook when the model types into a terminal that an approved command opened.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};
use toml_edit::{DocumentMut, Item, Table, TableLike};

use super::{document::Json, settings::is_our_command};
use placet_hooks::Agent;

/// Marks our lines among those of the user.
const OURS: &str = " # placet hook install codex";
/// The option that gives a command a terminal, which the model can then type into.
const TERMINALS: &str = "unified_exec_tty";

/// The configuration file of the user.
pub(crate) fn place() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = folder("CODEX_HOME").or_else(|| folder("HOME").map(|home| home.join(".codex")))?;
    Some(home.join("config.toml"))
}

/// Our hooks in a document: the possible names that Codex gives each of them, and the hash that it needs to run it.
/// `file` is where the document is, or will be.
pub(crate) fn hashes(file: &Path, document: &Json) -> Vec<(Vec<String>, String)> {
    let Some(Json::Object(events)) = document.get("hooks") else { return Vec::new() };
    let (names, mut found) = (names(file), Vec::new());
    for (event, groups) in events {
        let label = label(event);
        for (at, group) in groups.as_list().iter().enumerate() {
            let matcher = group.get("matcher").and_then(Json::as_text);
            let hooks = group.get("hooks").map(Json::as_list).unwrap_or_default();
            for (number, hook) in hooks.iter().enumerate() {
                if let Some(hash) = hash(&label, matcher, hook) {
                    let keys = names.iter().map(|name| format!("{name}:{label}:{at}:{number}"));
                    found.push((keys.collect(), hash));
                }
            }
        }
    }
    found
}

/// Codex names the file by the path it was opened with, which may contain a link.
fn names(file: &Path) -> Vec<String> {
    let whole = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    // The file may not exist yet; its folder decides.
    let folder = whole.parent().and_then(|folder| std::fs::canonicalize(folder).ok());
    let real = folder.zip(whole.file_name()).map(|(folder, name)| folder.join(name));
    let mut names = vec![whole.display().to_string()];
    names.extend(real.map(|path| path.display().to_string()));
    names.dedup();
    names
}

/// SHA-256 of the hook with its defaults, as JSON without spaces and with sorted keys.
fn hash(label: &str, matcher: Option<&str>, hook: &Json) -> Option<String> {
    let command = hook.get("command")?.as_text()?;
    let (true, Some(Json::Number(timeout))) = (is_our_command(command, Agent::Codex), hook.get("timeout"))
    else {
        return None;
    };
    let text = |text: &str| serde_json::Value::from(text).to_string();
    let matcher = matcher.map(|matcher| format!(r#","matcher":{}"#, text(matcher))).unwrap_or_default();
    let identity = format!(
        r#"{{"event_name":{},"hooks":[{{"async":false,"command":{},"timeout":{timeout},"type":"command"}}]{matcher}}}"#,
        text(label),
        text(command),
    );
    let digest = Sha256::digest(identity.as_bytes());
    let mut hash = "sha256:".to_owned();
    for byte in digest {
        // Writing to memory does not fail.
        let _ = write!(hash, "{byte:02x}");
    }
    Some(hash)
}

/// `PreToolUse` as `pre_tool_use`.
fn label(event: &str) -> String {
    let mut label = String::new();
    for character in event.chars() {
        if character.is_ascii_uppercase() && !label.is_empty() {
            label.push('_');
        }
        label.push(character.to_ascii_lowercase());
    }
    label
}

/// The whole new configuration, for the new hooks. None if nothing is needed.
pub(super) fn changed(
    before: Option<&str>,
    file: &Path,
    hooks: Option<&str>,
    uninstall: bool,
) -> Result<Option<String>, String> {
    let mut config: DocumentMut =
        before.unwrap_or_default().parse().map_err(|error| format!("it is not TOML: {error}"))?;
    forget(&mut config);
    if !uninstall {
        let document: Json =
            serde_json::from_str(hooks.unwrap_or("{}")).map_err(|error| error.to_string())?;
        let states = table(config.as_table_mut(), "hooks").and_then(|hooks| table(hooks, "state"))?;
        for (keys, hash) in hashes(file, &document) {
            for key in keys {
                table(states, &key)?.insert("trusted_hash", marked(hash.clone().into()));
            }
        }
        let features = table(config.as_table_mut(), "features")?;
        if features.get(TERMINALS).and_then(Item::as_bool) != Some(false) {
            features.insert(TERMINALS, marked(false.into()));
        }
    }
    let after = config.to_string();
    // Comments cannot be placed everywhere. Report that instead of breaking the file.
    after
        .parse::<toml::Table>()
        .map_err(|error| format!("`hooks` or `features` is on one line ({error})"))?;
    Ok((before.is_some() || !after.trim().is_empty()).then_some(after))
}

fn marked(mut value: toml_edit::Value) -> Item {
    value.decor_mut().set_suffix(OURS);
    Item::Value(value)
}

fn is_ours(item: &Item) -> bool {
    let suffix = item.as_value().and_then(|value| value.decor().suffix()?.as_str());
    suffix.is_some_and(|suffix| suffix.contains(OURS.trim_start()))
}

/// A table inside a table, created if it is missing.
fn table<'t>(within: &'t mut dyn TableLike, name: &str) -> Result<&'t mut dyn TableLike, String> {
    let item = within.entry(name).or_insert_with(|| {
        let mut table = Table::new();
        // No line of its own, unless it contains something other than tables.
        table.set_implicit(true);
        Item::Table(table)
    });
    item.as_table_like_mut().ok_or_else(|| format!("`{name}` is not a table"))
}

/// Removes our entries, and tables that become empty.
fn forget(config: &mut DocumentMut) {
    fn emptied(within: &mut dyn TableLike, deeper: u8) -> bool {
        let names: Vec<String> = within.iter().map(|(name, _)| name.to_owned()).collect();
        let mut touched = false;
        for name in names {
            let Some(item) = within.get_mut(&name) else { continue };
            let gone = match item.as_table_like_mut() {
                Some(table) if deeper > 0 => emptied(table, deeper - 1),
                _ => is_ours(item),
            };
            if gone {
                within.remove(&name);
                touched = true;
            }
        }
        touched && within.is_empty()
    }
    for (name, deeper) in [("hooks", 2), ("features", 0)] {
        if config.get_mut(name).and_then(Item::as_table_like_mut).is_some_and(|table| emptied(table, deeper))
        {
            config.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "/nowhere/.codex/hooks.json";

    fn hooks(command: &str) -> String {
        serde_json::json!({ "hooks": { "PreToolUse": [
            { "matcher": "Edit", "hooks": [{ "type": "command", "command": "mine", "timeout": 5 }] },
            { "matcher": "*", "hooks": [{ "type": "command", "command": command, "timeout": 600 }] },
        ]}})
        .to_string()
    }

    #[test]
    fn the_hash_is_the_one_that_codex_0_166_computes() {
        // From `hooks/list` of its app server.
        let hook = Json::object([
            ("type", Json::text("command")),
            ("command", Json::text("/opt/placet hook codex")),
            ("timeout", Json::number(600)),
        ]);
        let expected = "sha256:325bd2afbbcb26511bad9191003d6f9ea29a617dda342f2cc811870d7a28890a";
        assert_eq!(hash("pre_tool_use", Some("*"), &hook).as_deref(), Some(expected));
        assert_eq!(label("PreToolUse"), "pre_tool_use");
        assert_eq!(label("Stop"), "stop");
    }

    #[test]
    fn only_our_hooks_are_trusted_and_comments_stay() {
        let before = "# mine\nmodel = \"m\" # best\n\n[features]\napps = false\n\n[hooks.state.\"other\"]\ntrusted_hash = \"sha256:0\"\n";
        let hooks = hooks("/opt/placet hook codex");
        let after = changed(Some(before), Path::new(FILE), Some(&hooks), false).unwrap().unwrap();
        let config: toml::Table = after.parse().unwrap();
        let states = config["hooks"]["state"].as_table().unwrap();
        assert_eq!(states.len(), 2, "{after}");
        assert!(states.contains_key(&format!("{FILE}:pre_tool_use:1:0")), "{after}");
        assert_eq!(config["features"]["unified_exec_tty"].as_bool(), Some(false));
        assert!(after.starts_with("# mine\nmodel = \"m\" # best\n"), "{after}");
        let again = changed(Some(&after), Path::new(FILE), Some(&hooks), false).unwrap().unwrap();
        assert_eq!(again, after, "twice is once");
        let out = changed(Some(&after), Path::new(FILE), None, true).unwrap().unwrap();
        assert_eq!(out, before, "and it goes without a trace");
    }

    #[test]
    fn a_changed_hook_gets_a_new_hash_and_the_old_one_goes() {
        let one =
            changed(None, Path::new(FILE), Some(&hooks("/opt/placet hook codex")), false).unwrap().unwrap();
        let two =
            changed(Some(&one), Path::new(FILE), Some(&hooks("/usr/placet hook codex")), false).unwrap();
        let two = two.unwrap();
        assert_ne!(one, two);
        assert_eq!(two.matches("trusted_hash").count(), 1, "{two}");
    }

    #[test]
    fn a_terminal_that_the_user_allowed_is_taken_away_and_one_they_forbade_stays_forbidden() {
        let hooks = hooks("/opt/placet hook codex");
        let allowed =
            changed(Some("[features]\nunified_exec_tty = true\n"), Path::new(FILE), Some(&hooks), false);
        assert!(allowed.unwrap().unwrap().contains("unified_exec_tty = false"));
        let forbidden = "[features]\nunified_exec_tty = false\n";
        let after = changed(Some(forbidden), Path::new(FILE), Some(&hooks), false).unwrap().unwrap();
        let out = changed(Some(&after), Path::new(FILE), None, true).unwrap().unwrap();
        assert_eq!(out, forbidden, "not ours to take out");
    }

    #[test]
    fn what_cannot_be_changed_is_named() {
        let hooks = hooks("/opt/placet hook codex");
        let no_table = changed(Some("hooks = 1\n"), Path::new(FILE), Some(&hooks), false).unwrap_err();
        assert_eq!(no_table, "`hooks` is not a table");
        assert!(changed(Some("= ="), Path::new(FILE), Some(&hooks), false).unwrap_err().contains("not TOML"));
    }
}
