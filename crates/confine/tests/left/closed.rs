//! What a command does to the rights, the depth and the number of folders hides nothing: not from the run itself, and not from the next.

use std::{fs, process::Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::space::{Space, runner};

#[test]
fn a_folder_that_one_run_closed_is_covered_in_the_next() {
    let Some(space) = Space::of_plain_user() else { return };
    space.bare(
        "mkdir sub .git .git/hooks; echo secret > sub/.env; echo '[core]' > .git/config; touch .git/HEAD",
    );
    let (code, ..) = space.run("chmod 0311 sub .git");
    assert_eq!(code, Some(0), "it may close what is its own");
    let (_, out, said) = space.run(
        "cat sub/.env; chmod 755 sub .git; cat sub/.env; echo '[core] fsmonitor = ./x' >> .git/config; echo x > .git/hooks/x; echo done",
    );
    assert!(out.contains("done") && !out.contains("secret"), "{out}{said}");
    assert!(said.contains("sub cannot be looked into"), "{said}");
    space.bare("chmod 755 sub .git");
    assert_eq!(fs::read_to_string(space.ws().join(".git/config")).unwrap(), "[core]\n");
    assert!(!space.ws().join(".git/hooks/x").exists());
    assert_eq!(fs::read_to_string(space.ws().join("sub/.env")).unwrap(), "secret\n");
}

#[test]
fn what_appears_in_a_folder_is_removed_also_if_that_is_closed_afterwards() {
    let Some(space) = Space::of_plain_user() else { return };
    for mode in ["0311", "0400", "0000", "0600"] {
        let (code, _, said) = space.run(&format!(
            "mkdir -p sub/deep/.agent; echo x > sub/deep/.agent/settings; chmod {mode} sub/deep sub"
        ));
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains(".agent is protected and appeared"), "{mode}: {said}");
        space.bare("test \"$(stat -c %a sub)\" != 755; chmod 755 sub; chmod 755 sub/deep; test ! -e sub/deep/.agent; rm -r sub");
    }
    let (_, _, said) = space.run("mkdir .agent; echo x > .agent/settings; chmod 0311 .");
    assert!(said.contains(".agent is protected and appeared"), "{said}");
    space.bare("chmod 755 .; test ! -e .agent");
}

#[test]
fn what_was_in_a_closed_folder_before_the_run_stays() {
    let Some(space) = Space::of_plain_user() else { return };
    space.bare("mkdir -p sub/.agent .git/hooks; echo mine > sub/.agent/settings; touch .git/HEAD .git/config; chmod 0311 sub .git");
    let (code, _, said) =
        space.run("chmod 755 sub .git; mkdir -p sub/.agent; echo theirs > sub/.agent/settings; exit 0");
    assert_eq!(code, Some(0), "{said}");
    space.bare("chmod 755 sub .git; test -f .git/config; test -d .git/hooks");
    assert_eq!(fs::read_to_string(space.ws().join("sub/.agent/settings")).unwrap(), "mine\n");
}

#[test]
fn what_appears_is_removed_however_deep_and_however_many() {
    let Some(space) = Space::new() else { return };
    let deep = "mkdir .agent; echo x > .agent/settings; (i=0; while [ $i -lt 150 ]; do mkdir d && cd d; i=$((i+1)); done; mkdir .agent)";
    let (code, _, said) = space.run(deep);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("too deep") && !space.ws().join(".agent").exists(), "{said}");
    let (code, _, said) =
        space.run("rm -r d; seq -f '%g/.agent' 8300 | xargs mkdir -p; mkdir -p .agent/$(seq -s / 300)");
    assert_eq!(code, Some(0), "{}", said.lines().last().unwrap_or_default());
    assert!(!space.ws().join(".agent").exists() && !space.ws().join("8300/.agent").exists());
    let left =
        fs::read_dir(space.ws()).unwrap().flatten().filter(|entry| entry.path().join(".agent").exists());
    assert_eq!(left.count(), 0);
}

#[test]
fn a_run_does_not_wait_for_children_that_it_was_left() {
    let Some(space) = Space::new() else { return };
    // The shell becomes the runner, and its child the runner's.
    let mut command = space.program("bash");
    command.args(["-c", "sleep 600 >/dev/null 2>&1 & echo $! >&2; exec \"$@\"", "bash", runner()]);
    let output = command.args(space.words("exit 7")).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let sleep = said.lines().next().and_then(|line| line.parse().ok()).and_then(Pid::from_raw).unwrap();
    // It waits still: the run came back before its end.
    kill_process(sleep, Signal::KILL).unwrap();
    assert_eq!(output.status.code(), Some(7), "{said}");
}

#[test]
fn a_run_that_is_process_1_comes_to_an_end() {
    let Some(space) = Space::new() else { return };
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut command = space.program("unshare");
    command.args(["--pid", "--fork", "--mount-proc", runner()]);
    let output = command.args(space.words("exit 7")).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(7), "{}", String::from_utf8_lossy(&output.stderr));
}
