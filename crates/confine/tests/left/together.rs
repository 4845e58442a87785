//! Runs at the same time in one workspace: neither takes what the other made for the user's.

use std::{fs, path::PathBuf};

use crate::space::{PROJECT, Space, begin, begin_as, records, text};

#[test]
fn what_one_run_makes_another_at_the_same_time_does_not_take_for_the_users() {
    let Some(space) = Space::new() else { return };
    space.bare("mkfifo one two");
    // The file goes on under another name, and comes back when its maker is gone.
    let mut first = begin(&space, "echo evil > .agent; echo ready; read x < one; ln .agent hold; rm .agent");
    let mut second = begin(&space, "echo ready; read x < two; mv hold .agent");
    space.bare("echo > one");
    assert!(first.wait().unwrap().success());
    space.bare("echo > two");
    second.wait().unwrap();
    assert!(!space.ws().join(".agent").exists(), "it was not there before either of them");
    assert_eq!(records(&space), Vec::<PathBuf>::new());
}

#[test]
fn a_run_in_a_folder_below_takes_nothing_of_the_user_for_another_runs() {
    let Some(space) = Space::new() else { return };
    space.bare("mkdir -p below/.agent other/.agent; mkfifo below/go; echo mine | tee below/.agent/settings other/.agent/settings .agent");
    // Of what is beside its own folder, the first run knows nothing.
    let mut first = begin_as(space.in_folder(&space.ws().join("below"), "echo ready; read x < go"));
    assert_eq!(space.run("echo ran").1, "ran\n");
    space.bare("echo > below/go");
    assert!(first.wait().unwrap().success());
    for name in ["below/.agent/settings", "other/.agent/settings", ".agent"] {
        assert_eq!(text(&space, name), "mine\n", "{name}");
    }
}

#[test]
fn a_folder_that_one_run_closed_is_looked_into_by_that_run_alone() {
    let Some(space) = Space::of_plain_user() else { return };
    space.bare(PROJECT);
    space.bare("mkfifo go; mkdir sub/.agent; echo mine > sub/.agent/settings");
    let mut first = begin(
        &space,
        "chmod 0 .git sub; echo ready; read x < go; chmod 755 .git sub; echo bad > .git/config; echo bad > sub/.agent/settings",
    );
    assert_eq!(space.run("echo ran").1, "ran\n");
    space.bare("echo > go");
    first.wait().unwrap();
    space.bare("chmod 755 .git sub");
    let now = (text(&space, ".git/config"), text(&space, "sub/.agent/settings"));
    assert_eq!(now, ("[core]\n".into(), "mine\n".into()));
}

#[test]
fn a_workspace_that_was_moved_away_during_the_run_is_noticed() {
    let Some(space) = Space::new() else { return };
    space.bare("mkdir sub; mkfifo sub/go");
    let script = "echo ready; read x < go; echo bad > .agent";
    let mut first = begin_as(space.in_folder(&space.ws().join("sub"), script));
    // Another run, around this one.
    assert_eq!(space.run("mv sub moved; mkdir sub; echo > moved/go; echo ran").1, "ran\n");
    assert_eq!(first.wait().unwrap().code(), Some(125));
    assert_eq!(space.run("echo ran").0, Some(125), "none begins around it either");
}

#[test]
fn links_are_put_back_as_the_first_of_two_runs_found_them() {
    let Some(space) = Space::new() else { return };
    space.bare("mkfifo one two; mkdir docs notes; ln -s docs .agent; ln -s docs .both");
    let mut first = begin(&space, "ln -sfn notes .agent; rm .both; echo ready; read x < one");
    let mut second = begin(&space, "echo ready; read x < two");
    space.bare("echo > one");
    first.wait().unwrap();
    space.bare("echo > two");
    second.wait().unwrap();
    for name in [".agent", ".both"] {
        assert_eq!(fs::read_link(space.ws().join(name)).unwrap(), PathBuf::from("docs"), "{name}");
    }
}

#[test]
fn a_folder_that_one_run_hands_to_another_stays_covered_when_the_first_ends() {
    let Some((heard, config)) = hand_over("") else { return };
    assert_eq!(config, "[core]\n", "{heard}");
    assert!(heard.contains("after:") && !heard.contains("secret"), "{heard}");
}

/// The same with mounts that are not locked: otherwise nothing shows that it is the locks that hold.
#[cfg(feature = "sabotage")]
#[test]
fn mounts_that_are_not_locked_are_noticed() {
    let Some((heard, config)) = hand_over("confine-without-locked-mounts") else { return };
    assert!(heard.contains("secret") && config == "bad", "{heard}");
}

/// Two runs at once: the second opens the workspace, hands it to the first and ends. What the first sees of a secret then, and git's
/// configuration.
fn hand_over(sabotage: &str) -> Option<(String, String)> {
    let space = Space::of_plain_user()?;
    space.bare(PROJECT);
    let receives = r#"
import os, socket, array, sys, time
s = socket.socket(socket.AF_UNIX); s.bind("sock"); s.listen(1); print("ready", flush=True)
c, _ = s.accept()
_, ancillary, *_ = c.recvmsg(1, socket.CMSG_SPACE(4))
fd = array.array("i", ancillary[0][2])[0]
def look():
    try: return os.read(os.open("sub/.env", os.O_RDONLY, dir_fd=fd), 99).decode()
    except OSError as error: return error.strerror
def write():
    try: os.write(os.open(".git/config", os.O_WRONLY | os.O_TRUNC, dir_fd=fd), b"bad"); return "written"
    except OSError as error: return error.strerror
print("before:", look(), write(), flush=True)
c.recv(1); c.close()
for _ in range(100):
    said = (look(), write()); time.sleep(0.02)
    if "secret" in said[0] or said[1] == "written": break
print("after:", *said, "end", flush=True)
"#;
    let sends = r#"
import os, socket, array
c = socket.socket(socket.AF_UNIX); c.connect("sock")
fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
c.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
import time; time.sleep(0.3)
"#;
    fs::write(space.ws().join("receives.py"), receives).unwrap();
    fs::write(space.ws().join("sends.py"), sends).unwrap();
    let command = |script: &str| {
        let mut command = space.command(script);
        command.env("PLACET_SABOTAGE", sabotage);
        command
    };
    let receiver = begin_as(command("exec python3 receives.py"));
    assert!(command("exec python3 sends.py").status().unwrap().success());
    let output = receiver.wait_with_output().unwrap();
    Some((String::from_utf8_lossy(&output.stdout).into_owned(), text(&space, ".git/config")))
}

#[test]
fn a_workspace_that_another_run_replaced_by_a_link_leads_no_repair_elsewhere() {
    let Some(space) = Space::new() else { return };
    let other = space.ws().with_file_name("other");
    space.bare("mkdir -p a/sub/docs ../other/sub/.agent; ln -s docs a/sub/.agent; ln -s none/agent a/sub/.both; mkfifo a/sub/go");
    space.bare("echo mine | tee ../other/sub/.agent/settings; mkdir ../other/sub/none; echo mine > ../other/sub/none/agent");
    // Without the link there is nothing in the folder that another run must keep in place.
    let mut first =
        begin_as(space.in_folder(&space.ws().join("a/sub"), "rm .agent .both; echo ready; read x < go"));
    assert_eq!(space.run("mv a b; ln -s ../other a; echo > b/sub/go; echo ran").1, "ran\n");
    assert_eq!(first.wait().unwrap().code(), Some(125));
    for file in ["sub/.agent/settings", "sub/none/agent"] {
        assert_eq!(fs::read_to_string(other.join(file)).unwrap_or_default(), "mine\n", "{file}");
    }
    assert!(fs::symlink_metadata(other.join("sub/.both")).is_err(), "no link is made there");
}
