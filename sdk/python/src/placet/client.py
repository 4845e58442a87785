"""`Client` and `AsyncClient`: the same calls, one blocking, one not. All thinking is in `core`."""

from __future__ import annotations

import asyncio
import inspect
import os
import time
import weakref
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from . import keys as _keys
from .core import flows, wire
from .core.effects import Effect, Flow, Lost, News, Pause, Reply, Send
from .errors import ConfigError, PlacetError
from .held import AsyncHeld, SyncHeld
from .models import Call, Claim, Page, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import httpx
    from typing_extensions import Self

T = TypeVar("T")

DEFAULT_URL = "http://127.0.0.1:4000"
GONE = 2.0
"""How long withdrawing may take when the caller was cancelled."""
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class _Base:
    """What both clients are made of."""

    def __init__(
        self,
        url: str | None,
        token: str | None,
        timeout: float,
        outage_budget: float,
        on_outage: str,
        name: str | None,
        transport: Any,
    ):
        self.url = checked_url(url or os.environ.get("PLACET_URL") or DEFAULT_URL)
        found = token or os.environ.get("PLACET_TOKEN")
        if not found:
            raise ConfigError("no key: set PLACET_TOKEN, or pass token=; `placet key new --role agent` makes one")
        if not found.isascii() or not found.isprintable() or " " in found:
            raise ConfigError("the key has characters that no key has; check PLACET_TOKEN")
        if timeout <= 0 or outage_budget < 0:
            raise ConfigError("timeout must be more than 0 s, and outage_budget at least 0 s")
        self._token = found
        self.timeout = timeout
        self.name = name
        self.transport = transport
        self.settings = flows.Settings(self.url, outage_budget, checked_on_outage(on_outage))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url})"

    def _options(self) -> dict[str, Any]:
        """What httpx is told."""
        import httpx

        host = urlsplit(self.url).hostname or ""
        agent = "placet-python/0.2.0" + (f" ({self.name})" if self.name else "")
        return {
            "base_url": self.url,
            "headers": {"Authorization": f"Bearer {self._token}", "User-Agent": agent},
            "timeout": httpx.Timeout(self.timeout, pool=None),
            # Idle connections are let go before the server closes them.
            "limits": httpx.Limits(max_connections=128, max_keepalive_connections=64, keepalive_expiry=20.0),
            "follow_redirects": False,
            # Nothing on this machine is behind a proxy, whatever the environment says.
            "trust_env": host not in LOOPBACK,
            # Reading the certificates of the world takes a while, and plain HTTP needs none.
            "verify": self.url.startswith("https:"),
            "transport": self.transport,
        }

    def _request(self, call: Send) -> dict[str, Any]:
        import httpx

        headers = dict(call.headers)
        if call.body is not None:
            headers["Content-Type"] = "application/json"
        # Held calls may take longer by what the server was asked to hold them.
        timeout = httpx.Timeout(self.timeout, read=self.timeout + call.held_for, pool=None)
        return {
            "method": call.method,
            "url": call.path,
            "params": dict(call.query) or None,
            "headers": headers,
            "content": call.body,
            "timeout": timeout,
        }

    def _hold(
        self, call: Call, hold_for: float | None, then: str, on_outage: str | None
    ) -> tuple[flows.Ticket, Flow[flows.Outcome]]:
        if then not in {"cancel", "leave"}:
            raise ConfigError(f"then={then!r}: use `cancel` or `leave`")
        if hold_for is not None and not hold_for >= 0:
            raise ConfigError(f"hold_for={hold_for!r}: use seconds")
        asked = flows.ticket(call)
        word = self.settings.on_outage if on_outage is None else checked_on_outage(on_outage)
        return asked, flows.hold(call, asked, self.settings, hold_for, then, word)


def checked_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigError(f"{url!r} is no URL of a server; PLACET_URL looks like http://127.0.0.1:4000")
    return url.rstrip("/")


def checked_on_outage(word: str) -> str:
    if word not in flows.ON_OUTAGE:
        raise ConfigError(f"on_outage={word!r}: use deny, raise or pause; there is no fourth way, and none is a yes")
    return word


def checked_on_denied(word: str) -> str:
    if word not in {"return", "raise"}:
        raise ConfigError(f"on_denied={word!r}: use return or raise")
    return word


def reply(response: httpx.Response) -> Reply:
    """An answer of httpx, as the core reads it."""
    after = response.headers.get("retry-after", "")
    return Reply(
        response.status_code,
        response.headers.get("content-type", ""),
        float(after) if after.isdigit() else None,
        response.content,
    )


def lost(error: Exception) -> Lost:
    """The innermost cause says something: "connection refused" rather than "all attempts failed"."""
    import httpx

    if isinstance(error, httpx.TimeoutException):
        return Lost("it did not answer in time")
    cause: BaseException = error
    while cause.__cause__ or cause.__context__:
        cause = cause.__cause__ or cause.__context__  # type: ignore[assignment]
    return Lost(str(cause) or str(error) or type(error).__name__)


def decision_body(decision: str, digest: str, version: int, **rest: Any) -> dict[str, Any]:
    body = {"decision": decision, "digest": digest, "version": version}
    return {**body, **{name: value for name, value in rest.items() if value is not None}}


class AsyncClient(_Base):
    """The client for asyncio. Use one for the whole program; it may be used on several event loops."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = 5.0,
        outage_budget: float = 30.0,
        on_outage: str = "deny",
        name: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ):
        super().__init__(url, token, timeout, outage_budget, on_outage, name, transport)
        # Connections belong to the loop they were made on.
        self._http: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = (
            weakref.WeakKeyDictionary()
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections of this event loop."""
        http = self._http.pop(asyncio.get_running_loop(), None)
        if http is not None:
            await http.aclose()

    def _client(self) -> httpx.AsyncClient:
        import httpx

        loop = asyncio.get_running_loop()
        http = self._http.get(loop)
        if http is None:
            http = self._http[loop] = httpx.AsyncClient(**self._options())
        return http

    async def _perform(self, effect: Effect) -> Any:
        if isinstance(effect, Send):
            import httpx

            try:
                return reply(await self._client().request(**self._request(effect)))
            except (httpx.HTTPError, OSError) as error:
                return lost(error)
        if isinstance(effect, Pause):
            return await asyncio.sleep(effect.seconds)
        assert isinstance(effect, News)
        return "poll"

    async def _drive(self, flow: Flow[T]) -> T:
        try:
            effect = next(flow)
            while True:
                effect = flow.send(await self._perform(effect))
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]
        finally:
            flow.close()

    async def _shielded(self, flow: Flow[T]) -> T:
        """Goes on to its end even if the caller is cancelled meanwhile."""
        return await asyncio.shield(asyncio.ensure_future(self._drive(flow)))

    async def hold(
        self, call: Call, hold_for: float | None = None, then: str = "cancel", *, on_outage: str | None = None
    ) -> AsyncHeld:
        """Create, wait, claim. Only `held.go` lets the call run, once; report with `held.succeeded` or `.failed`."""
        asked, flow = self._hold(call, hold_for, then, on_outage)
        outcome = await self._withdrawn(asked, flow)
        return AsyncHeld(self, outcome, call.tool, asked.id)

    async def _withdrawn(self, asked: flows.Ticket, flow: Flow[flows.Outcome]) -> flows.Outcome:
        """Drives a flow; if the caller is cancelled, what it asked is withdrawn."""
        try:
            return await self._drive(flow)
        except PlacetError:
            raise
        except BaseException:
            if asked.sent:
                farewell = asyncio.ensure_future(self._drive(flows.abandon(asked, self.settings)))
                try:
                    await asyncio.wait_for(asyncio.shield(farewell), GONE)
                except (asyncio.TimeoutError, asyncio.CancelledError):
                    pass
            raise

    async def run(
        self,
        call: Call,
        fn: Callable[..., Any],
        *,
        hold_for: float | None = None,
        on_denied: str = "return",
        on_outage: str | None = None,
    ) -> Any:
        """Holds the call, runs `fn(**arguments)` once if it may, reports, and returns its value or `held.result()`."""
        checked_on_denied(on_denied)
        held = await self.hold(call, hold_for, on_outage=on_outage)
        if not held.go:
            if on_denied == "raise":
                held.raise_for_refusal()
            return held.result()
        try:
            value = fn(**held.arguments)
            if inspect.isawaitable(value):
                value = await value
        except BaseException as error:
            await held.failed(error)
            raise
        await held.succeeded(value)
        return value

    async def create(
        self,
        body: dict[str, Any],
        *,
        key: str | None = None,
        weak_key: str | None = None,
        wait: float | None = None,
        claimant: str | None = None,
        claim: bool = False,
    ) -> Record:
        """Asks. With `claim` the answer may carry `permit` in its `raw`."""
        call = wire.create(
            body, key=key or _keys.random(), weak_key=weak_key, wait=wait, claimant=claimant, claim=claim
        )
        return await self._drive(flows.send(call, self.settings, flows.a_record()))

    async def get(self, id: str, *, wait: float | None = None, version: int | None = None) -> Record:
        """Reads. With `wait`, once it is no longer pending (with `version`: once that is no longer its version)."""
        call = wire.get(id, wait=wait, version=version)
        return await self._drive(flows.send(call, self.settings, flows.a_record(id)))

    async def wait(self, id: str, timeout: float | None = None) -> Record:
        """The request once it is no longer pending, or as it stands after `timeout` seconds."""
        return await self._drive(flows.wait(await self.get(id), self.settings, timeout))

    async def claim(self, id: str, claimant: str) -> Claim:
        """Takes the permit. The same claimant gets the same one again; anybody else `Conflict`."""
        return await self._drive(flows.claim(id, claimant, self.settings))

    async def report(
        self, id: str, permit: str, status: str, *, result_digest: str | None = None, note: str | None = None
    ) -> Record:
        """Says what became of it: `succeeded` or `failed`."""
        call = wire.report(id, permit, status, result_digest, note)
        return await self._drive(flows.send(call, self.settings, flows.a_record(id)))

    async def cancel(self, id: str, reason: str | None = None) -> Record:
        """Withdraws a request that is pending, or approved and not claimed."""
        return await self._drive(flows.send(wire.cancel(id, reason), self.settings, flows.a_record(id)))

    async def decide(
        self,
        id: str,
        decision: str,
        *,
        digest: str,
        version: int,
        reason: str | None = None,
        arguments: dict[str, Any] | None = None,
        answer: Any = None,
        steps: Sequence[dict[str, Any]] | None = None,
    ) -> Record:
        """For people: decides on exactly what the record with this digest and version showed."""
        body = decision_body(decision, digest, version, reason=reason, arguments=arguments, answer=answer, steps=steps)
        return await self._drive(flows.send(wire.decide(id, body), self.settings, flows.a_record(id)))

    async def list(self, **query: str | int) -> Page:
        """For people: `state`, `agent`, `tool`, `session`, `risk`, `group`, `q`, `cursor`, `limit`."""
        return await self._drive(flows.listing({name: str(value) for name, value in query.items()}, self.settings))


class Client(_Base):
    """The blocking client. Safe to use from several threads; waiting calls share one stream."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = 5.0,
        outage_budget: float = 30.0,
        on_outage: str = "deny",
        name: str | None = None,
        transport: httpx.BaseTransport | None = None,
    ):
        super().__init__(url, token, timeout, outage_budget, on_outage, name, transport)
        self._http: httpx.Client | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        http, self._http = self._http, None
        if http is not None:
            http.close()

    def _client(self) -> httpx.Client:
        import httpx

        if self._http is None:
            self._http = httpx.Client(**self._options())
        return self._http

    def _perform(self, effect: Effect) -> Any:
        if isinstance(effect, Send):
            import httpx

            try:
                return reply(self._client().request(**self._request(effect)))
            except (httpx.HTTPError, OSError) as error:
                return lost(error)
        if isinstance(effect, Pause):
            return time.sleep(effect.seconds)
        assert isinstance(effect, News)
        return "poll"

    def _drive(self, flow: Flow[T]) -> T:
        try:
            effect = next(flow)
            while True:
                effect = flow.send(self._perform(effect))
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]
        finally:
            flow.close()

    def hold(
        self, call: Call, hold_for: float | None = None, then: str = "cancel", *, on_outage: str | None = None
    ) -> SyncHeld:
        """Create, wait, claim. Only `held.go` lets the call run, once; report with `held.succeeded` or `.failed`."""
        asked, flow = self._hold(call, hold_for, then, on_outage)
        try:
            outcome = self._drive(flow)
        except PlacetError:
            raise
        except BaseException:
            if asked.sent:
                self._drive(flows.abandon(asked, self.settings))
            raise
        return SyncHeld(self, outcome, call.tool, asked.id)

    def run(
        self,
        call: Call,
        fn: Callable[..., T],
        *,
        hold_for: float | None = None,
        on_denied: str = "return",
        on_outage: str | None = None,
    ) -> T | dict[str, Any]:
        """Holds the call, runs `fn(**arguments)` once if it may, reports, and returns its value or `held.result()`."""
        checked_on_denied(on_denied)
        held = self.hold(call, hold_for, on_outage=on_outage)
        if not held.go:
            if on_denied == "raise":
                held.raise_for_refusal()
            return held.result()
        try:
            value = fn(**held.arguments)
        except BaseException as error:
            held.failed(error)
            raise
        held.succeeded(value)
        return value

    def create(
        self,
        body: dict[str, Any],
        *,
        key: str | None = None,
        weak_key: str | None = None,
        wait: float | None = None,
        claimant: str | None = None,
        claim: bool = False,
    ) -> Record:
        """Asks. With `claim` the answer may carry `permit` in its `raw`."""
        call = wire.create(
            body, key=key or _keys.random(), weak_key=weak_key, wait=wait, claimant=claimant, claim=claim
        )
        return self._drive(flows.send(call, self.settings, flows.a_record()))

    def get(self, id: str, *, wait: float | None = None, version: int | None = None) -> Record:
        """Reads. With `wait`, once it is no longer pending (with `version`: once that is no longer its version)."""
        return self._drive(flows.send(wire.get(id, wait=wait, version=version), self.settings, flows.a_record(id)))

    def wait(self, id: str, timeout: float | None = None) -> Record:
        """The request once it is no longer pending, or as it stands after `timeout` seconds."""
        return self._drive(flows.wait(self.get(id), self.settings, timeout))

    def claim(self, id: str, claimant: str) -> Claim:
        """Takes the permit. The same claimant gets the same one again; anybody else `Conflict`."""
        return self._drive(flows.claim(id, claimant, self.settings))

    def report(
        self, id: str, permit: str, status: str, *, result_digest: str | None = None, note: str | None = None
    ) -> Record:
        """Says what became of it: `succeeded` or `failed`."""
        call = wire.report(id, permit, status, result_digest, note)
        return self._drive(flows.send(call, self.settings, flows.a_record(id)))

    def cancel(self, id: str, reason: str | None = None) -> Record:
        """Withdraws a request that is pending, or approved and not claimed."""
        return self._drive(flows.send(wire.cancel(id, reason), self.settings, flows.a_record(id)))

    def decide(
        self,
        id: str,
        decision: str,
        *,
        digest: str,
        version: int,
        reason: str | None = None,
        arguments: dict[str, Any] | None = None,
        answer: Any = None,
        steps: Sequence[dict[str, Any]] | None = None,
    ) -> Record:
        """For people: decides on exactly what the record with this digest and version showed."""
        body = decision_body(decision, digest, version, reason=reason, arguments=arguments, answer=answer, steps=steps)
        return self._drive(flows.send(wire.decide(id, body), self.settings, flows.a_record(id)))

    def list(self, **query: str | int) -> Page:
        """For people: `state`, `agent`, `tool`, `session`, `risk`, `group`, `q`, `cursor`, `limit`."""
        return self._drive(flows.listing({name: str(value) for name, value in query.items()}, self.settings))
