"""What some adapters have in common: which calls are held, how they are asked about, and what a model is told."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .. import args, errors, keys
from ..models import Call
from ..sessions import current_session

if TYPE_CHECKING:
    from ..client import AsyncClient, Client
    from ..held import AsyncHeld, Held, SyncHeld

log = logging.getLogger("placet")

Tools = Collection[str] | Callable[[str, dict[str, Any]], bool] | None
"""Names of tools, or a function of name and arguments; None for every call."""

ALLOWED = ("approve", "edit", "deny")


@dataclass(frozen=True)
class Asking:
    """The options of an adapter, and the calls they make."""

    framework: str
    tools: Tools = None
    risk: str | None = None
    session: str | None = None
    expires_in: str | float | None = None
    hold_for: float | None = None
    on_outage: str | None = None
    on_behalf_of: str | None = None
    # Only for calls of which no session is known: groups them for people, and is never part of a key.
    own: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        if isinstance(self.tools, str):
            raise errors.ConfigError(f"tools: give a list, [{self.tools!r}], or a function of name and arguments")

    def wants(self, tool: str, arguments: dict[str, Any]) -> bool:
        """Whether a call is held. A predicate that fails does not let anything pass."""
        if self.tools is None:
            return True
        if not callable(self.tools):
            return tool in self.tools
        try:
            return self.tools(tool, arguments) is not False
        except Exception:
            log.exception("the function that chooses tools failed for %s; the call is held", tool)
            return True

    def call(
        self,
        tool: str,
        arguments: dict[str, Any],
        *,
        session: str | None = None,
        call_id: str | None = None,
        allowed: Collection[str] = ALLOWED,
        context: dict[str, Any] | None = None,
        schema: dict[str, Any] | None = None,
        risk: str | None = None,
    ) -> Call:
        """The request of one call. `session` and `call_id` are the framework's, as far as it has them.

        With both, the key is that of this very call, so that a resumed run finds its request again.
        """
        args.check_json(arguments)
        around = current_session()
        name = self.session or (around.id if around else None) or session
        app = around.app if around else None
        strong = keys.strong(self.framework, app, name, call_id) if name and call_id else None
        found = around.keys(tool, arguments, strong) if around else keys.Keys(strong)
        where = {"framework": self.framework, **(around.context() if around else {}), **(context or {})}
        return Call(
            tool,
            arguments,
            name or f"{self.framework}-{self.own}",
            keys=found,
            risk=risk or self.risk,
            context={word: value for word, value in where.items() if value is not None},
            allowed=tuple(allowed),
            expires_in=self.expires_in,
            on_behalf_of=self.on_behalf_of,
            arguments_schema=schema,
        )

    async def ask(self, client: AsyncClient, call: Call) -> AsyncHeld:
        try:
            return await client.hold(call, self.hold_for, on_outage=self.on_outage)
        except errors.Invalid as error:
            return await client.hold(_plainer(call, error), self.hold_for, on_outage=self.on_outage)

    def ask_blocking(self, client: Client, call: Call) -> SyncHeld:
        try:
            return client.hold(call, self.hold_for, on_outage=self.on_outage)
        except errors.Invalid as error:
            return client.hold(_plainer(call, error), self.hold_for, on_outage=self.on_outage)


def _plainer(call: Call, error: errors.Invalid) -> Call:
    """A tool whose schema the server does not take can still be approved; without a schema nobody may edit its call."""
    if call.arguments_schema is None or not (error.pointer or "").startswith("/arguments_schema"):
        raise error
    return replace(call, arguments_schema=None, allowed=tuple(word for word in call.allowed if word != "edit"))


def unasked(tool: str, error: Exception) -> dict[str, Any]:
    """What a model is told when a call could not be put before anybody: an adapter's own errors are never a yes."""
    log.error("%s was not run, because asking for it failed: %s: %s", tool, type(error).__name__, error)
    return {
        "status": "failed",
        "tool": tool,
        "reason": str(error) or type(error).__name__,
        "message": "The call could not be put before a reviewer, and it was not run.",
        "request": None,
    }


def as_text(result: dict[str, Any]) -> str:
    """A structured result for models that only read text."""
    return json.dumps(result, ensure_ascii=False)


def as_sentence(result: dict[str, Any]) -> str:
    """The same where one line of prose is expected."""
    parts = [result["message"]]
    if "answer" in result:
        parts.append(f"The answer: {json.dumps(result['answer'], ensure_ascii=False)}")
    if result.get("reason"):
        parts.append(f"The reason: {result['reason']}")
    if result.get("request"):
        parts.append(f"({result['request']})")
    return " ".join(parts)


def edited_note(held: Held) -> str:
    """For the model, whose own history shows the call as it asked for it."""
    ran = json.dumps(held.arguments, ensure_ascii=False)
    return f"Placet: a reviewer edited this call before it ran. It was executed with these arguments instead: {ran}"
