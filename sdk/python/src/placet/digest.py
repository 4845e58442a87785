"""Canonical JSON (RFC 8785) and the digests over it, the same bytes as the server's."""

from __future__ import annotations

import hashlib
import math
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any

from .errors import NotJson

if TYPE_CHECKING:
    from collections.abc import Mapping

SAFE = 2**53 - 1
"""The largest whole number that every reader of JSON agrees about."""


def canonical(value: Any) -> str:
    """The RFC 8785 form. Refuses what is not JSON; see `args.check_json` for errors that name the place."""
    parts: list[str] = []
    _write(value, parts)
    return "".join(parts)


def canonical_bytes(value: Any) -> bytes:
    """The RFC 8785 form as UTF-8. A lone surrogate has none, and is refused."""
    try:
        return canonical(value).encode()
    except UnicodeEncodeError as error:
        raise NotJson("a string has a lone surrogate; no UTF-8 text can carry it") from error


def of_json(value: Any) -> str:
    """`sha256:` and the hex digest of the canonical form: what reports carry as `result_digest`."""
    return _of("", value)


def number(value: float) -> str:
    """A number as ECMAScript writes it (RFC 8785, 3.2.2.3)."""
    if isinstance(value, int):
        if not -SAFE <= value <= SAFE:
            raise NotJson(f"{value} is beyond ±(2^53-1), where readers of JSON disagree; pass it as a string")
        return str(value)
    if not math.isfinite(value):
        raise NotJson(f"{value} is not JSON")
    if value == 0:
        return "0"  # negative zero, too
    sign = "-" if value < 0 else ""
    # `repr` has the shortest digits that read back as the same number, which is what ECMAScript asks for as well.
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + ("" if fraction == "0" else fraction)
    # The value is 0.DIGITS times ten to the power of `point`.
    point = len(whole) + int(exponent or 0)
    stripped = digits.lstrip("0")
    point -= len(digits) - len(stripped)
    digits = stripped.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    power = point - 1
    rest = f".{digits[1:]}" if count > 1 else ""
    return f"{sign}{digits[0]}{rest}e{'+' if power > 0 else '-'}{abs(power)}"


def _write(value: Any, parts: list[str]) -> None:
    if value is None:
        parts.append("null")
    elif value is True:
        parts.append("true")
    elif value is False:
        parts.append("false")
    elif isinstance(value, str):
        parts.append(encode_basestring(value))
    elif isinstance(value, (int, float)):
        parts.append(number(value))
    elif isinstance(value, dict):
        parts.append("{")
        for index, key in enumerate(sorted(value, key=_utf16)):
            parts.append("," if index else "")
            parts.append(encode_basestring(key))
            parts.append(":")
            _write(value[key], parts)
        parts.append("}")
    elif isinstance(value, (list, tuple)):
        parts.append("[")
        for index, item in enumerate(value):
            parts.append("," if index else "")
            _write(item, parts)
        parts.append("]")
    else:
        raise NotJson(f"{named(type(value))} is not JSON")


def _utf16(key: Any) -> bytes:
    if not isinstance(key, str):
        raise NotJson(f"a key is {type(key).__qualname__}; keys of JSON are strings")
    # Keys are sorted by UTF-16 code units; their big-endian bytes sort alike.
    return key.encode("utf-16-be", "surrogatepass")


OWN_FIELDS = {
    "action": ("tool", "arguments", "arguments_schema"),
    "plan": ("title", "steps", "can_modify", "estimated_duration"),
    "input": ("question", "input", "required", "default"),
    "confirmation": ("message", "details", "confirm_label", "cancel_label"),
}
"""The fields of each kind that a request's digest covers."""
SHARED_FIELDS = ("agent", "context", "created_at", "id", "kind", "nonce", "on_behalf_of", "session")


def of_request(record: Mapping[str, Any]) -> str:
    """The digest of a request, from its record: what a person was shown, and what a permit is for."""
    body = {name: record[name] for name in OWN_FIELDS[record["kind"]] if record.get(name) is not None}
    covered = {name: record.get(name) for name in SHARED_FIELDS}
    return _of("placet/request/v1\n", {**covered, "body": body, "space": "main"})


def of_decision(record: Mapping[str, Any]) -> str:
    """The digest that a decided request was decided on."""
    decision, proposed = record["decision"], of_request(record)
    if decision["decision"] == "respond":
        return _of(f"placet/proposal/v1\n{proposed}\n", {"answer": decision["answer"]})
    if decision.get("steps") is not None:
        return _of(f"placet/proposal/v1\n{proposed}\n", {"steps": decision["steps"]})
    if decision["decision"] == "edit":
        return of_request({**record, "arguments": decision["arguments"]})
    return proposed


def _of(prefix: str, value: Any) -> str:
    return "sha256:" + hashlib.sha256(prefix.encode() + canonical_bytes(value)).hexdigest()


def named(kind: type) -> str:
    """What a type is called, in every version of Python: `pathlib.PosixPath`, also where it is `pathlib._local`'s."""
    first, *inner = kind.__module__.split(".")
    if first == "builtins":
        return kind.__qualname__
    private = next((index for index, part in enumerate(inner) if part.startswith("_")), len(inner))
    return ".".join([first, *inner[:private], kind.__qualname__])
