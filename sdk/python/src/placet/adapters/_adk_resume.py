"""google-adk: going on with runs that paused, by hand or by a resumer."""

from __future__ import annotations

import asyncio
import importlib.util
import time
from collections.abc import Callable, Iterable
from typing import Any

import placet
from placet import errors, resume_source

from . import _adk
from ._adk_busy import busy
from ._adk_guard import guarded, is_mark
from ._adk_pause import ENDED, BrokenPause, Paused, PauseReader, answer, drain

from google.adk.agents.base_agent import BaseAgent  # isort: skip (after _adk, which says what is missing)
from google.adk.events.event import Event  # isort: skip
from google.adk.tools.tool_confirmation import ToolConfirmation  # isort: skip
from google.genai import types  # isort: skip


KEEPS_WAITING = importlib.util.find_spec("google.adk.flows.llm_flows.core") is not None
"""Whether a resumable agent waits for all calls of one turn. Older versions call the model after the first."""
ANSWERS = 10
"""How often one call is answered, at most. ADK goes on at the first one, unless a process dies; or it never does."""


async def resume(
    runner: Any,
    *,
    user_id: str,
    session_id: str,
    client: placet.AsyncClient,
    wait: float | None = 0.0,
    on_event: Callable[[Any], Any] | None = None,
) -> list[Any]:
    """Goes on with the paused runs of a session that have been decided. Returns the new events; none if none were.

    Waits up to `wait` seconds for decisions (None: until there are). What this sends only wakes the run up: the plugin
    asks the server again before anything runs, so a message like it from anybody else runs nothing. It can be called
    again until every approval is used, also after a crash in the middle of it. In an app that is not resumable, calls
    that a model made together go on together.
    """
    one = Session(runner, client, user_id, session_id, on_event)
    until = None if wait is None else time.monotonic() + wait
    # What it pauses for anew is another call's business.
    pending = [paused.request_id for paused in (await one.read()).waiting.values()]
    events: list[Any] = []
    while True:
        pending = [id for id in pending if (await client.get(id)).state == "pending"]
        async with resume_source.alone(_adk.FRAMEWORK, one.key):
            events += await one.go_on()
        left = None if until is None else until - time.monotonic()
        if not pending or (left is not None and left <= 0) or not await _one_decided(client, pending, left):
            return events


async def _one_decided(client: placet.AsyncClient, ids: Iterable[str], within: float | None) -> bool:
    """Whether one of these was decided in time."""
    tasks = [asyncio.ensure_future(client.wait(id, timeout=within)) for id in ids]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return any(task.result().state != "pending" for task in done)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Session:
    """One session whose paused runs go on."""

    def __init__(
        self,
        runner: Any,
        client: placet.AsyncClient,
        user: str,
        id: str,
        on_event: Callable[[Any], Any] | None = None,
        grace: float | None = None,
    ):
        self._runner, self._client, self._on_event = runner, client, on_event
        self._user, self._id = user, id
        self._grace = grace
        """How old a half-finished step must be before it is taken over; None: it is at once, and nothing is mended."""
        self._root = runner.agent
        self._resumable = _resumable(runner)
        self._one_by_one = KEEPS_WAITING and self._resumable and isinstance(self._root, BaseAgent)

    @property
    def key(self) -> tuple[str, str, str]:
        return (self._runner.app_name, self._user, self._id)

    async def stored(self) -> Any:
        return await self._runner.session_service.get_session(
            app_name=self._runner.app_name, user_id=self._user, session_id=self._id
        )

    async def read(self) -> PauseReader:
        session = await self.stored()
        if session is None:
            app = self._runner.app_name
            raise errors.ConfigError(f"there is no session `{self._id}` of user `{self._user}` in app `{app}`")
        return PauseReader(session.events)

    async def go_on(self) -> list[Any]:
        """Answers what is decided, one branch after the other, and reads each run to its end."""
        events: list[Any] = []
        tried: set[tuple[str, str]] = set()
        trouble: BaseException | None = None
        while True:
            found = await self.read()
            step = await self._next(found, tried)
            if step is None:
                break
            calls, parts = step
            tried |= {(one.invocation_id, one.confirmation_id) for one in calls}
            try:
                self._check(calls, found)
                message = types.Content(role="user", parts=parts)
                await self._mend(calls)
                events += await self._run(calls[0].invocation_id, message)
            except Exception as error:
                # One branch that cannot go on does not keep the others from it.
                trouble = trouble or error
                if isinstance(error, errors.Refused):
                    await self._close(calls, error)
        events += await self._stalled()
        if trouble is not None:
            raise trouble
        return events

    async def _next(
        self, found: PauseReader, tried: set[tuple[str, str]]
    ) -> tuple[list[Paused], list[types.Part]] | None:
        """The calls of one branch that can be answered now, in one message."""
        branches: dict[tuple[str, Any], list[Paused]] = {}
        for one in found.waiting.values():
            branches.setdefault((one.invocation_id, one.node or one.branch), []).append(one)
        for (invocation_id, _), calls in branches.items():
            if self._grace is not None and busy(found, self._root, invocation_id, self._is_old):
                continue
            answers = [(one, await self._answer(one, tried)) for one in calls]
            ready = [(one, part) for one, part in answers if part is not None]
            if ready and (len(ready) == len(calls) or self._one_by_one):
                return [one for one, _ in ready], [part for _, part in ready]
        return None

    async def _answer(self, one: Paused, tried: set[tuple[str, str]]) -> types.Part | None:
        if (one.invocation_id, one.confirmation_id) in tried:
            return None
        if (one.answered_at is not None or not one.whole) and not self._is_old(one.answered_at or one.asked_at):
            return None
        return await answer(self._client, one)

    def _is_old(self, moment: float) -> bool:
        """Whether the process that got so far is taken for dead."""
        return self._grace is None or time.time() - moment >= self._grace

    async def _run(self, invocation_id: str, message: types.Content | None) -> list[Any]:
        options = {"invocation_id": invocation_id} if self._resumable else {}
        answered = [part.function_response.id for part in (message.parts or [] if message else ())]
        run = self._runner.run_async(user_id=self._user, session_id=self._id, new_message=message, **options)
        seen: list[Any] = []

        def keep(event: Any) -> Any:
            if is_mark(event):
                return None
            seen.append(event)
            return self._on_event(event) if self._on_event else None

        try:
            with guarded(self._runner, invocation_id, answered):
                await drain(run, keep)
        except Exception as error:
            raise _innermost(error) from error
        return seen

    def _check(self, calls: list[Paused], found: PauseReader) -> None:
        for one in calls:
            where = f"`{one.tool}` (request {one.request_id})"
            if not one.whole and self._grace is None:
                raise BrokenPause(
                    f"the run that paused for {where} was not read to its end, so ADK cannot resume it; read runs with "
                    "drain(), and send the message again"
                )
            same = [other for other in found.waiting.values() if other.confirmation_id == one.confirmation_id]
            if any(other.asked_at > one.asked_at for other in same):
                raise BrokenPause(f"a later message paused at the node of {where}, and ADK resumes that one alone")
            if one.answers >= ANSWERS:
                raise BrokenPause(f"ADK was told {one.answers} times of the decision on {where}, and does not go on")

    async def _close(self, calls: list[Paused], error: errors.Refused) -> None:
        """Ends the pause of a call whose refusal was raised: otherwise nothing in the session says that it is over."""
        for one in calls:
            if one.node is None and error.held is not None and error.held.request_id == one.request_id:
                event = _result(one, error.held.result())
                event.custom_metadata = {ENDED: True}
                await self._runner.session_service.append_event(await self.stored(), event)

    async def _mend(self, calls: list[Paused]) -> None:
        """Adds what a killed process did not get to store: the event by which ADK knows that a call was paused."""
        for one in calls:
            if one.whole:
                continue
            event = _result(one, {"status": "awaiting_approval"})
            event.actions.requested_tool_confirmations = {one.call_id: ToolConfirmation(hint="Waiting for approval")}
            event.actions.skip_summarization = True
            await self._runner.session_service.append_event(await self.stored(), event)

    async def _stalled(self) -> list[Any]:
        """Goes on with resumed runs whose call has its result, and whose model was not told before the process died."""
        if self._grace is None or not self._resumable:
            return []
        session = await self.stored()
        events: list[Any] = []
        for invocation_id in stalled(session.events if session else (), self._is_old):
            events += await self._run(invocation_id, None)
        return events


def _result(one: Paused, response: dict[str, Any]) -> Any:
    """An event with the result of a call, as ADK makes it."""
    result = types.Part(function_response=types.FunctionResponse(id=one.call_id, name=one.tool, response=response))
    content = types.Content(role="user", parts=[result])
    return Event(invocation_id=one.invocation_id, author=one.author, branch=one.branch, content=content)


def stalled(events: Any, is_old: Callable[[float], bool]) -> list[str]:
    """The invocations in which a paused call has its result, and nothing came after it in its branch."""
    found = PauseReader(events)
    waits = {(one.invocation_id, one.branch) for one in found.waiting.values()}
    last: dict[tuple[str, Any], Any] = {}
    for event in events:
        # An error of the model is no answer to it: it is tried again, like everything that fails.
        if not event.partial and event.content is not None:
            last[event.invocation_id, event.branch] = event
    results = {
        one.invocation_id
        for one, event in found.done
        if one.node is None and ENDED not in (event.custom_metadata or {})
        if last.get((one.invocation_id, event.branch)) is event
        if (one.invocation_id, one.branch) not in waits and is_old(event.timestamp)
    }
    return sorted(results)


def _resumable(runner: Any) -> bool:
    config = getattr(runner, "resumability_config", None)
    return getattr(config, "is_resumable", False) is True


def _innermost(error: BaseException) -> BaseException:
    """ADK wraps what a plugin raises."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, errors.PlacetError):
            return cause
        cause = cause.__cause__
    return error
