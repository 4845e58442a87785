"""The gateway's HTTP: the calls of the server's API that agents and reviewers make, as transports for httpx."""

from __future__ import annotations

import asyncio
import json
import queue
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any

import httpx

from .. import args
from ..errors import NotJson
from ..models import seconds
from .state import Problem

if TYPE_CHECKING:
    from .gateway import Gateway

HEARTBEAT = 1.0


class Waiting(Exception):
    """The answer is to wait until this says so, or until the time is over."""

    def __init__(self, ready: Callable[[], bool], within: float, then: Callable[[], httpx.Response]):
        super().__init__()
        self.ready, self.within, self.then = ready, within, then


class Streaming(Exception):
    """The answer is the stream of events."""


class Calls:
    """The handlers of the calls."""

    def __init__(self, gateway: Gateway):
        self._gateway = gateway

    def answer(self, request: httpx.Request) -> httpx.Response:
        """The answer; or `Waiting`, or `Streaming`. Raises httpx's own errors during an outage."""
        gateway = self._gateway
        gateway.seen.append((request.method, request.url.path))
        disguise = gateway.weather(request)
        if disguise is not None:
            return disguise
        try:
            return self._route(request)
        except Problem as problem:
            return refused(problem)
        except NotJson as error:
            return refused(Problem(422, "invalid", str(error)))

    def _route(self, request: httpx.Request) -> httpx.Response:
        role, name = self._gateway.who(request.headers.get("authorization", ""))
        requests = self._gateway.requests
        parts = request.url.path.strip("/").split("/")
        query = request.url.params
        if parts == ["v1", "stream"]:
            raise Streaming
        if parts[:2] != ["v1", "requests"] or len(parts) > 4:
            raise Problem(404, "not_found", "there is nothing here for you")
        verb = parts[3] if len(parts) == 4 else None
        body = args.read_json(request.content or b"{}") if request.method == "POST" else {}
        if len(parts) == 2:
            if request.method == "GET":
                _only(role, "reviewer")
                found = [one for one in requests.records.values() if query.get("state") in (None, one["state"])]
                return said({"items": found[::-1], "next_cursor": None, "event_id": self._gateway.cursor()})
            _only(role, "agent")
            status, record = requests.create(
                name, body, request.headers.get("idempotency-key"), request.headers.get("placet-weak-key")
            )
            return self._created(request, status, record)
        id = parts[2]
        if verb is None:
            return self._get(query, id)
        return self._verb(verb, role, name, id, body)

    def _verb(self, verb: str, role: str, name: str, id: str, body: dict[str, Any]) -> httpx.Response:
        requests = self._gateway.requests
        if verb == "decision":
            _only(role, "reviewer")
            return said(requests.decide(id, name, body))
        if verb == "revoke":
            _only(role, "reviewer")
            return said(requests.end(id, "revoked"))
        _only(role, "agent")
        if verb == "claim":
            claimed = requests.claim(id, body.get("claimant"))
            decision = claimed["decision"] or {}
            return said(
                {
                    "permit": claimed["permit"],
                    "arguments": decision.get("arguments") or claimed["arguments"],
                    "digest": decision.get("digest") or claimed["digest"],
                    "report_by": claimed["report_by"],
                }
            )
        if verb == "outcome":
            return said(requests.report(id, body))
        if verb == "cancel":
            return said(requests.end(id, "cancelled", body.get("reason")))
        raise Problem(404, "not_found", "there is nothing here for you")

    def _created(self, request: httpx.Request, status: int, record: dict[str, Any]) -> httpx.Response:
        requests, id = self._gateway.requests, record["id"]
        claiming = request.url.params.get("claim") == "true"

        def now() -> httpx.Response:
            found = requests.read(id)
            if claiming and found["state"] == "approved" and found["claimable"]:
                found = requests.claim(id, request.headers.get("placet-claimant"))
            return said(found, status)

        return self._waited(request.url.params, lambda: requests.read(id)["state"] != "pending", now)

    def _get(self, query: httpx.QueryParams, id: str) -> httpx.Response:
        requests = self._gateway.requests
        version = query.get("version")

        def ready() -> bool:
            found = requests.read(id)
            return bool(found["state"] != "pending" if version is None else str(found["version"]) != version)

        return self._waited(query, ready, lambda: said(requests.read(id)))

    def _waited(
        self, query: httpx.QueryParams, ready: Callable[[], bool], then: Callable[[], httpx.Response]
    ) -> httpx.Response:
        within = seconds(query.get("wait")) if "wait" in query else None
        if within and not ready():
            raise Waiting(ready, within, then)
        return then()


def _only(role: str, wanted: str) -> None:
    if role != wanted:
        raise Problem(403, "forbidden", f"a key of the role {role} cannot do this")


def said(found: dict[str, Any], status: int = 200) -> httpx.Response:
    return httpx.Response(status, json=found)


def refused(problem: Problem) -> httpx.Response:
    document: dict[str, Any] = {
        "title": problem.code,
        "status": problem.status,
        "code": problem.code,
        "detail": problem.detail,
    }
    if problem.record is not None:
        document["record"] = problem.record
    content = json.dumps(document).encode()
    return httpx.Response(problem.status, content=content, headers={"content-type": "application/problem+json"})


STREAM = {"content-type": "text/event-stream"}


class Transport(httpx.BaseTransport):
    """For `placet.Client`."""

    def __init__(self, gateway: Gateway):
        self._gateway = gateway

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        try:
            return self._gateway.calls.answer(request)
        except Streaming:
            return httpx.Response(200, headers=STREAM, stream=Stream(self._gateway, request))
        except Waiting as waiting:
            return self._wait(waiting)

    def _wait(self, waiting: Waiting) -> httpx.Response:
        until = time.monotonic() + waiting.within
        while not waiting.ready() and time.monotonic() < until:
            time.sleep(0.01)
        return waiting.then()


class AsyncTransport(httpx.AsyncBaseTransport):
    """For `placet.AsyncClient`."""

    def __init__(self, gateway: Gateway):
        self._gateway = gateway

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        try:
            return self._gateway.calls.answer(request)
        except Streaming:
            return httpx.Response(200, headers=STREAM, stream=AsyncStream(self._gateway, request))
        except Waiting as waiting:
            return await self._wait(waiting)

    async def _wait(self, waiting: Waiting) -> httpx.Response:
        until = time.monotonic() + waiting.within
        while not waiting.ready() and time.monotonic() < until:  # noqa: ASYNC110 (changes come from threads, too)
            await asyncio.sleep(0.01)
        return waiting.then()


class Stream(httpx.SyncByteStream):
    """Events, for a thread that reads them."""

    def __init__(self, gateway: Gateway, request: httpx.Request):
        self._gateway, self._request = gateway, request

    def __iter__(self) -> Iterator[bytes]:
        arriving: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        with self._gateway.listening(arriving.put):
            yield self._gateway.opening()
            while True:
                try:
                    yield arriving.get(timeout=HEARTBEAT)
                except queue.Empty:
                    yield b": heartbeat\n\n"
                if self._gateway.weather(self._request) is not None:
                    raise httpx.ReadError("cut off", request=self._request)


class AsyncStream(httpx.AsyncByteStream):
    """Events, for an event loop."""

    def __init__(self, gateway: Gateway, request: httpx.Request):
        self._gateway, self._request = gateway, request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        arriving: asyncio.Queue[bytes] = asyncio.Queue()

        def put(chunk: bytes) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(arriving.put_nowait, chunk)

        with self._gateway.listening(put):
            yield self._gateway.opening()
            while True:
                # Not `wait_for`, which before Python 3.12 may lose the cancellation of who waits here.
                heartbeat = loop.call_later(HEARTBEAT, put, b": heartbeat\n\n")
                try:
                    yield await arriving.get()
                finally:
                    heartbeat.cancel()
                if self._gateway.weather(self._request) is not None:
                    raise httpx.ReadError("cut off", request=self._request)
