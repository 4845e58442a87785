//! The dashboard, built with Node into `web/dist`. The program embeds it if it is there.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};

use crate::install;
use crate::node::{modified, node_test_flags, npm, packages};
use crate::process::{Workspace, note, succeed, succeed_within};
use crate::run::Extent;
use crate::schedule::Place;
use crate::scratch::Scratch;
use crate::typescript::vitest_reports;

/// Builds the dashboard unless the last build is newer than all its sources.
pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    let web = workspace.root.join("web");
    let index = web.join("dist/index.html");
    let sources = newest(&web, &["node_modules", "dist", "tests"])?
        .max(modified(&workspace.root.join("api/openapi.json"))?);
    if modified(&index).is_ok_and(|built| built > sources) {
        note("the dashboard is up to date");
        return Ok(());
    }
    packages(&web)?;
    succeed(&mut npm(&web, ["run", "build"])?).context("the dashboard could not be built")?;
    // The program's build script must notice a new dashboard; see that file.
    File::options().append(true).open(workspace.root.join("crates/server/build.rs"))?.set_modified(now())?;
    note("the dashboard is in web/dist; the next `cargo build` embeds it");
    Ok(())
}

/// Types, style and the tests of plain functions.
pub(crate) fn check(workspace: &Workspace, place: &Place) -> Result<()> {
    let web = workspace.root.join("web");
    packages(&web)?;
    succeed(&mut npm(&web, ["run", "check"])?).context("the dashboard's sources have problems")?;
    succeed(npm(&web, ["test", "--"])?.args(vitest_reports(place, "web")))
        .context("the dashboard's unit tests fail")
}

/// The dashboard in a real browser against the real binary.
pub(crate) fn browser(workspace: &Workspace, binary: &Path, place: &Place, extent: Extent) -> Result<()> {
    let mut command = in_browser(workspace, "browser", binary, extent)?;
    command.env("NODE_TEST_FLAGS", node_test_flags(place, "browser", extent));
    let scratch = Scratch::new("browser")?;
    scratch.give(&mut command);
    succeed_within(&mut command, extent.limit()).context("the dashboard fails in the browser")
}

/// The speed of the dashboard, with limits.
pub(crate) fn measure(workspace: &Workspace, binary: &Path, extent: Extent) -> Result<()> {
    succeed_within(&mut in_browser(workspace, "measure", binary, extent)?, extent.limit())
        .context("the dashboard is slower than it should be")
}

/// A script of `package.json` that drives the real browser and the real binary.
fn in_browser(workspace: &Workspace, script: &str, binary: &Path, extent: Extent) -> Result<Command> {
    let web = workspace.root.join("web");
    packages(&web)?;
    let mut command = npm(&web, ["run", script])?;
    command.env("PLACET_BIN", binary).env("PLACET_CHROMIUM", install::chromium()?);
    if extent == Extent::All {
        command.env("PLACET_LONG", "1");
    }
    Ok(command)
}

#[expect(clippy::disallowed_methods, reason = "the time of a file, nothing that is decided on")]
fn now() -> SystemTime {
    SystemTime::now()
}

/// When a folder last changed.
fn newest(folder: &Path, without: &[&str]) -> Result<SystemTime> {
    let mut newest = SystemTime::UNIX_EPOCH;
    let mut open: Vec<PathBuf> = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            if without.iter().any(|name| entry.file_name() == *name) {
                continue;
            }
            if entry.file_type()?.is_dir() {
                open.push(entry.path());
            } else {
                newest = newest.max(entry.metadata()?.modified()?);
            }
        }
    }
    if newest == SystemTime::UNIX_EPOCH {
        bail!("there is nothing in {}", folder.display());
    }
    Ok(newest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_source_is_found_below_and_build_results_do_not_count() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let all = newest(root, &[]).unwrap();
        assert!(all >= modified(&root.join("src/web.rs")).unwrap());
        assert!(newest(root, &["src", "tests", "Cargo.toml"]).is_err(), "nothing else is in this folder");
    }
}
