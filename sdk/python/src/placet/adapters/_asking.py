"""One gate in front of a framework's calls: whether a call is held, how it is asked about, and what a model is told."""

from __future__ import annotations

import copy
import json
import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .. import args
from ..base import checked_on_outage
from ..errors import Invalid
from ..words import CallOptions
from . import _calls, _names

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..client import AsyncClient, Client
    from ..held import AsyncHeld, Held, SyncHeld
    from ..models import Call
    from ..words import OnOutage, Refusal

log = logging.getLogger("placet")

CARRIES = ("approve", "edit", "deny")
"""These frameworks can let a call run, with other arguments or not at all. None has room for an answer in its place."""
UNEDITABLE = ("approve", "deny")

When = Callable[[str, dict[str, Any]], bool]


class Options(CallOptions, total=False):
    """What all these adapters take: which calls are held, as part of what, and what is said about each of them."""

    tools: _calls.Tools
    when: When | None
    session: str | None
    app: str | None
    on_outage: OnOutage | None
    uncovered: _names.Uncovered


class GateSettings:
    """The options that these adapters share, and the requests they make."""

    def __init__(
        self,
        framework: str,
        client: Client | AsyncClient | None,
        hold_for: float | None,
        /,
        *,
        tools: _calls.Tools = None,
        when: When | None = None,
        session: str | None = None,
        app: str | None = None,
        on_outage: OnOutage | None = None,
        uncovered: _names.Uncovered = "refuse",
        **options: Unpack[CallOptions],
    ):
        self.framework = framework
        self.clients = _calls.Clients(client)
        self.hold_for = hold_for
        self._selection = _calls.Selection(tools, options, CARRIES)
        self.named = self._selection.named
        self.allowed = _names.checked_uncovered(uncovered)
        self._everything = _calls.Selection(None, options, CARRIES)
        self._when = when
        self._session = session
        self._app = app
        self._on_outage = None if on_outage is None else checked_on_outage(on_outage)
        self._made_up = _calls.made_up(framework)

    def chosen(self, tool: str) -> bool:
        """Whether calls of this tool are held."""
        return self._selection.of(tool) is not None

    def options(self, tool: str, arguments: dict[str, Any], *, always: bool = False) -> dict[str, Any] | None:
        """What is said about the calls of a tool; None for a call that is not held. A `when` that fails holds."""
        if always:
            return self._selection.of(tool) or self._everything.of(tool)
        found = self._selection.of(tool)
        if found is None or self._when is None:
            return found
        try:
            return None if self._when(tool, arguments) is False else found
        except Exception:
            log.exception("when= failed for %s; the call is held", tool)
            return found

    def call(
        self,
        tool: str,
        arguments: dict[str, Any],
        options: Mapping[str, Any],
        *,
        session: str | None = None,
        call_id: str | None = None,
        carries: Collection[str] = CARRIES,
        context: Mapping[str, Any] | None = None,
        schema: dict[str, Any] | None = None,
    ) -> Call:
        """The request of one call. `session` and `call_id` are the framework's, as far as it has them.

        With both, its key is that of this very call, so that a resumed run finds its request again.
        """
        args.check_json(arguments)
        # A copy of our own: what people see, and what runs, must not change under their eyes.
        arguments = copy.deepcopy(arguments)
        where = _calls.place(self._session, session, self._made_up)
        said = {**options, "allowed": tuple(word for word in options["allowed"] if word in carries)}
        return _calls.call(
            self.framework, tool, arguments, where, call_id, said, app=self._app, context=context, schema=schema
        )

    async def hold(self, call: Call) -> AsyncHeld:
        client = self.clients.aio
        try:
            return await client.hold(call, self.hold_for, on_outage=self._on_outage)
        except Invalid as error:
            return await client.hold(_unedited(call, error), self.hold_for, on_outage=self._on_outage)

    def hold_blocking(self, call: Call) -> SyncHeld:
        client = self.clients.sync
        try:
            return client.hold(call, self.hold_for, on_outage=self._on_outage)
        except Invalid as error:
            return client.hold(_unedited(call, error), self.hold_for, on_outage=self._on_outage)


def _unedited(call: Call, error: Invalid) -> Call:
    """A tool whose schema the server does not take can be approved all the same; but nobody knows what edit fits it."""
    plain = _calls.relaxed(call, error)
    return replace(plain, allowed=tuple(word for word in plain.allowed if word != "edit"))


def unasked(tool: str, error: Exception) -> Refusal:
    """What a model is told when a call could not be put to anybody: an adapter's own errors are never a yes."""
    log.error("%s was not run, because asking for it failed: %s: %s", tool, type(error).__name__, error)
    return {
        "status": "failed",
        "tool": tool,
        "reason": str(error) or type(error).__name__,
        "message": "The call could not be put before a reviewer, and it was not run.",
        "request": None,
    }


def as_text(result: Refusal) -> str:
    """A structured result for models that only read text."""
    return json.dumps(result, ensure_ascii=False)


def as_sentence(result: Refusal) -> str:
    """The same where one line of prose is expected."""
    parts = [result["message"]]
    if result.get("reason"):
        parts.append(f"The reason: {result['reason']}")
    if "answer" in result:
        answer = result["answer"]
        parts.append(f"The answer: {answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)}")
    if result.get("request"):
        parts.append(f"({result['request']})")
    return " ".join(parts)


def edited_note(held: Held) -> str:
    """For the model, whose own history shows the call as it asked for it."""
    ran = json.dumps(held.arguments, ensure_ascii=False)
    return f"Placet: a reviewer edited this call before it ran. It was executed with these arguments instead: {ran}"
