"""CrewAI: the tools of a crew wait for a person.

Gate().install()
"""

from __future__ import annotations

import asyncio
import contextvars
import copy
import functools
import logging
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import digest, errors
from . import _calls, _names, _needs
from ._asking import CARRIES, UNEDITABLE, GateSettings, Options, as_text, edited_note, unasked

_needs.check("crewai", "crewai")
try:
    from crewai.hooks import (
        register_after_tool_call_hook,
        register_before_tool_call_hook,
        unregister_after_tool_call_hook,
        unregister_before_tool_call_hook,
    )
    from crewai.tools.base_tool import Tool
except ImportError as error:
    raise _needs.unmet("crewai", "crewai", error) from error

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from ..client import AsyncClient, Client
    from ..held import SyncHeld

__all__ = ["Gate"]

log = logging.getLogger("placet")


@dataclass
class _ToolRun:
    """One call of a tool, from the hook before it to the hook after it."""

    tool_input: dict[str, Any]  # CrewAI's own: hooks after ours could still change it
    outer: _ToolRun | None
    free: bool = False  # not held
    refusal: dict[str, Any] | None = None
    held: SyncHeld | None = None
    function: object = None
    begun: bool = False
    error: BaseException | None = None

    def begin(self, function: object) -> None:
        """Takes the one run that was approved. Raises if there is none, or none any more."""
        if self.held is None or self.function is not function:
            raise errors.NotRunnable("this tool is held by Placet, and nobody approved this call of it")
        if self.begun:
            # With models that call tools by text, CrewAI repeats a tool that failed five times.
            came = f"failed ({self.error})" if self.error else "was run"
            raise errors.NotRunnable(f"{self.held.tool} {came} under this approval; it needs another one to run again")
        self.begun = True
        if digest.canonical(self.tool_input) != digest.canonical(self.held.arguments):
            self.failed(errors.NotRunnable("not run: another hook changed the arguments after they were approved"))
            assert self.error is not None
            raise self.error

    def failed(self, error: BaseException) -> None:
        self.error = error
        assert self.held is not None
        self.held.failed(error)

    def succeeded(self, value: Any) -> None:
        assert self.held is not None
        self.held.succeeded(value)

    async def awaited(self, running: Any) -> Any:
        try:
            value = await running
        except BaseException as error:
            self.failed(error)
            raise
        self.succeeded(value)
        return value


class Gate:
    """Holds the tool calls of all crews and agents in this process, from `install()` to `uninstall()`.

    CrewAI lets a tool run when a hook before it fails, and when it is a coroutine function. So the hook is an ordinary
    function, it waits on the thread it is called on, and every error of ours is a no. The tools themselves are wrapped
    as they are met: a tool that is held runs once for each approval, however often CrewAI tries.
    """

    def __init__(
        self, client: Client | AsyncClient | None = None, *, hold_for: float | None = None, **options: Unpack[Options]
    ):
        self._asking = GateSettings("crewai", client, hold_for, **options)
        self._current: contextvars.ContextVar[_ToolRun | None] = contextvars.ContextVar("placet_crewai", default=None)
        # By the identity of CrewAI's dict of arguments, the one thing that both hooks of a call are given.
        self._runs: dict[int, _ToolRun] = {}
        self._installing = threading.Lock()
        self._installed = False

    def install(self, *crews: Any) -> Self:
        """From now on. Install it after other hooks: they see a call first, and cannot change it afterwards.

        Crews and agents that are given are checked at once: for names that none of their tools has, and for what runs
        out of sight. Without them names are checked at the first call, and until they are right no tool runs.
        """
        from ._crewai_cover import coverage, names

        found = [coverage(crew, self) for crew in crews]
        if crews:
            self._asking.named.check({name for crew in crews for name in names(crew)}, _called(crews))
        for one in found:
            _names.refuse_uncovered(one, self._asking.allowed)
            self._asking.clients.report(one)
        with self._installing:
            if not self._installed:
                register_before_tool_call_hook(self.before)
                register_after_tool_call_hook(self.after)
                self._installed = True
        return self

    def uninstall(self) -> None:
        """Until now."""
        with self._installing:
            unregister_before_tool_call_hook(self.before)
            unregister_after_tool_call_hook(self.after)
            self._installed = False

    def __enter__(self) -> Self:
        return self.install()

    def __exit__(self, *_: object) -> None:
        self.uninstall()

    def before(self, context: Any) -> bool | None:
        """The hook before a tool: False for no. Nothing but an approved call leaves it otherwise."""
        try:
            return None if self._decide(context) else False
        except Exception:
            # Not even a mistake in how we handle mistakes may end in a run.
            log.exception("a tool of CrewAI was not run, because asking for it failed")
            return False

    def _decide(self, context: Any) -> bool:
        run = _ToolRun(context.tool_input, self._current.get())
        self._runs[id(context.tool_input)] = run
        self._current.set(run)
        try:
            self._ask(run, context)
        except Exception as error:
            run.refusal = unasked(str(context.tool_name), error)
        return run.free or run.held is not None

    def _ask(self, run: _ToolRun, context: Any) -> None:
        tool, arguments = context.tool_name, context.tool_input
        self._check(context)
        options = self._asking.options(tool, arguments)
        if options is None:
            run.free = True
            return
        if context.tool is None:
            raise errors.ConfigError(f"CrewAI did not say which tool `{tool}` is")
        schema = _schema(context.tool)
        call = self._asking.call(
            tool,
            arguments,
            options,
            session=_text(getattr(context.crew, "id", None)),
            # CrewAI drops the edit of a call that had no arguments.
            carries=CARRIES if schema and arguments else UNEDITABLE,
            context={"agent": _text(getattr(context.agent, "role", None))},
            schema=schema,
        )
        # First the tool is wrapped: if that fails, nobody is asked in vain.
        run.function = self._wrap(context.tool)
        held = self._asking.hold_blocking(call)
        if not held.go:
            run.refusal = held.result()
            return
        if held.edited:
            arguments.clear()
            arguments.update(copy.deepcopy(held.arguments))
        run.held = held

    def _check(self, context: Any) -> None:
        """At a call: an error, and so no run, for a name that no tool has, and for what runs out of sight."""
        from ._crewai_cover import coverage, names

        whole = context.crew or context.agent
        if whole is None:
            return
        if self._asking.named.missing(()):
            self._asking.named.check({context.tool_name, *names(whole), *names(context.agent)}, _called([whole]))
        found = coverage(whole, self)
        _names.refuse_uncovered(found, self._asking.allowed)
        self._asking.clients.report(found)

    def after(self, context: Any) -> str | None:
        """The hook after a tool, which CrewAI calls for refused calls too: what the model is told."""
        try:
            run = self._runs.pop(id(context.tool_input), None)
            if run is None:
                return None
            self._current.set(run.outer)
            if run.refusal is not None:
                return as_text(run.refusal)
            if run.held is not None and not run.begun:
                run.held.failed(f"not run: CrewAI answered by itself: {context.tool_result}")
            if run.held is not None and run.held.edited:
                return f"{context.tool_result}\n{edited_note(run.held)}"
        except Exception:
            log.exception("what became of a call could not be reported")
        return None

    def _wrap(self, tool: Any) -> object:
        """Wraps the function of a tool, once, where all of CrewAI's ways to call it pass. Its identity afterwards."""
        original = getattr(tool, "_original_tool", None)
        with self._installing:
            if isinstance(original, Tool):
                original.func = self._once(original.func)
                found = original.func
            elif original is not None:
                found = self._once(original._run)
                # A method, not a field: what pydantic does with assignments is not wanted here.
                object.__setattr__(original, "_run", found)
                tool.func = found
            else:
                tool.func = found = self._once(tool.func)
            for one in (tool, original):
                if hasattr(one, "cache_function"):
                    # An answer from the cache is not the run that a person approved.
                    one.cache_function = _never
        return found

    def _once(self, function: Any) -> Any:
        while getattr(function, "_placet_gate", None) not in (None, self) and not function._placet_gate._installed:
            function = function.__wrapped__  # by a gate that is gone
        if getattr(function, "_placet_gate", None) is self:
            return function

        @functools.wraps(function)
        def held(*args: Any, **kwargs: Any) -> Any:
            run = self._current.get()
            if not self._installed or (run is not None and run.free):
                return function(*args, **kwargs)
            if run is None:
                raise errors.NotRunnable("this tool is held by Placet, and was called outside of an agent's call of it")
            run.begin(held)
            try:
                value = function(*args, **kwargs)
            except BaseException as error:
                run.failed(error)
                raise
            if asyncio.iscoroutine(value):
                return run.awaited(value)
            run.succeeded(value)
            return value

        held._placet_gate = self  # type: ignore[attr-defined]
        return held


def _called(crews: Any) -> str:
    return ", ".join(f"`{getattr(one, 'name', None) or getattr(one, 'role', None) or 'crew'}`" for one in crews)


def _never(*_: object) -> bool:
    return False


def _schema(tool: Any) -> dict[str, Any] | None:
    model = getattr(tool, "args_schema", None)
    if model is None:
        return None
    schema: dict[str, Any] = model.model_json_schema()
    return schema if model.model_config.get("extra") == "allow" else _calls.closed(schema)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
