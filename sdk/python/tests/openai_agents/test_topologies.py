"""OpenAI Agents in shapes that no other file has, with calls that are all alike: each is decided apart, and runs once.

`block` waits in the call. `pause` stops the run, and the gate reads the decision when it goes on. `native` is the SDK's
own approval under the bridge.
"""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest
from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call

import placet
from placet.adapters.openai_agents import InterruptionBridge, Resumer, gate_tool
from placet.kept import FileRuns
from support import Effects

YES, NO, EDIT = ("approve", {}), ("deny", {"reason": "keep it"}), ("edit", {"arguments": {"file": "b"}})
ALL = pytest.mark.parametrize("mode", ["block", "pause", "native"])
IDS = itertools.count()


def asks(tool: str = "delete", **arguments: Any) -> Any:
    """A call with an id of its own, as the provider gives it."""
    return function_call(tool, arguments or {"file": "a"}, call_id=f"call_{next(IDS)}")


class Says(Model):
    """Makes so many calls in each turn, in every conversation anew; it goes by what stands in the conversation."""

    def __init__(self, *turns: int, tool: str = "delete", **arguments: Any):
        self.turns, self.tool, self.arguments = turns, tool, arguments

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
        done = [one for one in input if isinstance(one, dict) and one.get("type") == "function_call"]
        made = sum(one["name"] == self.tool for one in done)
        totals = itertools.accumulate(self.turns)
        wanted = next((count for count, total in zip(self.turns, totals, strict=True) if total > made), 0)
        says = [asks(self.tool, **self.arguments) for _ in range(wanted)] or [assistant_message("done")]
        return ModelResponse(output=says, usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


class Desk:
    """Agents that delete, and what they deleted."""

    def __init__(self, mode: str):
        self.mode = mode
        self.ran = Effects()

        def delete(file: str) -> str:
            """Deletes."""
            self.ran(file)
            return "gone"

        tool = function_tool(delete, needs_approval=mode == "native")
        self.delete = tool if mode == "native" else gate_tool(tool, mode=mode, session="s1")
        # The SDK's own approval carries no edit.
        self.edit = YES if mode == "native" else EDIT

    @property
    def edited(self) -> str:
        return "a" if self.mode == "native" else "b"

    def cleaner(self, model: Any, name: str = "cleaner") -> Agent:
        return Agent(name=name, model=model, tools=[self.delete])

    async def play(self, agent: Agent, reviewer: Any, *words: Any, input: Any = "clean") -> Any:
        """Runs it to its end, while a person says these words, in the order in which the calls are made."""
        said = iter(words)
        with reviewer.always(lambda record: next(said)):
            running = Runner.run(agent, input) if self.mode == "block" else InterruptionBridge("s1").run(agent, input)
            result = await asyncio.wait_for(running, 60)
        assert next(said, None) is None
        return result


@pytest.fixture
def desk(server, mode):
    return Desk(mode)


@pytest.mark.topology("sequential")
@ALL
async def test_agents_in_sequence_that_make_the_same_call_are_decided_apart(desk, reviewer, counted):
    """The SDK has no agent for it: the program runs one after the other."""
    input = "clean"
    for name, word in (("one", YES), ("two", NO), ("three", desk.edit)):
        model = ScriptedModel([[asks()], [assistant_message("done")]])
        input = (await desk.play(desk.cleaner(model, name), reviewer, word, input=input)).to_input_list()
    assert desk.ran.happened == ["a", desk.edited]
    counted(desk.ran, by="file")


@pytest.mark.topology("loop")
@ALL
async def test_each_turn_of_a_model_that_goes_on_calling_is_decided_apart(desk, reviewer, counted):
    await desk.play(desk.cleaner(Says(1, 1, 1)), reviewer, YES, NO, desk.edit)
    assert desk.ran.happened == ["a", desk.edited]
    counted(desk.ran, by="file")


@pytest.mark.topology("nested twice")
@ALL
async def test_an_agent_in_an_agent_in_an_agent_is_held_also_twice_at_once(desk, reviewer, counted):
    inner = desk.cleaner(Says(1)).as_tool("cleaner", "Cleans.")
    boss = Agent(name="boss", model=Says(1, tool="cleaner", input="clean"), tools=[inner])
    chief = Agent(
        name="chief", model=Says(2, 1, tool="boss", input="clean"), tools=[boss.as_tool("boss", "Has it cleaned.")]
    )
    await desk.play(chief, reviewer, YES, NO, desk.edit)
    assert desk.ran.happened == ["a", desk.edited]
    counted(desk.ran, by="file")


@pytest.mark.topology("handoff")
@ALL
async def test_an_agent_that_was_handed_over_to_twice_is_held(desk, reviewer, counted):
    agents = [desk.cleaner(ScriptedModel([[asks(), asks()], [asks()], [assistant_message("done")]]))]
    for name in ("boss", "chief"):
        turn = [function_call(f"transfer_to_{agents[-1].name}", {}, call_id=f"call_{name}")]
        agents.append(Agent(name=name, model=ScriptedModel([turn]), handoffs=[agents[-1]]))
    await desk.play(agents[-1], reviewer, NO, YES, desk.edit)
    assert desk.ran.happened == ["a", desk.edited]
    counted(desk.ran, by="file")


@pytest.mark.topology("streaming")
@ALL
async def test_a_caller_reads_the_stream_while_the_calls_are_held(desk, reviewer, counted):
    """The bridge has no stream of its own: a run that stopped goes on without one."""
    agent = desk.cleaner(ScriptedModel([[asks(), asks()], [assistant_message("done")]]))
    run, read = Runner.run_streamed(agent, "clean"), []

    async def reads() -> None:
        async for event in run.stream_events():
            read.append(event.type)

    reading = asyncio.create_task(reads())
    if desk.mode == "native":
        await asyncio.wait_for(reading, 60)
        await InterruptionBridge("s1").ask(run)
    first, second = await asyncio.to_thread(reviewer.wait_for, 2)
    assert "raw_response_event" in read
    assert (desk.ran.count, reading.done() and desk.mode == "block") == (0, False)
    reviewer.decide(first, "deny", reason="keep it")
    reviewer.decide(second, "approve")
    await asyncio.wait_for(reading, 60)
    if desk.mode != "block":
        assert len(run.interruptions) == 2
        await asyncio.wait_for(InterruptionBridge("s1").run(agent, run.to_state()), 60)
    counted(desk.ran, by="file")


@pytest.mark.topology("two users with one session id")
@ALL
async def test_sessions_of_one_name_of_two_users_do_not_share_a_yes(server, reviewer, mode, counted):
    """`placet.session` says whose it is. The provider numbers its calls, so that both have the same id, too."""
    desks = {user: Desk(mode) for user in ("alice", "mallory")}

    async def runs(user: str) -> None:
        turn = [function_call("delete", {"file": "a"}, call_id="call_1")]
        agent = desks[user].cleaner(ScriptedModel([turn, [assistant_message("done")]]))
        with placet.session("s1", user=user):
            await (Runner.run(agent, "clean") if mode == "block" else InterruptionBridge("s1").run(agent, "clean"))

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
    agent, told = desk.cleaner(Says(1)), {}
    resumer = Resumer(agent, FileRuns(tmp_path / "runs"), on_result=told.__setitem__)
    for user in ("alice", "mallory"):
        with placet.session("s1", user=user):
            await resumer.begin(f"{user}/s1", "clean")
    asked = {one.context["user"]: one for one in reviewer.wait_for(2)}
    reviewer.decide(asked["mallory"], "deny", reason="keep it")
    reviewer.decide(asked["alice"], "approve")
    await asyncio.wait_for(resumer.once(), 60)
    outputs = {
        key: [item.output for item in result.new_items if item.type == "tool_call_output_item"]
        for key, result in told.items()
    }
    assert outputs["alice/s1"] == ["gone"]
    assert "keep it" in outputs["mallory/s1"][0]
    counted(desk.ran, by="file")
