"""Reads the server's JSON as strictly as the server does: text that parsers could read differently is refused."""

from __future__ import annotations

import json
import math
from typing import Any

from ..args import DEPTH
from ..digest import SAFE

LEVELS = DEPTH + 8
"""Arguments may be `DEPTH` deep, and stand a few levels deep in an answer: in a decision, in a record, in a page."""


def read(body: bytes | str) -> Any:
    """The value of one JSON document. Raises `ValueError` with one clause that says what is wrong with it."""
    # Not left to `json`, which guesses UTF-16, takes a byte-order mark, and lets lone surrogates through.
    text = body if isinstance(body, str) else body.decode("utf-8")
    try:
        found = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_no_constant,
            parse_int=_integer,
            parse_float=_number,
        )
    except RecursionError:
        raise ValueError(f"it is deeper than {LEVELS} levels") from None
    _walk(found, 0)
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice[:40]!r} stands twice in one object")
    return found


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no number")


def _integer(text: str) -> int:
    # The length first: making a number of many digits takes long.
    if len(text) > 17 or not -SAFE <= int(text) <= SAFE:
        raise ValueError("it has a number beyond ±(2^53-1), where readers disagree")
    return int(text)


def _number(text: str) -> float:
    found = float(text)
    if not math.isfinite(found):
        raise ValueError("it has a number beyond what a number can be")
    return found


def _walk(value: Any, depth: int) -> None:
    if isinstance(value, str):
        if not value.isascii():
            _text(value)
    elif isinstance(value, (dict, list)):
        if depth >= LEVELS:
            raise ValueError(f"it is deeper than {LEVELS} levels")
        if isinstance(value, dict):
            for key in value:
                _walk(key, depth)
        for item in value.values() if isinstance(value, dict) else value:
            _walk(item, depth + 1)


def _text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("it has half of a surrogate pair, which is no text") from None
