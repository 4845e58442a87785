//! `placet doctor` reports what is right and wrong, and its exit code matches.

use std::process::Command;

use placet_core::State;
use serde_json::{Value, json};

use super::world::World;
use crate::program::binary;

/// The program in the world's folder, which is the home folder too.
fn program(world: &World) -> Command {
    let mut command = Command::new(binary());
    command.current_dir(world.folder.path()).env("HOME", world.folder.path());
    for other in ["PLACET_URL", "CODEX_HOME", "XDG_CONFIG_HOME", "CLAUDE_CODE_SIMPLE"] {
        command.env_remove(other);
    }
    command
}

fn install(world: &World, agent: &str) {
    let installed = program(world).args(["hook", "install", agent]).output().expect("it runs");
    assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
}

fn doctor(world: &World, key: &str, args: &[&str]) -> (Option<i32>, Value) {
    let output = program(world)
        .args(["--json", "doctor", "--give-up", "100ms", "--url", &world.url])
        .args(args)
        .env("PLACET_TOKEN", key)
        .output()
        .expect("it runs");
    let document = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| {
        panic!("{}", String::from_utf8_lossy(&output.stderr));
    });
    (output.status.code(), document)
}

fn verdict<'a>(document: &'a Value, name: &str) -> &'a str {
    let checks = document["checks"].as_array().expect("a list");
    let check =
        checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("{name}: {document}"));
    check["verdict"].as_str().expect("a word")
}

#[test]
fn a_healthy_place_is_good_and_a_no_is_proved_to_block_for_every_agent() {
    let world = World::new();
    let (code, document) = doctor(&world, &world.agent, &[]);
    assert_eq!(code, Some(0), "{document}");
    for name in ["server", "durability", "key", "policy", "clock"] {
        assert_eq!(verdict(&document, name), "good", "{name}: {document}");
    }
    for agent in ["claude-code", "codex", "gemini", "cursor", "copilot", "opencode"] {
        assert_eq!(verdict(&document, &format!("proof {agent}")), "good", "{document}");
    }
    assert_eq!(verdict(&document, "hooks"), "warning", "none is installed");
    assert!(
        world.requests().iter().all(|record| matches!(record.state, State::Cancelled | State::Denied)),
        "nothing is left behind"
    );
}

#[test]
fn a_wrong_key_and_a_server_that_is_not_there_are_bad() {
    let world = World::new();
    let (code, document) = doctor(&world, "plk_agent_wrong", &["--agent", "codex"]);
    assert_eq!((code, verdict(&document, "key")), (Some(1), "bad"));
    let nowhere = World::at("http://127.0.0.1:9".to_owned());
    let (code, document) = doctor(&nowhere, "", &["--agent", "codex"]);
    assert_eq!((code, verdict(&document, "server")), (Some(1), "bad"));
    assert_eq!(
        verdict(&document, "proof codex"),
        "good",
        "a missing server is no reason to let anything through"
    );
}

#[test]
fn a_hook_that_codex_does_not_trust_as_it_is_now_is_bad() {
    let world = World::new();
    install(&world, "codex");
    let (_, document) = doctor(&world, &world.agent, &["--agent", "codex"]);
    assert_eq!(verdict(&document, "hook codex"), "good", "{document}");
    let file = world.folder.path().join(".codex/hooks.json");
    let text = std::fs::read_to_string(&file).expect("it was installed");
    std::fs::write(&file, text.replace("--wait 600s", "--wait 599s")).expect("it can be changed");
    let (code, document) = doctor(&world, &world.agent, &["--agent", "codex"]);
    assert_eq!((code, verdict(&document, "hook codex")), (Some(1), "bad"), "{document}");
}

#[test]
fn settings_with_which_claude_code_runs_no_hook_are_bad() {
    let world = World::new();
    install(&world, "claude-code");
    let file = world.folder.path().join(".claude/settings.local.json");
    let text = std::fs::read_to_string(&file).expect("it was installed");
    let good: Value = serde_json::from_str(&text).expect("it is JSON");
    for (more, expected) in [
        (json!({"env": {"CLAUDE_CODE_SIMPLE": "0"}}), "good"),
        (json!({"env": {"CLAUDE_CODE_SIMPLE": "1"}}), "bad"),
        (json!({"disableAllHooks": true}), "bad"),
    ] {
        let mut settings = good.clone();
        settings.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
        std::fs::write(&file, settings.to_string()).expect("it can be changed");
        let (_, document) = doctor(&world, &world.agent, &["--agent", "claude-code"]);
        assert_eq!(verdict(&document, "hook claude-code"), expected, "{more} {document}");
    }
}

#[test]
fn a_plugin_that_opencode_can_do_without_is_bad() {
    let world = World::new();
    install(&world, "opencode");
    let plugin = world.folder.path().join(".opencode/plugin/placet.js");
    let lock = world.folder.path().join(".opencode/opencode.json");
    let (written, locked) =
        (std::fs::read_to_string(&plugin).expect("a plugin"), std::fs::read(&lock).expect("a lock"));
    let seen = |what: &str, expected: &str| {
        let (_, document) = doctor(&world, &world.agent, &["--agent", "opencode"]);
        assert_eq!(verdict(&document, "hook opencode"), expected, "{what}: {document}");
        let checks = document["checks"].as_array().expect("a list");
        let count = checks.iter().filter(|check| check["name"] == "hook opencode").count();
        assert!(count == 1 || !plugin.exists(), "the home folder is the project: {document}");
    };
    seen("as it was installed", "good");
    let own = world.folder.path().join(".opencode/agent/mine.md");
    std::fs::create_dir_all(own.parent().expect("a folder")).expect("a folder");
    std::fs::write(&own, "---\npermission:\n  bash: allow\n---\nMine.\n").expect("written");
    seen("an agent whose own rules count after the lock", "warning");
    std::fs::remove_file(&own).expect("it can go");
    std::fs::write(&lock, "{}").expect("it can be changed");
    seen("without the lock", "bad");
    std::fs::write(&lock, locked).expect("it can be changed");
    std::fs::write(&plugin, format!("{written}export const = {{\n")).expect("it can be changed");
    seen("a plugin that somebody changed", "bad");
    std::fs::remove_file(&plugin).expect("it can go");
    seen("locked, and nobody there to open", "bad");
}
