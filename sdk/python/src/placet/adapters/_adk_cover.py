"""google-adk: what the agents of an app can do, and which of it the plugin or a callback sees."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..covered import GATED, UNASKED, UNCOVERED, Coverage, Part
from . import _adk

from google.adk.agents.base_agent import BaseAgent  # isort: skip (after _adk, which says what is missing)
from google.adk.agents.llm_agent import LlmAgent  # isort: skip
from google.adk.agents.loop_agent import LoopAgent  # isort: skip
from google.adk.agents.parallel_agent import ParallelAgent  # isort: skip
from google.adk.agents.sequential_agent import SequentialAgent  # isort: skip
from google.adk.tools.agent_tool import AgentTool  # isort: skip
from google.adk.tools.base_tool import BaseTool  # isort: skip
from google.adk.tools.base_toolset import BaseToolset  # isort: skip

GATE = "__placet_gate__"
"""Where a callback of ours says which gate it belongs to."""

INSIDE = "__placet_inside__"
"""Where a function says the names of the tools of agents that it makes when it is called."""

STEERING = (SequentialAgent, LoopAgent, ParallelAgent)
ELSEWHERE = {
    "RemoteA2aAgent": ("remote", "its tools run in another process; gate them there, or use Placet's A2A proxy"),
    "ManagedAgent": ("hosted", "its tools run at the model's provider"),
    "LangGraphAgent": ("graph", "the graph calls its tools by itself; gate them with PlacetMiddleware"),
    "LanggraphAgent": ("graph", "the graph calls its tools by itself; gate them with PlacetMiddleware"),
}  # fmt: skip
"""Agents by the names of their classes, as some cannot be imported without a package of their own."""
PROMPT_ONLY = frozenset({"ExampleTool", "PreloadMemoryTool"})
"""Tools that only add to the prompt."""
HOSTED = frozenset({"VertexAiRagRetrieval", "VertexAiSearchTool"})
"""Tools that the model's provider runs, although they look like tools that ADK runs."""
LOCAL = frozenset({"function_declarations", "computer_use"})
"""What ADK itself runs among the things that a request to a model can offer."""

Gate = Any


class Walk:
    """Goes through an agent, the agents below it, and the agents inside its tools."""

    def __init__(self, plugin: Gate | None = None, called: tuple[Any, Gate] | None = None):
        self._plugin = plugin
        self._called = called
        """An agent that a gate was just called for. Other code may hide our callback in one of its own."""
        self._seen: set[tuple[int, bool]] = set()
        self.parts: list[Part] = []
        self.names: set[str] = set()
        self.toolsets: list[BaseToolset] = []
        """Toolsets, whose tools are only known once they were listed."""

    def node(self, node: Any, above: str = "", *, plugin: bool = True, alone: bool = False) -> None:
        """One agent, or one node of a workflow. `alone` leaves out the agents that it hands over to."""
        if (id(node), plugin) in self._seen:
            return
        self._seen.add((id(node), plugin))
        name = str(getattr(node, "name", type(node).__name__))
        path = f"{above}/{name}" if above else name
        known = next((ELSEWHERE[kind.__name__] for kind in type(node).__mro__ if kind.__name__ in ELSEWHERE), None)
        if known is not None:
            self._add(name, known[0], path, UNCOVERED, known[1])
        elif isinstance(node, LlmAgent):
            self._llm(node, path, plugin)
        elif isinstance(node, BaseAgent):
            if type(node) not in STEERING:
                self._add(name, "agent", path, UNCOVERED, f"Placet does not know what a {type(node).__name__} runs")
        else:
            self._step(node, name, path, plugin)
        for below in () if alone else getattr(node, "sub_agents", None) or ():
            self.names.add(below.name)  # ADK makes tools of some sub-agents
            self.node(below, path, plugin=plugin)

    def _step(self, node: Any, name: str, path: str, plugin: bool) -> None:
        """A node of a workflow that is no agent."""
        graph = getattr(node, "graph", None)
        inner = getattr(node, "_node", None) or getattr(node, "node", None)
        if graph is not None:
            for one in getattr(graph, "nodes", ()):
                self.node(one, path, plugin=plugin)
        elif isinstance(getattr(node, "tool", None), BaseTool):
            self.tool(node.tool, path, None, plugin)
        elif inner is not None:
            self.node(inner, path, plugin=plugin)
        elif type(node).__name__ not in {"JoinNode", "StartNode", "_StartNode"} and name != "__START__":
            self._add(name, "code", path, UNASKED, "a step of your program's own workflow, which no model chooses")

    def _llm(self, agent: LlmAgent, path: str, plugin: bool) -> None:
        executor = agent.code_executor
        if executor is not None:
            self._add(
                type(executor).__name__, "code", path, UNCOVERED,
                "code_executor= runs code that the model wrote, and ADK calls nobody before it",
            )  # fmt: skip
        for tool in agent.tools:
            self.tool(tool, path, agent, plugin)

    def tool(self, given: Any, path: str = "", agent: Any = None, plugin: bool = True) -> None:
        """One entry of a list of tools."""
        if isinstance(given, BaseToolset):
            self.toolsets.append(given)
            status, why = self._status(None, agent, plugin)
            self._add(type(given).__name__, "toolset", path, status, f"{why}; its tools are known when they are listed")
            return
        if not isinstance(given, BaseTool):
            node = getattr(given, "graph", None) is not None or hasattr(given, "_run_impl")
            if node:
                self.names.add(str(given.name))
                self.node(given, path, plugin=plugin)
                return
            given = _Plain(given)
        self.names.add(given.name)
        self.names.update(getattr(getattr(given, "func", None), INSIDE, ()))
        hosted = _hosted(given)
        if hosted is not None:
            self._add(
                given.name, "hosted" if hosted[0] else "tool", path, UNCOVERED if hosted[0] else UNASKED, hosted[1]
            )
            return
        status, why = self._status(given, agent, plugin)
        inner = getattr(given, "agent", None) if isinstance(given, AgentTool) else None
        node = getattr(given, "node", None)
        if inner is None and node is None:
            self._add(given.name, "tool", path, status, why)
            return
        # The call of an agent does nothing by itself; what counts is what that agent can do.
        self._add(given.name, "tool", path, UNASKED if status == UNCOVERED else status, why)
        if inner is not None:
            self.node(inner, path, plugin=plugin and getattr(given, "include_plugins", True) is not False)
        else:
            self.node(node, path, plugin=plugin)

    def _status(self, tool: Any, agent: Any, plugin: bool) -> tuple[str, str]:
        """Who asks about the calls of a tool. Without a tool: about those of a whole toolset."""
        if tool is not None and hasattr(getattr(tool, "func", None), "__placet__"):
            return GATED, "it asks by itself"
        gates = [self._plugin] if self._plugin is not None and plugin else []
        gates += _callbacks(agent)
        if self._called is not None and agent is self._called[0]:
            gates.append(self._called[1])
        if not gates:
            if self._plugin is not None:
                return UNCOVERED, "AgentTool(include_plugins=False) leaves the Placet plugin outside"
            return UNCOVERED, "no Placet plugin or callback sees the calls of this agent"
        if tool is None:
            chosen = any(gate.asking.tools is not None for gate in gates)
            return GATED, "those that tools= chooses ask before they run" if chosen else "each call asks before it runs"
        if any(gate.asking.wants(tool) for gate in gates):
            return GATED, "each call asks before it runs"
        if tool.name in _adk.HAND_OVERS:
            return UNASKED, "it only steers the agents"
        if isinstance(tool, AgentTool):
            return UNASKED, "it calls an agent, whose own tools count"
        return UNASKED, "tools= does not choose it"

    def _add(self, name: str, kind: str, agent: str, status: str, why: str) -> None:
        self.parts.append(Part(name, kind, agent, status, why))


class _Plain:
    """A function in a list of tools, as the tool that ADK makes of it."""

    def __init__(self, fn: Callable[..., Any]):
        self.func = fn
        self.name = str(getattr(fn, "__name__", type(fn).__name__))


def _hosted(tool: Any) -> tuple[bool, str] | None:
    """Whether the model's provider runs it (True), or it only adds to the prompt (False). None: ADK runs it."""
    if not isinstance(tool, BaseTool):
        return None
    kinds = {kind.__name__ for kind in type(tool).__mro__}
    if kinds & PROMPT_ONLY:
        return False, "it only adds to the prompt"
    if kinds & HOSTED or type(tool).run_async is BaseTool.run_async:
        return True, "it runs at the model's provider, and ADK calls nobody before it"
    return None


def _callbacks(agent: Any) -> list[Gate]:
    """Our gates among the callbacks of an agent."""
    found = getattr(agent, "before_tool_callback", None)
    listed = found if isinstance(found, list) else [found]
    return [getattr(one, GATE) for one in listed if hasattr(one, GATE)]


def offered(tools: Iterable[Any]) -> list[str]:
    """What a request to a model offers that ADK does not run itself."""
    found = []
    for tool in tools:
        fields = getattr(type(tool), "model_fields", None)
        if fields is None:
            found.append(str(getattr(tool, "__name__", type(tool).__name__)))  # the model's client would call it
            continue
        found += [name for name in fields if name not in LOCAL and getattr(tool, name, None) is not None]
    return found


def coverage(agent: Any, gate: Any = None) -> Coverage:
    """`agent`: an agent, a workflow, an `App` or a `Runner`; `gate`: the plugin, if it is not in there."""
    app = getattr(agent, "app", None) or agent
    manager = getattr(agent, "plugin_manager", None)
    plugins = [*(getattr(app, "plugins", None) or ()), *(getattr(manager, "plugins", None) or ())]
    watching = next((one for one in [gate, *plugins] if hasattr(one, "gate")), None)
    root = getattr(app, "root_agent", None) if not isinstance(app, BaseAgent) else None
    root = root if root is not None else getattr(agent, "agent", None) or agent
    return of(root, watching.gate if watching is not None else None)


def of(root: Any, plugin: Gate | None) -> Coverage:
    return _coverage(root, Walk(plugin), False)


def of_one(agent: Any, plugin: Gate | None, called: Gate | None = None) -> Coverage:
    """The same for one agent, without those it hands over to. `called`: the gate whose callback it just called."""
    return _coverage(agent, Walk(plugin, (agent, called) if called is not None else None), True)


def _coverage(root: Any, walk: Walk, alone: bool) -> Coverage:
    walk.node(root, alone=alone)
    return Coverage(_adk.FRAMEWORK, str(getattr(root, "name", "?")), tuple(walk.parts))
