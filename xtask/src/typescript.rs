//! The TypeScript SDK: types, style and tests against the real binary, then its adapters in the real frameworks, and the
//! A2A doors as the real A2A clients use them.

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
        .context("the TypeScript SDK fails in a real framework")?;
    let a2a = sdk.join("tests/a2a");
    packages(&a2a)?;
    succeed_within(npm(&a2a, ["test"])?.env("PLACET_BIN", binary), LIMIT)
        .context("the A2A doors fail with a real client")
}
