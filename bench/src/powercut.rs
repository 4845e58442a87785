//! The power-cut simulator: records every write and sync of the real binary, builds the disks a cut could leave, and opens each.

mod cuts;
mod disk;
mod image;
mod placet;
mod promise;
mod record;
mod selftest;
mod trace;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, Parser, Subcommand};

use crate::node::{default_bin, print, say};

/// Options of the simulator.
#[derive(Debug, Parser)]
#[command(name = "powercut", about = "Cuts the power under the real binary, as often as you like")]
pub struct Command {
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    hidden: Option<Hidden>,
}

#[derive(Debug, Subcommand)]
enum Hidden {
    /// The tiny database writer of the self-test.
    #[command(hide = true)]
    Tiny(selftest::Tiny),
}

/// The options of a run.
#[derive(Debug, Clone, Args)]
struct Options {
    /// The placet binary (default: the one beside this program).
    #[arg(long)]
    bin: Option<PathBuf>,
    /// How many cuts to make.
    #[arg(long, default_value_t = 20_000)]
    cuts: usize,
    /// A smaller recording, for the tests.
    #[arg(long)]
    short: bool,
    /// The seed of every choice.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run a binary with a planted bug (sync-normal, ack-before-commit); finding it is success.
    #[arg(long)]
    sabotage: Option<String>,
    /// Keep the folder of a failing image and print its path.
    #[arg(long)]
    keep: bool,
    /// How many images are opened at the same time.
    #[arg(long, default_value_t = 2)]
    workers: usize,
    /// One of this many distinct images is also served.
    #[arg(long, default_value_t = 50)]
    serve_every: usize,
    /// Where recordings and images are kept (default: memory, if there is a folder for that).
    #[arg(long)]
    scratch: Option<PathBuf>,
    /// Check the simulator itself, on a tiny writer with known faults.
    #[arg(long)]
    self_test: bool,
    /// The number of broken cuts after which a run stops.
    #[arg(skip = 200_usize)]
    enough: usize,
}

impl Options {
    fn scratch(&self) -> Result<tempfile::TempDir> {
        let memory = PathBuf::from("/dev/shm");
        let parent =
            self.scratch.clone().unwrap_or(if memory.is_dir() { memory } else { std::env::temp_dir() });
        Ok(tempfile::Builder::new().prefix("placet-powercut-").tempdir_in(parent)?)
    }
}

/// Runs the program. True means that no promise was broken.
pub fn main(command: Command) -> Result<bool> {
    let mut options = command.options;
    if let Some(Hidden::Tiny(tiny)) = command.hidden {
        tiny.run()?;
        return Ok(true);
    }
    if options.self_test {
        return selftest::run(&options);
    }
    if options.sabotage.is_some() {
        options.enough = 20;
    }
    let bin = default_bin(options.bin.clone())?;
    let scratch = options.scratch()?;
    let recording = record::record(&bin, &options, scratch.path())?;
    let subject = placet::Placet::new(&bin, &options, &recording);
    let report = cuts::run(&subject, &recording.events, &options, scratch.path())?;
    report.print();
    let found = report.violations();
    match (&options.sabotage, found) {
        (None, 0) => {
            print(format!(
                "power cut: {} cuts, nothing acknowledged was lost, nothing is corrupt",
                report.cuts
            ));
            Ok(true)
        }
        (None, _) => {
            if options.keep {
                say(format!("kept: {}", scratch.keep().display()));
            }
            bail!("{found} of {} power cuts broke a promise", report.cuts);
        }
        (Some(name), 0) => bail!(
            "the sabotage `{name}` was NOT caught in {} cuts: is the binary built with `--features sabotage`?",
            report.cuts
        ),
        (Some(name), _) => {
            print(format!("caught: the sabotage `{name}` broke {found} of {} power cuts", report.cuts));
            Ok(true)
        }
    }
}
