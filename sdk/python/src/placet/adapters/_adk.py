"""What the adapters for google-adk share: where a call comes from, and what is asked for it."""

from __future__ import annotations

import contextvars
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from placet import args as arguments_of
from placet import errors, keys
from placet.models import Call
from placet.sessions import current_session
from placet.waiting import OnWaiting

from . import _names, _needs

_needs.check("adk", "adk")
try:
    from google.adk.tools.agent_tool import AgentTool
    from google.adk.tools.base_tool import BaseTool
except ImportError as error:
    raise _needs.unmet("adk", "adk", error) from error

logger = logging.getLogger("placet.adk")

FRAMEWORK = "google-adk"

BYE = 2.0
"""Seconds that the report of a cancelled run may take."""

HAND_OVERS = frozenset({"transfer_to_agent", "set_model_response", "exit_loop", "finish_task"})
"""Tools by which ADK steers itself. They change nothing outside, so nobody is asked unless they are named."""

Tools = Iterable[str] | Callable[[Any], bool] | None


@dataclass(frozen=True)
class CallOrigin:
    """Where a call comes from. Nested in an `AgentTool`, session and invocation are those of the outermost run: the
    inner ones are thrown away with the call and would mean nothing to a person, nor to a restarted process."""

    app: str | None
    session: str
    known: bool
    """Whether the session is ADK's own, and so survives a restart."""
    user: str | None
    agent: str | None
    invocation: str | None
    call_id: str | None
    turn: str | None
    """The stored event in which the model made the call. Some models use the same call ids over and over."""
    inner_session: str | None
    lineage: tuple[str, ...]
    """The agents above this one, outermost first."""
    live: bool
    resumable: bool
    node: str | None = None
    """The path of the workflow's node that is this call itself. No model made the call, and none hears of it."""

    @property
    def nested(self) -> bool:
        return bool(self.lineage)

    def context(self) -> dict[str, Any]:
        """What a person sees of it. Equal for the same call after a restart, as the idempotency key demands."""
        found = {
            "framework": FRAMEWORK,
            "app": self.app,
            "user": self.user,
            "agent": self.agent,
            "invocation_id": self.invocation,
            "call_id": self.call_id,
            "lineage": list(self.lineage) or None,
        }
        return {name: value for name, value in found.items() if value is not None}


OUTER: contextvars.ContextVar[CallOrigin | None] = contextvars.ContextVar("placet_adk_outer", default=None)
AROUND: contextvars.ContextVar[tuple[Any, ...]] = contextvars.ContextVar("placet_adk_around", default=())
"""The root agents of the runs around this one: a gate that several agents share may name the tools of all of them."""


def where(tool_context: Any) -> CallOrigin:
    """Reads ADK's context. Whatever is missing or of another type is left out, never guessed."""
    session = getattr(tool_context, "session", None)
    invocation = getattr(tool_context, "_invocation_context", None)
    own_session = _text(getattr(session, "id", None))
    outer = OUTER.get()
    if outer is not None and outer.inner_session == own_session:
        outer = None  # asked from within the tool itself, or by an agent that shares the session
    around = current_session() if own_session is None else None
    if around is not None:
        return CallOrigin(
            around.app, around.id, True, around.user, around.agent, around.invocation,
            None, None, None, tuple(around.lineage), False, False,
        )  # fmt: skip
    resumability = getattr(invocation, "resumability_config", None)
    node = _node(tool_context)
    # A node that goes on after a pause gets a new call id; its path stays the same.
    call_id = node or _text(getattr(tool_context, "function_call_id", None))
    turn = _turn(session, call_id)
    # An answer to a paused call may come in an invocation of its own; the call stays one of the first.
    own_invocation = _text(getattr(turn or tool_context, "invocation_id", None))
    return CallOrigin(
        app=outer.app if outer else _text(getattr(session, "app_name", None)),
        session=outer.session if outer else own_session or "adk",
        known=outer.known if outer else own_session is not None,
        user=outer.user if outer else _text(getattr(session, "user_id", None)),
        agent=node or _text(getattr(tool_context, "agent_name", None)),
        invocation=outer.invocation if outer else own_invocation,
        call_id=call_id,
        turn=_text(getattr(turn, "id", None)) or own_invocation,
        inner_session=own_session,
        lineage=(*outer.lineage, outer.agent or "?") if outer else (),
        live=getattr(invocation, "live_request_queue", None) is not None,
        resumable=getattr(resumability, "is_resumable", False) is True,
        node=node,
    )


def _node(tool_context: Any) -> str | None:
    node = getattr(tool_context, "node", None)
    return (
        _text(getattr(tool_context, "node_path", None)) if isinstance(getattr(node, "tool", None), BaseTool) else None
    )


def _turn(session: Any, call_id: str | None) -> Any:
    """The newest event of the session that holds this call. The same one after a restart, and after a pause."""
    events = getattr(session, "events", None)
    for event in reversed(events) if isinstance(events, list) and call_id else ():
        if any(one.id == call_id for one in event.get_function_calls()):
            return event
    return None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


class Counter:
    """Numbers equal calls within one invocation, so that two intended equal calls are two requests.

    A call that comes again under its own id (a resumed run) keeps its number.
    """

    KEPT = 1024

    def __init__(self) -> None:
        self._invocations: OrderedDict[str, tuple[keys.Ordinals, dict[str, int]]] = OrderedDict()

    def turn(self, place: CallOrigin) -> str | None:
        """Which message of the user it belongs to: the same call in another one is another call."""
        return place.invocation

    def number(self, place: CallOrigin, tool: str, arguments: Any) -> int:
        name = f"{place.session}/{place.invocation}"
        if name not in self._invocations:
            self._invocations[name] = (keys.Ordinals(), {})
            if len(self._invocations) > self.KEPT:
                self._invocations.popitem(last=False)
        ordinals, known = self._invocations[name]
        if place.call_id is None:
            return ordinals.next(tool, arguments)
        call = f"{place.turn}/{place.call_id}"
        if call not in known:
            known[call] = ordinals.next(tool, arguments)
        return known[call]


@dataclass
class GateSettings:
    """Which calls are gated, and how. Shared by all calls of one adapter object."""

    tools: Tools = None
    risk: str | Mapping[str, str] | None = None
    summary: Callable[[Any, dict[str, Any]], str | None] | None = None
    allowed: Sequence[str] = ("approve", "edit", "deny")
    expires_in: str | float | None = None
    counter: Counter = field(default_factory=Counter)
    unsure: bool = False
    """Whether some name in `tools` is not known to be that of a real tool. Until it is, every call is asked for."""
    on_waiting: OnWaiting = "inherit"

    def __post_init__(self) -> None:
        if isinstance(self.tools, str):
            raise errors.ConfigError(f"tools must be a set of names, such as {{{self.tools!r}}}, not one string")
        if self.tools is not None and not callable(self.tools):
            self.tools = frozenset(self.tools)
        risks = self.risk if isinstance(self.risk, Mapping) else {"": self.risk}
        for tool, risk in risks.items():
            _names.checked_risk(f"risk[{tool!r}]" if tool else "risk", risk)
        _names.checked_allowed("allowed", self.allowed)
        self.named = _names.ToolNames(
            tools=None if callable(self.tools) else self.tools,
            risk=self.risk if isinstance(self.risk, Mapping) else None,
        )

    def wants(self, tool: Any) -> bool:
        """Whether a call of this tool is asked for here. A tool that asks for itself is not asked for twice."""
        if hasattr(getattr(tool, "func", None), "__placet__"):
            return False
        if self.tools is None:
            return tool.name not in HAND_OVERS and not isinstance(tool, AgentTool)
        if callable(self.tools):
            # Only a plain False lets a call pass unasked: a predicate that forgets to answer asks.
            return self.tools(tool) is not False
        return self.unsure or tool.name in self.tools

    def call(self, tool: Any, arguments: dict[str, Any], place: CallOrigin) -> Call:
        name = tool.name
        signature = _signature(tool)
        turn = self.counter.turn(place)
        weak = None
        if place.known:
            agent = "/".join((*place.lineage, place.agent or "?"))
            # For each agent: which of two is faster may be otherwise after a restart.
            number = self.counter.number(place, f"{agent}/{name}", arguments)
            weak = keys.weak(place.app, place.session, agent, name, arguments, number, user=place.user, turn=turn)
        strong = None
        if place.known and place.call_id and place.inner_session:
            call_id = f"{place.turn}/{place.call_id}"
            strong = keys.strong(FRAMEWORK, place.app, place.inner_session, call_id, user=place.user)
        return Call(
            name,
            # What is asked must stay what it is, whatever happens to ADK's own dict meanwhile.
            _copy(arguments),
            place.session,
            keys=keys.Keys(strong=strong, weak=weak),
            summary=self.summary(tool, arguments) if self.summary else None,
            risk=self.risk.get(name) if isinstance(self.risk, Mapping) else self.risk,
            context=place.context() if turn is None else {**place.context(), "turn": turn},
            allowed=tuple(self.allowed),
            expires_in=self.expires_in,
            arguments_schema=signature.schema() if signature else None,
            accepts=signature.misfit if signature else None,
            on_waiting=self.on_waiting,
        )


def _copy(arguments: dict[str, Any]) -> dict[str, Any]:
    arguments_of.check_json(arguments)
    copy: dict[str, Any] = copied(arguments)
    return copy


def copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: copied(item) for name, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value


def _signature(tool: Any) -> arguments_of.Signature | None:
    """What a function tool takes. Other tools (MCP, OpenAPI) check their arguments themselves when they run."""
    fn = getattr(tool, "func", None)
    if not callable(fn):
        return None
    hidden = getattr(tool, "_ignore_params", ())
    try:
        return arguments_of.Signature(fn, hidden if isinstance(hidden, (list, tuple, set, frozenset)) else ())
    except (TypeError, ValueError):
        return None


def page(client: Any, record: Any) -> str:
    """Where a person decides, as a whole URL. The server's own one is relative unless it was told its public one."""
    found = str(record.url or "")
    return found if "://" in found else f"{client.url}/{found.lstrip('/')}"


def checked_on_denied(word: str | None) -> None:
    if word not in {None, "return", "raise"}:
        raise errors.ConfigError(f"on_denied={word!r}: use return or raise")


def raises(on_denied: str | None, place: CallOrigin, status: str | None = None) -> bool:
    """Whether a call that does not run raises. A node of a workflow has no model that would understand a refusal: the
    next node would take it for the tool's result. An answer of a person is one."""
    if on_denied is None:
        return place.node is not None and status != "answered"
    return on_denied == "raise"


def not_run(tool: str, error: BaseException) -> dict[str, Any]:
    """What the model is told when the adapter itself failed: not a no of anybody, and still not a yes."""
    return {
        "status": "failed",
        "tool": tool,
        "reason": str(error) or type(error).__name__,
        "message": f"`{tool}` was not run: asking for approval failed ({error}). Nobody said no.",
    }
