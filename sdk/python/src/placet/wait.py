"""Waiting: one shared stream for all waiting calls, read by one task (or, for the blocking client, by one thread)."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from typing import TYPE_CHECKING, Any

from .core import wire
from .core.board import LOOKS, SILENCE, Board
from .core.effects import OVER, NewsResult, NewsWait
from .core.listen import Event, Listener
from .core.sse import TooLong

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    import httpx

PATH = "/v1/stream"
GONE = 2.0
"""How long closing waits for the thread that listens."""
UNHEARD = 1.0
"""How long a Ctrl-C may go unheard: on another thread, or right before a wait begins, it does not end the wait."""


class NoStream(Exception):
    """Somebody answered, but not with a stream."""


class ServerBusy(Exception):
    """The server answered that it cannot, for now."""

    def __init__(self, after: float | None):
        super().__init__()
        self.after = after


def options(listener: Listener, timeout: float) -> dict[str, Any]:
    import httpx

    return {
        "method": "GET",
        "url": PATH,
        "headers": listener.headers(),
        "timeout": httpx.Timeout(timeout, read=SILENCE, pool=None),
    }


def check(response: httpx.Response) -> None:
    """Whether this is a stream."""
    if response.status_code >= 500 or response.status_code == 408:
        raise ServerBusy(wire.retry_after(response.headers.get("retry-after", "")))
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if response.status_code != 200 or kind != "text/event-stream":
        raise NoStream(f"status {response.status_code}, {kind or 'no content type'}")


async def events(http: httpx.AsyncClient, listener: Listener, timeout: float) -> AsyncGenerator[Event, None]:
    """The events of one connection."""
    import anyio

    with anyio.fail_after(timeout):
        response = await http.send(http.build_request(**options(listener, timeout)), stream=True)
    try:
        check(response)
        async for chunk in response.aiter_raw():
            for event in listener.feed(chunk):
                yield event
    finally:
        await response.aclose()


def blocking_events(http: httpx.Client, listener: Listener, timeout: float) -> Generator[Event, None, None]:
    """The events of one connection."""
    from . import deadline

    with deadline.within(timeout), http.stream(**options(listener, timeout)) as response:
        deadline.lift()
        check(response)
        for chunk in response.iter_raw():
            yield from listener.feed(chunk)


def after(error: Exception | None, board: Board) -> float:
    """How long to pause after a connection ended in this way."""
    if isinstance(error, (NoStream, TooLong)):
        return board.unusable()
    return board.down(error.after if isinstance(error, ServerBusy) else None)


class AsyncHub:
    """Everybody who waits on one event loop."""

    def __init__(self, http: httpx.AsyncClient, timeout: float):
        self.board = Board()
        self.looks = asyncio.Semaphore(LOOKS)
        self.http = http
        self._timeout = timeout
        self._task: asyncio.Task[None] | None = None

    async def news(self, news: NewsWait) -> NewsResult:
        loop = asyncio.get_running_loop()
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._listen(), name="placet stream")
        told: asyncio.Future[NewsResult] = loop.create_future()

        def tell(what: NewsResult) -> None:
            if not told.done():
                told.set_result(what)

        slot, within = self.board.enter(news, tell)
        timer = loop.call_later(within, tell, OVER)
        try:
            return await told
        finally:
            timer.cancel()
            self.board.leave(slot)

    async def _listen(self) -> None:
        import httpx

        listener = Listener()
        while not self._ended():
            error: Exception | None = None
            try:
                async with contextlib.aclosing(events(self.http, listener, self._timeout)) as arriving:
                    async for event in arriving:
                        self.board.happened(event)
                        if self._ended():
                            return
            except (httpx.HTTPError, httpx.StreamError, OSError, NoStream, ServerBusy, TooLong) as caught:
                error = caught
            await asyncio.sleep(after(error, self.board))

    def _ended(self) -> bool:
        """Whether the listener may go. Said before its connection is closed: whoever comes meanwhile starts another."""
        if self.board.wanted():
            return False
        self._task = None
        return True

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self.http.aclose()


class Hub:
    """Everybody who waits in one process with the blocking client. They wait on their own threads; one more listens."""

    def __init__(self, http: httpx.Client, timeout: float):
        self.board = Board()
        self.looks = threading.Semaphore(LOOKS)
        self.http = http
        self._timeout = timeout
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()

    def news(self, news: NewsWait) -> NewsResult:
        told: queue.SimpleQueue[NewsResult] = queue.SimpleQueue()
        with self._lock:
            slot, within = self.board.enter(news, told.put)
            if self._thread is None:
                self._thread = threading.Thread(target=self._listen, name="placet stream", daemon=True)
                self._thread.start()
        until = time.monotonic() + within
        try:
            while True:
                left = max(0.0, until - time.monotonic())
                with contextlib.suppress(queue.Empty):
                    return told.get(timeout=min(left, UNHEARD))
                if not left:
                    return OVER
        finally:
            self.board.leave(slot)

    def _listen(self) -> None:
        import httpx

        listener = Listener()
        while not self._ended():
            error: Exception | None = None
            try:
                for event in blocking_events(self.http, listener, self._timeout):
                    self.board.happened(event)
                    if self._ended():
                        return
            except (httpx.HTTPError, httpx.StreamError, OSError, NoStream, ServerBusy, TooLong, RuntimeError) as caught:
                # RuntimeError: the client was closed meanwhile.
                error = caught
            self._closed.wait(after(error, self.board))

    def _ended(self) -> bool:
        """Whether the listener may go. Said under the lock: nobody begins to wait on a listener that left."""
        with self._lock:
            if self._closed.is_set() or not self.board.wanted():
                self._thread = None
                return True
            return False

    def close(self) -> None:
        from . import deadline

        with self._lock:
            self._closed.set()
            listener = self._thread
        deadline.hang_up(self.http)
        if listener is not None and listener is not threading.current_thread():
            listener.join(GONE)
        self.http.close()
