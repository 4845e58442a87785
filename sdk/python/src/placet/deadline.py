"""Ends for what the blocking client reads: a deadline for a whole exchange, and an end when it is closed.

httpx bounds each read; a slow liar sends a byte in each. And closing a socket does not wake the thread that reads it.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import httpcore
import httpx

_of_thread = threading.local()


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Limits all reads and writes of this thread to so many seconds in all."""
    before = getattr(_of_thread, "until", None)
    _of_thread.until = time.monotonic() + seconds
    try:
        yield
    finally:
        _of_thread.until = before


def lift() -> None:
    """Removes the deadline, for answers without an end such as a stream."""
    _of_thread.until = None


def bound(client: httpx.Client) -> httpx.Client:
    """Makes the connections of a client keep to the deadline of the thread that uses them."""
    for pool in _pools(client):
        pool._network_backend = _Backend(pool._network_backend)
    return client


def hang_up(client: httpx.Client) -> None:
    """Closes the connections of this client, also those that other threads use."""
    for pool in _pools(client):
        if isinstance(pool._network_backend, _Backend):
            pool._network_backend.lines.hang_up()


def _pools(client: httpx.Client) -> Iterator[httpcore.ConnectionPool]:
    for transport in (client._transport, *client._mounts.values()):
        pool = getattr(transport, "_pool", None)
        if isinstance(pool, httpcore.ConnectionPool):
            yield pool


def _left(timeout: float | None, late: type[Exception]) -> float | None:
    until = getattr(_of_thread, "until", None)
    if until is None:
        return timeout
    left: float = until - time.monotonic()
    if left <= 0:
        raise late("the deadline of the whole call is over")
    return left if timeout is None else min(timeout, left)


class _Lines:
    """The open connections of one pool."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: weakref.WeakSet[_Stream] = weakref.WeakSet()
        self._over = False

    def keep(self, inner: httpcore.NetworkStream) -> _Stream:
        stream = _Stream(inner, self)
        with self._lock:
            self._open.add(stream)
            if self._over:
                stream.hang_up()
        return stream

    def hang_up(self) -> None:
        with self._lock:
            self._over = True
            for stream in self._open:
                stream.hang_up()


class _Stream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream, lines: _Lines):
        self._inner = inner
        self._lines = lines

    def hang_up(self) -> None:
        """Ends its reads, and leaves the descriptor to the thread that reads: the number is not free for others yet."""
        line = self._inner.get_extra_info("socket")
        with contextlib.suppress(OSError):
            # Below TLS: no closing handshake is sent.
            socket.socket.shutdown(line, socket.SHUT_RDWR)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, _left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, _left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        timeout = _left(timeout, httpcore.ConnectTimeout)
        return self._lines.keep(self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _Backend(httpcore.NetworkBackend):
    def __init__(self, inner: httpcore.NetworkBackend):
        self._inner = inner
        self.lines = _Lines()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        timeout = _left(timeout, httpcore.ConnectTimeout)
        return self.lines.keep(self._inner.connect_tcp(host, port, timeout, local_address, socket_options))

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.NetworkStream:
        timeout = _left(timeout, httpcore.ConnectTimeout)
        return self.lines.keep(self._inner.connect_unix_socket(path, timeout, socket_options))

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)
