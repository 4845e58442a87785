//! Ways to a secret, or out of the workspace, on which the file is not called by its name.

use placet_core::Risk;
use placet_policy::{Policy, preset};
use serde_json::{Value, json};

use crate::support::{ALLOW, HOLD, ask};

fn coding() -> Policy {
    Policy::parse(preset("coding-agent").unwrap()).unwrap()
}

#[track_caller]
fn waits(policy: &Policy, tool: &str, arguments: &Value) {
    let outcome = ask(tool, arguments.clone()).placed().under(policy);
    assert_eq!(outcome.effect, HOLD, "{tool} {arguments}: {:?}", outcome.reasons);
}

#[track_caller]
fn passes(policy: &Policy, tool: &str, arguments: &Value) {
    let outcome = ask(tool, arguments.clone()).placed().under(policy);
    assert_eq!(outcome.effect, ALLOW, "{tool} {arguments}: {:?}", outcome.reasons);
}

#[test]
fn a_pattern_that_a_secret_may_fit_waits_where_files_are_read() {
    let policy = coding();
    for pattern in [
        "{.env,x}",
        "{x,.{env,foo}}",
        ".[e]nv",
        ".[!x]nv",
        ".[[:alpha:]]nv",
        ".e\\nv",
        "?env",
        ".e@(nv|x)",
        ".(env|x)",
        "*.env",
        "**/*.ENV",
        "**/.e*",
        ".*",
        "*",
        "**",
        "**/*",
        "src/**",
        "*.json",
        "*.{rs,pem}",
        "*.p?m",
        "id_*",
        "secrets/*",
        "secrets/*.rs",
        ".docker/*",
        "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}.rs",
        &format!("{}*.rs", "a".repeat(300)),
    ] {
        waits(&policy, "Grep", &json!({ "pattern": "x", "glob": pattern }));
        waits(&policy, "grep", &json!({ "pattern": "x", "include": pattern }));
        waits(&policy, "search_files", &json!({ "path": "src", "regex": "x", "file_pattern": pattern }));
        waits(&policy, "grep_search", &json!({ "query": "x", "includePattern": pattern }));
        waits(&policy, "read_many_files", &json!({ "paths": [pattern] }));
        waits(&policy, "read_many_files", &json!({ "include": ["src/a.rs", pattern] }));
    }
    for pattern in [
        "*.rs",
        "**/*.{ts,tsx}",
        "*_test.go",
        "hooks*.go",
        "src/**/*.rs",
        "**/!(*.test|*_test).go",
        "*.md",
        "package.json",
        "**/config.json",
        "tests/[a-z]*.py",
        ".gitignore",
    ] {
        passes(&policy, "Grep", &json!({ "pattern": "x", "glob": pattern }));
        passes(&policy, "read_many_files", &json!({ "include": [pattern] }));
    }
    // Names alone are no secret, as long as they are not asked for.
    for pattern in ["**/*", "*", "src/**/*.json", "**/*.{json,yml}", ".*"] {
        passes(&policy, "Glob", &json!({ "pattern": pattern }));
    }
    for pattern in ["{.env,x}", ".[e]nv", "*.env", ".en?"] {
        waits(&policy, "Glob", &json!({ "pattern": pattern }));
    }
    passes(&policy, "Grep", &json!({ "pattern": "PRIVATE" }));
    passes(&policy, "Grep", &json!({ "pattern": "PRIVATE", "path": "src", "exclude": "*" }));
    passes(&policy, "Read", &json!({ "file_path": "app/[id]/(group)/[...slug].tsx" }));
}

#[test]
fn a_folder_of_secrets_is_not_searched() {
    let policy = coding();
    for folder in [".git", "/srv/app/.git", "secrets", "deploy/secrets/", ".docker", ".envs"] {
        waits(&policy, "Grep", &json!({ "pattern": "x", "path": folder }));
        waits(&policy, "Bash", &json!({ "command": format!("rg -n x {folder}") }));
    }
    waits(&policy, "Bash", &json!({ "command": "git grep x -- secrets" }));
    waits(&policy, "Bash", &json!({ "command": "cd secrets && rg x" }));
    passes(&policy, "Bash", &json!({ "command": "find . -path ./.git -prune -o -name x -print" }));
    passes(&policy, "Bash", &json!({ "command": "ls -la .git" }));
    let mut link = ask("Grep", json!({ "pattern": "x", "path": "docs" })).placed();
    link.context["paths"]["docs"] = json!("/srv/app/.git");
    assert_eq!(link.under(&policy).effect, HOLD, "a link to it");
}

#[test]
fn git_is_given_no_pattern_that_a_secret_may_fit() {
    let policy = coding();
    for word in [
        "':(top).env'",
        "':(icase).ENV'",
        "':(glob,icase)**/.E*'",
        ":/.env",
        "':(top)secrets/x'",
        "'.[e]nv'",
        "'*.env'",
        "'*'",
        "'*.pem'",
        "'*env*'",
        "'.e\\nv'",
    ] {
        for command in ["git grep x --", "git diff --", "git log -p --", "git show HEAD --"] {
            waits(&policy, "Bash", &json!({ "command": format!("{command} {word}") }));
        }
    }
    for command in [
        "git grep -n PRIVATE",
        "git diff -- '*.rs'",
        "git log -p -- src/a.rs",
        "git diff HEAD~1",
        "git log --oneline main~3",
        "git grep 'a.*b'",
    ] {
        passes(&policy, "Bash", &json!({ "command": command }));
    }
}

#[test]
fn a_pattern_that_reads_no_secret_is_no_high_risk() {
    let policy = coding();
    let risk = |command: &str| ask("Bash", json!({ "command": command })).placed().under(&policy).risk;
    for command in
        ["git branch --list 'entire/*'", "git tag -l '*env*'", "grep -n 'func.*saveState' src/*.go"]
    {
        assert_eq!(risk(command), Risk::Medium, "{command}");
    }
    for command in ["git grep x -- '*.env'", "grep -n x src/*.go .env"] {
        assert!(risk(command) >= Risk::High, "{command}");
    }
}

#[test]
fn what_is_searched_for_names_no_file() {
    let policy = coding();
    for command in [
        "rg -n process.env src",
        "rg 'process\\.env' src",
        "grep -n credentials src/a.rs",
        "git grep -n '.env'",
        "rg PRIVATE",
        "rg -t rust -A 3 secrets src",
    ] {
        passes(&policy, "Bash", &json!({ "command": command }));
    }
    for command in
        ["rg x .env", "grep -e x .env", "rg --files .env", "grep x src/a.rs .env", "rg -f .env x", "cat .env"]
    {
        waits(&policy, "Bash", &json!({ "command": command }));
    }
}

#[test]
fn braces_and_classes_do_not_lead_out_of_the_workspace() {
    let policy = coding();
    for pattern in [
        ".{.,}/*.rs",
        "{/etc,x}/*.rs",
        "{~,x}/a.rs",
        "src/{a,.{.,}/../..}/x.rs",
        "{.,src}{./,}/x.rs",
        ".[.]/x.rs",
        "[!a][!a]/x.rs",
        "@(..|x)/a.rs",
        ".(.|x)/a.rs",
    ] {
        waits(&policy, "Glob", &json!({ "pattern": pattern }));
        waits(&policy, "Grep", &json!({ "pattern": "x", "glob": pattern }));
        waits(&policy, "read_many_files", &json!({ "paths": [pattern] }));
    }
    for command in ["ls '{/etc,x}/a'", "ls '.{.,}/a'", "ls {/etc,x}", "cat .{.,}/x", "fd -g '{/etc,x}/*'"] {
        waits(&policy, "Bash", &json!({ "command": command }));
    }
    // What each reading leads to counts.
    let mut link = ask("Glob", json!({ "pattern": "{out,src}/*.rs" })).placed();
    assert_eq!(link.under(&policy).effect, ALLOW);
    link.context["paths"]["out/*.rs"] = json!("/srv/other/*.rs");
    assert_eq!(link.under(&policy).effect, HOLD);
    link.context["paths"].as_object_mut().unwrap().remove("out/*.rs");
    assert_eq!(link.under(&policy).effect, HOLD, "nobody resolved it");
}

#[test]
fn more_names_are_secret() {
    let policy = coding();
    for name in [
        "production.env",
        ".env~",
        ".env-prod",
        ".env_old",
        ".envs/web",
        ".dev.vars",
        "prod.tfvars.json",
        "kubeconfig",
        "dev.kubeconfig",
        "secrets/db",
        "config/secrets/db.yml",
        ".secret",
        ".secrets",
        ".secrets.toml",
        ".vault_pass",
        ".vault_pass.txt",
        "local.settings.json",
        "auth.json",
        ".git/config",
        ".git/config.worktree",
        ".git/modules/x/config",
        "~/.local/share/fish/fish_history",
        "~/.sqlite_history",
        "~/.zsh_history",
        ".env.example",
    ] {
        let outcome = ask("Read", json!({ "file_path": name })).placed().under(&policy);
        assert_eq!((outcome.effect, outcome.risk), (HOLD, Risk::High), "{name}: {:?}", outcome.reasons);
        waits(&policy, "Bash", &json!({ "command": format!("cat '{name}'") }));
    }
    for name in
        ["environment.ts", "src/env.rs", ".git/HEAD", "src/secrets_of/x.rs", "history.md", "oauth.json.md"]
    {
        passes(&policy, "Read", &json!({ "file_path": name }));
    }
}

#[test]
fn a_folder_counts_only_for_a_tool_that_runs_in_it() {
    let policy = coding();
    for (tool, key) in [
        ("run_shell_command", "directory"),
        ("run_shell_command", "dir_path"),
        ("bash", "workdir"),
        ("shell", "workdir"),
        ("Shell", "working_directory"),
        ("execute_command", "cwd"),
    ] {
        passes(&policy, tool, &json!({ "command": "ls", key: "src" }));
        waits(&policy, tool, &json!({ "command": "ls", key: "/srv" }));
    }
    for (tool, key) in [
        ("run_shell_command", "cwd"),
        ("run_shell_command", "workdir"),
        ("bash", "cwd"),
        ("Bash", "cwd"),
        ("Bash", "working_directory"),
        ("shell", "directory"),
        ("run_in_terminal", "cwd"),
        ("execute_command", "workdir"),
    ] {
        let mut call = ask(tool, json!({ "command": "cat x", key: "/srv/app" })).placed_in("/etc");
        // As an older hook program resolves it.
        call.context["cwd"] = json!("/srv/app");
        call.context["paths"] = json!({ "x": "/srv/app/x" });
        assert_eq!(call.under(&policy).effect, HOLD, "{tool} {key}");
    }
}

#[test]
fn a_date_opens_no_file() {
    let policy = coding();
    for command in [
        "date -d 'TZ=\"/etc/shadow\" now'",
        "date -d'TZ=\"../x\" now'",
        "date --date='TZ=\":/srv/x\" 1 day'",
        "date --date ' TZ=\"x\"'",
        "date -ud 'TZ=\"x\"'",
    ] {
        waits(&policy, "Bash", &json!({ "command": command }));
    }
    passes(&policy, "Bash", &json!({ "command": "date -d '2 days ago' +%F" }));
}

#[test]
fn a_path_inside_another_argument_counts() {
    let policy = coding();
    let edit = |inner: Value| json!({ "file_path": "src/a.rs", "edits": [inner] });
    for inner in [
        json!({ "newPath": "/etc/x" }),
        json!({ "newPath": "../x y" }),
        json!({ "rename_to": "/srv/other/x" }),
        json!({ "somewhere": "/srv/other/x" }),
        json!({ "deep": [{ "er": { "target": "../../x" } }] }),
        json!({ "newPath": ".git/hooks/pre-commit" }),
        json!({ "somewhere": ".git/hooks/pre-commit" }),
        json!({ "newPath": ["a", ".env"] }),
    ] {
        waits(&policy, "MultiEdit", &edit(inner.clone()));
        waits(&policy, "edit", &edit(inner));
    }
    let mut link = ask("MultiEdit", edit(json!({ "somewhere": "out" }))).placed();
    link.context["paths"]["out"] = json!("/srv/other");
    assert_eq!(link.under(&policy).effect, HOLD, "a link");
    for inner in [
        json!({ "old_string": "/etc/x", "new_string": "../y", "replace_all": true }),
        json!({ "oldText": "/etc/x", "newText": ".env" }),
        json!({ "newPath": "src/b.rs" }),
    ] {
        passes(&policy, "MultiEdit", &edit(inner));
    }
    let todos = json!({ "todos": [{ "content": "Edit a/.env", "status": "pending", "activeForm": "Editing a/.env" }] });
    passes(&policy, "TodoWrite", &todos);
}

#[test]
fn names_that_a_file_system_takes_for_others_count_as_those() {
    let policy = coding();
    for path in [
        ".g\u{200c}it/config",
        ".git\u{feff}/hooks/x",
        ".git./hooks/x",
        ".git /hooks/x",
        ".GIT/hooks/x",
        "git~1/hooks/x",
        "GIT~1/hooks/x",
        ".hu\u{17f}ky/pre-commit",
        "Ma\u{212a}efile",
        "CLAUDE.md.",
        "gitatt~1",
        "\u{ff0e}git/hooks/x",
    ] {
        waits(&policy, "Write", &json!({ "file_path": path, "content": "x" }));
    }
    for path in
        [".env.", ".env ", ".e\u{200b}nv", ".\u{17f}\u{17f}h/x", ".\u{df}h/x", "env~1", "x/server.pem. "]
    {
        waits(&policy, "Read", &json!({ "file_path": path }));
    }
    for path in ["straße/größe.rs", "docs/日本語.md", "a~b.rs", "v1.2./x.rs", "naïve.rs"] {
        passes(&policy, "Write", &json!({ "file_path": path, "content": "x" }));
    }
}
