"""A2A by hand: the JSON that goes over the wire, in both versions, without an SDK that would change it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

import httpx

NAMES = {
    "send": ("message/send", "SendMessage"),
    "stream": ("message/stream", "SendStreamingMessage"),
    "get": ("tasks/get", "GetTask"),
    "list": ("tasks/list", "ListTasks"),
    "cancel": ("tasks/cancel", "CancelTask"),
    "subscribe": ("tasks/resubscribe", "SubscribeToTask"),
}


class Refused(Exception):
    """The peer answered with an error."""

    def __init__(self, error: dict[str, Any]):
        super().__init__(f"{error.get('code')}: {error.get('message')}")
        self.code = error.get("code")
        self.error = error


class Wire:
    """`Wire(url, token).send("hello")`; version is "1.0" or "0.3", and what comes back is the JSON as it was sent."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        version: str = "1.0",
        timeout: float = 60.0,
        headers: dict[str, str] | None = None,
    ):
        self.url = url
        self.new = version == "1.0"
        self.headers = {**(headers or {}), **({"A2A-Version": version} if self.new else {})}
        if token:
            self.headers["Authorization"] = f"Bearer {token}"
        self.timeout = timeout

    def message(self, *parts: Any, task: str | None = None, context: str | None = None, **more: Any) -> dict[str, Any]:
        """Text becomes a text part, a dict a data part; `(data, metadata)` a data part with metadata."""
        made = {"messageId": uuid.uuid4().hex, "role": "ROLE_USER" if self.new else "user", **more}
        if not self.new:
            made["kind"] = "message"
        if task:
            made["taskId"] = task
        if context:
            made["contextId"] = context
        made["parts"] = [self._part(one) for one in parts]
        return made

    def _part(self, one: Any) -> dict[str, Any]:
        data, metadata = one if isinstance(one, tuple) else (one, None)
        part = {"text": data} if isinstance(data, str) else {"data": data}
        if not self.new:
            part["kind"] = "text" if isinstance(data, str) else "data"
        return {**part, **({"metadata": metadata} if metadata else {})}

    def _body(self, what: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": uuid.uuid4().hex, "method": NAMES[what][self.new], "params": params}

    def call(self, what: str, params: dict[str, Any]) -> dict[str, Any]:
        answer = httpx.post(self.url, json=self._body(what, params), headers=self.headers, timeout=self.timeout)
        said = answer.json()
        if "error" in said:
            raise Refused(said["error"])
        return said["result"]

    def send(self, *parts: Any, configuration: dict[str, Any] | None = None, **message: Any) -> dict[str, Any]:
        """The task (or message) that comes back."""
        params = {"message": self.message(*parts, **message)}
        if configuration:
            params["configuration"] = configuration
        result = self.call("send", params)
        return result.get("task") or result.get("message") or result if self.new else result

    def get(self, task: str) -> dict[str, Any]:
        return self.call("get", {"id": task})

    def stream(self, *parts: Any, **message: Any) -> Iterator[dict[str, Any]]:
        yield from self.events("stream", {"message": self.message(*parts, **message)})

    def subscribe(self, task: str) -> Iterator[dict[str, Any]]:
        yield from self.events("subscribe", {"id": task})

    def events(self, what: str, params: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The results of a stream, one by one; closing the iterator closes the socket."""
        headers = {**self.headers, "Accept": "text/event-stream"}
        with httpx.stream(
            "POST", self.url, json=self._body(what, params), headers=headers, timeout=self.timeout
        ) as answer:
            if not answer.headers.get("content-type", "").startswith("text/event-stream"):
                raise Refused(json.loads(answer.read()).get("error", {}))
            for line in answer.iter_lines():
                if line.startswith("data:"):
                    said = json.loads(line[5:])
                    if "error" in said:
                        raise Refused(said["error"])
                    yield said["result"]


def state(task: dict[str, Any]) -> str:
    """`completed`, `input-required`, …, whatever the version calls it; of a task or a status event."""
    for name in ("task", "statusUpdate"):
        task = task.get(name, task)
    return task["status"]["state"].removeprefix("TASK_STATE_").lower().replace("_", "-")


def texts(task: dict[str, Any]) -> str:
    """Every text of a task: what its artifacts and its status say."""
    task = task.get("task", task)
    parts = [part for artifact in task.get("artifacts") or [] for part in artifact["parts"]]
    parts += (task["status"].get("message") or {}).get("parts", [])
    return " ".join(part["text"] for part in parts if "text" in part)
