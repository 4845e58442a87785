//! `cargo xtask check`: everything that can be said about a change without running it.

use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::leaks;
use crate::process::{Workspace, note, succeed, works};
use crate::steps::Steps;
use crate::test::clippy;

pub(crate) fn run(workspace: &Workspace) -> ExitCode {
    let mut steps = Steps::new(6);
    let result = all(workspace, &mut steps);
    println!("{}", steps.summary(result.as_ref().err()));
    if result.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn all(workspace: &Workspace, steps: &mut Steps) -> Result<()> {
    steps.run("leaks", "no package mirror and no path of this machine in any file", || {
        leaks::check(workspace)
    })?;
    steps.run("fmt", "formatting", || {
        succeed(&mut workspace.cargo(["fmt", "--all", "--check"]))
            .context("run `cargo fmt --all` and look at the difference")
    })?;
    steps.run("clippy", "every target, a warning is an error", || succeed(&mut clippy(workspace)))?;
    steps.run("doc", "the documentation builds, a warning is an error", || {
        let mut cargo = workspace.cargo(["doc", "--workspace", "--no-deps", "--document-private-items"]);
        succeed(cargo.env("RUSTDOCFLAGS", "-D warnings"))
    })?;
    steps.run("deny", "licences, advisories, banned crates, sources", || {
        if !works(&mut workspace.cargo(["deny", "--version"])) {
            note("NOT CHECKED: cargo-deny is not here; install it with `cargo install cargo-deny --locked`");
            return Ok(());
        }
        succeed(&mut workspace.cargo(["deny", "--workspace", "check"]))
    })?;
    steps.run("generated", "api/openapi.json is what the code says", || {
        succeed(&mut workspace.cargo(["test", "-p", "placet-server", "openapi"]))
            .context("`cargo xtask openapi` writes it anew")
    })?;
    steps.run("reference", "docs/policy-reference.md is what the code says", || {
        succeed(&mut workspace.cargo(["test", "-p", "placet", "--test", "policy", "reference"]))
            .context("`cargo xtask reference` writes it anew")
    })
}
