"""LangChain and LangGraph: `PlacetMiddleware` holds tool calls of `create_agent`, or of a bare `ToolNode`.

`mode="block"` waits inside the call. `mode="pause"` ends the run at a LangGraph interrupt and needs a checkpointer; the
resumed run asks Placet what was decided and does not listen to the resume value. `InterruptBridge` (in
`placet.adapters.langgraph`) serves graphs that interrupt by themselves.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from ..covered import GATED, UNASKED, UNCOVERED, Coverage, Part
from ..errors import ConfigError
from ..held import Held
from . import _calls, _names, _needs, _resuming
from ._asking import as_text, edited_note, unasked

_needs.check("langchain", "langchain")
try:
    from langchain.agents.middleware.types import AgentMiddleware, AgentState, PrivateStateAttr
    from langchain_core.messages import AIMessage, ToolMessage
    from langgraph.errors import GraphBubbleUp, GraphInterrupt
    from langgraph.prebuilt import ToolNode
    from langgraph.types import Command, interrupt
    from pydantic import BaseModel, ValidationError
    from typing_extensions import NotRequired
except ImportError as error:
    raise _needs.unmet("langchain", "langchain", error) from error

from .langgraph import InterruptBridge, unless_away, unless_left  # noqa: E402  (after what says what is missing)

if TYPE_CHECKING:
    from langchain.agents.middleware.types import ModelRequest
    from langgraph.prebuilt.tool_node import ToolCallRequest
    from typing_extensions import Unpack

    from ..client import AsyncClient, Client
    from ..models import Call, Record
    from ..words import CallOptions, Mode, Refusal
    from ._langgraph_resume import Resumer

__all__ = ["InterruptBridge", "PlacetMiddleware", "Resumer"]

CARRIES = ("approve", "edit", "deny", "respond")
PINS = "placet_gated"
HOSTED = "it runs at the model's provider, and no middleware sees its calls"

Result = ToolMessage | Command[Any]


class _State(AgentState[Any]):
    placet_gated: NotRequired[Annotated[dict[str, bool], PrivateStateAttr]]
    """What `when` said about each call of this turn, kept with the thread: a resumed run cannot say otherwise."""


class PlacetMiddleware(AgentMiddleware[Any, Any, Any]):
    """Holds tool calls until Placet says yes. List it last: then nothing changes a call between the yes and the run.

    `tools`: names, or a dict of names and options (`risk`, `summary`, `allowed`, `expires_in`, `on_behalf_of`,
    `idempotent`); all tools if left out, and policy says which of them need a person. `when(name, arguments)` narrows
    it further; what it said is kept in the checkpoint, because LangGraph runs a paused call from its beginning again.
    `uncovered`: tools of the model's provider, which no middleware sees. `refuse` (such an agent calls no model),
    `allow`, or the names of those that may run unasked.
    """

    state_schema = _State  # type: ignore[assignment]

    def __init__(
        self,
        client: Client | AsyncClient | None = None,
        *,
        tools: _calls.Tools = None,
        when: Callable[[str, dict[str, Any]], bool] | None = None,
        mode: Mode = "block",
        hold_for: float | None = None,
        session: str | None = None,
        app: str | None = None,
        uncovered: _names.Uncovered = "refuse",
        **options: Unpack[CallOptions],
    ):
        super().__init__()
        self.clients = _calls.Clients(client)
        self.selection = _calls.Selection(tools, options, CARRIES)
        self.when = when
        self.mode = _calls.checked_mode(mode, hold_for)
        self.hold_for = hold_for
        self.session = session
        self.app = app
        self._allowed = _names.checked_uncovered(uncovered)
        self._made_up = _calls.made_up("langchain")
        self._kept = _calls.KeptPermits()

    def tool_node(self, tools: Sequence[Any], **more: Any) -> ToolNode:
        """A gated `ToolNode` for a graph that was not made by `create_agent`."""
        node = ToolNode(tools, wrap_tool_call=self.wrap_tool_call, awrap_tool_call=self.awrap_tool_call, **more)
        self.selection.named.check(node.tools_by_name, "this node")
        return node

    # --- what must be true before anything runs ----------------------------------------------------------------------

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[Any], Any]) -> Any:
        """Before a model is called: none of the tools it is offered may run at its provider."""
        self._startable(request)
        return handler(request)

    async def awrap_model_call(self, request: ModelRequest[Any], handler: Callable[[Any], Awaitable[Any]]) -> Any:
        self._startable(request)
        return await handler(request)

    def _startable(self, request: ModelRequest[Any]) -> None:
        from ._langchain_cover import elsewhere, hosted

        # Remembered, not judged: another middleware may show the model only some of the tools.
        self.selection.named.missing(one.name for one in request.tools if hasattr(one, "name"))
        found = [*hosted(request.tools), *elsewhere(request.model, request.model_settings)]
        parts = [Part(name, "hosted", "agent", UNCOVERED, HOSTED) for name in found]
        _names.refuse_uncovered(Coverage("langchain", "agent", tuple(parts)), self._allowed)
        parts += [self._part(one.name) for one in request.tools if hasattr(one, "name")]
        self.clients.report(Coverage("langchain", "agent", tuple(parts)))

    def _part(self, name: str) -> Part:
        if self.selection.of(name) is not None:
            return Part(name, "tool", "agent", GATED, "each call asks before it runs")
        return Part(name, "tool", "agent", UNASKED, "tools= does not choose it")

    def _named(self, request: ToolCallRequest) -> None:
        """At a call, where LangGraph says which tools there are: an error for a name that none of them has."""
        if self.selection.named.missing(()):
            listed = [one.name for one in getattr(request.runtime, "tools", None) or ()]
            self.selection.named.check([*listed, *self._called(request)], "this agent")

    def _called(self, request: ToolCallRequest) -> list[str]:
        """The name of the tool that is called, if it is a tool at all."""
        return [request.tool.name] if request.tool is not None else []

    # --- which calls -------------------------------------------------------------------------------------------------

    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Asks `when` once about each call of this turn, and keeps what it said with the thread."""
        if self.when is None:
            return None
        message = next((one for one in reversed(state["messages"]) if isinstance(one, AIMessage)), None)
        calls = message.tool_calls if message else []
        return {PINS: {str(one["id"]): self._wanted(one["name"], one["args"]) for one in calls}}

    async def aafter_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return self.after_model(state, runtime)

    def _wanted(self, name: str, arguments: dict[str, Any]) -> bool:
        try:
            return bool(self.when(name, dict(arguments))) if self.when else True
        except Exception:
            # A predicate that fails has not said that nobody needs to be asked.
            return True

    def _options(self, request: ToolCallRequest) -> dict[str, Any] | None:
        """What is said about this call; None when it may pass without asking."""
        pins = request.state.get(PINS) if isinstance(request.state, dict) else None
        if self.when is not None and (pins or {}).get(str(request.tool_call["id"])) is False:
            return None
        return self.selection.of(request.tool_call["name"])

    # --- the call as a request ---------------------------------------------------------------------------------------

    def _call(self, request: ToolCallRequest, options: dict[str, Any]) -> Call:
        tool_call = request.tool_call
        config = getattr(request.runtime, "config", None) or {}
        where = _calls.place(self.session, _thread(request), self._made_up)
        if self.mode == "pause" and _thread(request) is None:
            raise ConfigError("mode='pause' needs a checkpointer and a thread_id, or the run could never be resumed")
        schema, accepts = _schema(request.tool)
        message = _message_of(request)
        # Some providers number their calls from 1 in every message; the message's own id tells them apart.
        call_id = "/".join(part for part in (message, tool_call["id"]) if part)
        return _calls.call(
            "langchain",
            tool_call["name"],
            tool_call["args"],
            where,
            call_id if tool_call["id"] else None,
            options,
            app=self.app,
            context={
                "call_id": tool_call["id"],
                "thread": _thread(request),
                "agent": (config.get("metadata") or {}).get("lc_agent_name"),
                "path": _path(config),
            },
            schema=schema,
            accepts=accepts,
        )

    # --- blocking code -----------------------------------------------------------------------------------------------

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Result]) -> Result:
        self._named(request)
        options = self._options(request)
        if options is None:
            return handler(request)
        try:
            call = self._call(request, options)
            held = self._kept.get(call)
            if self.mode == "pause":
                self._pause(held or _calls.ask(self.clients.sync, call), call)
            held = held or unless_left(_calls.hold(self.clients.sync, call, hold_for=self.hold_for))
        except GraphBubbleUp:
            raise
        except Exception as error:
            unless_away(error)
            return _message(request, unasked(request.tool_call["name"], error))
        if not held.go:
            return _refused(request, held)
        try:
            result = handler(_with(request, held))
        except GraphBubbleUp:
            self._kept.keep(call, held)
            raise
        except Exception as error:
            self._kept.take(call)
            held.failed(error)
            raise
        self._kept.take(call)
        failure = _failure(result)
        held.failed(failure) if failure is not None else held.succeeded(_value(result))
        return _noted(request, result, held)

    # --- async code --------------------------------------------------------------------------------------------------

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Result]]
    ) -> Result:
        self._named(request)
        options = self._options(request)
        if options is None:
            return await handler(request)
        try:
            call = self._call(request, options)
            held = self._kept.get(call)
            if self.mode == "pause":
                self._pause(held or await _calls.aask(self.clients.aio, call), call)
            held = held or unless_left(await _calls.ahold(self.clients.aio, call, hold_for=self.hold_for))
        except GraphBubbleUp:
            raise
        except Exception as error:
            unless_away(error)
            return _message(request, unasked(request.tool_call["name"], error))
        if not held.go:
            return _refused(request, held)
        try:
            result = await handler(_with(request, held))
        except GraphBubbleUp:
            self._kept.keep(call, held)
            raise
        except Exception as error:
            self._kept.take(call)
            await held.failed(error)
            raise
        self._kept.take(call)
        failure = _failure(result)
        await (held.failed(failure) if failure is not None else held.succeeded(_value(result)))
        return _noted(request, result, held)

    # --- pausing -----------------------------------------------------------------------------------------------------

    def _pause(self, asked: Record | Held, call: Call) -> None:
        """Interrupts exactly once for every call that policy holds, decided or not.

        A resumed node runs from its beginning, and LangGraph hands out resume values in the order of the interrupts.
        Were this one left out when the decision is there, the tool's own interrupt would get the value meant for it.
        What it returns is not looked at: anybody who can resume a thread could say anything.
        """
        record = asked.record if isinstance(asked, Held) else asked
        if (record.verdict or {}).get("effect") == "hold":
            interrupt(
                {
                    "type": "placet",
                    "request": record.id,
                    "tool": call.tool,
                    "arguments": call.arguments,
                    "url": record.url,
                    "message": "Waits for a decision in Placet. Resume when it is there; the value does not matter.",
                }
            )
        if record is asked and _resuming.stops_at(record):
            raise GraphInterrupt(())


# --- reading the request ---------------------------------------------------------------------------------------------


def _thread(request: ToolCallRequest) -> str | None:
    """The thread, when it is kept by a checkpointer."""
    info = getattr(request.runtime, "execution_info", None)
    thread = getattr(info, "thread_id", None)
    return None if thread is None else str(thread)


def _message_of(request: ToolCallRequest) -> str | None:
    state = request.state
    messages = state.get("messages") if isinstance(state, dict) else getattr(state, "messages", state)
    for message in reversed(messages if isinstance(messages, list) else []):
        if isinstance(message, AIMessage) and any(one["id"] == request.tool_call["id"] for one in message.tool_calls):
            return message.id
    return None


def _path(config: dict[str, Any]) -> list[str]:
    """The nodes on the way here, outermost first. Without the ids of their runs, which differ from run to run."""
    namespace = (config.get("configurable") or {}).get("checkpoint_ns") or ""
    return [part.split(":", 1)[0] for part in namespace.split("|") if part]


def _schema(tool: Any) -> tuple[dict[str, Any] | None, Callable[[dict[str, Any]], str | None] | None]:
    """The schema of what the model may say (injected arguments are not in it), and the tool's own check of an edit."""
    schema = getattr(tool, "tool_call_schema", None)
    if isinstance(schema, dict):
        return _calls.closed(schema), None
    if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
        return None, None

    def accepts(arguments: dict[str, Any]) -> str | None:
        try:
            schema.model_validate(arguments)
        except ValidationError as error:
            return str(error)
        return None

    return _calls.closed(schema.model_json_schema()), accepts


def _with(request: ToolCallRequest, held: Held) -> ToolCallRequest:
    return request.override(tool_call={**request.tool_call, "args": held.arguments})


# --- what the model gets ---------------------------------------------------------------------------------------------


def _message(request: ToolCallRequest, result: Refusal, status: str = "error") -> ToolMessage:
    return ToolMessage(
        content=as_text(result),
        name=request.tool_call["name"],
        tool_call_id=request.tool_call["id"],
        status=status,
        response_metadata={"placet": result},
    )


def _refused(request: ToolCallRequest, held: Held) -> ToolMessage:
    if held.status != "answered":
        return _message(request, held.result())
    # As LangChain's own `respond`: what the person wrote stands in place of the tool's result.
    message = _message(request, held.result(), "success")
    return message.model_copy(update={"content": held.answer}) if isinstance(held.answer, str) else message


def _noted(request: ToolCallRequest, result: Result, held: Held) -> Result:
    """After an edit the model is told what ran: its own history still shows the call it made."""
    if not held.edited:
        return result
    if isinstance(result, ToolMessage):
        return _prefixed(result, held)
    update = result.update if isinstance(result, Command) else None
    if isinstance(update, dict) and isinstance(update.get("messages"), list):
        mine = request.tool_call["id"]
        messages = [
            _prefixed(one, held) if isinstance(one, ToolMessage) and one.tool_call_id == mine else one
            for one in update["messages"]
        ]
        return replace(result, update={**update, "messages": messages})
    return result


def _prefixed(message: ToolMessage, held: Held) -> ToolMessage:
    text = edited_note(held)
    content = message.content
    changed: Any = f"{text}\n\n{content}" if isinstance(content, str) else [{"type": "text", "text": text}, *content]
    return message.model_copy(
        update={"content": changed, "response_metadata": {**message.response_metadata, **held.note()}}
    )


def _failure(result: Result) -> str | None:
    """The error that LangGraph turned into a message, if it is one."""
    return str(result.content) if isinstance(result, ToolMessage) and result.status == "error" else None


def _value(result: Result) -> Any:
    return result.content if isinstance(result, ToolMessage) else result


def __getattr__(name: str) -> Any:
    from . import langgraph

    return langgraph.__getattr__(name)
