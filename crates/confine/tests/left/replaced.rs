//! Protected files that a program outside replaced during a run: which are a reason for a person to look.

use std::{fs, process::Stdio};

use crate::space::{Space, begin, begin_as, records};

/// How a run ended during which this happened outside.
pub(crate) fn during(space: &Space, script: &str) -> Option<i32> {
    let mut run = begin(space, "echo ready; read x < go");
    space.bare(&format!("{script}; echo > go"));
    run.wait().unwrap().code()
}

#[test]
fn a_file_that_was_written_anew_with_the_same_text_is_no_reason_to_look() {
    let Some(space) = Space::new() else { return };
    space.bare("mkdir ci; echo same > ci/steps; mkfifo go");
    let code = during(&space, "cp -p ci/steps ci/n; mv ci/n ci/steps");
    assert_eq!(code, Some(0), "as after a checkout and back");
    let code = during(&space, "cp -p ci/steps ci/n; chmod a+w ci/n; mv ci/n ci/steps");
    assert_eq!(code, Some(125), "another user may write to it now");
}

#[test]
fn a_file_that_was_written_anew_could_be_open_in_another_run_and_is_a_reason_to_look() {
    let Some(space) = Space::new() else { return };
    space.bare("mkdir ci; echo same > ci/steps; mkfifo go other");
    let mut beside = begin(&space, "echo ready; read x < other");
    let code = during(&space, "cp -p ci/steps ci/n; mv ci/n ci/steps");
    assert_eq!(code, Some(125));
    space.bare("echo > other");
    assert_eq!(beside.wait().unwrap().code(), Some(125), "the other record stays");
    space.settle("keep").unwrap();
    assert_eq!(space.run("echo ran").1, "ran\n");
}

#[test]
fn a_replaced_file_with_a_second_name_is_a_reason_to_look() {
    let Some(space) = Space::new() else { return };
    space.bare(
        "mkfifo go; mkdir build; git init -q .; git config remote.origin.url https://example.com/x.git",
    );
    for (file, name) in [(".git/config", ".git/y"), (".agent", "build/y")] {
        space.bare("echo same > .agent");
        // The command waits until the file is another one: the old one cannot be linked.
        let mut run = begin(&space, &format!("echo ready; read x < go; ln {file} {name}"));
        space.bare(&format!("cp -p {file} n; mv n {file}; echo > go"));
        assert_eq!(run.wait().unwrap().code(), Some(125), "{file}");
        space.bare(&format!("test {file} -ef {name}"));
        let said = space.settle("records").unwrap();
        assert!(said.contains("it has other names") && said.contains("names: 2"), "{said}");
        space.settle("restore").unwrap();
        space.bare(&format!("test ! {file} -ef {name}; rm {name}"));
    }
}

#[test]
fn another_run_anywhere_is_a_reason_to_look_and_one_that_is_over_is_none() {
    let Some(space) = Space::new() else { return };
    space.bare("mkdir ci ../elsewhere ../elsewhere/ci; echo same | tee ci/steps ../elsewhere/ci/steps; mkfifo go ../elsewhere/go");
    let rewrite = "cp -p ci/steps ci/n; mv ci/n ci/steps";
    // A third run that shares a folder with each could hand on what is open.
    let mut beside = begin_as(space.elsewhere("echo ready; read x < go"));
    assert_eq!(during(&space, rewrite), Some(125));
    space.settle("keep").unwrap();
    space.bare("echo x > ../elsewhere/n; mv ../elsewhere/n ../elsewhere/ci/steps; echo > ../elsewhere/go");
    assert_eq!(beside.wait().unwrap().code(), Some(125));
    assert_eq!(records(&space).len(), 1, "the record of a run that is over");
    assert_eq!(during(&space, rewrite), Some(0));
}

#[test]
fn the_end_of_a_run_removes_no_record_that_another_one_begins_to_write() {
    let Some(space) = Space::new() else { return };
    space.bare("mkdir ci; echo same > ci/steps; mkfifo go");
    let mut run = begin(&space, "echo ready; read x < go");
    let begun = space.records().join("run-1-0");
    fs::write(&begun, "").unwrap();
    space.bare("cp -p ci/steps ci/n; mv ci/n ci/steps; echo > go");
    assert_eq!(run.wait().unwrap().code(), Some(125), "the other run could be at work");
    assert!(begun.exists());
}

#[test]
fn a_change_between_showing_and_clearing_is_noticed_where_no_text_is_shown() {
    let Some(space) = Space::new() else { return };
    space.bare("echo old > .both; mkfifo go");
    let mut run = begin(&space, "echo ready; read x < go");
    let record = records(&space).remove(0);
    fs::copy(&record, record.with_file_name("run-1-0")).unwrap();
    space.bare("echo > go");
    assert!(run.wait().unwrap().success());
    // As if nothing had looked at what that run left.
    space.bare("rm .both; echo new > .both; echo one > .agent");
    for change in
        ["echo more >> .both", "echo more >> .agent", "ln .agent second", "echo two > n; mv n .agent"]
    {
        let left = placet_confine::left_runs(&space.records()).unwrap().remove(0);
        let seen = left.changes().unwrap();
        assert_eq!(seen.len(), 2, "{seen:?}");
        space.bare(change);
        let why = left.keep(&seen).unwrap_err().to_string();
        assert!(why.contains("something changed since it was shown"), "{change}: {why}");
    }
    space.settle("keep").unwrap();
}

#[test]
fn the_sentence_that_keeps_a_run_from_beginning_names_the_folder_of_records() {
    let Some(space) = Space::new() else { return };
    space.bare("mkdir ci; echo old > ci/steps; mkfifo go");
    let folder = space.records().display().to_string();
    let mut command = space.command("echo ready; read x < go");
    let run = begin_as({
        command.stderr(Stdio::piped());
        command
    });
    space.bare("echo new > ci/n; mv ci/n ci/steps; echo > go");
    let output = run.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(125) && said.contains(&format!("is in {folder}\n")), "{said}");
    let (code, _, said) = space.run("echo ran");
    assert!(code == Some(125) && said.contains(&format!("on record in {folder}.")), "{said}");
}
