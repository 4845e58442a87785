"""google-adk: whether other branches of a paused run still work, perhaps in another process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ._adk_pause import PauseReader

from google.adk.agents.base_agent import BaseAgent  # isort: skip
from google.adk.agents.parallel_agent import ParallelAgent  # isort: skip

RUNNING = 2
"""The status of a workflow's node that runs."""


def busy(found: PauseReader, root: Any, invocation_id: str, is_old: Callable[[float], bool]) -> bool:
    """Whether a branch of this run is neither paused nor done, and something of the run happened lately.

    To go on then would be to run that branch twice at once: ADK resumes all of a run, or none of it.
    """
    events = [event for event in found.events if event.invocation_id == invocation_id]
    if not events or is_old(events[-1].timestamp):
        return False
    if not isinstance(root, BaseAgent):
        states = [event.actions.agent_state for event in events if event.actions.agent_state is not None]
        nodes = (states[-1].get("nodes") if states and isinstance(states[-1], dict) else None) or {}
        return any(node.get("status") == RUNNING for node in nodes.values())
    waits = {one.author for one in found.waiting.values() if one.invocation_id == invocation_id}
    return any(_works(branch, events, waits) for agent in _parallel(root, events) for branch in agent.sub_agents)


def _works(branch: Any, events: list[Any], waits: set[str]) -> bool:
    names = {agent.name for agent in _all(branch)}
    if names & waits:
        return False
    own = [event for event in events if event.author in names]
    ended = any(event.author == branch.name and event.actions.end_of_agent for event in own)
    return not ended and not (own and own[-1].is_final_response())


def _parallel(root: Any, events: list[Any]) -> Iterator[Any]:
    """The agents with branches that have begun."""
    authors = {event.author for event in events}
    for agent in _all(root):
        if isinstance(agent, ParallelAgent) and authors & {one.name for one in _all(agent)}:
            yield agent


def _all(agent: Any) -> Iterator[Any]:
    yield agent
    for one in agent.sub_agents:
        yield from _all(one)
