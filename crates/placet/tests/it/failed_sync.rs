//! A disk that fails to sync: the store stops and says so. What was acknowledged is there after a restart.

use std::{os::unix::fs::PermissionsExt as _, path::Path};

use placet_testkit::{Program, command_line, printed_json};

use crate::program::{binary, found};

/// A program like the real one, whose syncs fail from the fortieth of each thread on.
fn on_a_failing_disk(folder: &Path) -> &'static str {
    let script = folder.join("placet");
    let strace = "exec strace -D -f --seccomp-bpf -qq -o /dev/null -e trace=fsync,fdatasync -e inject=fsync,fdatasync:error=EIO:when=40+";
    std::fs::write(&script, format!("#!/bin/sh\n{strace} '{}' \"$@\"\n", binary())).expect("written");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("executable");
    Box::leak(script.display().to_string().into_boxed_str())
}

#[test]
fn a_failed_sync_stops_the_server_and_loses_nothing_that_was_acknowledged() {
    let (data, folder) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let mut server = Program::serve(on_a_failing_disk(folder.path()), data.path(), |_| {});
    let url = format!("http://{}", server.address());
    let (agent, reviewer) = (server.key("agent", "bot"), server.key("reviewer", "ann"));
    let ask = || {
        let args = ["request", "--tool", "t", "--args", "{}", "--expires-in", "1h", "--wait", "0s"];
        command_line(binary(), &url, &agent, &args).output().expect("it runs")
    };
    let acknowledged = (0..200).take_while(|_| ask().status.code() == Some(6)).count();
    assert!((1..200).contains(&acknowledged), "{acknowledged} were acknowledged");
    found("the server to end by itself", || server.has_ended().then_some(()));
    assert_ne!(ask().status.code(), Some(6), "nothing is acknowledged any more");
    drop(server);

    let server = Program::serve(binary(), data.path(), |_| {});
    let page = printed_json(server.command(&reviewer, &["--json", "inbox", "--limit", "250"]));
    let there = page["items"].as_array().expect("a list").len();
    assert!(there >= acknowledged, "{acknowledged} were acknowledged, {there} are there");
}
