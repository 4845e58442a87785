//! "Let NAME work in DIR?": the first call in a closed folder, with a hook for every project.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Child, Command},
};

use placet_client::{Decide, Error};
use placet_core::{Kind, Record};
use placet_hooks::{Effect, Event, effect};
use serde_json::json;

use super::world::{World, block_on, ended, start};
use crate::program::binary;

const CLAUDE: Event = Event::ClaudePreToolUse;

/// A server with the preset for coding agents, and a closed repository.
struct Project {
    world: World,
    top: PathBuf,
    app: PathBuf,
}

impl Project {
    fn new() -> Self {
        // A temporary folder of the machine is never asked about.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let top = fs::canonicalize(folder.path()).expect("a path");
        let app = top.join("app");
        for name in ["app/.git", "app/src", "home/sub"] {
            fs::create_dir_all(top.join(name)).expect("made");
        }
        fs::write(app.join("src/a.rs"), "fn main() {}\n").expect("written");
        Self { world: World::under(folder, "preset:coding-agent"), top, app }
    }

    fn call(&self, folder: &Path, id: &str, options: &[&str]) -> Child {
        self.read(&self.app.join("src/a.rs"), folder, id, options)
    }

    fn read(&self, file: &Path, folder: &Path, id: &str, options: &[&str]) -> Child {
        let message = json!({"hook_event_name": "PreToolUse", "session_id": "s-1", "permission_mode": "default",
            "tool_name": "Read", "tool_input": {"file_path": file}, "tool_use_id": id, "cwd": folder});
        let mut hook = self.world.command(CLAUDE, options);
        hook.env("HOME", self.top.join("home"));
        start(hook, message.to_string().as_bytes())
    }

    fn asked(&self) -> Vec<Record> {
        self.world.requests().into_iter().filter(|record| record.kind == Kind::Confirmation).collect()
    }

    /// Makes the reviewer an admin, as the owner of the data.
    fn crown(&self) {
        let data = self.top.join("data");
        let mut command = Command::new(binary());
        command.args(["key", "new", "--role", "admin", "--name", "ann", "--data"]).arg(data);
        let done = command.env_remove("PLACET_TOKEN").output().expect("it starts");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
}

fn runs(child: Child) -> bool {
    matches!(effect(CLAUDE, &ended(child)), Effect::Runs(_))
}

const ASKS: [&str; 3] = ["--ask-folder", "--wait", "60s"];

#[test]
fn the_first_call_in_an_unknown_repository_asks_for_it_by_its_real_path_and_a_yes_lets_the_call_pass() {
    let project = Project::new();
    symlink(project.app.join("src"), project.top.join("link")).expect("a link");
    let hook = project.call(&project.top.join("link"), "t-1", &ASKS);
    let question = project.world.pending();
    assert_eq!(question.message, Some(format!("Let coder work in {}?", project.app.display())));
    let refused = block_on(project.world.reviewer().decide(question.id, &Decide::approve(&question)));
    assert!(
        matches!(&refused, Err(Error::Problem(no)) if no.code == "not_owner"),
        "a reviewer who does not own the agent: {refused:?}"
    );
    project.crown();
    project.world.approve(&question);
    assert!(runs(hook), "what the policy lets pass in an open folder");
    assert!(runs(project.call(&project.app, "t-2", &ASKS)));
    assert_eq!(project.asked().len(), 1, "it is asked about once");
}

#[test]
fn after_a_no_the_call_waits_for_itself_and_the_folder_is_not_asked_about_again() {
    let project = Project::new();
    let hook = project.call(&project.app, "t-1", &ASKS);
    let question = project.world.pending();
    project.world.decide(&question, Decide::deny(&question, "not there"));
    let call = project.world.pending();
    assert_eq!((call.kind, call.tool.as_deref()), (Kind::Action, Some("Read")));
    project.world.approve(&call);
    assert!(runs(hook));
    assert!(!runs(project.call(&project.app, "t-2", &["--ask-folder", "--wait", "100ms"])));
    // Even without the files of the hook: the server knows.
    fs::remove_dir_all(project.top.join("state")).expect("gone");
    assert!(!runs(project.call(&project.app, "t-3", &["--ask-folder", "--wait", "100ms"])));
    assert_eq!(project.asked().len(), 1);
}

#[test]
fn nothing_is_asked_without_the_option_or_about_the_home_folder_or_one_with_data() {
    let project = Project::new();
    let quick = ["--ask-folder", "--wait", "100ms"];
    assert!(!runs(project.call(&project.app, "t-1", &["--wait", "100ms"])));
    for (id, folder) in [("t-2", "home"), ("t-3", "data"), ("t-4", "")] {
        // Each is a repository, so that none is skipped for the one above.
        fs::create_dir_all(project.top.join(folder).join(".git")).expect("made");
        let folder = project.top.join(folder);
        assert!(!runs(project.read(&folder.join("a.rs"), &folder, id, &quick)), "{}", folder.display());
    }
    assert!(!runs(project.read(Path::new("/tmp/a.rs"), Path::new("/tmp"), "t-5", &quick)));
    assert!(project.asked().is_empty(), "{:?}", project.asked());
    assert!(!runs(project.call(&project.app, "t-6", &quick)), "nobody answers");
    assert_eq!(project.asked().len(), 1, "and this one asks");
}

#[test]
fn a_file_of_another_repository_asks_about_that_one_and_a_file_of_none_waits_for_itself() {
    let project = Project::new();
    project.crown();
    let other = project.top.join("other");
    fs::create_dir_all(other.join(".git")).expect("made");
    fs::create_dir_all(project.top.join("loose")).expect("made");
    for file in ["other/b.rs", "loose/c.rs"] {
        fs::write(project.top.join(file), "fn main() {}\n").expect("written");
    }
    let first = project.call(&project.app, "t-1", &ASKS);
    project.world.approve(&project.world.pending());
    assert!(runs(first));
    let hook = project.read(&other.join("b.rs"), &project.app, "t-2", &ASKS);
    let question = project.world.pending();
    assert_eq!(question.message, Some(format!("Let coder work in {}?", other.display())));
    project.world.approve(&question);
    assert!(runs(hook));
    let hook = project.read(&project.top.join("loose/c.rs"), &project.app, "t-3", &ASKS);
    let call = project.world.pending();
    assert_eq!((call.kind, call.tool.as_deref()), (Kind::Action, Some("Read")));
    project.world.approve(&call);
    assert!(runs(hook));
    assert_eq!(project.asked().len(), 2);
}
