//! What a confined command can do, and how its end is passed on.
#![cfg(target_os = "linux")]

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use serde_json::{Value, json};

const RUNNER: &str = env!("CARGO_BIN_EXE_confine-test");

/// A workspace with a home beside it.
struct Space {
    base: tempfile::TempDir,
}

impl Space {
    /// None where this machine cannot confine; the reason is printed.
    fn new() -> Option<Self> {
        let probe = Command::new(RUNNER).arg("probe").output().unwrap();
        if !probe.status.success() {
            say(&format!("skipped: {}", String::from_utf8_lossy(&probe.stdout)));
            return None;
        }
        let base = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        fs::create_dir_all(base.path().join("ws")).unwrap();
        fs::create_dir_all(base.path().join("home")).unwrap();
        Some(Self { base })
    }

    fn ws(&self) -> PathBuf {
        fs::canonicalize(self.base.path()).unwrap().join("ws")
    }

    fn profile(&self, more: &Value) -> String {
        let mut profile = json!({
            "version": 1, "workspace": [self.ws()], "cwd": self.ws(), "home": self.ws().with_file_name("home"),
            "read_only": [".git", ".agent"], "hidden": [".env"], "drop_env": ["*_TOKEN"],
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            profile[key] = value.clone();
        }
        profile.to_string()
    }

    fn command(&self, more: &Value, argv: &[&str]) -> Command {
        let mut command = Command::new(RUNNER);
        command.args(["run", "--profile", &self.profile(more), "--"]).args(argv).current_dir(self.ws());
        command
    }

    fn shell(&self, script: &str) -> Output {
        self.command(&json!({}), &["sh", "-c", script]).output().unwrap()
    }
}

/// For whoever reads the log of the run.
fn say(sentence: &str) {
    let _ = writeln!(std::io::stdout(), "{sentence}");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

#[test]
fn exit_codes_are_those_of_the_command() {
    let Some(space) = Space::new() else { return };
    assert_eq!(space.shell("exit 0").status.code(), Some(0));
    assert_eq!(space.shell("exit 7").status.code(), Some(7));
    assert_eq!(space.shell("kill -9 $$").status.code(), Some(137));
    assert_eq!(space.command(&json!({}), &["no-such-program"]).status().unwrap().code(), Some(127));
    assert_eq!(space.command(&json!({}), &["/etc"]).status().unwrap().code(), Some(126));
}

#[test]
fn input_and_output_pass_through_unchanged() {
    let Some(space) = Space::new() else { return };
    let mut child =
        space.command(&json!({}), &["cat"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let bytes: Vec<u8> = (0..=255_u8).cycle().take(300_000).collect();
    let mut input = child.stdin.take().unwrap();
    let sent = bytes.clone();
    let writer = std::thread::Builder::new().spawn(move || input.write_all(&sent)).unwrap();
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success() && output.stdout == bytes);
}

#[test]
fn nothing_outside_is_changed_through_standard_input() {
    let Some(space) = Space::new() else { return };
    let refused = space.command(&json!({}), &["true"]).stdin(fs::File::open("/").unwrap()).output().unwrap();
    assert_eq!(refused.status.code(), Some(125));
    assert!(text(&refused.stderr).contains("standard input is a folder"), "{}", text(&refused.stderr));

    let file = space.ws().with_file_name("outside");
    fs::write(&file, "untouched").unwrap();
    let before = fs::metadata(&file).unwrap().permissions();
    let input = fs::OpenOptions::new().read(true).write(true).open(&file).unwrap();
    let script = "cat; chmod 777 /proc/self/fd/0; echo x >&0; echo x > /proc/self/fd/0";
    let output = space.command(&json!({}), &["sh", "-c", script]).stdin(input).output().unwrap();
    assert_eq!(text(&output.stdout), "untouched");
    assert_eq!(fs::read_to_string(&file).unwrap(), "untouched");
    assert_eq!(fs::metadata(&file).unwrap().permissions(), before);
}

#[test]
fn a_signal_reaches_the_command_which_may_handle_it() {
    let Some(space) = Space::new() else { return };
    let script = "trap 'echo caught; exit 9' TERM; echo ready; while :; do sleep 0.05; done";
    let mut child = space.command(&json!({}), &["sh", "-c", script]).stdout(Stdio::piped()).spawn().unwrap();
    assert_eq!(first_line(&mut child), "ready");
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap()),
        nix::sys::signal::Signal::SIGTERM,
    )
    .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(9));
}

#[test]
fn local_git_works_and_its_hooks_run_inside() {
    let Some(space) = Space::new() else { return };
    let ws = space.ws();
    let git = |arguments: &[&str]| {
        assert!(Command::new("git").arg("-C").arg(&ws).args(arguments).output().unwrap().status.success());
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["config", "user.name", "ada"]);
    git(&["config", "user.email", "ada@example.com"]);
    fs::write(
        ws.join(".git/hooks/pre-commit"),
        "#!/bin/sh\nid -u > hook-ran\nls /proc | grep -c '^[0-9]' >> hook-ran\n",
    )
    .unwrap();
    assert!(
        Command::new("chmod").arg("755").arg(ws.join(".git/hooks/pre-commit")).status().unwrap().success()
    );
    let output = space.shell(
        "echo x > f && git add f && git commit -qm one && git switch -qc two && git mv f g && git commit -qm two && \
         git stash list && git log --oneline | wc -l && git gc -q",
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).trim(), "2");
    let hook = fs::read_to_string(ws.join("hook-ran")).unwrap();
    let processes: u32 = hook.lines().nth(1).unwrap().parse().unwrap();
    assert!(processes < 20, "the hook saw {processes} processes: those of the machine");
}

#[test]
fn git_works_where_its_configuration_is_on_the_list_of_secrets_and_holds_none() {
    let Some(space) = Space::new() else { return };
    let ws = space.ws();
    assert!(Command::new("git").args(["init", "-q"]).current_dir(&ws).status().unwrap().success());
    let hidden = json!({"hidden": [".git/config*"]});
    let run = |script: &str| space.command(&hidden, &["sh", "-c", script]).output().unwrap();
    let commit = "git -c user.name=x -c user.email=x@x commit -qm one --allow-empty && git status --short";
    let output = run(commit);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(!run("git config core.fsmonitor evil").status.success());
    // A configuration that appears is still removed.
    assert!(run("mkdir new && git init -q new").status.success());
    assert!(!ws.join("new/.git/config").exists());
    let mut file = fs::OpenOptions::new().append(true).open(ws.join(".git/config")).unwrap();
    file.write_all(b"[remote \"o\"]\n\turl = https://ghp_TELLTALE@example.com/x\n").unwrap();
    fs::hard_link(ws.join(".git/config"), ws.join("other-name")).unwrap();
    let output = run("cat .git/config other-name; git status");
    assert!(
        !output.status.success() && !text(&output.stdout).contains("TELLTALE"),
        "{}",
        text(&output.stdout)
    );
}

#[test]
fn a_linked_worktree_can_be_committed_to() {
    let Some(space) = Space::new() else { return };
    let main = space.ws().with_file_name("main");
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(&main).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    fs::create_dir(&main).unwrap();
    git(&["init", "-q"]);
    git(&["config", "user.name", "ada"]);
    git(&["config", "user.email", "ada@example.com"]);
    git(&["commit", "-q", "--allow-empty", "-m", "zero"]);
    fs::remove_dir(space.ws()).unwrap_or_default();
    let ws = space.base.path().join("ws");
    git(&["worktree", "add", "-q", ws.to_str().unwrap()]);
    let output = space.shell("echo x > f && git add f && git commit -qm one && git status --short");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let output = space.shell("git config core.fsmonitor evil");
    assert!(!output.status.success());
    assert!(!space.shell("echo x > ../main/f").status.success());
}

#[test]
fn servers_on_the_loopback_and_sockets_in_the_workspace_work() {
    let Some(space) = Space::new() else { return };
    let script = "
import socket, os
for family, address in ((socket.AF_INET, ('127.0.0.1', 0)), (socket.AF_INET6, ('::1', 0)), (socket.AF_UNIX, 's'), (socket.AF_UNIX, '/tmp/s'), (socket.AF_UNIX, '\\0abstract')):
    server = socket.socket(family); server.bind(address); server.listen()
    client = socket.socket(family); client.connect(server.getsockname()); client.sendall(b'x')
    assert server.accept()[0].recv(1) == b'x'
a, b = os.openpty(); os.write(b, b'x'); assert os.read(a, 1) == b'x'
import multiprocessing.shared_memory as m; s = m.SharedMemory(create=True, size=10); s.close(); s.unlink()
open(os.path.expanduser('~/.cache/x'), 'w').write('x')
";
    let output = Command::new("/usr/bin/python3").arg("-V").output();
    if !output.is_ok_and(|output| output.status.success()) {
        say("skipped: no /usr/bin/python3");
        return;
    }
    let output = space.command(&json!({}), &["/usr/bin/python3", "-c", script]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn the_network_is_gone_and_the_sentence_says_how_to_ask() {
    let Some(space) = Space::new() else { return };
    let output = space.command(&json!({}), &["bash", "-c", "echo > /dev/udp/192.0.2.1/53"]).output().unwrap();
    assert!(!output.status.success());
    let told = text(&output.stderr);
    assert!(
        told.contains(
            "placet run: this run has no network. To ask a person for more: placet run --ask -- echo > /dev/udp"
        ),
        "{told}"
    );
    let output = space.shell("echo x > /usr/x");
    assert!(text(&output.stderr).contains("placet run --ask -- sh"), "{}", text(&output.stderr));
}

#[test]
fn listed_variables_are_dropped_and_the_rest_stays() {
    let Some(space) = Space::new() else { return };
    let output = space
        .command(&json!({}), &["env"])
        .env("GITHUB_TOKEN", "x")
        .env("PLACET_URL", "x")
        .env("HARMLESS", "yes")
        .output()
        .unwrap();
    let env = text(&output.stdout);
    assert!(env.contains("HARMLESS=yes") && env.contains("TMPDIR=/tmp"), "{env}");
    assert!(!env.contains("GITHUB_TOKEN") && !env.contains("PLACET_URL"), "{env}");
}

#[test]
fn a_profile_that_cannot_be_followed_runs_nothing() {
    let Some(space) = Space::new() else { return };
    let link = space.ws().with_file_name("link");
    std::os::unix::fs::symlink(space.ws(), &link).unwrap();
    for more in [
        json!({"workspace": [link], "cwd": link}),
        json!({"colour": "red"}),
        json!({"hosts": ["example.com"]}),
        json!({"cwd": "/"}),
    ] {
        let output = space.command(&more, &["touch", "ran"]).output().unwrap();
        assert_eq!(output.status.code(), Some(125), "{more}");
        assert!(text(&output.stderr).starts_with("placet run: "), "{}", text(&output.stderr));
        assert!(!space.ws().join("ran").exists());
    }
}

#[test]
fn a_protected_file_that_appears_is_removed_and_reported_before_the_end() {
    let Some(space) = Space::new() else { return };
    let output = space.shell("mkdir -p a/.agent/x && echo evil > a/.agent/x/y && exit 3");
    assert_eq!(output.status.code(), Some(3));
    let told = text(&output.stderr);
    assert!(told.contains(".agent is protected and appeared during the run: it was removed"), "{told}");
    assert!(space.ws().join("a").exists() && !space.ws().join("a/.agent").exists());
}

#[test]
fn folders_above_a_secret_cannot_be_swapped_by_another_run() {
    let Some(space) = Space::new() else { return };
    fs::create_dir_all(space.ws().join("a/b")).unwrap();
    fs::write(space.ws().join("a/b/.env"), "secret").unwrap();
    let output = space.shell("mv a c; mv a/b a/d; rm -rf a");
    assert!(!output.status.success());
    assert_eq!(fs::read_to_string(space.ws().join("a/b/.env")).unwrap(), "secret");
}

#[test]
fn a_run_inside_a_run_is_refused_with_a_sentence() {
    let Some(space) = Space::new() else { return };
    fs::copy(RUNNER, space.ws().join("runner")).unwrap();
    let profile = space.profile(&json!({}));
    let output = space
        .command(&json!({}), &["./runner", "run", "--profile", &profile, "--", "true"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(text(&output.stderr).contains("no new namespaces"), "{}", text(&output.stderr));
    assert!(Path::new(&space.ws()).exists());
}
