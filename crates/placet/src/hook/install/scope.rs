//! Where a hook can be installed, and which file of each agent that is.

use std::path::PathBuf;

use placet_hooks::Agent;

use super::homeless;
use crate::{cli::InstallArgs, exit::usage};

/// For whom a hook is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// This user, in this project.
    Personal,
    /// Everybody who works on this project: the file is committed.
    Shared,
    /// This user, in every project.
    User,
    /// Everybody on this machine. Users cannot override it.
    Managed,
}

/// Settings of the machine that Claude Code obeys before all others.
#[cfg(target_os = "macos")]
const MANAGED: &str = "/Library/Application Support/ClaudeCode/managed-settings.json";
#[cfg(not(target_os = "macos"))]
const MANAGED: &str = "/etc/claude-code/managed-settings.json";

impl Scope {
    pub(crate) const ALL: [Self; 4] = [Self::Personal, Self::Shared, Self::User, Self::Managed];

    pub(crate) fn of(args: &InstallArgs) -> Self {
        match (args.user, args.shared, args.managed) {
            (true, ..) => Self::User,
            (_, true, _) => Self::Shared,
            (.., true) => Self::Managed,
            _ => Self::Personal,
        }
    }

    /// The option that chooses it.
    pub(crate) const fn option(self) -> &'static str {
        match self {
            Self::Personal => "--project",
            Self::Shared => "--shared",
            Self::User => "--user",
            Self::Managed => "--managed",
        }
    }

    /// Other files of the same project that the agent reads as well.
    pub(crate) fn beside(self, agent: Agent) -> Option<Self> {
        match (agent, self) {
            (Agent::ClaudeCode, Self::Personal) => Some(Self::Shared),
            (Agent::ClaudeCode, Self::Shared) => Some(Self::Personal),
            _ => None,
        }
    }
}

/// The file that an agent reads its hooks from.
pub(crate) fn place(agent: Agent, scope: Scope) -> anyhow::Result<PathBuf> {
    let folder =
        |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || folder("HOME").ok_or_else(homeless);
    let user = scope == Scope::User;
    Ok(match (agent, user) {
        (Agent::ClaudeCode, _) if scope == Scope::Managed => PathBuf::from(MANAGED),
        _ if scope == Scope::Managed => {
            return Err(usage(format!(
                "`--managed` is for claude-code: no file is known that users of {agent} could not override"
            )));
        }
        (Agent::ClaudeCode, false) if scope == Scope::Personal => {
            PathBuf::from(".claude/settings.local.json")
        }
        (Agent::ClaudeCode, false) => PathBuf::from(".claude/settings.json"),
        (Agent::ClaudeCode, true) => match folder("CLAUDE_CONFIG_DIR") {
            Some(folder) => folder.join("settings.json"),
            None => home()?.join(".claude/settings.json"),
        },
        (Agent::Codex, false) => PathBuf::from(".codex/hooks.json"),
        (Agent::Codex, true) => match folder("CODEX_HOME") {
            Some(folder) => folder.join("hooks.json"),
            None => home()?.join(".codex/hooks.json"),
        },
        (Agent::Gemini, false) => PathBuf::from(".gemini/settings.json"),
        (Agent::Gemini, true) => home()?.join(".gemini/settings.json"),
        (Agent::Cursor, false) => PathBuf::from(".cursor/hooks.json"),
        (Agent::Cursor, true) => home()?.join(".cursor/hooks.json"),
        (Agent::Copilot, false) => PathBuf::from(".github/hooks/placet.json"),
        (Agent::Copilot, true) => match folder("COPILOT_HOME") {
            Some(folder) => folder.join("hooks/placet.json"),
            None => home()?.join(".copilot/hooks/placet.json"),
        },
        (Agent::OpenCode, false) => PathBuf::from(".opencode/plugin/placet.js"),
        (Agent::OpenCode, true) => match folder("XDG_CONFIG_HOME") {
            Some(folder) => folder.join("opencode/plugin/placet.js"),
            None => home()?.join(".config/opencode/plugin/placet.js"),
        },
    })
}
