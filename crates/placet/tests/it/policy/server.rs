//! The real server on a free port, its log, and the command line that speaks to it.

use std::{
    fs::File,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::Duration,
};

use placet_client::Client;
use placet_core::Role;
use serde_json::Value;
use tempfile::TempDir;
use tokio::time::Instant;

use crate::program::{MINUTE, binary};

pub(crate) const BOOTSTRAP: &str = "bootstrap-bootstrap-bootstrap-bootstrap";

/// The command line alone, without a server.
pub(crate) fn placet(args: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command
        .args(args)
        .env("PLACET_URL", "http://127.0.0.1:1")
        .env("NO_COLOR", "1")
        .env_remove("PLACET_TOKEN")
        .env_remove("PLACET_DATABASE")
        .env_remove("PLACET_LOG")
        .stdin(Stdio::null());
    command
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The output: exit code, standard output, standard error.
pub(crate) fn said(output: Output) -> (Option<i32>, String, String) {
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Runs the command line alone.
pub(crate) fn alone(args: &[&str]) -> (Option<i32>, String, String) {
    said(placet(args).output().expect("it runs"))
}

/// A folder with a data folder and policy files in it.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Writes a file beside the data folder, as careful programs do, and gives its path.
    pub(crate) fn file(&self, name: &str, content: &str) -> String {
        let path = self.folder.path().join(name);
        let half = self.folder.path().join(format!("{name}.new"));
        std::fs::write(&half, content).expect("written");
        std::fs::rename(&half, &path).expect("renamed");
        path.to_str().expect("text").to_owned()
    }

    pub(crate) fn serve(&self, args: &[&str]) -> Server {
        Server::start(&self.data(), args)
    }
}

/// A running server; killed when dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
    log: PathBuf,
}

impl Server {
    fn start(data: &Path, args: &[&str]) -> Self {
        let log = data.with_extension("log");
        let mut child = placet(&["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .args(args)
            .env("PLACET_BOOTSTRAP_TOKEN", BOOTSTRAP)
            .stdout(Stdio::piped())
            .stderr(File::create(&log).expect("a log"))
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
        let url = line.trim().strip_prefix("listening on ").map(str::to_owned);
        let url = url.unwrap_or_else(|| {
            panic!("it does not listen: {}", std::fs::read_to_string(&log).unwrap_or_default())
        });
        Self { child, url, log }
    }

    /// Its log so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Waits until this has been logged this many times.
    #[track_caller]
    pub(crate) fn logged(&self, words: &str, times: usize) {
        let until = Instant::now() + MINUTE;
        while self.log().matches(words).count() < times {
            assert!(Instant::now() < until, "{words:?} is not in the log:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn command(&self, key: &str, args: &[&str]) -> Command {
        let mut command = placet(args);
        command.env("PLACET_URL", &self.url).env("PLACET_TOKEN", key);
        command
    }

    pub(crate) fn run(&self, key: &str, args: &[&str]) -> (Option<i32>, String, String) {
        said(self.command(key, args).output().expect("it runs"))
    }

    /// Runs it with `--json` and reads its output. It must succeed.
    #[track_caller]
    pub(crate) fn json(&self, key: &str, args: &[&str]) -> Value {
        let (code, out, err) = self.run(key, &[&["--json"], args].concat());
        assert_eq!(code, Some(0), "{args:?}: {err}");
        serde_json::from_str(&out).expect("JSON")
    }

    /// A new key.
    pub(crate) fn key(&self, role: Role, name: &str) -> String {
        let admin = Client::new(&self.url, BOOTSTRAP).expect("an address");
        block_on(admin.create_key(role, name, None)).expect("a key").key
    }

    /// Creates a request without waiting: the record in the answer of the POST.
    pub(crate) fn ask(&self, key: &str, tool: &str, args: &str) -> Value {
        let output = self.command(
            key,
            &["--json", "request", "--session", "s", "--tool", tool, "--args", args, "--wait", "0s"],
        );
        let (_, out, err) = said({ output }.output().expect("it runs"));
        serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"))
    }

    /// The hash of the policy in force.
    pub(crate) fn in_force(&self) -> String {
        self.json(BOOTSTRAP, &["policy", "show"])["hash"].as_str().expect("a hash").to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs one future on a runtime of its own.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(future)
}

/// The hash of a policy file, as the command line says it.
pub(crate) fn hash_of(file: &str) -> String {
    let (code, out, err) = alone(&["--json", "policy", "check", file]);
    assert_eq!(code, Some(0), "{err}");
    let checked: Value = serde_json::from_str(&out).expect("JSON");
    checked["hash"].as_str().expect("a hash").to_owned()
}

/// A policy with one rule for one tool.
pub(crate) fn policy(effect: &str, tool: &str) -> String {
    format!("version = 1\n\n[[rule]]\nname = \"only\"\neffect = \"{effect}\"\ntool = \"{tool}\"\n")
}
