//! `cargo xtask check`: the checks of a change that need no tests and two minutes.

use std::collections::BTreeSet;
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::evidence::Variant;
use crate::leaks;
use crate::licences;
use crate::process::{Workspace, metadata, note, say, succeed, works};
use crate::report;
use crate::results::{self, says};
use crate::schedule::{self, Finished, Lane, Step};
use crate::subjects;
use crate::test::clippy;

#[derive(Args)]
pub(crate) struct CheckArgs {
    /// Check every crate with clippy, not only the changed ones; also the documentation and cargo-deny
    #[arg(long)]
    all: bool,
}

/// Name, what it does, lane; `doc` and `deny` run with `--all` only.
const STEPS: [(&str, &str, Lane); 10] = [
    ("fmt", "formatting", Lane::Any),
    ("clippy", "of the crates that changed, a warning is an error", Lane::Cargo),
    ("layers", "which crate may know which, and no clock in a test's judgement", Lane::Cargo),
    ("generated", "api/openapi.json and docs/policy-reference.md match the code", Lane::Cargo),
    ("leaks", "no package mirror and no path of this machine in any file", Lane::Any),
    ("licences", "of every dependency", Lane::Any),
    ("subjects", "commit subjects: imperative, at most 72 characters", Lane::Any),
    ("results", "how old the results of `cargo xtask test --all` are", Lane::Any),
    ("doc", "the documentation builds, a warning is an error", Lane::Cargo),
    ("deny", "licences, advisories, banned crates, sources", Lane::Any),
];

pub(crate) fn run(workspace: &Workspace, args: &CheckArgs) -> Result<ExitCode> {
    let begin = Instant::now();
    let steps: Vec<Step> = STEPS
        .into_iter()
        .filter(|(name, ..)| args.all || !["doc", "deny"].contains(name))
        .map(|(name, about, lane)| Step { name, about: about.to_owned(), needs: Vec::new(), lane })
        .collect();
    let folder = workspace.target.join("check-logs");
    let finished = schedule::run(&steps, &folder, |name, _| step(workspace, name, args.all), |_| ())?;
    say(report::summary(&finished, begin.elapsed()));
    Ok(if finished.iter().all(Finished::passed) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn step(workspace: &Workspace, name: &str, all: bool) -> Result<()> {
    match name {
        "fmt" => succeed(&mut workspace.cargo(["fmt", "--all", "--check"]))
            .context("run `cargo fmt --all` and look at the difference"),
        "clippy" if all => succeed(&mut clippy(workspace)),
        "clippy" => clippy_of_changes(workspace),
        "layers" => succeed(&mut workspace.cargo(["test", "--quiet", "-p", "xtask", "--tests"])),
        "generated" => succeed(&mut generated(workspace))
            .context("`cargo xtask openapi` and `cargo xtask reference` write them anew"),
        "leaks" => leaks::check(workspace),
        "licences" => licences::check(workspace),
        "subjects" => subjects::check(workspace),
        "results" => results::tell_age(workspace),
        "doc" => {
            let mut cargo = workspace.cargo(["doc", "--workspace", "--no-deps", "--document-private-items"]);
            succeed(cargo.env("RUSTDOCFLAGS", "-D warnings"))
        }
        "deny" => deny(workspace),
        _ => bail!("there is no check `{name}`"),
    }
}

/// The tests that compare generated files with the code, from the build that `cargo xtask test` made.
fn generated(workspace: &Workspace) -> Command {
    let mut cargo = workspace.linted(["nextest", "run", "--workspace", "--test", "it"]);
    cargo.args(Variant::Sabotage.features());
    cargo.args(["-E", "test(openapi_document_is_current) | test(the_reference_is_current)"]);
    cargo
}

fn deny(workspace: &Workspace) -> Result<()> {
    if !works(&mut workspace.cargo(["deny", "--version"])) {
        note("NOT CHECKED: cargo-deny is not here; install it with `cargo install cargo-deny --locked`");
        return Ok(());
    }
    succeed(&mut workspace.cargo(["deny", "--workspace", "check"]))
}

/// Clippy of the crates with changes: uncommitted ones, and those of the last commit.
fn clippy_of_changes(workspace: &Workspace) -> Result<()> {
    let last = says(workspace, "git", &["diff", "--name-only", "HEAD~1"]).unwrap_or_default();
    let new = says(workspace, "git", &["ls-files", "--others", "--exclude-standard"])?;
    let metadata = metadata(&workspace.root, &["--no-deps"])?;
    let root = workspace.root.to_string_lossy().into_owned();
    let packages = metadata["packages"].as_array().context("cargo metadata names no packages")?;
    let folders: Vec<(String, String)> = packages
        .iter()
        .filter_map(|package| {
            let manifest = package["manifest_path"].as_str()?.strip_prefix(&root)?;
            let folder = manifest.trim_start_matches('/').strip_suffix("Cargo.toml")?;
            Some((folder.to_owned(), package["name"].as_str()?.to_owned()))
        })
        .collect();
    let changed = changed(last.lines().chain(new.lines()), &folders);
    let Some(changed) = changed else { return succeed(&mut clippy(workspace)) };
    if changed.is_empty() {
        note("no crate has changed");
        return Ok(());
    }
    let mut cargo = workspace.cargo(["clippy", "--all-targets"]);
    for name in &changed {
        cargo.args(["-p", name]);
    }
    succeed(cargo.args(["--", "-D", "warnings"]))
}

/// The crates of these files. All crates if the workspace's own settings changed.
fn changed<'a>(
    files: impl Iterator<Item = &'a str>,
    folders: &[(String, String)],
) -> Option<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for file in files {
        if ["Cargo.toml", "Cargo.lock", "clippy.toml"].contains(&file) {
            return None;
        }
        let owner = folders.iter().find(|(folder, _)| !folder.is_empty() && file.starts_with(folder));
        found.extend(owner.map(|(_, name)| name.clone()));
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_names_its_crate_and_shared_settings_name_all() {
        let folders = [
            ("crates/core/".to_owned(), "placet-core".to_owned()),
            ("xtask/".to_owned(), "xtask".to_owned()),
        ];
        let of = |files: &[&'static str]| changed(files.iter().copied(), &folders);
        let expected = BTreeSet::from(["placet-core".to_owned(), "xtask".to_owned()]);
        assert_eq!(of(&["crates/core/src/id.rs", "xtask/src/main.rs", "README.md"]), Some(expected));
        assert_eq!(of(&["README.md"]), Some(BTreeSet::new()));
        assert_eq!(of(&["crates/core/src/id.rs", "Cargo.lock"]), None);
    }
}
