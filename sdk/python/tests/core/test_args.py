"""Arguments: what travels, what is refused, and what a signature says about it."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import pathlib
from typing import Annotated, Any, Literal

import pytest

import placet
from placet import args


class Colour(enum.Enum):
    RED = "red"


class Text(str):
    pass


@dataclasses.dataclass
class Point:
    x: int


class Model:
    def model_dump(self): ...


@pytest.mark.parametrize(
    "value",
    [None, True, "ü", 0, -1, 1.5, 2**53 - 1, 1e300, [], {}, {"a": [{"b": None}]}, [[1], "x"]],
)
def test_plain_json_passes(value):
    args.check_json(value)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"files": [pathlib.PurePosixPath("/x")]}, "/files/0: pathlib.PurePosixPath is not JSON; pass str(path)"),
        ({"a": (1, 2)}, "/a: tuple is not JSON; pass list(value)"),
        ({"a": {1}}, "/a: set is not JSON; pass list(value)"),
        ({"a": b"x"}, "/a: bytes is not JSON; pass text, such as value.hex()"),
        ({"a": Point(1)}, "test_args.Point is not JSON"),
        ({"a": Model()}, 'pass value.model_dump(mode="json")'),
        ({"a": datetime.date(2026, 1, 1)}, "pass value.isoformat()"),
        ({"a": Colour.RED}, "Colour is not JSON"),
        ({"a": Text("x")}, "Text is not JSON"),
        ({1: "x"}, "the key 1 is no text"),
        ({"a/b": {"~": object()}}, "/a~1b/~0: object is not JSON"),
        ({"a": float("nan")}, "/a: nan is not JSON"),
        ({"a": 2**53}, "beyond ±(2^53-1)"),
        ({"a": 1e20}, "whole number beyond"),
        ({"a": "\ud83d"}, "/a: the text has a lone surrogate"),
        ({"a": object}, "type is not JSON"),
    ],
)
def test_everything_else_is_refused_by_its_place(value, says):
    with pytest.raises(placet.NotJson) as caught:
        args.check_json(value)
    assert says in str(caught.value)


def test_a_value_that_contains_itself_is_refused():
    value: list[Any] = []
    value.append(value)
    with pytest.raises(placet.NotJson, match="contains itself"):
        args.check_json(value)


def test_the_schema_of_a_signature():
    def tool(
        a: str,
        b: int,
        c: float,
        d: bool | None = None,
        e: int | str = 1,
        f: Literal["x", "y"] = "x",
        g: Colour = Colour.RED,
        h: Annotated[list[str], "files"] = (),
        i: dict[str, int] | None = None,
        j: Any = None,
        k: Unknown = 1,  # noqa: F821
        l=2,  # noqa: E741
        m: str = None,  # noqa: RUF013
    ): ...

    tool.__annotations__.pop("k")
    schema = args.schema(tool)
    assert schema["required"] == ["a", "b", "c"]
    assert schema["additionalProperties"] is False
    assert schema["properties"] == {
        "a": {"type": "string"},
        "b": {"type": "integer"},
        "c": {"type": "number"},
        "d": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
        "e": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "f": {"enum": ["x", "y"]},
        "g": {"enum": ["red"]},
        "h": {"type": "array", "items": {"type": "string"}},
        "i": {"anyOf": [{"type": "object", "additionalProperties": {"type": "integer"}}, {"type": "null"}]},
        "j": {},
        "k": {},
        "l": {},
        "m": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    }


def test_a_hint_that_cannot_be_resolved_makes_the_schema_wider_and_hides_contexts_all_the_same():
    def tool(path: str, ctx: RunContext[int], other: Nowhere): ...  # noqa: F821

    assert args.schema(tool) == {
        "type": "object",
        "properties": {"path": {}, "other": {}},
        "required": ["path", "other"],
        "additionalProperties": False,
    }


def test_more_keywords_are_open_ended():
    def tool(**more): ...

    assert args.schema(tool) == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"a": "x", "n": 1}, None),
        ({"a": "x", "n": 1.0}, None),
        ({"a": "x"}, "`n` is missing"),
        ({"a": 1, "n": 1}, "`a` is integer"),
        ({"a": "x", "n": True}, "`n` is boolean"),
        ({"a": "x", "n": 1, "z": 1}, "no parameter `z`"),
        ({"a": "x", "n": 1, "l": [1, "x"]}, "`l` is array"),
        ({"a": "x", "n": 1, "c": "blue"}, "`c` is string"),
    ],
)
def test_a_replacement_is_checked_against_the_signature(arguments, why):
    def tool(a: str, n: int, l: list[int] = (), c: Colour = Colour.RED): ...  # noqa: E741

    found = args.Signature(tool).misfit(arguments)
    assert (found is None) if why is None else (why in found)
