//! The steps of `cargo xtask test`.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::agents;
use crate::cluster::{Cluster, Durability};
use crate::conformance::{self, Kit};
use crate::evidence::{self, Matrix, Profile, Variant};
use crate::install;
use crate::lints;
use crate::process::{self, Workspace, note, succeed, succeed_within};
use crate::python;
use crate::schedule::Place;
use crate::scratch::Scratch;
use crate::shipped;
use crate::test::{Step, nextest_report};
use crate::typescript;
use crate::web;

/// A short matrix takes a minute or two; one that hangs must not hang the run.
const MATRIX_LIMIT: Duration = Duration::from_mins(15);

/// A program of the long form takes an hour or two.
const LONG_LIMIT: Duration = Duration::from_hours(3);

/// Which form of a step is run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// What a change must pass.
    Standard,
    /// Everything, by hand.
    All,
}

impl Extent {
    /// The limit for one program: one that hangs must leave time for the others.
    pub(crate) fn limit(self) -> Duration {
        match self {
            Self::Standard => process::LIMIT,
            Self::All => LONG_LIMIT,
        }
    }
}

/// Results of earlier steps for later ones. Steps run side by side.
pub(crate) struct Run<'a> {
    workspace: &'a Workspace,
    extent: Extent,
    kits: Vec<Kit>,
    nextest: AtomicBool,
    /// Stopped when the run ends in any way.
    cluster: Mutex<Option<Cluster>>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(workspace: &'a Workspace, all: bool, kits: Vec<Kit>) -> Self {
        let extent = if all { Extent::All } else { Extent::Standard };
        Self { workspace, extent, kits, nextest: AtomicBool::new(true), cluster: Mutex::new(None) }
    }

    pub(crate) fn step(&self, step: Step, place: &Place) -> Result<()> {
        let (workspace, extent) = (self.workspace, self.extent);
        match step {
            Step::Tools => self.nextest.store(install::everything(workspace)?, Ordering::Relaxed),
            Step::Fmt => succeed(&mut workspace.cargo(["fmt", "--all", "--check"]))
                .context("run `cargo fmt --all` and look at the difference")?,
            Step::Clippy => lints::none(workspace, Variant::Sabotage.features())?,
            Step::Web => web::build(workspace)?,
            Step::WebCheck => web::check(workspace, place)?,
            Step::Release => shipped::build_fast(workspace)?,
            Step::Packages => {
                install::chromium()?;
                typescript::install(workspace)?;
                python::install(workspace, extent)?;
                agents::install(workspace, extent)?;
            }
            Step::Browser => web::browser(workspace, &self.product(), place, extent)?,
            Step::Agents => agents::run(workspace, &self.product(), place, extent)?,
            Step::Python => python::run(workspace, &self.product(), place, extent)?,
            Step::Typescript => typescript::run(workspace, &self.product(), place, extent, None)?,
            Step::Postgres => {
                let cluster = Cluster::start(Durability::Throwaway)?;
                *self.cluster.lock().unwrap_or_else(PoisonError::into_inner) = Some(cluster);
            }
            Step::TestBuild => self.build_tests()?,
            Step::Tests => self.tests(place)?,
            Step::Doctests => succeed(&mut workspace.linted(["test", "--doc", "-p", "placet-client"]))?,
            Step::Crash => self.matrix(Matrix::Crash, &["--cycles", self.either("200", "1000")])?,
            Step::Powercut => self.matrix(Matrix::Powercut, &["--cuts", self.either("300", "20000")])?,
            Step::Bench => self.matrix(Matrix::Bench, &[])?,
            Step::TwinCrashAck => self.twin(Matrix::Crash, "ack-before-commit")?,
            Step::TwinPowercutSync => self.twin(Matrix::Powercut, "sync-normal")?,
            Step::TwinPowercutAck => self.twin(Matrix::Powercut, "ack-before-commit")?,
            Step::Shipped => shipped::build_and_try(workspace)?,
            Step::Measure => self.measure()?,
            Step::Node22 => {
                let node = typescript::newer_node(workspace)?;
                typescript::run(workspace, &self.product(), place, Extent::All, Some(&node))?;
            }
            Step::PythonVersions => python::versions(workspace, &self.product(), place)?,
            Step::AdkVersions => conformance::adk(workspace, &self.product(), &[])?,
            Step::Openapi => conformance::openapi(workspace, &self.product(), 100)?,
            Step::Kits => self.public_kits()?,
        }
        Ok(())
    }

    fn either<T>(&self, standard: T, all: T) -> T {
        if self.extent == Extent::All { all } else { standard }
    }

    /// One build for the tests, the programs of the matrices, the binary with planted bugs, and clippy. The switches
    /// for planted bugs are only in the tests' build; the release binary is another build.
    fn build_tests(&self) -> Result<()> {
        let mut command = if self.nextest.load(Ordering::Relaxed) {
            self.workspace.linted(["nextest", "run", "--no-run", "--workspace"])
        } else {
            self.workspace.linted(["test", "--no-run", "--workspace", "--all-targets"])
        };
        succeed(command.args(Variant::Sabotage.features()))?;
        evidence::keep(self.workspace, Profile::Dev, Variant::Sabotage)
    }

    fn tests(&self, place: &Place) -> Result<()> {
        let nextest = self.nextest.load(Ordering::Relaxed);
        let mut command = if nextest {
            self.workspace.linted(["nextest", "run", "--workspace"])
        } else {
            self.workspace.linted(["test", "--workspace", "--all-targets", "--no-fail-fast"])
        };
        command.args(Variant::Sabotage.features());
        if self.extent == Extent::All {
            command.env("PLACET_LONG", "1");
        }
        let scratch = Scratch::new("tests")?;
        scratch.give(&mut command);
        let report = nextest_report(self.workspace);
        let _ = fs::remove_file(&report); // that of an earlier run would be taken for this one's
        let result = succeed_within(self.environment(&mut command), self.extent.limit())
            .context("the failing tests are named above");
        if nextest && report.is_file() {
            fs::copy(&report, place.reports.join("nextest.xml"))?;
        }
        result
    }

    /// Tells the tests which Postgres and which binary to use.
    fn environment<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        if let Some(cluster) = &*self.cluster.lock().unwrap_or_else(PoisonError::into_inner) {
            cluster.tell(command);
        }
        command.env("PLACET_BIN", self.product()).stdin(Stdio::null())
    }

    /// The release binary with the dashboard in it.
    fn product(&self) -> PathBuf {
        evidence::kept(self.workspace, Profile::FastRelease, Variant::Product)
    }

    fn twin(&self, matrix: Matrix, sabotage: &str) -> Result<()> {
        note(format!("the planted bug `{sabotage}` must be found"));
        // The limit of the search: a bug that is not found by then counts as not caught.
        let bound = if matrix == Matrix::Crash { ["--cycles", "200"] } else { ["--cuts", "300"] };
        let mut command = self.program(matrix);
        command.args(["--sabotage", sabotage, "--short"]).args(bound).arg("--bin");
        command.arg(evidence::kept(self.workspace, Profile::Dev, Variant::Sabotage));
        succeed_within(self.environment(&mut command), MATRIX_LIMIT)
    }

    fn matrix(&self, matrix: Matrix, args: &[&str]) -> Result<()> {
        let mut command = self.program(matrix);
        command.args(args).arg("--bin").arg(self.product());
        // `cargo xtask bench` measures. Here it is enough that every row can be measured.
        if self.extent == Extent::Standard || matrix == Matrix::Bench {
            command.arg("--short");
        }
        let mut durable = None;
        if matrix == Matrix::Bench {
            let cluster = Cluster::start(Durability::Fsync)?;
            command.env("PLACET_BENCH_POSTGRES", cluster.url());
            durable = Some(cluster);
        }
        let result = succeed_within(self.environment(&mut command), self.either(MATRIX_LIMIT, LONG_LIMIT));
        drop(durable);
        result
    }

    /// Measurements with limits, one at a time. Only this step judges by the clock.
    fn measure(&self) -> Result<()> {
        let mut command =
            self.workspace.cargo(["test", "--tests", "-p", "placet-policy", "-p", "placet-ledger"]);
        command.args(Profile::FastRelease.flag());
        succeed(command.args(["--", "--ignored", "--nocapture", "--test-threads", "1"]))
            .context("policy or ledger is slower than it should be")?;
        web::measure(self.workspace, &self.product(), self.extent)
    }

    fn program(&self, matrix: Matrix) -> Command {
        let mut command = Command::new(evidence::program(self.workspace, Profile::Dev, matrix));
        command.current_dir(&self.workspace.root);
        command
    }

    fn public_kits(&self) -> Result<()> {
        if self.kits.is_empty() {
            note("NOT RUN: no checkout was given; `--kit a2a=DIR` runs that one");
        }
        self.kits.iter().try_for_each(|kit| conformance::run_kit(self.workspace, kit))
    }
}
