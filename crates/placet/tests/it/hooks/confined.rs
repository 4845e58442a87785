//! Calls that are allowed confined, from the hook's answer to its report. The test acts as the agent: it runs the
//! command it gets, or does not.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output as Ended},
};

use placet_core::{Confine, Record, Risk, State};
use placet_hooks::{Effect, Event, Output, effect};
use serde_json::{Value, json};

use super::world::{World, block_on, blocks, ended};
use crate::program::binary;

const CLAUDE: Event = Event::ClaudePreToolUse;

/// A server with the preset for coding agents, and a project that is open to a marked agent.
struct Project {
    world: World,
    app: PathBuf,
}

impl Project {
    /// None if this machine cannot confine, which `placet doctor` reports.
    fn new() -> Option<Self> {
        // Not in memory, where no workspace is allowed.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let app = fs::canonicalize(folder.path()).expect("a folder").join("app");
        fs::create_dir_all(app.join("sub")).expect("a folder");
        fs::create_dir_all(app.join(".git")).expect("a folder");
        let project = Self { world: World::under(folder, "preset:coding-agent"), app };
        let tried = project.sh("exec \"$0\" run -- true", &[]);
        if !tried.status.success() {
            use std::io::Write as _;
            let _ = writeln!(std::io::stderr(), "skipped: {}", String::from_utf8_lossy(&tried.stderr));
            return None;
        }
        project.owner(&["agent", "roots", "coder", project.app.to_str().expect("a plain path")]);
        project.owner(&["agent", "confine", "coder"]);
        Some(project)
    }

    fn owner(&self, words: &[&str]) {
        let data = self.world.folder.path().join("data");
        let done =
            Command::new(binary()).args(words).arg("--data").arg(data).env_remove("PLACET_TOKEN").output();
        let done = done.expect("it starts");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    /// A shell as the agent starts it, in the project.
    fn sh(&self, line: &str, words: &[&str]) -> Ended {
        let home = self.world.folder.path().join("home");
        fs::create_dir_all(&home).expect("a folder");
        Command::new("bash")
            .args(["-c", line])
            .arg(binary())
            .args(words)
            .current_dir(&self.app)
            .env("HOME", home)
            .env("PLACET_STATE_DIR", self.world.folder.path().join("state"))
            .output()
            .expect("a shell")
    }

    fn message(&self, event: &str, id: &str, command: &str) -> Value {
        json!({"hook_event_name": event, "session_id": "s-1", "permission_mode": "default", "tool_name": "Bash",
               "tool_input": {"command": command}, "tool_response": {"stdout": ""}, "tool_use_id": id, "cwd": self.app})
    }

    fn command(&self) -> Command {
        let mut hook = self.world.command(CLAUDE, &["--confine", "--wait", "100ms"]);
        hook.env("HOME", self.world.folder.path().join("home")).env_remove("CLAUDE_CONFIG_DIR");
        hook.env_remove("CLAUDE_PROJECT_DIR");
        hook
    }

    fn hook(&self, message: &Value) -> Output {
        ended(super::world::start(self.command(), message.to_string().as_bytes()))
    }

    /// The command that the agent gets; `None` if it is its own.
    #[track_caller]
    fn handed(&self, id: &str, command: &str) -> Option<String> {
        let output = self.hook(&self.message("PreToolUse", id, command));
        match effect(CLAUDE, &output) {
            Effect::Runs(None) => None,
            Effect::Runs(Some(input)) => Some(input["command"].as_str().expect("a command").to_owned()),
            other => panic!("{command}: {other:?} {output:?}"),
        }
    }

    /// Says that it ran.
    fn ran(&self, id: &str, command: &str, worked: bool) {
        let event = if worked { "PostToolUse" } else { "PostToolUseFailure" };
        assert_eq!(self.hook(&self.message(event, id, command)).code, 0);
    }

    /// Lets the agent show that it runs the command it gets.
    fn proven(&self) {
        let trial = self.handed("toolu_trial", "ls").expect("a trial");
        assert!(trial.ends_with("; ls") && trial.contains(" --prove "), "{trial}");
        let done = self.sh(&trial, &[]);
        assert!(done.status.success() && done.stderr.is_empty(), "{done:?}");
        assert_eq!(String::from_utf8_lossy(&done.stdout), "sub\n", "the trial says nothing");
        self.ran("toolu_trial", "ls", true);
    }

    fn newest(&self) -> Record {
        self.world.requests().into_iter().next().expect("a request")
    }

    fn is_marked(&self) -> bool {
        let agents = block_on(self.world.reviewer().agents()).expect("agents");
        agents.iter().any(|agent| agent.name == "coder" && agent.confine)
    }
}

#[test]
fn a_command_runs_confined_once_the_agent_has_shown_that_it_runs_what_it_is_handed() {
    let Some(project) = Project::new() else { return };
    let work = "echo x > made; ls /home; test ! -e ../policy";
    blocks(CLAUDE, "unproven", &project.hook(&project.message("PreToolUse", "toolu_0", work)));
    project.proven();
    assert_eq!(project.handed("toolu_free", "ls -la"), None, "what runs free is left as it is");

    let handed = project.handed("toolu_1", work).expect("a run of `placet run`");
    assert!(handed.contains(binary()), "{handed}");
    let record = project.newest();
    assert_eq!((record.state, record.verdict.confine), (State::Claimed, Some(Confine::Workspace)));
    assert_eq!(
        record.arguments.expect("arguments")["command"],
        json!(work),
        "on record is what was asked for"
    );
    let done = project.sh(&handed, &[]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(fs::read_to_string(project.app.join("made")).expect("it was written"), "x\n");
    let again = project.sh(&handed, &[]);
    assert_eq!(again.status.code(), Some(125), "it runs once");
    assert!(String::from_utf8_lossy(&again.stderr).contains("was begun before"), "{again:?}");
    project.ran("toolu_1", work, true);
    assert_eq!(project.newest().state, State::Succeeded);
    assert!(project.is_marked());
}

#[test]
fn a_plain_cd_stays_outside_and_the_rest_runs_in_that_folder() {
    let Some(project) = Project::new() else { return };
    project.proven();
    let git = "git -C sub init -q && test -d sub/.git";
    let handed = project.handed("toolu_0", git).expect("a run of `placet run`");
    assert!(project.sh(&handed, &[]).status.success(), "what names its folder runs where the agent is");
    project.ran("toolu_0", git, true);
    for (id, command) in
        [("toolu_1", "cd sub && make --version > out"), ("toolu_2", "cd sub && echo $(pwd) > out")]
    {
        let handed = project.handed(id, command).expect("a run of `placet run`");
        assert!(handed.starts_with("cd 'sub' && "), "{handed}");
        let done = project.sh(&format!("{handed}; pwd"), &[]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        assert!(project.app.join("sub/out").exists(), "{command}");
        let there = String::from_utf8_lossy(&done.stdout).trim().to_owned();
        assert_eq!(Path::new(&there), project.app.join("sub"), "the agent's own shell is there now");
        project.ran(id, command, true);
    }
}

#[test]
fn a_call_without_the_runners_mark_is_an_alarm_and_the_agent_is_held_from_then_on() {
    let Some(project) = Project::new() else { return };
    project.proven();
    project.handed("toolu_1", "make").expect("a run of `placet run`");
    // The agent ran the original.
    project.ran("toolu_1", "make", true);
    assert!(!project.is_marked());
    assert_eq!(project.newest().state, State::Succeeded, "what happened is on record");
    blocks(CLAUDE, "after the alarm", &project.hook(&project.message("PreToolUse", "toolu_2", "make")));
    project.owner(&["agent", "confine", "coder"]);
    let again = project.hook(&project.message("PreToolUse", "toolu_3", "make"));
    blocks(CLAUDE, "marked again, and not proven again", &again);
}

#[test]
fn a_tool_that_is_not_the_agents_shell_is_handed_what_it_asked_for() {
    let Some(project) = Project::new() else { return };
    for (id, tool) in [("toolu_1", "mcp__box__run"), ("toolu_2", "bash")] {
        let mut message = project.message("PreToolUse", id, "ls");
        message["tool_name"] = json!(tool);
        let output = project.hook(&message);
        assert!(!output.stdout.contains("--prove"), "{tool}: {output:?}");
    }
}

#[test]
fn a_program_that_a_confined_command_could_replace_is_read_only() {
    let Some(project) = Project::new() else { return };
    project.proven();
    fs::create_dir_all(project.app.join(".venv/bin")).expect("a folder");
    for (id, place) in
        [("toolu_1", ".venv/bin/ls"), ("toolu_2", "venv/bin/ls"), ("toolu_3", ".git/hooks/pre-commit")]
    {
        let command = format!("mkdir -p $(dirname {place}); echo x > {place}; true");
        let handed = project.handed(id, &command).expect("a run of `placet run`");
        project.sh(&handed, &[]);
        assert!(!project.app.join(place).exists(), "{place}");
        project.ran(id, &command, true);
    }
}

#[test]
fn no_program_can_be_put_where_programs_are_looked_for() {
    let Some(project) = Project::new() else { return };
    project.proven();
    fs::create_dir_all(project.app.join("tools")).expect("a folder");
    let command = "echo x > tools/ls; echo x > plain; true";
    let message = project.message("PreToolUse", "toolu_1", command);
    let run = |path: &str| {
        let mut hook = project.command();
        hook.env("PATH", format!("{path}:{}", std::env::var("PATH").expect("a path")));
        ended(super::world::start(hook, message.to_string().as_bytes()))
    };
    let output = run(project.app.join("tools").to_str().expect("a plain path"));
    let Effect::Runs(Some(input)) = effect(CLAUDE, &output) else { panic!("{output:?}") };
    project.sh(input["command"].as_str().expect("a command"), &[]);
    assert!(!project.app.join("tools/ls").exists() && project.app.join("plain").exists());
    project.ran("toolu_1", command, true);
    let message = project.message("PreToolUse", "toolu_2", command);
    let mut hook = project.command();
    hook.env("PATH", format!("tools:{}", std::env::var("PATH").expect("a path")));
    let output = ended(super::world::start(hook, message.to_string().as_bytes()));
    blocks(CLAUDE, "a folder that depends on where one is", &output);
    let held = project.newest();
    assert_eq!((held.state, held.verdict.confine), (State::Cancelled, None), "a person was asked");
}

#[test]
fn an_agent_that_drops_what_it_is_handed_is_not_tried_again_at_once() {
    let Some(project) = Project::new() else { return };
    project.handed("toolu_1", "ls").expect("a trial");
    project.ran("toolu_1", "ls", true);
    assert!(project.is_marked(), "a trial is no alarm");
    assert_eq!(project.handed("toolu_2", "ls"), None);
    blocks(CLAUDE, "unproven", &project.hook(&project.message("PreToolUse", "toolu_3", "make")));
}

#[test]
fn asking_for_more_becomes_a_request_for_the_command_itself() {
    let Some(project) = Project::new() else { return };
    project.proven();
    let work = "cat /proc/self/mounts > /dev/null && test -e ../policy.none";
    let handed = project.handed("toolu_1", work).expect("a run of `placet run`");
    assert!(!project.sh(&handed, &[]).status.success());
    project.ran("toolu_1", work, false);
    let failed = project.newest();
    assert_eq!(failed.state, State::Failed);
    let ask = format!("placet run --ask -- {work}");
    blocks(CLAUDE, "nobody says yes", &project.hook(&project.message("PreToolUse", "toolu_2", &ask)));
    let asked = project.newest();
    assert_eq!(asked.arguments.expect("arguments")["command"], json!(work));
    let context = asked.context.expect("a context");
    assert_eq!(context["attempt"]["request"], json!(failed.id.to_string()));
    assert_eq!(context.get("confines"), None);
    // What may run free needs no person, and the agent gets only the command.
    assert_eq!(project.handed("toolu_3", "placet run --ask -- ls").as_deref(), Some("ls"));
    for held in
        ["cd sub && placet run --ask -- make", "placet run --ask -- ls; placet approve x", "placet run -- ls"]
    {
        let output = project.hook(&project.message("PreToolUse", &format!("toolu_{held}"), held));
        blocks(CLAUDE, held, &output);
    }
    for held in [
        "placet run --clear --keep",
        "placet run --records",
        "cd sub && /usr/bin/placet run --clear --restore",
    ] {
        let output = project.hook(&project.message("PreToolUse", &format!("toolu_{held}"), held));
        blocks(CLAUDE, held, &output);
        let asked = project.newest();
        assert_eq!((asked.risk, asked.verdict.confine), (Risk::High, None), "{held}");
    }
}

#[test]
fn what_a_command_leaves_in_tmp_is_there_for_the_next_one_until_the_session_ends() {
    let Some(project) = Project::new() else { return };
    project.proven();
    let run = |id: &str, command: &str| {
        let handed = project.handed(id, command).expect("a run of `placet run`");
        let done = project.sh(&handed, &[]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        project.ran(id, command, true);
        String::from_utf8_lossy(&done.stdout).into_owned()
    };
    run("toolu_1", "mkdir /tmp/of-one && echo kept > /tmp/of-one/file");
    assert_eq!(run("toolu_2", "make --version > /dev/null; cat /tmp/of-one/file"), "kept\n");
    let sessions = project.world.folder.path().join("state/tmp");
    // Folders of sessions; files beside them are about runs.
    let count = || {
        let entries = fs::read_dir(&sessions).expect("a folder").flatten();
        entries.filter(|entry| entry.path().is_dir()).count()
    };
    assert_eq!(count(), 1);
    let over = |event: &str| json!({"hook_event_name": event, "session_id": "s-1", "cwd": project.app});
    assert_eq!(project.hook(&over("Stop")).code, 0);
    assert_eq!(count(), 1, "the turn is over, not the session");
    assert_eq!(project.hook(&over("SessionEnd")).code, 0);
    assert_eq!(count(), 0);
}

#[test]
fn a_record_is_cleared_at_a_terminal_or_with_a_word_and_never_by_a_confined_command() {
    let Some(project) = Project::new() else { return };
    let say = |line: &str| {
        let done = project.sh(line, &[]);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (done.status.code(), text(&done.stdout) + &text(&done.stderr))
    };
    assert!(say("exec \"$0\" run --records").1.contains("No record"));
    let records = project.world.folder.path().join("state/tmp");
    fs::create_dir_all(&records).expect("a folder");
    fs::write(records.join("run-1-0"), "1{}").expect("a record");
    let (code, said) = say("exec \"$0\" run --records");
    assert!(code == Some(0) && said.contains("run-1-0") && said.contains("Another version"), "{said}");
    let (code, said) = say("exec \"$0\" run --clear < /dev/null");
    assert!(code == Some(125) && said.contains("asks at a terminal"), "{said}");
    for line in ["PLACET_CONFINED=1 \"$0\" run --clear --keep", "PLACET_CONFINED=1 \"$0\" run --records"] {
        let (code, said) = say(line);
        assert!(code == Some(125) && said.contains("a confined command cannot"), "{line}: {said}");
    }
    let (code, said) = say("exec \"$0\" run --clear run-9-9 --keep");
    assert!(code == Some(125) && said.contains("there is no record `run-9-9`"), "{said}");
    assert!(records.join("run-1-0").exists());
    let (code, said) = say("exec \"$0\" run --clear run-1-0 --keep");
    assert!(code == Some(0) && said.contains("Kept as it is."), "{said}");
    assert!(!records.join("run-1-0").exists());
}
