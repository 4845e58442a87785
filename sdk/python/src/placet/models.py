"""What travels: a call on its way out, a record on its way back."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import args
from .errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .keys import Keys
    from .waiting import OnWaiting
    from .words import Decision, Risk

STATES = frozenset(
    {
        "pending", "approved", "denied", "answered", "expired", "cancelled",
        "revoked", "lapsed", "claimed", "succeeded", "failed", "unknown",
    }
)  # fmt: skip
USUAL = 300.0
"""How long deciding may take when nobody says: the server's own default."""
TOOL = re.compile(r"[A-Za-z0-9_./:-]{1,200}")
"""What the name of a tool looks like."""
DECISIONS = ("approve", "edit", "deny", "respond")
RISKS = ("low", "medium", "high", "critical")


class Record:
    """A request as the server shows it: a thin view over the JSON. Fields read as attributes, null as None.

    Fields this version does not know are kept in `raw`. Words it does not know are never a yes.
    """

    __slots__ = ("as_of", "base", "raw")

    def __init__(self, raw: Mapping[str, Any], as_of: float = 0.0, base: str = ""):
        self.raw: dict[str, Any] = dict(raw)
        self.as_of = as_of
        """It is not older than this moment of this machine's monotonic clock."""
        self.base = base
        """The URL of the server that said so."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "raw":
            raise AttributeError(name)
        return self.raw.get(name)

    def __repr__(self) -> str:
        return f"Record({self.id}, {self.kind} {self.tool or ''} {self.state}, version {self.version})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self.raw == other.raw

    __hash__ = None  # type: ignore[assignment]

    @property
    def id(self) -> str:
        return str(self.raw["id"])

    @property
    def version(self) -> int:
        return int(self.raw["version"])

    @property
    def state(self) -> str:
        return str(self.raw["state"])

    @property
    def url(self) -> str | None:
        """Where a person decides: an absolute URL. The server may say it without its own address."""
        return absolute(self.base, self.raw.get("url"))

    @property
    def decision_word(self) -> str | None:
        """`approve`, `edit`, `deny` or `respond`; None while there is no decision."""
        decision = self.raw.get("decision")
        return None if not isinstance(decision, dict) else str(decision.get("decision"))

    @property
    def reason_given(self) -> str | None:
        """What whoever decided said about it."""
        decision = self.raw.get("decision")
        reason = decision.get("reason") if isinstance(decision, dict) else None
        return None if reason is None else str(reason)

    @property
    def approved_arguments(self) -> dict[str, Any] | None:
        """What will run: the replacement after an edit, what was proposed otherwise."""
        decision = self.raw.get("decision")
        of_decision = decision.get("arguments") if isinstance(decision, dict) else None
        found = of_decision if of_decision is not None else self.raw.get("arguments")
        return found if isinstance(found, dict) else None


def absolute(base: str, url: Any) -> str | None:
    """The URL with the address of the server, where it lacks one. None for what no browser should open."""
    if not isinstance(url, str) or not url.isascii() or not url.isprintable() or " " in url:
        return None
    if url.startswith("/"):
        return base + url
    return url if url.startswith(("http://", "https://")) else None


def checked_risk(where: str, risk: Any) -> None:
    if risk is not None and risk not in RISKS:
        raise ConfigError(f"{where}: risk={risk!r} is no risk; use {', '.join(RISKS)}")


def checked_allowed(where: str, allowed: Any) -> None:
    if isinstance(allowed, str):
        raise ConfigError(f"{where}: allowed={allowed!r}: give a list of decisions")
    for word in allowed:
        if word not in DECISIONS:
            raise ConfigError(f"{where}: allowed: `{word}` is no decision; use {', '.join(DECISIONS)}")


@dataclass(frozen=True)
class Claim:
    """A permit: the right to run these arguments once."""

    permit: str
    arguments: dict[str, Any]
    digest: str
    report_by: str | None = None


class Page(list[Record]):
    """One page of a list of records, newest first (`pending`: nearest deadline first)."""

    def __init__(self, records: Sequence[Record], next_cursor: str | None, event_id: str | None):
        super().__init__(records)
        self.next_cursor = next_cursor
        self.event_id = event_id


@dataclass
class Call:
    """One intended run of a tool.

    `accepts` is asked about edited arguments before they run: it returns why they do not fit, or None. It stays here.
    """

    tool: str
    arguments: dict[str, Any]
    session: str
    keys: Keys | None = field(default=None, kw_only=True)
    summary: str | None = field(default=None, kw_only=True)
    risk: Risk | None = field(default=None, kw_only=True)
    context: dict[str, Any] | None = field(default=None, kw_only=True)
    allowed: Sequence[Decision] = field(default=("approve", "edit", "deny"), kw_only=True)
    expires_in: str | float | None = field(default=None, kw_only=True)
    on_behalf_of: str | None = field(default=None, kw_only=True)
    group: str | None = field(default=None, kw_only=True)
    arguments_schema: dict[str, Any] | None = field(default=None, kw_only=True)
    accepts: Callable[[dict[str, Any]], str | None] | None = field(default=None, kw_only=True, repr=False)
    idempotent: bool = field(default=False, kw_only=True)
    on_waiting: OnWaiting = field(default="inherit", kw_only=True, repr=False, compare=False)
    """What is told while this call waits, in place of the client's own `on_waiting`. It stays here."""

    def body(self) -> dict[str, Any]:
        """The create as it goes over the wire. Raises `NotJson` for what JSON cannot carry."""
        if type(self.arguments) is not dict:
            raise ConfigError(f"arguments of `{self.tool}` must be a dict of names and values")
        args.check_json(self.arguments)
        args.check_json(self.context, "/context")
        checked_allowed(self.tool, self.allowed)
        checked_risk(self.tool, self.risk)
        allowed = list(self.allowed)
        body: dict[str, Any] = {
            "kind": "action",
            "tool": self.tool,
            "arguments": self.arguments,
            "session": self.session,
            "allowed": allowed,
        }
        optional = {
            "summary": self.summary,
            "risk": self.risk,
            "context": self.context,
            "expires_in": duration(self.expires_in),
            "on_behalf_of": self.on_behalf_of,
            "group": self.group,
            "arguments_schema": self.arguments_schema,
        }
        body.update({name: value for name, value in optional.items() if value is not None})
        return body


def duration(value: str | float | None) -> str | None:
    """A duration as the wire writes it: `90` seconds are `90s`, text such as `10m` stays."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool) or not value > 0:
        raise ConfigError(f"{value!r} is no duration; use seconds, or text such as `10m`")
    return f"{int(value)}s" if float(value).is_integer() else f"{max(1, round(value * 1000))}ms"


def lifetime(record: Record) -> float:
    """How long deciding may take from its beginning to its end, by the server's clock alone."""
    from datetime import datetime

    try:
        began = datetime.fromisoformat(str(record.created_at).replace("Z", "+00:00"))
        ends = datetime.fromisoformat(str(record.expires_at).replace("Z", "+00:00"))
        return max(0.0, (ends - began).total_seconds())
    except (ValueError, TypeError):
        return USUAL


def time_left(record: Record) -> float:
    """Seconds until it expires, for people to read: by this machine's clock, and never more than its whole lifetime."""
    from datetime import datetime, timezone

    whole = lifetime(record)
    try:
        ends = datetime.fromisoformat(str(record.expires_at).replace("Z", "+00:00"))
        return max(0.0, min(whole, (ends - datetime.now(timezone.utc)).total_seconds()))
    except (ValueError, TypeError):
        return whole


def seconds(text: str | None) -> float | None:
    """How long a duration of the wire is; None when it is none."""
    unit = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
    found = re.fullmatch(r"(\d+)(ms|s|m|h|d)", text or "")
    return int(found[1]) * unit[found[2]] if found else None
