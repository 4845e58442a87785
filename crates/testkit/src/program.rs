//! The real program: a server that is killed when dropped, and the command line against it.

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use serde_json::Value;

use crate::BOOTSTRAP;

/// Where a test's server remembers what it acknowledged, away from the user's own files.
fn state_beside(data: &Path) -> PathBuf {
    data.with_extension("state")
}

/// A running `placet serve`; killed when dropped.
#[derive(Debug)]
pub struct Program {
    binary: &'static str,
    data: PathBuf,
    child: Option<Child>,
    /// Where it listens.
    pub url: String,
}

impl Program {
    /// Starts one on this data and a free port, with more arguments, and waits until it listens.
    pub fn serve(binary: &'static str, data: &Path, more: impl FnOnce(&mut Command)) -> Self {
        Self::serve_at("127.0.0.1:0", binary, data, more)
    }

    /// The same at a given address.
    pub fn serve_at(
        listen: &str,
        binary: &'static str,
        data: &Path,
        more: impl FnOnce(&mut Command),
    ) -> Self {
        let mut command = Command::new(binary);
        command
            .args(["serve", "--listen", listen, "--data"])
            .arg(data)
            .env("PLACET_BOOTSTRAP_TOKEN", BOOTSTRAP)
            .env_remove("PLACET_DATABASE")
            .env("PLACET_STATE", state_beside(data))
            .stderr(Stdio::null());
        more(&mut command);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the server starts");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let said = lines.next().expect("it says where it listens").expect("text");
        let url = said.trim().strip_prefix("listening on ").expect("an address").to_owned();
        // Read to the end, so that the server never blocks on the pipe.
        std::thread::Builder::new()
            .name("output of the server".to_owned())
            .spawn(move || lines.for_each(drop))
            .expect("a thread");
        Self { binary, data: data.to_owned(), child: Some(child), url }
    }

    /// Where it listens, without the scheme.
    pub fn address(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    /// The command line, against this server and with this key.
    pub fn command(&self, key: &str, args: &[&str]) -> Command {
        command_line(self.binary, &self.url, key, args)
    }

    /// A new key.
    pub fn key(&self, role: &str, name: &str) -> String {
        let mut made = self.command("", &["key", "new", "--role", role, "--name", name, "--data"]);
        made.arg(&self.data);
        String::from_utf8(succeeded(made).stdout).expect("text").trim().to_owned()
    }

    /// Whether it ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.child.as_mut().is_none_or(|child| child.try_wait().expect("its state").is_some())
    }

    /// Stops it as a service manager does. It has ended when this returns.
    pub fn stop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        let pid = child.id().to_string();
        let told = Command::new("kill").args(["-TERM", &pid]).status().expect("it runs");
        assert!(told.success(), "it cannot be told to stop");
        let (ended, end) = std::sync::mpsc::channel();
        let waits = move || ended.send(child.wait());
        std::thread::Builder::new().name("end of the server".to_owned()).spawn(waits).expect("a thread");
        let Ok(status) = end.recv_timeout(std::time::Duration::from_mins(1)) else {
            let _ = Command::new("kill").args(["-KILL", &pid]).status();
            panic!("it did not stop within a minute");
        };
        assert!(status.expect("its end").success(), "it ended badly");
    }

    /// As `kill -9` does.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("it can be killed");
            child.wait().expect("it is gone");
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The command line of the program, against a server and with a key.
pub fn command_line(binary: &str, url: &str, key: &str, args: &[&str]) -> Command {
    let mut command = Command::new(binary);
    command.args(args).env("PLACET_URL", url).env("PLACET_TOKEN", key).stdin(Stdio::null());
    command
}

/// Runs a command that must succeed, and reads the JSON it prints.
#[track_caller]
pub fn printed_json(command: Command) -> Value {
    serde_json::from_slice(&succeeded(command).stdout).expect("JSON")
}

#[track_caller]
fn succeeded(mut command: Command) -> Output {
    let output = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}: {said}", command.get_args());
    output
}
