//! Submodules: git starts git in each, with its own configuration.

use super::*;

/// A submodule `sub` in the repository.
fn with_submodule(init: &str) -> World {
    let world = World::empty();
    let (repo, source) = (world.repo(), world.root.join("source"));
    fs::create_dir_all(&source).unwrap();
    for folder in [&source, &repo] {
        world.git(folder, &format!("init -q -b main {init} ."));
        fs::write(folder.join("a.txt"), "one\n").unwrap();
        world.git(folder, "add .");
        world.git(folder, "commit -q -m first");
    }
    let line = format!("-c protocol.file.allow=always submodule --quiet add {} sub", source.display());
    world.git(&repo, &line);
    world.git(&repo, "commit -q -m second");
    world
}

fn check(world: &World) {
    let repo = world.repo();
    assert_eq!(world.look(&repo).runs, [""; 0]);
    let inside = world.look(&repo.join("sub"));
    assert_eq!(
        (inside.repository.as_deref(), inside.runs.len()),
        (repo.join("sub").to_str(), 0),
        "{inside:?}"
    );
    world.git(&repo.join("sub"), &format!("config core.fsmonitor {}", world.mark()));
    assert_entry(&world.look(&repo), "(.git/modules/sub/config)");
    assert!(world.starts(&repo, &["status"]));
}

#[test]
fn a_submodule_s_configuration_counts_in_each_version_of_the_index() {
    for version in ["2", "3", "4"] {
        let world = with_submodule("");
        world.git(&world.repo(), &format!("update-index --index-version {version}"));
        check(&world);
    }
    check(&with_submodule("--object-format=sha256"));
}

#[test]
fn an_index_that_is_not_understood_is_an_entry() {
    let world = with_submodule("");
    world.git(&world.repo(), "update-index --split-index");
    assert_entry(&world.look(&world.repo()), "a split index");
    let world = with_submodule("");
    fs::create_dir(world.repo().join("dir")).unwrap();
    fs::create_dir(world.repo().join("other")).unwrap();
    fs::write(world.repo().join("dir/x"), "x").unwrap();
    fs::write(world.repo().join("other/x"), "x").unwrap();
    world.git(&world.repo(), "add .");
    world.git(&world.repo(), "commit -q -m third");
    world.git(&world.repo(), "sparse-checkout set --cone --sparse-index dir");
    assert_entry(&world.look(&world.repo()), "a sparse index");
    let index = world.repo().join(".git/index");
    let whole = fs::read(&index).unwrap();
    for bad in
        [&b""[..], b"DIRC", b"rubbish that is long enough for a header and a hash", &whole[..whole.len() / 2]]
    {
        fs::write(&index, bad).unwrap();
        assert_entry(&world.look(&world.repo()), "cannot be read: .git/index");
    }
    let mut future = whole;
    future[7] = 5;
    fs::write(&index, future).unwrap();
    assert_entry(&world.look(&world.repo()), "unknown version");
}

#[test]
fn a_repository_in_a_submodule_of_a_submodule_counts() {
    let world = World::empty();
    let mut folder = world.repo();
    world.git(&folder, "init -q -b main .");
    world.git(&folder, "commit -q --allow-empty -m first");
    let mut chain = vec![folder.clone()];
    for _ in 0..4 {
        folder = folder.join("in");
        fs::create_dir_all(&folder).unwrap();
        world.git(&folder, "init -q -b main .");
        world.git(&folder, "commit -q --allow-empty -m first");
        chain.push(folder.clone());
    }
    for (n, folder) in chain.iter().enumerate().take(2).rev() {
        let head = world.git(&chain[n + 1], "rev-parse HEAD");
        world.git(folder, &format!("update-index --add --cacheinfo 160000,{head},in"));
    }
    assert_eq!(world.look(&world.repo()).runs, [""; 0]);
    append(&chain[2].join(".git/config"), &format!("[core]\nfsmonitor = {}", world.mark()));
    assert_entry(&world.look(&world.repo()), "(in/in/.git/config)");
    assert!(world.starts(&world.repo(), &["status"]));
    // Deeper than we look.
    for (n, folder) in chain.iter().enumerate().take(4).skip(2) {
        let head = world.git(&chain[n + 1], "rev-parse HEAD");
        world.git(folder, &format!("update-index --add --cacheinfo 160000,{head},in"));
    }
    assert_entry(&world.look(&world.repo()), "too many submodules");
}

#[test]
fn a_repository_that_the_index_does_not_name_starts_nothing() {
    let world = World::new();
    let nested = world.repo().join("nested");
    fs::create_dir_all(&nested).unwrap();
    world.git(&nested, "init -q -b main .");
    world.git(&nested, "commit -q --allow-empty -m first");
    append(&nested.join(".git/config"), &format!("[core]\nfsmonitor = {}", world.mark()));
    assert_eq!(world.look(&world.repo()).runs, [""; 0]);
    assert!(!world.starts(&world.repo(), LOOKING));
}

#[test]
fn a_submodule_of_history_starts_its_own_programs_with_diff_submodule() {
    let world = with_submodule("");
    let sub = world.repo().join("sub");
    fs::write(sub.join("a.txt"), "two\n").unwrap();
    world.git(&sub, "commit -q -a -m more");
    world.git(&world.repo(), "add sub");
    world.git(&world.repo(), "commit -q -m moved");
    world.git(&world.repo(), "rm -q --cached sub");
    world.git(&sub, &format!("config diff.external {}", world.mark()));
    assert_eq!(world.look(&world.repo()).runs, [""; 0]);
    assert!(!world.starts(&world.repo(), &["log -p", "show HEAD", "status", "diff HEAD"]));
    world.configure_own("[diff]\nsubmodule = diff");
    assert_entry(&world.look(&world.repo()), "diff.submodule=diff (~/.gitconfig)");
    assert!(world.starts(&world.repo(), &["log -p"]));
}
