"""Server-sent events, byte by byte as they arrive."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

LARGEST = 4 * 1024 * 1024
"""A record is a quarter of a megabyte at most; a longer event is not the server's."""


@dataclass(frozen=True)
class Message:
    """One event. `data` is None when it only moved the cursor: the opening of a stream, or a heartbeat."""

    id: str | None
    event: str
    data: str | None


class TooLong(ValueError):
    """An event without an end."""


class Reader:
    """Feed it what arrives; it gives out whole events."""

    def __init__(self) -> None:
        self._rest = b""
        self._lines: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[Message]:
        text = self._rest + chunk
        # A carriage return at the very end may be the first half of a line's end.
        held_back = b"\r" if text.endswith(b"\r") else b""
        lines = re.split(rb"\r\n|\r|\n", text[: len(text) - len(held_back)])
        self._rest = lines.pop() + held_back
        self._size += len(chunk)
        if self._size > LARGEST and (len(self._rest) > LARGEST or self._lines):
            raise TooLong("an event of the stream does not end")
        for line in lines:
            if line:
                self._lines.append(line)
                continue
            self._size = len(self._rest)
            if self._lines:
                yield self._message()
                self._lines.clear()

    def _message(self) -> Message:
        id: str | None = None
        event = "message"
        data: list[str] = []
        for line in self._lines:
            name, _, value = line.decode("utf-8", "replace").partition(":")
            value = value.removeprefix(" ")
            if name == "id":
                id = value
            elif name == "event":
                event = value
            elif name == "data":
                data.append(value)
        return Message(id, event, "\n".join(data) if data else None)
