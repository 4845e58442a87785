"""What the adapters of tool-calling frameworks share: which calls are gated, their requests, and their permits."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .. import keys, reporting
from ..client import AsyncClient, Client
from ..core.hold import refusal
from ..core.watch import Watch
from ..errors import ConfigError, Invalid
from ..held import AsyncHeld
from ..models import Call
from ..sessions import current_session as current
from ..words import CallOptions
from . import _names, _resuming

if TYPE_CHECKING:
    from ..covered import Coverage
    from ..held import SyncHeld
    from ..models import Record
    from ..words import Mode

OPTIONS = frozenset({"risk", "summary", "allowed", "expires_in", "on_behalf_of", "idempotent", "on_waiting"})
"""What may be said about one tool. The summary may be a function of the arguments."""

KEPT = 1_000
"""How many calls that stopped in the middle are remembered with their permits."""

Tools = Iterable[str] | Mapping[str, CallOptions | bool] | None


class Selection:
    """Which tools are gated, and their options. Without a list all are gated: policy allows the rest."""

    def __init__(self, tools: Tools, defaults: Mapping[str, Any], carries: Iterable[str]):
        if isinstance(tools, str):
            raise ConfigError(f"tools={tools!r}: give a list of names, or a dict of names and options")
        self._carries = frozenset(carries)
        self._defaults = self._checked("the defaults", {"allowed": tuple(carries), **defaults})
        self._tools: dict[str, dict[str, Any]] | None = None
        tools = list(tools) if tools is not None and not isinstance(tools, Mapping) else tools
        self.named = _names.ToolNames(tools=tools)
        """The names given here, until each was seen to be that of a real tool. The adapter says which there are."""
        if tools is None:
            return
        named = tools.items() if isinstance(tools, Mapping) else ((name, True) for name in tools)
        self._tools = {}
        for name, options in named:
            if options is False:
                continue
            given = {} if options is True else options
            if not isinstance(given, Mapping):
                raise ConfigError(f"tools[{name!r}]: give True, False or a dict of options")
            self._tools[name] = {**self._defaults, **self._checked(f"tools[{name!r}]", given)}

    def _checked(self, where: str, options: Mapping[str, Any]) -> dict[str, Any]:
        for name in options:
            if name not in OPTIONS:
                raise ConfigError(f"{where}: `{name}` is no option; there are {', '.join(sorted(OPTIONS))}")
        found = dict(options)
        _names.checked_risk(where, found.get("risk"))
        if "allowed" in found:
            _names.checked_allowed(where, found["allowed"])
            # A word that the framework cannot carry would be a decision without effect.
            found["allowed"] = tuple(word for word in found["allowed"] if word in self._carries)
            if not {"approve", "edit", "respond"} & set(found["allowed"]):
                raise ConfigError(f"{where}: `allowed` leaves a reviewer nothing to say but no")
        return found

    def of(self, tool: str) -> dict[str, Any] | None:
        """What is said about this tool; None when it is not gated."""
        return self._defaults if self._tools is None else self._tools.get(tool)


def checked_mode(mode: Mode, hold_for: float | None) -> Mode:
    """Whether calls wait where they are, or end the run; for the frameworks that can do both."""
    if mode not in {"block", "pause"}:
        raise ConfigError(f"mode={mode!r}: use block or pause")
    if mode == "pause" and hold_for is not None:
        raise ConfigError("hold_for is for mode='block'; a paused run waits until it is resumed")
    return mode


@dataclass(frozen=True)
class CallPlace:
    """The session of a call, and whether it is the same after a restart."""

    session: str
    lasting: bool


def place(given: str | None, thread: str | None, otherwise: str) -> CallPlace:
    """The session: as given, as `placet.session` around says, as the framework calls its conversation, or made up."""
    around = current()
    found = given or (around.id if around else None) or thread
    return CallPlace(found, True) if found else CallPlace(otherwise, False)


def made_up(framework: str) -> str:
    """A session for a program that has none. It differs in every process, so nothing is found again after a restart."""
    return f"{framework}-{secrets.token_hex(8)}"


def call(
    framework: str,
    tool: str,
    arguments: dict[str, Any],
    where: CallPlace,
    call_id: str | None,
    options: Mapping[str, Any],
    *,
    app: str | None = None,
    context: Mapping[str, Any] | None = None,
    schema: dict[str, Any] | None = None,
    accepts: Callable[[dict[str, Any]], str | None] | None = None,
    group: str | None = None,
) -> Call:
    """One call of the framework as a request. The same call gives the same body and key, in every process."""
    around = current()
    whose = {**(around.context() if around else {}), **(context or {})}
    user, tenant = whose.get("user"), whose.get("tenant")
    strong = None
    if where.lasting and call_id:
        strong = keys.strong(framework, app, where.session, call_id, user=user, tenant=tenant)
    known = around.keys(tool, arguments, strong) if around else keys.Keys(strong)
    given = dict(options)
    summary = given.pop("summary", None)
    details = {
        "framework": framework,
        "app": app,
        "call_id": call_id,
        **whose,
    }
    return Call(
        tool,
        arguments,
        where.session,
        keys=known,
        summary=summary(arguments) if callable(summary) else summary,
        context={name: value for name, value in details.items() if value not in (None, [], "")},
        arguments_schema=schema,
        accepts=accepts,
        group=group,
        **given,
    )


def closed(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a tool's arguments, closed to names the tool does not have: nobody approves what is ignored."""
    found = dict(schema)
    if found.get("type") == "object" and "properties" in found:
        found.setdefault("additionalProperties", False)
    return found


def relaxed(asked: Call, error: Invalid) -> Call:
    """The call without its schema, when that was what the server did not take; `accepts` still judges edits here."""
    if asked.arguments_schema is None or not (error.pointer or "").startswith("/arguments_schema"):
        raise error
    return replace(asked, arguments_schema=None)


def hold(client: Client, asked: Call, **how: Any) -> SyncHeld:
    try:
        return client.hold(asked, **how)
    except Invalid as error:
        return client.hold(relaxed(asked, error), **how)


async def ahold(client: AsyncClient, asked: Call, **how: Any) -> AsyncHeld:
    try:
        return await _taken(client, asked, **how)
    except Invalid as error:
        return await _taken(client, relaxed(asked, error), **how)


async def _taken(
    client: AsyncClient, asked: Call, hold_for: float | None = None, on_outage: str | None = None
) -> AsyncHeld:
    if _resuming.now() is None:
        return await client.hold(asked, hold_for, on_outage=on_outage)
    # A resumer that is cancelled withdraws nothing: the next one goes on with the approval.
    ticket, flow = client._holding(asked, client._terms(hold_for, "leave", on_outage))
    return AsyncHeld(client, await client._drive(flow), asked.tool, ticket.id)


def ask(client: Client, asked: Call) -> Record:
    """Creates the request, or finds it, without waiting and without claiming."""
    known = asked.keys or keys.Keys()
    try:
        found = client.create(asked.body(), key=known.strong, weak_key=known.weak)
    except Invalid as error:
        found = client.create(relaxed(asked, error).body(), key=known.strong, weak_key=known.weak)
    return _told(client, asked, found)


async def aask(client: AsyncClient, asked: Call) -> Record:
    known = asked.keys or keys.Keys()
    try:
        found = await client.create(asked.body(), key=known.strong, weak_key=known.weak)
    except Invalid as error:
        found = await client.create(relaxed(asked, error).body(), key=known.strong, weak_key=known.weak)
    return _told(client, asked, found)


def _told(client: Client | AsyncClient, asked: Call, found: Record) -> Record:
    """The record, once the program knows that it waits for a person."""
    if found.state == "pending":
        for effect in Watch(asked.tool, asked.on_waiting).pending(found):
            client.tell(effect)
    return found


async def permit(client: AsyncClient, asked: Call, record: Record) -> AsyncHeld:
    """The permit of a call whose decision this record shows, or why there is none."""
    if record.state == "approved":
        return await _taken(client, asked)
    return AsyncHeld(client, refusal(record), asked.tool, record.id)


class KeptPermits:
    """Permits of calls that stopped to ask something of their own. The resumed call uses the same permit."""

    def __init__(self) -> None:
        self._held: dict[str, Any] = {}

    def get(self, asked: Call) -> Any:
        return self._held.get(_key(asked))

    def keep(self, asked: Call, held: Any) -> bool:
        """Whether it is kept: of a call without a key nothing can be remembered."""
        key = _key(asked)
        if not key:
            return False
        self._held[key] = held
        while len(self._held) > KEPT:
            self._held.pop(next(iter(self._held)))
        return True

    def take(self, asked: Call) -> Any:
        return self._held.pop(_key(asked), None)


def _key(asked: Call) -> str:
    """The key of this very call; empty when it has none."""
    return (asked.keys.strong if asked.keys else None) or ""


@contextlib.asynccontextmanager
async def claiming(held: Iterable[AsyncHeld]) -> AsyncIterator[None]:
    """While permits are claimed one after the other: if that fails, none of their calls will run."""
    try:
        yield
    except BaseException as error:
        for one in held:
            await one.failed(f"not run: {error}")
        raise


@contextlib.asynccontextmanager
async def going_on(held: Iterable[AsyncHeld]) -> AsyncIterator[None]:
    """While a run goes on that was given these permits: its end is what is reported, as nobody sees the calls."""
    try:
        yield
    except Exception as error:
        for one in held:
            await one.failed(error)
        raise
    for one in held:
        await one.succeeded(note="the run went on")


class Clients:
    """The client in both forms. Frameworks call the same gate from blocking and from async code."""

    def __init__(self, given: Client | AsyncClient | None):
        if given is not None and not isinstance(given, (Client, AsyncClient)):
            raise ConfigError(f"client={type(given).__name__}: give a placet.Client or a placet.AsyncClient")
        self._given = given
        self._made: dict[tuple[type, Client | AsyncClient | None], Any] = {}
        self._unsaid: list[Coverage] = []

    def report(self, found: Coverage) -> None:
        """Tells the server what of the agent is seen; once it is known which server that is."""
        self._unsaid.append(found)
        with contextlib.suppress(ConfigError):
            self._say(self._of(Client))

    def _say(self, client: Any) -> Any:
        while self._unsaid:
            reporting.report(self._unsaid.pop(), client)
        return client

    def _of(self, kind: type) -> Any:
        around = current()
        base = self._given or (around.client if around else None)
        if isinstance(base, kind):
            return base
        if (kind, base) not in self._made:
            # Made where it is needed, so that an agent may be built before its environment is complete.
            self._made[kind, base] = kind() if base is None else base.twin(kind)
        return self._made[kind, base]

    @property
    def sync(self) -> Client:
        return self._say(self._of(Client))  # type: ignore[no-any-return]

    @property
    def aio(self) -> AsyncClient:
        return self._say(self._of(AsyncClient))  # type: ignore[no-any-return]
