//! How often a policy would have asked a person: measured on sessions of coding agents that were published.
//!
//! The files are read where they are and never copied. Where a call happened is taken from the session itself: the
//! folder of its first call is the workspace, and paths are resolved as text, because the files are not here.

mod place;
mod read;
mod shape;
mod sum;

use std::{collections::HashSet, fs, path::PathBuf};

use anyhow::{Context, Result, ensure};
use clap::{Parser, ValueEnum};
use placet_core::{Covered, HOOK_PROGRAM, Kind, Time};
use placet_policy::{Call, Claims, Outcome, Place, Policy};
use sha2::{Digest, Sha256};

use crate::node::say;
use read::Made;
use sum::Sum;

/// Count how often a policy asks a person, in public sessions of coding agents
///
/// Reads every `*.jsonl` below the folder: sessions of Claude Code, and rollouts of Codex. Calls that stand in several
/// files count once.
#[derive(Parser)]
#[command(name = "traces")]
pub struct Command {
    /// A folder with sessions, such as a checkout of a repository that publishes them
    #[arg(long, value_name = "DIR", required = true)]
    checkout: Vec<PathBuf>,
    /// The policy; `preset:coding-agent` unless given
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// As for an agent that nobody marked: nothing runs confined
    #[arg(long)]
    free: bool,
    /// Only one half of the sessions, chosen by their ids: tune on one, measure on the other
    #[arg(long)]
    half: Option<Half>,
    /// Show so many of the commonest shapes of commands that ask, each with why and one example
    #[arg(long, default_value_t = 0, value_name = "N")]
    top: usize,
    /// Print these calls as one JSON object a line, each once, for people and programs to read
    #[arg(long)]
    list: Option<List>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Half {
    Tune,
    Check,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum List {
    /// Calls that pass without a person and run free
    Allowed,
    /// Calls that pass without a person and run confined
    Confined,
    /// Calls that ask
    Asked,
}

/// Reads the sessions, asks the policy about each call, and prints what came of it.
pub fn main(command: &Command) -> Result<()> {
    let text = match &command.policy {
        Some(file) => fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?,
        None => placet_policy::preset("coding-agent").context("there is no such preset")?.to_owned(),
    };
    let policy = Policy::parse(&text).map_err(|problems| anyhow::anyhow!("{problems}"))?;
    let mut seen = HashSet::new();
    let mut sum = Sum::default();
    for folder in &command.checkout {
        ensure!(folder.is_dir(), "{} is no folder", folder.display());
        read::sessions(folder, &mut |session| {
            if !command.half.is_none_or(|half| half == half_of(&session.id)) {
                return;
            }
            let mut calls: Vec<&Made> =
                session.calls.iter().filter(|made| seen.insert(made.id.clone())).collect();
            calls.sort_by_key(|made| made.at);
            for made in calls {
                let outcome = judged(&policy, &session.root, made, !command.free);
                if let Some(list) = command.list {
                    sum.list(list, made, &outcome);
                }
                sum.add(&session.id, made, &outcome);
            }
        })?;
    }
    ensure!(sum.calls() > 0, "there are no calls in these folders");
    say(sum.table(command.top));
    Ok(())
}

fn judged(policy: &Policy, root: &str, made: &Made, confines: bool) -> Outcome {
    let context = place::context(&made.tool, &made.input, &made.folder, root);
    let roots = [root.to_owned()];
    policy.evaluate(&Call {
        kind: Kind::Action,
        tool: Some(&made.tool),
        arguments: Some(&made.input),
        steps: &[],
        agent: "claude",
        source: HOOK_PROGRAM,
        time: Time::from_micros(0),
        claims: Claims { session: "s", context: &context, risk: None, on_behalf_of: None, group: None },
        place: Some(Place {
            roots: &roots,
            context: &context,
            confines: confines && can_confine(&made.input),
        }),
        covered: Covered::Unknown,
    })
}

/// Whether the hook could hand such a call to the runner.
fn can_confine(input: &serde_json::Map<String, serde_json::Value>) -> bool {
    let background =
        input.get("run_in_background").is_some_and(|value| *value != serde_json::Value::Bool(false));
    !background && input.get("command").is_some_and(serde_json::Value::is_string)
}

/// The half that a session is in. It is the same for everybody who measures.
fn half_of(session: &str) -> Half {
    let digest = Sha256::digest(session.as_bytes());
    if digest.first().is_some_and(|byte| byte % 2 == 0) { Half::Tune } else { Half::Check }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_always_in_the_same_half_and_both_halves_are_used() {
        let halves: Vec<bool> = (0..64).map(|n| half_of(&format!("s{n}")) == Half::Tune).collect();
        assert_eq!(halves, (0..64).map(|n| half_of(&format!("s{n}")) == Half::Tune).collect::<Vec<_>>());
        let tune = halves.iter().filter(|tune| **tune).count();
        assert!((16..=48).contains(&tune), "{tune}");
    }
}
