//! Commands about how often people are asked.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Figures.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
A prompt is a request that waited for a person. An active hour is an hour in which an agent was at work: the gaps between
calls of one session, of each gap at most ten minutes.

Examples:
  placet stats              the last seven days
  placet stats --days 1 --json")]
pub(crate) struct StatsArgs {
    /// How far back to look, in days
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=90))]
    pub(crate) days: u32,
}

/// Sessions of agents.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  placet session summary                     the session that asked last
  placet session summary sess-1 --agent claude")]
pub(crate) enum SessionCommand {
    /// What passed without a person, what was confined, and what was asked
    Summary(SummaryArgs),
}

/// Which session.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
With an agent's key it tells of that agent's own sessions.

Examples:
  placet session summary                     the session that asked last
  placet session summary sess-1 --agent claude")]
pub(crate) struct SummaryArgs {
    /// The session, as `placet show` names it [default: the one with the newest request]
    #[arg(value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// The agent of the session, if two agents gave theirs the same name
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
}

/// Suggested rules.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Each rule lets one exact call of one agent pass, which people approved again and again. The rules are tried against everything
on record. Nothing is suggested that would cover a call that was ever refused, or of high risk, or a command beyond one
literal line. Nothing is put in force: read the rules, add them to your policy, and put it.

Examples:
  placet policy suggest
  placet policy suggest --least 5 --agent claude -o more.toml")]
pub(crate) struct SuggestArgs {
    /// How often people must have approved a call
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(2..=1000))]
    pub(crate) least: u64,
    /// Calls of this agent alone
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Write the rules to this new file
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
