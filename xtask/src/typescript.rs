//! The TypeScript SDK: types, style and tests against the real binary, then its adapters in the real frameworks.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::install;
use crate::node::{npm, packages};
use crate::process::{Workspace, succeed, succeed_within};

/// A minute or two on a quiet machine; one that hangs must not hang the run.
const LIMIT: Duration = Duration::from_mins(15);

pub(crate) fn run(workspace: &Workspace, binary: &Path) -> Result<()> {
    let sdk = workspace.root.join("sdk/typescript");
    let adapters = sdk.join("tests/adapters");
    let chromium = install::chromium()?;
    packages(&sdk)?;
    succeed(&mut npm(&sdk, ["run", "check"])?).context("the TypeScript SDK has problems")?;
    succeed(&mut npm(&sdk, ["run", "build"])?).context("the TypeScript SDK could not be built")?;
    let mut tests = npm(&sdk, ["test"])?;
    succeed_within(tests.env("PLACET_BIN", binary).env("PLACET_CHROMIUM", chromium), LIMIT)
        .context("the TypeScript SDK fails")?;
    packages(&adapters)?;
    succeed_within(npm(&adapters, ["test"])?.env("PLACET_BIN", binary), LIMIT)
        .context("the TypeScript SDK fails in a real framework")
}
