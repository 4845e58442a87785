//! The stories of `placet demo`, played by the real program without time to read, and what they leave in the ledger.

use std::{
    path::Path,
    process::{Command, Output},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::binary;

fn placet(args: &[&str]) -> Output {
    Command::new(binary())
        .args(args)
        .env_remove("PLACET_TOKEN")
        .env_remove("PLACET_URL")
        .env_remove("PLACET_DATABASE")
        .output()
        .expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Plays a story. Returns its figures, and its data.
fn play(story: &str) -> (Value, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let kept = data.to_str().expect("text");
    let played = placet(&["--json", "demo", story, "--fast", "--port", "0", "--keep", kept]);
    assert!(played.status.success(), "{}{}", text(&played.stdout), text(&played.stderr));
    let ended: Value = serde_json::from_slice(&played.stdout).expect("one line of JSON");
    assert_eq!((&ended["event"], &ended["story"]), (&json!("ended"), &json!(story)));
    let reading = ended["reading_seconds"].as_u64().expect("seconds");
    assert!((20..170).contains(&reading), "{story} takes {reading} s to read");
    let verified = verified(&data);
    let states = ended["states"].as_object().expect("states");
    let requests: u64 = states.values().filter_map(Value::as_u64).sum();
    assert_eq!((&verified["ok"], &verified["requests"]), (&json!(true), &json!(requests)), "{ended}");
    (ended, folder)
}

fn verified(data: &Path) -> Value {
    let output = placet(&["--json", "ledger", "verify", "--data", data.to_str().expect("text")]);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

#[test]
fn the_day_of_a_coding_agent_asks_for_some_calls_and_not_for_most() {
    let (ended, _folder) = play("day");
    let count = |name: &str| ended["counts"][name].as_u64().expect("a number");
    assert_eq!(count("passed") + count("approved") + count("denied"), count("calls"));
    assert!(count("passed") > count("approved") + count("denied"), "{ended}");
    // What ran was reported, and what was denied was not run.
    let states = &ended["states"];
    assert_eq!(states["succeeded"], json!(count("passed") + count("approved")), "{ended}");
    assert_eq!(states["denied"], json!(count("denied")), "{ended}");
}

#[test]
fn the_payment_is_made_once_although_its_agent_starts_three_times() {
    let (ended, _folder) = play("payment");
    assert_eq!(ended["counts"], json!({"starts": 3, "payments": 1, "yes": 2, "requests": 1}));
    assert_eq!(ended["states"], json!({"succeeded": 1}));
}

#[test]
fn no_attack_of_the_row_works() {
    let (ended, _folder) = play("attack");
    assert_eq!(ended["counts"]["worked"], json!(0));
    assert!(ended["counts"]["attacks"].as_u64().is_some_and(|attacks| attacks >= 12), "{ended}");
    assert_eq!(ended["states"], json!({"succeeded": 1, "denied": 2}));
}

#[test]
fn a_story_in_words_ends_with_what_to_look_at() {
    let played = placet(&["demo", "payment", "--fast", "--port", "0"]);
    let said = text(&played.stdout);
    assert!(played.status.success() && said.contains("What to look at"), "{said}{}", text(&played.stderr));
    assert!(said.contains("12,500") && said.contains("SIGKILL"), "{said}");
}
