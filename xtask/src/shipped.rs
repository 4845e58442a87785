//! The release binary with the dashboard: built fast for every change, and as shipped for `--all`.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::evidence::{self, Profile, Variant};
use crate::process::{Workspace, note, succeed, succeed_within};

/// Names of the environment variables that only builds with planted bugs or a scripted desk read.
const NEVER_SHIPPED: [&str; 2] = ["PLACET_SABOTAGE", "PLACET_TCK"];

/// The scripted demonstration takes a few seconds.
const DEMO_LIMIT: Duration = Duration::from_mins(5);

/// The release binary without slow optimisations: no debug assertions, everything embedded.
pub(crate) fn build_fast(workspace: &Workspace) -> Result<()> {
    let binary = evidence::build(workspace, Profile::FastRelease, Variant::Product)?;
    inspect(workspace, &binary)
}

/// The shipped binary, used as a newcomer does: version, help, the scripted demonstration.
pub(crate) fn build_and_try(workspace: &Workspace) -> Result<()> {
    let binary = evidence::build(workspace, Profile::Release, Variant::Product)?;
    inspect(workspace, &binary)?;
    succeed(Command::new(&binary).arg("--version"))?;
    succeed(Command::new(&binary).arg("--help"))?;
    succeed_within(Command::new(&binary).args(["demo", "--auto"]), DEMO_LIMIT)
        .context("the shipped binary does not run its demonstration")
}

/// Refuses a binary without the dashboard, or with a switch for planted bugs.
fn inspect(workspace: &Workspace, binary: &Path) -> Result<()> {
    let bytes = fs::read(binary).with_context(|| format!("cannot read {}", binary.display()))?;
    let switches = found(&bytes, &NEVER_SHIPPED.map(str::to_owned));
    ensure!(switches.is_empty(), "{} is not what ships: it reads {}", binary.display(), switches.join(", "));
    let assets = asset_names(&workspace.root.join("web/dist/assets"))?;
    let embedded = found(&bytes, &assets);
    ensure!(
        embedded.len() == assets.len(),
        "{} has {} of the {} files of the dashboard: build it after `cargo xtask web`",
        binary.display(),
        embedded.len(),
        assets.len()
    );
    note(format!("{} files of the dashboard are in it, and no switch for planted bugs", assets.len()));
    Ok(())
}

/// The dashboard names its files by their content, so a name in the binary means that the file is in it.
fn asset_names(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let names: Vec<String> =
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect::<Result<_>>()?;
    ensure!(!names.is_empty(), "{} is empty: `cargo xtask web` builds the dashboard", folder.display());
    Ok(names)
}

/// The words that occur in the bytes.
fn found(bytes: &[u8], words: &[String]) -> Vec<String> {
    let holds = |word: &&String| bytes.windows(word.len()).any(|window| window == word.as_bytes());
    words.iter().filter(holds).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_that_reads_a_switch_for_planted_bugs_is_noticed() {
        let words = NEVER_SHIPPED.map(str::to_owned);
        assert_eq!(found(b"\x7fELF..PLACET_SABOTAGE..", &words), ["PLACET_SABOTAGE"]);
        assert_eq!(found(b"\x7fELF..PLACET_TCK_REVIEWER", &words), ["PLACET_TCK"]);
        assert!(found(b"\x7fELF..PLACET_URL..", &words).is_empty());
    }
}
