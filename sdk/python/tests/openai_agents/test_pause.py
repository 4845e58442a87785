"""Runs that stop for approval: the SDK's own `needs_approval`, and gated tools in pause mode, across processes."""

from __future__ import annotations

import json

import paused
import pytest
from agents import Agent, Runner, RunState, function_tool
from agents.mcp import MCPServer
from agents.testing import ScriptedModel, assistant_message, function_call
from mcp.types import CallToolResult, TextContent, Tool

import placet
from placet.adapters.openai_agents import InterruptionBridge, gate_tool
from support import Effects, Server
from support.pauses import Bridged, Stored


@pytest.fixture
def ran():
    return Effects()


def deleting(ran, **more):
    @function_tool(**more)
    def delete(file: str) -> str:
        """Deletes."""
        ran(file)
        return "gone"

    return delete


def asks(name, call_id):
    return function_call("delete", {"file": name}, call_id=call_id)


def agent(*tools, files="a", name="cleaner", **more) -> Agent:
    turn = [asks(file, f"call_{file}") for file in files]
    return Agent(name=name, model=ScriptedModel([turn, [assistant_message("done")]]), tools=list(tools), **more)


def outputs(result) -> list[str]:
    return [item.output for item in result.new_items if item.type == "tool_call_output_item"]


@pytest.mark.topology("parallel")
async def test_native_approvals_are_decided_by_placet(server, reviewer, ran, counted):
    def decide(record):
        return ("approve", {}) if record.arguments["file"] == "a" else ("deny", {"reason": "needed"})

    with reviewer.always(decide):
        result = await InterruptionBridge("s1").run(agent(deleting(ran, needs_approval=True), files="ab"), "clean")
    assert ran.happened == ["a"]
    said = outputs(result)
    assert said[0] == "gone"
    assert "needed" in said[1]
    assert all(sorted(one.allowed) == ["approve", "deny"] for one in reviewer.seen)
    assert sorted(reviewer.client.get(one.id).state for one in reviewer.seen) == ["denied", "succeeded"]
    counted(ran, by="file")


async def test_the_approval_of_a_nested_agent_reaches_it(server, reviewer, ran):
    inner = agent(deleting(ran, needs_approval=True)).as_tool("cleaner", "Cleans.")
    turns = [[function_call("cleaner", {"input": "clean"}, call_id="call_0")], [assistant_message("thanks")]]
    with reviewer.always():
        result = await InterruptionBridge("s1").run(Agent(name="boss", model=ScriptedModel(turns), tools=[inner]), "go")
    assert (outputs(result), ran.happened) == (["done"], ["a"])
    assert reviewer.seen[0].context["agent"] == "cleaner"


@pytest.mark.parametrize("files", ["a", "abc"])
async def test_gated_tools_pause_and_take_edits(server, reviewer, ran, files):
    gated = gate_tool(deleting(ran), mode="pause", session="s1")
    paused = await Runner.run(agent(gated, files=files), "clean")
    assert (len(paused.interruptions), ran.count) == (len(files), 0)
    assert len(reviewer.pending()) == len(files)
    with reviewer.always(lambda record: ("edit", {"arguments": {"file": record.arguments["file"].upper()}})):
        result = await InterruptionBridge("s1").run(agent(gated, files=files), paused.to_state())
    assert sorted(ran.happened) == sorted(files.upper())
    assert all("executed with" in one for one in outputs(result))
    assert len(reviewer.client.list()) == len(files)


async def test_a_gated_tool_in_a_nested_agent_pauses_the_whole_run(server, reviewer, ran):
    inner = agent(gate_tool(deleting(ran), mode="pause", session="s1")).as_tool("cleaner", "Cleans.")
    turns = [[function_call("cleaner", {"input": "clean"}, call_id="call_0")], [assistant_message("thanks")]]
    with reviewer.always("deny", reason="needed"):
        result = await InterruptionBridge("s1").run(Agent(name="boss", model=ScriptedModel(turns), tools=[inner]), "go")
    assert (outputs(result), ran.count) == (["done"], 0)


def boss(ran) -> Agent:
    """A held agent used as a tool, whose own tool pauses."""
    inner = agent(gate_tool(deleting(ran), mode="pause", session="s1")).as_tool("cleaner", "Cleans.")
    turns = [[function_call("cleaner", {"input": "clean"}, call_id="call_0")], [assistant_message("thanks")]]
    return Agent(name="boss", model=ScriptedModel(turns), tools=[gate_tool(inner, session="s1")])


async def test_a_held_agent_around_a_pausing_tool_goes_on_with_its_permit(server, reviewer, ran):
    with reviewer.always():
        result = await InterruptionBridge("s1").run(boss(ran), "go")
    assert (outputs(result), ran.count) == (["done"], 1)
    assert sorted((one.tool, one.state) for one in reviewer.client.list()) == [
        ("cleaner", "succeeded"),
        ("delete", "succeeded"),
    ]


async def test_a_held_agent_that_another_process_began_is_not_begun_again_and_not_tried_for_ever(server, reviewer, ran):
    with reviewer.always():
        paused_run = await Runner.run(boss(ran), "go")
        other = boss(ran)
        state = await RunState.from_json(other, paused_run.to_state().to_json())
        with pytest.raises(placet.Refused, match="not begun a second time"):
            await InterruptionBridge("s1").run(other, state)
    assert ran.count == 0


async def test_what_policy_allows_does_not_pause(tmp_path, monkeypatch, ran):
    policy = tmp_path / "policy.toml"
    policy.write_text('version = 1\n[[rule]]\nname = "all"\neffect = "allow"\ntool = ["*"]\n')
    with Server(tmp_path / "data", policy=str(policy)) as server:
        monkeypatch.setenv("PLACET_URL", server.url)
        monkeypatch.setenv("PLACET_TOKEN", server.agent)
        result = await Runner.run(agent(gate_tool(deleting(ran), mode="pause", session="s1")), "clean")
    assert (result.interruptions, ran.count) == ([], 1)


async def test_a_gated_tool_pauses_when_it_cannot_ask(server, ran):
    server.kill()
    gated = gate_tool(deleting(ran), placet.AsyncClient(outage_budget=0.3), mode="pause", session="s1")
    paused = await Runner.run(agent(gated), "clean")
    assert (len(paused.interruptions), ran.count) == (1, 0)


async def test_pausing_without_a_session_runs_nothing(server, ran):
    gated = gate_tool(deleting(ran), mode="pause")
    paused = await Runner.run(agent(gated), "clean")
    state = paused.to_state()
    state.approve(paused.interruptions[0])
    result = await Runner.run(agent(gated), state)
    assert "session" in outputs(result)[0]
    assert ran.count == 0


async def test_the_session_may_be_read_from_the_context_of_the_run(server, reviewer, ran):
    gated = gate_tool(deleting(ran), mode="pause", session=lambda context: context["chat"])
    paused = await Runner.run(agent(gated), "clean", context={"chat": "chat-9"})
    seen = reviewer.approve()
    assert seen.session == "chat-9"
    # The bridge asks as the tool did, although its own session is another.
    await InterruptionBridge("s1").run(agent(gated), paused.to_state())
    assert ([one.id for one in reviewer.client.list()], ran.count) == ([seen.id], 1)


class Files(MCPServer):
    """An MCP server inside the program."""

    def __init__(self, ran):
        super().__init__(require_approval="always")
        self.ran = ran

    @property
    def name(self):
        return "files"

    async def connect(self): ...

    async def cleanup(self): ...

    async def list_tools(self, *_, **__):
        schema = {"type": "object", "properties": {"file": {"type": "string"}}, "required": ["file"]}
        return [Tool(name="delete", description="Deletes.", input_schema=schema)]

    async def call_tool(self, tool_name, arguments, *_, **__):
        self.ran(arguments["file"])
        return CallToolResult(content=[TextContent(type="text", text="gone")])

    async def list_prompts(self):
        raise NotImplementedError

    async def get_prompt(self, name, arguments=None):
        raise NotImplementedError


@pytest.mark.parametrize(("decision", "happened"), [("approve", ["a"]), ("deny", [])])
async def test_tools_of_an_mcp_server_that_want_approval_wait_for_placet(server, reviewer, ran, decision, happened):
    with reviewer.always(decision):
        await InterruptionBridge("s1").run(agent(mcp_servers=[Files(ran)]), "clean")
    assert ran.happened == happened
    assert reviewer.seen[0].tool == "delete"


class TestBridged(Bridged):
    bridge = InterruptionBridge

    def native(self, ran, files="a"):
        return agent(deleting(ran, needs_approval=True), files=files)

    def told(self, result):
        return outputs(result)


class TestStored(Stored):
    main = staticmethod(paused.main)

    @pytest.mark.parametrize("kind", ["native", "gated"])
    def test_a_run_stored_in_one_process_goes_on_in_another(self, reviewer, processes, said, kind):
        assert processes.run(kind, "start") == 0
        seen = reviewer.approve("delete")
        assert processes.run(kind, "go-on") == 0
        assert json.loads(said()) == ["gone"]
        assert processes.effects == ["a"]
        assert [one.id for one in reviewer.client.list()] == [seen.id]
        assert reviewer.client.get(seen.id).state == "succeeded"
