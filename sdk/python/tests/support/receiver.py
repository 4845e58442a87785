"""A receiver of push notifications on this machine: a plain HTTP server that keeps what is posted to it."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Posted:
    path: str
    headers: dict[str, str]
    body: Any


class Receiver:
    """`with Receiver() as receiver:`; `receiver.url`, `receiver.wait_for(1)`. Started again, it has the same port."""

    def __init__(self) -> None:
        self.posted: list[Posted] = []
        self.answers: list[tuple[int, dict[str, str]]] = []
        self._port = 0
        self._server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/told"

    def __enter__(self) -> Receiver:
        self.start()
        return self

    def __exit__(self, *_) -> None:
        self.stop()

    def start(self) -> None:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver.posted.append(Posted(self.path, headers, body))
                status, more = receiver.answers.pop(0) if receiver.answers else (200, {})
                self.send_response(status)
                for name, value in more.items():
                    self.send_header(name, value)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        if self._server:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def wait_for(self, count: int, within: float = 60.0) -> list[Posted]:
        until = time.monotonic() + within
        while len(self.posted) < count:
            assert time.monotonic() < until, f"{len(self.posted)} of {count} were posted within {within} s"
            time.sleep(0.02)
        return list(self.posted)
