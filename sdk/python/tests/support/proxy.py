"""Something between agent and server that misbehaves: it loses answers, answers itself, or holds streams back."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

LOSE = "lose"
"""Forward the call, and close the connection instead of answering."""
REFUSE = "refuse"
"""Close the connection before anything is forwarded."""
HANG = "hang"
"""Send the head of the answer, and nothing else while the proxy is there."""

OURS = {"connection", "host", "content-length"}
"""Headers that belong to one connection, or to a body that may be another one now."""


class Proxy:
    """`with Proxy(server.url) as proxy:`; `proxy.rule(method, path)` says what happens to a call.

    None forwards it; `(status, content_type, body)` answers in place of the server; or one of the words above.
    """

    def __init__(self, upstream: str, rule: Callable[[str, str], object] = lambda method, path: None):
        self.rule = rule
        self.seen: list[tuple[str, str]] = []
        address = urlsplit(upstream).netloc
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                proxy.seen.append((self.command, path))
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                what, body = proxy.judged(self.command, path, body)
                if what == REFUSE:
                    self.close_connection = True
                elif what == HANG:
                    self.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
                    self.wfile.flush()
                    proxy._closed.wait()
                    self.close_connection = True
                elif isinstance(what, tuple):
                    self._answer(what[0], what[1], what[2])
                else:
                    self._forward(body, lose=what == LOSE)

            do_POST = do_PUT = do_GET

            def _forward(self, body: bytes, lose: bool) -> None:
                upstream = http.client.HTTPConnection(address, timeout=60)
                try:
                    headers = {k: v for k, v in self.headers.items() if k.lower() not in OURS}
                    upstream.request(self.command, self.path, body or None, {**headers, "Host": address})
                    answer = upstream.getresponse()
                    kind = answer.getheader("content-type") or ""
                    if lose:
                        answer.read()
                        self.close_connection = True
                    elif kind.startswith("text/event-stream"):
                        self._stream(answer, kind)
                    else:
                        self._answer(answer.status, kind, answer.read(), answer.getheader("retry-after"))
                except OSError:
                    self.close_connection = True
                finally:
                    upstream.close()

            def _stream(self, answer: http.client.HTTPResponse, kind: str) -> None:
                self.close_connection = True
                self.wfile.write(f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n".encode())
                while not proxy._closed.is_set():
                    chunk = answer.read1(65536)
                    if not chunk:
                        return
                    self.wfile.write(chunk)
                    self.wfile.flush()

            def _answer(self, status: int, kind: str, body: bytes | str, after: str | None = None) -> None:
                content = body.encode() if isinstance(body, str) else body
                head = f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(content)}\r\n"
                head += f"retry-after: {after}\r\n" if after else ""
                self.wfile.write(head.encode() + b"\r\n" + content)
                self.wfile.flush()

            def log_message(self, *_: object) -> None: ...

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: object) -> None:
                """A client that went away is no error of ours."""

        self._closed = threading.Event()
        self._server = Quiet(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def judged(self, method: str, path: str, body: bytes) -> tuple[object, bytes]:
        """What happens to a call, and the body that is forwarded."""
        return self.rule(method, path), body

    def count(self, method: str, path: str) -> int:
        return self.seen.count((method, path))

    def wait_for_a_waiter(self) -> None:
        """Waits until a client has asked, and listens for the decision."""
        eventually(lambda: self.count("GET", "/v1/stream") > 0)

    def __enter__(self) -> Proxy:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._server.shutdown()
        self._server.server_close()


class Once:
    """A rule that does one thing to one call of a kind, the first after `skip` others, and forwards the rest."""

    def __init__(self, method: str, ending: str, what: object, skip: int = 0):
        self._method, self._ending, self._what, self._skip = method, ending, what, skip
        self.done = False

    def __call__(self, method: str, path: str) -> object:
        if self.done or method != self._method or not path.endswith(self._ending):
            return None
        if self._skip:
            self._skip -= 1
            return None
        self.done = True
        return self._what


def eventually(condition: Callable[[], bool], within: float = 60.0) -> None:
    """Waits until this holds."""
    until = time.monotonic() + within
    while not condition():
        assert time.monotonic() < until, "it did not come true in time"
        time.sleep(0.02)
