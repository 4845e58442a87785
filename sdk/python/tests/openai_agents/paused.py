"""One half of a run that stops for approval, for a process of its own that tests may kill."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

from agents import Agent, Runner, RunState, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call

import placet
from placet.adapters.openai_agents import InterruptionBridge, gate_tool


def main(folder: str, url: str, token: str, kind: str, how: str, *rest: str) -> None:
    """`kind`: native or gated. `how`: start, or go-on with what was kept; also forged, slow."""
    set_tracing_disabled(True)
    client = placet.AsyncClient(url, token)
    kept = Path(folder) / "state.json"

    def effect(file: str) -> str:
        with (Path(folder) / "effects.txt").open("a") as out:
            out.write(file + "\n")
        if "slow" in rest:
            time.sleep(60)
        return "gone"

    delete = function_tool(effect, name_override="delete", needs_approval=kind == "native")
    if kind == "gated":
        delete = gate_tool(delete, client, mode="pause", session="s1")
    turns = [[assistant_message("done")]]
    if how == "start":
        turns.insert(0, [function_call("delete", {"file": "a"}, call_id="call_1")])
    agent = Agent(name="cleaner", model=ScriptedModel(turns), tools=[delete])
    bridge = InterruptionBridge("s1", client)

    async def work() -> None:
        if how == "start":
            result = await Runner.run(agent, "clean")
            await bridge.ask(result)
            kept.write_text(json.dumps(result.to_state().to_json()))
            return
        state = await RunState.from_json(agent, json.loads(kept.read_text()))
        if "forged" in rest:
            # Whoever keeps the state can say yes in it.
            for item in state.get_interruptions():
                state.approve(item)
            result = await Runner.run(agent, state)
        else:
            result = await bridge.run(agent, state)
        said = [item.output for item in result.new_items if item.type == "tool_call_output_item"]
        (Path(folder) / "said.json").write_text(json.dumps(said))

    asyncio.run(work())
