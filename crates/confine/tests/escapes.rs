//! Attempts to get out of the confinement, each run confined and free. The attempts are in `escapes/attempts.py`.
#![cfg(target_os = "linux")]

use std::{io::Write as _, path::Path, process::Command};

use serde_json::Value;

const RUNNER: &str = env!("CARGO_BIN_EXE_confine-test");
/// With fewer attempts that have an effect where nothing confines them, the suite shows too little.
const FEWEST: usize = 150;

/// Whether this machine can confine and has what the attempts are written in; says why not.
fn possible() -> bool {
    let probe = Command::new(RUNNER).arg("probe").output().unwrap();
    if !probe.status.success() {
        say(&format!("skipped: {}", String::from_utf8_lossy(&probe.stdout)));
        return false;
    }
    let python = Command::new("python3").args(["-c", "import ctypes, mmap, pty"]).output();
    let git = Command::new("git").arg("--version").output();
    let has_both = python.is_ok_and(|output| output.status.success()) && git.is_ok();
    if !has_both {
        say("skipped: the attempts need python3 and git");
    }
    has_both
}

fn harness(mut command: Command, base: &Path, mode: &str) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/escapes/harness.py");
    let output = command.arg("-B").arg(script).arg(RUNNER).arg(base).arg(mode).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the harness failed: {told}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// For whoever reads the log of the run.
fn say(sentence: &str) {
    let _ = writeln!(std::io::stdout(), "{sentence}");
}

fn base() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// The names of the attempts for which something holds.
fn named(report: &Value, is: impl Fn(&Value) -> bool) -> Vec<String> {
    let results = report["results"].as_object().unwrap();
    results.iter().filter(|(_, result)| is(result)).map(|(name, _)| name.clone()).collect()
}

fn judge(report: &Value) {
    let got_out = named(report, |result| result["confined"] != Value::Bool(false));
    assert!(got_out.is_empty(), "got out: {got_out:?}\n{report:#}");
    // What has no effect on this machine anyway shows nothing about the confinement.
    let harmless = named(report, |result| result["free"] != Value::Bool(true));
    let count = report["results"].as_object().unwrap().len() - harmless.len();
    say(&format!("{count} attempts, none got out; not possible here: {} {harmless:?}", report["skipped"]));
    assert!(count >= FEWEST, "only {count} attempts ran");
}

#[test]
fn no_attempt_gets_out_and_each_would_have_without_confinement() {
    if !possible() {
        return;
    }
    let base = base();
    judge(&harness(Command::new("python3"), base.path(), "all"));
}

#[test]
fn no_attempt_of_a_plain_user_gets_out() {
    if std::env::var("PLACET_LONG").is_err() || !possible() {
        return;
    }
    let python = "/usr/bin/python3";
    if !rustix::process::geteuid().is_root() || !Path::new(python).exists() {
        say(&format!("skipped: this needs root, to become somebody else, and {python}"));
        return;
    }
    // Everybody must be able to reach it, which a folder of a build need not be.
    let base = tempfile::tempdir_in("/var/lib").unwrap();
    std::os::unix::fs::chown(base.path(), Some(65534), Some(65534)).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "env", "HOME=/nonexistent", python]);
    judge(&harness(command, base.path(), "all"));
}

/// The same suite with one layer left out must fail: otherwise nothing shows that the layer is there.
#[cfg(feature = "sabotage")]
mod twins {
    use super::*;

    fn notices(layer: &str, attempt: &str) {
        if !possible() {
            return;
        }
        let base = base();
        let mut command = Command::new("python3");
        command.env("PLACET_SABOTAGE", format!("confine-without-{layer}"));
        let report = harness(command, base.path(), "confined");
        let got_out = named(&report, |result| result["confined"] == Value::Bool(true));
        assert!(
            got_out.iter().any(|name| name == attempt),
            "without {layer} only these got out: {got_out:?}"
        );
    }

    #[test]
    fn a_missing_lock_on_files_is_noticed() {
        notices("landlock", "reach-fifo");
    }

    #[test]
    fn a_missing_lock_on_calls_is_noticed() {
        notices("seccomp", "io-uring");
    }

    #[test]
    fn every_other_missing_layer_is_noticed() {
        if std::env::var("PLACET_LONG").is_err() {
            return;
        }
        notices("read-only", "write-shown-chmod");
        notices("guards", "read-workspace-env");
        notices("pins", "git-folder-moved");
        notices("network", "reach-tcp");
        notices("ipc", "process-shared-memory");
        notices("cleanup", "agent-settings-new");
    }
}
