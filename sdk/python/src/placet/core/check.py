"""Before anything runs: the answer is about the very call that was asked for, and somebody said yes to it.

A server that was replaced, or a cache in between, may answer anything. Nothing in an answer is believed that can be
computed here: digests are taken anew, from what was asked.
"""

from __future__ import annotations

from typing import Any

from .. import digest
from ..errors import NotJson, WrongAnswer
from ..models import Claim, Record

YES = frozenset({"approve", "edit"})


class AnswerMismatch(Exception):
    """One clause that says why a decision lets nothing run."""


OTHER = "what was approved is not what was asked for here"


def of_request(record: Record, id: str) -> None:
    """Raises `WrongAnswer` unless the record is of this request."""
    if record.id != id:
        raise WrongAnswer(f"the server answered about another request: {record.id} in place of {id}")


def _about(body: dict[str, Any], raw: dict[str, Any]) -> None:
    """Raises `AnswerMismatch` unless the record is of the request that was asked for with this body."""
    for name in ("kind", "session", "tool", "on_behalf_of"):
        if raw.get(name) != body.get(name):
            raise AnswerMismatch(OTHER)
    for name in digest.OWN_FIELDS[body["kind"]]:
        # What was not said may have a default on the server.
        if body.get(name) is not None and not _same(body[name], raw.get(name), exact=name == "arguments"):
            raise AnswerMismatch(OTHER)


def approved_arguments(body: dict[str, Any], record: Record) -> dict[str, Any]:
    """The approved arguments of an action. Raises `AnswerMismatch` unless the record approves this very call."""
    decision = yes(body, record)
    arguments = decision.get("arguments")
    if decision["decision"] == "edit":
        if "edit" not in body.get("allowed", ("edit",)):
            raise AnswerMismatch("it was approved with changes, which cannot be used here")
        if not isinstance(arguments, dict):
            raise AnswerMismatch("it was approved with changes, and the answer does not have them")
        return arguments
    if arguments is not None:
        raise AnswerMismatch("the arguments came back changed, and nobody edited them")
    return dict(body["arguments"])


def yes(body: dict[str, Any], record: Record) -> dict[str, Any]:
    """The decision, once it is known to be in favour, and made on what was asked for."""
    return _decided(body, record, YES)


def answer(body: dict[str, Any] | None, record: Record) -> None:
    """Raises `AnswerMismatch` unless somebody answered this very request with what the record says."""
    _decided(body, record, frozenset({"respond"}))


def _decided(body: dict[str, Any] | None, record: Record, words: frozenset[str]) -> dict[str, Any]:
    if body is not None:
        _about(body, record.raw)
    decision = record.raw.get("decision")
    if not isinstance(decision, dict):
        raise AnswerMismatch("it has no decision")
    if decision.get("decision") not in words:
        raise AnswerMismatch(f"the server says {_shown(decision.get('decision'))}, which is no decision in favour")
    try:
        asked, on = digest.of_request(record.raw), digest.of_decision(record.raw)
    except (KeyError, TypeError, NotJson) as error:
        raise AnswerMismatch("its digest cannot be computed from what it says") from error
    if record.raw.get("digest") != asked or decision.get("digest") != on:
        raise AnswerMismatch(OTHER)
    return decision


def permit(record: Record, approved: dict[str, Any], claimed: Claim) -> None:
    """Raises `AnswerMismatch` unless the permit is for what was approved."""
    if claimed.digest != record.raw["decision"]["digest"]:
        raise AnswerMismatch("the permit is for something else than what was approved")
    if not _same(approved, claimed.arguments):
        raise AnswerMismatch("the arguments of the permit are not the ones that were approved")


def _same(ours: Any, theirs: Any, exact: bool = True) -> bool:
    try:
        if exact:
            return digest.canonical(ours) == digest.canonical(theirs)
        return digest.canonical(_given(ours)) == digest.canonical(_given(theirs))
    except NotJson:
        return False


def _given(value: Any) -> Any:
    """Without what is null: the server writes out what a question leaves out."""
    if isinstance(value, dict):
        return {key: _given(item) for key, item in value.items() if item is not None}
    return [_given(item) for item in value] if isinstance(value, list) else value


def _shown(value: Any) -> str:
    return "missing" if value is None else f"`{str(value)[:80]}`"
