"""kagent-style agents: `requireApproval` sets from an agent's configuration, and approvals that serve once.

    from placet.adapters.kagent import make_approval_callback, tools_requiring_approval
    agent = LlmAgent(..., before_tool_callback=make_approval_callback(tools_requiring_approval(config)))

An approval is for one tool with exactly these arguments, and is used up by the call it lets run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any, Literal

import placet
from placet import errors

from . import _adk
from ._adk import logger
from ._names import misspelt
from .adk import Gate, marked

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._adk_options import BeforeTool, GateOptions

__all__ = ["APPROVAL_REQUIRED", "make_approval_callback", "tools_requiring_approval"]

APPROVAL_REQUIRED = "__KAGENT_APPROVAL_REQUIRED__"
"""What kagent's executor looks for in a tool's result in order to turn the run into `input_required`."""

NAMES = ("require_approval", "requireApproval")
OFFERED = ("tools", "tool_names", "toolNames")


def tools_requiring_approval(config: Any) -> set[str]:
    """Every tool that the configuration says needs approval, in all its tool servers.

    Takes the resource as written (`requireApproval`), the agent's own configuration (`require_approval`), parsed or as
    an object. A name that no server offers is refused: it is a typing error, and the tool it means would run unasked.
    """
    found: set[str] = set()
    _collect(_plain(config), "", found)
    return found


def _collect(value: Any, path: str, found: set[str]) -> None:
    if isinstance(value, list):
        for index, item in enumerate(value):
            _collect(_plain(item), f"{path}/{index}", found)
    if not isinstance(value, dict):
        return
    for word in NAMES:
        if value.get(word) is not None:
            found |= _names(value, word, f"{path}/{word}")
    for name, item in value.items():
        if name not in NAMES:
            _collect(_plain(item), f"{path}/{name}", found)


def _names(server: dict[str, Any], word: str, path: str) -> set[str]:
    names = server[word]
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise errors.ConfigError(f"{path} must be a list of tool names")
    for listed in OFFERED:
        offered = server.get(listed)
        if isinstance(offered, list) and offered:  # empty means all of the server's tools
            unknown = [name for name in names if name not in offered]
            if unknown:
                raise misspelt(path, unknown[0], offered, "this server")
    return set(names)


def _plain(value: Any) -> Any:
    """Pydantic models and dataclasses, as the dicts they stand for."""
    if hasattr(value, "model_dump"):
        return value.model_dump()
    if is_dataclass(value) and not isinstance(value, type):
        return vars(value)
    if isinstance(value, Mapping):
        return dict(value)
    return value


def make_approval_callback(
    tools_requiring_approval: Iterable[str],
    *,
    client: placet.AsyncClient | None = None,
    mode: Literal["block", "interrupt"] = "block",
    **options: Unpack[GateOptions],
) -> BeforeTool | None:
    """A `before_tool_callback` for these tools; None when there are none.

    `block` waits inside the run. `interrupt` answers at once with `APPROVAL_REQUIRED`, as kagent's executor expects;
    when the model makes the same call again after the decision, it is let through once. Both need the server to know
    the call again by tool, arguments and session, which it does while the request is open.
    """
    names = set(tools_requiring_approval)
    if mode not in {"block", "interrupt"}:
        raise errors.ConfigError(f"mode is `{mode}`; use block or interrupt")
    if not names:
        return None
    gate = (Gate if mode == "block" else _Interrupt)(client, tools=names, **options)

    async def before_tool(tool: Any, args: dict[str, Any], tool_context: Any) -> dict[str, Any] | None:
        return await gate.before(tool, args, tool_context)

    return marked(before_tool, gate)


class _Interrupt(Gate):
    """Answers a call that nobody has decided yet with kagent's own marker, and leaves the request open."""

    def __init__(self, client: placet.AsyncClient | None, **options: Any):
        super().__init__(client, mode="pause", **options)
        self.asking.counter = _Same()

    def _pause(self, tool: Any, place: _adk.CallOrigin, held: Any, tool_context: Any) -> dict[str, Any]:
        logger.info("%s waits for a person: %s", tool.name, held.record.url)
        return {
            "status": APPROVAL_REQUIRED,
            "tool": tool.name,
            "args": dict(held.record.arguments or {}),
            "request": held.request_id,
            "url": held.record.url,
        }


class _Same(_adk.Counter):
    """Equal calls are one intention until it is used up, however often the model repeats itself meanwhile, and in
    whichever message: the decision is told to kagent's agent in a later one."""

    def turn(self, place: _adk.CallOrigin) -> str | None:
        return None

    def number(self, place: _adk.CallOrigin, tool: str, arguments: Any) -> int:
        return 0
