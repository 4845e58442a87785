"""Pydantic AI: goes on with runs that ended with deferred calls and are kept in a store."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..client import AsyncClient
from ..sessions import current_session
from . import _calls, _resuming
from . import pydantic_ai as adapter
from ._asking import as_sentence
from ._kept_source import KeptResumer, KeptRuns, Running
from ._pydantic_cover import holds

from pydantic import TypeAdapter  # isort: skip (after the adapter, which says what is missing)
from pydantic_ai import DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied  # isort: skip
from pydantic_ai.messages import ModelMessagesTypeAdapter  # isort: skip

if TYPE_CHECKING:
    from ..held import AsyncHeld
    from ..kept import RunStore
    from ..models import Record

REQUESTS = TypeAdapter(DeferredToolRequests)


class Resumer(KeptResumer):
    """Keeps the runs of an agent that end with deferred calls, and goes on with them when they are decided.

    `resumer.begin(key, prompt)` runs the agent; `resumer.run()` goes on with what stopped, in this or another process.
    `running`: options of `agent.run` for runs that go on (`deps`, `model`, …), or a function of the key.
    `on_result(key, result)` is called with the result of a run that ended. `requests`: `risk`, `expires_in` and others
    for tools with `requires_approval`, which know nothing of Placet.
    """

    def __init__(
        self,
        agent: Any,
        store: RunStore,
        client: AsyncClient | None = None,
        *,
        running: Running = None,
        on_result: Callable[..., Any] | None = None,
        requests: dict[str, Any] | None = None,
        app: str | None = None,
        **how: Any,
    ):
        made = client or AsyncClient()
        options = {"app": app, **(requests or {})}
        super().__init__(DeferredRuns(agent, store, made, running, on_result, options), made, **how)
        self._owns_client = client is None


class DeferredRuns(KeptRuns):
    """Runs as their messages, and the calls they wait for."""

    name = adapter.FRAMEWORK

    def __init__(self, agent: Any, store: Any, client: AsyncClient, running: Any, on_result: Any, options: Any):
        super().__init__(agent, store, client, running, on_result)
        self._options = options
        self._held: dict[str, AsyncHeld] = {}
        """Permits that were taken for a run that then could not go on, because another one was not to be had."""
        self._bridge("placet")

    def _bridge(self, key: str) -> adapter.DeferredBridge:
        around = current_session()
        return adapter.DeferredBridge(around.id if around else key, self.client, **self._options)

    async def start(self, key: str, prompt: Any, how: dict[str, Any]) -> Any:
        return await self.agent.run(prompt, **{"conversation_id": key, **how})

    def stopped(self, key: str, result: Any) -> dict[str, Any] | None:
        output = result.output
        if not isinstance(output, DeferredToolRequests) or not output.approvals:
            return None  # calls that run elsewhere are the application's: `on_result` gets them
        return {
            "messages": json.loads(result.all_messages_json()),
            "deferred": json.loads(REQUESTS.dump_json(output)),
            "conversation": getattr(result, "conversation_id", None) or key,
        }

    async def ask(self, key: str, result: Any) -> list[Record]:
        return await self._bridge(key).ask(result.output)

    async def answered(self, key: str, kept: dict[str, Any], attempt: _resuming.ResumeAttempt) -> Any:
        requests = REQUESTS.validate_python(kept["deferred"])
        bridge = self._bridge(key)
        asked = await self._asked(bridge, requests)
        open = [known for _, known, record in asked if not (record.id in self._held or self.doubts.settled(record))]
        # A gated toolset stops again at a call that is not decided; the framework's own approvals come all at once.
        if len(open) == len(asked) or not all(known for _, known, _ in asked if open):
            return None
        attempt.settled = {record.id for _, _, record in asked if record.state in _resuming.RAN}
        results, native = DeferredToolResults(), []
        for part, known, record in asked:
            if known:
                # The toolset reads the decision itself, and claims the permit itself.
                results.approvals[part.tool_call_id] = True
                continue
            held = self._held.get(record.id) or await _calls.permit(self.client, bridge._call(part), record)
            if _resuming.stops_with(held):
                held.raise_for_refusal()
            if held.go:
                self._held[record.id] = held
                native.append(held)
                changed = held.arguments if held.edited else None
                results.approvals[part.tool_call_id] = ToolApproved(override_args=changed)
            else:
                results.approvals[part.tool_call_id] = ToolDenied(as_sentence(held.result()))
        for held in native:
            self._held.pop(str(held.request_id), None)
        history = ModelMessagesTypeAdapter.validate_python(kept["messages"])
        how = {"conversation_id": kept.get("conversation") or key, **self.running(key)}
        async with _calls.going_on(native):
            result = await self.agent.run(message_history=history, deferred_tool_results=results, **how)
        if isinstance(result.output, DeferredToolRequests):
            # A call that stopped again because the server is away has the request that it had.
            had = {(part.tool_call_id, part.tool_name): record.id for part, known, record in asked if known}
            for part in result.output.approvals:
                if (part.tool_call_id, part.tool_name) in had and not result.output.metadata.get(part.tool_call_id):
                    request = had[part.tool_call_id, part.tool_name]
                    result.output.metadata[part.tool_call_id] = {"placet": request}
        return result

    async def _asked(self, bridge: adapter.DeferredBridge, requests: DeferredToolRequests) -> list[Any]:
        """The calls with their requests, and whether a gate reads the decision: the agent says that, not the store."""
        found = []
        for part, known, record in await bridge._asked(requests):
            gated = known and holds(self.agent, part.tool_name)
            own = record if gated or not known else await _calls.aask(self.client, bridge._call(part))
            found.append((part, gated, own))
        return found
