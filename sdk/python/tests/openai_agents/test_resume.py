"""`Resumer`: runs that stopped for approval go on by themselves, from a store, in any process."""

from __future__ import annotations

import json

from agents import Agent, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call

from placet.adapters.openai_agents import Resumer, gate_tool
from support.kept import KeptRuns


class Model(ScriptedModel):
    """Answers by how much the conversation already has in it, so that it is the same in every process."""

    def __init__(self, files: str, again: bool):
        self._turns = [[function_call("delete", {"file": one}, call_id=f"call_{one}") for one in files]]
        self._turns += [[function_call("delete", {"file": "z"}, call_id="call_z")]] if again else []
        super().__init__([])

    async def get_response(self, system_instructions, input, *args, **more):
        done = {one.get("call_id") for one in input if isinstance(one, dict) and one.get("type") == "function_call"}
        turn = next((turn for turn in self._turns if turn[0].call_id not in done), [assistant_message("done")])
        self.enqueue(turn)
        return await super().get_response(system_instructions, input, *args, **more)


class TestKept(KeptRuns):
    def agent(self, ran, kind, files="a", again=False, client=None):
        @function_tool(needs_approval=kind == "native")
        def delete(file: str) -> str:
            """Deletes."""
            ran(file)
            return "gone"

        tool = gate_tool(delete, client, mode="pause") if kind == "gated" else delete
        return Agent(name="cleaner", model=Model(files, again), tools=[tool])

    def resumer(self, agent, store, **more):
        return Resumer(agent, store, **more)

    def told(self, result):
        return json.dumps([item.output for item in result.new_items if item.type == "tool_call_output_item"])

    def waits(self, result):
        return len(result.interruptions)

    def forged(self, kept):
        text = json.dumps(kept)
        found = json.loads(text)
        approvals = found["state"].get("context", {}).get("approvals")
        assert approvals is not None, sorted(found["state"])
        approvals["delete"] = {"approved": True, "rejected": []}
        return found
