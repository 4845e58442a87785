"""A model that does what the test says, in the place of Anthropic's API.

Claude Code believes it: the Messages API, streamed, with tool calls. It is also the only proxy Claude Code knows, so
that an attempt to reach anything else is seen here and goes nowhere.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LAST_WORDS = "That is all."


class Model:
    """Asks for the tool calls of `turns`, one turn after another, and remembers what it was told of each.

    `turns` maps how a conversation begins to its turns, so that a subagent can have a script of its own. A call is
    `(tool, input)`.
    """

    def __init__(self, turns: dict[str, list[list[tuple[str, dict[str, Any]]]]]):
        self.plan = {
            prompt: [[(f"toolu_{word}_{t}_{c}", *call) for c, call in enumerate(turn)] for t, turn in enumerate(script)]
            for word, (prompt, script) in enumerate(turns.items())
        }
        self.results: dict[str, str] = {}
        self.surprises: list[str] = []
        self.everything = ""
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                if self.path.split("?")[0] != "/v1/messages":
                    self.refuse()
                    return
                events = model.answer(json.loads(body))
                kind = "text/event-stream" if isinstance(events, list) else "application/json"
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("connection", "close")
                self.end_headers()
                if isinstance(events, list):
                    for event in events:
                        self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
                else:
                    self.wfile.write(json.dumps(events).encode())
                self.close_connection = True

            def refuse(self) -> None:
                model.surprises.append(f"{self.command} {self.path}")
                self.send_response(404)
                self.send_header("content-length", "0")
                self.end_headers()

            do_GET = do_HEAD = do_CONNECT = do_PUT = refuse

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def told(self) -> list[str]:
        """What came of the calls, in the order in which they were told."""
        return list(self.results.values())

    def answer(self, request: dict[str, Any]) -> list[dict[str, Any]] | dict[str, Any]:
        said = json.dumps(request["messages"])
        self.everything += said
        # The prompt of a subagent occurs in the conversation that starts it as well: the first one counts.
        script = next((turns for prompt, turns in self.plan.items() if prompt in said), None)
        if script is None or not request.get("tools"):
            return _message(request, "end_turn", [_text(LAST_WORDS)])
        done = {block["tool_use_id"]: _read(block) for block in _blocks(request) if block["type"] == "tool_result"}
        self.results.update(done)
        turn = next((turn for turn in script if any(call[0] not in done for call in turn)), None)
        if turn is None:
            return _message(request, "end_turn", [_text(LAST_WORDS)])
        return _message(request, "tool_use", [_call(*call) for call in turn])


def _blocks(request: dict[str, Any]) -> list[dict[str, Any]]:
    return [block for m in request["messages"] if isinstance(m["content"], list) for block in m["content"]]


def _read(block: dict[str, Any]) -> str:
    content = block.get("content", "")
    return "\n".join(part.get("text", "") for part in content) if isinstance(content, list) else str(content)


def _text(words: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    return {"type": "text", "text": ""}, {"type": "text_delta", "text": words}, {"type": "text", "text": words}


def _call(call_id: str, tool: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    start = {"type": "tool_use", "id": call_id, "name": tool, "input": {}}
    return start, {"type": "input_json_delta", "partial_json": json.dumps(arguments)}, {**start, "input": arguments}


def _message(request: dict[str, Any], stop: str, blocks: list[Any]) -> list[dict[str, Any]] | dict[str, Any]:
    whole = {
        "id": "msg_stand_in",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": [block[2] for block in blocks],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    if not request.get("stream"):
        return whole
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}]
    for index, (start, delta, _) in enumerate(blocks):
        events += [
            {"type": "content_block_start", "index": index, "content_block": start},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    return [
        *events,
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
