"""`PlacetMiddleware` in agents made by `create_agent`, against the real server: waiting inside the call."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ToolRetryMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from models import Scripted, calls, results

import placet
from placet.adapters.langchain import PlacetMiddleware
from support import Effects

ASK = {"messages": [{"role": "user", "content": "clean up"}]}


@pytest.fixture
def ran():
    return Effects()


@pytest.fixture
def delete_files(ran):
    @tool
    def delete_files(files: list[str]) -> str:
        """Deletes files."""
        ran(files)
        return f"{len(files)} gone"

    return delete_files


def agent(model, tools, gate, **more):
    return create_agent(model, tools=tools, middleware=[gate], **more)


def one_call(*files: str) -> Scripted:
    return Scripted(turns=[calls(("delete_files", {"files": list(files)}))])


def behind(work):
    """Runs on a thread of its own, as blocking programs do; the result is read with `.result()`."""
    from concurrent.futures import Future

    future: Future = Future()

    def run():
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


async def test_an_approved_call_runs_once_and_is_reported(server, reviewer, ran, delete_files):
    running = asyncio.create_task(agent(one_call("a"), [delete_files], PlacetMiddleware()).ainvoke(ASK))
    seen = await reviewer.anext("delete_files")
    assert ran.count == 0
    assert seen.arguments == {"files": ["a"]}
    reviewer.decide(seen, "approve")
    (told,) = results(await running)
    assert told.content == "1 gone"
    assert ran.happened == [["a"]]
    after = reviewer.client.get(seen.id)
    assert after.state == "succeeded"
    assert after.outcome["result_digest"] == placet.digest.of_json("1 gone")


def test_blocking_agents_are_held_as_well(server, reviewer, ran, delete_files):
    running = behind(lambda: agent(one_call("a"), [delete_files], PlacetMiddleware()).invoke(ASK))
    reviewer.approve("delete_files")
    assert results(running.result(20))[0].content == "1 gone"
    assert ran.happened == [["a"]]


async def test_a_denied_call_never_runs_and_the_model_hears_why(server, reviewer, ran, delete_files):
    running = asyncio.create_task(agent(one_call("a"), [delete_files], PlacetMiddleware()).ainvoke(ASK))
    await reviewer.adeny("the report is needed")
    (told,) = results(await running)
    assert ran.count == 0
    assert told.status == "error"
    assert told.tool_call_id == "call_1"
    assert json.loads(told.content)["reason"] == "the report is needed"


async def test_an_edited_call_runs_with_the_replacement_and_the_model_is_told_so(server, reviewer, ran, delete_files):
    model = one_call("a", "b")
    running = asyncio.create_task(agent(model, [delete_files], PlacetMiddleware()).ainvoke(ASK))
    edited = await reviewer.aedit({"files": ["b"]})
    (told,) = results(await running)
    assert ran.happened == [["b"]]
    assert '"files": ["b"]' in told.content
    assert told.content.endswith("1 gone")
    assert told.response_metadata["placet"]["executed_arguments"] == {"files": ["b"]}
    # The model read it, too.
    assert model.seen[-1][-1].content == told.content
    assert reviewer.client.get(edited.id).state == "succeeded"


async def test_an_edit_that_does_not_fit_the_tool_is_refused_at_the_desk(server, reviewer, ran, delete_files):
    running = asyncio.create_task(agent(one_call("a"), [delete_files], PlacetMiddleware()).ainvoke(ASK))
    seen = await reviewer.anext()
    for wrong in ({"files": "b"}, {"files": ["b"], "force": True}, {}):
        with pytest.raises(placet.Invalid):
            reviewer.client.decide(seen.id, "edit", digest=seen.digest, version=seen.version, arguments=wrong)
    reviewer.decide(seen, "deny")
    await running
    assert ran.count == 0


async def test_an_answer_stands_in_place_of_the_run(server, reviewer, ran, delete_files):
    running = asyncio.create_task(agent(one_call("a"), [delete_files], PlacetMiddleware()).ainvoke(ASK))
    await reviewer.arespond("it is gone already")
    (told,) = results(await running)
    assert ran.count == 0
    assert (told.content, told.status) == ("it is gone already", "success")


async def test_a_call_that_nobody_decides_expires_and_never_runs(server, ran, delete_files):
    gate = PlacetMiddleware(expires_in="1s")
    (told,) = results(await agent(one_call("a"), [delete_files], gate).ainvoke(ASK))
    assert json.loads(told.content)["status"] == "expired"
    assert ran.count == 0


async def test_a_local_timeout_withdraws_the_request(server, reviewer, ran, delete_files):
    gate = PlacetMiddleware(hold_for=0.3)
    (told,) = results(await agent(one_call("a"), [delete_files], gate).ainvoke(ASK))
    answer = json.loads(told.content)
    assert answer["status"] == "cancelled"
    assert reviewer.client.get(answer["request"]).state == "cancelled"
    assert ran.count == 0


async def test_without_a_server_nothing_runs_and_the_model_hears_that_nobody_said_no(server, ran, delete_files):
    server.kill()
    client = placet.AsyncClient(server.url, server.agent, outage_budget=0.3)
    (told,) = results(await agent(one_call("a"), [delete_files], PlacetMiddleware(client)).ainvoke(ASK))
    assert json.loads(told.content)["status"] == "unreachable"
    assert ran.count == 0


async def test_a_wrong_key_is_a_refusal_and_not_a_pass(server, ran, delete_files):
    client = placet.AsyncClient(server.url, "plk_agent_wrong", outage_budget=0.3)
    (told,) = results(await agent(one_call("a"), [delete_files], PlacetMiddleware(client)).ainvoke(ASK))
    assert (told.status, ran.count) == ("error", 0)
    assert json.loads(told.content)["request"] is None


def test_without_a_key_nothing_runs(ran, delete_files, monkeypatch):
    monkeypatch.delenv("PLACET_TOKEN", raising=False)
    (told,) = results(agent(one_call("a"), [delete_files], PlacetMiddleware()).invoke(ASK))
    assert (told.status, ran.count) == ("error", 0)
    assert "PLACET_TOKEN" in told.content


@pytest.mark.topology("parallel")
async def test_parallel_calls_are_held_at_the_same_time_and_decided_one_by_one(
    server, reviewer, ran, delete_files, counted
):
    model = Scripted(turns=[calls(*[("delete_files", {"files": [name]}) for name in "abc"])])
    running = asyncio.create_task(agent(model, [delete_files], PlacetMiddleware()).ainvoke(ASK))
    found = await asyncio.to_thread(reviewer.wait_for, 3)
    for record in found:
        reviewer.decide(record, "deny" if record.arguments["files"] == ["b"] else "approve")
    told = results(await running)
    assert sorted(ran.happened) == [["a"], ["c"]]
    assert [one.status for one in told] == ["success", "error", "success"]
    counted(ran, by="files")


def test_parallel_calls_of_blocking_agents_are_held_at_the_same_time(server, reviewer, ran, delete_files):
    model = Scripted(turns=[calls(*[("delete_files", {"files": [name]}) for name in "abc"])])
    running = behind(lambda: agent(model, [delete_files], PlacetMiddleware()).invoke(ASK))
    for record in reviewer.wait_for(3):
        reviewer.decide(record, "approve")
    running.result(20)
    assert sorted(ran.happened) == [["a"], ["b"], ["c"]]


async def test_a_tool_that_raises_is_reported_as_failed(server, reviewer, ran):
    @tool
    def delete_files(files: list[str]) -> str:
        """Deletes files."""
        ran(files)
        raise OSError("disk on fire")

    running = asyncio.create_task(agent(one_call("a"), [delete_files], PlacetMiddleware()).ainvoke(ASK))
    seen = await reviewer.aapprove()
    with pytest.raises(OSError, match="disk on fire"):
        await running
    after = reviewer.client.get(seen.id)
    assert (after.state, ran.count) == ("failed", 1)
    assert "disk on fire" in after.outcome["note"]


async def test_a_retry_around_the_gate_does_not_run_the_call_twice(server, reviewer, ran):
    @tool
    def delete_files(files: list[str]) -> str:
        """Deletes files."""
        ran(files)
        raise OSError("disk on fire")

    retry = ToolRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)
    graph = create_agent(
        one_call("a"), tools=[delete_files], middleware=[retry, PlacetMiddleware()], checkpointer=InMemorySaver()
    )
    running = asyncio.create_task(graph.ainvoke(ASK, {"configurable": {"thread_id": "t1"}}))
    await reviewer.aapprove()
    await running
    assert ran.count == 1


async def test_only_the_named_tools_are_held(server, reviewer, ran, delete_files):
    @tool
    def look(path: str) -> str:
        """Looks."""
        ran("look", path)
        return "something"

    model = Scripted(turns=[calls(("look", {"path": "/"}), ("delete_files", {"files": ["a"]}))])
    gate = PlacetMiddleware(tools={"delete_files": {"risk": "high", "summary": lambda a: f"{len(a['files'])} files"}})
    running = asyncio.create_task(agent(model, [look, delete_files], gate).ainvoke(ASK))
    seen = await reviewer.aapprove()
    await running
    assert (seen.tool, seen.risk, seen.summary) == ("delete_files", "high", "1 files")
    assert len(reviewer.client.list()) == 1
    assert ran.count == 2


async def test_a_sub_agent_in_a_tool_is_held_and_says_who_it_is(server, reviewer, ran, delete_files):
    gate = PlacetMiddleware(tools=["delete_files"])
    child = create_agent(one_call("a"), tools=[delete_files], middleware=[gate], name="janitor")

    @tool
    async def janitor(task: str) -> str:
        """Cleans."""
        return (await child.ainvoke(ASK))["messages"][-1].content

    parent = Scripted(turns=[calls(("janitor", {"task": "clean"}))])
    graph = create_agent(
        parent, tools=[janitor], middleware=[PlacetMiddleware(tools=[])], name="boss", checkpointer=InMemorySaver()
    )
    running = asyncio.create_task(graph.ainvoke(ASK, {"configurable": {"thread_id": "t1"}}))
    seen = await reviewer.aapprove("delete_files")
    await running
    assert ran.happened == [["a"]]
    assert seen.context["agent"] == "janitor"


async def test_equal_call_ids_in_two_turns_are_two_requests(server, reviewer, ran, delete_files):
    again = calls(("delete_files", {"files": ["a"]}))
    graph = agent(Scripted(turns=[again, again]), [delete_files], PlacetMiddleware(), checkpointer=InMemorySaver())
    with reviewer.always():
        await graph.ainvoke(ASK, {"configurable": {"thread_id": "t1"}})
    assert len({one.id for one in reviewer.seen}) == 2
    assert ran.count == 2


async def test_the_same_thread_run_again_after_a_crash_finds_its_request(server, reviewer, ran, delete_files):
    saver, thread = InMemorySaver(), {"configurable": {"thread_id": "t1"}}
    server_side = agent(one_call("a"), [delete_files], PlacetMiddleware(tools=["delete_files"]), checkpointer=saver)
    # A client that is gone without a word: the server is away while the caller is cancelled.
    first = asyncio.create_task(server_side.ainvoke(ASK, thread))
    seen = await reviewer.anext()
    server.kill()
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    server.start()
    again = agent(one_call("a"), [delete_files], PlacetMiddleware(tools=["delete_files"]), checkpointer=saver)
    second = asyncio.create_task(again.ainvoke(None, thread))
    reviewer.decide(await reviewer.anext(), "approve")
    await second
    assert ran.count == 1
    assert [one.id for one in reviewer.client.list()] == [seen.id]


async def test_a_cancelled_run_withdraws_what_it_asked(server, reviewer, ran, delete_files):
    running = asyncio.create_task(agent(one_call("a"), [delete_files], PlacetMiddleware()).ainvoke(ASK))
    seen = await reviewer.anext()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert reviewer.client.get(seen.id).state == "cancelled"
    assert ran.count == 0


@pytest.mark.parametrize("wrong", [{"mode": "later"}, {"tools": "delete_files"}, {"tools": {"x": {"color": 1}}},
                                   {"allowed": ["deny"]}, {"risky": 1}, {"mode": "pause", "hold_for": 1}])  # fmt: skip
def test_a_gate_that_is_set_up_wrongly_is_refused_at_once(wrong):
    with pytest.raises(placet.ConfigError):
        PlacetMiddleware(**wrong)
