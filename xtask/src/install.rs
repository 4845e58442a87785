//! Finds the programs that the tests need. Installs what is missing if it may, and otherwise says what to install.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::process::{Workspace, find_program, note, succeed, works};

/// Debian's postgresql package reads this at installation. Without it the package would start its own server.
const NO_MAIN_CLUSTER: &str = "/etc/postgresql-common/createcluster.d/placet-xtask.conf";

/// Whether we may install packages of the operating system.
pub(crate) fn is_root() -> bool {
    let id = Command::new("id").arg("-u").stdin(Stdio::null()).output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// The folder with `initdb`, `pg_ctl` and `postgres`; installs Debian's package when there is none and we are root.
pub(crate) fn postgres() -> Result<PathBuf> {
    if let Some(bin) = find_postgres() {
        return Ok(bin);
    }
    // We start a private cluster. The default one of Debian's package would listen on port 5432.
    if is_root() {
        let folder = PathBuf::from(NO_MAIN_CLUSTER).with_file_name("");
        fs::create_dir_all(&folder)
            .and_then(|()| fs::write(NO_MAIN_CLUSTER, "create_main_cluster = false\n"))
            .with_context(|| format!("cannot write {NO_MAIN_CLUSTER}"))?;
    }
    let installed = apt(
        "postgresql",
        "PostgreSQL 14 or newer (Debian and Ubuntu: postgresql, Fedora: postgresql-server, Homebrew: postgresql@17)",
    );
    if is_root() {
        let _ = fs::remove_file(NO_MAIN_CLUSTER); // it did its work; the machine's own rules apply again
    }
    installed?;
    find_postgres().context("the package `postgresql` is installed, but `initdb` is in none of the usual folders: add its folder to PATH")
}

/// Debian keeps the server's programs out of `PATH`, one folder per version.
fn find_postgres() -> Option<PathBuf> {
    let complete =
        |bin: &PathBuf| ["initdb", "pg_ctl", "postgres"].iter().all(|name| bin.join(name).is_file());
    let in_path = find_program("initdb").and_then(|file| file.parent().map(PathBuf::from));
    if let Some(bin) = in_path.filter(complete) {
        return Some(bin);
    }
    let homes = ["/usr/lib/postgresql", "/opt/homebrew/opt", "/usr/local/opt"];
    let mut found: Vec<PathBuf> = homes
        .iter()
        .filter_map(|home| fs::read_dir(home).ok())
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .chain([PathBuf::from("/usr/local/pgsql/bin")])
        .filter(complete)
        .collect();
    found.sort_by_key(|bin| version(bin));
    found.pop()
}

/// The number in `/usr/lib/postgresql/15/bin` or `…/postgresql@17/bin`, so that 9 comes before 15.
fn version(bin: &std::path::Path) -> u32 {
    let name = bin.parent().and_then(|home| home.file_name()).map(|name| name.to_string_lossy().into_owned());
    let digits: String = name.unwrap_or_default().chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

/// The cargo tools of `cargo xtask test`. Returns whether nextest is installed.
pub(crate) fn everything(workspace: &Workspace) -> Result<bool> {
    for (component, subcommand) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        if !works(&mut workspace.cargo([subcommand, "--version"])) {
            note(format!("`cargo {subcommand}` is not here: asking rustup for it"));
            if !works(Command::new("rustup").args(["component", "add", component])) {
                bail!("`cargo {subcommand}` is missing: install it with `rustup component add {component}`");
            }
        }
        note(format!("cargo {subcommand}: here"));
    }
    note(format!("Postgres: {}", postgres()?.display()));
    note(format!("strace: {}", strace()?.display()));
    looking_programs()?;
    let nextest = nextest(workspace);
    note(if nextest { "cargo nextest: here" } else { "cargo nextest: not available, using `cargo test`" });
    Ok(nextest)
}

/// The recorder of the power-cut matrix.
pub(crate) fn strace() -> Result<PathBuf> {
    if let Some(file) = find_program("strace") {
        return Ok(file);
    }
    apt("strace", "strace (its package has the same name everywhere)")?;
    find_program("strace").context("the package `strace` is installed, but `strace` is not in PATH")
}

/// Programs that a policy allows as read-only. The tests run them to check that: name, and Debian's package.
fn looking_programs() -> Result<()> {
    let programs = [
        ("tree", "tree"),
        ("rg", "ripgrep"),
        ("fdfind", "fd-find"),
        ("file", "file"),
        ("git", "git"),
        ("hexdump", "bsdextrautils"),
        ("column", "bsdextrautils"),
        ("rev", "bsdextrautils"),
        ("strings", "binutils"),
        ("shasum", "perl"),
        ("free", "procps"),
        ("hostname", "hostname"),
        ("whereis", "util-linux"),
    ];
    for (program, package) in programs {
        if find_program(program).is_none() {
            apt(package, &format!("`{program}` (Debian: {package})"))?;
        }
    }
    Ok(())
}

/// The browser of the dashboard's tests.
pub(crate) fn chromium() -> Result<PathBuf> {
    let find =
        || ["chromium", "chromium-browser", "google-chrome"].iter().find_map(|name| find_program(name));
    if let Some(file) = find() {
        return Ok(file);
    }
    apt("chromium", "Chromium or Chrome (Debian: chromium)")?;
    find().context("the package `chromium` is installed, but `chromium` is not in PATH")
}

/// Node of at least this major version, with npm.
pub(crate) fn node(least: u32) -> Result<()> {
    let version = || {
        let output = Command::new("node").arg("--version").stdin(Stdio::null()).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        text.trim().strip_prefix('v')?.split('.').next()?.parse::<u32>().ok()
    };
    let by_hand = format!("Node {least} or newer with npm (https://nodejs.org, or your system's packages)");
    if version().is_none() {
        apt("nodejs", &by_hand)?;
    }
    if find_program("npm").is_none() {
        apt("npm", &by_hand)?;
    }
    match version() {
        Some(found) if found >= least => Ok(()),
        Some(found) => bail!("Node {found} is too old: please install {by_hand}"),
        None => bail!("`node` does not start: please install {by_hand}"),
    }
}

/// Python 3.10 or newer with the module for environments, which is a separate package on Debian.
pub(crate) fn python() -> Result<()> {
    let version = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))";
    let good = || works(Command::new("python3").args(["-c", version]));
    if !good() {
        apt(
            "python3-venv",
            "Python 3.10 or newer with its modules venv and ensurepip (Debian: python3-venv)",
        )?;
    }
    ensure!(
        good(),
        "`python3` is too old or incomplete: Python 3.10 or newer with venv and ensurepip is needed"
    );
    Ok(())
}

fn nextest(workspace: &Workspace) -> bool {
    if works(&mut workspace.cargo(["nextest", "--version"])) {
        return true;
    }
    note("cargo-nextest is not here: building it (some minutes, once)");
    match succeed(&mut workspace.cargo(["install", "cargo-nextest", "--locked"])) {
        Ok(()) => true,
        Err(error) => {
            note(format!("{error:#}"));
            note("for better test output: `cargo install cargo-nextest --locked`");
            false
        }
    }
}

/// Installs one Debian package, or says what to install by hand.
fn apt(package: &str, by_hand: &str) -> Result<()> {
    if find_program("apt-get").is_none() {
        bail!("`{package}` is missing: please install {by_hand} and start this again");
    }
    if !is_root() {
        bail!(
            "`{package}` is missing: please install {by_hand}, here with `sudo apt-get install {package}`, and start this again"
        );
    }
    note(format!("`{package}` is missing: installing it"));
    let apt_get = |words: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(words).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
        succeed(&mut command)
    };
    // A fresh container has no package lists, and old lists name files that no longer exist.
    apt_get(&["update", "-qq"])
        .and_then(|()| {
            apt_get(&["install", "-y", "-qq", "-o", "Dpkg::Use-Pty=0", "--no-install-recommends", package])
        })
        .with_context(|| {
            format!("could not install `{package}`; please install {by_hand} and start this again")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn postgres_15_is_newer_than_postgres_9() {
        let (old, new) =
            (PathBuf::from("/usr/lib/postgresql/9/bin"), PathBuf::from("/usr/lib/postgresql/15/bin"));
        assert!(version(&old) < version(&new));
        assert_eq!(version(&PathBuf::from("/opt/homebrew/opt/postgresql@17/bin")), 17);
    }
}
