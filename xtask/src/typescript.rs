//! The TypeScript SDK: types, style and tests against the real binary, then its adapters in the real frameworks, and the
//! A2A doors as the real A2A clients use them.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::install;
use crate::node::{npm, packages};
use crate::process::{Workspace, succeed, succeed_within};
use crate::run::Extent;
use crate::schedule::Place;
use crate::scratch::Scratch;

/// A minute or two on a quiet machine; one that hangs must not hang the run.
const LIMIT: Duration = Duration::from_mins(15);

/// The newer of the two versions of Node that the SDK is tested on; the older one is the machine's own.
const NEWER: &str = "22";

/// The SDK's own tests, its adapters, the A2A clients; each has packages of its own. With the standard script of each.
const FOLDERS: [(&str, &str, &str); 3] =
    [("core", "", "test"), ("adapters", "tests/adapters", "test:standard"), ("a2a", "tests/a2a", "test")];

/// Installs the packages of all of them.
pub(crate) fn install(workspace: &Workspace) -> Result<()> {
    let sdk = workspace.root.join("sdk/typescript");
    FOLDERS.iter().try_for_each(|(_, folder, _)| packages(&sdk.join(folder)))
}

/// Runs the tests, with this folder of a Node version before the machine's own.
pub(crate) fn run(
    workspace: &Workspace,
    binary: &Path,
    place: &Place,
    extent: Extent,
    node: Option<&Path>,
) -> Result<()> {
    let sdk = workspace.root.join("sdk/typescript");
    let chromium = install::chromium()?;
    let prepared = |mut command: Command| -> Result<Command> {
        if let Some(node) = node {
            command.env("PATH", before(node)?);
        }
        command.env("PLACET_BIN", binary).env("PLACET_CHROMIUM", &chromium);
        if extent == Extent::All {
            command.env("PLACET_LONG", "1");
        }
        Ok(command)
    };
    succeed(&mut prepared(npm(&sdk, ["run", "check"])?)?).context("the TypeScript SDK has problems")?;
    succeed(&mut prepared(npm(&sdk, ["run", "build"])?)?).context("the TypeScript SDK could not be built")?;
    let scratch = Scratch::new("typescript")?;
    for (name, folder, standard) in FOLDERS {
        let script = if extent == Extent::All { "test" } else { standard };
        let mut tests = prepared(npm(&sdk.join(folder), ["run", script, "--"])?)?;
        scratch.give(tests.args(vitest_reports(place, name)));
        succeed_within(&mut tests, LIMIT).with_context(|| format!("the TypeScript SDK fails in {name}"))?;
    }
    Ok(())
}

/// What tells vitest to write a JUnit file beside what it prints.
pub(crate) fn vitest_reports(place: &Place, name: &str) -> [String; 3] {
    let file = place.reports.join(format!("{name}.xml"));
    [
        "--reporter=default".to_owned(),
        "--reporter=junit".to_owned(),
        format!("--outputFile.junit={}", file.display()),
    ]
}

fn before(folder: &Path) -> Result<OsString> {
    let path = env::var_os("PATH").unwrap_or_default();
    Ok(env::join_paths(std::iter::once(folder.to_path_buf()).chain(env::split_paths(&path)))?)
}

/// The folder of the newer Node, from the package that carries its program.
pub(crate) fn newer_node(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.target.join(format!("node{NEWER}"));
    let machine = match env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    let system = if env::consts::OS == "macos" { "darwin" } else { env::consts::OS };
    let package = format!("node-{system}-{machine}");
    let bin = folder.join("node_modules").join(&package).join("bin");
    if !bin.join("node").is_file() {
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("package.json"), "{\"private\": true}\n")?;
        let mut install = npm(&folder, ["install", "--no-save", "--no-audit", "--no-fund"])?;
        succeed(install.arg(format!("{package}@{NEWER}")))?;
    }
    ensure!(bin.join("node").is_file(), "the package {package} has no program in {}", bin.display());
    Ok(bin)
}
