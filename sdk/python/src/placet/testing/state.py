"""The life of requests in memory: the same states, words and refusals as the server's. No HTTP in here."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

from .. import args, digest
from ..errors import NotJson
from ..models import TOOL, seconds

COMMON = {"kind", "session", "summary", "risk", "context", "allowed", "expires_in", "on_behalf_of", "group", "permit"}
KINDS = {kind: COMMON | set(fields) for kind, fields in digest.OWN_FIELDS.items()}
OFFERED = {
    "action": ("approve", "edit", "deny"),
    "plan": ("approve", "edit", "deny"),
    "input": ("respond", "deny"),
    "confirmation": ("approve", "deny"),
}


class Problem(Exception):
    """A refusal, with the status and the stable code that the server gives."""

    def __init__(self, status: int, code: str, detail: str, record: dict[str, Any] | None = None):
        super().__init__(detail)
        self.status, self.code, self.detail, self.record = status, code, detail, record


class Requests:
    """All requests. `listeners` get every change, with the record after it."""

    def __init__(self, verdict: Callable[[dict[str, Any]], str]):
        self.lock = threading.RLock()
        self.records: dict[str, dict[str, Any]] = {}
        self.listeners: list[Callable[[str, dict[str, Any]], None]] = []
        self._verdict = verdict
        self._keys: dict[tuple[str, str], tuple[str, str]] = {}
        self._weak: dict[tuple[str, str], str] = {}
        self._claims: dict[str, tuple[str | None, str]] = {}
        self._ahead = timedelta()

    def now(self) -> datetime:
        return datetime.now(timezone.utc) + self._ahead

    def advance(self, by: float) -> None:
        """Moves the clock; what is overdue then ends."""
        with self.lock:
            self._ahead += timedelta(seconds=by)
            for id in list(self.records):
                self.read(id)

    def read(self, id: str) -> dict[str, Any]:
        """A record, never pending past its deadline."""
        with self.lock:
            record = self.records.get(id)
            if record is None:
                raise Problem(404, "not_found", "there is nothing here for you")
            now = _text(self.now())
            if record["state"] == "pending" and now >= record["expires_at"]:
                return self._change(id, "request.expired", state="expired")
            if record["state"] == "approved" and record["claimable"] and now >= record["claim_by"]:
                return self._change(id, "request.lapsed", state="lapsed")
            return record

    def create(self, agent: str, body: dict[str, Any], key: str | None, weak: str | None) -> tuple[int, dict[str, Any]]:
        """A new request, or the one that was made with this key before."""
        with self.lock:
            canonical = digest.canonical(body)
            if key is not None and (agent, key) in self._keys:
                id, before = self._keys[agent, key]
                if before != canonical:
                    raise Problem(409, "idempotency_key_reused", "the key was used with another body", self.read(id))
                return 200, self.read(id)
            if weak is not None and (agent, weak) in self._weak:
                found = self.read(self._weak[agent, weak])
                if _same_call(found, body) and found["state"] in {"pending", "approved"}:
                    self._remember(agent, key, found["id"], canonical)
                    return 200, found
            record = self._record(agent, body)
            self.records[record["id"]] = record
            self._remember(agent, key, record["id"], canonical)
            if weak is not None:
                self._weak[agent, weak] = record["id"]
            self._tell("request.created", record)
            return 201, record

    def _remember(self, agent: str, key: str | None, id: str, canonical: str) -> None:
        if key is not None:
            self._keys[agent, key] = (id, canonical)

    def _record(self, agent: str, body: dict[str, Any]) -> dict[str, Any]:
        kind = body.get("kind")
        if kind not in KINDS:
            raise Problem(422, "invalid", "kind: use action, plan, input or confirmation")
        unknown = set(body) - KINDS[kind]
        if unknown:
            raise Problem(422, "invalid", f"unknown field `{sorted(unknown)[0]}`")
        if not isinstance(body.get("session"), str) or not body["session"]:
            raise Problem(422, "invalid", "session: required")
        if kind == "action" and not (TOOL.fullmatch(str(body.get("tool"))) and isinstance(body.get("arguments"), dict)):
            raise Problem(422, "invalid", "tool: 1 to 200 letters, digits and _ . / : -; arguments: an object")
        expires_in = 300.0 if body.get("expires_in") is None else seconds(body["expires_in"])
        if expires_in is None or not 1 <= expires_in <= 30 * 86400:
            raise Problem(422, "invalid", "expires_in: from 1 s to 30 days, such as `10m`")
        now = self.now()
        own = {name: body.get(name) for fields in digest.OWN_FIELDS.values() for name in fields}
        record = {
            "id": "req_" + secrets.token_hex(13),
            "version": 1,
            "kind": kind,
            "state": "pending",
            "agent": agent,
            "session": body["session"],
            **own,
            "context": body.get("context") or {},
            "summary": body.get("summary"),
            "on_behalf_of": body.get("on_behalf_of"),
            "group": body.get("group"),
            "nonce": secrets.token_hex(16),
            "risk": body.get("risk") or "medium",
            "allowed": [word for word in OFFERED[kind] if word in (body.get("allowed") or OFFERED[kind])],
            "claimable": kind == "action" and body.get("permit") is not False,
            "needs": {"any": [{"all": [{"people": 1, "team": None}]}], "four_eyes": False, "step_up": None},
            "votes": [],
            "asked": [],
            "proposal": None,
            "decision": None,
            "created_at": _text(now),
            "expires_at": _text(now + timedelta(seconds=expires_in)),
            "claim_by": None,
            "report_by": None,
            "claim": None,
            "outcome": None,
        }
        if kind == "action" and "respond" in (body.get("allowed") or ()):
            record["allowed"].append("respond")
        if "deny" not in record["allowed"]:
            record["allowed"].append("deny")
        if kind == "input":
            record["required"] = body.get("required", True)
        record["url"] = f"/r/{record['id']}"
        record["digest"] = digest.of_request(record)
        effect = self._verdict(record) if kind == "action" else "hold"
        if effect not in {"allow", "hold", "deny"}:
            raise ValueError(f"a policy says allow, hold or deny, and not {effect!r}")
        record["verdict"] = {"effect": effect, "rule": "test", "policy": "sha256:test", "reasons": ["the test says so"]}
        record["state"] = {"allow": "approved", "hold": "pending", "deny": "denied"}[effect]
        if effect == "allow":
            said = dict.fromkeys(("reason", "arguments", "answer", "steps"))
            record["decision"] = {**said, "decision": "approve", "by": [], "digest": record["digest"], "at": _text(now)}
            record["claim_by"] = _text(now + timedelta(minutes=15))
        return record

    def decide(self, id: str, by: str, body: dict[str, Any]) -> dict[str, Any]:
        with self.lock:
            record = self.read(id)
            word = str(body.get("decision"))
            if record["state"] != "pending":
                code = record["state"] if record["state"] in {"expired", "cancelled"} else "already_decided"
                raise Problem(409, code, f"the request is {record['state']}", record)
            if body.get("digest") != record["digest"]:
                raise Problem(409, "stale_digest", "this is not what stands there now", record)
            if word not in record["allowed"]:
                raise Problem(422, "invalid", f"`{word}` is not offered for this request")
            if word == "edit":
                self._check_edit(record, body)
            now = self.now()
            decision = {
                "decision": word,
                "by": [by],
                "reason": body.get("reason"),
                "arguments": body.get("arguments") if word == "edit" else None,
                "answer": body.get("answer") if word == "respond" else None,
                "steps": body.get("steps"),
                "at": _text(now),
            }
            decision["digest"] = digest.of_decision({**record, "decision": decision})
            state = {"approve": "approved", "edit": "approved", "deny": "denied", "respond": "answered"}[word]
            claim_by = _text(now + timedelta(minutes=15)) if state == "approved" and record["claimable"] else None
            return self._change(id, "request.decided", state=state, decision=decision, claim_by=claim_by)

    def _check_edit(self, record: dict[str, Any], body: dict[str, Any]) -> None:
        arguments = body.get("arguments")
        if record["kind"] != "action":
            return
        try:
            args.check_json(arguments)
        except NotJson as error:
            raise Problem(422, "invalid", str(error)) from error
        why = args.misfit(arguments, record["arguments_schema"] or {}) if isinstance(arguments, dict) else "no object"
        if why is not None:
            raise Problem(422, "invalid", f"the arguments do not fit arguments_schema: {why}")

    def claim(self, id: str, claimant: str | None) -> dict[str, Any]:
        """The record with its permit in `permit`."""
        with self.lock:
            record = self.read(id)
            if record["state"] == "approved" and record["claimable"]:
                permit = "prm_" + secrets.token_hex(16)
                self._claims[id] = (claimant, permit)
                now = self.now()
                self._change(
                    id,
                    "request.claimed",
                    state="claimed",
                    claim={"by": record["agent"], "at": _text(now)},
                    report_by=_text(now + timedelta(hours=1)),
                )
            elif record["state"] != "claimed" or claimant is None or self._claims[id][0] != claimant:
                code = {"claimed": "already_claimed", "lapsed": "lapsed"}.get(record["state"], "not_approved")
                code = "already_claimed" if record["state"] in {"succeeded", "failed", "unknown"} else code
                raise Problem(409, code, "there is no permit", record)
            return {**self.records[id], "permit": self._claims[id][1]}

    def report(self, id: str, body: dict[str, Any]) -> dict[str, Any]:
        with self.lock:
            record = self.read(id)
            if id not in self._claims:
                raise Problem(409, "not_claimed", "nothing was claimed", record)
            if body.get("permit") != self._claims[id][1]:
                raise Problem(403, "wrong_permit", "this is not the permit of this request")
            told = {"status": body["status"], "result_digest": body.get("result_digest"), "note": body.get("note")}
            if record["outcome"] is not None:
                same = all(record["outcome"][name] == told[name] for name in ("status", "result_digest"))
                if not same:
                    raise Problem(409, "already_reported", "another outcome is on record", record)
                return record
            outcome = {**told, "at": _text(self.now())}
            return self._change(id, "request.reported", state=told["status"], outcome=outcome)

    def end(self, id: str, state: str, reason: str | None = None) -> dict[str, Any]:
        """Cancelled by its owner, revoked by a reviewer, or over: `expired`, `lapsed`, `unknown`."""
        of = {
            "cancelled": {"pending", "approved"},
            "revoked": {"approved"},
            "expired": {"pending"},
            "lapsed": {"approved"},
            "unknown": {"claimed"},
        }
        with self.lock:
            record = self.read(id)
            if record["state"] not in of[state]:
                raise Problem(409, "already_decided", f"the request is {record['state']}", record)
            return self._change(id, f"request.{state}", state=state)

    def _change(self, id: str, event: str, **fields: Any) -> dict[str, Any]:
        # A new dict each time: whoever was told of the old one keeps it as it was.
        record = self.records[id]
        record = self.records[id] = {**record, **fields, "version": record["version"] + 1}
        self._tell(event, record)
        return record

    def _tell(self, event: str, record: dict[str, Any]) -> None:
        for listener in list(self.listeners):
            listener(event, record)


def _same_call(record: dict[str, Any], body: dict[str, Any]) -> bool:
    wanted = {name: body.get(name) for name in ("kind", "tool", "arguments", "session", "on_behalf_of")}
    same = digest.canonical({name: record[name] for name in wanted}) == digest.canonical(wanted)
    return same and digest.canonical(_whose(record)) == digest.canonical(_whose(body))


def _whose(of: dict[str, Any]) -> dict[str, Any]:
    """The parts of a context that name the owner of a call, as the server compares them."""
    fields = ("user", "tenant", "app", "cwd", "lineage", "turn")
    return {name: value for name, value in (of.get("context") or {}).items() if name in fields}


def _text(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
