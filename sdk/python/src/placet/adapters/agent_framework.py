"""Microsoft Agent Framework: function calls wait for a person.

agent = Agent(client=chat, tools=[...], middleware=[PlacetMiddleware()])
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import digest, errors
from . import _calls, _names, _needs
from ._asking import CARRIES, UNEDITABLE, GateSettings, Options, as_text, edited_note, unasked

_needs.check("agent_framework", "agent-framework")
try:
    from pydantic import BaseModel
    from pydantic_core import to_jsonable_python

    from agent_framework import (
        ChatContext,
        ChatMiddleware,
        Content,
        FunctionInvocationContext,
        FunctionMiddleware,
        FunctionTool,
        Message,
        MiddlewareBundle,
        MiddlewareFailure,
    )
except ImportError as error:
    raise _needs.unmet("agent_framework", "agent-framework", error) from error

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from agent_framework import AgentSession

    from ..client import AsyncClient, Client
    from ..held import AsyncHeld
    from ..models import Call, Record

__all__ = ["PlacetMiddleware"]

log = logging.getLogger("placet")


class _Functions(FunctionMiddleware):
    """The part of the middleware that is called for functions."""

    def __init__(self, gate: PlacetMiddleware):
        self.gate = gate

    async def process(self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]) -> None:
        await self.gate.process(context, call_next)


class _Chats(ChatMiddleware):
    """The part of the middleware that sees what a model is offered."""

    def __init__(self, gate: PlacetMiddleware):
        self.gate = gate

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        self.gate.startable((context.options or {}).get("tools"))
        await call_next()


with warnings.catch_warnings():
    # The framework may still change bundles, and says so to whoever derives a class from them.
    warnings.simplefilter("ignore")

    class _Bundle(MiddlewareBundle):
        pass


class PlacetMiddleware(_Bundle):
    """Holds function calls. Put it last among the function middleware, so that nothing changes a call that was seen.

    A tool with `approval_mode="always_require"` pauses the run before this is asked. `ask` puts what it waits for
    before people, `answers` turns their decisions into the message that resumes the run. The resumed call comes
    through here all the same, and only runs with the permit of its own request: what the message says is not enough.
    """

    def __init__(
        self, client: Client | AsyncClient | None = None, *, hold_for: float | None = None, **options: Unpack[Options]
    ):
        self._asking = GateSettings("agent-framework", client, hold_for, **options)
        super().__init__([_Functions(self), _Chats(self)])

    def startable(self, tools: Any) -> None:
        """Before a model is called: an error for a name that no tool has, and for tools that run at its provider."""
        from ._agent_framework_cover import of_tools

        listed = tools if isinstance(tools, (list, tuple)) else [tools] if tools is not None else []
        try:
            found = of_tools(listed, "agent", self)
            _names.refuse_uncovered(found, self._asking.allowed)
            self._asking.clients.report(found)
            known = [one.name for one in listed if isinstance(one, FunctionTool)]
            self._asking.named.check(known, "this agent")
        except errors.ConfigError as error:
            # An ordinary exception would be one more result for the model.
            raise MiddlewareFailure(str(error)) from error

    async def process(self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Called by the framework for every function call."""
        tool = context.function.name
        if self._asking.named.missing([tool]):
            # Only where no model was seen that offers it. Until the names are known to be right, nothing runs.
            self.startable(context.tools if context.tools is not None else [context.function])
        try:
            arguments = _plain(context.arguments)
            options = self._asking.options(tool, arguments)
            held = None if options is None else await self._asking.hold(self._call(context, arguments, options))
        except errors.Unreachable as error:
            # Only with on_outage="raise". An ordinary exception would be one more result for the model.
            raise MiddlewareFailure(str(error)) from error
        except Exception as error:
            context.result = as_text(unasked(tool, error))
            return
        if held is None:
            await call_next()
        elif not held.go:
            context.result = as_text(held.result())
        else:
            await self._run(context, call_next, held)

    async def _run(
        self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]], held: AsyncHeld
    ) -> None:
        if held.edited:
            context.arguments = dict(held.arguments)
        try:
            await call_next()
        except BaseException as error:
            await held.failed(error)
            raise
        if _changed(context, held.arguments):
            log.error("%s ran with other arguments than were approved (%s)", held.tool, held.request_id)
            await held.failed("another middleware changed the arguments after they were approved")
        else:
            await held.succeeded(_result(context.result))
        if held.edited:
            context.result = _with_note(context.result, edited_note(held))

    def _call(self, context: FunctionInvocationContext, arguments: dict[str, Any], options: dict[str, Any]) -> Call:
        session = context.session.session_id if context.session else None
        call_id = context.metadata.get("function_call_occurrence_id")
        resumed = context.metadata.get("approval_response")
        if resumed is not None:
            return self._paused_call(resumed.function_call, session, options)
        schema = context.function.parameters()
        return self._asking.call(
            context.function.name,
            arguments,
            options,
            session=session,
            call_id=call_id,
            carries=CARRIES if schema else UNEDITABLE,
            schema=_calls.closed(schema) if schema else None,
        )

    def _paused_call(self, call: Content, session: str | None, options: dict[str, Any]) -> Call:
        """The request of a paused call: the same before the pause and after it, so that it is one request.

        After a pause the framework takes a yes or a no; other arguments would make it ask again.
        """
        arguments = to_jsonable_python(dict(call.parse_arguments() or {}))
        return self._asking.call(
            str(call.name), arguments, options, session=session, call_id=call.id or call.call_id, carries=UNEDITABLE
        )

    async def ask(self, requests: Sequence[Content], session: AgentSession) -> list[Record]:
        """Puts the calls that a paused run waits for before people, and returns at once. Asking again changes nothing.

        `requests` are the `user_input_requests` of the response.
        """
        return [await self._create(request, session) for request in _approvals(requests)]

    async def answers(
        self, requests: Sequence[Content], session: AgentSession, timeout: float | None = None
    ) -> Message | None:
        """Waits until all of it is decided: the message to run the agent with. None if `timeout` seconds are over."""
        decided = []
        for request in _approvals(requests):
            record = await self._create(request, session)
            if record.state == "pending":
                record = await self._asking.clients.aio.wait(record.id, timeout)
            if record.state == "pending":
                return None
            # Not the run itself: the permit is claimed when the resumed call comes by.
            yes = record.state == "approved" and record.decision_word in {None, "approve"}
            decided.append(request.to_function_approval_response(yes))
        return Message("user", decided)

    async def _create(self, request: Content, session: AgentSession) -> Record:
        call = request.function_call
        assert call is not None
        # The framework has paused for this call: whatever was chosen to be held, now somebody has to decide.
        options = self._asking.options(str(call.name), {}, always=True)
        assert options is not None
        return await _calls.aask(self._asking.clients.aio, self._paused_call(call, session.session_id, options))


def _approvals(requests: Sequence[Content]) -> list[Content]:
    found = [one for one in requests if one.type == "function_approval_request" and one.function_call is not None]
    if len(found) != len(requests):
        others = sorted({one.type for one in requests if one not in found})
        raise errors.ConfigError(f"only function approvals can be decided in Placet, not {', '.join(others)}")
    return found


def _plain(arguments: Any) -> dict[str, Any]:
    """The arguments as JSON. The framework has made Python objects of what the model wrote, such as dates."""
    if isinstance(arguments, BaseModel):
        return arguments.model_dump(mode="json", exclude_unset=True)
    plain = to_jsonable_python(dict(arguments))
    assert isinstance(plain, dict)
    return plain


def _changed(context: FunctionInvocationContext, approved: dict[str, Any]) -> bool:
    """Whether something else ran than was approved. Both are looked at as the function's own model reads them."""
    model = context.function.input_model
    try:
        if model is not None:
            approved = _plain(model.model_validate(approved).model_dump(exclude_unset=True))
        return digest.canonical(_plain(context.arguments)) != digest.canonical(approved)
    except Exception:
        return True


def _result(result: Any) -> Any:
    """What the function returned, as far as it is JSON, for its digest."""
    if isinstance(result, list):
        return [one.to_dict() if isinstance(one, Content) else one for one in result]
    return result


def _with_note(result: Any, note: str) -> Any:
    if isinstance(result, list):
        return [*result, Content.from_text(note)]
    return f"{result}\n{note}"
