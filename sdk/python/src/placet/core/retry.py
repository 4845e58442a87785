"""How long to wait between attempts: doubling, capped, jittered, and never beyond the budget."""

from __future__ import annotations

import random
import time

FIRST = 0.1
LONGEST = 5.0
NOTICED = 1.0
"""An outage of so many seconds is reported, even after a single failure."""


class Outage:
    """One outage, from its first failure on."""

    def __init__(self, budget: float):
        self.budget = budget
        self.began: float | None = None
        self._attempts = 0

    def since(self, moment: float) -> None:
        """Sets the beginning, unless an earlier one is known."""
        self.began = moment if self.began is None else self.began

    @property
    def lasting(self) -> bool:
        """Whether to report it: a single lost answer is not reported."""
        return self.began is not None and (self._attempts > 1 or time.monotonic() - self.began >= NOTICED)

    def left(self) -> float:
        """Seconds of the budget that are not used up."""
        return self.budget if self.began is None else self.budget - (time.monotonic() - self.began)

    def over(self) -> None:
        """The server answered, so the outage is over."""
        self.began = None
        self._attempts = 0

    def pause(self, asked: float | None = None) -> float | None:
        """One more failure: how long to pause before the next attempt, or None when the budget is used up."""
        now = time.monotonic()
        if self.began is None:
            self.began = now
        doubled = min(FIRST * 2 ** min(self._attempts, 16), LONGEST)
        self._attempts += 1
        # Between a half and the whole, so that many clients do not come back at once; never before the server asked.
        pause = max(doubled * (0.5 + random.random() / 2), asked or 0.0)
        return pause if now - self.began + pause <= self.budget else None
