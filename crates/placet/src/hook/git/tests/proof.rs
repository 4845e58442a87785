//! For each setting: does real git start the program, and did we say so before?

use super::*;

/// A setting, whether git starts the program when something only looks, and whether we make an entry.
struct Case {
    text: &'static str,
    starts: bool,
    entry: bool,
}

const fn starts(text: &'static str) -> Case {
    Case { text, starts: true, entry: true }
}

/// Not started by these commands, and an entry all the same.
const fn strict(text: &'static str) -> Case {
    Case { text, starts: false, entry: true }
}

const fn harmless(text: &'static str) -> Case {
    Case { text, starts: false, entry: false }
}

/// In the repository's own file.
const REPOSITORY: &[Case] = &[
    starts("[core]\nfsmonitor = MARK"),
    starts("[core] fsmonitor = \"MARK\""),
    starts("[CORE]\n\tFsMonitor = \\\n  \"MARK\" ; c"),
    starts("[diff]\nexternal = MARK"),
    starts("[diff \"d\"]\ncommand = MARK"),
    starts("[diff \"d\"]\ntextconv = MARK"),
    starts("[diff.d]\ntextconv = MARK"),
    starts("[filter \"f\"]\nclean = MARK"),
    starts("[filter \"f\"]\nprocess = MARK"),
    starts("[log]\nshowSignature\n[gpg]\nprogram = MARK"),
    starts("[log]\nshowSignature = yes\n[gpg \"openpgp\"]\nprogram = MARK"),
    starts("[format]\npretty = %h %+GG\n[gpg]\nprogram = MARK"),
    starts("[branch]\nsort = signature\n[gpg]\nprogram = MARK"),
    strict("[branch]\nsort = signature"),
    strict("[log]\nshowSignature = true"),
    strict("[format]\npretty = %GG"),
    strict("[core]\nfsmonitor = true"),
    strict("[core]\nfsmonitor"),
    strict("[diff \"d\"]\ncachetextconv = true"),
    strict("[filter \"f\"]\nsmudge = MARK"),
    strict("[filter \"lfs\"]\nclean = git-lfs clean -- %f"),
    strict("[core]\npager = MARK"),
    strict("[pager]\nlog = MARK"),
    strict("[core]\neditor = MARK"),
    strict("[sequence]\neditor = MARK"),
    strict("[core]\nsshCommand = MARK"),
    strict("[core]\ngitProxy = MARK"),
    strict("[core]\naskPass = MARK"),
    strict("[core]\nalternateRefsCommand = MARK"),
    strict("[credential]\nhelper = MARK"),
    strict("[credential \"https://x.example\"]\nhelper = MARK"),
    strict("[gpg]\nprogram = MARK"),
    strict("[alias]\nx = !MARK"),
    strict("[alias]\nstatus = !MARK"),
    strict("[interactive]\ndiffFilter = MARK"),
    strict("[uploadpack]\npackObjectsHook = MARK"),
    strict("[merge \"d\"]\ndriver = MARK"),
    strict("[difftool \"d\"]\ncmd = MARK"),
    strict("[remote \"o\"]\nuploadpack = MARK"),
    strict("[remote \"o\"]\nurl = ext::MARK"),
    strict("[submodule \"s\"]\nupdate = !MARK"),
    strict("[submodule]\nrecurse = true"),
    strict("[hook \"x\"]\nevent = post-index-change\ncommand = MARK"),
    strict("[lfs \"extension.x\"]\nclean = MARK"),
    strict("[lfs \"customtransfer.x\"]\npath = MARK"),
    strict("[trace2]\neventTarget = /tmp/trace"),
    strict("[include]\npath = ../none"),
    strict("[includeIf \"onbranch:none\"]\npath = ../none"),
    strict("[extensions]\nfuture = true"),
    strict("[extensions]\npartialClone = o"),
    strict("[remote \"o\"]\npromisor = true"),
    strict("[core]\nattributesFile = ~/x"),
    strict("[core]\nexcludesFile = /etc/passwd"),
    strict("[blame]\nignoreRevsFile = ../x"),
    strict("[core]\nhooksPath = /nowhere"),
    strict("[diff]\nsubmodule = diff"),
    strict("[status]\nsubmoduleSummary = true"),
    strict("[some]\nfutureCommand = MARK"),
    harmless("[core]\nfsmonitor = false"),
    harmless("[core]\nfsmonitor ="),
    harmless("[core]\nautocrlf = input\nignorecase = true\n\tabbrev = 10"),
    harmless("[remote \"o\"]\nurl = ssh://[::1]/x\nfetch = +refs/heads/*:refs/remotes/o/*"),
    harmless("[branch \"main\"]\nremote = o\nmerge = refs/heads/main"),
    harmless("[user]\nname = Ann\n[commit]\ngpgSign = true\n[pager]\nlog = false"),
    harmless("[core]\nhooksPath = .husky/_"),
    harmless("[submodule \"s\"]\nurl = https://x.example/s\nactive = true\nupdate = rebase"),
    harmless("[lfs]\nrepositoryformatversion = 0\n[lfs \"https://x.example\"]\naccess = basic"),
    harmless("# [core] fsmonitor = MARK\n[a] b = \"[core]\" ; fsmonitor = MARK"),
];

/// In the user's own file.
const OWN: &[Case] = &[
    starts("[core]\nfsmonitor = MARK"),
    starts("[diff]\nexternal = MARK"),
    starts("[diff \"d\"]\ntextconv = MARK"),
    starts("[filter \"f\"]\nclean = MARK"),
    strict("[filter \"lfs\"]\nclean = git-lfs clean -- %f && MARK"),
    strict("[filter \"f\"]\nclean = git-lfs clean -- %f"),
    strict("[trace2]\nnormalTarget = MARK/none"),
    harmless("[core]\npager = MARK\neditor = MARK\nsshCommand = MARK\naskPass = MARK\n[pager]\nlog = MARK"),
    harmless("[credential]\nhelper = MARK\n[gpg]\nprogram = MARK\n[interactive]\ndiffFilter = MARK"),
    harmless("[alias]\nstatus = !MARK\nx = !MARK\n[merge \"d\"]\ndriver = MARK"),
    harmless(
        "[filter \"lfs\"]\nclean = git-lfs clean -- %f\nsmudge = git-lfs smudge -- %f\nprocess = git-lfs filter-process\nrequired",
    ),
    harmless("[core]\nattributesFile = ~/x\nexcludesFile = ~/y\n[submodule]\nrecurse = true"),
];

#[track_caller]
fn check(world: &World, case: &Case, lines: &[&str]) {
    let repo = world.repo();
    let git = world.look(&repo);
    let started = world.starts(&repo, lines);
    assert!(!started || !git.runs.is_empty(), "git starts the program, and we said nothing: {:?}", case.text);
    assert_eq!(started, case.starts, "what git does: {:?}", case.text);
    assert_eq!(!git.runs.is_empty(), case.entry, "what we say: {:?} {git:?}", case.text);
    assert_eq!(git.repository.as_deref(), repo.to_str());
}

fn each(cases: &[Case], file: &str) {
    let world = World::new();
    let path = world.root.join(file);
    let plain = fs::read_to_string(&path).unwrap_or_default();
    for case in cases {
        fs::write(&path, &plain).unwrap();
        append(&path, &case.text.replace("MARK", &world.mark()));
        // The file must differ from the index in a way that git has not seen yet.
        fs::write(world.repo().join("a.txt"), "four\nfive\nsix\n").unwrap();
        check(&world, case, LOOKING);
    }
}

#[test]
fn what_git_starts_by_the_repository_s_file_has_an_entry() {
    let (first, second) = REPOSITORY.split_at(20);
    each(first, "home/repo/.git/config");
    assert!(second.iter().all(|case| !case.starts), "the other half runs in a test of its own");
}

#[test]
fn what_git_does_not_start_is_an_entry_only_where_it_names_a_program() {
    let (_, second) = REPOSITORY.split_at(20);
    each(second, "home/repo/.git/config");
}

#[test]
fn what_git_starts_by_the_user_s_own_file_has_an_entry() {
    each(OWN, "home/.gitconfig");
}

#[test]
fn a_plain_repository_has_no_entry_and_starts_nothing() {
    let world = World::new();
    let all: Vec<&str> = LOOKING.iter().chain(MORE).copied().collect();
    check(&world, &harmless("nothing"), &all);
    world.configure("[core]\nfsmonitor = MARK");
    assert!(!world.starts(&world.repo(), MORE), "these would belong to the others");
}

#[test]
fn a_hook_of_the_index_is_an_entry_wherever_the_hooks_are() {
    let touch = |world: &World| fs::write(world.repo().join("b.txt"), "b").unwrap();
    let places = [
        (".git/hooks/post-index-change", ""),
        (".hooks/post-index-change", "[core]\nhooksPath = .hooks"),
        (".hooks/post-index-change", "[core]\nhooksPath = ~/repo/.hooks"),
    ];
    for own in [false, true] {
        for (place, setting) in places {
            let world = World::new();
            program(&world.repo().join(place), &world);
            if own {
                world.configure_own(setting);
            } else {
                world.configure(setting);
            }
            // Nothing but its times has changed, so that git refreshes the index.
            world.git(&world.repo(), "checkout -q -f");
            fs::write(world.repo().join("a.txt"), fs::read(world.repo().join("a.txt")).unwrap()).unwrap();
            touch(&world);
            assert_entry(&world.look(&world.repo()), "post-index-change: a hook");
            assert!(world.starts(&world.repo(), &["status"]), "{place} {setting}");
        }
    }
    let world = World::new();
    program(&world.repo().join(".git/hooks/post-index-change.sample"), &world);
    program(&world.repo().join(".git/hooks/pre-commit"), &world);
    check(&world, &harmless("hooks that nothing runs"), LOOKING);
}

#[test]
fn a_missing_object_of_a_partial_clone_starts_the_connection_s_program() {
    let world = World::new();
    let object = world.git(&world.repo(), "rev-parse HEAD:a.txt");
    let (folder, file) = object.split_at(2);
    fs::remove_file(world.repo().join(".git/objects").join(folder).join(file)).unwrap();
    let remote = format!(
        "[remote \"o\"]\nurl = {}\nuploadpack = MARK </dev/null\n",
        world.root.join("none").display()
    );
    world.configure(&remote);
    assert!(!world.starts(&world.repo(), LOOKING), "without a promise nothing is fetched");
    world.configure("[remote \"o\"]\npromisor = true");
    assert!(world.starts(&world.repo(), &["show HEAD"]));
    assert_entry(&world.look(&world.repo()), "remote.o.promisor=true (.git/config)");
}

#[test]
fn variables_of_the_environment_that_start_a_program_are_entries() {
    let mut world = World::new();
    let mark = world.mark();
    let cases = [
        ("GIT_EXTERNAL_DIFF", vec![("GIT_EXTERNAL_DIFF", mark.clone())]),
        ("GIT_CONFIG_PARAMETERS", vec![("GIT_CONFIG_PARAMETERS", format!("'core.fsmonitor={mark}'"))]),
        (
            "core.fsmonitor=",
            vec![
                ("GIT_CONFIG_COUNT", "1".to_owned()),
                ("GIT_CONFIG_KEY_0", "CORE.fsMonitor".to_owned()),
                ("GIT_CONFIG_VALUE_0", mark.clone()),
            ],
        ),
    ];
    for (entry, variables) in cases {
        world.set(&variables);
        assert_entry(&world.look(&world.repo()), entry);
        assert!(world.starts(&world.repo(), LOOKING), "{entry}");
    }
}

#[test]
fn a_trace_into_a_file_is_an_entry() {
    let mut world = World::new();
    let file = world.root.join("marked").display().to_string();
    for name in super::super::environment::TRACES {
        world.set(&[(name, file.clone())]);
        assert_entry(&world.look(&world.repo()), name);
    }
    for name in ["GIT_TRACE", "GIT_TRACE2_EVENT", "GIT_TRACE_SETUP"] {
        world.set(&[(name, file.clone())]);
        assert!(world.starts(&world.repo(), &["status"]), "{name} is written");
    }
}

#[test]
fn usual_variables_are_no_entries() {
    let mut world = World::new();
    for (name, value) in [
        ("PAGER", "less -R"),
        ("PAGER", "/usr/bin/less"),
        ("PAGER", "cat"),
        ("GIT_PAGER", ""),
        ("GIT_EDITOR", "true"),
        ("GIT_ASKPASS", "/opt/askpass.sh"),
        ("GIT_TRACE", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_OPTIONAL_LOCKS", "0"),
    ] {
        world.set(&[(name, value.to_owned())]);
        assert_eq!(world.look(&world.repo()).runs, [""; 0], "{name}={value}");
    }
    for (name, value) in [
        ("PAGER", "less -oX"),
        ("GIT_PAGER", "./x"),
        ("GIT_PAGER", "cat; ./x"),
        ("GIT_TRACE", "5"),
        ("GIT_CONFIG_COUNT", "101"),
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_SSH_COMMAND", "ssh -v"),
        ("GIT_CONFIG_GLOBAL", "/x"),
        ("GIT_EXEC_PATH", "/x"),
    ] {
        world.set(&[(name, value.to_owned())]);
        assert_eq!(world.look(&world.repo()).runs.len(), 1, "{name}={value}");
    }
}
