"""The stream of events: where it stands, and what arrived on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..models import Record
from . import strict
from .sse import Reader
from .wire import is_record


@dataclass(frozen=True)
class Event:
    """One thing that happened. `type` is `request.decided` and the like, with the request as it stands now.

    Without a request: `connected` (for the first time or again), `reset` (something may have been missed), `heartbeat`.
    """

    type: str
    id: str | None = None
    record: Record | None = None


class Listener:
    """One stream across its connections: it goes on where the last one broke off."""

    def __init__(self, after: str | None = None, base: str = "") -> None:
        self.cursor = after
        self._base = base
        self._reader = Reader()
        self._fresh = True

    def headers(self) -> dict[str, str]:
        """Opens the next connection."""
        self._reader = Reader()
        self._fresh = True
        wanted = {"Accept": "text/event-stream"}
        return wanted if self.cursor is None else {**wanted, "Last-Event-ID": self.cursor}

    def feed(self, chunk: bytes) -> Iterator[Event]:
        for message in self._reader.feed(chunk):
            if self._fresh:
                self._fresh = False
                yield Event("connected", message.id)
            if message.event == "reset":
                self.cursor = message.id
                yield Event("reset", message.id)
                continue
            if message.data is not None:
                try:
                    found = strict.read(message.data)
                except ValueError:
                    found = None
                record = found.get("record") if isinstance(found, dict) else None
                if isinstance(record, dict) and is_record(record):
                    yield Event(message.event, message.id, Record(record, base=self._base))
                else:
                    # An event that is not understood: the waiters read their records.
                    yield Event("reset", message.id)
            elif message.event == "message":
                yield Event("heartbeat", message.id)
            if message.id is not None:
                self.cursor = message.id
