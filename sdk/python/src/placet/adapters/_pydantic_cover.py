"""Pydantic AI: what an agent can do, and which of it `PlacetCapability` or a `PlacetToolset` sees."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, get_args

from ..covered import GATED, UNASKED, UNCOVERED, Coverage, Part
from ..errors import ConfigError
from . import pydantic_ai as adapter

from pydantic_ai.agent import AbstractAgent  # isort: skip (after the adapter, which says what is missing)
from pydantic_ai.output import NativeOutput, PromptedOutput, TextOutput, ToolOutput  # isort: skip
from pydantic_ai.toolsets import CombinedToolset, ExternalToolset, FunctionToolset, WrapperToolset  # isort: skip

FINDS = frozenset({"tool_search"})
"""Tools of a provider that find tools and run none."""


def coverage(agent: Any, gate: Any = None) -> Coverage:
    """`agent`: an `Agent`; `gate`: a `PlacetCapability` that is given to its runs."""
    if not isinstance(agent, AbstractAgent):
        raise ConfigError(f"coverage: {type(agent).__name__} is no Agent")
    name = str(agent.name or "agent")
    gates = _gates(agent, gate)
    parts: list[Part] = []
    for toolset in agent.toolsets:
        _toolset(parts, toolset, name, gates)
    native = [one for one in getattr(agent, "_cap_native_tools", ()) if hasattr(one, "kind")]
    return Coverage(adapter.FRAMEWORK, name, (*parts, *hosted(native, name), *outputs(agent.output_type, name)))


def _gates(agent: Any, gate: Any = None) -> list[Any]:
    found: list[Any] = [gate] if gate is not None else []
    root = getattr(agent, "_root_capability", None)
    if root is not None:
        root.apply(found.append)
    return [one._gate for one in found if isinstance(one, adapter.PlacetCapability)]


def holds(agent: Any, tool: str) -> bool:
    """Whether each call of this tool certainly goes through a gate, which reads the decision itself."""
    if any(gate.selection.of(tool) is not None for gate in _gates(agent)):
        return True
    parts = coverage(agent).parts
    named = [part for part in parts if part.name == tool and part.kind == "tool"]
    # The tools of other toolsets are known when they run: it may be of any of them.
    return bool(found := named or [part for part in parts if part.kind == "toolset"]) and all(
        part.status == GATED for part in found
    )


def hosted(tools: Iterable[Any], agent: str) -> list[Part]:
    """Tools that the model's provider runs."""
    why = "it runs at the model's provider, and no toolset sees its calls"
    return [Part(str(one.kind), "hosted", agent, UNCOVERED, why) for one in tools if one.kind not in FINDS]


def output(name: str, agent: str) -> Part:
    """A function that the framework calls with what a model says at the end."""
    return Part(name, "output", agent, UNCOVERED, "an output function ends the run, and no toolset sees it")


def outputs(spec: Any, agent: str) -> list[Part]:
    """The output functions in the `output_type` of an agent."""
    return [output(name, agent) for name in dict.fromkeys(_functions(spec))]


def _functions(spec: Any) -> Iterator[str]:
    if isinstance(spec, (NativeOutput, PromptedOutput)):
        spec = spec.outputs
    elif isinstance(spec, ToolOutput):
        spec = spec.output
    elif isinstance(spec, TextOutput):
        spec = spec.output_function
    if inspect.isroutine(spec) or _picks_function(spec):
        yield str(getattr(spec, "__name__", "output_function"))
        return
    for one in spec if isinstance(spec, Sequence) and not isinstance(spec, str) else get_args(spec):
        yield from _functions(one)


def _picks_function(spec: Any) -> bool:
    """Whether these are `Choices` whose values are functions: the framework calls the one that the model picks."""
    return isinstance(spec, type) and any(base.__name__ == "_ChoicesActions" for base in spec.__mro__)


def external(name: str, agent: str) -> Part:
    return Part(
        name, "remote", agent, UNCOVERED, "an external tool is run by whatever takes the deferred call, unasked"
    )


def static_names(toolset: Any) -> set[str]:
    """The names of tools that a toolset was made with, also of those that it hides for now."""
    names: set[str] = set()

    def visit(one: Any) -> None:
        if isinstance(one, FunctionToolset):
            names.update(one.tools)
        if isinstance(one, ExternalToolset):
            names.update(tool.name for tool in one.tool_defs)

    toolset.apply(visit)
    return names


def _toolset(parts: list[Part], toolset: Any, agent: str, gates: list[Any]) -> None:
    if isinstance(toolset, adapter.PlacetToolset):
        _toolset(parts, toolset.wrapped, agent, [*gates, toolset.gate])
    elif isinstance(toolset, WrapperToolset):
        _toolset(parts, toolset.wrapped, agent, gates)
    elif isinstance(toolset, CombinedToolset):
        for one in toolset.toolsets:
            _toolset(parts, one, agent, gates)
    elif isinstance(toolset, FunctionToolset):
        parts += [Part(name, "tool", agent, *_status(name, gates)) for name in toolset.tools]
    elif isinstance(toolset, ExternalToolset):
        parts += [external(tool.name, agent) for tool in toolset.tool_defs]
    else:
        status, why = (
            (GATED, "those of its calls that tools= chooses ask before they run") if gates else _status("", [])
        )
        parts.append(Part(type(toolset).__name__, "toolset", agent, status, f"{why}; its tools are known when it runs"))


def _status(name: str, gates: list[Any]) -> tuple[str, str]:
    if not gates:
        return UNCOVERED, "no PlacetCapability or PlacetToolset is around it"
    if any(gate.selection.of(name) is not None for gate in gates):
        return GATED, "each call asks before it runs"
    return UNASKED, "tools= does not choose it"
