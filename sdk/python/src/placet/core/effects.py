"""What a flow asks its driver to do. A flow is a generator: it yields one of these and is sent the answer."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Send:
    """Send one HTTP call. Answered with a `Reply`, or with `Lost` when none came.

    Every call is safe to send again: it is a read, or it carries an idempotency key, or a secret that does the same.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    held_for: float = 0.0
    """How long the server was asked to hold the call, on top of what an ordinary call may take."""


@dataclass(frozen=True)
class Reply:
    """An answer, whoever gave it."""

    status: int
    content_type: str
    retry_after: float | None
    body: bytes


@dataclass(frozen=True)
class Lost:
    """No answer: whether the call arrived is not known."""

    reason: str


@dataclass(frozen=True)
class Pause:
    """Wait for so many seconds."""

    seconds: float


@dataclass(frozen=True)
class News:
    """Wait until there may be news of a request beyond this version, for so many seconds at most.

    Answered with the JSON of a record, or with one of the words below: then the flow looks for itself.
    """

    id: str
    version: int
    within: float | None


READ = "read"
"""Something may have been missed: read the record."""
POLL = "poll"
"""No stream can be had: read the record, and let the server hold the call."""
OVER = "over"
"""The time is over."""

Effect = Send | Pause | News
Flow = Generator[Effect, Any, T]
