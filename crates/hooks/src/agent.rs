//! The agents, their events that ask for a decision, and the answers that each of them accepts.

use std::{fmt, str::FromStr};

/// A coding agent with hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Agent {
    /// Claude Code.
    ClaudeCode,
    /// Codex CLI.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Cursor.
    Cursor,
    /// GitHub Copilot CLI.
    Copilot,
    /// OpenCode, through the plugin that `placet hook install` writes.
    OpenCode,
}

impl Agent {
    /// Every agent.
    pub const ALL: [Self; 6] =
        [Self::ClaudeCode, Self::Codex, Self::Gemini, Self::Cursor, Self::Copilot, Self::OpenCode];

    /// The name on the command line and in requests.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Cursor => "cursor",
            Self::Copilot => "copilot",
            Self::OpenCode => "opencode",
        }
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Agent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = Self::ALL.map(Self::as_str);
        Self::ALL.into_iter().find(|agent| agent.as_str() == text).ok_or_else(|| {
            format!("unknown agent `{}`, expected one of: {}", text.escape_debug(), names.join(", "))
        })
    }
}

/// What a failure means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// The hook is the gate: what is not approved is blocked.
    #[default]
    Gate,
    /// The agent also asks the person at the terminal. The first answer counts, and after a failure that person
    /// decides.
    Relay,
}

/// An event that asks for a decision. Each has a dialect of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// Claude Code, before every tool call.
    ClaudePreToolUse,
    /// Claude Code, when it would ask the person at the terminal.
    ClaudePermissionRequest,
    /// Codex, before every tool call.
    CodexPreToolUse,
    /// Codex, when it would ask the person at the terminal.
    CodexPermissionRequest,
    /// Gemini CLI, before every tool call.
    GeminiBeforeTool,
    /// Cursor, before every tool call.
    CursorPreToolUse,
    /// Cursor, before a command.
    CursorBeforeShell,
    /// Cursor, before a call to an MCP server.
    CursorBeforeMcp,
    /// Cursor, before it reads a file.
    CursorBeforeRead,
    /// Copilot, before every tool call; configured as `preToolUse`.
    CopilotPreToolUse,
    /// The same, configured as `PreToolUse`: other field names.
    CopilotPreToolUseCompatible,
    /// Copilot, before its own permission rules.
    CopilotPermissionRequest,
    /// OpenCode's `tool.execute.before`, through our plugin.
    OpenCodeBefore,
}

/// How an agent applies replacement arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edits {
    /// They replace the original ones.
    Replace,
    /// They are merged over the original ones, so nothing can be removed.
    Merge,
    /// Not at all: an edited approval must block, or the unedited call would run.
    Never,
}

impl Event {
    /// Every event.
    pub const ALL: [Self; 13] = [
        Self::ClaudePreToolUse,
        Self::ClaudePermissionRequest,
        Self::CodexPreToolUse,
        Self::CodexPermissionRequest,
        Self::GeminiBeforeTool,
        Self::CursorPreToolUse,
        Self::CursorBeforeShell,
        Self::CursorBeforeMcp,
        Self::CursorBeforeRead,
        Self::CopilotPreToolUse,
        Self::CopilotPreToolUseCompatible,
        Self::CopilotPermissionRequest,
        Self::OpenCodeBefore,
    ];

    /// Whose event it is.
    pub const fn agent(self) -> Agent {
        match self {
            Self::ClaudePreToolUse | Self::ClaudePermissionRequest => Agent::ClaudeCode,
            Self::CodexPreToolUse | Self::CodexPermissionRequest => Agent::Codex,
            Self::GeminiBeforeTool => Agent::Gemini,
            Self::CursorPreToolUse
            | Self::CursorBeforeShell
            | Self::CursorBeforeMcp
            | Self::CursorBeforeRead => Agent::Cursor,
            Self::CopilotPreToolUse | Self::CopilotPreToolUseCompatible | Self::CopilotPermissionRequest => {
                Agent::Copilot
            }
            Self::OpenCodeBefore => Agent::OpenCode,
        }
    }

    /// The name the agent uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClaudePreToolUse | Self::CodexPreToolUse | Self::CopilotPreToolUseCompatible => {
                "PreToolUse"
            }
            Self::ClaudePermissionRequest | Self::CodexPermissionRequest => "PermissionRequest",
            Self::GeminiBeforeTool => "BeforeTool",
            Self::CursorPreToolUse | Self::CopilotPreToolUse => "preToolUse",
            Self::CursorBeforeShell => "beforeShellExecution",
            Self::CursorBeforeMcp => "beforeMCPExecution",
            Self::CursorBeforeRead => "beforeReadFile",
            Self::CopilotPermissionRequest => "permissionRequest",
            Self::OpenCodeBefore => "tool.execute.before",
        }
    }

    /// Whether the agent also asks the person at the terminal, so that after a failure that person can decide.
    pub const fn is_prompt(self) -> bool {
        matches!(self, Self::ClaudePermissionRequest | Self::CodexPermissionRequest)
    }

    /// How it applies replacement arguments.
    pub const fn edits(self) -> Edits {
        match self {
            Self::ClaudePreToolUse
            | Self::ClaudePermissionRequest
            | Self::CodexPreToolUse
            | Self::CursorPreToolUse
            | Self::CopilotPreToolUse
            | Self::CopilotPreToolUseCompatible
            | Self::OpenCodeBefore => Edits::Replace,
            Self::GeminiBeforeTool => Edits::Merge,
            Self::CodexPermissionRequest
            | Self::CursorBeforeShell
            | Self::CursorBeforeMcp
            | Self::CursorBeforeRead
            | Self::CopilotPermissionRequest => Edits::Never,
        }
    }
}
