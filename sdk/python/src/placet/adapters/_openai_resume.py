"""OpenAI Agents SDK: goes on with runs that stopped for approval and are kept in a store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..client import AsyncClient
from ..errors import Refused
from ..sessions import current_session
from . import _calls, _names, _resuming
from . import openai_agents as adapter
from ._asking import as_sentence
from ._kept_source import KeptResumer, KeptRuns, Running

from agents import Agent, Runner, RunState  # isort: skip (after the adapter, which says what is missing)

if TYPE_CHECKING:
    from ..held import AsyncHeld
    from ..kept import RunStore
    from ..models import Call, Record


class Resumer(KeptResumer):
    """Keeps the runs of an agent that stop for approval, and goes on with them when they are decided.

    `resumer.begin(key, input)` runs the agent; `resumer.run()` goes on with what stopped, in this or another process.
    `running`: options of `Runner.run` for runs that go on (`context`, `run_config`, …), or a function of the key.
    `on_result(key, result)` is called with the result of a run that ended. `requests`: `risk`, `expires_in` and others
    for tools with `needs_approval`, which know nothing of Placet.
    """

    def __init__(
        self,
        agent: Agent[Any],
        store: RunStore,
        client: AsyncClient | None = None,
        *,
        running: Running = None,
        on_result: Callable[..., Any] | None = None,
        requests: dict[str, Any] | None = None,
        app: str | None = None,
        uncovered: _names.Uncovered = "refuse",
        **how: Any,
    ):
        made = client or AsyncClient()
        options = {"app": app, "uncovered": uncovered, **(requests or {})}
        super().__init__(StoppedRuns(agent, store, made, running, on_result, options), made, **how)
        self._owns_client = client is None


class StoppedRuns(KeptRuns):
    """Runs as the SDK writes them: `RunState.to_json`."""

    name = adapter.FRAMEWORK

    def __init__(self, agent: Any, store: Any, client: AsyncClient, running: Any, on_result: Any, options: Any):
        super().__init__(agent, store, client, running, on_result)
        self._options = options
        self._held: dict[str, AsyncHeld] = {}
        """Permits that were taken for a run that then could not go on, because another one was not to be had."""
        self._covered()

    def _covered(self) -> None:
        from ._openai_cover import coverage

        bridge = self._bridge("placet")
        _names.refuse_uncovered(coverage(self.agent, bridge), bridge._allowed)

    def _bridge(self, key: str) -> adapter.InterruptionBridge:
        around = current_session()
        return adapter.InterruptionBridge(around.id if around else key, self.client, **self._options)

    async def start(self, key: str, prompt: Any, how: dict[str, Any]) -> Any:
        return await Runner.run(self.agent, prompt, **how)

    def stopped(self, key: str, result: Any) -> dict[str, Any] | None:
        return {"state": result.to_state().to_json()} if result.interruptions else None

    async def ask(self, key: str, result: Any) -> list[Record]:
        return await self._bridge(key).ask(result)

    async def answered(self, key: str, kept: dict[str, Any], attempt: _resuming.ResumeAttempt) -> Any:
        state, how, bridge = await RunState.from_json(self.agent, kept["state"]), self.running(key), self._bridge(key)
        context = how.get("context") or adapter._context(state)
        asked = [(item, bridge._call(item, context)) for item in state.get_interruptions()]
        records = [await _calls.aask(self.client, call) for _, call in asked]
        decided = [
            (item, call, record)
            for (item, call), record in zip(asked, records, strict=True)
            if record.id in self._held or self.doubts.settled(record)
        ]
        if not decided:
            return None
        before = adapter._ids(state)
        for _, call, record in decided:
            await self._permit(call, record)
        given = {record.id: self._held.pop(record.id, None) for _, _, record in decided}
        native = []
        for item, call, record in decided:
            held = given[record.id]
            if adapter._gate_of(item) is not None:
                # The tool reads the decision itself, and says no to the model itself.
                attempt.give(call, held)
                state.approve(item)
            elif held is not None and held.go:
                native.append(held)
                state.approve(item)
            else:
                refused = held or await _calls.permit(self.client, call, record)
                state.reject(item, rejection_message=as_sentence(refused.result()))
        try:
            async with _calls.going_on(native):
                result = await Runner.run(self.agent, state, **how)
        finally:
            await attempt.give_back()
        if result.interruptions and adapter._ids(result.to_state()) == before:
            raise Refused(f"run `{key}` stops again at what was decided ({', '.join(before)}); it is left where it is")
        return result

    async def _permit(self, call: Call, record: Record) -> None:
        """Takes the permit of an approved call, before the run goes on: then none of its calls is begun in vain."""
        if record.id in self._held or record.state != "approved":
            return
        held = await _calls.permit(self.client, call, record)
        if _resuming.stops_with(held):
            held.raise_for_refusal()
        self._held[record.id] = held
