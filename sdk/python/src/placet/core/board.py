"""The waiters for each request, and the state of the stream that they share."""

from __future__ import annotations

import random
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from ..models import Record
from .effects import NewsResult, NewsWait, ReadHint, StreamDown
from .listen import Event
from .retry import Outage

REMEMBERED = 50_000
"""How many requests' versions are remembered for those who are about to wait for them."""
LOOKS = 32
"""How many reads may run at the same time, and so how many long polls without a stream."""
LINGER = 5.0
"""How long a stream is kept without waiters, because the next call comes soon."""
CONNECTING = 2.0
"""How long to wait for a stream to open before looking without one."""
POLL_FOR = 25.0
"""One long poll: shorter than what proxies cut off, long enough to cost nothing."""
UNUSABLE_FOR = 60.0
"""How long to wait before a broken stream is tried again."""
SILENCE = 25.0
"""The server's heartbeats are 10 s apart: a line this quiet is a dead one."""


@dataclass(eq=False)
class Slot:
    """One waiter. `tell` is called at most once."""

    news: NewsWait
    tell: Callable[[NewsResult], None]
    told: bool = False


class Board:
    """The state of the stream and its waiters. One for each client and event loop (or process)."""

    def __init__(self) -> None:
        # Sync callers are on threads of their own.
        self._lock = threading.RLock()
        self._slots: dict[str, list[Slot]] = {}
        self._waiting = 0
        self._versions: OrderedDict[str, int] = OrderedDict()
        self._live_since: float | None = None
        self._unusable = False
        self._outage = Outage(float("inf"))
        self._idle_since = time.monotonic()

    @property
    def waiting(self) -> int:
        return self._waiting

    def wanted(self) -> bool:
        """Whether a call waits, or did a moment ago."""
        return self._waiting > 0 or time.monotonic() - self._idle_since < LINGER

    def enter(self, news: NewsWait, tell: Callable[[NewsResult], None]) -> tuple[Slot, float]:
        """Begins to wait. The slot, and for how long at most before the caller looks again."""
        with self._lock:
            slot = Slot(news, tell)
            self._slots.setdefault(news.id, []).append(slot)
            self._waiting += 1
            if self._live_since is not None:
                # Between the last look and now the stream was silent about it, or it was not there yet.
                if news.since <= self._live_since or self._versions.get(news.id, 0) > news.version:
                    self._tell(slot, ReadHint())
            elif self._unusable:
                self._tell(slot, self._poll())
            elif self._outage.began is not None:
                self._overdue(slot, time.monotonic())
            else:
                return slot, min(news.within, CONNECTING)
            return slot, news.within

    def leave(self, slot: Slot) -> None:
        """Waits no longer."""
        with self._lock:
            slots = self._slots.get(slot.news.id, [])
            if slot in slots:
                slots.remove(slot)
                self._waiting -= 1
                if not slots:
                    del self._slots[slot.news.id]
            slot.told = True
            if not self._waiting:
                self._idle_since = time.monotonic()

    def happened(self, event: Event) -> None:
        """Something arrived on the stream."""
        with self._lock:
            if event.record is not None:
                self._heard(event.record)
            elif event.type == "connected":
                self._live_since = time.monotonic()
                self._unusable = False
                self._outage.over()
                self._tell_all(ReadHint())
            elif event.type == "reset":
                # What was read before this moment may be old.
                self._live_since = time.monotonic()
                self._tell_all(ReadHint())

    def _heard(self, record: Record) -> None:
        known = self._versions.pop(record.id, 0)
        self._versions[record.id] = max(known, record.version)
        if len(self._versions) > REMEMBERED:
            self._versions.popitem(last=False)
        for slot in self._slots.get(record.id, ()):
            if record.version > slot.news.version:
                self._tell(slot, record)

    def down(self, asked: float | None = None) -> float:
        """The stream is gone, and perhaps the server with it: how long to pause before the next attempt."""
        with self._lock:
            self._live_since = None
            pause = self._outage.pause(asked)
            now = time.monotonic()
            for slot in self._all():
                self._overdue(slot, now)
            return pause if pause is not None else 5.0

    def _overdue(self, slot: Slot, now: float) -> None:
        if self._outage.began is None:
            return
        if now - self._outage.began >= slot.news.budget:
            self._tell(slot, ReadHint(pause=1 + random.random(), last=True))
        elif self._outage.lasting and not slot.news.away:
            self._tell(slot, StreamDown(slot.news.budget - (now - self._outage.began)))

    def unusable(self) -> float:
        """The server answers, but not with a stream, so all waiters poll. Returns how long to do without a stream."""
        with self._lock:
            self._live_since = None
            self._unusable = True
            self._outage.over()
            for slot in self._all():
                self._tell(slot, self._poll())
            return UNUSABLE_FOR * (0.5 + random.random())

    def _poll(self) -> ReadHint:
        if self._waiting <= LOOKS:
            return ReadHint(held_for=POLL_FOR)
        # More waiters than long polls: they take turns, so that none waits behind another's poll.
        return ReadHint(pause=1 + 2 * random.random())

    def _all(self) -> list[Slot]:
        return [slot for slots in self._slots.values() for slot in slots]

    def _tell_all(self, told: NewsResult) -> None:
        for slot in self._all():
            self._tell(slot, told)

    def _tell(self, slot: Slot, told: NewsResult) -> None:
        if not slot.told:
            slot.told = True
            slot.tell(told)
