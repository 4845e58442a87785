"""The single steps, once for both clients: send until it is answered, wait until it is decided."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ..errors import Problem
from ..models import Claim, Page, Record, lifetime
from ..waiting import OnWaiting
from ..words import OnOutage
from . import wire
from .effects import OVER, Flow, NewsWait, Pause, ReadHint, Send, StreamDown
from .retry import Outage
from .watch import Watch

T = TypeVar("T")

GRACE = 5.0
"""How long after a deadline the server may take to report it."""
HASTE = 0.25
"""An answer without news sooner than this was not held."""
LEAST = 0.5
"""An attempt gets this long, however little of the budget is left."""
ON_OUTAGE = ("deny", "raise", "pause")


@dataclass(frozen=True)
class Settings:
    """What every flow of one client needs to know."""

    url: str
    outage_budget: float
    on_outage: OnOutage


def send(
    call: Send,
    settings: Settings,
    understand: Callable[[dict[str, Any]], T],
    budget: float | None = None,
    watch: Watch | None = None,
) -> Flow[T]:
    """Sends a call until it is answered or the budget is used up."""
    outage = Outage(settings.outage_budget if budget is None else budget)
    attempt = call
    while True:
        began = time.monotonic()
        answer = yield attempt
        try:
            found = understand(wire.read(answer))
            if isinstance(found, Record):
                found.as_of, found.base = answer.sent, settings.url
            if watch is not None:
                yield from watch.back()
            return found
        except wire.RetryableError as again:
            # Counted from where the attempt began, without what the server was asked to hold it.
            outage.since(min(time.monotonic(), began + call.held_for))
            pause = wire.after(again, outage, settings.url)
        except Problem as error:
            if error.record is not None:
                error.record.base = settings.url
            raise
        if watch is not None and outage.lasting:
            yield from watch.outage(outage.left())
        yield Pause(pause)
        if not call.held_for:
            attempt = replace(call, within=max(LEAST, outage.left()))


def a_record(id: str | None = None) -> Callable[[dict[str, Any]], Record]:
    return lambda found: wire.record(found, id)


def wait(
    known: Record,
    settings: Settings,
    within: float | None = None,
    budget: float | None = None,
    watch: Watch | None = None,
) -> Flow[Record]:
    """The record once it is no longer pending, or as it stands after `within`. A dropped wait is not a decision."""
    watch = watch or Watch(label(known.raw))
    until = float("inf") if within is None else time.monotonic() + within
    allowance = settings.outage_budget if budget is None else budget
    outage = Outage(allowance)
    record, since = known, known.as_of
    looked = float("-inf")
    # The stream tells of the deadline, too. Only if it does not, a look decides; never the clock of this machine.
    look_at = time.monotonic() + lifetime(record) + GRACE
    while record.state == "pending":
        now = time.monotonic()
        if now >= until:
            return record
        left = max(0.0, min(until, look_at) - now)
        told = yield NewsWait(record.id, record.version, since, left, allowance, watch.away)
        if isinstance(told, StreamDown):
            yield from watch.outage(told.left)
            continue
        if isinstance(told, Record):
            told.base = settings.url
            record = told if told.id == record.id and told.version > record.version else record
            continue
        if told == OVER:
            if time.monotonic() >= until:
                return record
            look_at = max(look_at, time.monotonic() + GRACE)
            told = ReadHint()
        began = time.monotonic()
        held = None if told.held_for is None else max(0.001, min(told.held_for, until - began))
        look = wire.get(record.id, wait=held, version=record.version if held else None, look=True)
        answer = yield replace(look, within=None if until == float("inf") else until - began + LEAST)
        try:
            found = wire.record(wire.read(answer), record.id)
        except wire.RetryableError as again:
            if told.last:
                outage.budget = 0.0
            pause = wire.after(again, outage, settings.url)
            if outage.lasting:
                yield from watch.outage(outage.left())
        else:
            outage.over()
            found.base = settings.url
            yield from watch.back()
            # A server (or a proxy) that does not hold the call must not be asked in a hot loop.
            # Nor one whose reads are older than what its stream tells.
            soon = answer.sent if held is not None else looked
            hasty = found.version <= record.version and time.monotonic() - soon < HASTE
            looked = time.monotonic()
            pause = max(told.pause, HASTE if hasty else 0.0)
            record, since = (found if found.version >= record.version else record), answer.sent
        if pause and record.state == "pending":
            yield Pause(max(0.0, min(pause, until - time.monotonic())))
    return record


def claim(
    id: str, claimant: str, settings: Settings, budget: float | None = None, watch: Watch | None = None
) -> Flow[Claim]:
    return send(wire.claim(id, claimant), settings, wire.claimed, budget, watch)


def find_and_wait(id: str, settings: Settings, within: float | None, on_waiting: OnWaiting = "inherit") -> Flow[Record]:
    known = yield from send(wire.get(id), settings, a_record(id))
    watch = Watch(label(known.raw), on_waiting, float("inf") if within is None else time.monotonic() + within)
    if known.state == "pending":
        yield from watch.pending(known)
    return (yield from wait(known, settings, within, watch=watch))


def label(body: dict[str, Any]) -> str:
    """What a request is called: its tool, or its kind."""
    return str(body.get("tool") or body.get("kind") or "request")


def listing(query: dict[str, str], settings: Settings) -> Flow[Page]:
    def understand(found: dict[str, Any]) -> Page:
        items = found.get("items")
        if not isinstance(items, list) or not all(wire.is_record(item) for item in items):
            raise wire.RetryableError("the answer is no list of Placet's", foreign=True)
        return Page(
            [Record(item, base=settings.url) for item in items], found.get("next_cursor"), found.get("event_id")
        )

    return send(wire.listing(query), settings, understand)
