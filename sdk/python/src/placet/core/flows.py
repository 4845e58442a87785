"""The five steps, once for both clients: create, wait, claim, (run,) report. Only a claim lets a call run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from .. import digest, errors, keys
from ..models import STATES, Call, Claim, Page, Record
from . import wire
from .effects import OVER, POLL, Flow, News, Pause, Send
from .retry import Outage

T = TypeVar("T")

POLL_FOR = 25.0
"""One long poll: shorter than what proxies cut off, long enough to cost nothing."""
HASTE = 0.25
"""An answer without news sooner than this was not held."""
USUAL = 300.0
"""How long deciding may take when nobody says: the server's own default."""
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
    while True:
        answer = yield call
        try:
            return understand(wire.read(answer))
        except wire.Again as again:
            pause = wire.after(again, outage, settings.url)
        yield Pause(pause)


def a_record(id: str | None = None) -> Callable[[dict[str, Any]], Record]:
    return lambda found: wire.record(found, id)


def wait(known: Record, settings: Settings, within: float | None = None, budget: float | None = None) -> Flow[Record]:
    """The record once it is no longer pending, or as it stands when `within` is over. A dropped wait is no decision."""
    until = None if within is None else time.monotonic() + within
    outage = Outage(settings.outage_budget if budget is None else budget)
    record = known
    while record.state == "pending":
        left = None if until is None else until - time.monotonic()
        if left is not None and left <= 0:
            return record
        news = yield News(record.id, record.version, left)
        if news == OVER:
            return record
        if isinstance(news, dict):
            # Told by the stream; it may be older than what is known.
            if wire.is_record(news) and news["id"] == record.id and news["version"] > record.version:
                record = Record(news)
            continue
        held = None
        if news == POLL:
            held = POLL_FOR if until is None else max(0.001, min(POLL_FOR, until - time.monotonic()))
        record, pause = yield from _look(record, held, outage, settings)
        if pause:
            yield Pause(pause if until is None else max(0.0, min(pause, until - time.monotonic())))
    return record


def _look(record: Record, held: float | None, outage: Outage, settings: Settings) -> Flow[tuple[Record, float]]:
    """Reads the record once: what it is now, and how long to pause before anything else is tried."""
    began = time.monotonic()
    answer = yield wire.get(record.id, wait=held, version=record.version if held else None)
    try:
        found = wire.record(wire.read(answer), record.id)
    except wire.Again as again:
        return record, wire.after(again, outage, settings.url)
    outage.over()
    # A server (or a proxy) that does not hold the call must not be asked in a hot loop.
    hasty = held is not None and found.version == record.version and time.monotonic() - began < HASTE
    return (found if found.version >= record.version else record), (HASTE if hasty else 0.0)


def claim(id: str, claimant: str, settings: Settings, budget: float | None = None) -> Flow[Claim]:
    return send(wire.claim(id, claimant), settings, wire.claimed, budget)


def listing(query: dict[str, str], settings: Settings) -> Flow[Page]:
    def understand(found: dict[str, Any]) -> Page:
        items = found.get("items")
        if not isinstance(items, list) or not all(wire.is_record(item) for item in items):
            raise wire.Again("the answer is no list of Placet's", foreign=True)
        return Page([Record(item) for item in items], found.get("next_cursor"), found.get("event_id"))

    return send(wire.listing(query), settings, understand)


@dataclass
class Ticket:
    """One call on its way: what a cancelled caller needs in order to withdraw it."""

    body: dict[str, Any]
    key: str
    weak_key: str | None
    claimant: str = field(default_factory=keys.claimant)
    sent: bool = False
    id: str | None = None
    claim: Claim | None = None


@dataclass
class Outcome:
    """What came of asking."""

    status: str
    record: Record | None = None
    claim: Claim | None = None
    reason: str | None = None
    arguments: dict[str, Any] | None = None
    edited: bool = False


def ticket(call: Call) -> Ticket:
    """The call as it will be asked. Nothing is sent before everything is known to be sendable."""
    given = call.keys or keys.Keys()
    return Ticket(call.body(), given.strong or keys.random(), given.weak)


def hold(
    call: Call, asked: Ticket, settings: Settings, hold_for: float | None, then: str, on_outage: str
) -> Flow[Outcome]:
    """Create, wait, claim. Ends with a permit or with the reason why there is none."""
    try:
        outcome = yield from _hold(call, asked, settings, hold_for, then, on_outage)
    except errors.Unreachable as error:
        if on_outage == "raise":
            raise
        return Outcome("unreachable", reason=str(error))
    record = outcome.record
    if (
        not call.idempotent
        or outcome.status != "unknown"
        or record is None
        or record.state not in {"claimed", "unknown"}
    ):
        return outcome
    # Declared safe to run twice: a person is asked anew, and sees what it repeats.
    context = {**(call.context or {}), "repeats": record.id}
    anew = replace(call, context=context, idempotent=False, keys=keys.Keys(strong=keys.random()))
    fresh = ticket(anew)
    asked.body, asked.key, asked.weak_key, asked.id = fresh.body, fresh.key, fresh.weak_key, None
    return (yield from hold(anew, asked, settings, hold_for, then, on_outage))


def _hold(
    call: Call, asked: Ticket, settings: Settings, hold_for: float | None, then: str, on_outage: str
) -> Flow[Outcome]:
    began = time.monotonic()
    patience = _budget(settings, on_outage, hold_for or USUAL)
    asked.sent = True
    record = yield from send(
        wire.create(asked.body, key=asked.key, weak_key=asked.weak_key, wait=None, claimant=asked.claimant, claim=True),
        settings,
        a_record(),
        patience,
    )
    asked.id = record.id
    if record.state == "pending":
        left = None if hold_for is None else max(0.0, began + hold_for - time.monotonic())
        record = yield from wait(record, settings, left, patience)
        if record.state == "pending":
            if then == "leave":
                return Outcome("pending", record, reason="nobody has decided yet")
            record, note = yield from withdraw(record, settings, f"nobody decided within {hold_for:g} s")
            if record.state in {"pending", "approved", "cancelled"}:
                return Outcome("cancelled", record, reason=note)
    return (yield from _take(call, asked, record, settings, patience))


def _budget(settings: Settings, on_outage: str, until: float) -> float:
    return max(settings.outage_budget, until) if on_outage == "pause" else settings.outage_budget


def withdraw(record: Record, settings: Settings, why: str) -> Flow[tuple[Record, str]]:
    """Cancels, so that a local timeout leaves no ghost behind. The record afterwards, and what to say about it."""
    try:
        after = yield from send(wire.cancel(record.id, why), settings, a_record(record.id), budget=2.0)
    except errors.Conflict as conflict:
        return conflict.record or record, why
    except errors.Unreachable:
        return record, f"{why}; the request could not be withdrawn, and nobody will use it"
    return after, why


def _take(call: Call, asked: Ticket, record: Record, settings: Settings, budget: float) -> Flow[Outcome]:
    """The permit of a decided request, or why there is none."""
    permit = record.raw.pop("permit", None)
    if isinstance(permit, str) and permit and record.state == "claimed":
        arguments = record.approved_arguments
        if arguments is None:
            return Outcome("failed", record, reason="the permit came without arguments")
        claimed = Claim(permit, arguments, record.approved_digest, record.report_by)
    elif record.state in {"approved", "claimed"}:
        if record.state == "approved" and (record.claimable is False or record.kind != "action"):
            return Outcome("failed", record, reason="the approval came without a permit")
        try:
            # `claimed` may be our own claim, whose answer was lost: the same claimant gets the same permit.
            claimed = yield from claim(record.id, asked.claimant, settings, budget)
        except errors.Conflict as conflict:
            return refusal(conflict.record or record, conflict.detail)
    else:
        return refusal(record)
    asked.claim = claimed
    return (yield from _verify(call, record, claimed, settings))


def _verify(call: Call, record: Record, claimed: Claim, settings: Settings) -> Flow[Outcome]:
    """What the permit is for must be what was approved, and what was approved must be what was asked, or an edit."""
    edited = record.decision_word == "edit"
    same = digest.canonical(claimed.arguments) == digest.canonical(call.arguments)
    misfit = None
    if record.decision_word not in {None, "approve", "edit"}:
        misfit = f"the decision is `{record.decision_word}`, which is no yes"
    elif claimed.digest != record.approved_digest:
        misfit = "the permit is for something else than what was approved"
    elif not same and not edited:
        misfit = "the arguments of the permit are not the ones that were asked for"
    elif not same and call.accepts is not None:
        why = call.accepts(claimed.arguments)
        misfit = None if why is None else f"the edited arguments do not fit: {why}"
    if misfit is not None:
        # Not run, and said so; that the report may fail too changes nothing.
        try:
            yield from send(
                wire.report(record.id, claimed.permit, "failed", None, f"not run: {misfit}"),
                settings,
                a_record(record.id),
            )
        except errors.PlacetError:
            pass
        return Outcome("failed", record, claimed, misfit)
    # The caller's own objects where they say the same, so that 1.0 stays a float.
    arguments = call.arguments if same else claimed.arguments
    return Outcome("approved", record, claimed, arguments=arguments, edited=not same)


def refusal(record: Record, detail: str | None = None) -> Outcome:
    """Why a request that gave us no permit does not run."""
    state = record.state
    decision = record.decision or {}
    reason = decision.get("reason") if isinstance(decision, dict) else None
    if state not in STATES:
        return Outcome("denied", record, reason=f"the server says `{state}`, a word this version does not know")
    if state == "denied":
        reasons = (record.verdict or {}).get("reasons") or []
        if not reason and (record.verdict or {}).get("effect") == "deny":
            reason = "; ".join(str(one) for one in reasons)
        return Outcome("denied", record, reason=reason)
    if state in {"answered", "expired", "cancelled", "revoked", "lapsed"}:
        return Outcome(state, record, reason=reason or detail)
    if state in {"claimed", "unknown", "approved"}:
        return Outcome("unknown", record, reason=detail or "another process holds the permit")
    if state == "succeeded":
        return Outcome("unknown", record, reason="this call ran before, and succeeded; its result is not known here")
    if state == "failed":
        return Outcome("failed", record, reason="this call ran before, and failed")
    return Outcome("denied", record, reason=detail or f"the request is {state}")


def abandon(asked: Ticket, settings: Settings) -> Flow[None]:
    """The caller is gone: withdraw what it asked, even if the answer to the create, or to the claim, never arrived."""
    try:
        if asked.id is None:
            again = wire.create(
                asked.body, key=asked.key, weak_key=asked.weak_key, wait=None, claimant=None, claim=False
            )
            asked.id = (yield from send(again, settings, a_record(), 2.0)).id
        if asked.claim is None:
            try:
                yield from send(wire.cancel(asked.id, "caller_gone"), settings, a_record(asked.id), 2.0)
                return
            except errors.Conflict as conflict:
                if conflict.record is None or conflict.record.state != "claimed":
                    return
            # Claimed, and perhaps by us: then it can be said that it did not run.
            asked.claim = yield from claim(asked.id, asked.claimant, settings, 2.0)
        note = "not run: the caller was cancelled before the call began"
        failed = wire.report(asked.id, asked.claim.permit, "failed", None, note)
        yield from send(failed, settings, a_record(asked.id), 2.0)
    except errors.PlacetError:
        pass
