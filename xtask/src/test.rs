//! `cargo xtask test`: everything a change must pass, on a fresh machine too; `--all` runs the long forms.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};

use crate::conformance::Kit;
use crate::process::{Workspace, note, say};
use crate::report;
use crate::results;
use crate::run::Run;
use crate::schedule::{self, Lane};
use crate::scratch;

#[derive(Args)]
pub(crate) struct TestArgs {
    /// Run the long forms too: every framework, agent and Node version, long matrices, what ships. Takes hours
    #[arg(long)]
    all: bool,
    /// Run only this step and what it needs (may be given several times)
    #[arg(long, value_name = "STEP")]
    only: Vec<Step>,
    /// Leave this step out (may be given several times); `--skip postgres` keeps a PLACET_TEST_POSTGRES of your own
    #[arg(long, value_name = "STEP", hide_possible_values = true)]
    skip: Vec<Step>,
    /// Go on from this step after a stop, with what it and the later ones need
    #[arg(long, value_name = "STEP", hide_possible_values = true, conflicts_with = "only")]
    from: Option<Step>,
    /// With `--all`: a public conformance kit to run from a checkout of it (may be given several times)
    #[arg(long, value_name = "NAME=DIR", requires = "all")]
    kit: Vec<Kit>,
}

/// In the order of the run where nothing else decides: what is cheap, likely to fail, or waited for comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum)]
pub(crate) enum Step {
    /// Find or install Postgres, strace, cargo-nextest
    Tools,
    /// `cargo fmt --check`
    Fmt,
    /// The dashboard, built with Node
    Web,
    /// The release binary with the dashboard in it, built fast, kept aside as target/evidence/placet
    Release,
    /// Browser, agents, npm and Python packages of the tests
    Packages,
    /// All Rust tests, the binary with planted bugs and the programs of the matrices; clippy looks at them on the way
    TestBuild,
    /// What clippy found in that build: a warning is an error
    Clippy,
    /// A private Postgres for the tests
    Postgres,
    /// All Rust tests, on SQLite and on Postgres
    Tests,
    /// The examples in the Rust documentation
    Doctests,
    /// The dashboard's types, style and unit tests
    WebCheck,
    /// The dashboard in a real browser against the release binary
    Browser,
    /// The Python SDK in real frameworks, offline
    Python,
    /// The TypeScript SDK in real frameworks, offline
    Typescript,
    /// The hook in real coding agents, offline
    Agents,
    /// Kills under load; `--all`: 1,000
    Crash,
    /// Power cuts; `--all`: 20,000
    Powercut,
    /// Every row of the benchmark table, briefly
    Bench,
    /// The crash matrix must catch a server that answers before it commits
    TwinCrashAck,
    /// The power-cut matrix must catch a server that does not sync every commit
    TwinPowercutSync,
    /// The power-cut matrix must catch a server that answers before it commits
    TwinPowercutAck,
    /// `--all`: the binary as it is shipped, built and tried
    Shipped,
    /// `--all`: how long policy, ledger and the dashboard take, in release, each with a limit
    Measure,
    /// `--all`: the TypeScript SDK on the newer Node version
    Node22,
    /// `--all`: the Python SDK itself on every other supported Python that is found
    PythonVersions,
    /// `--all`: the google-adk adapter with older versions of google-adk
    AdkVersions,
    /// `--all`: every call of the OpenAPI document as schemathesis makes it up, by three roles
    Openapi,
    /// `--all`: the public conformance kits that `--kit` gives a checkout of
    Kits,
}

impl Step {
    /// What must have passed before.
    fn needs(self) -> &'static [Self] {
        match self {
            Self::Tools => &[],
            Self::Fmt
            | Self::Web
            | Self::Packages
            | Self::TestBuild
            | Self::Postgres
            | Self::Doctests
            | Self::WebCheck => &[Self::Tools],
            Self::Release | Self::Shipped => &[Self::Web],
            Self::Tests => &[Self::Release, Self::TestBuild, Self::Postgres],
            Self::Browser | Self::Agents | Self::Python | Self::Typescript | Self::Measure | Self::Node22 => {
                &[Self::Release, Self::Packages]
            }
            Self::PythonVersions | Self::AdkVersions | Self::Openapi | Self::Kits => &[Self::Release],
            Self::Crash | Self::Powercut | Self::Bench => &[Self::Release, Self::TestBuild],
            Self::Clippy | Self::TwinCrashAck | Self::TwinPowercutSync | Self::TwinPowercutAck => {
                &[Self::TestBuild]
            }
        }
    }

    /// Whether only `--all` runs it.
    fn is_long(self) -> bool {
        matches!(
            self,
            Self::Shipped
                | Self::Measure
                | Self::Node22
                | Self::PythonVersions
                | Self::AdkVersions
                | Self::Openapi
                | Self::Kits
        )
    }

    fn lane(self) -> Lane {
        match self {
            Self::Fmt
            | Self::Release
            | Self::Clippy
            | Self::TestBuild
            | Self::Tests
            | Self::Doctests
            | Self::Shipped
            | Self::Measure
            | Self::Kits => Lane::Cargo,
            _ => Lane::Any,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Fmt => "fmt",
            Self::Web => "web",
            Self::Release => "release",
            Self::Packages => "packages",
            Self::Clippy => "clippy",
            Self::TestBuild => "test-build",
            Self::Postgres => "postgres",
            Self::Tests => "tests",
            Self::Doctests => "doctests",
            Self::WebCheck => "web-check",
            Self::Browser => "browser",
            Self::Python => "python",
            Self::Typescript => "typescript",
            Self::Agents => "agents",
            Self::Crash => "crash",
            Self::Powercut => "powercut",
            Self::Bench => "bench",
            Self::TwinCrashAck => "twin-crash-ack",
            Self::TwinPowercutSync => "twin-powercut-sync",
            Self::TwinPowercutAck => "twin-powercut-ack",
            Self::Shipped => "shipped",
            Self::Measure => "measure",
            Self::Node22 => "node22",
            Self::PythonVersions => "python-versions",
            Self::AdkVersions => "adk-versions",
            Self::Openapi => "openapi",
            Self::Kits => "kits",
        }
    }

    fn about(self) -> String {
        let value = self.to_possible_value();
        value.and_then(|value| value.get_help().map(ToString::to_string)).unwrap_or_default()
    }

    /// The step of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::value_variants().iter().copied().find(|step| step.name() == name)
    }

    pub(crate) fn planned(self) -> schedule::Step {
        let needs = self.needs().iter().map(|need| need.name()).collect();
        schedule::Step { name: self.name(), about: self.about(), needs, lane: self.lane() }
    }
}

/// The steps to run, in order: those asked for with what they need, or all; without those left out.
pub(crate) fn choose(all: bool, only: &[Step], from: Option<Step>, skip: &[Step]) -> Vec<Step> {
    let mut chosen = BTreeSet::new();
    let mut open = if only.is_empty() {
        let steps = Step::value_variants().iter().copied();
        steps.filter(|step| (all || !step.is_long()) && from.is_none_or(|from| *step >= from)).collect()
    } else {
        only.to_vec()
    };
    while let Some(step) = open.pop() {
        if !skip.contains(&step) && chosen.insert(step) {
            open.extend(step.needs());
        }
    }
    chosen.into_iter().collect()
}

pub(crate) fn run(workspace: &Workspace, args: &TestArgs) -> Result<ExitCode> {
    let chosen = choose(args.all, &args.only, args.from, &args.skip);
    ensure!(!chosen.is_empty(), "`--skip` leaves no step to run");
    let begin = Instant::now();
    scratch::ensure_room(&workspace.target)?;
    let steps: Vec<schedule::Step> = chosen.iter().copied().map(Step::planned).collect();
    let folder = workspace.target.join("test-logs");
    note(format!("{} steps; each has its log in {}", steps.len(), folder.display()));
    let run = Run::new(workspace, args.all, args.kit.clone());
    let work = |name: &'static str, place: &schedule::Place| {
        run.step(Step::named(name).context("a step without a name")?, place)
    };
    // Only the long form is kept: it is run by hand, and the file says when that was.
    let each = |finished: &schedule::Finished| {
        if args.all
            && let Err(error) = results::record(workspace, finished)
        {
            note(format!("the result is not in docs/testing.md: {error:#}"));
        }
    };
    let finished = schedule::run(&steps, &folder, work, each)?;
    drop(run);
    say(report::summary(&finished, begin.elapsed()));
    Ok(if finished.iter().all(schedule::Finished::passed) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Clippy as CI wants it: every target, and a warning is an error.
pub(crate) fn clippy(workspace: &Workspace) -> Command {
    workspace.cargo(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
}

/// The JUnit file that nextest writes, as `.config/nextest.toml` says.
pub(crate) fn nextest_report(workspace: &Workspace) -> PathBuf {
    workspace.target.join("nextest/default/junit.xml")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_brings_what_the_step_needs_in_the_order_of_the_run() {
        let expected = [Step::Tools, Step::Web, Step::Release, Step::TestBuild, Step::Postgres, Step::Tests];
        assert_eq!(choose(false, &[Step::Tests], None, &[]), expected);
    }

    #[test]
    fn skip_leaves_out_what_only_the_skipped_step_needs() {
        assert_eq!(choose(false, &[Step::Fmt, Step::Crash], None, &[Step::Crash]), [Step::Tools, Step::Fmt]);
        assert!(!choose(false, &[Step::Tests], None, &[Step::Postgres]).contains(&Step::Postgres));
    }

    #[test]
    fn the_long_steps_run_with_all_and_when_they_are_asked_for() {
        let standard = choose(false, &[], None, &[]);
        assert!(standard.iter().all(|step| !step.is_long()) && standard.contains(&Step::Agents));
        assert_eq!(choose(true, &[], None, &[]), Step::value_variants());
        assert!(choose(false, &[Step::Shipped], None, &[]).contains(&Step::Shipped));
    }

    #[test]
    fn from_goes_on_with_a_step_the_later_ones_and_what_they_need() {
        let expected = [Step::Tools, Step::Web, Step::Release, Step::AdkVersions, Step::Openapi, Step::Kits];
        assert_eq!(choose(true, &[], Some(Step::AdkVersions), &[]), expected);
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
