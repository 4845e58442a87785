"""Two frameworks inside each other, each with a gate: every call is asked for once, and none runs unasked.

A google-adk agent has a tool that runs a LangChain agent, which has a tool of its own, a function with `@placet.gate`.
"""

from __future__ import annotations

import asyncio

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool as langchain_tool
from models import Scripted, calls

import placet
from adk.scripted import agent as adk_agent
from adk.scripted import call, model, results, run, runner
from placet.adapters.adk import PlacetPlugin
from placet.adapters.langchain import PlacetMiddleware
from support import Effects

OUTER = [call("clean", folder="/srv")]


@pytest.fixture
def ran():
    return Effects()


def inner_agent(ran, *, gated_function=False, client=None):
    """A LangChain agent that deletes one file."""

    async def remove(file: str) -> str:
        """Removes a file."""
        ran(file)
        return "gone"

    body = placet.gate(tool="remove")(remove) if gated_function else remove

    @langchain_tool
    async def delete(file: str) -> str:
        """Deletes a file."""
        return str(await body(file=file))

    llm = Scripted(turns=[calls(("delete", {"file": "report.md"}))], seen=[])
    return create_agent(llm, tools=[delete], middleware=[PlacetMiddleware(client)]), llm


def outer_agent(ran, *, client=None, **options):
    """An ADK agent whose only tool runs the other one."""
    inner, llm = inner_agent(ran, client=client, **options)

    async def clean(folder: str) -> dict:
        """Cleans a folder."""
        told = await inner.ainvoke({"messages": [{"role": "user", "content": f"clean {folder}"}]})
        return {"said": str(told["messages"][-1].content)}

    return runner(adk_agent(model(OUTER), [clean]), [PlacetPlugin(client)]), llm


async def test_the_outer_and_the_inner_call_are_asked_for_one_after_the_other(server, reviewer, ran):
    outer, _ = outer_agent(ran)
    asked = []

    async def decide():
        for tool in ("clean", "delete"):
            assert ran.happened == []
            asked.append((await reviewer.aapprove(tool)).tool)

    events, _ = await asyncio.gather(run(outer), decide())
    assert (asked, ran.happened) == (["clean", "delete"], ["report.md"])
    assert results(events, "clean") == [{"said": "done"}]


async def test_a_no_to_the_outer_call_keeps_the_inner_one_from_being_asked(server, reviewer, ran):
    outer, llm = outer_agent(ran)
    await asyncio.gather(run(outer), reviewer.adeny("clean"))
    assert (ran.happened, llm.seen, reviewer.pending()) == ([], [], [])


async def test_a_no_to_the_inner_call_is_told_to_the_inner_model_and_the_outer_goes_on(server, reviewer, ran):
    outer, llm = outer_agent(ran)

    async def decide():
        await reviewer.aapprove("clean")
        await reviewer.adeny("delete")

    events, _ = await asyncio.gather(run(outer), decide())
    assert ran.happened == []
    assert "denied" in str(llm.seen[-1][-1].content)
    assert results(events, "clean") == [{"said": "done"}]


async def test_a_gated_function_inside_a_held_tool_is_a_call_of_its_own(server, reviewer, ran):
    outer, _ = outer_agent(ran, gated_function=True)

    async def decide():
        for tool in ("clean", "delete", "remove"):
            await reviewer.aapprove(tool)

    await asyncio.gather(run(outer), decide())
    assert ran.happened == ["report.md"]


async def test_when_the_server_goes_away_between_the_two_nothing_runs_inside(server, reviewer, ran):
    outer, llm = outer_agent(ran, client=placet.AsyncClient(outage_budget=0.5))
    task = asyncio.create_task(run(outer))
    await reviewer.aapprove("clean")
    await reviewer.anext("delete")
    server.kill()
    # The report of the outer call has nobody to go to either; the run ends all the same.
    await asyncio.wait_for(task, 90)
    assert ran.happened == []
    assert "unreachable" in str(llm.seen[-1][-1].content)
