//! The command line: every command, its options, and their help.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum, builder::Styles};
use placet_core::Kind;
use placet_server::ListenAddress;

mod agent;
mod agents;
mod attention;
mod data;
mod hook;
mod policy;
mod principals;
mod reviewer;
mod run;
mod up;

pub(crate) use agent::{CancelArgs, RequestArgs};
pub(crate) use agents::{AgentCommand, AgentConfineArgs, AgentCoverageArgs, AgentRootsArgs};
pub(crate) use attention::{SessionCommand, StatsArgs, SuggestArgs, SummaryArgs};
pub(crate) use data::{BackupArgs, LedgerCommand, LedgerVerifyArgs, Place, RecoverArgs, RestoreArgs};
pub(crate) use hook::{DoctorArgs, HookArgs, HookCommand, InstallArgs};
pub(crate) use policy::{
    CheckArgs, ExplainArgs, FailOn, GrantCommand, ImportArgs, PolicyCommand, PutArgs, ShadowArgs,
    SimulateArgs,
};
pub(crate) use principals::{FreezeArgs, KeyCommand, KeyNewArgs, PersonCommand, PersonPlaceArgs};
pub(crate) use reviewer::{
    AnswerArgs, ApproveArgs, DenyArgs, EditArgs, Filters, InboxArgs, ReassignArgs, RememberArgs,
    RememberScope, RememberWithin, ResolveArgs, RevokeArgs, ShowArgs, StateFilter,
};
pub(crate) use run::RunArgs;
pub(crate) use up::UpArgs;

const STYLES: Styles = Styles::styled()
    .header(anstyle::AnsiColor::Green.on_default().bold())
    .usage(anstyle::AnsiColor::Green.on_default().bold())
    .literal(anstyle::AnsiColor::Cyan.on_default().bold())
    .placeholder(anstyle::AnsiColor::Cyan.on_default());

const AFTER: &str = "\
Environment:
  PLACET_URL    where the server is [default: http://127.0.0.1:4000]
  PLACET_TOKEN  your key, as `placet key new` printed it
  NO_COLOR      set to anything for plain text

Exit codes:
  0  done; for `request`: approved or answered
  1  an error, such as an unreachable server or a decision that came too late
  2  bad input: the message names the field and the fix, and nothing was written
  3  denied; for `policy simulate`: the change is dangerous
  4  expired: no decision in time
  5  cancelled, revoked or lapsed
  6  still pending when the wait ended

Begin with `placet up`. Look around with `placet demo`: a server, and an agent that makes one request of each kind.";

/// Holds what an AI agent is about to do until the right person has said yes.
#[derive(Debug, Parser)]
#[command(name = "placet", version, after_help = AFTER, styles = STYLES, max_term_width = 110)]
#[command(arg_required_else_help = true)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) global: Global,
}

/// Options of every command.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// Print JSON for programs instead of text for people
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Where the server is
    #[arg(long, global = true, env = "PLACET_URL", hide_env = true, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// When to use colour: auto, always or never
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_possible_values = true)]
    pub(crate) color: Colour,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// If the terminal supports it.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start Placet for yourself, and open the dashboard signed in
    Up(Box<UpArgs>),
    /// Run the server, as an operator
    Serve(ServeArgs),
    /// Try it out: a server, and an agent that makes one request of each kind
    Demo(DemoArgs),
    /// Make, list and revoke keys
    #[command(subcommand)]
    Key(KeyCommand),
    /// Ask for approval from a shell, and wait for the decision
    Request(Box<RequestArgs>),
    /// Cancel a request you made
    Cancel(CancelArgs),
    /// List pending requests, or watch and decide live
    Inbox(Box<InboxArgs>),
    /// Show one request in full
    Show(ShowArgs),
    /// Approve exactly what is shown
    Approve(ApproveArgs),
    /// Approve with other arguments
    Edit(EditArgs),
    /// Deny a request
    Deny(DenyArgs),
    /// Answer a question
    Answer(AnswerArgs),
    /// Revoke an approval that is not yet claimed
    Revoke(RevokeArgs),
    /// Ask other people; the needs stay the same
    Reassign(ReassignArgs),
    /// Resolve an unknown outcome
    Resolve(ResolveArgs),
    /// Show how often people were asked, and what passed without them
    Stats(StatsArgs),
    /// Show what happened in one session of an agent
    #[command(subcommand)]
    Session(SessionCommand),
    /// Freeze an agent, a tool or everything: nothing of it is approved or run
    Freeze(FreezeArgs),
    /// Lift a freeze (needs an admin key)
    Unfreeze {
        /// The freeze, as `placet freeze` lists it; without it, all freezes
        id: Option<String>,
    },
    /// Write, check, try and put policies
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// List people, and set their roles and teams
    #[command(subcommand)]
    Person(PersonCommand),
    /// List agents, and open folders to them
    #[command(subcommand)]
    Agent(AgentCommand),
    /// List and revoke grants
    #[command(subcommand)]
    Grant(GrantCommand),
    /// Check the ledger
    #[command(subcommand)]
    Ledger(LedgerCommand),
    /// Write a consistent copy of the database to a file
    Backup(BackupArgs),
    /// Restore a backup, in a new epoch: old permits become invalid
    Restore(RestoreArgs),
    /// Recover after a database lost entries, or after a wrong clock
    Recover(RecoverArgs),
    /// Gate a coding agent: answer its hooks, or write them into its settings
    #[command(subcommand)]
    Hook(HookCommand),
    /// Run a command confined: it can change only the workspace, and has no network
    Run(RunArgs),
    /// Check that everything works, and that a deny really blocks
    Doctor(DoctorArgs),
    /// Print completions for a shell
    #[command(after_help = "\
Example:
  placet completions bash > ~/.local/share/bash-completion/completions/placet")]
    Completions {
        /// For which shell
        shell: clap_complete::Shell,
    },
}

/// Run the server.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  placet serve                                    data in ./placet-data, on 127.0.0.1:4000
  placet serve --data /var/lib/placet --listen 127.0.0.1:4100
  placet serve --listen 0.0.0.0:4000 --config placet.toml
  placet serve --database postgres://placet@db/placet
  placet serve --policy preset:coding-agent
  placet serve --policy /etc/placet/policy.toml   read again when it changes
  placet serve --set limits.pending_per_agent=50")]
pub(crate) struct ServeArgs {
    /// Folder of the embedded database
    #[arg(long, value_name = "DIR", conflicts_with = "database")]
    pub(crate) data: Option<PathBuf>,
    /// A Postgres database instead
    #[arg(long, value_name = "URL", env = "PLACET_DATABASE", hide_env_values = true)]
    pub(crate) database: Option<String>,
    /// Folder outside the database that remembers acknowledged entries [default: the XDG state folder]
    #[arg(long, value_name = "DIR", env = "PLACET_STATE")]
    pub(crate) state: Option<PathBuf>,
    /// Where to listen; a loopback address means both, 127.0.0.1 and [::1] [default: 127.0.0.1:4000]
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<ListenAddress>,
    /// Configuration file (TOML)
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Override one configuration key; may be repeated. docs/operators.md lists the keys
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// The policy: a file, which is read again when it changes, or preset:NAME. Without it the policy in force stays
    #[arg(long, value_name = "FILE|preset:NAME")]
    pub(crate) policy: Option<String>,
    /// For development on this machine: agents may call without a key, as `local`
    #[arg(long)]
    pub(crate) dev: bool,
    /// How logs are written: text or json
    #[arg(long, value_name = "FORMAT", default_value = "text", hide_possible_values = true)]
    pub(crate) log_format: LogFormat,
    /// Set from the global option.
    #[arg(skip)]
    pub(crate) json: bool,
}

/// How logs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Try everything.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Without --keep the data is in a temporary folder that is removed with the demo.

Examples:
  placet demo            then follow its instructions in a second terminal
  placet demo --auto     decides everything by itself, then ends
  placet demo day        a day of a coding agent: what asks, and what does not
  placet demo payment    a payment: edited, approved by two, its agent killed and started again, paid once
  placet demo attack     a row of attacks that fail")]
pub(crate) struct DemoArgs {
    /// A story to watch, in less than three minutes: day, payment or attack
    #[arg(value_name = "STORY", hide_possible_values = true, conflicts_with = "auto")]
    pub(crate) story: Option<DemoStory>,
    /// Tell the story without time to read, then end
    #[arg(long, requires = "story")]
    pub(crate) fast: bool,
    /// Keep the data in this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// Port to listen on [default: 4000, or a free one if 4000 is taken]
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Decide everything without a person, then end
    #[arg(long)]
    pub(crate) auto: bool,
}

/// The stories of the demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DemoStory {
    /// A day of a coding agent.
    Day,
    /// A payment.
    Payment,
    /// Attacks.
    Attack,
}

/// A duration such as `30s`, `5m` or `2h`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{}` is not a duration: write 30s, 5m or 2h", text.escape_debug());
    let span: jiff::SignedDuration = text.parse().map_err(|_| wrong())?;
    Duration::try_from(span).map_err(|_| "a duration cannot be negative".to_owned())
}

/// The kinds, for completions and help.
pub(crate) fn kind(text: &str) -> Result<Kind, String> {
    text.parse()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definitions_hold_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn no_example_is_so_long_that_help_breaks_it_inside_of_a_word_or_a_string() {
        fn all(command: &clap::Command, found: &mut Vec<String>) {
            let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples = text.lines().filter(|line| line.trim_start().starts_with("placet "));
            // What stands behind three spaces says what the example does.
            let typed = examples.map(|line| line.trim_start().split("   ").next().unwrap_or_default());
            found.extend(typed.map(str::to_owned));
            command.get_subcommands().for_each(|inner| all(inner, found));
        }
        let mut found = Vec::new();
        all(&Cli::command(), &mut found);
        assert!(found.len() > 50, "{}", found.len());
        for typed in found {
            assert!(typed.len() <= 78, "{} columns: {typed}", typed.len());
        }
    }

    #[test]
    fn durations_are_read_and_nonsense_is_named() {
        assert_eq!(duration("5m"), Ok(Duration::from_mins(5)));
        assert_eq!(duration("0s"), Ok(Duration::ZERO));
        assert!(duration("soon").unwrap_err().contains("30s, 5m or 2h"));
        assert!(duration("-5m").unwrap_err().contains("negative"));
    }
}
