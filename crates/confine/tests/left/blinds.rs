//! What a command makes that looks like something of git's, or leads elsewhere, hides nothing from the search and removes nothing of the
//! user's.

use std::fs;

use crate::space::{PROJECT, Space, begin, text};

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
fn the_remotes_that_git_reads_from_files_stay_as_they_are() {
    let Some(space) = Space::new() else { return };
    space.bare(PROJECT);
    let gits = [".git", ".git/modules/libs", "bare"];
    for git in gits {
        space.bare(&format!("mkdir -p {git}/objects {git}/refs {git}/remotes; touch {git}/HEAD {git}/config; echo old > {git}/remotes/up"));
    }
    let folders = gits.map(|git| format!("{git}/remotes {git}/branches")).join(" ");
    let (code, _, said) = space
        .run(&format!("for f in {folders}; do mkdir -p $f; echo 'URL: ext::evil' > $f/up; done; exit 0"));
    assert_eq!(code, Some(0), "{said}");
    for git in gits {
        assert_eq!(text(&space, &format!("{git}/remotes/up")), "old\n", "{git}");
        assert!(!space.ws().join(git).join("branches").exists(), "{git}");
    }
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
fn a_closed_folder_of_somebody_else_is_left_alone() {
    let Some(space) = Space::of_plain_user() else { return };
    if !rustix::process::geteuid().is_root() {
        return;
    }
    space.bare("mkfifo go");
    let mut run = begin(&space, "echo ready; read x < go");
    // As a container's daemon does.
    fs::create_dir(space.ws().join("data")).unwrap();
    fs::set_permissions(space.ws().join("data"), std::os::unix::fs::PermissionsExt::from_mode(0o700))
        .unwrap();
    space.bare("echo > go");
    assert!(run.wait().unwrap().success());
    assert_eq!(space.run("echo ran").1, "ran\n");
}
