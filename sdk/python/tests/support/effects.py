"""Counting what really happened."""

from __future__ import annotations

import threading
from typing import Any


class Effects:
    """The side effects of a tool: `effects("wrote", path)` in the tool, `effects.count == 1` in the test."""

    def __init__(self) -> None:
        self.happened: list[Any] = []
        self._lock = threading.Lock()

    def __call__(self, *what: Any, **named: Any) -> None:
        with self._lock:
            self.happened.append({**named} if named else (what[0] if len(what) == 1 else what))

    @property
    def count(self) -> int:
        return len(self.happened)
