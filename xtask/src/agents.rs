//! The hook in real coding agents, which run offline against a replacement for their models: `tests/agents`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::node::{node_test_flags, npm};
use crate::process::{Workspace, succeed, succeed_within};
use crate::run::Extent;
use crate::schedule::Place;

/// The tests take a few minutes, more on a busy machine. They end an agent that hangs; this limit ends the tests.
const LIMIT: Duration = Duration::from_mins(20);

fn folder(workspace: &Workspace) -> PathBuf {
    workspace.root.join("tests/agents")
}

/// The npm scripts of the standard agents, or of all: to install them, and to test.
fn scripts(extent: Extent) -> (&'static str, &'static str) {
    match extent {
        Extent::Standard => ("agents:standard", "test:standard"),
        Extent::All => ("agents", "test"),
    }
}

/// Installs the agents, and names those that are not available here.
pub(crate) fn install(workspace: &Workspace, extent: Extent) -> Result<()> {
    succeed(&mut npm(&folder(workspace), ["run", "--silent", scripts(extent).0])?)
        .context("the agents could not be installed")
}

/// Runs them.
pub(crate) fn run(workspace: &Workspace, binary: &Path, place: &Place, extent: Extent) -> Result<()> {
    let mut command = npm(&folder(workspace), ["run", "--silent", scripts(extent).1])?;
    command.env("PLACET_BIN", binary).env("NODE_TEST_FLAGS", node_test_flags(place, "agents", extent));
    succeed_within(&mut command, LIMIT).context("the hook fails in a real agent")
}
