"""What gated tools do differently while a resumer goes on with their run: they never wait, and never end a race badly.

A tool that finds no decision, or its permit with another process, stores no result: its run stops where it is, and the
resumer hears why. Outside a resumer nothing of this applies.
"""

from __future__ import annotations

import contextlib
import contextvars
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..errors import OutcomeUnknown, PlacetError, Unreachable, WrongKey
from ..sessions import session

if TYPE_CHECKING:
    from ..held import AsyncHeld, Held
    from ..models import Call, Record

UNDECIDED = frozenset({"pending", "claimed"})
"""States in which a resumer leaves a call alone: nobody decided, or another process runs it."""
RAN = frozenset({"succeeded", "failed"})
"""States of a call that ran. Its process reports before it stores the result: perhaps it is about to."""
ELSEWHERE = 5.0
"""How many seconds another process has to store the result of a call that it reported, before it is taken for dead."""


class UnsettledCalls:
    """Calls that ran and have no result in the store, as one resumer knows them."""

    def __init__(self, patience: float = ELSEWHERE):
        self.patience = min(patience, ELSEWHERE)
        self.taken: set[str] = set()
        """Requests whose permits this resumer had itself: nobody else is about to store a result."""
        self._since: dict[str, float] = {}

    def settled(self, record: Record) -> bool:
        """Whether a run may go on with this as it stands."""
        if record.state in UNDECIDED:
            return False
        if record.state not in RAN or record.id in self.taken:
            return True
        first = self._since.setdefault(record.id, time.monotonic())
        return time.monotonic() - first >= self.patience


class ResumeAttempt:
    """One attempt to resume a run: the calls that it may answer, and why others were left."""

    def __init__(self, doubts: UnsettledCalls) -> None:
        self.doubts = doubts
        self.settled: set[str] = set()
        """Requests that ran, and whose process is known not to store a result any more."""
        self.abandoned = False
        """So it is of all requests of this run."""
        self.lost: list[str] = []
        self.trouble: PlacetError | None = None
        self._given: dict[str, AsyncHeld] = {}

    def give(self, call: Call, held: AsyncHeld | None) -> None:
        """Hands a permit to the tool that will make this call."""
        if held is not None and call.keys is not None and call.keys.strong:
            self._given[call.keys.strong] = held

    def take(self, call: Call) -> AsyncHeld | None:
        return self._given.pop(call.keys.strong, None) if call.keys is not None and call.keys.strong else None

    async def give_back(self) -> None:
        """Reports permits that no tool took: the run ended without these calls."""
        while self._given:
            _, held = self._given.popitem()
            if held.go:
                await held.failed("not run: the run did not come to this call")

    def raise_for_trouble(self) -> None:
        """Raises what kept a call from being asked about, or that another process has its permit."""
        if self.trouble is not None:
            raise self.trouble
        if self.lost:
            raise OutcomeUnknown(f"another process holds the permit of {', '.join(self.lost)}")


_now: contextvars.ContextVar[ResumeAttempt | None] = contextvars.ContextVar("placet_resuming", default=None)


def now() -> ResumeAttempt | None:
    """The attempt that this code runs in; None outside of a resumer."""
    return _now.get()


@contextlib.contextmanager
def attempt(doubts: UnsettledCalls) -> Iterator[ResumeAttempt]:
    """Everything called inside belongs to an attempt of a resumer."""
    made = ResumeAttempt(doubts)
    token = _now.set(made)
    try:
        yield made
    finally:
        _now.reset(token)


def given(call: Call) -> AsyncHeld | None:
    """The permit of this call, if the resumer took it already."""
    found = _now.get()
    return None if found is None else found.take(call)


def stops_at(record: Record | None) -> bool:
    """Whether the run must stop before this call, because a resumer cannot go on with it now."""
    found = _now.get()
    if found is None or record is None or record.state not in UNDECIDED | RAN:
        return False
    if record.state in RAN and (found.abandoned or record.id in found.settled | found.doubts.taken):
        return False
    if record.state != "pending":
        found.lost.append(record.id)
    return True


def stops_with(held: Held) -> bool:
    """The same for a call that got no permit: another process was faster, or the server is away."""
    if held.status == "unreachable":
        return stops_for(Unreachable(held.reason or held.message))
    found = _now.get()
    if held.go and found is not None and held.request_id is not None:
        found.doubts.taken.add(held.request_id)
    return not held.go and stops_at(held.record)


def stops_for(error: BaseException) -> bool:
    """The same for an error. An outage says nothing about the call: the next attempt asks again."""
    found = _now.get()
    if found is None or not isinstance(error, (Unreachable, WrongKey)):
        return False
    found.trouble = error
    return True


WHOSE = ("app", "user", "tenant", "turn", "lineage")


def session_of(record: Record, usual: str) -> contextlib.AbstractContextManager[Any]:
    """The `placet.session` that was around the run when it asked: with another one it would ask anew."""
    context = record.context if isinstance(record.context, dict) else {}
    given = {name: context[name] for name in WHOSE if context.get(name)}
    if record.session in (None, usual) and not given.keys() - {"app"}:
        return contextlib.nullcontext()
    return session(str(record.session), invocation=context.get("invocation_id"), **given)
