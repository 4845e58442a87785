"""The single steps, once for both clients: send until it is answered, wait until it is decided."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ..models import Claim, Page, Record, lifetime
from . import wire
from .effects import OVER, Flow, Look, News, Pause, Send
from .retry import Outage

T = TypeVar("T")

GRACE = 5.0
"""How long after a deadline the server may take to tell of it."""
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
    on_outage: str


def send(
    call: Send, settings: Settings, understand: Callable[[dict[str, Any]], T], budget: float | None = None
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
                found.as_of = answer.sent
            return found
        except wire.Again as again:
            # Counted from where the attempt began, without what the server was asked to hold it.
            outage.since(min(time.monotonic(), began + call.held_for))
            pause = wire.after(again, outage, settings.url)
        yield Pause(pause)
        if not call.held_for:
            attempt = replace(call, within=max(LEAST, outage.left()))


def a_record(id: str | None = None) -> Callable[[dict[str, Any]], Record]:
    return lambda found: wire.record(found, id)


def wait(known: Record, settings: Settings, within: float | None = None, budget: float | None = None) -> Flow[Record]:
    """The record once it is no longer pending, or as it stands when `within` is over. A dropped wait is no decision."""
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
        told = yield News(record.id, record.version, since, max(0.0, min(until, look_at) - now), allowance)
        if isinstance(told, Record):
            record = told if told.id == record.id and told.version > record.version else record
            continue
        if told == OVER:
            if time.monotonic() >= until:
                return record
            look_at = max(look_at, time.monotonic() + GRACE)
            told = Look()
        began = time.monotonic()
        held = None if told.held_for is None else max(0.001, min(told.held_for, until - began))
        look = wire.get(record.id, wait=held, version=record.version if held else None, look=True)
        answer = yield replace(look, within=None if until == float("inf") else until - began + LEAST)
        try:
            found = wire.record(wire.read(answer), record.id)
        except wire.Again as again:
            if told.last:
                outage.budget = 0.0
            pause = wire.after(again, outage, settings.url)
        else:
            outage.over()
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


def claim(id: str, claimant: str, settings: Settings, budget: float | None = None) -> Flow[Claim]:
    return send(wire.claim(id, claimant), settings, wire.claimed, budget)


def find_and_wait(id: str, settings: Settings, within: float | None) -> Flow[Record]:
    known = yield from send(wire.get(id), settings, a_record(id))
    return (yield from wait(known, settings, within))


def listing(query: dict[str, str], settings: Settings) -> Flow[Page]:
    def understand(found: dict[str, Any]) -> Page:
        items = found.get("items")
        if not isinstance(items, list) or not all(wire.is_record(item) for item in items):
            raise wire.Again("the answer is no list of Placet's", foreign=True)
        return Page([Record(item) for item in items], found.get("next_cursor"), found.get("event_id"))

    return send(wire.listing(query), settings, understand)
