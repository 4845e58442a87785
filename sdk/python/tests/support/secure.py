"""The server behind TLS with a CA of its own, and a proxy that is asked to CONNECT to it by another name."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from pathlib import Path
from urllib.parse import urlsplit

TLS = Path(__file__).parent / "tls"
CA = TLS / "ca.pem"


class _Listener:
    """Accepts on a free port; each connection has a thread of its own."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._socket.getsockname()[1])

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._socket.accept()
                threading.Thread(target=self._quietly, args=(client,), daemon=True).start()

    def _quietly(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            self.serve(client)

    def serve(self, client: socket.socket) -> None:
        raise NotImplementedError


class Secure(_Listener):
    """`with Secure(server.url) as tls:`; `https://localhost:{tls.port}` is that server."""

    def __init__(self, upstream: str):
        super().__init__()
        parts = urlsplit(upstream)
        self._upstream = (str(parts.hostname), int(parts.port or 80))
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._context.load_cert_chain(TLS / "server.pem")

    def serve(self, client: socket.socket) -> None:
        with self._context.wrap_socket(client, server_side=True) as secure:
            _join(secure, socket.create_connection(self._upstream))


class Connect(_Listener):
    """A proxy that takes every name for the same place. `seen` has the names it was asked for."""

    def __init__(self, port: int):
        super().__init__()
        self._to = ("127.0.0.1", port)
        self.seen: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def serve(self, client: socket.socket) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            piece = client.recv(4096)
            if not piece:
                return
            head += piece
        method, target, _ = head.split(b"\r\n")[0].decode().split(" ")
        assert method == "CONNECT"
        self.seen.append(target)
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        _join(client, socket.create_connection(self._to))


def _join(one: socket.socket, other: socket.socket) -> None:
    """Carries bytes both ways until one side ends."""

    def carry(source: socket.socket, to: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                to.sendall(piece)
        for end in (source, to):
            with contextlib.suppress(OSError):
                socket.socket.shutdown(end, socket.SHUT_RDWR)

    back = threading.Thread(target=carry, args=(other, one), daemon=True)
    back.start()
    carry(one, other)
    back.join(60)
    other.close()
