"""google-adk: a plugin (or a callback, or a wrapped function) that asks before a tool runs.

    from placet.adapters.adk import PlacetPlugin
    app = App(name="shop", root_agent=agent, plugins=[PlacetPlugin(tools={"apply_credit"})])

Three modes. `block` waits inside the run; it works everywhere, agents inside `AgentTool` and live runs included.
`pause` ends the run and lets `resume` go on when there is a decision, in this process or another. `hybrid` waits for
`hold_for` seconds and then pauses, where the run can be paused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import placet
from placet import errors
from placet.waiting import OnWaiting

from . import _adk, _adk_guard, _adk_seal, _names
from ._adk import CallOrigin, Tools, logger
from ._adk_cover import GATE
from ._adk_function import tool
from ._adk_pause import LATER, BrokenPause, GoesOnLater, Paused, drain, paused
from ._adk_resume import resume
from ._adk_resumer import Resumer
from ._adk_start import StartChecks

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..words import Decision, Risk
    from ._adk_options import BeforeTool, GateOptions, Mode

from google.adk.plugins.base_plugin import BasePlugin  # isort: skip (after _adk, which says what is missing)
from google.adk.tools.base_tool import BaseTool  # isort: skip
from google.adk.tools.tool_context import ToolContext  # isort: skip

__all__ = [
    "PlacetPlugin", "before_tool", "tool", "drain", "paused", "Paused", "resume", "Resumer", "BrokenPause",
    "GoesOnLater",
]  # fmt: skip

MODES = ("block", "pause", "hybrid")


class Gate:
    """Asks for the calls of one app or one agent. The plugin and the callback are two ways of being called."""

    def __init__(
        self,
        client: placet.AsyncClient | None = None,
        *,
        mode: Mode = "block",
        hold_for: float | None = None,
        tools: Tools = None,
        risk: Risk | Mapping[str, Risk] | None = None,
        summary: Callable[[Any, dict[str, Any]], str | None] | None = None,
        allowed: Sequence[Decision] = ("approve", "edit", "deny"),
        expires_in: str | float | None = None,
        refused: Callable[[Any], dict[str, Any]] | None = None,
        uncovered: _names.Uncovered = "refuse",
        on_waiting: OnWaiting = "inherit",
        on_denied: str | None = None,
    ):
        _adk.checked_on_denied(on_denied)
        if mode not in MODES:
            raise errors.ConfigError(f"mode is `{mode}`; use block, pause or hybrid")
        if mode == "pause" and hold_for:
            raise errors.ConfigError("hold_for means nothing in mode pause; use mode hybrid to wait first")
        # Made here and not at the first call: a missing key should stop the program, not its first tool.
        self.client = client if client is not None else placet.AsyncClient()
        self.mode = mode
        self.hold_for = {"block": hold_for, "pause": 0.0, "hybrid": 60.0 if hold_for is None else hold_for}[mode]
        self.asking = _adk.GateSettings(tools, risk, summary, allowed, expires_in, on_waiting=on_waiting)
        self.on_denied = on_denied
        self.refused = refused or (lambda held: held.result())
        self.start = StartChecks(self, uncovered)
        self._warned = False

    async def before(self, tool: Any, arguments: dict[str, Any], tool_context: Any) -> dict[str, Any] | None:
        """None lets ADK run the tool with `arguments`, which by then are the approved ones."""
        if type(tool) is BaseTool:
            return None  # a name that the model made up: ADK has nothing to run, and tells it so
        await self.start.at_call(tool, tool_context)  # raises: a program that is set up wrongly must not go on
        place = None
        try:
            _adk_seal.seal(tool)
            if not self.asking.wants(tool):
                return None
            place = _adk.where(tool_context)
            call = self.asking.call(tool, arguments, place)
            if said_no(tool_context):
                return await self._withdraw(call, place, tool_context)
            held = await self._hold(call, place, goes_on=tool_context.tool_confirmation is not None)
            if held.status == "pending":
                return self._pause(tool, place, held, tool_context)
        except GoesOnLater:
            raise
        except Exception as error:
            # An exception out of a callback ends the whole run. Whatever went wrong here, it is no yes.
            logger.warning("%s was not run: %s", getattr(tool, "name", tool), error)
            if place is not None and _adk.raises(self.on_denied, place):
                return _raise_instead(tool_context, error)
            return _adk.not_run(getattr(tool, "name", "?"), error)
        if not held.go:
            return self._refuse(held, place, tool_context)
        return await _adk_seal.admit(tool, arguments, tool_context, held)

    async def _hold(self, call: Any, place: CallOrigin, goes_on: bool) -> Any:
        can_pause = self.mode != "block" and not place.nested and not place.live
        holding = self.client.hold(
            call, hold_for=self.hold_for if can_pause or self.mode == "block" else None,
            then="leave" if can_pause else "cancel", keep=goes_on and can_pause,
        )  # fmt: skip
        return await self._later(call, goes_on and can_pause, holding)

    async def _later(self, call: Any, goes_on: bool, holding: Any) -> Any:
        """What came of asking; of a paused call that goes on, only what may end the pause.

        A result in the session would end it, and with it an approval that nobody used because the server was away, or
        that another process is using right now.
        """
        try:
            held = await holding
            if goes_on and (
                held.status == "unreachable" or (held.status == "unknown" and held.record.state == "claimed")
            ):
                held.raise_for_refusal()
        except (errors.Unreachable, errors.OutcomeUnknown) as error:
            if goes_on:
                raise GoesOnLater(f"`{call.tool}` was not run here, and {LATER}: {error}") from error
            raise
        return held

    def _refuse(self, held: Any, place: CallOrigin, tool_context: Any) -> dict[str, Any] | None:
        if _adk.raises(self.on_denied, place, held.status):
            return _raise_instead(tool_context, held)
        refused: dict[str, Any] = self.refused(held)
        return refused

    def _pause(self, tool: Any, place: CallOrigin, held: Any, tool_context: Any) -> dict[str, Any] | None:
        record = held.record
        again = getattr(tool_context, "tool_confirmation", None) is not None
        url = _adk.page(self.client, record)
        message = f"`{tool.name}` waits for a person. Nobody has decided yet, and nothing was run."
        if again:
            # ADK takes a confirmation once. Whoever sent this one did not wait for the decision, or made it up.
            message += " It was confirmed in the session, which decides nothing."
            logger.warning("request %s was confirmed in the session, and is still pending", record.id)
        if not place.resumable and not self._warned:
            self._warned = True
            logger.warning(
                "the app is not resumable: agents that come after a paused one may be skipped; "
                "use App(resumability_config=ResumabilityConfig(is_resumable=True))"
            )
        waits = {
            "status": "awaiting_approval", "tool": tool.name, "request": record.id, "url": url, "message": message,
        }  # fmt: skip

        def ask() -> dict[str, Any]:
            tool_context.request_confirmation(
                hint=f"Waiting for approval: {url}",
                payload={"placet_request_id": record.id, "url": url, "expires_at": record.expires_at},
            )
            return waits

        if place.node:
            # A node takes a pause from its tool's own run alone. What a callback returns is the tool's result to it.
            _adk_seal.run_instead(tool_context, ask)
            return None
        if not again:
            ask()
        # Without this the model is called at once, sees no result, and tries again.
        tool_context.actions.skip_summarization = True
        return waits

    async def _withdraw(self, call: Any, place: CallOrigin, tool_context: Any) -> dict[str, Any] | None:
        """Somebody said no in the session. A no needs no authority, and leaves no approval lying about."""
        held = await self._later(call, self.mode != "block", self.client.hold(call, hold_for=0.0, then="cancel"))
        if held.go:
            await held.failed("not run: it was declined in the session")
        if not held.go and held.status != "cancelled":
            return self._refuse(held, place, tool_context)
        message = f"`{call.tool}` was declined in the session. Nothing was run."
        if _adk.raises(self.on_denied, place):
            return _raise_instead(tool_context, errors.Cancelled(message, held))
        return {"status": "cancelled", "tool": call.tool, "request": held.request_id, "message": message}

    async def after(self, tool: Any, tool_context: Any, failed: bool = False) -> None:
        """Settles a permit whose tool never began: another callback answered in its place."""
        permit = _adk_seal.permitted(tool_context)
        if not failed and _adk_seal.streams(tool) and _adk.where(tool_context).live:
            return  # a live run begins a streaming tool after its call has ended
        if permit is not None and not permit.began:
            permit.began = True
            await permit.failed("not run: another callback answered in the tool's place")


def _raise_instead(tool_context: Any, why: Any) -> None:
    """Lets the tool raise. Out of a callback, ADK would wrap the error into one of its own."""

    def refuse() -> None:
        if isinstance(why, Exception):
            raise why
        why.raise_for_refusal()

    _adk_seal.run_instead(tool_context, refuse)


def said_no(tool_context: Any) -> bool:
    confirmation = getattr(tool_context, "tool_confirmation", None)
    return confirmation is not None and getattr(confirmation, "confirmed", None) is not True


class PlacetPlugin(BasePlugin):  # type: ignore[misc]
    """Asks before tools run, in every agent of the app: sub-agents and agents inside `AgentTool` included.

    `tools`: the names to ask about, or a function of the tool; every tool but hand-overs between agents unless given
    (policy on the server then says which of them need a person). `risk` and `summary` go to the person who decides.
    `uncovered`: what the app can do where the plugin does not see it. `refuse` (such an app does not start),
    `allow`, or the names of what may run unasked. `on_denied`: `return` tells the model that a call did not run,
    `raise` lets the tool raise `placet.Denied` and the like. Unless given, a model's call returns, a workflow's raises.
    """

    def __init__(
        self, client: placet.AsyncClient | None = None, *, name: str = "placet", **options: Unpack[GateOptions]
    ):
        super().__init__(name=name)
        self.gate = Gate(client, **options)
        self.gate.start.plugin = True

    async def before_run_callback(self, *, invocation_context: Any) -> None:
        await self.gate.start.at_run(invocation_context)
        if self.gate.mode != "block":
            _adk_guard.install(invocation_context.plugin_manager)

    async def before_agent_callback(self, *, agent: Any, callback_context: Any) -> None:
        self.gate.start.at_agent(agent)

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        self.gate.start.at_model(callback_context, llm_request)

    async def before_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        return await self.gate.before(tool, tool_args, tool_context)

    async def after_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> dict[str, Any] | None:
        await self.gate.after(tool, tool_context)
        return None

    async def on_tool_error_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: ToolContext, error: Exception
    ) -> dict[str, Any] | None:
        await self.gate.after(tool, tool_context, failed=True)
        return None


def before_tool(client: placet.AsyncClient | None = None, **options: Unpack[GateOptions]) -> BeforeTool:
    """A `before_tool_callback` for one agent, where a plugin for the whole app is too much.

    The agents it calls through `AgentTool` do not inherit it. Takes what `PlacetPlugin` takes.
    """
    gate = Gate(client, **options)

    async def placet_before_tool(tool: Any, args: dict[str, Any], tool_context: ToolContext) -> dict[str, Any] | None:
        return await gate.before(tool, args, tool_context)

    return marked(placet_before_tool, gate)


def marked(callback: Callable[..., Any], gate: Gate) -> Callable[..., Any]:
    """The callback, which says whose it is: `placet.coverage` finds it by that."""
    setattr(callback, GATE, gate)
    return callback
