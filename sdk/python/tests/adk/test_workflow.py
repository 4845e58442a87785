"""google-adk, tools as nodes of a workflow: they pause like calls of a model, and a refusal is never their result."""

from __future__ import annotations

import asyncio

import pytest
from google.adk.tools import FunctionTool
from google.adk.workflow import START, Workflow

import placet
from adk.scripted import agent, call, model, run, runner
from placet.adapters import adk
from placet.adapters.adk import PlacetPlugin
from support import Effects

WHO = {"user_id": "u1", "session_id": "s1"}
pytestmark = pytest.mark.filterwarnings("ignore")


class Flow:
    """One node says what to pay, the second pays, the third is told what came of it."""

    def __init__(self, mode="pause", *, resumable=True, require=False, wrap=None, budget=30.0, **options):
        self.client = placet.AsyncClient(outage_budget=budget)
        self.wired, self.told = Effects(), Effects()

        def ask(node_input):
            return {"to": "bob"}

        def wire(to: str) -> dict:
            """Sends money."""
            self.wired(to)
            return {"sent": to}

        def tell(node_input):
            self.told(node_input)
            return "told"

        tool = FunctionTool(wrap(wire) if wrap else wire, require_confirmation=require)
        plugins = [] if wrap else [PlacetPlugin(self.client, mode=mode, **options)]
        flow = Workflow(name="flow", edges=[(START, ask, tool, tell)])
        self.runs = runner(flow, plugins, resumable=resumable)

    async def resume(self):
        return await adk.resume(self.runs, client=self.client, **WHO)


@pytest.mark.topology("workflow")
@pytest.mark.parametrize("resumable", [True, False])
async def test_a_tool_node_pauses_and_its_result_goes_to_the_next_node(server, reviewer, resumable, counted):
    flow = Flow(resumable=resumable)
    (one,) = adk.paused(await run(flow.runs))
    assert (one.tool, one.arguments, one.whole) == ("wire", {"to": "bob"}, True)
    assert (flow.wired.count, flow.told.count) == (0, 0)
    assert await flow.resume() == []
    await reviewer.aapprove("wire")
    await flow.resume()
    assert (flow.wired.happened, flow.told.happened) == (["bob"], [{"sent": "bob"}])
    assert reviewer.client.get(one.request_id).state == "succeeded"
    assert await flow.resume() == []
    assert flow.wired.count == 1
    counted(flow.wired, by="to")


@pytest.mark.topology("workflow")
async def test_a_tool_node_with_adks_own_confirmation_pauses_once(server, reviewer, counted):
    flow = Flow(require=True)
    await run(flow.runs)
    await reviewer.aedit({"to": "eve"}, "wire")
    await flow.resume()
    assert flow.wired.happened == ["eve"]
    assert flow.told.happened[0]["placet"]["executed_arguments"] == {"to": "eve"}
    counted(flow.wired, by="to")


async def test_a_tool_node_of_a_second_message_pauses_again(server, reviewer):
    flow = Flow()
    for _ in range(2):
        await run(flow.runs)
        await reviewer.aapprove("wire")
        await flow.resume()
    assert (flow.wired.count, flow.told.count) == (2, 2)


@pytest.mark.topology("workflow")
async def test_a_denial_of_a_paused_node_is_raised_and_the_next_node_does_not_run(server, reviewer, counted):
    flow = Flow()
    await run(flow.runs)
    await reviewer.adeny("too much", "wire")
    with pytest.raises(placet.Denied, match="too much"):
        await flow.resume()
    assert (flow.wired.count, flow.told.count) == (0, 0)
    assert await flow.resume() == []  # it is over
    counted(flow.wired, by="to")


@pytest.mark.topology("workflow")
async def test_a_denial_of_a_node_that_waits_is_raised_too(server, reviewer, counted):
    flow = Flow("block")
    with pytest.raises(placet.Denied, match="too much"):
        await asyncio.gather(run(flow.runs), reviewer.adeny("too much", "wire"))
    assert (flow.wired.count, flow.told.count) == (0, 0)
    counted(flow.wired, by="to")


async def test_a_node_whose_server_is_away_raises_instead_of_going_on(server):
    flow = Flow("block", budget=0.2)
    server.kill()
    with pytest.raises(placet.Unreachable):
        await run(flow.runs)
    assert (flow.wired.count, flow.told.count) == (0, 0)


async def test_a_denial_goes_on_as_data_where_that_is_asked_for(server, reviewer):
    flow = Flow("block", on_denied="return")
    await asyncio.gather(run(flow.runs), reviewer.adeny("too much", "wire"))
    assert (flow.wired.count, flow.told.happened[0]["status"]) == (0, "denied")


async def test_a_wrapped_function_as_a_node_raises_its_denial(server, reviewer):
    flow = Flow(wrap=adk.tool)
    with pytest.raises(placet.Denied, match="too much"):
        await asyncio.gather(run(flow.runs), reviewer.adeny("too much", "wire"))
    assert (flow.wired.count, flow.told.count) == (0, 0)


# --- on_denied="raise", in agents ------------------------------------------------------------------------------------


def shop(kind):
    client, wired = placet.AsyncClient(), Effects()

    def wire(to: str) -> dict:
        """Sends money."""
        wired(to)
        return {"sent": to}

    llm = model([call("wire", to="bob")])
    if kind == "plugin":
        return runner(agent(llm, [wire]), [PlacetPlugin(client, on_denied="raise")]), wired, llm
    if kind == "callback":
        asks = adk.before_tool(client, on_denied="raise")
        return runner(agent(llm, [wire], before_tool_callback=asks)), wired, llm
    return runner(agent(llm, [adk.tool(wire, client=client, on_denied="raise")])), wired, llm


@pytest.mark.parametrize("kind", ["plugin", "callback", "function"])
async def test_a_denial_can_be_raised_instead_of_told_to_the_model(server, reviewer, kind):
    runs, wired, llm = shop(kind)
    with pytest.raises(placet.Denied, match="too much"):
        await asyncio.gather(run(runs), reviewer.adeny("too much", "wire"))
    assert (wired.count, len(llm.heard)) == (0, 1)


async def test_a_denial_that_was_raised_ends_the_pause(server, reviewer):
    client = placet.AsyncClient()

    def wire(to: str) -> dict:
        """Sends money."""
        raise AssertionError

    runs = runner(
        agent([[call("wire", to="bob")]], [wire]),
        [PlacetPlugin(client, mode="pause", on_denied="raise")],
        resumable=True,
    )
    await run(runs)
    await reviewer.adeny("too much", "wire")
    with pytest.raises(placet.Denied, match="too much"):
        await adk.resume(runs, client=client, **WHO)
    assert await adk.resume(runs, client=client, **WHO) == []
    done = await adk.Resumer(runs, client, grace=0.0).once()
    assert (done.went_on, done.waiting, done.failed) == ([], [], {})


def test_a_word_that_says_nothing_about_denials_is_refused(server):
    with pytest.raises(placet.ConfigError, match="use return or raise"):
        PlacetPlugin(placet.AsyncClient(), on_denied="ignore")
    with pytest.raises(placet.ConfigError, match="use return or raise"):
        adk.tool(shop, client=placet.AsyncClient(), on_denied="ignore")
