"""`Resumer(bridge=...)`: graphs that interrupt by themselves are asked about, and go on when they are decided."""

from __future__ import annotations

import asyncio

import pytest
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langgraph.checkpoint.memory import InMemorySaver
from threads import TWO, Shop, agent, eventually, once

import placet
import placet.resume
from placet.adapters.langgraph import InterruptBridge, Resumer


def served(delete, saver, mode="batched"):
    return agent([delete], saver, TWO, gate=HumanInTheLoopMiddleware({"delete": True}, interrupt_mode=mode))


class Served(Shop):
    def __init__(self, delete, mode="batched"):
        super().__init__("memory", None, [])
        saver = InMemorySaver()
        self.make = lambda: served(delete, saver, mode)
        self.graph = self.make()


@pytest.mark.topology("parallel")
async def test_a_graph_under_a_bridge_is_asked_about_and_goes_on(server, reviewer, ran, delete, counted):
    shop = Served(delete)
    await shop.start("t1")
    async with Resumer(shop.make(), bridge=InterruptBridge(), scan_every=600):
        first, second = await asyncio.to_thread(reviewer.wait_for, 2)
        reviewer.decide(first, "approve")
        reviewer.decide(second, "deny", reason="keep it")
        told = await shop.ends("t1")
    assert ran.happened == [first.arguments["file"]]
    assert f"{ran.happened[0]} is gone" in told
    assert any("keep it" in one for one in told)
    assert reviewer.client.get(first.id).state == "succeeded"
    counted(ran, by="file")


async def test_without_a_bridge_other_interrupts_are_left_alone(server, reviewer, ran, delete):
    shop = Served(delete)
    await shop.start("t1")
    done = await once(shop)
    assert (done.went_on, done.waiting, reviewer.client.list(), ran.count) == ([], [], [], 0)


async def test_two_resumers_with_a_bridge_use_no_permit_in_vain(server, reviewer, ran, delete):
    for number in range(4):
        shop = Served(delete)
        await shop.start(f"t{number}")
        both = [Resumer(shop.make(), bridge=InterruptBridge()) for _ in range(2)]
        run = placet.resume.Run(f"t{number}")
        await both[0].source.go_on(run)
        for one in reviewer.wait_for(2):
            reviewer.decide(one, "approve")
        await asyncio.gather(*(one.source.go_on(run) for one in both), return_exceptions=True)
        assert sorted(await shop.ends(f"t{number}")) == ["a is gone", "b is gone"]
        for one in both:
            await one.aclose()
    assert (ran.count, {one.state for one in reviewer.client.list()}) == (8, {"succeeded"})


async def test_a_step_that_a_killed_process_began_under_a_bridge_is_not_repeated(reviewer_of, ran, delete):
    shop = Served(delete)
    await shop.start("t1")
    await once(shop, bridge=InterruptBridge())
    async with placet.AsyncClient() as other:
        for one in reviewer_of.wait_for(2):
            reviewer_of.decide(one, "approve")
            await other.claim(one.id, "another process, and its secret")
    assert (await once(shop, bridge=InterruptBridge())).went_on == []
    await eventually(lambda: {one.state for one in reviewer_of.client.list()} == {"unknown"})
    await once(shop, bridge=InterruptBridge())
    told = await shop.ends("t1")
    assert (ran.count, all("not run again" in one for one in told)) == (0, True)
