//! The project's commands: `cargo xtask test`, `check`, `demo` and the rest; each starts other programs.
#![expect(clippy::print_stderr, reason = "a command line tool talks to its user")]
#![expect(clippy::disallowed_methods, reason = "times what it runs; nothing here decides a deadline")]

mod agents;
mod check;
mod cluster;
mod conformance;
mod evidence;
mod install;
mod junit;
mod leaks;
mod licences;
mod lints;
mod node;
mod process;
mod python;
mod report;
mod results;
mod run;
mod schedule;
mod scratch;
mod shipped;
mod soak;
mod subjects;
mod test;
mod typescript;
mod web;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};

use crate::cluster::Durability;
use crate::evidence::Matrix;
use crate::process::{Workspace, note};

/// Build, test, measure and try Placet.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run everything a change must pass; installs what is missing (what `.ci/run` calls)
    Test(test::TestArgs),
    /// Run the checks for use while working, two minutes: format, clippy of changed crates, layers, generated files,
    /// leaked paths, licences, commit subjects
    Check(check::CheckArgs),
    /// Run the Rust and browser tests of one commit again and again, some on a busy machine; continues after a stop
    SoakTests(soak::SoakArgs),
    /// Start a private Postgres for tests; with a command, run it against that Postgres and stop
    ///
    /// The cluster lives in a temporary folder on a free loopback port and is removed when this command ends. Its
    /// address is in `PLACET_TEST_POSTGRES`:
    ///
    ///     cargo xtask postgres -- cargo nextest run -p placet-store
    #[command(verbatim_doc_comment)]
    Postgres(PostgresArgs),
    /// Build the dashboard and the program and run `placet demo`: the service with a scripted agent, or a story
    Demo(ForwardedArgs),
    /// Build the dashboard into web/dist; the next `cargo build` embeds it
    Web,
    /// Kill the server at random moments under load and check that nothing acknowledged was lost
    ///
    /// Builds the release binary first. Arguments go to the `crash` program: `cargo xtask crash -- --help`
    /// lists them. With `--sabotage NAME` a binary with that planted bug is used, which must be caught.
    Crash(ForwardedArgs),
    /// Open every disk image that a power cut could leave and check that nothing acknowledged was lost
    ///
    /// Builds the release binary first. Arguments go to the `powercut` program: `cargo xtask powercut -- --help`
    /// lists them. With `--sabotage NAME` a binary with that planted bug is used, which must be caught.
    Powercut(ForwardedArgs),
    /// Measure against baselines of the same run and print one table
    ///
    /// Builds the release binary first and starts a private Postgres with fsync on
    /// (`PLACET_BENCH_POSTGRES`). Arguments go to the `bench` program: `cargo xtask bench -- --help` lists them.
    Bench(ForwardedArgs),
    /// Count how often the preset asks a person, in public sessions of coding agents: `traces --checkout DIR`
    ///
    /// Arguments go to the `traces` program: `cargo xtask traces -- --help` lists them.
    Traces(ForwardedArgs),
    /// Run the tests and clients of another project against Placet: `conformance community --checkout DIR`
    Conformance(conformance::ConformanceArgs),
    /// Write docs/policy-reference.md from the code
    Reference,
    /// Write api/openapi.json from the code
    Openapi,
}

#[derive(Args)]
struct ForwardedArgs {
    /// Passed on as they are
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    args: Vec<String>,
}

#[derive(Args)]
struct PostgresArgs {
    /// Keep fsync on, as a real installation would (slower; for measurements)
    #[arg(long)]
    fsync: bool,
    /// What to run; without it, the cluster runs until Ctrl-C
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("\nerror: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> Result<ExitCode> {
    let workspace = Workspace::find()?;
    match cli.command {
        Command::Test(args) => test::run(&workspace, &args),
        Command::Check(args) => check::run(&workspace, &args),
        Command::SoakTests(args) => soak::run(&workspace, &args),
        Command::Postgres(PostgresArgs { fsync, command }) => {
            let durability = if fsync { Durability::Fsync } else { Durability::Throwaway };
            cluster::command(&workspace, durability, &command)
        }
        Command::Demo(ForwardedArgs { args }) => {
            note("1 of 2: the dashboard");
            web::build(&workspace)?;
            evidence::demo(&workspace, &args)
        }
        Command::Web => {
            web::build(&workspace)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Crash(ForwardedArgs { args }) => evidence::run(&workspace, Matrix::Crash, args),
        Command::Powercut(ForwardedArgs { args }) => evidence::run(&workspace, Matrix::Powercut, args),
        Command::Bench(ForwardedArgs { args }) => evidence::run(&workspace, Matrix::Bench, args),
        Command::Traces(ForwardedArgs { args }) => {
            let mut cargo =
                workspace.cargo(["run", "--quiet", "-p", "placet-bench", "--bin", "traces", "--"]);
            Ok(process::exit_code(process::status(cargo.args(args))?))
        }
        Command::Conformance(args) => conformance::run(&workspace, &args),
        Command::Reference => {
            note("writing docs/policy-reference.md from the code (a test does it)");
            let mut cargo =
                workspace.cargo(["test", "-p", "placet", "--test", "it", "the_reference_is_current"]);
            cargo.env("UPDATE", "1");
            process::succeed(&mut cargo)?;
            note("done; look at `git diff docs/policy-reference.md`");
            Ok(ExitCode::SUCCESS)
        }
        Command::Openapi => {
            note("writing api/openapi.json from the code (a test does it)");
            let mut cargo = workspace.cargo([
                "test",
                "-p",
                "placet-server",
                "--test",
                "it",
                "openapi_document_is_current",
            ]);
            cargo.env("UPDATE", "1");
            process::succeed(&mut cargo)?;
            note("done; look at `git diff api/openapi.json`");
            Ok(ExitCode::SUCCESS)
        }
    }
}
