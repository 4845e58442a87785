"""A server that speaks Placet's API and lies: one mode for each lie. Loopback only; the standard library only.

Start it with `python3 server.py`: it prints its port. The base address of a client is `http://127.0.0.1:PORT/MODE/RUN`,
where RUN is any name: runs know nothing of each other. `GET …/MODE/RUN/_seen` lists the calls of that run;
`GET /_modes` lists the modes.
"""

from __future__ import annotations

import json
import secrets
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

sys.path.insert(0, str(Path(__file__).parent))

import records
from modes import MODES, Mode


class Run:
    """What one client asked for in one mode."""

    def __init__(self) -> None:
        self.requests: dict[str, dict[str, Any]] = {}
        self.permits: dict[str, str] = {}
        self.seen: list[str] = []


class Hostile(ThreadingHTTPServer):
    """All runs of all modes, on one port."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.runs: dict[tuple[str, str], Run] = {}
        self.lock = threading.Lock()
        self.over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def run_of(self, mode: str, run: str) -> Run:
        with self.lock:
            return self.runs.setdefault((mode, run), Run())

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients hang up on liars. That is no news."""


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: Hostile
    mode: Mode
    run: Run

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.answer()

    def do_POST(self) -> None:
        self.answer()

    def answer(self) -> None:
        parts = urlsplit(self.path).path.strip("/").split("/")
        length = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(length) or b"{}")
        if parts == ["_modes"]:
            return self.say(200, {"modes": [one.described() for one in MODES.values()]})
        self.mode = MODES[parts[0]]
        self.run = self.server.run_of(parts[0], parts[1])
        if parts[2:] == ["_seen"]:
            return self.say(200, {"seen": self.run.seen})
        path = "/".join(parts[2:])
        self.run.seen.append(f"{self.command} /{path}")
        if parts[2:] == ["v1", "stream"]:
            return self.told("stream", 200, {})
        if parts[2:4] != ["v1", "requests"]:
            return self.say(404, records.problem(404, "not_found"))
        if len(parts) == 4:
            return self.create(body)
        id = parts[4]
        if id not in self.run.requests:
            return self.say(404, records.problem(404, "not_found"))
        verb = parts[5] if len(parts) > 5 else "get"
        return {"get": self.get, "claim": self.claim, "outcome": self.report, "cancel": self.cancel}[verb](id, body)

    def create(self, body: dict[str, Any]) -> None:
        record = records.asked(body)
        if not self.mode.waits:
            record = records.approved(record, self.mode.edits(record))
        id = record["id"]
        permit = None
        if "claim=true" in self.path and record["state"] == "approved":
            record, permit = self.permitted(record)
        self.run.requests[id] = record
        self.told("create", 201, {**record, "permit": permit} if permit else record)

    def get(self, id: str, _: dict[str, Any]) -> None:
        record = self.run.requests[id]
        if record["state"] == "pending" and self.mode.decides:
            record = self.run.requests[id] = records.approved(record, self.mode.edits(record))
        elif record["state"] == "pending":
            held = parse_qs(urlsplit(self.path).query).get("wait")
            self.server.over.wait(0.3 if held else 0)
        self.told("get", 200, record)

    def permitted(self, record: dict[str, Any]) -> tuple[dict[str, Any], str]:
        permit = self.run.permits.setdefault(record["id"], "prm_" + secrets.token_hex(16))
        return records.claimed(record), permit

    def claim(self, id: str, _: dict[str, Any]) -> None:
        record = self.run.requests[id]
        if record["state"] not in {"approved", "claimed"}:
            return self.say(409, records.problem(409, "not_approved", record))
        record, permit = self.permitted(record)
        self.run.requests[id] = record
        return self.told("claim", 200, records.permit_of(record, permit))

    def report(self, id: str, body: dict[str, Any]) -> None:
        record = self.run.requests[id] = records.ended(self.run.requests[id], str(body.get("status")))
        self.told("report", 200, record)

    def cancel(self, id: str, _: dict[str, Any]) -> None:
        record = self.run.requests[id] = records.ended(self.run.requests[id], "cancelled")
        self.told("cancel", 200, record)

    def told(self, point: str, status: int, document: dict[str, Any]) -> None:
        """The answer, or the lie in its place."""
        lie = self.mode.lies.get(point)
        if lie is not None:
            return lie(self, status, document)
        if point == "stream":
            return self.stream()
        return self.say(status, document)

    def say(self, status: int, document: Any) -> None:
        kind = "application/json" if status < 400 else "application/problem+json"
        self.send(status, json.dumps(document).encode(), kind)

    def send(self, status: int, body: bytes, kind: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def raw(self, *pieces: bytes) -> None:
        """Bytes as they are. The connection ends after them."""
        self.close_connection = True
        for piece in pieces:
            self.wfile.write(piece)

    def stream(self, *events: bytes) -> None:
        """The stream of events, open until the client goes."""
        self.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nretry: 1000\nid: h.1\n\n")
        # A moment later: clients read once when a stream opens, and listen from then on.
        while not self.server.over.wait(0.2):
            self.raw(b": still here\n\n", *events)


def start() -> Hostile:
    """The server, on a thread."""
    server = Hostile()
    threading.Thread(target=server.serve_forever, name="hostile", daemon=True).start()
    return server


if __name__ == "__main__":
    running = start()
    print(running.server_port, flush=True)
    # It ends with whoever started it.
    sys.stdin.read()
    running.over.set()
