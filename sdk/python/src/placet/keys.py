"""Idempotency keys. Strong: this very call of this framework. Weak: the same call asked again after a restart."""

from __future__ import annotations

import hashlib
import secrets
import threading
from dataclasses import dataclass
from typing import Any

from . import digest


@dataclass(frozen=True)
class Keys:
    """What a create carries so that a lost answer, or a restart, does not ask a person twice.

    `strong` is sent as `Idempotency-Key`: the same key never makes a second request. Without one a random key is made.
    `weak` is sent as `Placet-Weak-Key`: a restarted process that asks the same again gets the request that is still
    pending, or approved and not used. Only give one when the session is known to survive the restart.
    """

    strong: str | None = None
    weak: str | None = None


def random() -> str:
    """A key for a call that has no stable identity of its own."""
    return "r1:" + secrets.token_hex(16)


def claimant() -> str:
    """The secret that a permit is claimed with. Kept in memory only."""
    return secrets.token_hex(16)


def strong(
    framework: str,
    app: str | None,
    session: str,
    call_id: str,
    *,
    user: str | None = None,
    tenant: str | None = None,
) -> str:
    """The key of one call whose id the framework keeps across restarts. Two users may have sessions of one name."""
    return "s2:" + _hash([framework, app, tenant, user, session, call_id])


def weak(
    app: str | None,
    session: str,
    agent: str | None,
    tool: str,
    arguments: Any,
    ordinal: int = 0,
    *,
    user: str | None = None,
    tenant: str | None = None,
    turn: str | None = None,
) -> str:
    """The key of one intended call, made of what a restarted process can compute again: whose call it is, in which turn
    of the conversation, and what it asks for."""
    return "w2:" + _hash([app, tenant, user, session, turn, agent, tool, arguments, ordinal])


class Ordinals:
    """Counts equal calls, so that two intended equal calls are two requests. One for each session or invocation."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}
        # Tools run in worker threads as well, and two of them must not get the same number.
        self._lock = threading.Lock()

    def next(self, tool: str, arguments: Any) -> int:
        """0 for the first call of this tool with these arguments, then 1, 2, …"""
        key = _hash([tool, arguments])
        with self._lock:
            ordinal = self._seen.get(key, 0)
            self._seen[key] = ordinal + 1
        return ordinal


def _hash(parts: list[Any]) -> str:
    return hashlib.sha256(digest.canonical_bytes(parts)).hexdigest()
