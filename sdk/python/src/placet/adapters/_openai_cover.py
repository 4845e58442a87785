"""OpenAI Agents SDK: what an agent can do, and which of it a gate or an approval of the SDK holds."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from ..covered import GATED, UNASKED, UNCOVERED, Coverage, Part
from ..errors import ConfigError

from agents import Agent, FunctionTool, Handoff, HostedMCPTool  # isort: skip

FRAMEWORK = "openai-agents"
GATE = "_placet_gate"
CHOSEN = "_placet_not_chosen"
"""Marks a tool that `only=` left out."""
HOSTED = frozenset({"FileSearchTool", "WebSearchTool", "CodeInterpreterTool", "ImageGenerationTool", "HostedMCPTool"})
SEARCHES = frozenset({"ToolSearchTool"})
"""Finds tools and runs none."""


def coverage(agent: Any, gate: Any = None) -> Coverage:
    """`agent`: an `Agent`; `gate`: the `InterruptionBridge` that runs it, if there is one."""
    if not isinstance(agent, Agent):
        raise ConfigError(f"coverage: {type(agent).__name__} is no Agent")
    parts: list[Part] = []
    _agent(parts, agent, "", gate is not None, set())
    return Coverage(FRAMEWORK, agent.name, tuple(parts))


def of_tools(tools: Any, where: str = "these tools") -> Coverage:
    parts: list[Part] = []
    for tool in tools:
        _tool(parts, tool, where, False, set())
    return Coverage(FRAMEWORK, where, tuple(parts))


def _agent(parts: list[Part], agent: Any, above: str, bridged: bool, seen: set[int]) -> None:
    if id(agent) in seen:
        return
    seen.add(id(agent))
    path = f"{above}/{agent.name}" if above else str(agent.name)
    for tool in agent.tools:
        _tool(parts, tool, path, bridged, seen)
    for server in agent.mcp_servers:
        if bridged and getattr(server, "_needs_approval_policy", None):
            why = "the run stops where its require_approval says so, and the bridge asks"
            parts.append(Part(str(server.name), "toolset", path, GATED, why))
            continue
        why = "its tools are called without a gate; set its require_approval and run the agent by InterruptionBridge"
        parts.append(Part(str(server.name), "toolset", path, UNCOVERED, why))
    for target in agent.handoffs:
        if isinstance(target, Handoff) and _runs_more(target.on_invoke_handoff):
            why = "its function runs when the model hands over, with what the model says, and no gate is around it"
            parts.append(Part(str(target.tool_name), "code", path, UNCOVERED, why))
        found = _target(target)
        if found is None:
            why = "the agent that it hands over to cannot be found"
            parts.append(Part(str(target.agent_name), "agent", path, UNCOVERED, why))
        else:
            _agent(parts, found, path, bridged, seen)


def _target(handoff: Any) -> Any:
    if isinstance(handoff, Agent):
        return handoff
    reference = getattr(handoff, "_agent_ref", None) if isinstance(handoff, Handoff) else None
    return reference() if callable(reference) else None


def _runs_more(hands_over: Any) -> bool:
    """Whether a handoff does more than to hand over: `handoff(on_handoff=...)`, or a function of one's own."""
    while isinstance(hands_over, functools.partial):
        hands_over = hands_over.args[0] if hands_over.args else hands_over.func
    if not inspect.isfunction(hands_over) or not hands_over.__module__.startswith("agents."):
        return True
    return inspect.getclosurevars(hands_over).nonlocals.get("on_handoff", True) is not None


def _tool(parts: list[Part], tool: Any, path: str, bridged: bool, seen: set[int]) -> None:
    name, kind = str(getattr(tool, "name", type(tool).__name__)), type(tool).__name__
    if isinstance(tool, FunctionTool):
        status, why = _function(tool, bridged)
        parts.append(Part(name, "tool", path, status, why))
        inner = getattr(tool, "_agent_instance", None)
        if inner is not None and status != GATED:
            _agent(parts, inner, path, bridged, seen)
    elif isinstance(tool, HostedMCPTool) and _asks(tool):
        parts.append(Part(name, "hosted", path, GATED, "the provider asks before each call, and Placet answers"))
    elif kind in SEARCHES:
        parts.append(Part(name, "hosted", path, UNASKED, "it finds tools and runs none"))
    elif kind in HOSTED:
        parts.append(Part(name, "hosted", path, UNCOVERED, "it runs at the model's provider, and the SDK calls nobody"))
    else:
        why = f"a {kind} is no function tool, so no gate can be around it; give the agent a gated function instead"
        parts.append(Part(name, "code", path, UNCOVERED, why))


def _function(tool: FunctionTool, bridged: bool) -> tuple[str, str]:
    if hasattr(tool, GATE):
        why = "the call of this agent is asked about as one" if getattr(tool, "_agent_instance", None) else ""
        return GATED, why or "each call asks before it runs"
    if tool.needs_approval is not False and bridged:
        return GATED, "the run stops for approval, and the bridge asks"
    if hasattr(tool, CHOSEN):
        return UNASKED, "only= does not choose it"
    if getattr(tool, "_agent_instance", None) is not None:
        return UNASKED, "it calls an agent, whose own tools count"
    if bridged:
        return UNASKED, "it does not need approval"
    return UNCOVERED, "no gate_tool is around it"


def _asks(tool: HostedMCPTool) -> bool:
    return tool.tool_config.get("require_approval") == "always" and hasattr(tool.on_approval_request, GATE)
