//! The hook in real coding agents, which run offline against a stand-in for their models: `tests/agents`.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::install;
use crate::process::{Workspace, succeed, succeed_within};

/// Oldest major version of Node that the tests run on.
const NODE: u32 = 20;

/// The tests take a few minutes, more on a busy machine. They end an agent that hangs, and this ends them.
const LIMIT: Duration = Duration::from_mins(20);

/// Installs the agents, says which are not to be had here, and runs the others.
pub(crate) fn run(workspace: &Workspace, binary: &Path) -> Result<()> {
    install::node(NODE)?;
    succeed(&mut npm(workspace, ["run", "--silent", "agents"]))
        .context("the agents could not be installed")?;
    let mut command = npm(workspace, ["test", "--silent"]);
    succeed_within(command.env("PLACET_BIN", binary), LIMIT).context("the hook fails in a real agent")
}

fn npm<const N: usize>(workspace: &Workspace, args: [&str; N]) -> Command {
    let mut command = Command::new("npm");
    command.args(args).current_dir(workspace.root.join("tests/agents")).stdin(Stdio::null());
    command
}
