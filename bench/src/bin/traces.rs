//! `traces`: how often a policy would have asked a person in real sessions.

use std::process::ExitCode;

use clap::Parser as _;
use placet_bench::node::say;
use placet_bench::traces::{Command, main as run};

fn main() -> ExitCode {
    match run(&Command::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(format!("traces: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
