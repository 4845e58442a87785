//! Which repository git uses, and which files it reads there.

use super::*;

/// What git itself says, in the same folder and environment.
fn top(world: &World, folder: &Path) -> Option<String> {
    let tree = world.run(folder, "rev-parse --show-toplevel");
    let text = if tree.status.success() { tree } else { world.run(folder, "rev-parse --absolute-git-dir") };
    text.status.success().then(|| String::from_utf8(text.stdout).unwrap().trim().to_owned())
}

#[track_caller]
fn assert_same_top(world: &World, folder: &Path) -> Git {
    let git = world.look(folder);
    assert_eq!(git.repository, top(world, folder), "{folder:?} {git:?}");
    git
}

#[test]
fn the_repository_is_the_one_that_git_uses() {
    let world = World::new();
    let repo = world.repo();
    let deep = repo.join("x/y");
    fs::create_dir_all(&deep).unwrap();
    fs::create_dir_all(world.root.join("outside")).unwrap();
    for folder in [&repo, &deep, &world.root.join("outside"), &repo.join(".git"), &repo.join(".git/refs")] {
        assert!(assert_same_top(&world, folder).runs.is_empty(), "{folder:?}");
    }
    // A linked worktree shares the configuration of the first.
    world.git(&repo, "worktree add -q ../linked");
    let linked = world.root.join("home/linked");
    assert!(assert_same_top(&world, &linked).runs.is_empty());
    world.configure("[core]\nfsmonitor = MARK");
    assert_entry(&assert_same_top(&world, &linked), "core.fsmonitor=");
    assert!(world.starts(&linked, &["status"]));
}

#[test]
fn a_bare_repository_inside_a_clone_is_found_and_its_configuration_read() {
    let world = World::new();
    let bare = world.repo().join("docs/bare");
    world.git(&world.root, &format!("init -q --bare {}", bare.display()));
    assert!(assert_same_top(&world, &bare).runs.is_empty());
    let config = format!(
        "[core]\nrepositoryformatversion = 0\nbare = false\nworktree = ..\nfsmonitor = {}",
        world.mark()
    );
    fs::write(bare.join("config"), config).unwrap();
    let git = assert_same_top(&world, &bare);
    assert_entry(&git, "core.worktree=..");
    assert_entry(&git, "core.fsmonitor=");
    assert!(world.starts(&bare, &["status"]));
    // A hand-made one: three names are enough.
    let made = world.repo().join("made");
    fs::create_dir_all(made.join("refs")).unwrap();
    fs::create_dir_all(made.join("objects")).unwrap();
    symlink("refs/heads/none", made.join("HEAD")).unwrap();
    assert_same_top(&world, &made);
    assert_eq!(world.look(&made).repository.as_deref(), made.to_str());
}

#[test]
fn what_only_looks_like_a_repository_is_an_entry() {
    let world = World::new();
    let folder = world.repo().join("x");
    fs::create_dir_all(folder.join("refs")).unwrap();
    fs::create_dir_all(folder.join("objects")).unwrap();
    fs::write(folder.join("HEAD"), "nothing\n").unwrap();
    assert_entry(&assert_same_top(&world, &folder), "looks like a repository");
    fs::write(folder.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(folder.join("commondir"), "\n").unwrap();
    assert_entry(&world.look(&folder), "commondir: names no folder");
    for content in ["", "gitdir: ", "gitdir:/x", "gitdir: /nowhere\n", "rubbish"] {
        let folder = world.repo().join("y");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(".git"), content).unwrap();
        assert_entry(&world.look(&folder), "cannot be read: ~/repo/y/.git");
    }
}

#[test]
fn a_git_that_points_to_another_repository_is_an_entry() {
    let world = World::new();
    let other = world.root.join("other");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join(".git"), format!("gitdir: {}/.git\n", world.repo().display())).unwrap();
    assert_entry(&assert_same_top(&world, &other), ".git: names ");
    fs::remove_file(other.join(".git")).unwrap();
    symlink(world.repo().join(".git"), other.join(".git")).unwrap();
    assert_entry(&assert_same_top(&world, &other), ".git: names ");
    // One that was set apart by git itself knows its folder.
    let apart = world.root.join("apart");
    world.git(&world.root, &format!("init -q --separate-git-dir {0}.store {0}", apart.display()));
    let git = assert_same_top(&world, &apart);
    assert!(git.runs.is_empty() || git.runs[0].contains(".git: names"), "{git:?}");
    // Objects of another repository.
    fs::write(world.repo().join(".git/objects/info/alternates"), "/x\n").unwrap();
    assert_entry(&world.look(&world.repo()), "alternates");
}

#[test]
fn a_link_anywhere_in_the_repositorys_own_folder_is_an_entry() {
    for place in [
        "packed-refs",
        "objects/ab",
        "objects/pack/pack-1.pack",
        "refs/heads/lfs/x",
        "refs/heads/a/b/c/d/e/f/g/h/i/j/k",
        "modules/m/n/objects/info/x",
    ] {
        let world = World::new();
        let link = world.repo().join(".git").join(place);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&link);
        let _ = fs::remove_dir_all(&link);
        symlink("/etc/hostname", &link).unwrap();
        assert_entry(&world.look(&world.repo()), &format!("{place}: a link to another place"));
    }
}

#[test]
fn a_place_that_is_not_looked_at_is_an_entry_unless_it_holds_objects_alone() {
    let world = World::new();
    let git = world.repo().join(".git");
    for objects in ["modules/m/objects/ab", "modules/m/lfs/objects/ab/cd"] {
        fs::create_dir_all(git.join(objects)).unwrap();
        symlink("/x", git.join(objects).join("not-looked-at")).unwrap();
    }
    fs::write(git.join("modules/m/HEAD"), "ref: refs/heads/main\n").unwrap();
    assert!(world.look(&world.repo()).runs.is_empty());
    fs::create_dir_all(git.join("refs/heads").join("x/".repeat(40))).unwrap();
    assert_entry(&world.look(&world.repo()), "it lies deeper than is looked at");
}

#[test]
fn the_environment_names_another_repository() {
    let world = World::new();
    let other = world.root.join("other");
    fs::create_dir_all(&other).unwrap();
    let git = world.repo().join(".git");
    append(&git.join("config"), &format!("[core]\nfsmonitor = {}", world.mark()));
    let world = world.with("GIT_DIR", git);
    let seen = assert_same_top(&world, &other);
    assert_entry(&seen, "GIT_DIR=");
    assert_entry(&seen, "core.fsmonitor=");
    let tree = world.root.join("home");
    let world = world.with("GIT_WORK_TREE", tree);
    assert_entry(&assert_same_top(&world, &other), "GIT_WORK_TREE=");
}

#[test]
fn files_that_are_included_count() {
    let world = World::new();
    let repo = world.repo();
    let bad = format!("[core]\nfsmonitor = {}\n", world.mark());
    let starts = |world: &World| world.starts(&world.repo(), &["status"]);

    // The user's own file may include; what it includes is judged.
    fs::write(world.root.join("home/more"), "[include]\npath = deeper/one\n").unwrap();
    fs::create_dir_all(world.root.join("home/deeper")).unwrap();
    fs::write(world.root.join("home/deeper/one"), "[user]\nname = Ann\n").unwrap();
    world.configure_own("[include]\npath = ~/more\n[include]\npath = none");
    assert_eq!(world.look(&repo).runs, [""; 0]);
    fs::write(world.root.join("home/deeper/one"), &bad).unwrap();
    assert_entry(&world.look(&repo), "(~/deeper/one)");
    assert!(starts(&world));

    // A file inside the repository is the repository's, even if the user's own file includes it.
    let world = World::new();
    fs::write(world.repo().join("shared"), "[alias]\nx = !x\n").unwrap();
    world.configure_own("[includeIf \"gitdir:~/none/\"]\npath = repo/shared");
    assert_entry(&world.look(&world.repo()), "alias.x=!x (shared)");

    // A file that includes itself comes to an end.
    let world = World::new();
    world.configure_own("[include]\npath = .gitconfig\n[include]\npath = .gitconfig");
    assert_entry(&world.look(&world.repo()), "too many includes");

    // The file of one worktree.
    let world = World::new();
    world.git(&world.repo(), "config extensions.worktreeConfig true");
    assert_eq!(world.look(&world.repo()).runs, [""; 0]);
    fs::write(world.repo().join(".git/config.worktree"), format!("[core]\nfsmonitor = {}", world.mark()))
        .unwrap();
    assert_entry(&world.look(&world.repo()), "(.git/config.worktree)");

    // The other file of the user.
    let world = World::new();
    fs::create_dir_all(world.root.join("home/.config/git")).unwrap();
    fs::write(world.root.join("home/.config/git/config"), format!("[core]\nfsmonitor = {}", world.mark()))
        .unwrap();
    assert_entry(&world.look(&world.repo()), "(~/.config/git/config)");
    assert!(starts(&world));
    let elsewhere = world.root.join("elsewhere");
    let world = world.with("XDG_CONFIG_HOME", elsewhere);
    assert_eq!(world.look(&world.repo()).runs, [""; 0]);
    assert!(!starts(&world));
}

#[test]
fn what_cannot_be_read_is_an_entry() {
    let world = World::new();
    let config = world.repo().join(".git/config");
    for content in
        [&b"[core\n"[..], b"[core]\nx = \"y\n", b"[core]\nx = \\q\n", b"= x\n", b"[core]\nx = y\0z\n"]
    {
        fs::write(&config, content).unwrap();
        assert_entry(&world.look(&world.repo()), "cannot be read: .git/config: line ");
    }
    fs::write(&config, vec![b'\n'; (1 << 20) + 1]).unwrap();
    assert_entry(&world.look(&world.repo()), "larger than");
    fs::remove_file(&config).unwrap();
    fs::create_dir(&config).unwrap();
    assert_entry(&world.look(&world.repo()), "not a regular file");
    fs::remove_dir(&config).unwrap();
    // A pipe would be waited for.
    assert!(Command::new("mkfifo").arg(&config).status().unwrap().success());
    assert_entry(&world.look(&world.repo()), "not a regular file");
}

#[test]
fn entries_are_bounded_and_escaped() {
    let world = World::new();
    let many: Vec<String> = (0..50).map(|n| format!("[alias]\nx{n} = {}\n", "y".repeat(1000))).collect();
    world.configure(&format!("[alias]\nbad = \"a\\n\\b\u{1b}[2J\u{202e}\"\n{}", many.concat()));
    let git = world.look(&world.repo());
    assert_eq!(git.runs.len(), 20);
    assert_eq!(git.runs[19], "and 32 more");
    assert!(git.runs.iter().all(|entry| entry.chars().count() <= 200), "{git:?}");
    assert!(
        git.runs.iter().flat_map(|entry| entry.chars()).all(|c| !c.is_control() && c != '\u{202e}'),
        "{git:?}"
    );
}
