//! Files of a list that a rule lets pass, such as the plans of a coding agent.

use placet_core::{Effect, Risk};
use placet_policy::{Policy, preset};
use serde_json::{Value, json};

use crate::{
    place::ROOT,
    support::{ALLOW, HOLD, ask},
};

fn coding() -> Policy {
    Policy::parse(preset("coding-agent").unwrap()).unwrap()
}

/// What is said of a call whose file leads there, as the hook program found out.
fn at(policy: &Policy, tool: &str, file: &str, leads: &str, more: Value) -> Effect {
    let mut arguments = json!({ "file_path": file });
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let mut call = ask(tool, arguments).placed();
    call.context = json!({"cwd": ROOT, "paths": { file: leads }});
    call.under(policy).effect
}

#[test]
fn a_plan_in_the_agents_own_folder_is_written_and_read_without_a_person() {
    let policy = coding();
    for (tool, more) in [
        ("Write", json!({"content": "# Plan"})),
        ("Edit", json!({"old_string": "a", "new_string": "b"})),
        ("Read", json!({"offset": 3})),
    ] {
        for file in [
            "/home/ada/.claude/plans/quiet-running-moon.md",
            "/Users/ada/.claude/plans/soft-purring-owl-agent-a4.md",
            "/root/.claude/plans/x-y-z.md",
        ] {
            assert_eq!(at(&policy, tool, file, file, more.clone()), ALLOW, "{tool} {file}");
        }
    }
}

#[test]
fn what_only_looks_like_a_plan_waits() {
    let policy = coding();
    let content = || json!({"content": "x"});
    for file in [
        "/home/ada/.claude/plans/CLAUDE.md",
        "/home/ada/.claude/plans/claude.local.md",
        "/home/ada/.claude/plans/AGENTS.md",
        "/home/ada/.claude/plans/GEMINI.md",
        "/home/ada/.claude/plans/x.md",
        "/home/ada/.claude/plans/x-y-z.json",
        "/home/ada/.claude/plans/deep/x-y-z.md",
        "/home/ada/.claude/plans",
        "/home/ada/.claude/settings.json",
        "/home/ada/.claude/CLAUDE.md",
        "/home/ada/.claude/plans/../settings.md",
        "/home/ada/app/.claude/plans/x-y-z.md",
        "/srv/.claude/plans/x-y-z.md",
        "/etc/.claude/plans/x-y-z.md",
        "/home/.claude/plans/x-y-z.md",
        "~/.claude/plans/x-y-z.md",
        ".claude/plans/x-y-z.md",
        "/home/ada/.CLAUDE/plans/x-y-z.md",
        "/home/ada/.claude/plаns/x-y-z.md",
        "/home/ada/.claude/plans/x-y-z.md\\..\\settings.json",
    ] {
        assert_eq!(at(&policy, "Write", file, file, content()), HOLD, "{file}");
    }
    let plan = "/home/ada/.claude/plans/x-y-z.md";
    assert_eq!(
        at(&policy, "Write", plan, "/home/ada/.bashrc", content()),
        HOLD,
        "a link that leads elsewhere"
    );
    let two = json!({"content": "x", "path": "/home/ada/.bashrc"});
    assert_eq!(at(&policy, "Write", plan, plan, two), HOLD, "a second file");
    assert_eq!(at(&policy, "apply_patch", plan, plan, json!({})), HOLD);
    let unresolved = ask("Write", json!({"file_path": plan, "content": "x"})).under(&policy);
    assert_eq!((unresolved.effect, unresolved.risk), (HOLD, Risk::High), "over another door");
}

#[test]
fn a_command_is_no_file_of_a_list() {
    let text = "version = 1\n[paths]\nplans = [\"/srv/plans/*.md\"]\n\
        [[rule]]\nname = \"a\"\neffect = \"allow\"\nunder = \"plans\"\ntool = [\"Bash\", \"Write\"]\n";
    let policy = Policy::parse(text).unwrap();
    let file = "/srv/plans/x.md";
    assert_eq!(at(&policy, "Write", file, file, json!({"content": "x"})), ALLOW);
    let mut call = ask("Bash", json!({"command": "cat /srv/plans/x.md"})).placed();
    call.context = json!({"cwd": ROOT, "paths": { file: file }});
    assert_eq!(call.under(&policy).effect, HOLD);
    let mut nothing = ask("Write", json!({})).placed();
    nothing.context = json!({"cwd": ROOT, "paths": {}});
    assert_eq!(nothing.under(&policy).effect, HOLD, "it names no file at all");
}

#[test]
fn a_list_that_does_not_say_where_its_files_are_lets_nothing_pass() {
    let wrong = |paths: &str, rule: &str| {
        let text = format!(
            "version = 1\n[paths]\nplans = [{paths}]\n[[rule]]\nname = \"a\"\neffect = \"allow\"\ntool = \"Write\"\n{rule}\n"
        );
        Policy::parse(&text).unwrap_err().to_string()
    };
    assert!(wrong("\".claude/plans/*.md\"", "under = \"plans\"").contains("begin each entry with"));
    assert!(wrong("\"x.md\"", "under = \"plans\"").contains("begin each entry with"));
    assert!(wrong("\"~/x.md\"", "under = \"plan\"").contains("none named `plan`"));
    assert!(
        wrong("\"~/x.md\"", "under = \"plans\"\nconfine = \"workspace\"")
            .contains("changes the workspace alone")
    );
}
