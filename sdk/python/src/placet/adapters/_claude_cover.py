"""Claude Agent SDK: which tools Claude Code has, and whether a gate sees their calls."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ..covered import GATED, UNASKED, UNCOVERED, Coverage, Part
from ..errors import ConfigError

FRAMEWORK = "claude-agent-sdk"
BUILT_IN = frozenset({
    "Agent", "AskUserQuestion", "Bash", "BashOutput", "CronCreate", "CronDelete", "CronList", "Edit", "EnterPlanMode",
    "EnterWorktree", "ExitPlanMode", "ExitWorktree", "Glob", "Grep", "KillBash", "KillShell", "LS", "LSP",
    "ListMcpResources", "ListMcpResourcesTool", "Monitor", "MultiEdit", "NotebookEdit", "NotebookRead", "PowerShell",
    "Read", "ReadMcpResource", "ReadMcpResourceTool", "SendMessage", "Skill", "SlashCommand", "StructuredOutput",
    "Task", "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate", "TodoRead", "TodoWrite",
    "ToolSearch", "WebFetch", "WebSearch", "Write",
})  # fmt: skip
"""The names of Claude Code's own tools. A newer one is known by `ClaudeAgentOptions(tools=[...])`."""
PREFIX = "mcp__"
SIMPLE = "CLAUDE_CODE_SIMPLE"
"""The mode of Claude Code in which no hook is called."""


def server_of(tool: str) -> str | None:
    """The MCP server in the name of a tool: `mcp__bank__pay` is one of `bank`."""
    parts = tool.split("__")
    return parts[1] if tool.startswith(PREFIX) and len(parts) > 2 else None


def names(options: Any) -> set[str]:
    """The names of tools that are known before Claude Code runs. What MCP servers have is not among them."""
    found = set(BUILT_IN)
    given = [options.tools, options.allowed_tools, options.disallowed_tools]
    given += [getattr(agent, "tools", None) for agent in (getattr(options, "agents", None) or {}).values()]
    for listed in given:
        # `Bash(git:*)` is a rule about the tool `Bash`.
        found |= {str(one).split("(")[0] for one in listed} if isinstance(listed, list) else set()
    return found


def servers(options: Any) -> set[str] | None:
    """The names of the MCP servers; None if they are in a file, or come from settings as well."""
    given = options.mcp_servers
    return set(given) if isinstance(given, dict) and options.strict_mcp_config else None


def coverage(agent: Any, gate: Any = None) -> Coverage:
    """`agent`: the `ClaudeAgentOptions` that `Gate.guard` returned."""
    if not hasattr(agent, "permission_mode"):
        raise ConfigError(f"coverage: {type(agent).__name__} is no ClaudeAgentOptions")
    matchers = (agent.hooks or {}).get("PreToolUse", [])
    watching = next((hook.__self__ for one in matchers for hook in one.hooks if _ours(one, hook)), None)
    chosen = list(agent.tools) if isinstance(agent.tools, list) else None
    parts = [Part(name, "tool", "claude", *_status(name, watching)) for name in chosen or ()]
    if chosen is None:
        parts.append(Part("claude_code", "toolset", "claude", *_status(None, watching)))
    listed = agent.mcp_servers if isinstance(agent.mcp_servers, dict) else {}
    parts += [Part(name, "toolset", "claude", *_status(None, watching)) for name in listed]
    return Coverage(FRAMEWORK, "claude", (*parts, *unseen(agent)))


def unseen(options: Any) -> list[Part]:
    """What makes Claude Code call no hooks."""
    settings = _settings(options.settings)
    off = ["disableAllHooks"] if settings.get("disableAllHooks") is True else []
    own = settings.get("env")
    for place in ({**os.environ, **(options.env or {})}, own if isinstance(own, dict) else {}):
        if str(place.get(SIMPLE) or "").lower() not in {"", "0", "false", "no", "off"}:
            off.append(SIMPLE)
    if "bare" in (options.extra_args or {}):
        off.append("--bare")
    return [
        Part(one, "code", "claude", UNCOVERED, f"with {one} Claude Code calls no hook before its tools")
        for one in dict.fromkeys(off)
    ]


def _settings(settings: Any) -> dict[str, Any]:
    if not settings:
        return {}
    text = str(settings)
    try:
        found = json.loads(text if text.lstrip().startswith("{") else Path(text).read_text())
    except (OSError, ValueError):
        return {}  # Claude Code does not start with them either
    return found if isinstance(found, dict) else {}


def _ours(matcher: Any, hook: Any) -> bool:
    from .claude import Gate

    return matcher.matcher is None and isinstance(getattr(hook, "__self__", None), Gate)


def _status(name: str | None, gate: Any) -> tuple[str, str]:
    if gate is None:
        return UNCOVERED, "Gate.guard did not put its hooks into these options"
    if name is None:
        return GATED, "those that tools= chooses ask before they run; subagents and bypassPermissions included"
    if gate._asking.chosen(name):
        return GATED, "each call asks before it runs; those of subagents too"
    return UNASKED, "tools= does not choose it"
