//! `cargo xtask test`: everything a change must pass, on a fresh machine too.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};

use crate::agents;
use crate::cluster::{Cluster, Durability};
use crate::evidence::{self, Matrix, Profile, Variant};
use crate::install;
use crate::process::{Workspace, note, succeed, succeed_within};
use crate::python;
use crate::steps::Steps;
use crate::typescript;
use crate::web;

/// A short matrix takes a minute or two; one that hangs must not hang the run.
const MATRIX_LIMIT: Duration = Duration::from_mins(15);

#[derive(Args)]
pub(crate) struct TestArgs {
    /// Run only this step and what it needs (may be given several times)
    #[arg(long, value_name = "STEP")]
    only: Vec<Step>,
    /// Leave this step out (may be given several times); `--skip postgres` keeps a PLACET_TEST_POSTGRES of your own
    #[arg(long, value_name = "STEP", hide_possible_values = true)]
    skip: Vec<Step>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum)]
enum Step {
    /// Find or install Postgres, strace, cargo-nextest
    Tools,
    /// `cargo fmt --check`
    Fmt,
    /// `cargo clippy`, warnings are errors
    Clippy,
    /// The dashboard: types, style, unit tests, build
    Web,
    /// The product's binary, kept aside as target/evidence/placet
    Build,
    /// A private Postgres for the tests
    Postgres,
    /// All tests, on SQLite and on Postgres
    Tests,
    /// The examples in the documentation
    Doctests,
    /// The dashboard in a real browser against the real binary
    Browser,
    /// The hook in real coding agents, offline
    Agents,
    /// The Python SDK, and its adapters in the real frameworks, offline
    Python,
    /// The TypeScript SDK, and its adapters in the real frameworks, offline
    Typescript,
    /// The programs of the crash, power-cut and benchmark matrices
    Matrices,
    /// 200 kills under load
    Crash,
    /// 300 power cuts
    Powercut,
    /// Every row of the benchmark table, briefly
    Bench,
    /// The binary with planted bugs, kept aside as target/evidence/placet-sabotage
    Sabotage,
    /// The crash matrix must catch a server that answers before it commits
    TwinCrashAck,
    /// The power-cut matrix must catch a server that does not sync every commit
    TwinPowercutSync,
    /// The power-cut matrix must catch a server that answers before it commits
    TwinPowercutAck,
}

impl Step {
    /// What must have run before.
    fn needs(self) -> &'static [Self] {
        match self {
            Self::Tools | Self::Fmt | Self::Clippy | Self::Doctests | Self::Matrices => &[],
            Self::Build | Self::Postgres | Self::Web => &[Self::Tools],
            Self::Browser => &[Self::Tools, Self::Web, Self::Build],
            Self::Tests => &[Self::Tools, Self::Build, Self::Postgres],
            Self::Crash | Self::Powercut | Self::Bench => &[Self::Tools, Self::Build, Self::Matrices],
            // `Sabotage` after `build`: that one's result is copied aside before this one replaces it.
            Self::Agents | Self::Python | Self::Typescript | Self::Sabotage => &[Self::Build],
            Self::TwinCrashAck | Self::TwinPowercutSync | Self::TwinPowercutAck => {
                &[Self::Tools, Self::Matrices, Self::Sabotage]
            }
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Fmt => "fmt",
            Self::Clippy => "clippy",
            Self::Web => "web",
            Self::Build => "build",
            Self::Postgres => "postgres",
            Self::Tests => "tests",
            Self::Doctests => "doctests",
            Self::Browser => "browser",
            Self::Agents => "agents",
            Self::Python => "python",
            Self::Typescript => "typescript",
            Self::Matrices => "matrices",
            Self::Crash => "crash",
            Self::Powercut => "powercut",
            Self::Bench => "bench",
            Self::Sabotage => "sabotage",
            Self::TwinCrashAck => "twin-crash-ack",
            Self::TwinPowercutSync => "twin-powercut-sync",
            Self::TwinPowercutAck => "twin-powercut-ack",
        }
    }

    fn about(self) -> String {
        let value = self.to_possible_value();
        value.and_then(|value| value.get_help().map(ToString::to_string)).unwrap_or_default()
    }
}

/// The steps to run, in order: those asked for with what they need, or all; without those left out.
fn choose(only: &[Step], skip: &[Step]) -> Vec<Step> {
    let mut chosen = BTreeSet::new();
    let mut open = if only.is_empty() { Step::value_variants().to_vec() } else { only.to_vec() };
    while let Some(step) = open.pop() {
        if !skip.contains(&step) && chosen.insert(step) {
            open.extend(step.needs());
        }
    }
    // The order of the enum is the order of the run: what is cheap and likely to fail comes first.
    chosen.into_iter().collect()
}

/// What earlier steps leave for later ones.
struct Run<'a> {
    workspace: &'a Workspace,
    nextest: bool,
    /// Stopped when the run ends, whichever way it ends.
    cluster: Option<Cluster>,
}

pub(crate) fn run(workspace: &Workspace, args: &TestArgs) -> Result<ExitCode> {
    let chosen = choose(&args.only, &args.skip);
    ensure!(!chosen.is_empty(), "`--skip` leaves no step to run");
    let mut steps = Steps::new(chosen.len());
    let mut run = Run { workspace, nextest: true, cluster: None };
    let result =
        chosen.into_iter().try_for_each(|step| steps.run(step.name(), &step.about(), || run.step(step)));
    drop(run);
    println!("{}", steps.summary(result.as_ref().err()));
    Ok(if result.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Run<'_> {
    fn step(&mut self, step: Step) -> Result<()> {
        let workspace = self.workspace;
        match step {
            Step::Tools => self.nextest = install::everything(workspace)?,
            Step::Fmt => succeed(&mut workspace.cargo(["fmt", "--all", "--check"]))
                .context("run `cargo fmt --all` and look at the difference")?,
            Step::Clippy => succeed(&mut clippy(workspace))?,
            Step::Web => {
                web::check(workspace)?;
                web::build(workspace)?;
            }
            Step::Browser => web::browser(workspace, &self.binary(Variant::Product))?,
            Step::Agents => agents::run(workspace, &self.binary(Variant::Product))?,
            Step::Python => python::run(workspace, &self.binary(Variant::Product))?,
            Step::Typescript => typescript::run(workspace, &self.binary(Variant::Product))?,
            Step::Build => drop(evidence::build(workspace, Profile::Dev, Variant::Product)?),
            Step::Postgres => self.cluster = Some(Cluster::start(Durability::Throwaway)?),
            Step::Tests => {
                let mut command = if self.nextest {
                    workspace.cargo(["nextest", "run", "--workspace"])
                } else {
                    workspace.cargo(["test", "--workspace", "--all-targets", "--no-fail-fast"])
                };
                succeed(self.environment(&mut command)).context("the failing tests are named above")?;
            }
            Step::Doctests => {
                succeed(self.environment(&mut workspace.cargo(["test", "--workspace", "--doc"])))?;
            }
            Step::Matrices => evidence::build_matrices(workspace, Profile::Dev)?,
            Step::Crash => self.matrix(Matrix::Crash, Variant::Product, &["--cycles", "200", "--short"])?,
            Step::Powercut => {
                self.matrix(Matrix::Powercut, Variant::Product, &["--cuts", "300", "--short"])?;
            }
            Step::Bench => self.matrix(Matrix::Bench, Variant::Product, &["--short"])?,
            Step::Sabotage => drop(evidence::build(workspace, Profile::Dev, Variant::Sabotage)?),
            Step::TwinCrashAck => self.twin(Matrix::Crash, "ack-before-commit")?,
            Step::TwinPowercutSync => self.twin(Matrix::Powercut, "sync-normal")?,
            Step::TwinPowercutAck => self.twin(Matrix::Powercut, "ack-before-commit")?,
        }
        Ok(())
    }

    /// Tells tests which Postgres and which binary to use.
    fn environment<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        if let Some(cluster) = &self.cluster {
            command.env("PLACET_TEST_POSTGRES", cluster.url());
        }
        command.env("PLACET_BIN", self.binary(Variant::Product)).stdin(Stdio::null())
    }

    fn binary(&self, variant: Variant) -> PathBuf {
        evidence::kept(self.workspace, Profile::Dev, variant)
    }

    fn twin(&self, matrix: Matrix, sabotage: &str) -> Result<()> {
        note(format!("the planted bug `{sabotage}` must be found"));
        // The bound of the search: a twin that is not caught by then was not caught.
        let bound = if matrix == Matrix::Crash { ["--cycles", "200"] } else { ["--cuts", "300"] };
        self.matrix(matrix, Variant::Sabotage, &["--sabotage", sabotage, "--short", bound[0], bound[1]])
    }

    fn matrix(&self, matrix: Matrix, variant: Variant, args: &[&str]) -> Result<()> {
        let mut command = Command::new(evidence::program(self.workspace, Profile::Dev, matrix));
        command.args(args).arg("--bin").arg(self.binary(variant)).current_dir(&self.workspace.root);
        let mut durable = None;
        if matrix == Matrix::Bench {
            let cluster = Cluster::start(Durability::Fsync)?;
            command.env("PLACET_BENCH_POSTGRES", cluster.url());
            durable = Some(cluster);
        }
        let result = succeed_within(self.environment(&mut command), MATRIX_LIMIT);
        drop(durable);
        result
    }
}

/// Clippy as CI wants it: every target, and a warning is an error.
pub(crate) fn clippy(workspace: &Workspace) -> Command {
    workspace.cargo(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_brings_what_the_step_needs_in_the_order_of_the_run() {
        assert_eq!(choose(&[Step::Tests], &[]), [Step::Tools, Step::Build, Step::Postgres, Step::Tests]);
    }

    #[test]
    fn skip_leaves_out_what_only_the_skipped_step_needs() {
        assert_eq!(choose(&[Step::Fmt, Step::Crash], &[Step::Crash]), [Step::Fmt]);
        assert_eq!(choose(&[Step::Tests], &[Step::Postgres]), [Step::Tools, Step::Build, Step::Tests]);
    }

    #[test]
    fn every_step_comes_after_what_it_needs() {
        for step in Step::value_variants() {
            assert!(step.needs().iter().all(|need| need < step), "{step:?}");
            assert!(!step.about().is_empty(), "{step:?}");
        }
    }

    #[test]
    fn a_step_is_called_the_same_on_the_command_line_and_in_the_summary() {
        for step in Step::value_variants() {
            assert_eq!(Step::from_str(step.name(), false).as_ref(), Ok(step));
        }
    }
}
