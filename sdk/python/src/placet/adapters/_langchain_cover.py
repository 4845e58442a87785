"""LangChain and LangGraph: what an agent or a graph can do, and which of it `PlacetMiddleware` sees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..covered import GATED, UNASKED, UNCOVERED, Coverage, Part
from . import langchain as adapter

from langgraph.prebuilt import ToolNode  # isort: skip (after the adapter, which says what is missing)
from langgraph.pregel import Pregel  # isort: skip


def coverage(agent: Any, gate: Any = None) -> Coverage:
    """`agent`: what `create_agent` returned, a compiled graph, or a `ToolNode`; `gate`: a `PlacetMiddleware`."""
    parts: list[Part] = []
    name = str(getattr(agent, "name", None) or "agent")
    if isinstance(agent, ToolNode):
        _tools(parts, agent, name, [gate] if gate is not None else [])
    elif isinstance(agent, Pregel):
        _graph(parts, agent, name, gate)
    else:
        raise adapter.ConfigError(f"coverage: {type(agent).__name__} is no compiled graph; compile it first")
    return Coverage("langchain", name, tuple(parts))


def _graph(parts: list[Part], graph: Any, path: str, gate: Any) -> None:
    bound = {name: getattr(node, "bound", node) for name, node in graph.nodes.items() if not name.startswith("__")}
    gates = [one for one in map(_middleware, bound.values()) if one is not None]
    if gate is not None:
        gates.append(gate)
    for name, runs in bound.items():
        function = getattr(runs, "func", None) or getattr(runs, "afunc", None)
        if isinstance(runs, ToolNode):
            _tools(parts, runs, path, gates)
        elif isinstance(runs, Pregel):
            _graph(parts, runs, f"{path}/{name}", None)
        elif "." in name and hasattr(function, "__self__"):
            continue  # a hook of a middleware
        elif (offered := _closed_over(function, "default_tools")) is not None:
            for one in hosted(offered):
                parts.append(Part(one, "hosted", path, UNCOVERED, adapter.HOSTED))
        else:
            parts.append(
                Part(name, "code", path, UNASKED, "a step of your program's own graph, which no model chooses")
            )


def _tools(parts: list[Part], node: ToolNode, path: str, gates: list[Any]) -> None:
    own = getattr(getattr(node, "_wrap_tool_call", None), "__self__", None)
    found = [*gates, own] if isinstance(own, adapter.PlacetMiddleware) else gates
    for name in node.tools_by_name:
        if not found:
            why = "no PlacetMiddleware is around its calls; list it in middleware=, or use its tool_node()"
            parts.append(Part(name, "tool", path, UNCOVERED, why))
        elif any(gate.selection.of(name) is not None for gate in found):
            parts.append(Part(name, "tool", path, GATED, "each call asks before it runs"))
        else:
            parts.append(Part(name, "tool", path, UNASKED, "tools= does not choose it"))


def _middleware(runs: Any) -> Any:
    for function in (getattr(runs, "func", None), getattr(runs, "afunc", None)):
        owner = getattr(function, "__self__", None)
        if isinstance(owner, adapter.PlacetMiddleware):
            return owner
    return None


def _closed_over(function: Any, name: str) -> Any:
    """A variable that a function took along: LangChain keeps the tools of an agent's model nowhere else."""
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    cells = getattr(function, "__closure__", None) or ()
    return dict(zip(names, (cell.cell_contents for cell in cells), strict=False)).get(name) if name in names else None


def hosted(tools: Iterable[Any]) -> list[str]:
    """The tools among these that the model's provider runs. They are dicts, and not descriptions of functions."""
    found = []
    for tool in tools:
        if not isinstance(tool, Mapping):
            continue
        kind = tool.get("type")
        described = tool.get("function") if kind == "function" else tool
        named = isinstance(described, Mapping) and "name" in described
        if kind in (None, "function", "custom") and named:
            continue
        found.append(str(kind or tool.get("name") or next(iter(tool), "?")))
    return found


def elsewhere(model: Any, settings: Mapping[str, Any]) -> list[str]:
    """What a model was told by other ways than the tools of the agent: by `bind`, or when it was made."""
    found = []
    while model is not None:
        for given in (settings, getattr(model, "kwargs", None), getattr(model, "model_kwargs", None)):
            if isinstance(given, Mapping):
                found += hosted(given.get("tools") or ())
                found += [name for name in ("mcp_servers", "web_search_options") if given.get(name)]
        if getattr(model, "mcp_servers", None):
            found.append("mcp_servers")
        settings, model = {}, getattr(model, "bound", None)
    return found
