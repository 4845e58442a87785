//! The commands of a policy's author.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use placet_core::Risk;

use super::SuggestArgs;

/// Policies.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
FILE may also be preset:NAME (see `placet policy presets`), or - for standard input.

Examples:
  placet policy presets coding-agent > policy.toml     a copy to change
  placet policy check policy.toml                      every problem with line, rule and fix
  placet policy explain --file policy.toml --tool Bash --args '{\"command\":\"ls\"}'
  placet policy simulate policy.toml                   what it would have done with everything on record
  placet policy put policy.toml                        put it in force")]
pub(crate) enum PolicyCommand {
    /// Check a policy file: all errors, and what is probably not intended
    Check(CheckArgs),
    /// Show the policy in force, or an earlier one
    Show(PolicyShowArgs),
    /// Put a policy in force
    Put(PutArgs),
    /// List the policies that were put, the newest first
    List,
    /// Show what a policy would have done with all requests on record
    Simulate(SimulateArgs),
    /// Show which rules match a request, and why
    Explain(Box<ExplainArgs>),
    /// Make a policy from the approval settings of another product
    Import(ImportArgs),
    /// Try a policy live beside the one in force, without effect
    Shadow(ShadowArgs),
    /// Suggest rules for calls that were approved repeatedly; nothing is put in force
    Suggest(SuggestArgs),
    /// List the policies that come with the program, or print one
    Presets {
        /// Print the text of this one
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
}

/// Check a policy.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Needs no server. With PLACET_TOKEN set it also asks the server whether the people who exist can meet what the rules need.
Problems are printed as FILE:LINE:COLUMN: rule NAME: what is wrong; fix: what to write instead.

Exit codes: 0 good, 1 good but nobody could ever approve under one of the rules, 2 the file has problems.

Examples:
  placet policy check policy.toml
  placet policy check preset:payments --json")]
pub(crate) struct CheckArgs {
    /// The policy: a file, preset:NAME, or - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
}

/// Show a policy.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Prints the text alone on standard output, so that it can be redirected into a file.

Examples:
  placet policy show > policy.toml
  placet policy show --hash sha256:4f42…")]
pub(crate) struct PolicyShowArgs {
    /// An earlier one, by its hash or the beginning of it
    #[arg(long, value_name = "HASH")]
    pub(crate) hash: Option<String>,
}

/// Put a policy in force.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Needs an admin's key. Requests that are pending keep the policy they came under.
With --expected nothing is overwritten that you have not seen: if another policy is in force than the one you made yours
from, the command fails with `stale_policy`.

Examples:
  placet policy put policy.toml
  placet policy put policy.toml --expected sha256:4f42…
  placet policy put preset:coding-agent")]
pub(crate) struct PutArgs {
    /// The policy: a file, preset:NAME, or - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    /// The hash of the policy it was made from
    #[arg(long, value_name = "HASH")]
    pub(crate) expected: Option<String>,
}

/// What-if.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Nothing changes. With --data or --database it works without a server, on a copy of the database.

Exit codes: 0 nothing of the kind named by --fail-on, 3 something of it (denied: a person said no, and this policy would
say yes), 2 the file has problems.

Examples:
  placet policy simulate policy.toml
  placet policy simulate policy.toml --fail-on loosened       for CI
  placet policy simulate policy.toml --data /var/lib/placet")]
pub(crate) struct SimulateArgs {
    /// The policy: a file, preset:NAME, or - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    /// When to exit with 3: `denied` (a person denied it, this would allow it), `loosened` (any change towards allow)
    /// or `any` (any change of effect)
    #[arg(long, value_name = "WHAT", default_value = "denied", hide_possible_values = true)]
    pub(crate) fail_on: FailOn,
    /// Work on this data folder instead of asking a server
    #[arg(long, value_name = "DIR", conflicts_with = "database")]
    pub(crate) data: Option<PathBuf>,
    /// Work on this Postgres database instead of asking a server
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,
}

/// What makes a simulation fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// A person denied it, and the candidate would allow it.
    Denied,
    /// Any change towards allow.
    Loosened,
    /// Any change of effect.
    Any,
}

/// Which rules match, and why.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  placet policy explain 0c1g60o
  placet policy explain --tool Bash --args '{\"command\":\"git status\"}'
  placet policy explain --file policy.toml --tool pay --args '{\"amount\":5}'

The first is about a request on record, the second goes by the policy in force, the third needs no server.")]
pub(crate) struct ExplainArgs {
    /// A request on record: its id, or the beginning or end of it
    #[arg(value_name = "ID", required_unless_present_any = ["tool", "body"], conflicts_with_all = ["tool", "body"])]
    pub(crate) id: Option<String>,
    /// A call that does not exist: its tool
    #[arg(long, value_name = "TOOL", requires = "args", conflicts_with = "body")]
    pub(crate) tool: Option<String>,
    /// Its arguments: a JSON object, @FILE, or - for standard input
    #[arg(long, value_name = "JSON", requires = "tool", allow_hyphen_values = true)]
    pub(crate) args: Option<String>,
    /// A whole request that does not exist, as `POST /v1/requests` takes it
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) body: Option<String>,
    /// The agent that would ask
    #[arg(long, value_name = "NAME", conflicts_with = "id")]
    pub(crate) agent: Option<String>,
    /// Its session
    #[arg(long, value_name = "NAME", conflicts_with_all = ["id", "body"])]
    pub(crate) session: Option<String>,
    /// Where the call comes from: a JSON object, @FILE, or -
    #[arg(long, value_name = "JSON", conflicts_with_all = ["id", "body"])]
    pub(crate) context: Option<String>,
    /// The agent's opinion of the risk
    #[arg(long, value_name = "RISK", conflicts_with_all = ["id", "body"])]
    pub(crate) risk: Option<Risk>,
    /// Use this policy instead of the one in force; needs no server
    #[arg(long, value_name = "FILE", conflicts_with = "id")]
    pub(crate) file: Option<String>,
    /// As `placet hook` would ask in this folder, if it were open to the agent
    #[arg(long = "in", value_name = "DIR", requires = "file", conflicts_with = "id")]
    pub(crate) folder: Option<PathBuf>,
    /// … and the agent were marked for confined calls, and its hook could confine this one
    #[arg(long, requires = "folder")]
    pub(crate) confined: bool,
    /// List every rule, also rules about other tools
    #[arg(long)]
    pub(crate) all: bool,
}

/// Convert a policy.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
The policy goes to standard output, what became stricter and why to standard error.

Examples:
  placet policy import --agentkit approval-policy.json > policy.toml
  placet policy import --kagent agent.yaml -o policy.toml
  placet policy import --deepagents interrupt_on.json")]
#[command(group = clap::ArgGroup::new("from").required(true).args(["agentkit", "kagent", "deepagents"]))]
pub(crate) struct ImportArgs {
    /// An AgentKit ApprovalPolicy in JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) agentkit: Option<String>,
    /// kagent Agent resources with requireApproval lists, in YAML or JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) kagent: Option<String>,
    /// A deepagents interrupt_on map, in JSON or YAML
    #[arg(long, value_name = "FILE")]
    pub(crate) deepagents: Option<String>,
    /// Write the policy to this new file
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Try a policy live.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Without FILE it shows the candidate and what it would have done since. Setting one needs an admin's key. A candidate lives
on the server that was asked, and ends when it stops.

Examples:
  placet policy shadow policy.toml
  placet policy shadow
  placet policy shadow --off")]
pub(crate) struct ShadowArgs {
    /// The candidate: a file, preset:NAME, or - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<String>,
    /// End the candidate
    #[arg(long, conflicts_with = "file")]
    pub(crate) off: bool,
}

/// Grants.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
A grant is given with `placet approve ID --remember exact|session|pattern`.

Examples:
  placet grant list
  placet grant revoke grt_…")]
pub(crate) enum GrantCommand {
    /// List grants: your own, or all of them with an admin's or auditor's key
    List,
    /// Revoke a grant, at once and everywhere
    Revoke {
        /// Its id, as `placet grant list` shows it
        #[arg(value_name = "ID")]
        id: String,
    },
}
