"""adk-deepagents: the same `interrupt_on`, with the approval in Placet, and sub-agents that keep it.

    from placet.adapters.adk_deepagents import install
    install()                                   # before create_deep_agent
    agent = create_deep_agent(interrupt_on={"write_file": True, "execute": True})

`install` swaps the framework's callback factory for one that waits inside the run, so that static and dynamic
sub-agents hold their calls too; upstream both lose the approval. `make_before_tool_callback` and `resume_approval` are
drop-in twins of the framework's own functions, for programs that pause and resume by themselves.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import placet
from placet import errors

from . import _adk, _adk_seal, _names, _needs
from ._adk import logger
from ._adk_cover import INSIDE, Walk
from ._adk_seal import ToolConfirmation
from ._adk_start import StartChecks
from .adk import Gate, marked, said_no

__all__ = ["decide", "install", "Installed", "make_before_tool_callback", "resume_approval"]

FACTORY = "make_before_tool_callback"
TASK_TOOL = "create_dynamic_task_tool"
HOMES = (
    "adk_deepagents.callbacks.before_tool",
    "adk_deepagents.callbacks",
    "adk_deepagents.graph",
    "adk_deepagents.tools.task",
    "adk_deepagents.tools.task_dynamic",
    "adk_deepagents.tools.task_dynamic_execution",  # newer than 0.3.0
    "adk_deepagents.temporal.worker",  # needs temporalio
)
NEEDED = ("adk_deepagents.graph", "adk_deepagents.tools.task")
LONG_ENOUGH = 3600.0


def resume_approval(*, approved: bool, modified_args: dict[str, Any] | None = None) -> ToolConfirmation:
    """The confirmation that wakes a paused call up. With Placet it decides nothing: `decide` does."""
    payload = {"modified_args": modified_args} if approved and modified_args is not None else None
    return ToolConfirmation(confirmed=approved, payload=payload)


def decide(
    reviewer: placet.Client, request_id: str, confirmation: ToolConfirmation, *, reason: str | None = None
) -> placet.Record:
    """What a person said in a surface made for this framework, told to Placet with that person's own key.

    There, modified arguments are merged into the call; in Placet an edit is a whole replacement. So the merge is done
    here, and what is decided about is exactly what will run.
    """
    record = reviewer.get(request_id)
    on = {"digest": str(record.digest), "version": record.version, "reason": reason}
    if not confirmation.confirmed:
        return reviewer.decide(request_id, "deny", **on)
    payload = confirmation.payload
    modified = payload.get("modified_args") if isinstance(payload, dict) else None
    if modified is None:
        return reviewer.decide(request_id, "approve", **on)
    if not isinstance(modified, dict):
        raise errors.ConfigError("modified_args must be a dict of arguments")
    return reviewer.decide(request_id, "edit", arguments={**(record.arguments or {}), **modified}, **on)


def make_before_tool_callback(
    *,
    interrupt_on: Mapping[str, bool] | None = None,
    mode: str = "pause",
    client: placet.Client | placet.AsyncClient | None = None,
    uncovered: _names.Uncovered = "refuse",
    **options: Any,
) -> Callable[..., Any] | None:
    """A `before_tool_callback` for the tools named in `interrupt_on`, or None when none is.

    `pause` is the framework's own way: a plain function that ends the run, and takes a `Client`. It talks to the server
    on the thread that calls it, for one short call. `block` waits inside the run and takes an `AsyncClient`.
    """
    names = {name for name, asked in (interrupt_on or {}).items() if asked}
    if mode not in {"block", "pause"}:
        raise errors.ConfigError(f"mode is `{mode}`; use pause or block")
    if not names:
        return None
    if mode == "block":
        return _blocking(interrupt_on, client, {"uncovered": uncovered, **options})
    if client is None:
        client = placet.Client(outage_budget=5.0)
    if not isinstance(client, placet.Client):
        raise errors.ConfigError("mode pause takes a placet.Client; an AsyncClient belongs to mode block")
    return _pausing(_PausingGate(client, _asking(interrupt_on, options), uncovered))


class _PausingGate:
    """The gate of a plain function. Looks like a `Gate` to the checks and to `placet.coverage`."""

    def __init__(self, client: placet.Client, asking: _adk.GateSettings, uncovered: _names.Uncovered):
        self.client = client
        self.asking = asking
        self.start = StartChecks(self, uncovered)


def _asking(interrupt_on: Mapping[str, bool] | None, options: dict[str, Any]) -> _adk.GateSettings:
    asking = _adk.GateSettings(tools={name for name, asked in (interrupt_on or {}).items() if asked}, **options)
    asking.named = _names.ToolNames(interrupt_on=interrupt_on, risk=_maybe_map(asking.risk))
    return asking


def _maybe_map(risk: Any) -> Mapping[str, str] | None:
    return risk if isinstance(risk, Mapping) else None


def _pausing(gate: _PausingGate) -> Callable[..., Any]:
    client, asking = gate.client, gate.asking

    def before_tool_callback(tool: Any, args: dict[str, Any], tool_context: Any) -> dict[str, Any] | None:
        gate.start.at_plain_call(tool, tool_context)
        if not asking.wants(tool):
            return None
        try:
            _adk_seal.seal(tool)
            call = asking.call(tool, args, _adk.where(tool_context))
            no = said_no(tool_context)
            held = client.hold(call, hold_for=0.0, then="cancel" if no else "leave")
            if held.go and no:
                held.failed("not run: it was declined in the session")
                return _rejected(tool.name, held)
            if held.status == "pending":
                return _awaiting(client, tool, args, tool_context, held)
        except Exception as error:
            logger.warning("%s was not run: %s", getattr(tool, "name", tool), error)
            return _adk.not_run(getattr(tool, "name", "?"), error)
        if not held.go:
            return _rejected(tool.name, held) if no or held.status == "denied" else held.result()
        _adk_seal.hand_over(args, tool_context, held)
        return None

    return marked(before_tool_callback, gate)


def _awaiting(client: Any, tool: Any, args: dict[str, Any], tool_context: Any, held: Any) -> dict[str, Any]:
    approval_id = getattr(tool_context, "function_call_id", None) or "unknown"
    url = _adk.page(client, held.record)
    if getattr(tool_context, "tool_confirmation", None) is None:
        payload = {"approval_id": approval_id, "tool": tool.name, "args": dict(args)}
        tool_context.request_confirmation(
            hint=f"Tool '{tool.name}' requires human approval before execution: {url}",
            payload={**payload, "placet_request_id": held.request_id, "url": url},
        )
    tool_context.actions.skip_summarization = True
    return {
        "status": "awaiting_approval",
        "approval_id": approval_id,
        "tool": tool.name,
        "request": held.request_id,
        "url": url,
        "message": f"Tool '{tool.name}' waits for a person. Nobody has decided yet, and nothing was run.",
    }


def _rejected(tool: str, held: Any) -> dict[str, Any]:
    reason = f" Reason: {held.reason}" if held.reason else ""
    return {
        "status": "rejected",
        "tool": tool,
        "message": f"Tool '{tool}' was rejected by the human reviewer.{reason}",
        "reason": held.reason,
        "request": held.request_id,
    }


def _blocking(interrupt_on: Mapping[str, bool] | None, client: Any, options: dict[str, Any]) -> Callable[..., Any]:
    names = {name for name, asked in (interrupt_on or {}).items() if asked}
    gate = Gate(client, tools=names, refused=_refused, **options)
    gate.asking.named = _names.ToolNames(interrupt_on=interrupt_on, risk=_maybe_map(gate.asking.risk))

    async def before_tool_callback(tool: Any, args: dict[str, Any], tool_context: Any) -> dict[str, Any] | None:
        return await gate.before(tool, args, tool_context)

    return marked(before_tool_callback, gate)


def _refused(held: Any) -> dict[str, Any]:
    result: dict[str, Any] = held.result()
    return _rejected(held.tool, held) if held.status == "denied" else result


# --- install -------------------------------------------------------------------------------------------------------


class Installed:
    """What `install` swapped. `uninstall()` puts it back; so does leaving a `with` block."""

    def __init__(self) -> None:
        self.swapped: list[tuple[Any, str, Any]] = []

    def swap(self, module: Any, name: str, by: Any) -> None:
        self.swapped.append((module, name, getattr(module, name)))
        setattr(module, name, by)

    def uninstall(self) -> None:
        while self.swapped:
            module, name, original = self.swapped.pop()
            setattr(module, name, original)

    def __enter__(self) -> Installed:
        return self

    def __exit__(self, *_: object) -> None:
        self.uninstall()


def install(
    client: placet.AsyncClient | None = None, *, timeout_seconds: float = LONG_ENOUGH, **options: Any
) -> Installed:
    """Makes every agent that is created from now on ask Placet, sub-agents of both kinds included.

    A dynamic task is killed after `DynamicTaskConfig.timeout_seconds`, 120 unless set: less than a person takes. It is
    raised to `timeout_seconds` here, with a warning. `options` are those of `PlacetPlugin`.
    """
    asks = client if client is not None else placet.AsyncClient()

    def factory(*, interrupt_on: Mapping[str, bool] | None = None) -> Callable[..., Any]:
        # With no names nothing is asked, but the agents inside its tools still learn whose call they serve.
        return _blocking(interrupt_on, asks, options)

    factory(interrupt_on={})  # a wrong option should stop the program here
    installed = Installed()
    for module in _modules():
        if hasattr(module, FACTORY):
            installed.swap(module, FACTORY, factory)
        if hasattr(module, TASK_TOOL):
            installed.swap(module, TASK_TOOL, _patient(getattr(module, TASK_TOOL), timeout_seconds))
    done = {module.__name__ for module, name, _ in installed.swapped if name == FACTORY}
    missing = [name for name in NEEDED if name not in done]
    if missing or not any("task_dynamic" in name for name in done):
        installed.uninstall()
        raise errors.ConfigError(
            f"this version of adk-deepagents makes no callbacks in {', '.join(missing) or 'tools.task_dynamic'}, so "
            "some agents would not ask; use version 0.3.0, or a newer placet"
        )
    return installed


def _modules() -> list[Any]:
    _needs.check("adk_deepagents", "adk-deepagents")
    for name in HOMES:
        try:
            importlib.import_module(name)
        except ImportError as error:
            if name in NEEDED:
                raise _needs.unmet("adk_deepagents", "adk-deepagents", error) from None
    # Whoever imported the factory by name has it, too.
    return [module for name, module in sorted(sys.modules.items()) if name.startswith("adk_deepagents") and module]


def _patient(make: Callable[..., Any], timeout: float) -> Callable[..., Any]:
    """`create_dynamic_task_tool` with a timeout that leaves a person time to decide."""

    @functools.wraps(make)
    def create(*args: Any, **kwargs: Any) -> Any:
        from adk_deepagents.types import DynamicTaskConfig

        bound = inspect.signature(make).bind_partial(*args, **kwargs)
        config = bound.arguments.get("config") or DynamicTaskConfig()
        if config.timeout_seconds < timeout:
            logger.warning(
                "DynamicTaskConfig.timeout_seconds is %g s, which would end a task while a person still decides; "
                "it is raised to %g s",
                config.timeout_seconds,
                timeout,
            )
            bound.arguments["config"] = replace(config, timeout_seconds=timeout)
        task = make(*bound.args, **bound.kwargs)
        setattr(task, INSIDE, _names_inside(bound.arguments))
        return task

    return create


def _names_inside(given: Mapping[str, Any]) -> set[str]:
    """The names of the tools that dynamic tasks have. Their agents are only made when a task begins."""
    walk = Walk()
    lists = [given.get("default_tools") or ()]
    for one in given.get("subagents") or ():
        lists.append((one.get("tools") if isinstance(one, dict) else getattr(one, "tools", None)) or ())
    for tool in (tool for tools in lists for tool in tools):
        walk.tool(tool)
    return walk.names
