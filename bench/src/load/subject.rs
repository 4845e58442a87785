//! The real binary under load: a fresh folder, two keys, and restarts on the same data.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;
use tokio::time::Instant;

use super::target::Target;
use crate::node::http::Http;
use crate::node::{self, Node, NodeOptions};

/// A debug build with a million requests may need this long to open.
const START_WITHIN: Duration = Duration::from_mins(1);

/// A running server with its keys. Dropping it ends the process and removes the folder.
#[derive(Debug)]
pub struct Subject {
    node: Option<Node>,
    options: NodeOptions,
    target: Target,
    _folder: TempDir,
}

/// Limits that the load cannot reach.
pub(super) const SETTINGS: [&str; 3] =
    ["limits.requests_per_second=0", "limits.pending_per_agent=2000000", "limits.waits_per_principal=30000"];

impl Subject {
    /// Starts the binary on an empty SQLite folder under `dir` and makes an agent's and a reviewer's key.
    pub fn start(bin: &Path, dir: &Path) -> Result<Self> {
        Self::with(bin, dir, |_| {})
    }

    /// The same, for clients without keys that ask and decide.
    pub fn open(bin: &Path, dir: &Path) -> Result<Self> {
        Self::with(bin, dir, |options| {
            options.options.push("--dev".to_owned());
            options.settings.push("doors.open_decide=true".to_owned());
        })
    }

    /// The same, as the proxy of an agent.
    pub fn fronting(bin: &Path, dir: &Path, agent: SocketAddr) -> Result<Self> {
        let file = tempfile::NamedTempFile::new_in(dir).context("cannot make a configuration file")?;
        let text = format!(
            "[[doors.a2a]]\nnamespace = \"bench\"\nagent = \"bare\"\nurl = \"http://{agent}/\"\nexpires_in = \"1h\"\n"
        );
        std::fs::write(file.path(), text)?;
        Self::with(bin, dir, |options| {
            options.options.push("--dev".to_owned());
            options.options.extend(["--config".to_owned(), file.path().display().to_string()]);
            options.settings.push("limits.streams_per_principal=5000".to_owned());
        })
    }

    fn with(bin: &Path, dir: &Path, change: impl FnOnce(&mut NodeOptions)) -> Result<Self> {
        let folder = tempfile::tempdir_in(dir).context("cannot make a data folder")?;
        let mut options = NodeOptions::new(bin, &folder.path().join("data"));
        options.settings = SETTINGS.map(str::to_owned).to_vec();
        change(&mut options);
        let node = Node::start(&options, START_WITHIN)?;
        let addr = node.addr()?;
        let target = Target {
            addr,
            agent: node::new_key(addr, "agent", "bench-agent")?,
            reviewer: node::new_key(addr, "reviewer", "bench-reviewer")?,
            pid: node.pid(),
        };
        Ok(Self { node: Some(node), options, target, _folder: folder })
    }

    /// Where it is.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Kills the process and starts it again on the same data.
    /// The time is from starting the process to `/readyz` answering 200.
    pub fn restart(&mut self) -> Result<Duration> {
        if let Some(node) = self.node.take() {
            node.kill()?;
        }
        let begun = Instant::now();
        let node = Node::start(&self.options, START_WITHIN)?;
        let addr = node.addr()?;
        let mut http = Http::new(addr, "");
        loop {
            match http.get("/readyz", Duration::from_secs(5)) {
                Ok(answer) if answer.status == 200 => break,
                other if begun.elapsed() > START_WITHIN => bail!("/readyz is not 200 yet: {other:?}"),
                _ => std::thread::sleep(Duration::from_millis(1)),
            }
        }
        let took = begun.elapsed();
        self.target.addr = addr;
        self.target.pid = node.pid();
        self.node = Some(node);
        Ok(took)
    }

    /// Size of its data on disk, for notes.
    pub fn data_bytes(&self) -> u64 {
        let entries = std::fs::read_dir(&self.options.data).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.metadata().ok()).map(|data| data.len()).sum()
    }
}
