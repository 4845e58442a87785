"""Canonical JSON (RFC 8785) and the digests over it, the same bytes as the server's."""

from __future__ import annotations

import hashlib
import json
import math
from json.encoder import encode_basestring
from typing import Any

from .errors import NotJson

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
    return "sha256:" + hashlib.sha256(canonical_bytes(value)).hexdigest()


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
        raise NotJson(f"{type(value).__module__}.{type(value).__qualname__} is not JSON")


def _utf16(key: Any) -> bytes:
    if not isinstance(key, str):
        raise NotJson(f"a key is {type(key).__qualname__}; keys of JSON are strings")
    # Keys are sorted by UTF-16 code units; their big-endian bytes sort alike.
    return key.encode("utf-16-be", "surrogatepass")


def read(text: str | bytes) -> Any:
    """Reads JSON as strictly as the server does where it matters for digests: no duplicate keys, no NaN."""
    return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise NotJson("a key stands twice in one object; readers disagree about which one counts")
    return found


def _no_constant(word: str) -> Any:
    raise NotJson(f"{word} is not JSON")
