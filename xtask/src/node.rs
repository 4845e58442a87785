//! Folders with a `package.json`: installs their packages and runs their scripts.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};

use crate::install;
use crate::process::succeed;
use crate::run::Extent;
use crate::schedule::Place;

/// Oldest major version of Node that our tools and packages run on.
const NODE: u32 = 20;

/// The limit for one test file: several times what the longest one takes on a busy machine.
const FILE_LIMIT: Duration = Duration::from_mins(15);

/// The same for the long forms.
const ALL_LIMIT: Duration = Duration::from_hours(2);

/// npm in the folder of one package; Node is found or installed first.
pub(crate) fn npm<const N: usize>(folder: &Path, args: [&str; N]) -> Result<Command> {
    install::node(NODE)?;
    let mut command = Command::new("npm");
    command.args(args).current_dir(folder).stdin(Stdio::null());
    Ok(command)
}

/// Arguments after `node --test`: a time limit per file, visible test names, and a JUnit file.
pub(crate) fn node_test_flags(place: &Place, name: &str, extent: Extent) -> String {
    let file = place.reports.join(format!("{name}.xml"));
    let limit = if extent == Extent::All { ALL_LIMIT } else { FILE_LIMIT };
    format!(
        "--test-timeout={} --test-reporter=spec --test-reporter-destination=stdout --test-reporter=junit --test-reporter-destination={}",
        limit.as_millis(),
        file.display()
    )
}

/// Installs the packages of the lock file, or without one of the manifest, unless they are there already.
pub(crate) fn packages(folder: &Path) -> Result<()> {
    let stamp = folder.join("node_modules/.package-lock.json");
    let wanted =
        ["package-lock.json", "package.json"].iter().find_map(|name| modified(&folder.join(name)).ok());
    if modified(&stamp).is_ok_and(|there| wanted.is_some_and(|wanted| there >= wanted)) {
        return Ok(());
    }
    // Not `npm ci`: it also wants the packages of every other platform, which not every registry has.
    succeed(&mut npm(folder, ["install", "--no-save", "--no-audit", "--no-fund"])?)
        .with_context(|| format!("npm could not install the packages of {}", folder.display()))
}

pub(crate) fn modified(file: &Path) -> Result<SystemTime> {
    Ok(fs::metadata(file).and_then(|found| found.modified())?)
}
