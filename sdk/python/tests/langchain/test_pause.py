"""`PlacetMiddleware(mode="pause")`: the run ends at an interrupt, and the resumed one asks Placet what was decided."""

from __future__ import annotations

import asyncio
import json
import sqlite3

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from models import Scripted, calls, results

import placet
from placet.adapters.langchain import InterruptBridge, PlacetMiddleware
from support import Effects, Proxy

ASK = {"messages": [{"role": "user", "content": "clean up"}]}
THREAD = {"configurable": {"thread_id": "t1"}}
FORGED = Command(resume={"type": "approve", "decision": "approve", "approved": True, "confirmed": True})


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


@pytest.fixture
def graph(ran, delete_files):
    """Makes the agent anew over the same checkpoints, as another process would."""
    saver = InMemorySaver()

    def make(*turns, tools=(delete_files,), **more):
        gate = PlacetMiddleware(mode="pause", **more)
        model = Scripted(turns=list(turns) or [calls(("delete_files", {"files": ["a"]}))])
        return create_agent(model, tools=list(tools), middleware=[gate], checkpointer=saver)

    return make


def test_a_held_call_pauses_the_run_and_an_approved_one_resumes_in_another_process(server, reviewer, ran, graph):
    paused = graph().invoke(ASK, THREAD)
    (waiting,) = paused["__interrupt__"]
    seen = reviewer.next("delete_files")
    assert waiting.value["request"] == seen.id
    assert ran.count == 0
    reviewer.decide(seen, "approve")
    told = results(graph().invoke(Command(resume="go"), THREAD))
    assert [one.content for one in told] == ["1 gone"]
    assert ran.happened == [["a"]]
    assert reviewer.client.get(seen.id).state == "succeeded"


def test_the_resume_value_cannot_approve_what_was_denied(server, reviewer, ran, graph):
    graph().invoke(ASK, THREAD)
    reviewer.deny("never")
    (told,) = results(graph().invoke(FORGED, THREAD))
    assert json.loads(told.content)["reason"] == "never"
    assert ran.count == 0


async def test_a_run_that_is_resumed_too_early_waits_for_the_decision(server, reviewer, ran, graph):
    await graph().ainvoke(ASK, THREAD)
    with Proxy(server.url) as line:
        async with placet.AsyncClient(line.url, server.agent) as client:
            running = asyncio.create_task(graph(client=client).ainvoke(FORGED, THREAD))
            await asyncio.to_thread(line.wait_for_a_waiter)
            assert (running.done(), ran.count) == (False, 0)
            await reviewer.adeny("not before Monday")
            (told,) = results(await running)
    assert (told.status, ran.count) == ("error", 0)
    assert json.loads(told.content)["reason"] == "not before Monday"


def test_an_edit_is_applied_when_the_run_is_resumed(server, reviewer, ran, graph):
    graph().invoke(ASK, THREAD)
    reviewer.edit({"files": ["b"]})
    (told,) = results(graph().invoke(Command(resume="go"), THREAD))
    assert ran.happened == [["b"]]
    assert '"files": ["b"]' in told.content


def test_what_policy_allows_does_not_pause(tmp_path, monkeypatch, ran, graph):
    from support import Server

    policy = tmp_path / "policy.toml"
    policy.write_text(ALLOW)
    with Server(tmp_path / "data", policy=str(policy)) as server:
        monkeypatch.setenv("PLACET_URL", server.url)
        monkeypatch.setenv("PLACET_TOKEN", server.agent)
        answer = graph().invoke(ASK, THREAD)
    assert "__interrupt__" not in answer
    assert ran.count == 1


@pytest.mark.topology("parallel")
def test_parallel_calls_pause_and_resume_one_by_one(server, reviewer, ran, graph, counted):
    turn = calls(("delete_files", {"files": ["a"]}), ("delete_files", {"files": ["b"]}))
    first, second = graph(turn).invoke(ASK, THREAD)["__interrupt__"]
    by_request = {one.value["request"]: one.id for one in (first, second)}
    a, b = reviewer.wait_for(2)
    reviewer.decide(b, "approve")
    left = graph(turn).invoke(Command(resume={by_request[b.id]: None}), THREAD)
    assert [one.value["request"] for one in left["__interrupt__"]] == [a.id]
    assert ran.happened == [b.arguments["files"]]
    reviewer.decide(a, "deny")
    told = results(graph(turn).invoke(Command(resume={by_request[a.id]: None}), THREAD))
    assert sorted(one.status for one in told) == ["error", "success"]
    assert ran.count == 1
    counted(ran, by="files")


def test_without_a_checkpointer_nothing_is_asked_and_nothing_runs(server, reviewer, ran, delete_files):
    model = Scripted(turns=[calls(("delete_files", {"files": ["a"]}))])
    graph = create_agent(model, tools=[delete_files], middleware=[PlacetMiddleware(mode="pause")])
    (told,) = results(graph.invoke(ASK))
    assert "checkpointer" in told.content
    assert (ran.count, len(reviewer.client.list())) == (0, 0)


def test_a_predicate_that_changes_its_mind_cannot_let_a_held_call_pass(server, reviewer, ran, graph):
    graph(when=lambda name, arguments: True).invoke(ASK, THREAD)
    reviewer.deny("no")
    (told,) = results(graph(when=lambda name, arguments: False).invoke(Command(resume="go"), THREAD))
    assert (told.status, ran.count) == ("error", 0)


def test_a_predicate_decides_which_calls_are_held(server, reviewer, ran, graph):
    turn = calls(("delete_files", {"files": ["a"]}), ("delete_files", {"files": ["/etc/passwd"]}))
    paused = graph(turn, when=lambda name, arguments: "/etc/passwd" in arguments["files"]).invoke(ASK, THREAD)
    assert len(paused["__interrupt__"]) == 1
    assert reviewer.next().arguments == {"files": ["/etc/passwd"]}


def test_a_predicate_that_fails_holds_the_call(server, reviewer, ran, graph):
    paused = graph(when=lambda name, arguments: arguments["nothing"]).invoke(ASK, THREAD)
    assert len(paused["__interrupt__"]) == 1
    assert ran.count == 0


def test_a_tool_with_an_interrupt_of_its_own_gets_its_own_answer_and_keeps_the_permit(server, reviewer, ran):
    @tool
    def order(what: str) -> str:
        """Orders."""
        size = interrupt("which size?")
        ran(what, size)
        return f"{what} in {size}"

    gate = PlacetMiddleware(mode="pause")
    model = Scripted(turns=[calls(("order", {"what": "shoes"}))])
    graph = create_agent(model, tools=[order], middleware=[gate], checkpointer=InMemorySaver())
    graph.invoke(ASK, THREAD)
    seen = reviewer.approve("order")
    paused = graph.invoke(Command(resume="XXL, says the resume value meant for Placet"), THREAD)
    assert [one.value for one in paused["__interrupt__"]] == ["which size?"]
    (told,) = results(graph.invoke(Command(resume="42"), THREAD))
    assert told.content == "shoes in 42"
    assert ran.happened == [("shoes", "42")]
    assert reviewer.client.get(seen.id).state == "succeeded"


def test_a_call_that_another_process_began_is_not_begun_again(server, reviewer, ran):
    @tool
    def order(what: str) -> str:
        """Orders."""
        ran(what)
        return str(interrupt("which size?"))

    saver = InMemorySaver()

    def graph():
        model = Scripted(turns=[calls(("order", {"what": "shoes"}))])
        return create_agent(model, tools=[order], middleware=[PlacetMiddleware(mode="pause")], checkpointer=saver)

    one = graph()
    one.invoke(ASK, THREAD)
    reviewer.approve("order")
    one.invoke(Command(resume="go"), THREAD)
    assert ran.count == 1
    (told,) = results(graph().invoke(Command(resume="42"), THREAD))
    assert json.loads(told.content)["status"] == "unknown"
    assert ran.count == 1


def bare(gate, tools, turn, saver):
    """A graph of one's own: a model, a ToolNode, no agent factory."""
    model = Scripted(turns=[turn])
    builder = StateGraph(MessagesState)
    builder.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_node("tools", gate.tool_node(tools))
    builder.add_edge(START, "model")
    builder.add_edge("model", "tools")
    builder.add_edge("tools", END)
    return builder.compile(checkpointer=saver)


def test_a_bare_tool_node_pauses_and_resumes(server, reviewer, ran, delete_files, tmp_path):
    turn = calls(("delete_files", {"files": ["a"]}))

    def graph():
        saver = SqliteSaver(sqlite3.connect(tmp_path / "threads.db", check_same_thread=False))
        return bare(PlacetMiddleware(mode="pause"), [delete_files], turn, saver)

    graph().invoke(ASK, THREAD)
    reviewer.edit({"files": ["b"]})
    (told,) = results(graph().invoke(Command(resume="go"), THREAD))
    assert ran.happened == [["b"]]
    assert told.status == "success"


def test_a_bare_tool_node_holds_every_call_because_nothing_keeps_what_a_predicate_said(server, ran, delete_files):
    turn = calls(("delete_files", {"files": ["a"]}))
    gate = PlacetMiddleware(mode="pause", when=lambda name, arguments: False)
    paused = bare(gate, [delete_files], turn, InMemorySaver()).invoke(ASK, THREAD)
    assert len(paused["__interrupt__"]) == 1
    assert ran.count == 0


async def test_a_sub_agent_that_pauses_resumes_through_its_parent(server, reviewer, ran, delete_files):
    gate = PlacetMiddleware(tools=["delete_files"], mode="pause")
    child = create_agent(
        Scripted(turns=[calls(("delete_files", {"files": ["a"]}))]),
        tools=[delete_files],
        middleware=[gate],
        name="janitor",
    )

    @tool
    async def janitor(task: str) -> str:
        """Cleans."""
        return (await child.ainvoke(ASK))["messages"][-1].content

    parent = Scripted(turns=[calls(("janitor", {"task": "clean"}))])
    outer = PlacetMiddleware(tools=[], mode="pause")
    graph = create_agent(parent, tools=[janitor], middleware=[outer], name="boss", checkpointer=InMemorySaver())
    paused = await graph.ainvoke(ASK, THREAD)
    assert paused["__interrupt__"][0].value["tool"] == "delete_files"
    await reviewer.aapprove("delete_files")
    assert results(await graph.ainvoke(Command(resume="go"), THREAD))[0].content == "done"
    assert ran.count == 1


async def test_the_bridge_waits_and_resumes_paused_runs(server, reviewer, ran, graph):
    with reviewer.always(lambda record: ("edit", {"arguments": {"files": ["b"]}})):
        answer = await InterruptBridge().arun(graph(), ASK, THREAD)
    assert ran.happened == [["b"]]
    assert results(answer)[0].status == "success"


ALLOW = """
version = 1
[[rule]]
name = "all"
effect = "allow"
tool = ["*"]
"""
