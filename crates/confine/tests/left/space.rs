//! A workspace to run confined commands in.

use std::{
    fs,
    io::{Read as _, Write as _},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use serde_json::json;

const RUNNER: &str = env!("CARGO_BIN_EXE_confine-test");
/// The user `nobody`.
const NOBODY: u32 = 65_534;

/// A workspace with a home beside it.
pub(crate) struct Space {
    base: tempfile::TempDir,
    /// As whom commands run: root may do too much.
    user: Option<u32>,
}

impl Space {
    /// None where this machine cannot confine; the reason is printed.
    pub(crate) fn new() -> Option<Self> {
        let probe = Command::new(RUNNER).arg("probe").output().unwrap();
        if !probe.status.success() {
            let _ = writeln!(std::io::stdout(), "skipped: {}", String::from_utf8_lossy(&probe.stdout));
            return None;
        }
        let base = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        fs::create_dir_all(base.path().join("ws")).unwrap();
        fs::create_dir_all(base.path().join("home")).unwrap();
        fs::create_dir_all(base.path().join("sessions")).unwrap();
        Some(Self { base, user: None })
    }

    /// The same for a plain user: whoever runs the tests or, where that is root, nobody.
    pub(crate) fn of_plain_user() -> Option<Self> {
        let mut space = Self::new()?;
        if rustix::process::geteuid().is_root() {
            space.user = Some(NOBODY);
            for folder in ["", "ws", "home", "sessions"] {
                std::os::unix::fs::chown(space.base.path().join(folder), Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        Some(space)
    }

    pub(crate) fn ws(&self) -> PathBuf {
        fs::canonicalize(self.base.path()).unwrap().join("ws")
    }

    /// A confined run of a script.
    pub(crate) fn command(&self, script: &str) -> Command {
        let mut command = self.program(RUNNER);
        command.args(self.words(script));
        command
    }

    /// The same with another folder as the workspace.
    pub(crate) fn in_folder(&self, folder: &Path, script: &str) -> Command {
        let mut command = self.program(RUNNER);
        command.args(self.words_in(folder, "one", script));
        command
    }

    /// The same in another workspace and another session.
    pub(crate) fn elsewhere(&self, script: &str) -> Command {
        let folder = self.ws().with_file_name("elsewhere");
        fs::create_dir_all(&folder).unwrap();
        let mut command = self.program(RUNNER);
        command.args(self.words_in(&folder, "two", script));
        command
    }

    /// The words behind the runner.
    pub(crate) fn words(&self, script: &str) -> Vec<String> {
        self.words_in(&self.ws(), "one", script)
    }

    fn words_in(&self, folder: &Path, session: &str, script: &str) -> Vec<String> {
        let profile = json!({
            "version": 1, "workspace": [folder], "cwd": folder, "home": self.ws().with_file_name("home"),
            "read_only": [".git", ".agent", ".both", "ci/steps"], "hidden": [".env", ".both"],
            "kept": self.ws().with_file_name("sessions").join(session),
        });
        ["run", "--profile", &profile.to_string(), "--", "sh", "-c", script].map(str::to_owned).into()
    }

    /// A program as the user of the workspace.
    pub(crate) fn program(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.ws());
        if let Some(user) = self.user {
            command.gid(user).uid(user);
        }
        command
    }

    /// The folder with the records of runs.
    pub(crate) fn records(&self) -> PathBuf {
        self.ws().with_file_name("sessions")
    }

    /// What a person does with the records of runs: what they say, or what was refused.
    pub(crate) fn settle(&self, verb: &str) -> Result<String, String> {
        let folder = self.records();
        let Output { status, stdout, stderr } = self.program(RUNNER).arg(verb).arg(folder).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        if status.success() { Ok(text(stdout)) } else { Err(text(stdout) + &text(stderr)) }
    }

    /// Runs a script as it is, to prepare something.
    pub(crate) fn bare(&self, script: &str) {
        let output = self.program("sh").args(["-ec", script]).output().unwrap();
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Runs a script confined: exit code, output, and what the runner and the command said.
    pub(crate) fn run(&self, script: &str) -> (Option<i32>, String, String) {
        let Output { status, stdout, stderr } = self.command(script).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        (status.code(), text(stdout), text(stderr))
    }
}

/// Secrets and git's own, as they are in a usual project.
pub(crate) const PROJECT: &str = "mkdir -p sub .git/hooks .git/objects .git/refs config; echo secret > sub/.env; echo '[core]' > .git/config; \
                       touch .git/HEAD; echo key > config/master.key; echo secret > config/.env";

/// A run that has said that it is ready.
pub(crate) fn begin(space: &Space, script: &str) -> Child {
    begin_as(space.command(script))
}

/// The same of another command.
pub(crate) fn begin_as(mut command: Command) -> Child {
    let mut run = command.stdout(Stdio::piped()).spawn().unwrap();
    hears(&mut run, "ready");
    run
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

/// What is on record of runs.
pub(crate) fn records(space: &Space) -> Vec<PathBuf> {
    let entries = fs::read_dir(space.records()).unwrap().flatten();
    let is_record =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("run-"));
    entries.map(|entry| entry.path()).filter(is_record).collect()
}

pub(crate) fn text(space: &Space, path: &str) -> String {
    fs::read_to_string(space.ws().join(path)).unwrap_or_default()
}

/// The program under test.
pub(crate) const fn runner() -> &'static str {
    RUNNER
}
