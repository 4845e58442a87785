"""What a framework tells a `Resumer`: which of its runs wait, whose a request is, and how to go on."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import AsyncIterator, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from .models import Record


@dataclass(frozen=True)
class Run:
    """A run in the framework's store that waits. Equal keys are the same run: they are never gone on with at once."""

    key: Hashable
    requests: tuple[str, ...] = field(default=(), compare=False)
    """The requests it waits for. Empty: `go_on` is called at each scan, and looks for itself."""

    def __str__(self) -> str:
        return "/".join(map(str, self.key)) if isinstance(self.key, tuple) else str(self.key)


@runtime_checkable
class Source(Protocol):
    """Where one framework keeps its paused runs, and how it goes on with one. Write one for each framework.

    All methods are called on the event loop of the resumer. None of them may wait for a person.
    """

    name: str
    """Of the framework, for logs. Runs of two sources are the same run if name and key are equal."""

    def waiting(self) -> AsyncIterator[Run]:
        """Every run in the store that waits, with the requests it waits for; write it as an async generator.

        Also those that a killed process left half way: the answer is stored, and the call has no result yet. A run that
        cannot be read is logged and left out here, so that it does not hide the others. `go_on` is called for a run
        when at least one of its requests is no longer pending.
        """
        ...

    async def find(self, record: Record) -> Run | None:
        """The run that a request belongs to, from the record alone (`session`, `context`); None when it is not ours.

        Called for every decision on the stream. It need not look into the store, and must not raise for a strange
        record: requests of other programs with the same key are among them. The run need not wait; `go_on` finds out.
        """
        ...

    async def go_on(self, run: Run) -> bool:
        """Answers what is decided about this run, and goes on with it until it ends or waits again.

        Returns whether it went on. False: nothing is decided, nothing is stored yet, or it was done before. The rules:

        - Read the store anew, and the decision from the server (`client.get`). The record on the stream may be old.
        - Repeatable. Killed at any point, the next call goes on until the permit is used. If the answer is stored and
          the call has no result: `approved` means the permit was not taken, so let the framework make the call again.
          `claimed` means that it runs, perhaps in another process: leave it (return False) until the server says
          `succeeded`, `failed` or `unknown`; then the model is told that it is not known, and nothing runs again.
        - Only the single-use permit (`client.hold`, `client.claim`) lets a call run. Two processes may be in `go_on`
          for one run; the loser raises `OutcomeUnknown`, and stores no result.
        - A run that cannot go on raises. It is logged, and tried again after a growing pause.
        - When it is cancelled, an approval must not be withdrawn: the next process goes on with it.
        """
        ...

    async def aclose(self) -> None:
        """Lets go of what the source opened itself."""
        return


@dataclass
class Progress:
    """What `once` did."""

    went_on: list[Run] = field(default_factory=list)
    waiting: list[Run] = field(default_factory=list)
    """Runs of which nothing could be gone on with yet."""
    failed: dict[Run, Exception] = field(default_factory=dict)


_LOCKS: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, weakref.WeakValueDictionary[Hashable, asyncio.Lock]]
_LOCKS = weakref.WeakKeyDictionary()


@contextlib.asynccontextmanager
async def alone(name: str, key: Hashable) -> AsyncIterator[None]:
    """One at a time for each run, also between two resumers of this event loop, and a `resume` that somebody calls."""
    locks = _LOCKS.setdefault(asyncio.get_running_loop(), weakref.WeakValueDictionary())
    lock = locks.setdefault((name, key), asyncio.Lock())
    async with lock:
        yield
