"""google-adk: a plugin (or a callback, or a wrapped function) that asks before a tool runs.

    from placet.adapters.adk import PlacetPlugin
    app = App(name="shop", root_agent=agent, plugins=[PlacetPlugin(tools={"apply_credit"})])

Three modes. `block` waits inside the run; it works everywhere, agents inside `AgentTool` and live runs included. `pause`
ends the run and lets `resume` go on when there is a decision, in this process or another. `hybrid` waits for `hold_for`
seconds and then pauses, where the run can be paused.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import placet
from placet import args as arguments_of
from placet import digest, errors

from . import _adk
from ._adk import Tools, Where, logger

from google.adk.plugins.base_plugin import BasePlugin  # isort: skip (after _adk, which says what is missing)
from google.adk.tools.tool_context import ToolContext  # isort: skip
from google.genai import types  # isort: skip

__all__ = ["PlacetPlugin", "before_tool", "tool", "drain", "paused", "Paused", "resume", "BrokenPause"]

MODES = ("block", "pause", "hybrid")
CONFIRMATION = "adk_request_confirmation"
Event = Any
T = TypeVar("T")


class Gate:
    """Asks for the calls of one app or one agent. The plugin and the callback are two ways of being called."""

    def __init__(
        self,
        client: placet.AsyncClient | None = None,
        *,
        mode: str = "block",
        hold_for: float | None = None,
        tools: Tools = None,
        risk: str | Mapping[str, str] | None = None,
        summary: Callable[[Any, dict[str, Any]], str | None] | None = None,
        allowed: Sequence[str] = ("approve", "edit", "deny"),
        expires_in: str | float | None = None,
        refused: Callable[[Any], dict[str, Any]] | None = None,
    ):
        if mode not in MODES:
            raise errors.ConfigError(f"mode is `{mode}`; use block, pause or hybrid")
        if mode == "pause" and hold_for:
            raise errors.ConfigError("hold_for means nothing in mode pause; use mode hybrid to wait first")
        # Made here and not at the first call: a missing key should stop the program, not its first tool.
        self.client = client if client is not None else placet.AsyncClient()
        self.mode = mode
        self.hold_for = {"block": hold_for, "pause": 0.0, "hybrid": 60.0 if hold_for is None else hold_for}[mode]
        self.asking = _adk.Asking(tools, risk, summary, allowed, expires_in)
        self.refused = refused or (lambda held: held.result())
        self._warned = False

    async def before(self, tool: Any, arguments: dict[str, Any], tool_context: Any) -> dict[str, Any] | None:
        """None lets ADK run the tool with `arguments`, which by then are the approved ones."""
        held = None
        try:
            _adk.seal(tool)
            if not self.asking.wants(tool):
                return None
            place = _adk.where(tool_context)
            call = self.asking.call(tool, arguments, place)
            if said_no(tool_context):
                return await self._withdraw(call)
            can_pause = self.mode != "block" and not place.nested and not place.live
            held = await self.client.hold(
                call, hold_for=self.hold_for if can_pause or self.mode == "block" else None,
                then="leave" if can_pause else "cancel",
            )  # fmt: skip
            if held.status == "pending":
                return self._pause(tool, place, held, tool_context)
        except Exception as error:
            # An exception out of a callback ends the whole run. Whatever went wrong here, it is no yes.
            logger.warning("%s was not run: %s", getattr(tool, "name", tool), error)
            return _adk.not_run(getattr(tool, "name", "?"), error)
        if not held.go:
            return self.refused(held)
        return await _adk.admit(tool, arguments, tool_context, held)

    def _pause(self, tool: Any, place: Where, held: Any, tool_context: Any) -> dict[str, Any]:
        record = held.record
        again = getattr(tool_context, "tool_confirmation", None) is not None
        message = f"`{tool.name}` waits for a person. Nobody has decided yet, and nothing was run."
        if again:
            # ADK takes a confirmation once. Whoever sent this one did not wait for the decision, or made it up.
            message += " It was confirmed in the session, which decides nothing."
            logger.warning("request %s was confirmed in the session, and is still pending", record.id)
        else:
            if not place.resumable and not self._warned:
                self._warned = True
                logger.warning(
                    "the app is not resumable: agents that come after a paused one may be skipped; "
                    "use App(resumability_config=ResumabilityConfig(is_resumable=True))"
                )
            tool_context.request_confirmation(
                hint=f"Waiting for approval: {record.url}",
                payload={"placet_request_id": record.id, "url": record.url, "expires_at": record.expires_at},
            )
        # Without this the model is called at once, sees no result, and tries again.
        tool_context.actions.skip_summarization = True
        return {
            "status": "awaiting_approval",
            "tool": tool.name,
            "request": record.id,
            "url": record.url,
            "message": message,
        }

    async def _withdraw(self, call: Any) -> dict[str, Any]:
        """Somebody said no in the session. A no needs no authority, and leaves no approval lying about."""
        held = await self.client.hold(call, hold_for=0.0, then="cancel")
        if held.go:
            await held.failed("not run: it was declined in the session")
        if held.go or held.status == "cancelled":
            message = f"`{call.tool}` was declined in the session. Nothing was run."
            return {"status": "cancelled", "tool": call.tool, "request": held.request_id, "message": message}
        result: dict[str, Any] = held.result()
        return result

    async def after(self, tool_context: Any) -> None:
        """Settles a permit whose tool never began: another callback answered in its place."""
        permit = _adk.permitted(tool_context)
        if permit is not None and not permit.began:
            permit.began = True
            await permit.failed("not run: another callback answered in the tool's place")


def said_no(tool_context: Any) -> bool:
    confirmation = getattr(tool_context, "tool_confirmation", None)
    return confirmation is not None and getattr(confirmation, "confirmed", None) is not True


class PlacetPlugin(BasePlugin):  # type: ignore[misc]
    """Asks before tools run, in every agent of the app: sub-agents and agents inside `AgentTool` included.

    `tools`: the names to ask about, or a function of the tool; every tool but hand-overs between agents unless given
    (policy on the server then says which of them need a person). `risk` and `summary` go to the person who decides.
    """

    def __init__(self, client: placet.AsyncClient | None = None, *, name: str = "placet", **options: Any):
        super().__init__(name=name)
        self.gate = Gate(client, **options)

    async def before_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        return await self.gate.before(tool, tool_args, tool_context)

    async def after_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> dict[str, Any] | None:
        await self.gate.after(tool_context)
        return None

    async def on_tool_error_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: ToolContext, error: Exception
    ) -> dict[str, Any] | None:
        await self.gate.after(tool_context)
        return None


def before_tool(client: placet.AsyncClient | None = None, **options: Any) -> Callable[..., Any]:
    """A `before_tool_callback` for one agent, where a plugin for the whole app is too much.

    The agents it calls through `AgentTool` do not inherit it. Takes what `PlacetPlugin` takes.
    """
    gate = Gate(client, **options)

    async def placet_before_tool(tool: Any, args: dict[str, Any], tool_context: ToolContext) -> dict[str, Any] | None:
        return await gate.before(tool, args, tool_context)

    return placet_before_tool


def tool(
    fn: Callable[..., Any] | None = None,
    *,
    client: placet.AsyncClient | None = None,
    risk: str | None = None,
    summary: Callable[[Any, dict[str, Any]], str | None] | None = None,
    allowed: Sequence[str] = ("approve", "edit", "deny"),
    expires_in: str | float | None = None,
    hold_for: float | None = None,
) -> Callable[..., Any]:
    """One function that asks before it runs: `tools=[tool(apply_credit)]`, or as a decorator.

    Always async, so that the wait never stops the event loop, which runs sync tools on its own thread. The approval
    stands right around the function: no callback of anybody comes between.
    """
    if fn is None:
        return functools.partial(
            tool, client=client, risk=risk, summary=summary, allowed=allowed, expires_in=expires_in, hold_for=hold_for
        )
    asks = _Function(fn, client if client is not None else placet.AsyncClient(), hold_for)
    asks.asking = _adk.Asking(None, risk, summary, allowed, expires_in)
    return asks.wrapper()


class _Function:
    """A function and how it is asked for. Looks like a tool to `Asking`."""

    asking: _adk.Asking

    def __init__(self, fn: Callable[..., Any], client: placet.AsyncClient, hold_for: float | None):
        self.func = fn
        self.name = fn.__name__
        self.client = client
        self.hold_for = hold_for
        self.signature = arguments_of.Signature(fn, hidden=("tool_context",))

    def wrapper(self) -> Callable[..., Any]:
        context_name = next(iter(self.signature.hidden), None)

        @functools.wraps(self.func)
        async def gated(*args: Any, **kwargs: Any) -> Any:
            tool_context = kwargs.get(context_name) if context_name else kwargs.pop("tool_context", None)
            place = self.place(tool_context, kwargs)
            travel, stay = self.signature.bind(args, kwargs)
            return await self.run(travel, stay, place)

        gated.__placet_gated__ = True  # type: ignore[attr-defined]
        if context_name is None:
            # ADK hands the context to a parameter of this name and type, and never shows it to the model.
            whole = self.signature.whole
            extra = inspect.Parameter("tool_context", inspect.Parameter.KEYWORD_ONLY, annotation=ToolContext)
            parameters = list(whole.parameters.values())
            open_ended = bool(parameters) and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD
            parameters.insert(len(parameters) - open_ended, extra)
            gated.__signature__ = whole.replace(parameters=parameters)  # type: ignore[attr-defined]
            gated.__annotations__ = {**getattr(self.func, "__annotations__", {}), "tool_context": ToolContext}
        return gated

    async def run(self, travel: dict[str, Any], stay: dict[str, Any], place: Where) -> Any:
        try:
            call = self.asking.call(self, travel, place)
            held = await self.client.hold(call, hold_for=self.hold_for)
        except Exception as error:
            logger.warning("%s was not run: %s", self.name, error)
            return self.trouble(error)
        if not held.go:
            return self.refused(held)
        permit = _adk.Permitted(held)
        try:
            positional, keywords = self.signature.call(held.arguments, stay)
            result = self.func(*positional, **keywords)
            if inspect.isawaitable(result):
                result = await result
        except BaseException as error:
            await permit.gone(error)
            raise
        await permit.succeeded(result)
        return self.approved(held, result)

    # What a caller gets to see. The community's decorator has other shapes.

    def place(self, tool_context: Any, kwargs: dict[str, Any]) -> Where:
        return _adk.where(tool_context)

    def approved(self, held: Any, result: Any) -> Any:
        return _adk.with_note(held, result)

    def refused(self, held: Any) -> Any:
        return held.result()

    def trouble(self, error: Exception) -> Any:
        return _adk.not_run(self.name, error)


# --- Pausing: reading a run to its end, and going on ---------------------------------------------------------------


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
    session = await runner.session_service.get_session(
        app_name=runner.app_name, user_id=user_id, session_id=session_id
    )
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
    return types.Part(function_response=types.FunctionResponse(id=one.confirmation_id, name=CONFIRMATION, response=response))


def _resumable(runner: Any) -> bool:
    config = getattr(runner, "resumability_config", None)
    return getattr(config, "is_resumable", False) is True
