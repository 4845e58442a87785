//! Fewer prompts: grants, identical requests decided together, and edits that are previewed before they are sent.

use placet_core::Role;
use serde_json::json;

use super::server::{BOOTSTRAP, Place, policy};

#[test]
fn a_remembered_yes_covers_the_same_call_until_it_is_taken_back() {
    let place = Place::new();
    let server = place.serve(&[]);
    let (agent, ann) = (server.key(Role::Agent, "bot"), server.key(Role::Reviewer, "ann"));
    let id = |record: &serde_json::Value| record["id"].as_str().unwrap().to_owned();
    let first = server.ask(&agent, "deploy", r#"{"to":"staging"}"#);

    let (code, out, err) = server.run(
        &ann,
        &["approve", &id(&first), "--remember", "exact", "--uses", "2", "--for", "1h", "--dry-run"],
    );
    assert!(
        code == Some(0)
            && out.contains("it would be approved by ann")
            && out.contains("exactly this call of `deploy`"),
        "{out}{err}"
    );
    assert_eq!(
        server.json(&ann, &["show", &id(&first)])["state"],
        json!("pending"),
        "a dry run does nothing"
    );

    let (code, _, err) =
        server.run(&ann, &["approve", &id(&first), "--remember", "exact", "--uses", "2", "--for", "1h"]);
    assert!(
        code == Some(0) && err.contains("up to 2 times") && err.contains("exactly this call of `deploy`"),
        "{err}"
    );
    let again = server.ask(&agent, "deploy", r#"{"to":"staging"}"#);
    assert_eq!(again["state"], json!("approved"), "{again}");
    assert_eq!(server.ask(&agent, "deploy", r#"{"to":"production"}"#)["state"], json!("pending"));

    let (_, list, _) = server.run(&ann, &["grant", "list"]);
    assert!(
        list.contains("1/2") && list.contains("exact") && list.contains("exactly this call of `deploy`"),
        "{list}"
    );
    let grants = server.json(&ann, &["grant", "list"]);
    let grant = grants["items"][0]["id"].as_str().unwrap();
    assert_eq!(
        server.json(BOOTSTRAP, &["grant", "list"])["items"].as_array().unwrap().len(),
        1,
        "an admin sees all"
    );
    let ben = server.key(Role::Reviewer, "ben");
    assert_ne!(server.run(&ben, &["grant", "revoke", grant]).0, Some(0), "not ben's to take back");
    assert!(server.run(&ann, &["grant", "revoke", grant]).1.contains("no longer counts"));
    assert_eq!(server.ask(&agent, "deploy", r#"{"to":"staging"}"#)["state"], json!("pending"));
    assert_eq!(server.run(&ann, &["grant", "list"]).1, "There are no grants.\n");
    let (code, _, err) = server.run(&ann, &["grant", "revoke", "x"]);
    assert!(code == Some(2) && err.contains("placet grant list"), "{err}");
}

#[test]
fn a_yes_can_be_remembered_for_a_session_or_a_pattern_and_not_for_high_risk() {
    let place = Place::new();
    let server = place.serve(&[]);
    let (agent, ann) = (server.key(Role::Agent, "bot"), server.key(Role::Reviewer, "ann"));
    let id = |record: &serde_json::Value| record["id"].as_str().unwrap().to_owned();
    let asked = server.ask(&agent, "deploy", r#"{"to":"a","size":5}"#);
    let (code, _, err) =
        server.run(&ann, &["approve", &id(&asked), "--remember", "pattern", "--match", "size={\"max\":4}"]);
    assert!(code == Some(2) && err.contains("does not cover the call"), "{err}");
    server.json(
        &ann,
        &[
            "approve",
            &id(&asked),
            "--remember",
            "pattern",
            "--match",
            "size={\"max\":9}",
            "--match",
            "to=\"a\"",
        ],
    );
    assert_eq!(server.ask(&agent, "deploy", r#"{"to":"a","size":8}"#)["state"], json!("approved"));
    assert_eq!(server.ask(&agent, "deploy", r#"{"to":"b","size":8}"#)["state"], json!("pending"));

    let asked = server.ask(&agent, "notify", r#"{"x":1}"#);
    server.json(&ann, &["approve", &id(&asked), "--remember", "session"]);
    assert_eq!(server.ask(&agent, "notify", r#"{"x":2}"#)["state"], json!("approved"));

    let asked = server.ask(&agent, "delete_files", "{}");
    let (code, _, err) = server.run(&ann, &["approve", &id(&asked), "--remember", "exact"]);
    assert_ne!(code, Some(0), "{err}");
    assert_eq!(server.json(&ann, &["show", &id(&asked)])["state"], json!("pending"));
}

#[test]
fn another_policy_ends_what_was_remembered() {
    let place = Place::new();
    let server = place.serve(&[]);
    let (agent, ann) = (server.key(Role::Agent, "bot"), server.key(Role::Reviewer, "ann"));
    let asked = server.ask(&agent, "deploy", "{}");
    server.json(&ann, &["approve", asked["id"].as_str().unwrap(), "--remember", "exact"]);
    assert_eq!(server.ask(&agent, "deploy", "{}")["state"], json!("approved"));
    let other = place.file("other.toml", &policy("hold", "deploy"));
    server.json(BOOTSTRAP, &["policy", "put", &other]);
    assert_eq!(server.ask(&agent, "deploy", "{}")["state"], json!("pending"));
}

#[test]
fn an_edit_that_makes_things_stricter_says_so_before_it_is_sent() {
    let place = Place::new();
    let file = place.file(
        "pay.toml",
        "version = 1\n[[rule]]\nname = \"large\"\neffect = \"hold\"\ntool = \"pay\"\nrisk = \"high\"\nneeds = { people = 2 }\nreason = \"a lot\"\n[rule.args]\namount = { above = 100 }\n[[rule]]\nname = \"never\"\neffect = \"deny\"\ntool = \"pay\"\n[rule.args]\namount = { above = 1000 }\n",
    );
    let server = place.serve(&["--policy", &file]);
    let (agent, ann, ben) = (
        server.key(Role::Agent, "bot"),
        server.key(Role::Reviewer, "ann"),
        server.key(Role::Reviewer, "ben"),
    );
    let asked = server.ask(&agent, "pay", r#"{"amount":5}"#);
    let id = asked["id"].as_str().unwrap();
    let (code, out, err) = server.run(&ann, &["edit", id, "--args", r#"{"amount":7}"#, "--dry-run"]);
    assert!(code == Some(0) && out.starts_with("it would be approved with changes by ann"), "{out}{err}");
    let (code, out, err) = server.run(&ann, &["edit", id, "--args", r#"{"amount":500}"#, "--dry-run"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.starts_with("it would still wait; it needs 2 reviewers"), "{out}");
    assert!(out.contains("policy says hold of it, by rule large, risk high (stricter than now)"), "{out}");
    let (code, _, err) = server.run(&ann, &["edit", id, "--args", r#"{"amount":5000}"#, "--dry-run"]);
    assert!(code == Some(1) && err.contains("never"), "policy denies it: {err}");
    let record = server.json(&ann, &["show", id]);
    assert_eq!((&record["version"], &record["state"]), (&json!(1), &json!("pending")), "nothing was written");

    server.json(&ann, &["edit", id, "--args", r#"{"amount":500}"#]);
    let preview = server.json(&ben, &["edit", id, "--args", r#"{"amount":400}"#, "--dry-run"]);
    assert_eq!((&preview["voided"], &preview["decides"]), (&json!(["ann"]), &json!(false)));
    assert_eq!(server.json(&ben, &["approve", id])["state"], json!("approved"));
}

#[test]
fn identical_requests_are_approved_together_and_each_keeps_its_own_id() {
    let place = Place::new();
    let server = place.serve(&[]);
    let (agent, ann) = (server.key(Role::Agent, "bot"), server.key(Role::Reviewer, "ann"));
    let ask = |args: &str| server.ask(&agent, "deploy", args)["id"].as_str().unwrap().to_owned();
    let same: Vec<String> = (0..3).map(|_| ask(r#"{"to":"a"}"#)).collect();
    let other = ask(r#"{"to":"b"}"#);
    let (code, out, err) = server.run(&ann, &["approve", &same[0], "--same", "--yes"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(same.iter().all(|id| out.contains(&format!("{id} approved by ann"))), "{out}");
    assert_eq!(server.json(&ann, &["show", &other])["state"], json!("pending"));
}

#[test]
fn teams_are_set_from_the_command_line_and_count_at_once() {
    let place = Place::new();
    let file =
        place.file("teams.toml", "version = 1\n[defaults]\nneeds = { people = 1, team = \"finance\" }\n");
    let server = place.serve(&["--policy", &file]);
    let (agent, ann) = (server.key(Role::Agent, "bot"), server.key(Role::Reviewer, "ann"));
    let asked = server.ask(&agent, "deploy", "{}");
    let id = asked["id"].as_str().unwrap();
    assert_ne!(server.run(&ann, &["approve", id]).0, Some(0), "ann is in no team yet");
    let (code, out, err) =
        server.run(BOOTSTRAP, &["person", "set", "ann", "--role", "reviewer", "--team", "finance"]);
    assert!(code == Some(0) && out == "ann: reviewer; finance\n", "{out}{err}");
    let (_, list, _) = server.run(BOOTSTRAP, &["person", "list"]);
    assert!(
        list.lines()
            .any(|line| line.contains("ann") && line.contains("reviewer") && line.contains("finance")),
        "{list}"
    );
    assert_eq!(server.run(&ann, &["approve", id]).0, Some(0));
    let (code, _, err) = server.run(BOOTSTRAP, &["person", "set", "a b", "--role", "reviewer"]);
    assert!(code == Some(2) && err.contains("not a name"), "{err}");
    assert_ne!(server.run(&ann, &["person", "list"]).0, Some(0), "only for admins");
    assert_eq!(server.run(BOOTSTRAP, &["person", "remove", "ann"]).0, Some(0));
    assert_ne!(server.run(&ann, &["inbox"]).0, Some(0), "her key no longer works");
}
