//! The coding-agent preset in a workspace: what passes there, what is secret wherever it is, and what runs later.

use placet_core::Risk;
use placet_policy::{Policy, preset};
use serde_json::{Value, json};

use crate::support::{ALLOW, Ask, HOLD, ask};

fn coding() -> Policy {
    Policy::parse(preset("coding-agent").unwrap()).unwrap()
}

fn bash(command: &str) -> Ask {
    ask("Bash", json!({ "command": command })).placed()
}

#[test]
fn what_happens_in_the_workspace_passes_and_nothing_else_does() {
    let policy = coding();
    let effect = |ask: Ask| ask.under(&policy).effect;
    for command in [
        "git status",
        "cat src/main.rs",
        "ls -la",
        "rg -n 'fn main' src | head -5",
        "wc -l < Cargo.toml",
        "pwd",
        "echo /etc/passwd",
    ] {
        assert_eq!(effect(bash(command)), ALLOW, "{command}");
        let plain = ask("Bash", json!({ "command": command }));
        assert_eq!(effect(plain), HOLD, "{command}: nobody resolved it");
        assert_eq!(
            effect(ask("Bash", json!({ "command": command })).placed_in("/tmp/clone")),
            HOLD,
            "{command}"
        );
    }
    let mut raw = bash("ls");
    raw.context.as_object_mut().unwrap().remove("paths");
    assert_eq!(effect(raw), HOLD, "nobody resolved the folder");
    for (field, path) in [("cwd", "/srv/app/../other"), ("cwd", "srv/app"), ("cwd", "")] {
        let mut climbing = bash("ls");
        climbing.context[field] = json!(path);
        assert_eq!(effect(climbing), HOLD, "{field} {path} is not resolved");
    }
    let mut climbing = bash("cat a.txt");
    climbing.context["paths"]["a.txt"] = json!("/srv/app/../other/a.txt");
    assert_eq!(effect(climbing), HOLD, "a path that climbs is not resolved");
    for command in [
        "cat /etc/hosts",
        "cat ../other/x",
        "ls /",
        "ls ~",
        "diff a.txt /etc/passwd",
        "cat < /etc/passwd",
        "rg x /var/log",
        "find / -name x",
        "find . -newer /etc/passwd",
        "git diff /etc/passwd x",
        "git log -L1,5:/etc/passwd",
        "stat /srv/application/x",
        "cat src/../../x",
        "grep --exclude=/x y src",
    ] {
        assert_eq!(effect(bash(command)), HOLD, "{command}");
    }
    for (tool, arguments) in [
        ("Read", json!({ "file_path": "/srv/app/src/a.rs" })),
        ("Read", json!({ "file_path": "/srv/app/[id]/page {x}.tsx", "offset": 5, "limit": 10 })),
        ("Grep", json!({ "pattern": "/etc/", "path": "src" })),
        ("Grep", json!({ "pattern": "TODO" })),
        ("Glob", json!({ "pattern": "src/**/*.rs" })),
    ] {
        assert_eq!(effect(ask(tool, arguments.clone()).placed()), ALLOW, "{tool} {arguments}");
        assert_eq!(effect(ask(tool, arguments.clone())), HOLD, "{tool} {arguments}");
        assert_eq!(
            effect(ask(tool, arguments.clone()).placed_in("/tmp")),
            HOLD,
            "{tool} {arguments} elsewhere"
        );
        let mut more = arguments.clone();
        more["an_argument_of_tomorrow"] = json!(true);
        assert_eq!(effect(ask(tool, more.clone()).placed()), HOLD, "{tool} {more}");
    }
    for (tool, arguments) in [
        ("Read", json!({ "file_path": "/srv/other/a.rs" })),
        ("Read", json!({ "file_path": "../other/a.rs" })),
        ("Grep", json!({ "pattern": "x", "path": "/home/ann" })),
        ("Glob", json!({ "pattern": "/home/ann/**" })),
        ("Glob", json!({ "pattern": "../**" })),
        ("file_search", json!({ "query": "/etc/**" })),
        ("codebase_search", json!({ "query": "x", "target_directories": ["/etc"] })),
        ("get_errors", json!({ "filePaths": ["/etc/passwd"] })),
        ("LS", json!({ "path": "/" })),
        ("read_many_files", json!({ "paths": ["src/a.rs", "/srv/other/b.rs"] })),
    ] {
        assert_eq!(effect(ask(tool, arguments.clone()).placed()), HOLD, "{tool} {arguments}");
    }
}

#[test]
fn a_call_that_waits_for_its_folder_alone_says_so() {
    let policy = coding();
    let reason = |ask: Ask| ask.under(&policy).reasons.join("; ");
    let only = "rule `looking-commands` allows it only in the folders that are open to the agent, and";
    let unknown = reason(ask("Bash", json!({ "command": "git status" })));
    assert_eq!(unknown, format!("{only} this is not known to happen there, so it waits for a person"));
    let outside = reason(ask("Bash", json!({ "command": "git status" })).placed_in("/tmp"));
    assert_eq!(outside, format!("{only} this happens elsewhere, so it waits for a person"));
    assert_eq!(reason(ask("Deploy", json!({}))), "no rule allows `Deploy`, so it waits for a person");
}

#[test]
fn git_passes_only_in_the_repository_of_the_folder_and_where_it_starts_nothing() {
    let policy = coding();
    let with = |git: Value| {
        let mut call = bash("git status");
        call.context["git"] = git;
        call.under(&policy).effect
    };
    assert_eq!(with(json!({ "repository": "/srv/app", "runs": [] })), ALLOW);
    for git in [
        json!({ "repository": "/srv/app", "runs": ["core.fsmonitor=./x"] }),
        json!({ "repository": "/srv/app/vendor/hostile", "runs": [] }),
        json!({ "repository": "/srv", "runs": [] }),
        json!({ "repository": "/tmp/bare", "runs": [] }),
        json!({ "repository": "/srv/app" }),
        json!({ "repository": 5, "runs": [] }),
        json!({ "runs": [] }),
        json!(null),
    ] {
        assert_eq!(with(git.clone()), HOLD, "{git}");
    }
    let mut none = bash("git status");
    none.context.as_object_mut().unwrap().remove("git");
    assert_eq!(none.under(&policy).effect, HOLD);
    let mut other = bash("ls");
    other.context["git"] = json!({ "repository": "/tmp", "runs": ["x"] });
    assert_eq!(other.under(&policy).effect, ALLOW, "no git runs");
}

/// Files by which people were robbed, in a home folder and elsewhere.
const SECRETS: &[&str] = &[
    "~/.kube/config",
    "~/.docker/config.json",
    "~/.config/gh/hosts.yml",
    "~/.aws/credentials",
    "~/.azure/msal_token_cache.json",
    "~/.config/gcloud/application_default_credentials.json",
    "~/.claude/.credentials.json",
    "~/.claude.json",
    "~/.codex/auth.json",
    "~/.gemini/oauth_creds.json",
    "~/.local/share/opencode/auth.json",
    "~/.config/github-copilot/apps.json",
    "~/.ssh/id_ed25519",
    "~/.bash_history",
    "~/.my.cnf",
    "~/.pgpass",
    "~/.netrc",
    "~/.npmrc",
    "~/.git-credentials",
    "~/.config/git/credentials",
    "~/.password-store/x.gpg",
    "~/.mozilla/firefox/x/logins.json",
    "~/.config/google-chrome/Default/Cookies",
    "~/Library/Keychains/login.keychain-db",
    "/run/secrets/db",
    "/run/secrets/kubernetes.io/serviceaccount/token",
    "/var/run/secrets/x",
    "/etc/shadow",
    "/proc/self/environ",
    "/proc/1/environ",
    "/proc/self/task/1/environ",
    "/proc/self/root/etc/shadow",
    "/dev/sda1",
    "config/.env",
    ".env.production",
    "deploy/server.key",
    "terraform.tfstate",
    "secrets.yaml",
    "prod.tfvars",
    "credentials.json",
];

#[test]
fn a_secret_waits_with_high_risk_for_every_tool_and_behind_every_link() {
    let policy = coding();
    let held = |ask: Ask, what: &str| {
        let outcome = ask.under(&policy);
        assert_eq!((outcome.effect, outcome.risk), (HOLD, Risk::High), "{what}: {:?}", outcome.reasons);
    };
    for secret in SECRETS {
        // In words that a shell leaves alone; `~` in quotes is no home folder to it, and is one to us.
        held(bash(&format!("cat '{secret}'")), secret);
        held(ask("Bash", json!({ "command": format!("cat {secret}") })), secret);
        for (tool, key) in [
            ("Read", "file_path"),
            ("Grep", "path"),
            ("view", "path"),
            ("mcp__files__read_text_file", "path"),
            ("Edit", "file_path"),
        ] {
            held(ask(tool, json!({ key: secret })), &format!("{tool} {secret}"));
            held(ask(tool, json!({ key: secret })).placed(), &format!("{tool} {secret} placed"));
        }
        let mut link = ask("Read", json!({ "file_path": "notes.txt" })).placed();
        link.context["paths"]["notes.txt"] = json!(secret.replace('~', "/home/ann"));
        held(link, &format!("a link to {secret}"));
    }
}

#[test]
fn folders_above_secrets_wait_also_where_they_are_a_workspace() {
    let policy = coding();
    for command in [
        "diff -rN '~' ./none",
        "git diff --no-index '~' ./empty",
        "rg '' '~/.config'",
        "rg x /home/ann",
        "ls /home",
        "du -a /root",
        "find /",
        "cat /proc/self/task/1/environ",
        "rg x /run",
        "ls /proc",
        "rg x /etc",
    ] {
        let outcome = bash(command).under(&policy);
        assert_eq!(outcome.effect, HOLD, "{command}: {:?}", outcome.reasons);
    }
    // Somebody opened all of it.
    for (folder, tool, arguments) in [
        ("/home/ann", "Grep", json!({ "pattern": "" })),
        ("/home/ann/.config", "Grep", json!({ "pattern": "" })),
        ("/home/ann/app", "Grep", json!({ "pattern": "", "path": "/home/ann" })),
        ("/home/ann/app", "Bash", json!({ "command": "rg '' .." })),
    ] {
        let mut call = ask(tool, arguments.clone()).placed_in(folder);
        call.roots = Some(vec!["/home/ann".to_owned()]);
        let outcome = call.under(&policy);
        assert_eq!(
            (outcome.effect, outcome.rule.as_str()),
            (HOLD, "above-secrets"),
            "{folder} {tool} {arguments}"
        );
    }
    let mut project = ask("Grep", json!({ "pattern": "x" })).placed_in("/home/ann/app");
    project.roots = Some(vec!["/home/ann/app".to_owned()]);
    assert_eq!(project.under(&policy).effect, ALLOW);
}

/// The preset as it would be if edits in the workspace passed.
pub(crate) fn with_edits() -> String {
    let text = preset("coding-agent").unwrap();
    let (before, rest) = text.split_once("[[rule]]\nname = \"editing\"").unwrap();
    let (_, after) = rest.split_once("[[rule]]\n").unwrap();
    let edits = "[[rule]]\nname = 'edits'\neffect = 'allow'\nunder = '@workspace'\n\
                 tool = ['Edit', 'MultiEdit', 'Write', 'apply_patch', 'write_file', 'multi_replace_string_in_file']\n";
    format!("{before}[[rule]]\n{after}\n{edits}")
}

#[test]
fn what_runs_later_is_not_written_even_where_edits_pass() {
    let policy = Policy::parse(&with_edits()).unwrap();
    let edits = |path: &str| {
        [
            ask("Write", json!({ "file_path": path, "content": "x" })),
            ask(
                "Edit",
                json!({ "file_path": format!("/srv/app/{path}"), "old_string": "a", "new_string": "b" }),
            ),
            ask(
                "apply_patch",
                json!({ "input": format!("*** Begin Patch\n*** Update File: {path}\n@@\n+x\n*** End Patch") }),
            ),
            ask(
                "apply_patch",
                json!({ "input": format!("*** Begin Patch\n*** Update File: src/a.rs\n*** Move to: {path}\n*** End Patch") }),
            ),
            ask(
                "multi_replace_string_in_file",
                json!({ "replacements": [{ "filePath": "src/a.rs" }, { "filePath": path }] }),
            ),
        ]
    };
    for path in [
        "src/main.rs",
        "README.md",
        "package.json",
        ".gitignore",
        "docs/a b.md",
        "tests/[id]/x.ts",
        "src/git.rs",
        "environment.ts",
    ] {
        for edit in edits(path) {
            assert_eq!(edit.clone().placed().under(&policy).effect, ALLOW, "{path} {edit:?}");
        }
    }
    for path in [
        ".git/config",
        ".git/hooks/pre-commit",
        "vendor/x/.git/config",
        ".git",
        ".gitattributes",
        "src/.gitattributes",
        ".gitmodules",
        ".husky/pre-commit",
        ".envrc",
        ".vscode/tasks.json",
        ".idea/workspace.xml",
        ".claude/settings.json",
        "CLAUDE.md",
        "sub/CLAUDE.md",
        "AGENTS.md",
        ".mcp.json",
        ".cursor/mcp.json",
        ".codex/config.toml",
        ".gemini/settings.json",
        "GEMINI.md",
        "opencode.json",
        ".opencode/plugin/x.js",
        ".github/workflows/ci.yml",
        ".github/hooks/placet.json",
        ".bashrc",
        ".zshrc",
        ".profile",
        "Makefile",
        "justfile",
        "Taskfile.yml",
        "mise.toml",
        ".venv/lib/x.pth",
        "lib/sitecustomize.py",
        ".GIT/config",
        ".Git/hooks/x",
        "placet-data/placet.db",
        "placet.toml",
        ".env",
        "id_rsa",
        "a/../.git/config",
        "./.git/config",
        ".vimrc",
        ".exrc",
        ".dir-locals.el",
        ".ripgreprc",
        ".pre-commit-config.yaml",
        ".devcontainer/devcontainer.json",
        ".npmrc",
        ".cargo/config.toml",
    ] {
        for edit in edits(path) {
            let outcome = edit.clone().placed().under(&policy);
            assert_eq!(
                (outcome.effect, outcome.risk),
                (HOLD, Risk::High),
                "{path} {edit:?}: {:?}",
                outcome.reasons
            );
        }
        let mut link = ask("Write", json!({ "file_path": "x.txt", "content": "" })).placed();
        link.context["paths"]["x.txt"] = json!(format!("/srv/app/{}", path.trim_start_matches("a/../")));
        assert_eq!(link.under(&policy).effect, HOLD, "a link to {path}");
    }
    for edit in [
        ask("apply_patch", json!({ "input": "no file is named here" })),
        ask("Write", json!({ "file_path": ["src/a.rs"], "content": "x", "more": { "path": 5 } })),
        ask("Write", json!({ "file_path": "/srv/other/a.rs" })),
    ] {
        assert_eq!(edit.clone().placed().under(&policy).effect, HOLD, "{edit:?}");
    }
}
