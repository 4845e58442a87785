//! A database that cannot grow: what was acknowledged stays, what was refused is not there, and room heals it.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Output, Stdio},
};

use serde_json::Value;

struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(data: &Path, mib: u32) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_placet"))
            .args(["serve", "--listen", "127.0.0.1:0", "--set", "limits.requests_per_second=0", "--set"])
            .arg(format!("storage.max_mib={mib}"))
            .arg("--data")
            .arg(data)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let said = lines.next().expect("it says where it listens").expect("text");
        let url = said.strip_prefix("listening on ").expect("an address").to_owned();
        // Read to the end, so that the server never blocks on the pipe.
        std::thread::Builder::new()
            .name("server output".to_owned())
            .spawn(move || lines.for_each(drop))
            .expect("a thread");
        Self { child, url }
    }

    fn run(&self, key: &str, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_placet"));
        command.args(args).env("PLACET_URL", &self.url).env("PLACET_TOKEN", key).stdin(Stdio::null());
        command.output().expect("it runs")
    }

    fn key(&self, data: &Path, role: &str, name: &str) -> String {
        let data = data.to_str().expect("a plain path");
        let made = self.run("", &["key", "new", "--role", role, "--name", name, "--data", data]);
        assert!(made.status.success(), "{}", text(&made.stderr));
        text(&made.stdout).trim().to_owned()
    }

    fn pending(&self, reviewer: &str) -> usize {
        let listed = self.run(reviewer, &["--json", "inbox"]);
        assert!(listed.status.success(), "{}", text(&listed.stderr));
        let page: Value = serde_json::from_slice(&listed.stdout).expect("JSON");
        page["items"].as_array().expect("a list").len()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_full_database_refuses_with_507_loses_nothing_and_works_again_with_room() {
    let data = tempfile::tempdir().expect("a folder");
    let server = Server::start(data.path(), 1);
    let (agent, reviewer) =
        (server.key(data.path(), "agent", "bot"), server.key(data.path(), "reviewer", "ann"));
    let large = format!("{{\"text\":\"{}\"}}", "x".repeat(60_000));
    let ask = |server: &Server| {
        server
            .run(&agent, &["request", "--tool", "t", "--args", &large, "--expires-in", "1h", "--wait", "0s"])
    };

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
    assert_eq!(server.pending(&reviewer), held, "every acknowledged request is there, and no other");
    drop(server);

    let verified = Command::new(env!("CARGO_BIN_EXE_placet"))
        .args(["ledger", "verify", "--data"])
        .arg(data.path())
        .output()
        .expect("it runs");
    assert!(verified.status.success(), "{}{}", text(&verified.stdout), text(&verified.stderr));

    let server = Server::start(data.path(), 8);
    assert_eq!(server.pending(&reviewer), held);
    let asked = ask(&server);
    assert!(!text(&asked.stderr).contains("disk"), "{}", text(&asked.stderr));
    assert_eq!(server.pending(&reviewer), held + 1);
}
