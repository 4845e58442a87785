"""Ask, wait, claim: from a call to a permit, or to the reason why there is none. Only a claim that answered is a go."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, cast

from .. import digest, errors, keys
from ..models import STATES, USUAL, Call, Claim, Record, lifetime, seconds
from ..waiting import OnWaiting
from ..words import OnOutage, Status, Then
from . import check, wire
from .effects import Flow, Send
from .steps import Settings, a_record, claim, label, send, wait
from .watch import Watch


@dataclass
class Ticket:
    """One request on its way: what a cancelled caller needs in order to withdraw it."""

    body: dict[str, Any]
    key: str
    weak_key: str | None = None
    claimant: str = field(default_factory=keys.claimant)
    sent: bool = False
    id: str | None = None
    permit: str | None = None
    """The permit that came with the answer to the create. In any other answer a permit means nothing."""
    claim: Claim | None = None

    @property
    def permitted(self) -> bool:
        """Whether an approval of it comes with a permit."""
        return self.body["kind"] == "action" and self.body.get("permit") is not False

    def answered(self, found: dict[str, Any]) -> Record:
        """The answer to the create: a record of this very request."""
        record = wire.record(found)
        permit = record.raw.pop("permit", None)
        self.id = record.id
        self.permit = permit if isinstance(permit, str) and permit else None
        return record

    def create(self, claiming: bool = True) -> Send:
        claiming = claiming and self.permitted
        return wire.create(
            self.body, key=self.key, weak_key=self.weak_key, wait=None, claimant=self.claimant, claim=claiming
        )


@dataclass
class Outcome:
    """What came of asking."""

    status: Status
    record: Record | None = None
    claim: Claim | None = None
    reason: str | None = None
    arguments: dict[str, Any] | None = None
    edited: bool = False


@dataclass(frozen=True)
class Terms:
    """How long the caller waits, and what it wants when that does not end in a decision."""

    hold_for: float | None = None
    then: Then = "cancel"
    on_outage: OnOutage = "deny"
    on_waiting: OnWaiting = "inherit"

    def patience(self, settings: Settings, deadline: float) -> float:
        """How long an outage may last, when the request's own deadline is so far away.

        A caller that leaves its request to another one bounds its wait for a person, not for the server: to give up at
        the first lost answer would leave a request behind that nobody knows of.
        """
        hold_for = None if self.then == "leave" else self.hold_for
        if self.on_outage == "pause":
            return deadline if hold_for is None else hold_for
        return settings.outage_budget if hold_for is None else min(settings.outage_budget, hold_for)


def ticket(call: Call) -> Ticket:
    """The request of a call. All of it is checked before anything is sent."""
    given = call.keys or keys.Keys()
    return Ticket(call.body(), given.strong or keys.random(), given.weak)


def hold(call: Call, asked: Ticket, settings: Settings, terms: Terms) -> Flow[Outcome]:
    """A permit for this call, or the reason why there is none."""
    outcome = yield from _asking(asked, settings, terms, lambda *found: _take(call, asked, settings, *found))
    record = outcome.record
    started = outcome.status == "unknown" and record is not None and record.state in {"claimed", "unknown"}
    if not (call.idempotent and started and record is not None):
        return outcome
    # Declared safe to run twice: a person is asked anew, and sees what it repeats.
    context = {**(call.context or {}), "repeats": record.id}
    anew = replace(call, context=context, idempotent=False, keys=keys.Keys(strong=keys.random()))
    fresh = ticket(anew)
    asked.body, asked.key, asked.weak_key, asked.id = fresh.body, fresh.key, fresh.weak_key, None
    asked.permit = None
    return (yield from hold(anew, asked, settings, terms))


def question(asked: Ticket, settings: Settings, terms: Terms) -> Flow[Outcome]:
    """The decision on something that has no permit: a plan, a question, a confirmation."""

    def final(record: Record, *_: object) -> Flow[Outcome]:
        try:
            if record.state == "approved" and record.decision_word in check.YES:
                decision = check.yes(asked.body, record)
                edited = decision["decision"] == "edit"
                return Outcome("approved", record, None, record.reason_given, record.approved_arguments, edited)
        except check.AnswerMismatch as unfit:
            return Outcome("failed", record, reason=str(unfit))
        return refusal(record, None, asked.body)
        yield

    return _asking(asked, settings, terms, final)


def _asking(
    asked: Ticket, settings: Settings, terms: Terms, decided: Callable[[Record, float, Watch], Flow[Outcome]]
) -> Flow[Outcome]:
    """Creates and waits; `decided` makes the outcome of a record that is no longer pending."""
    try:
        until = float("inf") if terms.hold_for is None else time.monotonic() + terms.hold_for
        # Paused at once, the call still needs a person, who has the request's own time.
        watch = Watch(label(asked.body), terms.on_waiting, until if terms.hold_for else float("inf"))
        patience = terms.patience(settings, seconds(asked.body.get("expires_in")) or USUAL)
        asked.sent = True
        record = yield from send(asked.create(), settings, asked.answered, patience, watch)
        patience = terms.patience(settings, lifetime(record))
        if record.state == "pending":
            yield from watch.pending(record)
            left = None if terms.hold_for is None else max(0.0, until - time.monotonic())
            record = yield from wait(record, settings, left, patience, watch)
        if record.state == "pending":
            if terms.then == "leave":
                return Outcome("pending", record, reason="nobody has decided yet")
            record, note = yield from _withdraw(record, settings, f"nobody decided within {terms.hold_for:g} s")
            check.of_request(record, str(asked.id))
            if record.state in {"pending", "approved", "cancelled"}:
                return Outcome("cancelled", record, reason=note)
        record.raw.pop("permit", None)
        return (yield from decided(record, patience, watch))
    except errors.Unreachable as error:
        if terms.on_outage == "raise" or isinstance(error, errors.WrongAnswer):
            raise
        return Outcome("unreachable", reason=str(error))


def _withdraw(record: Record, settings: Settings, why: str) -> Flow[tuple[Record, str]]:
    """Cancels the request after a local timeout. Returns the record afterwards, and a note about it."""
    try:
        cancel = replace(wire.cancel(record.id, why), within=2.0)
        after = yield from send(cancel, settings, a_record(record.id), budget=2.0)
    except errors.Conflict as conflict:
        return conflict.record or record, why
    except errors.Unreachable:
        return record, f"{why}; the request could not be withdrawn, and nobody will use it"
    return after, why


def _take(call: Call, asked: Ticket, settings: Settings, record: Record, budget: float, watch: Watch) -> Flow[Outcome]:
    """The permit of a decided request, or why there is none."""
    if record.state not in {"approved", "claimed"}:
        return refusal(record, None, asked.body)
    if record.decision_word not in check.YES:
        return Outcome("denied", record, reason=_strange(record))
    claimed: Claim | None = None
    try:
        approved = check.approved_arguments(asked.body, record)
        if record.state == "claimed" and asked.permit is not None:
            claimed = Claim(asked.permit, approved, record.raw["decision"]["digest"], record.report_by)
        else:
            # `claimed` may be our own claim, whose answer was lost: the same claimant gets the same permit.
            claimed = yield from claim(record.id, asked.claimant, settings, budget, watch)
        asked.claim = claimed
        check.permit(record, approved, claimed)
        same = digest.canonical(approved) == digest.canonical(call.arguments)
        why = None if same or call.accepts is None else call.accepts(approved)
        if why is not None:
            raise check.AnswerMismatch(f"the edited arguments do not fit: {why}")
    except errors.Conflict as conflict:
        now = conflict.record if conflict.record is not None and conflict.record.id == record.id else record
        return refusal(now, conflict.detail, asked.body)
    except check.AnswerMismatch as unfit:
        return (yield from _not_run(asked, record, claimed, str(unfit), settings))
    # The caller's own objects where they say the same, so that 1.0 stays a float.
    arguments = call.arguments if same else approved
    return Outcome("approved", record, claimed, record.reason_given, arguments, edited=not same)


def _not_run(asked: Ticket, record: Record, claimed: Claim | None, why: str, settings: Settings) -> Flow[Outcome]:
    """Approved, and not run. Our own permit is reported as failed, so that its outcome is known."""
    permit = asked.permit if claimed is None else claimed.permit
    if permit is not None:
        try:
            failed = wire.report(record.id, permit, "failed", None, f"not run: {why}")
            yield from send(failed, settings, a_record(record.id))
        except errors.PlacetError:
            # Not run, whether that is on record or not.
            pass
    return Outcome("failed", record, claimed, why)


def _strange(record: Record) -> str:
    if record.decision_word is None:
        return "the server says that it is approved, and shows no decision"
    return f"the server says `{record.decision_word}`, which is no decision in favour"


def refusal(record: Record, detail: str | None = None, body: dict[str, Any] | None = None) -> Outcome:
    """Why a request that gave us no permit does not run. With its body, an answer must be to what was asked."""
    state = record.state
    verdict = record.verdict if isinstance(record.verdict, dict) else {}
    reason = record.reason_given
    if state not in STATES:
        return Outcome("denied", record, reason=f"the server says `{state}`, a state this version does not know")
    if state == "denied":
        if not reason and verdict.get("effect") == "deny":
            reason = "; ".join(str(one) for one in verdict.get("reasons") or ())
        return Outcome("denied", record, reason=reason)
    if state == "answered":
        try:
            check.answer(body, record)
        except check.AnswerMismatch as unfit:
            return Outcome("denied", record, reason=f"the answer cannot be used: {unfit}")
    if state in {"answered", "expired", "cancelled", "revoked", "lapsed"}:
        return Outcome(cast(Status, state), record, reason=reason or detail)
    if state in {"succeeded", "failed", "unknown"}:
        return Outcome("unknown", record, reason=f"it is on record as {state}")
    if state == "claimed":
        return Outcome("unknown", record, reason="another process holds its permit")
    return Outcome("denied", record, reason=detail or _strange(record))


def abandon(asked: Ticket, settings: Settings, keep: bool = False) -> Flow[None]:
    """The caller is gone: withdraw what it asked, even if the answer to the create, or to the claim, never arrived.

    With `keep`, only a permit that was taken meanwhile is given up.
    """
    try:
        if asked.id is None:
            asked.id = (yield from send(asked.create(claiming=False), settings, a_record(), 2.0)).id
        if asked.claim is None and keep:
            if (yield from send(wire.get(asked.id), settings, a_record(asked.id), 2.0)).state != "claimed":
                return
            asked.claim = yield from claim(asked.id, asked.claimant, settings, 2.0)
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
