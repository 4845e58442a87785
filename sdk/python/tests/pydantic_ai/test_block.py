"""`PlacetCapability` and `PlacetToolset`, waiting inside the call, against the real server."""

from __future__ import annotations

import asyncio
from datetime import date

import pytest
from models import calls, returned, scripted
from pydantic import BaseModel
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.toolsets import FunctionToolset

import placet
from placet.adapters.pydantic_ai import PlacetCapability, PlacetToolset
from pydantic_ai import Agent, ApprovalRequired, ModelRetry, RunContext, Tool
from support import Effects


@pytest.fixture
def ran():
    return Effects()


@pytest.fixture
def delete_files(ran):
    def delete_files(files: list[str]) -> str:
        """Deletes files."""
        ran(files)
        return f"{len(files)} gone"

    return delete_files


class Order(BaseModel):
    what: str
    until: date


ONE = calls(("delete_files", {"files": ["a"]}))


def agent(*tools, turns=(ONE,), gate=None, **more) -> Agent:
    gates = [gate or PlacetCapability()]
    return Agent(scripted(*turns), tools=list(tools), capabilities=gates, name="cleaner", **more)


async def test_an_approved_call_runs_once_and_is_reported(server, reviewer, ran, delete_files):
    running = asyncio.create_task(agent(delete_files).run("clean"))
    seen = await reviewer.anext("delete_files")
    assert ran.count == 0
    assert (seen.arguments, seen.context["agent"]) == ({"files": ["a"]}, "cleaner")
    reviewer.decide(seen, "approve")
    result = await running
    assert (returned(result), result.output) == (["1 gone"], "done")
    assert ran.happened == [["a"]]
    after = reviewer.client.get(seen.id)
    assert (after.state, after.outcome["result_digest"]) == ("succeeded", placet.digest.of_json("1 gone"))


def test_a_blocking_run_is_held_as_well(server, reviewer, ran, delete_files):
    with reviewer.always():
        result = agent(delete_files).run_sync("clean")
    assert (returned(result), ran.count) == (["1 gone"], 1)


async def test_a_denied_call_never_runs_and_the_model_hears_why(server, reviewer, ran, delete_files):
    running = asyncio.create_task(agent(delete_files).run("clean"))
    await reviewer.adeny("the report is needed")
    (told,) = returned(await running)
    assert (told["status"], told["reason"]) == ("denied", "the report is needed")
    assert ran.count == 0


async def test_an_edited_call_runs_with_the_replacement_and_the_model_is_told_so(server, reviewer, ran, delete_files):
    running = asyncio.create_task(agent(delete_files).run("clean"))
    await reviewer.aedit({"files": ["b"]})
    (told,) = returned(await running)
    assert ran.happened == [["b"]]
    assert '{"files": ["b"]}' in told
    assert told.endswith("1 gone")


async def test_an_edit_must_fit_the_tool(server, reviewer, ran, delete_files):
    running = asyncio.create_task(agent(delete_files).run("clean"))
    seen = await reviewer.anext()
    for wrong in ({"files": "b"}, {"files": ["b"], "force": True}):
        with pytest.raises(placet.Invalid):
            reviewer.client.decide(seen.id, "edit", digest=seen.digest, version=seen.version, arguments=wrong)
    reviewer.decide(seen, "deny")
    await running
    assert ran.count == 0


async def test_an_edit_that_the_tools_own_check_refuses_is_not_run(server, reviewer, ran, delete_files):
    def no_roots(ctx: RunContext, files: list[str]) -> None:
        if "/" in files:
            raise ModelRetry("not the root")

    running = asyncio.create_task(agent(Tool(delete_files, args_validator=no_roots)).run("clean"))
    seen = await reviewer.aedit({"files": ["/"]})
    (told,) = returned(await running)
    assert (told["status"], ran.count) == ("failed", 0)
    assert "not the root" in reviewer.client.get(seen.id).outcome["note"]


async def test_an_answer_stands_in_place_of_the_run(server, reviewer, ran, delete_files):
    running = asyncio.create_task(agent(delete_files).run("clean"))
    await reviewer.arespond("it is gone already")
    assert returned(await running) == ["it is gone already"]
    assert ran.count == 0


async def test_a_call_that_nobody_decides_expires_and_never_runs(server, ran, delete_files):
    (told,) = returned(await agent(delete_files, gate=PlacetCapability(expires_in="1s")).run("clean"))
    assert (told["status"], ran.count) == ("expired", 0)


async def test_without_a_server_nothing_runs(server, ran, delete_files):
    server.kill()
    gate = PlacetCapability(placet.AsyncClient(outage_budget=0.3))
    (told,) = returned(await agent(delete_files, gate=gate).run("clean"))
    assert (told["status"], ran.count) == ("unreachable", 0)


async def test_a_wrong_key_is_a_refusal_and_not_a_pass(server, ran, delete_files):
    gate = PlacetCapability(placet.AsyncClient(token="plk_agent_wrong", outage_budget=0.3))
    (told,) = returned(await agent(delete_files, gate=gate).run("clean"))
    assert "not run" in told["message"]
    assert ran.count == 0


@pytest.mark.topology("parallel")
async def test_parallel_calls_are_held_at_the_same_time_and_decided_one_by_one(
    server, reviewer, ran, delete_files, counted
):
    turn = calls(*[("delete_files", {"files": [name]}) for name in "abc"])
    running = asyncio.create_task(agent(delete_files, turns=[turn]).run("clean"))
    for record in await asyncio.to_thread(reviewer.wait_for, 3):
        reviewer.decide(record, "deny" if record.arguments["files"] == ["b"] else "approve")
    told = returned(await running)
    assert sorted(ran.happened) == [["a"], ["c"]]
    assert [one == "1 gone" for one in told] == [True, False, True]
    counted(ran, by="files")


async def test_a_tool_that_raises_is_reported_as_failed(server, reviewer, ran):
    def delete_files(files: list[str]) -> str:
        """Deletes files."""
        ran(files)
        raise OSError("disk on fire")

    running = asyncio.create_task(agent(delete_files).run("clean"))
    seen = await reviewer.aapprove()
    with pytest.raises(OSError, match="disk on fire"):
        await running
    after = reviewer.client.get(seen.id)
    assert (after.state, ran.count) == ("failed", 1)


async def test_a_tool_that_sends_the_model_back_is_asked_about_again(server, reviewer, ran):
    def delete_files(files: list[str]) -> str:
        """Deletes files."""
        ran(files)
        raise ModelRetry("be more careful")

    # The same call id in both turns: some providers do that.
    with reviewer.always(), pytest.raises(UnexpectedModelBehavior):
        await agent(delete_files, turns=[ONE, calls(("delete_files", {"files": ["b"]}))]).run("clean")
    assert ran.happened == [["a"], ["b"]]
    assert [reviewer.client.get(one.id).state for one in reviewer.seen] == ["failed", "failed"]


async def test_arguments_of_rich_types_are_shown_as_the_model_wrote_them_and_run_as_the_tool_takes_them(
    server, reviewer, ran
):
    def order(order: Order) -> dict:
        """Orders."""
        ran(order)
        return {"ok": True}

    turn = calls(("order", {"what": "shoes", "until": "2026-12-24"}))
    running = asyncio.create_task(agent(order, turns=[turn]).run("buy"))
    seen = await reviewer.aedit({"what": "boots", "until": "2026-12-31"})
    (told,) = returned(await running)
    assert seen.arguments == {"what": "shoes", "until": "2026-12-24"}
    assert ran.happened == [Order(what="boots", until=date(2026, 12, 31))]
    assert told["ok"] is True
    assert told["placet"]["executed_arguments"]["what"] == "boots"


async def test_a_tool_that_requires_approval_is_asked_about_once(server, reviewer, ran, delete_files):
    running = asyncio.create_task(agent(Tool(delete_files, requires_approval=True)).run("clean"))
    await reviewer.aedit({"files": ["b"]})
    await running
    assert ran.happened == [["b"]]
    assert len(reviewer.client.list()) == 1


async def test_a_tool_that_asks_in_the_middle_of_its_run_goes_on_with_its_permit(server, reviewer, ran):
    def delete_files(ctx: RunContext, files: list[str]) -> str:
        """Deletes files."""
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        ran(files)
        return "gone"

    with reviewer.always():
        result = await agent(delete_files).run("clean")
    assert (returned(result), ran.happened) == (["gone"], [["a"]])
    assert [one.state for one in reviewer.client.list()] == ["succeeded"]


async def test_only_the_calls_of_one_toolset_are_held(server, reviewer, ran, delete_files):
    def look(path: str) -> str:
        """Looks."""
        ran("look")
        return "something"

    held = PlacetToolset.around(FunctionToolset([delete_files]), tools={"delete_files": {"risk": "high"}})
    turn = calls(("look", {"path": "/"}), ("delete_files", {"files": ["a"]}))
    both = Agent(scripted(turn), tools=[look], toolsets=[held])
    running = asyncio.create_task(both.run("clean"))
    seen = await reviewer.aapprove()
    await running
    assert (seen.tool, seen.risk, len(reviewer.client.list())) == ("delete_files", "high", 1)
    assert ran.count == 2


async def test_an_agent_called_by_a_tool_is_held_and_says_who_it_is(server, reviewer, ran, delete_files):
    inner = agent(delete_files)

    async def clean(task: str) -> str:
        """Cleans."""
        return (await inner.run(task)).output

    gate = PlacetCapability(tools=[])
    outer = Agent(scripted(calls(("clean", {"task": "all"}))), tools=[clean], capabilities=[gate], name="boss")
    running = asyncio.create_task(outer.run("go"))
    seen = await reviewer.aapprove("delete_files")
    assert returned(await running) == ["done"]
    assert (seen.context["agent"], ran.count) == ("cleaner", 1)


async def test_a_cancelled_run_withdraws_what_it_asked(server, reviewer, ran, delete_files):
    running = asyncio.create_task(agent(delete_files).run("clean"))
    seen = await reviewer.anext()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    # The farewell may outlast the run: the next news of the request is its end.
    after = await asyncio.to_thread(reviewer.client.wait, seen.id, 10)
    assert (after.state, ran.count) == ("cancelled", 0)


@pytest.mark.parametrize("wrong", [{"mode": "later"}, {"tools": "x"}, {"allowed": ["deny"]}, {"risky": 1},
                                   {"mode": "pause", "hold_for": 1}])  # fmt: skip
def test_a_gate_that_is_set_up_wrongly_is_refused_at_once(wrong):
    with pytest.raises(placet.ConfigError):
        PlacetCapability(**wrong)
