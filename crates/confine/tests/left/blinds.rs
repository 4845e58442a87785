//! What a command makes that looks like something of git's, or leads elsewhere, hides nothing from the search and removes nothing of the
//! user's.

use std::{
    fs,
    io::Read as _,
    path::PathBuf,
    process::{Child, Stdio},
};

use crate::space::Space;

/// Secrets and git's own, as they are in a usual project.
const PROJECT: &str = "mkdir -p sub .git/hooks .git/objects .git/refs config; echo secret > sub/.env; echo '[core]' > .git/config; \
                       touch .git/HEAD; echo key > config/master.key; echo secret > config/.env";

/// What is on record of runs.
fn records(space: &Space) -> Vec<PathBuf> {
    let entries = fs::read_dir(space.ws().with_file_name("sessions")).unwrap().flatten();
    let is_record =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("run-"));
    entries.map(|entry| entry.path()).filter(is_record).collect()
}

fn text(space: &Space, path: &str) -> String {
    fs::read_to_string(space.ws().join(path)).unwrap_or_default()
}

#[test]
fn the_signs_of_a_bare_repository_hide_nothing_and_remove_nothing() {
    let Some(space) = Space::new() else { return };
    for signs in ["HEAD objects refs", "HEAD commondir"] {
        space.bare(PROJECT);
        let (code, _, said) = space
            .run(&format!("touch {signs}; mkdir -p sub/.agent new/.git; echo x > new/.git/config; exit 0"));
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("HEAD is protected and appeared"), "{said}");
        assert!(
            !space.ws().join("sub/.agent").exists() && !space.ws().join("new/.git/config").exists(),
            "{said}"
        );
        assert_eq!(
            (text(&space, "config/master.key"), text(&space, "config/.env")),
            ("key\n".into(), "secret\n".into())
        );
        let (_, out, said) = space
            .run("cat sub/.env config/.env; echo bad >> .git/config; echo bad > .git/hooks/x; echo done");
        assert!(out.contains("done") && !out.contains("secret"), "{out}{said}");
        assert_eq!(text(&space, ".git/config"), "[core]\n");
        assert!(!space.ws().join(".git/hooks/x").exists());
        space.bare("rm -rf * .git");
    }
}

#[test]
fn a_bare_repository_of_the_users_stays_one_and_is_searched_too() {
    let Some(space) = Space::new() else { return };
    space.bare("mkdir -p objects refs sub; echo '[core]' > config; echo 'ref: refs/heads/main' > HEAD; echo secret > sub/.env");
    let (code, out, said) = space
        .run("cat sub/.env; cat HEAD; echo bad >> config; mkdir hooks; echo x > hooks/post-merge; exit 0");
    assert!(code == Some(0) && !out.contains("secret") && out.contains("refs/heads/main"), "{out}{said}");
    assert_eq!(text(&space, "config"), "[core]\n");
    assert!(!space.ws().join("hooks").exists() && space.ws().join("HEAD").exists(), "{said}");
}

#[test]
fn a_head_among_the_modules_of_git_frees_none_of_them() {
    let Some(space) = Space::new() else { return };
    space.bare(PROJECT);
    space.bare("mkdir -p .git/modules/libs/deep/hooks; touch .git/modules/libs/deep/HEAD; echo '[core]' > .git/modules/libs/deep/config");
    for fake in [".git/modules/HEAD", ".git/modules/libs/HEAD", ".git/modules/libs/config"] {
        let (code, _, said) = space.run(&format!("touch {fake}; exit 0"));
        assert_eq!(code, Some(0), "{said}");
        space.run("echo bad >> .git/modules/libs/deep/config; echo bad > .git/modules/libs/deep/hooks/x");
        assert_eq!(text(&space, ".git/modules/libs/deep/config"), "[core]\n", "{fake}");
        assert!(!space.ws().join(".git/modules/libs/deep/hooks/x").exists(), "{fake}");
    }
}

#[test]
fn a_fake_module_leads_to_no_repository_among_gits_data_and_frees_no_module_of_that_name() {
    let Some(space) = Space::new() else { return };
    space.bare(PROJECT);
    let module = ".git/modules/libs/logs/deep";
    space.bare(&format!("mkdir -p {module}/hooks; touch {module}/HEAD; echo '[core]' > {module}/config"));
    let (code, _, said) = space.run(
        "touch .git/modules/HEAD .git/modules/libs/HEAD; mkdir -p .git/objects/evil/hooks; \
         ln -s ../../objects/evil .git/modules/libs/sub; ln -s ../objects/evil .git/modules/sub; exit 0",
    );
    assert_eq!(code, Some(0), "{said}");
    let there = |path: &str| fs::symlink_metadata(space.ws().join(path)).is_ok();
    for gone in ["HEAD", "libs/HEAD", "libs/sub", "sub"] {
        assert!(!there(&format!(".git/modules/{gone}")), "{gone}: {said}");
    }
    space.run(&format!("echo bad >> {module}/config; echo bad > {module}/hooks/x"));
    assert_eq!(text(&space, &format!("{module}/config")), "[core]\n");
    assert!(!there(&format!("{module}/hooks/x")));
}

#[test]
fn a_repository_hidden_among_gits_own_folders_is_searched_and_no_link_leads_to_it() {
    let Some(space) = Space::new() else { return };
    space.bare(PROJECT);
    let make = |at: &str| {
        format!(
            "mkdir -p {at}/objects {at}/refs {at}/hooks; touch {at}/HEAD {at}/hooks/post-checkout; echo x > {at}/config; "
        )
    };
    let (code, _, said) = space.run(
        &(make(".git/evil")
            + &make(".git/objects/evil")
            + "mkdir .git/modules; ln -s ../evil .git/modules/sub; ln -s objects/evil .git/worktrees"),
    );
    assert_eq!(code, Some(0), "{said}");
    let there = |path: &str| fs::symlink_metadata(space.ws().join(path)).is_ok();
    assert!(!there(".git/evil/HEAD") && !there(".git/modules/sub") && !there(".git/worktrees"), "{said}");
    // Where a link of an ordinary name leads among git's data, a program inside it is no repository for anybody who is not there.
    assert!(there(".git/objects/evil"));
}

#[test]
fn what_appears_in_a_folder_without_the_right_to_write_is_removed() {
    let Some(space) = Space::of_plain_user() else { return };
    for mode in ["0555", "0500", "0511"] {
        let (code, _, said) = space.run(&format!(
            "mkdir -p sub/.git/hooks sub/.agent; echo x | tee sub/.git/config sub/.agent/settings; chmod {mode} sub/.agent sub/.git sub"
        ));
        assert_eq!(code, Some(0), "{mode}: {said}");
        space.bare("test \"$(stat -c %a sub)\" != 755; chmod -R u+rwx sub; test ! -e sub/.agent; test ! -e sub/.git/config; rm -r sub");
    }
}

#[test]
fn what_is_secret_and_obeyed_is_removed_if_it_appears_and_only_hidden_if_it_was_there() {
    let Some(space) = Space::new() else { return };
    let (code, _, said) = space.run("echo x > .both; echo mine > .env; mkdir sub; exit 0");
    assert!(code == Some(0) && said.contains(".both is protected and appeared"), "{said}");
    assert!(!space.ws().join(".both").exists());
    assert_eq!(text(&space, ".env"), "mine\n", "a secret that nobody obeys may be new");
    space.bare("echo secret > .both");
    let (_, out, said) = space.run("cat .both; echo done");
    assert!(out.contains("done") && !out.contains("secret"), "{out}{said}");
    assert_eq!(text(&space, ".both"), "secret\n");
    let (_, _, said) = space.run("mkdir -p more/.env/.agent; exit 0");
    assert!(said.contains(".env/.agent is protected and appeared"), "{said}");
}

#[test]
fn links_in_front_of_protected_names_and_between_them_stay_as_they_were() {
    let Some(space) = Space::new() else { return };
    space.bare("mkdir real other; echo x > real/settings; ln -s real b; ln -s b a; ln -s a .agent; mkdir -p pipes/steps; ln -s pipes ours");
    let (code, _, said) =
        space.run("rm a; ln -s other a; rm ours; mkdir -p made/steps; ln -s made ci; exit 0");
    assert_eq!(code, Some(0), "{said}");
    let leads =
        |path: &str| fs::read_link(space.ws().join(path)).ok().map(|target| target.display().to_string());
    assert_eq!(
        (leads(".agent"), leads("a"), leads("b")),
        (Some("a".into()), Some("b".into()), Some("real".into())),
        "{said}"
    );
    assert_eq!((leads("ci"), leads("ours")), (None, None), "{said}");
}

#[test]
fn what_cannot_be_put_right_keeps_the_next_run_from_beginning_until_somebody_looked() {
    let Some(space) = Space::of_plain_user() else { return };
    if !rustix::process::geteuid().is_root() {
        return;
    }
    space.bare("mkfifo go");
    let mut run = space.command("echo ready; read x < go").stdout(Stdio::piped()).spawn().unwrap();
    hears(&mut run, "ready");
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
    assert!(fs::read_to_string(&record).unwrap().contains(".agent is protected, appeared during the run"));
    fs::remove_dir_all(space.ws().join(".agent")).unwrap();
    fs::remove_file(record).unwrap();
    assert_eq!(space.run("echo ran").1, "ran\n");
}

#[test]
fn a_link_that_is_obeyed_and_leads_to_nothing_leads_to_nothing_afterwards() {
    let Some(space) = Space::new() else { return };
    space.bare("mkdir rules; ln -s rules/new/agent .agent; ln -s nowhere .env");
    let (code, _, said) =
        space.run("mkdir -p rules/new/agent; echo x > rules/new/agent/settings; echo x > nowhere");
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("where a protected link leads") && !space.ws().join("rules/new/agent").exists(),
        "{said}"
    );
    assert!(space.ws().join("nowhere").exists(), "nobody obeys a secret");
}

#[test]
fn links_on_the_way_hide_and_fix_no_folder() {
    let Some(space) = Space::new() else { return };
    space.bare("mkdir -p releases/1 shared/ci ours; ln -s releases/1 current; ln -s current/.env .env; ln -s . x; ln -s x/conf .both; ln -s ../shared/ci ours/ci");
    let (code, out, said) =
        space.run("echo a > releases/1/file && echo b > shared/ci/file && cat releases/1/file");
    assert_eq!((code, out.as_str()), (Some(0), "a\n"), "{said}");
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
    space.bare("git config branch.fix.remote https://evil.example/x.git; echo > go");
    assert_eq!(run.wait().unwrap().code(), Some(125));
}

/// A run that has said that it is ready.
fn begin(space: &Space, script: &str) -> Child {
    let mut run = space.command(script).stdout(Stdio::piped()).spawn().unwrap();
    hears(&mut run, "ready");
    run
}

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
    let mut first = space
        .in_folder(&space.ws().join("below"), "echo ready; read x < go")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    hears(&mut first, "ready");
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
    let mut first = space.in_folder(&space.ws().join("sub"), script).stdout(Stdio::piped()).spawn().unwrap();
    hears(&mut first, "ready");
    // Another run, around this one.
    assert_eq!(space.run("mv sub moved; mkdir sub; echo > moved/go; echo ran").1, "ran\n");
    assert_eq!(first.wait().unwrap().code(), Some(125));
    assert_eq!(space.run("echo ran").0, Some(125), "none begins around it either");
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
fn what_is_taken_away_is_kept_aside() {
    let Some(space) = Space::of_plain_user() else { return };
    space.bare("mkdir meta other; echo mine > other/notes; ln -s meta .agent");
    let (code, _, said) = space.run(
        "rm .agent && mv other .agent; mkdir -p sub/.agent; echo x > sub/.agent/x; chmod 0555 sub/.agent sub",
    );
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("it was moved to"), "{said}");
    let removed = fs::read_dir(space.ws().with_file_name("removed")).unwrap().flatten();
    let kept: Vec<String> =
        removed.filter_map(|entry| fs::read_to_string(entry.path().join("notes")).ok()).collect();
    assert_eq!(kept, ["mine\n"]);
    space.bare("chmod 755 sub; test ! -e sub/.agent");
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
fn a_run_that_ended_without_a_look_at_what_it_left_keeps_others_from_beginning() {
    let Some(space) = Space::new() else { return };
    space.bare("mkfifo go");
    let mut run = space.command("echo ready; read x < go").stdout(Stdio::piped()).spawn().unwrap();
    hears(&mut run, "ready");
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
fn a_closed_folder_of_somebody_else_is_left_alone() {
    let Some(space) = Space::of_plain_user() else { return };
    if !rustix::process::geteuid().is_root() {
        return;
    }
    space.bare("mkfifo go");
    let mut run = space.command("echo ready; read x < go").stdout(Stdio::piped()).spawn().unwrap();
    hears(&mut run, "ready");
    // As a container's daemon does.
    fs::create_dir(space.ws().join("data")).unwrap();
    fs::set_permissions(space.ws().join("data"), std::os::unix::fs::PermissionsExt::from_mode(0o700))
        .unwrap();
    space.bare("echo > go");
    assert!(run.wait().unwrap().success());
    assert_eq!(space.run("echo ran").1, "ran\n");
}

/// Waits for a line of a command's.
fn hears(child: &mut Child, line: &str) {
    let (mut heard, mut part) = (String::new(), [0; 64]);
    let out = child.stdout.as_mut().unwrap();
    while !heard.contains(line) {
        let length = out.read(&mut part).unwrap();
        assert!(length > 0, "it ended: {heard}");
        heard.push_str(&String::from_utf8_lossy(&part[..length]));
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
    let run = |script: &str| {
        let mut command = space.command(script);
        command.env("PLACET_SABOTAGE", sabotage).stdout(Stdio::piped()).spawn().unwrap()
    };
    let mut receiver = run("exec python3 receives.py");
    hears(&mut receiver, "ready");
    assert!(run("exec python3 sends.py").wait().unwrap().success());
    let output = receiver.wait_with_output().unwrap();
    Some((String::from_utf8_lossy(&output.stdout).into_owned(), text(&space, ".git/config")))
}
