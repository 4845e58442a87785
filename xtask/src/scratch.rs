//! Temporary folders for tests: in memory if there is room, because syncing to disk takes most of a small test's
//! time.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The space that the tests of one step may need, with a large margin.
const WANTED_KIB: u64 = 4 * 1024 * 1024;

/// The space for the builds and packages of a first run.
const COLD_KIB: u64 = 10 * 1024 * 1024;

/// The space that a run adds to earlier builds.
const WARM_KIB: u64 = 4 * 1024 * 1024;

/// A folder for the temporary files of one step, removed when the step ends. Durability is tested by the matrices.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(step: &str) -> Result<Self> {
        let memory = Path::new("/dev/shm");
        let parent = if free_kib(memory).is_some_and(|free| free > WANTED_KIB) {
            memory.into()
        } else {
            env::temp_dir()
        };
        // Short: the address of a socket in it must fit into 108 bytes.
        let folder = parent.join(format!("placet-{step}-{}", std::process::id()));
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(Self(folder))
    }

    /// Makes the program put its temporary files here.
    pub(crate) fn give<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.env("TMPDIR", &self.0)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is at least in a temporary folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Prints the free space where cargo builds, and refuses a run that would fill it: a full disk causes confusing
/// failures.
pub(crate) fn ensure_room(target: &Path) -> Result<()> {
    let built = ["debug/deps", "fast-release/deps"].iter().all(|part| target.join(part).is_dir());
    let wanted = if built { WARM_KIB } else { COLD_KIB };
    fs::create_dir_all(target).with_context(|| format!("cannot create {}", target.display()))?;
    let Some(free) = free_kib(target) else { return Ok(()) };
    ensure!(
        free >= wanted,
        "{} has {} free and this run needs {}; free some space, or set CARGO_TARGET_DIR to another disk",
        target.display(),
        gib(free),
        gib(wanted)
    );
    Ok(())
}

fn gib(kib: u64) -> String {
    format!("{:.1} GiB", kib as f64 / f64::from(1 << 20))
}

/// Free space of a file system, if there is one.
fn free_kib(folder: &Path) -> Option<u64> {
    let output =
        Command::new("df").arg("-Pk").arg(folder).output().ok().filter(|output| output.status.success())?;
    available(&String::from_utf8_lossy(&output.stdout))
}

/// The fourth column of the second line, as POSIX defines it.
fn available(said: &str) -> Option<u64> {
    said.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_free_space_is_the_fourth_column() {
        let said = "Filesystem 1024-blocks Used Available Capacity Mounted on\ntmpfs 24682000 1084 24680916 1% /dev/shm\n";
        assert_eq!(available(said), Some(24_680_916));
        assert_eq!(available("df: no such folder\n"), None);
    }

    #[test]
    fn the_folder_is_there_for_the_step_and_gone_afterwards() {
        let scratch = Scratch::new("scratch-test").unwrap();
        let folder = scratch.0.clone();
        assert!(folder.is_dir());
        drop(scratch);
        assert!(!folder.exists());
    }
}
