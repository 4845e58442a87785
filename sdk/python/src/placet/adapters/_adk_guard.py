"""google-adk: keeps what comes after a paused agent from running while only some calls are answered."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ._adk_pause import INPUT, PauseReader

from google.adk.agents.base_agent import BaseAgent  # isort: skip
from google.adk.agents.loop_agent import LoopAgent  # isort: skip
from google.adk.agents.parallel_agent import ParallelAgent  # isort: skip
from google.adk.agents.sequential_agent import SequentialAgent  # isort: skip
from google.adk.events.event import Event  # isort: skip
from google.adk.events.event_actions import EventActions  # isort: skip
from google.adk.plugins.base_plugin import BasePlugin  # isort: skip
from google.genai import types  # isort: skip

STEERING = (SequentialAgent, LoopAgent, ParallelAgent)
MARK = "placet_still_paused"

_RESUMED: contextvars.ContextVar[tuple[str, frozenset[str]] | None]
_RESUMED = contextvars.ContextVar("placet_adk_resumed", default=None)
"""The invocation that is being resumed here, and the confirmations that were answered for that."""


class Guard(BasePlugin):  # type: ignore[misc]
    """Lets agents whose calls still wait say so again when their run goes on for another reason.

    ADK pauses a sequence or a loop when a pause passes by. An agent that paused in an earlier run says nothing in the
    next one, so the agents above it would take it for done, and begin what comes after it. Here it says so in an event
    of its own, which ends no other branch. That event is not stored. It does not matter who goes on with the run: a
    resumer, an application that answers by itself, or one that takes up what a killed process left.
    """

    def __init__(self) -> None:
        super().__init__(name="placet_resume")

    async def before_agent_callback(self, *, agent: Any, callback_context: Any) -> types.Content | None:
        calls = _calls(agent, callback_context._invocation_context)
        # What a dead or a busy process answered is not gone on with here, or its branch could end this run.
        return _mark() if calls.waiting and not calls.answered else None

    async def after_agent_callback(self, *, agent: Any, callback_context: Any) -> types.Content | None:
        calls = _calls(agent, callback_context._invocation_context)
        # An agent that paused for the first time has just said so.
        return _mark() if calls.waiting and calls.goes_on else None

    async def on_event_callback(self, *, invocation_context: Any, event: Any) -> Any:
        if any(call.id == MARK for call in event.get_function_calls()):
            return _unstored(event)
        if event.actions.end_of_agent:
            agent = invocation_context.agent
            agent = agent.root_agent.find_agent(event.author) if isinstance(agent, BaseAgent) else None
            if agent is not None and _calls(agent, invocation_context).waiting:
                return _unstored(event)  # it has not ended: one of its calls waits
        return None


@dataclass(frozen=True)
class AgentCalls:
    """The calls of one agent in one invocation."""

    waiting: bool = False
    """Whether one of them still waits."""
    answered: bool = False
    """Whether one of those was answered, and the run goes on for that."""
    goes_on: bool = False
    """Whether the invocation goes on after a pause."""


def _calls(agent: Any, invocation: Any) -> AgentCalls:
    if not _steered(agent):
        return AgentCalls()
    mine = (agent.name, invocation.invocation_id)
    found = PauseReader(invocation.session.events)
    waiting = [one for one in found.waiting.values() if one.node is None and (one.author, one.invocation_id) == mine]
    resumed = _RESUMED.get()
    if resumed is not None and resumed[0] == invocation.invocation_id:
        answered = any(one.confirmation_id in resumed[1] for one in waiting)
        return AgentCalls(bool(waiting), answered, True)
    answered = any(one.answered_at is not None for one in waiting)
    done = any((one.author, one.invocation_id) == mine for one, _ in found.done)
    return AgentCalls(bool(waiting), answered, answered or done)


def _steered(agent: Any) -> bool:
    """Whether an agent above this one could begin something else. A root agent needs to tell nobody."""
    above = getattr(agent, "parent_agent", None)
    while above is not None and not isinstance(above, STEERING):
        above = above.parent_agent
    return above is not None


def _mark() -> types.Content:
    """The content of an event that pauses the agents above. There must be some."""
    call = types.FunctionCall(id=MARK, name=INPUT, args={})
    return types.Content(role="model", parts=[types.Part(function_call=call)])


def _unstored(event: Any) -> Any:
    """What the reader of the run gets instead. Partial events are not stored."""
    return Event(author=event.author, partial=True, content=None, actions=EventActions(), custom_metadata={MARK: True})


def is_mark(event: Any) -> bool:
    return MARK in (event.custom_metadata or {})


def install(manager: Any) -> None:
    """Puts the guard into the plugins of a runner."""
    if not any(isinstance(one, Guard) for one in manager.plugins):
        # The first one: a plugin that changes an event keeps the later ones from seeing it. A new list: the old one may
        # be in use right now.
        manager.plugins = [Guard(), *manager.plugins]


@contextlib.contextmanager
def guarded(runner: Any, invocation_id: str, answered: Iterable[str]) -> Iterator[None]:
    """While this invocation is resumed with these answers."""
    install(runner.plugin_manager)
    token = _RESUMED.set((invocation_id, frozenset(answered)))
    try:
        yield
    finally:
        _RESUMED.reset(token)
