"""MCP clients: which tools of a guarded session ask before they run."""

from __future__ import annotations

from typing import Any

from ..covered import GATED, UNASKED, Coverage, Part
from ..errors import ConfigError
from .mcp import Guarded, _destructive


def coverage(agent: Any, gate: Any = None) -> Coverage:
    """`agent`: a session that `guard` returned. Its tools are known after the first call of one."""
    if not isinstance(agent, Guarded):
        raise ConfigError(f"coverage: {type(agent).__name__} is no guarded session")
    name, asking = agent._server or "server", agent._asking
    if agent._listed is None:
        why = "those that tools= chooses, or the server calls destructive, ask; its tools are known at the first call"
        return Coverage("mcp", name, (Part(name, "toolset", name, GATED, why),))
    return Coverage("mcp", name, tuple(_part(name, tool, asking) for tool in agent._listed.values()))


def _part(server: str, tool: Any, asking: Any) -> Part:
    if asking.chosen(tool.name):
        return Part(tool.name, "tool", server, GATED, "each call asks before it runs")
    if _destructive(tool):
        return Part(tool.name, "tool", server, GATED, "the server calls it destructive, so each call asks")
    return Part(tool.name, "tool", server, UNASKED, "tools= does not choose it")
