"""google-adk in shapes that no other file has, with calls that are all alike: each is decided apart, and runs once.

`block` waits in the call. `pause` ends the run, and resumes it when there is a decision.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google.adk.agents import LoopAgent, SequentialAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models.llm_response import LlmResponse
from google.adk.sessions import InMemorySessionService
from google.adk.tools.agent_tool import AgentTool
from google.genai import types

import placet
from adk.scripted import Scripted, agent, call, model, results, run, runner, text
from placet.adapters import adk
from support import REFUSE, Effects, Proxy, eventually

WHO = {"user_id": "u1", "session_id": "s1"}
PAY = call("wire", to="bob")
YES, NO, EDIT = ("approve", {}), ("deny", {"reason": "too much"}), ("edit", {"arguments": {"to": "eve"}})
BOTH = pytest.mark.parametrize("mode", ["block", "pause"])
pytestmark = pytest.mark.filterwarnings("ignore")


class Desk:
    """Agents that pay, and what they paid."""

    def __init__(self, mode: str, client: placet.AsyncClient | None = None, paid: Effects | None = None):
        self.client = client or placet.AsyncClient()
        self.plugin = adk.PlacetPlugin(self.client, mode=mode)
        self.paid = paid or Effects()

    def cashier(self, turns, name: str = "cashier"):
        def wire(to: str) -> dict:
            """Sends money."""
            self.paid(to)
            return {"sent": to}

        return agent(turns, [wire], name=name, description="pays")

    def runner(self, root):
        return runner(root, [self.plugin], resumable=True)

    async def play(self, root, reviewer, *words) -> None:
        """Runs it to its end, while a person says these words, in the order in which the calls are made."""
        runs, said = self.runner(root), iter(words)
        with reviewer.always(lambda record: next(said)):
            await asyncio.wait_for(run(runs), 60)
            await self.finish(runs)
        assert next(said, None) is None

    async def finish(self, runs) -> None:
        """Resumes until nothing waits."""
        for _ in range(10):
            session = await runs.session_service.get_session(app_name="shop", **WHO)
            if not adk.paused(session.events):
                return
            await asyncio.wait_for(adk.resume(runs, client=self.client, wait=None, **WHO), 60)
        raise AssertionError("it does not come to an end")


@pytest.mark.topology("sequential")
@BOTH
async def test_agents_in_sequence_that_make_the_same_call_are_decided_apart(server, reviewer, mode, counted):
    desk = Desk(mode)
    agents = [desk.cashier([[PAY]], name) for name in ("one", "two", "three")]
    await desk.play(SequentialAgent(name="all", sub_agents=agents), reviewer, YES, NO, EDIT)
    assert desk.paid.happened == ["bob", "eve"]
    counted(desk.paid, by="to")


def again(contents):
    """Pays, and says so when it has heard of it; anew in each round of a loop."""
    return [text("done")] if any(part.function_response for part in contents[-1].parts or []) else [PAY]


@pytest.mark.topology("loop")
@BOTH
async def test_each_round_of_a_loop_is_decided_apart(server, reviewer, mode, counted):
    desk = Desk(mode)
    cashier = desk.cashier(Scripted(say=again, heard=[]))
    await desk.play(LoopAgent(name="again", sub_agents=[cashier], max_iterations=3), reviewer, YES, NO, EDIT)
    assert desk.paid.happened == ["bob", "eve"]
    counted(desk.paid, by="to")


@pytest.mark.topology("loop")
@BOTH
async def test_each_turn_of_a_model_that_goes_on_calling_is_decided_apart(server, reviewer, mode, counted):
    desk = Desk(mode)
    await desk.play(desk.cashier([[PAY], [PAY], [PAY]]), reviewer, NO, YES, NO)
    assert desk.paid.happened == ["bob"]
    counted(desk.paid, by="to")


@pytest.mark.topology("nested twice")
@BOTH
async def test_an_agent_in_an_agent_in_an_agent_is_held_also_twice_at_once(server, reviewer, mode, counted):
    """In an `AgentTool` no run can pause: the calls wait in place in both modes."""
    desk = Desk(mode)
    boss = agent([[call("cashier", request="pay")]], [AgentTool(agent=desk.cashier([[PAY]]))], name="boss")
    orders = call("boss", request="pay")
    chief = agent([[orders, orders], [orders]], [AgentTool(agent=boss)], name="chief")
    await desk.play(chief, reviewer, YES, NO, EDIT)
    assert desk.paid.happened == ["bob", "eve"]
    assert [one.context["lineage"] for one in reviewer.seen] == [["chief", "boss"]] * 3
    counted(desk.paid, by="to")


def transfer(to: str):
    return [call("transfer_to_agent", agent_name=to)]


@pytest.mark.topology("handoff")
@BOTH
async def test_an_agent_that_was_handed_over_to_twice_is_held(server, reviewer, mode, counted):
    desk = Desk(mode)
    boss = agent([transfer("cashier")], [], name="boss", sub_agents=[desk.cashier([[PAY, PAY], [PAY]])])
    chief = agent([transfer("boss")], [], name="chief", sub_agents=[boss])
    await desk.play(chief, reviewer, NO, YES, EDIT)
    assert desk.paid.happened == ["bob", "eve"]
    assert {one.context["agent"] for one in reviewer.seen} == {"cashier"}
    counted(desk.paid, by="to")


class Streaming(Scripted):
    """Says something before it calls, piece by piece, if it is asked to stream."""

    async def generate_content_async(self, llm_request, stream=False):
        if stream:
            for words in ("let me ", "see"):
                yield LlmResponse(content=types.Content(role="model", parts=[text(words)]), partial=True)
        async for one in super().generate_content_async(llm_request, stream):
            yield one


@pytest.mark.topology("streaming")
@BOTH
async def test_a_caller_reads_the_stream_while_the_calls_are_held(server, reviewer, mode, counted):
    desk = Desk(mode)
    runs = desk.runner(desk.cashier(Streaming(say=model([PAY, PAY]).say, heard=[])))
    await runs.session_service.create_session(app_name="shop", **WHO)
    read = []
    how = RunConfig(streaming_mode=StreamingMode.SSE)
    message = types.Content(role="user", parts=[text("go")])
    reading = asyncio.create_task(adk.drain(runs.run_async(new_message=message, run_config=how, **WHO), read.append))
    first, second = await asyncio.to_thread(reviewer.wait_for, 2)
    assert [event.content.parts[0].text for event in read if event.partial] == ["let me ", "see"]
    assert (desk.paid.count, reading.done() and mode == "block") == (0, False)
    reviewer.decide(first, "deny", reason="too much")
    reviewer.decide(second, "approve")
    await asyncio.wait_for(reading, 60)
    await desk.finish(runs)
    counted(desk.paid, by="to")


@pytest.mark.topology("two users with one session id")
async def test_a_resumer_goes_on_with_the_session_of_the_user_who_asked(server, reviewer, counted):
    desk = Desk("pause")
    runs = desk.runner(desk.cashier([[PAY]]))
    for user in ("alice", "mallory"):
        await run(runs, user=user)
    asked = {one.context["user"]: one for one in reviewer.wait_for(2)}
    reviewer.decide(asked["alice"], "approve")
    reviewer.decide(asked["mallory"], "deny", reason="too much")
    await adk.Resumer(runs, desk.client).once()
    told = {}
    for user in asked:
        session = await runs.session_service.get_session(app_name="shop", user_id=user, session_id="s1")
        told[user] = results(session.events, "wire")[-1]
    assert (told["alice"], told["mallory"]["status"]) == ({"sent": "bob"}, "denied")
    counted(desk.paid, by="to")


class Waiting(Scripted):
    """Says nothing before it may."""

    may: Any = None

    async def generate_content_async(self, llm_request, stream=False):
        await self.may.wait()
        async for one in super().generate_content_async(llm_request, stream):
            yield one


@pytest.mark.topology("killed while held")
async def test_equal_calls_of_two_agents_are_found_again_in_whichever_order_they_come(server, reviewer, counted):
    """Agents in tools have new sessions and call ids after a restart. What is left is who asks for what."""
    sessions, paid, dead = InMemorySessionService(), Effects(), []

    async def live(order, line):
        """Starts it, or goes on; its agents ask in this order, each when the one before has asked."""
        desk = Desk("block", placet.AsyncClient(line.url, server.agent, outage_budget=0.1), paid)
        may = {name: asyncio.Event() for name in order}
        models = {name: Waiting(say=model([PAY]).say, heard=[], may=may[name]) for name in ("one", "two")}
        tools = [AgentTool(agent=desk.cashier(llm, name)) for name, llm in models.items()]
        chief = agent([[call("one", request="pay"), call("two", request="pay")]], tools, name="chief")
        runs = runner(chief, [desk.plugin], resumable=True, sessions=sessions)
        session = await sessions.get_session(app_name="shop", **WHO)
        how = {"words": "", "invocation_id": session.events[-1].invocation_id} if session else {}
        running = asyncio.create_task(run(runs, **how))
        for number, name in enumerate(order, 1):
            may[name].set()
            await asyncio.to_thread(eventually, lambda asked=number: line.count("POST", "/v1/requests") >= asked)
        return running

    with Proxy(server.url, lambda method, path: REFUSE if dead else None) as line:
        killed = await live(("one", "two"), line)
        asked = {one.context["agent"]: one for one in await asyncio.to_thread(reviewer.wait_for, 2)}
        # A process that is killed says no farewell: what it would withdraw stays.
        dead.append(True)
        killed.cancel()
        await asyncio.gather(killed, return_exceptions=True)
    with Proxy(server.url) as line:
        again = await live(("two", "one"), line)
        # If they asked anew, they would not end: nobody answers that.
        reviewer.decide(asked["one"], "approve")
        reviewer.decide(asked["two"], "deny", reason="too much")
        await asyncio.wait_for(again, 60)
    counted(paid, by="to")
