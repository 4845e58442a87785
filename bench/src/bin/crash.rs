//! `crash`: killed at any moment, the server keeps every promise.

use std::process::ExitCode;

use clap::Parser as _;
use placet_bench::crash::{Command, main as run};
use placet_bench::node::say;

fn main() -> ExitCode {
    match run(Command::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(format!("crash: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
