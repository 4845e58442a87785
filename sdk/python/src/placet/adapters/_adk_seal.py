"""google-adk: who looks last. An approved call runs as it was approved, whatever other callbacks did to it."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncGenerator, Callable
from typing import Any

from placet import digest, errors

from . import _adk

from google.adk.tools.tool_confirmation import ToolConfirmation  # isort: skip (after _adk, which says what is missing)


class PermittedCall:
    """An approved call that ADK is running: its permit, and the exact arguments it is for."""

    def __init__(self, held: Any):
        self.held = held
        self.exact = digest.canonical(held.arguments)
        self.began = False
        self.reported = False

    async def succeeded(self, value: Any) -> None:
        await self._report(self.held.succeeded, value)

    async def failed(self, error: Any) -> None:
        await self._report(self.held.failed, error)

    async def gone(self, error: BaseException) -> None:
        """The tool raised, or the run was cancelled in the middle of it, which a report must not hold up for long."""
        if isinstance(error, Exception):
            await self.failed(error)
            return
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.failed(f"{type(error).__name__} while it ran"), _adk.BYE)

    async def _report(self, report: Callable[..., Any], what: Any) -> None:
        if self.reported:
            return
        self.reported = True
        try:
            if inspect.iscoroutinefunction(report):
                await report(what)
            else:
                await asyncio.to_thread(report, what)
        except Exception as error:
            # It ran (or did not); a report that is lost changes nothing about that. The request ends `unknown`.
            _adk.logger.warning("the outcome of %s could not be reported: %s", self.held.request_id, error)


PERMITTED = "_placet_permitted"
INSTEAD = "_placet_instead"


def permitted(tool_context: Any) -> PermittedCall | None:
    """The permit of this very call. ADK gives one context object to every hook of one call."""
    found = getattr(tool_context, PERMITTED, None)
    return found if isinstance(found, PermittedCall) else None


def seal(tool: Any) -> None:
    """Lets this tool object check, as the last one before it runs, that it runs what was approved.

    ADK calls other plugins and the agent's own callbacks after ours, and any of them may still change the arguments or
    answer in the tool's place. Only the tool's own `run_async` knows what is about to happen, so it is wrapped, once
    for each tool object. An agent inside the tool learns there whose call it serves, too.
    """
    if getattr(tool, "_placet_sealed", False):
        return
    inner = tool.run_async

    async def run_async(*, args: dict[str, Any], tool_context: Any) -> Any:
        token = _adk.OUTER.set(_adk.where(tool_context))
        around = _adk.AROUND.set((*_adk.AROUND.get(), *roots(tool_context)))
        try:
            instead = getattr(tool_context, INSTEAD, None)
            if instead is not None:
                return instead()
            permit = permitted(tool_context)
            if permit is None:
                return await inner(args=args, tool_context=tool_context)
            return await _run_permitted(tool.name, permit, inner, args, tool_context)
        finally:
            _adk.AROUND.reset(around)
            _adk.OUTER.reset(token)

    tool.run_async = run_async
    tool._placet_sealed = True


def run_instead(tool_context: Any, instead: Callable[[], Any]) -> None:
    """Lets this be what the tool's run does. Some things ADK takes from a tool alone: an error, a node's pause."""
    setattr(tool_context, INSTEAD, instead)
    # Nothing runs, so ADK need not ask for a confirmation of its own (`require_confirmation=True`).
    tool_context.tool_confirmation = ToolConfirmation(confirmed=True)


def roots(tool_context: Any) -> tuple[Any, ...]:
    """The outermost agent of this run; nothing _adk.where ADK does not say."""
    agent = getattr(getattr(tool_context, "_invocation_context", None), "agent", None)
    return () if agent is None else (getattr(agent, "root_agent", agent),)


async def _run_permitted(
    name: str, permit: PermittedCall, inner: Callable[..., Any], args: dict[str, Any], tool_context: Any
) -> Any:
    if permit.began:
        return _adk.not_run(name, RuntimeError("the permit of this call was used before"))
    permit.began = True
    if _canonical(args) != permit.exact:
        changed = RuntimeError("another callback changed the arguments after they were approved")
        await permit.failed(f"not run: {changed}")
        if _adk.where(tool_context).node:
            raise errors.NotRunnable(f"`{name}` was not run: {changed}", permit.held)
        return _adk.not_run(name, changed)
    try:
        result = await inner(args=args, tool_context=tool_context)
    except BaseException as error:
        await permit.gone(error)
        raise
    if inspect.isasyncgen(result):
        return _streamed(permit, result)
    await permit.succeeded(result)
    return with_note(permit.held, result)


async def _streamed(permit: PermittedCall, results: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
    """What a streaming tool says, one thing after the other. Its end is what is reported."""
    try:
        if permit.held.edited:
            yield permit.held.note()
        async for one in results:
            yield one
    except BaseException as error:
        await permit.gone(error)
        raise
    finally:
        await results.aclose()
    await permit.succeeded(None)


def streams(tool: Any) -> bool:
    """Whether ADK's live runs read the results of this tool one by one, after its call has ended."""
    return inspect.isasyncgenfunction(getattr(tool, "func", None))


def _canonical(arguments: Any) -> Any:
    try:
        return digest.canonical(arguments)
    except Exception:
        return None


def with_note(held: Any, result: Any) -> Any:
    """The model still sees the call it made: after an edit the result says what really ran."""
    if not held.edited:
        return result
    return {**(result if isinstance(result, dict) else {"result": result}), **held.note()}


def hand_over(arguments: dict[str, Any], tool_context: Any, held: Any) -> PermittedCall:
    """Makes ADK run what was approved. It takes edits from the dict it gave us, changed in place, and nowhere else."""
    permit = PermittedCall(held)
    arguments.clear()
    arguments.update(_adk.copied(held.arguments))
    setattr(tool_context, PERMITTED, permit)
    return permit


async def admit(tool: Any, arguments: dict[str, Any], tool_context: Any, held: Any) -> dict[str, Any] | None:
    """Hands over, and answers ADK's own confirmation _adk.where the tool has one. None, or why it cannot."""
    permit = hand_over(arguments, tool_context, held)
    try:
        if await _asks_by_itself(tool, arguments, tool_context):
            # `require_confirmation=True` as well: a person has said yes to exactly this, so ADK need not ask again.
            tool_context.tool_confirmation = ToolConfirmation(confirmed=True)
    except Exception as error:
        await permit.failed(f"not run: {error}")
        return _adk.not_run(tool.name, error)
    return None


async def _asks_by_itself(tool: Any, arguments: dict[str, Any], tool_context: Any) -> bool:
    check = getattr(tool, "check_require_confirmation", None)
    if inspect.iscoroutinefunction(check):
        return await check(arguments, tool_context) is True
    required = getattr(tool, "_require_confirmation", False)  # before 1.38, function tools only
    return required is True or callable(required)
