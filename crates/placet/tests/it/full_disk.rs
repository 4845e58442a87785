//! A database that cannot grow: acknowledged writes stay, refused ones are absent, and free space fixes it.

use std::{path::Path, process::Command};

use placet_testkit::{Program, printed_json};

use crate::program::binary;

fn serve(data: &Path, mib: u32) -> Program {
    Program::serve(binary(), data, |command| {
        let most = format!("storage.max_mib={mib}");
        command.args(["--set", "limits.requests_per_second=0", "--set", &most]);
    })
}

fn pending(server: &Program, reviewer: &str) -> usize {
    let page = printed_json(server.command(reviewer, &["--json", "inbox"]));
    page["items"].as_array().expect("a list").len()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_full_database_refuses_with_507_loses_nothing_and_works_again_with_room() {
    let data = tempfile::tempdir().expect("a folder");
    let server = serve(data.path(), 1);
    let (agent, reviewer) = (server.key("agent", "bot"), server.key("reviewer", "ann"));
    let large = format!("{{\"text\":\"{}\"}}", "x".repeat(60_000));
    let asked = ["request", "--tool", "t", "--args", &large, "--expires-in", "1h", "--wait", "0s"];
    let ask = |server: &Program| server.command(&agent, &asked).output().expect("it runs");

    let mut held = 0;
    let refused = loop {
        let asked = ask(&server);
        if text(&asked.stderr).contains("disk") {
            break asked;
        }
        held += 1;
        assert!(held < 40, "1 MiB never filled up: {}", text(&asked.stderr));
    };
    assert!(held > 2, "some fit: {held}");
    assert_ne!(refused.status.code(), Some(0));
    assert_eq!(pending(&server, &reviewer), held, "every acknowledged request is there, and no other");
    drop(server);

    let verified = Command::new(binary())
        .args(["ledger", "verify", "--data"])
        .arg(data.path())
        .output()
        .expect("it runs");
    assert!(verified.status.success(), "{}{}", text(&verified.stdout), text(&verified.stderr));

    let server = serve(data.path(), 8);
    assert_eq!(pending(&server, &reviewer), held);
    let asked = ask(&server);
    assert!(!text(&asked.stderr).contains("disk"), "{}", text(&asked.stderr));
    assert_eq!(pending(&server, &reviewer), held + 1);
}
