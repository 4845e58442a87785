"""Microsoft Agent Framework: what an agent can do, and which of it `PlacetMiddleware` sees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..covered import GATED, UNASKED, UNCOVERED, Coverage, Part
from . import agent_framework as adapter

from agent_framework import FunctionTool  # isort: skip (after the adapter, which says what is missing)
from agent_framework._mcp import MCPTool  # isort: skip

FRAMEWORK = "agent-framework"


def coverage(agent: Any, gate: Any = None) -> Coverage:
    """`agent`: an `Agent`; `gate`: the `PlacetMiddleware` that is given to its runs or to its chat client."""
    name = str(getattr(agent, "name", None) or "agent")
    found = [gate, *_listed(getattr(agent, "middleware", None))]
    found += _listed(getattr(getattr(agent, "client", None), "middleware", None))
    watching = next((one for one in found if isinstance(one, adapter.PlacetMiddleware)), None)
    options = getattr(agent, "default_options", None) or {}
    tools = [*_listed(options.get("tools")), *_listed(getattr(agent, "mcp_tools", None))]
    return of_tools(tools, name, watching)


def of_tools(tools: Iterable[Any], agent: str, gate: Any) -> Coverage:
    return Coverage(FRAMEWORK, agent, tuple(_part(tool, agent, gate) for tool in tools))


def _part(tool: Any, agent: str, gate: Any) -> Part:
    if isinstance(tool, FunctionTool):
        return Part(tool.name, "tool", agent, *_status(tool.name, gate))
    if isinstance(tool, MCPTool):
        status, why = _status(None, gate)
        return Part(str(tool.name), "toolset", agent, status, f"{why}; its tools are known when it is connected")
    why = "it runs at the model's provider, and no middleware sees its calls"
    return Part(_name(tool), "hosted", agent, UNCOVERED, why)


def _name(tool: Any) -> str:
    if isinstance(tool, Mapping):
        return str(tool.get("type") or tool.get("name") or next(iter(tool), "?"))
    return str(getattr(tool, "name", None) or getattr(tool, "type", None) or type(tool).__name__)


def _status(name: str | None, gate: Any) -> tuple[str, str]:
    if gate is None:
        return UNCOVERED, "no PlacetMiddleware is in middleware="
    if name is None:
        return GATED, "those of its calls that tools= chooses ask before they run"
    if gate._asking.chosen(name):
        return GATED, "each call asks before it runs"
    return UNASKED, "tools= does not choose it"


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, (list, tuple)) else [given] if given is not None else []
