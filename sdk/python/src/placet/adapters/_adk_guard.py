"""google-adk: keeps what comes after a paused agent from running while only some calls are answered."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterable, Iterator
from typing import Any

from ._adk_pause import INPUT, Reading

from google.adk.agents.loop_agent import LoopAgent  # isort: skip
from google.adk.agents.parallel_agent import ParallelAgent  # isort: skip
from google.adk.agents.sequential_agent import SequentialAgent  # isort: skip
from google.adk.events.event import Event  # isort: skip
from google.adk.plugins.base_plugin import BasePlugin  # isort: skip
from google.genai import types  # isort: skip

STEERING = (SequentialAgent, LoopAgent, ParallelAgent)
MARK = "placet_still_paused"

_RESUMED: contextvars.ContextVar[tuple[str, frozenset[str]] | None]
_RESUMED = contextvars.ContextVar("placet_adk_resumed", default=None)
"""The invocation that is being resumed here, and the confirmations that were answered for that."""


class Guard(BasePlugin):  # type: ignore[misc]
    """Lets agents whose calls still wait say so again when their run is resumed for another call.

    ADK pauses a sequence or a loop when a pause passes by. An agent that paused in an earlier run says nothing in the
    next one, so the agents above it would take it for done, and begin what comes after it. Here it says so in an event
    of its own, which ends no other branch. That event is not stored.
    """

    def __init__(self) -> None:
        super().__init__(name="placet_resume")

    async def before_agent_callback(self, *, agent: Any, callback_context: Any) -> types.Content | None:
        waiting = _waiting(agent.name, callback_context._invocation_context)
        # What a dead or a busy process answered is not gone on with here, or its branch could end this run.
        return _mark(agent) if waiting and not any(answered for answered in waiting.values()) else None

    async def after_agent_callback(self, *, agent: Any, callback_context: Any) -> types.Content | None:
        return _mark(agent) if _waiting(agent.name, callback_context._invocation_context) else None

    async def on_event_callback(self, *, invocation_context: Any, event: Any) -> Any:
        if is_mark(event):
            return Event(author=event.author, partial=True)
        if event.actions.end_of_agent and _waiting(event.author, invocation_context):
            return Event(author=event.author, partial=True)  # it has not ended: one of its calls waits
        return None


def _waiting(author: str, invocation: Any) -> dict[str, bool]:
    """The calls of an agent in the run that is resumed here that still wait, and whether each was answered for it."""
    resumed = _RESUMED.get()
    if resumed is None or resumed[0] != invocation.invocation_id:
        return {}
    return {
        one.confirmation_id: one.confirmation_id in resumed[1]
        for one in Reading(invocation.session.events).waiting.values()
        if one.author == author and one.node is None and one.invocation_id == invocation.invocation_id
    }


def _mark(agent: Any) -> types.Content | None:
    """The content of an event that pauses the agents above. There must be some: a root agent needs none."""
    if not isinstance(getattr(agent, "parent_agent", None), STEERING):
        return None
    call = types.FunctionCall(id=MARK, name=INPUT, args={})
    return types.Content(role="model", parts=[types.Part(function_call=call)])


def is_mark(event: Any) -> bool:
    return any(call.id == MARK for call in event.get_function_calls())


@contextlib.contextmanager
def guarded(runner: Any, invocation_id: str, answered: Iterable[str]) -> Iterator[None]:
    """While this invocation is resumed with these answers."""
    plugins = runner.plugin_manager.plugins
    if not any(isinstance(one, Guard) for one in plugins):
        # The first one: a plugin that changes an event keeps the later ones from seeing it.
        plugins.insert(0, Guard())
    token = _RESUMED.set((invocation_id, frozenset(answered)))
    try:
        yield
    finally:
        _RESUMED.reset(token)
