"""google-adk: misspelt names, and what runs out of sight, stop a run before anything happens."""

from __future__ import annotations

import asyncio
import json

import pytest
from google.adk.agents import BaseAgent, SequentialAgent
from google.adk.code_executors.unsafe_local_code_executor import UnsafeLocalCodeExecutor
from google.adk.tools import google_search
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.preload_memory_tool import preload_memory_tool
from google.adk.workflow import Workflow
from google.genai import types

import placet
from adk.scripted import agent, call, model, run, runner, text
from placet.adapters import adk_deepagents
from placet.adapters.adk import PlacetPlugin, before_tool, tool
from placet.adapters.kagent import make_approval_callback
from support import Effects
from support.docs import DOCS, blocks, paste

WIRE = [call("wire", to="bob")]


@pytest.fixture
def wired():
    return Effects()


@pytest.fixture
def wire(wired):
    def wire(to: str) -> dict:
        """Sends money."""
        wired(to=to)
        return {"sent": True}

    return wire


class Listed(BaseToolset):
    """A toolset whose tools are only known when it is asked, as those of an MCP server are."""

    def __init__(self, *tools, fails=False):
        super().__init__()
        self.made = [FunctionTool(one) for one in tools]
        self.fails = fails

    async def get_tools(self, readonly_context=None):
        if self.fails:
            raise ConnectionError("the server is away")
        return self.made

    async def close(self):
        pass


class Remote(BaseAgent):
    """An agent that does nobody knows what."""

    async def _run_async_impl(self, ctx):
        yield


async def stopped(running) -> str:
    """Why a run ended. ADK wraps what its plugins raise."""
    with pytest.raises(Exception) as raised:
        await running
    return str(raised.value.__cause__ or raised.value)


# --- names ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"tools": {"wir"}}, {"risk": {"wir": "high"}}])
async def test_a_misspelt_name_stops_the_run_before_anything_happens(server, wire, wired, options):
    llm = model(WIRE)
    why = await stopped(run(runner(agent(llm, [wire]), [PlacetPlugin(**options)])))
    assert "`wir`" in why
    assert "did you mean `wire`?" in why
    assert (wired.count, llm.heard) == (0, [])


@pytest.mark.parametrize("gate", [
    lambda: before_tool(tools={"wir"}),
    lambda: before_tool(tools={"wire"}, risk={"wir": "low"}),
    lambda: make_approval_callback({"wir"}),
    lambda: adk_deepagents.make_before_tool_callback(interrupt_on={"wir": True}),
    lambda: adk_deepagents.make_before_tool_callback(interrupt_on={"wire": False, "pay": True}),
    lambda: adk_deepagents.make_before_tool_callback(interrupt_on={"wir": True}, mode="block"),
])  # fmt: skip
async def test_a_misspelt_name_of_a_callback_stops_the_first_call(server, wire, wired, gate):
    why = await stopped(run(runner(agent([WIRE], [wire], before_tool_callback=gate()))))
    assert "and no tool of `root` has that name" in why
    assert wired.count == 0


async def test_a_misspelt_name_in_interrupt_on_of_a_deep_agent_stops_the_first_call(server, wire, wired):
    with adk_deepagents.install():
        made = adk_deepagents.importlib.import_module("adk_deepagents").create_deep_agent(
            model=model(WIRE), tools=[wire], interrupt_on={"wir": True}
        )
        why = await stopped(run(runner(made)))
    assert "interrupt_on names `wir`" in why
    assert wired.count == 0


async def test_names_may_be_those_of_sub_agents_agent_tools_toolsets_and_hand_overs(server, wire, wired, reviewer):
    def pay(to: str) -> dict:
        """Pays."""
        return {}

    def fetch(url: str) -> dict:
        """Fetches."""
        return {}

    inner = agent([], [pay], "inner")
    below = agent([], [Listed(fetch)], "below")
    root = agent([WIRE], [wire, AgentTool(inner)], sub_agents=[below])
    plugin = PlacetPlugin(tools={"pay", "fetch", "inner", "transfer_to_agent"})
    await run(runner(root, [plugin]))
    assert wired.count == 1
    assert reviewer.client.list(limit=10) == []


async def test_while_a_toolset_cannot_be_listed_every_call_is_held(server, wire, wired, reviewer):
    away = Listed(fails=True)
    root = agent([WIRE], [wire, away])
    plugin = PlacetPlugin(tools={"fetch"})
    await asyncio.gather(run(runner(root, [plugin])), reviewer.adeny("wait", "wire"))
    assert wired.count == 0

    def fetch(url: str) -> dict:
        """Fetches."""
        return {}

    away.fails, away.made = False, [FunctionTool(fetch)]
    await run(runner(root, [plugin]), session="s2")
    assert wired.count == 1  # `fetch` is real, and `wire` was not chosen


async def test_a_name_that_is_not_in_the_listed_toolset_either_stops_the_run(server, wire, wired):
    why = await stopped(run(runner(agent([], [Listed(wire)]), [PlacetPlugin(tools={"wir"})])))
    assert "did you mean `wire`?" in why


@pytest.mark.parametrize("options", [
    {"mode": "blok"}, {"risk": "hihg"}, {"risk": {"wire": "hihg"}}, {"allowed": ["aprove"]}, {"uncovered": "alow"},
    {"tools": [1]}, {"tools": "wire"},
])  # fmt: skip
def test_unknown_words_are_errors(options):
    with pytest.raises(placet.ConfigError):
        PlacetPlugin(placet.AsyncClient("http://127.0.0.1:9", "plk_agent_x"), **options)


@pytest.mark.parametrize("make", [PlacetPlugin, before_tool, tool, make_approval_callback])
def test_unknown_options_are_errors(make):
    with pytest.raises(TypeError):
        make(placet.AsyncClient("http://127.0.0.1:9", "plk_agent_x"), tols={"wire"})


# --- what runs out of sight ----------------------------------------------------------------------------------------


class Hosted(BaseTool):
    """Puts a tool of the provider into the request, as some tools of ADK do."""

    async def process_llm_request(self, *, tool_context, llm_request):
        llm_request.config.tools = [types.Tool(url_context=types.UrlContext())]

    async def run_async(self, *, args, tool_context):
        return {}


def out_of_sight(wire):
    inner = agent([WIRE], [wire], "inner")
    hosted = Hosted(name="harmless", description="")
    return {
        "wire": agent([[call("inner", request="go")]], [AgentTool(inner, include_plugins=False)]),
        "UnsafeLocalCodeExecutor": agent(
            [[text("```python\nprint(1)\n```")]], [], code_executor=UnsafeLocalCodeExecutor()),
        "google_search": agent([], [google_search]),
        "remote": agent([], [], sub_agents=[Remote(name="remote")]),
        "url_context": agent([], [hosted]),
    }  # fmt: skip


@pytest.mark.parametrize("what", ["wire", "UnsafeLocalCodeExecutor", "google_search", "remote", "url_context"])
async def test_what_the_plugin_does_not_see_stops_the_run(server, wire, wired, what):
    root = out_of_sight(wire)[what]
    why = await stopped(run(runner(root, [PlacetPlugin()])))
    assert f"`{what}`" in why
    assert 'uncovered="allow"' in why
    assert wired.count == 0
    assert root.model.heard == []


async def test_a_sub_agent_in_a_sequence_with_a_code_executor_stops_the_run(server):
    one = agent([], [], "one", code_executor=UnsafeLocalCodeExecutor())
    why = await stopped(run(runner(SequentialAgent(name="both", sub_agents=[one]), [PlacetPlugin()])))
    assert "code of both/one" in why


@pytest.mark.parametrize("uncovered", ["allow", ["wire"]])
async def test_what_is_allowed_runs_unasked(server, wire, wired, reviewer, uncovered):
    await run(runner(out_of_sight(wire)["wire"], [PlacetPlugin(uncovered=uncovered)]))
    assert wired.count == 1
    assert reviewer.client.list(limit=10) == []


async def test_a_misspelt_name_in_uncovered_stops_the_run(server, wire, wired):
    why = await stopped(run(runner(agent([WIRE], [wire]), [PlacetPlugin(uncovered=["wier"])])))
    assert "uncovered names `wier`" in why


async def test_an_agent_with_plugins_off_that_asks_by_itself_is_covered(server, wire, wired, reviewer):
    inner = agent([WIRE], [wire], "inner", before_tool_callback=before_tool())
    root = agent([[call("inner", request="go")]], [AgentTool(inner, include_plugins=False), preload_memory_tool])
    await asyncio.gather(run(runner(root, [PlacetPlugin()])), reviewer.adeny("no", "wire"))
    assert wired.count == 0


async def test_a_callback_refuses_an_agent_inside_a_tool_that_it_does_not_see(server, wire, wired):
    inner = agent([WIRE], [wire], "inner")
    root = agent([[call("inner", request="go")]], [AgentTool(inner)], before_tool_callback=before_tool())
    assert "`wire` (tool of root/inner)" in await stopped(run(runner(root)))
    assert wired.count == 0


async def test_a_tool_node_of_a_workflow_may_be_named_and_is_held(server, wire, wired, reviewer):
    def first(node_input: str) -> dict:
        return {"to": "bob"}

    flow = Workflow(name="flow", edges=[("START", first, FunctionTool(wire))])
    await asyncio.gather(run(runner(flow, [PlacetPlugin(tools={"wire"})])), reviewer.aapprove("wire"))
    assert wired.count == 1
    assert "`wir`" in await stopped(run(runner(flow, [PlacetPlugin(tools={"wir"})])))


def test_a_generator_cannot_ask_for_itself():
    async def ticks():
        yield 1

    with pytest.raises(placet.ConfigError, match="generator"):
        tool(ticks, client=placet.AsyncClient("http://127.0.0.1:9", "plk_agent_x"))


# --- coverage ------------------------------------------------------------------------------------------------------


def test_coverage_says_what_is_gated_what_is_not_and_why(server, wire):
    inner = agent([], [wire], "inner")
    root = agent([], [tool(wire), AgentTool(inner, include_plugins=False), google_search, Listed()])
    found = placet.coverage(runner(root, [PlacetPlugin()]))
    assert not found.complete
    assert {(one.name, one.agent) for one in found.uncovered} == {("wire", "root/inner"), ("google_search", "root")}
    assert {(one.name, one.kind) for one in found.gated} == {("wire", "tool"), ("Listed", "toolset")}
    assert json.loads(json.dumps(found.as_dict()))["framework"] == "google-adk"
    assert "NOT COVERED:\n    wire (tool of root/inner): AgentTool(include_plugins=False)" in str(found)


async def test_the_page_about_coverage_shows_what_is_printed(server, capsys):
    def refund(to: str) -> dict:
        """Pays back."""
        return {}

    def look_up(who: str) -> dict:
        """Looks."""
        return {}

    await paste(blocks("coverage.md")[0], agent=agent([], [refund, look_up, google_search], "desk"))
    assert capsys.readouterr().out in (DOCS / "coverage.md").read_text()


def test_coverage_of_an_agent_alone_finds_no_gate_unless_it_is_given(server, wire):
    root = agent([], [wire])
    assert [one.name for one in placet.coverage(root).uncovered] == ["wire"]
    assert placet.coverage(root, PlacetPlugin()).complete
    root.before_tool_callback = before_tool(tools={"wire"})
    assert placet.coverage(root).complete


async def test_a_run_tells_the_server_what_of_the_agent_is_seen(wire, server):
    def look(at: str) -> str:
        """Looks."""
        return at

    await run(runner(agent([WIRE], [wire, look]), [PlacetPlugin(tools={"wire"}, mode="pause")], resumable=True))
    with server.http(server.ann) as http:
        [bot] = http.get("/v1/agents").json()["items"]
    assert bot["covered"] == "complete"
    assert {(one["name"], one["status"]) for one in bot["coverage"][0]["parts"]} == {
        ("wire", "gated"),
        ("look", "unasked"),
    }
