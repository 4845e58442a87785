"""The gateway in memory behaves as the server does, towards both clients."""

from __future__ import annotations

import asyncio
import concurrent.futures

import pytest

import placet
from placet import Call
from placet.testing import Gateway
from support import Effects, eventually


def delete(*files: str, **more) -> Call:
    return Call("delete_files", {"files": list(files)}, "s1", **more)


async def decided(gateway, how, *args, **kwargs):
    return await asyncio.to_thread(getattr(gateway, how), *args, **kwargs)


async def test_every_decision_reaches_the_caller(placet_gateway):
    ran = Effects()
    async with placet.AsyncClient() as client:

        async def outcome(how, *args):
            running = asyncio.create_task(client.run(delete("a", allowed=("approve", "edit", "respond")), ran))
            await decided(placet_gateway, how, *args)
            return await running

        await outcome("approve")
        await outcome("edit", {"files": ["b"]})
        assert ran.happened == [{"files": ["a"]}, {"files": ["b"]}]
        assert (await outcome("deny", "no"))["reason"] == "no"
        assert (await outcome("respond", 42))["answer"] == 42
        assert (await outcome("expire"))["status"] == "expired"
    assert ran.count == 2
    assert [one.state for one in placet_gateway.all] == ["succeeded", "succeeded", "denied", "answered", "expired"]


def test_the_blocking_client_too(placet_gateway):
    with placet.Client() as client, concurrent.futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(client.run, delete("a"), lambda files: files)
        placet_gateway.edit({"files": ["b"]})
        assert running.result(5) == ["b"]


async def test_policy_is_a_function(placet_gateway):
    placet_gateway.policy = lambda call: "allow" if call.tool == "get" else "deny"
    async with placet.AsyncClient() as client:
        assert (await client.hold(Call("get", {}, "s"))).go
        held = await client.hold(Call("put", {}, "s"))
        assert held.status == "denied"
        assert held.reason == "the test says so"


async def test_a_gated_function_needs_nothing_but_the_fixture(placet_gateway):
    @placet.gate
    async def wipe(path: str) -> str:
        return path

    placet_gateway.always("approve")
    assert await wipe("a") == "a"
    placet_gateway.always(lambda call: ("deny", {"reason": call.tool}))
    assert (await wipe("a"))["reason"] == "wipe"


@pytest.mark.parametrize("kind", ["refused", "timeout", "error", "html", "foreign"])
async def test_no_outage_is_a_yes(placet_gateway, kind):
    ran = Effects()
    placet_gateway.always("approve")
    async with placet.AsyncClient(outage_budget=0.3) as client:
        with placet_gateway.outage(kind):
            assert (await client.run(delete("a"), ran))["status"] == "unreachable"
            with pytest.raises(placet.Unreachable):
                await client.hold(delete("a"), on_outage="raise")
        assert ran.count == 0
        await client.run(delete("b"), ran)
    assert ran.happened == [{"files": ["b"]}]


async def test_an_outage_in_the_middle_of_a_wait_is_survived(placet_gateway):
    async with placet.AsyncClient(outage_budget=10) as client:
        running = asyncio.create_task(client.run(delete("a"), lambda files: files))
        seen = await asyncio.to_thread(placet_gateway.next)
        with placet_gateway.outage():
            placet_gateway.approve(seen)
            tried = len(placet_gateway.seen)
            await asyncio.to_thread(eventually, lambda: len(placet_gateway.seen) > tried + 1)
            assert not running.done()
        assert await running == ["a"]


async def test_an_outage_in_the_middle_of_a_wait_ends_with_the_budget(placet_gateway):
    async with placet.AsyncClient(outage_budget=0.5) as client:
        running = asyncio.create_task(client.hold(delete("a")))
        await asyncio.to_thread(placet_gateway.next)
        placet_gateway.down()
        held = await asyncio.wait_for(running, 60)
        assert held.status == "unreachable"
        assert "nobody said no" in held.message


async def test_a_key_reused_with_another_body_is_refused(placet_gateway):
    async with placet.AsyncClient() as client:
        body = {"kind": "action", "tool": "t", "arguments": {}, "session": "s"}
        await client.create(body, key="k")
        with pytest.raises(placet.Conflict, match="idempotency_key_reused"):
            await client.create({**body, "tool": "u"}, key="k")


async def test_a_weak_key_finds_what_is_open_and_nothing_else(placet_gateway):
    async with placet.AsyncClient() as client:
        body = {"kind": "action", "tool": "t", "arguments": {}, "session": "s"}
        first = await client.create(body, key="1", weak_key="w")
        assert (await client.create(body, key="2", weak_key="w")).id == first.id
        assert (await client.create({**body, "tool": "u"}, key="3", weak_key="w")).id != first.id
        placet_gateway.approve(first.id)
        again = await client.create(body, key="4", weak_key="w")
        assert again.id != first.id or again.state == "approved"
        await client.claim(first.id, "c" * 16)
        assert (await client.create(body, key="5", weak_key="w")).id != first.id


async def test_a_wrong_key_is_said_at_once(placet_gateway):
    async with placet.AsyncClient(token="plk_agent_wrong") as client:
        with pytest.raises(placet.WrongKey, match="PLACET_TOKEN"):
            await client.hold(delete("a"))


async def test_time_can_be_moved(placet_gateway):
    async with placet.AsyncClient() as client:
        running = asyncio.create_task(client.hold(delete("a", expires_in="10m")))
        await asyncio.to_thread(placet_gateway.next)
        placet_gateway.advance(601)
        assert (await running).status == "expired"


def test_two_gateways_know_nothing_of_each_other():
    one, two = Gateway(), Gateway()
    one.client().create({"kind": "action", "tool": "t", "arguments": {}, "session": "s"})
    assert len(one.pending) == 1
    assert two.pending == []
