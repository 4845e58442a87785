//! Hooks in a workspace: the real program finds out where a call happens, and what git would do there.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use placet_hooks::{Effect, Event, effect};
use serde_json::{Value, json};

use super::world::World;
use crate::program::binary;

/// A server with the preset for coding agents, and a project that is open to the agent.
struct Project {
    world: World,
    app: PathBuf,
}

impl Project {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let app = fs::canonicalize(folder.path()).expect("a folder").join("app");
        fs::create_dir_all(app.join("src")).expect("a folder");
        fs::write(app.join("src/a.rs"), "fn main() {}\n").expect("written");
        git(&app, &["init", "-q", "."]);
        Self { world: World::under(folder, "preset:coding-agent"), app }
    }

    /// `placet agent roots`, as the owner of the data.
    fn roots(&self, folders: &[&str]) -> String {
        let data = self.world.folder.path().join("data");
        let mut command = Command::new(binary());
        command.args(["agent", "roots", "coder"]).args(folders).arg("--data").arg(data);
        let done = command.env_remove("PLACET_TOKEN").output().expect("it starts");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    }

    fn passes(&self, event: Event, message: &Value) -> bool {
        let output = self.world.hook(event, &["--wait", "100ms"], message);
        matches!(effect(event, &output), Effect::Runs(_))
    }

    /// Whether Claude Code may run this in this folder without asking.
    fn runs(&self, folder: &Path, command: &str) -> bool {
        self.claude(folder, "Bash", &json!({ "command": command }))
    }

    fn claude(&self, folder: &Path, tool: &str, input: &Value) -> bool {
        self.passes(
            Event::ClaudePreToolUse,
            &json!({"hook_event_name": "PreToolUse", "session_id": "s-1", "permission_mode": "default",
                    "tool_name": tool, "tool_input": input, "tool_use_id": format!("{}", rand(folder, tool, input)), "cwd": folder}),
        )
    }
}

/// Another id for every different call, and for the same call at another time.
fn rand(folder: &Path, tool: &str, input: &Value) -> String {
    static CALLS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let number = CALLS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    format!("toolu_{number}_{}_{tool}_{}", folder.display(), input.to_string().len())
}

fn git(folder: &Path, arguments: &[&str]) {
    let done = Command::new("git").args(arguments).current_dir(folder).output().expect("git is installed");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn looking_passes_in_a_folder_that_somebody_opened_and_in_no_other() {
    let project = Project::new();
    let (app, outside) = (project.app.clone(), project.world.folder.path().to_owned());
    assert!(!project.runs(&app, "git status"), "nobody opened it");
    assert_eq!(project.roots(&[app.to_str().expect("a plain path")]), app.display().to_string());
    assert_eq!(project.roots(&[]), app.display().to_string());
    assert!(project.runs(&app, "git status") && project.runs(&app.join("src"), "cat a.rs"));
    assert!(project.claude(&app, "Read", &json!({"file_path": app.join("src/a.rs")})));
    assert!(!project.runs(&outside, "git status") && !project.runs(&outside, "ls"));
    assert!(!project.runs(&app, "cat ../policy.toml") && !project.runs(&app, "cat /etc/hostname"));
    fs::write(outside.join("notes"), "x").expect("written");
    symlink(outside.join("notes"), app.join("link")).expect("a link");
    assert!(!project.runs(&app, "cat link"), "the link leads elsewhere");
    assert!(!project.claude(&app, "Read", &json!({"file_path": app.join("link")})));
    fs::create_dir_all(app.join("one")).expect("a folder");
    symlink(outside.join("notes"), app.join("one/notes")).expect("a link");
    assert!(project.runs(&app, "diff src/a.rs src/b.rs"));
    assert!(!project.runs(&app, "diff -N one src"), "it would follow links in the folders");
    symlink(&app, outside.join("alias")).expect("a link");
    assert!(project.runs(&outside.join("alias"), "cat src/a.rs"), "this one leads to it");
    assert_eq!(project.roots(&["--clear"]), "no folder is open to coder");
    assert!(!project.runs(&app, "git status"));
}

#[test]
fn every_way_in_which_agents_name_a_folder_is_judged() {
    let project = Project::new();
    let (app, outside) = (project.app.clone(), project.world.folder.path().to_owned());
    project.roots(&[app.to_str().expect("a plain path")]);
    let shell = |cwd: &Path, id: &str| {
        json!({"hook_event_name": "beforeShellExecution", "conversation_id": "s-1", "generation_id": id,
               "command": "git status", "cwd": cwd})
    };
    assert!(project.passes(Event::CursorBeforeShell, &shell(&app, "g-1")));
    assert!(!project.passes(Event::CursorBeforeShell, &shell(&outside, "g-2")));
    let tool = |folder: &Path, id: &str| {
        json!({"hook_event_name": "preToolUse", "conversation_id": "s-1", "generation_id": id, "tool_use_id": id, "cwd": app,
               "tool_name": "Shell", "tool_input": {"command": "ls", "working_directory": folder}})
    };
    assert!(project.passes(Event::CursorPreToolUse, &tool(&app.join("src"), "g-3")));
    assert!(!project.passes(Event::CursorPreToolUse, &tool(&outside, "g-4")));
    assert!(!project.passes(Event::CursorPreToolUse, &tool(Path::new("../"), "g-5")));
    let gemini = |folder: &str, id: &str| {
        json!({"hook_event_name": "BeforeTool", "session_id": "s-1", "turn_id": id, "cwd": app, "tool_name": "run_shell_command",
               "tool_input": {"command": "ls", "directory": folder}})
    };
    assert!(project.passes(Event::GeminiBeforeTool, &gemini("src", "t-1")));
    assert!(!project.passes(Event::GeminiBeforeTool, &gemini("..", "t-2")));
}

#[test]
fn git_waits_where_it_would_start_programs_or_read_another_repository() {
    let project = Project::new();
    let app = project.app.clone();
    project.roots(&[app.to_str().expect("a plain path")]);
    assert!(project.runs(&app, "git log --oneline") && project.runs(&app.join("src"), "git status"));
    // A clone inside, and a bare repository that looks like an ordinary folder.
    fs::create_dir_all(app.join("vendor")).expect("a folder");
    git(&app.join("vendor"), &["init", "-q", "clone"]);
    git(&app.join("vendor"), &["init", "-q", "--bare", "bare"]);
    for folder in ["vendor/clone", "vendor/bare"] {
        assert!(!project.runs(&app.join(folder), "git status"), "{folder}");
        assert!(project.runs(&app.join(folder), "ls"), "{folder}: no git runs");
    }
    let config = fs::read_to_string(app.join(".git/config")).expect("a repository");
    for hostile in [
        "[core]\n\tfsmonitor = ./x\n",
        "[diff]\n\texternal = ./x\n",
        "[filter \"x\"]\n\tclean = ./x\n",
        "[include]\n\tpath = ../elsewhere\n",
        "[diff \"x\"]\n\ttextconv = ./x\n",
        "[core\n",
    ] {
        fs::write(app.join(".git/config"), format!("{config}{hostile}")).expect("written");
        assert!(!project.runs(&app, "git status"), "{hostile}");
    }
    fs::write(app.join(".git/config"), &config).expect("written");
    assert!(project.runs(&app, "git status"));
    // Links in the repository's own folder are read and written through.
    let outside = project.world.folder.path().join("notes");
    fs::write(&outside, "x").expect("written");
    for link in [
        ".git/index",
        ".git/packed-refs",
        ".git/rebase-merge/done",
        ".git/worktrees/x/gitdir",
        ".git/objects/pack",
    ] {
        let link = app.join(link);
        let _ = fs::remove_dir(&link);
        fs::create_dir_all(link.parent().expect("a folder")).expect("a folder");
        symlink(&outside, &link).expect("a link");
        assert!(!project.runs(&app, "git status"), "{}", link.display());
        fs::remove_file(&link).expect("it is ours");
    }
    symlink(&outside, app.join("revs")).expect("a link");
    fs::write(app.join(".git/config"), format!("{config}[blame]\n\tignoreRevsFile = revs\n"))
        .expect("written");
    assert!(!project.runs(&app, "git blame src/a.rs"));
    fs::write(app.join(".git/config"), config).expect("written");
    assert!(project.runs(&app, "git status"));
    // From a subfolder of a repository git shows the rest of it.
    project.roots(&[app.join("src").to_str().expect("a plain path")]);
    assert!(!project.runs(&app.join("src"), "git log -p") && project.runs(&app.join("src"), "cat a.rs"));
}

#[test]
fn installing_a_hook_opens_the_folder_where_the_data_is_ones_own_and_else_says_how() {
    let project = Project::new();
    let install = |data: &Path| {
        let mut command = Command::new(binary());
        command.args(["hook", "install", "claude-code", "--data"]).arg(data).current_dir(&project.app);
        let done = command.env("PLACET_TOKEN", &project.world.agent).output().expect("it starts");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).into_owned()
    };
    let said = install(&project.world.folder.path().join("none"));
    assert!(said.contains(&format!("placet agent roots NAME --add {}", project.app.display())), "{said}");
    assert!(!project.runs(&project.app, "ls"));
    let said = install(&project.world.folder.path().join("data"));
    assert!(said.contains("is open to `coder`"), "{said}");
    assert!(project.runs(&project.app, "ls"));
}
