//! The whole engine with every shipped preset: no text of the corpora is allowed through any of them.

use placet_core::{Effect, HOOK_PROGRAM, Kind, Risk, Time};
use placet_policy::{Call, Claims, Outcome, Place, Policy, names, preset};
use serde_json::{Value, json};

use crate::abuses::ABUSES;
use crate::compositions::PASSING;
use crate::conformance::{ASKED, huge};
use crate::place::{self, ROOT};

const SHELL_TOOLS: &[&str] = &[
    "Bash",
    "bash",
    "Shell",
    "shell",
    "run_shell_command",
    "run_terminal_cmd",
    "run_terminal_command",
    "run_in_terminal",
    "execute_command",
];

pub(crate) fn ask(policy: &Policy, tool: &str, arguments: &Value) -> Outcome {
    let context = place::context(tool, arguments, ROOT);
    let roots = [ROOT.to_owned()];
    policy.evaluate(&Call {
        kind: Kind::Action,
        tool: Some(tool),
        arguments: arguments.as_object(),
        steps: &[],
        agent: "coder",
        source: HOOK_PROGRAM,
        time: Time::from_micros(0),
        claims: Claims { session: "s", context: &context, risk: None, on_behalf_of: None, group: None },
        place: Some(Place { roots: &roots, context: &context, confines: false }),
        covered: placet_core::Covered::Unknown,
    })
}

fn policy(name: &str) -> Policy {
    Policy::parse(preset(name).expect("a preset")).unwrap_or_else(|errors| panic!("{name}: {errors}"))
}

#[test]
fn no_text_of_the_corpora_passes_any_preset() {
    // Fine in the coding-agent preset, where reading a file is fine.
    let fine = ["git status < f", "git stash"];
    let texts: Vec<String> = ASKED
        .iter()
        .filter(|text| !fine.contains(text))
        .chain(ABUSES)
        .map(|text| (*text).to_owned())
        .chain(huge())
        .collect();
    for name in names() {
        let policy = policy(name);
        for tool in ["Bash", "shell", "run_shell_command", "execute_command"] {
            for text in &texts {
                let outcome = ask(&policy, tool, &json!({ "command": text }));
                assert_ne!(
                    outcome.effect,
                    Effect::Allow,
                    "{name} {tool}: {:?}",
                    text.chars().take(80).collect::<String>()
                );
            }
        }
    }
}

#[test]
fn what_passes_in_one_tool_passes_in_every_tool_that_takes_commands() {
    let policy = policy("coding-agent");
    for tool in SHELL_TOOLS {
        for text in PASSING {
            assert_eq!(
                ask(&policy, tool, &json!({ "command": text })).effect,
                Effect::Allow,
                "{tool}: {text}"
            );
        }
    }
}

#[test]
fn words_in_a_list_are_judged_like_the_command_they_are() {
    let policy = policy("coding-agent");
    let effect = |command: Value| ask(&policy, "shell", &json!({ "command": command })).effect;
    assert_eq!(effect(json!(["git", "status", "-s"])), Effect::Allow);
    assert_eq!(effect(json!(["bash", "-lc", "git status && ls -la"])), Effect::Allow);
    for command in [
        json!(["bash", "-lc", "git status; rm x"]),
        json!(["rm", "-rf", "x"]),
        json!(["git", "log", "--output=f"]),
        json!([]),
        json!(["git", 5]),
        json!({ "program": "git" }),
        json!(null),
        json!(5),
    ] {
        assert_eq!(effect(command.clone()), Effect::Hold, "{command}");
    }
}

#[test]
fn another_folder_or_a_lifted_sandbox_is_asked_about() {
    let policy = policy("coding-agent");
    assert_eq!(
        ask(&policy, "Bash", &json!({ "command": "git status", "description": "x" })).effect,
        Effect::Allow
    );
    for key in ["env", "dangerouslyDisableSandbox", "with_escalated_permissions", "sandbox", "something-new"]
    {
        let arguments = json!({ "command": "git status", key: "x" });
        assert_eq!(ask(&policy, "Bash", &arguments).effect, Effect::Hold, "{key}");
    }
    for (tool, key) in [
        ("run_shell_command", "directory"),
        ("run_shell_command", "dir_path"),
        ("bash", "workdir"),
        ("execute_command", "cwd"),
        ("Shell", "working_directory"),
    ] {
        let effect = |folder: Value| ask(&policy, tool, &json!({ "command": "ls", key: folder })).effect;
        for inside in ["src", "/srv/app", "src/../docs"] {
            assert_eq!(effect(json!(inside)), Effect::Allow, "{key} {inside}");
        }
        for outside in ["..", "/srv", "/srv/application", "/tmp/x", "~", "src/../.."] {
            assert_eq!(effect(json!(outside)), Effect::Hold, "{key} {outside}");
        }
        assert_eq!(effect(json!(["src"])), Effect::Hold, "{key}");
    }
    for arguments in [json!({}), json!({ "cmd": "git status" }), json!({ "Command": "git status" })] {
        assert_eq!(ask(&policy, "Bash", &arguments).effect, Effect::Hold, "{arguments}");
    }
    for tool in ["BASH", "mcp__x__Bash", "Bash2", "exec_command"] {
        assert_eq!(ask(&policy, tool, &json!({ "command": "git status" })).effect, Effect::Hold, "{tool}");
    }
}

#[test]
fn reading_and_editing_the_workspace_pass_and_secrets_wait() {
    let policy = policy("coding-agent");
    let file = "/srv/app/src/main.rs";
    for (tool, key) in [
        ("Read", "file_path"),
        ("read", "filePath"),
        ("read_file", "absolute_path"),
        ("read_file", "target_file"),
        ("read_file", "path"),
        ("view", "path"),
    ] {
        assert_eq!(ask(&policy, tool, &json!({ key: file })).effect, Effect::Allow, "{tool} {key}");
        for secret in [
            "/srv/app/.env",
            ".env.local",
            "/home/u/.ssh/id_rsa",
            "C:\\Users\\u\\.aws\\credentials",
            "x/server.PEM",
        ] {
            let outcome = ask(&policy, tool, &json!({ key: secret }));
            assert_eq!((outcome.effect, outcome.risk), (Effect::Hold, Risk::High), "{tool} {key} {secret}");
        }
    }
    assert_eq!(ask(&policy, "TodoWrite", &json!({ "todos": [] })).effect, Effect::Allow);
    assert_eq!(ask(&policy, "TodoWrite", &json!({ "file": "x" })).effect, Effect::Hold);
    for tool in ["Glob", "Grep", "LS", "list_dir", "glob", "grep", "codebase_search"] {
        assert_eq!(ask(&policy, tool, &json!({ "pattern": "x" })).effect, Effect::Allow, "{tool}");
    }
    for (tool, arguments) in [
        ("Grep", json!({ "pattern": "KEY", "path": "/srv/app/.env" })),
        ("Grep", json!({ "pattern": "KEY", "glob": "**/.env*" })),
        ("Glob", json!({ "pattern": "**/.env*" })),
        ("grep", json!({ "pattern": "KEY", "include": ".env" })),
        ("read_many_files", json!({ "paths": ["src", "config/.env"] })),
        ("read_many_files", json!({ "include": [".env"] })),
    ] {
        let outcome = ask(&policy, tool, &arguments);
        assert_eq!((outcome.effect, outcome.risk), (Effect::Hold, Risk::High), "{tool} {arguments}");
    }
    assert_eq!(ask(&policy, "read_many_files", &json!({ "paths": ["src/a.rs"] })).effect, Effect::Allow);
    assert_eq!(
        ask(&policy, "Grep", &json!({ "pattern": "environment", "path": "src" })).effect,
        Effect::Allow
    );
    for (tool, arguments) in [
        ("Edit", json!({ "file_path": file, "old_string": "a", "new_string": "b" })),
        ("Write", json!({ "file_path": file, "content": "x" })),
        ("write_file", json!({ "file_path": file })),
        ("edit", json!({ "filePath": file })),
        ("search_replace", json!({ "file_path": file })),
    ] {
        let outcome = ask(&policy, tool, &arguments);
        assert_eq!((outcome.effect, outcome.risk), (Effect::Allow, Risk::Low), "{tool} {arguments}");
    }
    for (tool, arguments) in [
        ("Edit", json!({ "file_path": "/srv/other/a.rs", "old_string": "a", "new_string": "b" })),
        ("Write", json!({ "file_path": file, "content": "x", "as": "root" })),
        ("Write", json!({ "content": "x" })),
        ("apply_patch", json!({ "input": "*** Begin Patch\n*** Update File: src/a.rs\n" })),
        ("Skill", json!({ "skill": "review", "args": "x" })),
        ("Write", json!({ "input": "x" })),
        ("str_replace_editor", json!({ "command": "create", "path": file })),
        ("WebFetch", json!({ "url": "https://x" })),
        ("something_new", json!({})),
    ] {
        let outcome = ask(&policy, tool, &arguments);
        assert_eq!(
            (outcome.effect, outcome.risk),
            (Effect::Hold, Risk::Medium),
            "{tool}: {:?}",
            outcome.reasons
        );
    }
    for (tool, arguments) in [
        ("Write", json!({ "file_path": "/srv/app/.git/config" })),
        ("Edit", json!({ "file_path": "/srv/app/.github/workflows/ci.yml" })),
        ("Write", json!({ "file_path": "/home/u/.bashrc" })),
        ("delete_file", json!({ "path": file })),
        ("exec_command", json!({ "cmd": "ls" })),
    ] {
        let outcome = ask(&policy, tool, &arguments);
        assert_eq!(
            (outcome.effect, outcome.risk),
            (Effect::Hold, Risk::High),
            "{tool} {arguments}: {:?}",
            outcome.reasons
        );
    }
}

#[test]
fn what_needs_nobody_passes_and_its_near_relatives_wait() {
    for text in [
        "cd src && ls -la",
        "cd /srv/app/src && git log --oneline | head -5",
        "git -C src status -s | head -3",
        "nl -ba src/a.rs | sed -n '10,20p'",
        "echo \"---\" && ls",
        "grep -n \"foo\\\\|bar$\" src/a.rs",
        "cat <<'EOF'\n$(x)\nEOF",
        "ls \\\n  -la",
    ] {
        assert!(
            crate::support::preset().allows(text),
            "{text}: {:?}",
            placet_policy::shell::analyse(text).commands()
        );
    }
    for text in [
        "cd /srv && ls",
        "cd src; cat x",
        "git -C /srv/other status",
        "nl -ba ../x",
        "cat <<EOF\n$(x)\nEOF",
        "cat > x <<'EOF'\na\nEOF",
        "bash <<'EOF'\nls\nEOF",
    ] {
        assert!(!crate::support::preset().allows(text), "{text}");
    }
}

#[test]
fn a_hook_program_that_did_not_follow_the_line_to_its_folder_lets_nothing_pass() {
    let policy = Policy::parse(placet_policy::preset("coding-agent").unwrap()).unwrap();
    let arguments = json!({ "command": "cd /srv/other && cat notes" });
    // As version 0.2.0 resolves it.
    let context =
        json!({"cwd": ROOT, "paths": {"/srv/other": "/srv/other", "notes": format!("{ROOT}/notes")}});
    for moved in [None, Some("/srv"), Some(ROOT)] {
        let mut context = context.as_object().unwrap().clone();
        context.extend(moved.map(|moved| ("moved".to_owned(), json!(moved))));
        let claims = Claims { session: "s", context: &context, risk: None, on_behalf_of: None, group: None };
        let roots = [ROOT.to_owned()];
        let outcome = policy.evaluate(&Call {
            kind: Kind::Action,
            tool: Some("Bash"),
            arguments: arguments.as_object(),
            steps: &[],
            agent: "claude",
            source: HOOK_PROGRAM,
            time: Time::from_micros(0),
            claims,
            place: Some(Place { roots: &roots, context: &context, confines: false }),
            covered: placet_core::Covered::Unknown,
        });
        assert_eq!(outcome.effect, Effect::Hold, "{moved:?}");
    }
}

#[test]
fn a_command_that_waits_names_the_word_that_kept_it_from_passing() {
    let policy = Policy::parse(placet_policy::preset("coding-agent").unwrap()).unwrap();
    for (command, why) in [
        ("ls && nl --zero x", "`nl`: flag `--zero` is not in the list"),
        ("mise run lint", "`mise` is not in the list"),
        ("git push origin main", "`git push` is not in the list"),
        ("sed -n 's/a/b/p' x", "`sed` may only print lines by their number"),
        ("ls > out.txt", "the shell writes `out.txt`"),
        ("ls; cat $HOME/x", "the word is not literal: `$`, at `$HOME/x`"),
        ("cd a; ls", "it is not certain in which folder all of it runs"),
        ("find . -exec rm x", "`find`: `-exec` can run or overwrite something"),
        ("uniq a b", "`uniq` has more operands than the list says"),
    ] {
        let outcome = ask(&policy, "Bash", &json!({ "command": command }));
        assert_eq!(outcome.effect, Effect::Hold, "{command}");
        let all = outcome.reasons.join("\n");
        assert!(
            all.contains(&format!("rule `looking-commands` does not allow it: {why}")),
            "{command}: {all}"
        );
    }
    let outcome = ask(&policy, "Bash", &json!({ "command": "ls", "dangerouslyDisableSandbox": true }));
    assert!(outcome.reasons[0].contains("argument `dangerouslyDisableSandbox` is not in the list"));
}

#[test]
fn commands_to_placet_itself_wait_at_high_risk() {
    let policy = Policy::parse(placet_policy::preset("coding-agent").unwrap()).unwrap();
    for text in [
        "placet run --profile x -- ls",
        "/usr/local/bin/placet approve req_1",
        "ls; placet key new --role admin --name x",
        "env X=1 placet inbox",
        "sh -c 'placet approve x'",
    ] {
        let outcome = ask(&policy, "Bash", &json!({ "command": text }));
        assert_eq!((outcome.effect, outcome.risk), (Effect::Hold, Risk::High), "{text}");
    }
}

#[test]
fn the_text_of_a_here_document_alarms_only_where_it_could_run() {
    let policy = Policy::parse(placet_policy::preset("coding-agent").unwrap()).unwrap();
    let risk = |command: &str| ask(&policy, "Bash", &json!({ "command": command })).risk;
    assert_eq!(risk("cat > notes.md <<'EOF'\nnever run rm -rf /\nrm -rf /\nEOF"), Risk::Medium);
    assert_eq!(risk("git commit -m \"$(cat <<'EOF'\nnever run rm -rf /\nEOF\n)\""), Risk::Medium);
    assert_eq!(risk("git commit -m \"$(cat <<'EOF'\nx\nEOF\nrm -rf /)\""), Risk::Critical);
    for text in [
        "bash <<'EOF'\nrm -rf /\nEOF",
        "cat <<'EOF' | sh\nrm -rf /\nEOF",
        "cat <<EOF\n$(rm -rf /)\nEOF",
        "python3 - <<'EOF'\nrm -rf /\nEOF",
    ] {
        assert_eq!(risk(text), Risk::Critical, "{text}");
    }
}
