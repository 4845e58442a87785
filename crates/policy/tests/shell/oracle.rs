//! Every program that a preset lets pass, run for real and watched: command lines that the preset allows, written from its
//! own grammar as an adversary would spell them, write nothing, start nothing and call nobody.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

use placet_core::Effect;
use placet_policy::{Policy, names, preset};
use serde_json::json;

use crate::presets::ask;

/// Lines of each pattern and program, and of all together in the long form.
const EACH: usize = 10;
/// For each pair of an edit and a program.
const EACH_PAIR: usize = 3;
const EACH_LONG: usize = 200;

/// What changes something, starts something or calls somebody. Unknown names are skipped on other machines.
const WATCHED: &str = "?open,?openat,?openat2,?creat,?rename,?renameat,?renameat2,?unlink,?unlinkat,?mkdir,?mkdirat,\
    ?rmdir,?link,?linkat,?symlink,?symlinkat,?mknod,?mknodat,?chmod,?fchmod,?fchmodat,?fchmodat2,?chown,?fchown,?lchown,\
    ?fchownat,?truncate,?ftruncate,?utime,?utimes,?utimensat,?futimesat,?setxattr,?lsetxattr,?fsetxattr,?removexattr,\
    ?lremovexattr,?fremovexattr,?execve,?execveat,?connect,?bind,?sendto,?sendmsg,?mount,?umount2,?pivot_root,?ptrace,\
    ?sethostname,?setdomainname,?settimeofday,?clock_settime,?clock_adjtime,?setpriority,?reboot,?init_module,?bpf";

/// Effects that are none: of a program, or of all; what it is; a part of what is seen; why it is permitted.
const PERMITTED: &[(&str, &str, &str, &str)] = &[
    ("", "open", "\"/dev/null\"", "nothing is kept there"),
    ("", "open", "\"/dev/tty\"", "the terminal"),
    ("", "connect", "AF_UNIX, sun_path=\"/var/run/nscd/socket\"", "names of users, asked of this machine"),
    ("shasum", "open", "O_RDWR|O_CLOEXEC) = -1 EISDIR", "it asks whether this is a folder"),
    ("egrep", "exec", "/grep\", ", "it is a script around grep"),
    ("fgrep", "exec", "/grep\", ", "it is a script around grep"),
    ("git", "open", ".git/index.lock\"", "git writes down when it last looked at the files"),
    ("git", "rename", ".git/index.lock\"", "the same"),
    ("git", "unlink", ".git/index.lock\"", "the same"),
    ("git", "exec", "/git-core/git", "git's own helper programs"),
    ("git", "exec", "/bin/git\"", "git itself, for a part of the work"),
];

/// What a pattern of an allow rule lists.
struct Pattern {
    programs: Vec<String>,
    subcommand: String,
    flags: Vec<String>,
    values: Vec<String>,
    optional: Vec<String>,
    exact: Option<String>,
}

fn patterns(policy: &str) -> Vec<Pattern> {
    let file: toml::Table = toml::from_str(policy).expect("a preset is TOML");
    let rules = file["rule"].as_array().expect("a list of rules");
    let shells = rules
        .iter()
        .filter(|rule| rule["effect"].as_str() == Some("allow"))
        .filter_map(|rule| rule.get("args")?.as_table())
        .flat_map(|args| args.values().filter_map(|arg| arg.get("shell")?.get("allow")?.as_array()));
    let words = |value: Option<&toml::Value>| match value {
        Some(toml::Value::String(one)) => vec![one.clone()],
        Some(toml::Value::Array(many)) => {
            many.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect()
        }
        _ => Vec::new(),
    };
    shells
        .flatten()
        // What an operator turns on speaks to the network, and there is none where tests run.
        .filter(|pattern| pattern.get("switch").is_none())
        .map(|pattern| {
            let exact = words(pattern.get("exact"));
            let programs = words(pattern.get("program"));
            Pattern {
                programs: if exact.is_empty() { programs } else { vec![exact[0].clone()] },
                subcommand: words(pattern.get("subcommand")).join(" "),
                flags: words(pattern.get("flags")),
                values: words(pattern.get("values")),
                optional: words(pattern.get("optional")),
                exact: (!exact.is_empty()).then(|| exact.join(" ")),
            }
        })
        .collect()
}

/// The same lines in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % limit.max(1)
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len()))
    }

    /// Any letter, and every other time one by which programs like to write or run something.
    fn letter(&mut self) -> char {
        const ALL: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
        const LIKELY: &[u8] = b"oOxXwWcCfRTi";
        let among = if self.below(2) == 0 { ALL } else { LIKELY };
        char::from(*self.one(among).expect("letters"))
    }
}

/// Things that are there, things that are not, and what options take.
const OPERANDS: &[&str] = &[
    "a.txt",
    "b.txt",
    "sub",
    ".",
    "sub/c.txt",
    "new.out",
    "sub/new.pth",
    "1",
    "2",
    "HEAD",
    "main",
    "one",
    "@args",
    "*.txt",
];
const VALUES: &[&str] = &[
    "1",
    "2",
    "0",
    "a.txt",
    "new.out",
    "one",
    "always",
    "never",
    "name",
    "%H",
    "%G?",
    "%(signature)",
    "format:%G?",
    "sub/new.pth",
    "all",
    "diff",
    "+%Y",
    "yesterday",
];

/// A command line that a person, or somebody worse, could write with what the pattern lists.
fn line(dice: &mut Dice, pattern: &Pattern, program: &str) -> String {
    if let Some(exact) = &pattern.exact {
        return exact.clone();
    }
    let mut text = program.to_owned();
    if dice.below(40) == 0 {
        text.insert_str(0, "LC_ALL=C ");
    }
    if !pattern.subcommand.is_empty() {
        let _ = write!(text, " {}", pattern.subcommand);
    }
    if program == "sed" {
        let script = ["1p", "1,2p", "2,$p", "1p;3p", "1w new.out", "1e date", "s/a/b/w new.out"];
        let _ = write!(text, " -n '{}'", script[dice.below(script.len())]);
    }
    let all: Vec<&String> =
        [&pattern.flags, &pattern.values, &pattern.optional].into_iter().flatten().collect();
    let letters: Vec<char> =
        all.iter().filter(|flag| flag.len() == 2).filter_map(|flag| flag.chars().nth(1)).collect();
    for _ in 0..dice.below(4) {
        let word = match dice.below(9) {
            0 | 1 => dice.one(&all).map(|flag| (*flag).clone()),
            2 => dice.one(&pattern.flags).cloned(),
            3 => dice.one(&pattern.values).map(|flag| format!("{flag} {}", VALUES[dice.below(VALUES.len())])),
            4 => {
                let long: Vec<&&String> = all.iter().filter(|flag| flag.starts_with("--")).collect();
                dice.one(&long).map(|flag| format!("{flag}={}", VALUES[dice.below(VALUES.len())]))
            }
            // An abbreviation, which many programs take.
            5 => dice
                .one(&all)
                .filter(|flag| flag.len() > 5)
                .map(|flag| flag[..4 + dice.below(flag.len() - 4)].to_owned()),
            // Letters together: listed ones, and one or two that are not.
            6 | 7 => {
                let mut cluster: String = (0..=dice.below(3)).filter_map(|_| dice.one(&letters)).collect();
                (0..=dice.below(2)).for_each(|_| cluster.push(dice.letter()));
                (!letters.is_empty()).then(|| format!("-{cluster}"))
            }
            _ => {
                Some([format!("-{}", dice.below(30)), "--".to_owned(), "-".to_owned()][dice.below(3)].clone())
            }
        };
        if let Some(word) = word {
            let _ = write!(text, " {word}");
        }
    }
    for _ in 0..dice.below(4) {
        let _ = write!(text, " {}", OPERANDS[dice.below(OPERANDS.len())]);
    }
    text
}

fn allows(policy: &Policy, command: &str) -> bool {
    ask(policy, "Bash", &json!({ "command": command })).effect == Effect::Allow
}

/// Different lines that the policy allows, so many of each program of each pattern as there are.
fn allowed(text: &str, each: usize, only: Option<&str>) -> Vec<(String, String)> {
    let policy = Policy::parse(text).unwrap_or_else(|errors| panic!("{errors}"));
    let mut lines = Vec::new();
    let mut dice = Dice(20_261_117);
    for pattern in patterns(text) {
        for program in &pattern.programs {
            if only.is_some_and(|only| only != program) {
                continue;
            }
            let tries = (0..each * 60).map(|_| line(&mut dice, &pattern, program));
            let found: BTreeSet<String> = tries.filter(|line| allows(&policy, line)).take(each).collect();
            assert!(!found.is_empty(), "no line of `{program} {}` is allowed", pattern.subcommand);
            lines.extend(found.into_iter().map(|line| (program.clone(), line)));
        }
    }
    lines
}

/// A folder with a project in it, and programs that must not be started.
fn place(at: &Path) {
    let write = |name: &str, text: &str| {
        let path = at.join("work").join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    };
    write("a.txt", "one\ntwo\nthree\n");
    write("b.txt", "one\nthree\n");
    write("sub/c.txt", "name: one\n");
    write("args", "-o\nnew.out\n");
    fs::create_dir_all(at.join("home")).expect("a folder");
    fs::create_dir_all(at.join("bin")).expect("a folder");
    for name in ["gpg", "gpgsm", "ssh-keygen", "less", "more", "pager", "pr", "gzip", "vi", "editor", "ssh"] {
        symlink("/bin/true", at.join("bin").join(name)).expect("a link");
    }
    if Path::new("/usr/bin/fdfind").exists() {
        symlink("/usr/bin/fdfind", at.join("bin/fd")).expect("a link");
    }
    if !Path::new("/usr/bin/python").exists() {
        symlink("/usr/bin/python3", at.join("bin/python")).expect("a link");
    }
    let node = std::env::var_os("PATH").and_then(|path| {
        std::env::split_paths(&path).map(|folder| folder.join("node")).find(|file| file.is_file())
    });
    symlink(node.expect("Node is installed"), at.join("bin/node")).expect("a link");
    // A commit with a signature, which some placeholders check with another program.
    let script = "git init -q -b main . && git add . && git commit -q -m one && git tag t1 && echo more >> a.txt && git commit -qam two && \
        echo stashed >> b.txt && git stash -q && echo changed >> a.txt && \
        signed=$(git cat-file commit HEAD | sed '/^committer/a gpgsig -----BEGIN PGP SIGNATURE-----\\n \\n -----END PGP SIGNATURE-----' | git hash-object -t commit -w --stdin) && \
        git update-ref refs/heads/main $signed";
    let done = surroundings(Command::new("bash").args(["-c", script]), at)
        .env("GIT_AUTHOR_NAME", "a")
        .env("GIT_AUTHOR_EMAIL", "a@example.com")
        .env("GIT_COMMITTER_NAME", "a")
        .env("GIT_COMMITTER_EMAIL", "a@example.com")
        .output()
        .expect("bash starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

fn surroundings<'c>(command: &'c mut Command, at: &Path) -> &'c mut Command {
    command
        .current_dir(at.join("work"))
        .env_clear()
        // The system's programs. Version managers put scripts in front of them, which are another matter.
        .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", at.join("bin").display()))
        .env("HOME", at.join("home"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("LC_ALL", "C.UTF-8")
        .env("TERM", "dumb")
        .stdin(Stdio::null())
}

/// Runs a line, and says what it did besides reading.
fn effects(at: &Path, program: &str, line: &str) -> Vec<String> {
    let log = at.join("log");
    let mut command = Command::new("strace");
    command.args(["-f", "--seccomp-bpf", "-qq", "-s", "300", "-o"]).arg(&log).args([
        "-e",
        &format!("trace={WATCHED}"),
        "--",
    ]);
    // Some wait for more, or for ever.
    command.args(["timeout", "-s", "KILL", "2", "bash", "--norc", "-c", line]);
    let ended = surroundings(&mut command, at).stdout(Stdio::null()).stderr(Stdio::null()).status();
    ended.expect("strace starts: `cargo xtask test` installs it");
    let seen = String::from_utf8_lossy(&fs::read(&log).expect("the log")).into_owned();
    assert!(seen.contains("\"bash\""), "{line}: nothing was recorded");
    seen.lines().filter(|call| is_effect(program, call)).map(str::to_owned).collect()
}

/// Whether a recorded call does something that is not permitted. Attempts count: another machine may let them succeed.
fn is_effect(program: &str, call: &str) -> bool {
    let call = call.split_once(' ').map_or(call, |(_, call)| call).trim_start();
    // What was said when it began is enough.
    let Some((name, _)) = call.split_once('(').filter(|_| !call.starts_with('<')) else { return false };
    let kind = match name {
        "open" | "openat" | "openat2" | "creat" => "open",
        "execve" | "execveat" => "exec",
        _ if name.starts_with("rename") => "rename",
        _ if name.starts_with("unlink") => "unlink",
        _ => name,
    };
    let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"];
    let harmless = match kind {
        "open" => name != "creat" && !writes.iter().any(|flag| call.contains(flag)),
        "exec" => {
            let is = |name: &str| call.contains(&format!("/{name}\", "));
            is("timeout") || is("bash") || is(program) || (program == "fd" && is("fdfind"))
        }
        "sendto" | "sendmsg" => !call.contains("AF_INET"),
        "connect" | "bind" => call.contains("AF_NETLINK"),
        _ => false,
    };
    let permitted = PERMITTED.iter().any(|(whose, what, part, _)| {
        (whose.is_empty() || *whose == program) && *what == kind && call.contains(part)
    });
    !harmless && !permitted
}

/// Runs all lines on every processor, and says which of them did something.
fn run(lines: &[(String, String)]) -> BTreeMap<String, Vec<String>> {
    run_after(lines, &[])
}

/// The same after files were written into the project.
fn run_after(lines: &[(String, String)], first: &[(&str, &str)]) -> BTreeMap<String, Vec<String>> {
    let programs: BTreeSet<&str> = lines.iter().map(|(program, _)| program.as_str()).collect();
    let next = AtomicUsize::new(0);
    let workers = thread::available_parallelism().map_or(2, usize::from);
    let parts = thread::scope(|scope| {
        let worker = || {
            let folder = tempfile::tempdir().expect("a folder");
            let at: PathBuf = folder.path().to_owned();
            place(&at);
            for (name, text) in first {
                let path = at.join("work").join(name);
                fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
                fs::write(&path, text).expect("a file");
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
            }
            let all: Vec<&str> = programs.iter().copied().collect();
            let script = format!("for p in {}; do type -t $p >/dev/null || echo $p; done", all.join(" "));
            let missing =
                surroundings(Command::new("bash").args(["-c", &script]), &at).output().expect("bash");
            let missing = String::from_utf8_lossy(&missing.stdout);
            assert!(missing.is_empty(), "`cargo xtask test` installs these: {missing}");
            let mut bad = BTreeMap::new();
            while let Some((program, line)) = lines.get(next.fetch_add(1, Ordering::Relaxed)) {
                let seen = effects(&at, program, line);
                if !seen.is_empty() {
                    bad.insert(line.clone(), seen);
                }
            }
            bad
        };
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(worker)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a worker")).collect::<Vec<_>>()
    });
    parts.into_iter().flatten().collect()
}

#[test]
fn no_command_line_that_a_preset_allows_has_an_effect() {
    let each = if std::env::var_os("PLACET_LONG").is_some() { EACH_LONG } else { EACH };
    for name in names() {
        let text = preset(name).expect("a preset");
        let lines = allowed(text, each, None);
        let programs: BTreeSet<&String> = lines.iter().map(|(program, _)| program).collect();
        println!("{name}: {} lines of {} programs", lines.len(), programs.len());
        let bad = run(&lines);
        assert!(bad.is_empty(), "{name}: {} of {} lines: {bad:#?}", bad.len(), lines.len());
        if *name == "coding-agent" {
            assert!(programs.len() > 60 && lines.len() >= 60 * each / 2, "{} lines", lines.len());
        }
    }
}

/// The oracle itself: patterns as they were, or as somebody may write them, are caught.
#[test]
fn a_pattern_that_reads_options_in_another_way_than_the_program_is_caught() {
    let rule = |pattern: &str| {
        format!(
            "version = 1\n[[rule]]\nname = \"r\"\neffect = \"allow\"\ntool = \"Bash\"\n[rule.args.command.shell]\nallow = [{pattern}]\n"
        )
    };
    for (program, pattern) in [
        (
            "tree",
            r#"{ program = "tree", operands = "any", flags = ["-a", "-f"], values = ["-L", "-I", "-P"], attached = true }"#,
        ),
        ("uniq", r#"{ program = "uniq", operands = "any", flags = ["-c", "-d"] }"#),
        ("file", r#"{ program = "file", operands = "any", flags = ["-C", "-m"] }"#),
        ("touch", r#"{ program = "touch", operands = "any" }"#),
    ] {
        let lines = allowed(&rule(pattern), EACH_LONG, Some(program));
        let bad = run(&lines);
        assert!(!bad.is_empty(), "{program}: none of {} lines did anything", lines.len());
    }
}

/// Files that some program obeys, with what would show that it did.
const OBEYED: &[(&str, &str)] = &[
    ("x.sh", "#!/bin/sh\ntouch obeyed\n"),
    (
        ".git/config",
        "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = ./x.sh\n[diff]\n\texternal = ./x.sh\n[diff \"x\"]\n\ttextconv = ./x.sh\n[filter \"x\"]\n\tclean = ./x.sh\n",
    ),
    (".git/hooks/post-index-change", "#!/bin/sh\ntouch obeyed\n"),
    (".git/info/attributes", "* diff=x filter=x\n"),
    (".gitattributes", "* diff=x filter=x text eol=crlf\n"),
    (".gitmodules", "[submodule \"x\"]\n\tpath = sub\n\turl = ./x\n\tupdate = !./x.sh\n"),
    (".gitignore", "*.out\n"),
    (".ignore", "*.out\n"),
    (".rgignore", "*.out\n"),
    (".fdignore", "*.out\n"),
    (".ripgreprc", "--pre=./x.sh\n"),
    (".envrc", "touch obeyed\n"),
    (".bashrc", "touch obeyed\n"),
    (".inputrc", "$include /etc/inputrc\n"),
    (".magic", "0 string x x\n"),
    (".python-version", "3.99\n"),
    ("sitecustomize.py", "open('obeyed', 'w')\n"),
    ("json.py", "open('obeyed', 'w')\n"),
    ("pyvenv.cfg", "home = .\n"),
    ("package.json", "{\"type\": \"module\", \"scripts\": {\"preinstall\": \"./x.sh\"}}\n"),
    (".npmrc", "script-shell=./x.sh\n"),
    (".node-version", "99\n"),
    ("node.config.json", "{}\n"),
    ("git", "#!/bin/sh\ntouch obeyed\n"),
    ("ls", "#!/bin/sh\ntouch obeyed\n"),
];

/// The preset as it would be if edits in the workspace passed, and without one of the names that it holds.
fn edits_without(name: &str) -> String {
    let text = preset("coding-agent").expect("a preset");
    let (before, rest) = text.split_once("[[rule]]\nname = \"editing\"").expect("a rule about edits");
    let (_, after) = rest.split_once("[[rule]]\n").expect("another rule");
    let allow = "[[rule]]\nname = 'edits'\neffect = 'allow'\nunder = '@workspace'\ntool = 'Write'\n";
    format!("{before}[[rule]]\n{after}\n{allow}").replace(&format!("\"{name}\", "), "")
}

/// Lines that did something after all edits that the policy lets pass.
fn after_edits(text: &str) -> BTreeMap<String, Vec<String>> {
    let policy = Policy::parse(text).unwrap_or_else(|errors| panic!("{errors}"));
    let passes = |path: &str| {
        ask(&policy, "Write", &json!({ "file_path": path, "content": "x" })).effect == Effect::Allow
    };
    let first: Vec<(&str, &str)> = OBEYED.iter().copied().filter(|(path, _)| passes(path)).collect();
    assert!(first.len() > 5, "ordinary files can be written: {first:?}");
    run_after(&allowed(text, EACH_PAIR, None), &first)
}

#[test]
fn no_allowed_command_runs_what_an_allowed_edit_wrote() {
    let bad = after_edits(&edits_without("-"));
    assert!(bad.is_empty(), "{bad:#?}");
    let bad = after_edits(&edits_without(".git"));
    assert!(!bad.is_empty(), "the list without `.git` is caught");
}
