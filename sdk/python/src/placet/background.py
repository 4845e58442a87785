"""Background reports: one thread sends them in order, and the rest when the program ends.

With `report="background"` a call that policy allows costs one round trip. The price: a program that is killed right
after a call leaves it `unknown`, and a person settles it. So it is not the default.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any

from . import errors

if TYPE_CHECKING:
    from collections.abc import Callable

    from .core.effects import Flow

REPORTS = ("now", "background")
MOST = 1_000
"""How many may wait to be sent. Beyond that a call sends its report itself."""
IDLE = 2.0
"""How long the thread stays when there is nothing to send."""
AT_EXIT = 10.0
"""How long the end of a program waits for what is left."""


class Background:
    """The reports of one client. `drive` sends one, blocking."""

    def __init__(self, drive: Callable[[Flow[Any]], Any]):
        self._drive = drive
        self._begin()
        _all.add(self)

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._left: deque[tuple[Flow[Any], Callable[[errors.PlacetError], None]]] = deque()
        self._sending = False
        self._thread: threading.Thread | None = None

    def put(self, report: Flow[Any], lost: Callable[[errors.PlacetError], None]) -> bool:
        """Queues a report; `lost` is called if it does not arrive. False if the queue is full."""
        if self._pid != os.getpid():
            self._begin()  # a forked child: what was left is its parent's to send
        with self._changed:
            if len(self._left) >= MOST:
                return False
            self._left.append((report, lost))
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._work, name="placet reports", daemon=True)
                self._thread.start()
            self._changed.notify_all()
            return True

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._left, IDLE)
                if not self._left:
                    self._thread = None
                    return
                report, lost = self._left.popleft()
                self._sending = True
            try:
                self._drive(report)
            except errors.PlacetError as error:
                lost(error)
            except Exception as error:
                lost(errors.PlacetError(f"{type(error).__name__}: {error}"))
            finally:
                with self._changed:
                    self._sending = False
                    self._changed.notify_all()

    def flush(self, within: float) -> bool:
        """Waits until all reports are sent. For those that cannot be sent, `lost` is called."""
        if self._pid != os.getpid():
            return True
        with self._changed:
            done = self._changed.wait_for(lambda: not self._left and not self._sending, within)
            left = [] if done else [self._left.popleft() for _ in range(len(self._left))]
        for _, lost in left:
            lost(errors.PlacetError("the program ended before it could be sent"))
        return done


_all: weakref.WeakSet[Background] = weakref.WeakSet()


def _at_exit() -> None:
    until = time.monotonic() + AT_EXIT
    for one in list(_all):
        one.flush(max(0.0, until - time.monotonic()))


atexit.register(_at_exit)
