"""Requests as an honest Placet server shows them: what the lies are made of."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from datetime import datetime, timedelta, timezone
from typing import Any

Json = dict[str, Any]

OWN_FIELDS = {
    "action": ("tool", "arguments", "arguments_schema"),
    "plan": ("title", "steps", "can_modify", "estimated_duration"),
    "input": ("question", "input", "required", "default"),
    "confirmation": ("message", "details", "confirm_label", "cancel_label"),
}
SHARED_FIELDS = ("agent", "context", "created_at", "id", "kind", "nonce", "on_behalf_of", "session")


def moment(ahead: float = 0.0) -> str:
    return (datetime.now(timezone.utc) + timedelta(seconds=ahead)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def new_id() -> str:
    return "req_" + base64.b32hexencode(secrets.token_bytes(16)).decode().rstrip("=").lower()


def canonical(value: Any) -> bytes:
    """Enough of RFC 8785 for what the tests ask for: ASCII keys, text, whole numbers."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def digest(record: Json, arguments: Any = None) -> str:
    fields = {**record, "arguments": record["arguments"] if arguments is None else arguments}
    body = {name: fields[name] for name in OWN_FIELDS[record["kind"]] if fields.get(name) is not None}
    covered = {name: record.get(name) for name in SHARED_FIELDS}
    covered.update(body=body, space="main")
    return "sha256:" + hashlib.sha256(b"placet/request/v1\n" + canonical(covered)).hexdigest()


def sealed(record: Json) -> Json:
    """The record with digests that fit what it says. A lie that is consistent in itself goes through here."""
    record["digest"] = digest(record)
    decision = record["decision"]
    if decision is not None:
        decision["digest"] = digest(record, decision["arguments"])
    return record


def asked(body: Json) -> Json:
    """A new request, pending."""
    own = {name: body.get(name) for fields in OWN_FIELDS.values() for name in fields}
    record = {
        "id": new_id(), "version": 1, "kind": body["kind"], "state": "pending", "agent": "bot",
        "session": body["session"], **own,
        "context": body.get("context") or {}, "summary": body.get("summary"), "group": body.get("group"),
        "on_behalf_of": body.get("on_behalf_of"), "nonce": secrets.token_hex(16), "risk": "medium",
        "allowed": ["approve", "edit", "deny"], "claimable": body["kind"] == "action",
        "verdict": {"effect": "hold", "rule": "all", "policy": "sha256:" + "0" * 64, "reasons": []},
        "needs": {"any": [{"all": [{"people": 1, "team": None}]}], "four_eyes": False, "step_up": None},
        "votes": [], "asked": [], "proposal": None, "decision": None, "claim": None, "outcome": None,
        "created_at": moment(), "expires_at": moment(300), "claim_by": None, "report_by": None,
    }  # fmt: skip
    record["url"] = f"/r/{record['id']}"
    return sealed(record)


def other_arguments(arguments: Json) -> Json:
    """Arguments of the same shape that nobody asked for."""
    return dict.fromkeys(arguments, "something else") or {"added": True}


def edited(record: Json) -> Json:
    """Arguments that a reviewer put in place of those asked for, of the same types."""

    def other(value: Any) -> Any:
        return "edited" if isinstance(value, str) else ["edited"] if isinstance(value, list) else value

    return {name: other(value) for name, value in record["arguments"].items()}


def approved(record: Json, arguments: Json | None = None) -> Json:
    """The same request after somebody said yes, to these arguments or to its own."""
    decision = {
        "decision": "approve" if arguments is None else "edit", "by": ["ann"], "reason": None, "answer": None,
        "arguments": arguments, "steps": None, "at": moment(), "digest": None,
    }  # fmt: skip
    later = {"state": "approved", "decision": decision, "claim_by": moment(900), "version": record["version"] + 1}
    return sealed({**record, **later})


def claimed(record: Json) -> Json:
    """The same request after its permit was given out."""
    later = {"state": "claimed", "claim": {"by": "bot", "at": moment()}, "report_by": moment(3600)}
    return {**record, **later, "version": record["version"] + 1}


def ended(record: Json, state: str) -> Json:
    return {**record, "state": state, "version": record["version"] + 1}


def permit_of(record: Json, permit: str) -> Json:
    """The answer to a claim."""
    decision = record["decision"]
    return {
        "permit": permit,
        "arguments": decision["arguments"] or record["arguments"],
        "digest": decision["digest"],
        "report_by": moment(3600),
    }


def problem(status: int, code: str, record: Json | None = None) -> Json:
    found: Json = {"type": "about:blank", "title": code, "status": status, "code": code, "detail": f"it says {code}"}
    return found if record is None else {**found, "record": record}
