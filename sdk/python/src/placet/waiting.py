"""What a program is told while a call waits: for a person, or for a server that is away."""

from __future__ import annotations

import logging
import os
import sys
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from .core.effects import WaitNotice

log = logging.getLogger("placet")

Why = Literal["person", "outage", "back"]
REMEMBERED = 10_000
"""How many requests are remembered as told of. A run that is resumed asks again for the same one."""


@dataclass(frozen=True)
class Waiting:
    """One call that waits."""

    tool: str
    """The tool; `confirmation`, `input` or `plan` for a request that is no call."""
    url: str | None
    """Where a person decides, with the address of the server. None while there is no request."""
    expires_at: str | None
    time_left: float | None
    """Seconds: until the request expires or the caller gives up. In an outage: for how long it is still tried."""
    why: Why
    """`person`: nobody has decided yet. `outage`: the server is away. `back`: it answers again."""
    request: str | None
    """The id of the request."""

    def __str__(self) -> str:
        left = "" if self.time_left is None else f", {spoken(self.time_left)} left"
        if self.why == "outage":
            tried = "" if self.time_left is None else f"; trying for {spoken(self.time_left)} more"
            return f"the server cannot be reached, {self.tool} waits{tried}"
        if self.why == "back":
            return f"the server answers again, {self.tool} goes on"
        return f"{self.tool} waits for a person{left}" + (f": {self.url}" if self.url else "")


Callback = Callable[[Waiting], Any]
"""Told of each thing once. An error in it is logged and changes nothing. For `AsyncClient` it may be a coroutine."""
OnWaiting = Callback | Literal["inherit"] | None
"""`inherit`: what the client does. None: nothing is told."""


def show(waiting: Waiting) -> None:
    """One line on the terminal, in an interactive program that has set up no logging. `PLACET_QUIET=1` turns it off."""
    if os.environ.get("PLACET_QUIET", "") not in {"", "0"} or log.hasHandlers():
        return
    try:
        if sys.stderr is not None and sys.stderr.isatty():
            sys.stderr.write(_printable(f"placet: {waiting}") + "\n")
            sys.stderr.flush()
    except (OSError, ValueError):
        pass


def _printable(text: str) -> str:
    return "".join(one if one.isprintable() else "?" for one in text)


def spoken(seconds: float) -> str:
    """`4 min 50 s`, `2 h 5 min`, `3 d 1 h`."""
    left = max(0, round(seconds))
    for size, name, below, small in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s")):
        if left >= size:
            rest = left % size // below
            return f"{left // size} {name}" + (f" {rest} {small}" if rest else "")
    return f"{left} s"


class WaitReporter:
    """The notices of one client, so that each is sent once."""

    def __init__(self, on_waiting: Callback | None):
        self.on_waiting = on_waiting
        # Blocking calls wait on threads of their own.
        self._lock = threading.Lock()
        self._told: OrderedDict[str, None] = OrderedDict()
        # The calls that wait for the end of an outage; a call that gave up is not among them any more.
        self._away: weakref.WeakSet[object] = weakref.WeakSet()

    def tell(self, effect: WaitNotice) -> Any:
        """Logs, and calls back. What a callback returns may have to be awaited."""
        record = effect.record
        waiting = Waiting(
            effect.label,
            record.url if record else None,
            str(record.expires_at) if record and record.expires_at else None,
            effect.time_left,
            effect.why,
            record.id if record else None,
        )
        if not self._new(waiting):
            return None
        line = self._line_wanted(waiting.why, effect.call)
        if line:
            log.info("%s", _printable(str(waiting)))
        callback = self.on_waiting if effect.on_waiting == "inherit" else effect.on_waiting
        if callback is None or (callback is show and not line):
            return None
        try:
            return callback(waiting)
        except Exception:
            failed()
            return None

    def _new(self, waiting: Waiting) -> bool:
        if waiting.why != "person" or waiting.request is None:
            return True
        with self._lock:
            if waiting.request in self._told:
                return False
            self._told[waiting.request] = None
            if len(self._told) > REMEMBERED:
                self._told.popitem(last=False)
            return True

    def _line_wanted(self, why: Why, call: object) -> bool:
        """An outage is one line, however many calls wait for its end."""
        if why == "person":
            return True
        with self._lock:
            if why == "outage":
                first = not self._away
                self._away.add(call)
                return first
            known = call in self._away
            if known:
                self._away.clear()
            return known


def failed() -> None:
    log.exception("on_waiting failed; the call waits all the same")
