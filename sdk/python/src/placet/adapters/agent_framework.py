"""Microsoft Agent Framework: function calls wait for a person.

agent = Agent(client=chat, tools=[...], middleware=[PlacetMiddleware(placet.AsyncClient())])
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import digest, errors, keys
from ._asking import ALLOWED, Asking, Tools, as_text, edited_note, unasked

try:
    from pydantic import BaseModel
    from pydantic_core import to_jsonable_python

    from agent_framework import Content, FunctionInvocationContext, FunctionMiddleware, Message, MiddlewareFailure
except ImportError as error:  # pragma: no cover
    wanted = "pip install 'placet[agent-framework]'"
    raise ImportError(f"placet.adapters.agent_framework needs Microsoft Agent Framework: {wanted}") from error

if TYPE_CHECKING:
    from agent_framework import AgentSession

    from ..client import AsyncClient
    from ..held import AsyncHeld
    from ..models import Call, Record

__all__ = ["PlacetMiddleware"]

log = logging.getLogger("placet")

UNEDITABLE = ("approve", "deny")
"""After a pause the framework takes a yes or a no: other arguments would make it ask again."""


class PlacetMiddleware(FunctionMiddleware):
    """Holds function calls. Put it last among the function middleware, so that nothing changes a call that was seen.

    A tool with `approval_mode="always_require"` pauses the run before this is asked. `ask` puts what it waits for
    before people, `answers` turns their decisions into the message that resumes the run. The resumed call comes
    through here all the same, and only runs with the permit of its own request: what the message says is not enough.
    """

    def __init__(
        self,
        client: AsyncClient,
        *,
        tools: Tools = None,
        risk: str | None = None,
        session: str | None = None,
        expires_in: str | float | None = None,
        hold_for: float | None = None,
        on_outage: str | None = None,
        on_behalf_of: str | None = None,
    ):
        self.client = client
        self._asking = Asking("agent-framework", tools, risk, session, expires_in, hold_for, on_outage, on_behalf_of)

    async def process(self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Called by the framework for every function call."""
        tool = context.function.name
        try:
            arguments = _plain(context.arguments)
            if not self._asking.wants(tool, arguments):
                held = None
            else:
                held = await self._asking.ask(self.client, self._call(context, arguments))
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
        if _changed(context.arguments, held.arguments):
            log.error("%s ran with other arguments than were approved (%s)", held.tool, held.request_id)
            await held.failed("another middleware changed the arguments after they were approved")
        else:
            await held.succeeded(_result(context.result))
        if held.edited:
            context.result = _with_note(context.result, edited_note(held))

    def _call(self, context: FunctionInvocationContext, arguments: dict[str, Any]) -> Call:
        session = context.session.session_id if context.session else None
        call_id = context.metadata.get("function_call_occurrence_id")
        resumed = context.metadata.get("approval_response")
        if resumed is not None:
            return self._paused_call(resumed.function_call, session)
        schema = context.function.parameters()
        return self._asking.call(
            context.function.name,
            arguments,
            session=session,
            call_id=call_id,
            allowed=ALLOWED if schema else UNEDITABLE,
            schema=schema or None,
        )

    def _paused_call(self, call: Content, session: str | None) -> Call:
        """The request of a paused call: the same before the pause and after it, so that it is one request."""
        arguments = to_jsonable_python(dict(call.parse_arguments() or {}))
        return self._asking.call(
            str(call.name), arguments, session=session, call_id=call.id or call.call_id, allowed=UNEDITABLE
        )

    async def ask(self, requests: Sequence[Content], session: AgentSession) -> list[Record]:
        """Puts the calls that a paused run waits for before people, and returns at once. Asking again changes nothing.

        `requests` are the `user_input_requests` of the response.
        """
        return [await self._create(request, session) for request in _calls(requests)]

    async def answers(
        self, requests: Sequence[Content], session: AgentSession, timeout: float | None = None
    ) -> Message | None:
        """Waits until all of it is decided: the message to run the agent with. None if `timeout` seconds are over."""
        decided = []
        for request in _calls(requests):
            record = await self._create(request, session)
            if record.state == "pending":
                record = await self.client.wait(record.id, timeout)
            if record.state == "pending":
                return None
            # Not the run itself: the permit is claimed when the resumed call comes by.
            yes = record.state == "approved" and record.decision_word in {None, "approve"}
            decided.append(request.to_function_approval_response(yes))
        return Message("user", decided)

    async def _create(self, request: Content, session: AgentSession) -> Record:
        call = self._paused_call(request.function_call, session.session_id)
        given = call.keys or keys.Keys()
        return await self.client.create(call.body(), key=given.strong, weak_key=given.weak)


def _calls(requests: Sequence[Content]) -> list[Content]:
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


def _changed(ran: Any, approved: dict[str, Any]) -> bool:
    try:
        return digest.canonical(_plain(ran)) != digest.canonical(approved)
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
