"""`Resumer`: runs that ended with deferred calls go on by themselves, from a store, in any process."""

from __future__ import annotations

import json

from models import calls, returned, scripted
from pydantic_ai.toolsets import FunctionToolset

import placet
from placet.adapters.pydantic_ai import PlacetCapability, PlacetToolset, Resumer
from pydantic_ai import Agent, DeferredToolRequests, Tool
from support import Effects
from support.kept import KeptRuns


class TestKept(KeptRuns):
    def agent(self, ran, kind, files="a", again=False, client=None):
        def delete(file: str) -> str:
            """Deletes."""
            ran(file)
            return "gone"

        turns = [calls(*[("delete", {"file": one}) for one in files])]
        turns += [calls(("delete", {"file": "z"}))] if again else []
        for turn in turns[1:]:
            turn.parts[0].tool_call_id = "call_z"
        return Agent(
            scripted(*turns),
            tools=[Tool(delete, requires_approval=kind == "native")],
            output_type=[str, DeferredToolRequests],
            capabilities=[PlacetCapability(client, mode="pause")] if kind == "gated" else [],
            name="cleaner",
        )

    def resumer(self, agent, store, **more):
        return Resumer(agent, store, **more)

    def told(self, result):
        return json.dumps(returned(result))

    def waits(self, result):
        return len(result.output.approvals)

    async def test_a_request_named_in_what_is_kept_lets_no_tool_run_without_its_permit(
        self, server, reviewer, make, store, results
    ):
        """The tool knows nothing of Placet; what is kept names an approved request for the same call."""
        ran = Effects()
        await make(ran, "native").begin("k", "clean")
        mine = reviewer.next()
        body = {"kind": "action", "tool": "delete", "arguments": {"file": "a"}, "session": "elsewhere"}
        other = await placet.AsyncClient().create(body)
        reviewer.approve(session="elsewhere")
        kept = store.get("k")
        kept["deferred"]["metadata"] = {"call_1": {"placet": other.id}}
        store.put("k", kept)
        await make(ran, "native").once()
        assert (ran.count, store.list()) == (0, ["k"])
        reviewer.decide(mine, "deny", reason="never")
        await make(ran, "native").once()
        assert (ran.count, "never" in self.told(results["k"])) == (0, True)

    async def test_a_gate_around_one_toolset_is_known_as_one(self, server, reviewer, store, results):
        ran = Effects()

        def delete(file: str) -> str:
            ran(file)
            return "gone"

        def make():
            gated = PlacetToolset.around(FunctionToolset([delete]), mode="pause")
            model = scripted(calls(("delete", {"file": "a"})))
            agent = Agent(model, toolsets=[gated], output_type=[str, DeferredToolRequests], name="cleaner")
            return Resumer(agent, store, on_result=results.__setitem__)

        await make().begin("k", "clean")
        reviewer.respond("ask again on Monday")
        await make().once()
        assert (ran.count, len(reviewer.client.list())) == (0, 1)
        assert "on Monday" in self.told(results["k"])
