"""LangGraph in shapes that no other file has, with calls that are all alike: each is decided apart, and runs once.

`block` waits in the call. `pause` ends the run, and a resumer goes on with it when there is a decision.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Annotated, Any

import pytest
import resumed
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from models import Again, Scripted, calls
from threads import ASK, eventually, thread

import placet
from placet.adapters.langchain import InterruptBridge, PlacetMiddleware, Resumer
from support import HANG, Effects, Proxy
from support import eventually as happens
from support.processes import Processes
from support.topologies import LONG

DELETE = calls(("delete", {"file": "a"}))
YES, NO, EDIT = ("approve", {}), ("deny", {"reason": "keep it"}), ("edit", {"arguments": {"file": "b"}})
ASKS = ("POST", "/v1/requests")
BOTH = pytest.mark.parametrize("mode", ["block", "pause"])


class Desk:
    """Agents that delete under one gate, and a run of them that is decided call by call."""

    def __init__(self, mode: str, delete: Any):
        self.mode = mode
        self.delete = delete
        self.gate = PlacetMiddleware(mode=mode)
        self.silent = PlacetMiddleware(mode=mode, tools=[])

    def cleaner(self, *turns: AIMessage, name: str = "cleaner", **more: Any) -> Any:
        model = Scripted(turns=list(turns)) if turns else Again(turns=[DELETE])
        return create_agent(model, tools=[self.delete], middleware=[self.gate], name=name, **more)

    def around(self, agent: Any, *turns: AIMessage, name: str, **more: Any) -> Any:
        """An agent that has this one for its tool."""

        @tool
        async def ask(task: str) -> str:
            """Has it done."""
            return (await agent.ainvoke(ASK))["messages"][-1].text

        return create_agent(Scripted(turns=list(turns)), tools=[ask], middleware=[self.silent], name=name, **more)

    async def play(self, graph: Any, reviewer: Any, *words: Any) -> None:
        """Runs it to its end, while a person says these words, in the order in which the calls are made."""
        said = iter(words)
        with reviewer.always(lambda record: next(said)):
            await asyncio.wait_for(graph.ainvoke(ASK, thread()), 60)
            await self.finish(graph)
        assert next(said, None) is None

    async def finish(self, graph: Any) -> None:
        async def ended() -> bool:
            return not (await graph.aget_state(thread())).tasks

        if self.mode == "pause":
            assert not await ended()
            async with Resumer(graph, scan_every=0.2, abandoned_after=0.0):
                await eventually(ended)


@pytest.fixture
def desk(server, mode, delete):
    return Desk(mode, delete)


def wired(nodes: dict[str, Any], *edges: tuple[str, Any]) -> Any:
    """A graph; an edge to a function goes where the function says."""
    builder = StateGraph(MessagesState)
    for name, node in nodes.items():
        builder.add_node(name, node)
    for before, after in edges:
        add = builder.add_conditional_edges if callable(after) else builder.add_edge
        add(before, after)
    return builder.compile(checkpointer=InMemorySaver())


@pytest.mark.topology("sequential")
@BOTH
async def test_agents_in_sequence_that_make_the_same_call_are_decided_apart(desk, reviewer, ran, counted):
    nodes = {name: desk.cleaner(name=name) for name in ("one", "two", "three")}
    graph = wired(nodes, (START, "one"), ("one", "two"), ("two", "three"))
    await desk.play(graph, reviewer, YES, NO, EDIT)
    assert ran.happened == ["a", "b"]
    counted(ran, by="file")


@pytest.mark.topology("loop")
@BOTH
async def test_each_round_of_a_cycle_is_decided_apart(desk, reviewer, ran, counted):
    def on(state: MessagesState) -> str:
        return END if sum(isinstance(one, ToolMessage) for one in state["messages"]) == 3 else "again"

    graph = wired({"again": desk.cleaner()}, (START, "again"), ("again", on))
    await desk.play(graph, reviewer, YES, NO, EDIT)
    assert ran.happened == ["a", "b"]
    counted(ran, by="file")


@pytest.mark.topology("loop")
@BOTH
async def test_each_turn_of_a_model_that_goes_on_calling_is_decided_apart(desk, reviewer, ran, counted):
    """A graph of one's own. The model numbers its calls from 1 in every turn."""
    model = Scripted(turns=[DELETE] * 3)

    def on(state: MessagesState) -> str:
        return "tools" if state["messages"][-1].tool_calls else END

    nodes = {
        "model": lambda state: {"messages": [model.invoke(state["messages"])]},
        "tools": desk.gate.tool_node([desk.delete]),
    }
    await desk.play(wired(nodes, (START, "model"), ("model", on), ("tools", "model")), reviewer, NO, YES, NO)
    assert ran.happened == ["a"]
    counted(ran, by="file")


@pytest.mark.topology("nested twice")
@BOTH
async def test_an_agent_in_an_agent_in_an_agent_is_held_also_twice_at_once(desk, reviewer, ran, counted):
    order = ("ask", {"task": "clean"})
    boss = desk.around(desk.cleaner(), calls(order), name="boss")
    chief = desk.around(boss, calls(order, order), calls(order), name="chief", checkpointer=InMemorySaver())
    await desk.play(chief, reviewer, YES, NO, EDIT)
    assert ran.happened == ["a", "b"]
    assert {one.context["agent"] for one in reviewer.seen} == {"cleaner"}
    counted(ran, by="file")


@tool
def hand_over(call_id: Annotated[str, InjectedToolCallId]) -> Command:
    """Hands over to the cleaner."""
    done = ToolMessage("handed over", tool_call_id=call_id)
    return Command(goto="cleaner", graph=Command.PARENT, update={"messages": [done]})


@pytest.mark.topology("handoff")
@BOTH
async def test_an_agent_that_was_handed_over_to_is_held_and_so_is_the_hand_over(desk, reviewer, ran, counted):
    first = create_agent(
        Scripted(turns=[calls(("hand_over", {}))]), tools=[hand_over], middleware=[desk.gate], name="first"
    )
    cleaner = desk.cleaner(calls(*[("delete", {"file": "a"})] * 3))
    graph = wired({"first": first, "cleaner": cleaner}, (START, "first"))
    await desk.play(graph, reviewer, YES, NO, YES, EDIT)
    assert sorted(ran.happened) == ["a", "b"]
    counted(ran, by="file", tool="delete")


@pytest.mark.topology("streaming")
@BOTH
async def test_a_caller_reads_the_stream_while_the_calls_are_held(desk, reviewer, ran, counted):
    graph = desk.cleaner(calls(*[("delete", {"file": "a"})] * 2), checkpointer=InMemorySaver())
    read = []

    async def reads() -> None:
        async for kind, chunk in graph.astream(ASK, thread(), stream_mode=["messages", "updates"]):
            read.append((kind, chunk))

    reading = asyncio.create_task(reads())
    first, second = await asyncio.to_thread(reviewer.wait_for, 2)
    await eventually(lambda: any(kind == "updates" and "model" in chunk for kind, chunk in read))
    assert (ran.count, reading.done() and desk.mode == "block") == (0, False)
    reviewer.decide(first, "deny", reason="keep it")
    reviewer.decide(second, "approve")
    await asyncio.wait_for(reading, 60)
    await desk.finish(graph)
    counted(ran, by="file")


@pytest.mark.topology("loop")
@pytest.mark.topology("workflow")
async def test_each_round_of_a_cycle_of_plain_nodes_is_decided_apart(server, reviewer, ran, counted):
    def ask(state: MessagesState) -> dict[str, Any]:
        allowed = {"allow_accept": True, "allow_edit": True, "allow_ignore": True}
        (said,) = interrupt([{"action_request": {"action": "delete", "args": {"file": "a"}}, "config": allowed}])
        return {"messages": [AIMessage("", additional_kwargs={"said": said})]}

    def act(state: MessagesState) -> None:
        said = state["messages"][-1].additional_kwargs["said"]
        if said["type"] in {"accept", "edit"}:
            ran("a" if said["type"] == "accept" else said["args"]["args"]["file"])

    def on(state: MessagesState) -> str:
        return END if len(state["messages"]) == 4 else "ask"

    graph = wired({"ask": ask, "act": act}, (START, "ask"), ("ask", "act"), ("act", on))
    words = iter((YES, NO, EDIT))
    with reviewer.always(lambda record: next(words)):
        await asyncio.wait_for(InterruptBridge().arun(graph, ASK, thread()), 60)
    assert ran.happened == ["a", "b"]
    counted(ran, by="file")


@pytest.mark.topology("two users with one session id")
@BOTH
@pytest.mark.parametrize("named", [True, False], ids=["named", "unnamed"])
async def test_threads_of_one_name_in_two_stores_do_not_share_a_yes(server, reviewer, mode, named, counted):
    """Each user has a store and a resumer; with `placet.session` the request says whose it is."""

    def made(mode: str) -> Any:
        done = Effects()

        @tool
        def delete(file: str) -> str:
            """Deletes."""
            done(file)
            return "gone"

        desk = Desk(mode, delete)
        return done, desk, desk.cleaner(DELETE, checkpointer=InMemorySaver())

    users = {user: made(mode) for user in ("alice", "mallory")}

    async def runs(user: str) -> None:
        _, desk, graph = users[user]
        with placet.session("t1", user=user) if named else contextlib.nullcontext():
            await graph.ainvoke(ASK, thread())
        await desk.finish(graph)

    running = {}
    for user in users:
        running[user] = asyncio.create_task(runs(user))
        await asyncio.to_thread(reviewer.wait_for, len(running))
    first, second = reviewer.pending()
    reviewer.decide(second, "deny", reason="keep it")
    reviewer.decide(first, "approve")
    await asyncio.wait_for(asyncio.gather(*running.values()), 60)
    assert [done.happened for done, *_ in users.values()] == [["a"], []]
    assert [one.context.get("user") for one in (first, second)] == (list(users) if named else [None, None])
    counted([file for done, *_ in users.values() for file in done.happened], by="file")


@LONG
@pytest.mark.topology("killed while held")
@pytest.mark.topology("killed while resuming")
def test_a_thread_whose_resumers_are_killed_while_they_wait_and_while_they_go_on(server, reviewer, tmp_path, counted):
    processes, words = Processes(resumed.main, server, tmp_path), ("blocking", "t1")
    assert processes.run("start", *words) == 0
    with Proxy(server.url) as line:
        waits = processes("go-on", *words, url=line.url)
        line.wait_for_a_waiter()
        waits.kill()
        waits.join()
    said = {"a": YES, "b": NO, "c": EDIT}
    for one in reviewer.wait_for(2):
        word, more = said[one.arguments["file"]]
        reviewer.decide(one, word, **more)
    with Proxy(server.url, lambda method, path: HANG if (method, path) == ASKS else None) as line:
        goes_on = processes("go-on", *words, url=line.url)
        happens(lambda: line.count(*ASKS) > 0)
        goes_on.kill()
        goes_on.join()
    with reviewer.always(lambda record: said[record.arguments["file"]]):
        assert processes.run("go-on", *words) == 0
    counted((tmp_path / "effects").read_text().split(), by=lambda arguments: f"t1/{arguments['file']}")
