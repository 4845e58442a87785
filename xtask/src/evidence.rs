//! Builds the product, its sabotaged twin and the crash, power-cut and benchmark programs, and runs them.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, Result};

use crate::cluster::{Cluster, Durability};
use crate::install;
use crate::process::{Workspace, copy_program, elapsed, exit_code, note, status, succeed};

/// A long matrix: a program of the package `placet-bench`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Matrix {
    Crash,
    Powercut,
    Bench,
}

impl Matrix {
    fn name(self) -> &'static str {
        match self {
            Self::Crash => "crash",
            Self::Powercut => "powercut",
            Self::Bench => "bench",
        }
    }
}

/// The product unchanged, or with the planted bugs that the matrices must catch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variant {
    Product,
    Sabotage,
}

impl Variant {
    /// Arguments for cargo.
    pub(crate) fn features(self) -> &'static [&'static str] {
        match self {
            Self::Product => &[],
            Self::Sabotage => &["--features", "placet/sabotage"],
        }
    }
}

/// The kind of build: for tests, release but fast, or as released.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    Dev,
    FastRelease,
    Release,
}

impl Profile {
    pub(crate) fn flag(self) -> &'static [&'static str] {
        match self {
            Self::Dev => &[],
            Self::FastRelease => &["--profile", "fast-release"],
            Self::Release => &["--release"],
        }
    }

    /// The folder cargo builds into.
    fn folder(self) -> &'static str {
        match self {
            Self::Dev => "debug",
            Self::FastRelease => "fast-release",
            Self::Release => "release",
        }
    }
}

/// Where the copy of that binary is.
pub(crate) fn kept(workspace: &Workspace, profile: Profile, variant: Variant) -> PathBuf {
    let folder = match profile {
        Profile::Dev => "dev",
        Profile::FastRelease => "",
        Profile::Release => "release",
    };
    workspace.evidence().join(folder).join(match variant {
        Variant::Product => "placet",
        Variant::Sabotage => "placet-sabotage",
    })
}

/// Where cargo puts a program of `placet-bench`.
pub(crate) fn program(workspace: &Workspace, profile: Profile, matrix: Matrix) -> PathBuf {
    workspace.target.join(profile.folder()).join(matrix.name())
}

/// Builds the binary and copies it aside. The variants share one target folder, so only the few crates with the
/// feature are built twice. The copy keeps one variant from replacing the other.
pub(crate) fn build(workspace: &Workspace, profile: Profile, variant: Variant) -> Result<PathBuf> {
    let mut cargo = workspace.cargo(["build", "-p", "placet"]);
    cargo.args(profile.flag()).args(variant.features());
    succeed(&mut cargo)?;
    keep(workspace, profile, variant)?;
    Ok(kept(workspace, profile, variant))
}

/// Copies aside the binary that was just built.
pub(crate) fn keep(workspace: &Workspace, profile: Profile, variant: Variant) -> Result<()> {
    let copy = kept(workspace, profile, variant);
    copy_program(&workspace.target.join(profile.folder()).join("placet"), &copy)?;
    note(format!("kept as {}", copy.display()));
    Ok(())
}

/// Together with `placet`: the programs alone want fewer features of what both are made of, and all that would be
/// built once more.
pub(crate) fn build_matrices(workspace: &Workspace, profile: Profile) -> Result<()> {
    succeed(workspace.cargo(["build", "-p", "placet", "-p", "placet-bench", "--bins"]).args(profile.flag()))
}

/// `cargo xtask crash | powercut | bench`: the whole matrix, on the release binary.
pub(crate) fn run(workspace: &Workspace, matrix: Matrix, args: Vec<String>) -> Result<ExitCode> {
    let help = args.iter().any(|arg| arg == "--help" || arg == "-h");
    let has = |flag: &str| args.iter().any(|arg| arg == flag || arg.starts_with(&format!("{flag}=")));
    let mut binary = Vec::new();
    if !help && !has("--bin") {
        let variant = if has("--sabotage") { Variant::Sabotage } else { Variant::Product };
        note("building placet in release mode (several minutes the first time)");
        binary.push("--bin".into());
        binary.push(build(workspace, Profile::Release, variant)?.into_os_string());
    }
    note(format!("building the `{}` program in release mode", matrix.name()));
    build_matrices(workspace, Profile::Release)?;
    if matrix == Matrix::Powercut && !help {
        install::strace()?;
    }
    let mut command = Command::new(program(workspace, Profile::Release, matrix));
    command.args(&args).args(binary).current_dir(&workspace.root);
    let mut durable = None;
    if matrix == Matrix::Bench && !help {
        // Compared with durable SQLite commits, so it must be as durable.
        let cluster = Cluster::start(Durability::Fsync)?;
        command.env("PLACET_BENCH_POSTGRES", cluster.url());
        durable = Some(cluster);
    }
    let status = status(&mut command)?;
    drop(durable);
    Ok(exit_code(status))
}

/// `cargo xtask demo`: the whole product with a scripted agent. The profile of the tests builds in a fraction of the time
/// that a release takes, and nothing here depends on speed.
pub(crate) fn demo(workspace: &Workspace, args: &[String]) -> Result<ExitCode> {
    note("2 of 2: building placet with optimisations for tests (minutes the first time, seconds later)");
    let mut cargo = workspace.cargo(["build", "-p", "placet"]);
    cargo.args(Profile::FastRelease.flag());
    // Cargo shows its progress in a terminal: how many of its parts are built.
    let begin = Instant::now();
    succeed(&mut cargo)?;
    let binary = workspace.target.join(Profile::FastRelease.folder()).join("placet");
    note(format!("built in {}; starting {} demo", elapsed(begin.elapsed()), binary.display()));
    // The demo replaces this process, so it gets Ctrl-C and the terminal.
    let error = Command::new(&binary).arg("demo").args(args).exec();
    Err(error).with_context(|| format!("cannot start {}", binary.display()))
}
