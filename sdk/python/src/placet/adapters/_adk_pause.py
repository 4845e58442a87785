"""google-adk: reading a run to its end, and going on with one that paused."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import placet
from placet import digest, errors

from google.genai import types  # isort: skip

CONFIRMATION = "adk_request_confirmation"
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
    """A paused run was not read to its end, so ADK cannot resume it."""


@dataclass(frozen=True)
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


def paused(events: Sequence[Event]) -> list[Paused]:
    """The calls of these events (of a run, or of a whole session) that wait for a decision, oldest first."""
    answered = {one.id for event in events if event.author == "user" for one in event.get_function_responses()}
    whole = {id for event in events for id in (event.actions.requested_tool_confirmations or {})}
    found = []
    for event in events:
        if event.partial:
            continue  # ids of partial events are not those of the final one
        for call in event.get_function_calls():
            if call.name != CONFIRMATION or call.id in answered:
                continue
            arguments = call.args or {}
            original = arguments.get("originalFunctionCall") or {}
            payload = (arguments.get("toolConfirmation") or {}).get("payload")
            request = payload.get("placet_request_id") if isinstance(payload, dict) else None
            if not isinstance(request, str) or not isinstance(original.get("id"), str):
                continue  # somebody else's confirmation
            found.append(
                Paused(
                    request, str(original.get("name")), original.get("args") or {}, original["id"], call.id,
                    event.invocation_id, original["id"] in whole,
                )
            )  # fmt: skip
    return found


async def resume(
    runner: Any,
    *,
    user_id: str,
    session_id: str,
    client: placet.AsyncClient,
    wait: float | None = 0.0,
    on_event: Callable[[Event], Any] | None = None,
) -> list[Event]:
    """Goes on with the paused runs of a session that have been decided. Returns the new events; none if none were.

    Waits up to `wait` seconds for decisions (None: until there is one). All calls of one run are answered in one
    message, so a run goes on when all of them are decided. What this sends only wakes the run up: the plugin asks the
    server again before anything runs, so a message like it from anybody else runs nothing.
    """
    session = await runner.session_service.get_session(app_name=runner.app_name, user_id=user_id, session_id=session_id)
    if session is None:
        raise errors.ConfigError(f"there is no session `{session_id}` of user `{user_id}` in app `{runner.app_name}`")
    runs: dict[str, list[Paused]] = {}
    for one in paused(session.events):
        runs.setdefault(one.invocation_id, []).append(one)
    events: list[Event] = []
    for invocation_id, calls in runs.items():
        answers = [await _answer(client, one, wait) for one in calls]
        if any(answer is None for answer in answers):
            continue
        broken = next((one for one in calls if not one.whole), None)
        if broken is not None:
            raise BrokenPause(
                f"the run that paused for `{broken.tool}` (request {broken.request_id}) was not read to its end, so "
                "ADK cannot resume it; read runs with drain(), and send the message again"
            )
        message = types.Content(role="user", parts=[answer for answer in answers if answer is not None])
        options = {"invocation_id": invocation_id} if _resumable(runner) else {}
        run = runner.run_async(user_id=user_id, session_id=session_id, new_message=message, **options)
        events += await drain(run, on_event)
    return events


async def _answer(client: placet.AsyncClient, one: Paused, wait: float | None) -> types.Part | None:
    """What to tell ADK about one call; None while nobody has decided."""
    record = await client.get(one.request_id)
    if record.state == "pending" and wait != 0.0:
        record = await client.wait(one.request_id, timeout=wait)
    if record.state == "pending":
        return None
    # The session may say anything; the request says what was decided about.
    same = record.tool == one.tool and digest.canonical(record.arguments) == digest.canonical(one.arguments)
    response = {"confirmed": bool(same and record.state == "approved")}
    return types.Part(
        function_response=types.FunctionResponse(id=one.confirmation_id, name=CONFIRMATION, response=response)
    )


def _resumable(runner: Any) -> bool:
    config = getattr(runner, "resumability_config", None)
    return getattr(config, "is_resumable", False) is True
