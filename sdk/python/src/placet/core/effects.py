"""What a flow asks its driver to do. A flow is a generator: it yields one of these and is sent the answer."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..models import Record
from ..waiting import OnWaiting, Why

T = TypeVar("T")

ANSWER = 4 * 1024 * 1024
"""The largest answer that is read: one record is far smaller."""
PAGE = 64 * 1024 * 1024
"""The same for a page of records, each of which may be a quarter of a megabyte."""


@dataclass(frozen=True)
class Send:
    """Send one HTTP call. Answered with a `Reply`, or with `NoAnswer` when none came.

    Every call is safe to send again: it is a read, or it carries an idempotency key, or a secret that does the same.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    held_for: float = 0.0
    """How long the server was asked to hold the call, on top of what an ordinary call may take."""
    within: float | None = None
    """How long the whole exchange may take at most, where that is less than usual."""
    largest: int = ANSWER
    """How many bytes the answer may have."""
    look: bool = False
    """Whether a waiter reads. Thousands may wait, so only some read at the same time."""


@dataclass(frozen=True)
class Reply:
    """An answer, from the server or from a proxy."""

    status: int
    content_type: str
    retry_after: float | None
    body: bytes
    sent: float = 0.0
    """When the call went out (monotonic): the answer is not older than this."""


@dataclass(frozen=True)
class NoAnswer:
    """No answer: whether the call arrived is not known."""

    reason: str
    final: bool = False
    """There was an answer, and it cannot be used: sending the call again would not help."""


@dataclass(frozen=True)
class Pause:
    """Wait for so many seconds."""

    seconds: float


@dataclass(frozen=True)
class NewsWait:
    """Wait for news of a request. Answered with a `Record`, `ReadHint`, `StreamDown` or `OVER`."""

    id: str
    version: int
    since: float
    """When the version was read (monotonic). A stream that was opened before then misses no event."""
    within: float
    """For so many seconds at most."""
    budget: float
    """How long an outage may last."""
    away: bool = False
    """Whether it is known that the server is away."""


@dataclass(frozen=True)
class WaitNotice:
    """Tell the program why a call waits. Answered with nothing, even if the callback fails."""

    why: Why
    label: str
    time_left: float | None
    record: Record | None
    on_waiting: OnWaiting
    call: object
    """Stands for the call that waits, while it does."""


@dataclass(frozen=True)
class ReadHint:
    """The stream does not report this request: read the record."""

    held_for: float | None = None
    """Let the server hold the call for so long."""
    pause: float = 0.0
    """Seconds to wait before the next read."""
    last: bool = False
    """The outage budget is used up: if this read fails as well, the wait is over."""


@dataclass(frozen=True)
class StreamDown:
    """There is no stream, and attempts to open one failed. Sent once, unless the wait already has `away`."""

    left: float
    """How many seconds are left of the budget."""


OVER = "over"
"""The time is over, without news."""

Effect = Send | Pause | NewsWait | WaitNotice
NewsResult = Record | ReadHint | StreamDown | str
Flow = Generator[Effect, Any, T]
