//! The command line as it is typed: every command, its options, and the help that explains them.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum, builder::Styles};
use placet_core::{Kind, Role};
use placet_server::ListenAddress;

mod agent;
mod attention;
mod hook;
mod policy;
mod reviewer;
mod run;

pub(crate) use agent::{CancelArgs, RequestArgs};
pub(crate) use attention::{SessionCommand, StatsArgs, SuggestArgs, SummaryArgs};
pub(crate) use hook::{DoctorArgs, HookArgs, HookCommand, InstallArgs};
pub(crate) use policy::{
    CheckArgs, ExplainArgs, FailOn, GrantCommand, ImportArgs, PolicyCommand, PutArgs, ShadowArgs,
    SimulateArgs,
};
pub(crate) use reviewer::{
    AnswerArgs, ApproveArgs, DenyArgs, EditArgs, Filters, InboxArgs, ReassignArgs, RememberArgs,
    RememberScope, RememberWithin, ResolveArgs, RevokeArgs, ShowArgs, StateFilter,
};
pub(crate) use run::RunArgs;

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
  4  expired: nobody decided in time
  5  cancelled, revoked or lapsed
  6  still pending when the wait ended

Try it: `placet demo` starts a server and an agent that asks one of everything.";

/// Holds what an AI agent is about to do until the right person has said yes.
#[derive(Debug, Parser)]
#[command(name = "placet", version, after_help = AFTER, styles = STYLES, max_term_width = 110)]
#[command(disable_help_subcommand = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) global: Global,
}

/// Options that every command has.
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
    /// On a terminal that wants it.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the server
    Serve(ServeArgs),
    /// Try everything: a server, and an agent that asks one of each kind
    Demo(DemoArgs),
    /// Make, list and revoke keys
    #[command(subcommand)]
    Key(KeyCommand),
    /// Ask for approval from a shell, and wait for the decision
    Request(Box<RequestArgs>),
    /// Withdraw a request you made
    Cancel(CancelArgs),
    /// List what is waiting for a decision, or watch and decide live
    Inbox(Box<InboxArgs>),
    /// Show one request in full
    Show(ShowArgs),
    /// Say yes, to exactly what is shown
    Approve(ApproveArgs),
    /// Say yes, with other arguments
    Edit(EditArgs),
    /// Say no
    Deny(DenyArgs),
    /// Answer a question
    Answer(AnswerArgs),
    /// Take back an approval that is not yet claimed
    Revoke(RevokeArgs),
    /// Ask other people; what is needed stays the same
    Reassign(ReassignArgs),
    /// Settle an outcome that nobody reported
    Resolve(ResolveArgs),
    /// Show how often people were asked, and what passed without them
    Stats(StatsArgs),
    /// Show what happened in one session of an agent
    #[command(subcommand)]
    Session(SessionCommand),
    /// Stop an agent, a tool or everything: no approval and no permit any more
    Freeze(FreezeArgs),
    /// Let what was frozen go on (needs an admin key)
    Unfreeze {
        /// Which, as `placet freeze` lists it; everything without it
        id: Option<String>,
    },
    /// Write, check, try and put policies: what passes, what waits and for whom
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// List people, and set their roles and teams
    #[command(subcommand)]
    Person(PersonCommand),
    /// List agents, and open folders to them
    #[command(subcommand)]
    Agent(AgentCommand),
    /// List and take back standing approvals
    #[command(subcommand)]
    Grant(GrantCommand),
    /// Check the ledger
    #[command(subcommand)]
    Ledger(LedgerCommand),
    /// Write a consistent copy of the database to a file
    Backup(BackupArgs),
    /// Put a backup in place, in a new epoch: no old permit lives twice
    Restore(RestoreArgs),
    /// Begin again after a database that went back, or a clock that was wrong
    Recover(RecoverArgs),
    /// Gate a coding agent: answer its hooks, or write them into its settings
    #[command(subcommand)]
    Hook(HookCommand),
    /// Run a command confined: it changes the workspace and nothing else, and has no network
    Run(RunArgs),
    /// Check that everything works, and that a no really blocks
    Doctor(DoctorArgs),
    /// Print completions for a shell
    #[command(
        after_help = "Example: placet completions bash > ~/.local/share/bash-completion/completions/placet"
    )]
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
  placet serve --listen 0.0.0.0:4000 --set server.behind_proxy=true --set server.hosts=placet.example.com
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
    /// Folder outside the database for what was acknowledged [default: the XDG state folder]
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
    /// For development on this machine: agents may come in without a key, as `local`
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

/// Stop.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  placet freeze                                             what is frozen
  placet freeze --all --reason 'something is wrong with the payments'
  placet freeze --agent billing-bot --reason 'it repeats itself'
  placet freeze --tool payments.transfer --reason 'bank holiday'
  placet unfreeze frz_...

Pending requests stay and can be read and denied. Whoever decides can freeze; lifting it needs an admin.")]
pub(crate) struct FreezeArgs {
    /// Calls of this agent
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    pub(crate) agent: Option<String>,
    /// Calls of this tool
    #[arg(long, value_name = "TOOL", conflicts_with = "all")]
    pub(crate) tool: Option<String>,
    /// Everything
    #[arg(long)]
    pub(crate) all: bool,
    /// Why; everybody can read it
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

/// Keys.
#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a key and print it, once
    New(KeyNewArgs),
    /// List keys, without their secrets (needs an admin key)
    List,
    /// Make a key stop working, at once and everywhere (needs an admin key)
    ///
    /// Votes on what is still pending and standing approvals that were given with the key are void: somebody else may have
    /// used it.
    Revoke {
        /// The key's id, as `placet key list` shows it
        id: String,
        /// The key was rotated, not stolen: votes and standing approvals given with it still count
        #[arg(long)]
        keep_votes: bool,
    },
}

/// Make a key.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  placet key new --role reviewer --name ann
  placet key new --role agent --name billing-bot --owner ann --data /var/lib/placet")]
pub(crate) struct KeyNewArgs {
    /// What the key is for: agent, reviewer, admin or auditor
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: Role,
    /// Whose it is
    #[arg(long, value_name = "NAME")]
    pub(crate) name: String,
    /// The person who answers for an agent
    #[arg(long, value_name = "PERSON")]
    pub(crate) owner: Option<String>,
    #[command(flatten)]
    pub(crate) place: Place,
    /// Set from the global option.
    #[arg(skip)]
    pub(crate) json: bool,
}

/// People.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
A person appears with their first key. Teams are what `team = \"finance\"` in a policy asks for.

Examples:
  placet person list
  placet person set ann --role reviewer --team finance
  placet person set root --role admin,auditor
  placet person link ann                              with an admin's PLACET_TOKEN
  placet person link ann --data /var/lib/placet       as the owner of the data folder
  placet person password ann --data /var/lib/placet   asks for it twice, without showing it
  pass show placet/ann | placet person password ann   or reads one line of standard input")]
pub(crate) enum PersonCommand {
    /// List people with their roles and teams
    List,
    /// Set all roles and teams of a person; what is not named is taken away
    Set {
        /// Who
        #[arg(value_name = "NAME")]
        name: String,
        /// reviewer, admin or auditor; may be repeated
        #[arg(long = "role", value_name = "ROLE", required = true, value_delimiter = ',')]
        roles: Vec<Role>,
        /// A team; may be repeated
        #[arg(long = "team", value_name = "TEAM", value_delimiter = ',')]
        teams: Vec<String>,
    },
    /// Make a link with which a person signs in once, in a browser, within 15 minutes
    Link(PersonPlaceArgs),
    /// Set a person's password, as the owner of the data; all their sessions end
    #[command(long_about = "\
Set a person's password, as the owner of the data; all their sessions end.

The password is asked for on the terminal, or is one line of standard input; it is never an argument, where everybody on
the machine could read it. It has 12 to 1024 bytes. Nobody else can set it: people change their own in the dashboard, and
administrators hand out links.")]
    Password(PersonPlaceArgs),
    /// Remove a person; their keys and sessions stop at once
    Remove {
        /// Who
        #[arg(value_name = "NAME")]
        name: String,
    },
}

/// Agents.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// List agents with their owners and folders
    List,
    /// Open folders to an agent, so that rules with `under = "@workspace"` can let its calls pass there
    Roots(AgentRootsArgs),
    /// Let an agent's hook program run calls confined, where policy says so
    Confine(AgentConfineArgs),
    /// Show what of an agent's programs Placet sees, as they report it, or forget it
    Coverage(AgentCoverageArgs),
}

/// What an agent reports of itself.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Adapters report it when an agent starts: which tools ask, which the program left out, and what runs where Placet does not
see it. It is the agent's own word. A rule with `coverage = [\"partial\", \"unknown\"]` can hold or deny its calls.

Examples:
  placet agent coverage desk            what it can do, part by part
  placet agent coverage desk --forget   its programs have changed: begin anew")]
pub(crate) struct AgentCoverageArgs {
    /// Which agent
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Forget all its reports; takes an admin's key
    #[arg(long)]
    pub(crate) forget: bool,
}

/// The mark of an agent.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
A rule with `confine = \"workspace\"` allows calls that then run in `placet run`: they change the workspace and nothing else,
and have no network. Only the hook program of an agent that is marked here gets that; all other calls of such a rule wait
for a person. Only an admin's key or the owner of the data can set the mark, never an agent's key.

Examples:
  placet agent confine claude                           it may
  placet agent confine claude --off                     not any more
  placet agent confine claude --data /var/lib/placet    as the owner of the data folder")]
pub(crate) struct AgentConfineArgs {
    /// Which agent
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Take the mark away
    #[arg(long)]
    pub(crate) off: bool,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// The folders of an agent.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Whatever happens in these folders is what policy calls `@workspace`. Only an admin's key or the owner of the data can open
one, never an agent's key. Home folders and parts of the system are refused: name projects.

Examples:
  placet agent roots claude                           which folders are open
  placet agent roots claude ~/src/app                 this one, and no other
  placet agent roots claude --add ~/src/lib           this one as well
  placet agent roots claude --clear                   none any more
  placet agent roots claude . --data /var/lib/placet  as the owner of the data folder")]
pub(crate) struct AgentRootsArgs {
    /// Which agent
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Folders; links are followed
    #[arg(value_name = "DIR")]
    pub(crate) folders: Vec<PathBuf>,
    /// Keep those that are open
    #[arg(long, requires = "folders")]
    pub(crate) add: bool,
    /// Close all of them
    #[arg(long, conflicts_with = "folders")]
    pub(crate) clear: bool,
    #[command(flatten)]
    pub(crate) place: Place,
}

impl AgentRootsArgs {
    /// The folders as they are on this machine.
    pub(crate) fn folders(&self) -> anyhow::Result<Vec<String>> {
        let whole = |folder: &PathBuf| {
            let whole = std::fs::canonicalize(folder)
                .map_err(|error| crate::exit::usage(format!("{}: {error}", folder.display())))?;
            if !whole.is_dir() {
                return Err(crate::exit::usage(format!("{} is not a folder", folder.display())));
            }
            if std::env::var_os("HOME").is_some_and(|home| std::path::Path::new(&home) == whole) {
                return Err(crate::exit::usage(format!(
                    "{} is your home folder: name one project",
                    folder.display()
                )));
            }
            let whole = whole.into_os_string().into_string();
            whole.map_err(|_| crate::exit::usage(format!("{} is not UTF-8", folder.display())))
        };
        self.folders.iter().map(whole).collect()
    }
}

/// Somebody, and the database that knows them.
#[derive(Debug, Clone, Args)]
pub(crate) struct PersonPlaceArgs {
    /// Who
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// Where the database is.
#[derive(Debug, Clone, Args)]
pub(crate) struct Place {
    /// Folder of the embedded database
    #[arg(long, value_name = "DIR", conflicts_with = "database")]
    pub(crate) data: Option<PathBuf>,
    /// A Postgres database instead
    #[arg(long, value_name = "URL", env = "PLACET_DATABASE", hide_env_values = true)]
    pub(crate) database: Option<String>,
}

impl Place {
    /// Whether one was named, on the command line or in the environment.
    pub(crate) fn is_named(&self) -> bool {
        self.data.is_some() || self.database.is_some()
    }
}

/// The ledger.
#[derive(Debug, Subcommand)]
pub(crate) enum LedgerCommand {
    /// Check every link of the ledger and name the first bad entry
    Verify(LedgerVerifyArgs),
}

/// Check the ledger.
#[derive(Debug, Clone, Args)]
pub(crate) struct LedgerVerifyArgs {
    #[command(flatten)]
    pub(crate) place: Place,
    /// An exported ledger or a backup
    #[arg(value_name = "FILE", conflicts_with_all = ["data", "database"])]
    pub(crate) file: Option<PathBuf>,
    /// Set from the global option.
    #[arg(skip)]
    pub(crate) json: bool,
}

/// Back up.
#[derive(Debug, Clone, Args)]
pub(crate) struct BackupArgs {
    /// Where to write the copy
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) place: Place,
    /// Set from the global option.
    #[arg(skip)]
    pub(crate) json: bool,
}

/// Restore.
#[derive(Debug, Clone, Args)]
pub(crate) struct RestoreArgs {
    /// The backup
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// End every key of the backup; a new key for an admin is printed
    #[arg(long)]
    pub(crate) revoke_keys: bool,
    #[command(flatten)]
    pub(crate) place: Place,
    /// Folder outside the database for what was acknowledged, as the server is told
    #[arg(long, value_name = "DIR", env = "PLACET_STATE")]
    pub(crate) state: Option<PathBuf>,
    /// Set from the global option.
    #[arg(skip)]
    pub(crate) json: bool,
}

/// Recover.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  placet recover --dry-run --data /var/lib/placet          what is missing, and which requests it concerns
  placet recover --database postgres://placet@db/placet    begin a new epoch
  placet recover --clock                                   the clock is right, the ledger was ahead of it

Stop every server first. In the new epoch pending requests are cancelled, and what was approved or claimed is unknown: \
somebody may have executed it. Settle those with `placet resolve`.")]
pub(crate) struct RecoverArgs {
    #[command(flatten)]
    pub(crate) place: Place,
    /// Say what is missing and what would be done; change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Accept a ledger that is ahead of this machine's clock
    #[arg(long, conflicts_with = "force")]
    pub(crate) clock: bool,
    /// Begin a new epoch although nothing is known to be missing, or nothing is remembered here
    #[arg(long)]
    pub(crate) force: bool,
    /// Folder outside the database for what was acknowledged, as the server is told
    #[arg(long, value_name = "DIR", env = "PLACET_STATE")]
    pub(crate) state: Option<PathBuf>,
    /// Set from the global option.
    #[arg(skip)]
    pub(crate) json: bool,
}

/// Try everything.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Nothing is kept: the data lives in a temporary folder that goes with the demo.

Examples:
  placet demo            then follow what it says, in a second terminal
  placet demo --auto     decides everything by itself and ends")]
pub(crate) struct DemoArgs {
    /// Port to listen on; without it 4000, or a free one when 4000 is taken
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Decide everything without a person, then end
    #[arg(long)]
    pub(crate) auto: bool,
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
    fn durations_are_read_and_nonsense_is_named() {
        assert_eq!(duration("5m"), Ok(Duration::from_mins(5)));
        assert_eq!(duration("0s"), Ok(Duration::ZERO));
        assert!(duration("soon").unwrap_err().contains("30s, 5m or 2h"));
        assert!(duration("-5m").unwrap_err().contains("negative"));
    }
}
