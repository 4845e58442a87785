"""The sessions of Google's Agent Engine, as far as ADK's service uses their HTTP API: a fake on this machine."""

from __future__ import annotations

import json
import re
import threading
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from google.adk.sessions.vertex_ai_session_service import VertexAiSessionService

ENGINE = "123"


class Engine:
    """`with Engine() as engine:`; `engine.sessions()` is a new service over the same store."""

    def __init__(self) -> None:
        self.stored: dict[str, dict[str, Any]] = {}
        self.events: dict[str, list[dict[str, Any]]] = {}
        self.lock = threading.Lock()
        engine = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                with engine.lock:
                    parts = urlsplit(self.path)
                    asked = {**dict(parse_qsl(parts.query)), **json.loads(body or b"{}")}
                    status, answer = engine.answer(self.command, parts.path, asked)
                content = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_POST = do_GET

            def log_message(self, *_: object) -> None: ...

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: object) -> None:
                """A client that went away is no error of ours."""

        self._server = Quiet(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Engine:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        found = re.fullmatch(rf"/v1beta1/reasoningEngines/{ENGINE}/sessions(?:/([^/:]+))?(:appendEvent|/events)?", path)
        if found is None:
            return 404, {"error": {"code": 404, "message": f"no {path}"}}
        id, what = found.groups()
        if id is None and method == "POST":
            return 200, {"name": "operations/1", "done": True, "response": self._create(body)}
        if id is None:
            return 200, {"sessions": list(self.stored.values())}
        if id not in self.stored:
            return 404, {"error": {"code": 404, "message": f"no session {id}"}}
        if what == ":appendEvent":
            number = len(self.events[id]) + 1
            self.events[id].append({**body, "name": f"{self.stored[id]['name']}/events/{number}"})
            self.stored[id]["updateTime"] = _now()
            return 200, {}
        return 200, {"sessionEvents": self.events[id]} if what else self.stored[id]

    def _create(self, body: dict[str, Any]) -> dict[str, Any]:
        id = body.get("sessionId") or f"made-{len(self.stored)}"
        made = {"name": f"reasoningEngines/{ENGINE}/sessions/{id}", "userId": body["userId"], "updateTime": _now()}
        self.stored[id] = {**made, "createTime": made["updateTime"]}
        self.events[id] = []
        return self.stored[id]

    def sessions(self) -> VertexAiSessionService:
        engine = self

        class Service(VertexAiSessionService):
            def _api_client_http_options_override(self) -> dict[str, str]:
                return {"base_url": engine.url}

        return Service(agent_engine_id=ENGINE, express_mode_api_key="none")


def _now() -> str:
    return datetime.now(timezone.utc).isoformat().replace("+00:00", "Z")
