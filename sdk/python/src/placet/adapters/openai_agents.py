"""OpenAI Agents SDK: `gate_tool` holds a function tool; `InterruptionBridge` serves runs that stop for approval.

`gate_tool(tool)` waits inside the call. `gate_tool(tool, mode="pause")` ends the run with an interruption; when the run
goes on, the tool asks Placet what was decided and does not listen to the run state, which may have been kept anywhere.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import args
from ..errors import ConfigError, NotJson, Refused
from ..words import CallOptions
from . import _calls, _names, _needs, _resuming
from ._asking import as_sentence, as_text, edited_note, unasked

_needs.check("openai_agents", "openai-agents")
try:
    from agents import Agent, FunctionTool, Runner, RunState, ToolTimeoutError
    from agents.agent_tool_state import get_agent_tool_state_scope, peek_agent_tool_run_result
    from agents.tool import (
        MCPToolApprovalFunctionResult,
        MCPToolApprovalRequest,
        ToolOutputText,
        default_tool_timeout_error_message,
        invoke_function_tool,
        maybe_invoke_function_tool_failure_error_function,
        set_function_tool_failure_error_function,
    )
    from agents.tool_context import ToolContext
except ImportError as error:
    raise _needs.unmet("openai_agents", "openai-agents", error) from error

if TYPE_CHECKING:
    from agents import RunResult
    from agents.items import ToolApprovalItem
    from typing_extensions import Unpack

    from ..client import AsyncClient, Client
    from ..covered import Coverage
    from ..held import AsyncHeld, Held
    from ..models import Call, Record
    from ..words import Mode
    from ._openai_resume import Resumer

__all__ = ["InterruptionBridge", "Resumer", "gate_agent", "gate_tool", "gate_tools", "hosted_mcp_approval"]

FRAMEWORK = "openai-agents"
CARRIES = ("approve", "edit", "deny", "respond")
NATIVE = ("approve", "deny")
"""What the SDK's own approval carries: it runs the call as the model wrote it, or not at all."""

Session = str | Callable[[Any], str | None] | None
"""The session, or how to find it in the context object of the run."""


class ToolOptions(CallOptions, total=False):
    """What `gate_tools` and `gate_agent` say about every tool."""

    mode: Mode
    hold_for: float | None
    session: Session
    app: str | None


@dataclass(frozen=True)
class _Gate:
    """What one gated tool was told."""

    tool: FunctionTool
    clients: _calls.Clients
    selection: _calls.Selection
    mode: Mode
    hold_for: float | None
    session: Session
    app: str | None
    made_up: str

    def call(self, context: Any, arguments: str | None, call_id: str, agent: str | None, group_id: str | None) -> Call:
        """The same for the same call, whoever asks: the tool itself, the approval of the SDK, or the bridge."""
        where = _calls.place(_found(self.session, context), group_id, self.made_up)
        if self.mode == "pause" and not where.lasting:
            raise ConfigError("mode='pause' needs session=, or placet.session(...) around the run, to be found again")
        name = self.tool.qualified_name
        return _calls.call(
            FRAMEWORK,
            name,
            _object(name, arguments),
            where,
            call_id,
            self.selection.of(name) or {},
            app=self.app,
            # Where a run is stopped nobody says which agent it is, and the body must be the same every time.
            context={"agent": agent if self.mode == "block" else None},
            schema=_calls.closed(self.tool.params_json_schema),
        )


def gate_tool(
    tool: FunctionTool,
    client: Client | AsyncClient | None = None,
    *,
    mode: Mode = "block",
    hold_for: float | None = None,
    session: Session = None,
    app: str | None = None,
    **options: Unpack[CallOptions],
) -> FunctionTool:
    """The same tool, held. Agents used as tools and tools of MCP servers are function tools, too.

    `options`: `risk`, `summary`, `allowed`, `expires_in`, `on_behalf_of`, `idempotent`. Without `session` it is that of
    `placet.session(...)` around the run, or the run's `group_id`.
    """
    if not isinstance(tool, FunctionTool):
        raise ConfigError(
            f"gate_tool takes a FunctionTool, not {type(tool).__name__}; decorate with @function_tool first"
        )
    gate = _Gate(
        tool=tool,
        clients=_calls.Clients(client),
        selection=_calls.Selection(None, options, CARRIES),
        mode=_calls.checked_mode(mode, hold_for),
        hold_for=hold_for,
        session=session,
        app=app,
        made_up=_calls.made_up(FRAMEWORK),
    )
    inner = _inner(tool)
    # For agents used as tools, whose own calls may stop the run.
    kept = _calls.KeptPermits()

    async def invoke(ctx: ToolContext[Any], input: str) -> Any:
        try:
            group_id = ctx.run_config.group_id if ctx.run_config and mode == "block" else None
            call = gate.call(ctx.context, input, ctx.tool_call_id, getattr(ctx.agent, "name", None), group_id)
            held = kept.take(call) or _resuming.given(call)
            held = held or await _calls.ahold(gate.clients.aio, call, hold_for=hold_for)
        except Exception as error:
            if _resuming.stops_for(error):
                raise
            return as_text(unasked(tool.qualified_name, error))
        if _resuming.stops_with(held):
            held.raise_for_refusal()
        if not held.go:
            return held.answer if held.status == "answered" and isinstance(held.answer, str) else as_text(held.result())
        try:
            output = await invoke_function_tool(
                function_tool=inner, context=ctx, arguments=json.dumps(held.arguments, ensure_ascii=False)
            )
        except Exception as error:
            await held.failed(error)
            return await _failed(tool, ctx, error)
        if _stopped(ctx) and kept.keep(call, held):
            return output
        await held.succeeded(output)
        return _noted(output, held)

    gated = copy.copy(tool)
    gated.on_invoke_tool = invoke
    # The time people take is not the tool's: its own timeout begins with its run.
    gated.timeout_seconds = None
    if mode == "pause":
        gated.needs_approval = _needs_approval(gate, tool.needs_approval)
    gated._placet_gate = gate  # type: ignore[attr-defined]  # where the bridge finds it
    return gated


def gate_tools(
    tools: Iterable[Any],
    client: Client | AsyncClient | None = None,
    *,
    only: _calls.Tools = None,
    uncovered: _names.Uncovered = "refuse",
    **how: Unpack[ToolOptions],
) -> list[Any]:
    """All function tools of a list, held (`only`: names, or a dict of names and options).

    Other tools run at the model's provider or by themselves, where no gate sees them. They are refused, unless
    `uncovered` is `allow` or has their names.
    """
    from ._openai_cover import of_tools

    tools, allowed = list(tools), _names.checked_uncovered(uncovered)
    found = _gated(tools, client, only, how)
    known = [str(getattr(tool, "name", type(tool).__name__)) for tool in tools]
    _names.ToolNames(only=_listed(only), uncovered=allowed).check(known, "this list")
    covered = of_tools(found)
    _names.refuse_uncovered(covered, allowed)
    _report(covered, found)
    return found


def gate_agent(
    agent: Agent[Any],
    client: Client | AsyncClient | None = None,
    *,
    only: _calls.Tools = None,
    uncovered: _names.Uncovered = "refuse",
    **how: Unpack[ToolOptions],
) -> Agent[Any]:
    """The same agent with all its function tools held, and those of the agents it hands over to.

    What runs out of sight is refused, as by `gate_tools`: hosted tools, shells, computers, and MCP servers.
    """
    from ._openai_cover import coverage

    allowed = _names.checked_uncovered(uncovered)
    gated = _gated_agent(agent, client, only, how, {})
    found = coverage(gated)
    known = {part.name for part in found.parts}
    _names.ToolNames(only=_listed(only), uncovered=allowed).check(known, f"`{agent.name}`")
    _names.refuse_uncovered(found, allowed)
    _report(found, gated.tools)
    return gated


def _report(found: Coverage, tools: Iterable[Any]) -> None:
    """Each gate knows it: whichever is called first tells the server, if it could not be told at once."""
    for tool in tools:
        if hasattr(tool, "_placet_gate"):
            tool._placet_gate.clients.report(found)


def _listed(only: _calls.Tools) -> list[str] | None:
    return None if only is None else list(only)


def _gated_agent(agent: Agent[Any], client: Any, only: _calls.Tools, how: ToolOptions, made: dict[int, Any]) -> Any:
    if id(agent) not in made:
        made[id(agent)] = copied = agent.clone(tools=_gated(agent.tools, client, only, how))
        # Agents may hand over to each other in a circle: each is made once, and then filled in.
        copied.handoffs = [
            _gated_agent(one, client, only, how, made) if isinstance(one, Agent) else one for one in agent.handoffs
        ]
    return made[id(agent)]


def _gated(tools: Iterable[Any], client: Any, only: _calls.Tools, how: ToolOptions) -> list[Any]:
    only = only if only is None or isinstance(only, Mapping) else list(only)
    names = None if only is None else _calls.Selection(only, {}, CARRIES)
    found = []
    for tool in tools:
        if not isinstance(tool, FunctionTool) or hasattr(tool, "_placet_gate"):
            found.append(tool)
        elif names is None or names.of(tool.name) is not None:
            more = only.get(tool.name) if isinstance(only, Mapping) else None
            found.append(gate_tool(tool, client, **{**how, **(more if isinstance(more, Mapping) else {})}))
        else:
            found.append(copy.copy(tool))
            found[-1]._placet_not_chosen = True
    return found


def _needs_approval(gate: _Gate, own: Any) -> Any:
    """Puts the call to Placet at once, and stops the run if it must wait. Whatever fails here stops the run as well."""

    async def needs(ctx: Any, parameters: dict[str, Any], call_id: str) -> bool:
        if own is True or (callable(own) and await own(ctx, parameters, call_id)):
            return True
        try:
            call = gate.call(ctx.context, json.dumps(parameters), call_id, None, None)
            record = await _calls.aask(gate.clients.aio, call)
            return bool((record.verdict or {}).get("effect") != "allow")
        except Exception:
            return True

    return needs


def _inner(tool: FunctionTool) -> FunctionTool:
    """The tool as it runs under the gate: its errors come to the gate first, which reports them."""
    inner = copy.copy(tool)
    inner.timeout_behavior = "raise_exception"
    return set_function_tool_failure_error_function(inner, None)


def _stopped(ctx: ToolContext[Any]) -> bool:
    """Whether this call is a nested agent that waits for an approval of its own."""
    nested = (
        peek_agent_tool_run_result(ctx.tool_call, scope_id=get_agent_tool_state_scope(ctx)) if ctx.tool_call else None
    )
    return bool(getattr(nested, "interruptions", None))


async def _failed(tool: FunctionTool, ctx: ToolContext[Any], error: Exception) -> Any:
    """What the tool itself says to the model about an error; raises where it would have raised."""
    if isinstance(error, ToolTimeoutError):
        if tool.timeout_behavior == "raise_exception":
            raise error
        if tool.timeout_error_function is None:
            return default_tool_timeout_error_message(tool_name=tool.name, timeout_seconds=error.timeout_seconds)
        said = tool.timeout_error_function(ctx, error)
        return await said if hasattr(said, "__await__") else said
    handles = hasattr(tool.on_invoke_tool, "__agents_bind_function_tool__")
    said = (
        await maybe_invoke_function_tool_failure_error_function(function_tool=tool, context=ctx, error=error)
        if handles
        else None
    )
    if said is None:
        raise error
    return said


def _noted(output: Any, held: Held) -> Any:
    """After an edit the model is told what ran: its own history still shows the call it made."""
    if not held.edited:
        return output
    parts = output if isinstance(output, list) else [output]
    if parts and all(type(part).__name__.startswith("ToolOutput") for part in parts):
        return [ToolOutputText(text=edited_note(held)), *parts]
    return f"{edited_note(held)}\n\n{output}"


def _found(session: Session, context: Any) -> str | None:
    return session(context) if callable(session) else session


def _object(name: str, arguments: str | None) -> dict[str, Any]:
    found = args.read_json(arguments) if arguments and arguments.strip() else {}
    if not isinstance(found, dict):
        raise NotJson(f"the arguments of `{name}` are no JSON object")
    return found


# --- runs that stop for approval -------------------------------------------------------------------------------------


class InterruptionBridge:
    """Runs an agent to its end and puts every interruption to Placet; tools with `needs_approval` stay as they are.

    A run may be stored in between: `await bridge.ask(result)`, keep `result.to_state().to_json()`, and later, in any
    process, `await bridge.run(agent, await RunState.from_json(agent, kept))`.
    """

    def __init__(
        self,
        session: str,
        client: Client | AsyncClient | None = None,
        *,
        app: str | None = None,
        uncovered: _names.Uncovered = "refuse",
        **options: Unpack[CallOptions],
    ):
        self.clients = _calls.Clients(client)
        self.where = _calls.CallPlace(session, True)
        self._allowed = _names.checked_uncovered(uncovered)
        self.app = app
        self.options = _calls.Selection(None, options, NATIVE)

    async def run(self, agent: Agent[Any], input: Any, **how: Any) -> RunResult:
        """As `Runner.run`, but returns when no interruption is open any more. `input` may be a kept `RunState`."""
        from ._openai_cover import coverage

        found = coverage(agent, self)
        _names.refuse_uncovered(found, self._allowed)
        self.clients.report(found)
        held: list[AsyncHeld] = []
        if isinstance(input, RunState) and input.get_interruptions():
            held = await self._settle(input)
        while True:
            before = _ids(input) if isinstance(input, RunState) else []
            async with _calls.going_on(held):
                result = await Runner.run(agent, input, **how)
            if not result.interruptions:
                return result
            input = result.to_state()
            if _ids(input) == before:
                raise Refused(
                    f"the run stops again at what was decided ({', '.join(before)}): a held tool around it was begun "
                    "by another process, and is not begun a second time"
                )
            held = await self._settle(input)

    async def ask(self, result: RunResult | RunState[Any, Any]) -> list[Record]:
        """Puts what a run waits for to people, and does not wait."""
        state = result if isinstance(result, RunState) else result.to_state()
        context = _context(state)
        return [await _calls.aask(self.clients.aio, self._call(item, context)) for item in state.get_interruptions()]

    async def _settle(self, state: RunState[Any, Any]) -> list[AsyncHeld]:
        """Waits for all decisions and tells the run. The permits of tools that know nothing of Placet are claimed here.

        They are claimed last, right before the run goes on: a process killed while it waits has claimed nothing.
        """
        client, context = self.clients.aio, _context(state)
        asked = [(item, self._call(item, context)) for item in state.get_interruptions()]
        records = [await _calls.aask(client, call) for _, call in asked]
        records = [
            await client.wait(record.id, on_waiting=call.on_waiting)
            for (_, call), record in zip(asked, records, strict=True)
        ]
        held: list[AsyncHeld] = []
        async with _calls.claiming(held):
            for (item, call), record in zip(asked, records, strict=True):
                if _gate_of(item) is not None:
                    # The tool reads the decision itself, and says no to the model itself.
                    state.approve(item)
                    continue
                given = await _calls.permit(client, call, record)
                if given.go:
                    held.append(given)
                    state.approve(item)
                else:
                    state.reject(item, rejection_message=as_sentence(given.result()))
        return held

    def _call(self, item: ToolApprovalItem, context: Any) -> Call:
        gate, call_id = _gate_of(item), item.call_id
        name = item.qualified_name or item.name
        if name is None or call_id is None:
            raise ConfigError("an interruption without a tool or a call id cannot be put to anybody")
        if gate is not None:
            # As the tool itself asks: in its own session, which the bridge's need not be.
            return gate.call(context, item.arguments, call_id, None, None)
        where = {"agent": item.agent.name if item.agent else None}
        arguments = _object(name, item.arguments)
        return _calls.call(
            FRAMEWORK, name, arguments, self.where, call_id, self.options.of(name) or {}, app=self.app, context=where
        )


def _ids(state: RunState[Any, Any]) -> list[str]:
    return sorted(str(item.call_id) for item in state.get_interruptions())


def _context(state: RunState[Any, Any]) -> Any:
    """The context object of the run, for gates whose session is found in it."""
    return getattr(state._context, "context", None)


def _gate_of(item: ToolApprovalItem) -> _Gate | None:
    """The gate of a tool that waits in pause mode; None for the SDK's own approval."""
    for tool in getattr(item.agent, "tools", None) or []:
        gate = getattr(tool, "_placet_gate", None)
        if gate is not None and gate.mode == "pause" and item.name == tool.name:
            return gate
    return None


def hosted_mcp_approval(
    client: Client | AsyncClient | None = None,
    *,
    session: Session = None,
    app: str | None = None,
    **options: Unpack[CallOptions],
) -> Callable[[MCPToolApprovalRequest], Any]:
    """For `HostedMCPTool(on_approval_request=…)`: calls that run at the model's host, and only after a yes."""
    clients, selection = _calls.Clients(client), _calls.Selection(None, options, NATIVE)
    made_up = _calls.made_up(FRAMEWORK)

    async def approve(request: MCPToolApprovalRequest) -> MCPToolApprovalFunctionResult:
        data = request.data
        name = f"{data.server_label}/{data.name}"
        try:
            where = _calls.place(_found(session, request.ctx_wrapper.context), None, made_up)
            call = _calls.call(
                FRAMEWORK, name, _object(name, data.arguments), where, data.id, selection.of(name) or {}, app=app
            )
            held = await _calls.ahold(clients.aio, call)
        except Exception as error:
            return {"approve": False, "reason": as_sentence(unasked(name, error))}
        if not held.go:
            return {"approve": False, "reason": as_sentence(held.result())}
        await held.succeeded(note="allowed; it runs at the model's host, which does not say here what came of it")
        return {"approve": True}

    approve._placet_gate = True  # type: ignore[attr-defined]  # where `placet.coverage` finds it
    return approve


def __getattr__(name: str) -> Any:
    if name != "Resumer":
        raise AttributeError(f"module {__name__} has no attribute {name}")
    from ._openai_resume import Resumer

    return Resumer
