//! Starts, stops and kills the real binary, and talks to it over plain blocking HTTP.

pub mod http;
pub mod life;
pub mod rng;

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use tokio::time::Instant;

use self::http::Http;

/// The first admin credential of every data folder of these programs.
pub const BOOTSTRAP_TOKEN: &str = "evidence-bootstrap-token-0123456789abcdef";

/// How a server process is started.
#[derive(Debug, Clone)]
pub struct NodeOptions {
    /// The `placet` binary.
    pub bin: PathBuf,
    /// Its data folder.
    pub data: PathBuf,
    /// `--set` values.
    pub settings: Vec<String>,
    /// Further options of `placet serve`.
    pub options: Vec<String>,
    /// Further environment variables.
    pub env: Vec<(String, String)>,
    /// A command to run the binary under (a tracer); empty for none.
    pub wrapper: Vec<OsString>,
    /// Where the server's log goes.
    pub log: PathBuf,
}

impl NodeOptions {
    /// The plain case: no limits that slow a load down.
    pub fn new(bin: &Path, data: &Path) -> Self {
        Self {
            bin: bin.to_path_buf(),
            data: data.to_path_buf(),
            settings: vec!["limits.requests_per_second=0".into(), "limits.pending_per_agent=1000000".into()],
            options: Vec::new(),
            env: Vec::new(),
            wrapper: Vec::new(),
            log: data.with_extension("log"),
        }
    }
}

/// A started server process. Its address is known after its first line.
#[derive(Debug)]
pub struct Node {
    child: Child,
    lines: Receiver<String>,
    addr: Option<SocketAddr>,
    log: PathBuf,
}

impl Node {
    /// Starts the process and returns at once, before it is ready.
    pub fn spawn(options: &NodeOptions) -> Result<Self> {
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&options.log)
            .with_context(|| format!("open {}", options.log.display()))?;
        let mut command = match options.wrapper.split_first() {
            Some((program, arguments)) => {
                let mut command = Command::new(program);
                command.args(arguments).arg(&options.bin);
                command
            }
            None => Command::new(&options.bin),
        };
        command.arg("serve").arg("--data").arg(&options.data).args(["--listen", "127.0.0.1:0"]);
        command.args(&options.options);
        for setting in &options.settings {
            command.args(["--set", setting]);
        }
        command
            .env("PLACET_BOOTSTRAP_TOKEN", BOOTSTRAP_TOKEN)
            .env_remove("PLACET_SABOTAGE")
            .envs(options.env.iter().cloned());
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::from(log))
            .spawn()
            .with_context(|| format!("start {}", options.bin.display()))?;
        let stdout = child.stdout.take().context("the child's stdout is piped")?;
        let (sender, lines) = channel();
        // Reads to the end, so that the server never blocks on a full pipe.
        thread("server-stdout", move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        })?;
        Ok(Self { child, lines, addr: None, log: options.log.clone() })
    }

    /// Starts the process and waits until it listens.
    pub fn start(options: &NodeOptions, within: Duration) -> Result<Self> {
        let mut node = Self::spawn(options)?;
        node.ready(within)?;
        Ok(node)
    }

    /// Waits for the line that names the address.
    pub fn ready(&mut self, within: Duration) -> Result<SocketAddr> {
        let deadline = Instant::now() + within;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    if let Some(address) = line.trim().strip_prefix("listening on http://") {
                        let addr = address
                            .trim_end_matches('/')
                            .parse()
                            .with_context(|| format!("address in {line:?}"))?;
                        self.addr = Some(addr);
                        return Ok(addr);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    bail!("the server did not say `listening on` within {within:?}; {}", self.last_words())
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let status = self.child.wait()?;
                    bail!("the server ended before it was ready ({status}); {}", self.last_words());
                }
            }
        }
    }

    /// The last lines of its log, for an error message.
    fn last_words(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let tail = lines.get(lines.len().saturating_sub(8)..).unwrap_or_default();
        format!("its last words: {}", tail.join(" | "))
    }

    /// The address. An error before `ready`.
    pub fn addr(&self) -> Result<SocketAddr> {
        self.addr.context("the server is not ready yet")
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// True while the process runs.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// SIGKILL, and waits until the process is gone.
    pub fn kill(mut self) -> Result<ExitStatus> {
        self.child.kill()?;
        Ok(self.child.wait()?)
    }

    /// SIGTERM, and waits for a graceful end.
    pub fn terminate(mut self, within: Duration) -> Result<ExitStatus> {
        let pid = i32::try_from(self.child.id())
            .ok()
            .and_then(rustix::process::Pid::from_raw)
            .context("a process id")?;
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        let deadline = Instant::now() + within;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if Instant::now() > deadline {
                bail!("the server did not stop within {within:?} of SIGTERM; {}", self.last_words());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // A child that was already reaped answers with an error, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes a key with the bootstrap credential and returns it.
pub fn new_key(addr: SocketAddr, role: &str, name: &str) -> Result<String> {
    let mut http = Http::new(addr, BOOTSTRAP_TOKEN);
    let answer =
        http.post("/v1/keys", None, &json!({"role": role, "name": name}), Duration::from_secs(10))?;
    if answer.status != 201 {
        bail!("POST /v1/keys for {role} {name} answered {}: {}", answer.status, answer.text());
    }
    let body: Value = answer.json()?;
    Ok(body.get("key").and_then(Value::as_str).context("`key` in the answer of POST /v1/keys")?.to_owned())
}

/// `placet ledger verify --data DIR --json`: its output, and whether it succeeded.
pub fn verify(bin: &Path, data: &Path) -> Result<(bool, Value, String)> {
    let output = Command::new(bin)
        .args(["ledger", "verify", "--json", "--data"])
        .arg(data)
        .env_remove("PLACET_SABOTAGE")
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("run {} ledger verify", bin.display()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let report: Value = serde_json::from_str(text.trim()).unwrap_or(Value::Null);
    let good = output.status.success() && report.get("ok") == Some(&Value::Bool(true));
    let words =
        format!("{}: {} {}", output.status, text.trim(), String::from_utf8_lossy(&output.stderr).trim());
    Ok((good, report, words))
}

/// The `placet` binary beside this program, unless another one is named.
pub fn default_bin(named: Option<PathBuf>) -> Result<PathBuf> {
    let bin = match named {
        Some(bin) => bin,
        None => std::env::current_exe()?.parent().context("the folder of this program")?.join("placet"),
    };
    if !bin.is_file() {
        bail!(
            "no binary at {}: build it with `cargo build -p placet`, or name one with --bin",
            bin.display()
        );
    }
    Ok(bin.canonicalize()?)
}

/// A named thread.
pub fn thread<T: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(run)
        .with_context(|| format!("start the thread {name}"))
}

/// Prints a line for the person watching.
pub fn say(line: impl AsRef<str>) {
    // A missing reader is no reason to stop.
    let _ = writeln!(std::io::stderr().lock(), "{}", line.as_ref());
}

/// Prints one line of the result.
pub fn print(line: impl AsRef<str>) {
    let _ = writeln!(std::io::stdout().lock(), "{}", line.as_ref());
}

/// Makes an empty file's parent folders and opens it for writing.
pub fn create_file(path: &Path) -> Result<File> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    File::create(path).with_context(|| format!("create {}", path.display()))
}
