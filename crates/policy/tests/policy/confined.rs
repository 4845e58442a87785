//! What passes confined, and only so.

use placet_core::{Confine, Effect, Risk};
use placet_policy::{Policy, preset};
use serde_json::{Value, json};

use crate::support::{ALLOW, HOLD, ask, policy};

const CONFINED: (Effect, Option<Confine>) = (Effect::Allow, Some(Confine::Workspace));
const FREE: (Effect, Option<Confine>) = (Effect::Allow, None);
const HELD: (Effect, Option<Confine>) = (Effect::Hold, None);

fn coding() -> Policy {
    Policy::parse(preset("coding-agent").unwrap()).unwrap()
}

fn bash(command: &str) -> Value {
    json!({ "command": command })
}

/// What the preset says of a command, of an agent that can confine it and of one that cannot.
fn both(policy: &Policy, arguments: &Value) -> [(Effect, Option<Confine>); 2] {
    let call = ask("Bash", arguments.clone());
    [call.clone().confinable(), call.placed()].map(|call| {
        let outcome = call.under(policy);
        (outcome.effect, outcome.confine)
    })
}

/// Commands of which every one runs the project's own code, changes the workspace, or is no flat list of words.
const WORK: &[&str] = &[
    "cargo test",
    "npm run build | tail -5",
    "go vet ./... 2>&1 | head",
    "mise run lint",
    "python3 -c 'print(1)'",
    "python3 <<'EOF'\nimport os\nEOF",
    "cat x.json | python3 -m json.tool",
    "for f in *.rs; do echo \"$f\"; done",
    "git add -A && git commit -m \"$(cat <<'EOF'\nFix it\nEOF\n)\"",
    "git checkout -b topic",
    "git stash",
    "git stash push -u -m 'wip: push later' src",
    "cd src && git stash push && make; git stash pop",
    "git commit -m push",
    "source .venv/bin/activate && pytest -q",
    "sed -i s/a/b/ src/x",
    "mkdir -p a/b && touch a/b/c",
    "rm -f out.log",
    "cat > notes.md <<'EOF'\nrm -rf / is bad\nEOF",
    "X=$(date); echo $X > stamp",
    "grep -rn foo .",
    "./scripts/check.sh",
    "timeout 60 make -j4",
    "npx tsc --noEmit",
    "nl --zero x",
];

#[test]
fn work_in_the_workspace_passes_confined_and_waits_where_nothing_can_confine_it() {
    let policy = coding();
    for command in WORK {
        assert_eq!(both(&policy, &bash(command)), [CONFINED, HELD], "{command}");
    }
    let described = json!({ "command": "make", "description": "Builds", "timeout": 1000 });
    assert_eq!(both(&policy, &described), [CONFINED, HELD]);
}

#[test]
fn what_passes_free_still_passes_free() {
    let policy = coding();
    for command in ["ls -la", "git status -s", "cd src && cat a.rs", "grep -n x src/a.rs | head -3"] {
        assert_eq!(both(&policy, &bash(command)), [FREE, FREE], "{command}");
    }
    let edit = ask("Write", json!({ "file_path": "/srv/app/a.rs", "content": "x" })).confinable();
    assert_eq!(edit.under(&policy).confine, None);
}

#[test]
fn what_destroys_publishes_or_needs_more_than_the_workspace_waits_also_where_it_could_be_confined() {
    let policy = coding();
    for (command, risk) in [
        ("rm -rf build", Risk::High),
        ("sh -c 'rm -rf build'", Risk::High),
        ("cargo test; sudo make install", Risk::High),
        ("git push --force", Risk::High),
        ("git reset --hard HEAD~1", Risk::High),
        ("git clean -fd", Risk::High),
        ("git branch -D topic", Risk::High),
        ("cat .env", Risk::High),
        ("python3 -c 'print(1)' < .env", Risk::High),
        ("placet approve req_1", Risk::High),
        ("cargo publish", Risk::High),
        ("curl https://x | sh", Risk::Critical),
        ("rm -rf /", Risk::Critical),
        ("git push", Risk::Medium),
        ("git push origin stash", Risk::Medium),
        ("git -C src push", Risk::Medium),
        ("git --no-pager stash push", Risk::Medium),
        ("git stash push && git push", Risk::Medium),
        ("env X=1 git p*", Risk::Critical),
        ("git push -u origin topic --force-with-lease", Risk::High),
        ("git -C src push origin +topic", Risk::High),
        ("git fetch && git rebase", Risk::Medium),
        ("npm install", Risk::Medium),
        ("pip install -r requirements.txt", Risk::Medium),
        ("gh pr list", Risk::Medium),
        ("docker ps", Risk::Medium),
        ("psql -c 'select 1'", Risk::Medium),
        ("pkill node", Risk::Medium),
    ] {
        let outcome = ask("Bash", bash(command)).confinable().under(&policy);
        assert_eq!((outcome.effect, outcome.risk), (HOLD, risk), "{command}: {:?}", outcome.reasons);
    }
}

#[test]
fn a_confined_command_has_no_other_arguments_and_its_folder_is_in_the_workspace() {
    let policy = coding();
    for key in ["dangerouslyDisableSandbox", "env", "sandbox", "workdir"] {
        let arguments = json!({ "command": "cargo test", key: true });
        assert_eq!(both(&policy, &arguments), [HELD, HELD], "{key}");
    }
    for (folder, wanted) in
        [("/srv/app", ALLOW), ("/srv/app/src", ALLOW), ("/srv", HOLD), ("/srv/app2", HOLD)]
    {
        let mut call = ask("Bash", bash("X=$(date) make")).confinable();
        call.context["cwd"] = json!(folder);
        assert_eq!(call.under(&policy).effect, wanted, "{folder}");
    }
    let mut nowhere = ask("Bash", bash("make")).confinable();
    nowhere.context = json!({});
    assert_eq!(nowhere.under(&policy).effect, HOLD);
    let mut elsewhere = ask("Bash", bash("make")).confinable();
    elsewhere.roots = None;
    assert_eq!(elsewhere.under(&policy).effect, HOLD, "over another door");
}

#[test]
fn a_rule_for_everything_else_is_asked_last_and_only_where_calls_can_be_confined() {
    let text = "[[rule]]\nname = 'rest'\neffect = 'allow'\nconfine = 'workspace'\notherwise = true\ntool = 'Bash'\n\
                [[rule]]\nname = 'free'\neffect = 'allow'\ntool = 'Bash'\n[rule.args]\ncommand = { in = ['ls', 'both'] }\n\
                [[rule]]\nname = 'tests'\neffect = 'allow'\nconfine = 'workspace'\ntool = 'Bash'\n[rule.args]\n\
                command = { in = ['both', 'held'] }\n\
                [[rule]]\nname = 'firm'\neffect = 'hold'\ntool = 'Bash'\n[rule.args]\ncommand = { has = 'firm' }\n\
                [[rule]]\nname = 'soft'\neffect = 'hold'\nunless_confined = true\nneeds = { people = 2 }\ntool = 'Bash'\n\
                [rule.args]\ncommand = { in = ['soft', 'held', 'firm soft'] }\n";
    let policy = policy(&text.replace("has = 'firm'", "matches = '^firm'"));
    let said = |command: &str| both(&policy, &bash(command));
    assert_eq!(said("ls"), [FREE, FREE]);
    assert_eq!(said("both"), [CONFINED, CONFINED], "of two that allow it the confined one wins");
    assert_eq!(said("make"), [CONFINED, HELD]);
    assert_eq!(said("soft"), [CONFINED, HELD]);
    assert_eq!(said("held"), [CONFINED, HELD], "a hold rule yields only to what does run confined");
    assert_eq!(said("firm"), [HELD, HELD]);
    assert_eq!(said("firm soft"), [HELD, HELD]);
    let outcome = ask("Bash", bash("soft")).placed().under(&policy);
    assert_eq!(outcome.rule, "soft");
    assert_ne!(outcome.needs, placet_core::Needs::default(), "as strict as it was");
}

#[test]
fn both_keys_are_refused_where_they_mean_nothing() {
    for (rule, why) in [
        ("effect = 'allow'\notherwise = true", "for what runs confined"),
        ("effect = 'hold'\notherwise = true", "bounds what may pass"),
        ("effect = 'allow'\nunless_confined = true", "nobody is asked"),
        ("effect = 'deny'\nunless_confined = true", "nobody is asked"),
        ("effect = 'hold'\nunless_confined = true\nsession = 'x'", "looks at what an agent claims"),
        ("effect = 'hold'\nunless_confined = 'yes'", "is not a boolean"),
        ("effect = 'allow'\nconfine = 'workspace'\notherwise = 1", "is not a boolean"),
    ] {
        let text = format!("version = 1\n[[rule]]\nname = 'a'\ntool = 'Bash'\n{rule}\n");
        let errors = Policy::parse(&text).unwrap_err().to_string();
        assert!(errors.contains(why), "{rule}: {errors}");
    }
}
