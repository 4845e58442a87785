//! The lock for OpenCode's plugin. OpenCode continues without a plugin that it cannot load, and without all plugins
//! under `OPENCODE_PURE`. So its configuration refuses every tool, and the plugin lifts that when it is loaded.

use std::path::{Path, PathBuf};

use super::document::Json;

/// Matches every tool, like `*`, but only we write it, so the user's own rules keep their place. The last matching
/// rule counts, and OpenCode puts names that are new to it after the others.
const EVERYTHING: &str = "**";

/// The place of the lock: the last file of its kind that OpenCode reads, because later files win. Your own
/// `.opencode` comes after those of all projects.
pub(crate) fn place(user: bool) -> Option<PathBuf> {
    let home = std::env::var_os("HOME").filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = if user { home?.join(".opencode") } else { PathBuf::from(".opencode") };
    let (later, usual) = (folder.join("opencode.jsonc"), folder.join("opencode.json"));
    let there = [&later, &usual].into_iter().find(|path| is_locked_at(path)).cloned();
    Some(there.unwrap_or(if later.exists() { later } else { usual }))
}

/// Whether OpenCode finds the lock in this file.
pub(crate) fn is_locked_at(path: &Path) -> bool {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    serde_json::from_str(&text).is_ok_and(|document| is_locked(&document))
}

pub(crate) fn is_locked(document: &Json) -> bool {
    let lock = document.get("permission").and_then(|permission| permission.get(EVERYTHING));
    lock.is_some_and(|lock| *lock == word() || *lock == spelled_out())
}

fn word() -> Json {
    Json::text("deny")
}

/// Means the same as the single value. It records that the user had a value for all tools, and not a list.
fn spelled_out() -> Json {
    Json::object([("*", word())])
}

/// The new configuration. None if it should not exist. `kept`: the user had such a file before us.
pub(super) fn changed(before: Option<&str>, kept: bool, uninstall: bool) -> Result<Option<String>, String> {
    let text = before.unwrap_or_default();
    let mut document = match text.trim() {
        "" if uninstall => return Ok(before.map(str::to_owned)),
        "" => Json::Object(Vec::new()),
        _ => serde_json::from_str::<Json>(text)
            .map_err(|error| format!("it is not plain JSON ({error}); correct it, or remove comments"))?,
    };
    let original = document.clone();
    let Json::Object(members) = &mut document else { return Err("it is not an object".to_owned()) };
    unlock(members);
    if !uninstall {
        lock(members)?;
    } else if document != original && !kept {
        // OpenCode adds the name of the schema to every file that it reads.
        let Json::Object(left) = &document else { return Err("it is not an object".to_owned()) };
        if left.iter().all(|(name, _)| name == "$schema") {
            return Ok(None);
        }
    }
    Ok(if document == original && before.is_some() {
        before.map(str::to_owned)
    } else {
        Some(document.pretty(text))
    })
}

fn lock(members: &mut Vec<(String, Json)>) -> Result<(), String> {
    let Some((_, permission)) = members.iter_mut().find(|(name, _)| name == "permission") else {
        members.push(("permission".to_owned(), Json::object([(EVERYTHING, word())])));
        return Ok(());
    };
    match permission {
        Json::Text(all) => {
            *permission = Json::object([("*", Json::text(all.as_str())), (EVERYTHING, spelled_out())]);
        }
        Json::Object(rules) if rules.iter().any(|(name, _)| name == EVERYTHING) => {
            return Err(format!("`permission` has a rule `{EVERYTHING}` of your own; call it `*`"));
        }
        Json::Object(rules) => rules.push((EVERYTHING.to_owned(), word())),
        _ => return Err("`permission` is neither a word nor a list of rules".to_owned()),
    }
    Ok(())
}

fn unlock(members: &mut Vec<(String, Json)>) {
    let Some(at) = members.iter().position(|(name, _)| name == "permission") else { return };
    let Some((_, permission @ Json::Object(_))) = members.get_mut(at) else { return };
    let (mut found, mut was_word) = (false, false);
    permission.retain(|name, rule| {
        let ours = name == EVERYTHING && (*rule == word() || *rule == spelled_out());
        found |= ours;
        was_word |= ours && *rule == spelled_out();
        !ours
    });
    let all = permission.get("*").and_then(Json::as_text).map(Json::text);
    if found && permission.is_empty() {
        members.remove(at);
    } else if let (true, Some(all), Json::Object(rules)) = (was_word, all, &*permission)
        && rules.len() == 1
    {
        *permission = all;
    }
}

/// Agents of the user whose own rules come after the lock: what they allow runs while the plugin cannot be loaded.
pub(crate) fn agents_with_rules(user: bool) -> Vec<String> {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = folder("HOME");
    let folders: Vec<PathBuf> = if user {
        let config = folder("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config")));
        [config.map(|path| path.join("opencode")), home.map(|path| path.join(".opencode"))]
            .into_iter()
            .flatten()
            .collect()
    } else {
        vec![PathBuf::from("."), PathBuf::from(".opencode")]
    };
    let mut found = Vec::new();
    for folder in folders {
        for name in ["opencode.json", "opencode.jsonc"] {
            let text = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
            found.extend(
                serde_json::from_str(&text).map(|document| in_document(&document)).unwrap_or_default(),
            );
        }
        for name in ["agent", "agents", "mode", "modes"] {
            in_folder(&folder.join(name), 3, &mut found);
        }
    }
    found
}

fn in_document(document: &Json) -> Vec<String> {
    let of = |kind: &str| {
        let Some(Json::Object(agents)) = document.get(kind) else { return Vec::new() };
        let ruled = |agent: &Json| agent.get("permission").is_some() || agent.get("tools").is_some();
        agents.iter().filter(|(_, agent)| ruled(agent)).map(|(name, _)| name.clone()).collect()
    };
    [of("agent"), of("mode")].concat()
}

/// Agents that are text files with a header, in a folder and its subfolders.
fn in_folder(folder: &Path, deeper: u8, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && deeper > 0 {
            in_folder(&path, deeper - 1, found);
        } else if path.extension().is_some_and(|end| end == "md")
            && has_rules(&std::fs::read_to_string(&path).unwrap_or_default())
        {
            found.push(path.display().to_string());
        }
    }
}

fn has_rules(text: &str) -> bool {
    let mut lines = text.lines();
    let head = lines.next().is_some_and(|line| line.trim_end() == "---");
    let mut head = lines.take_while(|line| head && line.trim_end() != "---");
    head.any(|line| line.starts_with("permission:") || line.starts_with("tools:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locked(before: &str) -> String {
        changed(Some(before), true, false).unwrap().unwrap()
    }

    #[test]
    fn what_the_user_had_comes_back_to_the_letter() {
        for before in [
            "{}\n",
            "{\n  \"permission\": \"allow\"\n}\n",
            "{\n  \"permission\": {\n    \"*\": \"ask\"\n  }\n}\n",
            "{\n  \"permission\": {\n    \"bash\": {\n      \"git *\": \"allow\"\n    },\n    \"edit\": \"deny\"\n  },\n  \"share\": \"disabled\"\n}\n",
            "{\n  \"permission\": \"deny\"\n}\n",
        ] {
            let once = locked(before);
            assert!(is_locked(&serde_json::from_str(&once).unwrap()), "{once}");
            assert_eq!(locked(&once), once, "twice is once");
            assert_eq!(changed(Some(&once), true, true).unwrap().as_deref(), Some(before));
        }
    }

    #[test]
    fn the_lock_is_the_last_rule() {
        let once = locked(r#"{"permission": {"bash": "allow"}}"#);
        assert!(once.find("\"bash\"").unwrap() < once.find("\"**\"").unwrap(), "{once}");
    }

    #[test]
    fn a_file_of_ours_goes_and_one_of_the_user_stays() {
        let ours = changed(None, false, false).unwrap().unwrap();
        assert_eq!(changed(Some(&ours), false, true).unwrap(), None);
        let read = ours.replacen('{', "{\n  \"$schema\": \"https://opencode.ai/config.json\",", 1);
        assert_eq!(changed(Some(&read), false, true).unwrap(), None, "OpenCode has read it");
        assert!(changed(Some(&read), true, true).unwrap().is_some_and(|text| text.contains("$schema")));
    }

    #[test]
    fn what_the_user_changed_since_stays_as_well() {
        let once = locked("{\n  \"permission\": \"allow\"\n}\n");
        let since = once.replace("\"*\": \"allow\"", "\"*\": \"allow\",\n    \"bash\": \"ask\"");
        let out = changed(Some(&since), true, true).unwrap().unwrap();
        let left: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(left, serde_json::json!({ "permission": { "*": "allow", "bash": "ask" } }));
    }

    #[test]
    fn an_agent_with_rules_of_its_own_is_seen() {
        assert!(has_rules("---\ndescription: x\npermission:\n  bash: allow\n---\nDo it.\n"));
        assert!(has_rules("---\ntools:\n  bash: true\n---\n"));
        assert!(!has_rules("---\ndescription: x\n---\npermission: none\n"));
        assert!(!has_rules("permission: is a word\n"));
        let document = serde_json::from_str(
            r#"{"agent": {"a": {"permission": "allow"}, "b": {}}, "mode": {"c": {"tools": {}}}}"#,
        );
        assert_eq!(in_document(&document.unwrap()), ["a", "c"]);
    }

    #[test]
    fn what_cannot_be_changed_is_named() {
        let why = |text: &str| changed(Some(text), true, false).unwrap_err();
        assert!(why("{ // mine\n}").contains("not plain JSON"));
        assert_eq!(why("[]"), "it is not an object");
        assert_eq!(why(r#"{"permission": 1}"#), "`permission` is neither a word nor a list of rules");
        assert!(why(r#"{"permission": {"**": "allow"}}"#).contains("of your own"));
    }
}
