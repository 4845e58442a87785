"""CrewAI: what a crew or an agent can do, and which of it the hooks of `Gate` see."""

from __future__ import annotations

from typing import Any

from ..covered import GATED, UNASKED, UNCOVERED, Coverage, Part
from . import crewai as adapter

from crewai.utilities.string_utils import sanitize_tool_name  # isort: skip (after the adapter: it says what is missing)

DELEGATION = ("delegate_work_to_coworker", "ask_question_to_coworker")


def coverage(agent: Any, gate: Any = None) -> Coverage:
    """`agent`: a `Crew` or an `Agent`; `gate`: the `Gate` that is installed in this process."""
    whole = str(getattr(agent, "name", None) or getattr(agent, "role", None) or "crew")
    parts: list[Part] = []
    for one in _agents(agent):
        role = str(getattr(one, "role", None) or "agent").strip()
        parts += [Part(name, "tool", role, *_status(name, gate)) for name in _names(one)]
        parts += [
            Part(name, "toolset", role, *_status(None, gate)) for name in ("mcps", "apps") if getattr(one, name, None)
        ]
        parts += _unseen(one, role)
    for task in getattr(agent, "tasks", None) or ():
        known = {part.name for part in parts}  # a task takes over the tools of its agent
        parts += [Part(name, "tool", whole, *_status(name, gate)) for name in _names(task) if name not in known]
    return Coverage("crewai", whole, tuple(parts))


def names(agent: Any) -> set[str]:
    """The names of all tools, as CrewAI says them to its hooks."""
    found = set(DELEGATION)
    for one in [*_agents(agent), *(getattr(agent, "tasks", None) or ())]:
        found.update(_names(one))
    return found


def _agents(agent: Any) -> list[Any]:
    if agent is None:
        return []
    listed = getattr(agent, "agents", None)
    if listed is None:
        return [agent]
    manager = getattr(agent, "manager_agent", None)
    workers = [task.agent for task in getattr(agent, "tasks", None) or () if getattr(task, "agent", None) is not None]
    found = {id(one): one for one in [*listed, *workers, *([manager] if manager is not None else [])]}
    return list(found.values())


def _names(one: Any) -> list[str]:
    return [sanitize_tool_name(tool.name) for tool in getattr(one, "tools", None) or ()]


def _unseen(agent: Any, role: str) -> list[Part]:
    found = []
    for word in ("llm", "function_calling_llm"):
        for tool in getattr(getattr(agent, word, None), "builtin_tools", None) or ():
            found.append(
                Part(str(tool), "hosted", role, UNCOVERED, "it runs at the model's provider, and no hook sees it")
            )
    if getattr(agent, "a2a", None):
        found.append(Part("a2a", "remote", role, UNCOVERED, "the remote agent runs its tools in another process"))
    if getattr(agent, "allow_code_execution", None):
        found.append(Part("allow_code_execution", "code", role, UNCOVERED, "versions of CrewAI that know it run code"))
    return found


def _status(name: str | None, gate: Any) -> tuple[str, str]:
    if not isinstance(gate, adapter.Gate):
        return UNCOVERED, "no Gate was given; Gate().install() sees the calls of this process"
    if name is None:
        return GATED, "its tools are known when it runs; those that tools= chooses ask before they run"
    if gate._asking.chosen(name):
        return GATED, "each call asks before it runs"
    return UNASKED, "tools= does not choose it"
