"""Coverage: which parts of an agent are gated, which are not, and why."""

from __future__ import annotations

import importlib
from dataclasses import asdict, dataclass
from typing import Any

from .errors import ConfigError

GATED = "gated"
"""Every call asks Placet."""
UNASKED = "unasked"
"""Placet sees it and does not ask: the program chose so, or it changes nothing outside."""
UNCOVERED = "uncovered"
"""It runs where Placet does not see it."""

_HOMES = {
    "google": "_adk_cover",
    "langchain": "_langchain_cover",
    "langgraph": "_langchain_cover",
    "agents": "_openai_cover",
    "pydantic_ai": "_pydantic_cover",
    "crewai": "_crewai_cover",
    "agent_framework": "_agent_framework_cover",
    "claude_agent_sdk": "_claude_cover",
    "placet": "_mcp_cover",
}
"""The framework's package, and the adapter module that knows its agents."""


@dataclass(frozen=True)
class Part:
    """One thing that an agent can do."""

    name: str
    kind: str
    """tool, toolset, hosted, code, agent, remote, output or graph."""
    agent: str
    """The agent that has it, with the agents above it: `root/helper`."""
    status: str
    why: str


@dataclass(frozen=True)
class Coverage:
    """What an agent can do, part by part. `str()` of it is for people, `as_dict()` is JSON."""

    framework: str
    agent: str
    parts: tuple[Part, ...]

    @property
    def gated(self) -> list[Part]:
        return self._of(GATED)

    @property
    def unasked(self) -> list[Part]:
        return self._of(UNASKED)

    @property
    def uncovered(self) -> list[Part]:
        return self._of(UNCOVERED)

    @property
    def complete(self) -> bool:
        """Whether Placet sees everything that the agent can do."""
        return not self.uncovered

    def _of(self, status: str) -> list[Part]:
        return [part for part in self.parts if part.status == status]

    def as_dict(self) -> dict[str, Any]:
        return {
            "framework": self.framework,
            "agent": self.agent,
            "complete": self.complete,
            "parts": [asdict(part) for part in self.parts],
        }

    def __str__(self) -> str:
        lines = [f"{self.agent} ({self.framework})"]
        for status, title in ((GATED, "gated"), (UNASKED, "seen, not asked about"), (UNCOVERED, "NOT COVERED")):
            found = self._of(status)
            if found:
                lines.append(f"  {title}:")
                lines += [f"    {part.name} ({part.kind} of {part.agent}): {part.why}" for part in found]
        if not self.parts:
            lines.append("  it has no tools")
        return "\n".join(lines)


def coverage(agent: Any, gate: Any = None) -> Coverage:
    """What of this agent Placet holds, what it does not, and why. Nothing is run, and no server is asked.

    `agent` is the agent object of a framework, or what runs it (an ADK `App` or `Runner`). `gate` is the Placet object
    that watches it, where the agent itself does not know: the `PlacetPlugin` of ADK, the `Gate` of CrewAI.
    """
    for kind in type(agent).__mro__:
        home = _HOMES.get(kind.__module__.split(".")[0])
        if home is not None:
            found = importlib.import_module(f"placet.adapters.{home}").coverage(agent, gate)
            assert isinstance(found, Coverage)
            return found
    raise ConfigError(f"coverage: {type(agent).__name__} is no agent of a framework that Placet has an adapter for")
