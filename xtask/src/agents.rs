//! The hook in real coding agents, which run offline against a stand-in for their models: `tests/agents`.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::node::npm;
use crate::process::{Workspace, succeed, succeed_within};

/// The tests take a few minutes, more on a busy machine. They end an agent that hangs, and this ends them.
const LIMIT: Duration = Duration::from_mins(20);

/// Installs the agents, says which are not to be had here, and runs the others.
pub(crate) fn run(workspace: &Workspace, binary: &Path) -> Result<()> {
    let folder = workspace.root.join("tests/agents");
    succeed(&mut npm(&folder, ["run", "--silent", "agents"])?)
        .context("the agents could not be installed")?;
    let mut command = npm(&folder, ["test", "--silent"])?;
    succeed_within(command.env("PLACET_BIN", binary), LIMIT).context("the hook fails in a real agent")
}
