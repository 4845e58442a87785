//! The hook command in an agent's settings, and the commands that install it.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand, ValueEnum};
use placet_hooks::{Agent, Mode};

use super::duration;

/// Hooks of coding agents.
#[derive(Debug, Clone, Subcommand)]
#[command(after_help = "\
Examples:
  placet hook install claude-code             every tool call of Claude Code in this project goes through Placet
  placet hook install codex --user --dry-run  show what would be written
  placet hook install gemini --uninstall
  placet doctor                               prove that a no really blocks

The agent's settings call `placet hook AGENT` with the call as JSON on standard input. It asks the server, waits for a
person if policy holds the call, and answers the way that agent understands. Whatever goes wrong blocks the call: no
server, no key, no answer in time, or input it does not understand. See docs/hooks.md.")]
pub(crate) enum HookCommand {
    /// Answer a hook of Claude Code
    #[command(name = "claude-code")]
    ClaudeCode(HookArgs),
    /// Answer a hook of Codex CLI
    Codex(HookArgs),
    /// Answer a hook of Gemini CLI
    Gemini(HookArgs),
    /// Answer a hook of Cursor
    Cursor(HookArgs),
    /// Answer a hook of GitHub Copilot CLI
    Copilot(HookArgs),
    /// Answer the plugin in OpenCode
    #[command(name = "opencode")]
    OpenCode(HookArgs),
    /// Write the hook into an agent's settings, or remove it
    Install(InstallArgs),
}

/// What a failure means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HookMode {
    /// What is not approved is blocked.
    Gate,
    /// The person at the terminal is asked too, and the first answer counts.
    Relay,
}

impl From<HookMode> for Mode {
    fn from(mode: HookMode) -> Self {
        match mode {
            HookMode::Gate => Self::Gate,
            HookMode::Relay => Self::Relay,
        }
    }
}

/// Answer a hook.
#[derive(Debug, Clone, Args)]
pub(crate) struct HookArgs {
    /// gate: what is not approved is blocked. relay: the person at the terminal is asked too, and the first answer
    /// counts (PermissionRequest of Claude Code and Codex)
    #[arg(long, value_name = "MODE", default_value = "gate", hide_possible_values = true)]
    pub(crate) mode: HookMode,
    /// How long to wait for a person; must be less than the agent's own timeout for hooks [default: below the timeout that
    /// the agent has by default]
    #[arg(long, value_parser = duration, value_name = "DURATION")]
    pub(crate) wait: Option<Duration>,
    /// How long deciding may take [default: as long as the hook waits; 24h with --defer]
    #[arg(long, value_parser = duration, value_name = "DURATION")]
    pub(crate) expires_in: Option<Duration>,
    /// If there is no decision in time, let `claude -p` end and ask again when it is resumed
    #[arg(long)]
    pub(crate) defer: bool,
    /// The event of this hook, for agents that do not name it
    #[arg(long, value_name = "EVENT")]
    pub(crate) event: Option<String>,
    /// The person on whose behalf the agent works
    #[arg(long, value_name = "PERSON")]
    pub(crate) on_behalf_of: Option<String>,
    /// File with the agent's key, instead of PLACET_TOKEN
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Run calls confined where policy says so, once this agent was seen to run what it is handed (claude-code, codex,
    /// gemini, opencode)
    #[arg(long, conflicts_with = "defer")]
    pub(crate) confine: bool,
    /// In a folder that is not open to the agent, ask first whether it may work there
    #[arg(long)]
    pub(crate) ask_folder: bool,
    /// Give up on an unreachable server sooner than after 10 s; never later
    #[arg(long, value_parser = duration, value_name = "DURATION", hide = true)]
    pub(crate) give_up: Option<Duration>,
    /// Give up on unfinished standard input sooner than after 5 s; never later
    #[arg(long, value_parser = duration, value_name = "DURATION", hide = true)]
    pub(crate) input_within: Option<Duration>,
}

/// An agent by name.
fn agent(text: &str) -> Result<Agent, String> {
    text.parse()
}

/// Write the hook into an agent's settings.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  placet hook install claude-code                      .claude/settings.local.json of this project, yours alone
  placet hook install claude-code --shared             .claude/settings.json of this project, to be committed
  placet hook install claude-code --user               ~/.claude/settings.json
  placet hook install claude-code --mode relay         ask the person at the terminal and Placet, the first answer counts
  placet hook install gemini --wait 30m --dry-run      print what would change, write nothing
  placet hook install cursor --uninstall               take out what was put in, and nothing else

What is there already stays. The file as it was is kept beside it as FILE.placet-backup.")]
pub(crate) struct InstallArgs {
    /// Which agent: claude-code, codex, gemini, cursor, copilot or opencode
    #[arg(value_parser = agent, value_name = "AGENT")]
    pub(crate) agent: Agent,
    /// For this user in this project, which is the current folder [default]
    #[arg(long, group = "scope")]
    pub(crate) project: bool,
    /// For everybody who works on this project: without local paths, to be committed
    #[arg(long, group = "scope")]
    pub(crate) shared: bool,
    /// For every project of this user
    #[arg(long, group = "scope")]
    pub(crate) user: bool,
    /// For everybody on this machine, in a file that users cannot override (claude-code; needs root)
    #[arg(long, group = "scope")]
    pub(crate) managed: bool,
    /// gate: block what is not approved. relay: also ask the person at the terminal (claude-code and codex)
    #[arg(long, value_name = "MODE", default_value = "gate", hide_possible_values = true)]
    pub(crate) mode: HookMode,
    /// How long each call waits for a person; the agent's timeout is set to match
    #[arg(long, value_parser = duration, value_name = "DURATION", default_value = "10m")]
    pub(crate) wait: Duration,
    /// For `claude -p`: end when there is no decision in time, and ask again when resumed
    #[arg(long)]
    pub(crate) defer: bool,
    /// Do not let commands run confined where policy allows that (claude-code, codex, gemini and opencode in gate mode)
    #[arg(long)]
    pub(crate) no_confine: bool,
    /// File with the agent's key, instead of PLACET_TOKEN
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Where the data of the server is, if it is yours: the project's folder is then opened to the agent, and the agent is marked
    /// for confined calls
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Print what would change, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Remove what was installed, and nothing else
    #[arg(long)]
    pub(crate) uninstall: bool,
}

/// Check that everything works, and that a deny really blocks.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Uses PLACET_URL and PLACET_TOKEN as the hooks do: run it with the agent's key, in the project's folder.

Exit codes: 0 everything is well, or only warnings; 1 something is wrong.")]
pub(crate) struct DoctorArgs {
    /// Only this agent's hook
    #[arg(long, value_parser = agent, value_name = "AGENT")]
    pub(crate) agent: Option<Agent>,
    /// Also start each agent whose hook is installed here, once, with a stand-in for its model: does it call its hook, and run what
    /// that hands it?
    #[arg(long, conflicts_with = "confirm_restore")]
    pub(crate) prove: bool,
    /// File with the agent's key, instead of PLACET_TOKEN
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Confirm that keys, people and policy were checked after a restore; needs an admin's key
    #[arg(long)]
    pub(crate) confirm_restore: bool,
    /// Give up on an unreachable server sooner than usual; never later
    #[arg(long, value_parser = duration, value_name = "DURATION", hide = true)]
    pub(crate) give_up: Option<Duration>,
}
