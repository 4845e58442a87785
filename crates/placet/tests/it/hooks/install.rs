//! `placet hook install`: what it writes runs, existing settings stay, and uninstalling removes everything.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::binary;

const FILES: [(&str, &str); 6] = [
    ("claude-code", ".claude/settings.local.json"),
    ("codex", ".codex/hooks.json"),
    ("gemini", ".gemini/settings.json"),
    ("cursor", ".cursor/hooks.json"),
    ("copilot", ".github/hooks/placet.json"),
    ("opencode", ".opencode/plugin/placet.js"),
];

struct Project(TempDir);

impl Project {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn install(&self, args: &[&str]) -> Output {
        Command::new(binary())
            .args(["hook", "install"])
            .args(args)
            .current_dir(self.0.path())
            .env("HOME", self.0.path().join("home"))
            .env("NO_COLOR", "1")
            .env_remove("PLACET_URL")
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("CODEX_HOME")
            .env_remove("COPILOT_HOME")
            .env_remove("CLAUDE_CONFIG_DIR")
            .output()
            .expect("it runs")
    }

    #[track_caller]
    fn installed(&self, args: &[&str]) -> String {
        let output = self.install(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.path().join(file)
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap()
    }

    fn json(&self, file: &str) -> Value {
        serde_json::from_str(&self.read(file)).unwrap()
    }
}

#[test]
fn installing_twice_is_installing_once_and_uninstalling_leaves_nothing() {
    for (agent, file) in FILES {
        let project = Project::new();
        project.installed(&[agent]);
        let once = project.read(file);
        assert!(project.installed(&[agent]).contains("is up to date"), "{agent}");
        assert_eq!(project.read(file), once, "{agent}");
        project.installed(&[agent, "--uninstall"]);
        let left = fs::read_to_string(project.path(file)).unwrap_or_default();
        assert!(!left.contains("placet"), "{agent}: {left}");
        assert!(project.installed(&[agent, "--uninstall"]).contains("nothing of Placet"), "{agent}");
    }
}

#[test]
fn what_was_there_stays_in_its_order_and_comes_back_to_the_letter() {
    let settings = "{\n    \"zebra\": 1,\n    \"permissions\": {\n        \"deny\": [\n            \"Bash(rm:*)\"\n        ]\n    },\n    \"hooks\": {\n        \"PreToolUse\": [\n            {\n                \"matcher\": \"Bash\",\n                \"hooks\": [\n                    {\n                        \"type\": \"command\",\n                        \"command\": \"./mine.sh\"\n                    }\n                ]\n            }\n        ]\n    },\n    \"alpha\": true\n}\n";
    let project = Project::new();
    project.write(".claude/settings.local.json", settings);
    project.installed(&["claude-code"]);
    let now = project.read(".claude/settings.local.json");
    assert!(now.starts_with("{\n    \"zebra\": 1,\n    \"permissions\""), "{now}");
    let json = project.json(".claude/settings.local.json");
    assert_eq!(json["hooks"]["PreToolUse"][0]["hooks"][0]["command"], json!("./mine.sh"));
    assert_eq!(json["hooks"]["PreToolUse"][1]["matcher"], json!("*"));
    assert_eq!(project.read(".claude/settings.local.json.placet-backup"), settings);
    project.installed(&["claude-code", "--uninstall"]);
    assert_eq!(project.read(".claude/settings.local.json"), settings);
}

#[test]
fn a_dry_run_shows_the_change_and_writes_nothing() {
    let project = Project::new();
    project.write(".gemini/settings.json", "{\"theme\": \"x\"}");
    let said = project.installed(&["gemini", "--dry-run"]);
    assert!(said.contains("would change") && said.contains('+') && said.contains("BeforeTool"), "{said}");
    assert_eq!(project.read(".gemini/settings.json"), "{\"theme\": \"x\"}");
    assert!(!project.path(".gemini/settings.json.placet-backup").exists());
}

#[test]
fn a_file_that_cannot_be_read_is_left_alone() {
    for (agent, file) in FILES {
        for text in ["{ // comments\n}", "{\"hooks\": [1]}", "[]", "{\"a\":1,\"a\":2}"] {
            let project = Project::new();
            project.write(file, text);
            let output = project.install(&[agent]);
            assert_eq!(output.status.code(), Some(2), "{agent} {text}");
            assert!(String::from_utf8_lossy(&output.stderr).contains("left as it is"), "{agent} {text}");
            assert_eq!(project.read(file), text);
        }
    }
}

#[test]
fn every_agent_waits_longer_for_the_hook_than_the_hook_waits_for_a_person() {
    let project = Project::new();
    for (agent, _) in FILES {
        project.installed(&[agent, "--wait", "30m"]);
    }
    let claude = project.json(".claude/settings.local.json");
    assert_eq!(claude["hooks"]["PreToolUse"][0]["hooks"][0]["timeout"], json!(1_860), "seconds");
    assert_eq!(
        project.json(".codex/hooks.json")["hooks"]["PreToolUse"][0]["hooks"][0]["timeout"],
        json!(1_860)
    );
    let gemini = project.json(".gemini/settings.json");
    assert_eq!(gemini["hooks"]["BeforeTool"][0]["hooks"][0]["timeout"], json!(1_860_000), "milliseconds");
    let cursor = project.json(".cursor/hooks.json");
    assert_eq!(cursor["hooks"]["preToolUse"][0]["timeout"], json!(1_860));
    assert_eq!(cursor["hooks"]["preToolUse"][0]["failClosed"], json!(true));
    assert_eq!(cursor["version"], json!(1));
    let copilot = project.json(".github/hooks/placet.json");
    assert_eq!(copilot["hooks"]["preToolUse"][0]["timeoutSec"], json!(1_860));
    assert!(project.read(".opencode/plugin/placet.js").contains("const PATIENCE = 1860000"));
    for command in [
        &claude["hooks"]["PreToolUse"][0]["hooks"][0]["command"],
        &gemini["hooks"]["BeforeTool"][0]["hooks"][0]["command"],
        &copilot["hooks"]["preToolUse"][0]["bash"],
    ] {
        assert!(command.as_str().unwrap().contains("--wait 1800s"), "{command}");
    }
}

#[test]
fn a_command_whose_program_is_gone_or_dies_blocks() {
    let project = Project::new();
    for agent in ["claude-code", "codex", "gemini", "cursor", "copilot"] {
        project.installed(&[agent]);
    }
    let claude = project.json(".claude/settings.local.json");
    let copilot = project.json(".github/hooks/placet.json");
    let run = |command: &Value, program: &str| {
        let command = command.as_str().unwrap().replace(binary(), program);
        Command::new("sh").args(["-c", &command]).stdin(Stdio::null()).output().unwrap()
    };
    let dies = project.path("dies");
    fs::write(&dies, "#!/bin/sh\nkill -9 $$\n").unwrap();
    Command::new("chmod").arg("+x").arg(&dies).status().unwrap();
    for program in ["/nowhere/placet", dies.to_str().unwrap(), "false"] {
        let output = run(&claude["hooks"]["PreToolUse"][0]["hooks"][0]["command"], program);
        assert_eq!(output.status.code(), Some(2), "{program}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("could not run"), "{program}");
        let output = run(&copilot["hooks"]["preToolUse"][0]["bash"], program);
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            (output.status.code(), &said["permissionDecision"]),
            (Some(0), &json!("deny")),
            "{program}"
        );
    }
    // If the program exists, its own reason is passed on unchanged.
    let output = run(&claude["hooks"]["PreToolUse"][0]["hooks"][0]["command"], binary());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("standard input is empty"), "{said}");
    assert!(!said.contains("could not run"), "{said}");
}

#[test]
fn a_relay_is_installed_where_the_agent_asks_at_the_terminal_and_nowhere_else() {
    let project = Project::new();
    project.installed(&["claude-code", "--mode", "relay"]);
    let hooks = project.json(".claude/settings.local.json")["hooks"].clone();
    assert!(hooks.get("PermissionRequest").is_some() && hooks.get("PreToolUse").is_none(), "{hooks}");
    for event in ["PostToolUse", "PostToolUseFailure", "Stop", "UserPromptSubmit", "SessionEnd"] {
        assert!(hooks.get(event).is_some(), "{event}");
    }
    assert_eq!(project.install(&["gemini", "--mode", "relay"]).status.code(), Some(2));
    // From one to the other without leftovers.
    project.installed(&["claude-code"]);
    let hooks = project.json(".claude/settings.local.json")["hooks"].clone();
    assert!(hooks.get("PermissionRequest").is_none() && hooks.get("Stop").is_none(), "{hooks}");
    assert!(hooks.get("SessionEnd").is_some(), "the summary of a session: {hooks}");
}

#[test]
fn a_link_to_settings_elsewhere_stays_a_link() {
    let project = Project::new();
    project.write("dotfiles/settings.json", "{}\n");
    fs::create_dir_all(project.path(".claude")).unwrap();
    std::os::unix::fs::symlink(
        project.path("dotfiles/settings.json"),
        project.path(".claude/settings.local.json"),
    )
    .unwrap();
    project.installed(&["claude-code"]);
    assert!(fs::symlink_metadata(project.path(".claude/settings.local.json")).unwrap().is_symlink());
    assert!(project.read("dotfiles/settings.json").contains("PreToolUse"));
}

#[test]
fn a_hook_for_codex_is_trusted_where_it_is_installed_and_no_longer_when_it_is_gone() {
    let project = Project::new();
    project.write("home/.codex/config.toml", "model = \"mine\" # and stays\n");
    assert!(project.installed(&["codex", "--dry-run"]).contains("trusted_hash"));
    assert_eq!(project.read("home/.codex/config.toml"), "model = \"mine\" # and stays\n");
    project.installed(&["codex"]);
    let config = project.read("home/.codex/config.toml");
    let hooks = project.path(".codex/hooks.json").canonicalize().unwrap();
    for event in ["pre_tool_use", "post_tool_use"] {
        assert!(config.contains(&format!("[hooks.state.\"{}:{event}:0:0\"]", hooks.display())), "{config}");
    }
    assert!(config.contains("unified_exec_tty = false"), "{config}");
    project.installed(&["codex", "--uninstall"]);
    assert_eq!(project.read("home/.codex/config.toml"), "model = \"mine\" # and stays\n");
}

#[test]
fn a_configuration_of_codex_that_cannot_be_read_leaves_everything_as_it_is() {
    let project = Project::new();
    project.write("home/.codex/config.toml", "model = \n");
    let output = project.install(&["codex"]);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("config.toml is left as it is"));
    assert!(!project.path(".codex/hooks.json").exists());
}

/// What OpenCode finds where it looks for rules last.
const LOCK: &str = ".opencode/opencode.json";

#[test]
fn opencode_refuses_everything_as_long_as_the_plugin_is_not_there_to_decide() {
    let project = Project::new();
    project.installed(&["opencode"]);
    assert_eq!(project.json(LOCK), json!({ "permission": { "**": "deny" } }));
    assert!(project.read(".opencode/plugin/placet.js").contains("delete config.permission[\"**\"]"));
    project.installed(&["opencode", "--uninstall"]);
    assert!(!project.path(LOCK).exists(), "a file of ours goes");

    project.installed(&["opencode", "--user"]);
    assert!(project.path("home/.opencode/opencode.json").exists(), "behind the rules of all projects");
    assert!(!project.path(LOCK).exists());
}

#[test]
fn the_rules_that_a_user_of_opencode_has_stay_and_come_back_to_the_letter() {
    for rules in ["\"allow\"", "\"deny\"", "{\n    \"*\": \"ask\"\n  }", "{\n    \"bash\": \"allow\"\n  }"] {
        let project = Project::new();
        let mine = format!("{{\n  \"permission\": {rules},\n  \"share\": \"disabled\"\n}}\n");
        project.write(LOCK, &mine);
        let said = project.installed(&["opencode", "--dry-run"]);
        assert!(said.contains('+') && said.contains("\"**\""), "{said}");
        assert_eq!(project.read(LOCK), mine, "a dry run writes nothing");
        project.installed(&["opencode"]);
        let once = project.read(LOCK);
        assert!(project.installed(&["opencode"]).contains("is up to date"), "{rules}");
        assert_eq!(project.read(LOCK), once, "twice is once");
        assert_eq!(project.read(".opencode/opencode.json.placet-backup"), mine, "{rules}");
        project.installed(&["opencode", "--uninstall"]);
        assert_eq!(project.read(LOCK), mine);
    }
}

#[test]
fn the_lock_is_in_the_file_that_opencode_reads_last_and_taken_from_where_it_is() {
    let project = Project::new();
    project.write(".opencode/opencode.jsonc", "{\n  \"permission\": \"allow\"\n}\n");
    project.installed(&["opencode"]);
    assert!(!project.path(LOCK).exists());
    assert!(project.read(".opencode/opencode.jsonc").contains("\"**\""));

    let project = Project::new();
    project.installed(&["opencode"]);
    project.write(".opencode/opencode.jsonc", "{ // mine, and later\n}\n");
    project.installed(&["opencode", "--uninstall"]);
    assert!(!project.path(LOCK).exists(), "a lock that nobody can open would stay");
}

#[test]
fn without_a_lock_the_plugin_is_not_installed_either() {
    let project = Project::new();
    project.write(".opencode/opencode.jsonc", "{ // mine\n}\n");
    let output = project.install(&["opencode"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("opencode.jsonc is left as it is"));
    assert!(!project.path(".opencode/plugin/placet.js").exists());
}

#[test]
fn what_is_shared_has_no_path_of_this_machine_and_says_what_others_need() {
    let project = Project::new();
    let said = project.installed(&["claude-code", "--shared", "--url", "http://127.0.0.1:4000"]);
    assert!(said.contains("Everybody who works on the project then needs `placet`"), "{said}");
    let text = project.read(".claude/settings.json");
    assert!(text.contains("placet hook claude-code --wait"), "{text}");
    let program = binary().to_owned();
    for own in [program.as_str(), "127.0.0.1", project.0.path().to_str().unwrap()] {
        assert!(!text.contains(own), "{own}: {text}");
    }
    let remote = project.installed(&["gemini", "--shared", "--url", "https://placet.example"]);
    assert!(remote.contains("Commit this file"), "{remote}");
    assert!(project.read(".gemini/settings.json").contains("--url https://placet.example"));
    project.installed(&["claude-code", "--shared", "--uninstall"]);
    assert!(!project.read(".claude/settings.json").contains("placet"));
    let refused = project.install(&["claude-code", "--shared", "--token-file", "key"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("`--token-file` is a file of this machine"));
}

#[test]
fn two_hooks_in_one_project_are_refused_because_they_would_block_each_other() {
    for (first, second) in [("--shared", "--project"), ("--project", "--shared")] {
        let project = Project::new();
        project.installed(&["claude-code", first]);
        let before =
            [".claude/settings.json", ".claude/settings.local.json"].map(|file| project.path(file).exists());
        let refused = project.install(&["claude-code", second]);
        assert_eq!(refused.status.code(), Some(2));
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(said.contains(&format!("placet hook install claude-code {first} --uninstall")), "{said}");
        let after =
            [".claude/settings.json", ".claude/settings.local.json"].map(|file| project.path(file).exists());
        assert_eq!(before, after, "nothing is written");
        project.installed(&["claude-code", first, "--uninstall"]);
        project.installed(&["claude-code", second]);
    }
}

#[test]
fn the_file_of_the_machine_is_for_the_agent_that_has_one() {
    let project = Project::new();
    let refused = project.install(&["gemini", "--managed"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("`--managed` is for claude-code"));
    let shown = project.installed(&["claude-code", "--managed", "--dry-run"]);
    assert!(shown.contains("managed-settings.json would change"), "{shown}");
}

#[test]
fn a_hook_for_every_project_asks_about_folders_and_one_for_this_project_does_not() {
    for (more, file, wanted) in [
        (&["--user"][..], "home/.claude/settings.json", true),
        (&["--user", "--mode", "relay"], "home/.claude/settings.json", false),
        (&["--user", "--defer"], "home/.claude/settings.json", false),
        (&[], ".claude/settings.local.json", false),
    ] {
        let project = Project::new();
        let said = project.installed(&[&["claude-code"], more].concat());
        assert_eq!(project.read(file).contains(" --ask-folder"), wanted, "{more:?}");
        assert_eq!(said.contains("asks whether the agent may work there"), wanted, "{more:?}: {said}");
    }
}

#[test]
fn agents_that_were_never_seen_to_run_what_they_are_handed_confine_nothing() {
    for (agent, file, wanted) in [
        ("codex", ".codex/hooks.json", true),
        ("gemini", ".gemini/settings.json", true),
        ("opencode", ".opencode/plugin/placet.js", true),
        ("cursor", ".cursor/hooks.json", false),
        ("copilot", ".github/hooks/placet.json", false),
    ] {
        let project = Project::new();
        project.installed(&[agent]);
        assert_eq!(project.read(file).contains("--confine"), wanted, "{agent}");
    }
}

#[test]
fn calls_may_run_confined_unless_they_are_asked_for_again_later_or_somebody_says_no() {
    for (more, wanted) in
        [(&[][..], true), (&["--no-confine"], false), (&["--defer"], false), (&["--mode", "relay"], false)]
    {
        let project = Project::new();
        let said = project.installed(&[&["claude-code"], more].concat());
        let text = project.read(".claude/settings.local.json");
        assert_eq!(text.contains(" --confine"), wanted, "{more:?}: {text}");
        assert!(!wanted || text.contains("SessionEnd"), "their temporary files are removed then: {text}");
        assert_eq!(said.contains("placet agent confine NAME"), wanted, "{more:?}: {said}");
    }
}
