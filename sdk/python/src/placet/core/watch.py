"""The notices about one waiting call, each sent once."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any

from ..models import Record, time_left
from ..waiting import OnWaiting, Why
from .effects import WaitNotice


class Watch:
    """One call that waits, or may come to wait."""

    def __init__(self, label: str, on_waiting: OnWaiting = "inherit", until: float = float("inf")):
        self._label = label
        self._on_waiting = on_waiting
        self._until = until
        """When the caller gives up (monotonic)."""
        self._record: Record | None = None
        self.away = False

    def pending(self, record: Record) -> Generator[WaitNotice, Any, None]:
        """It needs a person."""
        self._record = record
        yield self._tell("person", self._left())

    def outage(self, left: float) -> Generator[WaitNotice, Any, None]:
        """The server is away, and is tried for so many seconds more."""
        if not self.away:
            self.away = True
            yield self._tell("outage", max(0.0, min(left, self._until - time.monotonic())))

    def back(self) -> Generator[WaitNotice, Any, None]:
        """The server answered."""
        if self.away:
            self.away = False
            yield self._tell("back", self._left())

    def _left(self) -> float | None:
        if self._record is None:
            return None
        return max(0.0, min(time_left(self._record), self._until - time.monotonic()))

    def _tell(self, why: Why, left: float | None) -> WaitNotice:
        return WaitNotice(why, self._label, left, self._record, self._on_waiting, self)
