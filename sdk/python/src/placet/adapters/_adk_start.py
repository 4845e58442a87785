"""google-adk: what must be true before anything runs. Names are those of tools, and nothing runs out of sight."""

from __future__ import annotations

from typing import Any

from .. import reporting
from ..covered import UNCOVERED, Coverage, Part
from . import _adk, _adk_cover, _names
from ._adk import logger

from google.adk.agents.readonly_context import ReadonlyContext  # isort: skip (after _adk, which says what is missing)


CFC = "support_cfc"
"""The option of a run by which the model's provider runs code."""


class StartChecks:
    """The checks of one gate. Each raises `ConfigError`, which ends the run before the next thing happens."""

    def __init__(self, gate: Any, uncovered: Any):
        self._gate = gate
        self._allowed = _names.checked_uncovered(uncovered)
        self._let_pass = _names.ToolNames(uncovered=self._allowed)
        self.plugin = False

    async def at_run(self, invocation: Any) -> None:
        """When a run starts; only plugins are told. Also for the runs of agents inside tools."""
        root = invocation.agent
        root = getattr(root, "root_agent", root)
        if root is None:
            # A workflow: ADK does not say here which. Its agents are checked as they begin, and its tools when called.
            self._gate.asking.unsure = bool(self._gate.asking.named.missing(()))
            return
        found = _adk_cover.of(root, self._gate)
        self._covered(found)
        if not _adk.AROUND.get():
            reporting.report(found, self._gate.client)
            self._let_pass.check([CFC, *(part.name for part in found.parts)], f"`{found.agent}`")
        if getattr(invocation.run_config, "support_cfc", False) is True:
            self._covered(_part(root.name, CFC, "code", "the model's provider runs code that the model wrote"))
        await self._named(root, invocation)

    def at_agent(self, agent: Any) -> None:
        """When an agent begins: also one of a workflow, and one that was made while the run went on."""
        self._covered(_adk_cover.of_one(agent, self._gate))

    def at_model(self, context: Any, request: Any) -> None:
        """When a model is about to be called: whatever put it there, no tool of its provider may be in the request."""
        offered = _adk_cover.offered(getattr(request.config, "tools", None) or ())
        if not offered or self._allowed is None:
            return
        agent = context._invocation_context.agent
        own = _adk_cover.of_one(agent, self._gate).uncovered
        if any(part.kind in {"hosted", "code"} for part in own):
            return  # what put it there was let pass by its own name, when the run started
        why = "the request to the model offers it, and it runs at the model's provider"
        self._covered(_part(str(agent.name), offered[0], "hosted", why))

    async def at_call(self, tool: Any, tool_context: Any) -> None:
        """At a call: for callbacks, which are not told of the start of a run, and in workflows."""
        if self.plugin:
            if self._gate.asking.unsure:
                await self._in_workflow(tool_context)
            return
        root, invocation = self._called(tool, tool_context)
        if root is not None:
            await self._named(root, invocation)

    async def _in_workflow(self, tool_context: Any) -> None:
        """Checks the names once the whole workflow can be found from a call. Until then every call is held."""
        root, above = None, tool_context
        while above is not None:
            root = getattr(above, "node", None) or root
            above = getattr(above, "parent_ctx", None)
        if root is None:
            return
        found = _adk_cover.of(root, self._gate)
        self._covered(found)
        reporting.report(found, self._gate.client)
        await self._named(root, tool_context._invocation_context)

    def at_plain_call(self, tool: Any, tool_context: Any) -> None:
        """The same for callbacks that are plain functions, which cannot ask a toolset for its tools."""
        root, invocation = self._called(tool, tool_context)
        asking = self._gate.asking
        if root is None or not asking.named.missing(()):
            return
        names, walk = self.known(root, invocation)
        if not walk.toolsets:
            asking.named.check(names, f"`{root.name}`")
        asking.unsure = bool(asking.named.missing(names))

    def _called(self, tool: Any, tool_context: Any) -> tuple[Any, Any]:
        """The outermost agent of the run in which a tool is called, and that run."""
        invocation = getattr(tool_context, "_invocation_context", None)
        agent = getattr(invocation, "agent", None)
        if agent is None:
            self._gate.asking.unsure = bool(self._gate.asking.named.missing([tool.name]))
            return None, None
        found = _adk_cover.of_one(agent, None, self._gate)
        self._covered(found)
        reporting.report(found, self._gate.client)
        return getattr(agent, "root_agent", agent), invocation

    def known(self, root: Any, invocation: Any) -> tuple[set[str], _adk_cover.Walk]:
        """The names of all tools of a run that are known without asking a server, those of the runs around it too."""
        walk = _adk_cover.Walk()
        for one in (root, *_adk.AROUND.get()):
            walk.node(one)
        listed = getattr(invocation, "canonical_tools_cache", None)
        names = walk.names | _adk.HAND_OVERS | {one.name for one in listed or ()}
        return names, walk

    async def _named(self, root: Any, invocation: Any) -> None:
        asking = self._gate.asking
        if not asking.named.missing(()):
            asking.unsure = False
            return
        names, walk = self.known(root, invocation)
        if not asking.named.missing(names):
            asking.unsure = False
            return
        failed = None
        for toolset in walk.toolsets:
            try:
                names |= {tool.name for tool in await toolset.get_tools_with_prefix(ReadonlyContext(invocation))}
            except Exception as error:
                failed = f"{type(toolset).__name__}: {error}"
        if failed is None or not asking.named.missing(names):
            asking.named.check(names, f"`{root.name}`")
            asking.unsure = False
            return
        # Whether the name is misspelt cannot be said. Until it can, nothing runs unasked.
        asking.unsure = True
        option, name = asking.named.missing(())[0]
        logger.warning(
            "%s names `%s`, and a toolset could not be listed (%s): every call is held until it is known",
            option,
            name,
            failed,
        )

    def _covered(self, found: Coverage) -> None:
        _names.refuse_uncovered(found, self._allowed)


def _part(agent: str, name: str, kind: str, why: str) -> Coverage:
    return Coverage(_adk.FRAMEWORK, agent, (Part(name, kind, agent, UNCOVERED, why),))
