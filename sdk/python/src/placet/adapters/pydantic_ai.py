"""Pydantic AI: `PlacetCapability` holds the tool calls of an agent; `DeferredBridge` serves runs that defer calls.

`mode="block"` waits inside the call. `mode="pause"` ends the run with `DeferredToolRequests`; when it goes on, the
toolset asks Placet what was decided and does not listen to the results it is given. `PlacetToolset` does the same for
one toolset.
"""

from __future__ import annotations

import contextlib
import inspect
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..covered import GATED, UNASKED, Coverage, Part
from ..errors import ConfigError, PlacetError
from ..words import CallOptions
from . import _calls, _names, _needs, _resuming
from ._asking import as_sentence, edited_note, unasked

_needs.check("pydantic_ai", "pydantic-ai")
try:
    from pydantic import ValidationError
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import ModelResponse, ToolCallPart, ToolReturn
    from pydantic_ai.toolsets import AbstractToolset, WrapperToolset
    from pydantic_core import to_jsonable_python

    from pydantic_ai import (
        ApprovalRequired,
        CallDeferred,
        DeferredToolRequests,
        DeferredToolResults,
        ToolApproved,
        ToolDenied,
    )
except ImportError as error:
    raise _needs.unmet("pydantic_ai", "pydantic-ai", error) from error

if TYPE_CHECKING:
    from pydantic_ai.toolsets import ToolsetTool
    from typing_extensions import Unpack

    from pydantic_ai import RunContext

    from ..client import AsyncClient, Client
    from ..held import AsyncHeld, Held
    from ..models import Call, Record
    from ..words import Mode, Refusal
    from ._pydantic_resume import Resumer

__all__ = ["DeferredBridge", "PlacetCapability", "PlacetToolset", "Resumer"]

FRAMEWORK = "pydantic-ai"
CARRIES = ("approve", "edit", "deny", "respond")
NATIVE = ("approve", "edit", "deny")


class GateOptions(CallOptions, total=False):
    """The options of `PlacetCapability` and of `PlacetToolset.around`."""

    tools: _calls.Tools
    mode: Mode
    hold_for: float | None
    session: str | None
    app: str | None
    uncovered: _names.Uncovered


class _Gate:
    """What the capability and the toolset were told."""

    def __init__(
        self,
        client: Client | AsyncClient | None = None,
        *,
        tools: _calls.Tools = None,
        mode: Mode = "block",
        hold_for: float | None = None,
        session: str | None = None,
        app: str | None = None,
        uncovered: _names.Uncovered = "refuse",
        **options: Unpack[CallOptions],
    ):
        self.clients = _calls.Clients(client)
        self.allowed = _names.checked_uncovered(uncovered)
        self.selection = _calls.Selection(tools, options, CARRIES)
        self.mode = _calls.checked_mode(mode, hold_for)
        self.hold_for = hold_for
        self.session = session
        self.app = app
        self.made_up = _calls.made_up(FRAMEWORK)
        self.kept = _calls.KeptPermits()

    def refuse(self, parts: Sequence[Part], ctx: RunContext[Any]) -> None:
        name = str((ctx.agent.name if ctx.agent else None) or "agent")
        _names.refuse_uncovered(Coverage(FRAMEWORK, name, tuple(parts)), self.allowed)

    def report(self, parts: Sequence[Part], tools: Sequence[str], agent: str) -> None:
        """What a model is offered: tools of the agent, and those that run out of sight and were let pass."""
        chosen = [
            Part(name, "tool", agent, GATED, "each call asks before it runs")
            if self.selection.of(name) is not None
            else Part(name, "tool", agent, UNASKED, "tools= does not choose it")
            for name in tools
        ]
        self.clients.report(Coverage(FRAMEWORK, agent, (*parts, *chosen)))


class PlacetCapability(AbstractCapability[Any]):
    """Holds the tool calls of an agent: `Agent(..., capabilities=[PlacetCapability()])`. List it last.

    `tools`: names, or a dict of names and options (`risk`, `summary`, `allowed`, `expires_in`, `on_behalf_of`,
    `idempotent`); all tools if left out, and policy says which of them need a person. A tool with
    `requires_approval=True` is asked about once, by Placet. `uncovered`: tools that run at the model's provider, or
    where a deferred call is taken, and output functions. `refuse` (such an agent calls no model), `allow`, or the names
    of those that may.
    """

    def __init__(self, client: Client | AsyncClient | None = None, **how: Unpack[GateOptions]):
        self._gate = _Gate(client, **how)

    @classmethod
    def get_serialization_name(cls) -> str | None:
        return None

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any] | None:
        return PlacetToolset(toolset, self._gate)

    async def before_model_request(self, ctx: RunContext[Any], request_context: Any) -> Any:
        """Before a model is called: nothing that it can choose may run where no toolset sees it."""
        from ._pydantic_cover import external, hosted, outputs

        name = str((ctx.agent.name if ctx.agent else None) or "agent")
        offered = request_context.model_request_parameters
        parts = hosted(offered.native_tools, name) + outputs(ctx.agent.output_type if ctx.agent else str, name)
        self._gate.refuse(parts, ctx)
        parts += [external(one.name, name) for one in offered.function_tools if one.kind == "external"]
        self._gate.report(parts, [one.name for one in offered.function_tools if one.kind != "external"], name)
        return request_context

    async def before_output_process(self, ctx: RunContext[Any], *, output_context: Any, output: Any) -> Any:
        """The same for an output function that was given to the run alone: it is refused before it runs."""
        from ._pydantic_cover import output as part

        if output_context.has_function:
            name = str((ctx.agent.name if ctx.agent else None) or "agent")
            self._gate.refuse([part(output_context.function_name or "output_function", name)], ctx)
        return output

    async def handle_deferred_tool_calls(
        self, ctx: RunContext[Any], *, requests: DeferredToolRequests
    ) -> DeferredToolResults | None:
        """Lets calls that want an approval through to the gate, which asks for it and lets nothing else through."""
        if self._gate.mode == "pause":
            return None
        mine = [one.tool_call_id for one in requests.approvals if self._gate.selection.of(one.tool_name) is not None]
        return DeferredToolResults(approvals=dict.fromkeys(mine, True)) if mine else None


@dataclass
class PlacetToolset(WrapperToolset[Any]):
    """A toolset whose calls are held: `PlacetToolset.around(toolset, tools=[...])`."""

    gate: _Gate

    @classmethod
    def around(
        cls, toolset: AbstractToolset[Any], client: Client | AsyncClient | None = None, **how: Unpack[GateOptions]
    ) -> PlacetToolset:
        """The same options as `PlacetCapability`."""
        return cls(toolset, _Gate(client, **how))

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """The tools, once it is known that every name that was given is that of one, and that all run here."""
        from ._pydantic_cover import external, static_names

        tools = await super().get_tools(ctx)
        agent = str((ctx.agent.name if ctx.agent else None) or "agent")
        self.gate.refuse([external(name, agent) for name, one in tools.items() if one.tool_def.kind == "external"], ctx)
        self.gate.selection.named.check([*tools, *static_names(self.wrapped)], f"`{agent}`")
        return tools

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        gate, options = self.gate, self.gate.selection.of(name)
        if options is None:
            return await super().call_tool(name, tool_args, ctx, tool)
        try:
            call = self._call(name, tool_args, ctx, tool, options)
            held = gate.kept.get(call)
            if gate.mode == "pause" and (not ctx.tool_call_approved or _resuming.now()) and held is None:
                await self._pause(call, ctx.tool_call_approved)
            held = held or _unless_left(await _calls.ahold(gate.clients.aio, call, hold_for=gate.hold_for))
            arguments = await self._arguments(held, tool_args, ctx, tool) if held.go else {}
        except (ApprovalRequired, CallDeferred):
            raise
        except _Misfit as misfit:
            return await misfit.reported()
        except Exception as error:
            if _resuming.stops_for(error):
                raise ApprovalRequired from error
            return unasked(name, error)
        if not held.go:
            return held.answer if held.status == "answered" else held.result()
        try:
            result = await super().call_tool(name, arguments, ctx, tool)
        except ApprovalRequired:
            gate.kept.keep(call, held)
            raise
        except CallDeferred:
            await held.succeeded(note="the tool handed the call on; its result comes from elsewhere")
            raise
        except Exception as error:
            gate.kept.take(call)
            await held.failed(error)
            raise
        gate.kept.take(call)
        await held.succeeded(result.return_value if isinstance(result, ToolReturn) else result)
        return _noted(result, held)

    async def _pause(self, call: Call, woken: bool) -> None:
        """Stops before a call that policy holds. One that a resumer wakes stops again if it cannot run now."""
        record = await _calls.aask(self.gate.clients.aio, call)
        held = (record.verdict or {}).get("effect") == "hold"
        if (_resuming.stops_at(record) and held) if woken else held:
            raise ApprovalRequired(metadata={"placet": record.id, "url": record.url})

    def _call(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[Any],
        tool: ToolsetTool[Any],
        options: dict[str, Any],
    ) -> Call:
        where = _calls.place(self.gate.session, ctx.conversation_id, self.gate.made_up)
        # The agent's own `requires_approval` may have replaced the arguments: what is shown must be what would run.
        turn, written = _written(ctx, tool)
        same = written is not None and _validated(written, ctx, tool) == tool_args
        shown = written if same and written is not None else to_jsonable_python(tool_args)
        if not same:
            # In this form nothing could be read back, so nobody may change it.
            options = {**options, "allowed": tuple(word for word in options["allowed"] if word != "edit")}

        def accepts(arguments: dict[str, Any]) -> str | None:
            try:
                _validated(arguments, ctx, tool)
            except ValidationError as error:
                return str(error)
            return None

        return _calls.call(
            FRAMEWORK,
            name,
            shown,
            where,
            # Some providers number their calls from 1 in every turn; the time of the turn tells them apart.
            f"{turn}/{ctx.tool_call_id}" if ctx.tool_call_id else None,
            options,
            app=self.gate.app,
            context={"call_id": ctx.tool_call_id, "agent": ctx.agent.name if ctx.agent else None},
            schema=_calls.closed(tool.tool_def.parameters_json_schema) if same else None,
            accepts=accepts,
        )

    async def _arguments(
        self, held: Any, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> dict[str, Any]:
        """What to run: the validated arguments, or those of an edit, validated as the model's would be."""
        if not held.edited:
            return tool_args
        try:
            arguments = _validated(held.arguments, ctx, tool)
            if tool.args_validator_func is not None:
                said = tool.args_validator_func(ctx, **arguments)
                if inspect.isawaitable(said):
                    await said
        except Exception as error:
            raise _Misfit(held, error) from error
        return arguments


def _unless_left(held: AsyncHeld) -> AsyncHeld:
    """The same, unless a resumer goes on with the run and the call is not its own: then the run stops here again."""
    if _resuming.stops_with(held):
        raise ApprovalRequired(metadata={"placet": held.request_id} if held.request_id else None)
    return held


class _Misfit(PlacetError):
    """Edited arguments that the tool's own check refuses."""

    def __init__(self, held: Any, error: Exception):
        super().__init__(str(error))
        self.held = held

    async def reported(self) -> Refusal:
        await self.held.failed(f"not run: the edited arguments do not fit: {self}")
        return {
            **self.held.result(),
            "status": "failed",
            "reason": f"the edited arguments do not fit: {self}",
            "message": "A reviewer changed the arguments to some that the tool refuses, and the call was not run.",
        }


def _written(ctx: RunContext[Any], tool: ToolsetTool[Any]) -> tuple[str, dict[str, Any] | None]:
    """When the model spoke, and the arguments as it wrote them, which is the form that the tool's schema describes."""
    for message in reversed(ctx.messages):
        for part in message.parts if isinstance(message, ModelResponse) else []:
            if isinstance(part, ToolCallPart) and part.tool_call_id == ctx.tool_call_id:
                turn = message.timestamp.isoformat()
                try:
                    found = part.args_as_dict()
                    _validated(found, ctx, tool)
                except (ValueError, AssertionError):
                    return turn, None
                return turn, found
    return "", None


def _validated(arguments: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]) -> dict[str, Any]:
    return tool.args_validator.validate_json(json.dumps(arguments), context=ctx.validation_context)


def _noted(result: Any, held: Held) -> Any:
    """After an edit the model is told what ran: its own history still shows the call it made."""
    if not held.edited:
        return result
    if isinstance(result, ToolReturn):
        return replace(result, return_value=_noted(result.return_value, held))
    if isinstance(result, str):
        return f"{edited_note(held)}\n\n{result}"
    return {**result, **held.note()} if isinstance(result, dict) else {"result": result, **held.note()}


# --- runs that end with deferred calls -------------------------------------------------------------------------------


class SettledResults(DeferredToolResults):
    """The decisions on the calls of a run, as the framework takes them."""

    note: str | None = None
    """What to run the agent with as its prompt: after an edit it says what ran, else it is None.

    The framework runs edited arguments and does not tell the model, whose history still shows its own call."""

    def add_note(self, part: ToolCallPart, held: Held) -> None:
        said = f"{part.tool_name}, {part.tool_call_id}. {edited_note(held)}"
        self.note = f"{self.note}\n\n{said}" if self.note else said

    def prompt(self, own: Any) -> Any:
        """The note and the caller's own prompt in one."""
        if self.note is None or own is None:
            return own if self.note is None else self.note
        return f"{self.note}\n\n{own}" if isinstance(own, str) else [self.note, *own]


class DeferredBridge:
    """Runs an agent to its end and puts every call that wants an approval to Placet; the tools stay as they are.

    A run may be stored in between: `await bridge.ask(result.output)`, keep the messages and the requests as JSON, and
    later, in any process, `await bridge.run(agent, message_history=..., requests=...)`.
    """

    def __init__(
        self,
        session: str,
        client: Client | AsyncClient | None = None,
        *,
        app: str | None = None,
        **options: Unpack[CallOptions],
    ):
        self.clients = _calls.Clients(client)
        self.where = _calls.CallPlace(session, True)
        self.app = app
        self.options = _calls.Selection(None, options, NATIVE)

    async def run(
        self,
        agent: Any,
        prompt: Any = None,
        *,
        message_history: Any = None,
        requests: DeferredToolRequests | None = None,
        **how: Any,
    ) -> Any:
        """As `agent.run`, but returns when no approval is open. Calls that run elsewhere are left to the caller."""
        history = message_history
        while True:
            if requests is None:
                result = await agent.run(prompt, message_history=history, **how)
            else:
                async with self.settled(requests, agent) as results:
                    said = results.prompt(prompt)
                    result = await agent.run(said, message_history=history, deferred_tool_results=results, **how)
            output = result.output
            if not isinstance(output, DeferredToolRequests) or output.calls:
                return result
            prompt, history, requests = None, result.all_messages(), output

    async def ask(self, requests: DeferredToolRequests) -> list[Record]:
        """Puts what a run waits for to people, and does not wait."""
        return [record for _, _, record in await self._asked(requests)]

    async def _asked(self, requests: DeferredToolRequests) -> list[tuple[ToolCallPart, bool, Record]]:
        """The calls that want an approval, each with its request, and whether a gated toolset made that one."""
        client, found = self.clients.aio, []
        for part in requests.approvals:
            known = (requests.metadata.get(part.tool_call_id) or {}).get("placet")
            record = await client.get(known) if known else None
            if record is None or (record.tool, record.arguments) != (part.tool_name, part.args_as_dict()):
                # What is kept between two processes may say anything: another call's request is not this one's.
                found.append((part, False, await _calls.aask(client, self._call(part))))
            else:
                found.append((part, True, record))
        return found

    @contextlib.asynccontextmanager
    async def settled(self, requests: DeferredToolRequests, agent: Any = None) -> AsyncIterator[SettledResults]:
        """Waits for all decisions; the block runs the agent with these results, and its end is what is reported.

        Give `results.note` as the prompt: after an edit it tells the model what ran. `agent` is needed where its tools
        have gates of their own: what is kept with a run may name a request, and only such a gate claims its permit.

        The permits of tools that know nothing of Placet are claimed last, right before the run goes on: a process
        killed while it waits has claimed nothing.
        """
        from ._pydantic_cover import holds

        client, asked = self.clients.aio, await self._asked(requests)
        if agent is None and any(known for _, known, _ in asked):
            raise ConfigError("some of these calls were paused by a gate: settled(requests, agent) must know the agent")
        # A tool without a gate would run on the word of what was kept, and use no permit.
        asked = [
            (part, True, record)
            if known and holds(agent, part.tool_name)
            else (part, False, await _calls.aask(client, self._call(part)) if known else record)
            for part, known, record in asked
        ]
        results = SettledResults()
        held: list[AsyncHeld] = []
        async with _calls.claiming(held):
            decided = [
                (part, known, await client.wait(first.id, on_waiting=self._call(part).on_waiting))
                for part, known, first in asked
            ]
            for part, known, record in decided:
                if known and record.state == "approved":
                    # The toolset reads the decision itself, and claims the permit itself.
                    results.approvals[part.tool_call_id] = True
                    continue
                given = await _calls.permit(client, self._call(part), record)
                if given.go:
                    held.append(given)
                    changed = given.arguments if given.edited else None
                    if given.edited:
                        results.add_note(part, given)
                    results.approvals[part.tool_call_id] = ToolApproved(override_args=changed)
                else:
                    results.approvals[part.tool_call_id] = ToolDenied(as_sentence(given.result()))
        async with _calls.going_on(held):
            yield results

    def _call(self, part: ToolCallPart) -> Call:
        options = self.options.of(part.tool_name) or {}
        return _calls.call(
            FRAMEWORK, part.tool_name, part.args_as_dict(), self.where, part.tool_call_id, options, app=self.app
        )


def __getattr__(name: str) -> Any:
    if name != "Resumer":
        raise AttributeError(f"module {__name__} has no attribute {name}")
    from ._pydantic_resume import Resumer

    return Resumer
