//! Settings of an agent's user that would lead it past the stand-in for its model, or that it must not be started with unseen.

use std::{
    fs,
    path::{Path, PathBuf},
};

use placet_hooks::Agent;
use serde_json::Value;

/// Beginnings of the names of variables that say which model is asked, where it is, and with what key.
const MODEL: [&str; 5] = ["ANTHROPIC_", "CLAUDE_CODE_USE_", "CLAUDE_CODE_OAUTH_", "AWS_BEARER_", "OPENAI_"];

/// Why this agent is not started here; nothing if it can be.
pub(super) fn obstacle(agent: Agent) -> Option<String> {
    let folder = std::env::current_dir().and_then(fs::canonicalize).ok()?;
    let home = |name: &str, usual: &str| {
        let named = std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        named.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(usual)))
    };
    match agent {
        Agent::ClaudeCode => {
            let config = home("CLAUDE_CONFIG_DIR", ".claude")?;
            // With a folder named, the file lies in it.
            let state = match std::env::var_os("CLAUDE_CONFIG_DIR").filter(|value| !value.is_empty()) {
                Some(_) => config.join(".claude.json"),
                None => config.with_file_name(".claude.json"),
            };
            claude(&config, &state, &folder)
        }
        Agent::Codex => codex(&home("CODEX_HOME", ".codex")?),
        Agent::Gemini => gemini(&[home("", ".gemini")?, folder.join(".gemini")]),
        Agent::OpenCode | Agent::Cursor | Agent::Copilot => None,
    }
}

fn json(file: &Path) -> Option<Value> {
    serde_json::from_str(&fs::read_to_string(file).ok()?).ok()
}

fn claude(config: &Path, state: &Path, folder: &Path) -> Option<String> {
    // Started with a prompt it does not ask, and takes hooks and variables from the folder's settings.
    let trusted = json(state).is_some_and(|state| {
        let accepted = |folder: &Path| {
            state["projects"][folder.to_string_lossy().as_ref()]["hasTrustDialogAccepted"] == true
        };
        folder.ancestors().any(accepted)
    });
    if !trusted {
        return Some(format!(
            "was never told that {} is to be trusted, and would take commands from its settings: start `claude` here once",
            folder.display()
        ));
    }
    let files = [
        config.join("settings.json"),
        folder.join(".claude/settings.json"),
        folder.join(".claude/settings.local.json"),
    ];
    files.iter().find_map(|file| {
        let settings = json(file)?;
        let mut names = settings["env"].as_object()?.keys();
        let name = names.find(|name| MODEL.iter().any(|model| name.starts_with(model)))?;
        Some(format!("would ask a real model: {} sets {name}", file.display()))
    })
}

fn codex(home: &Path) -> Option<String> {
    let file = home.join("config.toml");
    let settings: toml::Table = fs::read_to_string(&file).ok()?.parse().ok()?;
    let profile = settings.get("profile")?.as_str()?;
    Some(format!("could ask a real model: {} chooses the profile `{profile}`", file.display()))
}

fn gemini(folders: &[PathBuf]) -> Option<String> {
    folders.iter().map(|folder| folder.join("settings.json")).find_map(|file| {
        let settings = json(&file)?;
        let kind = settings["security"]["auth"]["selectedType"]
            .as_str()
            .or_else(|| settings["selectedAuthType"].as_str())?;
        (kind != "gemini-api-key")
            .then(|| format!("would ask a real model: {} signs in by `{kind}`", file.display()))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        file
    }

    #[test]
    fn claude_code_is_started_only_in_a_trusted_folder_and_without_a_model_of_its_settings() {
        let home = tempfile::tempdir().unwrap();
        let (config, folder) = (home.path().join(".claude"), Path::new("/srv/app/deep"));
        let look = |state: &Path| claude(&config, state, folder);
        let state = home.path().join(".claude.json");
        assert!(look(&state).unwrap().contains("never told"), "there is no file");
        for projects in [
            json!({}),
            json!({"/srv/app/deep": {"hasTrustDialogAccepted": false}}),
            json!({"/srv/ap": {"hasTrustDialogAccepted": true}}),
        ] {
            write(home.path(), ".claude.json", &json!({"projects": projects}).to_string());
            assert!(look(&state).unwrap().contains("never told"));
        }
        write(
            home.path(),
            ".claude.json",
            &json!({"projects": {"/srv/app": {"hasTrustDialogAccepted": true}}}).to_string(),
        );
        assert_eq!(look(&state), None);
        write(&config, "settings.json", &json!({"env": {"FOO": "1"}}).to_string());
        assert_eq!(look(&state), None);
        for name in ["ANTHROPIC_BASE_URL", "CLAUDE_CODE_USE_BEDROCK"] {
            write(&config, "settings.json", &json!({"env": {name: "1"}}).to_string());
            assert!(look(&state).unwrap().contains(name));
        }
    }

    #[test]
    fn agents_that_would_sign_in_or_choose_a_profile_are_not_started() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!((codex(home.path()), gemini(&[home.path().to_owned()])), (None, None));
        write(home.path(), "config.toml", "model = \"x\"\n[profiles.work]\nmodel = \"y\"\n");
        write(
            home.path(),
            "settings.json",
            &json!({"security": {"auth": {"selectedType": "gemini-api-key"}}}).to_string(),
        );
        assert_eq!((codex(home.path()), gemini(&[home.path().to_owned()])), (None, None));
        write(home.path(), "config.toml", "profile = \"work\"\n");
        assert!(codex(home.path()).unwrap().contains("work"));
        for settings in [
            json!({"security": {"auth": {"selectedType": "oauth-personal"}}}),
            json!({"selectedAuthType": "vertex-ai"}),
        ] {
            write(home.path(), "settings.json", &settings.to_string());
            assert!(gemini(&[home.path().to_owned()]).unwrap().contains("signs in"));
        }
    }
}
