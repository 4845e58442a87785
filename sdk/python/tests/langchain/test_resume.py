"""`Resumer`: threads go on by themselves when they are decided, whichever process paused them."""

from __future__ import annotations

import asyncio
import json

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt
from models import Scripted, calls
from threads import ASK, TWO, Shop, agent, eventually, once, saving, thread

import placet
import placet.resume
from placet.adapters.langgraph import Resumer
from support import HANG, REFUSE, Once, Proxy


@pytest.mark.parametrize("kind", ["memory", "blocking", "async"])
async def test_threads_go_on_when_they_are_decided_with_any_checkpointer(server, reviewer, ran, delete, tmp_path, kind):
    async with saving(kind, tmp_path) as saver:
        shop = Shop(kind, saver, [delete])
        for name in ("yes", "no", "later"):
            await shop.start(name)
        by_thread = {one.session: one for one in reviewer.wait_for(3)}
        reviewer.decide(by_thread["yes"], "approve")
        async with Resumer(shop.make(), scan_every=600):
            assert await shop.ends("yes") == ["a is gone"]
            reviewer.decide(by_thread["no"], "deny", reason="keep it")
            (told,) = await shop.ends("no")
        assert json.loads(told)["reason"] == "keep it"
        assert (await shop.state("later")).interrupts
    assert (ran.happened, reviewer.client.get(by_thread["yes"].id).state) == (["a"], "succeeded")


@pytest.fixture
def shop(delete):
    return Shop("memory", InMemorySaver(), [delete])


@pytest.fixture
def two(delete):
    return Shop("memory", InMemorySaver(), [delete], TWO)


async def test_calls_of_one_thread_go_on_one_by_one_as_they_are_decided(server, reviewer, ran, two):
    await two.start("t1")
    first, second = reviewer.wait_for(2)
    resumer = Resumer(two.make())
    reviewer.decide(second, "approve")
    assert [str(one) for one in (await resumer.once()).went_on] == ["t1"]
    assert ran.happened == [second.arguments["file"]]
    assert [one.value["request"] for one in (await two.state("t1")).interrupts] == [first.id]
    assert (await resumer.once()).went_on == []
    reviewer.decide(first, "edit", arguments={"file": "c"})
    await resumer.once()
    assert (ran.count, ran.happened[-1]) == (2, "c")
    assert not (await two.state("t1")).tasks
    await resumer.aclose()


async def test_all_that_is_decided_in_one_thread_goes_on_at_once(server, reviewer, ran, two):
    await two.start("t1")
    for one in reviewer.wait_for(2):
        reviewer.decide(one, "approve")
    await once(two)
    assert sorted(ran.happened) == ["a", "b"]
    assert not (await two.state("t1")).tasks


async def test_two_resumers_of_one_thread_run_each_call_once_and_no_result_is_lost(server, reviewer, ran, delete):
    """They are started together many times; whoever loses a permit leaves the thread to the other."""
    shop = Shop("memory", InMemorySaver(), [delete], TWO)
    for number in range(6):
        name = f"t{number}"
        await shop.start(name)
        for one in reviewer.wait_for(2):
            reviewer.decide(one, "approve")
        sources = [Resumer(shop.make()) for _ in range(2)]
        run = placet.resume.Run(name)
        # Not `once`: in one process its lock would let only one of them in.
        await asyncio.gather(*(one.source.go_on(run) for one in sources), return_exceptions=True)
        await once(shop)
        assert sorted(await shop.ends(name)) == ["a is gone", "b is gone"]
        for one in sources:
            await one.aclose()
    assert (ran.count, {one.state for one in reviewer.client.list()}) == (12, {"succeeded"})


@pytest.mark.parametrize("kind", ["memory", "blocking", "async"])
async def test_of_two_resumers_one_tells_the_model_about_a_no(server, reviewer, delete, tmp_path, kind, monkeypatch):
    """There is no permit that only one of them can have."""
    answer, seen = Scripted._generate, []
    async with saving(kind, tmp_path) as saver:
        shop = Shop(kind, saver, [delete], TWO)
        for number in range(3):
            name = f"t{number}"
            await shop.start(name)
            both = [Resumer(shop.make()) for _ in range(2)]
            run = placet.resume.Run(name)
            monkeypatch.setattr(Scripted, "_generate", lambda *args, **more: seen.append(1) or answer(*args, **more))
            for one in reviewer.wait_for(2):
                reviewer.decide(one, "deny", reason="no")
                await asyncio.gather(*(one.source.go_on(run) for one in both))
            assert (len(await shop.ends(name)), len(seen)) == (2, 1)
            seen.clear()
            monkeypatch.setattr(Scripted, "_generate", answer)
            for one in both:
                await one.aclose()


async def test_a_no_is_told_although_the_one_that_wanted_to_is_dead(server, reviewer, shop, monkeypatch):
    await shop.start("t1")
    reviewer.deny("no")
    dead = Resumer(shop.make())
    called = dead.source._called

    async def dies(target, method, *args, **more):
        if method == "invoke":
            raise OSError("killed")
        return await called(target, method, *args, **more)

    monkeypatch.setattr(dead.source, "_called", dies)
    assert (await dead.once()).failed
    await dead.aclose()
    assert (await once(shop, abandoned_after=600)).went_on == []
    assert len((await once(shop)).went_on) == 1
    assert len(await shop.ends("t1")) == 1


async def test_an_answer_that_a_killed_run_stored_is_gone_on_with(server, reviewer, ran, shop):
    await shop.start("t1")
    seen = reviewer.next()
    (waiting,) = (await shop.state("t1")).interrupts
    saver = shop.graph.checkpointer
    at = (await shop.state("t1")).config
    # What `Command(resume="go")` stores before the first step runs; then its process was killed.
    saver.put_writes(at, [("__resume__", "go")], "00000000-0000-0000-0000-000000000000")
    assert (await once(shop)).went_on == []
    reviewer.decide(seen, "approve")
    assert len((await once(shop)).went_on) == 1
    assert (ran.count, (await shop.ends("t1"))) == (1, ["a is gone"])
    assert waiting.value["request"] == seen.id


async def test_a_stored_answer_is_not_given_again_to_the_next_question_of_the_tool(server, reviewer, ran):
    @tool
    def delete(file: str) -> str:
        """Deletes."""
        ran(file, interrupt("for good?"))
        return "gone"

    shop = Shop("memory", InMemorySaver(), [delete])
    await shop.start("t1")
    reviewer.approve()
    at = (await shop.state("t1")).config
    shop.graph.checkpointer.put_writes(at, [("__resume__", "go")], "00000000-0000-0000-0000-000000000000")
    await once(shop)
    assert [one.value for one in (await shop.state("t1")).interrupts] == ["for good?"]
    assert ran.count == 0


async def test_a_call_that_another_process_runs_is_left_until_its_outcome_is_known(reviewer_of, ran, delete):
    shop = Shop("memory", InMemorySaver(), [delete])
    await shop.start("t1")
    seen = reviewer_of.approve()
    async with placet.AsyncClient() as other:
        await other.claim(seen.id, "another process, and its secret")
    assert (await once(shop)).went_on == []
    assert (await shop.state("t1")).interrupts
    await eventually(lambda: reviewer_of.client.get(seen.id).state == "unknown")
    assert len((await once(shop)).went_on) == 1
    (told,) = await shop.ends("t1")
    assert (json.loads(told)["status"], ran.count) == ("unknown", 0)


async def test_a_result_that_another_process_is_about_to_store_is_waited_for(server, reviewer, ran, shop):
    await shop.start("t1")
    seen = reviewer.approve()
    async with placet.AsyncClient() as other:
        permit = await other.claim(seen.id, "another process, and its secret")
        await other.report(seen.id, permit.permit, "succeeded")
    assert (await once(shop, abandoned_after=600)).went_on == []
    assert len((await once(shop)).went_on) == 1
    (told,) = await shop.ends("t1")
    assert (json.loads(told)["status"], ran.count) == ("unknown", 0)


async def test_a_tool_that_fails_is_told_to_the_model_and_not_run_again(server, reviewer, ran):
    @tool
    def delete(file: str) -> str:
        """Deletes."""
        ran(file)
        raise OSError("the disk is on fire")

    shop = Shop("memory", InMemorySaver(), [delete])
    await shop.start("t1")
    reviewer.approve()
    async with Resumer(shop.make(), scan_every=600):
        (told,) = await shop.ends("t1")
    assert (json.loads(told)["status"], ran.count) == ("unknown", 1)


async def test_an_outage_while_a_thread_goes_on_loses_no_approval(server, reviewer, ran, delete):
    away = []
    with Proxy(server.url, lambda method, path: REFUSE if away else None) as line:
        middleware = placet.AsyncClient(line.url, server.agent, outage_budget=0.1)
        shop = Shop("memory", InMemorySaver(), [delete], client=middleware)
        await shop.start("t1")
        reviewer.approve()
        away.append(True)
        failed = (await once(shop)).failed
        assert [type(error) for error in failed.values()] == [placet.Unreachable]
        assert ((await shop.state("t1")).next, ran.count) == (("tools",), 0)
        away.clear()
        await once(shop)
    assert await shop.ends("t1") == ["a is gone"]


async def test_a_resumer_that_is_cancelled_withdraws_no_approval(server, reviewer, ran, delete):
    # The thread asks once, the resumer asks what was decided, and hangs when it takes the permit.
    with Proxy(server.url, Once("POST", "/v1/requests", HANG, skip=2)) as line:
        shop = Shop("memory", InMemorySaver(), [delete], client=placet.AsyncClient(line.url, server.agent))
        await shop.start("t1")
        seen = reviewer.approve()
        resumer = Resumer(shop.make())
        going = asyncio.create_task(resumer.source.go_on(placet.resume.Run("t1")))
        await eventually(lambda: line.count("POST", "/v1/requests") == 3)
        going.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going
        await resumer.aclose()
        assert reviewer.client.get(seen.id).state == "approved"
        await once(shop)
    assert (ran.count, await shop.ends("t1")) == (1, ["a is gone"])


async def test_a_thread_that_was_left_between_two_steps_is_taken_over(server, reviewer, ran, shop, monkeypatch):
    await shop.start("t1")
    reviewer.approve()
    monkeypatch.setattr(Scripted, "_generate", lambda *_, **__: 1 / 0)
    assert [type(error) for error in (await once(shop)).failed.values()] == [ZeroDivisionError]
    monkeypatch.undo()
    monkeypatch.setenv("PLACET_URL", server.url)
    monkeypatch.setenv("PLACET_TOKEN", server.agent)
    assert ((await shop.state("t1")).next, ran.count) == (("model",), 1)
    assert (await once(shop, abandoned_after=600)).went_on == []
    assert len((await once(shop)).went_on) == 1
    assert (ran.count, (await shop.ends("t1"))) == (1, ["a is gone"])


async def test_a_thread_that_never_paused_is_left_alone(server, ran, delete):
    saver = InMemorySaver()
    model = Scripted(turns=[calls(("delete", {"file": "a"}))])
    free = create_agent(model, tools=[delete], checkpointer=saver, interrupt_before=["tools"])
    await free.ainvoke(ASK, thread())
    done = await once(Shop("memory", saver, [delete]))
    assert (done.went_on, done.waiting, ran.count) == ([], [], 0)
    resumer = Resumer(agent([delete], saver), abandoned_after=0.0)
    assert not await resumer.source.go_on(placet.resume.Run("t1"))
    assert ran.count == 0
    await resumer.aclose()


async def test_threads_of_other_graphs_are_left_alone(server, reviewer, ran, shop):
    await shop.start("other-1")
    reviewer.approve()
    assert (await once(shop, threads=lambda name: name.startswith("mine-"))).went_on == []
    assert ran.count == 0


async def test_a_session_around_the_run_is_around_it_again(server, reviewer, ran, shop):
    with placet.session("chat-9", user="carol", tenant="acme", turn="7"):
        await shop.start("t1")
    seen = reviewer.approve()
    assert (seen.session, seen.context["user"]) == ("chat-9", "carol")
    await once(shop)
    assert (ran.count, len(reviewer.client.list())) == (1, 1)


async def test_without_a_checkpointer_there_is_nothing_to_go_on_with(delete):
    with pytest.raises(placet.ConfigError, match="a compiled graph with a checkpointer"):
        Resumer(agent([delete], None))
