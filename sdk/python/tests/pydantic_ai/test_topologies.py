"""Pydantic AI in shapes that no other file has, with calls that are all alike: each is decided apart, and runs once.

`block` waits in the call. `pause` ends the run, and the gate reads the decision when it goes on. `native` is the
framework's own approval under the bridge.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator
from typing import Any

import pytest
from models import calls, scripted
from pydantic_ai.messages import ModelResponse, PartEndEvent, ToolCallPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from pydantic_graph import GraphBuilder, StepContext

import placet
from placet.adapters.pydantic_ai import DeferredBridge, PlacetCapability, Resumer
from placet.kept import FileRuns
from pydantic_ai import Agent, AgentRunResultEvent, DeferredToolRequests, Tool
from support import Effects

YES, NO, EDIT = ("approve", {}), ("deny", {"reason": "keep it"}), ("edit", {"arguments": {"file": "b"}})
ALL = pytest.mark.parametrize("mode", ["block", "pause", "native"])
IDS = itertools.count()


def asks(times: int = 1) -> ModelResponse:
    """A turn with so many equal calls, each with an id of its own."""
    return ModelResponse([ToolCallPart("delete", {"file": "a"}, tool_call_id=f"id_{next(IDS)}") for _ in range(times)])


class Desk:
    """Agents that delete, and what they deleted."""

    def __init__(self, mode: str):
        self.mode = mode
        self.ran = Effects()

    def cleaner(self, *turns: ModelResponse, name: str = "cleaner", model: Any = None) -> Agent[Any, Any]:
        def delete(file: str) -> str:
            """Deletes."""
            self.ran(file)
            return "gone"

        gates = [] if self.mode == "native" else [PlacetCapability(mode=self.mode)]
        return Agent(
            model or scripted(*turns),
            tools=[Tool(delete, requires_approval=self.mode == "native")],
            output_type=[str, DeferredToolRequests],
            capabilities=gates,
            name=name,
        )

    async def run(self, agent: Any, prompt: Any = "clean", **how: Any) -> Any:
        how["conversation_id"] = "s1"
        running = agent.run(prompt, **how) if self.mode == "block" else DeferredBridge("s1").run(agent, prompt, **how)
        return await asyncio.wait_for(running, 60)


@pytest.fixture
def desk(server, mode):
    return Desk(mode)


@contextlib.contextmanager
def people(reviewer, *words):
    """A person who says these words, in the order in which the calls are made."""
    said = iter(words)
    with reviewer.always(lambda record: next(said)):
        yield
    assert next(said, None) is None


@pytest.mark.topology("sequential")
@ALL
async def test_agents_in_sequence_that_make_the_same_call_are_decided_apart(desk, reviewer, counted):
    """The framework has no agent for it: the program runs one after the other, over one history."""
    history: list[Any] = []
    with people(reviewer, YES, NO, EDIT):
        for name in ("one", "two", "three"):
            silent = [ModelResponse([])] * sum(isinstance(one, ModelResponse) for one in history)
            result = await desk.run(desk.cleaner(*silent, asks(), name=name), message_history=history)
            history = result.all_messages()
    assert desk.ran.happened == ["a", "b"]
    counted(desk.ran, by="file")


@pytest.mark.topology("loop")
@ALL
async def test_each_turn_of_a_model_that_goes_on_calling_is_decided_apart(desk, reviewer, counted):
    with people(reviewer, YES, NO, EDIT):
        await desk.run(desk.cleaner(asks(), asks(), asks()))
    assert desk.ran.happened == ["a", "b"]
    counted(desk.ran, by="file")


@pytest.mark.topology("loop")
@pytest.mark.parametrize("mode", ["block", "pause"])
async def test_a_model_that_numbers_its_calls_from_one_in_every_turn_is_asked_about_each(desk, reviewer, counted):
    turns = [calls(("delete", {"file": "a"})) for _ in range(3)]
    with people(reviewer, NO, YES, NO):
        await desk.run(desk.cleaner(*turns))
    assert desk.ran.happened == ["a"]
    counted(desk.ran, by="file")


def around(agent: Any, name: str, *times: int) -> Agent[Any, Any]:
    """An agent that has this one for its tool, and calls it so often in each turn."""

    async def ask(task: str) -> str:
        """Has it done."""
        return str((await agent.run(task)).output)

    turns = [calls(*[("ask", {"task": "clean"})] * one) for one in times]
    return Agent(scripted(*turns), tools=[ask], capabilities=[PlacetCapability(tools=[])], name=name)


@pytest.mark.topology("nested twice")
@pytest.mark.parametrize("mode", ["block"])
async def test_an_agent_in_an_agent_in_an_agent_is_held_also_twice_at_once(desk, reviewer, counted):
    chief = around(around(desk.cleaner(calls(("delete", {"file": "a"}))), "boss", 1), "chief", 2, 1)
    with people(reviewer, YES, NO, EDIT):
        await asyncio.wait_for(chief.run("clean"), 60)
    assert desk.ran.happened == ["a", "b"]
    counted(desk.ran, by="file")


@pytest.mark.parametrize("mode", ["pause"])
async def test_an_agent_in_a_tool_that_would_pause_runs_nothing(desk, reviewer):
    """Its run ends inside the tool, where the framework cannot go on with it."""
    boss = around(desk.cleaner(calls(("delete", {"file": "a"}))), "boss", 1)
    with reviewer.always():
        await asyncio.wait_for(boss.run("clean"), 60)
    assert desk.ran.count == 0


def handing_over(agent: Any, name: str) -> Agent[Any, Any]:
    """An agent that hands over to this one. That is an output function: what the other one says ends the run."""

    async def hand_over(task: str) -> str:
        return str((await agent.run(task)).output)

    model = scripted(calls(("final_result", {"task": "clean"})))
    gate = PlacetCapability(uncovered=["hand_over"])
    return Agent(model, output_type=hand_over, capabilities=[gate], name=name)


@pytest.mark.topology("handoff")
@pytest.mark.parametrize("mode", ["block"])
async def test_an_agent_that_was_handed_over_to_twice_is_held(desk, reviewer, counted):
    chief = handing_over(handing_over(desk.cleaner(asks(2), asks()), "boss"), "chief")
    with people(reviewer, NO, YES, EDIT):
        await asyncio.wait_for(chief.run("clean"), 60)
    assert desk.ran.happened == ["a", "b"]
    counted(desk.ran, by="file")


async def streamed(messages: list[Any], info: Any) -> AsyncIterator[Any]:
    """The same as `asks(2)` and then `done`, piece by piece."""
    if any(isinstance(one, ModelResponse) for one in messages):
        yield "done"
        return
    for index in range(2):
        yield {index: DeltaToolCall("delete", '{"file": ', tool_call_id=f"call_{index}")}
        yield {index: DeltaToolCall(json_args='"a"}')}


@pytest.mark.topology("streaming")
@ALL
async def test_a_caller_reads_the_stream_while_the_calls_are_held(desk, reviewer, counted):
    """The bridge has no stream of its own: a run that stopped goes on without one."""
    turn = calls(*[("delete", {"file": "a"})] * 2)
    agent = desk.cleaner(model=FunctionModel(scripted(turn).function, stream_function=streamed))
    read: list[Any] = []

    async def reads() -> None:
        async with agent.run_stream_events("clean", conversation_id="s1") as events:
            async for event in events:
                read.append(event)

    reading = asyncio.create_task(reads())
    if desk.mode == "native":
        await asyncio.wait_for(reading, 60)
        await DeferredBridge("s1").ask(read[-1].result.output)
    first, second = await asyncio.to_thread(reviewer.wait_for, 2)
    assert sum(isinstance(event, PartEndEvent) for event in read) == 2
    assert (desk.ran.count, reading.done() and desk.mode == "block") == (0, False)
    reviewer.decide(first, "deny", reason="keep it")
    reviewer.decide(second, "approve")
    await asyncio.wait_for(reading, 60)
    assert isinstance(read[-1], AgentRunResultEvent)
    if desk.mode != "block":
        result = read[-1].result
        await desk.run(agent, None, message_history=result.all_messages(), requests=result.output)
    counted(desk.ran, by="file")


@pytest.mark.topology("workflow")
@pytest.mark.parametrize("mode", ["block"])
async def test_each_step_of_a_graph_is_held_also_side_by_side(desk, reviewer, counted):
    graph = GraphBuilder(output_type=str)
    agents = {name: desk.cleaner(asks(), name=name) for name in ("one", "two", "three")}

    def step(name: str) -> Any:
        async def work(ctx: StepContext[Any, Any, Any]) -> str:
            return str((await agents[name].run("clean")).output)

        return graph.step(work, node_id=name)

    one, two, three = map(step, agents)
    ended = graph.join(lambda before, new: new, initial="")
    graph.add(
        graph.edge_from(graph.start_node).to(one),
        graph.edge_from(one).to(two, three),
        graph.edge_from(two, three).to(ended),
        graph.edge_from(ended).to(graph.end_node),
    )
    with people(reviewer, NO, YES, EDIT):
        await asyncio.wait_for(graph.build().run(), 60)
    assert sorted(desk.ran.happened) == ["a", "b"]
    counted(desk.ran, by="file")


@pytest.mark.topology("two users with one session id")
@ALL
async def test_sessions_of_one_name_of_two_users_do_not_share_a_yes(server, reviewer, mode, counted):
    """`placet.session` says whose it is. The provider numbers its calls, so that both have the same id, too."""
    desks = {user: Desk(mode) for user in ("alice", "mallory")}

    async def runs(user: str) -> None:
        with placet.session("s1", user=user):
            await desks[user].run(desks[user].cleaner(calls(("delete", {"file": "a"}))))

    running = [asyncio.create_task(runs(user)) for user in desks]
    asked = {one.context["user"]: one for one in await asyncio.to_thread(reviewer.wait_for, 2)}
    reviewer.decide(asked["mallory"], "deny", reason="keep it")
    reviewer.decide(asked["alice"], "approve")
    await asyncio.wait_for(asyncio.gather(*running), 60)
    assert [desk.ran.happened for desk in desks.values()] == [["a"], []]
    counted([file for desk in desks.values() for file in desk.ran.happened], by="file")


@pytest.mark.topology("two users with one session id")
@pytest.mark.parametrize("mode", ["pause", "native"])
async def test_a_resumer_goes_on_with_the_run_of_the_user_who_asked(desk, reviewer, tmp_path, counted):
    agent, told = desk.cleaner(calls(("delete", {"file": "a"}))), {}
    resumer = Resumer(agent, FileRuns(tmp_path / "runs"), on_result=told.__setitem__)
    for user in ("alice", "mallory"):
        with placet.session("s1", user=user):
            await resumer.begin(f"{user}/s1", "clean")
    asked = {one.context["user"]: one for one in reviewer.wait_for(2)}
    reviewer.decide(asked["mallory"], "deny", reason="keep it")
    reviewer.decide(asked["alice"], "approve")
    await asyncio.wait_for(resumer.once(), 60)
    said = {key: str(result.all_messages()) for key, result in told.items()}
    assert ("gone" in said["alice/s1"], "keep it" in said["alice/s1"]) == (True, False)
    assert ("gone" in said["mallory/s1"], "keep it" in said["mallory/s1"]) == (False, True)
    counted(desk.ran, by="file")
