//! `powercut`: no acknowledged decision is lost in a power cut.

use std::process::ExitCode;

use clap::Parser as _;
use placet_bench::node::say;
use placet_bench::powercut::{Command, main as run};

fn main() -> ExitCode {
    match run(Command::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(format!("powercut: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
