"""google-adk: reading a run to its end, and what waits in a session."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import placet
from placet import digest, errors

from google.genai import types  # isort: skip

CONFIRMATION = "adk_request_confirmation"
"""The call by which ADK asks for a confirmation of a model's call."""
INPUT = "adk_request_input"
"""The same for a node of a workflow."""
NODE = "wf_tool_confirmation:"
"""What its id begins with; the path of the node follows."""
LATER = "can be resumed again"
"""Part of the error of a call that still waits, although its node failed."""
ENDED = "placet_ended"
"""Metadata of a result that ended a run with an error, because `on_denied` is `raise`."""
Event = Any
T = TypeVar("T")


async def drain(events: AsyncIterable[T], on_event: Callable[[T], Any] | None = None) -> list[T]:
    """Reads a run to its end, whatever `on_event` does.

    A caller that stops reading at the confirmation leaves the session without the event that ADK needs in order to
    resume: the pause is broken for good. An exception of `on_event` is raised when the run has ended.
    """
    seen: list[T] = []
    trouble: Exception | None = None
    async for event in events:
        seen.append(event)
        if on_event is None or trouble is not None:
            continue
        try:
            told = on_event(event)
            if inspect.isawaitable(told):
                await told
        except Exception as error:
            trouble = error
    if trouble is not None:
        raise trouble
    return seen


class BrokenPause(errors.PlacetError):
    """A paused run cannot be resumed: it was not read to its end, or a later one paused at the same node."""


class GoesOnLater(errors.PlacetError):
    """A paused call was not run, and nothing was decided by that: resume it again. The cause says why."""


@dataclass
class Paused:
    """A call that waits for a person, as the session shows it."""

    request_id: str
    tool: str
    arguments: dict[str, Any]
    call_id: str
    confirmation_id: str
    invocation_id: str
    whole: bool
    """Whether ADK can resume it: the run was read to its end."""
    author: str = ""
    branch: str | None = None
    """Agents that run in parallel have a branch each. ADK takes the answers of one branch in one message."""
    node: str | None = None
    """The path of the workflow's node that is the call itself."""
    asked_at: float = 0.0
    answered_at: float | None = None
    """When ADK was told of the decision. The call still waits if a process died then, before it ran."""
    answers: int = 0

    def answer(self, confirmed: bool) -> types.Part:
        name = INPUT if self.node else CONFIRMATION
        response = {"confirmed": confirmed}
        return types.Part(
            function_response=types.FunctionResponse(id=self.confirmation_id, name=name, response=response)
        )


def paused(events: Sequence[Event]) -> list[Paused]:
    """The calls of these events (of a run, or of a whole session) that wait for a decision, oldest first.

    Also those whose answer ADK has taken, and that have no result yet: the process died in between.
    """
    return list(PauseReader(events).waiting.values())


class PauseReader:
    """Reads a session's events: the calls that wait, and those that went on."""

    def __init__(self, events: Sequence[Event]):
        self.waiting: dict[tuple[str, str], Paused] = {}
        self.done: list[tuple[Paused, Event]] = []
        """Calls that have a result, with the event that holds it."""
        self.events = events = _not_rewound(events)
        # A database may put this event before the one that asks, by its time.
        self._whole = {id for event in events for id in (event.actions.requested_tool_confirmations or {})}
        for event in events:
            if event.partial:
                continue  # ids of partial events are not those of the final one
            if event.author == "user":
                self._answered(event)
            else:
                self._went_on(event)
                self._asked(event)

    def _asked(self, event: Event) -> None:
        for call in event.get_function_calls():
            found = _confirmation(event, call) if call.name == CONFIRMATION else _node(event, call)
            if found is not None:
                found.whole = found.node is not None or found.call_id in self._whole
                self.waiting[found.invocation_id if found.node else "", found.confirmation_id] = found

    def _answered(self, event: Event) -> None:
        for response in event.get_function_responses():
            one = self.waiting.get(("", response.id)) or self.waiting.get((event.invocation_id, response.id))
            if one is not None:
                one.answered_at = event.timestamp
                one.answers += 1

    def _went_on(self, event: Event) -> None:
        results = {response.id for response in event.get_function_responses()}
        path = getattr(getattr(event, "node_info", None), "path", None)
        for key, one in list(self.waiting.items()):
            if one.node is None:
                over = one.call_id in results
            else:
                over = one.node == path and one.invocation_id == event.invocation_id
                over = over and LATER not in (event.error_message or "")
            if over and one.answered_at is not None:
                self.done.append((one, event))
                del self.waiting[key]


def _not_rewound(events: Sequence[Event]) -> Sequence[Event]:
    try:
        from google.adk.events._rewind_events import _apply_rewinds
    except ImportError:  # older versions
        return events
    found: Sequence[Event] = _apply_rewinds(list(events))
    return found


def _confirmation(event: Event, call: Any) -> Paused | None:
    """A model's call that waits; None for a confirmation of somebody else."""
    arguments = call.args or {}
    original = arguments.get("originalFunctionCall") or {}
    request = _request((arguments.get("toolConfirmation") or {}).get("payload"))
    if request is None or not isinstance(original.get("id"), str):
        return None
    return Paused(
        request, str(original.get("name")), original.get("args") or {}, original["id"], call.id, event.invocation_id,
        False, event.author, event.branch, None, event.timestamp,
    )  # fmt: skip


def _node(event: Event, call: Any) -> Paused | None:
    """A node's call that waits; None for whatever else is asked."""
    if call.name != INPUT or not str(call.id).startswith(NODE):
        return None
    payload = (call.args or {}).get("payload")
    payload = payload if isinstance(payload, dict) else {}
    request = _request(payload.get("confirmation_payload"))
    if request is None:
        return None
    path = str(call.id).removeprefix(NODE)
    return Paused(
        request, str(payload.get("tool_name")), payload.get("args") or {}, path, call.id, event.invocation_id,
        True, event.author, event.branch, path, event.timestamp,
    )  # fmt: skip


def _request(payload: Any) -> str | None:
    found = payload.get("placet_request_id") if isinstance(payload, dict) else None
    return found if isinstance(found, str) else None


async def answer(client: placet.AsyncClient, one: Paused) -> types.Part | None:
    """The answer for ADK about one call; None before the decision, and while another process runs it."""
    record = await client.get(one.request_id)
    if record.state in {"pending", "claimed"}:
        return None
    # The session may say anything; the request says what was decided about.
    same = record.tool == one.tool and digest.canonical(record.arguments) == digest.canonical(one.arguments)
    return one.answer(bool(same and record.state == "approved"))
