"""Arguments: bound to the signature, checked to be JSON, described by a schema, checked again after an edit."""

from __future__ import annotations

import enum
import inspect
import json
import math
import types
import typing
from typing import Any, Union

from .digest import SAFE, named
from .errors import NotJson

if typing.TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

DEPTH, NODES, BYTES = 64, 10_000, 256 * 1024
"""How deep, how many values, and how much the server reads."""

CONTEXT_TYPES = frozenset(
    {"ToolContext", "RunContext", "RunContextWrapper", "CallbackContext", "ToolRuntime", "Context"}
)
"""Names of types by which frameworks hand their own context to a tool. It never travels."""


def check_json(value: Any, path: str = "") -> None:
    """Raises `NotJson` with the place, unless every JSON parser reads the value alike."""
    _Check().value(value, path, 0)


class _Check:
    """One walk through a value, within what the server takes."""

    def __init__(self) -> None:
        self._nodes = 0
        self._bytes = 0

    def value(self, value: Any, path: str, depth: int) -> None:
        self._nodes += 1
        if self._nodes > NODES:
            raise NotJson(f"{path or '/'}: more than {NODES:,} values; ask for less at once")
        # Subclasses of text, numbers, lists and dicts carry more than JSON shows; only the plain types pass.
        kind = type(value)
        if value is None or kind is bool:
            return
        if kind is str:
            self._text(value, path)
        elif kind is int:
            if not -SAFE <= value <= SAFE:
                raise NotJson(f"{path or '/'}: {value} is beyond ±(2^53-1), where readers disagree; pass it as text")
        elif kind is float:
            if not math.isfinite(value):
                raise NotJson(f"{path or '/'}: {value} is not JSON; pass None or text")
            if SAFE < abs(value) < 1e21:
                raise NotJson(
                    f"{path or '/'}: {value} would be written as a whole number beyond 2^53-1; pass it as text"
                )
        elif kind is dict or kind is list:
            if depth >= DEPTH:
                raise NotJson(f"{path or '/'}: deeper than {DEPTH} levels (or it contains itself)")
            self._items(value, path, depth)
        else:
            raise NotJson(f"{path or '/'}: {named(kind)} is not JSON; pass {_instead(value)} or use describe=")

    def _items(self, value: list[Any] | dict[Any, Any], path: str, depth: int) -> None:
        if isinstance(value, list):
            for index, item in enumerate(value):
                self.value(item, f"{path}/{index}", depth + 1)
            return
        for key, item in value.items():
            if type(key) is not str:
                raise NotJson(f"{path or '/'}: the key {key!r} is no text, and keys of JSON are")
            self._text(key, path)
            self.value(item, f"{path}/{_escaped(key)}", depth + 1)

    def _text(self, text: str, path: str) -> None:
        try:
            self._bytes += len(text.encode()) + 2
        except UnicodeEncodeError:
            raise NotJson(f"{path or '/'}: the text has a lone surrogate, which JSON cannot carry") from None
        if self._bytes > BYTES:
            raise NotJson(f"{path or '/'}: more than {BYTES // 1024} KiB of text; pass where it is instead")


def read_json(text: str | bytes) -> Any:
    """Reads JSON as strictly as the server does. Raises `NotJson` for text that parsers could read differently."""
    encoded = text.encode() if isinstance(text, str) else text
    if len(encoded) > BYTES:
        raise NotJson(f"more than {BYTES // 1024} KiB")
    try:
        # The `json` module would guess UTF-16 and accept a byte-order mark.
        found = json.loads(encoded.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise NotJson(f"not JSON: {error}") from error
    check_json(found)
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object; readers disagree about which one counts")
    return found


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no number")


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _instead(value: Any) -> str:
    if isinstance(value, (tuple, set, frozenset)):
        return "list(value)"
    if isinstance(value, (bytes, bytearray)):
        return "text, such as value.hex()"
    if hasattr(value, "model_dump"):
        return 'value.model_dump(mode="json")'
    if hasattr(value, "__fspath__"):
        return "str(path)"
    if hasattr(value, "isoformat"):
        return "value.isoformat()"
    return "plain dicts, lists, text and numbers"


class Signature:
    """The parameters of a function, without those that its framework fills in."""

    def __init__(self, fn: Callable[..., Any], hidden: Iterable[str] = ()):
        self.name = getattr(fn, "__name__", type(fn).__name__)
        self.whole = inspect.signature(fn)
        self._hints = _hints(fn)
        named = set(hidden)
        self.hidden = {
            name
            for name, parameter in self.whole.parameters.items()
            if name in named or _is_context(name, self._hints.get(name, parameter.annotation))
        }

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The arguments by name, defaults filled in: those that travel, and those that stay."""
        bound = self.whole.bind(*args, **kwargs)
        bound.apply_defaults()
        travel: dict[str, Any] = {}
        stay: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            kind = self.whole.parameters[name].kind
            if name in self.hidden:
                stay[name] = value
            elif kind is inspect.Parameter.VAR_KEYWORD:
                travel.update(value)
            elif kind is inspect.Parameter.VAR_POSITIONAL:
                travel[name] = list(value)
            else:
                travel[name] = value
        return travel, stay

    def coerced(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments that came as JSON, as the types that the signature names: members of enums, floats."""
        hints = self._hints
        return {name: _coerced(value, hints.get(name)) for name, value in arguments.items()}

    def call(self, arguments: Mapping[str, Any], stay: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Positional and keyword arguments for calling the function with these."""
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        rest = {**arguments, **stay}
        for name, parameter in self.whole.parameters.items():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                continue
            if name not in rest:
                continue
            value = rest.pop(name)
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                positional.extend(value)
            elif parameter.kind is inspect.Parameter.KEYWORD_ONLY or self._after_gap(positional, name):
                keywords[name] = value
            else:
                positional.append(value)
        return positional, {**keywords, **rest}

    def _after_gap(self, positional: list[Any], name: str) -> bool:
        """Whether an earlier parameter was left to its default, so that this one must go by name."""
        return list(self.whole.parameters).index(name) != len(positional)

    def misfit(self, arguments: Mapping[str, Any]) -> str | None:
        """Why these arguments cannot be given to the function, or nothing."""
        return misfit(arguments, self.schema())

    def schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments that travel."""
        properties: dict[str, Any] = {}
        required: list[str] = []
        open_ended = False
        for name, parameter in self.whole.parameters.items():
            if name in self.hidden:
                continue
            hint = self._hints.get(name, parameter.annotation)
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                open_ended = True
            elif parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                properties[name] = {"type": "array", "items": of_hint(hint)}
            else:
                properties[name] = of_hint(hint)
                if parameter.default is None and not fits(None, properties[name]):
                    # `name: str = None` is written often, and means what it says.
                    properties[name] = {"anyOf": [properties[name], {"type": "null"}]}
                if parameter.default is inspect.Parameter.empty:
                    required.append(name)
        schema: dict[str, Any] = {"type": "object", "properties": properties}
        if required:
            schema["required"] = required
        if not open_ended:
            schema["additionalProperties"] = False
        return schema


def bind(fn: Callable[..., Any], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The arguments that travel, by name."""
    return Signature(fn).bind(args, kwargs or {})[0]


def schema(fn: Callable[..., Any], hidden: Iterable[str] = ()) -> dict[str, Any]:
    """JSON Schema of a function's arguments, from its signature. What is not known is `{}`: anything."""
    return Signature(fn, hidden).schema()


def _hints(fn: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(fn, include_extras=True)
    except Exception:
        # A hint that was imported for type checking only cannot be resolved; its name may still be known.
        return dict(getattr(fn, "__annotations__", {}))


def _is_context(name: str, hint: Any) -> bool:
    if name in {"self", "cls"} or name.startswith("_"):
        return True
    if isinstance(hint, str):
        return hint.split("[")[0].split(".")[-1] in CONTEXT_TYPES
    for part in (hint, *typing.get_args(hint)):
        if getattr(typing.get_origin(part) or part, "__name__", None) in CONTEXT_TYPES:
            return True
    return False


_PLAIN = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
    list: "array",
    dict: "object",
}


def of_hint(hint: Any) -> dict[str, Any]:
    """JSON Schema of one annotation; `{}` if JSON has no type for it."""
    if hint is None:
        return {"type": "null"}
    origin = typing.get_origin(hint)
    if origin is None:
        if hint in _PLAIN:
            return {"type": _PLAIN[hint]}
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            return {"enum": [member.value for member in hint]}
        return {}
    parts = typing.get_args(hint)
    if origin is typing.Annotated:
        return of_hint(parts[0])
    if origin is typing.Literal:
        return {"enum": list(parts)}
    if origin is Union or origin is types.UnionType:
        choices = [of_hint(part) for part in parts]
        return {"anyOf": choices} if all(choices) else {}
    if origin is list:
        items = of_hint(parts[0])
        return {"type": "array", "items": items} if items else {"type": "array"}
    if origin is dict:
        values = of_hint(parts[1])
        return {"type": "object", "additionalProperties": values} if values else {"type": "object"}
    return {}


def misfit(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> str | None:
    """Why arguments do not fit a schema that `schema` made, or nothing."""
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in arguments:
            return f"`{name}` is missing"
    for name, value in arguments.items():
        if name in properties:
            if not fits(value, properties[name]):
                return f"`{name}` is {_json_type(value)}, which it does not take"
        elif schema.get("additionalProperties") is False:
            return f"there is no parameter `{name}`"
    return None


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a JSON value fits a schema that `of_hint` made."""
    if not schema:
        return True
    if "anyOf" in schema:
        return any(fits(value, choice) for choice in schema["anyOf"])
    if "enum" in schema:
        return any(value == choice and type(value) is type(choice) for choice in schema["enum"])
    kind = _json_type(value)
    wanted = schema["type"]
    if kind != wanted and not (kind == "integer" and wanted == "number"):
        return False
    if kind == "array" and "items" in schema:
        return all(fits(item, schema["items"]) for item in value)
    if kind == "object" and "additionalProperties" in schema:
        return all(fits(item, schema["additionalProperties"]) for item in value.values())
    return True


def plain(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with members of enums as their values, which is how they travel."""
    return {name: value.value if isinstance(value, enum.Enum) else value for name, value in arguments.items()}


def _coerced(value: Any, hint: Any) -> Any:
    if hint is float and type(value) is int:
        return float(value)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return hint(value)
    return value


def _json_type(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return "integer"  # JSON knows no difference between 1 and 1.0
    return _PLAIN.get(type(value), type(value).__qualname__)
