//! A restore lists the security changes that it undoes, and revokes all keys on request.

use std::{
    path::Path,
    process::{Command, Output},
};

use placet_testkit::{Program, printed_json};
use serde_json::Value;

use crate::program::binary;

fn placet(args: &[&str], paths: &[&Path]) -> Command {
    let mut command = Command::new(binary());
    command.args(args).args(paths).env_remove("PLACET_DATABASE").env_remove("PLACET_TOKEN");
    command
}

fn ran(mut command: Command) -> Output {
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// A backup, after which a reviewer's key was revoked and a person removed. The keys: admin, agent, reviewer.
fn backed_up(folder: &Path) -> [String; 3] {
    let data = folder.join("data");
    let server = Program::serve(binary(), &data, |_| {});
    let keys =
        [("admin", "root"), ("agent", "bot"), ("reviewer", "ann")].map(|(role, name)| server.key(role, name));
    ran(placet(&["backup"], &[&folder.join("monday.db"), Path::new("--data"), &data]));
    let listed = printed_json(server.command(&keys[0], &["key", "list", "--json"]));
    let items = listed.as_array().or_else(|| listed["items"].as_array()).expect("keys");
    let ann =
        items.iter().find(|key| key["name"] == "ann").and_then(|key| key["id"].as_str()).expect("ann's key");
    ran(server.command(&keys[0], &["key", "revoke", ann]));
    keys
}

fn works(server: &Program, key: &str) -> bool {
    server.command(key, &["inbox", "--json"]).output().expect("it runs").status.success()
}

#[test]
fn a_restore_lists_what_it_brings_back_with_dates() {
    let folder = tempfile::tempdir().expect("a folder");
    let [root, _, ann] = backed_up(folder.path());
    let (file, restored) = (folder.path().join("monday.db"), folder.path().join("restored"));
    let output = ran(placet(&["restore"], &[&file, Path::new("--data"), &restored]));
    let said = String::from_utf8_lossy(&output.stdout);
    for part in [
        "is undone",
        "reviewer ann, made 20",
        "agent bot, made 20",
        "ann: reviewer, last changed 20",
        "Policy:",
        "--revoke-keys",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let server = Program::serve(binary(), &restored, |_| {});
    assert!(works(&server, &ann), "this is what the list is for");

    // It is repeated until an admin has confirmed it.
    let reminded = || {
        let (_, said) = crate::recover::ready(&server);
        said["warnings"].to_string().contains("placet doctor --confirm-restore")
    };
    assert!(reminded());
    let confirm =
        |key: &str| server.command(key, &["doctor", "--confirm-restore"]).output().expect("it runs");
    assert!(!confirm(&ann).status.success(), "an admin's act");
    assert!(reminded());
    assert!(confirm(&root).status.success());
    assert!(!reminded());
    assert!(!confirm(&root).status.success(), "there is nothing more to confirm");
}

#[test]
fn a_restore_ends_all_keys_when_told_to_and_leaves_an_admin_a_way_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let keys = backed_up(folder.path());
    let (file, restored) = (folder.path().join("monday.db"), folder.path().join("restored"));
    let args = ["restore", "--json", "--revoke-keys"];
    let said: Value = printed_json(placet(&args, &[&file, Path::new("--data"), &restored]));
    let listed: Vec<&str> =
        said["keys"].as_array().expect("keys").iter().filter_map(|key| key["name"].as_str()).collect();
    assert_eq!(listed.len(), 4, "{said}");
    assert!(["bootstrap", "root", "bot", "ann"].iter().all(|name| listed.contains(name)), "{said}");
    assert_eq!(said["revoked_keys"], 4);
    assert!(said["as_of"].as_str().is_some_and(|at| at.starts_with("20")), "{said}");
    assert!(
        said["people"].as_array().expect("people").iter().all(|person| person["changed_at"].is_string()),
        "{said}"
    );
    let admin = said["admin_key"]["key"].as_str().expect("a new key").to_owned();
    let server = Program::serve(binary(), &restored, |_| {});
    for key in &keys {
        let list = server.command(key, &["key", "list", "--json"]).output().expect("it runs");
        assert!(!works(&server, key) && !list.status.success(), "a key of the backup works");
    }
    let left = printed_json(server.command(&admin, &["key", "list", "--json"]));
    drop(server);
    assert!(left.to_string().contains("revoked_at"), "{left}");
    ran(placet(&["ledger", "verify", "--data"], &[&restored]));
}
