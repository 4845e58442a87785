"""google-adk, several branches paused at once: each approved call runs once, each denied model hears of its denial."""

from __future__ import annotations

import asyncio
import os

import pytest
from google.adk.agents import LoopAgent, ParallelAgent, SequentialAgent
from google.adk.workflow import START, JoinNode, Workflow
from google.genai import types

import placet
from adk.scripted import Scripted, agent, call, model, run, runner, text
from placet.adapters import adk
from placet.adapters.adk import PlacetPlugin
from support import Effects, eventually

WHO = {"user_id": "u1", "session_id": "s1"}
NAMES = ("a", "b", "c")
pytestmark = pytest.mark.filterwarnings("ignore")


class Shop:
    """Three agents that each make one call, in some shape, and an agent that comes after all of them."""

    def __init__(self, shape: str, *, resumable: bool = True):
        self.client = placet.AsyncClient()
        self.wired = Effects()
        self.models = {name: model([call("wire", to=name)]) for name in NAMES}
        self.after = model([text("after")])
        self.fed = Effects()
        agents = [agent(self.models[name], [self.wire()], name=name) for name in NAMES]
        root = getattr(self, shape)(agents)
        self.runs = runner(root, [PlacetPlugin(self.client, mode="pause")], resumable=resumable)

    def wire(self):
        def wire(to: str) -> dict:
            """Sends money."""
            self.wired(to)
            return {"sent": to}

        return wire

    def last(self, name="last"):
        return agent(self.after, [], name=name)

    def parallel(self, agents):
        return ParallelAgent(name="all", sub_agents=agents)

    def sequence(self, agents):
        return SequentialAgent(name="both", sub_agents=[self.parallel(agents), self.last()])

    def nested(self, agents):
        a, b, c = agents
        pair = ParallelAgent(name="pair", sub_agents=[SequentialAgent(name="first", sub_agents=[b]), c])
        return SequentialAgent(name="both", sub_agents=[ParallelAgent(name="all", sub_agents=[a, pair]), self.last()])

    def handed(self, agents):
        """Each is called by an agent that hands over to it, as ADK resumes it: below the one that did."""
        bosses = [
            agent([[call("transfer_to_agent", agent_name=one.name)]], [], name=f"boss_{one.name}", sub_agents=[one])
            for one in agents
        ]
        return self.sequence(bosses)

    def loop(self, agents):
        inner = LoopAgent(name="again", sub_agents=[self.parallel(agents)], max_iterations=1)
        return SequentialAgent(name="both", sub_agents=[inner, self.last()])

    def workflow(self, agents):
        join = JoinNode(name="join")

        def end(node_input):
            self.fed(sorted(node_input))
            return "end"

        return Workflow(name="flow", edges=[*((START, one, join) for one in agents), (join, end)])

    async def resume(self):
        return await adk.resume(self.runs, client=self.client, **WHO)

    async def waiting(self):
        session = await self.runs.session_service.get_session(app_name="shop", **WHO)
        return adk.paused(session.events)

    @property
    def afterwards(self) -> int:
        """How often what comes after all three was begun."""
        return len(self.after.heard) + self.fed.count


LONG = pytest.mark.skipif(os.environ.get("PLACET_LONG") != "1", reason="PLACET_LONG=1 runs every shape")
SHAPES = [
    pytest.param("parallel", True, 0, id="parallel", marks=LONG),
    pytest.param("sequence", True, 1, id="parallel-in-a-sequence", marks=LONG),
    pytest.param("nested", True, 1, id="parallel-in-parallel-in-a-sequence"),
    pytest.param("loop", True, 1, id="parallel-in-a-loop"),
    pytest.param("handed", True, 1, id="parallel-hand-overs"),
    pytest.param("workflow", True, 1, id="workflow"),
    pytest.param("parallel", False, 0, id="parallel-not-resumable"),
    pytest.param("workflow", False, 1, id="workflow-not-resumable", marks=LONG),
]


def decide(reviewer, word, to, **fields):
    found = next(one for one in reviewer.wait_for(1) if one.arguments["to"] == to)
    return reviewer.decide(found, word, **fields)


def settled(shop, reviewer, afterwards):
    assert sorted(shop.wired.happened) == ["a", "c"]
    assert [len(shop.models[name].heard) for name in NAMES] == [2, 2, 2]
    assert shop.models["b"].results[-1]["reason"] == "too much"
    assert sorted(one.state for one in reviewer.client.list(limit=10)) == ["denied", "succeeded", "succeeded"]
    assert shop.afterwards == afterwards


@pytest.mark.topology("parallel")
@pytest.mark.parametrize(("shape", "resumable", "afterwards"), SHAPES)
async def test_three_branches_that_are_decided_go_on_with_one_resume(
    server, reviewer, shape, resumable, afterwards, counted
):
    shop = Shop(shape, resumable=resumable)
    assert len(adk.paused(await run(shop.runs))) == 3
    reviewer.wait_for(3)
    decide(reviewer, "approve", "a")
    decide(reviewer, "deny", "b", reason="too much")
    decide(reviewer, "approve", "c")
    await shop.resume()
    settled(shop, reviewer, afterwards)
    assert await shop.waiting() == []
    assert await shop.resume() == []
    settled(shop, reviewer, afterwards)
    counted(shop.wired, by="to")


@pytest.mark.parametrize(("shape", "resumable", "afterwards"), SHAPES)
async def test_each_branch_goes_on_when_it_is_decided_and_what_comes_after_waits_for_all(
    server, reviewer, shape, resumable, afterwards
):
    """An approval is there for minutes. It must not wait for a person who decides about another branch hours later."""
    shop = Shop(shape, resumable=resumable)
    await run(shop.runs)
    reviewer.wait_for(3)
    decide(reviewer, "approve", "c")
    await shop.resume()
    assert (shop.wired.happened, len(await shop.waiting()), shop.afterwards) == (["c"], 2, 0)
    decide(reviewer, "deny", "b", reason="too much")
    await shop.resume()
    assert (len(shop.models["b"].heard), len(await shop.waiting()), shop.afterwards) == (2, 1, 0)
    decide(reviewer, "approve", "a")
    await shop.resume()
    settled(shop, reviewer, afterwards)
    assert await shop.waiting() == []


async def test_a_branch_that_pauses_again_is_waited_for(server, reviewer):
    shop = Shop("sequence")
    shop.models["b"].say = model([call("wire", to="b")], [call("wire", to="b again")]).say
    await run(shop.runs)
    for name in NAMES:
        decide(reviewer, "approve", name)
    await shop.resume()
    assert (sorted(shop.wired.happened), shop.afterwards) == (["a", "b", "c"], 0)
    decide(reviewer, "approve", "b again")
    await shop.resume()
    assert (sorted(shop.wired.happened), shop.afterwards) == (["a", "b", "b again", "c"], 1)


async def test_resume_waits_for_each_branch_and_goes_on_with_it_at_once(server, reviewer):
    """The second decision is made only when the first call has run."""
    shop = Shop("sequence")
    await run(shop.runs)
    resuming = asyncio.create_task(adk.resume(shop.runs, client=shop.client, wait=None, **WHO))
    for number, name in enumerate(NAMES, 1):
        decide(reviewer, "approve", name)
        await asyncio.to_thread(eventually, lambda least=number: shop.wired.count >= least or resuming.done())
    await resuming
    assert (shop.wired.happened, shop.afterwards) == (list(NAMES), 1)


async def test_a_resumer_leaves_a_run_alone_while_one_of_its_branches_still_works(server, reviewer):
    """ADK resumes all of a run: a branch that works in another process would run twice."""
    free = asyncio.Event()

    class Slow(Scripted):
        async def generate_content_async(self, llm_request, stream=False):
            await free.wait()
            async for one in super().generate_content_async(llm_request, stream):
                yield one

    shop = Shop("sequence")
    slow = Slow(say=shop.models["b"].say, heard=[])
    shop.runs.agent.find_agent("b").model = slow
    running = asyncio.create_task(run(shop.runs))
    await asyncio.to_thread(reviewer.wait_for, 2)
    while sum(one.whole for one in await shop.waiting()) < 2:  # noqa: ASYNC110 (the store tells nobody)
        await asyncio.sleep(0)
    decide(reviewer, "approve", "a")
    resumer = adk.Resumer(shop.runs, shop.client, grace=600.0)
    for _ in range(2):
        await asyncio.wait_for(resumer.once(), 60)
    assert shop.wired.count == 0
    free.set()
    await running
    await resumer.once()
    assert (shop.wired.happened, len(slow.heard)) == (["a"], 1)


async def test_an_application_that_goes_on_by_itself_passes_no_branch_that_waits(server, reviewer):
    """ADK takes a branch that paused in an earlier run for done, unless that branch says again that it waits."""
    shop = Shop("sequence")
    await run(shop.runs)
    invocation = (await shop.waiting())[0].invocation_id
    await run(shop.runs, "", invocation_id=invocation)
    assert (shop.wired.count, shop.afterwards, len(await shop.waiting())) == (0, 0, 3)
    for name in NAMES:
        decide(reviewer, "approve", name)
        assert shop.afterwards == 0
        # What the web page of ADK sends.
        part = next(one.answer(True) for one in await shop.waiting() if one.arguments["to"] == name)
        message = types.Content(role="user", parts=[part])
        await adk.drain(shop.runs.run_async(**WHO, invocation_id=invocation, new_message=message))
    assert (shop.wired.happened, shop.afterwards) == (list(NAMES), 1)


async def test_what_a_killed_process_left_of_a_pause_is_not_passed_over_by_the_next_one(server, reviewer):
    """Killed when one branch had asked, and ADK had not stored that it waits; another one had not even asked."""
    shop = Shop("sequence")
    await run(shop.runs)
    invocation = (await shop.waiting())[0].invocation_id
    stored = shop.runs.session_service.sessions["shop"]["u1"]["s1"].events
    stored[:] = [
        event
        for event in stored
        if not (event.author == "a" and event.get_function_responses())
        if not (event.author == "c" and not any(one.name == "wire" for one in event.get_function_calls()))
    ]
    decide(reviewer, "approve", "c")
    await run(shop.runs, "", invocation_id=invocation)
    assert (shop.wired.happened, shop.afterwards) == (["c"], 0)
    assert sorted(one.arguments["to"] for one in await shop.waiting()) == ["a", "b"]
    decide(reviewer, "approve", "a")
    decide(reviewer, "deny", "b", reason="too much")
    await adk.Resumer(shop.runs, shop.client, grace=0.0).once()
    assert (sorted(shop.wired.happened), shop.afterwards, await shop.waiting()) == (["a", "c"], 1, [])
    assert shop.models["b"].results[-1]["reason"] == "too much"


async def test_a_sequence_waits_for_all_calls_of_one_turn(server, reviewer):
    shop = Shop("sequence")
    shop.models["b"].say = model([call("wire", to="b"), call("wire", to="b too")]).say
    await run(shop.runs)
    for name in (*NAMES, "b too"):
        decide(reviewer, "approve", name)
        assert shop.afterwards == 0
        await shop.resume()
    assert (shop.wired.happened, shop.afterwards) == ([*NAMES, "b too"], 1)
    assert [len(shop.models[name].heard) for name in NAMES] == [2, 2, 2]
