//! Counts how often a policy would have asked a person, in published sessions of coding agents.
//!
//! The files are read in place and never copied. The session itself says where a call happened: the folder of its
//! first call is the workspace, and paths are resolved as text, because the files are not available.

mod folders;
mod place;
mod read;
mod shape;
mod specstory;
mod sum;

use std::{collections::HashSet, fs, path::PathBuf, slice};

use anyhow::{Context, Result, ensure};
use clap::{Parser, ValueEnum};
use placet_core::{Covered, Effect, HOOK_PROGRAM, Kind, Risk, Time};
use placet_policy::{Call, Claims, Outcome, Place, Policy, Template};
use sha2::{Digest, Sha256};

use crate::node::say;
use folders::Folders;
use read::RecordedCall;
use sum::Sum;

/// Count how often a policy asks a person, in public sessions of coding agents
///
/// Reads every `*.jsonl` below the folder: sessions of Claude Code, and rollouts of Codex; and the sessions of Claude
/// Code that SpecStory keeps in `.specstory/history`. Calls that are in several files count once
#[derive(Parser)]
#[command(name = "traces")]
pub struct Command {
    /// A folder with sessions, such as a checkout of a repository that publishes them
    #[arg(long, value_name = "DIR", required = true)]
    checkout: Vec<PathBuf>,
    /// The policy; `preset:coding-agent` by default
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Turn this on in the preset, as an operator can (may be given several times)
    #[arg(long, value_name = "NAME", conflicts_with = "policy")]
    switch: Vec<String>,
    /// As with `placet hook install --user`: no folder is open, and the first call in each repository asks once
    #[arg(long)]
    ask_folder: bool,
    /// As if the person remembered every command of medium risk by its form, for the project, when it is first asked about
    #[arg(long)]
    grants: bool,
    /// As for an agent that is not marked: nothing runs confined
    #[arg(long)]
    free: bool,
    /// Only one half of the sessions, chosen by their ids: tune on one, measure on the other
    #[arg(long)]
    half: Option<Half>,
    /// Show this many of the commonest shapes of commands that ask, each with the reason and one example
    #[arg(long, default_value_t = 0, value_name = "N")]
    top: usize,
    /// Print these calls as one JSON object per line, each once
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

/// Reads the sessions, evaluates the policy for each call, and prints the result.
pub fn main(command: &Command) -> Result<()> {
    let text = if let Some(file) = &command.policy {
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?
    } else {
        let name = [&["coding-agent".to_owned()], command.switch.as_slice()].concat().join("+");
        placet_policy::preset_as_named(&name).map_err(anyhow::Error::msg)?
    };
    let policy = Policy::parse(&text).map_err(|problems| anyhow::anyhow!("{problems}"))?;
    let mut seen = HashSet::new();
    let mut sum = Sum::default();
    let mut remembered = Vec::new();
    let mut folders = if command.ask_folder { Some(Folders::of(&command.checkout)?) } else { None };
    for folder in &command.checkout {
        ensure!(folder.is_dir(), "{} is no folder", folder.display());
        read::sessions(folder, &mut |session| {
            if !command.half.is_none_or(|half| half == half_of(&session.id)) {
                return;
            }
            let mut calls: Vec<&RecordedCall> =
                session.calls.iter().filter(|made| seen.insert(made.id.clone())).collect();
            calls.sort_by_key(|made| made.at);
            for made in calls {
                let root = slice::from_ref(&session.root);
                let roots = if let Some(folders) = &mut folders {
                    if folders.asks(made) {
                        sum.add_question();
                    }
                    folders.open.as_slice()
                } else {
                    root
                };
                let (outcome, form) = judged(&policy, roots, made, !command.free);
                if command.grants
                    && let Some(form) = form
                {
                    if remembered.iter().any(|other: &Template| other.covers(&form)) {
                        sum.add_covered(&session.id, made);
                        continue;
                    }
                    remembered.push(form);
                }
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

/// The policy's outcome for a call, and the form by which a person could remember it.
fn judged(
    policy: &Policy,
    roots: &[String],
    made: &RecordedCall,
    confines: bool,
) -> (Outcome, Option<Template>) {
    let context = place::context(&made.tool, &made.input, &made.folder, roots);
    let call = Call {
        kind: Kind::Action,
        tool: Some(&made.tool),
        arguments: Some(&made.input),
        steps: &[],
        agent: "claude",
        source: HOOK_PROGRAM,
        time: Time::from_micros(0),
        claims: Claims { session: "s", context: &context, risk: None, on_behalf_of: None, group: None },
        place: Some(Place { roots, context: &context, confines: confines && can_confine(&made.input) }),
        covered: Covered::Unknown,
    };
    let outcome = policy.evaluate(&call);
    let may = outcome.effect == Effect::Hold && outcome.risk < Risk::High;
    let form = if may { Template::of(policy, &call, &outcome).ok() } else { None };
    (outcome, form)
}

/// Whether the hook could hand such a call to the runner.
fn can_confine(input: &serde_json::Map<String, serde_json::Value>) -> bool {
    let background =
        input.get("run_in_background").is_some_and(|value| *value != serde_json::Value::Bool(false));
    !background && input.get("command").is_some_and(serde_json::Value::is_string)
}

/// The half of a session. It is the same for everyone who measures.
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
