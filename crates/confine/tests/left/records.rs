//! Records of runs: what cannot be put right keeps the next run from beginning, until a person has looked.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

use crate::{
    replaced::during,
    space::{PROJECT, Space, begin, records, text},
};

#[test]
fn what_cannot_be_put_right_keeps_the_next_run_from_beginning_until_somebody_looked() {
    let Some(space) = Space::of_plain_user() else { return };
    if !rustix::process::geteuid().is_root() {
        return;
    }
    space.bare("mkfifo go");
    let mut run = begin(&space, "echo ready; read x < go");
    // Of another user, so that nobody else can remove it.
    fs::create_dir(space.ws().join(".agent")).unwrap();
    fs::write(space.ws().join(".agent/settings"), "x").unwrap();
    space.bare("echo > go");
    assert_eq!(run.wait().unwrap().code(), Some(125));
    let (code, out, said) = space.run("echo ran");
    assert_eq!((code, out.as_str()), (Some(125), ""), "{said}");
    assert!(
        said.contains("left something that could not be put right") && said.contains("Nothing was run"),
        "{said}"
    );
    let record = records(&space).remove(0);
    assert!(
        fs::read_to_string(&record)
            .unwrap()
            .contains(".agent is protected and appeared during the run, and cannot be removed")
    );
    fs::remove_dir_all(space.ws().join(".agent")).unwrap();
    fs::remove_file(record).unwrap();
    assert_eq!(space.run("echo ran").1, "ran\n");
}

#[test]
fn what_somebody_outside_replaced_during_the_run_stays_until_somebody_looked_at_it() {
    let Some(space) = Space::new() else { return };
    space.bare(PROJECT);
    space.bare("mkdir .agent; echo old > .agent/settings; mkfifo go");
    let mut run = begin(&space, "echo ready; read x < go");
    // As an editor or git saves.
    space.bare("echo new > .git/c; mv .git/c .git/config; mkdir fresh; echo new > fresh/settings; rm -r .agent; mv fresh .agent; echo > go");
    assert_eq!(run.wait().unwrap().code(), Some(125), "the command could write to it");
    assert_eq!(
        (text(&space, ".git/config"), text(&space, ".agent/settings")),
        ("new\n".into(), "new\n".into())
    );
    let (code, _, said) = space.run("echo ran");
    assert!(code == Some(125) && said.contains("left something"), "{said}");
    fs::remove_file(records(&space).remove(0)).unwrap();
    assert_eq!(space.run("echo ran").1, "ran\n");
}

#[test]
fn what_git_notes_of_branches_during_the_run_is_no_reason_to_look() {
    let Some(space) = Space::new() else { return };
    space.bare("mkfifo go; git init -q .; git config remote.origin.url https://example.com/x.git");
    let mut run = begin(&space, "echo ready; read x < go");
    space.bare("git config branch.fix.remote origin; git config branch.fix.merge refs/heads/fix; echo > go");
    assert!(run.wait().unwrap().success());
    let mut run = begin(&space, "echo ready; read x < go");
    space.bare("git config branch.fix.merge refs/pull/1/head; echo > go");
    assert_eq!(run.wait().unwrap().code(), Some(125), "anybody can make such a reference");
    space.settle("restore").unwrap();
    let mut run = begin(&space, "echo ready; read x < go");
    space.bare("git config branch.fix.remote https://evil.example/x.git; echo > go");
    assert_eq!(run.wait().unwrap().code(), Some(125));
}

#[test]
fn a_run_that_ended_without_a_look_at_what_it_left_keeps_others_from_beginning() {
    let Some(space) = Space::new() else { return };
    space.bare("mkfifo go");
    let mut run = begin(&space, "echo ready; read x < go");
    let record = records(&space).remove(0);
    assert!(fs::read_to_string(&record).unwrap().starts_with("1{"), "it has begun");
    let (code, out, said) = space.run("echo beside");
    assert_eq!((code, out.as_str()), (Some(0), "beside\n"), "a run beside it begins: {said}");
    // What stays if the runner and whoever cleans up after it are killed: a record without a lock.
    let left = record.with_file_name("run-1-0");
    fs::copy(&record, &left).unwrap();
    space.bare("echo > go");
    assert!(run.wait().unwrap().success());
    let (code, out, said) = space.run("echo ran");
    assert_eq!((code, out.as_str()), (Some(125), ""), "{said}");
    assert!(said.contains("was ended before it could be looked at what it left"), "{said}");
    fs::remove_file(&left).unwrap();
    // One that was killed before its command began is no obstacle.
    fs::write(&left, "0{").unwrap();
    assert_eq!(space.run("echo ran").1, "ran\n");
    assert_eq!(records(&space), Vec::<PathBuf>::new());
}

#[test]
fn a_folder_that_somebody_renames_during_the_run_keeps_what_is_in_it() {
    let Some(space) = Space::new() else { return };
    space.bare("mkfifo go; mkdir -p pkg/.agent; echo mine > pkg/.agent/settings; mkdir docs; ln -s ../docs docs/.agent");
    let mut run = begin(&space, "echo ready; read x < go");
    space.bare("mv pkg pkg2; echo > go");
    assert_eq!(run.wait().unwrap().code(), Some(125));
    assert_eq!(text(&space, "pkg2/.agent/settings"), "mine\n");
    fs::remove_file(records(&space).remove(0)).unwrap();
    // As a checkout of another branch does.
    let mut run = begin(&space, "echo ready; read x < go");
    space.bare("rm -r docs; echo > go");
    assert!(run.wait().unwrap().success(), "a link that is nowhere is put back nowhere");
}

#[test]
fn a_person_sees_what_was_replaced_and_keeps_it() {
    let Some(space) = Space::new() else { return };
    space.bare("mkdir -p .agent sub/ci; echo old > sub/ci/steps; mkfifo go");
    assert_eq!(space.settle("records").unwrap(), "");
    let code =
        during(&space, "echo new > sub/ci/new; mv sub/ci/new sub/ci/steps; rm -r .agent; mkdir .agent");
    assert_eq!(code, Some(125));
    let said = space.settle("records").unwrap();
    let path = space.ws().join("sub/ci/steps");
    let file =
        format!(r#"Replaced {{ path: "{}", before: Some("old\n"), now: Some("new\n"), "#, path.display());
    let folder =
        format!(r#"Replaced {{ path: "{}", before: None, now: None, "#, space.ws().join(".agent").display());
    assert!(said.contains(&file) && said.contains(&folder), "{said}");
    assert_eq!(space.run("echo ran").0, Some(125));
    space.settle("keep").unwrap();
    assert_eq!((space.run("echo ran").1.as_str(), text(&space, "sub/ci/steps").as_str()), ("ran\n", "new\n"));
}

#[test]
fn a_person_puts_back_what_was_there_before() {
    let Some(space) = Space::new() else { return };
    space.bare("mkdir ci docs; echo old > ci/steps; chmod 640 ci/steps; ln -s docs .both; mkfifo go");
    let mut run = begin(&space, "echo ready; read x < go");
    let record = records(&space).remove(0);
    let left = record.with_file_name("run-1-0");
    fs::copy(&record, &left).unwrap();
    space.bare("echo > go");
    run.wait().unwrap();
    // As if nothing had looked at what that run left.
    space.bare(
        "rm ci/steps .both; echo new > ci/steps; ln -s ci .both; mkdir .agent; echo mine > .agent/notes",
    );
    let said = space.settle("records").unwrap();
    for part in ["before: Some(\"old\\n\"), now: Some(\"new\\n\")", "Link { path", "New { path"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(text(&space, "ci/steps"), "new\n", "looking changes nothing");
    space.settle("restore").unwrap();
    assert_eq!(text(&space, "ci/steps"), "old\n");
    assert_eq!(fs::metadata(space.ws().join("ci/steps")).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(fs::read_link(space.ws().join(".both")).unwrap(), PathBuf::from("docs"));
    assert!(!space.ws().join(".agent").exists());
    let removed = space.ws().with_file_name("removed");
    let kept = fs::read_dir(removed).unwrap().flatten();
    assert!(kept.into_iter().any(|entry| entry.path().join("notes").exists()), "it was the user's");
    assert_eq!(space.run("echo ran").1, "ran\n");
}

#[test]
fn what_cannot_be_put_back_keeps_its_record() {
    let Some(space) = Space::new() else { return };
    space.bare("mkdir .agent ci; echo old > ci/steps; mkfifo go");
    let code = during(&space, "rm -r .agent; mkdir .agent; echo new > ci/n; mv ci/n ci/steps");
    assert_eq!(code, Some(125));
    let why = space.settle("restore").unwrap_err();
    assert!(why.contains(".agent is protected and was replaced"), "{why}");
    assert_eq!(text(&space, "ci/steps"), "old\n", "what could be put back was");
    assert_eq!(space.run("echo ran").0, Some(125));
    space.settle("keep").unwrap();
    assert_eq!(space.run("echo ran").1, "ran\n");
}

#[test]
fn a_record_is_cleared_for_what_was_seen_and_while_no_other_run_is_at_work_there() {
    let Some(space) = Space::new() else { return };
    space.bare("mkdir ci; echo old > ci/steps; mkfifo go other");
    let mut beside = begin(&space, "echo ready; read x < other");
    assert_eq!(during(&space, "echo new > ci/n; mv ci/n ci/steps"), Some(125));
    for verb in ["keep", "restore"] {
        let why = space.settle(verb).unwrap_err();
        assert!(why.contains("another run is at work there"), "{why}");
    }
    space.bare("echo > other");
    beside.wait().unwrap();
    let why = space.settle("keep-unseen").unwrap_err();
    assert!(why.contains("something changed since it was shown"), "{why}");
    assert_eq!(records(&space).len(), 2, "both runs were there when it was replaced");
    space.settle("keep").unwrap();
    assert_eq!(space.run("echo ran").1, "ran\n");
}

#[test]
fn a_record_that_cannot_be_read_keeps_runs_from_beginning_and_can_be_cleared() {
    let Some(space) = Space::new() else { return };
    assert_eq!(space.run("echo ran").1, "ran\n");
    fs::write(space.ws().with_file_name("sessions").join("run-1-0"), "1{}").unwrap();
    let (code, _, said) = space.run("echo ran");
    assert!(
        code == Some(125) && said.contains("cannot be read") && said.contains("placet run --clear"),
        "{said}"
    );
    assert!(space.settle("restore").unwrap_err().contains("cannot be read"));
    space.settle("keep").unwrap();
    assert_eq!(space.run("echo ran").1, "ran\n");
}

#[test]
fn no_secret_is_on_record() {
    let Some(space) = Space::new() else { return };
    space.bare("mkdir sub .git; echo SECRET | tee .env .both sub/.env; mkfifo go");
    space.bare("printf '[core]\n[http]\n\textraheader = SECRET\n' > .git/config; touch .git/HEAD; mkdir ci; echo shown > ci/steps");
    let mut run = begin(&space, "echo ready; read x < go");
    let record = fs::read_to_string(records(&space).remove(0)).unwrap();
    space.bare("echo SECRET > n; mv n .both; echo > go");
    assert_eq!(run.wait().unwrap().code(), Some(125), "programs obey it");
    let left = fs::read_to_string(records(&space).remove(0)).unwrap();
    for text in [record, left, space.settle("records").unwrap()] {
        assert!(!text.contains("SECRET"), "{text}");
    }
}
