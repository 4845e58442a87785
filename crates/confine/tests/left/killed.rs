//! What is left when a run ends, or when it is killed: no process, and nothing protected that was not there before.

use std::{
    fs,
    io::{BufRead as _, BufReader, ErrorKind, Read as _},
    os::unix::{fs::OpenOptionsExt as _, process::CommandExt as _},
    process::{Child, Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::space::Space;

/// Many processes that hold the pipe `alive` and nothing else, each in a session of its own: they take a while to end.
const STAY: &str =
    "exec 7>alive; i=0; while [ $i -lt 200 ]; do setsid sleep 600 >/dev/null 2>&1 & i=$((i+1)); done";
/// Makes what is protected, and what is not.
const MAKE: &str = "mkdir .agent; echo x > .agent/settings; echo x > plain; echo ready; sleep 600";

/// The end of a pipe that processes of the command hold.
fn alive(space: &Space) -> fs::File {
    let fifo = space.ws().join("alive");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap();
    fs::OpenOptions::new().read(true).custom_flags(flags).open(&fifo).unwrap()
}

/// Waits for the heir, and says whether it did its work.
fn is_clean(space: &Space) -> bool {
    (0..3000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        !space.ws().join(".agent").exists()
    })
}

/// Whether a process has the other end at this very moment.
fn is_held(mut pipe: &fs::File) -> bool {
    match pipe.read(&mut [0]) {
        Ok(length) => length > 0,
        Err(error) if error.kind() == ErrorKind::WouldBlock => true,
        Err(error) => panic!("{error}"),
    }
}

fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

/// The processes that are children of this one.
fn children(of: Pid) -> Vec<Pid> {
    let parent = |stat: &str| stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok();
    let numbers = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
        let number: i32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        (parent(&stat) == Some(of.as_raw_nonzero().get())).then_some(number)
    });
    numbers.filter_map(Pid::from_raw).collect()
}

#[test]
fn no_process_is_left_when_the_exit_code_is_there() {
    let Some(space) = Space::new() else { return };
    let alive = alive(&space);
    let status = space.command(&format!("{STAY}; exit 3")).status().unwrap();
    assert!(!is_held(&alive), "a process of the run was left");
    assert_eq!(status.code(), Some(3));
}

#[test]
fn no_process_is_left_when_the_exit_code_of_a_killed_stage_is_there() {
    let Some(space) = Space::new() else { return };
    let alive = alive(&space);
    let mut command = space.command(&format!("{STAY}; echo ready; exec >/dev/null 2>&1; sleep 600"));
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    assert_eq!(first_line(&mut child), "ready");
    let stages = children(Pid::from_child(&child));
    // The process that cleans up is not among them: it is nobody's child.
    assert_eq!(stages.len(), 1, "{stages:?}");
    // The first process of the namespace ends last, after all others in it.
    let first = children(stages[0]);
    assert_eq!(first.len(), 1, "{first:?}");
    let first = format!("/proc/{}", first[0].as_raw_nonzero());
    assert!(is_held(&alive) && fs::exists(&first).unwrap());
    kill_process(stages[0], Signal::KILL).unwrap();
    let status = child.wait().unwrap();
    assert!(!is_held(&alive) && !fs::exists(&first).unwrap(), "a process of the run was left");
    assert_eq!(status.code(), Some(125));
}

#[test]
fn a_killed_runner_leaves_no_process_behind() {
    let Some(space) = Space::new() else { return };
    let fifo = space.ws().join("alive");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let script = "exec 7>alive; echo ready >&7; exec sleep 600";
    let mut child = space.command(script).spawn().unwrap();
    let mut reader = BufReader::new(fs::File::open(&fifo).unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    child.kill().unwrap();
    child.wait().unwrap();
    // Comes back when the last process that has the pipe is gone; a leaked one would hold it for ten minutes.
    assert_eq!(reader.read_line(&mut line).unwrap(), 0);
}

#[test]
fn what_appeared_is_removed_also_if_the_group_of_the_runner_is_killed() {
    let Some(space) = Space::new() else { return };
    // In a group of its own, which is killed as a whole, as agents do.
    let mut child = space.command(MAKE).process_group(0).stdout(Stdio::piped()).spawn().unwrap();
    assert_eq!(first_line(&mut child), "ready");
    assert!(space.ws().join(".agent/settings").exists(), "it is there while the command runs");
    kill_process_group(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    assert!(is_clean(&space), "it stayed");
    assert!(space.ws().join("plain").exists(), "what is not protected stays");
}

#[test]
fn what_appeared_is_removed_also_if_all_that_the_runner_started_is_killed() {
    let Some(space) = Space::new() else { return };
    let mut child = space.command(MAKE).stdout(Stdio::piped()).spawn().unwrap();
    assert_eq!(first_line(&mut child), "ready");
    assert!(space.ws().join(".agent/settings").exists(), "it is there while the command runs");
    // Some agents look for the children of what they end, and for theirs.
    let mut tree = vec![Pid::from_child(&child)];
    let mut next = 0;
    while let Some(pid) = tree.get(next) {
        tree.extend(children(*pid));
        next += 1;
    }
    assert!(tree.len() > 3, "{tree:?}");
    for pid in tree {
        // The kernel may have ended it already.
        let _ = kill_process(pid, Signal::KILL);
    }
    child.wait().unwrap();
    assert!(is_clean(&space), "it stayed");
    assert!(space.ws().join("plain").exists(), "what is not protected stays");
}
