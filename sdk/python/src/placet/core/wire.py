"""Calls as bytes, and answers as records, refusals or outages."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote

from .. import errors
from ..models import Claim, Record, duration
from . import strict
from .effects import PAGE, NoAnswer, Reply, Send
from .retry import Outage


class RetryableError(Exception):
    """A failed attempt that did not decide the call: it may be sent again."""

    def __init__(self, reason: str, after: float | None = None, foreign: bool = False):
        super().__init__(reason)
        self.reason = reason
        self.after = after
        self.foreign = foreign


def create(
    body: dict[str, Any], *, key: str, weak_key: str | None, wait: float | None, claimant: str | None, claim: bool
) -> Send:
    headers = {"Idempotency-Key": key}
    if weak_key:
        headers["Placet-Weak-Key"] = weak_key
    if claim and claimant:
        headers["Placet-Claimant"] = claimant
    query = {"claim": "true"} if claim else {}
    return Send("POST", "/v1/requests", _waiting(query, wait), headers, _bytes(body), wait or 0.0)


def get(id: str, *, wait: float | None = None, version: int | None = None, look: bool = False) -> Send:
    query = {} if version is None else {"version": str(version)}
    return Send("GET", _of(id), _waiting(query, wait), held_for=wait or 0.0, look=look)


def claim(id: str, claimant: str) -> Send:
    return Send("POST", _of(id, "claim"), body=_bytes({"claimant": claimant}))


def report(id: str, permit: str, status: str, result_digest: str | None, note: str | None) -> Send:
    body = {"permit": permit, "status": status, "result_digest": result_digest, "note": note}
    return Send("POST", _of(id, "outcome"), body=_bytes({k: v for k, v in body.items() if v is not None}))


def cancel(id: str, reason: str | None) -> Send:
    return Send("POST", _of(id, "cancel"), body=_bytes({"reason": reason} if reason else {}))


def decide(id: str, body: dict[str, Any]) -> Send:
    return Send("POST", _of(id, "decision"), body=_bytes(body))


def coverage(body: dict[str, Any]) -> Send:
    return Send("PUT", "/v1/coverage", body=_bytes(body))


def listing(query: dict[str, str]) -> Send:
    return Send("GET", "/v1/requests", query, largest=PAGE)


def _of(id: str, verb: str = "") -> str:
    return f"/v1/requests/{quote(id, safe='')}" + (f"/{verb}" if verb else "")


def _waiting(query: dict[str, str], wait: float | None) -> dict[str, str]:
    return query if wait is None else {**query, "wait": str(duration(max(wait, 0.001)))}


def _bytes(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def read(answer: Reply | NoAnswer) -> dict[str, Any]:
    """The JSON object of a good answer. Raises `RetryableError`, or the error that says no."""
    if isinstance(answer, NoAnswer):
        if answer.final:
            raise errors.WrongAnswer(f"the answer cannot be used: {answer.reason}")
        raise RetryableError(answer.reason)
    if 300 <= answer.status < 400:
        raise errors.ProtocolError(
            f"it redirects ({answer.status}), and a key is never carried elsewhere; check PLACET_URL"
        )
    try:
        found = _object(answer)
    except ValueError as why:
        # Whatever its status, this answer is from something between us and Placet.
        raise RetryableError(_described(answer, why), answer.retry_after, foreign=answer.status < 500) from why
    if 200 <= answer.status < 300:
        return found
    error = problem(answer.status, found)
    if answer.status in (408, 429) or answer.status >= 500:
        # A full inbox is the answer to this call, and a full disk is said plainly; a busy server is neither.
        if error.code in {"pending_cap", "disk_full"}:
            raise error
        raise RetryableError(str(error), answer.retry_after)
    raise error


def _object(answer: Reply) -> dict[str, Any]:
    """The JSON object of an answer. Raises `ValueError` with one clause that says why it is not from Placet."""
    kind = answer.content_type.partition(";")[0].strip().lower()
    wanted = "application/json" if 200 <= answer.status < 300 else "application/problem+json"
    if kind != wanted:
        raise ValueError(kind or "no content type")
    found = strict.read(answer.body)
    if not isinstance(found, dict):
        raise ValueError("it is no object")
    if answer.status >= 400 and not isinstance(found.get("code"), str):
        raise ValueError("it has no code")
    return found


def _described(answer: Reply, why: ValueError) -> str:
    start = answer.body[:80].decode("utf-8", "replace").strip()
    return f"the answer is not Placet's: status {answer.status}, {str(why)[:200]}, {start!r}"


def retry_after(text: str) -> float | None:
    """The seconds of the header, if it has any. At most a day: what is longer is no number to reckon with."""
    return min(float(text), 86_400.0) if re.fullmatch(r"[0-9]{1,12}", text) else None


def problem(status: int, found: dict[str, Any]) -> errors.Problem:
    """A problem document as an error."""
    kinds = {401: errors.WrongKey, 403: errors.WrongKey, 409: errors.Conflict, 422: errors.Invalid}
    kind = kinds.get(status, errors.Problem)
    detail = str(found.get("detail") or found.get("title") or "refused")
    if status == 401:
        detail += "; check PLACET_TOKEN"
    raw = found.get("record")
    pointer = found.get("pointer")
    return kind(
        status,
        str(found["code"]),
        detail,
        pointer=str(pointer) if pointer else None,
        record=Record(raw) if isinstance(raw, dict) and is_record(raw) else None,
    )


def is_record(raw: Any) -> bool:
    return (
        isinstance(raw, dict)
        and isinstance(raw.get("id"), str)
        and isinstance(raw.get("state"), str)
        and type(raw.get("version")) is int
    )


def record(found: dict[str, Any], id: str | None = None) -> Record:
    """A record, of the request that was asked for."""
    if not is_record(found):
        raise RetryableError(f"the answer is no request of Placet's: it has {_fields(found)}", foreign=True)
    if id is not None and found["id"] != id:
        raise errors.WrongAnswer(f"the server answered about another request: {found['id']} in place of {id}")
    return Record(found)


def claimed(found: dict[str, Any]) -> Claim:
    """The answer to a claim."""
    permit, arguments, digest = found.get("permit"), found.get("arguments"), found.get("digest")
    if not (isinstance(permit, str) and permit and isinstance(arguments, dict) and isinstance(digest, str)):
        raise RetryableError(f"the answer is no permit of Placet's: it has {_fields(found)}", foreign=True)
    return Claim(permit, arguments, digest, found.get("report_by"))


def _fields(found: dict[str, Any]) -> str:
    return "the fields " + ", ".join(sorted(found)[:8]) if found else "no fields"


def after(again: RetryableError, outage: Outage, url: str) -> float:
    """How long to pause before the next attempt; raises when there is none."""
    pause = outage.pause(again.after)
    if pause is not None:
        return pause
    kind = errors.ProtocolError if again.foreign else errors.Unreachable
    raise kind(f"the approval service at {url} cannot be reached: {again.reason}")
