"""Arguments: bound to the signature, checked to be JSON, described by a schema, checked again after an edit."""

from __future__ import annotations

import enum
import inspect
import math
import types
import typing
from typing import Any, Union

from .digest import SAFE
from .errors import NotJson

if typing.TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

DEPTH = 64
"""How deep the server reads."""

CONTEXT_TYPES = frozenset(
    {"ToolContext", "RunContext", "RunContextWrapper", "CallbackContext", "ToolRuntime", "Context"}
)
"""Names of types by which frameworks hand their own context to a tool. It never travels."""


def check_json(value: Any, path: str = "") -> None:
    """Raises `NotJson`, naming the place, unless every reader of JSON reads the same out of this value."""
    _check(value, path, 0)


def _check(value: Any, path: str, depth: int) -> None:
    kind = type(value)
    if value is None or kind is bool:
        return
    if kind is str:
        if not _encodes(value):
            raise NotJson(f"{path or '/'}: the text has a lone surrogate, which JSON cannot carry")
    elif kind is int:
        if not -SAFE <= value <= SAFE:
            raise NotJson(f"{path or '/'}: {value} is beyond ±(2^53-1), where readers disagree; pass it as a string")
    elif kind is float:
        if not math.isfinite(value):
            raise NotJson(f"{path or '/'}: {value} is not JSON; pass None or a string")
    elif kind is dict or kind is list:
        if depth >= DEPTH:
            raise NotJson(f"{path or '/'}: deeper than {DEPTH} levels (or it contains itself)")
        if kind is list:
            for index, item in enumerate(value):
                _check(item, f"{path}/{index}", depth + 1)
            return
        for key, item in value.items():
            if type(key) is not str or not _encodes(key):
                raise NotJson(f"{path or '/'}: the key {key!r} is not a JSON string")
            _check(item, f"{path}/{_escaped(key)}", depth + 1)
    else:
        raise NotJson(f"{path or '/'}: {_name(kind)} is not JSON; pass {_instead(value)} or use describe=")


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _name(kind: type) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


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
    """What a function takes, apart from what its framework hands it."""

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
        schema = self.schema()
        for name in schema.get("required", ()):
            if name not in arguments:
                return f"`{name}` is missing"
        for name, value in arguments.items():
            if name not in schema["properties"]:
                if schema.get("additionalProperties") is False:
                    return f"{self.name} has no parameter `{name}`"
                continue
            if not fits(value, schema["properties"][name]):
                return f"`{name}` is {_json_type(value)}, which {self.name} does not take there"
        return None

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
                if parameter.default is None and properties[name]:
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
        # A hint that cannot be resolved here (imported for type checking only) says nothing; the name still may.
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
    """JSON Schema of one annotation; `{}` when it says nothing that JSON knows."""
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


def _json_type(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return "integer"  # JSON knows no difference between 1 and 1.0
    return _PLAIN.get(type(value), type(value).__qualname__)
