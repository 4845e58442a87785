"""`@placet.gate`: a function that waits for a person before it runs."""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
from typing import TYPE_CHECKING, Any, Literal, overload

from .aio import AsyncClient
from .args import Signature, check_json, plain
from .base import checked_on_denied, checked_on_outage
from .blocking import Client
from .errors import BlockingCall, ConfigError
from .keys import Keys
from .models import TOOL, Call, checked_allowed, checked_risk, duration
from .sessions import current_session

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from typing_extensions import Unpack

    from .held import AsyncHeld, Held
    from .waiting import OnWaiting
    from .words import (
        AsyncGated,
        Decision,
        Gated,
        GateOptions,
        Gating,
        OnDenied,
        OnOutage,
        P,
        R,
        Raising,
        Refusal,
        Risk,
    )

_defaults: dict[type, Any] = {}
_lock = threading.Lock()


def default(kind: type[Any]) -> Any:
    """The client made from PLACET_URL and PLACET_TOKEN; one for the whole program, made when it is first needed."""
    with _lock:
        if kind not in _defaults:
            _defaults[kind] = kind()
        return _defaults[kind]


def forget_defaults() -> None:
    """Makes the next gated call read PLACET_URL and PLACET_TOKEN again. For tests."""
    with _lock:
        _defaults.clear()


class Gate:
    """The settings of one gated function, and its call before and after the hold."""

    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        tool: str | None,
        risk: Risk | None,
        summary: str | Callable[..., str] | None,
        allowed: Sequence[Decision],
        expires_in: str | float | None,
        hold_for: float | None,
        on_outage: OnOutage | None,
        on_denied: OnDenied,
        describe: Callable[..., dict[str, Any]] | None,
        idempotent: bool,
        client: Client | AsyncClient | None,
        on_waiting: OnWaiting,
    ):
        self.fn = fn
        self.tool: str = tool or str(getattr(fn, "__name__", ""))
        if not TOOL.fullmatch(self.tool):
            raise ConfigError(f"tool={self.tool!r}: use 1 to 200 letters, digits and _ . / : -")
        checked_risk(self.tool, risk)
        checked_allowed(self.tool, allowed)
        self.risk = risk
        self.summary = summary
        self.expires_in = duration(expires_in)
        self.hold_for = hold_for
        self.on_outage = None if on_outage is None else checked_on_outage(on_outage)
        self.on_denied = checked_on_denied(on_denied)
        self.describe = describe
        self.idempotent = idempotent
        self.client = client
        self.on_waiting = on_waiting
        self.signature = Signature(fn)
        # With `describe` the reviewer sees a description; replacing that would not replace the arguments.
        self.allowed = tuple(word for word in allowed if word != "edit" or describe is None)

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Call, dict[str, Any], dict[str, Any]]:
        """What to ask; and the arguments, those that travel and those that stay."""
        travel, stay = self.signature.bind(args, kwargs)
        shown = plain(travel) if self.describe is None else self.describe(**travel)
        check_json(shown)
        around = current_session()
        keys: Keys | None = None
        context: dict[str, Any] | None = None
        if around is not None:
            keys = around.keys(self.tool, shown)
            context = around.context() or None
        call = Call(
            self.tool,
            shown,
            around.id if around is not None else f"process-{_process()}",
            keys=keys,
            summary=self.summary(**travel) if callable(self.summary) else self.summary,
            risk=self.risk,
            context=context,
            allowed=self.allowed,
            expires_in=self.expires_in,
            arguments_schema=None if self.describe else self.signature.schema(),
            accepts=self.signature.misfit,
            idempotent=self.idempotent,
            on_waiting=self.on_waiting,
        )
        return call, travel, stay

    def arguments(self, held: Held, travel: dict[str, Any], stay: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """What to run: the caller's own objects, or after an edit the replacement, made what the signature says."""
        chosen = self.signature.coerced(held.arguments) if held.edited else travel
        return self.signature.call(chosen, stay)

    def refused(self, held: Held) -> Refusal:
        if self.on_denied == "raise":
            held.raise_for_refusal()
        return held.result()

    def client_of(self, kind: type[Any], other: type[Any]) -> Any:
        """The client to use: the gate's own, the session's, or that of the environment."""
        around = current_session()
        for found in (self.client, around.client if around is not None else None):
            if isinstance(found, kind):
                return found
            if isinstance(found, other):
                # The same server and key, for the other way of waiting.
                return _twin(found, kind)
        return default(kind)

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if _on_loop():
            raise BlockingCall(
                f"{self.tool} would wait for a person on the thread of a running event loop and stop everything else; "
                f"use `await {self.fn.__name__}.aio(...)`, or call it with asyncio.to_thread"
            )
        call, travel, stay = self.call(args, kwargs)
        held = self.client_of(Client, AsyncClient).hold(call, self.hold_for, on_outage=self.on_outage)
        if not held.go:
            return self.refused(held)
        try:
            positional, keywords = self.arguments(held, travel, stay)
            value = self.fn(*positional, **keywords)
        except BaseException as error:
            held.failed(error)
            raise
        held.succeeded(value)
        return value

    async def arun(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        call, travel, stay = self.call(args, kwargs)
        held = await self.client_of(AsyncClient, Client).hold(call, self.hold_for, on_outage=self.on_outage)
        if not held.go:
            return self.refused(held)
        if inspect.iscoroutinefunction(self.fn):
            return await self._reported(held, travel, stay)
        # A sync function runs on a thread, where it stops nobody else, and where nobody can stop it: when the caller
        # is cancelled, it still runs to its end and is reported.
        return await asyncio.shield(asyncio.ensure_future(self._reported(held, travel, stay)))

    async def _reported(self, held: AsyncHeld, travel: dict[str, Any], stay: dict[str, Any]) -> Any:
        try:
            positional, keywords = self.arguments(held, travel, stay)
            if inspect.iscoroutinefunction(self.fn):
                value = await self.fn(*positional, **keywords)
            else:
                value = await asyncio.to_thread(self.fn, *positional, **keywords)
        except BaseException as error:
            await held.failed(error)
            raise
        await held.succeeded(value)
        return value


def _twin(client: Any, kind: type[Any]) -> Any:
    twin = getattr(client, "_twin", None)
    if twin is None:
        if client.own_transport:
            raise ConfigError(
                f"a {type(client).__name__} with a transport of its own cannot be used here; pass a {kind.__name__}"
            )
        twin = client._twin = client.twin(kind)
    return twin


def _on_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@functools.lru_cache(maxsize=1)
def _process() -> str:
    """A session for calls outside of any: it groups what one process does, and means nothing after it."""
    import secrets

    return secrets.token_hex(8)


@overload
def gate(  # type: ignore[overload-overlap]  # as in `words.Gating`
    fn: Callable[P, Coroutine[Any, Any, R]], *, on_denied: Literal["return"] = "return", **options: Unpack[GateOptions]
) -> AsyncGated[P, R | Refusal]: ...


@overload
def gate(
    fn: Callable[P, R], *, on_denied: Literal["return"] = "return", **options: Unpack[GateOptions]
) -> Gated[P, R | Refusal]: ...


@overload
def gate(  # type: ignore[overload-overlap]  # as in `words.Gating`
    fn: Callable[P, Coroutine[Any, Any, R]], *, on_denied: Literal["raise"], **options: Unpack[GateOptions]
) -> AsyncGated[P, R]: ...


@overload
def gate(fn: Callable[P, R], *, on_denied: Literal["raise"], **options: Unpack[GateOptions]) -> Gated[P, R]: ...


@overload
def gate(fn: None = None, *, on_denied: Literal["return"] = "return", **options: Unpack[GateOptions]) -> Gating: ...


@overload
def gate(fn: None = None, *, on_denied: Literal["raise"], **options: Unpack[GateOptions]) -> Raising: ...


def gate(
    fn: Callable[..., Any] | None = None,
    *,
    tool: str | None = None,
    risk: Risk | None = None,
    summary: str | Callable[..., str] | None = None,
    allowed: Sequence[Decision] = ("approve", "edit", "deny"),
    expires_in: str | float | None = None,
    hold_for: float | None = None,
    on_outage: OnOutage | None = None,
    on_denied: OnDenied = "return",
    describe: Callable[..., dict[str, Any]] | None = None,
    idempotent: bool = False,
    client: Client | AsyncClient | None = None,
    on_waiting: OnWaiting = "inherit",
) -> Any:
    """Makes a function wait until the right person has said yes. It then runs once, with what was approved.

    Refused, it is not run, and returns `{"status": "denied", …}` for the model (`on_denied="raise"`: raises `Denied`).
    A sync function stays sync; its attribute `aio` is the form for event loops. `describe(**arguments)` returns what
    the reviewer sees when the arguments themselves are not JSON. `idempotent` says that running twice does no harm:
    only then is a call that an earlier process began and never reported asked for again.
    """

    def wrap(fn: Callable[..., Any]) -> Any:
        if isinstance(getattr(fn, "__placet__", None), Gate):
            raise ConfigError(f"{fn.__name__} is gated twice; one gate asks one person")
        if inspect.isgeneratorfunction(fn) or inspect.isasyncgenfunction(fn):
            raise ConfigError(
                f"{fn.__name__} is a generator: it would run after the gate was passed; gate what it calls"
            )
        of_fn = Gate(
            fn,
            tool=tool,
            risk=risk,
            summary=summary,
            allowed=allowed,
            expires_in=expires_in,
            hold_for=hold_for,
            on_outage=on_outage,
            on_denied=on_denied,
            describe=describe,
            idempotent=idempotent,
            client=client,
            on_waiting=on_waiting,
        )

        @functools.wraps(fn)
        async def aio(*args: Any, **kwargs: Any) -> Any:
            return await of_fn.arun(args, kwargs)

        @functools.wraps(fn)
        def blocking(*args: Any, **kwargs: Any) -> Any:
            return of_fn.run(args, kwargs)

        gated: Any = aio if inspect.iscoroutinefunction(fn) else blocking
        aio.__placet__ = gated.__placet__ = of_fn  # type: ignore[attr-defined]
        gated.aio = aio
        return gated

    return wrap if fn is None else wrap(fn)
