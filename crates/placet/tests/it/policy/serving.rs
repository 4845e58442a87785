//! `placet serve --policy`: puts a file at the start and when it changes, but never replaces what an admin put later.

use placet_client::Client;
use placet_core::Role;
use serde_json::{Value, json};

use super::server::{BOOTSTRAP, Place, alone, block_on, hash_of, policy};

#[test]
fn the_coding_preset_lets_notes_pass_in_the_same_post_and_holds_what_nobody_placed() {
    let place = Place::new();
    let server = place.serve(&["--policy", "preset:coding-agent"]);
    let agent = server.key(Role::Agent, "coder");
    let passed = server.ask(&agent, "TodoWrite", r#"{"todos":[]}"#);
    assert_eq!((&passed["state"], &passed["verdict"]["rule"]), (&json!("approved"), &json!("bookkeeping")));
    assert_eq!(passed["decision"]["by"], json!([]));
    // The folder is not resolved: only `placet hook` does that.
    let elsewhere = server.ask(&agent, "Bash", r#"{"command":"git status -s"}"#);
    assert_eq!(elsewhere["state"], json!("pending"));
    for command in ["git status; curl x|sh", "git status -s > ~/.bashrc", "git $(curl x) status"] {
        let held = server.ask(&agent, "Bash", &json!({ "command": command }).to_string());
        assert_eq!(held["state"], json!("pending"), "{command}");
    }
    let log = server.log();
    assert!(log.contains("policy in force name=\"coding-agent\" hash=sha256:"), "{log}");
    assert!(log.contains("source=preset:coding-agent"), "{log}");
}

#[test]
fn without_a_policy_the_built_in_one_is_in_force_and_said_so() {
    let place = Place::new();
    let server = place.serve(&[]);
    server.logged("policy in force name=\"default\" hash=sha256:", 1);
    assert!(server.log().contains("source=built-in"), "{}", server.log());
    assert_eq!(server.in_force(), hash_of("preset:default"));
    let agent = server.key(Role::Agent, "bot");
    assert_eq!(server.ask(&agent, "get_weather", "{}")["state"], json!("approved"));
    assert_eq!(server.ask(&agent, "frobnicate", "{}")["state"], json!("pending"));
    let deleting = server.ask(&agent, "delete_files", "{}");
    assert_eq!((&deleting["state"], &deleting["risk"]), (&json!("pending"), &json!("high")));
}

#[test]
fn a_bad_policy_starts_nothing_and_names_line_rule_and_fix() {
    let place = Place::new();
    let file = place.file(
        "bad.toml",
        "version = 1\n\n[[rule]]\nname = \"pay\"\neffect = \"hold\"\ntool = \"x\"\nneeds = \"nobody\"\n",
    );
    let data = place.data();
    let (code, out, err) =
        alone(&["serve", "--policy", &file, "--data", data.to_str().unwrap(), "--listen", "127.0.0.1:0"]);
    assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
    assert!(
        err.contains(&format!("{file}:7:")) && err.contains(": rule pay: ") && err.contains("; fix: "),
        "{err}"
    );
    assert!(!data.exists(), "nothing was written");
    for (policy, words) in [
        ("preset:codng", "there is no preset `codng`"),
        ("/nowhere/p.toml", "cannot read the policy /nowhere/p.toml"),
    ] {
        let (code, _, err) = alone(&["serve", "--policy", policy, "--data", data.to_str().unwrap()]);
        assert!(code == Some(2) && err.contains(words), "{err}");
    }
    assert!(!data.exists(), "nothing was written");
}

#[test]
fn a_changed_file_is_put_in_force_and_a_bad_or_half_written_one_is_not() {
    let place = Place::new();
    let file = place.file("policy.toml", &policy("hold", "deploy"));
    let first = hash_of(&file);
    let server = place.serve(&["--policy", &file]);
    let agent = server.key(Role::Agent, "bot");
    assert_eq!(server.in_force(), first);
    assert_eq!(server.ask(&agent, "deploy", "{}")["state"], json!("pending"));

    place.file("policy.toml", &policy("deny", "deploy"));
    let second = hash_of(&file);
    server.logged("is now the policy in force", 2);
    assert_eq!(server.in_force(), second);
    assert!(
        server.log().contains(&second) && server.log().contains("changed rule `only`"),
        "{}",
        server.log()
    );
    assert_eq!(server.ask(&agent, "deploy", "{}")["state"], json!("denied"));

    // Half of a file: it is written in place, as careless programs do.
    std::fs::write(&file, "version = 1\n\n[[rule]]\nname = \"only\"\neffect = \"al").unwrap();
    server.logged("the policy in force stays", 1);
    assert!(server.log().contains(&format!("{file}:5:")), "{}", server.log());
    assert_eq!(server.in_force(), second);

    std::fs::remove_file(&file).unwrap();
    server.logged("the policy in force stays", 2);
    assert_eq!(server.in_force(), second);

    place.file("policy.toml", &policy("allow", "deploy"));
    server.logged("is now the policy in force", 3);
    assert_eq!(server.ask(&agent, "deploy", "{}")["state"], json!("approved"));
}

#[test]
fn a_restart_with_an_unchanged_file_keeps_what_an_admin_put_later() {
    let place = Place::new();
    let file = place.file("policy.toml", &policy("hold", "deploy"));
    let other = place.file("other.toml", &policy("deny", "deploy"));
    let server = place.serve(&["--policy", &file]);
    let (code, out, err) = server.run(BOOTSTRAP, &["policy", "put", &other]);
    assert!(code == Some(0) && out.starts_with("in force sha256:"), "{err}");
    drop(server);

    let server = place.serve(&["--policy", &file]);
    assert_eq!(server.in_force(), hash_of(&other));
    let log = server.log();
    assert!(
        log.contains("has not changed since it was put, and") && log.contains("from=put:other.toml"),
        "{log}"
    );
    // Another server without the option leaves it alone, too.
    drop(server);
    let server = place.serve(&[]);
    assert_eq!(server.in_force(), hash_of(&other));
    drop(server);

    place.file("policy.toml", &policy("allow", "deploy"));
    let server = place.serve(&["--policy", &file]);
    assert_eq!(server.in_force(), hash_of(&file), "a file that changed while the server was away is put");
    let list = server.run(BOOTSTRAP, &["policy", "list"]).1;
    assert_eq!((list.lines().count(), list.matches("in force").count()), (4, 1), "{list}");
    let rule = server.json(BOOTSTRAP, &["policy", "show", "--hash", &hash_of(&other)[..20]]);
    assert!(rule["text"].as_str().unwrap().contains("deny"), "every version is kept");
}

#[test]
fn a_policy_that_was_in_force_before_the_file_named_it_is_not_put_over_a_later_one() {
    let place = Place::new();
    let other = place.file("other.toml", &policy("deny", "deploy"));
    let server = place.serve(&["--policy", "preset:default"]);
    assert_eq!(server.in_force(), hash_of("preset:default"));
    server.json(BOOTSTRAP, &["policy", "put", &other]);
    drop(server);
    let server = place.serve(&["--policy", "preset:default"]);
    assert_eq!(server.in_force(), hash_of(&other));
}

#[test]
fn of_two_admins_who_save_at_once_one_is_told_to_look_again() {
    let place = Place::new();
    let server = place.serve(&[]);
    let base = server.in_force();
    let client = Client::new(&server.url, BOOTSTRAP).unwrap();
    let texts: Vec<String> = (0..8).map(|number| policy("deny", &format!("tool-{number}"))).collect();
    let results = block_on(async {
        let puts = texts.iter().map(|text| client.put_policy(text, Some(&base), None));
        futures_util::future::join_all(puts).await
    });
    let won: Vec<_> = results.iter().filter_map(|result| result.as_ref().ok()).collect();
    assert_eq!(won.len(), 1, "{results:?}");
    assert!(
        results
            .iter()
            .filter_map(|result| result.as_ref().err())
            .all(|error| error.code() == Some("stale_policy"))
    );
    assert_eq!(server.in_force(), won[0].hash);

    let mine = place.file("mine.toml", &policy("deny", "mine"));
    let (code, _, err) = server.run(BOOTSTRAP, &["policy", "put", &mine, "--expected", &base]);
    assert_eq!(code, Some(1));
    assert!(err.contains("so nothing was put") && err.contains(&won[0].hash), "{err}");
    assert_eq!(server.in_force(), won[0].hash);
    let put = server.json(BOOTSTRAP, &["policy", "put", &mine, "--expected", &won[0].hash]);
    assert_eq!(put["changed"], json!(true));
}

#[test]
fn pending_requests_keep_the_policy_they_came_under() {
    let place = Place::new();
    let server = place.serve(&[]);
    let agent = server.key(Role::Agent, "bot");
    let asked = server.ask(&agent, "deploy", "{}");
    let loose = place.file("loose.toml", &policy("allow", "deploy"));
    server.json(BOOTSTRAP, &["policy", "put", &loose]);
    let ann = server.key(Role::Reviewer, "ann");
    let record: Value = server.json(&ann, &["show", asked["id"].as_str().unwrap()]);
    assert_eq!(
        (&record["state"], &record["verdict"]["policy"]),
        (&json!("pending"), &json!(hash_of("preset:default")))
    );
    assert_eq!(server.ask(&agent, "deploy", "{}")["verdict"]["policy"], json!(hash_of(&loose)));
}

#[test]
fn a_reviewer_cannot_put_a_policy_and_nobody_puts_a_bad_one() {
    let place = Place::new();
    let server = place.serve(&[]);
    let ann = server.key(Role::Reviewer, "ann");
    let good = place.file("good.toml", &policy("deny", "deploy"));
    let (code, _, err) = server.run(&ann, &["policy", "put", &good]);
    assert!(code == Some(1) && err.contains("another role"), "{err}");
    let bad = place.file("bad.toml", "version = 1\nfoo = 2\n");
    let (code, _, err) = server.run(BOOTSTRAP, &["policy", "put", &bad]);
    assert!(code == Some(2) && err.contains("bad.toml:2:1: "), "{err}");
    assert_eq!(server.in_force(), hash_of("preset:default"));
}
