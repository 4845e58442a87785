"""A gateway in memory that speaks as a Placet server does: for tests of agents, without a server and without people."""

from __future__ import annotations

import contextlib
import json
import secrets
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx

from ..aio import AsyncClient
from ..blocking import Client
from ..errors import ConfigError
from ..models import Record
from .state import Problem, Requests
from .transport import AsyncTransport, Calls, Transport, refused

URL = "http://placet.test"
WEATHERS = ("refused", "timeout", "error", "html", "foreign")


class Gateway:
    """What an agent under test talks to; and the test decides.

        gateway = Gateway(policy=lambda call: "allow" if call.tool.startswith("get_") else "hold")
        client = gateway.async_client()
        ...
        gateway.approve(tool="delete_files")        # waits for it, then approves it

    `policy(record)` says `allow`, `hold` or `deny` of each action; without one, everything is held.
    """

    def __init__(self, policy: Callable[[Record], str] | None = None):
        self.policy = policy
        self.requests = Requests(lambda raw: self.policy(_seen(raw)) if self.policy else "hold")
        self.calls = Calls(self)
        self.seen: list[tuple[str, str]] = []
        self.token = "plk_agent_" + secrets.token_hex(16)
        self.reviewer_token = "plk_reviewer_" + secrets.token_hex(16)
        self._weather: str | None = None
        self._events: list[tuple[int, bytes]] = []
        self._streams: list[Callable[[bytes], None]] = []
        self._always: tuple[str, dict[str, Any]] | Callable[[Record], tuple[str, dict[str, Any]]] | None = None
        self.requests.listeners.append(self._happened)

    # Clients

    @property
    def transport(self) -> httpx.BaseTransport:
        """For `placet.Client(transport=…)`."""
        return Transport(self)

    @property
    def async_transport(self) -> httpx.AsyncBaseTransport:
        """For `placet.AsyncClient(transport=…)`."""
        return AsyncTransport(self)

    def client(self, **options: Any) -> Client:
        """A blocking client of the agent under test."""
        return Client(URL, self.token, **{"transport": self.transport, **options})

    def async_client(self, **options: Any) -> AsyncClient:
        """A client for asyncio, of the agent under test."""
        return AsyncClient(URL, self.token, **{"transport": self.async_transport, **options})

    # People

    @property
    def pending(self) -> list[Record]:
        """What waits for a decision, oldest first."""
        return [one for one in self.all if one.state == "pending"]

    @property
    def all(self) -> list[Record]:
        """Every request, oldest first."""
        with self.requests.lock:
            return [_seen(self.requests.read(id)) for id in list(self.requests.records)]

    def next(self, tool: str | None = None, within: float = 5.0) -> Record:
        """The oldest request that waits for a decision; waits for one. Not on the thread of an event loop."""
        until = time.monotonic() + within
        while True:
            found = [one for one in self.pending if tool in (None, one.tool)]
            if found:
                return found[0]
            if time.monotonic() >= until:
                raise AssertionError(f"nothing waits for a decision (tool={tool}) after {within:g} s")
            time.sleep(0.005)

    def decide(
        self, which: Record | str | None, decision: str, by: str = "ann", tool: str | None = None, **fields: Any
    ) -> Record:
        """Decides one request as a person: this one, or the oldest pending one."""
        record = which if isinstance(which, Record) else self.next(tool) if which is None else self.get(which)
        body = {"decision": decision, "digest": record.digest, "version": record.version, **fields}
        return _seen(self.requests.decide(record.id, by, body))

    def approve(self, which: Record | str | None = None, *, tool: str | None = None) -> Record:
        return self.decide(which, "approve", tool=tool)

    def edit(self, arguments: dict[str, Any], which: Record | str | None = None, *, tool: str | None = None) -> Record:
        return self.decide(which, "edit", tool=tool, arguments=arguments)

    def deny(self, reason: str = "no", which: Record | str | None = None, *, tool: str | None = None) -> Record:
        return self.decide(which, "deny", tool=tool, reason=reason)

    def respond(self, answer: Any, which: Record | str | None = None, *, tool: str | None = None) -> Record:
        return self.decide(which, "respond", tool=tool, answer=answer)

    def expire(self, which: Record | str | None = None, *, tool: str | None = None) -> Record:
        """Lets a request expire."""
        return _seen(self.requests.end(self._id(which, tool), "expired"))

    def revoke(self, which: Record | str) -> Record:
        """Revokes the approval."""
        return _seen(self.requests.end(self._id(which, None), "revoked"))

    def always(self, decision: str | Callable[[Record], tuple[str, dict[str, Any]]] | None, **fields: Any) -> None:
        """From now on every request is decided at once: by a word, or by a function of the record. None ends it."""
        self._always = (decision, fields) if isinstance(decision, str) else decision

    def get(self, id: str) -> Record:
        return _seen(self.requests.read(id))

    def advance(self, by: float) -> None:
        """Moves the gateway's clock by so many seconds: what is overdue then expires, or lapses."""
        self.requests.advance(by)

    def _id(self, which: Record | str | None, tool: str | None) -> str:
        if which is None:
            return self.next(tool).id
        return which.id if isinstance(which, Record) else which

    # Outages

    @contextlib.contextmanager
    def outage(self, kind: str = "refused") -> Iterator[None]:
        """An outage: `refused`, `timeout`, `error` (503), `html` (a proxy answers), `foreign` (other JSON)."""
        self.down(kind)
        try:
            yield
        finally:
            self.up()

    def down(self, kind: str = "refused") -> None:
        if kind not in WEATHERS:
            raise ConfigError(f"outage {kind!r}: use one of {', '.join(WEATHERS)}")
        self._weather = kind
        for tell in list(self._streams):
            tell(b"")

    def up(self) -> None:
        self._weather = None

    def weather(self, request: httpx.Request) -> httpx.Response | None:
        """What comes in place of the gateway's answer during an outage, if anything comes at all."""
        kind = self._weather
        if kind == "refused":
            raise httpx.ConnectError("connection refused", request=request)
        if kind == "timeout":
            raise httpx.ReadTimeout("timed out", request=request)
        if kind == "error":
            return refused(Problem(503, "busy", "the server is busy"))
        if kind == "html":
            return httpx.Response(200, html="<html>sign in to the hotel's network</html>")
        if kind == "foreign":
            return httpx.Response(200, json={"hello": "world"})
        return None

    # The stream

    def who(self, authorization: str) -> tuple[str, str]:
        """Role and name of a key."""
        token = authorization.removeprefix("Bearer ")
        if token == self.token:
            return "agent", "bot"
        if token == self.reviewer_token:
            return "reviewer", "ann"
        raise Problem(401, "unauthorized", "the key is unknown or was revoked")

    def cursor(self) -> str:
        return f"test.{len(self._events)}"

    def opening(self) -> bytes:
        return f"retry: 1000\nid: {self.cursor()}\n\n".encode()

    @contextlib.contextmanager
    def listening(self, put: Callable[[bytes], None]) -> Iterator[None]:
        """An open stream."""
        self._streams.append(put)
        try:
            yield
        finally:
            self._streams.remove(put)

    def _happened(self, event: str, raw: dict[str, Any]) -> None:
        number = len(self._events) + 1
        data = json.dumps({"id": f"test.{number}", "type": event, "at": raw["created_at"], "record": raw})
        chunk = f"id: test.{number}\nevent: {event}\ndata: {data}\n\n".encode()
        self._events.append((number, chunk))
        for put in list(self._streams):
            put(chunk)
        if event == "request.created" and raw["state"] == "pending" and self._always is not None:
            word, fields = self._always(_seen(raw)) if callable(self._always) else self._always
            self.decide(_seen(raw), word, **fields)


def _seen(raw: dict[str, Any]) -> Record:
    return Record(raw, base=URL)
